"""A claim's values in the evidence's own writing: "1500 km" beside "1,500 kilometres" is read as that.

An encoder compares words, and two ways to write one number are two words to it. Whether values mean the same is known
exactly here (``values``), so it need not guess; and so are the few names of states with one short form. What the
evidence lacks stays as it is written. Linear in both texts.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from proxy.grounding.values import TOKEN, values_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.grounding.numerals import Key
    from proxy.grounding.values import Value

_ALIASES = tuple(
    re.compile(rf"(?<![\w.$-])(?:{forms})(?![\w$]|-\w)")
    for forms in (r"United States|U\.S\.A?\.?|USA?", r"United Kingdom|U\.K\.?|UK", r"European Union|E\.U\.?|EU")
)


_NEXT_WORD = re.compile(r"\s+([^\W\d_]{2,})")
_PLAIN = ("", "date")  # families of a number alone, and of one that may be a year


class Written:
    """A text and its values as it writes them, read once for whatever it is put beside."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def values(self) -> tuple[_Written, ...]:
        """What is stated, in order."""
        return tuple(_written(self.text))

    def worded_as(self, evidence: Written) -> str:
        """The text with every value that ``evidence`` has too written as it is written there, and such names."""
        claim = _with_values(self, evidence) if self.values else self.text
        return claim if claim.isupper() else _with_names(claim, evidence.text)


def worded_as(claim: str, evidence: str) -> str:
    """``Written.worded_as`` for two texts that are read for this alone."""
    return Written(claim).worded_as(Written(evidence))


def _with_values(mine: Written, evidence: Written) -> str:
    claim, theirs = mine.text, evidence.values
    known = {text for _, text, _ in theirs}
    counted = _counted(evidence)
    first: dict[tuple[str, Key, Key], tuple[int, str]] = {}
    for place, (value, text, _) in enumerate(theirs):
        for offered in value.offers:
            for asked in value.asks:
                first.setdefault((_sort(value), offered, asked), (place, text))
    out, done = [], 0
    for value, text, (start, end) in mine.values:
        if text in known:
            continue
        pairs = ((_sort(value), asked, offered) for asked in value.asks for offered in value.offers)
        same = min((first[pair] for pair in pairs if pair in first), default=None)
        written = same[1] if same is not None else _same_count(mine, value, end, counted)
        if written is not None:
            out += [claim[done:start], written]
            done = end
    return "".join([*out, claim[done:]])


def _sort(value: Value) -> str:
    """The family, but that "9 h" may be a clock's time or so many hours, and "neuf heures" is read as hours alone."""
    return "duration" if value.family == "clock" else value.family


def _counted(text: Written) -> dict[tuple[Key, str], str]:
    """How a text writes each number that counts something, by the number and the word behind it."""
    found: dict[tuple[Key, str], str] = {}
    for value, written, (_, end) in text.values:
        word = _NEXT_WORD.match(text.text, end)
        if word and value.family in _PLAIN:
            for key in value.asks:
                found.setdefault((key, word[1].casefold()), written)
    return found


def _same_count(claim: Written, value: Value, end: int, counted: Mapping[tuple[Key, str], str]) -> str | None:
    """The number as the evidence writes it before the same word: "1500 people" could be a year, "1,500 people" not."""
    word = _NEXT_WORD.match(claim.text, end)
    if word is None or value.family not in _PLAIN:
        return None
    return next((counted[key, word[1].casefold()] for key in value.asks if (key, word[1].casefold()) in counted), None)


def _with_names(claim: str, evidence: str) -> str:
    """The claim with "US", "U.S." and the like as the evidence writes them, where that does so in one way."""
    for alias in _ALIASES:
        if alias.search(claim):
            forms = {found.group() for found in alias.finditer(evidence)}
            if len(forms) == 1:
                form = forms.pop()
                claim = re.sub(alias.pattern + r"\.?" * form.endswith("."), form, claim)
    return claim


_Written = tuple["Value", str, tuple[int, int]]
"""A value, as it is written and where."""


def _written(text: str) -> Iterator[_Written]:
    """The values of a text. Two mean the same if each carries the other: a date without its year is no whole date."""
    tokens = list(TOKEN.finditer(text))
    for value in values_in([token.group() for token in tokens]):
        span = tokens[value.start].start(), tokens[value.end - 1].end()
        if value.counts and value.upto is None:
            yield value, text[span[0] : span[1]], span
