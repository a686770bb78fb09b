"""A streamed completion, in either form: the upstream's chunks to pieces, what may leave to server-sent events."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proxy.guard.stream import Telling
from proxy.guard.trace import trace_of
from proxy.surfaces.answers import choices_of, clean, index_of, object_in, prompt_text
from proxy.surfaces.openai import render
from proxy.surfaces.reading import Reading
from proxy.surfaces.rewriting import asked_again, edited, with_usage
from proxy.upstream.base import Chunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Assessor
    from proxy.guard.stream import Piece, Refused, Released
    from proxy.surfaces.base import Ledger
    from proxy.surfaces.live import End
    from proxy.surfaces.openai.request import Request

JsonObject = dict[str, Any]
_SPLITS = frozenset({"index", "delta"})
_SPLITS_DELTA = frozenset({"role", "content"})


class _Reading(Reading[Chunk]):
    """The upstream's chunks, read into pieces. ``end``: the bytes of ``[DONE]``; ``first``: the first with a choice.

    ``spent`` is the count of tokens of an earlier call, which is added to this one's.
    """

    def __init__(self, asked: Request, spent: Any = None) -> None:
        super().__init__(asked.policy, asked.choices)
        self._asked, self._spent = asked, spent
        self.end = b""
        self.usage: Any = spent
        self.first: JsonObject = {}

    async def pieces(self) -> AsyncGenerator[Piece[Chunk], None]:
        stream = self._asked.upstream.stream(self._asked.body, self._asked.form.api)
        async with aclosing(self.chunks(stream)) as chunks:
            async for chunk in chunks:
                if chunk.done:
                    self.end = chunk.raw
                if chunk.data is not None:
                    for piece in self._read(chunk, self._asked.form.inward(chunk.data, "delta")):
                        yield piece

    def _read(self, chunk: Chunk, data: JsonObject) -> Iterator[Piece[Chunk]]:
        self.add(data)
        counted = with_usage(data, self._spent)
        chunk = Chunk(raw=chunk.raw if counted is data else b"", data=counted)
        self.usage = counted.get("usage") or self.usage
        choices = list(choices_of(counted))
        if not choices:
            yield self.piece_of_none(chunk, counted)
            return
        self.first = self.first or counted
        for at, choice in choices:
            one = chunk if len(choices) == 1 else Chunk(raw=b"", data={**counted, "choices": [choice]})
            splits = _SPLITS.issuperset(_said(choice)) and _SPLITS_DELTA.issuperset(_said(object_in(choice, "delta")))
            yield self.piece(one, counted, choice, index=index_of(choice, at), splits=splits)


class CompletionVoice:
    """A ``Voice`` of completions."""

    def __init__(self, assessor: Assessor, asked: Request, ledger: Ledger) -> None:
        self._assessor, self._asked, self._ledger = assessor, asked, ledger
        self._form = asked.form
        self._reading = _Reading(asked)
        self._refused = False
        self._envelope: JsonObject | None = None

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        return self._reading.spoke

    def hear(self) -> Telling[Chunk]:
        """What the model says when it is asked."""
        return Telling(self._reading.pieces(), self._reading.parts)

    def again(self, said: str, sentences: Sequence[str]) -> Telling[Chunk]:
        """Ask the model once more; what it has used up so far counts in."""
        body = asked_again(self._asked.body, said, sentences)
        self._reading = _Reading(replace(self._asked, body=body), self._reading.usage)
        return self.hear()

    def edited(self, item: Chunk, text: str) -> Chunk:
        """A chunk of one choice that says ``text`` instead of its own."""
        return Chunk(raw=b"", data=edited(item.data or {}, text))

    def passed(self, piece: Piece[Chunk]) -> bytes:
        """A chunk as it came."""
        return render.released(self._form, piece.item, lambda body: body)

    def released(self, step: Released[Chunk]) -> bytes:
        """A chunk, or as much of it as may leave."""
        chunk = step.piece.item
        if not step.whole:
            chunk = _part_of(chunk, step.start, step.end)
        if not self._refused:
            return render.released(self._form, chunk, self._clean)
        data = self._clean(chunk.data or {})  # around what is left of a blocked reply nothing of the upstream's stays
        return self._event(choices=data["choices"]) if data.get("choices") else b""

    def refused(self, step: Refused) -> bytes:
        """The policy's message, and why the choice ends."""
        self._refused = True
        return render.blocked_events(self._form, self._shape(), step, self._asked.policy.blocked_message)

    def unasked(self) -> None:
        """Name the model that was not asked, and no tokens where they are to be told."""
        self._reading.first = {"model": self._ledger.model}
        self._reading.usage = render.no_usage() if self._asked.include_usage else None

    async def end(self, end: End) -> bytes:
        """The count of tokens, the trace, and ``[DONE]``."""
        body = b""
        if self._refused and (usage := await self._usage(end.parts)):
            body += self._event(usage=usage)
        if (trace := self.trace(end)) is not None:
            body += self._event(guardrail=trace)
        done = self._reading.end
        return body + (render.ended(done) if done and not self._refused and render.only_data(done) else render.DONE)

    async def _usage(self, parts: tuple[AnswerPart, ...]) -> Any:
        """The upstream's count of tokens; ours, by the scorer's vocabulary, where it was cut off or tells none."""
        if self._reading.usage:
            return render.numbers(self._reading.usage)
        if not self._asked.include_usage:
            return None
        prompt = await self._assessor.count_tokens(prompt_text(self._asked.body))
        completion = await self._assessor.count_tokens(*(part.text for part in parts))
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def trace(self, end: End) -> JsonObject | None:
        """The explanation, where the caller asked for it and may know."""
        if not self._asked.trace:
            return None
        parts = end.parts if end.judged else ()
        return trace_of(end.verdicts, parts, self._asked.context, self._asked.policy, self._ledger.meter)

    def _event(self, **fields: Any) -> bytes:
        return render.event(self._form.outward({**self._shape(), **fields}, "delta"))

    def _shape(self) -> JsonObject:
        if self._envelope is None:
            self._envelope = render.envelope(self._form, self._reading.first, self._form.chunk)
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
