"""Exact checks: values, names and negations of a claim that its evidence does not carry, or carries elsewhere.

A small encoder reads "$10" and "$20" much alike, and matches words without asking which value belongs to which subject.
So what can be compared exactly is compared exactly here, after normalising: "1.5k" is "1,500", "March 3rd" is
"3 March", "ten" is 10, "two weeks" is "14 days". The result is a handful of numbers, *signs*, which feed the score
beside the encoder's own judgement. No sign is a verdict: a number that is not in the source is a strong sign, no proof.

Reading a text is linear in it; comparing is linear in the evidence, times the claim's few values.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from proxy.grounding.words import STOP, terms, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NUMBER_WORDS = {
    word: value
    for value, words in enumerate(
        (
            "zero null nul",
            "",  # "one" is too often no number
            "two dos deux zwei twee dois due",
            "three tres trois drei drie três tre",
            "four cuatro quatre vier quatro quattro",
            "five cinco cinq fünf vijf cinque",
            "six seis sechs zes sei",
            "seven siete sept sieben zeven sete sette",
            "eight ocho huit acht oito otto",
            "nine nueve neuf neun negen nove",
            "ten diez dix zehn tien dez dieci",
            "eleven once onze elf undici",
            "twelve doce douze zwölf twaalf doze dodici dozen",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty veinte vingt zwanzig twintig vinte venti",
        )
    )
    for word in words.split()
}
_NUMBER_WORDS |= {
    word: 30 + 10 * at for at, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split())
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=2
    )
}
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "millions": 1e6,
    "mn": 1e6,
    "m": 1e6,
    "billion": 1e9,
    "billions": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
    "万": 1e4,
    "億": 1e8,
}
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan enero janvier januar januari janeiro gennaio",
            "february feb febrero février februar februari fevereiro febbraio",
            "march mar marzo mars märz maart março",
            "april apr abril avril aprile",
            "may mayo mai mei maio maggio",
            "june jun junio juin juni junho giugno",
            "july jul julio juillet juli julho luglio",
            "august aug agosto août augustus",
            "september sep sept septiembre septembre setembro settembre",
            "october oct octubre octobre oktober outubro ottobre",
            "november nov noviembre novembre novembro",
            "december dec diciembre décembre dezember dezembro dicembre",
        ),
        start=1,
    )
    for name in names.split()
}
_UNITS: dict[str, tuple[str, float]] = {
    word: (kind, factor)
    for kind, factor, words in (
        ("%", 1, "% percent percentage prozent pct pourcent procent"),
        ("$", 1, "$ usd dollar dollars"),
        ("€", 1, "€ eur euro euros"),
        ("£", 1, "£ gbp pounds"),
        ("¥", 1, "¥ yen 円"),
        ("length", 1e-3, "mm millimetre millimetres millimeter millimeters"),
        ("length", 1e-2, "cm centimetre centimetres centimeter centimeters"),
        ("length", 1, "metre metres meter meters"),
        ("length", 1e3, "km kilometre kilometres kilometer kilometers"),
        ("mile", 1, "mile miles mi"),
        ("foot", 1, "feet foot ft"),
        ("mass", 1e-6, "mg milligram milligrams"),
        ("mass", 1e-3, "gram grams"),
        ("mass", 1, "kg kilogram kilograms kilo kilos"),
        ("mass", 1e3, "tonne tonnes tons"),
        ("power", 1, "kw kilowatt kilowatts"),
        ("power", 1e3, "mw megawatt megawatts"),
        ("bytes", 1, "mb megabyte megabytes"),
        ("bytes", 1e3, "gb gigabyte gigabytes"),
        ("bytes", 1e6, "tb terabyte terabytes"),
        ("time", 1 / 1440, "minute minutes min mins"),
        ("time", 1 / 24, "hour hours hr hrs"),
        ("time", 1, "day days"),
        ("time", 7, "week weeks"),
        ("month", 1, "month months"),
        ("month", 12, "year years yr yrs"),
    )
    for word in words.split()
}
_AROUND = frozenset("about around approximately roughly nearly almost over under some circa ca than".split())
_NEGATIONS = frozenset(
    "not no never none nobody nothing neither nor without cannot isn aren wasn weren don doesn didn won can couldn "
    "shouldn wouldn hasn haven hadn fails failed refused denied prohibited forbidden".split()
) - {"can", "won", "don"}
_OPPOSITES = {
    term: (number, side)
    for number, pair in enumerate(
        (
            ("increase increased rose rise rising grew grow gained", "decrease decreased fell fall declined dropped"),
            ("before", "after"),
            ("maximum most", "minimum least"),
            ("highest largest biggest longest best", "lowest smallest shortest worst"),
            ("higher larger bigger longer", "lower smaller shorter"),
            ("first earliest", "last latest"),
            ("open opened", "close closed"),
            ("allow allowed permit permitted", "prohibit prohibited forbid forbidden ban banned"),
            ("include includes included", "exclude excludes excluded"),
            ("north northern", "south southern"),
            ("east eastern", "west western"),
            ("buy bought purchase purchased", "sell sold"),
            ("accept accepted approve approved", "reject rejected refuse refused"),
            ("win won", "lose lost"),
            ("support supported", "oppose opposed"),
            ("always", "never"),
            ("male man men", "female woman women"),
            ("required mandatory", "optional voluntary"),
            ("public", "private"),
            ("legal lawful", "illegal unlawful"),
            ("import imported", "export exported"),
            ("hired", "fired"),
            ("inside", "outside"),
            ("above", "below"),
        )
    )
    for side, words in enumerate(pair)
    for term in terms(words)
}

_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:[,'’ \u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:[.,:]\d+)?)"
    r"(?P<ordinal>st|nd|rd|th)?(?P<suffix>[kKmMbB]n?(?![\w])|万|億)?"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)|(?P<mark>[%$€£¥])"
)
_WORD = re.compile(r"[^\W_]+")
_CLAUSES = re.compile(r"(?<=[.!?;。])\s+|[;\n。]|,?\s(?:while|whereas|but|and)\s")
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:\d{1,2}[.)]|[-*•])\s+|\[\d{1,3}\]")
_MIXED = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,20}-?\d[\d\w]{0,20}|(?<!\d)\d{1,20}[A-Za-z]{3,20}")
_PRONOUN = re.compile(r"\W{0,3}(?:it|its|he|his|she|her|they|their|this|that|these|those)\b", re.IGNORECASE)
_CAPITALS_OF_A_LANGUAGE = 0.25
"""Share of capitalised words above which capitals do not tell names (German, headlines)."""

_ROUNDING = 0.05
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Value:
    """A number as a text gives it: all its readings, its unit's kind ("" when none), whether it is a round figure."""

    readings: tuple[float, ...]
    kind: str
    about: bool

    def carried_by(self, others: Iterable[Value]) -> bool:
        """Whether one of ``others`` is the same value: units agree, or one of the two has none."""
        return any(self._same(other) for other in others)

    def _same(self, other: Value) -> bool:
        if self.kind and other.kind and self.kind != other.kind:
            return False
        slack = _ROUNDING if self.about or other.about else _CLOSE
        return any(
            abs(mine - theirs) <= slack * max(abs(mine), abs(theirs))
            for mine in self.readings
            for theirs in other.readings
        )


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch between joints: its content terms, values and names."""

    terms: frozenset[str]
    values: tuple[Value, ...]
    names: frozenset[str]
    negated: bool
    pronoun: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states that can be compared exactly."""

    clauses: tuple[Clause, ...]
    terms: tuple[str, ...]
    values: tuple[Value, ...]
    names: frozenset[str]
    words: frozenset[str]
    negations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What of a claim its evidence does not carry. All are counts, but ``missing`` and ``disorder``: shares, 0 to 1."""

    values_absent: int
    """Numbers, dates, amounts of the claim that the evidence does not hold."""
    names_absent: int
    swapped: int
    """Values and names that the evidence holds only beside other words than the claim's, while its words stand beside
    another value."""
    negation: int
    """1 when either the claim or the clause nearest to it is negated."""
    opposed: int
    """Words of the claim whose opposite stands in the nearest clause."""
    missing: float
    """Share of the claim's content words that the evidence lacks."""
    disorder: float
    """Share of the claim's neighbouring content words that are nowhere near each other in the evidence."""
    changed: int
    """0 when all of the above are: the evidence says it in the claim's own words and order."""

    @classmethod
    def names_of(cls) -> tuple[str, ...]:
        """The signs' names, in order."""
        return tuple(each.name for each in fields(cls))

    def numbers(self) -> tuple[float, ...]:
        """The signs as numbers, in that order; counts above 2 as 2."""
        return tuple(float(min(2, getattr(self, name))) for name in self.names_of())


