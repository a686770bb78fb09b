"""Fitting: the map keeps every order, the calibration error falls, and nothing is left to chance."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proxy.calibrate import auc, ece, log_loss
from proxy.calibrate.fit import FOLDS, applied, fit, folds_of, usable_groups
from proxy.grounding.calibration import MAX_KNOTS, Calibration


def rows(count, bend, seed=0):
    """Labels and scores: ``bend`` says how likely a row of a score is to be supported."""
    draw = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-draw.normal(0.5, 2.5, count)))
    return (draw.random(count) < bend(scores)).astype(float), scores


BENDS = {
    "too sure": lambda scores: 0.2 + 0.6 * scores,
    "too high": lambda scores: scores**3,
    "too low": lambda scores: scores**0.3,
    "stepped": lambda scores: np.where(scores > 0.6, 0.85, 0.2),
}


@pytest.mark.parametrize(
    ("name", "count"),
    [(name, count) for name in BENDS for count in (60, 150, 1000) if (name, count) != ("stepped", 60)],
)
def test_the_calibration_error_falls(name, count):
    """On scores that do not mean what they say, rows not fitted to are nearer to what they say, by any measure."""
    labels, scores = rows(count, BENDS[name], seed=5)
    fresh_labels, fresh = rows(4000, BENDS[name], seed=6)

    found = fit(labels, scores)
    calibrated = applied(found.curve, fresh)

    assert ece(fresh_labels, calibrated) < ece(fresh_labels, fresh)
    assert log_loss(fresh_labels, calibrated) < log_loss(fresh_labels, fresh)
    assert ece(labels, found.held_out, 5) <= ece(labels, scores, 5)
    assert auc(fresh_labels, calibrated) == pytest.approx(auc(fresh_labels, fresh), abs=1e-12)


def test_what_is_calibrated_stays_so():
    """Scores that mean what they say are hardly moved, and the error stays small."""
    labels, scores = rows(2000, lambda scores: scores, seed=7)
    found = fit(labels, scores)
    assert np.abs(applied(found.curve, scores) - scores).max() < 0.06
    assert ece(labels, found.held_out) < 0.03


def test_the_method_follows_from_the_rows():
    """Few rows are never fitted with blocks; many that step are; the one of the lowest loss is taken."""
    few = fit(*rows(99, BENDS["stepped"]))
    many = fit(*rows(1000, BENDS["stepped"]))
    assert set(few.losses) == {"identity", "platt"}
    assert many.curve.method == "isotonic" == min(many.losses, key=many.losses.get)
    assert fit(*rows(1000, lambda scores: 1 / (1 + (1 / scores - 1) ** 0.5))).curve.method == "platt"
    assert (many.curve.rows, many.curve.positives) == (1000, int(rows(1000, BENDS["stepped"])[0].sum()))


@pytest.mark.parametrize("scores", [np.full(60, 0.5), np.linspace(1, 0, 60)])
def test_scores_that_tell_nothing_are_refused(scores):
    """A map that rises cannot mend scores that are all the same, or upside down, as with labels turned round."""
    with pytest.raises(ValueError, match="are the labels the right way round"):
        fit([0] * 30 + [1] * 30, scores)


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 1e-9, 0.001, 0.5, 0.999, 1.0]) | st.floats(0, 1)),
        min_size=50,
        max_size=260,
    )
)
@settings(deadline=None, max_examples=60)
def test_every_fit_is_a_map_that_keeps_ranking(drawn):
    """Whatever rows are given, ties and ends among them: valid knots, no order lost, scores held out in [0, 1]."""
    labels = np.array([label for label, _ in drawn] + [True] * 10 + [False] * 10, dtype=float)
    scores = np.array([score for _, score in drawn] + [0.9] * 10 + [0.1] * 10)

    assume(auc(labels, scores) > 0.5)
    found = fit(labels, scores)

    spread = np.unique(np.round(scores, 5))
    assert (np.diff(applied(found.curve, spread)) > 0).all()
    assert len(found.curve.knots) < MAX_KNOTS / 10
    assert ((found.held_out >= 0) & (found.held_out <= 1)).all()
    assert Calibration.read(Calibration(scorer="x", grounding=found.curve).text).grounding == found.curve


def test_the_same_rows_give_the_same_bytes():
    """No date and no chance gets into a calibration."""
    labels, scores = rows(400, BENDS["too sure"])
    one, other = (Calibration(scorer="x", grounding=fit(labels, scores).curve).text for _ in range(2))
    assert one == other


def test_groups_are_held_out_whole_and_evenly():
    """All rows of a group are in one fold, and each fold has its share of both labels."""
    draw = np.random.default_rng(0)
    groups = [f"source {number}" for number in draw.integers(0, 100, 600)]
    labels = (draw.random(600) < 0.3).astype(float)

    folds = folds_of(labels, groups)

    assert all(len({fold for fold, group in zip(folds, groups, strict=True) if group == name}) == 1 for name in groups)
    assert set(folds) == set(range(FOLDS))
    assert all(labels[folds == fold].sum() > 3 for fold in range(FOLDS))


def test_a_row_held_out_has_no_say_in_its_own_score():
    """Turning one row's label round leaves its own held-out score as it was."""
    labels, scores = rows(300, BENDS["too high"])
    groups = list(range(300))
    before = fit(labels, scores, groups)
    folds = folds_of(labels, groups)
    changed = labels.copy()
    changed[7] = 1 - changed[7]
    after = fit(changed, scores, groups)
    if (folds_of(changed, groups) == folds).all():
        assert after.held_out[7] == before.held_out[7]


def test_with_too_few_groups_rows_stand_alone():
    """Rows of nine sources cannot be held out by source."""
    assert len(set(usable_groups(["a", "b"] * 30))) == 60
    assert usable_groups([*"abcdefghij"]) == [*"abcdefghij"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, 0] * 24, "48 labelled rows are too few; label 2 more at least"),
        ([], "0 labelled rows are too few"),
        ([1] * 60, "only 0 of 60 rows are labelled false, too few; label 10 more"),
        ([0] * 60 + [1] * 4, "only 4 of 64 rows are labelled true, too few; label 6 more"),
    ],
)
def test_too_few_rows_are_refused_with_how_many_are_missing(labels, words):
    """A calibration of a handful of rows, or of rows of one kind, would mend nothing."""
    with pytest.raises(ValueError, match=words):
        fit(labels, [0.5] * len(labels))
