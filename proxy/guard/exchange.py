"""The two verbs. Exchange: ask the model, then assess what it said. Assess: judge an answer that is already there.

Sources are cut into windows while the model writes, so that preparing them costs no time. Nothing here knows a
dialect: a surface says how to ask and which choices an answer holds.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from proxy.grounding.errors import UpstreamError
from proxy.grounding.types import Outcome
from proxy.grounding.verdict import unsupported
from proxy.guard.assess import Assessor, looks_like_json, without_scoring
from proxy.guard.redaction import blocked_instead, redacted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from proxy.grounding.types import GroundingContext, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Prepared
    from proxy.policy.model import Policy

_Reply = TypeVar("_Reply")
_Piece = TypeVar("_Piece")


@dataclass(slots=True)
class Meter:
    """What is noted of one exchange on its way, for its record, its shadow and the audit.

    Times are in seconds, None for a stage that did not happen.
    """

    upstream: float | None = None
    scoring: float | None = None
    started: float = field(default_factory=time.perf_counter)
    retries: int = 0
    """How often the model was asked again after a block."""
    assessor: Assessor | None = field(default=None, repr=False)
    """What the exchange was judged with, where a shadow is to judge it too."""
    unjudged: tuple[AnswerPart, ...] = field(default=(), repr=False)
    """The choices of a whole answer that nobody judged: a shadow may, and the audit hashes them."""

    def assessor_for(self, policy: Policy, assessor: Assessor) -> Assessor:
        """The one to judge with: one that caches, where the policy has a shadow."""
        if policy.shadow is not None:
            self.assessor = assessor = assessor.caching()
        return assessor

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking(Generic[_Reply]):
    """How a surface asks its model, and what it can do with the reply.

    ``redact`` takes a reply and gives it with these choices' texts in the place of their own; without it a choice that
    should leave redacted is blocked. ``again`` asks once more, naming the sentences of the reply that are not
    supported, and gives the new reply with the tokens of both; without it nobody is asked twice.
    """

    ask: Callable[[], Awaitable[_Reply]]
    parts_of: Callable[[_Reply], Sequence[AnswerPart]]
    redact: Callable[[_Reply, Mapping[int, str]], _Reply] | None = None
    again: Callable[[_Reply, Sequence[str]], Awaitable[_Reply]] | None = None


async def exchange(
    assessor: Assessor,
    policy: Policy,
    context: GroundingContext,
    meter: Meter,
    *,
    ask: Callable[[], Awaitable[_Reply]],
    parts_of: Callable[[_Reply], Sequence[AnswerPart]],
    redact: Callable[[_Reply, Mapping[int, str]], _Reply] | None = None,
    again: Callable[[_Reply, Sequence[str]], Awaitable[_Reply]] | None = None,
) -> Exchanged[_Reply]:
    """Ask the model and judge each choice of its answer; ``redact`` and ``again`` are those of ``_Asking``.

    Raises ``Overloaded`` before the model is asked, and whatever ``ask`` raises. A scorer that fails afterwards is
    part of the verdict and not an exception; a model that fails when it is asked again leaves the block as it is.
    """
    asking = _Asking(ask=ask, parts_of=parts_of, redact=redact, again=again)
    assessor = meter.assessor_for(policy, assessor)
    settled = without_scoring(policy, context)
    if settled is not None:
        reply = None if settled.blocked else await _ask(ask, meter)
        if reply is not None:
            meter.unjudged = _readable(parts_of, reply)
        return Exchanged(reply=reply, parts=(), verdicts=(settled,))
    assessor.admit()
    async with preparing(assessor, context) as prepared:
        judge = partial(_judged, assessor, policy, prepared, meter)
        done = await judge(await _ask(ask, meter), parts_of)
        for _ in range(policy.retry.attempts):
            asked_again = await _again(asking, policy, done, judge, meter)
            if asked_again is None:
                break
            done = asked_again
    return _redacted(asking, policy, done)


async def _judged(
    assessor: Assessor,
    policy: Policy,
    prepared: Awaitable[Prepared],
    meter: Meter,
    reply: _Reply,
    parts_of: Callable[[_Reply], Sequence[AnswerPart]],
) -> Exchanged[_Reply]:
    parts = tuple(parts_of(reply))
    with meter.stage("scoring"):
        async with asyncio.TaskGroup() as group:
            judging = [group.create_task(assessor.judge(part, prepared, policy)) for part in parts]
    return Exchanged(reply=reply, parts=parts, verdicts=tuple(task.result() for task in judging))


async def _again(
    asking: _Asking[_Reply],
    policy: Policy,
    done: Exchanged[_Reply],
    judge: Callable[..., Awaitable[Exchanged[_Reply]]],
    meter: Meter,
) -> Exchanged[_Reply] | None:
    """Ask once more and judge that; None when there is nothing to ask for, or the model fails this time."""
    sentences = to_name(policy, done.verdicts)
    if not sentences or asking.again is None or done.reply is None:
        return None
    meter.retries += 1
    try:
        return await judge(await _ask(partial(asking.again, done.reply, sentences), meter), asking.parts_of)
    except UpstreamError:
        return None


def to_name(policy: Policy, verdicts: Sequence[Verdict]) -> list[str]:
    """The sentences that a model is told of when it is asked again.

    Empty where asking again is of no use: the answer may leave as it is, or was blocked for something else than its
    sentences. Of an answer with several choices none is asked for again, for the others would change with it.
    """
    if len(verdicts) != 1:
        return []
    [verdict] = verdicts
    refused = verdict.outcome is Outcome.REDACTED or (verdict.blocked and "grounding" in verdict.reasons)
    claims = unsupported(verdict.claims, policy.grounding) if refused else []
    return [result.claim.text for result in claims if result.claim.start < result.claim.end]


def _redacted(asking: _Asking[_Reply], policy: Policy, done: Exchanged[_Reply]) -> Exchanged[_Reply]:
    """The exchange with its redacted choices redacted, or blocked where the surface cannot."""
    if not any(verdict.removed for verdict in done.verdicts) or done.reply is None:
        return done
    able = asking.redact is not None
    verdicts = [
        blocked_instead(verdict) if verdict.removed and not (able and _is_prose(part.text)) else verdict
        for part, verdict in zip(done.parts, done.verdicts, strict=True)
    ]
    texts = {
        part.index: redacted(part.text, verdict.removed, policy.redacted_message)
        for part, verdict in zip(done.parts, verdicts, strict=True)
        if verdict.removed
    }
    reply = asking.redact(done.reply, texts) if asking.redact is not None and texts else done.reply
    return replace(done, reply=reply, verdicts=tuple(verdicts))


def _is_prose(text: str) -> bool:
    """Whether sentences may be taken out of an answer: without one JSON would be none."""
    return not looks_like_json(text)


def _readable(parts_of: Callable[[_Reply], Sequence[AnswerPart]], reply: _Reply) -> tuple[AnswerPart, ...]:
    """The choices of a reply that passes as it came, none when it is no answer."""
    try:
        return tuple(parts_of(reply))
    except UpstreamError:
        return ()


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
    assessor = meter.assessor_for(policy, assessor)
    settled = without_scoring(policy, context)
    if settled is not None:
        return settled
    assessor.admit()
    with meter.stage("scoring"):
        async with preparing(assessor, context) as prepared:
            verdict = await assessor.judge(part, prepared, policy, per_claim=False)
    return verdict if not verdict.removed or _is_prose(part.text) else blocked_instead(verdict)


@asynccontextmanager
async def preparing(assessor: Assessor, context: GroundingContext) -> AsyncIterator[asyncio.Task[Prepared]]:
    """The context being prepared, as a task that does not outlive its use."""
    task = asyncio.create_task(assessor.prepare(context))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
