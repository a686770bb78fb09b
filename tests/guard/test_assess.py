"""Assess: each claim is asked about once, in time, and whatever cannot be judged follows the policy."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from scorers import FailingScorer, FullScorer, OverlapScorer, SlowScorer, TableScorer

from proxy.grounding.binding import SENTENCES
from proxy.grounding.calibration import Calibration, Curve
from proxy.grounding.errors import CallerError, Overloaded, ScoringError
from proxy.grounding.types import CheckKind, ClaimKind, GroundingContext, Outcome, Rule, Source
from proxy.grounding.verdict import RELEVANT_ENOUGH
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import (
    CLAIMS_IN_FLIGHT,
    NEAREST,
    QUERY_WINDOWS,
    WINDOWS_PER_CLAIM,
    Assessor,
    enforce_limits,
    looks_like_json,
    without_scoring,
)
from proxy.policy.model import Limits, OnUninspected, Policy

GROUNDING, RELEVANCE = CheckKind
CAPITALS = "London is the capital of UK. Tokyo is the capital of Japan."
QUERY = "What is the capital of Japan?"
OFF = {"grounding": {"action": "off"}, "relevance": {"action": "off"}}
BLOCKED = ("blocked", ("uninspected",))


def context_of(*texts, query=QUERY):
    """A context with these sources."""
    return GroundingContext(sources=tuple(Source(text=text) for text in texts), query=query)


def policy_of(**keys):
    """A policy with these keys, as a file would write them."""
    return Policy.model_validate(keys)


async def judge(scorer, answer, context=None, per_claim=True, part=None, **keys):
    """Judge an answer from scratch."""
    assessor = Assessor(scorer)
    preparing = asyncio.create_task(assessor.prepare(context or context_of(CAPITALS)))
    part = part or AnswerPart(text=answer)
    try:
        return await assessor.judge(part, preparing, policy_of(**keys), per_claim=per_claim)
    finally:
        await asyncio.gather(preparing, return_exceptions=True)


class WholeScorer(OverlapScorer):
    """Wants all evidence in one premise."""

    evidence = "whole"


async def test_a_scorer_may_read_all_evidence_at_once():
    """One premise a claim, of as many windows as it can read; each is cited."""
    filler = " ".join(f"Article {number} speaks of many other things at some length." for number in range(400))
    scorer = WholeScorer()
    verdict = await judge(scorer, "Tokyo is the capital of Japan.", context_of(filler, CAPITALS, filler))
    [pair] = [pair for pair in scorer.asked if pair.kind is GROUNDING]
    assert CAPITALS in pair.premise
    assert len(scorer.token_spans(pair.premise)) + len(scorer.token_spans(pair.hypothesis)) <= scorer.max_tokens
    assert {each.support for each in verdict.claims[0].evidence} == {1.0}


async def test_scores_are_on_the_policy_s_own_scale():
    """A policy's calibration is applied to both checks, and only to the scorer that it was fitted for."""
    halved = Curve(knots=((0, 0), (0.9, 0.5), (1, 1)), method="isotonic", rows=9, positives=3)
    for name, grounding in (("overlap", 0.5), ("another", 0.9)):
        maps = Calibration(scorer=name, grounding=halved)
        scorer = TableScorer({"Tokyo": 0.9})
        scorer.name = "overlap"
        verdict = await judge(scorer, "Tokyo is the capital of Japan.", calibration=maps)
        assert verdict.score(GROUNDING) == pytest.approx(grounding)
        assert verdict.claims[0].evidence[0].support == pytest.approx(grounding)


# --- what is asked ------------------------------------------------------------------------------------------------


async def test_a_supported_answer_passes_with_its_evidence():
    """The verdict holds both scores and each claim's evidence, as slices of the source, best first."""
    verdict = await judge(OverlapScorer(), "Tokyo is the capital of Japan.")
    assert (verdict.outcome, verdict.score(GROUNDING), verdict.score(RELEVANCE)) == (
        "passed",
        1.0,
        pytest.approx(5 / 6),
    )
    [found] = verdict.claims
    assert found.support == found.evidence[0].support == 1.0
    assert all(CAPITALS[each.window.start : each.window.end] == each.window.text for each in found.evidence)


