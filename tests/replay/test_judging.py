"""A replay never promises what would not have come: measured against judging the same answer anew."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from replay.support import BROKEN, SOURCES, context_of, policy_of, record_of, recorded, row_of, truth, with_claims

from proxy.grounding.calibration import Calibration, Curve
from proxy.grounding.types import Outcome, Verdict
from proxy.guard.assess import ENOUGH
from proxy.policy.model import Policy, PolicyKeys
from proxy.replay.judging import WHY, replay

SENTENCES = (
    "Tokyo is the capital.",
    "It has many people.",
    "Kyoto was it before.",
    "- Osaka is a port.",
    "The documents do not say anything about this.",
    "Hello!",
    BROKEN,
)
ANSWERS = st.lists(st.sampled_from(SENTENCES), max_size=4).map(" ".join) | st.just('{"capital": "Tokyo"}')
THRESHOLDS = st.sampled_from((0.0, 0.3, 0.5, 0.7, 0.91, 0.95, 0.99))
POLICIES = st.builds(
    policy_of,
    grounding=st.fixed_dictionaries(
        {
            "threshold": THRESHOLDS,
            "action": st.sampled_from(("block", "block", "flag", "redact", "off")),
            "aggregate": st.sampled_from(("min", "min", "mean")),
        }
    ),
    relevance=st.fixed_dictionaries({"threshold": THRESHOLDS, "action": st.sampled_from(("block", "flag", "off"))}),
    citations=st.fixed_dictionaries({"threshold": THRESHOLDS}),
    abstention=st.sampled_from(("pass", "score", "block")),
    on_scorer_error=st.sampled_from(("block", "pass")),
    on_missing_context=st.sampled_from(("pass", "block")),
    on_uninspected=st.fixed_dictionaries({"json": st.sampled_from(("score", "pass", "block"))}),
    limits=st.fixed_dictionaries(
        {
            "source_chars": st.sampled_from((50, 100_000)),
            "answer_chars": st.sampled_from((30, 5000)),
            "on_exceed": st.sampled_from(("score", "score", "reject")),
        }
    ),
)
CONTEXTS = st.sampled_from((context_of(*SOURCES), context_of(*SOURCES, query=None), context_of()))
STRICT = policy_of(grounding={"threshold": 0.95})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where rows are written and read back."""
    return tmp_path


@settings(max_examples=300, deadline=None)
@given(then=POLICIES, now=POLICIES, text=ANSWERS, context=CONTEXTS, seed=st.integers(0, 50), stream=st.booleans())
@example(  # relevance that the source would have lent, had it been asked
    then=policy_of(relevance={"threshold": 0.0}, grounding={"threshold": 0.0}),
    now=policy_of(relevance={"threshold": 0.3}, grounding={"threshold": 0.0}),
    text="Kyoto was it before.",
    context=context_of(*SOURCES),
    seed=4,
    stream=False,
)
def test_what_would_have_come_is_always_among_what_is_told(then, now, text, context, seed, stream):
    """Whatever the two policies, the answer and the scores: the outcome of judging anew is one of those told."""
    with tempfile.TemporaryDirectory() as folder:
        row = recorded(then, text, Path(folder), seed=seed, context=context, stream=stream)
    found = replay(row, now)
    fails_alike = found.certain and then.grounding.active == now.grounding.active
    assume(BROKEN not in text or (fails_alike and not any(choice.partial for choice in row.choices)))
    assert truth(now, text, seed=seed, context=context) in found.outcomes
    assert found.certain or found.why <= WHY.keys()
    assert found.certain == (not found.why)


@settings(max_examples=150, deadline=None)
@given(policy=POLICIES, text=ANSWERS, context=CONTEXTS, seed=st.integers(0, 50), stream=st.booleans())
def test_the_same_policy_changes_nothing(policy, text, context, seed, stream):
    """Replaying the policy that judged gives, with certainty, what it gave."""
    with tempfile.TemporaryDirectory() as folder:
        row = recorded(policy, text, Path(folder), seed=seed, context=context, stream=stream)
    assert replay(row, policy).outcomes == (row.outcome,)


@settings(max_examples=150, deadline=None)
@given(threshold=THRESHOLDS, text=ANSWERS, seed=st.integers(0, 50))
def test_a_changed_threshold_is_mostly_certain(threshold, text, seed):
    """For whole answers below 0.85 only claims that lean on others leave a doubt, of relevance too."""
    with tempfile.TemporaryDirectory() as folder:
        row = recorded(Policy(), text, Path(folder), seed=seed)
    found = replay(row, policy_of(grounding={"threshold": min(threshold, ENOUGH)}))
    assert found.certain or {"leaning"} <= found.why <= {"leaning", "relevance", "not_scored"}


