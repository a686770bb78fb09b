"""A streamed chat completion, released while the model writes it: chunks to pieces, steps to server-sent events."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import GroundwardenError
from proxy.guard.exchange import timed
from proxy.guard.stream import Finished, Following, Piece, Refused, Released
from proxy.guard.trace import trace_of
from proxy.surfaces.answers import choices_of, clean, index_of, object_in, prompt_text
from proxy.surfaces.openai import render
from proxy.surfaces.reading import Reading
from proxy.upstream.base import Chunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from proxy.grounding.gate import Release
    from proxy.grounding.types import Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Assessor
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Ledger
    from proxy.surfaces.openai.request import ChatRequest

JsonObject = dict[str, Any]
_SPLITS = frozenset({"index", "delta"})
_SPLITS_DELTA = frozenset({"role", "content"})


class BlockedEarly(GroundwardenError):
    """A block before anything has left, under ``on_block: error``. ``trace`` explains it, if the caller may know."""

    def __init__(self, trace: JsonObject | None) -> None:
        super().__init__("blocked")
        self.trace = trace


def release_of(policy: Policy, body: JsonObject, choices: int) -> Release:
    """When the text of an answer may leave: as the policy says, unless its verdict can be had only at the end."""
    whole = policy.grounding.aggregate == "mean" or (policy.on_block == "error" and choices > 1)
    plain = body.get("response_format") in (None, {"type": "text"})
    structured = not plain or any(body.get(name) for name in ("tools", "functions"))
    return "buffer" if whole or structured else policy.stream


class _Reading(Reading[Chunk]):
    """The upstream's chunks, read into pieces. ``end``: the bytes of ``[DONE]``; ``first``: the first with a choice."""

    def __init__(self, asked: ChatRequest) -> None:
        super().__init__(asked.policy)
        self._asked = asked
        self.end = b""
        self.usage: Any = None
        self.first: JsonObject = {}

    async def pieces(self) -> AsyncGenerator[Piece[Chunk], None]:
        async with aclosing(self._asked.upstream.stream(self._asked.body)) as stream:
            async for chunk in stream:
                if chunk.done:
                    self.done, self.end = True, chunk.raw
                if chunk.data is not None:
                    for piece in self._read(chunk, chunk.data):
                        yield piece

    def _read(self, chunk: Chunk, data: JsonObject) -> Iterator[Piece[Chunk]]:
        self.add(data)
        self.usage = data.get("usage") or self.usage
        choices = list(choices_of(data))
        if not choices:
            yield self.piece_of_none(chunk, data)
            return
        self.first = self.first or data
        for at, choice in choices:
            one = chunk if len(choices) == 1 else Chunk(raw=b"", data={**data, "choices": [choice]})
            splits = _SPLITS.issuperset(_said(choice)) and _SPLITS_DELTA.issuperset(_said(object_in(choice, "delta")))
            yield self.piece(one, data, choice, index=index_of(choice, at), splits=splits)


