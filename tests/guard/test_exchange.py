"""Exchange: the model is asked once or not at all, each choice gets its verdict, and nothing is left running."""

from __future__ import annotations

import asyncio

import pytest
from scorers import FailingScorer, FullScorer, OverlapScorer, SlowScorer

from proxy.grounding.errors import Overloaded, ScoringError, UpstreamError
from proxy.grounding.types import GroundingContext, Outcome, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.guard.exchange import Exchanged, Meter, assess, exchange
from proxy.policy.model import Policy

CONTEXT = GroundingContext(sources=(Source(text="Tokyo is the capital of Japan."),), query="The capital of Japan is?")
NO_SOURCE = GroundingContext(query="Why?")
GOOD, BAD = "Tokyo is the capital of Japan.", "The fee is waived."
OFF = {"grounding": {"action": "off"}, "relevance": {"action": "off"}}


class Upstream:
    """A model that gives these choices, or raises; ``asked`` counts how often."""

    def __init__(self, *texts, error=None, seconds=0.0):
        self.texts, self.error, self.seconds, self.asked = texts, error, seconds, 0
        self.begun = asyncio.Event()

    async def __call__(self):
        """Answer."""
        self.asked += 1
        self.begun.set()
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return list(self.texts)


def parts_of(reply):
    """The choices of a reply, numbered as a provider might: from the last."""
    return [AnswerPart(index=len(reply) - at, text=text) for at, text in enumerate(reply, 1)]


async def run(upstream, scorer=None, context=CONTEXT, meter=None, **keys):
    """Exchange with this upstream."""
    assessor, policy = Assessor(scorer or OverlapScorer()), Policy.model_validate(keys)
    return await exchange(assessor, policy, context, meter or Meter(), ask=upstream, parts_of=parts_of)


def others():
    """The tasks that run besides the test."""
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_the_reply_comes_back_as_it_was():
    """A supported answer passes, and the very reply is handed on."""
    upstream = Upstream(GOOD)
    done = await run(upstream)
    assert (done.reply, len(done.parts), done.blocked, upstream.asked) == ([GOOD], 1, frozenset(), 1)
    assert [verdict.outcome for verdict in done.verdicts] == [Outcome.PASSED]
    assert others() == set()


async def test_each_choice_is_judged_by_itself():
    """Verdicts are in the order of the choices, and those that block are named by their own index."""
    done = await run(Upstream(GOOD, BAD, GOOD, ""))
    assert [part.index for part in done.parts] == [3, 2, 1, 0]
    assert [verdict.outcome for verdict in done.verdicts] == ["passed", "blocked", "passed", "passed"]
    assert done.blocked == {2}


async def test_a_reply_without_choices_has_no_verdicts():
    """No choice, nothing to judge and nothing blocked."""
    done = await run(Upstream())
    assert (done.parts, done.verdicts, done.blocked) == ((), (), frozenset())


@pytest.mark.parametrize(
    ("keys", "context", "outcome", "asked"),
    [
        (OFF, CONTEXT, "unchecked", 1),
        ({}, NO_SOURCE, "unchecked", 1),
        ({"on_missing_context": "block"}, NO_SOURCE, "blocked", 0),
    ],
)
async def test_what_is_settled_beforehand_needs_no_scorer(keys, context, outcome, asked):
    """With both checks off or no source the model is asked without scoring, or not asked at all."""
    upstream = Upstream(BAD)
    done = await run(upstream, FullScorer(), context, **keys)
    assert ([verdict.outcome for verdict in done.verdicts], done.parts) == ([outcome], ())
    assert (upstream.asked, done.reply, done.parts) == (asked, [BAD] if asked else None, ())
    assert done.blocked == frozenset()


async def test_a_full_scorer_refuses_before_the_model_is_asked():
    """Nobody pays for an answer that could not be judged."""
    upstream = Upstream(GOOD)
    with pytest.raises(Overloaded):
        await run(upstream, FullScorer())
    assert (upstream.asked, others()) == (0, set())


async def test_a_scorer_that_fails_after_the_answer_is_a_verdict():
    """The reply is there and the verdict says that it could not be scored."""
    done = await run(Upstream(GOOD), FailingScorer(ScoringError("broken")))
    assert (done.reply, done.verdicts[0].reasons) == ([GOOD], ("scorer_error",))


@pytest.mark.parametrize("error", [UpstreamError("down"), ValueError("bug")])
async def test_what_the_model_raises_passes_through_and_leaves_nothing(error):
    """The upstream's error comes out as it is, and the preparing has ended."""
    long = GroundingContext(sources=(Source(text="This is it. " * 20_000),))
    with pytest.raises(type(error)) as raised:
        await run(Upstream(error=error), context=long)
    assert (raised.value, others()) == (error, set())


async def test_a_fault_in_preparing_leaves_nothing():
    """When sources cannot be cut, that is a failed score; when the model fails too, the model's error comes out."""
    error = ScoringError("no tokenizer")

    class Broken(OverlapScorer):
        def token_spans(self, text):
            raise error

    assert (await run(Upstream(GOOD), Broken())).verdicts[0].reasons == ("scorer_error",)
    with pytest.raises(UpstreamError):
        await run(Upstream(error=UpstreamError("down")), Broken())
    assert others() == set()


