"""Text cut into segments: sentences, list items, table rows, lines of code.

Rules of this file
- Segments tile the text: every character belongs to exactly one.
- A boundary depends only on the text before it and on at most ``LOOKAHEAD`` characters after it, so that a stream
  and a whole answer are cut alike. A forced cut, where a segment has no boundary within ``reach``, depends on those
  characters and as many after them; it counts characters, never time or chunks.
- A table row that opens with a bar is cut at no full stop, and a table's first row keeps the rule line under it: only
  that line tells that the row is a header.
"""

# The punctuation of many scripts is the subject of this file.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxy.grounding.words import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKAHEAD = 24
"""Characters after a possible boundary that may decide it."""

MAX_CLAIM_CHARS = 350
"""A segment of Latin letters is cut here at the latest, so that a claim fits beside a window in the scorer's limit.

Of other scripts a character costs the scorer more of its tokens: see ``weight``."""

_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_WIDE = "\u0e00-\u0eff\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_OTHER = "\u0370-\u1dbf\u1f00-\u1fff"
_HEAVIER = re.compile(f"([{_HANGUL}])|([{_WIDE}])|([{_OTHER}])")
_EXTRA = (4, 2, 1)
_LEAST_REACH = MAX_CLAIM_CHARS // (1 + max(_EXTRA))

_CANDIDATE = re.compile(r"[.!?…\n。！？｡؟।]")
_FULL_STOPS_WITHOUT_SPACE = frozenset("。！？｡")
_AFTER_CLOSERS = re.compile(r"[\"'”’»)\]}*_`」』）】]*(?:\[[\w^, -]{1,12}\])*")
_SOFT_BREAKS = re.compile(r"[;,:，、；：]\s|[，、；：]|\s")
_QUOTE_ENDS = "」』"
_READS_ON_AFTER_QUOTE = re.compile(r"と|って|を|の|が|は|に|も|で|など|だ|、")
_RULE = re.compile(r"(?=.*-)(?=.*(?:\||--))[|:\- \t]+")
LIST_MARK = r"(?:[-*+•–]|\d{1,3}[.)]|(?:[A-Za-z]|[ivxIVX]{2,4})\))\s"
"""What opens a list item. A letter with a full stop may be a name's: "A. Smith"."""

MARKS = re.compile(rf"\s*(?:(?:{LIST_MARK}|>\s|#{{1,6}}\s)\s*)+")
"""All that opens a line before its words: marks of lists, quotations and headings, one within another."""

_NUMBERED = re.compile(r"\s*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})$")
_BLOCK_START = re.compile(rf"[ \t]*(?:{LIST_MARK}|#{{1,6}}\s|\||```|~~~|>|\n|$)")
_LONG_WORD = re.compile(r"[^\W\d_]{4}$")
_RUN_ON = re.compile(r"[a-z]{3}$")
_SENTENCE_OPENS = re.compile(r"[A-Z][a-z]*\s")
_INITIALS = re.compile(r"(?:^|[\s(\[\"'“‘])(?:[A-Za-z]\.)*[A-Za-z]$")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs etc approx no nos vol fig figs eq sec ch pp p ed eds rev gen col lt sgt capt cmdr "
    "adm gov sen rep hon pres dept univ inc ltd co corp bros est al cf ca c resp incl excl max min temp tel ext "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun "
    "nr bzw usw ggf vgl abs art evtl inkl zzgl exkl gest hrsg jh mio mrd stk zit anm aufl bd bsp insb insbes "
    "str mme mlle av boul chap janv févr avr juil déc réf tél env ste éd "
    "sra srta sres sras ud uds dra dña ej pág págs núm cap avda aprox izq dcha admón "
    "exmo exma exa srs prof profa pag págs ltda obs "
    "sig sigg dott avv geom pagg ecc "
    "bijv dhr mevr drs blz enz evt zgn".split()
)
_ENDS_SENTENCE_BEFORE_CAPITAL = frozenset(
    "etc inc ltd co corp bros al max min temp art abs usw enz ecc ltda env cap no nos jan feb mar apr jun jul aug sep "
    "sept oct nov dec mon tue tues wed thu thur thurs fri sat sun".split()
)
_DOTTED = [
    "ad es.",
    *"e.g. i.e. z.B. z.T. z.Zt. z.Hd. d.h. v.a. i.d.R. u.U. s.o. s.u. u.a.m. p.ex. p.ej. p.es. c.-à-d. c.à.d. "
    "d.w.z. i.p.v. m.b.t. m.u.v. t.a.v. i.v.m. a.u.b. t.n.v. o.l.v. Sig.ra. V.Exa. V.Sa.".split(),
]
_DOTTED_AT_END = "u.a. o.ä. o.a. e.d. n.Chr. v.Chr. a.C. d.C. EE.UU. S.A. S.L. B.V. N.V. e.V.".split()


def _any_of(dotted: list[str]) -> str:
    """A pattern of each, less its last full stop, with or without spaces inside and a capital in front."""
    forms = sorted({form for each in dotted for form in (each, each[0].upper() + each[1:])})
    written = [r"[.]\s?".join(map(re.escape, form.removesuffix(".").split("."))) for form in forms]
    return rf"(?<![^\W_])(?:{'|'.join(written)})"


