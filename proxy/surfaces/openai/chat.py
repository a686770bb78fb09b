"""``POST /v1/chat/completions`` and ``GET /v1/models``.

Streams are buffered whole, judged, and replayed; nothing leaves before its verdict.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import Response

from proxy.grounding.errors import CallerError, UpstreamError, no_such_model
from proxy.guard.assess import enforce_limits
from proxy.guard.exchange import exchange
from proxy.guard.trace import trace_of
from proxy.surfaces.base import Call, Services, json_response, parse_object
from proxy.surfaces.openai import render
from proxy.surfaces.openai.choices import clean, finishes, parts_of, parts_of_stream
from proxy.surfaces.openai.context import read_context
from proxy.upstream.base import BROKE_OFF
from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proxy.grounding.types import GroundingContext
    from proxy.guard.answer import AnswerPart
    from proxy.guard.exchange import Exchanged
    from proxy.policy.model import Policy
    from proxy.upstream.base import Answer, Chunk, Upstream

JsonObject = dict[str, Any]
_Reply = TypeVar("_Reply")
_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no"}
_MAX_CHOICES = 128
_CREATED = 1_700_000_000  # /v1/models must name a time; a model list has none


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request, read: what to ask, of whom, against what to judge the answer."""

    upstream: Upstream
    body: JsonObject
    context: GroundingContext
    policy: Policy
    trace: bool
    stream: bool
    choices: int
    include_usage: bool


