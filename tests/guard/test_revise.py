"""What a language model says of ungrounded claims: how it is asked, spliced in, and judged before it leaves."""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import (
    Claim,
    ClaimResult,
    Evidence,
    GroundingContext,
    Outcome,
    Rule,
    Source,
    Verdict,
    Window,
)
from proxy.guard import revise
from proxy.guard.revise import Editor, corrected, edited
from proxy.scoring.base import Revision, UnsupportedClaim

RULE = Rule(threshold=0.7)
CONTEXT = GroundingContext.of([Source(text="Jane is a patient."), Source(text="Other.")], "Who?")
ANSWER = "One bad. Two good. Three bad."


def result_of(
    index: int, text: str, support: float | None, failed: str | None = None, answer: str = ANSWER
) -> ClaimResult:
    """A claim's result."""
    start = answer.index(text)
    claim = Claim(index=index, start=start, end=start + len(text), text=text)
    return ClaimResult(claim=claim, support=support, failed=failed)


BAD = [result_of(0, "One bad.", 0.1), result_of(2, "Three bad.", 0.2)]


class Judging:
    """A judge by words: "bad" is ungrounded, "unknown" cannot be scored. ``texts`` are what it was asked about."""

    def __init__(self, *, full: bool = False) -> None:
        self.texts: list[str] = []
        self.full = full

    async def __call__(self, text: str) -> Verdict:
        """The verdict on a text, sentence by sentence."""
        self.texts.append(text)
        if self.full:
            message = "busy"
            raise Overloaded(message)
        parts = [part + "." for part in text.split(".") if part.strip()]
        results = [
            result_of(
                at,
                part.strip(),
                None if "unknown" in part else 0.1 if "bad" in part else 0.9,
                "timeout" if "unknown" in part else None,
                answer=text,
            )
            for at, part in enumerate(parts)
        ]
        return Verdict(outcome=Outcome.PASSED, claims=tuple(results))


def told(first: str | None, second: str | None) -> dict[int, Revision | None]:
    """What was said of the two bad claims."""
    return {at: None if text is None else Revision(rewritten=text) for at, text in ((0, first), (2, second))}


@pytest.mark.parametrize(
    ("first", "second", "expected", "judged"),
    [
        ("One right.", "Three right.", "One right. Two good. Three right.", 1),
        ("One right.", "", "One right. Two good.", 1),
        ("Still bad.", "Three right.", "Two good. Three right.", 2),
        ("Still bad.", "As bad.", "Two good.", 2),
        ("One unknown.", "Three right.", None, 1),
        ("One right.", None, None, 0),
    ],
)
async def test_a_correction_leaves_only_when_all_of_it_is_grounded(
    first: str | None, second: str | None, expected: str | None, judged: int
):
    """Rewritten, or left out; never with a claim that is ungrounded, unscored or not rewritten."""
    judge = Judging()
    assert await corrected(ANSWER, BAD, told(first, second), RULE, judge) == expected
    assert len(judge.texts) == judged


async def test_what_is_ungrounded_even_then_is_no_correction():
    """Where leaving out makes another claim ungrounded, there is no correction: it is judged twice, and no more."""
    seen = []

    async def never(text: str) -> Verdict:
        seen.append(text)
        return Verdict(
            outcome=Outcome.BLOCKED, claims=(result_of(0, text.split(".")[-2].strip() + ".", 0.1, None, text),)
        )

    assert await corrected(ANSWER, BAD, told("a.", "b."), RULE, never) is None
    assert seen == ["a. Two good. b.", "a. Two good."]


async def test_a_full_scorer_and_nothing_left():
    """Both are no correction, and no error."""
    assert await corrected(ANSWER, BAD, told("a.", "b."), RULE, Judging(full=True)) is None
    only = "Only bad."
    assert await corrected(only, [result_of(0, only, 0.1, None, only)], told("", None), RULE, Judging()) is None


