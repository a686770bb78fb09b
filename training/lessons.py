"""Answers as assistants write them, to questions as users ask them, sentence by sentence right or wrong.

The public sets hold claims made for checking; a guardrail meets "Only if it was approved in writing beforehand." and
"No, three weeks is too late.". ``lessons/*.jsonl`` holds made-up documents with such answers, most of them contrasts:
one thing changed in a good answer. Written for this; not taken from any data set, and no document of
``benchmarks/answers`` is among them.

Shape of a line: ``{"lang", "source", "questions": [{"query", "broad"?, "answers": [{"relevant", "sentences": [{"text",
"ok", "from"}]}]}]}``. ``broad``: whatever the source says is an answer ("Summarise the call."). ``relevant``: the
answer addresses the query. ``ok``: the source supports the sentence, and ``from`` are the parts of it that do, as they
stand there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sets import GROUNDING, RELEVANCE, Example

from proxy.grounding.binding import evidence_for
from proxy.grounding.claims import hypothesis, split_claims, statement
from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.facts import ReadText
from proxy.grounding.types import GroundingContext, Source, Window

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from proxy.grounding.binding import Piece
    from proxy.grounding.types import Claim

FILES = Path(__file__).parent / "lessons"
WINDOWS = 16
BROAD_SHARE = 0.3
"""Of the answers to broad questions: so many are shown as relevant. They teach little."""

PIECES = 2
"""Pieces of evidence that a claim is put beside, besides what was named as its support."""

_TOKEN = re.compile(r"[a-zA-Z]{1,8}|\d|[^\sa-zA-Z\d]")
"""About as many as a model's tokens."""

_UNSPACED = ("ja",)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One claim of an answer: how the scorer is asked about it, and whether, and by what, the source supports it."""

    claim: Claim
    asserted: str
    ok: bool
    support: tuple[str, ...]


def documents(langs: tuple[str, ...], folder: Path = FILES) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every document in these languages, with a name of its own."""
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            document = json.loads(line)
            if document["lang"] in langs:
                yield f"lessons-{path.stem}-{number}", document


def lessons(document: dict[str, Any], query: str, answer: dict[str, Any]) -> list[Lesson]:
    """The claims of an answer, cut and put as the product does."""
    between = "" if document["lang"] in _UNSPACED else " "
    spans, text = [], ""
    for sentence in answer["sentences"]:
        text += between if text else ""
        spans.append((len(text), len(text) + len(sentence["text"]), sentence))
        text += sentence["text"]
    found = []
    for claim in split_claims(text, query=query):
        held = [sentence for start, end, sentence in spans if start < claim.end and claim.start < end]
        if claim.needs_check and held:
            support = tuple(dict.fromkeys(part for sentence in held for part in sentence["from"]))
            ok = all(sentence["ok"] for sentence in held)
            found.append(Lesson(claim, hypothesis(claim, query), ok, support if ok else ()))
    return found


def pairs(rng: random.Random, langs: tuple[str, ...], kept_out: Callable[[str], bool]) -> Iterator[Example]:
    """Pairs of every document. Those kept out are put beside their whole source, as a fit wants them."""
    for group, document in documents(langs):
        index = EvidenceIndex(GroundingContext.of([Source(text=document["source"])], None), _token_spans)
        for question in document["questions"]:
            seen: set[tuple[str, bool]] = set()
            for answer in question["answers"]:
                told = lessons(document, question["query"], answer)
                for lesson in told:
                    if (lesson.asserted, lesson.ok) in seen:
                        continue  # answers that differ in one sentence share the others
                    seen.add((lesson.asserted, lesson.ok))
                    if kept_out(group):
                        label = int(lesson.ok)
                        yield Example(document["source"], lesson.asserted, label, GROUNDING, "lessons", group)
                    else:
                        yield from _grounding(rng, document["source"], index, lesson, group)
                yield from _relevance(rng, document, question, answer, told, group)


def _grounding(rng: random.Random, source: str, index: EvidenceIndex, lesson: Lesson, group: str) -> Iterator[Example]:
    """A supported claim beside what supports it, a false one beside what is nearest to it."""
    first, then = evidence_for(lesson.asserted, index.shortlist(lesson.asserted, WINDOWS), index.rows)

    def pair(premise: str, written: str, label: int) -> Example:
        asserted = ReadText(lesson.asserted).worded_as(ReadText(written or premise))
        return Example(premise, asserted, label, GROUNDING, "lessons", group)

    if not lesson.ok:
        for piece in [*first[:PIECES], *rng.sample([*first[PIECES:], *then], min(1, len(first[PIECES:] + then)))]:
            yield pair(piece.text, piece.written, 0)
        return
    starts = sorted((source.index(part), part) for part in lesson.support)
    spans = [(start, start + len(part)) for start, part in starts]
    parts = [Window(source=0, start=start, end=start + len(part), text=part) for start, part in starts]
    yield pair("\n".join(index.rows.read(part).told for part in parts), "", 1)
    holding = [piece for piece in [*first, *then] if _holds(piece, spans)]
    for piece in rng.sample(holding, min(PIECES, len(holding))):
        yield pair(piece.text, piece.written, 1)
    strange = [piece for piece in first if not any(_meets(piece, span) for span in spans)]
    if strange and rng.random() < 0.4:
        piece = rng.choice(strange)
        yield pair(piece.text, piece.written, 0)


def _holds(piece: Piece, spans: list[tuple[int, int]]) -> bool:
    """Whether a piece holds all of these stretches."""
    return all(any(part.start <= start and end <= part.end for part in piece.parts) for start, end in spans)


def _meets(piece: Piece, span: tuple[int, int]) -> bool:
    return any(part.start < span[1] and span[0] < part.end for part in piece.parts)


def _relevance(
    rng: random.Random,
    document: dict[str, Any],
    question: dict[str, Any],
    answer: dict[str, Any],
    told: list[Lesson],
    group: str,
) -> Iterator[Example]:
    """What is about the question, true or not, and what supports it; and what answers another one."""
    query = question["query"]

    def pair(text: str, label: int) -> Example:
        return Example(query, text, label, RELEVANCE, "lessons", group)

    if not told:
        return
    if question.get("broad"):
        if answer["relevant"] and rng.random() < BROAD_SHARE:
            yield pair(statement(told[0].claim), 1)
        return
    if not answer["relevant"]:
        yield from (pair(statement(lesson.claim), 0) for lesson in told)
        return
    yield pair(statement(told[0].claim), 1)
    support = [part for lesson in told[:1] for part in lesson.support if "|" not in part]
    if support:
        yield pair(rng.choice(support), 1)
    others = [
        sentence
        for other in document["questions"]
        for each in other["answers"]
        if other is not question and not other.get("broad") and each["relevant"]
        for sentence in each["sentences"][:1]
    ]
    if others:
        other = rng.choice(others)
        yield pair(other["text"], 0)
        foreign = [part for part in other["from"] if part not in support and "|" not in part]
        if foreign and rng.random() < 0.5:
            yield pair(rng.choice(foreign), 0)


def _token_spans(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _TOKEN.finditer(text)]
