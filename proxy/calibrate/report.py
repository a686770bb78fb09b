"""One check fitted and measured, and told in words, tables and a panel of the plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxy.calibrate.fit import GOOD_ROWS, Fit, applied, fit, usable_groups
from proxy.calibrate.metrics import auc, brier, ece, interval, log_loss, reliability
from proxy.calibrate.plot import Panel, Series, counts_of
from proxy.calibrate.rows import LABELS
from proxy.calibrate.thresholds import Proposal, Wish, measure, propose
from proxy.tables import table

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from proxy.calibrate.metrics import Metric
    from proxy.calibrate.scored import Scored
    from proxy.grounding.types import CheckKind

    Numbers = NDArray[np.float64]

_MOST_BINS = 15
_ROWS_A_BIN = 20
_EVEN_BINS = 10
_PLOT_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found about one check: its fit, the threshold in force before and after, and one proposal a wish."""

    kind: CheckKind
    truth: Numbers
    given: Numbers
    groups: Sequence[Hashable]
    few_groups: bool
    fit: Fit
    in_force: tuple[Proposal, ...]
    proposals: tuple[Proposal, ...]

    @property
    def text(self) -> str:
        """Everything about the check, for a terminal or a file."""
        parts = [
            "\n".join(self._facts()),
            table(["error", "as scored", "calibrated*"], self._errors()),
            table(["wanted", "threshold", "precision", "recall", "block rate"], self._thresholds()),
        ]
        return "\n\n".join([*parts, "\n".join(f"note: {note}" for note in self._notes())]).strip()

    @property
    def panel(self) -> Panel:
        """The check's part of the plot."""
        return Panel(
            title=f"{self.kind}: {len(self.truth)} rows",
            label=LABELS[self.kind],
            before=self._series("as scored", self.given),
            after=self._series("calibrated, cross-validated", self.fit.held_out),
        )

    def _facts(self) -> Iterator[str]:
        low, high = interval(auc, self.truth, self.given, self.groups)
        share = f"{self.truth.mean():.1%} {LABELS[self.kind]}"
        rows, groups = len(self.truth), len(set(self.groups))
        yield f"{self.kind}: {rows} rows{'' if groups == rows else f' in {groups} groups'}, {share}"
        yield f"AUC: {auc(self.truth, self.given):.3f} ({low:.3f} to {high:.3f}), the same after calibration"
        losses = ", ".join(f"{name} {loss:.3f}" for name, loss in self.fit.losses.items())
        yield f"map: {self.fit.curve.method}, chosen by cross-validated log loss: {losses}"

    @property
    def _bins(self) -> int:
        return min(_MOST_BINS, max(2, len(self.truth) // _ROWS_A_BIN))

    def _errors(self) -> list[list[str]]:
        bins = self._bins
        metrics: dict[str, Metric] = {
            f"ECE, {bins} bins of equal count": partial(ece, bins=bins),
            f"ECE, {_EVEN_BINS} bins of equal width": partial(ece, bins=_EVEN_BINS, equal_mass=False),
            "Brier score": brier,
            "log loss": log_loss,
        }
        both = (self.given, self.fit.held_out)
        return [[name, *(f"{metric(self.truth, scores):.3f}" for scores in both)] for name, metric in metrics.items()]

    def _thresholds(self) -> list[list[str]]:
        return [_row(proposal) for proposal in (*self.in_force, *self.proposals)]

    def _notes(self) -> Iterator[str]:
        yield "* and all thresholds' figures are of rows that were held out of the fit (10 parts); 95 % intervals"
        if self.fit.curve.method == "identity":
            yield "no map does better than the scores as they are: on these rows there is nothing to calibrate"
        if interval(auc, self.truth, self.given, self.groups)[0] <= 0.5:  # noqa: PLR2004 - a coin's AUC
            yield "these scores may not tell the two kinds of rows apart at all; no threshold will mend that"
        if len(self.truth) < GOOD_ROWS:
            yield f"under {GOOD_ROWS} rows thresholds are rough; more rows narrow the intervals"
        if self.few_groups:
            yield "the rows come from few different sources: the intervals are narrower than they should be"

    def _series(self, name: str, scores: Numbers) -> Series:
        bins = reliability(self.truth, scores, _PLOT_BINS)
        error = ece(self.truth, scores, self._bins)
        return Series(name=f"{name}: ECE {error:.3f}", bins=bins, counts=counts_of(scores.tolist()))


def report(kind: CheckKind, rows: Sequence[Scored], wishes: Sequence[Wish], threshold: float) -> Report:
    """Fit one check to the rows that are scored and labelled for it. ``threshold`` is that in force.

    Raises ``ValueError`` when they are too few or too much alike.
    """
    labelled = [row for row in rows if kind in row.scores]
    truth = np.array([row.example.labels[kind] for row in labelled], dtype=np.float64)
    given = np.array([row.scores[kind] for row in labelled], dtype=np.float64)
    groups = [row.example.group for row in labelled]
    usable = usable_groups(groups)
    fitted = fit(truth, given, usable)
    calibrated = applied(fitted.curve, given)
    return Report(
        kind=kind,
        truth=truth,
        given=given,
        groups=usable,
        few_groups=usable is not groups,
        fit=fitted,
        in_force=(
            measure("in force, as scored", threshold, truth, given, usable),
            measure("in force, calibrated", threshold, truth, fitted.held_out, usable),
        ),
        proposals=tuple(propose(wish, truth, calibrated, usable) for wish in wishes),
    )


def _row(proposal: Proposal) -> list[str]:
    if proposal.threshold is None:
        return [proposal.wanted, "cannot be met", proposal.why_not, "", ""]
    shares = (proposal.precision, proposal.recall, proposal.block_rate)
    return [proposal.wanted, f"{proposal.threshold:g}", *map(str, shares)]
