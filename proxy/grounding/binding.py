"""Which evidence counts for a claim: its nearest sentences, alone and composed, then whole windows.

A small encoder is surest of a short premise: the very sentence that a claim repeats may be lost on it among the others
of its window. So the sentences nearest to the claim are scored first: each alone, the nearest with its neighbours, and
those together that between them hold most of the claim's words, wherever they stand. Windows follow where those do not
settle it.

And it matches words, not which word belongs to which: from "London is the capital of UK. Tokyo is the capital of
Japan." it calls "The capital of Japan is London" supported. So where a claim reads like one sentence of the source with
a single name or number exchanged for one found elsewhere, a single sentence must support it, and not the mixture. This
file only chooses the evidence; the scorer judges it, and an honest paraphrase of one sentence keeps its score.

It knows words and spans, and neither scores nor thresholds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.asked import is_question, last_read_with
from proxy.grounding.claims import segments
from proxy.grounding.types import Window
from proxy.grounding.words import terms, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SENTENCES = 4
"""Single sentences scored for a claim, the nearest first."""

COMPOSED = 4
"""Most sentences that are put together to one premise."""

WINDOWS = 2
"""Whole windows scored for a claim, the likeliest first."""

_WORTH = 0.12
"""Share of the claim's words, by weight, that a sentence must add to be worth composing."""

_GAP = 8
"""Characters that may lie between sentences that follow each other: white space, a list's mark."""

_SHARE_OF_FRAME = 0.7
"""How much of its other words one must share with the other to count as the same statement."""

_PRONOUN = re.compile(r"\W*(?:it|its|he|his|she|her|they|their|this|that|these|those)\b", re.IGNORECASE)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A premise: one stretch of a source, or several in the order in which they stand."""

    parts: tuple[Window, ...]

    @classmethod
    def of(cls, windows: Iterable[Window]) -> Piece:
        """These stretches, in the order in which they stand."""
        return cls(tuple(sorted(windows, key=_place)))

    @property
    def text(self) -> str:
        """What the scorer reads."""
        return " ".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Sentence:
    window: Window
    words: frozenset[str]
    values: frozenset[str]
    opens_with_pronoun: bool


def evidence_for(claim: str, windows: Sequence[Window]) -> tuple[list[Piece], list[Piece]]:
    """What may support ``claim``: the sentences nearest to it, and the windows to ask if they do not.

    ``windows`` come likeliest first. Neither windows nor composed sentences when the claim looks like a mixture: no
    sentence holds all of its names and numbers, but one holds all save one, with mostly the same other words and
    another value in its place, and the missing value is in another one.
    """
    names = _names(window.text for window in windows)
    sentences = _sentences(windows, names)
    words = frozenset(terms(claim))
    weights = _weights(words, sentences)
    nearest = sorted(sentences, key=lambda sentence: -_nearness(words, sentence, weights))
    pieces = [Piece((sentence.window,)) for sentence in nearest[:SENTENCES]]
    if _mixes(words, _values(words, names), sentences):
        return pieces, []
    together = (_with_neighbours(nearest, sentences), _composed(words, nearest, weights))
    pieces += [Piece.of(each) for each in together if len(each) > 1]
    first = list({piece.text: piece for piece in pieces}.values())
    asked = {piece.text.strip() for piece in first}
    return first, [Piece((window,)) for window in windows[:WINDOWS] if window.text.strip() not in asked]


def _weights(words: frozenset[str], sentences: Sequence[_Sentence]) -> dict[str, float]:
    """How telling each of the claim's words is: the rarer among the sentences (Robertson and Sparck Jones 1976)."""
    found = Counter(word for sentence in sentences for word in words & sentence.words)
    return {word: math.log(1 + (len(sentences) + 1) / (found[word] + 0.5)) for word in words}


def _nearness(words: frozenset[str], sentence: _Sentence, weights: dict[str, float]) -> float:
    """The weight of the claim's words that a sentence holds, a little less for what else it says."""
    return sum(weights[word] for word in words & sentence.words) / (len(words) + 0.3 * len(sentence.words) + 1)