async def test_one_choice_that_cannot_be_judged_stops_the_others():
    """A fault while one choice is judged leaves no other choice being scored."""

    class Faulty(SlowScorer):
        async def score(self, pairs):
            if any("bug" in pair.hypothesis for pair in pairs):
                raise ValueError
            return await super().score(pairs)

    scorer = Faulty(60)
    with pytest.raises(ExceptionGroup):
        await run(Upstream("This is it.", "This is a bug."), scorer)
    assert (scorer.running, others()) == (0, set())


@pytest.mark.parametrize("stage", ["upstream", "scoring"])
async def test_cancellation_stops_every_stage(stage):
    """When the caller leaves, neither the model nor the scorer goes on."""
    upstream = Upstream(GOOD, seconds=60 if stage == "upstream" else 0)
    scorer = SlowScorer(60)
    meter = Meter()
    task = asyncio.create_task(run(upstream, scorer, meter=meter))
    await (upstream if stage == "upstream" else scorer).begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (scorer.running, others()) == (0, set())
    assert getattr(meter, stage) is not None  # the time is told on cancellation too


async def test_sources_are_prepared_while_the_model_writes():
    """Preparing has begun before the model answers."""
    seen = []

    class Noting(OverlapScorer):
        def token_spans(self, text):
            seen.append(text)
            return super().token_spans(text)

    async def ask():
        await asyncio.sleep(0)
        assert seen
        return [GOOD]

    await run(ask, Noting())


async def test_times_are_told_by_stage():
    """The model's time and the scorer's are told apart; a stage that did not happen has none."""
    meter = Meter()
    await run(Upstream(GOOD, seconds=0.02), SlowScorer(0.01), meter=meter)
    assert meter.upstream >= 0.019
    assert meter.scoring >= 0.009
    assert meter.total() >= meter.upstream + meter.scoring
    meter = Meter()
    await run(Upstream(GOOD), context=NO_SOURCE, meter=meter)
    assert (meter.upstream is None, meter.scoring) == (False, None)


def test_a_stage_adds_up_and_counts_failures():
    """A stage entered twice tells both times together, and one that fails is told too."""
    meter = Meter()
    with meter.stage("upstream"):
        pass
    first = meter.upstream
    with pytest.raises(ValueError, match="late"), meter.stage("upstream"):
        raise ValueError("late")  # noqa: EM101 - a test
    assert meter.upstream > first


def test_a_settled_verdict_blocks_no_choice():
    """What stood before any answer names no choices."""
    assert Exchanged(reply=None, parts=(), verdicts=()).blocked == frozenset()


# --- an answer that is already there ------------------------------------------------------------------------------


async def check(text, scorer=None, context=CONTEXT, meter=None, **keys):
    """Assess this answer."""
    assessor, policy = Assessor(scorer or OverlapScorer()), Policy.model_validate(keys)
    return await assess(assessor, policy, context, AnswerPart(text=text), meter or Meter())


async def test_an_answer_is_judged_without_a_model():
    """The same rules hold for an answer that is given."""
    meter = Meter()
    assert (await check(GOOD, meter=meter)).outcome is Outcome.PASSED
    assert (await check(BAD)).blocked
    assert (meter.upstream, meter.scoring is None) == (None, False)


async def test_a_check_is_settled_or_refused_beforehand():
    """No source or no check needs no scorer, and a full one refuses the rest."""
    assert (await check(BAD, FullScorer(), NO_SOURCE)).bypasses == ("no_source",)
    assert (await check(BAD, FullScorer(), **OFF)).bypasses == ("policy_off",)
    assert (await check(BAD, FullScorer(), NO_SOURCE, on_missing_context="block")).reasons == ("missing_context",)
    with pytest.raises(Overloaded):
        await check(GOOD, FullScorer())


async def test_a_check_has_the_requests_time(monkeypatch):
    """A check allows the whole request its time and not each claim the policy's."""
    assert (await check(GOOD, SlowScorer(0.05), timeout_ms=1)).outcome is Outcome.PASSED
    monkeypatch.setattr("proxy.guard.assess.REQUEST_SECONDS", 0.05)
    assert (await check(GOOD, SlowScorer(60), timeout_ms=60_000)).reasons == ("scorer_error",)


class Unready(OverlapScorer):
    """Cannot even cut a text."""

    def token_spans(self, text):
        """Fail."""
        raise ScoringError(text[:0])


@pytest.mark.parametrize(("said", "outcome"), [("block", Outcome.BLOCKED), ("pass", Outcome.UNSCORED)])
async def test_a_scorer_that_fails_before_the_first_claim_follows_the_policy(said, outcome):
    """Failing to prepare is failing to score: a verdict after the model has answered, and no exception."""
    assert (await check(GOOD, Unready(), on_scorer_error=said)).outcome is outcome


