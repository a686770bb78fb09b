"""Plain tables for terminals and pipes."""

from __future__ import annotations

import shutil
import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "
_NARROWEST = 20


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side under their titles; the long ones wrapped so that a line fits the terminal."""
    widths = [max(len(row[at]) for row in (titles, *rows)) for at in range(len(titles))]
    room = max(shutil.get_terminal_size((120, 24)).columns, 80) - len(_GAP) * (len(titles) - 1)
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    lines = [_line(titles, widths), _line(["-" * width for width in widths], widths)]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    lines = zip_longest(*wrapped, fillvalue="")
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
