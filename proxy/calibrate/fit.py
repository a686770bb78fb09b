"""Fitting a calibration map to labelled scores, and what it is worth on rows it has not seen.

Rules of this file:

- Three methods, from stiff to supple: the identity, Platt's (a straight line between log odds; Platt 1999), and for
  100 rows and more isotonic regression (no more than "a higher score is no worse"). The one with the lowest
  cross-validated log loss is taken; where nothing beats the identity, the scores stay as they are.
- Every number that is told about the fit comes from maps that were fitted without the row's whole group.
- Both methods are held back where rows are few: Platt's slope is drawn to 1 and its labels away from certainty, and
  isotonic blocks hold at least 15 rows and one imagined one, half supported (Jeffreys' prior). Between the blocks'
  middles the map runs straight: centred isotonic regression (Oron and Flournoy 2017), which errs less than stairs do.
- No chance is left: the same rows in the same order give the same map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxy.calibrate.metrics import auc, log_loss
from proxy.grounding.calibration import IDENTITY, Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from proxy.grounding.calibration import Knots

    Numbers = NDArray[np.float64]
    Method = Callable[[Numbers, Numbers], Curve | None]

FEWEST_ROWS = 50
"""Fewer rows are not fitted to: the error of a calibration made of them would be as large as what it mends."""

FEWEST_OF_A_KIND = 10
"""Fewest rows of each label."""

ISOTONIC_ROWS = 100
"""Rows from which on isotonic regression is tried too. There it costs little where a line would do (0.003 nats, when
it is chosen by chance), and gains ten times that where none does."""

GOOD_ROWS = 200
"""Rows from which on thresholds no longer move much from one sample to the next."""

FEWEST_GROUPS = 10
"""With fewer groups, rows are taken as independent after all."""

FOLDS = 10
_CHANCE = 0.5
_BLOCK_ROWS = 15
_BLOCKS = 40
_PRIOR = 0.5
"""Imagined rows of each label in a block."""
_KEPT_SLOPE = 0.01
"""Share of the identity in every map: keeps flat stretches from making ties, and moves no score by more than this."""
_EDGE = 1e-6
"""How near to 0 and 1 a score may come before its log odds are taken as those of this distance."""
_GRID = np.arange(-14, 14.25, 0.5)
_PLACES = 7
_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted map, and how it was chosen.

    ``held_out``: each row's calibrated score by a map fitted without its group, by the method chosen. ``losses``: the
    cross-validated log loss of each method that was tried.
    """

    curve: Curve
    held_out: Numbers
    losses: dict[str, float]


