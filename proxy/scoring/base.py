"""The seam between the guard and whatever scores its pairs, or says more of a claim that is not supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from proxy.grounding.types import CheckKind, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EvidenceUse = Literal["pieces", "whole"]
"""How a scorer wants a claim's evidence.

``pieces``: sentences and windows one by one, and the best of them counts. ``whole``: all of it joined to one premise,
as much as ``max_tokens`` allows.
"""

Ran: TypeAlias = "Callable[[int, float], None]"
"""Told of each batch that was run, or question that was asked: its pairs, and the seconds it took, also when it failed.

Must be quick; it may be called from another thread than the event loop's.
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


def unheard(_pairs: int, _seconds: float) -> None:
    """Tell nobody of a batch."""


def checked(scores: Sequence[float], count: int) -> list[float]:
    """What a model or a service gave, if it is one number in [0, 1] for each pair. Raises ``ValueError`` if not."""
    numbers = [float(score) for score in scores]
    if len(numbers) != count or not all(0 <= number <= 1 for number in numbers):
        message = "not one score in [0, 1] for each pair"
        raise ValueError(message)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedClaim:
    """A claim that is not supported, as a language model is shown it.

    ``statement`` is read with ``context`` from earlier in the answer, and with ``query``; either may be "".
    ``passages`` are stretches of ``sources``, those nearest to the statement first.
    """

    statement: str
    context: str
    query: str
    sources: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What it says. ``rewritten`` is "" where the sources say nothing of the kind. None: it was not asked for."""

    reason: str | None = None
    rewritten: str | None = None


class Reviser(Protocol):
    """Asks models of ``model_list`` why a claim is not supported, and how it would be."""

    model: str
    """Who is asked when a request names no model."""

    async def revise(self, model: str, claim: UnsupportedClaim, *, reason: bool, rewrite: bool) -> Revision:
        """Ask one model about one claim. Raises ``ScoringError``, or ``Overloaded``, for no usable answer."""
        ...
