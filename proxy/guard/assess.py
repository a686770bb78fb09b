"""Assess: context and answer in, verdict out. No model is asked here.

Claims are handed to the scorer in order, a few at a time; each has its own time limit from that moment, so that a
long answer is not late for being long. Once one is late, the rest share one more limit.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from proxy.grounding.binding import single_sentences
from proxy.grounding.claims import hypothesis, split_claims
from proxy.grounding.errors import CallerError, GroundwardenError, ScoringError
from proxy.grounding.evidence import EvidenceIndex, windows_of
from proxy.grounding.types import (
    CheckKind,
    Claim,
    ClaimKind,
    ClaimResult,
    Evidence,
    GroundingContext,
    Outcome,
    Pair,
    Verdict,
    Window,
)
from proxy.grounding.verdict import Terms, decide, must_check

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer

WINDOWS_PER_CLAIM = 6
"""Length of the short list; recall at this length is measured by ``make bench-shortlist``."""

QUERY_WINDOWS = 4
"""A query longer than one window is cut like a source; an answer to any of its first parts is relevant."""

QUERY_TOKENS = 128
CLAIMS_IN_FLIGHT = 2
"""Enough to keep the scorer busy. More would only let one long answer delay the others past their limits."""

_INLINE_CHARS = 20_000  # about 2 ms of cutting; anything longer leaves the event loop

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A context ready to be judged against."""

    context: GroundingContext
    index: EvidenceIndex
    queries: tuple[str, ...]


class Assessor:
    """Judges answers with one scorer. Holds no state of any request."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def admit(self) -> None:
        """Raise ``Overloaded`` when the scorer's queue is full: asked before the model is."""
        self._scorer.admit()

    async def prepare(self, context: GroundingContext) -> Prepared:
        """Cut sources and query into windows, off the event loop when they are long."""
        size = context.source_chars + len(context.query or "")
        return await _off_loop(size, self._prepare, context)

    def _prepare(self, context: GroundingContext) -> Prepared:
        query = context.query or ""
        parts = windows_of(query, self._scorer.token_spans(query), size=QUERY_TOKENS, overlap=0)
        return Prepared(
            context=context,
            index=EvidenceIndex(context, self._scorer.token_spans),
            queries=tuple(part.text for part in parts[:QUERY_WINDOWS]),
        )

    async def judge(
        self, part: AnswerPart, prepared: Prepared, policy: Policy, *, request_seconds: float | None = None
    ) -> Verdict:
        """The verdict on one choice of an answer.

        Each claim may take ``policy.timeout_ms``; with ``request_seconds`` that is the limit of the whole instead.
        """
        waived = _uninspected(part, policy)
        if isinstance(waived, Verdict):
            return waived
        if looks_like_json(part.text) and policy.on_uninspected.json_ == "pass":
            return Verdict(outcome=Outcome.UNCHECKED, bypasses=("json", *waived))
        claims = await _off_loop(len(part.text), _claims_of, part, prepared.context.query)
        run = _Run(self._scorer, prepared, policy, part, request_seconds)
        results = await run.score(claims)
        verdict = decide(results, run.terms)
        return replace(verdict, bypasses=(*waived, *verdict.bypasses))


def without_scoring(policy: Policy, context: GroundingContext) -> Verdict | None:
    """The verdict that stands before any answer is known, if one does; None when the answer must be scored."""
    if not policy.active:
        return Verdict(outcome=Outcome.UNCHECKED, bypasses=("policy_off",))
    if context.sources:
        return None
    if policy.on_missing_context == "block":
        return Verdict(outcome=Outcome.BLOCKED, reasons=("missing_context",))
    return Verdict(outcome=Outcome.UNCHECKED, bypasses=("no_source",))


def enforce_limits(policy: Policy, context: GroundingContext) -> None:
    """Raise ``CallerError`` when a context is over the policy's limits and the policy rejects such requests."""
    limits = policy.limits
    if limits.on_exceed != "reject":
        return
    for name, length, limit in (
        ("grounding source", context.source_chars, limits.source_chars),
        ("query", len(context.query or ""), limits.query_chars),
    ):
        if length > limit:
            message = f"The {name} has {length} characters; the policy allows {limit}."
            raise CallerError(message, code="limit_exceeded", param=name.replace(" ", "_"))


