"""The page: one HTML file that needs nothing else. Score histograms, a threshold slider, the worst rows first.

The texts of rows are data: they stand in a block of JSON and reach the page as text only, and the page's own rules
allow no script but its own, no network and no forms.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import METRICS
from proxy.evaluate.histogram import bins_of, svg
from proxy.evaluate.jailbreak import LABEL, RATE, REASON
from proxy.evaluate.measure import PER_TURN
from proxy.evaluate.summary import column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.evaluate.catalogue import Marking, Metric
    from proxy.policy.model import Policy

_HERE = Path(__file__).parent
WITH_TEXTS = 1000
"""The worst rows, whose texts the page holds; of the others only the scores."""
_LONGEST = 2000
"""Characters of a text that the page shows."""
_CHECKS = {"grounding": "groundedness", "relevance": "relevance"}

Results = dict[str, Any]


def page(results: Results, policy: Policy, marking: Marking) -> str:
    """The whole page. ``results`` as they are written to the file beside it."""
    names = [name for name in METRICS if f"{name}.binary_aggregate" in results["metrics"]]
    ranked = sorted(results["rows"], key=lambda row: _badness(row, names, marking))
    rows = [_row(row, names, texts=at < WITH_TEXTS) for at, row in enumerate(ranked)]
    rules = {"grounding": policy.grounding, "relevance": policy.relevance}
    data = {
        "metrics": {name: _scale(METRICS[name], marking) for name in names},
        "thresholds": {name: rule.threshold if rule.action == "block" else 0 for name, rule in rules.items()},
        "rows": rows,
    }
    style, script = ((_HERE / f"report.{ending}").read_text(encoding="utf-8") for ending in ("css", "js"))
    policies = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    cards = "\n".join(_card(METRICS[name], results, marking) for name in names)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policies}; form-action \'none\'">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>Evaluation</title><style>{style}</style></head><body><main>",
            f"<h1>Evaluation</h1>{_facts(results)}",
            f'<section class="cards">{cards}</section>',
            (_HERE / "report.html").read_text(encoding="utf-8") if rows else "",
            _left_out(results),
            f'<script type="application/json" id="data">{_inert(data)}</script>',
            f"<script>{script}</script></main></body></html>",
            "",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _inert(data: Any) -> str:
    """JSON that no HTML parser takes for markup."""
    text = json.dumps(data, separators=(",", ":"))  # ASCII: everything else is escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _facts(results: Results) -> str:
    settings, metrics = results["settings"], results["metrics"]
    told = {
        "rows": len(results["rows"]),
        "lines not read": len(results["errors"]),
        "scorer": settings["scorer"],
        "policy": settings["policy"],
        "judge": settings["judge"] or "none",
    }
    if RATE in metrics:
        told["jailbreak defect rate"] = f"{metrics[RATE]:.2f}"
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>" for name, value in told.items())
    return f"<dl>{cells}</dl>"


def _card(metric: Metric, results: Results, marking: Marking) -> str:
    """A metric: its mean, its share of passes, its defect rates, its histogram."""
    name, metrics = metric.name, results["metrics"]
    scores = [score for score in column(results["rows"], name, f"{name}_score") if score is not None]
    figures = [f"mean {fmean(scores):.2f}"] if scores else []
    passed = column(results["rows"], name, f"{name}_result").count("pass")
    figures.append(f"{passed} of {len(scores)} passed")
    bound = f"{'≤' if metric.harm else '≥'} {marking.threshold(metric):g}"
    if metric.harm and scores:
        levels = {"at the tolerance": "", "low and up": "_low", "medium and up": "_medium", "high": "_high"}
        rates = [f"{words} {metrics[f'{name}.{name}_defect_rate{key}']:.2f}" for words, key in levels.items()]
        bound += f"; defect rate {', '.join(rates)}"
    drawn = svg(name, bins_of(metric, scores, marking)) if scores else "<p>No row could be scored.</p>"
    said = f"<p><b>{', '.join(figures)}</b> <span>pass: {escape(bound)}</span></p>"
    return f"<article><h2>{name}</h2>{said}{drawn}</article>"


def _left_out(results: Results) -> str:
    """What was not measured, and which lines could not be read."""
    told = [f"<li>{escape(name)}: skipped, {escape(reason)}</li>" for name, reason in results["skipped"].items()]
    told += [f"<li>line {error['line']}: {escape(error['message'])}</li>" for error in results["errors"][:WITH_TEXTS]]
    return f"<section><h2>Not evaluated</h2><ul>{''.join(told)}</ul></section>" if told else ""


def _scale(metric: Metric, marking: Marking) -> dict[str, Any]:
    return {
        "lowest": metric.lowest,
        "highest": metric.highest,
        "threshold": marking.threshold(metric),
        "harm": metric.harm,
    }


def _badness(row: Results, names: Sequence[str], marking: Marking) -> tuple[float, float, int]:
    """The lower, the worse: by the row's worst metric, then by all. What could not be checked comes before all."""
    goods = [good for name in names if (good := _good(row, METRICS[name], marking)) is not None]
    return (min(goods, default=2.0), fmean(goods) if goods else 2.0, row["line"])


