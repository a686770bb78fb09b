"""Groundedness, relevance and similarity by the scorer: the map, the policy, and what asserts nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorers import FailingScorer, OverlapScorer, TableScorer

from proxy.app import embedded_scorer
from proxy.evaluate.rows import Turn
from proxy.evaluate.supported import Supported, stars
from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import Rule, Source
from proxy.policy.model import Policy
from proxy.settings import EmbeddedSettings

SCORES = st.floats(0, 1)
THRESHOLDS = st.floats(0, 0.99)
TURN = Turn(query="When does it open?", response="It opens at nine.", sources=(Source(text="It opens at nine."),))


@given(SCORES, THRESHOLDS)
def test_three_passes_exactly_what_the_policy_passes(score, threshold):
    """From 1 to 5, and 3 or more if and only if the score reaches the threshold."""
    mapped = stars(score, threshold)
    assert 1 <= mapped <= 5
    assert (mapped >= 3) == (score >= threshold)


@given(st.lists(SCORES, min_size=2), THRESHOLDS)
def test_the_map_rises(scores, threshold):
    """No two scores change places."""
    mapped = [stars(score, threshold) for score in sorted(scores)]
    assert all(before <= after for before, after in pairwise(mapped))


@pytest.mark.parametrize(("score", "mapped"), [(0, 1), (0.35, 2), (0.7, 3), (0.85, 4), (1, 5)])
def test_some_of_the_map(score, mapped):
    """Two straight lines that meet at the threshold."""
    assert stars(score, 0.7) == pytest.approx(mapped)


async def test_scores_are_the_policys(caplog):
    """Each check on its own threshold, with its number and its claims."""
    scorer = TableScorer({"nine": 0.85}, {"nine": 0.25})
    found = await Supported(scorer, Policy()).measure(TURN, ["groundedness", "relevance"])
    assert found["groundedness"].score == pytest.approx(4)
    assert found["relevance"].score == pytest.approx(2)
    assert found["groundedness"].properties["grounding"] == 0.85
    assert found["relevance"].properties["relevance"] == 0.25
    assert found["groundedness"].properties["claims"] == [{"text": "It opens at nine.", "score": 0.85}]
    assert "under the policy's threshold of 0.5" in found["relevance"].reason


async def test_relevance_is_the_best_of_all_claims():
    """Also of those that a proxy would not ask any more."""
    turn = Turn(query=TURN.query, response="It opens at nine. Tea is free. We open early.", sources=TURN.sources)
    scorer = TableScorer({}, {"nine": 0.9, "Tea": 0.1, "early": 0.97})
    found = await Supported(scorer, Policy()).measure(turn, ["relevance"])
    assert found["relevance"].properties["relevance"] == 0.97
    assert len(found["relevance"].properties["claims"]) == 3


async def test_the_weakest_claim_decides_and_is_named():
    """As in the proxy; with `aggregate: mean` their mean does."""
    turn = Turn(response="It opens at nine. Tea is free.", sources=TURN.sources)
    scorer = TableScorer({"free": 0.1, "nine": 0.9})
    weakest = (await Supported(scorer, Policy()).measure(turn, ["groundedness"]))["groundedness"]
    assert weakest.properties["grounding"] == 0.1
    assert weakest.reason.endswith("least supported: 'Tea is free.'")
    mean = Policy(grounding=Rule(threshold=0.5, aggregate="mean"))
    assert (await Supported(scorer, mean).measure(turn, ["groundedness"]))["groundedness"].score >= 3


async def test_checks_that_the_policy_leaves_off_are_measured_all_the_same():
    """Who evaluates wants to know."""
    off = Policy(grounding=Rule(threshold=0.7, action="off"), relevance=Rule(threshold=0.5, action="off"))
    found = await Supported(TableScorer({}), off).measure(TURN, ["groundedness", "relevance"])
    assert [result.score for result in found.values()] == [5, 5]


@pytest.mark.parametrize("answer", ["Hello! How can I help you?", "I don't know.", "You're welcome."])
async def test_what_asserts_nothing_is_a_three(answer):
    """Azure's "nothing to be grounded", and a pass as in the proxy; the scorer is not asked."""
    scorer = OverlapScorer()
    turn = Turn(query="When does it open?", response=answer, sources=TURN.sources)
    found = await Supported(scorer, Policy()).measure(turn, ["groundedness", "relevance"])
    assert [result.score for result in found.values()] == [3.0, 3.0]
    assert "asserts nothing" in found["groundedness"].reason
    assert not scorer.asked


