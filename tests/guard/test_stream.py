"""Following: what leaves while the model writes, in which order, and that nobody is left running or waiting."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import pytest
from scorers import FailingScorer, OverlapScorer, SlowScorer, TableScorer

from proxy.grounding.errors import ScoringError, UpstreamError
from proxy.grounding.types import CheckKind, GroundingContext, Outcome, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.guard.exchange import Meter
from proxy.guard.stream import CLAIMS_AHEAD, PIECES_AHEAD, Finished, Following, Piece, Refused, Released
from proxy.policy.model import Policy

CONTEXT = GroundingContext(sources=(Source(text="The plan covers fire. It covers theft."),), query="What is covered?")
FIRE, THEFT, FLOODS = "The plan covers fire. ", "The plan covers theft. ", "The plan covers floods. "
MORE = "X" * 24  # enough to know that the sentence before is over
FLAG = {"grounding": {"action": "flag"}, "relevance": {"action": "flag"}}
IDLE = 60


class HandScorer(OverlapScorer):
    """Waits for the test to say what the score of each claim is. ``asked`` are the pairs that wait or were scored."""

    name = "by hand"

    def __init__(self):
        super().__init__()
        self.table, self.changed = {}, asyncio.Condition()

    async def score(self, pairs):
        """Wait until there is an entry for each hypothesis."""
        self.asked += pairs
        async with self.changed:
            await self.changed.wait_for(lambda: all(self.entry(pair) is not None for pair in pairs))
        return [self.judge(pair) for pair in pairs]

    def entry(self, pair):
        """What the test said of a claim: support and relevance, or an error."""
        return next((said for text, said in self.table.items() if text in pair.hypothesis), None)

    def judge(self, pair):
        """Look the pair up."""
        said = self.entry(pair)
        if isinstance(said, Exception):
            raise said
        return said[pair.kind is CheckKind.RELEVANCE]


class Play:
    """A stream that goes step by step: the model says something, the scorer answers, and ``left`` is what has left.

    ``spelled`` says what the model's choices are at its end, if they are not what its pieces say.
    """

    def __init__(self, scorer, release, expected, spelled=None, **keys):
        self.scorer, self.spelled = scorer, spelled
        self.line, self.taken, self.closed = asyncio.Queue(), 0, False
        self.texts, self.left, self.error, self.meter = {}, [], None, Meter()
        policy = Policy.model_validate(keys)
        self.following = Following(
            Assessor(scorer),
            policy,
            CONTEXT,
            self.meter,
            release=release,
            expected=expected,
            pieces=self.pieces(),
            parts_of=self.parts,
        )

    async def pieces(self):
        """The model."""
        try:
            while (piece := await self.line.get()) is not None:
                self.taken += 1
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.closed = True

    def parts(self):
        """The model's choices, whole."""
        if self.spelled is not None:
            return self.spelled
        return [AnswerPart(index=index, text=text) for index, text in self.texts.items()]

    async def run(self):
        """Take every step."""
        try:
            async for step in self.following.steps():
                self.left.append(step)
        except Exception as error:  # noqa: BLE001 - shown to the test
            self.error = error

    async def idle(self):
        """Let everything happen that can."""
        for _ in range(IDLE):
            await asyncio.sleep(0)

    async def over(self):
        """Wait for the end, which takes time."""
        await asyncio.wait_for(asyncio.shield(self.task), 20)

    async def says(self, text="", index=0, item=None, **fields):
        """The model says a piece."""
        if index is not None:
            self.texts[index] = self.texts.get(index, "") + text
        self.line.put_nowait(Piece(index=index, item=item or text, text=text, **{"splits": True, **fields}))
        await self.idle()

    async def ends(self):
        """The model has ended."""
        self.line.put_nowait(None)
        await self.idle()

    async def scores(self, text, support=1.0, relevance=1.0):
        """The scorer answers for a claim; ``support`` may be an error."""
        async with self.scorer.changed:
            self.scorer.table[text] = support if isinstance(support, Exception) else (support, relevance)
            self.scorer.changed.notify_all()
        await self.idle()

    def said(self, index=0):
        """The text of a choice that has left."""
        steps = [step for step in self.left if isinstance(step, Released) and step.piece.index == index]
        return "".join(step.piece.text[step.start : step.end] for step in steps)

    @property
    def items(self):
        """The pieces that have left, in order."""
        return [step.piece.item for step in self.left if isinstance(step, Released)]

    @property
    def refused(self):
        """The choices that were refused, and whether something of them had left."""
        return [(step.index, step.begun) for step in self.left if isinstance(step, Refused)]

    @property
    def end(self):
        """The last step, if it is the end."""
        return self.left[-1] if self.left and isinstance(self.left[-1], Finished) else None

    @property
    def outcomes(self):
        """The outcomes of all choices."""
        return [verdict.outcome.value for verdict in self.end.verdicts]


