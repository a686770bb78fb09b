"""Scores and rules in, a verdict out. The only file that compares a score with a threshold (through ``Check.below``).

Order of judgement: a claim under its threshold, then what could not be inspected, then what could not be scored, then
flags, then a pass. A failed score never hides another that is under its threshold, and is never a pass by itself.

Under ``redact`` the claims that are not supported leave the answer and the rest must stand without them: relevance is
that of what is left, and an answer of which nothing is left is blocked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from proxy.grounding.types import Check, CheckKind, Claim, ClaimKind, ClaimResult, Outcome, Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ENFORCED = frozenset({"block", "redact"})

RELEVANT_ENOUGH = 0.85
"""Relevance of a claim at which, if the threshold is reached too, no claim after it is asked for its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a policy says that matters to the verdict of a scored answer.

    ``relevance_applies`` is false without a query and for an answer that calls tools.
    """

    grounding: Rule
    relevance: Rule
    relevance_applies: bool
    abstention: Literal["pass", "score", "block"]
    on_scorer_error: Literal["block", "pass"]


def must_check(claim: Claim, abstention: str) -> bool:
    """Whether a claim is judged: assertions always, abstentions when the policy scores them."""
    return claim.needs_check or (claim.kind is ClaimKind.ABSTENTION and abstention == "score")


def blocks_alone(result: ClaimResult, terms: Terms) -> bool:
    """Whether one claim's result settles that the answer is blocked, whatever the other claims turn out to be.

    True of support under a blocking rule's threshold while support is taken as the minimum, and of a failure that the
    policy does not let pass.
    """
    rule = terms.grounding
    if rule.action != "block" or rule.aggregate != "min" or not must_check(result.claim, terms.abstention):
        return False
    if result.support is None:
        return terms.on_scorer_error == "block"
    return Check(kind=CheckKind.GROUNDING, rule=rule, score=result.support).below


def proves_relevant(result: ClaimResult, terms: Terms) -> bool:
    """Whether one claim's result settles that the answer is relevant: relevance is the maximum over the claims."""
    check = Check(kind=CheckKind.RELEVANCE, rule=terms.relevance, score=result.relevance)
    return check.score is not None and not check.below


def relevant_enough(relevance: float | None, rule: Rule) -> bool:
    """Whether the claims after one of this relevance need not be asked for theirs."""
    return relevance is not None and relevance >= max(RELEVANT_ENOUGH, rule.threshold)


def decide(results: Sequence[ClaimResult], terms: Terms) -> Verdict:
    """The verdict on one answer, given what was found about each of its claims."""
    judged = [result for result in results if must_check(result.claim, terms.abstention)]
    removed = _removed(judged, terms.grounding)
    abstains = any(result.claim.kind is ClaimKind.ABSTENTION for result in results) and not judged
    checks = tuple(_checks(judged, removed, terms, refused=abstains and terms.abstention == "block"))
    blocked = tuple(check.kind.value for check in checks if check.below and check.rule.action == "block")
    if abstains and terms.abstention == "block" and "relevance" not in blocked:
        blocked = (*blocked, CheckKind.RELEVANCE.value)
    bypasses = ("abstention",) if abstains and terms.abstention == "pass" else ()
    if blocked:
        return Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=tuple(results), reasons=blocked)
    if not checks:
        return Verdict(outcome=Outcome.UNCHECKED, claims=tuple(results), bypasses=("policy_off",))
    if removed:
        return _redacted(checks, results, judged, removed, terms)
    if any(check.score is None for check in checks):
        return _could_not_score(checks, results, terms)
    flagged = tuple(check.kind.value for check in checks if check.below)
    outcome = Outcome.FLAGGED if flagged else Outcome.PASSED
    return Verdict(outcome=outcome, checks=checks, claims=tuple(results), reasons=flagged, bypasses=bypasses)


