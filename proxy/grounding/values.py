"""Numbers, dates, times, amounts and measures, as keys that are equal whenever they mean the same.

Rules of this file
- A value asks for keys when a claim states it and offers keys when evidence does; it is carried if any key asked for is
  offered. What is ambiguous ("3/4/2021", "1,234", "2.3m") has several keys: any reading that matches will do.
- A number with a unit asks for that unit, reduced to one unit a dimension (SI, where there is one), or for the bare
  number; a bare number asks for the number in any unit. A reader of a table knows the unit from its header.
- Days and months are not converted into each other, nor currencies. Cents are parts of several.
- An hour and minutes ("18 h 30") may be a time of day or a length of time: it asks for either.
- A number with a minus asks for that; it offers the number without it too ("fell 5%"), but for degrees.
- A date offers its parts, so that a claim may say less than the source; a day and a year that stand apart carry a date.
- A token is read once and looked ahead of by a fixed number of others: linear time for any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxy.grounding.numerals import (
    AFTER_HOUR,
    AFTER_ONE,
    ANDS,
    ARTICLES,
    BEFORE,
    BEFORE_CLOCK,
    BEFORE_MONTH,
    BETWEEN_NUMBER_AND_UNIT,
    BOUNDS,
    COUNTERS,
    DOLLAR_OF,
    FRACTION_SIGNS,
    FRACTIONS,
    HALF_MORE,
    HALF_TO,
    HALVES,
    HOURS,
    INDEFINITE,
    KANA_UNITS,
    KANJI,
    KANJI_SCALES,
    LONE_HOURS,
    LONE_MONTHS,
    LONGEST_KANA_UNIT,
    MAGNITUDES,
    MONEY,
    MONTHS,
    OF,
    OPENERS,
    ORDINAL_MARKS,
    ORDINALS,
    PAST,
    PHRASES,
    PORTUGUESE,
    QUARTERS,
    RANGE_MARKS,
    SEEN_ASIDE,
    SMALL,
    TENS,
    THAN,
    TIMES,
    UNITS,
    UNSURE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.grounding.numerals import Key

CLOSE = 0.05
"""How far a number may be from the one that a claim calls "about" that much."""

_SPACED = r"(?<![\d.,/:-])(?<!\d )\d{1,3}(?: \d{3}){1,4}(?! ?\d)(?:[.,]\d+)?"
_MEASURED = "|".join(re.escape(word) for word in sorted({*UNITS, *MAGNITUDES}, key=len, reverse=True))
_SIGNED = (
    r"(?<![\w%°€$£¥)\]/\u2010-\u2015-])(?<!\d )(?<![%€$£¥] )(?<!°[CF] )(?:(?<=[^\n])|(?=.\d+(?:[.,]\d+)?\s?(?:[°%]|$)))"
    r"[-\u2212]\d+(?:[.,'\u2019\u00a0\u202f\u2009]\d+)*(?![\w/:-]|[.,]\d|\s?[ap]\.?m\b)"
)
TOKEN = re.compile(
    rf"{_SPACED}(?= ?(?:{_MEASURED})(?!\w))|(?:(?<=[€$£¥])|(?<=[€$£¥] )|(?<=(?:EUR|CHF|USD|GBP) )){_SPACED}|{_SIGNED}|"
    r"\d{4}-\d\d?-\d\d?(?!\d)|\d\d?(?:/\d\d?/|\.\d\d?\.|-\d\d?-)(?:\d{4}|\d\d)(?!\.?\d)|\d\d?:\d\d(?![\d:])"
    r"|\d{1,3}/\d{1,3}(?![\d/])|\d+(?:[.,'\u2019\u00a0\u202f\u2009]\d+)*|(?:[^\W\d_]\.){2,}|(?:[^\W\d_]\.)+[^\W\d_](?!\w)|(?!(?:EUR|USD|GBP|JPY|CHF|AUD|CAD|CNY|INR|Rs)\d)[A-Za-zÀ-ɏ]{1,6}-?\d[\w-]*"
    r"|(?:EUR|USD|GBP|JPY|CHF|AUD|CAD|CNY|INR|Rs)(?=\d)|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
    r"(?:['\u2019][^\W\d_]+)?|[^\w\s]"
)
"""Numbers whole, with their minus, and with spaces for thousands where a unit follows; dates in figures whole, words
with their apostrophe, marks one by one; ideographs one by one."""

MINUS = ("-", "\u2212")
_LONGEST_FIGURE = 24
_LONGEST_KANJI = 12
_YEAR_FIGURES = 4
SAID_TIMES = {"noon": 720.0, "midnight": 0.0}
"""Minutes of the day."""
CLOCK_MARKS = frozenset({"o'clock", "o\u2019clock", "uhr", "uur"})
_SOON = 2  # years after which a date is no longer what "after" another means


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the tokens [start, end) that state it.

    ``family`` tells which values may be mistaken for each other: "date", "clock", "money", "%", a dimension, or "" for
    bare numbers. ``bound`` is "~" (about), ">" or "<" (more, less than) or "". ``digits`` counts the significant digits
    of a number with a magnitude word, which may be rounded, and is 0 for others. ``counts`` is false for words that
    can carry a number but seldom state one ("a week", "one", "first").
    """

    start: int
    end: int
    family: str
    asks: tuple[Key, ...]
    offers: tuple[Key, ...]
    amounts: tuple[Key, ...] = ()
    both: tuple[Key, ...] = ()
    bound: str = ""
    digits: int = 0
    counts: bool = True
    upto: Value | None = None
    """The other end of a range that this value opens."""


# --- what one token says ---------------------------------------------------------------------------------------------


def figures(token: str) -> tuple[float, ...]:
    """The numbers that figures may mean: "1,234" is 1234 or, as many write it, 1.234. None for "1.2.3"."""
    if token[0] in MINUS:
        return tuple(-number for number in figures(token[1:]))
    if token.isdecimal():
        return (float(token),) if len(token) <= _LONGEST_FIGURE else ()
    if len(token) > _LONGEST_FIGURE:
        return ()
    marks = "".join(character for character in token if not character.isdecimal())
    parts = re.split(r"\D", token)
    if len(set(marks)) > 1:
        return _mixed(parts, marks)
    grouped = all(len(part) == 3 for part in parts[1:]) and parts[0] != "0" and len(parts[0]) <= 3  # noqa: PLR2004 - thousands
    decimal = marks in {".", ","}
    readings = [float("".join(parts))] if grouped else []
    if decimal:
        readings.append(float(".".join(parts)))
    return tuple(readings if marks != "." else reversed(readings))


