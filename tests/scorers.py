"""Scorers for tests: they keep to the seam, load no model, and note what they were asked."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from proxy.grounding.errors import Overloaded
from proxy.grounding.types import CheckKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxy.grounding.types import Pair


class OverlapScorer:
    """Scores a pair with the share of the hypothesis's words that its premise holds; tokens are words and marks."""

    name = "overlap"
    max_tokens = 512
    evidence = "pieces"
    queue_pairs = 3

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Spans of words and marks."""
        return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]

    def admit(self) -> None:
        """Admit everyone."""

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score each pair by itself."""
        self.asked += pairs
        return [self.judge(pair) for pair in pairs]

    def judge(self, pair: Pair) -> float:
        """The score of one pair."""
        words = re.findall(r"\w+", pair.hypothesis.lower())
        held = set(re.findall(r"\w+", pair.premise.lower()))
        return sum(word in held for word in words) / max(1, len(words))

    async def warm(self) -> None:
        """Need no warming."""

    async def close(self) -> None:
        """Hold nothing."""


class TableScorer(OverlapScorer):
    """Scores a pair with the entry of the first text that its hypothesis or premise holds, else with 1."""

    name = "table"

    def __init__(self, grounding: Mapping[str, float], relevance: Mapping[str, float] | None = None) -> None:
        super().__init__()
        self._tables = {CheckKind.GROUNDING: grounding, CheckKind.RELEVANCE: relevance or {}}

    def judge(self, pair: Pair) -> float:
        """Look the pair up."""
        table = self._tables[pair.kind]
        return next((table[text] for text in table if text in pair.hypothesis or text in pair.premise), 1.0)


class FailingScorer(OverlapScorer):
    """Raises ``error`` for pairs whose hypothesis holds ``text``."""

    name = "failing"

    def __init__(self, error: Exception, text: str = "") -> None:
        super().__init__()
        self._error, self._text = error, text

    def judge(self, pair: Pair) -> float:
        """Fail, or find full support."""
        if self._text in pair.hypothesis:
            raise self._error
        return 1.0


class SlowScorer(TableScorer):
    """Takes ``seconds`` for each call with a pair whose hypothesis holds ``text``, then scores by the table.

    ``running`` counts the calls that are being answered, ``most`` how many were so at once; ``begun`` is set by the
    first.
    """

    name = "slow"

    def __init__(self, seconds: float, text: str = "", grounding: Mapping[str, float] | None = None) -> None:
        super().__init__(grounding or {})
        self._seconds, self._text = seconds, text
        self.running = self.most = 0
        self.begun = asyncio.Event()

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Wait, then score."""
        self.begun.set()
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if any(self._text in pair.hypothesis for pair in pairs):
                await asyncio.sleep(self._seconds)
        finally:
            self.running -= 1
        return await super().score(pairs)


class FullScorer(OverlapScorer):
    """A scorer whose queue is full."""

    name = "full"

    def admit(self) -> None:
        """Admit no one."""
        message = "The scorer is busy."
        raise Overloaded(message, retry_after=3)

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Refuse."""
        self.admit()
        return []
