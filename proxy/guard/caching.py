"""A scorer that is asked each pair once: what a shadow asks again of the same answer costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import EvidenceUse, Scorer


class CachingScorer:
    """A ``Scorer`` for one exchange, in front of the process's own. Two calls at once may both ask for a pair."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._scores: dict[Pair, float] = {}
        self.name: str = scorer.name
        self.max_tokens: int = scorer.max_tokens
        self.evidence: EvidenceUse = scorer.evidence

    @property
    def queue_pairs(self) -> int:
        """Pairs handed to the scorer behind it, by everyone."""
        return self._scorer.queue_pairs

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Spans as the scorer's."""
        return self._scorer.token_spans(text)

    def admit(self) -> None:
        """Raise ``Overloaded`` when the scorer's queue is full."""
        self._scorer.admit()

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores of all pairs; only those that are new are asked for."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]
        if new:
            self._scores.update(zip(new, await self._scorer.score(new), strict=True))
        return [self._scores[pair] for pair in pairs]

    async def warm(self) -> None:
        """Warm the scorer behind it."""
        await self._scorer.warm()

    async def close(self) -> None:
        """Forget everything. The scorer behind it is others' too, and stays open."""
        self._scores.clear()