class Repeating(Upstream):
    """A model that answers with the next of its ``texts`` each time it is asked; ``named`` is what it was told."""

    def __init__(self, *texts, error=None):
        super().__init__(*texts)
        self.named, self.late_error = [], error

    async def __call__(self):
        """Answer for the first time."""
        self.asked += 1
        return [self.texts[0]]

    async def again(self, reply, sentences):
        """Answer once more."""
        self.asked += 1
        self.named.append((reply, list(sentences)))
        if self.late_error:
            raise self.late_error
        return [self.texts[min(self.asked, len(self.texts)) - 1]]


async def repeated(model, attempts, **keys):
    """Exchange with a model that may be asked again."""
    policy, meter = Policy.model_validate({"retry": {"attempts": attempts}, **keys}), Meter()
    done = await exchange(
        Assessor(OverlapScorer()),
        policy,
        CONTEXT,
        meter,
        ask=model,
        parts_of=parts_of,
        redact=lambda reply, texts: [texts.get(len(reply) - at, text) for at, text in enumerate(reply, 1)],
        again=model.again,
    )
    return done, meter


async def test_a_blocked_answer_is_asked_for_again():
    """The model hears which of its sentences are not supported, and its next answer is the one that counts."""
    model = Repeating(f"{GOOD} {BAD}", GOOD)
    done, meter = await repeated(model, 2)

    assert (done.reply, done.verdicts[0].outcome, model.asked, meter.retries) == ([GOOD], "passed", 2, 1)
    assert model.named == [([f"{GOOD} {BAD}"], [BAD])]


async def test_attempts_are_bounded():
    """A model that does not learn is asked no more often than the policy says."""
    model = Repeating(BAD)
    done, meter = await repeated(model, 3)

    assert (done.verdicts[0].outcome, model.asked, meter.retries) == ("blocked", 4, 3)


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        ([GOOD], {}),
        ([BAD], {"grounding": {"action": "flag"}}),
        (["Hello!"], {}),
        (["Why is the capital of Japan?"], {}),
    ],
)
async def test_what_may_leave_is_not_asked_for_again(texts, keys):
    """Only what grounding would keep back is worth another call."""
    model = Repeating(*texts)
    done, meter = await repeated(model, 2, **keys)

    assert not done.blocked
    assert (model.asked, meter.retries) == (1, 0)


async def test_a_model_that_fails_when_asked_again_leaves_the_block():
    """The caller gets the block, which is known, and no error."""
    model = Repeating(BAD, error=UpstreamError("gone"))
    done, meter = await repeated(model, 2)

    assert (done.verdicts[0].outcome, done.reply, model.asked, meter.retries) == ("blocked", [BAD], 2, 1)


async def test_several_choices_are_not_asked_for_again():
    """The others would change with the blocked one."""
    upstream = Upstream(GOOD, BAD)
    policy = Policy.model_validate({"retry": {"attempts": 2}})

    async def again(reply, sentences):
        raise AssertionError

    done = await exchange(
        Assessor(OverlapScorer()), policy, CONTEXT, Meter(), ask=upstream, parts_of=parts_of, again=again
    )
    assert (upstream.asked, len(done.blocked)) == (1, 1)


REDACT = {"grounding": {"action": "redact"}}


async def test_what_is_not_supported_is_taken_out():
    """The reply that leaves says the rest, with the policy's mark; the verdict says so."""
    done, _ = await repeated(Repeating(f"{GOOD} {BAD}"), 0, **REDACT, redacted_message="[-]")

    assert (done.reply, done.verdicts[0].outcome, done.blocked) == ([f"{GOOD} [-]"], "redacted", frozenset())


async def test_a_redaction_is_tried_to_be_avoided():
    """With retries the model is asked again first, and what is still not supported is taken out."""
    model = Repeating(f"{GOOD} {BAD}", f"{GOOD} {BAD} {GOOD}")
    done, meter = await repeated(model, 1, **REDACT, redacted_message="[-]")

    assert (done.reply, meter.retries) == ([f"{GOOD} [-] {GOOD}"], 1)


@pytest.mark.parametrize("text", [f'{{"a": "{GOOD}", "b": "The fee is waived for all of us."}}', BAD])
async def test_json_and_answers_of_which_nothing_is_left_are_blocked(text):
    """Half a JSON object is none, and a mark alone is no answer."""
    done, _ = await repeated(Repeating(text), 0, **REDACT)

    assert (done.verdicts[0].outcome, done.verdicts[0].removed) == ("blocked", ())


async def test_a_surface_that_cannot_redact_blocks():
    """Nobody who takes a reply as it is gets what should have been taken out of it."""
    done = await run(Upstream(f"{GOOD} {BAD}"), **REDACT)

    assert (done.verdicts[0].outcome, len(done.blocked)) == ("blocked", 1)


async def test_a_bare_answer_can_be_redacted_too():
    """Assessing an answer names what is to be taken out; JSON is blocked."""
    policy = Policy.model_validate(REDACT)
    part = AnswerPart(text=f"{GOOD} {BAD}")
    verdict = await assess(Assessor(OverlapScorer()), policy, CONTEXT, part, Meter())

    assert [claim.text for claim in verdict.removed] == [BAD]
