"""The calibration map: monotone, exact where it must be, and read only when it is whole."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.calibration import IDENTITY, Calibration, Curve
from proxy.grounding.types import CheckKind

BENT = Curve(knots=((0.0, 0.0), (0.5, 0.2), (1.0, 1.0)), method="platt", rows=60, positives=20)
WHOLE = {
    "groundwarden_calibration": 1,
    "scorer": "embedded/1",
    "grounding": {"method": "platt", "rows": 60, "positives": 20, "knots": [[0, 0], [0.5, 0.2], [1, 1]]},
    "relevance": None,
}

SCORES = st.floats(min_value=0, max_value=1)


@st.composite
def curves(draw):
    """A curve with any number of knots anywhere."""
    count = draw(st.integers(0, 30))
    sides = [sorted(draw(st.sets(st.integers(1, 9999), min_size=count, max_size=count))) for _ in "xy"]
    inner = tuple((x / 10000, y / 10000) for x, y in zip(*sides, strict=True))
    return Curve(knots=((0.0, 0.0), *inner, (1.0, 1.0)))


@given(SCORES)
def test_the_identity_returns_the_very_number(score):
    """Without a calibration not a bit of a score changes."""
    assert IDENTITY(score) == score
    assert Calibration().apply(CheckKind.GROUNDING, score) == score


@given(curves(), SCORES, SCORES)
def test_a_map_never_reverses_two_scores(curve, one, other):
    """The higher of two scores is never the lower after the map, which stays in [0, 1] and keeps its ends."""
    low, high = sorted((one, other))
    assert 0 <= curve(low) <= curve(high) <= 1
    assert (curve(0.0), curve(1.0)) == (0.0, 1.0)


@given(curves(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_scores_that_differ_stay_apart(curve, one, other):
    """Ranking is kept: a map makes no tie of two scores that differ by a millionth."""
    if one != other:
        assert curve(one / 10**6) != curve(other / 10**6)


@given(curves())
def test_a_map_runs_straight_through_its_knots(curve):
    """Each knot is met exactly, and half way between two the value is half way too."""
    for (left, low), (right, high) in zip(curve.knots, curve.knots[1:], strict=False):
        assert curve(left) == pytest.approx(low, abs=1e-12)
        assert curve((left + right) / 2) == pytest.approx((low + high) / 2)


@given(curves(), st.lists(SCORES, min_size=1))
def test_the_weakest_claim_stays_the_weakest(curve, scores):
    """Calibrating claims and then taking the minimum or maximum is calibrating the minimum or maximum."""
    assert min(map(curve, scores)) == curve(min(scores))
    assert max(map(curve, scores)) == curve(max(scores))


def test_each_check_has_a_map_of_its_own():
    """Grounding's map does nothing to relevance."""
    calibration = Calibration(scorer="embedded/1", grounding=BENT)

    assert calibration.apply(CheckKind.GROUNDING, 0.5) == 0.2
    assert calibration.apply(CheckKind.RELEVANCE, 0.5) == 0.5


def test_a_calibration_suits_the_scorer_it_was_fitted_for():
    """Another scorer's scores say something else; no calibration at all suits every scorer."""
    calibration = Calibration(scorer="embedded/1", grounding=BENT)

    assert calibration.suits("embedded/1")
    assert not calibration.suits("remote/other")
    assert Calibration().suits("remote/other")


@given(curves(), st.text(min_size=1))
def test_what_is_written_is_read_back(curve, scorer):
    """The text of a calibration holds all of it, and is the same text again."""
    fitted = Curve(knots=curve.knots, method="isotonic", rows=300, positives=100)
    calibration = Calibration(scorer=scorer, grounding=fitted, relevance=BENT)

    assert Calibration.read(calibration.text) == calibration
    assert Calibration.read(calibration.text).text == calibration.text


def test_a_file_can_be_read_by_people():
    """One knot a line."""
    lines = Calibration(scorer="x", grounding=BENT).text.splitlines()
    assert "      [0.5, 0.2]," in lines


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a calibration"),
        ({"groundwarden_calibration": 2}, "only 1 can"),
        ({"scorer": None}, "scorer must be text"),
        ({"scorer": ""}, "scorer must name the scorer"),
        ({"treshold": 1}, "a key that is not known"),
        ({"grounding": []}, "grounding must be a mapping or null"),
        ({"grounding": {"method": "platt"}}, "grounding must have a method and how many rows"),
        ({"grounding.rows": True}, "how many rows"),
        ({"grounding.positives": 61}, "positives must be between 0 and rows"),
        ({"grounding.extra": 1}, "a key that is not known"),
        ({"grounding.knots": None}, "pairs of numbers between 0 and 1"),
        ({"grounding.knots": []}, "pairs of numbers"),
        ({"grounding.knots": [[0, 0], [1]]}, "pairs of numbers"),
        ({"grounding.knots": [[0, 0], ["1", 1]]}, "pairs of numbers"),
        ({"grounding.knots": [[0, 0], [1, 10**400]]}, "pairs of numbers"),
        ({"grounding.knots": [[0, 0], [float("nan"), 0.5], [1, 1]]}, "pairs of numbers"),
        ({"grounding.knots": [[0, 0.1], [1, 1]]}, "knots must rise from [0, 0] to [1, 1]"),
        ({"grounding.knots": [[0, 0], [0.5, 1]]}, "knots must rise"),
        ({"grounding.knots": [[0, 0], [0.5, 0.5], [0.5, 0.6], [1, 1]]}, "knots must rise"),
        ({"grounding.knots": [[0, 0], [0.4, 0.5], [0.5, 0.5], [1, 1]]}, "knots must rise"),
        ({"grounding.knots": [[0, 0], *([i / 1001, i / 1001] for i in range(1, 1001)), [1, 1]]}, "at most 1000"),
    ],
)
def test_what_is_no_calibration_is_refused(change, words):
    """Whatever is wrong with a file is said in one sentence, without a value of it."""
    text = change if isinstance(change, str) else json.dumps(_changed(change))
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        Calibration.read(text)
    assert "\n" not in str(caught.value)


def _changed(change):
    """The whole file with some of it replaced."""
    whole = json.loads(json.dumps(WHOLE))
    for path, value in change.items():
        *parents, name = path.split(".")
        (whole[parents[0]] if parents else whole)[name] = value
    return whole


def test_the_whole_file_is_read():
    """What the refusals above begin from is itself right."""
    assert Calibration.read(json.dumps(WHOLE)) == Calibration(scorer="embedded/1", grounding=BENT)
