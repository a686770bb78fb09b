"""Streams that leave changed: redacted, or after the model was asked again. Nothing leaves before all is judged."""

from __future__ import annotations

import asyncio

import pytest
from scorers import TableScorer

from proxy.grounding.errors import UpstreamError
from proxy.grounding.types import GroundingContext, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.guard.exchange import Meter
from proxy.guard.stream import Finished, Following, Piece, Refused, Released, Telling
from proxy.policy.model import Policy

CONTEXT = GroundingContext(sources=(Source(text="The plan covers fire. It covers theft."),), query="What is covered?")
FIRE, THEFT, FLOODS = "The plan covers fire. ", "The plan covers theft. ", "The plan covers floods. "
SCORES = {"floods": 0.1}
REDACT = {"grounding": {"action": "redact"}, "redacted_message": "[-]"}


class Model:
    """A model that says its next answer each time it is asked, in pieces of ``size`` characters; errors are raised."""

    def __init__(self, *answers, size=7, spelled=None):
        self.answers, self.size, self.spelled = list(answers), size, spelled
        self.named, self.closed = [], 0

    def tell(self):
        """The next answer."""
        answer = self.answers.pop(0)
        return Telling(self._pieces(answer), lambda: [AnswerPart(text=self.spelled or answer)])

    def again(self, said, sentences):
        """Asked once more."""
        self.named.append((said, list(sentences)))
        return self.tell()

    async def _pieces(self, answer):
        try:
            if isinstance(answer, Exception):
                raise answer
            yield Piece(index=0, item="role")
            for at in range(0, len(answer), self.size):
                text = answer[at : at + self.size]
                yield Piece(index=0, item=text, text=text, splits=True)
                await asyncio.sleep(0)
            yield Piece(index=0, item="end", last=True)
            yield Piece(index=None, item="usage")
        finally:
            self.closed += 1


async def followed(model, *, edit=True, release="sentence", **keys):
    """Everything that leaves, in order, and what it cost."""
    meter, told = Meter(), model.tell()
    following = Following(
        Assessor(TableScorer(SCORES)),
        Policy.model_validate(keys),
        CONTEXT,
        meter,
        release=release,
        expected=1,
        pieces=told.pieces,
        parts_of=told.parts_of,
        edit=(lambda item, text: item if item in ("role", "end") else f"<{text}>") if edit else None,
        again=model.again,
    )
    return [step async for step in following.steps()], meter


def said(steps):
    """The text that has left."""
    return "".join(step.piece.text[step.start : step.end] for step in steps if isinstance(step, Released))


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
@pytest.mark.parametrize("release", ["sentence", "buffer", "after"])
async def test_a_stream_leaves_without_what_is_not_supported(size, release):
    """However it is cut and whatever the mode, the text that leaves is the redacted one, in the pieces that came."""
    model = Model(FIRE + FLOODS + THEFT, size=size)
    steps, _ = await followed(model, release=release, **REDACT)

    assert said(steps) == f"{FIRE}[-] {THEFT}"
    items = [step.piece.item for step in steps if isinstance(step, Released)]
    assert (items[0], items[-2:]) == ("role", ["end", "usage"])
    assert "".join(items[1:-2]).replace("<", "").replace(">", "") == f"{FIRE}[-] {THEFT}"
    assert steps[-1].verdicts[0].outcome.value == "redacted"
    assert steps[-1].parts == (AnswerPart(text=FIRE + FLOODS + THEFT),)


async def test_a_supported_stream_leaves_as_it_came():
    """Nothing is edited that need not be."""
    steps, _ = await followed(Model(FIRE + THEFT), **REDACT)

    assert said(steps) == FIRE + THEFT
    assert steps[-1].verdicts[0].outcome.value == "passed"
    assert not any("<" in step.piece.item for step in steps if isinstance(step, Released))


@pytest.mark.parametrize(
    ("model", "edit"),
    [
        (Model(FIRE + FLOODS), False),
        (Model(FIRE + FLOODS, spelled=FIRE + FLOODS + "And more."), True),
        (Model(FLOODS), True),
        (Model('{"a": "The plan covers fire.", "b": "The plan covers floods."}'), True),
    ],
    ids=["no editor", "pieces spell another text", "nothing is left", "json"],
)
async def test_what_cannot_be_redacted_is_refused(model, edit):
    """Where a claim cannot be taken out, all of the answer stays."""
    steps, _ = await followed(model, edit=edit, **REDACT)

    assert said(steps) == ""
    assert [(step.index, step.begun) for step in steps if isinstance(step, Refused)] == [(0, False)]
    assert steps[-1].verdicts[0].outcome.value == "blocked"


async def test_the_model_is_asked_again_before_anything_leaves():
    """The stopped answer is forgotten, the sentence is named, and the new answer is what leaves."""
    model = Model(FIRE + FLOODS + THEFT, FIRE + THEFT)
    steps, meter = await followed(model, retry={"attempts": 2})

    assert (said(steps), meter.retries, model.closed) == (FIRE + THEFT, 1, 2)
    assert not any(isinstance(step, Refused) for step in steps)
    assert steps[-1].verdicts[0].outcome.value == "passed"
    [(before, sentences)] = model.named
    assert (FIRE + FLOODS).strip() in before
    assert sentences == [FLOODS.strip()]


async def test_attempts_are_bounded_in_streams_too():
    """A model that does not learn is refused in the end, once."""
    steps, meter = await followed(Model(*[FIRE + FLOODS] * 4), retry={"attempts": 2})

    assert (said(steps), meter.retries) == ("", 2)
    assert [type(step) for step in steps] == [Refused, Finished]


async def test_a_stream_that_fails_when_asked_again_is_refused():
    """The block is known, and stands."""
    steps, meter = await followed(Model(FIRE + FLOODS, UpstreamError("gone")), retry={"attempts": 2})

    assert (said(steps), meter.retries) == ("", 1)
    assert [type(step) for step in steps] == [Refused, Finished]


async def test_a_stream_that_fails_at_first_still_raises():
    """Only a later failure has a block to fall back to."""
    with pytest.raises(UpstreamError):
        await followed(Model(UpstreamError("gone"), FIRE), retry={"attempts": 2})


async def test_a_redaction_stands_when_asking_again_fails():
    """What would have left redacted still does."""
    steps, _ = await followed(Model(FIRE + FLOODS, UpstreamError("gone")), **REDACT, retry={"attempts": 1})

    assert said(steps) == f"{FIRE}[-] "
