"""Reading rows: one JSON object a line, in either of the two formats of Azure AI Studio.

::

    {"question": "…", "context": "…", "answer": "…", "ground_truth": "…"}      also as query and response
    {"messages": [{"role": "user", "content": "…"},
                  {"role": "assistant", "content": "…", "context": {"citations": [{"title": "…", "content": "…"}]}}]}

``context`` is a text, a list of texts or of objects that hold one, or an object with ``citations`` or ``contexts``; any
other object is taken as the text that it is. ``{"conversation": {"messages": […], "context": …}}`` is the second format
too. A wrong line is told by its number and its field, and keeps no other from being read.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from proxy.files import readable
from proxy.grounding.types import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PAIRS = (("query", "question"), ("response", "answer"))
_TEXTS = ("content", "text", "retrieved_context", "chunk")
_LISTS = ("citations", "contexts")
_URIS = ("uri", "url", "sourceUri", "source_uri", "filepath")
_TITLES = ("title", "sourceDisplayName", "source_display_name")
_DEEPEST = 4
"""How far a context may be nested: ``{"contexts": {"contexts": [{"text": …}]}}`` is the deepest that there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question and its answer. None is a field that is not there; an empty text is one that is.

    ``history`` is what was said before, a line for each message.
    """

    query: str | None = None
    response: str | None = None
    sources: tuple[Source, ...] = ()
    ground_truth: str | None = None
    history: str = ""

    def has(self, field: str) -> bool:
        """Whether a field holds anything: ``query``, ``response``, ``context`` or ``ground_truth``."""
        if field == "context":
            return bool(self.sources)
        value: str | None = getattr(self, field)
        return value is not None and bool(value.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the file: its number from 1, what it held, the turns to evaluate, a digest of its text."""

    line: int
    inputs: dict[str, Any]
    turns: tuple[Turn, ...]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that cannot be evaluated, and why. Nothing of what it holds is told."""

    line: int
    message: str


class _Wrong(ValueError):
    """What is wrong with a line, field first."""


def _refuse(message: str) -> NoReturn:
    raise _Wrong(message)


def read(file: Path) -> tuple[list[Row], list[BadLine]]:
    """All rows of a file, and the lines that are none. Raises ``ValueError`` when the file cannot be read."""
    with readable(file):
        data = file.read_bytes()
    rows: list[Row] = []
    bad: list[BadLine] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_row(number, line))
        except _Wrong as error:
            bad.append(BadLine(line=number, message=str(error)))
    return rows, bad


def _row(number: int, line: bytes) -> Row:
    try:
        inputs = json.loads(line.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError:
        _refuse("is not UTF-8 text")
    except _Wrong:
        raise
    except (ValueError, RecursionError):
        _refuse("is not valid JSON; write one object a line")
    if not isinstance(inputs, dict):
        _refuse("must be a JSON object")
    digest = hashlib.sha256(line.strip()).hexdigest()
    return Row(line=number, inputs=inputs, turns=tuple(_turns(inputs)), digest=digest)


def _no_constant(_: str) -> None:
    """Refuse NaN and the infinities, which JSON does not have."""
    raise ValueError


def _finite(written: str) -> float:
    """Refuse what only an infinity could stand for (1e999): no results could be written that hold it."""
    number = float(written)
    if not math.isfinite(number):
        _refuse("holds a number that is too large")
    return number


def _turns(inputs: dict[str, Any]) -> Sequence[Turn]:
    names = [name for name in ("conversation", "messages") if inputs.get(name) is not None]
    if not names:
        return [_single(inputs)]
    beside = [name for pair in _PAIRS for name in pair if inputs.get(name) is not None]
    if beside or len(names) > 1:
        _refuse(f"{(beside or names)[0]}: must not stand beside {names[-1]}; a row is one or the other")
    if names == ["messages"]:
        return _spoken(inputs, inputs["messages"], "messages")
    conversation = inputs["conversation"]
    if not isinstance(conversation, dict):
        _refuse("conversation: must be an object with messages")
    return _spoken({**inputs, **conversation}, conversation.get("messages"), "conversation.messages")


def _single(inputs: dict[str, Any]) -> Turn:
    query, response = (_either(inputs, *names) for names in _PAIRS)
    turn = Turn(
        query=query,
        response=response,
        sources=tuple(_sources(inputs.get("context"), "context")),
        ground_truth=_text(inputs, "ground_truth"),
    )
    if turn.response is None and not (turn.has("query") and turn.has("context")):
        _refuse("answer: is required (or response; or messages)")
    return turn


def _either(inputs: dict[str, Any], name: str, other: str) -> str | None:
    """A field under the name that it has now, or the one that it had."""
    first, second = _text(inputs, name), _text(inputs, other)
    if first is not None and second is not None and first != second:
        _refuse(f"{other}: is not the same as {name}; give one of the two")
    return second if first is None else first


def _text(inputs: dict[str, Any], name: str, place: str = "") -> str | None:
    value = inputs.get(name)
    if value is not None and not isinstance(value, str):
        _refuse(f"{place}{name}: must be text")
    return value


def _spoken(inputs: dict[str, Any], messages: Any, place: str) -> list[Turn]:
    """A turn for each answer in a conversation, with what was asked since the answer before."""
    if not isinstance(messages, list):
        _refuse(f"{place}: must be a list of messages")
    shared = list(_sources(inputs.get("context"), "context"))
    truth = _text(inputs, "ground_truth")
    turns: list[Turn] = []
    asked: list[str] = []
    near: list[Source] = []
    said: list[str] = []
    for at, message in enumerate(messages):
        here = f"{place}[{at}]"
        role, text, sources = _message(message, here)
        if role not in {"user", "assistant"} or text is None:
            continue
        near += sources
        if role == "user":
            asked.append(text)
            continue
        own = _text(message, "ground_truth", f"{here}.")
        turns.append(
            Turn(
                query="\n".join(asked) if asked else None,
                response=text,
                sources=(*shared, *near),
                ground_truth=truth if own is None else own,
                history="\n".join(said),
            )
        )
        said += [*(f"user: {words}" for words in asked), f"assistant: {text}"]
        asked, near = [], []
    if not turns:
        _refuse(f"{place}: must hold an answer, a message of the role assistant with text")
    return turns


def _message(message: Any, place: str) -> tuple[str, str | None, list[Source]]:
    """A message's role, its text (None when it has none, as one that calls a tool), and its sources."""
    if not isinstance(message, dict):
        _refuse(f"{place}: must be an object with role and content")
    role = message.get("role")
    if not isinstance(role, str):
        _refuse(f"{place}.role: must be user, assistant or system")
    return (
        role,
        _content(message.get("content"), f"{place}.content"),
        list(_sources(message.get("context"), f"{place}.context")),
    )