def _mixed(parts: Sequence[str], marks: str) -> tuple[float, ...]:
    """A number with thousands marks of one sort and one decimal mark of another."""
    if len(set(marks[:-1])) > 1 or marks[-1] not in ".,":
        return ()
    return (float(f"{''.join(parts[:-1])}.{parts[-1]}"),)


def _significant(token: str) -> int:
    return max(1, len(re.sub(r"\D", "", token).strip("0")))


# --- what tokens say together -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Number:
    """A number before its unit: its readings, the token after it, how it was written."""

    numbers: tuple[float, ...]
    end: int
    digits: int = 0
    counts: bool = True
    units: tuple[Key, ...] = ()
    bound: str = ""
    parts: tuple[float, ...] = ()
    """What it was added up from, each in its own unit: the 1 and the 30 of "1 hour 30 minutes"."""


def values_in(tokens: Sequence[str]) -> list[Value]:
    """The values of a sentence's tokens, in order, none within another."""
    return list(_Reader(tokens).values())


class _Reader:
    """Reads the values of one sentence."""

    __slots__ = ("_low", "_portuguese", "_tokens")

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = (*tokens, "", "", "", "", "", "", "", "")  # so that looking ahead finds nothing
        self._low = [token.lower() for token in self._tokens]
        self._portuguese = not PORTUGUESE.isdisjoint(self._low)

    def values(self) -> Iterator[Value]:
        at, last = 0, len(self._tokens) - 8
        while at < last:
            token = self._tokens[at]
            if _is_figure(token) or self._low[at] in OPENERS or token in BEFORE or self._dollar_of(at):
                value = self._date(at) or self._clock(at) or self._amount(at)
                if value is not None:
                    yield self._bounded(value)
                    at = value.end
                    continue
            at += 1

    def _dollar_of(self, at: int) -> bool:
        return self._tokens[at + 1] == "$" and self._low[at] in DOLLAR_OF

    def _bounded(self, value: Value) -> Value:
        """A value with its bound. A year before or after another is no number; "over 2000" is."""
        if value.bound:
            return value
        if value.family == "date":
            bound = _DATE_BOUNDS.get(self._low[value.start - 1] if value.start else "", "")
            if bound or len(value.amounts) < 2:  # noqa: PLR2004 - when, and as a number
                return replace(value, bound=bound, amounts=value.amounts[:1]) if bound else value
        bound = self._bound(value.start, value.end)
        return replace(value, bound=bound) if bound else value

    def _bound(self, start: int, end: int) -> str:
        """Whether the words around a value call it about, more or less than."""
        before = self._low[max(0, start - 3) : start]
        if before and before[-1] == "a":
            before.pop()
        last, prior = (["", "", *before])[:-3:-1]
        if last in {"than", "to", "least", "most"}:
            bound = (
                THAN.get(prior, "")
                if last == "than"
                else {"up to": "<", "at least": ">", "at most": "<"}.get(f"{prior} {last}", "")
            )
            if bound and before[:1] in (["no"], ["not"]):
                bound = "<" if bound == ">" else ">"
            return bound or ("~" if prior == "close" else "")
        after = " ".join(self._low[end : end + 2])
        tail = {"or more": ">", "or less": "<", "or fewer": "<", "or so": "~"}.get(
            after, ">" if after[:1] == "+" else ""
        )
        return BOUNDS.get(last, tail)

    # dates and times

    def _date(self, at: int) -> Value | None:
        token = self._tokens[at]
        if token[0].isdecimal():
            return self._date_in_figures(at) or self._day_first(at)
        if self._low[at] in ORDINALS or self._low[at] in SMALL:
            return self._day_first(at)
        if token in KANJI or token in KANJI_SCALES:
            return self._ideographic(at)
        return self._month_first(at) if self._low[at] in MONTHS else None

    def _date_in_figures(self, at: int) -> Value | None:
        token, then = self._tokens[at], self._tokens[at + 1]
        if then in {"年", "月"}:
            return self._ideographic(at)
        if _MONTH_IN_FIGURES.fullmatch(token) and then == "/" and _is_year(self._tokens[at + 2]):
            return self._month_and_year(at, at + 3, int(self._tokens[at + 2]), int(token))
        if _MONTH_AND_YEAR.fullmatch(token):
            return self._month_and_year(at, at + 1, int(token[3:]), int(token[:2]))
        if _DAY_AND_MONTH.fullmatch(token) and (then == "." or "/" in token):
            one, other = map(int, re.split(r"\D", token))
            dates = _calendar((0, other, one), (0, one, other) if "/" in token else (0, 0, 0))
            return self._dated(at, at + 1 + (then == "."), dates, token) if dates else None
        parts = (
            [int(part) for part in re.split(r"\D", token)]
            if len(token) <= len("2021-03-03") and not token.isdecimal()
            else []
        )
        if len(parts) != 3 or not re.fullmatch(r"\d+([/.-])\d+\1\d\d+", token):  # noqa: PLR2004 - day, month, year
            return None
        if parts[0] > 31:  # noqa: PLR2004 - the longest month
            dates = _calendar((parts[0], parts[1], parts[2]))
        else:
            year = parts[2] if parts[2] > 99 else parts[2] + (2000 if parts[2] < 50 else 1900)  # noqa: PLR2004 - two figures
            dates = _calendar((year, parts[1], parts[0]), (year, parts[0], parts[1]))
        return _date_value(at, at + 1, dates) if dates else None

    def _month_and_year(self, at: int, end: int, year: int, month: int) -> Value | None:
        """A month and a year in figures, 03/2011, which may also be two numbers, or one."""
        if at and self._tokens[at - 1] == "/":
            return None
        value = _date_value(at, end, [(year, month, 0)])
        number = float(month) if end > at + 1 else figures(self._tokens[at])[0]
        asks = (*value.asks, ("raw", number)) if end == at + 1 else value.asks
        return replace(value, asks=asks, offers=(*value.offers, ("raw", number), ("bare", number)))

    def _dated(self, at: int, end: int, dates: list[tuple[int, int, int]], token: str) -> Value:
        """A day and month in figures, which may also be a plain number."""
        value = _date_value(at, end, dates)
        one, other = (float(part) for part in re.split(r"\D", token))
        number = (
            ("raw", _exact(one / other))
            if "/" in token and other
            else ("raw", figures(token)[0] if "." in token else 0.0)
        )
        part = ("%", _exact(100 * number[1]))
        return replace(
            value, asks=(*value.asks, number, part), offers=(*value.offers, number, part, ("bare", number[1]))
        )

    def _ideographic(self, at: int) -> Value | None:
        """Year, month and day as Chinese and Japanese write them; any may be missing, but "3日" may be three days."""
        parts: dict[str, int] = {}
        start = at
        while True:
            token = self._tokens[at]
            figure = token.isdecimal() and len(token) <= _YEAR_FIGURES
            number, end = (float(token), at + 1) if figure else self._kanji(at)
            mark = self._tokens[end]
            if end == at or number > _LAST_YEAR or mark not in {"年", "月", "日"} or mark in parts:
                break
            parts[mark] = int(number)
            at = end + 1
        if len(parts) == 1 and ("日" in parts or parts.get("年", _FIRST_YEAR) < _FIRST_YEAR):
            return None
        dates = _calendar((parts.get("年", 0), parts.get("月", 0), parts.get("日", 0)))
        return _date_value(start, at, dates) if dates else None

    def _kanji(self, at: int) -> tuple[float, int]:
        """A number in ideographs and the token after it; ``at`` when there is none, or "several" thousand."""
        tokens = self._tokens
        end = at
        while end < at + _LONGEST_KANJI and (tokens[end] in KANJI or tokens[end] in KANJI_SCALES):
            end += 1
        before = tokens[at - 1] if at else ""
        if before in INDEFINITE or before in KANJI or before in KANJI_SCALES or end == at + _LONGEST_KANJI:
            return 0.0, at
        run = tokens[at:end]
        if all(sign in KANJI for sign in run):
            return float("".join(f"{KANJI[sign]:.0f}" for sign in run) or 0), end
        total = part = figure = 0.0
        for sign in run:
            scale = KANJI_SCALES.get(sign)
            if scale is None:
                figure = KANJI[sign]
            elif scale < 1e4:  # noqa: PLR2004 - a myriad
                part, figure = part + (figure or 1.0) * scale, 0.0
            else:
                total, part, figure = total + (part + figure or 1.0) * scale, 0.0, 0.0
        return total + part + figure, end

    def _kanji_number(self, at: int) -> _Number | None:
        """A number in ideographs, where what follows shows that it is one: "三人", but neither "一般" nor "四日市"."""
        number, end = self._kanji(at)
        sure = self._tokens[end] in COUNTERS or self._unit(end)[0]
        if end == at or not sure or self._tokens[end + 1] in {"市", "町", "村"}:
            return None
        return _Number((number,), end, counts=self._tokens[at:end] != ("一",))

    def _day_first(self, at: int) -> Value | None:
        day, end = self._spelled_day(at)
        if self._low[end] in RANGE_MARKS or self._low[end] in {"and", "."}:
            end = self._day(end + 1)[1] if self._day(end + 1)[0] else end  # 3-5 March
        end += self._low[end] in OF
        month = MONTHS.get(self._low[end], 0)
        if not day or not month or self._tokens[end] == "may":
            return None
        end += 1 + (self._tokens[end + 1] == "." and self._year(end + 2)[0] > 0)
        year, end = self._year(end)
        dates = _calendar((year, month, day))
        return _date_value(at, end, dates) if dates else None

    def _month_first(self, at: int) -> Value | None:
        month = MONTHS[self._low[at]]
        after = at + 1 + (self._tokens[at + 1] == "." and self._tokens[at + 2][:1].isdecimal())
        day, end = self._day(after)
        if self._tokens[after + 1] == "," and self._year(after + 2)[0]:
            day, end = self._spelled_day(after)
        if day and self._low[end] in RANGE_MARKS and self._day(end + 1)[0]:
            end = self._day(end + 1)[1]  # March 3-5
        year, end = self._year(end)
        alone = not day and not year
        if alone and not (
            self._low[at] in LONE_MONTHS and self._tokens[at][0].isupper() and self._low[max(0, at - 1)] in BEFORE_MONTH
        ):
            return None
        dates = _calendar((year, month, day))
        return _date_value(at, end if not alone else at + 1, dates) if dates else None

    def _day(self, at: int) -> tuple[int, int]:
        """The day of a month at a token, and the token after it; (0, at) when there is none."""
        token = self._tokens[at]
        if token.isdecimal() and len(token) <= 2 and 1 <= int(token) <= 31:  # noqa: PLR2004 - the longest month
            return int(token), at + 1 + (self._low[at + 1] in ORDINAL_MARKS)
        number = self._ordinal(at)
        return (int(number.numbers[0]), number.end) if number and number.numbers[0] <= 31 else (0, at)  # noqa: PLR2004

    def _spelled_day(self, at: int) -> tuple[int, int]:
        """The day of a month, in figures or words: "seven August", but no "one March day"."""
        day = int(SMALL.get(self._low[at], 0))
        return (day, at + 1) if 1 < day <= 31 and self._low[at] not in UNSURE else self._day(at)  # noqa: PLR2004

    def _year(self, at: int) -> tuple[int, int]:
        """The year at a token, after a comma or "of", and the token after it; (0, at) when there is none."""
        place = at + (self._low[at] in OF)
        token = self._tokens[place]
        return (int(token), place + 1) if _is_year(token) else (0, at)

    def _clock(self, at: int) -> Value | None:
        said = self._low[at]
        if said in SAID_TIMES:
            return _clock_value(at, at + 1, (SAID_TIMES[said],))
        value = self._clock_in_words(at) or self._clock_by_the_hour(at) or self._ideographic_clock(at)
        if value is not None:
            return value
        if said in SMALL and self._low[at + 1] in CLOCK_MARKS:
            return _clock_value(at, at + 2, _minutes(SMALL[said]))
        return self._clock_in_figures(at)

    def _hour(self, at: int) -> float:
        """The hour of a clock at a token, -1 when there is none."""
        token = self._tokens[at]
        said = self._low[at]
        hour = float(token) if token.isdecimal() and len(token) <= 2 else SMALL.get(said, LONE_HOURS.get(said, -1.0))  # noqa: PLR2004
        return hour if hour <= _HOURS else -1.0

    def _clock_in_words(self, at: int) -> Value | None:
        """Half past six, a quarter to seven, ten past six; "halb sieben" and "half zeven", which are half past six."""
        said, then = self._low[at], self._low[at + 1]
        if said in {"halb", "half"} and (then in HALF_TO or (said == "halb" and self._hour(at + 1) > 0)):
            return _clock_value(at, at + 2, _minutes((HALF_TO.get(then) or self._hour(at + 1)) - 1, 30))
        hour = self._hour(at + 2) if then in PAST else -1.0
        if hour < 0 or self._unit(at + 3)[0]:
            return None  # "from a quarter to 5 %"
        if said in QUARTERS:
            return _clock_value(at, at + 3, _minutes(hour, 15 * PAST[then]))
        past = 30.0 if said == "half" else SMALL.get(said, TENS.get(said, 60.0))
        return _clock_value(at, at + 3, _minutes(hour, past)) if then == "past" and past <= 30 else None  # noqa: PLR2004

    def _clock_by_the_hour(self, at: int) -> Value | None:
        """An hour, its sign, and what is added to it: "18 h 30", "6h30", "seis y media", "six heures et demie"."""
        hour, end = self._hour(at), at + 1
        if hour < 0:
            return None
        low = self._low
        joined = _HOUR_AND_MINUTES.fullmatch(low[end])
        if joined:
            return self._hour_value(at, end + 1, hour, float(joined.group(1)))
        signed = low[end] in HOURS
        return self._clock_with_more(at, end + signed, hour, signed=signed)

    def _clock_with_more(self, at: int, end: int, hour: float, *, signed: bool) -> Value | None:
        """What of such a time stands behind the hour and, if it is ``signed``, its sign."""
        low = self._low
        added = next(
            (
                (AFTER_HOUR[said], length)
                for length in (3, 2)
                if (said := " ".join(low[end : end + length])) in AFTER_HOUR
            ),
            None,
        )
        if added:
            return self._hour_value(at, end + added[1], hour, added[0], dual=signed)
        if not signed or not self._tokens[at].isdecimal():
            return None
        is_time = at > 0 and low[at - 1] in BEFORE_CLOCK
        if _MINUTES.fullmatch(low[end]) and self._may_follow_minutes(end + 1, sure=is_time or low[end - 1] == "h"):
            return self._hour_value(at, end + 1 + bool(self._unit(end + 1)[0]), hour, float(low[end]))
        if low[at + 1] in {"h", "heure", "heures", "hora", "horas"} and is_time:
            value = self._hour_value(at, end, hour, 0.0)
            return replace(value, asks=(*value.asks, ("bare", hour)), offers=(*value.offers, ("raw", hour)))
        return None

    def _may_follow_minutes(self, at: int, *, sure: bool) -> bool:
        """Whether figures before a token may be minutes: not in "2 hours 30 people", nor in "2 h 30 kg"."""
        units = self._unit(at)[0]
        return units == (("duration", 60.0),) if units else sure or not _is_counted(self._tokens[at])

    def _hour_value(self, at: int, end: int, hour: float, minutes: float, *, dual: bool = True) -> Value:
        """A time of day, or with ``dual`` as well a length of time."""
        value = _clock_value(at, end, _minutes(hour, minutes))
        if not dual:
            return value
        length: tuple[Key, ...] = (("duration", 60 * (60 * hour + minutes)),)
        family = "clock" if at and self._low[at - 1] in BEFORE_CLOCK else "duration"
        keys = (*length, *value.asks) if family == "duration" else (*value.asks, *length)
        return replace(value, family=family, asks=keys, offers=keys)

    def _ideographic_clock(self, at: int) -> Value | None:
        """A time of day as Japanese writes it: 午後6時, 6時半, 六時三十分; not 6時間, which is six hours."""
        tokens = self._tokens
        half = tokens[at + 1] if tokens[at] == "午" else ""
        hour, end = self._counted(at + 2 * bool(half))
        if tokens[end] != "時" or tokens[end + 1] == "間" or not 0 <= hour <= _HOURS or half not in {"", "前", "後"}:
            return None
        minutes, last = self._counted(end + 1)
        if tokens[end + 1] == "半":
            minutes, last = 30.0, end + 2
        elif last > end + 1 and tokens[last] == "分":
            last += 1
        else:
            minutes, last = 0.0, end + 1
        if half:
            return _clock_value(at, last, ((60 * (hour % 12) + minutes) + 720 * (half == "後"),))
        return _clock_value(at, last, _minutes(hour, minutes))

    def _counted(self, at: int) -> tuple[float, int]:
        """A small number in figures or ideographs and the token after it; ``at`` when there is none."""
        token = self._tokens[at]
        return (float(token), at + 1) if token.isdecimal() and len(token) <= 2 else self._kanji(at)  # noqa: PLR2004

    def _clock_in_figures(self, at: int) -> Value | None:
        token, low = self._tokens[at], self._low
        if not token.isascii() or not re.fullmatch(r"\d\d?(?:[:.]\d\d)?", token):
            return None
        hour, minute = (int(part) for part in (*re.split("[:.]", token), "0")[:2])
        if hour > 24 or minute > 59:  # noqa: PLR2004 - a day's hours and an hour's minutes
            return None
        mark = low[at + 1].replace(".", "")
        minutes = 60.0 * hour + minute
        if mark in {"am", "pm"} and hour <= 12:  # noqa: PLR2004 - half a day
            return _clock_value(at, at + 2, (minutes % 720 + 720 * (mark == "pm"),))
        if mark in CLOCK_MARKS or ":" in token:
            end = at + 1 + (":" not in token or mark in {"uhr", "uur"})
            return _clock_value(at, end, _minutes(hour, minute))
        return None

    # numbers, with units and without

    def _amount(self, at: int) -> Value | None:
        value = self._decade(at)
        if value is not None:
            return value
        number, start_of_unit = self._number_with_unit(at)
        if number is None:
            return self._code(at)
        number = self._added_up(number)
        end = number.end
        mark = self._low[end]
        joined = mark in RANGE_MARKS or (
            mark in {"and", "y", "et", "und"} and at and self._low[at - 1] in {"between", "zwischen", "entre"}
        )
        if joined and start_of_unit == end:
            other, _ = self._number_with_unit(end + 1)
            if other is not None and other.end > end + 1:
                return self._range(at, number, other)
        if mark == "/" and _is_year(self._tokens[at]) and len(self._tokens[end + 1]) == 2:  # noqa: PLR2004 - 2019/20
            other, _ = self._number_with_unit(end + 1)
            if other is not None:
                return self._range(at, number, other)
        return _number_value(at, number, self._tokens)

    def _added_up(self, number: _Number) -> _Number:
        """A length of time with the smaller part that follows: 1 hour 30 minutes, two years and six months."""
        if len(number.units) != 1 or number.units[0][0] not in {"duration", "months"} or len(number.numbers) != 1:
            return number
        low, (kind, factor), end = self._low, number.units[0], number.end
        joined = low[end] in ANDS
        half = end + 1 + (low[end + 1] in ARTICLES)
        if joined and low[half] in HALVES and low[half + 1] not in ARTICLES and not self._unit(half + 1)[0]:
            return replace(number, numbers=(number.numbers[0] + 1 / 2,), end=half + 1, counts=True)
        part, _ = self._number_with_unit(end + joined)
        if part is None or len(part.units) != 1 or part.bound or part.digits:
            return number
        minutes = factor == 3600 and self._tokens[part.end - 1] == "m"  # noqa: PLR2004 - 2h 30m
        unit = ("duration", 60.0) if minutes else part.units[0]
        smaller = part.numbers[0] * unit[1]
        if unit[0] != kind or unit[1] >= factor or not 0 < smaller < factor:
            return number
        total = (number.numbers[0] * factor + smaller) / factor
        return replace(number, numbers=(total,), end=part.end, counts=True, parts=(number.numbers[0], part.numbers[0]))

    def _range(self, at: int, low: _Number, high: _Number) -> Value:
        """The lower end of a range: it has the unit and the magnitude that stand after the upper one."""
        end = low.end
        tokens = self._tokens
        if _is_year(tokens[at]) and tokens[end + 1].isdecimal() and len(tokens[end + 1]) == 2:  # noqa: PLR2004 - 1994-95
            year = low.numbers[0] // 100 * 100 + high.numbers[0]
            value = _number_value(at, low, tokens)
            return replace(value, end=end + 2, offers=(*value.offers, ("year", year), ("raw", year)))
        if high.units and not low.units:
            scaled = tuple(number * high_scale for number in low.numbers for high_scale in _scales(low, high))
            low = replace(low, numbers=scaled, units=high.units)
        elif high.digits and not low.digits:
            low = replace(low, numbers=tuple(number * scale for number in low.numbers for scale in _scales(low, high)))
        return replace(_number_value(at, low, tokens), upto=_number_value(end + 1, high, tokens))

    def _number_with_unit(self, at: int) -> tuple[_Number | None, int]:
        """A number and its unit, before or after it; and where a unit after it begins."""
        before: tuple[Key, ...] = ()
        place = at
        if self._dollar_of(at):
            before, place = ((DOLLAR_OF[self._low[at]], 1.0),), at + 2
        elif self._tokens[at] in BEFORE:
            before, place = BEFORE[self._tokens[at]], at + 1
        number = self._number(place, money=bool(before))
        if number is None or before:
            return (replace(number, units=before), number.end) if number else (None, at)
        if number.units:
            return number, number.end
        units, end = self._unit(number.end)
        if units and len(units) == 1 and units[0] == ("length", 1.0) and self._tokens[end - 1] == "m":
            millions = tuple(1e6 * one for one in number.numbers)
            return replace(number, numbers=(*number.numbers, *millions), end=end, units=units), number.end
        return replace(number, units=units, end=end, counts=number.counts or bool(units)), number.end

    def _unit(self, at: int) -> tuple[tuple[Key, ...], int]:
        """The unit at a token, after a hyphen or one of a few adjectives, and the token after it."""
        place = at + (self._tokens[at] in {"-", "\u2011"})
        pair = PHRASES.get((self._low[place], self._low[place + 1]))
        if pair:
            return pair, place + 2 + (pair[0][0] == "speed" and self._low[place + 2] in {"h", "hour", "s"})
        adjective = self._low[place] in BETWEEN_NUMBER_AND_UNIT
        token, low = self._tokens[place + adjective], self._low[place + adjective]
        if self._dollar_of(place):
            return ((DOLLAR_OF[self._low[place]], 1.0),), place + 2
        units = UNITS.get(token) or (UNITS.get(low) if len(token) > 2 else None)  # noqa: PLR2004 - MW is no mW
        return (units, place + adjective + 1) if units else self._unit_in_signs(at)

    def _unit_in_signs(self, at: int) -> tuple[tuple[Key, ...], int]:
        """A unit of several kana or ideographs, the longest that fits; and minutes, after figures alone."""
        tokens = self._tokens
        if tokens[at] == "分" and at and tokens[at - 1][:1].isdecimal() and tokens[at + 1] != "の":
            return (("duration", 60.0),), at + 1
        if len(tokens[at]) == 1 and tokens[at] >= _FIRST_KANA:
            for length in range(LONGEST_KANA_UNIT, 1, -1):
                units = KANA_UNITS.get("".join(tokens[at : at + length])) if all(tokens[at : at + length]) else None
                if units:
                    return units, at + length
        return (), at

    def _number(self, at: int, *, money: bool = False) -> _Number | None:
        token = self._tokens[at]
        if token and _is_figure(token):
            return self._figure_number(at, money=money)
        if token in KANJI or token in KANJI_SCALES:
            return self._kanji_number(at)
        return self._fraction(at) or self._ordinal(at) or self._spelled_number(at)

    def _figure_number(self, at: int, *, money: bool) -> _Number | None:
        token = self._tokens[at]
        if "/" in token:
            above, below = (float(part) for part in token.split("/", 1))
            return _Number((above / below,), at + 1, units=(("%", 100.0),)) if below and token.count("/") == 1 else None
        numbers = figures(token)
        if not numbers:
            return None
        if self._low[at + 1] in ORDINAL_MARKS:
            return _Number(numbers, at + 2, units=(("ordinal", 1.0),))
        end = at + 1
        sign = self._tokens[end]
        if sign in FRACTION_SIGNS or (sign == "1/2" and token.isdecimal()):
            numbers, end = tuple(number + FRACTION_SIGNS.get(sign, 1 / 2) for number in numbers), end + 1
        factor, end = self._magnitude(end, money=money)
        if factor == 1 and self._low[end : end + 3] == ["and", "a", "half"]:
            numbers, end = tuple(number + 1 / 2 for number in numbers), end + 3
            factor, end = self._magnitude(end, money=money)
        if factor in {1e4, 1e8} and self._tokens[end][:1].isdecimal():
            return self._joined(at, numbers[0] * factor, end)
        digits = _significant(token) if factor > 1 else 0
        return _Number(tuple(_exact(number * factor) for number in numbers), end, digits)

    def _joined(self, at: int, number: float, end: int) -> _Number:
        """A number that goes on after a myriad: 1万5000."""
        rest = figures(self._tokens[end])
        factor, after = self._magnitude(end + 1, money=False)
        return (
            _Number((number + rest[0] * factor,), after)
            if rest
            else _Number((number,), end, _significant(self._tokens[at]))
        )

    def _magnitude(self, at: int, *, money: bool) -> tuple[float, int]:
        """The product of the magnitude words at a token, and the token after them."""
        factor, end = 1.0, at
        while end < at + 2:
            word = self._tokens[end]
            if word == "dozen":
                step = 12.0
            elif money and word in {"m", "b"}:
                step = 1e6 if word == "m" else 1e9
            else:
                step = MAGNITUDES.get(word) or (MAGNITUDES.get(self._low[end], 1.0) if len(word) > 1 else 1.0)
            if step == 1:
                break
            factor, end = factor * step, end + 1
        return factor, end

    def _ordinal(self, at: int) -> _Number | None:
        low = self._low
        if low[at] in ORDINALS:
            return _Number((ORDINALS[low[at]],), at + 1, counts=low[at] != "first", units=(("ordinal", 1.0),))
        if low[at] in TENS:
            unit = at + 1 + (self._tokens[at + 1] in {"-", "\u2011"})
            if 0 < ORDINALS.get(low[unit], 0) < 10:  # noqa: PLR2004 - twenty-first
                return _Number((TENS[low[at]] + ORDINALS[low[unit]],), unit + 1, units=(("ordinal", 1.0),))
        return None

    def _fraction(self, at: int) -> _Number | None:
        """Half, two thirds, a quarter of; half a million, half an hour."""
        low = self._low
        if self._tokens[at] in FRACTION_SIGNS:
            return _Number((FRACTION_SIGNS[self._tokens[at]],), at + 1, units=(("%", 100.0),))
        if low[at] == "half":
            return self._half(at)
        if low[at] in HALVES:
            place = at + 1 + (self._tokens[at + 1] == "-")
            word = next((word for word in (self._tokens[place], low[place]) if word in AFTER_ONE), "")
            return _Number((1 / 2,), place + 1, units=UNITS[word]) if word else None
        part = at + 1 + (self._tokens[at + 1] in {"-", "\u2011"})
        size = FRACTIONS.get(low[part])
        count = 1.0 if low[at] in {"a", "an", "one"} else SMALL.get(low[at], 0.0)
        if not size or not count or size == 1 / 2:
            return None
        if low[part].endswith("s") != (count > 1) or (low[at] in {"a", "an"} and low[part + 1] != "of"):
            return None
        return _Number((_exact(count * size),), part + 1, units=(("%", 100.0),), bound="~")

    def _half(self, at: int) -> _Number | None:
        low = self._low
        if at and (low[at - 1] in ORDINALS or low[at - 1] in {"other", "latter", "better", "every", "time"}):
            return None
        place = at + 1 + (low[at + 1] in {"a", "an", "-"})
        factor, end = self._magnitude(place, money=False)
        if factor > 1:
            return _Number((factor / 2,), end)
        units = UNITS.get(low[place], ()) if len(low[place]) > 2 else ()  # noqa: PLR2004 - "half an hour", no "half m"
        if units:
            return _Number((1 / 2,), place + 1, units=units)
        stated = low[at + 1] in {"of", "the", "its", "their", "his", "her", "our", "your"} or place == at + 1
        return _Number((1 / 2,), at + 1, counts=stated and low[at + 1] != "-", units=(("%", 100.0),))

    def _spelled_number(self, at: int) -> _Number | None:
        low = self._low[at]
        if low in TIMES or low in HALF_MORE:
            return _Number((TIMES.get(low) or HALF_MORE[low],), at + 1, counts=low not in SEEN_ASIDE)
        if low in ARTICLES:
            return self._one(at + 1)
        total, end = self._spelled(at)
        if end == at or (low in UNSURE and not self._is_sure(at, end)):
            return None
        if self._low[end] in {"cent", "cents"} and self._low[end - 1] in _FRENCH_HUNDREDS:
            return _Number((total, total + 99 * (total % 100)), end + bool(self._unit(end + 1)[0]))
        if self._low[end : end + 3] == ["and", "a", "half"]:
            factor, after = self._magnitude(end + 3, money=False)
            return _Number(((total + 1 / 2) * factor,), after)
        return _Number((total,), end, counts=end > at + 1 or low not in SEEN_ASIDE, digits=1 if total >= 1e3 else 0)  # noqa: PLR2004

    def _one(self, at: int) -> _Number | None:
        """What an article before a token makes of it: a million, a week."""
        factor, end = self._magnitude(at, money=False)
        if factor > 1 and len(self._tokens[at]) > 1:
            return _Number((factor,), end, digits=1)
        word = next((word for word in (self._tokens[at], self._low[at]) if word in AFTER_ONE), "")
        return _Number((1.0,), at + 1, counts=False, units=UNITS[word]) if word else None

    def _is_sure(self, at: int, end: int) -> bool:
        """Whether a word that is commonly something else is a number: what follows can be counted with it."""
        if self._low[at] == "dos" and (self._portuguese or self._low[end] in {"anos", "dias"}):
            return False
        return end > at + 1 or bool(self._unit(end)[0]) or self._low[end] in {"cent", "cents"}

    def _spelled(self, at: int) -> tuple[float, int]:
        """A number in words, as most languages join them, and the token after it; ``at`` when there is none."""
        sums: tuple[float, float] | None = (0.0, 0.0)
        total, end, place = 0.0, at, at
        while sums and (sums := _grown(*sums, self._low[place], first=end == at)):
            total, end = sum(sums), place + 1
            joint = self._low[end]
            place = end + (joint == "-" or (joint in {"and", "e"} and total >= 100) or self._is_joint(end, total))  # noqa: PLR2004 - two hundred and five
        return total, end

    def _is_joint(self, at: int, total: float) -> bool:
        """Whether an "and" joins tens and ones: "treinta y cinco", "soixante et onze"; not "veinte y treinta"."""
        ones = SMALL.get(self._low[at + 1], 0.0) if self._low[at] in {"y", "e", "et"} else 0.0
        return total % 10 == 0 and total % 100 >= 20 and (0 < ones < 10 or (ones == 11 and self._low[at] == "et"))  # noqa: PLR2004

    def _decade(self, at: int) -> Value | None:
        token = self._tokens[at]
        then = at + 1 + (self._tokens[at + 1] in {"'", "\u2019"})
        if not token.isdecimal() or len(token) not in {2, 4} or not token.endswith("0") or self._tokens[then] != "s":
            return self._century(at)
        year = float(token) if len(token) > 2 else 1900.0 + float(token)  # noqa: PLR2004 - two figures
        keys = (("decade", year),)
        return Value(at, then + 1, "date", keys, keys)

    def _century(self, at: int) -> Value | None:
        number = self._ordinal(at) or (self._figure_number(at, money=False) if self._tokens[at].isdecimal() else None)
        if number is None or number.units != (("ordinal", 1.0),):
            return None
        end = number.end + (self._tokens[number.end] == "-")
        if self._low[end] not in {"century", "centuries"}:
            return None
        keys = (("century", number.numbers[0]),)
        return Value(at, end + 1, "date", keys, keys)

    def _code(self, at: int) -> Value | None:
        """Figures that are no number: versions, addresses, keys."""
        token = self._tokens[at]
        if not token[0].isdecimal():
            return None
        keys = ((f"code {token}", 0.0),)
        return Value(at, at + 1, "code", keys, keys)