def _checks(
    judged: Sequence[ClaimResult], removed: Sequence[ClaimResult], terms: Terms, *, refused: bool
) -> Iterable[Check]:
    if terms.grounding.active:
        yield Check(kind=CheckKind.GROUNDING, rule=terms.grounding, score=_grounding(judged, terms.grounding))
    if terms.relevance.active and terms.relevance_applies:
        gone = {result.claim.index for result in removed}
        kept = [result for result in judged if result.claim.index not in gone] or judged
        score = 0.0 if refused else _relevance(kept, terms.relevance)
        yield Check(kind=CheckKind.RELEVANCE, rule=terms.relevance, score=score)


def _grounding(judged: Sequence[ClaimResult], rule: Rule) -> float | None:
    """Minimum (or mean) of the claims' support; 1 with nothing to judge.

    With failures it is the best that it may still be when that blocks already, else None.
    """
    supports = [1.0 if result.support is None else result.support for result in judged] or [1.0]
    score = min(supports) if rule.aggregate == "min" else sum(supports) / len(supports)
    if all(result.support is not None for result in judged):
        return score
    settled = rule.action in _ENFORCED and Check(kind=CheckKind.GROUNDING, rule=rule, score=score).below
    return score if settled else None


def _removed(judged: Sequence[ClaimResult], rule: Rule) -> list[ClaimResult]:
    """The claims that may not stay under ``redact``: those under the threshold, where the answer as a whole is too."""
    if rule.action != "redact" or not Check(kind=CheckKind.GROUNDING, rule=rule, score=_grounding(judged, rule)).below:
        return []
    return unsupported(judged, rule)


def unsupported(results: Iterable[ClaimResult], rule: Rule) -> list[ClaimResult]:
    """The claims whose support is known, and under a rule's threshold."""
    return [each for each in results if Check(kind=CheckKind.GROUNDING, rule=rule, score=each.support).below]


def _redacted(
    checks: tuple[Check, ...],
    results: Sequence[ClaimResult],
    judged: Sequence[ClaimResult],
    removed: Sequence[ClaimResult],
    terms: Terms,
) -> Verdict:
    """An answer that leaves without some of its claims, unless it cannot: what was not scored may not simply stay."""
    failed = any(check.score is None for check in checks) or any(result.failed for result in judged)
    if failed and terms.on_scorer_error == "block":
        return Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=tuple(results), reasons=("scorer_error",))
    reasons = tuple(check.kind.value for check in checks if check.below)
    if len(removed) == len(judged) or any(result.claim.start == result.claim.end for result in removed):
        return Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=tuple(results), reasons=reasons)
    return Verdict(
        outcome=Outcome.REDACTED,
        checks=checks,
        claims=tuple(results),
        reasons=reasons,
        bypasses=("scorer_error",) if failed else (),
        removed=tuple(result.claim for result in removed),
    )


def _relevance(judged: Sequence[ClaimResult], rule: Rule) -> float | None:
    """Maximum over the claims: one relevant piece makes the answer relevant (Bedrock's rule).

    Those after the first that is relevant enough do not count: some of them may have been asked, and some not.
    """
    enough = next((at for at, result in enumerate(judged) if relevant_enough(result.relevance, rule)), len(judged))
    counted = judged[: enough + 1]
    known = [result.relevance for result in counted if result.relevance is not None]
    if len(known) == len(counted):
        return max(known, default=1.0)
    highest = max(known, default=0.0)
    settled = not Check(kind=CheckKind.RELEVANCE, rule=rule, score=highest).below
    return highest if settled else None


def _could_not_score(checks: tuple[Check, ...], results: Sequence[ClaimResult], terms: Terms) -> Verdict:
    """What follows from a failed score: never a pass, and a block only where the check itself may block."""
    may_block = any(check.score is None and check.rule.action in _ENFORCED for check in checks)
    if may_block and terms.on_scorer_error == "block":
        reasons = ("scorer_error",)
        return Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=tuple(results), reasons=reasons)
    return Verdict(outcome=Outcome.UNSCORED, checks=checks, claims=tuple(results), bypasses=("scorer_error",))
