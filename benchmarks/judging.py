"""The proxy's own assessment, without a server around it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from proxy.app import embedded_scorer
from proxy.grounding.types import GroundingContext, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.policy.model import Policy
from proxy.settings import EmbeddedSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from proxy.grounding.types import CheckKind, Verdict


class Judge:
    """Judges answers under the default policy, but for its time limit."""

    def __init__(self, assessor: Assessor) -> None:
        self._assessor = assessor
        self._policy = Policy(timeout_ms=600_000)

    async def verdict(self, sources: Iterable[str], answer: str, query: str | None = None) -> Verdict:
        """The verdict on one answer."""
        context = GroundingContext.of([Source(text=source) for source in sources], query)
        preparing = asyncio.ensure_future(self._assessor.prepare(context))
        return await self._assessor.judge(AnswerPart(text=answer), preparing, self._policy)

    async def score(self, source: str, answer: str, kind: CheckKind, query: str | None = None) -> float:
        """The score of one check of one answer, 0 to 1; 0 where there is none."""
        return (await self.verdict([source], answer, query)).score(kind) or 0.0


@asynccontextmanager
async def judging() -> AsyncIterator[Judge]:
    """A judge with the scorer that ships."""
    scorer = embedded_scorer(EmbeddedSettings(threads=2))
    await scorer.warm()
    try:
        yield Judge(Assessor(scorer))
    finally:
        await scorer.close()
