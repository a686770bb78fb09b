"""A streamed answer's chunks read into pieces for the guard: the part that no dialect changes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from proxy.grounding.errors import UpstreamError, UpstreamTimeout
from proxy.guard.stream import Piece
from proxy.surfaces.answers import Spelled, Watch, object_in
from proxy.upstream.base import BROKE_OFF, LATE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy
    from proxy.upstream.base import Chunk

JsonObject = dict[str, Any]
_Item = TypeVar("_Item")

AFTER_FINISH = 5.0
"""Seconds that more of a stream is waited for once every choice has said why it ended: its count of tokens, say."""

_LEAST_WAIT = 0.02  # what a chunk that comes then costs of those seconds, however fast it comes

LONGEST_STREAM = 3600.0
"""Seconds that a whole stream may take, however lively it is."""


class Heard:
    """The chunks of one stream as they come, and for how long they may. ``done`` once ``[DONE]`` has come."""

    def __init__(self) -> None:
        self.done = False

    async def chunks(self, stream: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk, None]:
        """The chunks, up to ``[DONE]``, or until all is said and no more came in time. Close it: that closes them.

        Raises what the upstream raises, and ``UpstreamTimeout`` for a stream without an end.
        """
        loop = asyncio.get_running_loop()
        last, left = loop.time() + LONGEST_STREAM, AFTER_FINISH
        async with aclosing(stream):
            while not self.done:
                begun = loop.time()
                try:
                    async with asyncio.timeout_at(min(last, begun + left) if self.finished else last):
                        chunk = await anext(stream)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if self.finished:
                        return
                    raise UpstreamTimeout(LATE) from None
                if self.finished:  # only waiting counts: a slow caller is not the model's fault
                    left -= max(_LEAST_WAIT, loop.time() - begun)
                self.done = chunk.done
                yield chunk

    @property
    def finished(self) -> bool:
        """Whether everything has been said that was asked for."""
        return self.done


class Reading(Heard, Generic[_Item]):
    """What one stream says. A surface adds each chunk's ``data``, then makes pieces of it; ``item`` is what it renders.

    ``expected`` is how many choices were asked for.
    """

    def __init__(self, policy: Policy, expected: int = 1) -> None:
        super().__init__()
        self._watch, self._spelled, self._expected = Watch(policy), Spelled(), expected

    @property
    def finished(self) -> bool:
        """Whether every choice that was asked for has said why it ended."""
        return self.done or (self._spelled.complete and self._spelled.ended >= self._expected)

    @property
    def spoke(self) -> bool:
        """Whether the model has begun to say anything."""
        return self._spelled.begun

    def add(self, data: JsonObject) -> None:
        """Join one more chunk. Raises ``UpstreamError`` for what is none."""
        self._spelled.add(data)

    def piece_of_none(self, item: _Item, data: JsonObject) -> Piece[_Item]:
        """A chunk without a choice."""
        return Piece(index=None, item=item, hold=self._watch.holds_around(data))

    def piece(self, item: _Item, data: JsonObject, choice: JsonObject, *, index: int, splits: bool) -> Piece[_Item]:
        """One choice of a chunk; ``splits`` as in ``Piece``."""
        content = object_in(choice, "delta").get("content")
        return Piece(
            index=index,
            item=item,
            text=content if isinstance(content, str) else "",
            hold=self._watch.holds(data, choice),
            last=bool(choice.get("finish_reason")),
            splits=splits,
        )

    def parts(self) -> list[AnswerPart]:
        """The choices, whole. Raises ``UpstreamError`` for a stream that broke off or held none."""
        if not (self.done or self._spelled.complete):
            raise UpstreamError(BROKE_OFF)
        return self._spelled.parts()