def fit(labels: ArrayLike, scores: ArrayLike, groups: Sequence[Hashable] | None = None) -> Fit:
    """Fit a map to ``scores`` (in [0, 1]) and ``labels`` (0 or 1), rows of one group kept together throughout.

    Raises ``ValueError`` for fewer rows than ``FEWEST_ROWS`` or of one label than ``FEWEST_OF_A_KIND``, and for scores
    that are no better than chance at telling the labels: a map that rises could only make them all alike.
    """
    truth, given = np.asarray(labels, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    enough(truth)
    area = auc(truth, given)
    if area <= _CHANCE:
        message = f"the scores do not tell these rows apart (AUC {area:.2f}); are the labels the right way round?"
        raise ValueError(message)
    methods = dict(_METHODS) if len(truth) >= ISOTONIC_ROWS else {"identity": _identity, "platt": _platt}
    folds = folds_of(truth, range(len(truth)) if groups is None else groups)
    held_out = {name: _held_out(method, truth, given, folds) for name, method in methods.items()}
    losses = {name: log_loss(truth, predicted) for name, predicted in held_out.items()}
    for name in sorted(losses, key=losses.__getitem__):
        curve = methods[name](truth, given)
        if curve is not None:
            return Fit(curve=curve, held_out=held_out[name], losses=losses)
    return Fit(curve=IDENTITY, held_out=given, losses=losses)


def usable_groups(groups: Sequence[Hashable]) -> Sequence[Hashable]:
    """The groups as given, or each row by itself where there are too few of them to leave one out."""
    return groups if len(set(groups)) >= FEWEST_GROUPS else range(len(groups))


def applied(curve: Curve, scores: ArrayLike) -> Numbers:
    """The calibrated scores of many rows at once."""
    return np.array([curve(float(score)) for score in np.asarray(scores, dtype=np.float64)])


def folds_of(truth: Numbers, groups: Sequence[Hashable]) -> NDArray[np.int64]:
    """The fold of each row, from 0 to ``FOLDS`` - 1.

    Groups are dealt out whole, by their share of true labels, so that every fold has about as many; equals are
    shuffled.
    """
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    names = list(members)
    order = np.random.default_rng(0).permutation(len(names))
    dealt = sorted(order, key=lambda number: float(truth[members[names[number]]].mean()))
    folds = np.zeros(len(truth), dtype=np.int64)
    for place, number in enumerate(dealt):
        folds[members[names[number]]] = place % FOLDS
    return folds


def enough(truth: Numbers) -> None:
    """Raise ``ValueError`` when there are too few rows to fit to, or too few of one label."""
    if len(truth) < FEWEST_ROWS:
        more = FEWEST_ROWS - len(truth)
        message = f"{len(truth)} labelled rows are too few; label {more} more at least, better {GOOD_ROWS} in all"
        raise ValueError(message)
    fewer = min(truth.sum(), len(truth) - truth.sum())
    if fewer < FEWEST_OF_A_KIND:
        word = "true" if fewer == truth.sum() else "false"
        told = f"only {fewer:.0f} of {len(truth)} rows are labelled {word}"
        message = f"{told}, too few; label {FEWEST_OF_A_KIND - fewer:.0f} more of that kind at least"
        raise ValueError(message)


def _held_out(method: Method, truth: Numbers, given: Numbers, folds: NDArray[np.int64]) -> Numbers:
    """Each row's score by a map that was fitted on the other folds; its own where none can be."""
    predicted = given.copy()
    for fold in range(FOLDS):
        out = folds == fold
        curve = method(truth[~out], given[~out]) if out.any() and not out.all() else None
        if curve is not None:
            predicted[out] = applied(curve, given[out])
    return predicted


def _identity(truth: Numbers, _given: Numbers) -> Curve:
    return Curve(method="identity", rows=len(truth), positives=int(truth.sum()))


def _platt(truth: Numbers, given: Numbers) -> Curve | None:
    """Log odds times a slope, plus a shift. None when higher scores are not better."""
    positives = truth.sum()
    targets = np.where(truth == 1, (positives + 1) / (positives + 2), 1 / (len(truth) - positives + 2))
    slope, shift = _line(_log_odds(given), targets)
    if slope <= 0:
        return None
    knots = _knots(_chance(_GRID), _chance(slope * _GRID + shift))
    return Curve(knots=knots, method="platt", rows=len(truth), positives=int(positives))


def _line(odds: Numbers, targets: Numbers) -> tuple[float, float]:
    """Slope and shift of the least log loss plus (slope - 1)²/2, by Newton's method, a step halved until it pays."""
    features = np.stack([odds, np.ones_like(odds)])
    anchor, pull = np.array([1.0, 0.0]), np.diag([1.0, 0.0])

    def loss(at: Numbers) -> float:
        line = at @ features
        return float((np.logaddexp(0, line) - targets * line).sum() + ((at - anchor) @ pull @ (at - anchor)) / 2)

    at = anchor
    for _ in range(_STEPS):
        chance = _chance(at @ features)
        downhill = features @ (chance - targets) + pull @ (at - anchor)
        bend = (features * (chance * (1 - chance))) @ features.T + pull + 1e-9 * np.eye(2)
        step = np.linalg.solve(bend, downhill)
        while loss(at - step) > loss(at) and np.abs(step).max() > _EDGE:
            step = step / 2
        at = at - step
        if np.abs(step).max() <= _EDGE:
            break
    return float(at[0]), float(at[1])


def _isotonic(truth: Numbers, given: Numbers) -> Curve:
    """Blocks of rows by rising score, neighbours joined while the lower has the higher share (PAVA), then joined up."""
    order = np.argsort(given, kind="stable")
    blocks = _pooled(_blocks(truth[order], given[order]))
    middles = [_chance(_log_odds(block.scores).mean()) for block in blocks]
    first, last = blocks[0], blocks[-1]
    points = [float(first.scores[0]), *map(float, middles), float(last.scores[-1])]
    shares = [first.share, *(block.share for block in blocks), last.share]
    knots = _knots(np.array(points), np.array(shares))
    return Curve(knots=knots, method="isotonic", rows=len(truth), positives=int(truth.sum()))


_METHODS: dict[str, Method] = {"identity": _identity, "platt": _platt, "isotonic": _isotonic}


@dataclass(frozen=True, slots=True)
class _Block:
    """Neighbouring rows: their scores, rising, and the number of true labels."""

    scores: Numbers
    true: float

    @property
    def share(self) -> float:
        return (self.true + _PRIOR) / (len(self.scores) + 2 * _PRIOR)


def _blocks(truth: Numbers, given: Numbers) -> list[_Block]:
    """Cut rows, sorted by score, into blocks of at least ``_BLOCK_ROWS`` and at most about ``_BLOCKS`` of them."""
    size = max(_BLOCK_ROWS, len(given) // _BLOCKS)
    blocks, start = [], 0
    while start < len(given):
        end = start + size
        if end + size > len(given):
            end = len(given)
        end = int(np.searchsorted(given, given[end - 1], side="right"))  # ties stay together
        blocks.append(_Block(given[start:end], float(truth[start:end].sum())))
        start = end
    return blocks


def _pooled(blocks: list[_Block]) -> list[_Block]:
    """Join neighbours until every block's share is above that of the one before."""
    pooled: list[_Block] = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and pooled[-2].share >= pooled[-1].share:
            upper, lower = pooled.pop(), pooled.pop()
            pooled.append(_Block(np.concatenate([lower.scores, upper.scores]), lower.true + upper.true))
    return pooled


def _knots(points: Numbers, shares: Numbers) -> Knots:
    """Knots through rising points, mixed with a little of the identity so that they rise strictly, and rounded."""
    knots = [(0.0, 0.0)]
    mixed = (1 - _KEPT_SLOPE) * shares + _KEPT_SLOPE * points
    for point, share in zip(np.round(points, _PLACES).tolist(), np.round(mixed, _PLACES).tolist(), strict=True):
        if knots[-1][0] < point < 1 and knots[-1][1] < share < 1:
            knots.append((point, share))
    return (*knots, (1.0, 1.0))


def _log_odds(scores: Numbers) -> Numbers:
    inside = np.clip(scores, _EDGE, 1 - _EDGE)
    return np.log(inside / (1 - inside))


def _chance(odds: Numbers) -> Numbers:
    """The inverse of ``_log_odds``; does not overflow."""
    return np.exp(-np.logaddexp(0, -odds))
