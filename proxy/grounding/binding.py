"""Which evidence counts for a claim: its nearest sentences, alone and composed, then whole windows.

A small encoder is surest of a short premise: the very sentence that a claim repeats may be lost on it among the others
of its window. So the sentences nearest to the claim are scored first: each alone, the nearest with its neighbours, and
those together that between them hold most of the claim's words, wherever they stand. Windows follow where those do not
settle it.

And it matches words, not which word belongs to which: from "London is the capital of UK. Tokyo is the capital of
Japan." it calls "The capital of Japan is London" supported. So where a claim reads like one sentence of the source with
a single name or number exchanged for one found elsewhere, a single sentence must support it, and not the mixture. This
file only chooses the evidence; the scorer judges it, and an honest paraphrase of one sentence keeps its score.

A table's row is read with the names of its columns, and composed with others only if the claim names its subject: "The
Basic plan has phone support" is not shown by the row of Basic and that of another plan.

A source's attributes stand beside a text of it where the claim speaks of them, and nowhere else: "Wikipedia says that
..." needs the author, and no other claim is read more surely with it.

It knows words and spans, and neither scores nor thresholds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.asked import is_question, last_read_with
from proxy.grounding.claims import segments
from proxy.grounding.cutting import is_rule
from proxy.grounding.evidence import MOST_OF_VALUE
from proxy.grounding.rows import Read
from proxy.grounding.types import Source, Window
from proxy.grounding.words import terms, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from proxy.grounding.rows import Rows

SENTENCES = 4
"""Single sentences scored for a claim, the nearest first."""

COMPOSED = 4
"""Most sentences that are put together to one premise."""

WINDOWS = 2
"""Whole windows scored for a claim, the likeliest first."""

_WORTH = 0.12
"""Share of the claim's words, by weight, that a sentence must add to be worth composing."""

_GAP = 8
"""Characters that may lie between sentences that follow each other: white space, a list's mark."""

_LONGEST_NAME = 3  # words
_SHARE_OF_FRAME = 0.7
"""How much of its other words one must share with the other to count as the same statement."""

_PRONOUN = re.compile(r"\W*(?:it|its|he|his|she|her|they|their|this|that|these|those)\b", re.IGNORECASE)
_REFERS = re.compile(r"\b(?:it|its|he|his|him|she|her|they|their|them)\b", re.IGNORECASE)
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A premise: one stretch of a source, or several in the order in which they stand.

    ``text`` is what the scorer reads; ``written``, what exact checks read of it where that is another text: table rows
    as they stand, under their header.
    ``sentence`` is true for a single sentence, with the one before it if it opens with a pronoun.
    """

    parts: tuple[Window, ...]
    text: str
    written: str = ""
    sentence: bool = False

    @classmethod
    def of(
        cls,
        windows: Iterable[Window],
        said: Mapping[int, str] | None = None,
        reads: Mapping[Window, Read] | None = None,
        *,
        sentence: bool = False,
    ) -> Piece:
        """These stretches, in the order in which they stand, as they are written, or as ``reads`` has them.

        ``said`` is what is said of their sources, by number; it is read behind the last stretch of each.
        """
        parts = tuple(sorted(windows, key=_place))
        last = {part.source: at for at, part in enumerate(parts)}
        besides = {last[number]: f" ({text})" for number, text in (said or {}).items() if number in last}
        found = [(reads or {}).get(part) or Read.verbatim(part.text) for part in parts]
        told = [each.told + besides.get(at, "") for at, each in enumerate(found)]
        written = [each.written + besides.get(at, "") for at, each in enumerate(found)]
        for at, header in enumerate(each.header for each in found):
            if header and not (at and found[at - 1].header == header):
                written[at] = f"{header}\n{written[at]}"
        between = "\n" if any(each.header for each in found) else " "
        text, as_written = between.join(told), between.join(written)
        return cls(parts, text, "" if as_written == text else as_written, sentence)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence, or a table's row, of which ``subject`` is what it is about."""

    window: Window
    read: Read
    words: frozenset[str]
    values: frozenset[str]
    opens_with_pronoun: bool
    subject: frozenset[str] | None = None


def spoken_of(claim: str, windows: Iterable[Window], sources: Sequence[Source]) -> dict[int, str]:
    """The attributes that ``claim`` speaks of, of the sources of these windows, as they are read behind their text.

    An attribute is spoken of by a word of its value, or by its name, which is then told too.
    """
    words = frozenset(terms(claim))
    numbers = dict.fromkeys(window.source for window in windows)
    told = {number: ", ".join(_attributes(sources[number], words)) for number in numbers if number < len(sources)}
    return {number: text for number, text in told.items() if text}


