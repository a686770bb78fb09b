"""Two models as one: each pair goes to the one that is for it, or both have a say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import Model


_SURE = 1e-6


class MeanModel:
    """A ``Model`` that two agree on: the mean of their logits (a logarithmic opinion pool, Genest and Zidek 1986).

    Its name, its limit and the tokens that texts are cut by are those of ``main``.
    """

    def __init__(self, main: Model, other: Model) -> None:
        self.name = main.name
        self.max_tokens = main.max_tokens
        self.evidence = main.evidence
        self._main, self._other = main, other

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._main.token_spans(text)

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as both together will read it."""
        return [sum(both) for both in zip(self._main.lengths(pairs), self._other.lengths(pairs), strict=True)]

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``. Raises what either model raises."""
        scored = zip(self._main.score(pairs), self._other.score(pairs), strict=True)
        return [1 / (1 + math.exp(-(_logit(one) + _logit(other)) / 2)) for one, other in scored]


def _logit(score: float) -> float:
    score = min(1 - _SURE, max(_SURE, score))
    return math.log(score / (1 - score))


class RoutedModel:
    """A ``Model`` that gives a pair to ``other`` if ``to_other`` says so, and else to ``main``.

    Its name, its limit and the tokens that texts are cut by are those of ``main``.
    """

    def __init__(self, main: Model, other: Model, *, to_other: Callable[[Pair], bool]) -> None:
        self.name = main.name
        self.max_tokens = main.max_tokens
        self.evidence = main.evidence
        self._main, self._other = main, other
        self._to_other = to_other

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._main.token_spans(text)

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as its model will read it."""
        lengths = [0] * len(pairs)
        for model, places in self._places(pairs):
            for place, length in zip(places, model.lengths([pairs[place] for place in places]), strict=True):
                lengths[place] = length
        return lengths

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``. Raises what either model raises."""
        scores = [0.0] * len(pairs)
        for model, places in self._places(pairs):
            for place, score in zip(places, model.score([pairs[place] for place in places]), strict=True):
                scores[place] = score
        return scores

    def _places(self, pairs: Sequence[Pair]) -> list[tuple[Model, list[int]]]:
        """Each model that is concerned, and where its pairs stand."""
        others = [self._to_other(pair) for pair in pairs]
        both = ((self._main, False), (self._other, True))
        found = ((model, [at for at, other in enumerate(others) if other is mine]) for model, mine in both)
        return [(model, places) for model, places in found if places]
