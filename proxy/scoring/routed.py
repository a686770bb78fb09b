"""One model for grounding and another for relevance, as one: most checkers of facts know nothing of relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.grounding.types import CheckKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import Model


class RoutedModel:
    """A ``Model`` that gives each pair to the model for its kind. Name, limit and tokens are the grounding model's."""

    def __init__(self, *, grounding: Model, relevance: Model) -> None:
        self.name, self.max_tokens = grounding.name, grounding.max_tokens
        self.evidence = grounding.evidence
        self._models = {CheckKind.GROUNDING: grounding, CheckKind.RELEVANCE: relevance}

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._models[CheckKind.GROUNDING].token_spans(text)

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as the model for its kind will read it."""
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
        places = {kind: [at for at, pair in enumerate(pairs) if pair.kind is kind] for kind in self._models}
        return [(model, places[kind]) for kind, model in self._models.items() if places[kind]]
