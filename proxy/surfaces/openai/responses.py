"""``POST /v1/responses``: the API of items, whole or as a stream of events.

The upstream must speak it too. What it keeps between requests (``store``, ``previous_response_id``, ``conversation``)
is its own affair: earlier turns that only it knows are no sources here, and mark nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from proxy.grounding.errors import CallerError
from proxy.guard.exchange import exchange
from proxy.guard.stream import release_of
from proxy.guard.trace import trace_of
from proxy.surfaces.base import json_response
from proxy.surfaces.context import read_input
from proxy.surfaces.live import Live
from proxy.surfaces.openai import outputs, render
from proxy.surfaces.openai.completing import EVENTS, JSON
from proxy.surfaces.openai.request import ResponseRequest, flag, limited, opened, wants_sync, wants_trace
from proxy.surfaces.openai.responding import ResponseVoice, error_event
from proxy.surfaces.openai.shapes import counted, message_of, response_of
from proxy.surfaces.rewriting import Repeated
from proxy.upstream.base import Answer, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.guard.exchange import Exchanged
    from proxy.surfaces.base import Call, Services

JsonObject = dict[str, Any]


class Responses:
    """The responses surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def respond(self, call: Call) -> Response:
        """Answer ``POST /v1/responses``."""
        asked = self._read(call)
        return await (self._stream if asked.stream else self._whole)(call, asked)

    def _read(self, call: Call) -> ResponseRequest:
        body, policy = opened(self._services, call)
        if flag(body, "background"):
            message = "background is not supported: an answer that is fetched later cannot be judged."
            raise CallerError(message, param="background", code="unsupported_parameter")
        context, forward = read_input(body, policy)
        limited(call, policy, context)
        forward.pop("guardrail", None)
        return ResponseRequest(
            upstream=self._services.models.get(call.ledger.model),
            body=forward,
            context=context,
            policy=policy,
            release=release_of(policy, structured=_is_structured(body), sync=wants_sync(body)),
            trace=wants_trace(body, policy),
            stream=call.ledger.stream,
        )

    async def _stream(self, call: Call, asked: ResponseRequest) -> Response:
        live = Live(
            services=self._services,
            ledger=call.ledger,
            policy=asked.policy,
            context=asked.context,
            voice=ResponseVoice(self._services.assessor, asked, call.ledger),
            release=asked.release,
            asks_again="input" in asked.body,
        )
        return await live.reply(
            EVENTS, lambda trace: json_response(*render.blocked_error(asked.policy, trace)), error_event
        )

    async def _whole(self, call: Call, asked: ResponseRequest) -> Response:
        model = Repeated(
            asked.upstream, asked.body, "responses", said=lambda answer: outputs.part_of(answer.body, asked.body).text
        )
        done = await exchange(
            self._services.assessor,
            asked.policy,
            asked.context,
            call.ledger.meter,
            ask=model.ask,
            parts_of=lambda answer: [outputs.part_of(answer.body, asked.body)],
            redact=_redacted,
            again=model.again if "input" in asked.body else None,
        )
        call.ledger.verdicts = done.verdicts
        call.ledger.answered(done.parts)
        trace = None
        if asked.trace:
            trace = trace_of(done.verdicts, done.parts, asked.context, asked.policy, call.ledger.meter)
        if any(verdict.blocked for verdict in done.verdicts):
            if asked.policy.on_block == "error":
                return json_response(*render.blocked_error(asked.policy, trace))
            body = _blocked(call, asked, done)
            return Response(to_json(body if trace is None else {**body, "guardrail": trace}), headers=JSON)
        return Response(_passed(asked, done, trace), headers=JSON)


def _redacted(answer: Answer, texts: Mapping[int, str]) -> Answer:
    body = outputs.redacted(answer.body, texts[0])
    return Answer(raw=to_json(body), body=body)


def _is_structured(body: JsonObject) -> bool:
    """Whether the answer may be another thing than prose."""
    text = body.get("text")
    kind = text.get("format") if isinstance(text, dict) else None
    plain = kind is None or (isinstance(kind, dict) and kind.get("type") == "text")
    return not plain or bool(body.get("tools"))


def _blocked(call: Call, asked: ResponseRequest, done: Exchanged[Answer]) -> JsonObject:
    original = {"model": call.ledger.model} if done.reply is None else done.reply.body
    usage = outputs.usage_of(original) if done.reply is not None else counted(0, 0)
    return {
        **response_of(asked.body, original),
        "incomplete_details": {"reason": "content_filter"},
        "output": [message_of([asked.policy.blocked_message], "incomplete")],
        "usage": render.numbers(usage),
    }


def _passed(asked: ResponseRequest, done: Exchanged[Answer], trace: JsonObject | None) -> bytes:
    """What is judged is also stripped; what the policy leaves unchecked passes as it came."""
    if done.reply is None:
        return b"{}"
    body = outputs.clean_response(done.reply.body, asked.policy, asked.body) if done.parts else done.reply.body
    if trace is not None:
        body = {**body, "guardrail": trace}
    return done.reply.raw if body is done.reply.body else to_json(body)
