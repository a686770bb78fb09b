"""One recorded exchange under another policy, from its scores alone: what is certain, and what is not.

The recorded scores decide where they can. Where they cannot, every way it may have gone is decided: a score that is not
known is taken at both its ends, and an answer that was stopped early with and without more claims, good and bad. If all
ways lead to the same outcome that one is certain; else the outcomes are told as what it may be, with the reasons why.

A score depends a little on the policy that asked for it (``guard/assess.py``): evidence is looked for until support
reaches 0.85 or a threshold, of grounding or of citations; no claim is asked for its relevance once one before it has
0.85, or the threshold; a claim whose relevance falls short is lent that of the sentence that supports it most; and one
that leans on the claim before is asked about alone where that would let it pass, or be cited. So a changed threshold
leaves some scores as a bound; they are treated as one. That the scorer fails where it did not, or was not asked, is not
among the ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from proxy.grounding.errors import CallerError
from proxy.grounding.types import CheckKind, Claim, ClaimResult, Outcome
from proxy.grounding.verdict import decide, must_check, relevant_enough
from proxy.guard.assess import ENOUGH, OWN_ENOUGH, enforce_sizes, shape_settles, terms_for
from proxy.guard.record import ERROR
from proxy.guard.redaction import blocked_instead
from proxy.guard.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proxy.grounding.types import Verdict
    from proxy.grounding.verdict import Terms
    from proxy.policy.model import Policy
    from proxy.replay.rows import Choice, Row, Rules, Scored

WHY = {
    "cut": "the answer was stopped before its end: what its rest would have scored is not known",
    "not_scored": "something was not scored then that would be now",
    "calibration": "the scores are on another scale",
    "reading": "sources and query may be others: what is read from the messages has changed",
    "timeout": "a score that came too late then may be in time",
    "evidence": "support is at least what was recorded: with this threshold more evidence would be looked at",
    "relevance": "a claim may owe relevance to the sentence that supports it, which one of the policies does not ask",
    "leaning": "a claim would be asked about without the sentence before it, and was not then",
    "retry": "the model was, or would be, asked again",
    "not_asked": "the request was refused then, so there is no answer",
}
"""Why an outcome is not certain."""

RESCORABLE = frozenset({"not_scored", "calibration", "timeout", "evidence", "relevance", "leaning"})
"""What scoring anew settles, where the texts were recorded."""

_ACTING = ("block", "redact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What an exchange would have come to: one outcome, or all that it may have, from best to worst.

    ``blocks`` are the checks that would have blocked it in any case, ``may_block`` also those that only may have;
    ``why`` says why the outcome is not certain.
    """

    outcomes: tuple[str, ...]
    blocks: frozenset[str] = frozenset()
    may_block: frozenset[str] = frozenset()
    why: frozenset[str] = frozenset()

    @property
    def certain(self) -> bool:
        """Whether there is only one."""
        return len(self.outcomes) == 1


def replay(row: Row, policy: Policy, *, anew: bool = False) -> Replayed:
    """What ``policy`` would have made of an exchange. ``anew``: its claims were scored again, under this policy."""
    rules = row.rules
    if rules is None:
        return _surely(ERROR)  # it failed before a policy was known
    policy = policy.for_request(row.request_id)
    found = _settled(row, rules, policy) or _asked_again(row, rules, policy)
    return found or _retried(row, rules, policy, _choices(row, rules, policy, anew=anew))


def _settled(row: Row, rules: Rules, policy: Policy) -> Replayed | None:
    """What stands without a look at any score; None when there is no such thing."""
    if row.outcome == ERROR:
        return _failed(row, policy)
    if _refused(row, policy):
        return _surely(ERROR)
    if row.outcome == Outcome.UNCHECKED and not row.bypasses:
        return _surely(row.outcome)  # there was no answer to judge: ApplyGuardrail on input
    return _unscored(row, rules, policy)


