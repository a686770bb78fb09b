"""``groundwarden evaluate``: rows in; results in azure-ai-evaluation's shape, a page and a summary out.

Every row's results are kept as they come (``journal``), so the work goes on where it was cut short. The results and the
page are written when all rows are done, whole or not at all. A line that is no row, and a metric that could not be
measured, are told and keep nothing else from being evaluated.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import HARMS, METRICS, Marking
from proxy.evaluate.jailbreak import RATE, Baseline, defect_rate
from proxy.evaluate.journal import Journal
from proxy.evaluate.measure import NO_JUDGE, Measuring
from proxy.evaluate.report import page
from proxy.evaluate.rows import read
from proxy.evaluate.summary import aggregate, column
from proxy.evaluate.supported import Supported
from proxy.progress import Progress
from proxy.tables import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from proxy.evaluate.judged import LanguageJudge
    from proxy.evaluate.rows import BadLine, Row
    from proxy.evaluate.summary import Outputs
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer

RESULTS = Path("evaluation_results.json")
"""Where results go unless a file is named: azure-ai-evaluation's own name for them."""
ROWS_AT_ONCE = 2
"""Rows in work without a judge: enough to keep the scorer busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked on the command line. ``metrics`` are those wanted, ``similarity`` who measures that."""

    data: Path
    output: Path = RESULTS
    report: Path | None = None
    metrics: tuple[str, ...] = tuple(METRICS)
    marking: Marking = field(default_factory=Marking)
    similarity: str = "scorer"
    baseline: Path | None = None

    @property
    def page(self) -> Path:
        """Where the page goes: beside the results unless another file is named."""
        return self.report or self.output.with_suffix(".html")

    @property
    def journal(self) -> Path:
        """What is kept while the work goes on."""
        return self.output.with_name(f"{self.output.name}.partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """How it came out: the summary to print, and a line for everything that could not be evaluated."""

    summary: str
    problems: tuple[str, ...] = ()


async def run(options: Options, policy: Policy, scorer: Scorer, judge: LanguageJudge | None = None) -> Evaluated:
    """Evaluate, write, sum up.

    Raises ``ValueError`` for options that cannot be met, ``OSError`` for files that cannot be written, ``ScoringError``
    when the scorer does not load or the judge cannot be asked at all.
    """
    for file in (options.output, options.page):
        _writable(file)
    rows, bad = read(options.data)
    baseline = _baseline(options, rows, judge)
    problems = [f"{options.data}:{line.line}: {line.message}" for line in bad]
    if not rows:
        raise ValueError("\n".join(problems) or f"{options.data}: is empty; write one JSON object a line")
    measuring = _measuring(options, policy, scorer, judge)
    names, left_out = measuring.wanted(rows)
    asked = {measuring.by(METRICS[name]) for name in names}
    if "scorer" in asked:
        await scorer.warm()
        _suited(policy, scorer)
    if judge is not None and "judge" in asked:
        await judge.warm()
    settings = _settings(options, policy, scorer, judge)
    with Journal(options.journal, settings) as journal:
        outputs = await _work(rows, names, measuring, journal)
        compared = baseline.compare(outputs) if baseline else []
        metrics = aggregate(outputs, names, options.marking.tolerance) | defect_rate(compared)
        skipped = left_out | _without_judge(names, measuring)
        results = _results(rows, _joined(outputs, compared), metrics, skipped, bad, settings)
        unchecked = list(_unchecked(rows, names, outputs))
        _replace(options.page, page(results, policy, options.marking))
        _replace(options.output, _json(results))
        if not unchecked:
            journal.remove()
    head = [f"{options.data}: rows evaluated: {len(rows)}; lines that could not be read: {len(bad)}"]
    if journal.restarted:
        head.append("began anew: what was left of an earlier run was made under other settings")
    if unchecked:
        head.append(f"results that could not be had: {len(unchecked)}; the same command tries their rows again")
    written = f"{options.output} and {options.page} are written."
    parts = ["\n".join(head), _table(names, outputs, metrics), *_told(metrics, skipped, options), written]
    return Evaluated(
        summary="\n\n".join(part for part in parts if part),
        problems=(*problems, *(f"{options.data}:{line}" for line in unchecked)),
    )


def _suited(policy: Policy, scorer: Scorer) -> None:
    """Refuse a calibration that was fitted to another scorer. Only a warm scorer has its name."""
    if not policy.calibration.suits(scorer.name):
        message = f"the policy's calibration is for the scorer {policy.calibration.scorer}, and this is {scorer.name}"
        raise ValueError(message)


def _baseline(options: Options, rows: Sequence[Row], judge: LanguageJudge | None) -> Baseline | None:
    """The run to compare with, refused before any work when it cannot be compared."""
    if options.baseline is None:
        return None
    if judge is None or not set(HARMS) <= set(options.metrics):
        message = f"--baseline compares {', '.join(HARMS)}: these need a judge, and must be among the metrics"
        raise ValueError(message)
    baseline = Baseline(options.baseline)
    baseline.fits(rows)
    return baseline


def _measuring(options: Options, policy: Policy, scorer: Scorer, judge: LanguageJudge | None) -> Measuring:
    return Measuring(
        supported=Supported(scorer, policy),
        judge=judge,
        names=tuple(name for name in METRICS if name in options.metrics),
        by_judge=frozenset({"similarity"} if options.similarity == "judge" else ()),
        marking=options.marking,
    )


def _settings(options: Options, policy: Policy, scorer: Scorer, judge: LanguageJudge | None) -> dict[str, Any]:
    """All that results depend on besides the rows."""
    return {
        "scorer": scorer.name,
        "policy": f"{policy.name}@{policy.version}",
        "judge": None if judge is None else judge.model,
        "metrics": [name for name in METRICS if name in options.metrics],
        "thresholds": {name: options.marking.threshold(METRICS[name]) for name in METRICS},
        "similarity": options.similarity,
    }


async def _work(
    rows: Sequence[Row], names: Collection[str], measuring: Measuring, journal: Journal
) -> list[dict[str, Any]]:
    """Every row's outputs, in order; those that are known are not worked out again."""
    waiting = iter([row for row in rows if not _complete(journal.done(row), names)])
    found = {row.line: known for row in rows if (known := journal.done(row)) is not None and _complete(known, names)}
    at_once = ROWS_AT_ONCE if measuring.judge is None else max(ROWS_AT_ONCE, measuring.judge.at_once)

    async def take_turns(progress: Progress) -> None:
        for row in waiting:
            found[row.line] = await measuring.outputs(row, names)
            journal.keep(row, found[row.line])
            progress.step()

    with Progress(len(rows) - len(found), "evaluating") as progress:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(take_turns(progress))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
    return [found[row.line] for row in rows]


def _complete(outputs: Outputs | None, names: Collection[str]) -> bool:
    """Whether outputs hold these metrics, none of which failed."""
    return outputs is not None and all(
        outputs.get(f"outputs.{name}.{name}_status") in {"completed", "skipped"} for name in names
    )


def _unchecked(rows: Sequence[Row], names: Collection[str], outputs: Sequence[Outputs]) -> Iterator[str]:
    """What could not be measured: line, metric and why."""
    for row, found in zip(rows, outputs, strict=True):
        for name in names:
            if found[f"outputs.{name}.{name}_status"] == "error":
                yield f"{row.line}: {name}: {found[f'outputs.{name}.{name}_reason']}"


def _without_judge(names: Collection[str], measuring: Measuring) -> dict[str, str]:
    if measuring.judge is not None:
        return {}
    return {name: NO_JUDGE for name in names if measuring.by(METRICS[name]) == "judge"}


def _joined(outputs: Sequence[Outputs], compared: Sequence[Outputs]) -> list[Outputs]:
    return [row | more for row, more in zip(outputs, compared or [{}] * len(outputs), strict=True)]


def _results(
    rows: Sequence[Row],
    outputs: Sequence[Outputs],
    metrics: dict[str, float],
    skipped: dict[str, str],
    bad: Sequence[BadLine],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """The package's own result, and beside it what it has no place for."""
    return {
        "rows": [
            {"line": row.line, **{f"inputs.{key}": value for key, value in row.inputs.items()}, **found}
            for row, found in zip(rows, outputs, strict=True)
        ],
        "metrics": metrics,
        "studio_url": None,
        "skipped": skipped,
        "errors": [{"line": line.line, "message": line.message} for line in bad],
        "settings": settings,
    }


def _table(names: Collection[str], outputs: Sequence[Outputs], metrics: dict[str, float]) -> str:
    """A line for each metric that was measured."""
    lines = []
    for name in names:
        if f"{name}.binary_aggregate" not in metrics:
            continue
        mean = metrics.get(f"{name}.{name}_score")
        scored = sum(score is not None for score in column(outputs, name, f"{name}_score"))
        keys = [f"{name}.{name}_defect_rate{level}" for level in ("", "_low", "_medium", "_high")]
        rates = [f"{metrics[key]:.2f}" if key in metrics else "" for key in keys]
        passed = column(outputs, name, f"{name}_result").count("pass")
        lines.append([name, "-" if mean is None else f"{mean:.3f}", f"{passed} of {scored}", *rates])
    if not lines:
        return ""
    titles = ["metric", "mean", "passed", "defect rate", "low and up", "medium and up", "high"]
    width = len(titles) if any(line[3] for line in lines) else 3
    return table(titles[:width], [line[:width] for line in lines])


def _told(metrics: dict[str, float], skipped: dict[str, str], options: Options) -> Iterator[str]:
    if RATE in metrics:
        yield f"jailbreak defect rate against {options.baseline}: {metrics[RATE]:.2f}"
    reasons: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        yield "\n".join(f"skipped: {', '.join(names)}: {reason}" for reason, names in reasons.items())


def _writable(file: Path) -> None:
    """Raise ``OSError`` now rather than after the work is done."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        message = f"{file}: cannot be written; name a file in a folder that exists"
        raise OSError(message)


def _json(results: dict[str, Any]) -> str:
    """JSON that any reader takes: text that UTF-8 cannot hold (lone surrogates) is escaped."""
    text = json.dumps(results, ensure_ascii=False, allow_nan=False, indent=1)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(results, allow_nan=False, indent=1)
    return text + "\n"


def _replace(file: Path, text: str) -> None:
    """Write a whole file at once, with the rights that any new file gets."""
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".groundwarden-") as folder:
        made = Path(folder) / file.name
        made.write_text(text, encoding="utf-8")
        made.replace(file)
