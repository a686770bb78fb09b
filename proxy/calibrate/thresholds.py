"""Thresholds for what somebody wants: so much precision, so much recall, or no more than so many blocks.

An answer passes when its score reaches the threshold. Precision is the share of passed answers that are supported,
recall the share of supported answers that pass, block rate the share of all that does not. What a threshold achieves
is told of rows that had no say in choosing it: each fold is judged by the cut that its wish leads to on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxy.calibrate.fit import FOLDS, folds_of
from proxy.calibrate.metrics import interval
from proxy.grounding.types import MAX_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FEWEST_PASSED = 10
"""A precision is believed only of a threshold that lets at least so many rows pass, and enough to expect one wrong."""

_SLACK = 1e-9
_DECIMALS = range(2, 8)

Quantity = Literal["precision", "recall", "block rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted: at least this precision or recall, at most this block rate; between 0 and 1, both excluded."""

    quantity: Quantity
    value: float

    def __str__(self) -> str:
        return f"{self.quantity} {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """A share with its 95 % interval, each in [0, 1]; ``nan`` where there is nothing to take a share of."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return "-" if np.isnan(self.value) else f"{self.value:.3f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A threshold and what it achieves; ``why_not`` says why there is none."""

    wanted: str
    threshold: float | None = None
    precision: Achieved | None = None
    recall: Achieved | None = None
    block_rate: Achieved | None = None
    why_not: str = ""


def propose(wish: Wish, truth: Numbers, scores: Numbers, groups: Sequence[Hashable]) -> Proposal:
    """The threshold for a wish: of those that fulfil it, the one that gives most of the rest."""
    cuts = _Cuts(truth, scores)
    threshold = cuts.threshold(wish)
    if threshold is None:
        return Proposal(wanted=str(wish), why_not=cuts.why_not(wish))
    passed = scores >= threshold
    folds = folds_of(truth, groups)
    for fold in range(FOLDS):
        out = folds == fold
        chosen = _Cuts(truth[~out], scores[~out]).threshold(wish) if out.any() and not out.all() else None
        if chosen is not None:
            passed[out] = scores[out] >= chosen
    return _achieved(str(wish), threshold, truth, passed, groups)


def measure(wanted: str, threshold: float, truth: Numbers, scores: Numbers, groups: Sequence[Hashable]) -> Proposal:
    """What a threshold that was not chosen on these rows achieves."""
    return _achieved(wanted, threshold, truth, scores >= threshold, groups)


def _achieved(
    wanted: str, threshold: float, truth: Numbers, passed: NDArray[np.bool_], groups: Sequence[Hashable]
) -> Proposal:
    def told(of: Quantity) -> Achieved:
        metric = _SHARES[of]
        let = passed.astype(np.float64)
        low, high = interval(metric, truth, let, groups)
        return Achieved(value=metric(truth, let), low=low, high=high)

    return Proposal(
        wanted=wanted,
        threshold=threshold,
        precision=told("precision"),
        recall=told("recall"),
        block_rate=told("block rate"),
    )


def _precision(truth: Numbers, let: Numbers) -> float:
    return float(truth[let == 1].mean()) if (let == 1).any() else float("nan")


def _recall(truth: Numbers, let: Numbers) -> float:
    return float(let[truth == 1].mean()) if (truth == 1).any() else float("nan")


def _block_rate(_truth: Numbers, let: Numbers) -> float:
    return float(1 - let.mean()) if len(let) else float("nan")


_SHARES = {"precision": _precision, "recall": _recall, "block rate": _block_rate}


def _fewest(wish: Wish) -> int:
    """How many rows must pass before a precision can be told: of fewer, all may be right by chance."""
    return max(FEWEST_PASSED, round(1 / (1 - wish.value)))


class _Cuts:
    """Every way to part rows by their score, lowest first: the first lets all pass, the last only the best score."""

    def __init__(self, truth: Numbers, scores: Numbers) -> None:
        self._scores, at = np.unique(scores, return_inverse=True)
        counts = np.bincount(at, minlength=len(self._scores))
        true = np.bincount(at, weights=truth, minlength=len(self._scores))
        self._passed = counts[::-1].cumsum()[::-1]
        supported = true[::-1].cumsum()[::-1]
        self._shares = {
            "precision": supported / self._passed,
            "recall": supported / max(1.0, float(truth.sum())),
            "block rate": 1 - self._passed / len(truth),
        }

    def threshold(self, wish: Wish) -> float | None:
        """The lowest cut that is precise enough, the highest with enough recall or few enough blocks; None for none."""
        share = self._shares[wish.quantity]
        met = share <= wish.value + _SLACK if wish.quantity == "block rate" else share >= wish.value - _SLACK
        if wish.quantity == "precision":
            met &= self._passed >= _fewest(wish)
        cuts = np.flatnonzero(met)
        if not len(cuts):
            return None
        return self._between(int(cuts[0] if wish.quantity == "precision" else cuts[-1]))

    def why_not(self, wish: Wish) -> str:
        """What is in the way of a wish that has no threshold."""
        fewest = _fewest(wish)
        share = self._shares[wish.quantity][self._passed >= fewest]
        if wish.quantity != "precision" or (len(share) and share.max() >= wish.value - _SLACK):
            return f"it would take a threshold above {MAX_THRESHOLD}"
        if not len(share):
            return f"it would take {fewest} rows that pass"
        return f"{share.max():.3f} at most, where {fewest} rows or more pass"

    def _between(self, cut: int) -> float | None:
        """The roundest number above the score before a cut and not above the cut's; None above what policies take."""
        if cut == 0:
            return 0.0
        below, score = float(self._scores[cut - 1]), float(self._scores[cut])
        rounded = (round((below + score) / 2, decimals) for decimals in _DECIMALS)
        threshold = next((number for number in rounded if below < number <= score), score)
        return threshold if threshold <= MAX_THRESHOLD else None
