"""Groundedness, relevance and similarity by the scorer of the proxy, as the policy in force would judge the answer.

The scorer's 0 to 1 becomes Azure's 1 to 5 in two straight lines that meet at the policy's threshold: 0 is 1, the
threshold is 3, 1 is 5. The map rises everywhere, so no two answers change places, and 3 (Azure's default threshold)
passes exactly what the policy passes. An answer that asserts nothing, such as a greeting, a question back or an
abstention, is a 3: Azure's rubric says "nothing to be grounded", and it passes, as it does in the proxy.

Similarity is agreement in substance: how far the true answer supports the claims of the answer, and the answer those of
the true one, each the mean over the claims and read with the question, without which "Berlin" supports nothing; of the
two the harmonic mean, on a straight line from 1 to 5. It is no distance between embeddings: the encoders that ship are
trained to tell support, and do not give any.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import PATIENCE, Result
from proxy.evaluate.f1 import f1
from proxy.grounding.claims import split_claims
from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import MAX_THRESHOLD, CheckKind, GroundingContext, Rule, Source
from proxy.grounding.verdict import decide, must_check
from proxy.guard.assess import Assessor, terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from proxy.evaluate.rows import Turn
    from proxy.grounding.types import ClaimResult, Verdict
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer

NOTHING_ASSERTED = 3.0
"""The score of an answer with nothing to ground."""
_PASS = 3.0
_SAID = "asserts nothing: a greeting, a question back or an abstention"
_NAMES = {CheckKind.GROUNDING: "groundedness", CheckKind.RELEVANCE: "relevance"}
_CLAIMS_TOLD = 20
_BUSY = "overloaded"  # the reason of a ``ScoringError``


def stars(score: float, threshold: float) -> float:
    """A score in [0, 1] as Azure's 1 to 5, rising; 3 and more exactly where it reaches the threshold (0 to 0.99)."""
    if score >= threshold:
        return _PASS + 2 * (score - threshold) / (1 - threshold)
    return min(1 + 2 * score / threshold, math.nextafter(_PASS, 0))


class Supported:
    """The metrics that the scorer measures, under one policy."""

    def __init__(self, scorer: Scorer, policy: Policy) -> None:
        self._assessor = Assessor(scorer)
        self._policy = policy
        self._scorer = scorer

    @property
    def _made_by(self) -> dict[str, str]:
        """Asked for with each result, because a scorer has its name only once it is warm."""
        return {"scorer": self._scorer.name, "policy": f"{self._policy.name}@{self._policy.version}"}

    async def measure(self, turn: Turn, names: Collection[str]) -> dict[str, Result]:
        """The results of those of the three metrics that are named. What the scorer fails on is an error."""
        found = {}
        kinds = [kind for kind, name in _NAMES.items() if name in names]
        if kinds:
            verdict = await self._verdict(turn, kinds)
            found = {_NAMES[kind]: self._result(kind, verdict, turn) for kind in kinds}
        if "similarity" in names:
            found["similarity"] = await self._similarity(turn)
        return found

    async def _verdict(self, turn: Turn, kinds: Collection[CheckKind]) -> Verdict | str:
        sources = turn.sources if CheckKind.GROUNDING in kinds else ()
        return await self._judged(turn.response or "", GroundingContext.of(sources, turn.query), kinds)

    async def _judged(self, answer: str, context: GroundingContext, kinds: Collection[CheckKind]) -> Verdict | str:
        """The verdict on an answer, each claim with time of its own and no limit for all; or why there is none.

        A scorer that says it is busy is asked again, when it has been left alone for as long as it asks.
        """
        for _ in range(PATIENCE - 1):
            verdict = await self._judged_once(answer, context, kinds)
            if verdict != _BUSY:
                return verdict
            try:
                self._assessor.admit()
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)
        return await self._judged_once(answer, context, kinds)

    async def _judged_once(self, answer: str, context: GroundingContext, kinds: Collection[CheckKind]) -> Verdict | str:
        policy = _asking(self._policy, kinds)
        try:
            prepared = await self._assessor.prepare(context)
        except ScoringError as error:
            return error.reason
        terms = terms_of(policy, prepared)
        judging = self._assessor.judging(prepared, policy, terms, per_claim=False)
        verdict = decide(await judging.all(split_claims(answer, query=context.query)), terms)
        return next((claim.failed for claim in verdict.claims if claim.failed), verdict)

    def _result(self, kind: CheckKind, verdict: Verdict | str, turn: Turn) -> Result:
        if isinstance(verdict, str):
            return _failed(verdict)
        score = verdict.score(kind)
        judged = [claim for claim in verdict.claims if must_check(claim.claim, self._policy.abstention)]
        if not judged and score != 0:  # 0 is an abstention that the policy blocks
            return Result(score=NOTHING_ASSERTED, reason=f"the answer {_SAID}", properties=self._made_by)
        if score is None:
            return _failed("error")
        rule = self._policy.grounding if kind is CheckKind.GROUNDING else self._policy.relevance
        return Result(
            score=stars(score, rule.threshold),
            reason=_reason(kind, score, rule, judged),
            properties={
                **self._made_by,
                "sources": len(turn.sources),
                kind.value: score,
                "claims": _told(kind, judged),
            },
        )

    async def _similarity(self, turn: Turn) -> Result:
        response, truth = turn.response or "", turn.ground_truth or ""
        shares: list[float | None] = []
        for answer, source in ((response, truth), (truth, response)):
            context = GroundingContext.of([Source(text=f"{turn.query or ''} {source}".strip())], turn.query)
            verdict = await self._judged(answer, context, (CheckKind.GROUNDING,))
            if isinstance(verdict, str):
                return _failed(verdict)
            shares.append(_mean_support(verdict.claims))
        score, reason = _agreement(response, truth, shares)
        return Result(score=1 + 4 * score, reason=reason, properties={**self._made_by, "agreement": score})


