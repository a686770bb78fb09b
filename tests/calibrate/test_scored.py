"""Labelled rows scored as the proxy would score them."""

from scorers import FailingScorer, OverlapScorer, TableScorer

from proxy.calibrate.rows import Example
from proxy.calibrate.scored import score
from proxy.grounding.calibration import Calibration, Curve
from proxy.grounding.errors import ScoringError
from proxy.grounding.types import CheckKind, GroundingContext, Rule, Source
from proxy.policy.model import Policy

GROUNDING, RELEVANCE = CheckKind.GROUNDING, CheckKind.RELEVANCE
CONTEXT = GroundingContext(sources=(Source(text="Tokyo is big. London is old."),), query="What is Tokyo like?")
BENT = Curve(knots=((0.0, 0.0), (0.5, 0.9), (1.0, 1.0)), method="platt", rows=60, positives=30)


def example(answer="Tokyo is big. London is old.", **changed):
    """A labelled answer to the query above."""
    return Example(
        **{"line": 1, "group": "", "labels": {GROUNDING: True, RELEVANCE: True}, "context": CONTEXT, "answer": answer}
        | changed
    )


async def test_an_answer_has_its_weakest_grounding_and_its_best_relevance():
    """As in a verdict, on the scorer's own scale: the policy's calibration is no part of what one is fitted to."""
    scorer = TableScorer({"big": 0.8, "old": 0.3}, {"big": 0.6, "old": 0.1})
    policy = Policy(calibration=Calibration(scorer="table", grounding=BENT))

    context = GroundingContext(sources=(Source(text="All there is."),), query="What is there?")
    [row] = (await score([example(context=context)], scorer, policy)).rows

    assert row.scores == {GROUNDING: 0.3, RELEVANCE: 0.6}


async def test_only_what_is_labelled_is_asked():
    """A row without a label for relevance costs no pair of relevance, and the other way round."""
    scorer = OverlapScorer()
    await score([example(labels={GROUNDING: True})], scorer, Policy())
    assert {pair.kind for pair in scorer.asked} == {GROUNDING}
    scorer.asked.clear()
    await score([example(labels={RELEVANCE: True})], scorer, Policy())
    assert {pair.kind for pair in scorer.asked} == {RELEVANCE}


async def test_what_the_policy_would_let_by_is_scored_all_the_same():
    """Checks that are off, JSON that passes and answers over the limit are scored too."""
    policy = Policy(
        grounding=Rule(threshold=0.7, action="off"),
        relevance=Rule(threshold=0.5, action="off"),
        on_uninspected={"json": "pass"},
        limits={"answer_chars": 1, "on_exceed": "reject"},
    )
    found = await score([example(), example('{"a": "Tokyo is big"}')], OverlapScorer(), policy)
    assert len(found.rows) == 2


async def test_all_evidence_is_asked():
    """Sentences that would do for a policy do not end the search: a window that says more counts."""
    source = Source(text="Tokyo is big. London is old.")
    scorer = TableScorer({"big. London": 0.97, "big": 0.93})
    [row] = (
        await score([example("Tokyo is big.", context=GroundingContext(sources=(source,)))], scorer, Policy())
    ).rows
    assert row.scores[GROUNDING] == 0.97


async def test_what_came_with_its_scores_is_not_scored():
    """Its scores stand as they are."""
    scorer = OverlapScorer()
    [row] = (await score([example("", scores={GROUNDING: 0.4})], scorer, Policy())).rows
    assert (row.scores, scorer.asked) == ({GROUNDING: 0.4}, [])


async def test_what_asserts_nothing_or_cannot_be_scored_is_counted():
    """Neither has a score; the others have theirs, and every row is a step."""
    steps = []
    scorer = FailingScorer(ScoringError("no"), "London")
    rows = [example("Tokyo is big."), example("Hello!"), example("London is old.", line=7)]

    found = await score(rows, scorer, Policy(), lambda: steps.append(1))

    assert [row.example for row in found.rows] == rows[:1]
    assert (found.silent, found.failed, len(steps)) == (1, ("line 7: error",), 3)
