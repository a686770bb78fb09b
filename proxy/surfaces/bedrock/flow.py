"""Ask a model and tell the answer in one of Bedrock's dialects, whole or as it is written.

What Converse and each family of InvokeModel say differently is a ``Dialect``; the order of things is here, once. Of a
block nothing is told but the policy's message, the counts of tokens and the assessment.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import Response

from proxy.grounding.errors import CallerError
from proxy.guard.exchange import exchange
from proxy.guard.stream import Telling
from proxy.surfaces.answers import choices_of, clean, object_in, parts_of, prompt_text
from proxy.surfaces.base import json_response
from proxy.surfaces.bedrock import errors, eventstream, guardrails
from proxy.surfaces.bedrock.said import (
    Said,
    Stop,
    Usage,
    answer_of,
    blocked,
    call_deltas,
    ending_of,
    first_choice,
    pictures_of,
    sequence_of,
    stop_of,
    texts_of,
    thoughts_of,
    usage_of,
)
from proxy.surfaces.live import Live
from proxy.surfaces.reading import Reading
from proxy.surfaces.rewriting import Repeated, asked_again, edited, redacted
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from proxy.grounding.types import Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.stream import Piece, Refused, Released
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.bedrock.asked import Asked
    from proxy.surfaces.bedrock.said import Ending, Picture
    from proxy.surfaces.live import End

JsonObject = dict[str, Any]

_KEEP_ALIVE = eventstream.event("keepAlive", {})  # an event of no known name: AWS's SDKs pass over it


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told of an answer besides what it says.

    ``assessment`` is a ``GuardrailAssessment``, None where no trace was asked for or the caller may not see it.
    """

    intervened: bool
    reason: str
    guardrail: str
    assessment: JsonObject | None
    milliseconds: int


class Writer(Protocol):
    """Writes one streamed answer, as objects each of which becomes an event; what it opens it closes at the end."""

    def text(self, text: str) -> list[JsonObject]:
        """A piece of what the user reads."""
        ...

    def thought(self, text: str) -> list[JsonObject]:
        """A piece of what the model says to itself."""
        ...

    def picture(self, picture: Picture) -> list[JsonObject]:
        """A whole picture."""
        ...

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """A piece of the arguments of the call at ``at``; ``identity`` and ``name`` stand in its first piece."""
        ...

    def end(self, end: Ending, told: Told) -> list[JsonObject]:
        """The end. Nothing was said if nothing was written before."""
        ...


class Dialect(Protocol):
    """How one API says things."""

    def whole(self, said: Said, told: Told) -> tuple[JsonObject, dict[str, str]]:
        """A whole answer: its body, and headers of its own."""
        ...

    def writer(self) -> Writer:
        """What writes one stream."""
        ...

    def frame(self, written: JsonObject) -> bytes:
        """One event of a stream."""
        ...

    def stream_headers(self) -> dict[str, str]:
        """Headers of a stream, besides its content type."""
        ...


async def whole(services: Services, call: Call, asked: Asked, dialect: Dialect) -> Response:
    """Answer at once. Raises what the upstream raises."""
    model = Repeated(asked.upstream, asked.body)
    done = await exchange(
        services.assessor,
        asked.policy,
        asked.context,
        call.ledger.meter,
        ask=model.ask,
        parts_of=lambda answer: parts_of(first_choice(answer.body, asked.stops)),
        redact=redacted,
        again=model.again,
    )
    call.ledger.verdicts = done.verdicts
    call.ledger.answered(done.parts)
    if done.reply is None or any(verdict.blocked for verdict in done.verdicts):
        if asked.policy.on_block == "error":
            return _blocked_error(asked)
        usage = usage_of(done.reply.body) if done.reply else None
        said = blocked(asked.policy.blocked_message, usage or Usage())
    else:
        body = first_choice(done.reply.body, asked.stops)
        if done.parts:  # what is not judged is not stripped either
            body = clean(body, asked.policy, holder="message")
        said = answer_of(body, sequence_of(done.reply.body, asked.stops))
        if usage_of(body) is None:
            usage = await _counted(services, asked, [said.text])
            said = replace(said, end=replace(said.end, usage=usage))
    told, headers = dialect.whole(said, _told(call, asked, done.verdicts, done.parts))
    return Response(to_json(told), headers={"content-type": "application/json", **headers})


async def stream(services: Services, call: Call, asked: Asked, dialect: Dialect) -> Response:
    """Answer as a stream, begun once something may leave or cannot be waited for any longer. Raises as ``whole``."""
    live = Live(
        services=services,
        ledger=call.ledger,
        policy=asked.policy,
        context=asked.context,
        voice=_Voice(services, call, asked, dialect),
        release=asked.release,
    )
    headers = {"content-type": eventstream.CONTENT_TYPE, **dialect.stream_headers()}
    return await live.reply(headers, lambda _: _blocked_error(asked), errors.stream_exception, _KEEP_ALIVE)


def _blocked_error(asked: Asked) -> Response:
    """A block as an error: the one that AWS has for what a request may not have."""
    return json_response(*errors.error(CallerError(asked.policy.blocked_message, code="content_filter")))


def _told(call: Call, asked: Asked, verdicts: Sequence[Verdict], parts: Sequence[AnswerPart]) -> Told:
    verdict = verdicts[0]
    milliseconds = round(call.ledger.meter.total() * 1000)
    told = None
    if asked.trace != "disabled":
        guarded = sum(len(part.text) for part in parts)
        told = guardrails.assessment(
            verdict,
            asked.policy,
            full=asked.trace == "enabled_full",
            milliseconds=round((call.ledger.meter.scoring or 0.0) * 1000),
            guarded=guarded,
            total=asked.total + guarded,
        )
    return Told(
        intervened=verdict.blocked or bool(verdict.removed),
        reason=guardrails.reason(verdict),
        guardrail=asked.policy.name,
        assessment=told,
        milliseconds=milliseconds,
    )