# --- keys ------------------------------------------------------------------------------------------------------------

_FRENCH_HUNDREDS = frozenset("deux trois quatre cinq six sept huit neuf".split())
"""Before "cents" they make hundreds; "six cents" may be six hundred and 6 cents."""
_HOURS = 24
_HOUR_AND_MINUTES = re.compile(r"h([0-5]\d)(?:m|mn|min)?", re.ASCII)
_MINUTES = re.compile(r"[0-5]\d", re.ASCII)
_MONTH_IN_FIGURES = re.compile(r"0[1-9]|1[0-2]", re.ASCII)
_MONTH_AND_YEAR = re.compile(r"0[1-9]\.(?:19|20)\d\d", re.ASCII)
_FIRST_KANA = "\u3040"
_DAY_AND_MONTH = re.compile(r"0\d\.\d\d?|\d\d?\.0\d|\d\d?/\d\d?", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1000, 2999
_DATE_BOUNDS = {"after": ">", "since": ">", "before": "<", "until": "<", "by": "<"}
_AFTER_YEAR = frozenset(
    "and but the was were when with for until till that who which while from has had his her its their und von der die "
    "que por para les des est een het van".split()
)
_DEGREES = ("°C", "°F", "degree")


def _is_figure(token: str) -> bool:
    return token[0].isdecimal() or (token[0] in MINUS and len(token) > 1)


def _is_year(token: str) -> bool:
    return len(token) == 4 and token.isdecimal() and _FIRST_YEAR <= int(token) <= _LAST_YEAR  # noqa: PLR2004 - four figures


def _exact(number: float) -> float:
    """A number without what reckoning in binary adds to it."""
    return float(f"{number:.9g}")


def _calendar(*dates: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Those of some (year, month, day) that can be dates, each once; 0 stands for what is not said."""
    return [date for date in dict.fromkeys(dates) if date[1] <= 12 and date[2] <= 31 and any(date)]  # noqa: PLR2004


def _scales(low: _Number, high: _Number) -> tuple[float, ...]:
    """What the upper end's magnitude word may make of the lower one: in "5 to 10 million" both may be meant."""
    if low.digits or not high.digits:
        return (1.0,)
    return next(((scale, 1.0) for scale in (1e12, 1e9, 1e6, 1e3) if high.numbers[0] >= scale), (1.0,))


def _years(year: float) -> tuple[Key, ...]:
    """What a year carries: itself as a number, its decade, its century."""
    return ("year", year), ("raw", year), ("decade", year // 10 * 10), ("century", (year - 1) // 100 + 1)


def _grown(total: float, part: float, word: str, *, first: bool) -> tuple[float, float] | None:
    """A number in words with one more: thousands and the part below them; None if the word does not go on with it."""
    number = SMALL.get(word, TENS.get(word))
    if number is not None:
        if 10 <= part <= 20 <= number < 100:  # noqa: PLR2004 - nineteen ninety
            return total, part * 100 + number
        if part == 4 and word in {"vingt", "vingts"}:  # noqa: PLR2004 - quatre-vingts
            return total, 80.0
        fits = first or (number > 0 and (total + part >= 100 and part % 100 == 0))  # noqa: PLR2004 - two hundred five
        fits |= 0 < number < 10 and part % 10 == 0 and part % 100 >= 20  # noqa: PLR2004 - twenty-five
        fits |= 10 <= number < 20 and part % 100 in {60, 80}  # noqa: PLR2004 - soixante-dix
        fits |= part == 10 and word in {"sept", "huit", "neuf"}  # noqa: PLR2004 - dix-sept
        fits &= first or number < 100 or (total > 0 and part == 0)  # noqa: PLR2004 - mil quinientos
        return (total, part + number) if fits else None
    scale = 12.0 if word == "dozen" else MAGNITUDES.get(word, 0.0) if len(word) > 2 else 0.0  # noqa: PLR2004 - "five k"
    if not scale or not (part or first):
        return None
    return (total, (part or 1.0) * scale) if scale <= 100 else (total + (part or 1.0) * scale, 0.0)  # noqa: PLR2004 - hundred


def _date_value(start: int, end: int, dates: Sequence[tuple[int, int, int]]) -> Value:
    asks: list[Key] = []
    offers: list[Key] = []
    both: tuple[Key, ...] = ()
    for year, month, day in dates:
        month_and_day, whole = 100.0 * month + day, 10000.0 * year + 100 * month + day
        if year:
            offers += _years(float(year))
        if month:
            offers += [("month", month), *((("month of a year", whole - day),) if year else (("any month", month),))]
        if month and day:
            offers += [("day", month_and_day), ("date", whole) if year else ("any day", month_and_day)]
            offers.append(("day of the month", day))
        if year and month:
            asks.append(("date", whole) if day else ("month of a year", whole))
            both = (("any day", month_and_day) if day else ("any month", month), ("year", year))
        else:
            asks.append(("year", year) if year else ("day", month_and_day) if day else ("month", month))
    year, month, day = dates[0]
    when = _exact(year + month / 13 + day / 500)  # in order, that is all
    return Value(start, end, "date", tuple(asks), tuple(offers), (("when" if year else "when in a year", when),), both)


def _minutes(hour: float, past: float = 0.0) -> tuple[float, ...]:
    """The minutes of the day that an hour and ``past`` minutes may be: up to 12 of both of its halves."""
    at = 60 * hour + past
    return (at % 1440, (at + 720) % 1440) if hour <= 12 else (at % 1440,)  # noqa: PLR2004 - half a day


def _clock_value(start: int, end: int, minutes: Sequence[float]) -> Value:
    keys = tuple(("clock", minute) for minute in minutes)
    return Value(start, end, "clock", keys, keys)


def _number_value(start: int, number: _Number, tokens: Sequence[str]) -> Value:
    value = _value(start, number, tokens)
    if number.numbers[0] >= 0 or value.family in _DEGREES:
        return value
    unsigned = _value(start, replace(number, numbers=tuple(map(abs, number.numbers))), tokens)
    return replace(value, offers=(*value.offers, *unsigned.offers))


def _value(start: int, number: _Number, tokens: Sequence[str]) -> Value:
    numbers, units = number.numbers, number.units
    raw: tuple[Key, ...] = tuple(("raw", one) for one in numbers)
    bare: tuple[Key, ...] = tuple(("bare", one) for one in numbers)
    if units == (("ordinal", 1.0),):
        place = (("ordinal", numbers[0]),)
        return Value(start, number.end, "ordinal", (*place, *bare), (*place, *raw), counts=number.counts)
    measured = tuple((kind, _exact(one * factor)) for kind, factor in units for one in numbers)
    if units:
        family = "money" if units[0][0] in MONEY else units[0][0]
        day: tuple[Key, ...] = (("day of the month", numbers[0]),) if tokens[number.end - 1] == "日" else ()
        parts: tuple[Key, ...] = tuple(("raw", part) for part in number.parts)
        return Value(
            start,
            number.end,
            family,
            (*measured, *day, *bare),
            (*measured, *raw, *parts),
            (*measured, *bare),
            (),
            number.bound,
            number.digits,
            number.counts,
        )
    if number.end == start + 1 and _is_year(tokens[start]):
        years = _years(numbers[0])
        amount = ("bare" if _is_counted(tokens[number.end]) else "number", numbers[0])
        return Value(start, number.end, "date", years[:2], (*years, *bare), (("when", numbers[0]), amount))
    return Value(start, number.end, "", raw, (*raw, *bare), bare, (), number.bound, number.digits, number.counts)


def _is_counted(token: str) -> bool:
    """Whether a word may be what "1500" counts, for else that is likelier a year."""
    return token in COUNTERS or (len(token) > 2 and token.isalpha() and token.lower() not in _AFTER_YEAR)  # noqa: PLR2004


def is_close(claimed: Value, found: Value) -> bool:
    """Whether evidence's ``found`` carries a number that the claim calls about, more or less than, or has rounded."""
    if not (claimed.bound or claimed.digits):
        return False
    if claimed.bound in {"~", "<"} and found.upto is not None and _within(claimed, found, found.upto):
        return True
    return any(_near(claimed, *pair) for pair in _comparable(claimed, found))


def _comparable(one: Value, other: Value) -> Iterator[tuple[float, float, bool]]:
    """Pairs of readings in one unit, and whether they are dates; a bare number is read in the other's.

    What is likelier a year ("number") is compared with numbers, but not with another such.
    """
    measured = all(len(value.amounts) > 1 and value.family not in {"", "date"} for value in (one, other))
    for kind, amount in one.amounts:
        for other_kind, other_amount in other.amounts:
            if (kind == other_kind != "number" and not (measured and kind == "bare")) or {kind, other_kind} == {
                "number",
                "bare",
            }:
                yield amount, other_amount, kind.startswith("when")


def _within(claimed: Value, low: Value, high: Value) -> bool:
    below = any(other < amount for amount, other, _ in _comparable(claimed, low))
    return below and any(other > amount for amount, other, _ in _comparable(claimed, high))


def _near(claimed: Value, amount: float, other: float, dated: bool) -> bool:  # noqa: FBT001 - one of a pair's parts
    off = other - amount
    reach = _SOON if dated else abs(amount)
    if claimed.bound == ">":
        return 0 <= off <= reach
    if claimed.bound == "<":
        return 0 <= -off <= reach / 2
    if claimed.bound == "~":
        return abs(off) <= (reach if dated else CLOSE * abs(amount))
    return amount != 0 and float(f"{other:.{claimed.digits - 1}e}") == amount