class LiveReply:
    """One streamed reply. ``started`` is set from outside once something, if only headers, has been sent."""

    def __init__(self, assessor: Assessor, asked: ChatRequest, ledger: Ledger) -> None:
        self._assessor, self._asked, self._ledger = assessor, asked, ledger
        self._reading = _Reading(asked)
        self._refused = False
        self._unsaid: list[Released[Chunk] | Refused] = []  # since a block that may become an error
        self._envelope: JsonObject | None = None
        self.started = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The reply's events. Raises ``BlockedEarly``, and what the upstream's stream raises."""
        asked = self._asked
        following = Following(
            self._assessor,
            asked.policy,
            asked.context,
            self._ledger.meter,
            release=release_of(asked.policy, asked.body, asked.choices),
            expected=asked.choices,
            pieces=self._reading.pieces(),
            parts_of=self._reading.parts,
        )
        async with aclosing(following.steps()) as steps:
            async for step in steps:
                self._ledger.verdicts = following.verdicts or ()
                if event := self._event(step):
                    yield event

    async def unguarded(self, verdict: Verdict) -> AsyncGenerator[bytes, None]:
        """The events of a reply that nobody judges, as they come."""
        self._ledger.verdicts = (verdict,)
        async with aclosing(timed(self._reading.pieces(), self._ledger.meter)) as pieces:
            async for piece in pieces:
                if piece.text:
                    self._ledger.note_text()
                yield render.released(piece.item, lambda body: body)
        parts = tuple(self._reading.parts())
        self._ledger.answer_chars = sum(len(part.text) for part in parts)
        yield self._end((), self._ledger.verdicts)

    def _event(self, step: Released[Chunk] | Refused | Finished) -> bytes:
        if isinstance(step, Finished):
            return self._finish(step)
        early = self._asked.policy.on_block == "error" and not self.started
        if early and (self._unsaid or isinstance(step, Refused)):
            self._unsaid.append(step)
            return b""
        return self._said_late() + self._say(step)

    def _finish(self, step: Finished) -> bytes:
        self._ledger.verdicts = step.verdicts
        self._ledger.answer_chars = sum(len(part.text) for part in step.parts)
        blocked = any(verdict.blocked for verdict in step.verdicts)
        if blocked and self._asked.policy.on_block == "error" and not self.started:
            raise BlockedEarly(self._trace(step.parts, step.verdicts))
        return self._said_late() + self._end(step.parts, step.verdicts, cut=step.cut)

    def _said_late(self) -> bytes:
        """What waited for an error that can be none any more: the reply has begun meanwhile."""
        unsaid, self._unsaid = self._unsaid, []
        return b"".join(map(self._say, unsaid))

    def _say(self, step: Released[Chunk] | Refused) -> bytes:
        if isinstance(step, Released):
            if step.end > step.start:
                self._ledger.note_text()
            return self._released(step)
        self._refused = True
        return render.blocked_events(self._shape(), step.index, self._asked.policy.blocked_message, begun=step.begun)

    def _released(self, step: Released[Chunk]) -> bytes:
        chunk = step.piece.item
        if not step.whole:
            chunk = _part_of(chunk, step.start, step.end)
        if not self._refused:
            return render.released(chunk, self._clean)
        data = self._clean(chunk.data or {})  # around what is left of a blocked reply nothing of the upstream's stays
        return render.event({**self._shape(), "choices": data["choices"]}) if data.get("choices") else b""

    def _end(self, parts: tuple[AnswerPart, ...], verdicts: tuple[Verdict, ...], *, cut: bool = False) -> bytes:
        body = b""
        if self._refused and (usage := self._usage(parts, cut=cut)):
            body += render.event({**self._shape(), "choices": [], "usage": usage})
        if (trace := self._trace(parts, verdicts)) is not None:
            body += render.event({**self._shape(), "choices": [], "guardrail": trace})
        done = self._reading.end
        return body + (render.ended(done) if done and not self._refused and render.only_data(done) else render.DONE)

    def _usage(self, parts: tuple[AnswerPart, ...], *, cut: bool) -> Any:
        """The upstream's count of tokens; ours, by the scorer's vocabulary, where the upstream was cut off before."""
        if self._reading.usage:
            return render.numbers(self._reading.usage)
        if not (cut and self._asked.include_usage):
            return None
        prompt = self._assessor.count_tokens(prompt_text(self._asked.body))
        completion = sum(self._assessor.count_tokens(part.text) for part in parts)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def _trace(self, parts: tuple[AnswerPart, ...], verdicts: tuple[Verdict, ...]) -> JsonObject | None:
        if not self._asked.trace:
            return None
        return trace_of(verdicts, parts, self._asked.context, self._asked.policy, self._ledger.meter)

    def _shape(self) -> JsonObject:
        if self._envelope is None:
            self._envelope = render.envelope(self._reading.first, render.CHUNK)
        return self._envelope

    def _clean(self, body: JsonObject) -> JsonObject:
        return clean(body, self._asked.policy, holder="delta")


def _said(fields: JsonObject) -> Iterator[str]:
    """Names of the fields that hold something."""
    return (name for name, value in fields.items() if value)


def _part_of(chunk: Chunk, start: int, end: int) -> Chunk:
    """A chunk of one choice with characters ``start`` to ``end`` of its text; the role stays with the first."""
    data = chunk.data or {}
    choice = data["choices"][0]
    delta = {**choice["delta"], "content": choice["delta"]["content"][start:end]}
    if start:
        delta.pop("role", None)
    return replace(chunk, raw=b"", data={**data, "choices": [{**choice, "delta": delta}]})
