"""F1 to the letter of azure-ai-evaluation's own."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.evaluate.f1 import f1, words_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from azure.ai.evaluation import F1ScoreEvaluator

WORDS = st.sampled_from(
    "a an the The AN tent Tent, rain-fly 3000m 3.5 don't ... — é İ ß ñandú １２ \u00a0 \n a. theatre".split(" ")
)
TEXTS = st.one_of(st.text(), st.lists(WORDS).map(" ".join))


def theirs(response: str, truth: str) -> float:
    """What the package computes."""
    return F1ScoreEvaluator._compute_f1_score(response=response, ground_truth=truth)


@given(TEXTS, TEXTS)
def test_it_is_the_packages_own(response, truth):
    """Whatever the texts."""
    assert f1(response, truth) == theirs(response, truth)


@pytest.mark.parametrize(
    ("response", "truth", "score"),
    [
        ("The tent", "a tent!", 1.0),
        ("A b", "b c", 2 / 3),
        ("", "", 0.0),
        ("the", "the", 0.0),
        ("x x y", "x y y", 2 / 3),
    ],
)
def test_some_by_hand(response, truth, score):
    """Articles and marks do not count; each occurrence counts once; without words there is no score."""
    assert f1(response, truth) == pytest.approx(score) == theirs(response, truth)


def test_the_normalisation():
    """Lower case, no ASCII punctuation, no articles."""
    assert words_of("The “tent”, a Rain-fly at 3.5 m.") == ["“tent”", "rainfly", "at", "35", "m"]