def _attributes(source: Source, words: frozenset[str]) -> Iterator[str]:
    for called, whole in source.attributes:
        name, value = called[:MOST_OF_VALUE], whole[:MOST_OF_VALUE].strip()
        if value and words.intersection(terms(name)):
            yield f"{name}: {value}"
        elif words.intersection(terms(value)):
            yield value


def evidence_for(
    claim: str, windows: Sequence[Window], rows: Rows, said: Mapping[int, str] | None = None
) -> tuple[list[Piece], list[Piece]]:
    """What may support ``claim``: the sentences nearest to it, and the windows to ask if they do not.

    ``windows`` come likeliest first; ``rows`` are those of their sources, and ``said`` is what ``spoken_of`` gives.
    Neither windows nor composed sentences when the claim looks like a mixture: no sentence holds all of its names and
    numbers, but one holds all save one, with mostly the same other words and another value in its place, and the
    missing value is in another one. Nor that other one, where it shares less of the claim's words: "Acme was founded by
    Lee" beside "Acme was founded by Ann. Ann was followed by Lee.".
    """
    names = _names(window.text for window in windows)
    sentences = _sentences(windows, names, said or {}, rows)
    words = frozenset(terms(claim))
    reads = {window: rows.read(window, words) for window in windows[:WINDOWS]}
    reads |= {sentence.window: sentence.read for sentence in sentences}
    weights = _weights(words, sentences)
    nearest = sorted(sentences, key=lambda sentence: -_nearness(words, sentence, weights))
    ordered = sorted((sentence.window for sentence in sentences), key=_place)
    lenders = _lenders(words, _values(words, names), sentences)
    kept = [sentence for sentence in nearest if sentence not in (lenders or ())]
    pieces = [Piece.of(_with_referent(one, ordered), said, reads, sentence=True) for one in kept[:SENTENCES]]
    if lenders is not None:
        return pieces, []
    together = (_with_neighbours(nearest, ordered), _composed(words, nearest, weights))
    pieces += [Piece.of(each, said, reads) for each in together if len(each) > 1]
    first = list({piece.text: piece for piece in pieces}.values())
    asked = {piece.text.strip() for piece in first}
    whole = [Piece.of([window], said, reads) for window in windows[:WINDOWS]]
    return first, [piece for piece in whole if piece.text.strip() not in asked]


def _weights(words: frozenset[str], sentences: Sequence[_Sentence]) -> dict[str, float]:
    """How telling each of the claim's words is: the rarer among the sentences (Robertson and Sparck Jones 1976)."""
    found = Counter(word for sentence in sentences for word in words & sentence.words)
    return {word: math.log(1 + (len(sentences) + 1) / (found[word] + 0.5)) for word in words}


def _nearness(words: frozenset[str], sentence: _Sentence, weights: dict[str, float]) -> float:
    """The weight of the claim's words that a sentence holds, a little less for what else it says."""
    return sum(weights[word] for word in words & sentence.words) / (len(words) + 0.3 * len(sentence.words) + 1)


def _with_referent(sentence: _Sentence, ordered: Sequence[Window]) -> list[Window]:
    """A sentence, after the one before it if it opens with a pronoun: alone it would speak of whom the claim names."""
    at = ordered.index(sentence.window)
    if at and sentence.opens_with_pronoun and _adjoin(ordered[at - 1], sentence.window):
        return [ordered[at - 1], sentence.window]
    return [sentence.window]


def _with_neighbours(nearest: Sequence[_Sentence], ordered: Sequence[Window]) -> list[Window]:
    """The nearest sentence between the one before it and the one after it: what "it" and "there" stand for."""
    if not nearest or nearest[0].subject is not None:
        return []
    at = ordered.index(nearest[0].window)
    before = [window for window in ordered[max(0, at - 1) : at] if _adjoin(window, ordered[at])]
    after = [window for window in ordered[at + 1 : at + 2] if _adjoin(ordered[at], window)]
    return [*before, ordered[at], *after]


def _adjoin(one: Window, other: Window) -> bool:
    """Whether nothing but white space and marks can stand between the two."""
    return one.source == other.source and 0 <= other.start - one.end <= _GAP


def _place(window: Window) -> tuple[int, int]:
    return window.source, window.start


def _composed(words: frozenset[str], nearest: Sequence[_Sentence], weights: dict[str, float]) -> list[Window]:
    """Sentences of the nearest one's source that hold most of the claim's words between them: each adds to the rest.

    None that opens with a pronoun: without the sentence before it, it would speak of whom the claim names. None of
    another source: two documents may speak of different things in the same words. And no row of a table whose first
    cell the claim does not name.
    """
    whole, left = sum(weights.values()), words
    chosen: list[Window] = []
    allowed = [each for each in nearest if each.window.source == nearest[0].window.source]
    allowed = [each for each in allowed if each.subject is None or each.subject & words]
    while left and len(chosen) < COMPOSED:
        usable = [each for each in allowed if not (chosen and each.opens_with_pronoun)]
        gains = [sum(weights[word] for word in left & sentence.words) for sentence in usable]
        most = max(gains, default=0.0)
        if most < _WORTH * whole:
            break
        sentence = usable[gains.index(most)]
        if sentence.opens_with_pronoun:
            break  # it is read with its neighbours
        chosen.append(sentence.window)
        left -= sentence.words
    return chosen