async def _counted(services: Services, asked: Asked, said: Sequence[str]) -> Usage:
    """Our own count, by the scorer's vocabulary: the upstream gave none, or was stopped before it could."""
    prompt = await services.assessor.count_tokens(prompt_text(asked.body))
    return Usage(prompt=prompt, completion=await services.assessor.count_tokens(*said))


class _Reading(Reading[JsonObject]):
    """The upstream's chunks of its first choice, read into pieces.

    ``usage`` is what it counted, once it has; ``sequence`` the stop sequence that it ended at, once it says so;
    ``spent`` is what it counted when it was asked before.
    """

    def __init__(self, asked: Asked, spent: Usage | None = None) -> None:
        super().__init__(asked.policy)
        self._asked, self._spent = asked, spent
        self.usage = spent
        self.sequence: str | None = None

    async def pieces(self) -> AsyncGenerator[Piece[JsonObject], None]:
        async with aclosing(self.chunks(self._asked.upstream.stream(self._asked.body))) as chunks:
            async for chunk in chunks:
                if chunk.data is not None:
                    self.sequence = self.sequence or sequence_of(chunk.data, self._asked.stops)
                    yield self._piece(first_choice(chunk.data, self._asked.stops))

    def _piece(self, data: JsonObject) -> Piece[JsonObject]:
        self.add(data)
        if (used := usage_of(data)) is not None:
            self.usage = used.and_before(self._spent)
        choices = [choice for _, choice in choices_of(data)]
        if not choices:
            return self.piece_of_none(data, data)
        [choice] = choices[:1]
        splits = not any(True for _ in call_deltas(object_in(choice, "delta")))
        return self.piece({**data, "choices": [choice]}, data, choice, index=0, splits=splits)


class _Voice:
    """A ``Voice`` of Bedrock's."""

    def __init__(self, services: Services, call: Call, asked: Asked, dialect: Dialect) -> None:
        self._services, self._call, self._asked = services, call, asked
        self._reading, self._writer, self._frame = _Reading(asked), dialect.writer(), dialect.frame
        self._stop: Stop = "end"
        self._called = False

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        return self._reading.spoke

    def hear(self) -> Telling[JsonObject]:
        """What the model says when it is asked."""
        return Telling(self._reading.pieces(), self._reading.parts)

    def again(self, said: str, sentences: Sequence[str]) -> Telling[JsonObject]:
        """Ask the model once more; what it has used up so far counts in."""
        body = asked_again(self._asked.body, said, sentences)
        self._reading = _Reading(replace(self._asked, body=body), self._reading.usage)
        return self.hear()

    def edited(self, item: JsonObject, text: str) -> JsonObject:
        """A chunk that says ``text`` instead of its own."""
        return edited(item, text)

    def passed(self, piece: Piece[JsonObject]) -> bytes:
        """All that a chunk says."""
        return self._framed(self._say(piece.item, piece.text))

    def released(self, step: Released[JsonObject]) -> bytes:
        """A chunk, or as much of it as may leave."""
        item = clean(step.piece.item, self._asked.policy, holder="delta")
        return self._framed(self._say(item, step.piece.text[step.start : step.end], first=step.start == 0))

    def refused(self, step: Refused) -> bytes:
        """The policy's message, apart from what has left before."""
        self._stop = "blocked"
        return self._framed(self._writer.text(step.gap + self._asked.policy.blocked_message))

    def unasked(self) -> None:
        """No tokens were used."""
        self._reading.usage = Usage()

    def trace(self, _end: End) -> None:
        """Nothing: an error of AWS's has no place for one."""

    async def end(self, end: End) -> bytes:
        """Why it ended, the count of tokens, the assessment."""
        stop = "tools" if self._called and self._stop == "end" else self._stop
        said = [part.text for part in end.parts]
        usage = self._reading.usage or await _counted(self._services, self._asked, said)
        told = _told(self._call, self._asked, end.verdicts, end.parts if end.judged else ())
        return self._framed(self._writer.end(ending_of(stop, usage, self._reading.sequence), told))

    def _say(self, data: JsonObject, text: str, *, first: bool = True) -> list[JsonObject]:
        """A chunk with this much of its text; what it holds besides leaves with the ``first`` of it."""
        written: list[JsonObject] = []
        for _, choice in choices_of(data):
            delta = object_in(choice, "delta")
            if first:
                for thought in thoughts_of(delta):
                    written += self._writer.thought(thought)
            others = {**delta, "content": None} if isinstance(delta.get("content"), str) else delta
            for said in (text, *texts_of(others)) if first else (text,):
                written += self._writer.text(said) if said else []
            for picture in pictures_of(delta) if first else ():
                written += self._writer.picture(picture)
            for at, call, function in call_deltas(delta) if first else ():
                self._called = True
                arguments = function.get("arguments")
                identity, name = str(call.get("id") or ""), str(function.get("name") or "")
                written += self._writer.call(at, identity, name, arguments if isinstance(arguments, str) else "")
            if choice.get("finish_reason"):
                self._stop = stop_of(choice["finish_reason"], self._reading.sequence)
        return written

    def _framed(self, written: list[JsonObject]) -> bytes:
        return b"".join(map(self._frame, written))
