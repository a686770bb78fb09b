"""A streamed reply, whatever its dialect: when it begins, what becomes of a block, how it ends.

What the model says is followed by the guard; how what may leave is said is a ``Voice``'s, one for each dialect. Nothing
is sent before something may leave, so a block until then may be an error (``on_block: error``); after
``START_SECONDS`` the reply begins all the same, and every block is told in the stream.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from proxy.grounding.errors import GroundwardenError, UpstreamError
from proxy.guard.assess import without_scoring
from proxy.guard.exchange import timed
from proxy.guard.stream import Finished, Following, Refused, Released
from proxy.surfaces.events import KEEP_ALIVE, START_SECONDS, EventStream, Paced
from proxy.surfaces.midstream import harmless

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from starlette.responses import Response

    from proxy.grounding.gate import Release
    from proxy.grounding.types import GroundingContext, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.stream import Piece, Telling
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Ledger, Services

JsonObject = dict[str, Any]

UNSAID_AT_ONCE = 256
"""Steps in a row of which nothing is said (what a policy strips), until others have their turn."""

_Item = TypeVar("_Item")


class BlockedEarly(GroundwardenError):
    """A block before anything has left, under ``on_block: error``. ``trace`` explains it, if the caller may know."""

    def __init__(self, trace: JsonObject | None) -> None:
        super().__init__("blocked")
        self.trace = trace


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How it came out. ``parts`` are the choices, as far as they came; ``judged``: not merely passed on."""

    parts: tuple[AnswerPart, ...]
    verdicts: tuple[Verdict, ...]
    judged: bool = True


class Voice(Protocol[_Item]):
    """Hears one stream and says it in a dialect, as bytes of the reply's body."""

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        ...

    def hear(self) -> Telling[_Item]:
        """What the model says when it is asked."""
        ...

    def again(self, said: str, sentences: Sequence[str]) -> Telling[_Item]:
        """What it says when it is asked once more; what it used up before counts in. See ``Following``."""
        ...

    def edited(self, item: _Item, text: str) -> _Item:
        """An item that says ``text`` instead of its own."""
        ...

    def passed(self, piece: Piece[_Item]) -> bytes:
        """A piece of what nobody judges, as it came."""
        ...

    def released(self, step: Released[_Item]) -> bytes:
        """What may leave."""
        ...

    def refused(self, step: Refused) -> bytes:
        """The end of a blocked choice."""
        ...

    def unasked(self) -> None:
        """Take note that the model is not asked: nothing is known of a reply, and no tokens are used."""
        ...

    def trace(self, end: End) -> JsonObject | None:
        """The explanation, where the caller asked for it and may know."""
        ...

    async def end(self, end: End) -> bytes:
        """What ends the stream."""
        ...


@dataclass(slots=True, kw_only=True)
class Live(Generic[_Item]):
    """One streamed reply of ``expected`` choices.

    ``asks_again``: the model may be asked once more after a block. ``started`` is set once something, if only headers,
    is sent.
    """

    services: Services
    ledger: Ledger
    policy: Policy
    context: GroundingContext
    voice: Voice[_Item]
    release: Release
    expected: int = 1
    asks_again: bool = True
    started: bool = False
    _unsaid: list[Released[_Item] | Refused] | None = None  # since a block that may become an error

    async def reply(
        self,
        headers: Mapping[str, str],
        blocked: Callable[[JsonObject | None], Response],
        render_error: Callable[[GroundwardenError], bytes],
        keep_alive: bytes = KEEP_ALIVE,
    ) -> Response:
        """The reply, begun once something may leave or cannot be waited for any longer.

        ``blocked`` makes a block an error, given its trace. Raises what the upstream's stream raises before that.
        """
        events = Paced(self._events())
        try:
            first = await events.next(START_SECONDS)
        except BlockedEarly as early:
            await events.close()
            return blocked(early.trace)
        except BaseException:
            await events.close()
            raise
        self.started = True
        return EventStream(first or b"", events, headers, render_error, keep_alive=keep_alive)

    def _events(self) -> AsyncGenerator[bytes, None]:
        settled = without_scoring(self.policy, self.context)
        if settled is None:
            self.services.assessor.admit()
            return self._judged()
        return self._blocked_unasked(settled) if settled.blocked else self._unjudged(settled)

    async def _judged(self) -> AsyncGenerator[bytes, None]:
        telling = self.voice.hear()
        following = Following(
            self.services.assessor,
            self.policy,
            self.context,
            self.ledger.meter,
            release=self.release,
            expected=self.expected,
            pieces=telling.pieces,
            parts_of=telling.parts_of,
            edit=self.voice.edited,
            again=self.voice.again if self.asks_again else None,
        )
        unsaid = 0  # in a row
        try:
            async with aclosing(following.steps()) as steps:
                async for step in steps:
                    self.ledger.verdicts = following.verdicts or ()
                    said = await self._finish(step) if isinstance(step, Finished) else self._event(step)
                    unsaid = 0 if said else unsaid + 1
                    if said:
                        yield said
                    elif unsaid % UNSAID_AT_ONCE == 0:
                        await asyncio.sleep(0)
        except UpstreamError as error:
            raise (harmless(error) if self.voice.spoke else error) from None

    async def _unjudged(self, verdict: Verdict) -> AsyncGenerator[bytes, None]:
        """The events of a reply that nobody judges, as they come."""
        self.ledger.verdicts = (verdict,)
        telling = self.voice.hear()
        async with aclosing(timed(telling.pieces, self.ledger.meter)) as pieces:
            async for piece in pieces:
                if piece.text:
                    self.ledger.note_text()
                if said := self.voice.passed(piece):
                    yield said
        parts = tuple(telling.parts_of())
        self.ledger.answered(parts)
        yield await self.voice.end(End(parts=parts, verdicts=(verdict,), judged=False))

    async def _blocked_unasked(self, verdict: Verdict) -> AsyncGenerator[bytes, None]:
        """The events of a block that stands before the model is asked."""
        self.ledger.verdicts = (verdict,)
        self.voice.unasked()
        end = End(parts=(), verdicts=(verdict,))
        if self.policy.on_block == "error":
            raise BlockedEarly(self.voice.trace(end))
        said = b"".join(self.voice.refused(Refused(index=index, begun=False)) for index in range(self.expected))
        yield said + await self.voice.end(end)

    def _event(self, step: Released[_Item] | Refused) -> bytes:
        early = self.policy.on_block == "error" and not self.started
        if early and (self._unsaid or isinstance(step, Refused)):
            self._unsaid = [*(self._unsaid or ()), step]
            return b""
        return self._said_late() + self._say(step)

    async def _finish(self, step: Finished) -> bytes:
        self.ledger.verdicts = step.verdicts
        self.ledger.answered(step.parts)
        end = End(parts=step.parts, verdicts=step.verdicts)
        if any(verdict.blocked for verdict in step.verdicts) and self.policy.on_block == "error" and not self.started:
            raise BlockedEarly(self.voice.trace(end))
        late = self._said_late()
        return late + await self.voice.end(end)

    def _said_late(self) -> bytes:
        """What waited for an error that can be none any more: the reply has begun meanwhile."""
        unsaid, self._unsaid = self._unsaid, None
        return b"".join(map(self._say, unsaid or ()))

    def _say(self, step: Released[_Item] | Refused) -> bytes:
        if isinstance(step, Refused):
            return self.voice.refused(step)
        if step.end > step.start:
            self.ledger.note_text()
        return self.voice.released(step)