def _good(row: Results, metric: Metric, marking: Marking) -> float | None:
    """How good a score is on its scale: 0 to 0.5 for failures, 0.5 to 1 for passes, -1 for what was not checked."""
    place = f"outputs.{metric.name}.{metric.name}"
    score: float | None = row.get(f"{place}_score")
    if score is None:
        return -1.0 if row.get(f"{place}_status") == "error" else None
    best, worst = (metric.lowest, metric.highest) if metric.harm else (metric.highest, metric.lowest)
    edge = float(marking.threshold(metric))
    if marking.passes(metric, score):
        return 1.0 if best == edge else 0.5 + 0.5 * (score - edge) / (best - edge)
    return 0.5 * (score - worst) / (edge - worst)


def _row(row: Results, names: Sequence[str], *, texts: bool) -> dict[str, Any]:
    """What the page needs of a row. ``answers`` are the scores that the proxy would decide by, for each answer."""
    found = {
        "line": row["line"],
        "scores": {name: _told(row, name, texts=texts) for name in names},
        "answers": list(_answers(row)),
    }
    if row.get(LABEL) is not None:
        found["jailbreak"] = {"label": row[LABEL], "reason": row[REASON]}
    return {**found, "inputs": dict(_inputs(row))} if texts else found


def _told(row: Results, name: str, *, texts: bool) -> list[Any]:
    keys = ("score", "result", "reason") if texts else ("score", "result")
    return [row.get(f"outputs.{name}.{name}_{key}") for key in keys]


def _answers(row: Results) -> Iterator[list[Any]]:
    """Grounding and relevance of each answer: a number, null where there is nothing to judge, or "failed".

    Without a source the proxy judges neither.
    """
    columns = [list(_raw(row, check, name)) for check, name in _CHECKS.items()]
    for at in range(max(map(len, columns), default=0)):
        yield [each[at] if at < len(each) else None for each in columns]


def _raw(row: Results, check: str, name: str) -> Iterator[float | str | None]:
    place = f"outputs.{name}."
    several = row.get(f"{place}{PER_TURN}.{name}_status")
    if several is None:
        turns = [(row.get(f"{place}{name}_status"), row.get(f"{place}{name}_properties"))]
    else:
        turns = list(zip(several, row[f"{place}{PER_TURN}.{name}_properties"], strict=True))
    for status, properties in turns:
        told = properties or {}
        unchecked = told.get("sources") == 0
        yield "failed" if status == "error" else None if unchecked else told.get(check)


def _inputs(row: Results) -> Iterator[tuple[str, str]]:
    """The row's own fields as text, cut to what fits a page."""
    for key, value in row.items():
        if key.startswith("inputs.") and value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
            yield key.removeprefix("inputs."), text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
