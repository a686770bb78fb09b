"""Where a stretch of text lies, in the three counts of Azure: UTF-8 bytes, UTF-16 code units, code points.

Half of a surrogate pair, which JSON allows and Unicode does not, counts as three bytes and one unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Index = dict[str, int]
"""``utf8``, ``utf16`` and ``codePoint``."""


def size(text: str) -> Index:
    """How long a text is."""
    return {
        "utf8": len(text.encode("utf-8", "surrogatepass")),
        "utf16": len(text.encode("utf-16-le", "surrogatepass")) // 2,
        "codePoint": len(text),
    }


def located(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[Index, Index]]:
    """Offset and length of each span of ``text``; spans are in characters, by rising start. Reads the text once."""
    at, offset = 0, size("")
    for start, end in spans:
        offset = {unit: offset[unit] + more for unit, more in size(text[at:start]).items()}
        at = start
        yield offset, size(text[start:end])
