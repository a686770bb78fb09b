"""A streamed response heard: the upstream's events read into pieces for the guard.

Deltas are judged. What repeats them (the ``done`` events, the response at the end) holds the same text or more of it,
which is judged too; another text is an error.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from proxy.grounding.errors import UpstreamError
from proxy.guard.answer import AnswerPart, Carried
from proxy.guard.stream import Piece
from proxy.surfaces.answers import Around, object_in, undeclared
from proxy.surfaces.metadata import Padding, fits, holds_string, holds_text
from proxy.surfaces.openai import outputs
from proxy.surfaces.openai.outputs import GAP, malformed
from proxy.surfaces.reading import Heard
from proxy.surfaces.rewriting import added
from proxy.upstream.base import BROKE_OFF

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from proxy.surfaces.openai.request import ResponseRequest
    from proxy.upstream.base import Chunk

JsonObject = dict[str, Any]
Place: TypeAlias = tuple[int, int]
"""Where a text stands: the number of its item and, in that, of its part."""

BEGINS = frozenset({"response.created", "response.queued", "response.in_progress"})
ENDS = frozenset({"response.completed", "response.incomplete"})
PARTS = frozenset({"response.content_part.added", "response.content_part.done"})
ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
THOUGHTS = "response.reasoning"
DELTA = "response.output_text.delta"

_FAILED, _ALIVE = "response.failed", "keepalive"
DONE = "response.output_text.done"
_SAYS = frozenset("delta text refusal part item response annotation logprobs".split())
_FRAME = frozenset("type item_id output_index content_index sequence_number obfuscation".split())
_OF_CALLS = frozenset("delta arguments input code name action partial_image_b64 output command".split())
_OF_THOUGHTS = frozenset("delta text part".split())
_CALLS = (
    "response.function_call_arguments.",
    "response.custom_tool_call_input.",
    "response.mcp_",
    "response.web_search_call.",
    "response.file_search_call.",
    "response.code_interpreter_call",
    "response.shell_call",
    "response.computer_call",
    "response.apply_patch_call",
    "response.local_shell_call",
)
_ANNOTATION = "response.output_text.annotation.added"
_IMAGES = ("response.image_generation_call.", "response.audio.")
_REFUSAL = "response.refusal."
_OWN: dict[str, frozenset[str]] = {
    **dict.fromkeys((*BEGINS, *ENDS, _FAILED), frozenset({"response"})),
    **dict.fromkeys(ITEMS, frozenset({"item"})),
    **dict.fromkeys(PARTS, frozenset({"part"})),
    DELTA: frozenset({"delta", "logprobs"}),
    DONE: frozenset({"text", "logprobs"}),
    f"{_REFUSAL}delta": frozenset({"delta"}),
    f"{_REFUSAL}done": frozenset({"refusal"}),
    _ANNOTATION: frozenset({"annotation"}),
    _ALIVE: frozenset(),
}
"""The fields of each kind of event that somebody looks at: any other is unknown there, also where others have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. ``adds`` is the text that it adds, and where; ``lead`` stands before that in the answer's text."""

    raw: bytes
    data: JsonObject
    adds: tuple[tuple[Place, str], ...] = ()
    lead: str = ""

    @property
    def text(self) -> str:
        """What it adds to the answer's text."""
        return self.lead + "".join(text for _, text in self.adds)


