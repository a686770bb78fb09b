"""Mistral's chat completion, much like OpenAI's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock.blocks import call_part, text_part, tool_part
from proxy.surfaces.bedrock.families.base import Untold
from proxy.surfaces.bedrock.fields import Fields
from proxy.surfaces.bedrock.prompt import Prompt
from proxy.surfaces.bedrock.said import Ending, Said, Stop, ToolCall

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Told, Writer

JsonObject = dict[str, Any]

_ROLES = {name: name for name in ("system", "user", "assistant", "tool")}
_TOOL_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_STOPS: dict[Stop, str] = {"length": "length", "tools": "tool_calls"}


class MistralChat:
    """The family."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body."""
        fields, prompt = Fields(body), Prompt()
        for path, message in fields.objects("messages", needed=True):
            _read_message(message, prompt, path)
            message.done()
        fields.count("max_tokens", prompt, "max_tokens")
        fields.number("temperature", prompt, "temperature")
        fields.number("top_p", prompt, "top_p")
        if tools := [_tool(tool) for _, tool in fields.objects("tools")]:
            prompt.fields["tools"] = tools
        if choice := fields.one_of("tool_choice", _TOOL_CHOICES):
            prompt.fields["tool_choice"] = choice
        fields.done()
        return prompt

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """One choice."""
        calls = [call_part(one.id, one.name, one.arguments) for one in said.blocks if isinstance(one, ToolCall)]
        return _choice(said.text, calls, said.end)

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Each piece of text a choice; the calls of tools in the last one."""
        return _Pieces()


def _read_message(message: Fields, prompt: Prompt, path: str) -> None:
    role = message.one_of("role", _ROLES, needed=True)
    made: JsonObject = {"role": role, "content": _content(message)}
    if calls := [_call(call) for _, call in message.objects("tool_calls")]:
        made["tool_calls"] = calls
    if role == "tool":
        made["tool_call_id"] = message.text("tool_call_id")
        message.ignore("name")
    prompt.add(made, path)


def _content(message: Fields) -> str | list[JsonObject] | None:
    """A text, or for models that see (Pixtral) parts: texts, and pictures that hold their bytes."""
    if not message.holds_list("content"):
        return message.optional_text("content")
    return [_part(part) for _, part in message.objects("content", needed=True)]


def _part(part: Fields) -> JsonObject:
    if part.one_of("type", {"text": True, "image_url": False}, needed=True):
        made = text_part(part.text("text"))
    else:
        held = part.inside("image_url", needed=True)
        url = held.text("url")
        if not url.startswith("data:image/"):
            message = f"{held.at('url')} must be a data: address that holds the picture: this server fetches nothing."
            raise CallerError(message, param=held.at("url"))
        held.done()
        made = {"type": "image_url", "image_url": {"url": url}}
    part.done()
    return made


def _call(call: Fields) -> JsonObject:
    function = call.inside("function", needed=True)
    call.ignore("type")
    made = call_part(call.text("id"), function.text("name"), {})
    made["function"]["arguments"] = function.text("arguments")
    function.done()
    call.done()
    return made


def _tool(tool: Fields) -> JsonObject:
    tool.one_of("type", {"function": True})
    function = tool.inside("function", needed=True)
    made = tool_part(function.text("name"), function.optional_text("description"), function.taken("parameters") or {})
    function.done()
    tool.done()
    return made


def _choice(text: str, calls: list[JsonObject], end: Ending | None) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    return {"choices": [{"index": 0, "message": message, "stop_reason": end and _STOPS.get(end.stop, "stop")}]}


class _Pieces(Untold):
    """Writes a stream."""

    def __init__(self) -> None:
        self._calls: dict[int, JsonObject] = {}

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return [_choice(text, [], None)]

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """Nothing yet: calls leave whole, at the end."""
        function = self._calls.setdefault(at, _begun(identity, name))["function"]
        function["arguments"] += arguments
        return []

    def end(self, end: Ending, told: Told) -> list[JsonObject]:  # noqa: ARG002 - told around it
        """The calls and why it ended."""
        return [_choice("", [self._calls[at] for at in sorted(self._calls)], end)]


def _begun(identity: str, name: str) -> JsonObject:
    """A call whose arguments are still to come."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": ""}}
