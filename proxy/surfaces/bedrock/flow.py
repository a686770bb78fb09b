"""Ask a model and tell the answer in one of Bedrock's dialects, whole or as it is written.

What Converse and each family of InvokeModel say differently is a ``Dialect``; the order of things is here, once. Of a
block nothing is told but the policy's message, the counts of tokens and the assessment.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import Response

from proxy.grounding.errors import CallerError, GroundwardenError
from proxy.guard.assess import without_scoring
from proxy.guard.exchange import exchange, timed
from proxy.guard.stream import Finished, Following, Piece, Refused, Released
from proxy.surfaces.answers import choices_of, clean, object_in, parts_of, prompt_text
from proxy.surfaces.base import START_SECONDS, EventStream, Paced, json_response
from proxy.surfaces.bedrock import errors, eventstream, guardrails
from proxy.surfaces.bedrock.said import (
    Said,
    Stop,
    Usage,
    answer_of,
    blocked,
    call_deltas,
    first_choice,
    stop_of,
    texts_of,
    thoughts_of,
    usage_of,
)
from proxy.surfaces.reading import Reading
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from proxy.grounding.types import Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.bedrock.asked import Asked

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

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:
        """A piece of the arguments of the call at ``at``; ``identity`` and ``name`` stand in its first piece."""
        ...

    def end(self, stop: Stop, usage: Usage, told: Told) -> list[JsonObject]:
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
    done = await exchange(
        services.assessor,
        asked.policy,
        asked.context,
        call.ledger.meter,
        ask=lambda: asked.upstream.complete(asked.body),
        parts_of=lambda answer: parts_of(first_choice(answer.body)),
    )
    call.ledger.verdicts = done.verdicts
    call.ledger.answer_chars = sum(len(part.text) for part in done.parts)
    if done.reply is None or any(verdict.blocked for verdict in done.verdicts):
        if asked.policy.on_block == "error":
            return _blocked_error(asked)
        usage = usage_of(done.reply.body) if done.reply else None
        said = blocked(asked.policy.blocked_message, usage or Usage())
    else:
        body = first_choice(done.reply.body)
        if done.parts:  # what is not judged is not stripped either
            body = clean(body, asked.policy, holder="message")
        said = answer_of(body)
        if usage_of(body) is None:
            said = replace(said, usage=_counted(services, asked, [said.text]))
    told, headers = dialect.whole(said, _told(call, asked, done.verdicts, done.parts))
    return Response(to_json(told), headers={"content-type": "application/json", **headers})


async def stream(services: Services, call: Call, asked: Asked, dialect: Dialect) -> Response:
    """Answer as a stream, begun once something may leave or cannot be waited for any longer. Raises as ``whole``."""
    settled = without_scoring(asked.policy, asked.context)
    live = _Live(services, call, asked, dialect)
    if settled is None:
        services.assessor.admit()
        events = Paced(live.events())
    elif settled.blocked:
        events = Paced(live.blocked_unasked(settled))
    else:
        events = Paced(live.unguarded(settled))
    try:
        first = await events.next(START_SECONDS)
    except _BlockedEarly:
        await events.close()
        return _blocked_error(asked)
    except BaseException:
        await events.close()
        raise
    live.started = True
    headers = {"content-type": eventstream.CONTENT_TYPE, **dialect.stream_headers()}
    return EventStream(first or b"", events, headers, errors.stream_exception, keep_alive=_KEEP_ALIVE)


class _BlockedEarly(GroundwardenError):
    """A block before anything has left, under ``on_block: error``."""

    def __init__(self) -> None:
        super().__init__("blocked")


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
        intervened=verdict.blocked,
        reason=guardrails.reason(verdict),
        guardrail=asked.policy.name,
        assessment=told,
        milliseconds=milliseconds,
    )


def _counted(services: Services, asked: Asked, said: Sequence[str]) -> Usage:
    """Our own count, by the scorer's vocabulary: the upstream gave none, or was stopped before it could."""
    prompt = services.assessor.count_tokens(prompt_text(asked.body))
    return Usage(prompt=prompt, completion=sum(services.assessor.count_tokens(text) for text in said))


