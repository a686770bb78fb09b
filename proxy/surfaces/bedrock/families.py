"""The bodies of InvokeModel: one family a maker of models, each with its own words for the same things.

A family reads a body into a prompt, and writes an answer whole or piece by piece. Which one a request is of shows in
the model's id (``anthropic.claude-…``), or, where the id is a name of the configuration's, in the body. The shapes are
those of the "Inference request parameters" pages of AWS's user guide. A field that a family does not have is refused,
as on Bedrock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock import templates
from proxy.surfaces.bedrock.blocks import Prompt, call_part, read_conversation, text_part, tool_part
from proxy.surfaces.bedrock.converse import Blocks, whole_body
from proxy.surfaces.bedrock.fields import Fields
from proxy.surfaces.bedrock.messages import AnthropicMessages
from proxy.surfaces.bedrock.said import Said, Stop, ToolCall, Usage
from proxy.surfaces.bedrock.shapes import shaped

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Told, Writer

JsonObject = dict[str, Any]


class Family(Protocol):
    """One maker's bodies."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body. Raises ``CallerError`` naming the field."""
        ...

    def whole(self, said: Said, model: str) -> JsonObject:
        """A whole answer; ``model`` is the id that the caller gave."""
        ...

    def writer(self, model: str) -> Writer:
        """What writes a stream; each object becomes one chunk."""
        ...


def _conversation(fields: Fields, prompt: Prompt) -> None:
    """Read what Nova shares with Converse, against Converse's own shape."""
    names = ("messages", "system", "toolConfig")
    read_conversation(prompt, shaped("Converse", {name: fields.taken(name) for name in names if fields.has(name)}))


class Nova:
    """Amazon Nova: Converse's messages, with names of its own for the parameters."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body."""
        fields, prompt = Fields(body), Prompt()
        fields.ignore("schemaVersion")
        _conversation(fields, prompt)
        inference = fields.inside("inferenceConfig")
        for name in ("maxTokens", "max_new_tokens"):
            inference.count(name, prompt, "max_tokens")
        inference.number("temperature", prompt, "temperature")
        for name, ours in (("topP", "top_p"), ("top_p", "top_p")):
            inference.number(name, prompt, ours)
        for name in ("topK", "top_k"):
            inference.count(name, prompt, "top_k")
        inference.strings("stopSequences", prompt, "stop")
        inference.done()
        fields.done()
        return prompt

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """Converse's body, without its metrics."""
        return whole_body(said)

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Converse's events, each an object of its own."""
        return Blocks(tell_trace=False)


class _Prompted(ABC):
    """A family whose body is one prompt and whose answer is one text."""

    prompt = "prompt"

    def read(self, body: JsonObject) -> Prompt:
        """The prompt goes on in the turns that it is made of; where it has none, as one message of the user's."""
        fields = Fields(body)
        prompt = Prompt()
        for role, said in self.turns(fields.text(self.prompt)):
            prompt.add({"role": role, "content": [text_part(said)]}, self.prompt)
        self.parameters(fields, prompt)
        fields.done()
        return prompt

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt."""
        return [("user", prompt)]

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        fields.number("temperature", prompt, "temperature")
        fields.number("top_p", prompt, "top_p")

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """The one text, why it ended and the counts."""
        return self.chunk(said.text, said.stop, said.usage)

    @abstractmethod
    def chunk(self, text: str, stop: Stop | None, usage: Usage | None) -> JsonObject:
        """A text and, at the end, why it ended and the counts."""

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Each piece of the text a chunk like the whole."""
        return _Pieces(self)


class _Pieces:
    """Writes a stream of a family that has nothing but text."""

    def __init__(self, family: _Prompted) -> None:
        self._family = family

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return [self._family.chunk(text, None, None)]

    def thought(self, text: str) -> list[JsonObject]:  # noqa: ARG002 - there is no place for it
        """Nothing."""
        return []

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:  # noqa: ARG002 - as above
        """Nothing: who cannot offer tools is not called for them."""
        return []

    def end(self, stop: Stop, usage: Usage, told: Told) -> list[JsonObject]:  # noqa: ARG002 - told around it
        """Why it ended, and the counts."""
        return [self._family.chunk("", stop, usage)]


