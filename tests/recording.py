"""A real HTTP server on a free loopback port that notes every request and gives scripted replies."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


@dataclass(kw_only=True)
class Reply:
    """What the server answers.

    ``body`` is bytes, sent with their length, or pieces sent one by one: bytes, or numbers of seconds to pause.
    Afterwards the server ends the reply, or with ``cut`` breaks the connection, or with ``hang`` waits for the
    client to leave.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)
    body: bytes | Iterable[bytes | float] = b"{}"
    cut: bool = False
    hang: bool = False


@dataclass(kw_only=True)
class Request:
    """What a client sent; header names are in lower case. ``left`` is set when it went before the reply's end."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    client: tuple[str, int]
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        """The body parsed."""
        return json.loads(self.body)


class Recording:
    """A context manager; ``url`` is its address, ``requests`` what came, ``replies`` what is still to be given.

    When ``replies`` is empty, ``default`` is given, or what it makes of the request.
    """

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.reset()
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", log_level="critical", ws="none", timeout_keep_alive=60
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)

    def reset(self) -> None:
        """Forget what came and what was to be given."""
        self._came = threading.Event()
        self.requests: list[Request] = []
        self.replies: deque[Reply] = deque()
        self.default: Reply | Callable[[Request], Reply] = Reply()

    def wait_for_request(self, seconds: float = 5.0) -> None:
        """Block until a request has come since the last reset; raise ``TimeoutError`` when none does."""
        if not self._came.wait(seconds):
            raise TimeoutError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        request = await _read(scope, receive)
        self.requests.append(request)
        self._came.set()
        reply = self.replies.popleft() if self.replies else self.default
        if not isinstance(reply, Reply):
            reply = reply(request)
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await _give(reply, send, leaving)
        finally:
            if leaving.done():
                request.left.set()
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving


async def _read(scope: Any, receive: Any) -> Request:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    query = scope["query_string"].decode()
    return Request(
        method=scope["method"], path=scope["path"], query=query, headers=headers, body=body, client=scope["client"]
    )


async def _left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _give(reply: Reply, send: Any, leaving: asyncio.Future[None]) -> None:
    headers = {**reply.headers}
    if isinstance(reply.body, bytes) and not reply.cut and not reply.hang:
        headers["content-length"] = str(len(reply.body))
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    for piece in [reply.body] if isinstance(reply.body, bytes) else reply.body:
        if leaving.done():
            return
        if isinstance(piece, bytes):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)  # so that an endless body cannot keep the client's leaving from being seen
        else:
            await asyncio.wait([leaving], timeout=piece)
    if reply.hang:
        await asyncio.wait([leaving])
    if reply.cut:
        # uvicorn answers an exception in mid-reply by breaking the connection.
        message = "cut"
        raise ConnectionError(message)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
