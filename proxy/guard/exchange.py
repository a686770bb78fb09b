"""The two verbs. Exchange: ask the model, then assess what it said. Assess: judge an answer that is already there.

Sources are cut into windows while the model writes, so that preparing them costs no time. Nothing here knows a
dialect: a surface says how to ask and which choices an answer holds.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from proxy.guard.assess import Assessor, without_scoring

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from proxy.grounding.types import GroundingContext, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Prepared
    from proxy.policy.model import Policy

_Reply = TypeVar("_Reply")
_Piece = TypeVar("_Piece")


@dataclass(slots=True)
class Meter:
    """Where the time of one exchange went, in seconds; None for a stage that did not happen."""

    upstream: float | None = None
    scoring: float | None = None
    started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to ``upstream`` or ``scoring``, on failure too."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, name, (getattr(self, name) or 0.0) + time.perf_counter() - begin)

    def total(self) -> float:
        """Seconds since the exchange began."""
        return time.perf_counter() - self.started


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged(Generic[_Reply]):
    """How an exchange came out: the model's reply (None when it was not asked), its choices, a verdict for each.

    When the verdict stood before any answer was known there are no ``parts``, and that one verdict holds for all.
    """

    reply: _Reply | None
    parts: tuple[AnswerPart, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def blocked(self) -> frozenset[int]:
        """Indices of the choices that must not reach the caller; meaningless when the model was not asked."""
        pairs = zip(self.parts, self.verdicts, strict=False)
        return frozenset(part.index for part, verdict in pairs if verdict.blocked)


async def exchange(
    assessor: Assessor,
    policy: Policy,
    context: GroundingContext,
    meter: Meter,
    *,
    ask: Callable[[], Awaitable[_Reply]],
    parts_of: Callable[[_Reply], Sequence[AnswerPart]],
) -> Exchanged[_Reply]:
    """Ask the model and judge each choice of its answer.

    Raises ``Overloaded`` before the model is asked, and whatever ``ask`` raises. A scorer that fails afterwards is
    part of the verdict and not an exception.
    """
    settled = without_scoring(policy, context)
    if settled is not None:
        reply = None if settled.blocked else await _ask(ask, meter)
        return Exchanged(reply=reply, parts=(), verdicts=(settled,))
    assessor.admit()
    async with preparing(assessor, context) as prepared:
        reply = await _ask(ask, meter)
        parts = tuple(parts_of(reply))
        with meter.stage("scoring"):
            async with asyncio.TaskGroup() as group:
                judging = [group.create_task(assessor.judge(part, prepared, policy)) for part in parts]
    return Exchanged(reply=reply, parts=parts, verdicts=tuple(task.result() for task in judging))


async def _ask(ask: Callable[[], Awaitable[_Reply]], meter: Meter) -> _Reply:
    with meter.stage("upstream"):
        return await ask()


async def timed(pieces: AsyncGenerator[_Piece, None], meter: Meter) -> AsyncGenerator[_Piece, None]:
    """``pieces`` of the upstream, whose time is what is spent waiting for each. Close it: that closes them."""
    async with aclosing(pieces):
        while True:
            with meter.stage("upstream"):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece


async def assess(
    assessor: Assessor, policy: Policy, context: GroundingContext, part: AnswerPart, meter: Meter
) -> Verdict:
    """Judge an answer that is already there. Raises ``Overloaded`` when the scorer's queue is full."""
    settled = without_scoring(policy, context)
    if settled is not None:
        return settled
    assessor.admit()
    with meter.stage("scoring"):
        async with preparing(assessor, context) as prepared:
            return await assessor.judge(part, prepared, policy, per_claim=False)


@asynccontextmanager
async def preparing(assessor: Assessor, context: GroundingContext) -> AsyncIterator[asyncio.Task[Prepared]]:
    """The context being prepared, as a task that does not outlive its use."""
    task = asyncio.create_task(assessor.prepare(context))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