def base(folder: Path, text: str = "Tokyo is the capital.", **fields) -> object:
    """A row to put scores into."""
    return recorded(Policy(), text, folder, **fields)


def test_a_lower_threshold_lets_pass_what_was_blocked(folder):
    """The plain case: 0.6 was blocked at 0.7 and passes at 0.5; at 0.8 a 0.75 is blocked, by grounding."""
    row = replace(with_claims(base(folder), 0.6, 0.9), outcome="blocked", reasons=("grounding",))
    assert replay(row, policy_of(grounding={"threshold": 0.5})).outcomes == ("passed",)
    found = replay(with_claims(base(folder), 0.75), policy_of(grounding={"threshold": 0.8}))
    assert (found.outcomes, found.blocks) == (("blocked",), {"grounding"})


def test_a_cut_answer_is_told_as_what_its_rest_may_bring(folder):
    """What stopped a stream passes now: the rest may pass or not. What blocks still is certain."""
    cut = replace(with_claims(base(folder), 0.9, 0.6, partial=True), outcome="blocked", reasons=("grounding",))
    found = replay(cut, policy_of(grounding={"threshold": 0.5}))
    assert (found.outcomes, found.why) == (("passed", "blocked"), {"cut"})
    assert replay(cut, policy_of(grounding={"threshold": 0.65})).outcomes == ("blocked",)
    assert replay(cut, policy_of(grounding={"threshold": 0.65, "action": "flag"})).outcomes == ("flagged",)
    assert replay(cut, policy_of(grounding={"action": "off"}, relevance={"action": "off"})).outcomes == ("unchecked",)


def test_a_mean_of_an_answer_that_was_cut_can_go_either_way(folder):
    """However good the beginning: enough bad claims after it turn the mean, and the other way round."""
    cut = replace(with_claims(base(folder), 1.0, 1.0, 0.1, partial=True), outcome="blocked", reasons=("grounding",))
    mean = policy_of(grounding={"aggregate": "mean", "threshold": 0.6})
    assert replay(cut, mean).outcomes == ("passed", "blocked")


def test_support_is_at_least_what_was_looked_for(folder):
    """Evidence was enough at 0.92; whether more would reach 0.95 is not known, but 0.84 was all there was."""
    assert replay(with_claims(base(folder), 0.92), STRICT).why == {"evidence", "relevance"}
    assert replay(with_claims(base(folder), 0.84), STRICT).outcomes == ("blocked",)


def test_relevance_that_was_not_asked_is_known_to_be_no_matter(folder):
    """Once a claim had enough, the rest was not asked; only a threshold above what it had leaves that open."""
    row = with_claims(base(folder), 0.9, 0.9)
    [choice] = row.choices
    first, second = (
        replace(one, result=replace(one.result, relevance=each))
        for one, each in zip(choice.claims, (0.9, None), strict=True)
    )
    row = replace(row, choices=(replace(choice, claims=(first, second)),))
    assert replay(row, policy_of(relevance={"threshold": 0.9})).outcomes == ("passed",)
    found = replay(row, policy_of(relevance={"threshold": 0.95}))
    assert (found.outcomes, found.why) == (("passed", "blocked"), {"not_scored"})


def test_citations_ask_for_evidence_too(folder):
    """Where evidence may be cited only from 0.95, more of it is looked for, and a claim may owe its relevance to it."""
    row = with_claims(base(folder), 0.92)
    assert replay(row, policy_of(citations={"threshold": 0.8})).certain
    found = replay(row, policy_of(citations={"threshold": 0.95}, relevance={"threshold": 0.9}))
    assert (found.outcomes, found.why) == (("passed", "blocked"), {"evidence", "relevance"})


