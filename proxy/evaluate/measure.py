"""One row: its turns measured, each metric's turns made one result, and all of it under azure-ai-evaluation's keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import METRICS, Marking, Result
from proxy.evaluate.f1 import f1

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from proxy.evaluate.catalogue import By, Metric
    from proxy.evaluate.judged import LanguageJudge
    from proxy.evaluate.rows import Row, Turn
    from proxy.evaluate.supported import Supported

PER_TURN = "evaluation_per_turn"
NO_JUDGE = "no judge is configured; name a model with judge: {model: …} in the file that --config names"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Who measures, and what: ``names`` are the metrics wanted, ``by_judge`` those that go to the judge, if any."""

    supported: Supported
    judge: LanguageJudge | None = None
    names: tuple[str, ...] = tuple(METRICS)
    by_judge: frozenset[str] = frozenset()
    marking: Marking = field(default_factory=Marking)

    def by(self, metric: Metric) -> By:
        """Who measures a metric."""
        return "judge" if metric.name in self.by_judge else metric.by

    def wanted(self, rows: Sequence[Row]) -> tuple[tuple[str, ...], dict[str, str]]:
        """The metrics for whose fields at least one turn has a value, and why each of the others is left out."""
        turns = [turn for row in rows for turn in row.turns]
        left_out = {}
        for name in self.names:
            lacking = [_lacking(METRICS[name], turn) for turn in turns]
            if all(lacking):
                left_out[name] = f"no row has {min(lacking, key=len)}"
        return tuple(name for name in self.names if name not in left_out), left_out

    async def outputs(self, row: Row, names: Collection[str]) -> dict[str, Any]:
        """A row's results for these metrics, as ``outputs.<metric>.<key>``."""
        turns = [await self._turn(turn, names) for turn in row.turns]
        found: dict[str, Any] = {}
        for name in names:
            metric, results = METRICS[name], [turn[name] for turn in turns]
            written = self.marking.written(metric, results[0] if len(results) == 1 else self._whole(metric, results))
            if len(results) > 1:
                each = [self.marking.written(metric, result) for result in results]
                written |= {f"{PER_TURN}.{key}": [one[key] for one in each] for key in each[0]}
            found |= {f"outputs.{name}.{key}": value for key, value in written.items()}
        return found

    async def _turn(self, turn: Turn, names: Collection[str]) -> dict[str, Result]:
        """A turn's results: those it lacks a field for, or that nobody can judge, are skipped."""
        found = {name: skipped for name in names if (skipped := self._skipped(METRICS[name], turn)) is not None}
        asked: dict[By, list[str]] = {"scorer": [], "judge": [], "words": []}
        for name in names:
            if name not in found:
                asked[self.by(METRICS[name])].append(name)
        if asked["words"]:
            found["f1_score"] = Result(score=f1(turn.response or "", turn.ground_truth or ""))
        found |= await self.supported.measure(turn, asked["scorer"])
        if self.judge is not None:
            found |= await self.judge.measure(turn, asked["judge"])
        return found

    def _skipped(self, metric: Metric, turn: Turn) -> Result | None:
        lacking = _lacking(metric, turn)
        if lacking:
            return Result(status="skipped", reason=f"{lacking} is missing or empty")
        if self.by(metric) == "judge" and self.judge is None:
            return Result(status="skipped", reason=NO_JUDGE)
        return None

    def _whole(self, metric: Metric, turns: Sequence[Result]) -> Result:
        """What several turns come to: the mean of those that apply, of a harm the most severe.

        A turn that could not be checked leaves the whole unchecked. The reason is that of the turn that weighs most.
        """
        failed = next((at for at, turn in enumerate(turns) if turn.status == "error"), None)
        if failed is not None:
            return Result(status="error", reason=_of_turn(failed, turns))
        scored = [(turn.score, at) for at, turn in enumerate(turns) if turn.score is not None]
        if not scored:
            reasons = [turn.reason for turn in turns]
            return Result(status="skipped", reason=NO_JUDGE if NO_JUDGE in reasons else reasons[0])
        scores = [score for score, _ in scored]
        decisive = max(scored, key=lambda pair: pair[0]) if metric.harm else min(scored)
        return Result(
            score=max(scores) if metric.harm else fmean(scores),
            reason=_of_turn(decisive[1], turns),
            properties={"turns": len(scored)},
        )


def _of_turn(at: int, turns: Sequence[Result]) -> str | None:
    reason = turns[at].reason
    return None if reason is None else f"turn {at + 1}: {reason}"


def _lacking(metric: Metric, turn: Turn) -> str:
    """The fields that a metric needs and a turn has no value for. To the count of words an empty text is a value."""
    if metric.by == "words":
        lacking = [name for name in metric.needs if getattr(turn, name) is None]
    else:
        lacking = [name for name in metric.needs if not turn.has(name)]
    return " and ".join(lacking)