_INSIDE_DOTTED = re.compile(rf"{_any_of(_DOTTED)}[.]|{_any_of(_DOTTED_AT_END)}(?=[.])")
"""Abbreviations of several parts. Their full stops end no sentence; the last one may, where it commonly does."""

_LAST_PART = re.compile(r"(?:^|[^\w])[^\W\d_]{1,3}$")
_BEFORE_NUMBER = re.compile(r"(?:^|[\s(\[,;])(?:S|Z|Rn|n|N)$")
_LONGEST_ABBREVIATION = 16
_LONGEST_DOTTED = 10


class Segmenter:
    """Cuts text into segments as it arrives. Any cutting of the input gives the same segments.

    ``feed`` returns the (start, end) spans that closed, ``close`` the rest; together they tile the whole text.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._begin = 0  # of the open segment, in the buffer
        self._offset = 0  # of the open segment, in the whole text
        self._scanned = 0  # characters of the open segment whose boundaries are decided
        self._fenced = False

    def feed(self, piece: str) -> list[tuple[int, int]]:
        """Add text; return the segments that it closed."""
        self._buffer = self._buffer[self._begin :] + piece  # what is left over is short: linear time
        self._begin = 0
        return list(self._take(final=False))

    def close(self) -> list[tuple[int, int]]:
        """Return the segments that are left."""
        closed = list(self._take(final=True))
        left = len(self._buffer) - self._begin
        return [*closed, self._cut(left)] if left else closed

    def _take(self, *, final: bool) -> Iterator[tuple[int, int]]:
        while (end := self._next_boundary(final=final)) is not None:
            yield self._cut(end)

    def _cut(self, length: int) -> tuple[int, int]:
        self._fenced ^= is_fence(self._buffer[self._begin : self._begin + length])
        span = (self._offset, self._offset + length)
        self._begin, self._offset, self._scanned = self._begin + length, span[1], 0
        return span

    def _next_boundary(self, *, final: bool) -> int | None:
        """Length of the open segment, or None while it is undecided."""
        text = self._buffer[self._begin : self._begin + MAX_CLAIM_CHARS + LOOKAHEAD]
        whole = final and self._begin + len(text) == len(self._buffer)
        known = len(text) if whole else len(text) - LOOKAHEAD
        end = self._first_boundary(text, _LEAST_REACH, known)
        if end is not None:
            return end
        limit = reach(text)
        end = self._first_boundary(text, limit, known)
        if end is not None:
            return end
        too_long = len(text) >= limit + LOOKAHEAD or (whole and len(text) > limit)
        return _soft_break(text, limit) if too_long else None

    def _first_boundary(self, text: str, limit: int, known: int) -> int | None:
        """The first boundary before ``limit``, if what decides it is there: for marks before ``known`` it is."""
        for found in _CANDIDATE.finditer(text, self._scanned, max(self._scanned, min(limit, len(text)))):
            if found.start() >= known and not _is_decided(text, found.start()):
                return None
            end = self._boundary_after(text, found.start())
            if end is not None:
                return end
            self._scanned = found.end()
        return None

    def _boundary_after(self, text: str, at: int) -> int | None:
        if text[at] == "\n":
            blank = not text[:at].strip()  # blank lines belong to the segment that follows
            return None if blank else _line_boundary(text, at, fenced=self._fenced)
        return None if self._fenced or _in_row(text, at) else _sentence_boundary(text, at)


def weight(text: str) -> int:
    """Length of a text as the scorer feels it, in Latin letters: a small vocabulary takes other scripts apart.

    A Greek, Cyrillic, Arabic or Indic letter counts 2, an ideograph, kana or Thai letter 3, a Hangul syllable 5.
    """
    if text.isascii():
        return len(text)
    return len(text) + sum(_extra(found) for found in _HEAVIER.finditer(text))


def reach(text: str, budget: int = MAX_CLAIM_CHARS) -> int:
    """How many characters at the front of ``text`` weigh no more than ``budget``.

    When all of them do, the room that is left is counted in Latin letters and added.
    """
    if text.isascii():
        return budget
    room = budget
    for found in _HEAVIER.finditer(text):
        if found.end() + _extra(found) > room:
            return min(room, found.start())
        room -= _extra(found)
    return room


def _extra(found: re.Match[str]) -> int:
    return _EXTRA[(found.lastindex or 1) - 1]


def is_fence(segment: str) -> bool:
    """Whether a segment opens or closes a block of code."""
    line = segment.strip()
    return line[:3] in {"```", "~~~"} and line[:3] not in line[3:]


def is_rule(line: str) -> bool:
    """Whether a line is the one under a table's header: "|---|:-:|"."""
    return _RULE.fullmatch(line.strip()) is not None


def _in_row(text: str, at: int) -> bool:
    """Whether the character at ``at`` stands in a line that opens like a table row."""
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("|")


