"""What a model said, between two dialects: read from OpenAI's chat completions, to be told in one of Bedrock's.

Only what is named here crosses over: text, reasoning and pictures (where the policy passes them), calls of tools, why
it ended and the counts of tokens. What the upstream sends besides (annotations, log-probabilities) stays behind.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from proxy.surfaces.answers import choices_of, index_of, malformed, object_in
from proxy.surfaces.base import MAX_JSON_DEPTH
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

JsonObject = dict[str, Any]

Stop = Literal["end", "sequence", "length", "tools", "filtered", "malformed", "blocked"]
"""Why an answer ended. ``sequence``: at one of the caller's stop sequences, where the server tells which;
``malformed``: a tool was called with what is no JSON; ``blocked``: the guardrail stepped in."""

_STOPS: dict[str, Stop] = {
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "filtered",
}
_ENDED_AT = ("stop_reason", "matched_stop")
"""Where vLLM and SGLang say in a choice at which stop sequence it ended; others do not say it."""
_PICTURE = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Text:
    """What the user reads."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model says to itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture. ``format`` is one that Bedrock's shapes know (png, jpeg, gif, webp), ``data`` its bytes in base64."""

    format: str
    data: str


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

    def and_before(self, spent: Usage | None) -> Usage:
        """These and those of an earlier call."""
        if spent is None:
            return self
        return Usage(
            prompt=self.prompt + spent.prompt,
            completion=self.completion + spent.completion,
            cached=self.cached + spent.cached,
        )


Block = Text | Thought | Picture | ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an answer ended; ``sequence`` is the stop sequence where that is why."""

    stop: Stop
    usage: Usage
    sequence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A whole answer, its blocks in order."""

    blocks: tuple[Block, ...]
    end: Ending

    @property
    def text(self) -> str:
        """What the user reads of it."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


def blocked(message: str, usage: Usage) -> Said:
    """A block: the policy's message and nothing of the model's."""
    return Said(blocks=(Text(message),), end=Ending(stop="blocked", usage=usage))


def first_choice(body: JsonObject, stops: Container[str]) -> JsonObject:
    """A reply or chunk with no other choice than the first: Bedrock's APIs have one answer.

    Which of the caller's ``stops`` it ended at is not there any more: these words are the caller's, and not to be
    judged as text of the model's.
    """
    kept = [_without_sequence(choice, stops) for at, choice in choices_of(body) if index_of(choice, at) == 0]
    return {**body, "choices": kept}


def _without_sequence(choice: JsonObject, stops: Container[str]) -> JsonObject:
    told = {name for name in _ENDED_AT if isinstance(choice.get(name), str) and choice[name] in stops}
    return {name: value for name, value in choice.items() if name not in told} if told else choice


def sequence_of(body: JsonObject, stops: Container[str]) -> str | None:
    """Which of the caller's ``stops`` a reply's or chunk's first choice ended at; None where nobody says it."""
    for at, choice in choices_of(body):
        for name in _ENDED_AT if index_of(choice, at) == 0 else ():
            if isinstance(choice.get(name), str) and choice[name] in stops:
                return str(choice[name])
    return None


def answer_of(body: JsonObject, sequence: str | None) -> Said:
    """The first choice of a whole answer, which ended at ``sequence``. Raises ``UpstreamError`` for what is none."""
    [choice] = [choice for at, choice in choices_of(body) if index_of(choice, at) == 0][:1] or [{}]
    message = object_in(choice, "message")
    calls, malformed = _calls(message)
    blocks: list[Block] = [
        *(Thought(text) for text in thoughts_of(message)),
        *(Text(text) for text in texts_of(message) if text),
        *pictures_of(message),
        *calls,
    ]
    stop: Stop = "malformed" if malformed else stop_of(choice.get("finish_reason"), sequence)
    if calls and stop == "end":
        stop = "tools"
    return Said(blocks=tuple(blocks), end=ending_of(stop, usage_of(body) or Usage(), sequence))


def ending_of(stop: Stop, usage: Usage, sequence: str | None) -> Ending:
    """How an answer ended; the ``sequence`` counts only where that is why."""
    return Ending(stop=stop, usage=usage, sequence=sequence if stop == "sequence" else None)


def stop_of(reason: Any, sequence: str | None) -> Stop:
    """Why a choice ended, by its ``finish_reason`` and the stop sequence if it is known."""
    stop = _STOPS.get(reason, "end") if isinstance(reason, str) else "end"
    return "sequence" if stop == "end" and sequence is not None else stop


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
    for part in _objects(content):
        if part.get("type") in {"text", "output_text"} and isinstance(part.get("text"), str):
            yield part["text"]
    if isinstance(said.get("refusal"), str):
        yield said["refusal"]


def pictures_of(said: JsonObject) -> Iterator[Picture]:
    """The pictures of a message or delta that hold their bytes; an address of one cannot be told here."""
    for part in (*_objects(said.get("images")), *_objects(said.get("content"))):
        held = part.get("image_url")
        url = held.get("url") if isinstance(held, dict) else held
        if isinstance(url, str) and (kind := _PICTURE.match(url)) and _is_base64(data := url[kind.end() :]):
            yield Picture(kind[1].lower().replace("jpg", "jpeg"), data)


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return False


def _objects(items: Any) -> Iterator[JsonObject]:
    return (item for item in items if isinstance(item, dict)) if isinstance(items, list) else iter(())


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
        raise malformed()
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
            arguments = _arguments(function.get("arguments") or "{}")
        except (TypeError, ValueError, RecursionError):
            malformed = True
            continue
        calls.append(ToolCall(_call_id(call), str(function.get("name") or ""), arguments))
    return calls, malformed


def _arguments(written: str) -> Any:
    """The arguments of a call. Raises ``ValueError`` or ``RecursionError`` for what is no JSON that callers can read.

    Python reads NaN, 1e999 and a thousand levels of lists, and neither it nor an SDK can do with them in a reply.
    """
    arguments: Any = json.loads(written)
    to_json(arguments)
    level = [arguments]
    for _ in range(MAX_JSON_DEPTH):
        level = [each for each in level if isinstance(each, dict | list)]
        level = [below for each in level for below in (each.values() if isinstance(each, dict) else each)]
    if level:
        raise ValueError
    return arguments


def _call_id(call: JsonObject) -> str:
    """The id of a call of a tool; one of our own where the upstream gave none."""
    given = call.get("id")
    return given if isinstance(given, str) and given else f"tooluse_{uuid.uuid4().hex[:22]}"
