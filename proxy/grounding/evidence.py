"""Sources cut into windows, and the short list of windows in which a claim's support is looked for.

Rules of this file
- Windows cover every character of every source, overlap, and break at sentence ends where they can. A window never
  joins two sources.
- Lengths are counted in the scorer's tokens; their spans are passed in, so that nothing here knows a tokenizer.
- The short list is lexical (BM25, Robertson & Zaragoza 2009, over folded words, and single characters where a script
  writes no spaces). It only chooses what the scorer looks at; it never decides.
- Work is linear in the sources; a claim's short list costs no more than the windows that share a word with it.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from proxy.grounding.claims import segments
from proxy.grounding.rows import Rows
from proxy.grounding.types import GroundingContext, Window
from proxy.grounding.words import terms

Spans = Sequence[tuple[int, int]]
TokenSpans = Callable[[str], Spans]

WINDOW_TOKENS = 128
"""Longest window. The embedded model was trained on windows of about this length."""

OVERLAP_TOKENS = 40
"""Tokens that neighbouring windows share at most, so that a fact at a seam stands whole in one of them."""

MOST_OF_VALUE = 300
"""Characters of an attribute's value, and of its name, that are read."""

_K1, _B = 1.2, 0.75
_CHARS_PER_TOKEN = 8  # more than any language's words have on average


def windows_of(
    text: str, token_spans: Spans, *, source: int = 0, size: int = WINDOW_TOKENS, overlap: int = OVERLAP_TOKENS
) -> list[Window]:
    """Overlapping windows of at most ``size`` tokens that together cover ``text``; none when it is white.

    ``token_spans`` are the character spans of the text's tokens, in order. Windows begin and end between sentences,
    unless a sentence alone is longer than a window.
    """
    if not text.strip():
        return []
    pieces = _pieces(segments(text), token_spans, size)
    windows: list[Window] = []
    first = 0
    while first < len(pieces):
        last = _fill(pieces, first, size)
        start, end = pieces[first][0], pieces[last - 1][1]
        windows.append(Window(source=source, start=start, end=end, text=text[start:end]))
        if last == len(pieces):
            break
        first = _step_back(pieces, last, min(overlap, size - pieces[last][2]))  # so that each window adds a piece
    return windows


def _pieces(spans: Spans, tokens: Spans, size: int) -> list[tuple[int, int, int]]:
    """Sentences as (start, end, size in tokens), those longer than a window cut between tokens.

    What a tokenizer makes little of (white space, one endless word) counts by its characters, or a window of few tokens
    could hold the whole source.
    """
    pieces: list[tuple[int, int, int]] = []
    at = 0
    for start, end in spans:
        first = at
        while at < len(tokens) and tokens[at][0] < end:
            at += 1
        begin = start
        while at - first > size:
            first += size
            pieces.append((begin, tokens[first][0], size))
            begin = tokens[first][0]
        pieces.append((begin, end, max(at - first, (end - begin) // _CHARS_PER_TOKEN)))
    return pieces


def _fill(pieces: list[tuple[int, int, int]], first: int, size: int) -> int:
    """Index after the last piece that still fits a window opened by ``first``."""
    total, last = pieces[first][2], first + 1
    while last < len(pieces) and total + pieces[last][2] <= size:
        total += pieces[last][2]
        last += 1
    return last


def _step_back(pieces: list[tuple[int, int, int]], last: int, overlap: int) -> int:
    """Index of the first piece that the next window repeats from this one."""
    total = 0
    while last > 0 and total + pieces[last - 1][2] <= overlap and pieces[last - 1][2]:
        last -= 1
        total += pieces[last][2]
    return last


class EvidenceIndex:
    """The windows of a context, ready for short lists. Built once a request; costs about 0.5 s per million characters.

    ``token_spans`` maps a text to the character spans of its tokens. ``rows`` reads windows that hold table rows.
    """

    def __init__(self, context: GroundingContext, token_spans: TokenSpans) -> None:
        self.windows: tuple[Window, ...] = tuple(
            window
            for number, source in enumerate(context.sources)
            for window in windows_of(source.text, token_spans(source.text), source=number)
        )
        self.rows = Rows(source.text for source in context.sources)
        said_of = [
            [term for _, value in source.attributes for term in terms(value[:MOST_OF_VALUE])]
            for source in context.sources
        ]
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for number, window in enumerate(self.windows):
            counts = Counter(terms(window.text) + said_of[window.source])
            self._lengths.append(counts.total())
            for term, count in counts.items():
                self._postings[term].append((number, count))
        self._mean_length = sum(self._lengths) / max(1, len(self._lengths)) or 1.0

    def shortlist(self, text: str, k: int) -> list[Window]:
        """At most ``k`` windows for a claim, likeliest first; all of them, in order, when there are no more than k."""
        if len(self.windows) <= k:
            return list(self.windows)
        scores: dict[int, float] = defaultdict(float)
        for term in set(terms(text)):
            self._add(term, scores)
        best = heapq.nsmallest(k, scores, key=lambda number: (-scores[number], number))
        chosen = set(best)
        spare = (number for number in range(len(self.windows)) if number not in chosen)
        while len(best) < k:
            best.append(next(spare))
        return [self.windows[number] for number in best]

    def _add(self, term: str, scores: dict[int, float]) -> None:
        posting = self._postings.get(term)
        if not posting:
            return
        weight = math.log(1 + (len(self.windows) - len(posting) + 0.5) / (len(posting) + 0.5))
        for number, count in posting:
            norm = _K1 * (1 - _B + _B * self._lengths[number] / self._mean_length)
            scores[number] += weight * count * (_K1 + 1) / (count + norm)