FILLER = " ".join(f"Article {number} speaks of many other things at some length." for number in range(400))


async def test_support_is_the_best_of_the_short_list():
    """A claim is asked of few windows of a long source, and what supports it most counts."""
    verdict = await judge(OverlapScorer(), "Tokyo is the capital of Peru.", context_of(FILLER, CAPITALS, FILLER))
    [found] = verdict.claims
    supports = [each.support for each in found.evidence]
    assert SENTENCES <= len(supports) <= WINDOWS_PER_CLAIM
    assert supports == sorted(supports, reverse=True)
    assert (found.support, found.evidence[0].window.source) == (supports[0], 1)


@pytest.mark.parametrize(
    ("supports", "asked"),
    [
        pytest.param({"Tokyo is the": 0.9}, 1, id="by the first"),
        pytest.param({"Tokyo is the": 0.8, "London is the": 0.9}, NEAREST, id="by the second"),
    ],
)
async def test_what_the_nearest_sentences_support_is_asked_no_further(supports, asked):
    """One that supports the claim is enough; most answers cost no more."""
    scorer = TableScorer(supports)
    verdict = await judge(scorer, "The capital of Japan is Tokyo.", context_of(FILLER, CAPITALS, FILLER))
    assert verdict.claims[0].support == 0.9
    assert len([pair for pair in scorer.asked if pair.kind is GROUNDING]) == asked


CHARGES = "Charges for a checking account are 1%. There is no fee for opening a savings account."
DENIAL = "There are no charges for a checking account."


async def test_what_a_sentence_denies_is_not_supported_by_another_that_shares_few_of_its_words():
    """The other's "no" is not that of the claim."""
    scorer = TableScorer({"Charges for": 0.05, "There is no fee": 0.9})
    verdict = await judge(scorer, DENIAL, context_of(CHARGES))
    assert (verdict.outcome, verdict.score(GROUNDING)) == ("blocked", 0.1)


@pytest.mark.parametrize(
    ("source", "denies"),
    [
        pytest.param(CHARGES, 0.2, id="no sentence surely says otherwise"),
        pytest.param(
            CHARGES.replace("for a checking account", "of a bank"), 0.05, id="the one speaks of something else"
        ),
        pytest.param(CHARGES.replace("opening a savings", "a checking"), 0.05, id="the other holds as many words"),
    ],
)
async def test_what_no_sentence_denies_is_supported_by_any(source, denies):
    """A sentence must hold the claim's words and be refused, and the other must hold few of them."""
    scorer = TableScorer({"no fee": 0.9, "Charges": denies})
    verdict = await judge(scorer, DENIAL, context_of(source), relevance={"action": "off"})
    assert verdict.score(GROUNDING) == 0.9


async def test_a_first_sentence_of_few_of_the_words_is_not_enough():
    """The next may hold the claim's words and deny them."""
    nearest = "No charges apply."
    scorer = TableScorer({"apply. Charges": 0.05, nearest: 0.9, "Charges for": 0.05})
    kinds = " ".join(
        f"{first}{second}" for first in "bcdfghklm" for second in ("all", "ent", "ill", "oom", "ust", "ard")
    )
    source = f"{nearest} Charges for a checking account are 1% of {kinds}."
    verdict = await judge(scorer, DENIAL, context_of(source), relevance={"action": "off"})
    first, second, *_ = [pair.premise for pair in scorer.asked]
    assert (first, second[:11]) == (nearest, "Charges for")
    assert verdict.score(GROUNDING) == 0.1


async def test_a_swapped_fact_is_asked_of_single_sentences():
    """No window with both facts is asked about a claim that mixes them."""
    scorer = OverlapScorer()
    await judge(scorer, "The capital of Japan is London.")
    assert CAPITALS not in {pair.premise for pair in scorer.asked if pair.kind is GROUNDING}


async def test_a_fragment_is_asked_with_the_query_for_grounding_only():
    """The query makes a fragment a statement; for relevance it would answer itself."""
    scorer = OverlapScorer()
    await judge(scorer, "Tokyo.")
    assert {pair.hypothesis for pair in scorer.asked if pair.kind is GROUNDING} == {f"{QUERY} Tokyo."}
    asked = [(pair.premise, pair.hypothesis) for pair in scorer.asked if pair.kind is RELEVANCE]
    assert asked == [(QUERY, "Tokyo."), (QUERY, "Tokyo is the capital of Japan.")]


