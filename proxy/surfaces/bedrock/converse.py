"""Converse and ConverseStream: ``POST /model/{id}/converse`` and ``/converse-stream`` (bedrock-runtime 2023-09-30).

``Blocks`` is also what Amazon Nova's own bodies say (``families/nova.py``): the same objects in other frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.surfaces.base import parse_object
from proxy.surfaces.bedrock import flow
from proxy.surfaces.bedrock.asked import Asked, Guardrail, Reader
from proxy.surfaces.bedrock.blocks import read_converse
from proxy.surfaces.bedrock.eventstream import event
from proxy.surfaces.bedrock.said import Block, Ending, Picture, Said, Stop, Text, Thought, ToolCall, Usage
from proxy.surfaces.bedrock.shapes import shaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.bedrock.flow import Told

JsonObject = dict[str, Any]

STOPS: dict[Stop, str] = {
    "end": "end_turn",
    "sequence": "stop_sequence",
    "length": "max_tokens",
    "tools": "tool_use",
    "filtered": "content_filtered",
    "malformed": "malformed_tool_use",
    "blocked": "guardrail_intervened",
}
"""The ``stopReason`` of each way to end."""


class Converse:
    """The surface. ``models`` are the configuration's ``bedrock_models``."""

    def __init__(self, services: Services, models: Mapping[str, str]) -> None:
        self._services, self._reader = services, Reader(services, models)

    async def converse(self, call: Call) -> Response:
        """Answer one Converse call."""
        return await flow.whole(self._services, call, self._read(call, "Converse"), _Dialect())

    async def stream(self, call: Call) -> Response:
        """Answer one ConverseStream call."""
        return await flow.stream(self._services, call, self._read(call, "ConverseStream"), _Dialect())

    def _read(self, call: Call, operation: str) -> Asked:
        body = shaped(operation, parse_object(call.body))
        prompt = read_converse(body)
        config = body.get("guardrailConfig") or {}
        guardrail = Guardrail(
            identifier=config.get("guardrailIdentifier"),
            version=config.get("guardrailVersion"),
            trace=config.get("trace") or "disabled",
            processing=config.get("streamProcessingMode"),
        )
        return self._reader.read(call, prompt, guardrail, stream=operation == "ConverseStream")


class _Dialect:
    """How Converse tells things."""

    def whole(self, said: Said, told: Told) -> tuple[JsonObject, dict[str, str]]:
        body = {**whole_body(said), "metrics": {"latencyMs": told.milliseconds}}
        return ({**body, "trace": trace} if (trace := _trace(told)) else body), {}

    def writer(self) -> Blocks:
        return Blocks(tell_trace=True)

    def frame(self, written: JsonObject) -> bytes:
        [(name, payload)] = written.items()
        return event(name, payload)

    def stream_headers(self) -> dict[str, str]:
        return {}


def whole_body(said: Said) -> JsonObject:
    """The message, why it ended and the usage."""
    message = {"role": "assistant", "content": [_block(block) for block in said.blocks]}
    return {"output": {"message": message}, "stopReason": STOPS[said.end.stop], "usage": usage(said.end.usage)}


def usage(counts: Usage) -> JsonObject:
    """A ``TokenUsage``; what was read from a cache is not counted among the input."""
    told = {
        "inputTokens": counts.prompt - counts.cached,
        "outputTokens": counts.completion,
        "totalTokens": counts.total,
    }
    return {**told, "cacheReadInputTokens": counts.cached} if counts.cached else told


def _block(block: Block) -> JsonObject:
    match block:
        case Text(text):
            return {"text": text}
        case Thought(text):
            return {"reasoningContent": {"reasoningText": {"text": text}}}
        case Picture(kind, data):
            return {"image": {"format": kind, "source": {"bytes": data}}}
        case ToolCall(identity, name, arguments):
            return {"toolUse": {"toolUseId": identity, "name": name, "input": arguments}}


def _trace(told: Told) -> JsonObject | None:
    if told.assessment is None:
        return None
    return {
        "guardrail": {"outputAssessments": {told.guardrail: [told.assessment]}, "actionReason": told.reason},
    }


class Blocks:
    """Writes a stream as content blocks, one after the other; the calls of tools may stay open side by side.

    ``tell_trace``: the trace stands in the metadata, as in ConverseStream.
    """

    def __init__(self, *, tell_trace: bool) -> None:
        self._tell_trace = tell_trace
        self._begun = False
        self._blocks = 0
        self._open: dict[str, int] = {}  # what a block holds (text, thought, or the place of a call), and its index

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return self._delta("text", {"text": text})

    def thought(self, text: str) -> list[JsonObject]:
        """A piece of reasoning."""
        return self._delta("thought", {"reasoningContent": {"text": text}})

    def picture(self, picture: Picture) -> list[JsonObject]:
        """A picture, a block of its own."""
        index, written = self._opened("picture")
        start, delta = {"image": {"format": picture.format}}, {"image": {"source": {"bytes": picture.data}}}
        return [
            *written,
            {"contentBlockStart": {"start": start, "contentBlockIndex": index}},
            *self._delta("picture", delta),
            *self._closed(beside="call"),
        ]

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """A piece of a call."""
        written: list[JsonObject] = []
        if f"call {at}" not in self._open:
            start = {"toolUse": {"toolUseId": identity or f"tooluse_{at}", "name": name}}
            index, written = self._opened(f"call {at}", beside="call")
            written.append({"contentBlockStart": {"start": start, "contentBlockIndex": index}})
        return [*written, *self._delta(f"call {at}", {"toolUse": {"input": arguments}})] if arguments else written

    def end(self, end: Ending, told: Told) -> list[JsonObject]:
        """The end: what is open is closed, then why it ended, then the counts and the trace."""
        metadata: JsonObject = {"usage": usage(end.usage), "metrics": {"latencyMs": told.milliseconds}}
        if self._tell_trace and (trace := _trace(told)):
            metadata["trace"] = trace
        written = [*self._start(), *self._closed()]
        return [*written, {"messageStop": {"stopReason": STOPS[end.stop]}}, {"metadata": metadata}]

    def _start(self) -> list[JsonObject]:
        if self._begun:
            return []
        self._begun = True
        return [{"messageStart": {"role": "assistant"}}]

    def _delta(self, kind: str, delta: JsonObject) -> list[JsonObject]:
        index, written = (self._open[kind], []) if kind in self._open else self._opened(kind)
        return [*written, {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}]

    def _opened(self, kind: str, *, beside: str = "") -> tuple[int, list[JsonObject]]:
        written = [*self._start(), *self._closed(beside=beside)]
        self._open[kind] = self._blocks
        self._blocks += 1
        return self._open[kind], written

    def _closed(self, *, beside: str = "") -> list[JsonObject]:
        """Close what is open, but for blocks that may stay open ``beside`` another."""
        ending = [kind for kind in self._open if not (beside and kind.startswith(beside))]
        return [{"contentBlockStop": {"contentBlockIndex": self._open.pop(kind)}} for kind in ending]