def _unscored(row: Row, rules: Rules, policy: Policy) -> Replayed | None:
    """What becomes of an answer that nobody scores, or that may be scored against something else than it was."""
    if not policy.active:
        return _surely(Outcome.UNCHECKED)
    if rules.reading != rules_of(policy)["reading"]:
        return _open(policy, "reading")
    if row.source_chars:
        return None
    blocked = policy.on_missing_context == "block"
    return _surely(Outcome.BLOCKED, "missing_context") if blocked else _surely(Outcome.UNCHECKED)


def _surely(outcome: str, *blocks: str) -> Replayed:
    return Replayed(outcomes=(str(outcome),), blocks=frozenset(blocks), may_block=frozenset(blocks))


def _open(policy: Policy, why: str) -> Replayed:
    """Whatever this policy may come to."""
    actions = {CheckKind.GROUNDING: policy.grounding.action, CheckKind.RELEVANCE: policy.relevance.action}
    may = {Outcome.PASSED.value}
    unseen = why in ("reading", "not_asked") or policy.on_uninspected.json_ == "pass"
    may |= {Outcome.UNCHECKED.value} if unseen else set()
    may |= {Outcome.FLAGGED.value} if "flag" in actions.values() else set()
    may |= {Outcome.REDACTED.value} if "redact" in actions.values() else set()
    may |= {Outcome.BLOCKED.value} if policy.blocking or why != "not_scored" else set()
    blocks = {kind.value for kind, action in actions.items() if action in _ACTING}
    return Replayed(outcomes=_ordered(may), may_block=frozenset(blocks), why=frozenset({why}))


def _ordered(outcomes: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(outcomes), key=lambda word: -1 if word == ERROR else Outcome(word).severity))


def _refused(row: Row, policy: Policy) -> bool:
    """Whether the request would not have been let in."""
    try:
        enforce_sizes(policy, row.source_chars, row.query_chars)
    except CallerError:
        return True
    return bool(row.model) and not policy.allows_model(row.model)


def _failed(row: Row, policy: Policy) -> Replayed:
    """What failed then fails now, unless it was this policy's doing."""
    let_in = row.error == "limit_exceeded" and not _refused(row, policy)
    if not let_in:
        return _surely(ERROR)
    return _open(policy, "not_asked") if policy.active else _surely(Outcome.UNCHECKED)


def _asked_again(row: Row, rules: Rules, policy: Policy) -> Replayed | None:
    """Open when the recorded answer is not the model's first, and the first may have fared otherwise."""
    return _open(policy, "retry") if row.retries and rules.written != rules_of(policy) else None


def _retried(row: Row, rules: Rules, policy: Policy, found: Replayed) -> Replayed:
    """Open where the model would be asked again, and was not then."""
    refused = {Outcome.BLOCKED.value, Outcome.REDACTED.value}
    asks = policy.retry.attempts > 0 and policy.grounding.action in _ACTING and len(row.choices) == 1
    if not (asks and "grounding" in found.may_block and refused.intersection(found.outcomes)):
        return found
    could_not = rules.retry > 0 and "grounding" in row.reasons and not row.retries
    spent = row.retries >= policy.retry.attempts
    return found if could_not or spent else _open(policy, "retry")


def _choices(row: Row, rules: Rules, policy: Policy, *, anew: bool) -> Replayed:
    """The worst of all choices, in every way that it may have gone."""
    if not row.choices:
        return _open(policy, "not_scored")
    outcomes = {Outcome.PASSED.value}
    blocks, may_block, why = frozenset[str](), frozenset[str](), frozenset[str]()
    for choice in row.choices:
        one = _Choice(row, choice, rules, policy, anew=anew).replayed()
        outcomes = {max(pair, key=lambda word: Outcome(word).severity) for pair in product(outcomes, one.outcomes)}
        blocks, may_block, why = blocks | one.blocks, may_block | one.may_block, why | one.why
    doubts = why if len(outcomes) > 1 else frozenset[str]()
    return Replayed(outcomes=_ordered(outcomes), blocks=blocks, may_block=may_block, why=doubts)


