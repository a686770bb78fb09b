"""What follows a claim that the sources do not support: why it is not, and how the answer would be right.

Both come from a language model, and neither is believed: a correction is judged as any answer is, and leaves only if
every claim in it is grounded.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, TypeAlias

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.verdict import unsupported
from proxy.scoring.base import Revision, UnsupportedClaim

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from proxy.grounding.types import ClaimResult, GroundingContext, Rule, Verdict
    from proxy.scoring.base import Reviser

_log = logging.getLogger("groundwarden")

Told: TypeAlias = "Mapping[int, Revision | None]"
"""What a model said of claims, by their index."""

REVISE_SECONDS = 60.0
"""What asking about all claims of one answer may take; those not answered by then have no revision."""

_BLANK = " \t"
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣]|\d{1,3}[.)])[ \t]+")  # of a list item: no part of what it says


def unscored(verdict: Verdict) -> list[ClaimResult]:
    """The claims that could not be scored, in their order."""
    return [result for result in verdict.claims if result.failed is not None]


class Editor:
    """Asks a language model about claims. ``model`` is who is asked when a request names none."""

    def __init__(self, reviser: Reviser) -> None:
        self._reviser = reviser
        self.model = reviser.model

    async def ask(
        self, model: str, results: Sequence[ClaimResult], context: GroundingContext, *, reason: bool, rewrite: bool
    ) -> Told:
        """A revision of each claim, of which there is at least one; None where none came in time that can be used."""
        asking = [
            asyncio.create_task(self._reviser.revise(model, _as_shown(result, context), reason=reason, rewrite=rewrite))
            for result in results
        ]
        try:
            await asyncio.wait(asking, timeout=REVISE_SECONDS)
        finally:
            for task in asking:
                task.cancel()
            outcomes = await asyncio.gather(*asking, return_exceptions=True)
        return {result.claim.index: _usable(outcome) for result, outcome in zip(results, outcomes, strict=True)}


def _as_shown(result: ClaimResult, context: GroundingContext) -> UnsupportedClaim:
    """What is shown of an ungrounded claim."""
    claim = result.claim
    return UnsupportedClaim(
        statement=claim.text[_marked(claim.text, 0, len(claim.text)) :],
        context=claim.context,
        query=context.query or "",
        sources=tuple(source.text for source in context.sources),
        passages=tuple(dict.fromkeys(found.window.text for found in result.evidence)),
    )


def _usable(outcome: Revision | BaseException) -> Revision | None:
    if isinstance(outcome, Revision):
        return outcome
    if isinstance(outcome, ScoringError | Overloaded):
        _log.warning("a claim could not be explained or corrected: %s", outcome.message)
    elif isinstance(outcome, asyncio.CancelledError):
        _log.warning("a claim could not be explained or corrected in %s s", REVISE_SECONDS)
    else:
        raise outcome
    return None


async def corrected(
    answer: str,
    results: Iterable[ClaimResult],
    told: Told,
    rule: Rule,
    judge: Callable[[str], Awaitable[Verdict]],
) -> str | None:
    """The answer with each of ``results`` rewritten as it was told, once ``judge`` finds all of it grounded.

    None when that cannot be had. What is still not grounded after the rewriting is left out, and the rest judged once
    more. A claim that nobody rewrote, or that cannot be scored, is no grounded one, and an answer of which nothing is
    left is no correction; nor is one that was not looked into, as too long a one is not.
    """
    edits: list[tuple[int, int, str]] = []
    for result in results:
        revision = told.get(result.claim.index)
        if revision is None or revision.rewritten is None:
            return None
        edits.append((result.claim.start, result.claim.end, revision.rewritten))
    text = edited(answer, edits)
    for may_leave_out in (True, False):
        if not text.strip():
            return None
        try:
            verdict = await judge(text)
        except Overloaded:
            return None
        if not verdict.claims or unscored(verdict):
            return None
        found = unsupported(verdict.claims, rule)
        if not found:
            return text
        if may_leave_out:
            text = edited(text, ((result.claim.start, result.claim.end, "") for result in found))
    return None


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """``text`` with each span replaced, a list item's marker kept; one replaced by nothing leaves no gap behind.

    Spans are in characters and do not overlap.
    """
    pieces: list[str] = []
    at, left_out = 0, False
    for start, end, new in sorted(edits):
        words = " ".join(new.split())
        if words:
            pieces += (text[at : _marked(text, start, end)], words)
            at = end
        else:
            pieces.append(text[at:start])
            at, left_out = _past(text, start, end), True
    pieces.append(text[at:])
    return "".join(pieces).strip() if left_out else "".join(pieces)


def _marked(text: str, start: int, end: int) -> int:
    """Where what a claim says begins: behind its list item's marker, if it has one."""
    marker = _MARKER.match(text, start, end)
    return marker.end() if marker else start


def _past(text: str, start: int, end: int) -> int:
    """Where the text goes on after a span that is left out: without the blanks behind it, or its line if all is."""
    while text[end : end + 1] in {*_BLANK}:
        end += 1
    begins = start == 0 or text[start - 1] == "\n"
    return end + 1 if begins and text[end : end + 1] == "\n" else end