def facts_of(text: str) -> Facts:
    """Read a text. Never raises."""
    text = _LIST_MARK.sub(" ", visible(text))
    names = _names(text)
    clauses = tuple(_linked(clause for part in _CLAUSES.split(text) if part and (clause := _clause(part, names)).terms))
    return Facts(
        clauses=clauses,
        terms=tuple(terms(text)),
        values=tuple(value for clause in clauses for value in clause.values),
        names=names,
        words=frozenset(_folded(text)),
        negations=sum(clause.negated for clause in clauses),
    )


def _linked(clauses: Iterable[Clause]) -> Iterator[Clause]:
    """A clause that opens with a pronoun speaks of the names of the one before it."""
    before: Clause | None = None
    for clause in clauses:
        if before is not None and clause.pronoun:
            clause = replace(clause, terms=clause.terms | before.names, names=clause.names | before.names)  # noqa: PLW2901
        yield clause
        before = clause


def _clause(text: str, names: frozenset[str]) -> Clause:
    words = _folded(text)
    return Clause(
        terms=frozenset(terms(text)),
        values=tuple(_values(text)),
        names=names & frozenset(words),
        negated=not _NEGATIONS.isdisjoint(words) or "n't" in text or "n’t" in text,
        pronoun=_PRONOUN.match(text) is not None,
    )


