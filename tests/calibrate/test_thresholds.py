"""Thresholds for a wish: the right one of those that fulfil it, and honest words where there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.calibrate.thresholds import Achieved, Wish, _Cuts, measure, propose

# Ten rows of each score from 0.05 to 0.95; of those scored x, a share of x is supported.
SCORES = np.repeat(np.arange(0.05, 1, 0.1).round(2), 20)
TRUTH = np.concatenate([np.arange(20) < round(score * 20) for score in SCORES[::20]]).astype(float)
ROWS = range(len(SCORES))


def threshold(quantity, value, truth=TRUTH, scores=SCORES):
    """The threshold proposed for a wish."""
    return propose(Wish(quantity=quantity, value=value), truth, scores, range(len(scores))).threshold


@pytest.mark.parametrize(
    ("quantity", "value", "expected"),
    [
        ("precision", 0.9, 0.8),  # of those above 0.8, 85 % and 95 % are supported: 90 %
        ("precision", 0.5, 0.0),  # half of all are: nothing need be blocked
        ("recall", 0.99, 0.1),
        ("recall", 0.75, 0.5),
        ("block rate", 0.3, 0.3),
        ("block rate", 0.39, 0.3),
        ("block rate", 0.05, 0.0),
    ],
)
def test_the_threshold_gives_most_of_what_was_not_asked_for(quantity, value, expected):
    """The lowest that is precise enough, the highest with enough recall or few enough blocks, as a round number."""
    assert threshold(quantity, value) == expected


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1000)), min_size=20, max_size=120), st.floats(0.02, 0.98))
def test_a_proposal_keeps_its_promise_on_the_rows_it_was_chosen_on(rows, value):
    """On all rows together, a threshold fulfils its wish and lies between two scores."""
    truth = np.array([label for label, _ in rows], dtype=float)
    scores = np.array([score / 1000 for _, score in rows])
    for quantity in ("precision", "recall", "block rate"):
        found = _Cuts(truth, scores).threshold(Wish(quantity=quantity, value=value))
        if found is None:
            continue
        assert 0 <= found <= 0.99
        passed = scores >= found
        shares = {
            "precision": truth[passed].mean() if passed.any() else 0,
            "recall": passed[truth == 1].mean() if truth.any() else 1,
            "block rate": 1 - (~passed).mean(),
        }
        wanted = 1 - value if quantity == "block rate" else value
        assert shares[quantity] >= wanted - 1e-6


def test_figures_are_of_rows_that_had_no_say():
    """On labels that follow nothing, a threshold that looked good is seen through."""
    draw = np.random.default_rng(3)
    truth, scores = (draw.random(200) < 0.5).astype(float), draw.random(200)
    best = max(truth[scores >= cut].mean() for cut in np.sort(scores)[:-10])
    found = propose(Wish(quantity="precision", value=best), truth, scores, range(200))
    assert truth[scores >= found.threshold].mean() >= best - 1e-9
    assert found.precision.value < best - 0.05


def test_every_figure_has_its_interval():
    """Precision, recall and block rate come with the ends of their 95 % intervals."""
    found = measure("in force", 0.7, TRUTH, SCORES, ROWS)
    assert found.precision.value == pytest.approx(0.85)
    assert found.recall.value == pytest.approx(51 / 100)
    assert found.block_rate.value == pytest.approx(0.7)
    for share in (found.precision, found.recall, found.block_rate):
        assert share.low < share.value < share.high
        assert str(share).startswith(f"{share.value:.3f} (")


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (Wish(quantity="precision", value=0.97), "0.900 at most, where 33 rows or more pass"),
        (Wish(quantity="precision", value=0.999), "it would take 1000 rows that pass"),
        (Wish(quantity="block rate", value=0.95), ""),
    ],
)
def test_a_wish_that_cannot_be_met_says_why(wish, words):
    """There is no threshold then, and what would be the most, or what it would take."""
    found = propose(wish, TRUTH, SCORES, ROWS)
    assert (found.why_not, found.threshold is None) == (words, bool(words))


def test_a_threshold_that_no_policy_takes_is_none():
    """Above 0.99 a policy refuses it."""
    scores = np.concatenate([np.full(60, 0.995), np.full(60, 0.999)])
    truth = np.concatenate([np.zeros(60), np.ones(60)])
    found = propose(Wish(quantity="precision", value=0.9), truth, scores, range(120))
    assert (found.threshold, found.why_not) == (None, "it would take a threshold above 0.99")


def test_a_share_of_nothing_is_a_dash():
    """Where nothing passes, precision has no number."""
    found = measure("in force", 0.99, TRUTH, SCORES, ROWS)
    assert (str(found.precision), found.block_rate.value) == ("-", 1.0)
    assert str(Achieved(value=0.5, low=0.4, high=0.6)) == "0.500 (0.40 to 0.60)"