DOUBTS = {
    "calibration": (
        {},
        {"calibration": Calibration(scorer="x", grounding=Curve(knots=((0.0, 0.0), (0.5, 0.2), (1.0, 1.0))))},
    ),
    "not_scored": ({"relevance": {"action": "off"}}, {}),
    "reading": ({}, {"tool_results": "source"}),
    "retry": ({"grounding": {"threshold": 0.99}}, {"grounding": {"threshold": 0.99}, "retry": {"attempts": 1}}),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_what_scores_cannot_tell_is_said(folder, doubt):
    """A change that needs scoring anew, or the model, is no certain outcome and says why."""
    then, now = DOUBTS[doubt]
    row = recorded(policy_of(**then), "Kyoto was it before. Osaka is a port.", folder, seed=3)
    found = replay(row, policy_of(**now))
    assert (found.certain, found.why) == (False, {doubt})


def test_late_scores_may_be_in_time_under_a_longer_limit(folder):
    """A claim that was late is late again under the same limit; a longer one may change it."""
    row = base(folder)
    [choice] = row.choices
    [scored] = choice.claims
    late = replace(scored, result=replace(scored.result, support=None, relevance=None, failed="timeout"))
    row = replace(row, outcome="blocked", reasons=("scorer_error",), choices=(replace(choice, claims=(late,)),))
    assert replay(row, Policy()).outcomes == ("blocked",)
    assert replay(row, policy_of(on_scorer_error="pass")).outcomes == ("unscored",)
    longer = replay(row, policy_of(timeout_ms=9000))
    assert (longer.outcomes, longer.why) == (("passed", "blocked"), {"timeout"})


def test_requests_that_would_be_refused_are_errors(folder):
    """Limits and models are known from sizes and names; what was refused then has no answer to judge."""
    row = base(folder)
    assert replay(row, policy_of(models=["other-*"])).outcomes == ("error",)
    short = policy_of(limits={"source_chars": 10, "on_exceed": "reject"})
    assert replay(row, short).outcomes == ("error",)
    refused = recorded(short, "Tokyo is the capital.", folder)
    assert replay(refused, short).outcomes == ("error",)
    assert replay(refused, Policy()).why == {"not_asked"}


def test_failures_stay_failures(folder):
    """Who had no key, or whose model failed, has an error under every policy."""
    row = base(folder, error="upstream_error", outcome=None)
    assert replay(row, STRICT).outcomes == ("error",)
    assert replay(replace(row, rules=None), STRICT).outcomes == ("error",)


def test_a_sample_takes_the_same_requests_as_the_server(folder):
    """A sample is drawn from the request's id, so a replay knows which are in it."""
    policy = policy_of(sample=0.5)
    rows = [base(folder, request_id=f"r-{number}") for number in range(40)]
    left_out = [replay(row, policy).outcomes == ("unchecked",) for row in rows]
    assert left_out == [not policy.for_request(row.request_id).in_sample for row in rows]
    assert 5 < sum(left_out) < 35


def test_several_choices_are_as_bad_as_the_worst(folder):
    """A good choice does not help a bad one; a doubtful one beside a bad one is no doubt."""
    row = base(folder)
    good, bad = (with_claims(row, score).choices[0] for score in (0.9, 0.1))
    cut = replace(good, partial=True)
    assert replay(replace(row, choices=(good, bad)), Policy()).outcomes == ("blocked",)
    assert replay(replace(row, choices=(good, cut)), Policy()).outcomes == ("passed", "blocked")
    assert replay(replace(row, choices=(bad, cut)), Policy()).outcomes == ("blocked",)


def test_an_input_that_nobody_judges_stays_so(folder):
    """ApplyGuardrail on input is unchecked under every policy."""
    verdict = Verdict(outcome=Outcome.UNCHECKED)
    row = row_of(record_of(Policy(), context_of(), "x", verdict, surface="apply_guardrail"), folder)
    assert replay(row, policy_of(on_missing_context="block")).outcomes == ("unchecked",)


REPLAYED = frozenset(
    "grounding relevance on_missing_context on_scorer_error on_uninspected abstention trust tool_results history query "
    "calibration limits timeout_ms retry models sample".split()
)
"""The keys of a policy whose change a replay shows, at least as an outcome that is not certain."""

NO_OUTCOME = frozenset(
    "description blocked_message redacted_message on_block stream citations allow_trace audit_text shadow".split()
)
"""The keys that change no outcome."""


def test_every_key_of_a_policy_is_thought_of():
    """A new key must say whether it changes outcomes before it can be replayed."""
    assert set(PolicyKeys.model_fields) == REPLAYED | NO_OUTCOME
    assert not REPLAYED & NO_OUTCOME


@example(aggregate="min")
@given(aggregate=st.sampled_from(("min", "mean")))
def test_a_claim_that_leans_would_be_asked_alone(aggregate):
    """Under a lower threshold a claim that passes only with its context is in doubt."""
    with tempfile.TemporaryDirectory() as folder:
        row = with_claims(base(Path(folder)), 0.55)
    [choice] = row.choices
    leaning = replace(row, choices=(replace(choice, claims=(replace(choice.claims[0], leans=True),)),))
    lower = policy_of(grounding={"threshold": 0.5, "aggregate": aggregate})
    assert replay(leaning, lower).outcomes == ("passed", "blocked")
    assert replay(leaning, lower).why == {"leaning", "relevance"}
