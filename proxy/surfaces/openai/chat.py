"""``POST /v1/chat/completions`` and ``GET /v1/models``. How a stream is released stands in ``live.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from proxy.grounding.errors import CallerError, no_such_model
from proxy.guard.assess import enforce_limits, without_scoring
from proxy.guard.exchange import exchange
from proxy.guard.trace import trace_of
from proxy.surfaces.answers import clean, parts_of
from proxy.surfaces.base import START_SECONDS, Call, EventStream, Paced, Services, json_response, parse_object
from proxy.surfaces.context import read_context
from proxy.surfaces.openai import render
from proxy.surfaces.openai.live import BlockedEarly, LiveReply
from proxy.surfaces.openai.request import ChatRequest
from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from proxy.grounding.types import Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.exchange import Exchanged
    from proxy.policy.model import Policy
    from proxy.upstream.base import Answer

JsonObject = dict[str, Any]
_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no"}
_MAX_CHOICES = 128
_CREATED = 1_700_000_000  # /v1/models must name a time; a model list has none


class Chat:
    """The chat surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def complete(self, call: Call) -> Response:
        """Answer ``POST /v1/chat/completions``."""
        asked = self._read(call)
        if asked.stream:
            return await self._stream(call, asked)
        done = await exchange(
            self._services.assessor,
            asked.policy,
            asked.context,
            call.ledger.meter,
            ask=lambda: asked.upstream.complete(asked.body),
            parts_of=lambda answer: parts_of(answer.body),
        )
        call.ledger.verdicts = done.verdicts
        call.ledger.answer_chars = sum(len(part.text) for part in done.parts)
        trace = _trace(call, asked, done.verdicts, done.parts)
        if any(verdict.blocked for verdict in done.verdicts) and asked.policy.on_block == "error":
            return json_response(*render.blocked_error(asked.policy, trace))
        return Response(_whole_body(call, asked, done, trace), headers=_JSON)

    async def _stream(self, call: Call, asked: ChatRequest) -> Response:
        """Answer as a stream, begun once something may leave or cannot be waited for any longer."""
        settled = without_scoring(asked.policy, asked.context)
        if settled is not None and settled.blocked:
            return _blocked_unasked(call, asked, settled)
        reply = LiveReply(self._services.assessor, asked, call.ledger)
        if settled is None:
            self._services.assessor.admit()
        events = Paced(reply.events() if settled is None else reply.unguarded(settled))
        try:
            first = await events.next(START_SECONDS)
        except BlockedEarly as blocked:
            await events.close()
            return json_response(*render.blocked_error(asked.policy, blocked.trace))
        except BaseException:
            await events.close()
            raise
        reply.started = True
        return EventStream(first or b"", events, _EVENTS, render.error_event)

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


def refuse_steering(body: JsonObject) -> None:
    """Raise ``CallerError`` for a field that would steer the gateway rather than the model."""
    for name in body:
        if name in STEERING_FIELDS:
            message = f"{name} is set by the operator and cannot be sent with a request."
            raise CallerError(message, param=name, code="unsupported_parameter")


def _blocked_unasked(call: Call, asked: ChatRequest, verdict: Verdict) -> Response:
    """A streamed block that stands before the model is asked."""
    call.ledger.verdicts = (verdict,)
    trace = _trace(call, asked, (verdict,), ())
    if asked.policy.on_block == "error":
        return json_response(*render.blocked_error(asked.policy, trace))
    body = render.blocked_stream(call.ledger.model, asked.choices, asked.policy, trace, usage=asked.include_usage)
    return Response(body, headers=_EVENTS)


def _trace(
    call: Call, asked: ChatRequest, verdicts: tuple[Verdict, ...], parts: tuple[AnswerPart, ...]
) -> JsonObject | None:
    return trace_of(verdicts, parts, asked.context, asked.policy, call.ledger.meter) if asked.trace else None


def _whole_body(call: Call, asked: ChatRequest, done: Exchanged[Answer], trace: JsonObject | None) -> bytes:
    if done.reply is None:
        return render.blocked_whole(call.ledger.model, asked.choices, asked.policy, trace)
    return render.whole(done.reply, done.blocked, asked.policy.blocked_message, _cleaner(asked, done), trace)


def _cleaner(asked: ChatRequest, done: Exchanged[Answer]) -> render.Clean:
    """What is judged is also stripped; what the policy leaves unchecked passes as it came."""
    if not done.parts:
        return lambda body: body
    return lambda body: clean(body, asked.policy, holder="message")


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