@asynccontextmanager
async def play(scorer=None, release="sentence", expected=1, **keys):
    """A stream being followed; afterwards nothing of it runs."""
    before = asyncio.all_tasks()
    playing = Play(scorer or HandScorer(), release, expected, **keys)
    playing.task = task = asyncio.create_task(playing.run())
    try:
        await playing.idle()
        yield playing
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert asyncio.all_tasks() == before
    assert playing.closed or not playing.taken


# --- claim by claim -----------------------------------------------------------------------------------------------


async def test_a_sentence_leaves_while_the_model_writes():
    """Text leaves as its claims pass, in order and before the model has ended; the rest at the end."""
    async with play() as on:
        await on.says(item="role")
        await on.says(FIRE)
        await on.says(THEFT + FLOODS)
        assert on.items == []
        await on.scores("theft")
        assert on.items == []
        await on.scores("fire")
        assert on.said() == (FIRE + THEFT).strip()
        assert on.items[:2] == ["role", FIRE]
        await on.says(item="finish", last=True)
        await on.ends()
        assert on.items[-1] != "finish"
        await on.scores("floods")
        assert on.said() == FIRE + THEFT + FLOODS
        assert (on.items[-1], on.outcomes, on.end.cut) == ("finish", ["passed"], False)
        assert on.end.parts == (AnswerPart(text=FIRE + THEFT + FLOODS),)


async def test_a_bad_claim_stops_the_stream_and_the_model():
    """After a claim that blocks nothing more leaves, the model is closed, and the verdict tells what was scored."""
    async with play() as on:
        await on.says(FIRE + THEFT + FLOODS)
        await on.scores("fire")
        await on.scores("theft", 0.1)
        assert (on.said(), on.refused, on.closed) == (FIRE.strip(), [(0, True)], True)
        assert (on.outcomes, on.end.cut, on.end.parts[0].text) == (["blocked"], True, FIRE + THEFT + FLOODS)
        assert on.end.verdicts[0].reasons == ("grounding",)


async def test_a_first_bad_claim_is_refused_before_anything_left():
    """Then the choice has not begun."""
    async with play() as on:
        await on.says(item="role")
        await on.says(FIRE + THEFT + FLOODS)
        await on.scores("fire", 0.1)
        assert (on.items, on.refused, on.outcomes) == ([], [(0, False)], ["blocked"])


async def test_nothing_leaves_before_relevance_is_reached():
    """Claims that are supported wait until one of them answers the query; if none does, the answer is blocked."""
    async with play() as on:
        await on.says(FIRE + THEFT + FLOODS)
        await on.scores("fire", relevance=0.1)
        assert on.items == []
        await on.scores("theft")
        assert on.said() == (FIRE + THEFT).strip()
    async with play() as on:
        await on.says(FIRE + THEFT)
        await on.scores("plan", relevance=0.1)
        await on.ends()
        assert (on.items, on.refused, on.end.verdicts[0].reasons) == ([], [(0, False)], ("relevance",))
        assert not on.end.cut


