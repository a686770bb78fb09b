"""Asking again: how often, after which failures, and how long to wait in between."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proxy.grounding.errors import UpstreamError

FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
LONGEST_ASKED_WAIT = 60.0
"""Seconds: before the first repetition, the most that doubling leads to, the most that a Retry-After may ask."""

_SECONDS = re.compile(r"[0-9]{1,9}")  # Python reads no number of some thousand digits
_RETRIED = frozenset({408, 409, 429})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that failed before any of a success had arrived."""

    error: UpstreamError
    retryable: bool = False


def is_retryable(status: int) -> bool:
    """Return whether the upstream's own ``status`` is one that may pass: 408, 409, 429 and from 500 up."""
    return status in _RETRIED or status >= 500  # noqa: PLR2004 - HTTP's own range


async def persist(attempt: Callable[[], Awaitable[T | Failure]], max_retries: int) -> T:
    """Make the attempt until it succeeds; raise its error when it may not be repeated, or no longer."""
    for made in count():
        outcome = await attempt()
        if not isinstance(outcome, Failure):
            return outcome
        if not outcome.retryable or made >= max_retries:
            raise outcome.error
        await asyncio.sleep(_wait(made, outcome.error.retry_after))
    raise AssertionError  # count() has no end


def _wait(made: int, retry_after: str | None) -> float:
    """Return seconds to wait: as asked if that is short, else doubling, with jitter."""
    if retry_after is not None and _SECONDS.fullmatch(retry_after) and int(retry_after) <= LONGEST_ASKED_WAIT:
        return float(retry_after)
    longest: float = min(FIRST_WAIT * 2**made, LONGEST_WAIT)
    return longest * random.uniform(0.75, 1.0)  # noqa: S311 - spreads load, keeps no secret
