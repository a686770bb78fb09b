"""Anthropic's Messages, as InvokeModel has them for Claude: body, answer and stream."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock.blocks import call_part, file_part, image_part, text_part, tool_choice, tool_part
from proxy.surfaces.bedrock.families.base import Untold
from proxy.surfaces.bedrock.fields import Fields
from proxy.surfaces.bedrock.parameters import format_part
from proxy.surfaces.bedrock.prompt import Prompt
from proxy.surfaces.bedrock.said import Block, Ending, Said, Stop, Text, Thought, ToolCall, Usage

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Told, Writer

JsonObject = dict[str, Any]

_STOPS: dict[Stop, str] = {
    "end": "end_turn",
    "sequence": "stop_sequence",
    "length": "max_tokens",
    "tools": "tool_use",
    "filtered": "refusal",
    "malformed": "end_turn",
    "blocked": "guardrail_intervened",
}
_TOOL_CHOICES = {"auto": "auto", "any": "required", "none": "none", "tool": ""}
_MARKS = ("cache_control", "citations", "context")  # beside a block; without effect here


class AnthropicMessages:
    """Anthropic Claude."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body."""
        fields, prompt = Fields(body), Prompt()
        fields.ignore("anthropic_version", "anthropic_beta", "metadata", "cache_control", "service_tier")
        if system := _content(fields, "system"):
            prompt.add({"role": "system", "content": [part for block in system for part in _part(block)]}, "system")
        for path, message in fields.objects("messages", needed=True):
            _read_message(message, prompt, path)
            message.done()
        fields.count("max_tokens", prompt, "max_tokens")
        fields.number("temperature", prompt, "temperature")
        fields.number("top_p", prompt, "top_p")
        fields.count("top_k", prompt, "top_k")
        fields.strings("stop_sequences", prompt, "stop")
        if thinking := fields.taken("thinking"):
            prompt.fields["thinking"] = thinking
        _read_output(fields.inside("output_config"), prompt)
        _read_tools(fields, prompt)
        fields.done()
        return prompt

    def whole(self, said: Said, model: str) -> JsonObject:
        """A message."""
        content = [told for block in said.blocks for told in _told(block)]
        return {**_message(model), "content": content, **_ended(said.end), "usage": _usage(said.end.usage)}

    def writer(self, model: str) -> Writer:
        """What writes a stream."""
        return _Events(model)


def _message(model: str) -> JsonObject:
    return {
        "id": f"msg_bdrk_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(Usage()),
    }


def _ended(end: Ending) -> JsonObject:
    return {"stop_reason": _STOPS[end.stop], "stop_sequence": end.sequence}


def _usage(counts: Usage) -> JsonObject:
    """What was read from a cache is not counted among the input."""
    told = {"input_tokens": counts.prompt - counts.cached, "output_tokens": counts.completion}
    return {**told, "cache_read_input_tokens": counts.cached} if counts.cached else told


def _content(fields: Fields, name: str, *, needed: bool = False) -> list[Fields]:
    """A content's blocks; a string is one block of text."""
    value = fields.taken(name)
    if isinstance(value, str):
        return [Fields({"type": "text", "text": value}, fields.at(name))]
    blocks = Fields({name: value}, fields.path)
    return [block for _, block in blocks.objects(name, needed=needed)]


def _read_message(message: Fields, prompt: Prompt, path: str) -> None:
    role = message.one_of("role", {"user": "user", "assistant": "assistant"}, needed=True)
    parts: list[JsonObject] = []
    calls: list[JsonObject] = []
    results = 0
    for block in _content(message, "content", needed=True):
        kind = _kind(block)
        if kind == "tool_use":
            calls.append(call_part(block.text("id"), block.text("name"), block.taken("input") or {}))
            block.ignore(*_MARKS)
            block.done()
        elif kind == "tool_result":
            results += 1
            prompt.add(_result(block), path)
        else:
            parts += _part(block, kind)
    if calls:
        prompt.add({"role": role, "content": parts or None, "tool_calls": calls}, path)
    elif parts or not results:
        prompt.add({"role": role, "content": parts}, path)


def _kind(block: Fields) -> str:
    return block.text("type")


def _part(block: Fields, kind: str | None = None) -> list[JsonObject]:
    """What one block says, as parts of a message in OpenAI's dialect. Earlier reasoning is left out."""
    kind = kind or _kind(block)
    if kind in {"thinking", "redacted_thinking"}:
        return []
    if kind == "text":
        made = text_part(block.text("text"))
    elif kind == "image":
        media_type, data = _data(block.inside("source", needed=True))
        made = image_part(media_type.removeprefix("image/"), data)
    elif kind == "document":
        source, title = block.inside("source", needed=True), block.optional_text("title")
        if source.has("type") and (text := _plain(source)) is not None:
            made = text_part(text)
        else:
            made = file_part(title or "document", *_data(source))
    else:
        message = f"{block.at('type')} must be one of text, image, document, tool_use, tool_result, thinking."
        raise CallerError(message, param=block.at("type"))
    block.ignore(*_MARKS)
    block.done()
    return [made]


