"""Table rows as they are read: each cell behind the name of its column.

"| Team | $29 | 10 |" means nothing to an encoder, the less the more columns there are; "Plan: Team; Price: $29; Seats:
10" does, and it is how a row of an answer is put to it (see ``reading``). A row's header may stand in another window,
so sources are looked through whole. Nor does it keep many rows apart: of a window's, only those are read whose first
cell the claim names, if it names any.

A table is a Markdown table (a header line, the rule under it, and the lines with a bar that follow) or at least three
lines with the same number of tabs, whose first has a word and no digit in every cell.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.cutting import is_rule
from proxy.grounding.labels import cells_of, told_row
from proxy.grounding.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from proxy.grounding.types import Window

LEAST_LINES = 3
"""Lines with tabs that make a table."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row's or a header's place in its source, how it is read, and the words of its first cell.

    Of a header there are none: it states nothing.
    """

    start: int
    end: int
    told: str
    subject: frozenset[str] | None


class Rows:
    """The rows of some sources; ``source`` of a window counts these from 0. Linear in their text."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._rows = [list(_rows(text)) if "|" in text or "\t" in text else [] for text in texts]
        self._starts = [[row.start for row in rows] for rows in self._rows]

    def at(self, window: Window) -> Row | None:
        """The row, or header, that the window is."""
        found = self._within(window)
        return found[0] if len(found) == 1 and (found[0].start, found[0].end) == (window.start, window.end) else None

    def read(self, window: Window, named: frozenset[str] = frozenset()) -> str:
        """The window's text, with its whole rows as they are read beside a claim of the words ``named``."""
        rows = self._within(window)
        chosen = [row for row in rows if row.subject and row.subject & named] or rows
        parts, at = [], window.start
        for row in rows:
            parts += [window.text[at - window.start : row.start - window.start], row.told if row in chosen else ""]
            at = row.end
        return "".join([*parts, window.text[at - window.start :]])

    def _within(self, window: Window) -> Sequence[Row]:
        if window.source >= len(self._rows):
            return ()
        starts = self._starts[window.source]
        rows = self._rows[window.source][bisect_left(starts, window.start) : bisect_left(starts, window.end)]
        return [row for row in rows if row.end <= window.end]


_Line = tuple[int, str]


def _rows(text: str) -> Iterator[Row]:
    """Every header and row of a text, in order."""
    lines = _lines(text)
    at = 0
    while at < len(lines):
        last = _end_of_barred(lines, at)
        if last:
            header = cells_of(lines[at][1])
            under = lines[at + 1]
            yield Row(lines[at][0], under[0] + len(under[1]), "; ".join(filter(None, header)), None)
            yield from (_told(header, line, cells_of(line[1])) for line in lines[at + 2 : last])
        else:
            last = _end_of_tabbed(lines, at)
            header = _tabbed(lines[at][1])
            yield from (_told(header, line, _tabbed(line[1])) for line in lines[at + 1 : last])
        at = last or at + 1


def _lines(text: str) -> list[_Line]:
    """Each line without the space around it, and where it begins."""
    found, at = [], 0
    for line in text.split("\n"):
        found.append((at + len(line) - len(line.lstrip(" \r")), line.strip(" \r")))
        at += len(line) + 1
    return found


def _end_of_barred(lines: list[_Line], at: int) -> int:
    """Behind the last row of the Markdown table whose header is line ``at``; 0 if it is none."""
    if "|" not in lines[at][1] or at + 1 == len(lines) or not is_rule(lines[at + 1][1]) or is_rule(lines[at][1]):
        return 0
    last = at + 2
    while last < len(lines) and "|" in lines[last][1]:
        last += 1
    return last


def _end_of_tabbed(lines: list[_Line], at: int) -> int:
    """The same of lines with tabs."""
    columns = lines[at][1].count("\t")
    if not columns or not all(_is_name(cell) for cell in _tabbed(lines[at][1])):
        return 0
    last = at + 1
    while last < len(lines) and lines[last][1].count("\t") == columns:
        last += 1
    return last if last - at >= LEAST_LINES else 0


def _tabbed(line: str) -> list[str]:
    return [" ".join(cell.split()) for cell in line.split("\t")]


def _is_name(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))


def _told(header: list[str], line: _Line, cells: list[str]) -> Row:
    return Row(line[0], line[0] + len(line[1]), told_row(header, cells), frozenset(terms(cells[0])))