class _Reading(Reading[JsonObject]):
    """The upstream's chunks of its first choice, read into pieces. ``usage`` is what it counted, once it has."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked.policy)
        self._asked = asked
        self.usage: Usage | None = None

    async def pieces(self) -> AsyncGenerator[Piece[JsonObject], None]:
        async with aclosing(self._asked.upstream.stream(self._asked.body)) as chunks:
            async for chunk in chunks:
                self.done = self.done or chunk.done
                if chunk.data is not None:
                    yield self._piece(first_choice(chunk.data))

    def _piece(self, data: JsonObject) -> Piece[JsonObject]:
        self.add(data)
        self.usage = usage_of(data) or self.usage
        choices = [choice for _, choice in choices_of(data)]
        if not choices:
            return self.piece_of_none(data, data)
        [choice] = choices[:1]
        splits = not any(True for _ in call_deltas(object_in(choice, "delta")))
        return self.piece({**data, "choices": [choice]}, data, choice, index=0, splits=splits)


class _Live:
    """One streamed reply. ``started`` is set from outside once something, if only headers, has been sent."""

    def __init__(self, services: Services, call: Call, asked: Asked, dialect: Dialect) -> None:
        self._services, self._call, self._asked = services, call, asked
        self._reading, self._writer, self._frame = _Reading(asked), dialect.writer(), dialect.frame
        self._stop: Stop = "end"
        self._called = False
        self._unsaid = False
        self.started = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The reply's events, judged. Raises what the upstream's stream raises."""
        ledger, asked = self._call.ledger, self._asked
        following = Following(
            self._services.assessor,
            asked.policy,
            asked.context,
            ledger.meter,
            release=asked.release,
            expected=1,
            pieces=self._reading.pieces(),
            parts_of=self._reading.parts,
        )
        async with aclosing(following.steps()) as steps:
            async for step in steps:
                ledger.verdicts = following.verdicts or ()
                if written := self._written(step):
                    yield written

    async def unguarded(self, verdict: Verdict) -> AsyncGenerator[bytes, None]:
        """The events of a reply that nobody judges, as they come."""
        self._call.ledger.verdicts = (verdict,)
        async with aclosing(timed(self._reading.pieces(), self._call.ledger.meter)) as pieces:
            async for piece in pieces:
                if piece.text:
                    self._call.ledger.note_text()
                if written := self._framed(self._say(piece.item, piece.text)):
                    yield written
        said = [part.text for part in self._reading.parts()]
        self._call.ledger.answer_chars = sum(map(len, said))
        yield self._end((verdict,), (), said)

    async def blocked_unasked(self, verdict: Verdict) -> AsyncGenerator[bytes, None]:
        """The events of a block that stands before the model is asked."""
        self._call.ledger.verdicts = (verdict,)
        if self._asked.policy.on_block == "error":
            raise _BlockedEarly
        self._reading.usage = Usage()
        yield self._refuse() + self._end((verdict,), (), ())

    def _written(self, step: Released[JsonObject] | Refused | Finished) -> bytes:
        if isinstance(step, Released):
            if step.end > step.start:
                self._call.ledger.note_text()
            item = clean(step.piece.item, self._asked.policy, holder="delta")
            text = step.piece.text[step.start : step.end]
            return self._framed(self._say(item, text, first=step.start == 0))
        if isinstance(step, Refused):
            if not self.started and self._asked.policy.on_block == "error":
                self._unsaid = True  # it becomes an error, if the reply has not begun when the upstream is closed
                return b""
            return self._refuse()
        said = [part.text for part in step.parts]
        self._call.ledger.answer_chars = sum(map(len, said))
        if self._unsaid and not self.started:
            raise _BlockedEarly
        refused = self._refuse() if self._unsaid else b""
        return refused + self._end(step.verdicts, step.parts, said)

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
            for at, call, function in call_deltas(delta) if first else ():
                self._called = True
                arguments = function.get("arguments")
                identity, name = str(call.get("id") or ""), str(function.get("name") or "")
                written += self._writer.call(at, identity, name, arguments if isinstance(arguments, str) else "")
            if choice.get("finish_reason"):
                self._stop = stop_of(choice["finish_reason"])
        return written

    def _refuse(self) -> bytes:
        self._stop = "blocked"
        return self._framed(self._writer.text(self._asked.policy.blocked_message))

    def _end(self, verdicts: Sequence[Verdict], parts: Sequence[AnswerPart], said: Sequence[str]) -> bytes:
        """``parts`` are those that were judged, ``said`` the texts of all."""
        stop = "tools" if self._called and self._stop == "end" else self._stop
        usage = self._reading.usage or _counted(self._services, self._asked, said)
        return self._framed(self._writer.end(stop, usage, _told(self._call, self._asked, verdicts, parts)))

    def _framed(self, written: list[JsonObject]) -> bytes:
        return b"".join(map(self._frame, written))
