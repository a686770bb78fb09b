"""An answer read as claims: cut, typed, and each with what it must be read with.

Rules of this file
- A claim is its segment (``cutting``) without the white space around it, so ``claim.text == answer[claim.start:
  claim.end]``.
- A claim's kind (``kinds``) depends on its own text, on the request (the query) and on earlier text; its context
  (``reading``) on earlier text. Neither depends on later text, so a stream and a whole answer are read alike; but a
  lead-in ("The box contains:") is held back until the next claim shows whether it announces a list that is judged with
  it, or asserts something.
- What an answer is that asserts nothing is decided at its end: see ``settled``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from proxy.grounding.asked import Asked
from proxy.grounding.cutting import MAX_CLAIM_CHARS, Segmenter, segments
from proxy.grounding.kinds import is_assent, kind_for
from proxy.grounding.labels import is_label, is_list_item
from proxy.grounding.reading import Earlier, hypothesis, is_fragment, is_in_table, statement
from proxy.grounding.types import Claim, ClaimKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ClaimReader",
    "hypothesis",
    "is_fragment",
    "is_in_table",
    "segments",
    "settled",
    "split_claims",
    "statement",
]


class ClaimReader:
    """Reads an answer as it arrives. Any cutting of the input gives the same claims.

    ``feed`` returns the claims that closed, ``close`` the rest. When the answer has ended, ``settled`` says which of
    those that were not to be judged are after all.
    """

    def __init__(self, query: str | None = None) -> None:
        self._asked = Asked(query)
        self._segmenter = Segmenter()
        self._earlier = Earlier()
        self._text = ""  # what is in no segment yet
        self._offset = 0  # of that, in the whole text
        self._count = 0
        self._wordless = ""  # what stands before the first claim, from its first mark on, and where that is
        self._wordless_at = 0
        self._lead_in: Claim | None = None  # what may only announce the next claim

    def feed(self, piece: str) -> list[Claim]:
        """Add text; return the claims that it closed."""
        self._text += piece
        return self._read(self._segmenter.feed(piece))

    def close(self) -> list[Claim]:
        """Return the claims that are left. An answer without a word is one claim: a bare plus or dash may say yes."""
        claims = [*self._read(self._segmenter.close()), *self._led_in(None)]
        if self._count or not self._wordless:
            return claims
        text, begin = self._wordless.strip()[:MAX_CLAIM_CHARS], self._wordless_at
        return [Claim(index=0, start=begin, end=begin + len(text), text=text)]

    def _read(self, spans: Iterable[tuple[int, int]]) -> list[Claim]:
        claims: list[Claim] = []
        end = self._offset
        for start, end in spans:
            segment = self._text[start - self._offset : end - self._offset]
            claim = _claim(self._count, start, segment, self._asked)
            if claim is None:
                self._skip(start, segment)
            else:
                claims += self._led_in(placed := self._earlier.place(claim, segment))
                self._count += 1
                if placed.kind is ClaimKind.HEADING and not is_label(placed.text, self._asked):
                    self._lead_in = placed
                else:
                    claims.append(placed)
        self._text, self._offset = self._text[end - self._offset :], end
        return claims

    def _led_in(self, item: Claim | None) -> list[Claim]:
        """The lead-in that was held back, now that the claim after it is known: None at the end of the answer."""
        lead_in, self._lead_in = self._lead_in, None
        if lead_in is None:
            return []
        lists = item is not None and item.needs_check and is_list_item(item.text)
        listed = lists and item is not None and statement(lead_in) in item.context
        return [lead_in if listed else replace(lead_in, kind=ClaimKind.ASSERTION)]

    def _skip(self, start: int, segment: str) -> None:
        self._earlier.skip(segment)
        if self._count or len(self._wordless) >= MAX_CLAIM_CHARS:
            return  # no more than a claim's length is judged of an endless row of dots
        if not self._wordless:
            marks = segment.lstrip()
            self._wordless_at = start + len(segment) - len(marks)
            segment = marks
        self._wordless += segment


def split_claims(answer: str, *, query: str | None = None, refusal: str = "") -> tuple[Claim, ...]:
    """Claims of a whole answer, in order, typed and settled. White space alone is no claim."""
    reader = ClaimReader(query)
    return settled(reader.feed(answer) + reader.close(), query=query, refusal=refusal, length=len(answer))


def settled(claims: Sequence[Claim], *, query: str | None, refusal: str = "", length: int = 0) -> tuple[Claim, ...]:
    """All claims of an answer that has ended, of ``length`` characters, as they are judged.

    Assent opens many answers and says nothing, and so does a heading. Where nothing else is asserted, assent may be the
    answer to a query; and so may a heading, where nothing is left open either. They are judged then. What the provider
    itself marked as a ``refusal``, beside the text, is an abstention, whatever it says; its span is empty.
    """
    if refusal.strip():
        marked = Claim(index=len(claims), start=length, end=length, text=refusal.strip(), kind=ClaimKind.ABSTENTION)
        return (*settled(claims, query=query), marked)
    if any(claim.needs_check for claim in claims):
        return tuple(claims)
    bare = all(claim.kind in {ClaimKind.COURTESY, ClaimKind.HEADING} for claim in claims)
    return tuple(
        replace(claim, kind=ClaimKind.ASSERTION)
        if (bare and claim.kind is ClaimKind.HEADING)
        or (query and claim.kind is ClaimKind.COURTESY and is_assent(claim.text))
        else claim
        for claim in claims
    )


def _claim(index: int, start: int, segment: str, asked: Asked) -> Claim | None:
    """The claim in one segment that begins at ``start``, without context; None when the segment is only marks."""
    text = segment.strip()
    if not any(map(_says_something, text)):
        return None
    begin = start + segment.index(text)
    return Claim(index=index, start=begin, end=begin + len(text), text=text, kind=kind_for(text, asked))


def _says_something(character: str) -> bool:
    """Letters, digits and symbols: a bare tick can be an answer. Plain ASCII marks rule lines and tables."""
    return character.isalnum() or (not character.isascii() and unicodedata.category(character).startswith("S"))
