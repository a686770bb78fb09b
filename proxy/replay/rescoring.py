"""Exchanges scored again, where the audit holds their texts and the recorded scores do not say enough."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from proxy.guard.assess import Assessor, looks_like_json
from proxy.guard.exchange import preparing
from proxy.replay.rows import Choice, Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy
    from proxy.replay.rows import Row, Texts
    from proxy.scoring.base import Scorer

_AT_ONCE = 2


async def rescore(rows: Sequence[Row], scorer: Scorer, policy: Policy, step: Callable[[], None]) -> list[Row]:
    """The same exchanges with the claims that ``policy`` finds in their texts. ``step`` is called after each."""
    assessor, turns = Assessor(scorer), asyncio.Semaphore(_AT_ONCE)

    async def one(row: Row) -> Row:
        async with turns:
            done = await _rescored(row, row.texts, assessor, policy) if row.texts is not None else row
        step()
        return done

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(row)) for row in rows]
    return [task.result() for task in tasks]


async def _rescored(row: Row, texts: Texts, assessor: Assessor, policy: Policy) -> Row:
    choices = []
    async with preparing(assessor, texts.context) as prepared:
        for part in texts.answers:
            verdict = await assessor.judge(part, prepared, policy, per_claim=False)
            claims = tuple(Scored(result=result, leans=bool(result.claim.context)) for result in verdict.claims)
            choices.append(_choice(row, part, claims))
    return replace(row, choices=tuple(choices))


def _choice(row: Row, part: AnswerPart, claims: tuple[Scored, ...]) -> Choice:
    """A choice as it was recorded, but for its claims. Where one verdict stood for all, each has its own now."""
    recorded = row.choices[part.index] if part.index < len(row.choices) else row.choices[0]
    return replace(
        recorded,
        chars=len(part.text),
        carries=part.carries,
        json=looks_like_json(part.text),
        judged=True,
        claims=claims,
    )
