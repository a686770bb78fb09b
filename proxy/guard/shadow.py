"""A second policy beside the first: what it would have said of the same answers, counted and never told a caller.

It is judged after the reply has gone, with the sources and the query that the first policy found, and with the scores
that are known already: only what the first did not ask for costs anything. It gives way: while the scorer is full, or
many exchanges wait, it is passed over, and that is counted too.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from proxy.grounding.errors import CallerError, Overloaded
from proxy.grounding.types import CheckKind, Outcome
from proxy.guard.assess import enforce_limits, without_scoring
from proxy.guard.exchange import preparing
from proxy.guard.record import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.grounding.types import GroundingContext, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Assessor
    from proxy.policy.model import Policy

_log = logging.getLogger("groundwarden")

MOST_WAITING = 64
"""Exchanges that a shadow may be behind. Each keeps its sources and its answer in memory."""

SKIPPED = "skipped"
"""Stands in the place of an outcome where there was no room to judge, or judging broke off.

``ERROR`` stands there where the shadow would have refused.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was judged by ``policy``, with what ``outcome``; ``assessor`` is what judged it."""

    tenant: str
    policy: Policy
    outcome: Outcome
    context: GroundingContext
    parts: tuple[AnswerPart, ...]
    assessor: Assessor


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """How a second policy judged an exchange: an outcome, ``ERROR`` or ``SKIPPED``. Scores are in [0, 1]."""

    tenant: str
    policy: str
    shadow: str
    outcome: str
    shadow_outcome: str
    grounding: float | None = None
    relevance: float | None = None


Report: TypeAlias = "Callable[[Shadowed], None]"


class Shadows:
    """Judges exchanges by their second policies, in the background. ``report`` hears of each once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()

    def judge(self, done: Exchange, shadow: Policy) -> None:
        """Begin to judge an exchange by ``shadow``."""
        if len(self._tasks) >= MOST_WAITING:
            self._report(_told(done, shadow, SKIPPED))
            return
        task = asyncio.create_task(self._judge(done, shadow))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is being judged."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _judge(self, done: Exchange, shadow: Policy) -> None:
        try:
            self._report(await _judged(done, shadow))
        except Exception:  # noqa: BLE001 - nobody waits for this, and no request may fail for it
            _log.exception("a shadow could not judge an exchange")
            self._report(_told(done, shadow, SKIPPED))


async def _judged(done: Exchange, shadow: Policy) -> Shadowed:
    try:
        enforce_limits(shadow, done.context)
    except CallerError:
        return _told(done, shadow, ERROR)
    settled = without_scoring(shadow, done.context)
    if settled is not None:
        return _of(done, shadow, [settled])
    try:
        done.assessor.admit()
        async with preparing(done.assessor, done.context) as prepared:
            verdicts = [await done.assessor.judge(part, prepared, shadow, per_claim=False) for part in done.parts]
    except Overloaded:
        return _told(done, shadow, SKIPPED)
    return _of(done, shadow, verdicts)


def _of(done: Exchange, shadow: Policy, verdicts: Sequence[Verdict]) -> Shadowed:
    """The worst outcome and the lowest scores of all choices, as the first policy's are told."""
    if not verdicts:
        return _told(done, shadow, SKIPPED)
    worst = max((verdict.outcome for verdict in verdicts), key=lambda outcome: outcome.severity)
    return _told(done, shadow, worst.value, **{kind.value: _lowest(verdicts, kind) for kind in CheckKind})


def _lowest(verdicts: Sequence[Verdict], kind: CheckKind) -> float | None:
    return min((score for verdict in verdicts if (score := verdict.score(kind)) is not None), default=None)


def _told(done: Exchange, shadow: Policy, outcome: str, **scores: float | None) -> Shadowed:
    return Shadowed(
        tenant=done.tenant,
        policy=done.policy.name,
        shadow=shadow.name,
        outcome=done.outcome.value,
        shadow_outcome=outcome,
        **scores,
    )
