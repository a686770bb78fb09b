"""Table rows as they are read: each cell behind the name of its column.

"| Team | $29 | 10 |" means nothing to an encoder, the less the more columns there are; "Plan: Team; Price: $29; Seats:
10" does, and it is how a row of an answer is put to it (see ``reading``). Nor does an encoder keep many rows apart: of
a window's, only those are read whose subject the claim names, where it speaks of what stands in any of them. The exact
checks read a table as it is written, under its header: there a value belongs to a row and a column.

A row's header may stand in another window, so sources are looked through whole. A table is a Markdown table (a header
line, a rule of as many cells under it, and the lines with a bar that follow), or at least three lines with the same
number of tabs, the first with a word and no digit in every cell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING

from proxy.grounding.cutting import is_rule
from proxy.grounding.labels import cells_of, told_row
from proxy.grounding.types import Window
from proxy.grounding.words import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LEAST_LINES = 3
"""Lines with tabs that make a table."""

LONGEST_TOLD = 900
"""Characters of rows that are read with their columns' names: more than a premise has room for is read as written."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row's, or a header's, place in its source.

    ``header`` is the table's, as it is written; ``told`` how the row is read. ``subject`` are the words of its first
    cell that no other row's has (of the second where the first only counts the rows), ``words`` those of the others.
    """

    start: int
    end: int
    header: str
    told: str
    is_header: bool = False
    subject: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Read:
    """A stretch of a source: ``told`` to an encoder, ``written`` under ``header`` for the exact checks."""

    told: str
    written: str
    header: str = ""

    @classmethod
    def verbatim(cls, text: str) -> Read:
        """What holds no row. Character references of HTML, which feeds leave in texts, are read as characters."""
        read = unescape(text) if "&" in text else text
        return cls(read, read)


class Rows:
    """The rows of some sources; ``source`` of a window counts these from 0. Linear in their text."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._rows = [list(_rows(text)) if "|" in text or "\t" in text else [] for text in texts]
        self._starts = [[row.start for row in rows] for rows in self._rows]

    def cut(self, window: Window) -> Iterator[tuple[Window, Row | None]]:
        """The window's whole rows and headers, and the stretches between them."""
        at = window.start
        for row in self._within(window):
            if at < row.start:
                yield _slice(window, at, row.start), None
            yield _slice(window, row.start, row.end), row
            at = row.end
        if at < window.end:
            yield _slice(window, at, window.end), None

    def read(self, window: Window, claim: frozenset[str] = frozenset()) -> Read:
        """How a window is read beside a claim of these words."""
        rows = [row for row in self._within(window) if not row.is_header]
        if not rows:
            return Read.verbatim(window.text)
        chosen = _chosen(rows, claim)
        told, written = [], []
        for part, row in self.cut(window):
            if row is None:
                told.append(part.text)
                written.append(part.text)
            elif row.is_header or row in chosen:
                told.append("" if row.is_header else row.told)
                written.append(part.text)
        first = rows[0]
        begins_within = first.start - len(first.header) <= window.start
        text = _without_gaps(written)
        return Read(
            told=_without_gaps(told) if sum(map(len, told)) <= LONGEST_TOLD else text,
            written=text,
            header=first.header if begins_within else "",
        )

    def _within(self, window: Window) -> Sequence[Row]:
        if window.source >= len(self._rows):
            return ()
        starts = self._starts[window.source]
        rows = self._rows[window.source][bisect_left(starts, window.start) : bisect_left(starts, window.end)]
        return [row for row in rows if row.end <= window.end]


def _slice(window: Window, start: int, end: int) -> Window:
    text = window.text[start - window.start : end - window.start]
    return Window(source=window.source, start=start, end=end, text=text)


def _chosen(rows: Sequence[Row], claim: frozenset[str]) -> Sequence[Row]:
    """The rows that a claim names; all of them where it names none, or compares them and speaks of no cell."""
    named = [row for row in rows if row.subject & claim]
    return named if named and any(row.words & claim for row in rows) else rows


def _without_gaps(parts: Sequence[str]) -> str:
    """Parts in lines, without those that are left empty by what was taken out."""
    lines = "\n".join(part.strip("\r\n") for part in parts if part.strip()).split("\n")
    return "\n".join(line for line in lines if line.strip())


_Line = tuple[int, str]


def _rows(text: str) -> Iterator[Row]:
    """Every header and row of a text, in order."""
    lines = _lines(text)
    at = 0
    while at < len(lines):
        if last := _end_of_barred(lines, at):
            yield from _table(text, lines[at : at + 2], lines[at + 2 : last], cells_of)
        elif last := _end_of_tabbed(lines, at):
            yield from _table(text, lines[at : at + 1], lines[at + 1 : last], _tabbed)
        at = last or at + 1


def _table(
    text: str, head: Sequence[_Line], body: Sequence[_Line], cells_in: Callable[[str], list[str]]
) -> Iterator[Row]:
    start, end = head[0][0], head[-1][0] + len(head[-1][1])
    header = text[start:end]
    names = cells_in(head[0][1])
    yield Row(start, end, header, told="", is_header=True)
    cells = [cells_in(line) for _, line in body]
    counted = [each[0].rstrip(".") for each in cells] == [str(number) for number in range(1, len(cells) + 1)]
    subject = 1 if counted and len(names) > 1 else 0
    first = [terms(each[subject]) if subject < len(each) else [] for each in cells]
    shared = Counter(word for words in first for word in set(words))
    for (begin, line), each, words in zip(body, cells, first, strict=True):
        own = frozenset(word for word in words if shared[word] == 1) or frozenset(words)
        others = frozenset(terms(" ".join(cell for at, cell in enumerate(each) if at != subject)))
        yield Row(begin, begin + len(line), header, told_row(names, each), subject=own, words=others)


def _lines(text: str) -> list[_Line]:
    """Each line without the space around it, and where it begins."""
    found, at = [], 0
    for line in text.split("\n"):
        found.append((at + len(line) - len(line.lstrip()), line.strip()))
        at += len(line) + 1
    return found


def _end_of_barred(lines: Sequence[_Line], at: int) -> int:
    """Behind the last row of the Markdown table whose header is line ``at``; 0 if it is none."""
    header = lines[at][1]
    rule = lines[at + 1][1] if at + 1 < len(lines) else ""
    if "|" not in header or is_rule(header) or not is_rule(rule) or len(cells_of(header)) != len(cells_of(rule)):
        return 0
    last = at + 2
    while last < len(lines) and "|" in lines[last][1]:
        last += 1
    return last


def _end_of_tabbed(lines: Sequence[_Line], at: int) -> int:
    """The same of lines with tabs. A row may end in empty cells, whose tabs are stripped with the space."""
    columns = lines[at][1].count("\t")
    if not columns or not all(_is_name(cell) for cell in _tabbed(lines[at][1])):
        return 0
    last = at + 1
    while last < len(lines) and 1 <= lines[last][1].count("\t") <= columns:
        last += 1
    return last if last - at >= LEAST_LINES else 0


def _tabbed(line: str) -> list[str]:
    return [" ".join(cell.split()) for cell in line.split("\t")]


def _is_name(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))
