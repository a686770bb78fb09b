"""How well scores tell supported from unsupported, and whether they mean what they say.

Rules of this file:

- Labels are true (or 1) where the claim is supported, else false (or 0); scores lie in [0, 1]; both have one entry a
  row, in the same order. ``ValueError`` says where that does not hold.
- A row passes when its score reaches the threshold (``score >= threshold``), as in ``proxy.grounding.types.Check``.
- Equal scores are never told apart: no number depends on the order of the rows.
- What cannot be known is ``nan``: the AUC of rows of one kind only, the mean of nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    Metric = Callable[[Numbers, Numbers], float]

_CERTAIN = 1e-12
"""What log loss takes for 0, so that one row that was called impossible does not make it infinite."""


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve: how often a supported row scores above an unsupported one, ties counted half.

    ``nan`` with rows of one kind only.
    """
    truth, given = _checked(labels, scores)
    _, at, counts = np.unique(given, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[at]  # the mean rank of each row's ties
    positives = truth.sum()
    negatives = len(truth) - positives
    if not positives or not negatives:
        return float("nan")
    return float(((ranks * truth).sum() - positives * (positives + 1) / 2) / (positives * negatives))


def balanced_accuracy(labels: ArrayLike, scores: ArrayLike, threshold: float) -> float:
    """Mean of the share of supported rows that pass and the share of unsupported rows that do not, in [0, 1].

    ``nan`` with rows of one kind only.
    """
    truth, given = _checked(labels, scores)
    passed = given >= threshold
    return (_share(passed, truth == 1) + _share(~passed, truth == 0)) / 2


def best_threshold(labels: ArrayLike, scores: ArrayLike) -> float:
    """The threshold of the highest balanced accuracy, one of the scores; the lowest of several. ``nan`` as there."""
    truth, given = _checked(labels, scores)
    cuts, at = np.unique(given, return_inverse=True)
    positives, negatives = (np.bincount(at, weights=kind, minlength=len(cuts)) for kind in (truth, 1 - truth))
    if not positives.any() or not negatives.any():
        return float("nan")
    passing = positives[::-1].cumsum()[::-1] / positives.sum()
    stopped = np.concatenate([[0.0], negatives.cumsum()[:-1]]) / negatives.sum()
    return float(cuts[np.argmax(np.round(passing + stopped, 12))])  # rounded, so that equals are equal


def brier(labels: ArrayLike, scores: ArrayLike) -> float:
    """Mean squared distance of the scores from the labels: 0 is perfect, 0.25 what a score of 0.5 for all gets."""
    truth, given = _checked(labels, scores)
    return _mean((given - truth) ** 2)


def log_loss(labels: ArrayLike, scores: ArrayLike) -> float:
    """Mean negative log likelihood of the labels, in nats: 0 is perfect, 0.693 what a score of 0.5 for all gets."""
    truth, given = _checked(labels, scores)
    likely = np.clip(np.where(truth == 1, given, 1 - given), _CERTAIN, 1)
    return _mean(-np.log(likely))


def reliability(
    labels: ArrayLike, scores: ArrayLike, bins: int = 10, *, equal_mass: bool = True
) -> list[tuple[float, float, int]]:
    """Bins of rows by score, lowest first: mean score, share supported, count. Empty bins are left out.

    With ``equal_mass`` each of the ``bins`` holds about as many rows (equal scores are never parted, so there may be
    fewer bins); without, each spans as much of [0, 1].
    """
    truth, given = _checked(labels, scores)
    place = _by_mass(given, bins) if equal_mass else np.minimum((given * bins).astype(int), bins - 1)
    found = (place == number for number in range(bins))
    return [(_mean(given[rows]), _mean(truth[rows]), int(rows.sum())) for rows in found if rows.any()]


def ece(labels: ArrayLike, scores: ArrayLike, bins: int = 15, *, equal_mass: bool = True) -> float:
    """Expected calibration error: how far a bin's mean score is from its share supported, on average over the rows.

    0 is perfect. Bins as in ``reliability``. With few rows it is above 0 by chance alone: at 15 bins of 20 rows by
    about 0.07.
    """
    parts = reliability(labels, scores, bins, equal_mass=equal_mass)
    total = sum(count for _, _, count in parts)
    return sum(abs(score - share) * count for score, share, count in parts) / total if total else float("nan")


def interval(
    metric: Metric,
    labels: ArrayLike,
    scores: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    n: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Low and high end of the 95 % bootstrap interval of ``metric(labels, scores)`` (percentiles of ``n`` resamples).

    With ``groups`` (one a row) whole groups are drawn: rows of one source are no independent evidence. Resamples in
    which the metric is ``nan`` do not count; when all are, so are both ends.
    """
    truth, given = _checked(labels, scores)
    draw = np.random.default_rng(seed)
    members = _Groups(range(len(truth)) if groups is None else groups)
    found = np.array([metric(truth[rows], given[rows]) for rows in (members.drawn(draw) for _ in range(n))])
    known = found[~np.isnan(found)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


class _Groups:
    """Rows by group, so that whole groups can be drawn with replacement."""

    def __init__(self, groups: Iterable[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        of_row = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=int)
        self._rows = np.argsort(of_row, kind="stable")
        self._sizes = np.bincount(of_row, minlength=len(numbers))
        self._starts = np.cumsum(self._sizes) - self._sizes

    def drawn(self, draw: np.random.Generator) -> NDArray[np.int64]:
        """Indices of the rows of as many groups as there are, each drawn from all."""
        count = len(self._sizes)
        chosen = draw.integers(0, count, count) if count else np.arange(0)
        sizes = self._sizes[chosen]
        before = np.cumsum(sizes) - sizes
        places = np.repeat(self._starts[chosen] - before, sizes) + np.arange(sizes.sum())
        return np.asarray(self._rows[places])


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[Numbers, Numbers]:
    """Both as flat arrays of numbers. Raises ``ValueError``."""
    truth, given = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != given.shape:
        message = "labels and scores must be two lists of one length"
        raise ValueError(message)
    if not ((truth == 0) | (truth == 1)).all():
        message = "labels must be true or false, 1 or 0"
        raise ValueError(message)
    if not ((given >= 0) & (given <= 1)).all():
        message = "scores must lie between 0 and 1"
        raise ValueError(message)
    return truth, given


def _by_mass(given: Numbers, bins: int) -> NDArray[np.int64]:
    """The bin of each row: where the middle of its ties stands among all rows."""
    _, at, counts = np.unique(given, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    return np.asarray((middle * bins / max(1, len(given))).astype(int)[at])


def _share(of: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
    return _mean(of[among].astype(np.float64))


def _mean(values: Numbers) -> float:
    return float(values.mean()) if len(values) else float("nan")
