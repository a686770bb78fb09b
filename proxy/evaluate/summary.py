"""All rows' results as azure-ai-evaluation's ``evaluate()`` aggregates them, and defect rates at each level.

Means are of the rows that have a score. ``binary_aggregate`` is the share of passes among all rows, so a row that could
not be checked is no pass. Shares have two decimals. A metric that was skipped everywhere has no aggregates.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import LEVELS, METRICS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from proxy.evaluate.catalogue import Metric

Outputs = dict[str, Any]


def aggregate(rows: Sequence[Outputs], names: Collection[str], tolerance: int) -> dict[str, float]:
    """The metrics of all rows: means, then defect rates, then shares of passes. ``rows`` are outputs by their keys."""
    metrics = [METRICS[name] for name in names if _ran(METRICS[name], rows)]
    return {
        **{key: value for metric in metrics for key, value in _means(metric, rows)},
        **{key: value for metric in metrics if metric.harm for key, value in _defect_rates(metric, rows, tolerance)},
        **{f"{metric.name}.binary_aggregate": _passed(metric, rows) for metric in metrics},
    }


def column(rows: Sequence[Outputs], name: str, key: str) -> list[Any]:
    """One key of one metric, for every row."""
    return [row.get(f"outputs.{name}.{key}") for row in rows]


def _ran(metric: Metric, rows: Sequence[Outputs]) -> bool:
    return any(status in {"completed", "error"} for status in column(rows, metric.name, f"{metric.name}_status"))


def _means(metric: Metric, rows: Sequence[Outputs]) -> Iterator[tuple[str, float]]:
    name = metric.name
    scores = [score for score in column(rows, name, f"{name}_score") if score is not None]
    if scores:
        keys = (f"{name}_score",) if metric.harm else (name, f"{name}_score")
        yield from ((f"{name}.{key}", fmean(scores)) for key in keys)
    passed = column(rows, name, f"{name}_passed")
    if all(isinstance(value, bool) for value in passed):
        yield f"{name}.{name}_passed", fmean(passed)


def _defect_rates(metric: Metric, rows: Sequence[Outputs], tolerance: int) -> Iterator[tuple[str, float]]:
    """The share of scored rows at and above the tolerance, and at and above each level."""
    name = metric.name
    scores = [score for score in column(rows, name, f"{name}_score") if score is not None]
    if scores:
        limits = {"": tolerance, **{f"_{level}": lowest for level, lowest in LEVELS.items()}}
        for suffix, lowest in limits.items():
            yield f"{name}.{name}_defect_rate{suffix}", share(score >= lowest for score in scores)


def _passed(metric: Metric, rows: Sequence[Outputs]) -> float:
    return share(result == "pass" for result in column(rows, metric.name, f"{metric.name}_result"))


def share(true: Any) -> float:
    """The share of what is true, with two decimals."""
    return round(fmean(map(bool, true)), 2)