@pytest.mark.parametrize(("said", "text", "outcome"), [("block", FIRE, "blocked"), ("pass", FIRE + THEFT, "unscored")])
async def test_a_claim_that_cannot_be_scored_follows_the_policy(said, text, outcome):
    """It blocks, or its text leaves unscored."""
    async with play(on_scorer_error=said) as on:
        await on.says(FIRE + THEFT)
        await on.says(MORE)
        await on.scores("fire")
        await on.scores("theft", ScoringError("broken"))
        assert on.said() == text.strip()
        await on.scores("XX")
        await on.ends()
        assert on.outcomes == [outcome]


async def test_a_late_claim_is_a_failed_one():
    """Each claim has the policy's time, though the model has not ended."""
    async with play(SlowScorer(60, "theft"), timeout_ms=30) as on:
        await on.says(FIRE + THEFT + FLOODS)
        await on.over()
        assert (on.said(), on.refused, on.end.verdicts[0].reasons) == (FIRE.strip(), [(0, True)], ("scorer_error",))


async def test_a_piece_that_does_not_split_waits_for_all_of_its_text():
    """One with log-probabilities, say, leaves whole or not at all."""
    async with play() as on:
        await on.says(FIRE + THEFT + FLOODS, splits=False)
        await on.scores("fire")
        await on.scores("theft")
        assert on.items == []
        await on.says(MORE)
        await on.scores("floods")
        assert [(step.start, step.end, step.whole) for step in on.left] == []
        await on.ends()
        await on.scores("XX")
        assert [step.whole for step in on.left[:2]] == [True, True]


async def test_a_piece_that_splits_leaves_part_by_part():
    """Its parts tile it, and what carries no text keeps its place among them."""
    text = FIRE + THEFT + FLOODS
    async with play() as on:
        await on.says(text)
        await on.says(item="empty")
        await on.scores("fire")
        await on.scores("theft")
        assert [(step.start, step.end) for step in on.left] == [(0, 21), (21, 44)]
        await on.ends()
        await on.scores("floods")
        assert [(step.start, step.end) for step in on.left[:-1]] == [(0, 21), (21, 44), (44, len(text)), (0, 0)]
        assert not on.left[2].whole


@pytest.mark.parametrize("release", ["sentence", "buffer", "after"])
async def test_an_answer_of_greetings_leaves_at_its_end(release):
    """What asserts nothing does not open the gate; it is decided at the end, without the scorer."""
    async with play(release=release) as on:
        await on.says("Hello! " * 9)
        assert on.said() == ("Hello! " * 9 if release == "after" else "")
        await on.ends()
        assert (on.said(), on.outcomes, on.scorer.asked) == ("Hello! " * 9, ["passed"], [])


async def test_an_empty_answer_passes():
    """A role, a finish, and no text."""
    async with play() as on:
        await on.says(item="role")
        await on.says(item="finish", last=True)
        assert on.items == []
        await on.ends()
        assert (on.items, on.outcomes) == (["role", "finish"], ["passed"])


# --- the other ways -----------------------------------------------------------------------------------------------


async def test_buffered_nothing_leaves_before_the_verdict():
    """Under buffer claims are scored as they close, and all leaves at the end."""
    async with play(release="buffer") as on:
        await on.says(FIRE + THEFT + FLOODS)
        await on.scores("plan")
        assert (on.items, len(on.scorer.asked) > 0) == ([], True)
        await on.says(item="finish", last=True)
        await on.ends()
        assert (on.said(), on.items[-1], on.outcomes) == (FIRE + THEFT + FLOODS, "finish", ["passed"])