@pytest.mark.parametrize(
    ("text", "span", "new", "expected"),
    [
        ("A. B. C.", (3, 5), "X.", "A. X. C."),
        ("A. B. C.", (3, 5), "", "A. C."),
        ("A. B. C.", (6, 8), "", "A. B."),
        ("- A\n- B\n- C", (4, 7), "X", "- A\n- X\n- C"),
        ("- A\n- B\n- C", (4, 7), "", "- A\n- C"),
        ("1. A\n2. B", (0, 4), "", "2. B"),
        ("- A. B.\n", (5, 7), "", "- A."),
        ("A.  \nB.", (0, 2), "", "B."),
        ("A. B.", (3, 5), " X\n Y. ", "A. X Y."),
        (" A. ", (1, 3), "X.", " X. "),
    ],
)
def test_edits(text: str, span: tuple[int, int], new: str, expected: str):
    """A span is replaced and keeps its list item's marker; what is left out leaves no gap, no blank, no marker."""
    assert edited(text, [(*span, new)]) == expected


@given(st.lists(st.tuples(st.sampled_from(["Ab.", "Cd!", "🌞 東京。"]), st.sampled_from(["", "X.", None])), max_size=8))
def test_what_is_not_edited_stays(sentences: list[tuple[str, str | None]]):
    """Untouched sentences stay in their order, replaced ones are gone, and no two words run together."""
    text = " ".join(sentence for sentence, _ in sentences)
    edits, at = [], 0
    for sentence, new in sentences:
        if new is not None:
            edits.append((at, at + len(sentence), new))
        at += len(sentence) + 1
    kept = [sentence if new is None else new for sentence, new in sentences]
    assert edited(text, edits).split() == " ".join(kept).split()


class Scripted:
    """A reviser that notes what it is asked, and answers with the next of ``replies``."""

    model = "judge"

    def __init__(self, *replies: Revision | Exception | float) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, UnsupportedClaim, bool, bool]] = []

    async def revise(self, model: str, doubt: UnsupportedClaim, *, reason: bool, rewrite: bool) -> Revision:
        """Answer, raise, or take so many seconds."""
        self.asked.append((model, doubt, reason, rewrite))
        reply = self.replies.pop(0)
        if isinstance(reply, float):
            await asyncio.sleep(reply)
            return Revision()
        if isinstance(reply, Exception):
            raise reply
        return reply


async def test_a_claim_is_shown_with_its_evidence():
    """Its context, the query, the sources, and the passages that were found for it, each once, best first."""
    window = Window(source=0, start=0, end=18, text="Jane is a patient.")
    evidence = (Evidence(window=window, support=0.3), Evidence(window=window, support=0.2))
    claim = Claim(index=4, start=0, end=7, text="- Kevin", context="The patients:")
    reviser = Scripted(Revision(reason="Why."))
    asked = [ClaimResult(claim=claim, support=0.1, evidence=evidence)]
    said = await Editor(reviser).ask("other", asked, CONTEXT, reason=True, rewrite=False)
    assert said == {4: Revision(reason="Why.")}
    doubt = UnsupportedClaim(
        statement="Kevin",
        context="The patients:",
        query="Who?",
        sources=("Jane is a patient.", "Other."),
        passages=("Jane is a patient.",),
    )
    assert reviser.asked == [("other", doubt, True, False)]


async def test_failures_are_none_and_are_logged(caplog: pytest.LogCaptureFixture):
    """A model that fails or is busy loses one claim's revision, not the others'."""
    failures = (ScoringError("it cannot be used"), Overloaded("it is busy"))
    for failure in failures:
        said = await Editor(Scripted(failure, Revision(reason="b"))).ask(
            "judge", BAD, CONTEXT, reason=True, rewrite=True
        )
        assert said == {0: None, 2: Revision(reason="b")}
        assert failure.message in caplog.text


async def test_a_bug_is_not_hidden():
    """Only what is meant is "no answer"."""
    with pytest.raises(ZeroDivisionError):
        await Editor(Scripted(ZeroDivisionError(), Revision())).ask("judge", BAD, CONTEXT, reason=True, rewrite=True)


async def test_time_ends(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """What has not been answered after the time for all is not waited for; what has, counts."""
    monkeypatch.setattr(revise, "REVISE_SECONDS", 0.05)
    caplog.set_level(logging.WARNING)
    asking = Editor(Scripted(Revision(reason="a"), 60.0)).ask("judge", BAD, CONTEXT, reason=True, rewrite=False)
    assert await asyncio.wait_for(asking, 5) == {0: Revision(reason="a"), 2: None}
    assert "0.05 s" in caplog.text