async def test_a_long_query_is_asked_in_parts():
    """The first parts of a query longer than a window are asked, and one that the answer meets is enough."""
    scorer = TableScorer({}, {"the ship": 0.9, "and": 0.0})
    query = "this and that. " * 60 + "Where is the ship? " + "this and that. " * 600
    verdict = await judge(scorer, "It is here.", context_of("It is here.", query=query))
    premises = {pair.premise for pair in scorer.asked if pair.kind is RELEVANCE}
    assert (1 < len(premises) <= QUERY_WINDOWS, verdict.score(RELEVANCE)) == (True, 0.9)


async def test_questions_are_asked_each_and_not_together():
    """An answer to either is relevant; the query that holds both is not asked besides."""
    scorer = TableScorer({}, {"two": 0.9, "one": 0.2})
    query = "Is number one it? And what is number two?"
    verdict = await judge(scorer, "This is it.", context_of("This is it.", query=query))
    asked = [pair.premise for pair in scorer.asked if pair.kind is RELEVANCE]
    assert (asked, verdict.score(RELEVANCE)) == (["Is number one it?", "what is number two?"], 0.9)


@pytest.mark.parametrize(
    "query",
    [
        "What do a trust and will cost?",
        "I am from Spain. Is it open?",
        "One? Is two? Is three? Is four? Is five? Is six?",
    ],
)
async def test_a_query_whose_parts_are_guessed_or_too_many_is_asked_whole_too(query):
    """What is no question, or has no room, is part of the whole."""
    scorer = TableScorer({}, {"": 0.2})
    await judge(scorer, "This is it.", context_of("This is it.", query=query))
    assert query in {pair.premise for pair in scorer.asked if pair.kind is RELEVANCE}


async def test_a_broad_part_makes_the_query_broad():
    """Whatever the source says is an answer, though other questions are asked besides."""
    scorer = TableScorer({}, {"": 0.1})
    query = "Summarise this. Who called? What did they want?"
    verdict = await judge(scorer, "This is it.", context_of("This is it.", query=query))
    assert verdict.score(RELEVANCE) == 1.0


@pytest.mark.parametrize("query", [None, "", " \n"])
async def test_without_a_query_relevance_is_absent(query):
    """No pair is asked about relevance, and no score is waited for."""
    scorer = OverlapScorer()
    verdict = await judge(scorer, "Tokyo is the capital of Japan.", context_of(CAPITALS, query=query))
    assert ([check.kind for check in verdict.checks], verdict.outcome) == ([GROUNDING], Outcome.PASSED)
    assert all(pair.kind is GROUNDING for pair in scorer.asked)


MANY = " ".join(f"This is number {number}." for number in range(9))


@pytest.mark.parametrize(("threshold", "enough"), [(0.5, 0.9), (0.95, 0.99)])
async def test_once_a_claim_is_relevant_enough_the_rest_is_not_asked(threshold, enough):
    """An answer's relevance is that of its best claim: those that are not in the scorer yet need none."""
    scorer = TableScorer({}, {"": enough})
    verdict = await judge(scorer, MANY, relevance={"threshold": threshold})
    assert (verdict.outcome, verdict.score(RELEVANCE)) == ("passed", enough)
    asked = [pair.hypothesis for pair in scorer.asked if pair.kind is RELEVANCE]
    assert 1 <= len(asked) <= CLAIMS_IN_FLIGHT
    assert [found.relevance for found in verdict.claims][CLAIMS_IN_FLIGHT:] == [None] * (9 - CLAIMS_IN_FLIGHT)
    assert all(found.support == 1.0 for found in verdict.claims)


@pytest.mark.parametrize(
    ("relevance", "rules"),
    [
        (RELEVANT_ENOUGH - 0.01, {}),
        (0.9, {"relevance": {"threshold": 0.91}}),
        (0.9, {"grounding": {"action": "redact"}}),
    ],
)
async def test_what_may_still_be_asked_for_is_scored(relevance, rules):
    """A better claim may come, the policy may want more, the claim may have to leave: all are asked."""
    verdict = await judge(TableScorer({}, {"": relevance}), MANY, **rules)
    assert [found.relevance for found in verdict.claims] == [relevance] * 9


