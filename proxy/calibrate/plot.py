"""A reliability diagram as SVG, written by hand: no library, no script, legible on light and dark grounds.

Over the score, the share of rows that were labelled true: on the diagonal a score means what it says. Each point is a
bin of about as many rows, with its 95 % interval (Wilson 1927); below, how many rows had which score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SIDE = 320
_BARS = 70
_LEFT, _TOP, _RIGHT, _GAP, _BOTTOM = 62, 96, 22, 26, 52
_WIDTH = _LEFT + _SIDE + _RIGHT
_HEIGHT = _TOP + _SIDE + _GAP + _BARS + _BOTTOM
_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
_Z = 1.96
_DASHED = {"before": " dashed", "after": ""}

_STYLE = """
svg { --ground: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --before: #b45309; --after: #1d5fd1 }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --before: #f0a04b; --after: #79a9ff }
}
.ground { fill: var(--ground) } .grid { stroke: var(--line) } .ideal { stroke: var(--soft); stroke-dasharray: 2 4 }
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft) }
.title { font-size: 15px; font-weight: 600; fill: var(--ink) } .key { fill: var(--ink) }
.middle { text-anchor: middle } .end { text-anchor: end }
path { fill: none; stroke-width: 1 } circle { stroke-width: 2 }
.before { stroke: var(--before); stroke-width: 1.5 } .after { stroke: var(--after); stroke-width: 1.5 }
.dashed { stroke-dasharray: 6 4 } .whisker { stroke-width: 1; stroke-opacity: 0.5 }
circle.before { fill: var(--ground) } circle.after { fill: var(--after) }
rect.before { fill: var(--before); stroke: none; fill-opacity: 0.55 } rect.after { fill: var(--after); stroke: none }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One set of scores, and its name for the legend.

    ``bins``: mean score, share labelled true and rows of each; ``counts``: rows in each of even parts of [0, 1].
    """

    name: str
    bins: Sequence[tuple[float, float, int]]
    counts: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One diagram: scores after calibration, those before it if given, what a true label means (``supported``)."""

    title: str
    label: str
    after: Series
    before: Series | None = None

    @property
    def shown(self) -> list[tuple[str, Series]]:
        """What is drawn, each with the name of its style."""
        return [(name, each) for name, each in (("before", self.before), ("after", self.after)) if each is not None]


def svg(panels: Sequence[Panel]) -> str:
    """The panels side by side, as the content of an SVG file."""
    width = _WIDTH * len(panels)
    size = f'width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Reliability diagram">',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{_HEIGHT}"/>',
    ]
    for number, panel in enumerate(panels):
        lines += [f'<g transform="translate({number * _WIDTH} 0)">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel) -> Iterator[str]:
    yield _text(_LEFT, 26, panel.title, "title")
    yield from _legend(panel)
    yield from _grid(panel)
    for name, series in panel.shown:
        yield from _curve(name, series, panel.label)
    yield from _histogram(panel)


def _legend(panel: Panel) -> Iterator[str]:
    for (name, series), y in zip(panel.shown, (50, 70), strict=False):
        yield f'<path class="{name}{_DASHED[name]}" d="M{_LEFT} {y - 4}h28"/>'
        yield f'<circle class="{name}" cx="{_LEFT + 14}" cy="{y - 4}" r="4"/>'
        yield _text(_LEFT + 36, y, series.name, "key")


def _grid(panel: Panel) -> Iterator[str]:
    for tick in _TICKS:
        yield f'<path class="grid" d="M{_x(tick)} {_y(0)}v{-_SIDE}M{_x(0)} {_y(tick)}h{_SIDE}"/>'
        yield _text(_LEFT - 8, _y(tick) + 4, f"{tick:g}", "end")
        yield _text(_x(tick), _HEIGHT - _BOTTOM + 18, f"{tick:g}", "middle")
    yield f'<path class="ideal" d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}"/>'
    yield _text(_x(0.5), _HEIGHT - 12, "score", "middle key")
    yield _upright(18, _y(0.5), f"share {panel.label}")
    yield _upright(18, _HEIGHT - _BOTTOM - _BARS / 2, "rows")


def _curve(name: str, series: Series, label: str) -> Iterator[str]:
    points = [(_x(score), _y(share)) for score, share, _ in series.bins]
    if points:
        yield f'<path class="{name}{_DASHED[name]}" d="M{"L".join(f"{x} {y}" for x, y in points)}"/>'
    for (x, y), (score, share, count) in zip(points, series.bins, strict=True):
        low, high = wilson(share, count)
        told = escape(f"{series.name}: {share:.0%} of {count} rows scored about {score:.2f} are {label}")
        yield f'<path class="{name} whisker" d="M{x} {_y(low)}V{_y(high)}"/>'
        yield f'<circle class="{name}" cx="{x}" cy="{y}" r="4"><title>{told}</title></circle>'


def _histogram(panel: Panel) -> Iterator[str]:
    most = max(1, *(count for _, series in panel.shown for count in series.counts))
    floor = _HEIGHT - _BOTTOM
    yield f'<path class="grid" d="M{_x(0)} {floor}h{_SIDE}M{_x(0)} {floor - _BARS}h{_SIDE}"/>'
    yield _text(_LEFT - 8, floor + 4, "0", "end")
    yield _text(_LEFT - 8, floor - _BARS + 4, str(most), "end")
    for name, series in panel.shown:
        yield from _bars(name, series.counts, 0.12 if name == "before" else 0.5, _BARS / most)


def _bars(name: str, counts: Sequence[int], place: float, scale: float) -> Iterator[str]:
    step = _SIDE / len(counts)
    for number, count in enumerate(counts):
        if count:
            x, height = round(_LEFT + (number + place) * step, 1), round(count * scale, 1)
            at = f'x="{x}" y="{round(_HEIGHT - _BOTTOM - height, 1)}"'
            size = f'width="{round(0.38 * step, 1)}" height="{height}"'
            yield f'<rect class="{name}" {at} {size}><title>{count} rows</title></rect>'


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``count`` rows (at least 1), in [0, 1]."""
    spread = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2))
    middle, whole = share + _Z**2 / (2 * count), 1 + _Z**2 / count
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def counts_of(scores: Iterable[float], bins: int = 10) -> list[int]:
    """How many scores lie in each of ``bins`` even parts of [0, 1]."""
    counts = [0] * bins
    for score in scores:
        counts[min(bins - 1, int(score * bins))] += 1
    return counts


def _x(score: float) -> float:
    return round(_LEFT + score * _SIDE, 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * _SIDE, 1)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'


def _upright(x: float, y: float, text: str) -> str:
    return f'<text class="middle key" transform="translate({x} {y}) rotate(-90)">{escape(text)}</text>'