def _asking(policy: Policy, kinds: Collection[CheckKind]) -> Policy:
    """The policy, made to score these checks and no other, whatever it does with the scores.

    All claims are asked for relevance: under the policy's own threshold one that is relevant enough would do.
    """
    relevance = replace(policy.relevance, threshold=MAX_THRESHOLD)
    rules = ((CheckKind.GROUNDING, policy.grounding), (CheckKind.RELEVANCE, relevance))
    return policy.model_copy(
        update={kind.value: replace(rule, action="flag" if kind in kinds else "off") for kind, rule in rules}
    )


def _failed(why: str) -> Result:
    return Result(status="error", reason=f"could not be checked: the scorer failed ({why})")


def _reason(kind: CheckKind, score: float, rule: Rule, judged: Sequence[ClaimResult]) -> str:
    """What decided the score, in words."""
    side = "at or over" if score >= rule.threshold else "under"
    said = f"{kind.value} {score:.4f}, {side} the policy's threshold of {rule.threshold:g}"
    if kind is CheckKind.RELEVANCE or score >= rule.threshold:
        return said
    weakest = min(judged, key=lambda result: result.support if result.support is not None else 1)
    return f"{said}; least supported: {weakest.claim.text.strip()!r}"


def _told(kind: CheckKind, judged: Sequence[ClaimResult]) -> list[dict[str, Any]]:
    """The claims and their scores, the weakest first."""
    attribute = "support" if kind is CheckKind.GROUNDING else "relevance"
    scored = [(getattr(result, attribute), result.claim.text.strip()) for result in judged]
    known = sorted(((score, text) for score, text in scored if score is not None), key=lambda pair: pair[0])
    return [{"text": text, "score": score} for score, text in known[:_CLAIMS_TOLD]]


def _mean_support(claims: Sequence[ClaimResult]) -> float | None:
    supports = [claim.support for claim in claims if claim.support is not None]
    return fmean(supports) if supports else None


def _agreement(response: str, truth: str, shares: Sequence[float | None]) -> tuple[float, str]:
    """How far two answers say the same, in [0, 1], and why."""
    if " ".join(response.casefold().split()) == " ".join(truth.casefold().split()):
        return 1.0, "the same words"
    said, true = shares
    if said is None and true is None:
        return f1(response, truth), "neither answer asserts anything: the words that they share"
    if said is None or true is None:
        return 0.0, f"only {'ground_truth' if said is None else 'response'} asserts anything"
    score = 2 * said * true / (said + true) if said + true else 0.0
    return score, f"{said:.2f} of the response is borne out by ground_truth, {true:.2f} of ground_truth by the response"
