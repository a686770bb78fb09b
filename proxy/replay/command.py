"""``groundwarden replay``: audit files and a policy in, a report out. Nothing is written, no model is asked.

Texts are scored again only where the recorded scores do not say enough and the audit holds the texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.progress import Progress
from proxy.replay.judging import RESCORABLE, replay
from proxy.replay.report import Report
from proxy.replay.rescoring import rescore
from proxy.replay.rows import rows_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from proxy.policy.model import Policy
    from proxy.replay.judging import Replayed
    from proxy.replay.rows import Row
    from proxy.scoring.base import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked on the command line. ``tenant`` and ``was`` (a policy's name) leave others' exchanges out."""

    files: tuple[Path, ...]
    tenant: str | None = None
    was: str | None = None


async def run(options: Options, policy: Policy, scorer: Callable[[], AbstractAsyncContextManager[Scorer]]) -> Report:
    """Replay and count; ``scorer`` is opened only if it is needed.

    Raises ``ValueError`` for files that cannot be read or hold no record of what was asked for, ``ScoringError`` when
    the scorer does not load.
    """
    report = Report(f"{policy.name}@{policy.version}")
    open_: list[tuple[Row, Replayed]] = []
    for row in _rows(options, report):
        found = replay(row, policy)
        if row.texts is not None and found.why and found.why <= RESCORABLE | {"cut"} and found.why & RESCORABLE:
            open_.append((row, found))
        else:
            report.add(row, found)
    await _rescore(open_, policy, scorer, report)
    if not report.exchanges:
        message = f"{', '.join(map(str, options.files))}: no record of such an exchange in an audit of this format"
        raise ValueError(message)
    report.notes += _notes(report)
    return report


def _rows(options: Options, report: Report) -> Iterator[Row]:
    for file in options.files:
        for row in rows_in(file):
            if row is None:
                report.unreadable += 1
            elif options.tenant not in (None, row.tenant) or options.was not in (None, row.policy.partition("@")[0]):
                report.left_out += 1
            else:
                yield row


async def _rescore(
    open_: list[tuple[Row, Replayed]],
    policy: Policy,
    scorer: Callable[[], AbstractAsyncContextManager[Scorer]],
    report: Report,
) -> None:
    if not open_:
        return
    async with scorer() as scoring:
        await scoring.warm()
        if not policy.calibration.suits(scoring.name):
            message = (
                f"the policy's calibration is for the scorer {policy.calibration.scorer}, and this is {scoring.name}"
            )
            raise ValueError(message)
        with Progress(len(open_), "scoring") as progress:
            rows = await rescore([row for row, _ in open_], scoring, policy, progress.step)
    for row in rows:
        report.rescored += 1
        report.add(row, replay(row, policy, anew=True))


def _notes(report: Report) -> Iterator[str]:
    told = report.object
    if report.rescored:
        yield f"scored again from recorded texts: {report.rescored}"
    if report.left_out:
        yield f"left out as asked: {report.left_out}"
    if report.unreadable:
        yield f"lines that are no record of this format, passed over: {report.unreadable}"
    if len(told["judged_by"]) > 1:
        yield f"judged then by: {', '.join(f'{name} ({count})' for name, count in told['judged_by'].items())}"
