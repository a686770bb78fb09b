"""``groundwarden calibrate``: labelled rows in; a report, a calibration file and a plot out.

Nothing is written before everything is known, and a file is there whole or not at all: policies in force may name it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proxy.calibrate.fit import enough
from proxy.calibrate.plot import svg
from proxy.calibrate.report import report
from proxy.calibrate.rows import read
from proxy.calibrate.scored import score
from proxy.grounding.calibration import IDENTITY, Calibration
from proxy.grounding.types import CheckKind
from proxy.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.calibrate.report import Report
    from proxy.calibrate.rows import Example
    from proxy.calibrate.scored import Scoring
    from proxy.calibrate.thresholds import Wish
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer

_PLAIN = re.compile(r"[A-Za-z0-9_./-]+\.json")  # anything else YAML might take for no text


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked on the command line. ``beside`` is the folder of the policy that will name the calibration."""

    labelled: Path
    wishes: tuple[Wish, ...] = ()
    check: CheckKind | None = None
    out: Path | None = None
    plot: Path | None = None
    beside: Path | None = None


async def run(options: Options, policy: Policy, scorer: Scorer) -> str:
    """Score, fit, measure, write. Returns the report.

    Raises ``ValueError`` for rows that are wrong, too few or all of one kind, ``OSError`` for a folder that files
    cannot be written to, ``ScoringError`` when the scorer does not load.
    """
    for file in filter(None, (options.out, options.plot)):
        _writable(file)
    labelled = read(options.labelled)
    kinds, notes = _checks(labelled.examples, options.check)
    wanted = [example for example in labelled.examples if not example.labels.keys().isdisjoint(kinds)]
    with Progress(len(wanted), "scoring") as progress:
        scoring = await score(wanted, scorer, policy, progress.step)
    thresholds = {CheckKind.GROUNDING: policy.grounding.threshold, CheckKind.RELEVANCE: policy.relevance.threshold}
    reports = [report(kind, scoring.rows, options.wishes, thresholds[kind]) for kind in kinds]
    _write(options, reports, scorer.name)
    notes += [*labelled.notes, *_told(scoring, policy)]
    head = [f"{options.labelled}: {len(labelled.examples)} labelled rows, for the scorer {scorer.name}", *notes]
    return "\n\n".join(["\n".join(head), *(each.text for each in reports), *_lines(options, reports)])


def _checks(examples: Sequence[Example], wanted: CheckKind | None) -> tuple[list[CheckKind], list[str]]:
    """The checks to fit, before any work is done: the one wanted, or all with labels enough. Raises ``ValueError``."""
    labels = {kind: [example.labels[kind] for example in examples if kind in example.labels] for kind in CheckKind}
    candidates = [wanted] if wanted else [kind for kind in CheckKind if labels[kind]]
    kinds, reasons = [], []
    for kind in candidates:
        try:
            enough(np.array(labels[kind], dtype=np.float64))
        except ValueError as error:
            reasons.append(f"{kind}: {error}")
        else:
            kinds.append(kind)
    if not kinds:
        raise ValueError("; ".join(reasons))
    return kinds, [f"not fitted: {reason}" for reason in reasons]


def _told(scoring: Scoring, policy: Policy) -> Iterator[str]:
    """What is to be known about how the rows were scored."""
    ready = sum(bool(row.example.scores) for row in scoring.rows)
    if ready:
        yield f"with their scores, taken to be this scorer's uncalibrated ones: {ready}"
    if scoring.silent:
        yield f"asserting nothing, so not judged and left out: {scoring.silent}"
    if scoring.failed:
        yield f"not scored, and left out: {len(scoring.failed)} ({scoring.failed[0]})"
    if policy.grounding.aggregate != "min":
        yield "this policy takes the mean of the claims: the map holds, but thresholds here are for the weakest claim"


def _lines(options: Options, reports: Sequence[Report]) -> Iterator[str]:
    """The lines to paste into a policy, or what would make a file of this."""
    if options.out is None:
        yield "Nothing is written; --out FILE writes the calibration, for a policy to name."
        return
    lines = [f"{options.out} is written. In the policy:", "", f"calibration: {_path(options.out, options.beside)}"]
    for each in reports:
        lines += _threshold_lines(each)
    yield "\n".join(lines)


def _threshold_lines(told: Report) -> Iterator[str]:
    met = [proposal for proposal in told.proposals if proposal.threshold is not None]
    if met:
        yield f"{told.kind}:"
    for number, proposal in enumerate(met):
        yield f"  {'# ' if number else ''}threshold: {proposal.threshold:g}  # {proposal.wanted}"


def _path(file: Path, beside: Path | None) -> str:
    """A file as a policy names it: from its own folder, or by its bare name when that is not known."""
    path = os.path.relpath(file, beside) if beside else file.name
    return path if _PLAIN.fullmatch(path) else json.dumps(path, ensure_ascii=False)


def _write(options: Options, reports: Sequence[Report], scorer: str) -> None:
    if options.out:
        curves = {each.kind: each.fit.curve for each in reports}
        calibration = Calibration(
            scorer=scorer,
            grounding=curves.get(CheckKind.GROUNDING, IDENTITY),
            relevance=curves.get(CheckKind.RELEVANCE, IDENTITY),
        )
        _replace(options.out, calibration.text)
    if options.plot:
        _replace(options.plot, svg([each.panel for each in reports]))


def _writable(file: Path) -> None:
    """Raise ``OSError`` now rather than after the work is done."""
    if file.is_dir() or not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        message = f"{file}: cannot be written; name a file in a folder that exists"
        raise OSError(message)


def _replace(file: Path, text: str) -> None:
    """Write a whole file at once, with the rights that any new file gets."""
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".groundwarden-") as folder:
        made = Path(folder) / file.name
        made.write_text(text, encoding="utf-8")
        made.replace(file)
