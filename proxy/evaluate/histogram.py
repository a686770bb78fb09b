"""Score histograms as SVG, written by hand: passes and failures stacked, legible on light and dark grounds."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.evaluate.catalogue import Marking, Metric

_WIDTH, _HEIGHT = 300, 132
_LEFT, _TOP, _BOTTOM = 30, 8, 20
_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Scores from ``low`` to below ``high``, and how many of them fail and pass."""

    label: str
    low: float
    failed: int
    passed: int


def bins_of(metric: Metric, scores: Sequence[float], marking: Marking) -> list[Bin]:
    """The scores by their size: a bin for each whole number where there are no others, else eight or ten even ones."""
    whole = metric.harm or (metric.by != "words" and all(score == int(score) for score in scores))
    count = round(metric.highest - metric.lowest) + 1 if whole else 8 if metric.highest > 1 else 10
    step = 1.0 if whole else (metric.highest - metric.lowest) / count
    sides = [[0, 0] for _ in range(count)]
    for score in scores:
        at = min(count - 1, int((score - metric.lowest) / step))
        sides[at][marking.passes(metric, score)] += 1
    lows = [metric.lowest + at * step for at in range(count)]
    return [
        Bin(label=_label(low, step, whole=whole), low=low, failed=failed, passed=passed)
        for low, (failed, passed) in zip(lows, sides, strict=True)
    ]


def _label(low: float, step: float, *, whole: bool) -> str:
    return f"{low:g}" if whole else f"{low:g} to {low + step:g}"


def svg(name: str, bins: Sequence[Bin]) -> str:
    """One histogram. Its bars and what they count are told to those who cannot see them, too."""
    most = max(1, *(each.failed + each.passed for each in bins))
    told = "; ".join(f"{each.label}: {each.failed + each.passed}" for each in bins if each.failed + each.passed)
    lines = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(f"Scores of {name}. {told}")}">',
        f'<path class="grid" d="M{_LEFT} {_TOP}H{_WIDTH}M{_LEFT} {_HEIGHT - _BOTTOM}H{_WIDTH}"/>',
        f'<text class="end" x="{_LEFT - 6}" y="{_TOP + 8}">{most}</text>',
        f'<text class="end" x="{_LEFT - 6}" y="{_HEIGHT - _BOTTOM}">0</text>',
        *_bars(bins, most),
    ]
    return "\n".join([*lines, "</svg>"])


def _bars(bins: Sequence[Bin], most: int) -> Iterator[str]:
    room = (_WIDTH - _LEFT) / len(bins)
    scale = (_HEIGHT - _TOP - _BOTTOM) / most
    floor = _HEIGHT - _BOTTOM
    for at, each in enumerate(bins):
        left, top = round(_LEFT + at * room + _GAP / 2, 1), float(floor)
        for kind, count in (("fail", each.failed), ("pass", each.passed)):
            height = round(count * scale, 1)
            top = round(top - height, 1)
            if count:
                size = f'x="{left}" y="{top}" width="{round(room - _GAP, 1)}" height="{height}"'
                yield f'<rect class="{kind}" {size}><title>{escape(each.label)}: {count} {kind}</title></rect>'
        yield f'<text class="middle" x="{round(left + room / 2 - _GAP / 2, 1)}" y="{_HEIGHT - 5}">{each.low:g}</text>'