async def test_an_abstention_that_the_policy_blocks_is_irrelevant():
    """`abstention: block` counts as relevance 0."""
    turn = Turn(query="When does it open?", response="I don't know.", sources=TURN.sources)
    found = await Supported(OverlapScorer(), Policy(abstention="block")).measure(turn, ["groundedness", "relevance"])
    assert (found["groundedness"].score, found["relevance"].score) == (3.0, 1.0)


async def test_relevance_needs_no_sources():
    """Only the query and the answer are looked at."""
    scorer = OverlapScorer()
    turn = Turn(query="It opens when?", response="It opens at nine.")
    found = await Supported(scorer, Policy()).measure(turn, ["relevance"])
    assert list(found) == ["relevance"]
    assert {pair.kind for pair in scorer.asked} == {"relevance"}


async def test_a_scorer_that_fails_is_an_error_and_no_score():
    """For one check too: what could not be checked is no pass."""
    failing = FailingScorer(ScoringError("no", reason="timeout"), "nine")
    found = await Supported(failing, Policy()).measure(TURN, ["groundedness", "relevance"])
    assert {(result.status, result.score) for result in found.values()} == {("error", None)}
    assert "timeout" in found["groundedness"].reason


class BusyScorer(TableScorer):
    """Says once that it is busy, and for how long."""

    refused = 0

    def admit(self) -> None:
        """Refuse until the time is over."""
        message = "busy"
        raise Overloaded(message, retry_after=1)

    async def score(self, pairs):
        """Fail once."""
        self.refused += 1
        if self.refused == 1:
            message = "busy"
            raise ScoringError(message, reason="overloaded")
        return await super().score(pairs)


async def test_a_busy_scorer_is_asked_again():
    """After the time that it asks for: this work can wait, unlike a caller."""
    found = await Supported(BusyScorer({"nine": 0.85}), Policy()).measure(TURN, ["groundedness"])
    assert found["groundedness"].score == pytest.approx(4)


@pytest.mark.parametrize(
    ("response", "truth", "score"),
    [
        ("It opens at nine.", "it  opens at NINE.", 5),
        ("It opens at nine.", "Tea is free.", 1),
        ("I don't know.", "It opens at nine.", 1),
        ("red house", "red boat", 3),
    ],
)
async def test_similarity_is_agreement_both_ways(response, truth, score):
    """The harmonic mean of what each bears out of the other, from 1 to 5."""
    turn = Turn(response=response, ground_truth=truth)
    found = await Supported(OverlapScorer(), Policy()).measure(turn, ["similarity"])
    assert found["similarity"].score == pytest.approx(score)


async def test_similarity_reads_a_short_answer_with_its_question():
    """What bears the other out is the question and its answer; alone a name supports nothing."""
    scorer = OverlapScorer()
    turn = Turn(query="Where is it?", response="It is in Rome.", ground_truth="Rome")
    await Supported(scorer, Policy()).measure(turn, ["similarity"])
    assert "Where is it? Rome" in {pair.premise for pair in scorer.asked}


async def test_similarity_is_not_had_by_saying_less_or_more():
    """An answer that leaves half out, or adds as much, is not the same."""
    short, long = "It opens at nine.", "It opens at nine. Dogs may not enter."
    for response, truth in ((short, long), (long, short)):
        turn = Turn(query="What?", response=response, ground_truth=truth)
        found = await Supported(TableScorer({}), Policy()).measure(turn, ["similarity"])
        assert found["similarity"].score == 5  # the table supports everything
        found = await Supported(OverlapScorer(), Policy()).measure(turn, ["similarity"])
        assert found["similarity"].score < 4


async def test_with_the_embedded_scorer():
    """The documented row passes; a wrong year, a wrong city and another substance do not."""
    scorer = embedded_scorer(EmbeddedSettings())
    await scorer.warm()
    try:
        supported = Supported(scorer, Policy())
        context = "From our product list, the Alpine Explorer tent is the most waterproof."
        good = Turn(
            query="Which tent is the most waterproof?",
            response="The Alpine Explorer Tent is the most waterproof.",
            sources=(Source(text=context),),
            ground_truth="The Alpine Explorer is the most waterproof tent.",
        )
        found = await supported.measure(good, ["groundedness", "relevance", "similarity"])
        assert all(result.score > 3.5 for result in found.values()), found
        short = Turn(query=good.query, response=good.response, ground_truth="The Alpine Explorer.")
        assert (await supported.measure(short, ["similarity"]))["similarity"].score > 3.5
        bad = Turn(
            query=good.query,
            response="The Adventure Dining Table is the most waterproof.",
            sources=good.sources,
            ground_truth=good.ground_truth,
        )
        found = await supported.measure(bad, ["groundedness", "similarity"])
        assert all(result.score < 3 for result in found.values()), found
    finally:
        await scorer.close()
