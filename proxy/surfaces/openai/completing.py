"""Ask for a completion, in either form, and answer with what may leave of it, whole or as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from proxy.guard.exchange import exchange
from proxy.guard.trace import trace_of
from proxy.surfaces.answers import clean, parts_of
from proxy.surfaces.base import json_response
from proxy.surfaces.live import Live
from proxy.surfaces.openai import render
from proxy.surfaces.openai.live import CompletionVoice
from proxy.surfaces.rewriting import Repeated, redacted
from proxy.upstream.base import Answer, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxy.guard.exchange import Exchanged
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.openai.request import Request

JsonObject = dict[str, Any]
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", "x-accel-buffering": "no"}


async def answered(services: Services, call: Call, asked: Request) -> Response:
    """The answer to a request. Raises what the upstream raises."""
    return await (_stream if asked.stream else _whole)(services, call, asked)


async def _stream(services: Services, call: Call, asked: Request) -> Response:
    live = Live(
        services=services,
        ledger=call.ledger,
        policy=asked.policy,
        context=asked.context,
        voice=CompletionVoice(services.assessor, asked, call.ledger),
        release=asked.release,
        expected=asked.choices,
        asks_again=asked.asks_again,
    )
    return await live.reply(
        EVENTS, lambda trace: json_response(*render.blocked_error(asked.policy, trace)), render.error_event
    )


async def _whole(services: Services, call: Call, asked: Request) -> Response:
    model = _Model(asked)
    done = await exchange(
        services.assessor,
        asked.policy,
        asked.context,
        call.ledger.meter,
        ask=model.ask,
        parts_of=lambda answer: parts_of(answer.body),
        redact=model.redacted,
        again=model.again if asked.asks_again else None,
    )
    call.ledger.verdicts = done.verdicts
    call.ledger.answered(done.parts)
    trace = None
    if asked.trace:
        trace = trace_of(done.verdicts, done.parts, asked.context, asked.policy, call.ledger.meter)
    if any(verdict.blocked for verdict in done.verdicts) and asked.policy.on_block == "error":
        return json_response(*render.blocked_error(asked.policy, trace))
    return Response(_body(call, asked, done, trace), headers=JSON)


class _Model:
    """The model that is asked, whose answers are read in chat's form; ``raw`` stays the caller's."""

    def __init__(self, asked: Request) -> None:
        self._form, self._model = asked.form, Repeated(asked.upstream, asked.body, asked.form.api)

    async def ask(self) -> Answer:
        answer = await self._model.ask()
        return Answer(raw=answer.raw, body=self._form.inward(answer.body, "message"))

    async def again(self, answer: Answer, sentences: Sequence[str]) -> Answer:
        return await self._model.again(answer, sentences)

    def redacted(self, answer: Answer, texts: Mapping[int, str]) -> Answer:
        body = redacted(answer, texts).body
        return Answer(raw=to_json(self._form.outward(body, "message")), body=body)


def _body(call: Call, asked: Request, done: Exchanged[Answer], trace: JsonObject | None) -> bytes:
    if done.reply is None:
        return render.blocked_whole(asked.form, call.ledger.model, asked.choices, asked.policy, trace)
    return render.whole(
        asked.form, done.reply, done.blocked, asked.policy.blocked_message, _cleaner(asked, done), trace
    )


def _cleaner(asked: Request, done: Exchanged[Answer]) -> render.Clean:
    """What is judged is also stripped; what the policy leaves unchecked passes as it came."""
    if not done.parts:
        return lambda body: body
    return lambda body: clean(body, asked.policy, holder="message")
