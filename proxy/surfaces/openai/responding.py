"""A streamed response told: what may leave, as events of one consistent stream.

What leaves is told with the text that has left, whatever the upstream repeats, so that a client that adds up deltas and
one that reads the end read the same.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proxy.guard.stream import Telling
from proxy.guard.trace import trace_of
from proxy.surfaces.answers import object_in
from proxy.surfaces.openai import outputs, render
from proxy.surfaces.openai.hearing import (
    BEGINS,
    DELTA,
    DONE,
    ENDS,
    ITEMS,
    PARTS,
    THOUGHTS,
    Event,
    Hearing,
    Place,
    carried_by_event,
    own_fields,
    place_of,
    stripped_fields,
)
from proxy.surfaces.openai.shapes import counted, message_of, response_of, text_part
from proxy.surfaces.rewriting import asked_again
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.errors import GroundwardenError
    from proxy.guard.assess import Assessor
    from proxy.guard.stream import Piece, Refused, Released
    from proxy.surfaces.base import Ledger
    from proxy.surfaces.live import End
    from proxy.surfaces.openai.request import ResponseRequest

JsonObject = dict[str, Any]
_NAME = re.compile("[!-~]{1,200}")


class ResponseVoice:
    """A ``Voice`` of responses."""

    def __init__(self, assessor: Assessor, asked: ResponseRequest, ledger: Ledger) -> None:
        self._assessor, self._asked, self._ledger = assessor, asked, ledger
        self._reading = Hearing(asked)
        self._number = 0
        self._said: dict[Place, str] = {}
        self._items: dict[int, JsonObject] = {}
        self._closed: set[int] = set()
        self._open: Place | None = None
        self._last: tuple[JsonObject, Event | None] | None = None
        self._refused = False
        self._own: JsonObject | None = None

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        return self._reading.spoke

    def hear(self) -> Telling[Event]:
        """What the model says when it is asked."""
        return Telling(self._reading.pieces(), self._reading.parts)

    def again(self, said: str, sentences: Sequence[str]) -> Telling[Event]:
        """Ask the model once more; what it has used up so far counts in."""
        body = asked_again(self._asked.body, said, sentences, "input")
        self._reading = Hearing(replace(self._asked, body=body), self._reading.usage)
        return self.hear()

    def edited(self, item: Event, text: str) -> Event:
        """An event that adds ``text`` instead of its own."""
        if not item.adds:
            return item
        (place, _), *_ = item.adds
        return replace(item, raw=b"", lead="", adds=((place, text.removeprefix(item.lead)),))

    def passed(self, piece: Piece[Event]) -> bytes:
        """An event as it came."""
        event = piece.item
        kind = str(event.data.get("type"))
        return render.ended(event.raw) if _is_bare(event.raw, kind) else _framed(kind, event.data)

    def released(self, step: Released[Event]) -> bytes:
        """An event, or as much of a delta as may leave; the last one waits for the end."""
        event, kind = step.piece.item, str(step.piece.item.data.get("type"))
        begin, end = max(step.start, len(event.lead)), max(step.end, len(event.lead))
        if kind == DELTA:
            return self._delta(event, event.text[begin:end], whole=step.whole)
        for place, text in event.adds:
            self._said[place] = self._said.get(place, "") + text
        data = self._told(kind, event.data)
        self._note(kind, data)
        if kind in ENDS:
            self._last = (data, event)
            return b""
        return self._event(data, event) if data else b""

    def refused(self, step: Refused) -> bytes:
        """The policy's message, in the part that is open or one of its own, and the end of that."""
        self._refused = True
        written = b""
        if not step.begun:
            for kind in ("response.created", "response.in_progress"):
                written += self._event({"type": kind, "response": self._response("in_progress", [])})
        if self._open is None:
            at = max(self._items, default=-1) + 1
            self._open, self._items[at] = (at, 0), message_of([], "in_progress")
            written += self._event(
                {"type": "response.output_item.added", "output_index": at, "item": self._items[at]}
            ) + self._of_part("response.content_part.added", part=text_part(""))
        return written + self._closing(step.gap + self._asked.policy.blocked_message)

    def _closing(self, message: str) -> bytes:
        """What says the message and closes the open part and its item."""
        place = self._open or (0, 0)
        self._said[place] = self._said.get(place, "") + message
        item = self._item(place[0], "incomplete")
        written = self._of_part(DELTA, delta=message, logprobs=[])
        written += self._of_part(DONE, text=self._said[place], logprobs=[])
        written += self._of_part("response.content_part.done", part=text_part(self._said[place]))
        self._open, self._items[place[0]] = None, item
        self._closed.add(place[0])
        return written + self._event({"type": "response.output_item.done", "output_index": place[0], "item": item})

    def unasked(self) -> None:
        """Name the model that was not asked, and no tokens."""
        self._reading.first = {"model": self._ledger.model}
        self._reading.usage = counted(0, 0)

    def trace(self, end: End) -> JsonObject | None:
        """The explanation, where the caller asked for it and may know."""
        if not self._asked.trace:
            return None
        parts = end.parts if end.judged else ()
        return trace_of(end.verdicts, parts, self._asked.context, self._asked.policy, self._ledger.meter)

    async def end(self, end: End) -> bytes:
        """The last event, with the whole response; the trace is a field of that."""
        last = self._last
        if self._refused:
            response = self._response("incomplete", [self._item(at, "incomplete") for at in sorted(self._items)])
            last = {"type": "response.incomplete", "response": {**response, "usage": await self._usage(end)}}, None
        if last is not None and (trace := self.trace(end)) is not None:
            last = _with(last[0], "response", {**last[0]["response"], "guardrail": trace}), None
        done = self._reading.end
        return (self._event(*last) if last is not None else b"") + (render.ended(done) if done else b"")

    async def _usage(self, end: End) -> JsonObject:
        if self._reading.usage:
            return dict(render.numbers(self._reading.usage))
        prompt = await self._assessor.count_tokens(*self._asked.texts())
        return counted(prompt, await self._assessor.count_tokens(*(part.text for part in end.parts)))

    def _delta(self, event: Event, text: str, *, whole: bool) -> bytes:
        ((place, _),) = event.adds or (((place_of(event.data)), ""),)
        self._said[place] = self._said.get(place, "") + text
        self._open = place
        data = event.data
        self._items.setdefault(place[0], message_of([], "in_progress", identity=render.name_of(data.get("item_id"))))
        kept = outputs.tokens_of(data["logprobs"], text) if whole and data.get("logprobs") else []
        if text != data.get("delta") or (data.get("logprobs") and kept is not data["logprobs"]):
            data = {**data, "delta": text, "logprobs": kept}
        return self._event(self._known(DELTA, data), event)

    def _told(self, kind: str, data: JsonObject) -> JsonObject:
        """An event with what has left in the place of what the upstream repeats, less what is stripped; {} for none."""
        policy = self._asked.policy
        if kind.startswith(THOUGHTS) and policy.on_uninspected.reasoning == "strip":
            return {}
        strips = policy.on_uninspected.default == "strip"
        if strips and own_fields(kind) is None:
            return {}  # a kind that nobody knows may be a word, too
        data = self._known(kind, data)
        if kind in BEGINS | ENDS:
            return _with(data, "response", self._consistent(object_in(data, "response")))
        if kind in ITEMS:
            said = outputs.with_text({"output": [object_in(data, "item")]}, self._said_in(place_of(data)[0]))
            data = _with(data, "item", outputs.clean_item(said["output"][0], policy))
        elif kind in PARTS:
            part = outputs.said(object_in(data, "part"), self._said.get(place_of(data), ""))
            data = _with(data, "part", outputs.clean_part(part, policy))
        elif kind == DONE:
            said_part = outputs.said({**data, "type": "output_text"}, self._said.get(place_of(data), ""))
            kept = outputs.clean_part(said_part, policy)
            data = _with(_with(data, "text", kept["text"]), "logprobs", kept.get("logprobs", []))
        return {} if strips and "default" in carried_by_event(kind, data, self._asked.body) else data

    def _said_in(self, at: int) -> dict[Place, str]:
        """What has left of one item, as if it were the first."""
        return {(0, number): text for (item, number), text in self._said.items() if item == at}

    def _consistent(self, response: JsonObject) -> JsonObject:
        """The response with the text that has left, and the tokens of all calls, less what is stripped."""
        told = response
        if response.get("output"):
            told = outputs.with_text(response, self._said)
        if told != response:
            told = {name: value for name, value in told.items() if name != "output_text"}
        usage = self._reading.usage
        if usage and told.get("usage") and usage != told["usage"]:
            told = {**told, "usage": usage}
        return outputs.clean_response(response if told == response else told, self._asked.policy, self._asked.body)

    def _known(self, kind: str, data: JsonObject) -> JsonObject:
        """The event without fields of its own that the policy strips."""
        strips = self._asked.policy.on_uninspected.default == "strip"
        gone = stripped_fields(kind, data) if strips else set()
        return {name: value for name, value in data.items() if name not in gone} if gone else data

    def _note(self, kind: str, data: JsonObject) -> None:
        """Remember what is open and what it says."""
        if not data:
            return
        if kind in ITEMS:
            self._items[place_of(data)[0]] = data["item"]
            if kind.endswith("done"):
                self._closed.add(place_of(data)[0])
                self._open = None
        elif kind in PARTS:
            is_open = kind.endswith("added") and data["part"].get("type") == "output_text"
            self._open = place_of(data) if is_open else None

    def _item(self, at: int, status: str) -> JsonObject:
        """An item as it has left; one that was cut is what has been said of it."""
        item = self._items.get(at) or message_of([], status)
        if at in self._closed or item.get("type") != "message":
            return item
        texts = [self._said[place] for place in sorted(self._said) if place[0] == at]
        return message_of(texts, status, identity=render.name_of(item.get("id")))

    def _response(self, status: str, output: list[JsonObject]) -> JsonObject:
        if self._own is None:
            self._own = response_of(self._asked.body, self._reading.first)
        details = {"reason": "content_filter"} if status == "incomplete" else None
        return {**self._own, "status": status, "incomplete_details": details, "output": output}

    def _of_part(self, kind: str, **fields: Any) -> bytes:
        at, place = self._open or (0, 0)
        identity = self._items.get(at, {}).get("id", "")
        return self._event({"type": kind, "item_id": identity, "output_index": at, "content_index": place, **fields})

    def _event(self, data: JsonObject, event: Event | None = None) -> bytes:
        """One event, numbered; the upstream's own bytes where nothing of it is changed."""
        number, self._number = self._number, self._number + 1
        kind = str(data.get("type"))
        same = event is not None and data is event.data and data.get("sequence_number") == number
        if event is not None and same and event.raw and _is_bare(event.raw, kind):
            return render.ended(event.raw)
        return _framed(kind, {**data, "sequence_number": number})


def _with(data: JsonObject, name: str, value: Any) -> JsonObject:
    return data if value is data.get(name) or value == data.get(name) else {**data, name: value}


def _framed(kind: str, data: JsonObject) -> bytes:
    named = b"event: " + kind.encode() + b"\n" if _NAME.fullmatch(kind) else b""
    return named + b"data: " + to_json(data) + b"\n\n"


def _is_bare(raw: bytes, kind: str) -> bool:
    """Whether an event is its data and its name and nothing else."""
    named = b"event: " + kind.encode("ascii", "replace")
    return all(line.startswith(b"data:") or line.rstrip() == named for line in raw.splitlines() if line)


def error_event(raised: GroundwardenError) -> bytes:
    """An error in mid-stream, as the API has it; in ``error`` as the ``openai`` clients look for it, and raise."""
    body = render.error(raised)[1]["error"]
    data = {"type": "error", "code": body["code"], "message": body["message"], "param": body["param"], "error": body}
    return _framed("error", data)
