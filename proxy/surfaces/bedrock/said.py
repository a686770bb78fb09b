"""What a model said, between two dialects: read from OpenAI's chat completions, to be told in one of Bedrock's.

Only what is named here crosses over: text, reasoning (where the policy passes it), calls of tools, why it ended and
the counts of tokens. What the upstream sends besides (annotations, log-probabilities, pictures) stays behind.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from proxy.grounding.errors import UpstreamError
from proxy.surfaces.answers import choices_of, index_of, object_in

if TYPE_CHECKING:
    from collections.abc import Iterator

JsonObject = dict[str, Any]

Stop = Literal["end", "length", "tools", "filtered", "malformed", "blocked"]
"""Why an answer ended. ``malformed``: a tool was called with what is no JSON; ``blocked``: the guardrail stepped in."""

_STOPS: dict[str, Stop] = {
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "filtered",
}


@dataclass(frozen=True, slots=True)
class Text:
    """What the user reads."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model says to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the caller's tools. ``arguments`` is any JSON value, as a rule an object."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens. ``cached`` are those of the ``prompt`` that were read from a cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A whole answer, its blocks in order."""

    blocks: tuple[Text | Thought | ToolCall, ...]
    stop: Stop
    usage: Usage

    @property
    def text(self) -> str:
        """What the user reads of it."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


def blocked(message: str, usage: Usage) -> Said:
    """A block: the policy's message and nothing of the model's."""
    return Said(blocks=(Text(message),), stop="blocked", usage=usage)


def first_choice(body: JsonObject) -> JsonObject:
    """A reply or chunk with no other choice than the first: Bedrock's APIs have one answer."""
    kept = [choice for at, choice in choices_of(body) if index_of(choice, at) == 0]
    return {**body, "choices": kept}


def answer_of(body: JsonObject) -> Said:
    """A whole answer. Raises ``UpstreamError`` for what is none."""
    [choice] = [choice for _, choice in choices_of(first_choice(body))][:1] or [{}]
    message = object_in(choice, "message")
    calls, malformed = _calls(message)
    blocks: list[Text | Thought | ToolCall] = [
        *(Thought(text) for text in thoughts_of(message)),
        *(Text(text) for text in texts_of(message) if text),
        *calls,
    ]
    stop: Stop = "malformed" if malformed else stop_of(choice.get("finish_reason"))
    if calls and stop == "end":
        stop = "tools"
    return Said(blocks=tuple(blocks), stop=stop, usage=usage_of(body) or Usage())


def stop_of(reason: Any) -> Stop:
    """Why a choice ended, by its ``finish_reason``."""
    return _STOPS.get(reason, "end") if isinstance(reason, str) else "end"


def usage_of(body: JsonObject) -> Usage | None:
    """A reply's or chunk's count of tokens, None where it has none."""
    usage = body.get("usage")
    if not isinstance(usage, dict) or not usage:
        return None
    details = usage.get("prompt_tokens_details")
    prompt = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(prompt=prompt, completion=_count(usage.get("completion_tokens")), cached=min(cached, prompt))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def texts_of(said: JsonObject) -> Iterator[str]:
    """The texts of a message or delta, in order: its content, or what the provider marked as a refusal."""
    content = said.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in {"text", "output_text"} and isinstance(part.get("text"), str):
            yield part["text"]
    if isinstance(said.get("refusal"), str):
        yield said["refusal"]


def thoughts_of(said: JsonObject) -> Iterator[str]:
    """The reasoning of a message or delta. Providers name it in two ways; each text counts once."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(said.get(name), str) and said[name]:
            yield said[name]
            return


def call_deltas(said: JsonObject) -> Iterator[tuple[int, JsonObject, JsonObject]]:
    """The calls of tools in a message or delta: each call's place, the call, its function."""
    calls = said.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise _malformed()
    for at, call in enumerate(calls):
        yield index_of(call, at), call, object_in(call, "function")
    if old := object_in(said, "function_call"):
        yield 0, {}, old


def _calls(message: JsonObject) -> tuple[list[ToolCall], bool]:
    """The calls of tools, and whether there were any that cannot be read."""
    calls = []
    malformed = False
    for _, call, function in call_deltas(message):
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except (TypeError, ValueError, RecursionError):
            malformed = True
            continue
        calls.append(ToolCall(call_id(call), str(function.get("name") or ""), arguments))
    return calls, malformed


def call_id(call: JsonObject) -> str:
    """The id of a call of a tool; one of our own where the upstream gave none."""
    given = call.get("id")
    return given if isinstance(given, str) and given else f"tooluse_{uuid.uuid4().hex[:22]}"


def _malformed() -> UpstreamError:
    return UpstreamError("The model's reply is not a chat completion.")
