"""Right value, wrong subject: which evidence counts when a claim may have mixed two facts.

From "London is the capital of UK. Tokyo is the capital of Japan." a small encoder calls "The capital of Japan is
London" supported: it matches words and not which word belongs to which. So where a claim reads like one sentence of
the source with a single name or number exchanged for one found elsewhere, the claim must be supported by a single
sentence, not by the mixture. This file only chooses the evidence; the scorer judges it, and an honest paraphrase of
one sentence keeps its score.

It knows words and spans, and neither scores nor thresholds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.claims import segments
from proxy.grounding.evidence import terms
from proxy.grounding.types import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_SENTENCES = 4
"""Sentences scored in place of the windows, the nearest to the claim first."""

_SHARE_OF_FRAME = 0.7
"""How much of the claim's other words a sentence must hold to count as the same statement."""

_PRONOUN = re.compile(r"\W*(?:it|its|he|his|she|her|they|their|this|that|these|those)\b", re.IGNORECASE)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Sentence:
    window: Window
    words: frozenset[str]
    values: frozenset[str]
    opens_with_pronoun: bool


def single_sentences(claim: str, windows: Sequence[Window]) -> list[Window]:
    """The sentences that alone may support ``claim`` when it looks like a mixture of them; else none.

    A mixture: no sentence holds all of the claim's names and numbers, but one holds all save one, with most of the
    claim's other words and another value in its place, and the missing value stands in another sentence.
    """
    sentences = _sentences(windows)
    values = _values(claim, lowercase=_lowercase_words(claim, windows))
    frame = frozenset(terms(claim)) - values
    if len(values) < 2 or any(values <= sentence.words for sentence in sentences):  # noqa: PLR2004 - a pair to mix
        return []
    if not any(_exchanged(sentence, values, frame, sentences) for sentence in sentences):
        return []
    wanted = values | frame
    nearest = sorted(sentences, key=lambda sentence: -len(sentence.words & wanted))
    return [sentence.window for sentence in nearest[:MAX_SENTENCES]]


def _exchanged(
    sentence: _Sentence, values: frozenset[str], frame: frozenset[str], sentences: Sequence[_Sentence]
) -> bool:
    missing = values - sentence.words
    if len(missing) != 1 or len(frame & sentence.words) < _SHARE_OF_FRAME * len(frame):
        return False
    (value,) = missing
    if sentence.opens_with_pronoun and not value[0].isdigit():
        return False  # the missing name may be what the pronoun stands for
    others = {other for other in sentence.values - values if other[0].isdigit() == value[0].isdigit()}
    return bool(others) and any(value in other.words for other in sentences if other is not sentence)


def _sentences(windows: Iterable[Window]) -> list[_Sentence]:
    """Each sentence of the windows once, though windows overlap."""
    windows = tuple(windows)
    lowercase = _lowercase_words("", windows)
    found: dict[Window, _Sentence] = {}
    for window in windows:
        for start, end in segments(window.text):
            text = window.text[start:end].strip()
            begin = window.start + window.text.index(text, start)
            span = Window(source=window.source, start=begin, end=begin + len(text), text=text)
            if text and span not in found:
                values = _values(text, lowercase=lowercase)
                found[span] = _Sentence(span, frozenset(terms(text)), values, _PRONOUN.match(text) is not None)
    return list(found.values())


def _values(text: str, *, lowercase: frozenset[str]) -> frozenset[str]:
    """Folded numbers and names. A capital makes a name unless the same word is also written small nearby."""
    marked = (word for word in _WORD.findall(text) if word[0].isdigit() or word[0].isupper())
    return frozenset(folded for word in marked if word.lower() not in lowercase for folded in terms(word))


def _lowercase_words(text: str, windows: Iterable[Window]) -> frozenset[str]:
    texts = [text, *(window.text for window in windows)]
    return frozenset(word for each in texts for word in _WORD.findall(each) if word.islower())
