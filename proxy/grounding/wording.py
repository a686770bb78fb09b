"""A claim's values in the evidence's own writing: "1500 km" beside "1,500 kilometres" is read as that.

An encoder compares words, and two ways to write one number are two words to it. Whether values mean the same is known
exactly here (``values``), so it need not guess. A value that the evidence lacks stays as it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.grounding.values import TOKEN, values_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.grounding.values import Value


def worded_as(claim: str, evidence: str) -> str:
    """The claim with every value that ``evidence`` has too written as it is written there."""
    mine = list(_written(claim))
    if not mine:
        return claim
    theirs = list(_written(evidence))
    known = {text for _, text, _ in theirs}
    out, done = [], 0
    for value, text, (start, end) in mine:
        same = next((other for found, other, _ in theirs if _mean_the_same(value, found)), None)
        if same is not None and text not in known:
            out += [claim[done:start], same]
            done = end
    return "".join([*out, claim[done:]])


def _written(text: str) -> Iterator[tuple[Value, str, tuple[int, int]]]:
    """The values of a text, each as it is written and where."""
    tokens = list(TOKEN.finditer(text))
    for value in values_in([token.group() for token in tokens]):
        span = tokens[value.start].start(), tokens[value.end - 1].end()
        if value.counts and value.upto is None:
            yield value, text[span[0] : span[1]], span


def _mean_the_same(one: Value, other: Value) -> bool:
    """Whether two values of one kind carry each other: a date without its year is not the whole date."""
    if one.family != other.family:
        return False
    return not set(one.asks).isdisjoint(other.offers) and not set(other.asks).isdisjoint(one.offers)