class Chat:
    """The chat surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def complete(self, call: Call) -> Response:
        """Answer ``POST /v1/chat/completions``."""
        asked = self._read(call)
        if asked.stream:
            streamed = await self._exchange(call, asked, lambda: _collect(asked), _parts_of_chunks)
            return _reply(call, asked, streamed, _streamed_body, _EVENTS)
        whole = await self._exchange(call, asked, lambda: asked.upstream.complete(asked.body), _parts_of_answer)
        return _reply(call, asked, whole, _whole_body, _JSON)

    async def models(self, call: Call) -> Response:
        """Answer ``GET /v1/models``: the models this caller may use."""
        policy = call.policies[call.caller.policy]
        data = [_model(name) for name in self._services.models.names() if policy.allows_model(name)]
        return json_response(200, {"object": "list", "data": data})

    async def model(self, call: Call) -> Response:
        """Answer ``GET /v1/models/{id}``."""
        name = call.path["id"]
        self._require_model(name, call.policies[call.caller.policy])
        return json_response(200, _model(name))

    def _read(self, call: Call) -> ChatRequest:
        body = parse_object(call.body)
        policy = call.ledger.policy = call.policies[call.caller.policy]
        refuse_steering(body)
        name = body.get("model")
        if not isinstance(name, str):
            message = "model must be a string."
            raise CallerError(message, param="model")
        self._require_model(name, policy)
        call.ledger.model = name
        context, forward = read_context(body, policy)
        call.ledger.source_chars, call.ledger.query_chars = context.source_chars, len(context.query or "")
        enforce_limits(policy, context)
        options = body.get("stream_options")
        asked = ChatRequest(
            upstream=self._services.models.get(name),
            body=forward,
            context=context,
            policy=policy,
            trace=_wants_trace(forward.pop("guardrail", None)) and policy.allow_trace,
            stream=_flag(body, "stream"),
            choices=_choices(body),
            include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        )
        call.ledger.stream = asked.stream
        return asked

    def _require_model(self, name: str, policy: Policy) -> None:
        """Raise ``NotFound`` for a model that is not there or not for this caller."""
        if name not in self._services.models.names() or not policy.allows_model(name):
            raise no_such_model(name)

    async def _exchange(
        self,
        call: Call,
        asked: ChatRequest,
        ask: Callable[[], Awaitable[_Reply]],
        parts_of: Callable[[_Reply], list[AnswerPart]],
    ) -> Exchanged[_Reply]:
        ledger = call.ledger
        done = await exchange(
            self._services.assessor, asked.policy, asked.context, ledger.meter, ask=ask, parts_of=parts_of
        )
        ledger.verdicts = done.verdicts
        ledger.answer_chars = sum(len(part.text) for part in done.parts)
        return done


def refuse_steering(body: JsonObject) -> None:
    """Raise ``CallerError`` for a field that would steer the gateway rather than the model."""
    for name in body:
        if name in STEERING_FIELDS:
            message = f"{name} is set by the operator and cannot be sent with a request."
            raise CallerError(message, param=name, code="unsupported_parameter")


async def _collect(asked: ChatRequest) -> list[Chunk]:
    async with aclosing(asked.upstream.stream(asked.body)) as stream:
        chunks = [chunk async for chunk in stream]
    if not any(chunk.done or (chunk.data and finishes(chunk.data)) for chunk in chunks):
        raise UpstreamError(BROKE_OFF)
    return chunks


def _parts_of_answer(answer: Answer) -> list[AnswerPart]:
    return parts_of(answer.body)


def _parts_of_chunks(chunks: list[Chunk]) -> list[AnswerPart]:
    return parts_of_stream(chunk.data for chunk in chunks if chunk.data is not None)


def _reply(
    call: Call,
    asked: ChatRequest,
    done: Exchanged[_Reply],
    body_of: Callable[[Call, ChatRequest, Exchanged[_Reply], JsonObject | None], bytes],
    headers: dict[str, str],
) -> Response:
    trace = None
    if asked.trace:
        trace = trace_of(done.verdicts, done.parts, asked.context, asked.policy, call.ledger.meter)
    blocked = any(verdict.blocked for verdict in done.verdicts)
    if blocked and asked.policy.on_block == "error":
        return json_response(*render.blocked_error(asked.policy, trace))
    return Response(body_of(call, asked, done, trace), headers=headers)


def _whole_body(call: Call, asked: ChatRequest, done: Exchanged[Answer], trace: JsonObject | None) -> bytes:
    if done.reply is None:
        return render.blocked_whole(call.ledger.model, asked.choices, asked.policy, trace)
    return render.whole(done.reply, done.blocked, asked.policy.blocked_message, _cleaner(asked, done), trace)


def _streamed_body(call: Call, asked: ChatRequest, done: Exchanged[list[Chunk]], trace: JsonObject | None) -> bytes:
    if done.reply is None:
        return render.blocked_stream(call.ledger.model, asked.choices, asked.policy, trace, usage=asked.include_usage)
    return render.streamed(done.reply, done.blocked, asked.policy.blocked_message, _cleaner(asked, done), trace)


def _cleaner(asked: ChatRequest, done: Exchanged[Any]) -> render.Clean:
    """What is judged is also stripped; what the policy leaves unchecked passes as it came."""
    if not done.parts:
        return lambda body: body
    return lambda body: clean(body, asked.policy, holder="delta" if asked.stream else "message")


def _wants_trace(value: Any) -> bool:
    if value is None:
        return False
    if not isinstance(value, dict) or set(value) - {"trace"}:
        message = 'guardrail must be {"trace": "enabled"} or {"trace": "disabled"}; it has no other field.'
        raise CallerError(message, param="guardrail")
    wanted = value.get("trace", "disabled")
    if wanted not in ("enabled", "disabled"):
        message = 'guardrail.trace must be "enabled" or "disabled".'
        raise CallerError(message, param="guardrail.trace")
    return bool(wanted == "enabled")


def _flag(body: JsonObject, name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        message = f"{name} must be true or false."
        raise CallerError(message, param=name)
    return bool(value)


def _choices(body: JsonObject) -> int:
    value = body.get("n")
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_CHOICES:
        message = f"n must be a whole number from 1 to {_MAX_CHOICES}."
        raise CallerError(message, param="n")
    return value


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "groundwarden"}
