"""Redaction: what is not supported does not leave, whatever the answer is cut into, and the rest stays as it was."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.claims import split_claims
from proxy.grounding.types import Claim, Outcome, Verdict
from proxy.guard.redaction import blocked_instead, redacted, removals, without

MARK = "[…]"
ANSWER = "The plan covers fire. It covers floods. It covers storms. Ask us for more."


def claims_of(*texts: str, answer: str = ANSWER) -> list[Claim]:
    """Claims where these texts stand in the answer."""
    starts = [answer.index(text) for text in texts]
    return [
        Claim(index=at, start=start, end=start + len(text), text=text)
        for at, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ([], ANSWER),
        (["It covers floods."], "The plan covers fire. […] It covers storms. Ask us for more."),
        (["It covers floods.", "It covers storms."], "The plan covers fire. […] Ask us for more."),
        (["The plan covers fire.", "It covers storms."], "[…] It covers floods. […] Ask us for more."),
        (["Ask us for more."], "The plan covers fire. It covers floods. It covers storms. […]"),
    ],
)
def test_a_mark_stands_for_what_is_gone(gone: list[str], left: str):
    """Each stretch has one mark, and neighbours share it; the rest stays to the letter."""
    assert redacted(ANSWER, claims_of(*gone), MARK) == left


def test_the_mark_may_be_empty():
    """Without a mark the sentence is simply not there."""
    assert (
        redacted(ANSWER, claims_of("It covers floods."), "")
        == "The plan covers fire.  It covers storms. Ask us for more."
    )


def test_lists_keep_their_lines():
    """An item that is gone leaves its line, with the mark on it."""
    answer = "Covered are:\n- fire\n- floods\n- theft\n"
    [floods] = [claim for claim in split_claims(answer, query=None) if "floods" in claim.text]

    assert redacted(answer, [floods], MARK).splitlines()[1::2] == ["- fire", "- theft"]
    assert "floods" not in redacted(answer, [floods], MARK)


@given(
    st.lists(
        st.sampled_from(["One is so. ", "Two is not. ", "Three?\n", "- four\n", "Für fünf gilt dies. "]), max_size=8
    ),
    st.sets(st.integers(0, 7)),
    st.lists(st.integers(0, 120), max_size=6),
)
def test_the_pieces_of_an_answer_give_what_the_whole_gives(sentences: list[str], gone: set[int], cuts: list[int]):
    """However a stream cuts the answer, what leaves of the pieces is what would leave of the whole."""
    answer = "".join(sentences)
    claims = [claim for claim in split_claims(answer, query=None) if claim.index in gone]
    edges = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    stretches = removals(answer, claims)

    pieces = [without(answer[begin:end], begin, stretches, MARK) for begin, end in pairwise(edges)]

    assert "".join(pieces) == redacted(answer, claims, MARK)
    kept = "".join(char for at, char in enumerate(answer) if not any(one.start <= at < one.end for one in stretches))
    assert "".join(pieces).replace(MARK, "") == kept
    assert all(
        set(range(claim.start, claim.end)) <= {at for one in stretches for at in range(one.start, one.end)}
        for claim in claims
    )


def test_what_cannot_be_redacted_is_blocked():
    """The verdict says so, and names nothing any more that would be taken out."""
    verdict = Verdict(outcome=Outcome.REDACTED, reasons=("grounding",), removed=tuple(claims_of("It covers floods.")))

    assert blocked_instead(verdict) == Verdict(outcome=Outcome.BLOCKED, reasons=("grounding",))