class Hearing(Heard):
    """The upstream's events, read into pieces. ``spent`` is the count of tokens of an earlier call."""

    def __init__(self, asked: ResponseRequest, spent: JsonObject | None = None) -> None:
        super().__init__()
        self._asked, self._spent = asked, spent
        self._rules, self._blocking = asked.policy.on_uninspected, asked.policy.blocking
        self._texts: dict[Place, list[str]] = {}
        self._all: list[str] = []
        self._refusals: dict[Place, list[str]] = {}
        self._carries: set[Carried] = set()
        self._padding, self._around = Padding(), Around()
        self._heard = self._ended = False
        self._failed: UpstreamError | None = None
        self.end = b""
        self.first: JsonObject = {}
        self.usage: JsonObject | None = spent

    @property
    def finished(self) -> bool:
        """Whether the response has ended."""
        return self.done or self._ended or self._failed is not None

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        return self._heard

    async def pieces(self) -> AsyncGenerator[Piece[Event], None]:
        """The events as pieces of one answer. Raises what the upstream raises, and ``UpstreamError`` for its errors."""
        stream = self._asked.upstream.stream(self._asked.body, "responses")
        async with aclosing(self.chunks(stream)) as chunks:
            async for chunk in chunks:
                if chunk.done:
                    self.end = chunk.raw
                if chunk.data is not None:
                    yield self._piece(chunk, chunk.data)

    def parts(self) -> list[AnswerPart]:
        """The answer, whole. Raises ``UpstreamError`` for one that broke off or failed."""
        if self._failed is not None:
            raise self._failed
        if not self._ended:
            raise UpstreamError(BROKE_OFF)
        if self._padding.spells(surely=True) or self._around.spell():
            self._carries.add("default")
        refusal = " ".join(map("".join, self._refusals.values()))
        return [AnswerPart(text="".join(self._all), refusal=refusal, carries=frozenset(self._carries))]

    def _piece(self, chunk: Chunk, data: JsonObject) -> Piece[Event]:
        kind = str(data.get("type"))
        self._heard = True
        self._padding.add(data.get("obfuscation"))
        carries = carried_by_event(kind, data, self._asked.body)
        spelling = (
            self._rules.default == "block"
            and "default" not in carries
            and self._around.add(unknown_in(kind, data), said=bool(self._all))
        )
        self._carries |= carries
        if kind in BEGINS | ENDS or kind == _FAILED:
            self._note(kind, object_in(data, "response"))
        spoken = bool(self._all)
        adds = tuple(self._adds(kind, data))
        held = self._holds(carries) or self._waits(kind, data) or (spelling and kind not in ENDS)
        lead = GAP if adds and spoken and len(self._texts[adds[0][0]]) == 1 else ""
        event = Event(raw=chunk.raw, data=data, adds=adds, lead=lead)
        if event.text:
            self._all.append(event.text)
        splits = kind == DELTA and not data.get("logprobs")
        index = None if kind in BEGINS | {_ALIVE} and not (event.text or held) else 0
        return Piece(index=index, item=event, text=event.text, hold=held, last=kind in ENDS, splits=splits)

    def _note(self, kind: str, response: JsonObject) -> None:
        self.first = self.first or response
        if (usage := outputs.usage_of(response)) is not None:
            self.usage = added(usage, self._spent) if self._spent else usage
        if kind == _FAILED:
            self._failed = _failure(object_in(response, "error"))
        self._ended = self._ended or kind in ENDS

    def _waits(self, kind: str, data: JsonObject) -> bool:
        """Whether an event waits for the verdict for what it is: a refusal, what was looked up, a failure."""
        parts = [part for _, part in _parts_of(kind, data)]
        beside = kind == _ANNOTATION or any(part.get("annotations") for part in parts)
        refuses = kind.startswith(_REFUSAL) or any(map(outputs.refusal_in, parts))
        spelling = self._rules.default == "block" and self._padding.spells(surely=False)
        return kind == _FAILED or refuses or spelling or (beside and self._blocking)

    def _holds(self, carries: set[Carried]) -> bool:
        rules = self._rules
        return (
            ("default" in carries and rules.default == "block")
            or ("reasoning" in carries and rules.reasoning == "block")
            or ("tool_calls" in carries and (self._blocking or rules.tool_calls == "block"))
            or ("images" in carries and (self._blocking or rules.images == "block"))
        )

    def _adds(self, kind: str, data: JsonObject) -> Iterable[tuple[Place, str]]:
        """The text that an event adds. Raises ``UpstreamError`` for one that contradicts what came before."""
        if kind == "error":
            raise _failure(object_in(data, "error") or data)
        place = place_of(data)
        if kind == DELTA:
            yield from _grown(self._texts, place, delta=_text(data, "delta"))
        elif kind == DONE:
            yield from _grown(self._texts, place, whole=_text(data, "text"))
        elif kind == f"{_REFUSAL}delta":
            list(_grown(self._refusals, place, delta=_text(data, "delta")))
        elif kind == f"{_REFUSAL}done":
            list(_grown(self._refusals, place, whole=_text(data, "refusal")))
        for where, part in _parts_of(kind, data):
            list(_grown(self._refusals, where, whole=outputs.refusal_in(part)))
            yield from _grown(self._texts, where, whole=outputs.text_in(part))


def _grown(
    said: dict[Place, list[str]], place: Place, *, delta: str = "", whole: str = ""
) -> Iterable[tuple[Place, str]]:
    """Add a delta, or what more a repetition says, and give it. Raises ``UpstreamError`` where it says another text."""
    if whole:
        before = "".join(said.get(place, ()))
        if not (before.startswith(whole) or whole.startswith(before)):
            raise malformed()
        delta = whole[len(before) :]
    if delta:
        said.setdefault(place, []).append(delta)
        yield place, delta