async def test_relevance_does_not_hang_on_which_claim_is_scored_first():
    """Claims behind the first that is relevant enough do not count, though some may have been asked."""
    for slow in ("0", "1"):
        scorer = SlowScorer(0.05, slow, {})
        scorer.judge = lambda pair: {"0": 0.86, "1": 0.99}.get(pair.hypothesis[-2], 0.95)
        verdict = await judge(scorer, MANY)
        assert verdict.score(RELEVANCE) == 0.86


async def test_a_claim_of_which_relevance_was_not_asked_is_no_failure():
    """The first proves relevant, the last is unsupported: blocked by grounding, with both scores."""
    verdict = await judge(TableScorer({"8": 0.1}, {"": 0.9}), MANY)
    assert (verdict.reasons, verdict.score(GROUNDING), verdict.score(RELEVANCE)) == (("grounding",), 0.1, 0.9)


async def test_a_check_that_is_off_is_not_asked():
    """With grounding off no window is scored."""
    scorer = OverlapScorer()
    await judge(scorer, "Tokyo is it.", grounding={"action": "off"})
    assert {pair.kind for pair in scorer.asked} == {RELEVANCE}


@pytest.mark.parametrize("answer", ["", " \n", "Hello!", "What would you like to know?", "I don't know."])
async def test_nothing_to_check_is_not_asked_and_passes_with_one(answer):
    """Empty answers, greetings, questions back and abstentions need no scorer."""
    verdict = await judge(FailingScorer(ScoringError("no")), answer)
    assert (verdict.outcome, verdict.score(GROUNDING), verdict.score(RELEVANCE)) == ("passed", 1.0, 1.0)


async def test_claims_keep_their_order_whatever_ends_first():
    """Results are in the order of the answer though a later claim is scored sooner."""
    verdict = await judge(SlowScorer(0.05, "One"), "One is it. Two is it. Three is it.")
    assert [found.claim.text for found in verdict.claims] == ["One is it.", "Two is it.", "Three is it."]


async def test_few_claims_are_in_the_scorer_at_once():
    """A long answer does not fill the queue."""
    scorer = SlowScorer(0.01)
    await judge(scorer, "This is it. " * 20)
    assert scorer.most == CLAIMS_IN_FLIGHT


async def test_a_long_context_is_prepared_off_the_loop():
    """Long work leaves the event loop free and gives what short work would."""
    prepared = await Assessor(OverlapScorer()).prepare(context_of("This is it. " * 5000))
    assert prepared.index.windows[-1].end == 60_000


# --- time and failure ---------------------------------------------------------------------------------------------


async def test_a_claims_time_counts_from_hand_over():
    """An answer whose claims each keep their time is in time, however long they take together."""
    verdict = await judge(SlowScorer(0.15), "This is it. " * CLAIMS_IN_FLIGHT * 5, timeout_ms=600)
    assert verdict.outcome is Outcome.PASSED


async def test_a_late_claim_is_a_failure():
    """What is late blocks as a failure of the scorer, or is let through unscored."""
    scorer = SlowScorer(60)
    verdict = await judge(scorer, "This is it.", timeout_ms=20)
    assert (verdict.outcome, verdict.reasons, verdict.claims[0].failed) == ("blocked", ("scorer_error",), "timeout")
    assert scorer.running == 0
    verdict = await judge(scorer, "This is it.", timeout_ms=20, on_scorer_error="pass")
    assert (verdict.outcome, verdict.bypasses) == ("unscored", ("scorer_error",))


async def test_after_the_first_late_claim_the_rest_share_one_limit():
    """A hundred claims to a dead scorer cost two limits and not a hundred."""
    began = time.perf_counter()
    verdict = await judge(SlowScorer(60), "This is it. " * 100, timeout_ms=400)
    assert {found.failed for found in verdict.claims} == {"timeout"}
    assert time.perf_counter() - began < 8  # a limit each, four at once, would be 10


