"""The reliability diagram: well-formed, to scale, and readable on any ground."""

import re
from xml.etree import ElementTree as ET

import pytest

from proxy.calibrate.plot import Panel, Series, counts_of, svg, wilson

BEFORE = Series(name="as scored", bins=[(0.2, 0.1, 20), (0.9, 0.5, 20)], counts=[20, 0, 0, 0, 0, 0, 0, 0, 0, 20])
AFTER = Series(name="calibrated <&>", bins=[(0.1, 0.1, 20), (0.5, 0.5, 20)], counts=[0, 20, 0, 0, 0, 20, 0, 0, 0, 0])
PANEL = Panel(title="grounding: 40 rows", label="supported", before=BEFORE, after=AFTER)
NAME = "{http://www.w3.org/2000/svg}"


def drawn(*panels):
    """The parsed picture."""
    return ET.fromstring(svg(panels))  # noqa: S314 - our own text


def test_every_part_is_there_with_its_words():
    """Axes, legend, title, a point for every bin with what it says, a bar for every bin that holds rows."""
    picture = drawn(PANEL)
    words = [text.text for text in picture.iter(f"{NAME}text")]
    assert {"score", "share supported", "rows", "as scored", "calibrated <&>", "grounding: 40 rows"} <= set(words)
    told = [title.text for title in picture.iter(f"{NAME}title")]
    assert "as scored: 10% of 20 rows scored about 0.20 are supported" in told
    assert told.count("20 rows") == 4


def test_points_stand_where_their_numbers_say():
    """The point of a calibrated bin lies on the diagonal: as far right as up."""
    points = [circle for circle in drawn(PANEL).iter(f"{NAME}circle") if circle.find(f"{NAME}title") is not None]
    places = {point.find(f"{NAME}title").text: (float(point.get("cx")), float(point.get("cy"))) for point in points}
    low, high = (places[key] for key in places if key.startswith("calibrated"))
    assert high[0] - low[0] == pytest.approx(low[1] - high[1])
    whiskers = re.findall(r'class="after whisker" d="M([\d.]+) ([\d.]+)V([\d.]+)"', svg([PANEL]))
    assert all(float(bottom) > float(top) for _, bottom, top in whiskers)


def test_panels_stand_side_by_side():
    """Two checks make a picture twice as wide, each with its own titles."""
    assert int(drawn(PANEL, PANEL).get("width")) == 2 * int(drawn(PANEL).get("width"))


def test_light_and_dark_grounds_have_colours_of_their_own():
    """Every colour is a variable, set once for light and once for dark."""
    style = drawn(PANEL).find(f"{NAME}style").text
    light, dark = style.split("prefers-color-scheme: dark")
    names = set(re.findall(r"var\((--\w+)\)", style))
    assert all(f"{name}:" in light and f"{name}:" in dark for name in names)
    assert not re.findall(r'(?:fill|stroke)="#', svg([PANEL]))


def test_an_interval_of_a_share_stays_in_range():
    """Wilson's interval holds the share, is never outside [0, 1], and narrows with more rows."""
    assert wilson(0.0, 10) == (0.0, pytest.approx(0.278, abs=0.001))
    assert wilson(1.0, 10) == (pytest.approx(0.722, abs=0.001), 1.0)
    assert wilson(0.5, 1000)[1] - wilson(0.5, 1000)[0] < 0.07


def test_counts_are_of_even_parts():
    """A score of 1 belongs to the last part."""
    assert counts_of([0, 0.05, 0.1, 1.0]) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