async def test_after_text_leaves_at_once_and_a_bad_claim_stops_it():
    """Under after the caller sees what is not judged yet, and no more once a claim blocks."""
    async with play(release="after") as on:
        await on.says(item="role")
        assert on.items == []
        await on.says(FIRE[:5])
        assert on.said() == FIRE[:5]
        await on.says(FIRE[5:] + THEFT)
        await on.says(MORE)
        await on.says(item="finish", last=True)
        assert (on.said(), on.items[-1]) == (FIRE + THEFT + MORE, MORE)
        await on.scores("theft", 0.1)
        await on.scores("fire")
        assert (on.refused, on.closed, on.outcomes) == ([(0, True)], True, ["blocked"])


@pytest.mark.parametrize("release", ["sentence", "buffer", "after"])
async def test_where_nothing_blocks_nothing_waits(release):
    """Under flags every piece leaves as it comes, the finish too; only the verdict waits for the scorer."""
    async with play(release=release, **FLAG) as on:
        await on.says(item="role")
        await on.says(FIRE + THEFT)
        await on.says(item="finish", last=True)
        await on.ends()
        assert (on.items, on.end) == (["role", FIRE + THEFT, "finish"], None)
        await on.scores("fire", 0.1)
        await on.scores("theft", 0.1)
        assert on.outcomes == ["flagged"]


async def test_a_long_piece_does_not_stall_the_others():
    """However much comes at once, it is read a little at a time: others have their turns in between."""
    turns, over = [], False

    async def others():
        while not over:
            begin = time.thread_time()
            await asyncio.sleep(0)
            turns.append(time.thread_time() - begin)

    async with play(TableScorer({"volcano": 0.1})) as on:
        task = asyncio.create_task(others())
        await on.says("It covers fire. " * 4000 + "It covers volcanos. " + "It covers theft. " * 50)
        await on.ends()
        await on.over()
        over = True
        await task
        assert (on.outcomes, on.said().count("fire")) == (["blocked"], 4000)
    # Of this thread's own time. At once it would be a second; the garbage collector may cost a turn or two.
    assert (sorted(turns)[-3] < 0.05, max(turns) < 0.3) == (True, True)


@pytest.mark.parametrize("release", ["sentence", "after"])
async def test_a_long_piece_leaves_as_one_where_nothing_blocks(release):
    """Reading it in parts does not cut it."""
    async with play(TableScorer({}), release, **FLAG) as on:
        await on.says("It covers fire. " * 200, splits=False)
        await on.says(item="finish", last=True)
        await on.ends()
        await on.over()
        assert on.items == ["It covers fire. " * 200, "finish"]


# --- what must be judged whole ------------------------------------------------------------------------------------


async def test_what_is_held_is_scored_once():
    """It is judged claim by claim while it waits, and no claim is asked about again at the end."""
    scorer = TableScorer({})
    part = AnswerPart(text=FIRE + THEFT + FLOODS, carries=frozenset({"tool_calls"}))
    async with play(scorer, spelled=[part]) as on:
        await on.says(FIRE + THEFT)
        await on.says(item="call", hold=True)
        await on.says(FLOODS)
        await on.ends()
        assert (on.outcomes, on.end.verdicts[0].bypasses) == (["passed"], ("tool_calls",))
        assert on.end.verdicts[0].score(CheckKind.RELEVANCE) is None
    asked = [(pair.kind, pair.premise, pair.hypothesis) for pair in scorer.asked]
    assert len(asked) == len(set(asked)) > 0


async def test_what_is_held_is_stopped_early_too():
    """A bad claim needs no end to be bad."""
    async with play(TableScorer({"theft": 0.1})) as on:
        await on.says(FIRE)
        await on.says(item="call", hold=True)
        await on.says(THEFT + FLOODS)
        assert (on.outcomes, on.closed, "call" in on.items) == (["blocked"], True, False)