def looks_like_json(text: str) -> bool:
    """Whether an answer is a JSON object or array and not prose."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _uninspected(part: AnswerPart, policy: Policy) -> Verdict | tuple[str, ...]:
    """A block if the answer holds what the policy does not let through unseen, else the bypasses to count."""
    rules = policy.on_uninspected
    refused = {
        "tool_calls": rules.tool_calls == "block",
        "images": rules.images == "block",
        "reasoning": rules.reasoning == "block",
        "default": rules.default == "block",
    }
    too_long = policy.limits.on_exceed == "reject" and len(part.text) > policy.limits.answer_chars
    bad_json = rules.json_ == "block" and looks_like_json(part.text)
    if too_long or bad_json or any(refused[kind] for kind in part.carries):
        return Verdict(outcome=Outcome.BLOCKED, reasons=("uninspected",))
    return tuple(kind for kind in ("tool_calls", "images") if kind in part.carries)


def _claims_of(part: AnswerPart, query: str | None) -> tuple[Claim, ...]:
    claims = split_claims(part.text, query=query)
    if not part.refusal.strip():
        return claims
    end = len(part.text)  # a refusal is no stretch of the answer: its span is empty
    refusal = Claim(index=len(claims), start=end, end=end, text=part.refusal.strip(), kind=ClaimKind.ABSTENTION)
    return (*claims, refusal)


class _Run:
    """The scoring of one choice."""

    def __init__(
        self, scorer: Scorer, prepared: Prepared, policy: Policy, part: AnswerPart, request_seconds: float | None
    ) -> None:
        self._scorer = scorer
        self._prepared = prepared
        self._claim_seconds = policy.timeout_ms / 1000 if request_seconds is None else request_seconds
        self._deadline = None if request_seconds is None else asyncio.get_running_loop().time() + request_seconds
        self._slots = asyncio.Semaphore(CLAIMS_IN_FLIGHT)
        self.terms = Terms(
            grounding=policy.grounding,
            relevance=policy.relevance,
            relevance_applies=bool(prepared.queries) and "tool_calls" not in part.carries,
            abstention=policy.abstention,
            on_scorer_error=policy.on_scorer_error,
        )

    async def score(self, claims: tuple[Claim, ...]) -> list[ClaimResult]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(claim)) for claim in claims]
        return [task.result() for task in tasks]

    async def _one(self, claim: Claim) -> ClaimResult:
        if not must_check(claim, self.terms.abstention):
            return ClaimResult(claim=claim)
        async with self._slots:
            try:
                async with asyncio.timeout_at(self._limit()):
                    return await self._ask(claim)
            except TimeoutError:
                self._deadline = self._deadline or asyncio.get_running_loop().time() + self._claim_seconds
                return ClaimResult(claim=claim, failed="timeout")
            except GroundwardenError as error:
                return ClaimResult(
                    claim=claim, failed=error.reason if isinstance(error, ScoringError) else "overloaded"
                )

    def _limit(self) -> float:
        own = asyncio.get_running_loop().time() + self._claim_seconds
        return own if self._deadline is None else min(own, self._deadline)

    async def _ask(self, claim: Claim) -> ClaimResult:
        windows = self._evidence_for(claim) if self.terms.grounding.active else []
        asserted = hypothesis(claim, self._prepared.context.query)
        pairs = [Pair(kind=CheckKind.GROUNDING, premise=window.text, hypothesis=asserted) for window in windows]
        if self.terms.relevance.active and self.terms.relevance_applies:
            pairs += [
                Pair(kind=CheckKind.RELEVANCE, premise=query, hypothesis=hypothesis(claim, None))
                for query in self._prepared.queries
            ]
        scores = await self._scorer.score(pairs)
        supports, relevances = scores[: len(windows)], scores[len(windows) :]
        evidence = [Evidence(window=window, support=score) for window, score in zip(windows, supports, strict=True)]
        evidence.sort(key=lambda found: -found.support)
        return ClaimResult(
            claim=claim,
            support=max(supports, default=None),
            relevance=max(relevances, default=None),
            evidence=tuple(evidence),
        )

    def _evidence_for(self, claim: Claim) -> list[Window]:
        asserted = hypothesis(claim, self._prepared.context.query)
        windows = self._prepared.index.shortlist(asserted, WINDOWS_PER_CLAIM)
        return single_sentences(asserted, windows) or windows


async def _off_loop(size: int, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run quick work here and long work in a thread. ``size`` in characters."""
    if size <= _INLINE_CHARS:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