def _content(content: Any, place: str) -> str | None:
    """The text of a message: itself, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [None]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    known = [text for text in texts if isinstance(text, str)]
    if len(known) < len(texts):
        _refuse(f"{place}: must be text; pictures and other parts cannot be evaluated")
    return "\n".join(known)


def _sources(context: Any, place: str, depth: int = 0) -> Iterator[Source]:
    """The sources in a context, whatever its form; blank ones are none."""
    if isinstance(context, str):
        if context.strip():
            yield Source(text=context)
    elif isinstance(context, list):
        for at, item in enumerate(context):
            yield from _sources(item, f"{place}[{at}]", depth + 1)
    elif isinstance(context, dict):
        yield from _held(context, place, depth)
    elif context is not None:
        _refuse(f"{place}: must be text, a list of texts, or an object with citations")


def _held(context: dict[str, Any], place: str, depth: int) -> Iterator[Source]:
    """The sources in an object: those of its list, its own text, or all of it as a text."""
    held = next((name for name in _LISTS if context.get(name) is not None), None)
    if held is not None and depth < _DEEPEST:
        yield from _sources(context[held], f"{place}.{held}", depth + 1)
        return
    text = _first(context, _TEXTS)
    if text is None and context and held is None:
        text = json.dumps(context, ensure_ascii=False)
    if text is not None and text.strip():
        names = (_first(context, ("id",)), _first(context, _URIS), _first(context, _TITLES))
        yield Source(text=text, id=names[0] or "", uri=names[1] or "", title=names[2] or "")


def _first(context: dict[str, Any], names: Sequence[str]) -> str | None:
    return next((context[name] for name in names if isinstance(context.get(name), str)), None)
