"""Which evidence counts for a claim: windows and their nearest sentences, or sentences alone.

A small encoder is surest of a short premise: the very sentence that a claim repeats may be lost on it among the others
of its window. So the sentences nearest to the claim are scored first, and their windows where those do not settle it.

And it matches words, not which word belongs to which: from "London is the capital of UK. Tokyo is the capital of
Japan." it calls "The capital of Japan is London" supported. So where a claim reads like one sentence of the source with
a single name or number exchanged for one found elsewhere, a single sentence must support it, and not the mixture. This
file only chooses the evidence; the scorer judges it, and an honest paraphrase of one sentence keeps its score.

It knows words and spans, and neither scores nor thresholds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.claims import segments
from proxy.grounding.types import Window
from proxy.grounding.words import terms, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SENTENCES = 4
"""Single sentences scored for a claim, the nearest first."""

_SHARE_OF_FRAME = 0.7
"""How much of its other words one must share with the other to count as the same statement."""

_PRONOUN = re.compile(r"\W*(?:it|its|he|his|she|her|they|their|this|that|these|those)\b", re.IGNORECASE)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Sentence:
    window: Window
    words: frozenset[str]
    values: frozenset[str]
    opens_with_pronoun: bool


def evidence_for(claim: str, windows: Sequence[Window]) -> tuple[list[Window], list[Window]]:
    """What may support ``claim``: the sentences nearest to it, and the windows to ask if they do not.

    No windows when the claim looks like a mixture: no sentence holds all of its names and numbers, but one holds all
    save one, with mostly the same other words and another value in its place, and the missing value is in another one.
    """
    names = _names(window.text for window in windows)
    sentences = _sentences(windows, names)
    words = frozenset(terms(claim))
    nearest = sorted(sentences, key=lambda sentence: -_nearness(words, sentence))
    chosen = [sentence.window for sentence in nearest[:SENTENCES]]
    if _mixes(words, _values(words, names), sentences):
        return chosen, []
    asked = {window.text.strip() for window in chosen}
    return chosen, [window for window in windows if window.text.strip() not in asked]


def _nearness(words: frozenset[str], sentence: _Sentence) -> float:
    """The share of the claim's words that a sentence holds, a little less for what else it says."""
    return len(words & sentence.words) / (len(words) + 0.3 * len(sentence.words) + 1)


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
    """Each sentence of the windows once, though windows overlap and sources repeat themselves."""
    found: dict[str, _Sentence] = {}
    for window in windows:
        for start, end in segments(window.text):
            text = window.text[start:end].strip()
            begin = window.start + window.text.index(text, start)
            span = Window(source=window.source, start=begin, end=begin + len(text), text=text)
            if text and text not in found:
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
