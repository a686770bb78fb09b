"""Verdicts: scores against thresholds, and never a pass for what was not scored."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proxy.grounding.types import CheckKind, Claim, ClaimKind, ClaimResult, Outcome, Rule
from proxy.grounding.verdict import Terms, decide, must_check

GROUNDING, RELEVANCE = CheckKind
ABSTENTION = ClaimKind.ABSTENTION


def terms(grounding=0.7, relevance=0.5, action="block", aggregate="min", **changes):
    """What a policy says, with the defaults of every policy."""
    said = {
        "grounding": Rule(threshold=grounding, action=action, aggregate=aggregate),
        "relevance": Rule(threshold=relevance),
        "relevance_applies": True,
        "abstention": "pass",
        "on_scorer_error": "block",
    }
    return Terms(**(said | changes))


def result(support=None, relevance=None, *, kind=ClaimKind.ASSERTION, failed=None):
    """What was found about a claim."""
    claim = Claim(index=0, start=0, end=1, text="x", kind=kind)
    return ClaimResult(claim=claim, support=support, relevance=relevance, failed=failed)


FAILED = result(failed="timeout")
OFF = Rule(threshold=0.7, action="off")

scores = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.71, 1.0]) | st.floats(0, 1)
kinds = st.sampled_from([ClaimKind.ASSERTION] * 3 + list(ClaimKind))
results = st.lists(st.builds(result, scores, scores, kind=kinds) | st.just(FAILED), max_size=5)
thresholds = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.99]) | st.floats(0, 0.99)
rules = st.builds(
    Rule,
    threshold=thresholds,
    action=st.sampled_from(["block", "flag", "off"]),
    aggregate=st.sampled_from(["min", "mean"]),
)
all_terms = st.builds(
    Terms,
    grounding=rules,
    relevance=rules,
    relevance_applies=st.booleans(),
    abstention=st.sampled_from(["pass", "score", "block"]),
    on_scorer_error=st.sampled_from(["block", "pass"]),
)


@pytest.mark.parametrize(
    ("support", "relevance", "outcome", "reasons"),
    [
        (0.7, 0.5, Outcome.PASSED, ()),
        (0.69999, 0.5, Outcome.BLOCKED, ("grounding",)),
        (0.7, 0.49999, Outcome.BLOCKED, ("relevance",)),
        (0.0, 0.0, Outcome.BLOCKED, ("grounding", "relevance")),
        (1.0, 1.0, Outcome.PASSED, ()),
    ],
)
def test_a_score_at_its_threshold_passes(support, relevance, outcome, reasons):
    """Only a score under its threshold blocks, and each check that blocks is named."""
    verdict = decide([result(support, relevance)], terms())
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, ())


def test_threshold_zero_blocks_nothing():
    """No score is under 0."""
    assert decide([result(0.0, 0.0)], terms(0, 0)).outcome is Outcome.PASSED


@pytest.mark.parametrize(("aggregate", "score", "outcome"), [("min", 0.6, "blocked"), ("mean", 0.8, "passed")])
def test_grounding_is_the_minimum_or_the_mean(aggregate, score, outcome):
    """By minimum one unsupported claim blocks; by mean others make up for it."""
    verdict = decide([result(0.6, 1.0), result(1.0, 1.0)], terms(aggregate=aggregate))
    assert (verdict.score(GROUNDING), verdict.outcome) == (pytest.approx(score), outcome)


def test_relevance_is_the_maximum():
    """One relevant claim makes the answer relevant."""
    assert decide([result(1.0, 0.0), result(1.0, 0.9), result(1.0, 0.1)], terms()).score(RELEVANCE) == 0.9


@pytest.mark.parametrize("kind", [ClaimKind.COURTESY, ClaimKind.QUESTION])
def test_with_nothing_to_check_both_scores_are_one(kind):
    """An empty answer, a greeting and a question back pass with 1."""
    for found in ([], [result(kind=kind)]):
        verdict = decide(found, terms())
        assert (verdict.outcome, verdict.score(GROUNDING), verdict.score(RELEVANCE)) == ("passed", 1.0, 1.0)
        assert verdict.bypasses == ()


def test_what_need_not_be_checked_does_not_count():
    """A courtesy beside a claim changes neither score."""
    verdict = decide([result(kind=ClaimKind.COURTESY), result(0.8, 0.6)], terms())
    assert (verdict.score(GROUNDING), verdict.score(RELEVANCE)) == (0.8, 0.6)


def test_without_a_query_relevance_is_absent():
    """A check that does not apply is not in the verdict and not waited for."""
    verdict = decide([result(0.9)], terms(relevance_applies=False))
    assert [check.kind for check in verdict.checks] == [GROUNDING]
    assert (verdict.outcome, verdict.score(RELEVANCE)) == (Outcome.PASSED, None)


def test_a_check_that_is_off_is_absent():
    """Turned off, a check neither scores nor blocks."""
    verdict = decide([result(relevance=0.9)], terms(grounding=0)).outcome
    assert verdict is Outcome.BLOCKED  # it was on, and its score is missing
    verdict = decide([result(relevance=0.9)], dataclasses.replace(terms(), grounding=OFF))
    assert (verdict.outcome, verdict.score(GROUNDING), verdict.score(RELEVANCE)) == (Outcome.PASSED, None, 0.9)


@pytest.mark.parametrize("found", [[FAILED, result(0.1, 1.0)], [result(0.1, 1.0), FAILED]])
@pytest.mark.parametrize("on_scorer_error", ["block", "pass"])
def test_a_failed_claim_hides_none_under_its_threshold(found, on_scorer_error):
    """An unsupported claim blocks by grounding whatever failed beside it, and the policy on failures does not help."""
    verdict = decide(found, terms(on_scorer_error=on_scorer_error))
    assert (verdict.outcome, verdict.reasons, verdict.score(GROUNDING)) == (Outcome.BLOCKED, ("grounding",), 0.1)


@pytest.mark.parametrize(
    ("on_scorer_error", "outcome", "reasons", "bypasses"),
    [("block", Outcome.BLOCKED, ("scorer_error",), ()), ("pass", Outcome.UNSCORED, (), ("scorer_error",))],
)
@pytest.mark.parametrize("found", [[FAILED], [FAILED, result(1.0, 1.0)], [result(1.0, 0.1), FAILED]])
def test_a_failure_is_never_a_pass(found, on_scorer_error, outcome, reasons, bypasses):
    """What could not be scored is blocked or let through unscored, as the policy says, and counted."""
    verdict = decide(found, terms(on_scorer_error=on_scorer_error))
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, bypasses)
    assert verdict.score(GROUNDING) is None


def test_a_mean_that_no_failure_can_mend_blocks():
    """When even a perfect score for what failed leaves the mean too low, it blocks by grounding."""
    low = [result(0.0, 1.0), result(0.1, 1.0), FAILED]
    assert decide(low, terms(aggregate="mean", on_scorer_error="pass")).reasons == ("grounding",)
    open_ = [result(0.6, 1.0), FAILED]
    assert decide(open_, terms(aggregate="mean", on_scorer_error="pass")).outcome is Outcome.UNSCORED


def test_relevance_is_settled_by_one_relevant_claim():
    """What failed cannot make a relevant answer irrelevant, so relevance is known."""
    found = [result(1.0, 0.9), result(1.0, failed="error")]
    verdict = decide(found, dataclasses.replace(terms(), grounding=OFF))
    assert (verdict.outcome, verdict.score(RELEVANCE)) == (Outcome.PASSED, 0.9)


def test_flag_tells_and_does_not_block():
    """A check that flags lets the answer through and names itself; a block beside it wins."""
    verdict = decide([result(0.1, 1.0)], terms(action="flag"))
    assert (verdict.outcome, verdict.reasons, verdict.blocked) == (Outcome.FLAGGED, ("grounding",), False)
    both = decide([result(0.1, 0.1)], terms(action="flag"))
    assert (both.outcome, both.reasons) == (Outcome.BLOCKED, ("relevance",))


def test_a_failure_comes_before_a_flag():
    """A flag on one claim does not stand for another that could not be scored, nor does detecting ever block."""
    verdict = decide([result(0.1, 1.0), FAILED], terms(action="flag"))
    assert (verdict.outcome, verdict.bypasses) == (Outcome.UNSCORED, ("scorer_error",))


def test_nothing_that_ran_is_unchecked():
    """With grounding off and no query to be relevant to, no check runs, and that is not called a pass."""
    verdict = decide([result(0.1, 1.0)], terms(action="off", relevance_applies=False))
    assert (verdict.outcome, verdict.bypasses) == (Outcome.UNCHECKED, ("policy_off",))


@pytest.mark.parametrize(
    ("abstention", "outcome", "reasons", "bypasses"),
    [
        ("pass", Outcome.PASSED, (), ("abstention",)),
        ("block", Outcome.BLOCKED, ("relevance",), ()),
        ("score", Outcome.BLOCKED, ("grounding",), ()),
    ],
)
def test_an_answer_that_only_abstains(abstention, outcome, reasons, bypasses):
    """An abstention passes and is counted, or blocks as irrelevant, or is scored like any claim."""
    verdict = decide([result(0.1, 0.9, kind=ABSTENTION)], terms(abstention=abstention))
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, bypasses)


def test_abstentions_that_block_need_no_relevance_check():
    """They block without a query and with relevance off too."""
    for said in (terms(abstention="block", relevance_applies=False), terms(abstention="block", relevance=0)):
        assert decide([result(kind=ABSTENTION)], said).blocked


@pytest.mark.parametrize("abstention", ["pass", "block"])
def test_an_abstention_beside_a_claim_is_not_counted(abstention):
    """An answer that asserts something is judged by that, and is no abstention."""
    verdict = decide([result(kind=ABSTENTION), result(0.9, 0.9)], terms(abstention=abstention))
    assert (verdict.outcome, verdict.bypasses, verdict.score(GROUNDING)) == (Outcome.PASSED, (), 0.9)


def test_which_claims_are_judged():
    """Assertions always, abstentions when the policy scores them, nothing else ever."""
    judged = {
        (kind, abstention)
        for kind in ClaimKind
        for abstention in ("pass", "score", "block")
        if must_check(result(kind=kind).claim, abstention)
    }
    assert judged == {(ClaimKind.ASSERTION, said) for said in ("pass", "score", "block")} | {(ABSTENTION, "score")}


@given(results, all_terms, thresholds, st.sampled_from(["grounding", "relevance"]))
def test_raising_a_threshold_never_turns_a_block_into_a_pass(found, said, threshold, which):
    """Stricter rules block at least what laxer ones do."""
    rule = getattr(said, which)
    stricter = dataclasses.replace(rule, threshold=max(rule.threshold, threshold))
    before, after = decide(found, said), decide(found, dataclasses.replace(said, **{which: stricter}))
    assert after.blocked or not before.blocked


@given(results, all_terms, st.integers(0, 5))
def test_a_failed_claim_never_turns_a_block_into_a_pass(found, said, at):
    """Where a claim fails, a block stays one, or is unscored where the policy lets that through or only detects."""
    assume(said.grounding.active or (said.relevance.active and said.relevance_applies))
    assume(any(must_check(one.claim, said.abstention) for one in found))  # else the failed one ends an abstention
    before, after = decide(found, said), decide([*found[:at], FAILED, *found[at:]], said)
    may_block = any(check.score is None and check.rule.action == "block" for check in after.checks)
    lenient = said.on_scorer_error == "pass" or not may_block
    assert not before.blocked or after.blocked or (lenient and after.outcome is Outcome.UNSCORED)


@given(results, all_terms)
def test_verdicts_hold_together(found, said):
    """Checks are the active ones in order, scores lie in [0, 1], and only blocks and flags have reasons."""
    verdict = decide(found, said)
    kinds = [GROUNDING] * said.grounding.active + [RELEVANCE] * (said.relevance.active and said.relevance_applies)
    assert [check.kind for check in verdict.checks] == kinds
    assert all(check.score is None or 0 <= check.score <= 1 for check in verdict.checks)
    assert bool(verdict.reasons) == (verdict.outcome in {Outcome.BLOCKED, Outcome.FLAGGED})
    assert verdict.claims == tuple(found)


def claim_at(start, support=None, relevance=1.0, *, failed=None, length=5):
    """What was found about a claim in its own place."""
    claim = Claim(index=start, start=start, end=start + length, text="x" * length)
    return ClaimResult(claim=claim, support=support, relevance=relevance, failed=failed)


@pytest.mark.parametrize(
    ("found", "changes", "outcome", "removed"),
    [
        ([claim_at(0, 0.9), claim_at(10, 0.2)], {}, "redacted", [10]),
        ([claim_at(0, 0.9), claim_at(10, 0.8)], {}, "passed", []),
        ([claim_at(0, 0.1), claim_at(10, 0.2)], {}, "blocked", []),  # nothing would be left
        ([claim_at(0, 0.9, 0.1), claim_at(10, 0.2, 0.9)], {}, "blocked", []),  # what is left misses the question
        ([claim_at(0, 0.9), claim_at(10, 0.2, length=0)], {}, "blocked", []),  # a refusal is no part of the text
        ([claim_at(0, 0.9), claim_at(5, 0.2), claim_at(10, failed="timeout")], {}, "blocked", []),
        ([claim_at(0, 0.9), claim_at(10, failed="timeout")], {}, "blocked", []),
        (
            [claim_at(0, 0.9), claim_at(5, 0.2), claim_at(10, relevance=1.0, failed="timeout")],
            {"on_scorer_error": "pass"},
            "redacted",
            [5],
        ),
        ([claim_at(0, 0.9), claim_at(10, 0.6)], {"aggregate": "mean"}, "passed", []),
        ([claim_at(0, 0.75), claim_at(5, 0.65), claim_at(10, 0.1)], {"aggregate": "mean"}, "redacted", [5, 10]),
    ],
)
def test_redaction_takes_out_what_is_not_supported(found, changes, outcome, removed):
    """Claims under the threshold leave; the rest must stand without them, and what was not scored must not stay."""
    verdict = decide(found, terms(action="redact", **changes))

    assert verdict.outcome.value == outcome
    assert [claim.start for claim in verdict.removed] == removed
    assert outcome == "passed" or verdict.reasons


DIFFERENT = st.lists(
    st.builds(claim_at, st.integers(0, 50), scores, scores),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one.claim.index,
)


@given(DIFFERENT, thresholds)
def test_redaction_leaves_nothing_unsupported(found, threshold):
    """Whatever the scores, no claim under the threshold stays in an answer that leaves under ``redact``."""
    verdict = decide(found, terms(grounding=threshold, action="redact"))
    gone = {id(claim) for claim in verdict.removed}
    stays = [each for each in found if id(each.claim) not in gone]

    assert verdict.blocked or all(each.support >= threshold for each in stays)
    assert verdict.blocked or max(each.relevance for each in stays) >= 0.5