class Llama(_Prompted):
    """Meta Llama."""

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt in Llama 3's template."""
        return templates.llama(prompt)

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        super().parameters(fields, prompt)
        fields.count("max_gen_len", prompt, "max_tokens")

    def chunk(self, text: str, stop: Stop | None, usage: Usage | None) -> JsonObject:
        """A piece, or the whole."""
        return {
            "generation": text,
            "prompt_token_count": usage and usage.prompt,
            "generation_token_count": usage and usage.completion,
            "stop_reason": stop and ("length" if stop == "length" else "stop"),
        }


class MistralText(_Prompted):
    """Mistral's text completion."""

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt in Mistral's template."""
        return templates.mistral(prompt)

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        super().parameters(fields, prompt)
        fields.count("max_tokens", prompt, "max_tokens")
        fields.count("top_k", prompt, "top_k")
        fields.strings("stop", prompt, "stop")

    def chunk(self, text: str, stop: Stop | None, usage: Usage | None) -> JsonObject:  # noqa: ARG002 - it tells none
        """A piece, or the whole."""
        return {"outputs": [{"text": text, "stop_reason": stop and ("length" if stop == "length" else "stop")}]}


class Titan(_Prompted):
    """Amazon Titan Text."""

    prompt = "inputText"

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        inside = fields.inside("textGenerationConfig")
        inside.count("maxTokenCount", prompt, "max_tokens")
        inside.number("temperature", prompt, "temperature")
        inside.number("topP", prompt, "top_p")
        inside.strings("stopSequences", prompt, "stop")
        inside.done()

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """The one text as a list of results."""
        result = {
            "tokenCount": said.usage.completion,
            "outputText": said.text,
            "completionReason": _titans(said.stop),
        }
        return {"inputTextTokenCount": said.usage.prompt, "results": [result]}

    def chunk(self, text: str, stop: Stop | None, usage: Usage | None) -> JsonObject:
        """A piece."""
        return {
            "index": 0,
            "outputText": text,
            "inputTextTokenCount": usage and usage.prompt,
            "totalOutputTextTokenCount": usage and usage.completion,
            "completionReason": stop and _titans(stop),
        }


def _titans(stop: Stop) -> str:
    if stop == "length":
        return "LENGTH"
    return "CONTENT_FILTERED" if stop in {"filtered", "blocked"} else "FINISH"


class PlainText(_Prompted):
    """``{"text": …}``, the body of the example on AWS's page on contextual grounding, which is no model's own."""

    prompt = "text"

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """There are none."""

    def chunk(self, text: str, stop: Stop | None, usage: Usage | None) -> JsonObject:  # noqa: ARG002 - it tells none
        """A piece, or the whole."""
        return {"text": text}


