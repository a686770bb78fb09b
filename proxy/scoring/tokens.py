"""Tokens of texts: where they lie, exactly or by estimate, and how many of a pair are read where not all can be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SLICE_CHARS = 20_000
"""Tokenizers hold up all other threads while they hand over their offsets; this much takes about 5 ms."""

PREMISE_FLOOR = 64
"""Tokens of a premise that a longer hypothesis cannot push out: without a premise there is nothing to judge."""

_ALONE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # kana, ideographs, Hangul: a character is a token, if not more
_TOKEN = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]{{1,6}}|[^\w\s]")


def estimated_spans(text: str) -> list[tuple[int, int]]:
    """Character spans of about as many tokens as a language model makes of ``text``; for English rather too many."""
    return [found.span() for found in _TOKEN.finditer(text)]


def sliced_spans(
    text: str, offsets: Callable[[str], Iterable[tuple[int, int]]], size: int = SLICE_CHARS
) -> list[tuple[int, int]]:
    """Spans of all tokens, a slice of ``text`` at a time. ``offsets`` gives those of one slice."""
    found: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = _slice_end(text, start, size)
        found += [(start + begin, start + stop) for begin, stop in offsets(text[start:end])]
        start = end
    return found


def _slice_end(text: str, start: int, size: int) -> int:
    """Where the slice from ``start`` ends: at its last space, so that no word is cut unless it is endless."""
    end = start + size
    if end >= len(text):
        return len(text)
    space = max(text.rfind(mark, start, end) for mark in (" ", "\n"))
    return space if space > start else end


def fitted(premise: int, hypothesis: int, room: int) -> tuple[int, int]:
    """How many of the tokens of a premise and a hypothesis are read, where ``room`` of both can be.

    What is too long loses the premise's end, down to ``PREMISE_FLOOR``, then the hypothesis's.
    """
    kept = min(hypothesis, max(0, room - min(premise, PREMISE_FLOOR)))
    return min(premise, room - kept), kept


def without_lone_surrogates(text: str) -> str:
    """``text`` as UTF-8 can hold it, every index as it was: JSON allows half characters, tokenizers do not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
