"""Calibration: what a scorer's score is worth, as one monotone map for each check.

Rules of this file:

- A map is piecewise linear, starts at (0, 0), ends at (1, 1) and rises all the way. So it never reverses two scores nor
  makes one of two: what the maximum or the minimum was, it stays, and a stream may be judged claim by claim.
- It is read and written here as text; files are the policy store's, and fitting is ``proxy.calibrate``'s.
- The text of a calibration holds no date, no path and nothing of the texts it was fitted on: the same rows give the
  same bytes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

from proxy.grounding.types import CheckKind

MAX_KNOTS = 1000
"""Most knots a map may have; a fitted one has fewer than 100."""

_FORMAT = "groundwarden_calibration"
_VERSION = 1
_PAIR = re.compile(r"\[\s+([^\s,\[\]]+),\s+([^\s,\[\]]+)\s+\]")

Knots = tuple[tuple[float, float], ...]
"""Points (score, calibrated score) of a map, by rising score."""


def _rises(knots: Knots) -> bool:
    """Whether both numbers rise with every knot, from (0, 0) to (1, 1)."""
    return (
        len(knots) <= MAX_KNOTS
        and knots[:1] == ((0, 0),)
        and knots[-1:] == ((1, 1),)
        and all(left < right and low < high for (left, low), (right, high) in pairwise(knots))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One map from [0, 1] to [0, 1]; the identity unless told otherwise.

    ``method`` says how it was fitted, on how many ``rows``, of which ``positives`` were supported (or relevant). Raises
    ``ValueError`` for knots that do not rise from (0, 0) to (1, 1).
    """

    knots: Knots = ((0.0, 0.0), (1.0, 1.0))
    method: str = "identity"
    rows: int = 0
    positives: int = 0

    def __post_init__(self) -> None:
        if not _rises(self.knots):
            message = f"knots must rise from [0, 0] to [1, 1], both numbers of each, and be at most {MAX_KNOTS}"
            raise ValueError(message)
        if not 0 <= self.positives <= self.rows:
            message = "positives must be between 0 and rows"
            raise ValueError(message)

    def __call__(self, score: float) -> float:
        """The calibrated score of ``score``, both in [0, 1]. The identity returns the very number."""
        after = bisect_right(self.knots, score, key=itemgetter(0))
        if after == len(self.knots):
            return self.knots[-1][1]
        (left, low), (right, high) = self.knots[after - 1], self.knots[after]
        return min(high, low + (score - left) * ((high - low) / (right - left)))  # rounding must not pass the next knot

    @property
    def fitted(self) -> bool:
        """Whether this comes from labelled rows."""
        return self.rows > 0


IDENTITY = Curve()
"""Leaves every score as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The maps of both checks, and the name of the scorer whose scores they are for ("" when both are the identity).

    Raises ``ValueError`` for a fitted map without the scorer it was fitted for.
    """

    scorer: str = ""
    grounding: Curve = IDENTITY
    relevance: Curve = IDENTITY

    def __post_init__(self) -> None:
        if not self.scorer and (self.grounding != IDENTITY or self.relevance != IDENTITY):
            message = "scorer must name the scorer that the maps were fitted for"
            raise ValueError(message)

    def apply(self, kind: CheckKind, score: float) -> float:
        """The calibrated score of one claim, for one check; both in [0, 1]."""
        return self.grounding(score) if kind is CheckKind.GROUNDING else self.relevance(score)

    def suits(self, scorer: str) -> bool:
        """Whether it may be applied to this scorer's scores: another's say something else."""
        return self.scorer in ("", scorer)

    @property
    def text(self) -> str:
        """The content of a calibration file; ``read`` gives the same calibration back."""
        written = {
            _FORMAT: _VERSION,
            "scorer": self.scorer,
            "grounding": _written(self.grounding),
            "relevance": _written(self.relevance),
        }
        return _PAIR.sub(r"[\1, \2]", json.dumps(written, indent=2, ensure_ascii=False)) + "\n"

    @classmethod
    def read(cls, text: str) -> Calibration:
        """Make a calibration of a file's content. Raises ``ValueError``, which says what is wrong and no value."""
        try:
            written = json.loads(text)
        except (ValueError, RecursionError):
            message = "is not valid JSON"
            raise ValueError(message) from None
        if not isinstance(written, dict) or _FORMAT not in written:
            message = "is not a calibration; make one with groundwarden calibrate"
            raise ValueError(message)
        if written[_FORMAT] != _VERSION:
            message = f"has a version that cannot be read here, where only {_VERSION} can; make it anew"
            raise ValueError(message)
        _only(written, (_FORMAT, "scorer", "grounding", "relevance"))
        scorer = written.get("scorer")
        if not isinstance(scorer, str):
            message = "scorer must be text"
            raise ValueError(message)  # noqa: TRY004 - a wrong file, not a wrong call
        return cls(scorer=scorer, grounding=_curve(written, "grounding"), relevance=_curve(written, "relevance"))


def _written(curve: Curve) -> dict[str, Any] | None:
    if curve == IDENTITY:
        return None
    knots = [list(knot) for knot in curve.knots]
    return {"method": curve.method, "rows": curve.rows, "positives": curve.positives, "knots": knots}


def _curve(written: dict[str, Any], name: str) -> Curve:
    """Read one check's map; null is the identity."""
    value = written.get(name)
    if value is None:
        return IDENTITY
    if not isinstance(value, dict):
        message = f"{name} must be a mapping or null"
        raise ValueError(message)  # noqa: TRY004 - as above
    _only(value, ("method", "rows", "positives", "knots"))
    method, rows, positives = (value.get(key) for key in ("method", "rows", "positives"))
    if not (isinstance(method, str) and type(rows) is int and type(positives) is int):
        message = f"{name} must have a method and how many rows and positives it was fitted on"
        raise ValueError(message)
    try:
        return Curve(knots=_knots(value.get("knots")), method=method, rows=rows, positives=positives)
    except ValueError as error:
        message = f"{name}.{error}"
        raise ValueError(message) from None


def _knots(value: Any) -> Knots:
    pairs = value if isinstance(value, list) else []
    numbers = [tuple(pair) for pair in pairs if isinstance(pair, list) and len(pair) == 2]  # noqa: PLR2004 - a pair
    if not pairs or len(numbers) < len(pairs) or not all(map(_in_range, (part for pair in numbers for part in pair))):
        message = "knots must be a list of pairs of numbers between 0 and 1"
        raise ValueError(message)
    return tuple((float(score), float(calibrated)) for score, calibrated in numbers)


def _in_range(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _only(written: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise ``ValueError`` for a key that is not known: it may be what was meant to matter."""
    if not set(written) <= set(known):
        message = f"has a key that is not known; the keys are {', '.join(known)}"
        raise ValueError(message)
