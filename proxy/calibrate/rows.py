"""Reading labelled rows: one JSON object a line, each an answer (or its claims, or only a score) with its label.

::

    {"source": "…" | ["…"], "query": "…", "answer": "…", "supported": true, "relevant": true}
    {"source": "…", "claims": [{"text": "…", "supported": true}, {"text": "…", "supported": false}]}
    {"grounding": 0.83, "supported": true}        {"relevance": 0.4, "relevant": false}

``label`` (1 or 0) may stand for ``supported``, ``sources`` for ``source``. ``group`` names what belongs together; rows
with the same sources do without it. Other keys are not read. Everything wrong is a ``ValueError`` that names file,
line and field.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from proxy.files import readable
from proxy.grounding.types import CheckKind, GroundingContext, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

LABELS = {CheckKind.GROUNDING: "supported", CheckKind.RELEVANCE: "relevant"}
"""The field that says what a check should have found."""

_Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled answer. ``scores`` are those that came with the row; without any, ``context`` and ``answer`` tell.

    ``labels`` are of the whole answer: whether all of it is supported, whether any of it is relevant.
    """

    line: int
    group: str
    labels: Mapping[CheckKind, bool]
    scores: Mapping[CheckKind, float] = field(default_factory=dict)
    context: GroundingContext = field(default_factory=GroundingContext)
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The examples of a file, each once, and what is worth telling about them."""

    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()


def read(file: Path) -> Labelled:
    """Read a file of labelled rows. Raises ``ValueError`` for the first thing wrong, and when there are no rows."""
    with readable(file):
        data = file.read_bytes()
    found = [example for line, text in _lines(file, data) for example in _examples(file, line, text)]
    if not found:
        message = f"{file}: is empty; write one JSON object a line, each with source, answer and supported"
        raise ValueError(message)
    return _without_repeats(found)


def _lines(file: Path, data: bytes) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their number from 1."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise _wrong(file, number, "", "is not UTF-8 text") from None
        if text:
            yield number, text


def _examples(file: Path, line: int, text: str) -> Iterator[Example]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong(file, line, "", "is not valid JSON; write one object a line") from None
    if not isinstance(row, dict):
        raise _wrong(file, line, "", "must be a JSON object")
    reader = _Reader(file, line, row)
    yield from reader.examples()


class _Reader:
    """One row of the file, read field by field."""

    def __init__(self, file: Path, line: int, row: _Row) -> None:
        self._file = file
        self._line = line
        self._row = row

    def examples(self) -> Iterator[Example]:
        """The examples of the row: one, or one for each of its claims."""
        if "source" not in self._row and "sources" not in self._row:
            yield self._scored()
        elif "claims" in self._row:
            yield from self._claims()
        else:
            yield self._written(self._text(self._row, "answer"), self._labels(self._row))

    def _written(self, answer: str, labels: dict[CheckKind, bool]) -> Example:
        sources = self._sources()
        query = self._text(self._row, "query") if self._row.get("query") is not None else None
        context = GroundingContext.of([Source(text=text) for text in sources], query)
        if CheckKind.RELEVANCE in labels and context.query is None:
            self._refuse("query", "is required beside relevant")
        group = self._group() or _digest(sources)
        return Example(line=self._line, group=group, labels=labels, context=context, answer=answer)

    def _claims(self) -> Iterator[Example]:
        claims = self._row["claims"]
        if not isinstance(claims, list) or not claims:
            self._refuse("claims", "must be a list of objects with text and supported")
        for at, claim in enumerate(claims):
            place = f"claims[{at}]"
            if not isinstance(claim, dict):
                self._refuse(place, "must be an object with text and supported")
            yield self._written(self._text(claim, "text", place), self._labels(claim, place))

    def _scored(self) -> Example:
        """A row that says its scores and not what they are of."""
        scores = {kind: self._row[kind.value] for kind in CheckKind if self._row.get(kind.value) is not None}
        if not scores:
            self._refuse("source", "is required, or a score as grounding or relevance")
        for kind, score in scores.items():
            if type(score) not in (int, float) or not 0 <= score <= 1:
                self._refuse(kind.value, "must be a number between 0 and 1")
        labels = {kind: label for kind, label in self._labels(self._row).items() if kind in scores}
        if not labels:
            self._refuse(LABELS[next(iter(scores))], "is required: true or false")
        group = self._group() or f"line {self._line}"
        return Example(line=self._line, group=group, labels=labels, scores=scores)

    def _sources(self) -> list[str]:
        name = "source" if "source" in self._row else "sources"
        written = self._row[name]
        texts = [_text_of(item) for item in (written if isinstance(written, list) else [written])]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts) or not any(text.strip() for text in known):
            self._refuse(name, "must be text, or a list of texts")
        return known

    def _labels(self, row: _Row, place: str = "") -> dict[CheckKind, bool]:
        given = {name: row[name] for name in ("supported", "label", "relevant") if row.get(name) is not None}
        for name, value in given.items():
            if value not in (0, 1):
                self._refuse(_dotted(place, name), "must be true or false, 1 or 0")
        if not given:
            self._refuse(_dotted(place, "supported"), "is required: true or false")
        supported = given.get("supported", given.get("label"))
        if given.get("label", supported) != supported:
            self._refuse(_dotted(place, "label"), "says otherwise than supported; keep one")
        found = {CheckKind.GROUNDING: supported, CheckKind.RELEVANCE: given.get("relevant")}
        return {kind: bool(value) for kind, value in found.items() if value is not None}

    def _text(self, row: _Row, name: str, place: str = "") -> str:
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            self._refuse(_dotted(place, name), "must be text that is not empty")
        return value

    def _group(self) -> str:
        value = self._row.get("group")
        if value is not None and not isinstance(value, str | int):
            self._refuse("group", "must be text or a whole number")
        return "" if value is None else f"group {value}"

    def _refuse(self, name: str, message: str) -> NoReturn:
        raise _wrong(self._file, self._line, name, message)


def _wrong(file: Path, line: int, name: str, message: str) -> ValueError:
    return ValueError(": ".join(part for part in (f"{file}:{line}", name, message) if part))


def _dotted(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _text_of(item: Any) -> str | None:
    """A source's text: itself, or the ``text`` of an object, as in requests."""
    text = item.get("text") if isinstance(item, dict) else item
    return text if isinstance(text, str) else None


def _digest(sources: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(sources).encode("utf-8", "surrogatepass")).hexdigest()


def _without_repeats(examples: list[Example]) -> Labelled:
    """Each written row once; those that contradict an earlier one are kept, and told."""
    first: dict[tuple[GroundingContext, str], Example] = {}
    kept, repeats, contradicting = [], 0, []
    for example in examples:
        earlier = first.setdefault((example.context, example.answer), example) if example.answer else example
        if earlier is not example and earlier.labels == example.labels:
            repeats += 1
            continue
        if earlier is not example:
            contradicting.append(f"{example.line} ({earlier.line})")
        kept.append(example)
    notes = [f"repeating an earlier row, counted once: {repeats}"] if repeats else []
    if contradicting:
        notes.append(f"contradicting an earlier row (its line in brackets), kept: line {', '.join(contradicting[:10])}")
    return Labelled(examples=tuple(kept), notes=tuple(notes))
