"""A text held against facts under the caller's policy: what both of Google's checks have in common.

Grounding alone is judged: these calls have no word for relevance. A check that its caller asks for by name is never
passed over, so under a policy without it, and where it cannot be made, the reply is an error and not a score.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxy.grounding.claims import split_claims
from proxy.grounding.errors import CallerError, Forbidden, ScoringError
from proxy.grounding.types import ClaimResult, GroundingContext, Outcome, Source
from proxy.grounding.verdict import must_check
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import ENOUGH, enforce_limits, too_long
from proxy.guard.exchange import assess
from proxy.surfaces.vertex.errors import CHECK_OFF

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.grounding.types import Claim, Evidence
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call, Services

OWN_POLICY = "default_grounding_config"
"""The grounding config that stands for the caller's own policy; any other is a policy's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A text of the request, and what is said of it. One without text supports nothing, and keeps its index."""

    text: str
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A text that was judged. ``numbers`` are the facts' indices by the number of their source.

    ``results`` has every claim in order. Evidence is cited from ``threshold`` on.
    """

    text: str
    facts: Sequence[Fact]
    numbers: tuple[int, ...]
    results: tuple[ClaimResult, ...]
    threshold: float
    abstention: str

    def checked(self, claim: Claim) -> bool:
        """Whether a claim was held against the facts."""
        return must_check(claim, self.abstention)

    def share(self) -> float:
        """About the share of the checked claims that are supported, in [0, 1]; 1 when there are none.

        A claim counts nearly whole or not at all: by the square of its odds, half where it is even.
        """
        supports = [result.support or 0.0 for result in self.results if self.checked(result.claim)]
        counted = [support**2 / (support**2 + (1 - support) ** 2) for support in supports]
        return sum(counted) / len(counted) if counted else 1.0

    def cited(self, result: ClaimResult) -> list[tuple[int, Evidence]]:
        """What supports a claim, best first, each with the index of its fact.

        Where something settles the claim, only what does so too: nothing else was looked for then, and what was scored
        along with it is there by chance.
        """
        settles = max(self.threshold, ENOUGH)
        settled = any(found.support >= settles for found in result.evidence)
        least = settles if settled else self.threshold
        return [(self.numbers[found.window.source], found) for found in result.evidence if found.support >= least]

    def places(self) -> list[tuple[int, int]]:
        """Where each claim lies in the text, in UTF-8 bytes, the end exclusive."""
        found, at, length = [], 0, 0
        for result in self.results:
            length += _bytes(self.text[at : result.claim.start])
            at = result.claim.start
            found.append((length, length + _bytes(self.text[at : result.claim.end])))
        return found


def policy_for(services: Services, call: Call, config: str | None) -> Policy:
    """The policy of a call that names a grounding config, or none. Raises ``Forbidden`` for one that is not its own."""
    named = None if config in {None, OWN_POLICY} else config
    try:
        policy = call.policies[services.access.choose(call.caller, named)]
    except Forbidden:
        message = f"You don't have access to this grounding config. {OWN_POLICY} is your own."
        raise Forbidden(message, param="grounding_config") from None
    call.ledger.policy = policy
    if not policy.grounding.active:
        message = "The policy of this grounding config does not check grounding (grounding.action: off)."
        raise CallerError(message, code=CHECK_OFF)
    return policy


async def judged(
    services: Services,
    call: Call,
    text: str,
    facts: Sequence[Fact],
    *,
    policy: Policy,
    threshold: float | None,
    named: tuple[str, str] = ("answer_candidate", "facts"),
) -> Judgement:
    """Judge ``text``. ``threshold`` is from when on evidence is cited, the policy's own if None; ``named`` the fields.

    Raises ``CallerError`` over limits at which the policy rejects, ``Overloaded`` when the scorer's queue is full, and
    ``ScoringError`` where a claim could not be scored.
    """
    kept = [number for number, fact in enumerate(facts) if fact.text.strip()]
    sources = (Source(text=facts[number].text, attributes=facts[number].attributes) for number in kept)
    context, part = GroundingContext.of(sources, None), AnswerPart(text=text)
    call.ledger.asked(context)
    call.ledger.answered((part,))
    _enforce(policy, context, text, named)
    cites = policy.citations.threshold if threshold is None else threshold
    rules = _grounding_only(policy, cites)
    verdict = await assess(services.assessor, rules, context, part, call.ledger.meter)
    results: Iterable[ClaimResult] = verdict.claims
    if not context.sources:
        results = await asyncio.to_thread(_unsupported, text, rules)
    elif failed := [result.failed for result in verdict.claims if result.failed]:
        # Nothing passed, whatever the policy says of a scorer that fails: the caller has no result.
        call.ledger.verdicts = (replace(verdict, outcome=Outcome.BLOCKED, reasons=("scorer_error",), bypasses=()),)
        raise _not_scored(failed)
    call.ledger.verdicts = (verdict,)
    return Judgement(
        text=text,
        facts=facts,
        numbers=tuple(kept),
        results=tuple(sorted(results, key=lambda result: result.claim.start)),
        threshold=cites,
        abstention=rules.abstention,
    )


def _enforce(policy: Policy, context: GroundingContext, text: str, named: tuple[str, str]) -> None:
    answer, facts = named
    try:
        enforce_limits(policy, context)
    except CallerError as over:
        raise CallerError(over.message, param=facts) from None
    if too_long(len(text), policy):
        message = f"{answer} has {len(text)} characters; the policy allows {policy.limits.answer_chars}."
        raise CallerError(message, param=answer)


def _grounding_only(policy: Policy, threshold: float) -> Policy:
    """The policy as far as it speaks of grounding, for a caller who asks for exactly this check.

    An abstention states nothing of the facts, JSON is judged as it stands, no text is changed here that could be
    redacted, and no request is out of the sample.
    """
    grounding = policy.grounding
    changes = {
        "grounding": replace(grounding, action="block") if grounding.action == "redact" else grounding,
        "relevance": replace(policy.relevance, action="off"),
        "abstention": "score" if policy.abstention == "score" else "pass",
        "on_uninspected": policy.on_uninspected.model_copy(update={"json_": "score"}),
        "citations": policy.citations.model_copy(update={"threshold": threshold}),
        "in_sample": True,
    }
    return policy.model_copy(update=changes)


def _unsupported(text: str, rules: Policy) -> list[ClaimResult]:
    """The claims of a text that no fact was given for."""
    return [
        ClaimResult(claim=claim, support=0.0 if must_check(claim, rules.abstention) else None)
        for claim in split_claims(text)
    ]


def _not_scored(failed: Sequence[str]) -> ScoringError:
    late = "timeout" in failed
    why = "in time" if late else "now"
    message = f"The text could not be checked {why}, so whether it is grounded is not known. Try again."
    return ScoringError(message, reason="timeout" if late else "error")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