async def test_one_late_claim_hides_no_unsupported_one():
    """A claim under its threshold blocks by grounding though another is late."""
    scorer = SlowScorer(60, "late", {"bad": 0.1})
    verdict = await judge(scorer, "It is late. It is bad.", timeout_ms=50, on_scorer_error="pass")
    assert (verdict.outcome, verdict.reasons) == ("blocked", ("grounding",))


async def test_the_whole_has_a_limit(monkeypatch):
    """All claims together have a limit; a check has that one alone, and not the policy's for each."""
    verdict = await judge(SlowScorer(0.1), "This is it.", timeout_ms=1, per_claim=False)
    assert verdict.outcome is Outcome.PASSED
    monkeypatch.setattr("proxy.guard.assess.REQUEST_SECONDS", 0.1)
    began = time.perf_counter()
    verdict = await judge(SlowScorer(60), "This is it. " * 50, timeout_ms=60_000)
    assert {found.failed for found in verdict.claims} == {"timeout"}
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ScoringError("broken"), "error"),
        (ScoringError("late", reason="timeout"), "timeout"),
        (TimeoutError(), "timeout"),
    ],
)
async def test_a_scorer_that_raises_follows_the_policy(error, word):
    """A failure after the model has answered is a verdict, and the others' scores are kept."""
    verdict = await judge(FailingScorer(error, "One"), "One is it. Two is it.")
    assert (verdict.outcome, verdict.reasons) == ("blocked", ("scorer_error",))
    assert [(found.failed, found.support) for found in verdict.claims] == [(word, None), (None, 1.0)]
    verdict = await judge(FailingScorer(error, "One"), "One is it. Two is it.", on_scorer_error="pass")
    assert verdict.outcome is Outcome.UNSCORED


async def test_an_error_not_foreseen_is_no_verdict():
    """A fault in the scorer that is not its declared error is not taken for a failure that a policy may waive."""
    with pytest.raises(ExceptionGroup) as raised:
        await judge(FailingScorer(ValueError("bug"), "One"), "One is it. Two is it.", on_scorer_error="pass")
    assert raised.group_contains(ValueError)


async def test_cancellation_reaches_the_scorer():
    """When the caller leaves, nothing goes on being scored."""
    scorer = SlowScorer(60)
    task = asyncio.create_task(judge(scorer, "This is it. " * 10))
    await scorer.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (scorer.running, asyncio.all_tasks() - {asyncio.current_task()}) == (0, set())


def test_admission_is_the_scorers():
    """A full queue refuses at once."""
    Assessor(OverlapScorer()).admit()
    with pytest.raises(Overloaded) as raised:
        Assessor(FullScorer()).admit()
    assert raised.value.retry_after == 3


# --- what cannot be inspected -------------------------------------------------------------------------------------

FACT = "Tokyo is the capital of Japan."


@pytest.mark.parametrize(
    ("carried", "passing", "bypasses"),
    [
        ("tool_calls", "pass", ("tool_calls",)),
        ("images", "pass", ("images",)),
        ("reasoning", "pass", ()),
        ("reasoning", "strip", ()),
        ("default", "pass", ()),
        ("default", "strip", ()),
    ],
)
async def test_what_an_answer_carries_passes_or_blocks(carried, passing, bypasses):
    """Each key lets its part through, counted where that is a bypass, or blocks without asking the scorer."""
    part = AnswerPart(text=FACT, carries=frozenset({carried}))
    verdict = await judge(OverlapScorer(), "", part=part, on_uninspected={carried: passing})
    assert (verdict.outcome, verdict.bypasses, verdict.score(GROUNDING)) == ("passed", bypasses, 1.0)
    scorer = OverlapScorer()
    verdict = await judge(scorer, "", part=part, on_uninspected={carried: "block"})
    assert (verdict.outcome, verdict.reasons, scorer.asked) == (*BLOCKED, [])


async def test_one_part_that_blocks_is_enough():
    """A bypass beside a block does not open it."""
    part = AnswerPart(text=FACT, carries=frozenset({"tool_calls", "images"}))
    verdict = await judge(OverlapScorer(), "", part=part)
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (*BLOCKED, ())