@pytest.mark.parametrize(
    ("abstention", "support", "outcome"),
    [("pass", 1.0, "passed"), ("block", 1.0, "blocked"), ("score", 1.0, "passed"), ("score", 0.1, "blocked")],
)
async def test_a_refusal_is_an_abstention(abstention, support, outcome):
    """What the provider marked as a refusal, in the last piece or before it."""
    part = AnswerPart(refusal="I cannot help with that.")
    async with play(TableScorer({"cannot": support}), spelled=[part], abstention=abstention) as on:
        await on.says(item="refusal", last=True)
        await on.ends()
        assert on.outcomes == [outcome]


@pytest.mark.parametrize(
    ("text", "gap"), [(FIRE.strip(), "\n\n"), (FIRE + "\n", "\n"), (FIRE + "\n\n", ""), (FIRE, "\n\n"), ("", "")]
)
async def test_a_message_after_text_is_told_what_keeps_it_apart(text, gap):
    """A blank line, or what is missing of one; nothing where no text has left."""
    async with play(TableScorer({"theft": 0.1}), "after") as on:
        await on.says(item="role")
        await on.says(text or "", item="text")
        await on.says(item="wait")
        await on.says(THEFT + MORE, splits=False, hold=True)
        assert on.outcomes == ["blocked"]
        assert [step.gap for step in on.left if isinstance(step, Refused)] == [gap]


async def test_a_held_piece_waits_for_the_whole_answer():
    """What has passed before it has left; it and all after it wait for a verdict on the whole."""
    async with play() as on:
        await on.says(FIRE + THEFT)
        await on.says(MORE)
        await on.scores("fire")
        await on.says(item="call", hold=True)
        await on.says(FLOODS)
        await on.scores("theft")
        await on.scores("XX")
        await on.scores("floods")
        assert on.said() == FIRE.strip()
        await on.ends()
        assert on.items[-2:] == ["call", FLOODS]
        assert on.outcomes == ["passed"]


async def test_the_last_piece_holds_back_itself_and_no_other():
    """What stands before it leaves when it may."""
    async with play() as on:
        await on.says(FIRE + THEFT + MORE)
        await on.says(item="finish", last=True, hold=True)
        await on.scores("fire")
        assert on.said() == FIRE.strip()
        for each in ("theft", "XX"):
            await on.scores(each)
        assert "finish" not in on.items
        await on.ends()
        assert (on.items[-1], on.outcomes) == ("finish", ["passed"])


async def test_the_last_piece_waits_where_no_score_blocks():
    """All else leaves at once."""
    part = AnswerPart(text=FIRE, carries=frozenset({"default"}))
    async with play(spelled=[part], grounding={"action": "flag"}, relevance={"action": "off"}) as on:
        await on.says(FIRE)
        await on.says(item="finish", last=True, hold=True)
        assert on.items == [FIRE]
        await on.ends()
        assert (on.items, on.outcomes) == ([FIRE], ["blocked"])


@pytest.mark.parametrize("index", [0, None])
async def test_what_is_held_waits_even_where_text_does_not(index):
    """Under after too, whether it is of the choice or beside it."""
    async with play(release="after") as on:
        await on.says(FIRE)
        await on.says(index=index, item="odd", hold=True)
        assert on.items == [FIRE]
        await on.ends()
        await on.scores("fire")
        assert on.items == [FIRE, "odd"]


async def test_what_the_whole_shows_counts():
    """At the end the surface says what the choice carries besides; what may not leave unseen blocks then."""
    for carries, outcome in (("default", "blocked"), ("tool_calls", "passed")):
        part = AnswerPart(text=FIRE, carries=frozenset({carries}))
        async with play(TableScorer({}), spelled=[part]) as on:
            await on.says(FIRE)
            await on.ends()
            assert on.outcomes == [outcome]
            assert on.end.verdicts[0].bypasses == (("tool_calls",) if outcome == "passed" else ())


