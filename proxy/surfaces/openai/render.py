"""Replies of completions, in either form: a pass as it came, a block built fresh, an error in its own shape.

All bodies here are in chat's form; what leaves is turned into the caller's.

A blocked choice holds nothing of the model's: its text, log-probabilities, reasoning and calls are not edited down but
never copied. Around the choices of a reply with a block only the upstream's id, time, model name and token counts are
kept.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from proxy.grounding.errors import GroundwardenError, UpstreamError
from proxy.surfaces.answers import index_of
from proxy.surfaces.base import retry_headers
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from proxy.guard.stream import Refused
    from proxy.policy.model import Policy
    from proxy.surfaces.openai.forms import Form
    from proxy.upstream.base import Answer, Chunk

JsonObject = dict[str, Any]
DONE = b"data: [DONE]\n\n"
_MAX_TIME = 2**53  # what every JSON reader holds
_BLANK_LINE = re.compile(rb"(\r\n|\n|\r(?!\n))(\r\n|\n|\r)\Z")

Clean: TypeAlias = Callable[[JsonObject], JsonObject]
"""Takes what the policy strips out of a reply or chunk; returns the same object when there is nothing to strip."""


def whole(
    form: Form, answer: Answer, blocked: frozenset[int], message: str, clean: Clean, trace: JsonObject | None
) -> bytes:
    """A whole reply: the upstream's own bytes unless something must be replaced, stripped or added."""
    body = clean(answer.body)
    if blocked:
        fresh = [(index, _blocked_choice(index, message)) for index in blocked]
        choices = sorted([*_kept(body, blocked), *fresh], key=itemgetter(0))
        body = {**envelope(form, body, form.whole), "choices": [choice for _, choice in choices]}
        if "usage" in answer.body:
            body["usage"] = numbers(answer.body["usage"])
    if trace is not None:
        body = {**body, "guardrail": trace}
    return answer.raw if body is answer.body else to_json(form.outward(body, "message"))


def blocked_whole(form: Form, model: str, choices: int, policy: Policy, trace: JsonObject | None) -> bytes:
    """A block without the model having been asked."""
    body = envelope(form, {"model": model}, form.whole)
    body["choices"] = [_blocked_choice(index, policy.blocked_message) for index in range(choices)]
    body["usage"] = no_usage()
    return to_json(form.outward(body if trace is None else {**body, "guardrail": trace}, "message"))


def envelope(form: Form, original: JsonObject, kind: str) -> JsonObject:
    """The outer object of a reply: the upstream's id, time and model where they are well formed, else our own."""
    return {
        "id": name_of(original.get("id")) or f"{form.prefix}-{uuid.uuid4().hex}",
        "object": kind,
        "created": time_of(original.get("created")),
        "model": name_of(original.get("model")),
        "choices": [],
    }


def time_of(value: Any) -> int:
    """The value if it can be a time in seconds, else now."""
    return value if type(value) is int and 0 <= value < _MAX_TIME else int(time.time())


def name_of(value: Any) -> str:
    """The value if it can be a name and no sentence, else nothing."""
    return value if isinstance(value, str) and re.fullmatch(r"[!-~]{1,200}", value) else ""


def error_event(raised: GroundwardenError) -> bytes:
    """An error in mid-stream, as OpenAI sends it: the ``openai`` clients raise ``APIError`` for it."""
    return event(error(raised)[1])


def error(raised: GroundwardenError) -> tuple[int, JsonObject, dict[str, str]]:
    """An error in OpenAI's shape, as status, body and extra headers."""
    kind = raised.type if isinstance(raised, UpstreamError) and raised.type else _error_type(raised)
    body = {"message": raised.message, "type": kind, "param": raised.param, "code": raised.code}
    return raised.status, {"error": body}, retry_headers(raised)


def blocked_error(policy: Policy, trace: JsonObject | None) -> tuple[int, JsonObject]:
    """A block as an error (``on_block: error``)."""
    body = {"message": policy.blocked_message, "type": "invalid_request_error", "param": None, "code": "content_filter"}
    return 400, {"error": body} if trace is None else {"error": body, "guardrail": trace}


_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}


def _error_type(raised: GroundwardenError) -> str:
    fallback = "invalid_request_error" if raised.status < 500 else "server_error"  # noqa: PLR2004 - HTTP's classes
    return _ERROR_TYPES.get(raised.status, fallback)


def _blocked_choice(index: int, message: str) -> JsonObject:
    return {
        "index": index,
        "message": {"role": "assistant", "content": message, "refusal": None},
        "logprobs": None,
        "finish_reason": "content_filter",
    }


def blocked_events(form: Form, shape: JsonObject, step: Refused, message: str) -> bytes:
    """What ends a blocked choice: the policy's message, apart from what has left before, and why it ends."""

    def choice(delta: JsonObject, finish: str | None) -> bytes:
        one = {"index": step.index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event(form.outward({**shape, "choices": [one]}, "delta"))

    content = {"content": step.gap + message}
    return choice(content if step.begun else {"role": "assistant", **content}, None) + choice({}, "content_filter")


def released(form: Form, chunk: Chunk, clean: Clean) -> bytes:
    """A chunk's own bytes, if they are its data and nothing else: comments, ids and event names are not judged."""
    if chunk.data is None:
        return b""
    cleaned = clean(chunk.data)
    as_it_came = cleaned is chunk.data and chunk.raw and only_data(chunk.raw)
    return ended(chunk.raw) if as_it_came else event(form.outward(cleaned, "delta"))


def only_data(raw: bytes) -> bool:
    """Whether an event is its data and nothing else."""
    return all(line.startswith(b"data:") for line in raw.splitlines() if line)


def ended(events: bytes) -> bytes:
    """Events with the blank line that the last one of a stream may lack."""
    return events if not events or _BLANK_LINE.search(events) else events + b"\n\n"


def _kept(body: JsonObject, blocked: frozenset[int]) -> list[tuple[int, JsonObject]]:
    """The choices that may be released, with their numbers."""
    numbered = ((index_of(choice, at), choice) for at, choice in enumerate(body.get("choices") or []))
    return [(index, choice) for index, choice in numbered if index not in blocked]


_COUNTER = re.compile(r"[a-z_]{0,30}(?:tokens?|details|time|cost)[a-z_]{0,10}")


def event(chunk: JsonObject) -> bytes:
    """A chunk as a server-sent event."""
    return b"data: " + to_json(chunk) + b"\n\n"


def numbers(value: Any) -> Any:
    """The numbers of a usage object; text in it, if any, is not copied into a block."""
    if isinstance(value, dict):
        kept = {name: numbers(item) for name, item in value.items() if _COUNTER.fullmatch(name)}
        return {name: item for name, item in kept.items() if item is not None}
    return value if isinstance(value, int | float) else None


def no_usage() -> JsonObject:
    """The count of tokens where no model was asked."""
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