def carried_by_event(kind: str, data: JsonObject, asked: JsonObject) -> set[Carried]:
    """What an event carries that is no prose. ``asked`` is the request, which responses repeat."""
    found: set[Carried] = {"default"} if odd_fields(kind, data) else set()
    if kind in BEGINS | ENDS or kind == _FAILED:
        response = object_in(data, "response")
        found |= outputs.around(response, asked)
        for item in _output_of(response):
            found |= outputs.carried_by(item)
    elif kind in ITEMS:
        found |= outputs.carried_by(object_in(data, "item"))
    elif kind in PARTS:
        found |= outputs.carried_by({"type": "message", "content": [object_in(data, "part")]})
    elif kind.startswith(THOUGHTS):
        found.add("reasoning")
    elif kind.startswith(_CALLS):
        found.add("tool_calls")
    elif kind.startswith(_IMAGES):
        found.add("images")
    elif kind == _ANNOTATION:
        found |= set() if fits("annotations", [data.get("annotation")]) else {"default"}
    elif own_fields(kind) is None and _speaks(data):
        found.add("default")
    return found


def own_fields(kind: str) -> frozenset[str] | None:
    """The fields that an event of this kind has for itself; None for a kind that nobody knows."""
    if kind.startswith(THOUGHTS):
        return _OF_THOUGHTS
    return _OF_CALLS if kind.startswith((*_CALLS, *_IMAGES)) else _OWN.get(kind)


def unknown_in(kind: str, data: JsonObject) -> JsonObject:
    """What an event holds in places of no known use: short as each may be, over a stream they may be spelling."""
    fields = _beside(kind, data)
    if own_fields(kind) is None:
        fields["type"] = kind
    if kind in BEGINS | ENDS or kind == _FAILED:
        response = object_in(data, "response")
        fields["around"] = outputs.unknown_around(response)
        fields["items"] = [outputs.unknown_in(item) for item in _output_of(response)]
    elif kind in ITEMS:
        fields["items"] = [outputs.unknown_in(object_in(data, "item"))]
    elif kind in PARTS:
        fields["parts"] = [outputs.unknown_in_part(object_in(data, "part"))]
    return fields


def _output_of(response: JsonObject) -> list[JsonObject]:
    return outputs.items_of(response) if response.get("output") else []


def _beside(kind: str, data: JsonObject) -> JsonObject:
    own = own_fields(kind) or frozenset()
    return {name: value for name, value in data.items() if name not in own and name not in _FRAME}


def stripped_fields(kind: str, data: JsonObject) -> set[str]:
    """Names of an event's own fields that go where the policy strips: any string in an unknown one may be of a text."""
    return odd_fields(kind, data) | {name for name, value in _beside(kind, data).items() if holds_string(value)}


def odd_fields(kind: str, data: JsonObject) -> set[str]:
    """Names of an event's own fields that hold text and are not known to."""
    own = own_fields(kind) or frozenset()
    odd = undeclared(data, _FRAME | own) | {name for name in _SAYS - own if data.get(name)}
    return odd if fits("id", data.get("item_id")) else odd | {"item_id"}


def _parts_of(kind: str, data: JsonObject) -> Iterable[tuple[Place, JsonObject]]:
    """The parts of messages that an event repeats, with their places."""
    at, place = place_of(data)
    if kind in PARTS:
        yield (at, place), object_in(data, "part")
    elif kind in ITEMS:
        yield from (((at, number), part) for number, part in enumerate(outputs.parts_in(object_in(data, "item"))))
    elif kind in BEGINS | ENDS:
        response = object_in(data, "response")
        for number, item in enumerate(_output_of(response)):
            yield from (((number, place), part) for place, part in enumerate(outputs.parts_in(item)))


def place_of(data: JsonObject) -> Place:
    """Where an event's text stands. Raises ``UpstreamError`` for what is no place."""
    at, place = (0 if data.get(name) is None else data[name] for name in ("output_index", "content_index"))
    if not isinstance(at, int) or not isinstance(place, int):
        raise malformed()
    return at, place


def _text(data: JsonObject, name: str) -> str:
    text = data.get(name)
    if not isinstance(text, str):
        raise malformed()
    return text


def _speaks(data: JsonObject) -> bool:
    """Whether an event of no known kind says anything."""
    return any(holds_text(value) or name in _SAYS for name, value in data.items() if value)


def _failure(error: JsonObject) -> UpstreamError:
    message, code = error.get("message"), error.get("code")
    failure = UpstreamError(str(message or BROKE_OFF)[:2000], code=str(code)[:200] if code else None)
    failure.quoted = bool(message)
    return failure
