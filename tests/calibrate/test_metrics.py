"""The metrics, against their definitions counted out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.calibrate import (
    auc,
    balanced_accuracy,
    best_threshold,
    brier,
    ece,
    interval,
    log_loss,
    reliability,
)

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 20).map(lambda number: number / 20)), min_size=1, max_size=40)


def parted(rows):
    """Labels and scores of rows."""
    return [label for label, _ in rows], [score for _, score in rows]


@given(ROWS)
def test_auc_counts_pairs_and_half_of_ties(rows):
    """It is the share of pairs that are in order, whatever the order of the rows."""
    labels, scores = parted(rows)
    pairs = [(good, bad) for is_good, good in rows if is_good for is_bad, bad in rows if not is_bad]
    if not pairs:
        assert math.isnan(auc(labels, scores))
        return
    counted = sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in pairs) / len(pairs)
    assert auc(labels, scores) == pytest.approx(counted)
    assert auc(*parted(rows[::-1])) == pytest.approx(counted)


def test_balanced_accuracy_passes_what_reaches_the_threshold():
    """A score equal to the threshold passes, as in a verdict."""
    assert balanced_accuracy([1, 1, 0, 0], [0.7, 0.9, 0.1, 0.7], 0.7) == 0.75
    assert balanced_accuracy([1, 1, 0, 0], [0.7, 0.9, 0.1, 0.7], 0.71) == 0.75
    assert math.isnan(balanced_accuracy([1, 1], [0.1, 0.9], 0.5))


@given(ROWS)
def test_no_threshold_beats_the_best(rows):
    """Of all scores as thresholds, the best one has the highest balanced accuracy, and is the lowest such."""
    labels, scores = parted(rows)
    best = best_threshold(labels, scores)
    if len(set(labels)) < 2:
        assert math.isnan(best)
        return
    found = {threshold: balanced_accuracy(labels, scores, threshold) for threshold in scores}
    assert found[best] == pytest.approx(max(found.values()))
    assert best == min(threshold for threshold in found if found[threshold] == pytest.approx(max(found.values())))


@given(ROWS, st.integers(1, 20), st.booleans())
def test_bins_hold_every_row_once_and_no_tie_is_parted(rows, bins, equal_mass):
    """Counts add up, there are no more bins than asked for, mean scores rise, and the order of rows is nothing."""
    labels, scores = parted(rows)
    found = reliability(labels, scores, bins, equal_mass=equal_mass)
    assert sum(count for *_, count in found) == len(rows)
    assert len(found) <= bins
    assert [score for score, *_ in found] == sorted({score for score, *_ in found})
    assert reliability(*parted(sorted(rows)), bins, equal_mass=equal_mass) == [pytest.approx(part) for part in found]


def test_bins_of_equal_count_and_of_equal_width():
    """Four rows in two bins: two and two by count, three and one by width."""
    labels, scores = [0, 1, 1, 1], [0.1, 0.2, 0.4, 0.8]
    assert reliability(labels, scores, 2) == [(pytest.approx(0.15), 0.5, 2), (pytest.approx(0.6), 1.0, 2)]
    wide = reliability(labels, scores, 2, equal_mass=False)
    assert wide == [(pytest.approx(0.7 / 3), pytest.approx(2 / 3), 3), (0.8, 1.0, 1)]
    assert ece(labels, scores, 2) == pytest.approx((0.35 * 2 + 0.4 * 2) / 4)


def test_scores_that_mean_what_they_say_have_no_calibration_error():
    """Where 0.7 is right seven times in ten, the error is 0; certain and wrong, it is 1."""
    labels, scores = [1] * 7 + [0] * 3, [0.7] * 10
    assert ece(labels, scores) == pytest.approx(0)
    assert brier(labels, scores) == pytest.approx(0.21)
    assert log_loss(labels, scores) == pytest.approx(-0.7 * math.log(0.7) - 0.3 * math.log(0.3))
    assert (ece([1, 0], [0, 1]), brier([1, 0], [0, 1])) == (1, 1)
    assert log_loss([1], [0]) < 30


def test_an_interval_holds_the_truth_about_as_often_as_it_says():
    """In most of many samples of a known AUC its 95 % interval holds it, and it narrows with more rows."""
    draw, held = np.random.default_rng(1), 0
    for _ in range(60):
        labels = draw.random(120) < 0.5
        scores = np.clip(draw.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
        low, high = interval(auc, labels, scores, n=200)
        held += low <= 0.76 <= high  # the AUC of two normals one deviation apart is 0.760
    assert held >= 51
    many = draw.random(3000) < 0.5
    low, high = interval(auc, many, np.clip(draw.normal(0.4 + 0.2 * many, 0.2), 0, 1), n=200)
    assert high - low < 0.05


def test_rows_of_one_group_are_drawn_together():
    """Copies of a row in its group add nothing: the interval is that of the groups, and the same for the same seed."""
    draw = np.random.default_rng(2)
    labels, scores = draw.random(60) < 0.5, draw.random(60)
    copied = [np.repeat(values, 5) for values in (labels, scores)]
    by_group = interval(auc, *copied, groups=[f"source {row // 5}" for row in range(300)], n=300, seed=3)
    assert by_group == interval(auc, labels, scores, n=300, seed=3)
    alone = interval(auc, *copied, n=300, seed=3)
    assert alone[1] - alone[0] < 0.7 * (by_group[1] - by_group[0])


def test_what_cannot_be_known_is_not_a_number():
    """Without rows, or with rows of one kind, there is no metric and no interval."""
    assert math.isnan(ece([], []))
    assert math.isnan(brier([], []))
    assert all(math.isnan(end) for end in interval(auc, [1, 1], [0.2, 0.4], n=10))
    assert all(math.isnan(end) for end in interval(auc, [], [], n=10))


@pytest.mark.parametrize(
    ("labels", "scores", "words"),
    [
        ([1], [0.5, 0.5], "one length"),
        ([[1]], [[0.5]], "one length"),
        ([2], [0.5], "labels must be"),
        ([1], [1.5], "between 0 and 1"),
        ([1], [float("nan")], "between 0 and 1"),
    ],
)
def test_what_is_no_label_or_score_is_refused(labels, scores, words):
    """A mistake in a caller is told rather than averaged."""
    with pytest.raises(ValueError, match=words):
        auc(labels, scores)