def _lenders(words: frozenset[str], values: frozenset[str], sentences: Sequence[_Sentence]) -> list[_Sentence] | None:
    """The sentences that a mixture has its odd value from, and less else than elsewhere; None if it is no mixture."""
    if len(values) < 2 or any(values <= sentence.words for sentence in sentences):  # noqa: PLR2004 - a pair to mix
        return None
    frame = words - values
    found: list[_Sentence] | None = None
    for sentence in sentences:
        missing = values - sentence.words
        if _lacks_one(sentence, missing, values) and _same_statement(frame, sentence):
            shared = len(frame & sentence.words)
            holders = [other for other in sentences if other is not sentence and missing <= other.words]
            if holders:
                found = [*(found or ()), *(other for other in holders if len(frame & other.words) < shared)]
    return found


def _lacks_one(sentence: _Sentence, missing: frozenset[str], values: frozenset[str]) -> bool:
    """Whether a sentence lacks one number or name of a claim and has another where that would stand."""
    figures = {value[0].isdigit() for value in missing}
    if len(figures) != 1 or len(missing) > (1 if True in figures else _LONGEST_NAME):
        return False
    if False in figures and (sentence.opens_with_pronoun or _REFERS.search(sentence.window.text)):
        return False  # the missing name may be what the pronoun stands for
    return any(other[0].isdigit() in figures for other in sentence.values - values)


def _same_statement(frame: frozenset[str], sentence: _Sentence) -> bool:
    """Whether claim and sentence say most of the same beside their values; either may be wrapped in more words."""
    own = sentence.words - sentence.values
    shared = len(frame & own)
    return shared >= _SHARE_OF_FRAME * min(len(frame), len(own))


def _sentences(
    windows: Iterable[Window], names: frozenset[str], said: Mapping[int, str], rows: Rows
) -> list[_Sentence]:
    """Each sentence of the windows once, though windows overlap and sources repeat themselves.

    Said by two sources of which different things are said, it counts twice.

    A question states nothing, so it is read together with what follows it: "Is it safe? No. Wash it by hand."
    """
    found: dict[tuple[str, str], _Sentence] = {}
    for window in windows:
        besides = said.get(window.source, "")
        for stretch, row in rows.cut(window):
            if row is None:
                stated = [(span, Read.verbatim(span.text)) for span in _stated(stretch)]
            else:  # a header states nothing
                stated = [] if row.is_header else [(stretch, Read(row.told, stretch.text, row.header))]
            for span, read in stated:
                if read.told and (read.told, besides) not in found:
                    words = frozenset(terms(read.told) + terms(besides))
                    found[read.told, besides] = _Sentence(
                        window=span,
                        read=read,
                        words=words,
                        values=_values(words, names),
                        opens_with_pronoun=_PRONOUN.match(read.told) is not None,
                        subject=row.subject if row else None,
                    )
    return list(found.values())


def _stated(stretch: Window) -> Iterator[Window]:
    """The sentences of a stretch, questions with what they are read with."""
    spans = segments(stretch.text)
    texts = [stretch.text[slice(*span)] for span in spans]
    for at, (start, _) in enumerate(spans):
        text = stretch.text[start : spans[last_read_with(texts, at)][1]].strip()
        if text and not is_question(text):
            begin = stretch.start + stretch.text.index(text, start)
            yield Window(source=stretch.source, start=begin, end=begin + len(text), text=text)


def _values(words: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    """The numbers and names among folded words, however the names are written there."""
    return frozenset(word for word in words if word[0].isdigit() or word in names)


def _names(texts: Iterable[str]) -> frozenset[str]:
    """Folded words that the source writes with a capital and never without; a claim may write them small.

    The header of a table names its columns and nothing else: "Plan" over "Pro" is no name.
    """
    words = [word for text in texts for word in _WORD.findall(_without_headers(visible(text)))]
    capital = {word.lower() for word in words if word[0].isupper()} - {word for word in words if word.islower()}
    return frozenset(folded for word in capital for folded in terms(word))


def _without_headers(text: str) -> str:
    """A text without the lines that head a table."""
    lines = text.split("\n")
    below = [*lines[1:], ""]
    return "\n".join(line for line, under in zip(lines, below, strict=True) if "|" not in line or not is_rule(under))
