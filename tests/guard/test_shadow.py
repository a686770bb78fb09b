"""Shadows: a second policy judges the same answers, costs what is new, and changes nothing."""

from __future__ import annotations

import asyncio

import pytest
from scorers import FullScorer, OverlapScorer, SlowScorer, TableScorer

from proxy.grounding.types import CheckKind, GroundingContext, Outcome, Pair, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.guard.caching import CachingScorer
from proxy.guard.exchange import Meter, exchange
from proxy.guard.shadow import MOST_WAITING, Exchange, Shadows
from proxy.policy.model import Policy

CONTEXT = GroundingContext(sources=(Source(text="The plan covers fire. It covers theft."),), query="What is covered?")
ANSWER = "The plan covers fire. The plan covers floods."
SCORES = {"floods": 0.6, "fire": 0.95}


async def shadowed(scorer, shadow, *, policy=None, context=CONTEXT, text=ANSWER):
    """An exchange under ``policy``, then judged by ``shadow``: both reports, and what each asked the scorer."""
    policy = Policy.model_validate({"name": "first", "shadow": "second", **(policy or {})})
    told, meter = asyncio.Queue(), Meter()
    shadows = Shadows(told.put_nowait)

    async def ask():
        return [text]

    def parts_of(reply):
        return [AnswerPart(text=reply[0])]

    done = await exchange(Assessor(scorer), policy, context, meter, ask=ask, parts_of=parts_of)
    first = list(scorer.asked)
    shadows.judge(
        Exchange(
            tenant="acme",
            policy=policy,
            outcome=done.verdicts[0].outcome,
            context=context,
            parts=done.parts or meter.unjudged,
            assessor=meter.assessor,
        ),
        Policy.model_validate({"name": "second", **shadow}),
    )
    async with asyncio.timeout(10):
        one = await told.get()
    await shadows.close()
    return done, one, first, scorer.asked[len(first) :]


async def test_another_threshold_costs_nothing():
    """The same scores are compared with the other threshold, and the scorer is asked nothing more."""
    scorer = TableScorer(SCORES)
    done, told, first, then = await shadowed(scorer, {"grounding": {"threshold": 0.5}})

    assert done.verdicts[0].outcome is Outcome.BLOCKED
    assert (told.outcome, told.shadow_outcome, told.grounding) == ("blocked", "passed", 0.6)
    assert (told.tenant, told.policy, told.shadow) == ("acme", "first", "second")
    assert first
    assert then == []


async def test_only_what_is_new_is_scored():
    """A shadow that judges relevance too asks for relevance alone."""
    scorer = TableScorer(SCORES)
    _, told, _, then = await shadowed(
        scorer, {"grounding": {"action": "flag"}}, policy={"relevance": {"action": "off"}}
    )

    assert told.shadow_outcome == "flagged"
    assert {pair.kind for pair in then} == {CheckKind.RELEVANCE}


async def test_a_shadow_judges_where_the_policy_does_not():
    """A policy that is off yet can have one: the guard is tried before anybody is under it."""
    off = {"grounding": {"action": "off"}, "relevance": {"action": "off"}}
    done, told, first, _ = await shadowed(TableScorer(SCORES), {}, policy=off)

    assert (done.reply, done.verdicts[0].outcome, first) == ([ANSWER], Outcome.UNCHECKED, [])
    assert (told.outcome, told.shadow_outcome, told.grounding) == ("unchecked", "blocked", 0.6)


@pytest.mark.parametrize(
    ("shadow", "context", "outcome"),
    [
        ({"on_missing_context": "block"}, GroundingContext(), "blocked"),
        ({}, GroundingContext(), "unchecked"),
        ({"limits": {"source_chars": 5, "on_exceed": "reject"}}, CONTEXT, "error"),
        ({"limits": {"answer_chars": 5, "on_exceed": "reject"}}, CONTEXT, "blocked"),
        ({"grounding": {"action": "redact"}}, CONTEXT, "redacted"),
    ],
)
async def test_everything_of_the_other_policy_counts(shadow, context, outcome):
    """Missing sources, limits and actions are the second policy's own."""
    assert (await shadowed(TableScorer(SCORES), shadow, context=context))[1].shadow_outcome == outcome


async def test_a_shadow_gives_way():
    """A scorer that is full, or many that wait, are counted as skipped, and nothing is scored."""
    told, scorer = [], SlowScorer(5)
    policy = Policy(name="first")
    done = Exchange(
        tenant="acme",
        policy=policy,
        outcome=Outcome.PASSED,
        context=CONTEXT,
        parts=(AnswerPart(text=ANSWER),),
        assessor=Assessor(FullScorer()),
    )
    shadows = Shadows(told.append)
    shadows.judge(done, Policy(name="second"))
    await asyncio.sleep(0.05)
    assert [each.shadow_outcome for each in told] == ["skipped"]

    waiting = Exchange(
        tenant="acme",
        policy=policy,
        outcome=Outcome.PASSED,
        context=CONTEXT,
        parts=done.parts,
        assessor=Assessor(scorer),
    )
    for _ in range(MOST_WAITING + 2):
        shadows.judge(waiting, Policy(name="second"))
    assert [each.shadow_outcome for each in told] == ["skipped"] * 3
    await shadows.close()
    assert len(told) == 3


async def test_a_shadow_that_breaks_is_counted_too(monkeypatch):
    """Each exchange is heard of once, whatever goes wrong."""
    told = []
    assessor = Assessor(OverlapScorer())
    monkeypatch.setattr(assessor, "admit", lambda: 1 / 0)
    done = Exchange(
        tenant="acme",
        policy=Policy(name="first"),
        outcome=Outcome.PASSED,
        context=CONTEXT,
        parts=(AnswerPart(text=ANSWER),),
        assessor=assessor,
    )
    shadows = Shadows(told.append)
    shadows.judge(done, Policy(name="second"))
    await asyncio.sleep(0.05)
    await shadows.close()
    assert [(each.outcome, each.shadow_outcome) for each in told] == [("passed", "skipped")]


async def test_a_caching_scorer_asks_once():
    """Pairs that are known, and those given twice, are not asked again; everything else is the scorer's."""
    scorer = OverlapScorer()
    caching = CachingScorer(scorer)
    one, two = (Pair(kind=CheckKind.GROUNDING, premise="a b", hypothesis=text) for text in ("a", "c"))

    assert await caching.score([one, two, one]) == [1.0, 0.0, 1.0]
    assert await caching.score([two, one]) == [0.0, 1.0]
    assert scorer.asked == [one, two]
    assert (caching.name, caching.max_tokens, caching.queue_pairs) == ("overlap", 512, 3)
    assert caching.token_spans("a b") == [(0, 1), (2, 3)]