def _line_boundary(text: str, at: int, *, fenced: bool) -> int | None:
    """A line break ends a segment unless the next line plainly continues the sentence (hard-wrapped prose).

    And a table's header is not parted from its rule line.
    """
    ahead = text[at + 1 : at + 1 + LOOKAHEAD]
    line = text[text.rfind("\n", 0, at) + 1 : at]
    if "|" in line and not fenced:
        return None if is_rule(ahead.split("\n", 1)[0]) and not is_rule(line) else at + 1
    if fenced or _BLOCK_START.match(ahead) or text[:at].lstrip().startswith(("```", "~~~", "#")):
        return at + 1
    continues = ahead.lstrip(" \t")[:1].islower() and not text[:at].rstrip(" \t").endswith((".", "!", "?", ":", "|"))
    return None if continues else at + 1


def _sentence_boundary(text: str, at: int) -> int | None:
    """A full stop, question or exclamation mark ends a segment where a sentence can end; closers stay with it."""
    after = text[at + 1 : at + 1 + LOOKAHEAD]
    closers = _AFTER_CLOSERS.match(after)
    tail = closers.end() if closers else 0
    following = INVISIBLE.sub(" ", after[tail:])
    if text[at] in _FULL_STOPS_WITHOUT_SPACE:
        quoted = tail > 0 and after[tail - 1] in _QUOTE_ENDS and _READS_ON_AFTER_QUOTE.match(following)
        return None if quoted else at + 1 + tail  # 「…。」と is what somebody said, in a sentence that goes on
    if _RUN_ON.search(text[max(0, at - 3) : at]) and _SENTENCE_OPENS.match(following):
        return at + 1 + tail  # the space was forgotten
    if following and not following[0].isspace():
        return None  # a decimal, a URL, "e.g", or one of several marks: "?!", "..."
    rest = following.lstrip()
    before = text[:at].rstrip(" ")
    if rest[:1].islower() and not (text[at] == "." and _ends_without_capital(before, at)):
        return None  # "Yahoo! said", "approx. five"
    if text[at] == "." and (_in_dotted(before, after) or not _full_stop_ends(before, rest)):
        return None  # "e.g. this"
    return at + 1 + tail


def _is_decided(text: str, at: int) -> bool:
    """Whether the mark at ``at`` needs no more text: it stands before space and the first character of what follows.

    So a stream need not wait for ``LOOKAHEAD`` characters after most sentences.
    """
    if text[at] in _FULL_STOPS_WITHOUT_SPACE or text[at] == "\n" or not text[at + 1 : at + 2].isspace():
        return False
    if text[at] == "." and _LAST_PART.search(text[max(0, at - _LONGEST_DOTTED) : at].rstrip(" ")):
        return False
    return bool(INVISIBLE.sub(" ", text[at + 1 :]).strip())


def _ends_without_capital(before: str, at: int) -> bool:
    """Whether some end a sentence here and write on without a capital: after a long word, or with space before."""
    spaced = len(before) < at and not _INITIALS.search(before[-_LONGEST_ABBREVIATION:])
    return spaced or _LONG_WORD.search(before[-4:]) is not None


def _in_dotted(before: str, after: str) -> bool:
    """Whether a full stop is one of those in "z. B." or "p. ex.", and text follows."""
    near = before[-_LONGEST_DOTTED:]
    if not (after.strip() and _LAST_PART.search(near)):
        return False
    return any(
        found.start() < len(near) < found.end()
        for found in _INSIDE_DOTTED.finditer(f"{near}.{after[:_LONGEST_DOTTED]}")
    )


def _full_stop_ends(before: str, rest: str) -> bool:
    line = before[before.rfind("\n") + 1 :]
    if _NUMBERED.match(line):
        return False  # "1." opens a list item
    before = before[-_LONGEST_ABBREVIATION:]
    if rest[:1].isdigit() and _BEFORE_NUMBER.search(before):
        return False  # "S. 12"
    word = _LAST_WORD.search(before)
    lowered = word.group().lower() if word else ""
    if lowered in _ABBREVIATIONS and not (word and before[: word.start()].endswith(("'", "’"))):
        if lowered in _ENDS_SENTENCE_BEFORE_CAPITAL:
            return not rest[:1].isdigit()
        return not rest
    return not (_INITIALS.search(before) and rest and _reads_on_after_initial(before, rest))


def _reads_on_after_initial(before: str, rest: str) -> bool:
    """Whether "J." or "U.S." is followed by more of its name or sentence. A lone "I." or unit ends a sentence."""
    dotted = before[-2:-1] == "." or not before[:-1].rstrip()
    return before[-1:].isupper() and (dotted or rest[:1].isupper())


def _soft_break(text: str, limit: int) -> int:
    """Where to cut a segment that is too long: after the last clause mark or space, else at the limit."""
    floor = limit // 2
    breaks = [found.end() for found in _SOFT_BREAKS.finditer(text, floor, limit)]
    marks = [end for end in breaks if not text[end - 1].isspace() or (end > 1 and text[end - 2] in ";,:")]
    return (marks or breaks or [limit])[-1]


def segments(text: str) -> list[tuple[int, int]]:
    """Spans that tile ``text``."""
    segmenter = Segmenter()
    return segmenter.feed(text) + segmenter.close()
