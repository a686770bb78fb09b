"""A text held against facts under the caller's policy: what both of Google's checks have in common.

Under a policy without the check, and where it cannot be made (``guard/groundedness.py``), the reply is an error and
no score.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.claims import split_claims
from proxy.grounding.errors import CallerError, Forbidden
from proxy.grounding.types import ClaimResult, GroundingContext, Source
from proxy.grounding.verdict import must_check
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import ENOUGH
from proxy.guard.exchange import assess
from proxy.guard.groundedness import grounding_only, not_scored, require_within, unchecked
from proxy.surfaces.vertex.errors import CHECK_OFF

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.grounding.types import Claim, Evidence
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.vertex.protojson import Read

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


def threshold_in(spec: Read, path: str) -> float | None:
    """The citation threshold of a request; None where it has none. Raises ``CallerError`` outside [0, 1]."""
    threshold: float | None = spec.get("citation_threshold")
    if threshold is not None and not 0 <= threshold <= 1:
        message = f"{path} must be between 0 and 1."
        raise CallerError(message, param=path)
    return threshold


async def judged(
    services: Services,
    call: Call,
    text: str,
    facts: Sequence[Fact],
    *,
    policy: Policy,
    threshold: float | None,
    field: str = "answer_candidate",
) -> Judgement:
    """Judge ``text``, which stands in ``field``. Evidence is cited from ``threshold`` on, the policy's own if None.

    Raises ``CallerError`` over limits at which the policy rejects, ``Overloaded`` when the scorer's queue is full, and
    ``ScoringError`` where a claim could not be scored.
    """
    kept = [number for number, fact in enumerate(facts) if fact.text.strip()]
    sources = (Source(text=facts[number].text, attributes=facts[number].attributes) for number in kept)
    context, part = GroundingContext.of(sources, None), AnswerPart(text=text)
    call.ledger.asked(context)
    call.ledger.answered((part,))
    require_within(policy, context, text, {"answer": field, "grounding_source": "facts"})
    cites = policy.citations.threshold if threshold is None else threshold
    rules = _citing(grounding_only(policy), cites)
    verdict = await assess(services.assessor, rules, context, part, call.ledger.meter)
    results: Iterable[ClaimResult] = verdict.claims
    if not context.sources:
        results = await asyncio.to_thread(_unsupported, text, rules)
    elif failed := [result.failed for result in verdict.claims if result.failed]:
        call.ledger.verdicts = (unchecked(verdict),)
        raise not_scored(failed)
    call.ledger.verdicts = (verdict,)
    return Judgement(
        text=text,
        facts=facts,
        numbers=tuple(kept),
        results=tuple(sorted(results, key=lambda result: result.claim.start)),
        threshold=cites,
        abstention=rules.abstention,
    )


def _citing(policy: Policy, threshold: float) -> Policy:
    return policy.model_copy(update={"citations": policy.citations.model_copy(update={"threshold": threshold})})


def _unsupported(text: str, rules: Policy) -> list[ClaimResult]:
    """The claims of a text that no fact was given for."""
    return [
        ClaimResult(claim=claim, support=0.0 if must_check(claim, rules.abstention) else None)
        for claim in split_claims(text)
    ]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
