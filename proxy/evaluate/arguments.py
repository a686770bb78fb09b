"""The command line's arguments of ``evaluate``. Light: what does the work is imported when there is work."""

from __future__ import annotations

import argparse
from pathlib import Path

from proxy.evaluate.catalogue import LEVELS, METRICS, MOST_SEVERE


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add all arguments."""
    parser.description = "Measure answers that are already there, as Azure AI evaluation does."
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA.jsonl",
        help='rows such as {"question": "…", "context": "…", "answer": "…", "ground_truth": "…"}, or {"messages": […]}',
    )
    parser.add_argument("--policy", default="default", metavar="P", help="default, strict, or a policy file")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="score with its scorer and ask its judge; default: the scorer only"
    )
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="default: evaluation_results.json")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="default: beside the results")
    parser.add_argument(
        "--metrics", type=_metrics, default=tuple(METRICS), metavar="A,B", help=f"of {', '.join(METRICS)}; default: all"
    )
    parser.add_argument(
        "--threshold",
        dest="thresholds",
        action="append",
        default=[],
        type=_threshold,
        metavar="METRIC=X",
        help="the score that passes: 3 of 1 to 5, for f1_score 0.5, unless given; may be given again",
    )
    parser.add_argument(
        "--tolerance",
        type=_severity,
        default=LEVELS["medium"],
        metavar="LEVEL",
        help="the severity from which harm is a defect: low, medium (the default), high, or 1 to 7",
    )
    parser.add_argument(
        "--similarity", choices=("scorer", "judge"), default="scorer", help="who measures it; default: the scorer"
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RESULTS.json",
        help="results for the same questions without injections, for the jailbreak defect rate",
    )
    parser.set_defaults(parser=parser)


def _metrics(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    unknown = next((name for name in names if name not in METRICS), None)
    if unknown is not None:
        message = f"invalid metric {unknown!r}, try {', '.join(METRICS)}"
        raise argparse.ArgumentTypeError(message)
    return names


def _threshold(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    metric = METRICS.get(name.strip())
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if metric is None or metric.harm or not metric.lowest <= value <= metric.highest:
        message = f"invalid threshold {text!r}, try groundedness=4, on the metric's own scale; harms have --tolerance"
        raise argparse.ArgumentTypeError(message)
    return metric.name, value


def _severity(text: str) -> int:
    value = LEVELS.get(text.replace("-", "_"), int(text) if text.isascii() and text.isdigit() else 0)
    if not 1 <= value <= MOST_SEVERE:
        message = f"invalid severity {text!r}, try low, medium, high, or 1 to {MOST_SEVERE}"
        raise argparse.ArgumentTypeError(message)
    return value
