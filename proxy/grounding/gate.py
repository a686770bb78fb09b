"""The gate of one streamed answer: how much of its text may leave, given what is known of its claims so far.

No clock, no network, no scorer: text goes in, claims that closed come out to be scored, results go in, in any order.
The outcome is that of the whole answer, given the same results, because with ``aggregate: min`` one more claim can
only lower grounding, and with relevance the maximum over the claims one more can only raise it. So text waits

- until one assertion has been judged and does not block: what an answer is that asserts nothing is decided at its end;
- until one claim has proved relevant, where irrelevance may block;
- until every claim that it touches, and every claim before, has passed, where grounding may block.

A result that blocks alone stops the answer at once. Text is counted in characters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from proxy.grounding.claims import ClaimReader, settled
from proxy.grounding.types import ClaimResult
from proxy.grounding.verdict import blocks_alone, decide, must_check, proves_relevant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.grounding.types import Claim, Rule, Verdict
    from proxy.grounding.verdict import Terms

Release: TypeAlias = Literal["sentence", "buffer", "after"]
"""When text may leave: claim by claim, all at the end, or at once. A bad claim stops the answer in every mode."""


def needs_whole(rule: Rule) -> bool:
    """Whether what one claim's result means for the answer shows only at its end: in a mean, and where claims go."""
    return rule.aggregate == "mean" or rule.action == "redact"


class Gate:
    """One choice of a streamed answer.

    ``terms`` and ``query`` are those of ``verdict.decide`` and ``claims.split_claims``. Call ``feed`` for each piece of
    text and ``close`` at its end; both return claims to be scored, whose results go to ``settle``.
    """

    def __init__(self, terms: Terms, query: str | None, release: Release = "sentence") -> None:
        self._terms, self._query = terms, query
        self._release: Release = "buffer" if needs_whole(terms.grounding) else release
        self._reader = ClaimReader(query)
        self._claims: list[Claim] = []
        self._results: dict[int, ClaimResult] = {}
        self._length = self._read = 0
        self._passed = 0  # claims at the head that hold nothing back
        self._asserted = self._relevant = False
        self._closed = self._stopped = False

    def expect(self, characters: int) -> None:
        """Say that so many characters more have come, which will be fed in parts."""
        self._length += characters

    def feed(self, text: str) -> list[Claim]:
        """Add text; return the claims that it closed and that must be scored."""
        self._read += len(text)
        self._length = max(self._length, self._read)
        return self._add(self._reader.feed(text))

    def close(self, refusal: str = "", *, relevance_applies: bool = True) -> list[Claim]:
        """Say that the answer has ended; return what must be scored yet.

        ``refusal`` is what the provider marked as one. An answer that turns out to call tools need not be relevant.
        """
        self._closed = True
        self._terms = replace(self._terms, relevance_applies=self._terms.relevance_applies and relevance_applies)
        asked = {claim.index for claim in self._claims if self._must_check(claim)}
        claims = [*self._claims, *self._reader.close()]
        self._claims = list(settled(claims, query=self._query, refusal=refusal, length=self._length))
        self._passed = 0  # what held nothing back may have to be judged after all
        self._advance()
        return [claim for claim in self._claims if self._must_check(claim) and claim.index not in asked]

    def settle(self, result: ClaimResult) -> None:
        """Take the result of a claim that ``feed`` or ``close`` returned."""
        self._results[result.claim.index] = result
        self._stopped = self._stopped or blocks_alone(result, self._terms)
        self._relevant = self._relevant or proves_relevant(result, self._terms)
        self._asserted = self._asserted or result.claim.needs_check
        self._advance()

    @property
    def free(self) -> bool:
        """Whether nothing that is still to be found out can block the answer."""
        return not (self._grounding_blocks or self._relevance_blocks or self._terms.abstention == "block")

    @property
    def limit(self) -> int:
        """Characters, from the beginning, that may leave now; 0 while nothing may, not even what holds no text."""
        if self._stopped:
            return 0
        if self.free or self._release == "after":
            return self._length
        if not self._may_begin:
            return 0
        if not self._grounding_blocks:
            return self._length
        return self._claims[self._passed - 1].end if self._passed else 0

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the answer; None while it is open. After an early stop it knows only what was scored."""
        complete = self._closed and self._passed == len(self._claims)
        if not (complete or self._stopped):
            return None
        known = [result for claim in self._claims if (result := self._known(claim)) is not None]
        # What was not scored could still prove relevance: an early stop says nothing of it.
        applies = self._terms.relevance_applies and (complete or self._relevant)
        return replace(decide(known, replace(self._terms, relevance_applies=applies)), partial=not complete)

    @property
    def _may_begin(self) -> bool:
        """Whether only a claim's own result can still hold its text back."""
        return self._release != "buffer" and self._asserted and (self._relevant or not self._relevance_blocks)

    @property
    def _grounding_blocks(self) -> bool:
        return self._terms.grounding.action in {"block", "redact"}

    @property
    def _relevance_blocks(self) -> bool:
        return self._terms.relevance.action == "block" and self._terms.relevance_applies

    def _add(self, claims: Iterable[Claim]) -> list[Claim]:
        new = list(claims)
        self._claims += new
        self._advance()
        return [claim for claim in new if self._must_check(claim)]

    def _must_check(self, claim: Claim) -> bool:
        return must_check(claim, self._terms.abstention)

    def _known(self, claim: Claim) -> ClaimResult | None:
        return self._results.get(claim.index) if self._must_check(claim) else ClaimResult(claim=claim)

    def _advance(self) -> None:
        while self._passed < len(self._claims) and self._known(self._claims[self._passed]) is not None:
            self._passed += 1