async def test_a_bypass_is_told_though_the_text_is_blocked():
    """An unsupported text blocks beside a tool call that passes."""
    part = AnswerPart(text="The fee is waived.", carries=frozenset({"tool_calls"}))
    verdict = await judge(OverlapScorer(), "", part=part)
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == ("blocked", ("grounding",), ("tool_calls",))


async def test_an_answer_that_calls_tools_need_not_be_relevant():
    """Text beside tool calls is judged by grounding alone."""
    part = AnswerPart(text=FACT, carries=frozenset({"tool_calls"}))
    verdict = await judge(TableScorer({}, {"": 0.0}), "", part=part)
    assert (verdict.outcome, verdict.score(RELEVANCE)) == ("passed", None)


@pytest.mark.parametrize(
    ("rule", "outcome", "reasons", "bypasses"),
    [
        ("score", "blocked", ("grounding", "relevance"), ()),
        ("pass", "unchecked", (), ("json",)),
        ("block", *BLOCKED, ()),
    ],
)
async def test_json_is_scored_passed_or_blocked(rule, outcome, reasons, bypasses):
    """An answer that is JSON is scored as prose unless the policy says otherwise."""
    verdict = await judge(OverlapScorer(), '{"fee": "five dollars"}', on_uninspected={"json": rule})
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, bypasses)


async def test_json_that_passes_is_no_cover_for_what_blocks():
    """JSON beside a picture blocks where pictures block, and both bypasses are told where they pass."""
    part = AnswerPart(text="[1]", carries=frozenset({"images"}))
    assert (await judge(OverlapScorer(), "", part=part, on_uninspected={"json": "pass"})).blocked
    verdict = await judge(OverlapScorer(), "", part=part, on_uninspected={"json": "pass", "images": "pass"})
    assert verdict.bypasses == ("json", "images")


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ('{"a": 1}', True),
        (' [1, "b"]\n', True),
        ("[1] says so.", False),
        ('{"a": 1} and more', False),
        ("5", False),
        ('"text"', False),
        ("", False),
        ("{" * 100_000, False),
        ("[" * 100_000 + "]" * 100_000, False),
    ],
)
def test_json_is_an_object_or_array_and_nothing_more(text, is_json):
    """Prose that holds JSON, a lone number and what no parser reads are prose."""
    assert looks_like_json(text) is is_json


# --- refusals -----------------------------------------------------------------------------------------------------

REFUSAL = AnswerPart(refusal="I can't help with that.")


@pytest.mark.parametrize(
    ("abstention", "outcome", "reasons", "bypasses"),
    [("pass", "passed", (), ("abstention",)), ("block", "blocked", ("relevance",), ())],
)
async def test_a_refusal_counts_as_an_abstention(abstention, outcome, reasons, bypasses):
    """What the provider marks as a refusal follows the policy's rule for abstentions."""
    verdict = await judge(OverlapScorer(), "", part=REFUSAL, abstention=abstention)
    assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, bypasses)
    assert [found.claim.kind for found in verdict.claims] == [ClaimKind.ABSTENTION]


async def test_a_refusal_is_scored_where_abstentions_are():
    """Its own words are asked of the scorer, and a low score blocks by its check and not as a failure."""
    scorer = TableScorer({"help": 0.2})
    verdict = await judge(scorer, "", part=REFUSAL, abstention="score")
    assert (verdict.outcome, verdict.reasons) == ("blocked", ("grounding",))
    assert {pair.hypothesis for pair in scorer.asked} == {REFUSAL.refusal}


async def test_a_refusal_covers_no_text():
    """Text beside a refusal is judged as ever."""
    part = AnswerPart(text="The fee is waived.", refusal="I can't help with that.")
    verdict = await judge(OverlapScorer(), "", part=part)
    assert (verdict.outcome, verdict.bypasses) == ("blocked", ())