def compare(claim: Facts, evidence: Facts) -> Signs:
    """The signs of a claim beside its evidence."""
    held = frozenset(evidence.terms)
    wanted = [term for term in claim.terms if not term[0].isdigit()]
    nearest = _nearest(frozenset(claim.terms), evidence.clauses)
    counts = {
        "values_absent": sum(not value.carried_by(evidence.values) for value in claim.values),
        "names_absent": sum(not _named(name, evidence.words) for name in claim.names),
        "swapped": sum(_swapped(clause, evidence.clauses) for clause in claim.clauses),
        "negation": int(nearest is not None and (claim.negations > 0) != nearest.negated),
        "opposed": _opposed(claim, nearest),
    }
    missing = 1 - _share([term in held for term in wanted])
    disorder = 1 - _share(list(_neighbours(claim.terms, evidence.terms)))
    changed = int(any(counts.values()) or missing > 0 or disorder > 0)
    return Signs(**counts, missing=missing, disorder=disorder, changed=changed)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 1.0


def _folded(text: str) -> list[str]:
    """The words of a text, each folded and without accents."""
    return [_plain(word) for word in _WORD.findall(text)]


def _plain(word: str) -> str:
    """Folded, without accents."""
    if word.isascii():
        return word.casefold()
    return "".join(
        character
        for character in unicodedata.normalize("NFKD", word.casefold())
        if not unicodedata.combining(character)
    )


# --- values --------------------------------------------------------------------------------------------------------


def _values(text: str) -> Iterator[Value]:
    tokens = list(_TOKEN.finditer(_MIXED.sub(" ", text)))
    words = [(token.group("word") or token.group("mark") or "").casefold() for token in tokens]
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.group("number"):
            readings = _readings(token.group("number"))
            if token.group("suffix"):
                scale = _SCALES.get(token.group("suffix").casefold(), 1.0)
                readings = tuple(each * scale for each in readings)
        elif words[at] in _NUMBER_WORDS or words[at] in _ORDINALS:
            readings = (float(_NUMBER_WORDS.get(words[at]) or _ORDINALS.get(words[at], 0)),)
            if readings[0] >= 20 and at + 1 < len(words) and 1 < _NUMBER_WORDS.get(words[at + 1], 0) < 10:  # noqa: PLR2004
                at += 1
                readings = (readings[0] + _NUMBER_WORDS[words[at]],)
        elif words[at] in _MONTHS and (at == 0 or words[at] not in ("may", "mar", "mai", "sept")):
            yield Value((float(_MONTHS[words[at]]),), "calendar", about=False)
            at += 1
            continue
        else:
            at += 1
            continue
        first = at
        while at + 1 < len(words) and words[at + 1] in _SCALES and len(words[at + 1]) > 1:
            at += 1
            readings = tuple(each * _SCALES[words[at]] for each in readings)
        yield _with_unit(readings, words, first, at)
        at += 1


def _with_unit(readings: tuple[float, ...], words: list[str], first: int, last: int) -> Value:
    before = words[first - 1] if first else ""
    after = words[last + 1] if last + 1 < len(words) else ""
    after = "percent" if after == "per" and words[last + 2 : last + 3] == ["cent"] else after
    about = before in _AROUND
    readings = tuple(each for each in readings if math.isfinite(each))
    unit = _UNITS.get(before) if before and before in "$€£¥" else _UNITS.get(after)
    if unit is None:
        return Value(readings, "", about)
    kind, factor = unit
    return Value(tuple(each * factor for each in readings), kind, about)


def _readings(written: str) -> tuple[float, ...]:
    """All that a number as written may mean: "1.234" is 1.234 here and 1234 there."""
    if ":" in written:
        hours, minutes = written.split(":", 1)
        return (float(hours) + float(minutes) / 60,)
    bare = re.sub(r"['’ \u202f]", "", written)
    found = set()
    for thousands, decimal in ((",", "."), (".", ",")):
        plain = bare.replace(thousands, "").replace(decimal, ".")
        whole = bare.split(decimal)[0]
        grouped = thousands not in whole or re.fullmatch(rf"\d{{1,3}}(?:\{thousands}\d{{3}})+", whole)
        if grouped and plain.count(".") <= 1 and thousands not in bare[len(whole) :]:
            found.add(float(plain))
    return tuple(sorted(found)) or (float(re.sub(r"\D", "", written)),)


