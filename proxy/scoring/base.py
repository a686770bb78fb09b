"""The seam between the guard and whatever scores its pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from proxy.grounding.types import CheckKind, Pair

if TYPE_CHECKING:
    from collections.abc import Sequence

EvidenceUse = Literal["pieces", "whole"]
"""How a scorer wants a claim's evidence.

``pieces``: sentences and windows one by one, and the best of them counts. ``whole``: all of it joined to one premise,
as much as ``max_tokens`` allows.
"""

WARM_PAIR = Pair(kind=CheckKind.GROUNDING, premise="The scorer is ready.", hypothesis="The scorer is warm.")
"""What a scorer is asked first. Nobody's text, so whatever is said about it may be shown."""


class Model(Protocol):
    """A scoring model in this process. Called from one thread only; ``batcher`` makes it a ``Scorer``.

    The same pair gets the same score (within 0.005) whatever else is in its batch.
    """

    name: str
    max_tokens: int
    """Longest pair the model reads, special tokens included; a longer one loses the tail of its premise."""
    evidence: EvidenceUse

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        ...

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as the model will read it (at most ``max_tokens``)."""
        ...

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``. Raises any exception when scoring fails."""
        ...


class Service(Protocol):
    """A scorer outside this process, asked over the network. ``dispatch`` makes it a ``Scorer``."""

    name: str
    max_tokens: int
    evidence: EvidenceUse
    most_pairs: int
    """How many pairs one question may hold, at least 1."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order; an estimate will do. Safe to call from any thread."""
        ...

    async def ask(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``.

        Raises ``Overloaded`` when the service is busy, ``ScoringError`` or any other exception when scoring fails. A
        cancelled call ends its request.
        """
        ...

    async def close(self) -> None:
        """Free connections."""
        ...


class Scorer(Protocol):
    """Scores pairs without blocking the event loop."""

    name: str
    max_tokens: int
    evidence: EvidenceUse

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


def checked(scores: Sequence[float], count: int) -> list[float]:
    """What a model or a service gave, if it is one number in [0, 1] for each pair. Raises ``ValueError`` if not."""
    numbers = [float(score) for score in scores]
    if len(numbers) != count or not all(0 <= number <= 1 for number in numbers):
        message = "not one score in [0, 1] for each pair"
        raise ValueError(message)
    return numbers