class _Choice:
    """One choice under the new policy. ``anew``: that has scored its claims."""

    def __init__(self, row: Row, choice: Choice, rules: Rules, policy: Policy, *, anew: bool) -> None:
        self._choice, self._rules, self._policy, self._anew = choice, rules, policy, anew
        self._why: set[str] = set()
        queried = row.query_chars > 0 and "tool_calls" not in choice.carries
        self._terms: Terms = terms_for(policy, relevance_applies=queried)

    def replayed(self) -> Replayed:
        choice, policy = self._choice, self._policy
        if choice.chars is not None:
            settled = shape_settles(choice.carries, choice.chars, policy, json_=choice.json)
            if settled is not None:
                return _surely(settled.outcome, *settled.reasons)
        if not choice.judged:
            return self._unjudged()
        verdicts = [self._decided(results) for results in self._ways()]
        outcomes = _ordered(verdict.outcome.value for verdict in verdicts)
        blocks = [frozenset(verdict.reasons) if verdict.blocked else frozenset() for verdict in verdicts]
        return Replayed(
            outcomes=outcomes,
            blocks=frozenset.intersection(*blocks),
            may_block=frozenset.union(*blocks),
            why=frozenset(self._why) if len(outcomes) > 1 else frozenset(),
        )

    def _unjudged(self) -> Replayed:
        """What may become of an answer that was never scored."""
        terms = self._terms
        if terms.grounding.active or (terms.relevance.active and terms.relevance_applies):
            return _open(self._policy, "not_scored")
        if terms.abstention != "block":
            return _surely(Outcome.UNCHECKED)
        outcomes = _ordered((Outcome.UNCHECKED.value, Outcome.BLOCKED.value))
        return Replayed(outcomes=outcomes, may_block=frozenset({"relevance"}), why=frozenset({"not_scored"}))

    def _decided(self, results: list[ClaimResult]) -> Verdict:
        verdict = decide(results, self._terms)
        return blocked_instead(verdict) if verdict.removed and self._choice.json else verdict

    def _ways(self) -> Iterator[list[ClaimResult]]:
        """The claims' results in every way that they may have been; one when all is known."""
        bounds = [self._bounds(scored) for scored in self._choice.claims]
        known = [self._known(scored, bound) for scored, bound in zip(self._choice.claims, bounds, strict=True)]
        ends = [known]
        if any(bound is not None for bound in bounds):
            ends += [
                [_at(result, bound, high, relevant) for result, bound in zip(known, bounds, strict=True)]
                for high, relevant in product((False, True), repeat=2)
            ]
            if self._terms.grounding.action == "redact":  # one may leave and the rest stay
                ends += [
                    [_at(*each, at != low, relevant) for at, each in enumerate(zip(known, bounds, strict=True))]
                    for low, relevant in product(range(len(known)), (False, True))
                ]
        further: list[list[ClaimResult]] = [[]]
        if self._choice.partial:
            self._why.add("cut")
            further += [self._more(support, relevance) for support, relevance in product((0.0, 1.0), repeat=2)]
        for results, more in product(ends, further):
            yield [*results, *more]

    def _known(self, scored: Scored, bound: _Bounds | None) -> ClaimResult:
        """A result as it was recorded; at its lower end where it was not."""
        result = scored.result
        return result if bound is None or result.failed else _at(result, bound, high=False, relevant=False)

    def _more(self, support: float, relevance: float) -> list[ClaimResult]:
        """Claims that the rest of the answer may have had: enough of them to turn a mean."""
        many = 200 * (1 + len(self._choice.claims)) if self._terms.grounding.aggregate == "mean" else 1
        claim = Claim(index=-1, start=0, end=1, text="")
        return [ClaimResult(claim=claim, support=support, relevance=relevance)] * many

    def _bounds(self, scored: Scored) -> _Bounds | None:
        """What a claim's scores may be under the new policy; None when they are what was recorded."""
        result, terms = scored.result, self._terms
        if self._anew or not must_check(result.claim, terms.abstention):
            return None
        if result.failed:
            in_time = result.failed == "timeout" and self._policy.timeout_ms > self._rules.timeout_ms
            return self._unknown("timeout") if in_time else None
        recalibrated = self._rules.calibration != rules_of(self._policy)["calibration"]
        support = relevance = None
        if terms.grounding.active:
            support = self._unscored(result.support, recalibrated) or self._support(scored)
        if terms.relevance.active and terms.relevance_applies:
            unsure = support is not None
            if result.relevance is not None or not self._one_is_relevant:
                relevance = self._unscored(result.relevance, recalibrated) or self._relevance(scored, unsure=unsure)
        if support is None and relevance is None:
            return None
        return _Bounds(support=support, relevance=relevance)

    @cached_property
    def _one_is_relevant(self) -> bool:
        """Whether what was not asked for its relevance need not be asked now either."""
        return any(map(self._surely_relevant, self._choice.claims))

    def _surely_relevant(self, scored: Scored) -> bool:
        """Whether a claim is relevant enough, now too, for others not to be asked."""
        redacts = self._terms.grounding.action == "redact"
        if redacts or not relevant_enough(scored.result.relevance, self._terms.relevance):
            return False
        before = set(self._why)
        bounds, self._why = self._bounds(scored), before
        return bounds is None or bounds.relevance is None

    def _unknown(self, why: str) -> _Bounds:
        self._why.add(why)
        return _Bounds(support=(0.0, 1.0), relevance=(0.0, 1.0))

    def _unscored(self, score: float | None, recalibrated: bool) -> tuple[float, float] | None:  # noqa: FBT001
        """Everything is possible for what was not scored, or on another scale."""
        if score is not None and not recalibrated:
            return None
        self._why.add("not_scored" if score is None else "calibration")
        return 0.0, 1.0

    def _support(self, scored: Scored) -> tuple[float, float] | None:
        """How far the support that was found then may lie from the one that would be found now."""
        support = scored.result.support
        if support is None or not self._rules.grounding.active:
            return None
        before = self._rules.grounding.threshold, self._rules.citations
        after = self._terms.grounding.threshold, self._policy.citations.threshold
        low = high = support
        then, now = max(ENOUGH, *before), max(ENOUGH, *after)
        if now > then and support >= then:
            high = 1.0
            self._why.add("evidence")
        elif now < then and support >= now:
            low = now
            self._why.add("evidence")
        then, now = min(before), min(after)
        if scored.leans and now < then and support < then:
            low = 0.0
            self._why.add("leaning")
        elif scored.leans and now > then and support < now:
            high = max(high, math.nextafter(now, 0.0))
            self._why.add("leaning")
        return None if low == high else (low, high)

    def _relevance(self, scored: Scored, *, unsure: bool) -> tuple[float, float] | None:
        """The same of relevance: a claim whose own falls short is lent that of the sentence that supports it.

        ``unsure``: which sentence that would be is not known.
        """
        relevance, was, now_ = scored.result.relevance, self._rules.grounding.active, self._terms.grounding.active
        if relevance is None or (was == now_ and not (now_ and unsure)) or (not was and relevance >= OWN_ENOUGH):
            return None
        self._why.add("relevance")
        return (0.0 if was else relevance, 1.0 if now_ else relevance)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """The ends between which a claim's scores lie; None for one that is known."""

    support: tuple[float, float] | None = None
    relevance: tuple[float, float] | None = None


def _at(result: ClaimResult, bound: _Bounds | None, high: bool, relevant: bool) -> ClaimResult:  # noqa: FBT001
    """A result with what is not known of it at one of its ends."""
    if bound is None:
        return result
    support = result.support if bound.support is None else bound.support[high]
    relevance = result.relevance if bound.relevance is None else bound.relevance[relevant]
    return replace(result, support=support, relevance=relevance, failed=None)
