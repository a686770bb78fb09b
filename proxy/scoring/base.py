"""The seam between the guard and whatever scores its pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Pair


class Model(Protocol):
    """A scoring model in this process. Called from one thread only; ``batcher`` makes it a ``Scorer``.

    The same pair gets the same score (within 0.005) whatever else is in its batch.
    """

    name: str
    max_tokens: int
    """Longest pair the model reads, special tokens included; a longer one loses the tail of its premise."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        ...

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as the model will read it (at most ``max_tokens``)."""
        ...

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``. Raises any exception when scoring fails."""
        ...


class Scorer(Protocol):
    """Scores pairs without blocking the event loop."""

    name: str
    max_tokens: int

    @property
    def queue_pairs(self) -> int:
        """Pairs handed in and not yet scored."""
        ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        ...

    def admit(self) -> None:
        """Raise ``Overloaded`` when the queue is full. Asked before the model is."""
        ...

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``.

        Raises ``ScoringError`` when scoring fails. A cancelled call's pairs are dropped from the queue.
        """
        ...

    async def warm(self) -> None:
        """Load and run once, so that the first request is not the slow one. Raises ``ScoringError``."""
        ...

    async def close(self) -> None:
        """Finish what runs, refuse what waits, free the model."""
        ...