class MistralChat:
    """Mistral's chat completion, much like OpenAI's."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body."""
        fields, prompt = Fields(body), Prompt()
        for path, message in fields.objects("messages", needed=True):
            _read_mistral(message, prompt, path)
            message.done()
        fields.count("max_tokens", prompt, "max_tokens")
        fields.number("temperature", prompt, "temperature")
        fields.number("top_p", prompt, "top_p")
        tools = []
        for _, tool in fields.objects("tools"):
            tool.one_of("type", {"function": True})
            function = tool.inside("function", needed=True)
            name, told = function.text("name"), function.optional_text("description")
            tools.append(tool_part(name, told, function.taken("parameters") or {}))
            function.done()
        if tools:
            prompt.fields["tools"] = tools
        choice = fields.one_of("tool_choice", {"auto": "auto", "none": "none", "any": "required"})
        if choice:
            prompt.fields["tool_choice"] = choice
        fields.done()
        return prompt

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """One choice."""
        calls = [block for block in said.blocks if isinstance(block, ToolCall)]
        return _choice(said.text, calls, said.stop)

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Each piece of text a choice; the calls of tools in the last one."""
        return _ChatPieces()


def _read_mistral(message: Fields, prompt: Prompt, path: str) -> None:
    role = message.one_of("role", {name: name for name in ("system", "user", "assistant", "tool")}, needed=True)
    made: JsonObject = {"role": role, "content": message.optional_text("content")}
    calls = []
    for _, call in message.objects("tool_calls"):
        function = call.inside("function", needed=True)
        calls.append(call_part(call.text("id"), function.text("name"), {}))
        calls[-1]["function"]["arguments"] = function.text("arguments")
    if calls:
        made["tool_calls"] = calls
    if role == "tool":
        made["tool_call_id"] = message.text("tool_call_id")
    prompt.add(made, path)


_MISTRALS: dict[Stop, str] = {"length": "length", "tools": "tool_calls"}


def _choice(text: str, calls: list[ToolCall], stop: Stop | None) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [call_part(call.id, call.name, call.arguments) for call in calls]
    reason = stop and _MISTRALS.get(stop, "stop")
    return {"choices": [{"index": 0, "message": message, "stop_reason": reason}]}


class _ChatPieces:
    """Writes a stream of Mistral's chat completion."""

    def __init__(self) -> None:
        self._calls: dict[int, JsonObject] = {}

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return [_choice(text, [], None)]

    def thought(self, text: str) -> list[JsonObject]:  # noqa: ARG002 - there is no place for it
        """Nothing."""
        return []

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """Nothing yet: calls leave whole, at the end."""
        call = self._calls.setdefault(at, call_part(identity, name, {}) | {"written": ""})
        call["written"] += arguments
        return []

    def end(self, stop: Stop, usage: Usage, told: Told) -> list[JsonObject]:  # noqa: ARG002 - told around it
        """The calls and why it ended."""
        last = _choice("", [], stop)
        for at in sorted(self._calls):
            call = self._calls[at]
            call["function"]["arguments"] = call.pop("written")
            last["choices"][0]["message"].setdefault("tool_calls", []).append(call)
        return [last]


ANTHROPIC, NOVA, LLAMA, TITAN, PLAIN = AnthropicMessages(), Nova(), Llama(), Titan(), PlainText()
_MISTRAL_CHAT, _MISTRAL_TEXT = MistralChat(), MistralText()
_BY_ID: tuple[tuple[str, Family], ...] = (
    ("anthropic", ANTHROPIC),
    ("claude", ANTHROPIC),
    ("nova", NOVA),
    ("llama", LLAMA),
    ("titan-text", TITAN),
)
_MISTRALS_NAMES = ("mistral", "mixtral", "ministral", "pixtral")
_BY_FIELD: tuple[tuple[str, Family], ...] = (
    ("anthropic_version", ANTHROPIC),
    ("inputText", TITAN),
    ("schemaVersion", NOVA),
    ("inferenceConfig", NOVA),
    ("max_gen_len", LLAMA),
)
KNOWN = "Anthropic Messages, Amazon Nova, Meta Llama, Mistral, Amazon Titan Text"
"""The families, as an error lists them."""


def family_of(model: str, body: JsonObject) -> Family:
    """The family of a request, by the model's id or, where that says nothing, by the body. Raises ``CallerError``."""
    if "text" in body:  # no family has such a field
        return _Example(_by_id(model, body) or PLAIN)
    found = _by_id(model, body) or next((family for name, family in _BY_FIELD if name in body), None)
    if found is None:
        message = f"The model's body is of no family known here. Known are {KNOWN}."
        raise CallerError(message, param="body")
    return found


def _by_id(model: str, body: JsonObject) -> Family | None:
    model = model.lower()
    if any(name in model for name in _MISTRALS_NAMES):
        return _MISTRAL_CHAT if "messages" in body else _MISTRAL_TEXT
    return next((family for name, family in _BY_ID if name in model), None)


class _Example:
    """The documented example's body, answered as the model's family answers."""

    def __init__(self, family: Family) -> None:
        self.read = PLAIN.read
        self.whole, self.writer = family.whole, family.writer
