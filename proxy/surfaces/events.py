"""A reply in events, sent as they come, to a client that may leave at any moment."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from starlette.responses import Response

from proxy.grounding.errors import GroundwardenError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.types import Receive, Scope, Send

_log = logging.getLogger("groundwarden")

START_SECONDS = 5.0
"""When a streamed reply begins at the latest, though nothing may leave yet."""

KEEP_ALIVE, KEEP_ALIVE_SECONDS = b": keep-alive\n\n", 5.0
"""The comment that says that the stream is alive, and how often it says so while nothing else leaves."""

CLIENT_CLOSED = 499
"""nginx's word for a client that left; only the record sees it."""

INTERNAL = "Something went wrong on our side. The request id tells the operator where to look."
"""All that callers are told of an unexpected error."""


async def left(receive: Receive) -> None:
    """Wait for the client to leave; its body is read already."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Paced:
    """Events read with patience. Close it on every path: that closes what the events come from."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events
        self._next: asyncio.Task[bytes] | None = None

    async def next(self, seconds: float) -> bytes | None:
        """The next event; None when none came in time, and then nothing is lost. ``StopAsyncIteration`` at the end."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._events))
        await asyncio.wait((self._next,), timeout=seconds)
        if not self._next.done():
            return None
        coming, self._next = self._next, None
        return coming.result()

    async def close(self) -> None:
        """Stop reading."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._events.aclose()


class EventStream(Response):
    """Events, each sent as it comes; ``keep_alive`` between them so that nobody takes the line for dead.

    ``first`` are the events that are there already. When the client leaves, ``events`` are closed; so they are at the
    end. An error in mid-stream becomes the event that ``render_error`` makes of it. ``finished`` is called once, with
    the status and the error if there was one, before the caller sees the end: whoever has seen it finds it counted.
    """

    def __init__(
        self,
        first: bytes,
        events: Paced,
        headers: Mapping[str, str],
        render_error: Callable[[GroundwardenError], bytes],
        *,
        keep_alive: bytes = KEEP_ALIVE,
    ) -> None:
        super().__init__(headers=headers)
        del self.headers["content-length"]
        self.finished: Callable[[int, GroundwardenError | None], None] = lambda *_: None
        self._first, self._events, self._render_error = first, events, render_error
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's shape
        """Send everything."""
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        except OSError:
            pass  # the client left while something was being sent
        finally:
            sending.cancel()
            leaving.cancel()
            try:
                await asyncio.gather(sending, leaving, return_exceptions=True)
                await self._events.close()
            finally:
                self._finish(CLIENT_CLOSED)

    def _finish(self, status: int, error: GroundwardenError | None = None) -> None:
        finished, self.finished = self.finished, lambda *_: None
        finished(status, error)

    async def _send(self, send: Send) -> None:
        async def body(content: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": content, "more_body": more})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await body(self._first or self._keep_alive)
        while not isinstance(event := await self._next(), GroundwardenError | None):
            await body(event)
        self._finish(self.status_code, event)
        await body(b"" if event is None else self._render_error(event), more=False)

    async def _next(self) -> bytes | GroundwardenError | None:
        """The next event; what went wrong; None at the end."""
        try:
            return await self._events.next(KEEP_ALIVE_SECONDS) or self._keep_alive
        except StopAsyncIteration:
            return None
        except GroundwardenError as raised:
            return raised
        except Exception:  # noqa: BLE001 - as in the frame
            _log.exception("unexpected error in a stream")
            return GroundwardenError(INTERNAL)