def _plain(source: Fields) -> str | None:
    """The text of a document that is text; None for another."""
    kind = source.text("type")
    if kind == "text":
        source.ignore("media_type")
        return source.text("data")
    if kind != "base64":
        message = f"{source.at('type')} must be base64 or text: this server fetches nothing."
        raise CallerError(message, param=source.at("type"))
    return None


def _data(source: Fields) -> tuple[str, str]:
    """Media type and base64 of a source."""
    if source.has("type"):
        source.one_of("type", {"base64": True}, needed=True)
    media_type, data = source.text("media_type"), source.text("data")
    source.done()
    return media_type, data


def _result(block: Fields) -> JsonObject:
    identity = block.text("tool_use_id")
    texts = []
    for each in _content(block, "content"):
        if _kind(each) != "text":
            message = f"{each.at('type')} must be text: a tool's result is passed on as text only."
            raise CallerError(message, param=each.at("type"))
        texts.append(each.text("text"))
        each.ignore(*_MARKS)
        each.done()
    block.ignore("is_error", *_MARKS)
    block.done()
    return {"role": "tool", "tool_call_id": identity, "content": "\n".join(texts)}


def _read_tools(fields: Fields, prompt: Prompt) -> None:
    tools = []
    for _, tool in fields.objects("tools"):
        tool.one_of("type", {"custom": True})
        name, told = tool.text("name"), tool.optional_text("description")
        tools.append(tool_part(name, told, tool.taken("input_schema") or {}))
        tool.ignore(*_MARKS)
        tool.done()
    if tools:
        prompt.fields["tools"] = tools
    if fields.has("tool_choice"):
        choice = fields.inside("tool_choice")
        word = choice.one_of("type", _TOOL_CHOICES, needed=True)
        prompt.fields["tool_choice"] = word or tool_choice(choice.text("name"))
        if choice.taken("disable_parallel_tool_use") is True:
            prompt.fields["parallel_tool_calls"] = False
        choice.done()


def _read_output(config: Fields, prompt: Prompt) -> None:
    if effort := config.optional_text("effort"):
        prompt.fields["reasoning_effort"] = effort
    if config.has("format"):
        wanted = config.inside("format")
        wanted.one_of("type", {"json_schema": True}, needed=True)
        prompt.fields["response_format"] = format_part(wanted.taken("schema"))
        wanted.done()
    config.done()


def _told(block: Block) -> list[JsonObject]:
    """A block of the answer; there is none for a picture."""
    match block:
        case Text(text):
            return [{"type": "text", "text": text}]
        case Thought(text):
            return [{"type": "thinking", "thinking": text, "signature": ""}]
        case ToolCall(identity, name, arguments):
            return [{"type": "tool_use", "id": identity, "name": name, "input": arguments}]
    return []


class _Events(Untold):
    """Writes a stream as Anthropic's events; one block is open at a time."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._begun = False
        self._index = -1
        self._open = ""  # what the open block holds: text, thinking, or the place of a call
        self._calls: dict[str, tuple[str, str, list[str]]] = {}

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return [*self._opened("text", {"type": "text", "text": ""}), self._delta({"type": "text_delta", "text": text})]

    def thought(self, text: str) -> list[JsonObject]:
        """A piece of reasoning."""
        begin = self._opened("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        return [*begin, self._delta({"type": "thinking_delta", "thinking": text})]

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """A piece of a call. One that comes while another is open waits for the end: blocks do not overlap here."""
        key = f"call {at}"
        if self._open.startswith("call") and self._open != key:
            self._calls.setdefault(key, (identity, name, []))[2].append(arguments)
            return []
        begin = self._opened(key, {"type": "tool_use", "id": identity or f"toolu_{at}", "name": name, "input": {}})
        return [*begin, self._delta({"type": "input_json_delta", "partial_json": arguments})] if arguments else begin

    def end(self, end: Ending, told: Told) -> list[JsonObject]:  # noqa: ARG002 - told around it
        """The end."""
        written: list[JsonObject] = []
        waiting, self._calls = self._calls, {}
        for key, (identity, name, arguments) in waiting.items():
            written += self._closed()
            written += self.call(int(key.removeprefix("call ")), identity, name, "".join(arguments))
        written += [*self._start(), *self._closed()]
        last = {"type": "message_delta", "delta": _ended(end), "usage": _usage(end.usage)}
        return [*written, last, {"type": "message_stop"}]

    def _start(self) -> list[JsonObject]:
        if self._begun:
            return []
        self._begun = True
        return [{"type": "message_start", "message": _message(self._model)}]

    def _opened(self, kind: str, block: JsonObject) -> list[JsonObject]:
        if self._open == kind:
            return []
        written = [*self._start(), *self._closed()]
        self._open = kind
        self._index += 1
        return [*written, {"type": "content_block_start", "index": self._index, "content_block": block}]

    def _delta(self, delta: JsonObject) -> JsonObject:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _closed(self) -> list[JsonObject]:
        if not self._open:
            return []
        self._open = ""
        return [{"type": "content_block_stop", "index": self._index}]