def _with_neighbours(nearest: Sequence[_Sentence], sentences: Sequence[_Sentence]) -> list[Window]:
    """The nearest sentence between the one before it and the one after it: what "it" and "there" stand for."""
    if not nearest:
        return []
    ordered = sorted((sentence.window for sentence in sentences), key=_place)
    at = ordered.index(nearest[0].window)
    before = [window for window in ordered[max(0, at - 1) : at] if _adjoin(window, ordered[at])]
    after = [window for window in ordered[at + 1 : at + 2] if _adjoin(ordered[at], window)]
    return [*before, ordered[at], *after]


def _adjoin(one: Window, other: Window) -> bool:
    """Whether nothing but white space and marks can stand between the two."""
    return one.source == other.source and 0 <= other.start - one.end <= _GAP


def _place(window: Window) -> tuple[int, int]:
    return window.source, window.start


def _composed(words: frozenset[str], nearest: Sequence[_Sentence], weights: dict[str, float]) -> list[Window]:
    """Sentences of the nearest one's source that hold most of the claim's words between them: each adds to the rest.

    None that opens with a pronoun: without the sentence before it, it would speak of whom the claim names. And none of
    another source: two documents may speak of different things in the same words.
    """
    whole, left = sum(weights.values()), words
    chosen: list[Window] = []
    allowed = [each for each in nearest if each.window.source == nearest[0].window.source]
    while left and len(chosen) < COMPOSED:
        usable = [each for each in allowed if not (chosen and each.opens_with_pronoun)]
        gains = [sum(weights[word] for word in left & sentence.words) for sentence in usable]
        most = max(gains, default=0.0)
        if most < _WORTH * whole:
            break
        sentence = usable[gains.index(most)]
        if sentence.opens_with_pronoun:
            break  # it is read with its neighbours
        chosen.append(sentence.window)
        left -= sentence.words
    return chosen


def _mixes(words: frozenset[str], values: frozenset[str], sentences: Sequence[_Sentence]) -> bool:
    if len(values) < 2 or any(values <= sentence.words for sentence in sentences):  # noqa: PLR2004 - a pair to mix
        return False
    return any(_exchanged(sentence, values, words - values, sentences) for sentence in sentences)


def _exchanged(
    sentence: _Sentence, values: frozenset[str], frame: frozenset[str], sentences: Sequence[_Sentence]
) -> bool:
    missing = values - sentence.words
    if len(missing) != 1 or not _same_statement(frame, sentence):
        return False
    (value,) = missing
    if sentence.opens_with_pronoun and not value[0].isdigit():
        return False  # the missing name may be what the pronoun stands for
    others = {other for other in sentence.values - values if other[0].isdigit() == value[0].isdigit()}
    return bool(others) and any(value in other.words for other in sentences if other is not sentence)


def _same_statement(frame: frozenset[str], sentence: _Sentence) -> bool:
    """Whether claim and sentence say most of the same beside their values; either may be wrapped in more words."""
    own = sentence.words - sentence.values
    shared = len(frame & own)
    return shared >= _SHARE_OF_FRAME * min(len(frame), len(own))


def _sentences(windows: Iterable[Window], names: frozenset[str]) -> list[_Sentence]:
    """Each sentence of the windows once, though windows overlap and sources repeat themselves.

    A question states nothing, so it is read together with what follows it: "Is it safe? No. Wash it by hand."
    """
    found: dict[str, _Sentence] = {}
    for window in windows:
        spans = segments(window.text)
        texts = [window.text[slice(*span)] for span in spans]
        for at, (start, _) in enumerate(spans):
            text = window.text[start : spans[last_read_with(texts, at)][1]].strip()
            begin = window.start + window.text.index(text, start)
            span = Window(source=window.source, start=begin, end=begin + len(text), text=text)
            if text and text not in found and not is_question(text):
                words = frozenset(terms(text))
                found[text] = _Sentence(span, words, _values(words, names), _PRONOUN.match(text) is not None)
    return list(found.values())


def _values(words: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """The numbers and names among folded words, however the names are written there."""
    return frozenset(word for word in words if word[0].isdigit() or word in names)


def _names(texts: Iterable[str]) -> frozenset[str]:
    """Folded words that the source writes with a capital and never without; a claim may write them small."""
    words = [word for text in texts for word in _WORD.findall(visible(text))]
    capital = {word.lower() for word in words if word[0].isupper()} - {word for word in words if word.islower()}
    return frozenset(folded for word in capital for folded in terms(word))