async def test_a_choice_that_is_spelled_otherwise_is_judged_as_it_is_spelled():
    """When the pieces do not add up to the choice, the choice is judged and not the pieces."""
    async with play(TableScorer({"floods": 0.1}), spelled=[AnswerPart(text=FIRE + FLOODS)]) as on:
        await on.says(FIRE)
        await on.ends()
        assert (on.said(), on.outcomes) == ("", ["blocked"])


@pytest.mark.parametrize(("json", "outcome"), [("pass", "unchecked"), ("block", "blocked"), ("score", "passed")])
async def test_json_waits_where_it_is_not_scored(json, outcome):
    """What may turn out to be JSON is held where JSON is not scored as text."""
    async with play(TableScorer({}), on_uninspected={"json": json}) as on:
        for piece in (" ", "\n[", '"The plan covers fire and theft.", ', '"The plan covers fire and theft.", ' * 20):
            await on.says(piece)
        assert (on.items != []) == (json == "score")
        await on.says('"It is so."]')
        await on.ends()
        assert on.outcomes == [outcome]


async def test_what_only_looks_like_json_is_judged_as_text():
    """A bracket opens a remark as well as JSON."""
    async with play(TableScorer({"floods": 0.1}), on_uninspected={"json": "pass"}) as on:
        await on.says("[The plan covers fire.] The plan covers floods.")
        await on.ends()
        assert on.outcomes == ["blocked"]


async def test_an_answer_over_its_limit_is_stopped():
    """Where longer answers are refused, one is as soon as it is longer."""
    async with play(TableScorer({}), limits={"answer_chars": 60, "on_exceed": "reject"}) as on:
        await on.says(FIRE + THEFT)
        assert on.end is None
        await on.says(FLOODS)
        assert (on.outcomes, on.end.verdicts[0].reasons, on.closed) == (["blocked"], ("uninspected",), True)


# --- several choices ----------------------------------------------------------------------------------------------


async def test_each_choice_has_its_own_gate():
    """Choices that come interleaved leave each as its own claims pass, in the order in which they came."""
    async with play(expected=2) as on:
        await on.says("The plan covers fire. ", index=1)
        await on.says("The plan covers theft. ", index=0)
        await on.says(MORE, index=0)
        await on.says(MORE, index=1)
        await on.scores("theft")
        assert (on.said(0), on.said(1)) == (THEFT.strip(), "")
        await on.scores("fire")
        assert (on.said(0), on.said(1)) == (THEFT.strip(), FIRE.strip())
        await on.scores("XX")
        await on.ends()
        assert (on.said(0), on.said(1), on.outcomes) == (THEFT + MORE, FIRE + MORE, ["passed", "passed"])
        assert [part.index for part in on.end.parts] == [0, 1]


async def test_one_blocked_choice_stops_no_other():
    """It is refused, what still comes of it is dropped, and the model goes on for the others."""
    async with play(expected=2) as on:
        await on.says(FIRE + MORE, index=0)
        await on.says(THEFT + MORE, index=1)
        await on.scores("fire", 0.1)
        assert (on.refused, on.closed) == ([(0, False)], False)
        await on.says(FLOODS + MORE, index=0)
        await on.says(item="finish", index=0, last=True)
        await on.says(index=None, item="usage")
        await on.scores("theft")
        await on.scores("XX")
        await on.says(item="finish", index=1, last=True)
        await on.ends()
        assert (on.said(0), on.said(1), on.outcomes) == ("", THEFT + MORE, ["blocked", "passed"])
        assert (on.items.count("finish"), on.end.cut) == (1, False)
        assert (on.refused, on.items[-2:]) == ([(0, False)], ["usage", "finish"])
        assert not any("floods" in pair.hypothesis for pair in on.scorer.asked)


async def test_the_model_is_cut_when_every_choice_that_was_asked_for_is_blocked():
    """One blocked choice of two does not say that the other, which has not begun, is bad too."""
    async with play(expected=2) as on:
        await on.says(FIRE + MORE, index=0)
        await on.scores("fire", 0.1)
        assert (on.closed, on.end) == (False, None)
        await on.says(THEFT + MORE, index=1)
        await on.scores("theft", 0.1)
        assert (on.closed, on.refused, on.outcomes) == (True, [(0, False), (1, False)], ["blocked", "blocked"])


