"""An answer without the claims that its sources do not support: a mark stands in the place of each.

Spans are in characters of the answer as the model wrote it. Claims that follow one another share one mark, and what
lies between them (a space, a line's end) goes with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxy.grounding.types import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proxy.grounding.types import Claim, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One stretch of an answer that does not leave."""

    start: int
    end: int


def removals(text: str, claims: Iterable[Claim]) -> list[Removal]:
    """The stretches that claims take up in ``text``, in order; none touches another."""
    found: list[Removal] = []
    for claim in sorted(claims, key=lambda claim: claim.start):
        if found and not text[found[-1].end : claim.start].strip():
            found[-1] = replace(found[-1], end=max(found[-1].end, claim.end))
        else:
            found.append(Removal(start=claim.start, end=claim.end))
    return found


def without(piece: str, begin: int, gone: Sequence[Removal], mark: str) -> str:
    """A piece of an answer, which begins there at ``begin``, less what is gone.

    The pieces of an answer give together what the whole gives: each mark stands in the piece where its stretch begins.
    """
    kept, at, end = [], begin, begin + len(piece)
    for removal in gone:
        if removal.end <= begin or removal.start >= end:
            continue
        kept.append(piece[at - begin : max(at, removal.start) - begin])
        if removal.start >= begin:
            kept.append(mark)
        at = min(end, removal.end)
    return "".join([*kept, piece[at - begin :]])


def redacted(text: str, claims: Iterable[Claim], mark: str) -> str:
    """A whole answer without ``claims``."""
    return without(text, 0, removals(text, claims), mark)


def blocked_instead(verdict: Verdict) -> Verdict:
    """A verdict on an answer that should leave redacted and cannot: nobody here can take a claim out of it."""
    return replace(verdict, outcome=Outcome.BLOCKED, removed=(), bypasses=())