# --- before any answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "sources", "outcome", "reasons", "bypasses"),
    [
        ({}, ("text",), None, (), ()),
        ({}, (), "unchecked", (), ("no_source",)),
        ({"on_missing_context": "block"}, (), "blocked", ("missing_context",), ()),
        (OFF, ("text",), "unchecked", (), ("policy_off",)),
        (OFF | {"on_missing_context": "block"}, (), "unchecked", (), ("policy_off",)),
    ],
)
def test_what_is_settled_before_an_answer(keys, sources, outcome, reasons, bypasses):
    """Both checks off, or no source: the policy alone decides; else the answer must be scored."""
    verdict = without_scoring(policy_of(**keys), context_of(*sources))
    if outcome is None:
        assert verdict is None
    else:
        assert (verdict.outcome, verdict.reasons, verdict.bypasses) == (outcome, reasons, bypasses)


LIMITS = {"source_chars": 10, "query_chars": 5, "answer_chars": 20}


def test_limits_reject_or_score():
    """Beyond a limit a request is refused by name, unless the policy scores it all the same."""
    rejecting = policy_of(limits=LIMITS | {"on_exceed": "reject"})
    enforce_limits(rejecting, context_of("12345", "67890", query="12345"))
    for context, param in (
        (context_of("12345", "678901"), "grounding_source"),
        (context_of("1", query="123456"), "query"),
    ):
        with pytest.raises(CallerError) as raised:
            enforce_limits(rejecting, context)
        assert (raised.value.status, raised.value.code, raised.value.param) == (400, "limit_exceeded", param)
        enforce_limits(policy_of(limits=LIMITS), context)


async def test_a_long_answer_blocks_or_is_scored():
    """An answer over the limit is blocked where limits reject, and else scored to its end."""
    answer = "Tokyo is the capital of Japan. " * 2 + "The fee is waived."
    verdict = await judge(OverlapScorer(), answer, limits=LIMITS | {"on_exceed": "reject"})
    assert (verdict.outcome, verdict.reasons) == BLOCKED
    assert (await judge(OverlapScorer(), answer, limits=LIMITS)).reasons == ("grounding",)


def test_the_defaults_are_those_of_the_interface():
    """What a policy file leaves out is strict about what cannot be seen and lets agents work."""
    policy = Policy()
    assert policy.on_uninspected == OnUninspected(
        tool_calls="pass", json="score", images="block", reasoning="strip", default="block"
    )
    assert policy.limits == Limits(source_chars=100_000, query_chars=1000, answer_chars=5000, on_exceed="score")
    assert (policy.grounding, policy.timeout_ms) == (Rule(threshold=0.7), 2000)


async def test_a_true_context_lends_no_support():
    """What passes only with the true sentence before it does not pass: it is asked alone, of the same evidence."""
    scorer = TableScorer({"theft. It covers": 0.95, "It covers fire": 0.1})
    said = "The Basic plan covers theft. It covers fire."
    verdict = await judge(scorer, said, context_of("The Basic plan covers theft."))
    assert [claim.support for claim in verdict.claims] == [1.0, 0.1]
    assert verdict.outcome is Outcome.BLOCKED


async def test_what_may_be_cited_stands_by_itself_too():
    """Support that a true context lends is lowered from the threshold of citations on, though under the rule's."""
    answer = "Tokyo is the capital of Japan. It covers fire."
    lent = {"Japan. It covers fire": 0.65, "It covers fire": 0.2}
    verdict = await judge(TableScorer(lent), answer, citations={"threshold": 0.6})
    assert verdict.claims[1].support == 0.2
    verdict = await judge(TableScorer(lent), answer, citations={"threshold": 0.68})
    assert verdict.claims[1].support == 0.65


async def test_evidence_is_looked_for_until_it_can_be_cited():
    """Support that passes is not enough where citations ask for more."""
    context = context_of(FILLER, CAPITALS, FILLER)
    asked = []
    for threshold in (0.6, 0.97):
        scorer = TableScorer({"capital": 0.95})
        await judge(scorer, "Tokyo is the capital of Japan.", context, citations={"threshold": threshold})
        asked.append(len(scorer.asked))
    assert asked[0] < asked[1]


async def test_an_attribute_is_read_where_the_claim_speaks_of_it():
    """By the scorer, behind the text of its source."""
    source = Source(text="Toronto is the capital of Ontario.", attributes=(("author", "Wikipedia"),))
    for claim, premise in (
        ("Wikipedia says that Toronto is the capital of Ontario.", "Toronto is the capital of Ontario. (Wikipedia)"),
        ("Toronto is the capital of Ontario.", "Toronto is the capital of Ontario."),
    ):
        for scorer in (OverlapScorer(), WholeScorer()):
            await judge(scorer, claim, GroundingContext(sources=(source,)))
            assert {pair.premise for pair in scorer.asked} == {premise}