async def test_buffered_choices_leave_together():
    """Under buffer a choice that is decided waits for the others, and so does its refusal."""
    async with play(release="buffer", expected=3) as on:
        await on.says(FIRE + MORE, index=0)
        await on.says(THEFT, index=2)
        await on.says(FLOODS, index=1)
        await on.says(THEFT, index=2)
        await on.scores("fire", 0.1)
        assert on.left == []
        await on.ends()
        await on.scores("theft")
        await on.scores("floods")
        assert (on.said(0), on.items, on.refused) == ("", [THEFT, FLOODS, THEFT], [(0, False)])


async def test_what_speaks_of_no_choice_keeps_its_place():
    """It leaves after what came before it, never first, and where it must be judged whole at the end."""
    async with play() as on:
        await on.says(index=None, item="filters")
        await on.says(FIRE)
        await on.says(index=None, item="usage")
        await on.says(MORE)
        assert on.items == []
        await on.scores("fire")
        assert on.items == ["filters", FIRE]
        await on.says(index=None, item="odd", hold=True)
        await on.scores("XX")
        await on.ends()
        assert on.items == ["filters", FIRE, FIRE, "usage", MORE, "odd"]


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [UpstreamError("down"), ValueError("bug")])
async def test_what_the_model_raises_comes_out(error):
    """After what had passed has left; what had not passed never does."""
    async with play() as on:
        await on.says(FIRE + THEFT)
        await on.says(MORE)
        await on.scores("fire")
        on.line.put_nowait(error)
        await on.idle()
        assert (on.error, on.said(), on.end) == (error, FIRE.strip(), None)


async def test_what_is_wrong_with_the_choices_comes_out():
    """As when the stream held none, or broke off."""
    error = UpstreamError("broke off")

    class Broken(list):
        def __iter__(self):
            raise error

    async with play(spelled=Broken()) as on:
        await on.says("Hello!")
        await on.ends()
        assert (on.error, on.items) == (error, [])


@pytest.mark.parametrize("hold", [False, True])
async def test_a_bug_in_the_scorer_ends_the_stream(hold):
    """What is no failure to score comes out as it is; the stream does not wait for a score that never comes."""
    async with play(FailingScorer(ValueError("bug"), "theft")) as on:
        await on.says(FIRE + THEFT + FLOODS, hold=hold)
        await on.ends()
        assert on.error is not None


@pytest.mark.parametrize(("keys", "outcome"), [({}, "blocked"), ({"on_scorer_error": "pass"}, "unscored")])
async def test_a_scorer_that_fails_before_the_first_claim_follows_the_policy(keys, outcome):
    """Failing to prepare is failing to score: everything waits for the end, and the policy says what follows."""

    class Unready(OverlapScorer):
        def token_spans(self, text):
            raise ScoringError(text[:0])

    async with play(Unready(), **keys) as on:
        await on.says(FIRE + THEFT + FLOODS)
        assert on.items == []
        await on.ends()
        assert (on.outcomes, on.said() != "") == ([outcome], outcome == "unscored")


# --- nobody is left running or waiting ----------------------------------------------------------------------------


async def test_who_leaves_closes_the_model_and_the_scorer():
    """When the steps are not taken any further, neither the model nor the scorer goes on."""
    scorer = SlowScorer(60)
    async with play(scorer) as on:
        await on.says(FIRE + THEFT + FLOODS)
        assert (scorer.running > 0, on.closed) == (True, False)
    assert (scorer.running, on.closed) == (0, True)