# --- names ---------------------------------------------------------------------------------------------------------


def _names(text: str) -> frozenset[str]:
    """Words written with a capital where none is due, folded; none in texts that write most words so."""
    words = list(_WORD.finditer(text))
    if not words:
        return frozenset()
    capital = [word for word in words if word.group()[0].isupper()]
    small = {word.group() for word in words if word.group()[0].islower()}
    crowded = len(words) > 8 and len(capital) > _CAPITALS_OF_A_LANGUAGE * len(words)  # noqa: PLR2004
    found = set()
    for word in capital:
        shown = word.group()
        opens = not re.search(r"[^\W_]", text[max(0, word.start() - 3) : word.start()]) and (
            word.start() == 0
            or text[: word.start()].rstrip()[-1:] in ("", ".", "!", "?", ":", "\n", '"', "|", "-", "*")
        )
        lowered = shown.casefold()
        known = (shown.isupper() and len(shown) > 1) or re.match(r"\s[A-Z][a-z]", text[word.end() : word.end() + 3])
        if lowered in STOP or lowered in _MONTHS or lowered in _NUMBER_WORDS or lowered in small or lowered in _COMMON:
            continue
        if known or not (opens or (crowded and len(shown) < 4)):  # noqa: PLR2004
            found.add(_plain(shown))
    return frozenset(found)


_COMMON = frozenset(
    "yes no monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr however according based".split()
)


def _named(name: str, words: frozenset[str]) -> bool:
    """Whether a name stands in the evidence, in any form of its word: possessive, plural, "French" for "France"."""
    if name in words:
        return True
    stem = name[: max(4, len(name) - 3)]
    return len(stem) >= 4 and any(word.startswith(stem) for word in words)  # noqa: PLR2004


# --- which value belongs to which subject ----------------------------------------------------------------------------


def _swapped(claim: Clause, evidence: Sequence[Clause]) -> int:
    """How many of a clause's values stand in the evidence beside other words, while its words have another value.

    Its other words count by those that tell clauses apart; names twice, for they are what is spoken of.
    """
    others = [clause for clause in evidence if clause.values or clause.names]
    if len(others) < 2:  # noqa: PLR2004
        return 0
    common = frozenset.intersection(*(clause.terms for clause in others))
    telling = frozenset(term for term in claim.terms - common if not term[0].isdigit())
    subjects = telling & claim.names

    held = [[value.carried_by(clause.values) for value in claim.values] for clause in others]
    words = [len(telling & clause.terms) + len(subjects & clause.terms) for clause in others]
    beside = [sum(row) + count for row, count in zip(held, words, strict=True)]
    found = 0
    for at in range(len(claim.values)):
        mine = [count - 1 for count, row in zip(beside, held, strict=True) if row[at]]
        pairs = zip(beside, held, others, strict=True)
        found += _rather((count for count, row, clause in pairs if clause.values and not row[at]), mine)
    for name in claim.names:
        own = (name in telling) + (name in subjects)
        mine = [count - own for count, clause in zip(beside, others, strict=True) if name in clause.names]
        pairs_ = zip(beside, others, strict=True)
        found += _rather((count for count, clause in pairs_ if clause.names and name not in clause.names), mine)
    return found


def _rather(rivals: Iterable[int], mine: Sequence[int]) -> bool:
    """Whether the claim's words stand rather beside a rival value than beside its own."""
    return bool(mine) and max(rivals, default=0) > max(mine)


def _nearest(words: frozenset[str], clauses: Sequence[Clause]) -> Clause | None:
    return max(clauses, key=lambda clause: len(words & clause.terms) / (len(clause.terms) + 3), default=None)


def _opposed(claim: Facts, nearest: Clause | None) -> int:
    if nearest is None:
        return 0
    theirs = {_OPPOSITES[term] for term in nearest.terms if term in _OPPOSITES}
    mine = {_OPPOSITES[term] for term in claim.terms if term in _OPPOSITES}
    return sum((number, 1 - side) in theirs and (number, side) not in theirs for number, side in mine)


_REACH = 4


def _neighbours(claim: Sequence[str], evidence: Sequence[str]) -> Iterator[bool]:
    """For each two neighbouring words of the claim: whether they stand within a few words of each other, in order."""
    places: dict[str, list[int]] = {}
    for at, term in enumerate(evidence):
        places.setdefault(term, []).append(at)
    for one, other in pairwise(claim):
        after = places.get(other, ())
        seen = set(after)
        yield any(at + step in seen for at in places.get(one, ()) for step in range(1, _REACH + 1))