RESET = "The password is on the bottom. Hold the reset button for 10 seconds to restore factory settings."
HOLD = "Hold the reset button for 10 seconds."


class SourceKnows(OverlapScorer):
    """Knows one sentence that addresses the query, and how well it supports any claim."""

    def __init__(self, support: float, addresses: float) -> None:
        super().__init__()
        self.support, self.addresses = support, addresses

    def judge(self, pair):
        """Relevance by the sentence alone, support by the sentence that shares the most words."""
        if pair.kind is RELEVANCE:
            return self.addresses if "factory settings" in pair.hypothesis else 0.1
        return self.support if "factory settings" in pair.premise else 0.2


@pytest.mark.parametrize(
    ("support", "addresses", "relevant"),
    [(0.95, 0.95, True), (0.95, 0.3, False), (0.6, 0.95, True), (0.4, 0.99, False)],
)
async def test_a_sentence_of_the_source_shows_what_a_claim_answers(support, addresses, relevant):
    """Where that sentence is likelier than not to support the claim, and addresses the query."""
    context = context_of(RESET, query="How do I restore the defaults?")
    verdict = await judge(SourceKnows(support, addresses), HOLD, context)
    assert (verdict.score(RELEVANCE) >= 0.5) is relevant
    assert verdict.score(RELEVANCE) >= 0.1


@pytest.mark.parametrize(("query", "broad"), [("Summarise the page.", True), ("Who wrote the page?", False)])
async def test_a_summary_may_say_whatever_the_source_says(query, broad):
    """Any supported claim answers a request for all of it, and an unsupported one does not."""
    for support, relevant in ((0.9, broad), (0.4, False)):
        verdict = await judge(SourceKnows(support, 0.2), HOLD, context_of(RESET, query=query))
        assert (verdict.score(RELEVANCE) >= 0.5) is relevant


async def test_a_summary_may_join_what_no_single_sentence_says():
    """It is supported by several sentences together, and what they say together answers a request for all of it."""
    together = "Tokyo is the capital of Japan. Paris is the capital of France."
    scorer = TableScorer({together: 0.9, "": 0.3}, {"": 0.1})
    verdict = await judge(
        scorer, "Tokyo is Japan's capital, Paris that of France.", context_of(together, query="Summarise the page.")
    )
    assert (verdict.outcome, verdict.score(RELEVANCE)) == ("passed", 0.9)


async def test_the_sentence_before_a_pronoun_lends_no_relevance():
    """It is read for what "it" stands for, and may address the query where the claim does not."""
    source = "The movie won prizes. It restores factory settings. It was released in 1997."
    asked = SourceKnows(0.95, 0.95)
    await judge(asked, "The movie was released in 1997.", context_of(source, query="What does it restore?"))
    told = [pair.hypothesis for pair in asked.asked if pair.kind is RELEVANCE]
    assert all("prizes" not in text and "factory" not in text for text in told)


async def test_relevance_of_the_source_is_asked_only_where_it_may_count():
    """Not of a claim that is relevant by itself, nor of one that nothing supports."""
    for scorer, asked in ((SourceKnows(0.95, 0.95), 2), (SourceKnows(0.3, 0.95), 1), (TableScorer({}), 1)):
        await judge(scorer, HOLD, context_of(RESET, query="How do I restore the defaults?"))
        assert sum(pair.kind is RELEVANCE for pair in scorer.asked) == asked


@pytest.mark.parametrize(("text", "on_loop"), [("two words", True), ("two words " * 200, False)])
async def test_tokens_of_a_long_text_are_counted_off_the_loop(text, on_loop):
    """Counting takes long where there is much."""

    class Where(OverlapScorer):
        def token_spans(self, text):
            self.thread = threading.get_ident()
            return super().token_spans(text)

    scorer = Where()
    assert await Assessor(scorer).count_tokens(text, "three more words") == len(text.split()) + 3
    assert (scorer.thread == threading.get_ident()) is on_loop