async def test_a_stalled_caller_stops_the_reading_of_the_model():
    """While nobody takes what may leave, only so many pieces are read ahead; taken, the rest follows."""
    on = Play(TableScorer({}), "after", 1, **FLAG)
    steps = on.following.steps()
    for _ in range(PIECES_AHEAD * 2):
        on.line.put_nowait(Piece(index=0, item="x", text="x"))
    on.line.put_nowait(None)
    on.texts[0] = "x" * PIECES_AHEAD * 2
    await anext(steps)
    for _ in range(20):
        await on.idle()
    assert PIECES_AHEAD <= on.taken <= PIECES_AHEAD + 2
    left = [step async for step in steps]
    assert (on.taken, len(left)) == (PIECES_AHEAD * 2, PIECES_AHEAD * 2)


async def test_who_leaves_between_two_pieces_closes_the_model():
    """Also while the model is not being waited for."""
    on = Play(TableScorer({}), "after", 1, **FLAG)
    steps = on.following.steps()
    for _ in range(PIECES_AHEAD * 2):
        on.line.put_nowait(Piece(index=0, item="x", text="x"))
    await anext(steps)
    await on.idle()
    await steps.aclose()
    assert on.closed


async def test_scoring_has_a_limit_from_the_end_of_the_answer(monkeypatch):
    """However much each claim may take, all of them together may take no more once the model has ended."""
    monkeypatch.setattr("proxy.guard.assess.REQUEST_SECONDS", 0.05)
    async with play(SlowScorer(60), timeout_ms=60_000) as on:
        await on.says(FIRE)
        await on.ends()
        await on.over()
        assert on.end.verdicts[0].reasons == ("scorer_error",)


async def test_a_stalled_scorer_stops_the_reading_of_the_model():
    """While so many claims wait for the scorer the model is not read on; once it answers, the rest follows."""
    async with play() as on:
        for number in range(CLAIMS_AHEAD * 2):
            await on.says(f"The plan covers peril number {number} too. ")
        await on.ends()
        assert CLAIMS_AHEAD <= on.taken <= CLAIMS_AHEAD + 2
        await on.scores("peril")
        for _ in range(200):
            await on.idle()
        assert (on.outcomes, on.taken) == (["passed"], CLAIMS_AHEAD * 2)


async def test_the_time_of_scoring_is_told():
    """Scoring takes as long as claims wait for the scorer, and none where nothing was asked of it."""
    async with play(SlowScorer(0.02)) as on:
        await on.says(FIRE)
        await on.ends()
        await on.over()
        assert on.outcomes == ["passed"]
        assert on.meter.scoring >= 0.019
    async with play() as on:
        await on.says("Hello!")
        await on.ends()
        assert (on.outcomes, on.meter.scoring) == (["passed"], None)


# --- the same as the whole answer ---------------------------------------------------------------------------------

WORDS = ["fire", "theft", "floods", "storms", "quakes"]


@pytest.mark.parametrize("release", ["sentence", "buffer", "after"])
@pytest.mark.parametrize("bad", [None, 0, 3, 4])
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_streams_outcome_is_the_whole_answers(release, bad, size):
    """However the model cuts its answer and whatever leaves when, the outcome is that of the answer judged whole."""
    text = " ".join(f"The plan covers {word}." for word in WORDS)
    scorer = TableScorer({} if bad is None else {WORDS[bad]: 0.1})
    assessor = Assessor(scorer)
    preparing = asyncio.create_task(assessor.prepare(CONTEXT))
    whole = await assessor.judge(AnswerPart(text=text), preparing, Policy())
    async with play(scorer, release) as on:
        for start in range(0, len(text), size):
            if not on.closed:
                await on.says(text[start : start + size])
        await on.ends()
        assert on.outcomes == [whole.outcome] == [Outcome.PASSED if bad is None else Outcome.BLOCKED]
        assert bad is None or WORDS[bad] not in on.said() or release == "after"
        assert bad is not None or (on.said(), on.end.verdicts[0]) == (text, whole)
