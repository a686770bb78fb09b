"""OpenAI-compatible servers, reached over aiohttp with the bytes of both directions left as they are.

Only the operator's settings decide what goes up besides the body: nothing of the caller's headers or credentials does.
A reply, or the whole of a stream, may hold at most ``MAX_REPLY`` bytes (after decompression); more is an error.
"""

from __future__ import annotations

import asyncio
import io
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from proxy import __version__
from proxy.grounding.errors import CallerError, UpstreamError, UpstreamTimeout
from proxy.upstream.base import BROKE_OFF, LATE, Answer, Chunk, JsonObject, defaults_for, to_json
from proxy.upstream.replies import (
    BROKEN,
    UNREACHABLE,
    error_for,
    parse_chunk,
    parse_object,
    raise_if_error,
    secrets_of,
    try_parse,
)
from proxy.upstream.retry import Failure, is_retryable, persist
from proxy.upstream.sse import EventSplitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

    from proxy.upstream.base import Api
    from proxy.upstream.model_list import LiteLLMParams

OPENAI_BASE = "https://api.openai.com/v1"

MAX_REPLY = 64 * 1024 * 1024
"""Bytes that one reply, or one whole stream, may hold."""

MAX_ERROR = 1024 * 1024
"""Bytes read of an error's body."""

CONNECT_TIMEOUT = 10.0
"""Seconds that opening a connection may take; less when the whole call may take less."""

AFTER_DONE = 1.0
"""Seconds that a stream in all may stay open after ``[DONE]``, so that its connection can be used again."""

STALE_WITHIN = 1.0
"""Seconds within which the end of a kept connection is taken for the server's idle limit and not for a crash."""


_LARGE = 1024 * 1024


class Connections:
    """The process's one client session: opened in the running loop when first needed, kept until closed."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """Return the session, opening it when there is none. Must run in the loop that will use it."""
        if self._session is None or self._session.closed:
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._session = aiohttp.ClientSession(
                # No limit: each upstream connection serves one caller's, and those are bounded where they come in.
                connector=aiohttp.TCPConnector(limit=0),
                # One tenant's cookie must not travel with another's request.
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[trace],
            )
        return self._session

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class PassThrough:
    """One OpenAI-compatible deployment. Implements ``Upstream``.

    The body goes up with ``model`` replaced, in its own key order; the entry's default fields follow where the caller
    gave none. Failures come back as ``UpstreamError``: status and text are the upstream's own where they may be shown.
    A proxy named by ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` when this is made is used.
    """

    def __init__(self, name: str, params: LiteLLMParams, connections: Connections | None = None) -> None:
        self.name = name
        self._params = params
        self._owned = connections is None
        self._connections = connections or Connections()
        self._urls = {api: _endpoint(params, path) for api, path in _PATHS.items()}
        self._proxy = _proxy(self._urls["chat"])
        self._headers = _headers(params)
        self._secrets = secrets_of(params)

    async def complete(self, body: JsonObject, api: Api = "chat") -> Answer:
        """Ask for a whole answer; each attempt may take ``timeout`` seconds."""
        limits = aiohttp.ClientTimeout(total=self._params.timeout, connect=self._connect_timeout)
        call = _Call(self._urls[api], self._payload(body, api, stream=False), limits, "application/json")
        async with self._open(call) as response:
            raw = await _read(response)
            parsed = parse_object(raw)
            raise_if_error(parsed, self._secrets)
            return Answer(raw=raw, body=parsed)

    async def stream(self, body: JsonObject, api: Api = "chat") -> AsyncGenerator[Chunk, None]:
        """Ask for a streamed answer; no wait, for its head or between two chunks, exceeds ``stream_timeout``.

        The last chunk's ``raw`` lacks the blank line when the upstream's last event does.
        """
        silence = self._params.stream_timeout
        limits = aiohttp.ClientTimeout(total=None, connect=self._connect_timeout, sock_read=silence)
        call = _Call(self._urls[api], self._payload(body, api, stream=True), limits, "text/event-stream")
        async with self._open(call) as response:
            await self._refuse_unstreamed(response)
            spoke = False
            async with aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    spoke = spoke or chunk.data is not None
                    yield chunk
            if not spoke:
                raise UpstreamError(BROKEN)

    async def warm(self) -> None:
        """Nothing to load: connections open with the first call."""

    async def close(self) -> None:
        """Close the connections, unless they are shared: then their owner does."""
        if self._owned:
            await self._connections.close()

    @property
    def _connect_timeout(self) -> float:
        return min(CONNECT_TIMEOUT, self._params.timeout)

    def _payload(self, body: JsonObject, api: Api, *, stream: bool) -> bytes:
        asked = {**body, "model": self._params.upstream_model}
        asked.update((key, value) for key, value in defaults_for(api, self._params.defaults).items() if key not in body)
        if stream:
            asked["stream"] = True
        elif asked.pop("stream", False):
            asked.pop("stream_options", None)  # an error without stream
        return _serialise(asked)

    @asynccontextmanager
    async def _open(self, call: _Call) -> AsyncIterator[aiohttp.ClientResponse]:
        response = await persist(lambda: self._attempt(call), self._params.max_retries)
        try:
            yield response
        except TimeoutError:
            raise UpstreamTimeout(LATE) from None
        except (aiohttp.ClientError, OSError):
            raise UpstreamError(BROKE_OFF) from None
        finally:
            response.close()  # a no-op for one read to its end, whose connection is kept

    async def _attempt(self, call: _Call) -> aiohttp.ClientResponse | Failure:
        try:
            response = await self._post(call)
        except TimeoutError:
            return Failure(UpstreamTimeout(LATE))
        except (aiohttp.ClientError, OSError) as error:
            lost = isinstance(error, (aiohttp.ClientConnectionError, OSError))
            return Failure(UpstreamError(UNREACHABLE), retryable=lost)
        if response.ok and response.status < 300:  # noqa: PLR2004
            return response
        return Failure(await self._error(response), retryable=is_retryable(response.status))

    async def _post(self, call: _Call) -> aiohttp.ClientResponse:
        """Send once, and again if a kept connection proves dead.

        A server may close an idle connection just as a request leaves. That is taken to have happened when a *kept*
        connection ends at once and without one byte of reply; a fresh one ends the loop either way.
        """
        loop = asyncio.get_running_loop()
        while True:
            begun, reuse = loop.time(), _Reuse()
            try:
                return await self._connections.session().post(
                    call.url,
                    # aiohttp warns of large bytes, and sends a file in pieces.
                    data=call.payload if len(call.payload) < _LARGE else io.BytesIO(call.payload),
                    headers={**self._headers, "Accept": call.accept},
                    timeout=call.limits,
                    proxy=self._proxy,
                    allow_redirects=False,
                    trace_request_ctx=reuse,
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                silent = not isinstance(getattr(error, "message", None), aiohttp.http.RawResponseMessage)
                if not (reuse.kept and silent and loop.time() - begun < STALE_WITHIN):
                    raise

    async def _error(self, response: aiohttp.ClientResponse) -> UpstreamError:
        try:
            raw = await response.content.read(MAX_ERROR)
        except (TimeoutError, aiohttp.ClientError, OSError):
            raw = b""
        finally:
            response.close()
        retry_after = response.headers.get("Retry-After")
        return error_for(response.status, try_parse(raw), retry_after=retry_after, secrets=self._secrets)

    async def _refuse_unstreamed(self, response: aiohttp.ClientResponse) -> None:
        """Raise ``UpstreamError`` for a success that says it is no stream. Unlabelled ones are read as a stream."""
        if response.content_type == "application/json":
            raise_if_error(parse_object(await _read(response)), self._secrets)
            raise UpstreamError(BROKEN)
        if response.content_type in {"text/html", "application/xhtml+xml"}:
            raise UpstreamError(BROKEN)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncGenerator[Chunk, None]:
        splitter, size, patience = EventSplitter(), 0, _Patience(self._params.stream_timeout)
        while block := await patience.wait_for(response.content.readany()):
            size += len(block)
            _check_size(size)
            for event in splitter.feed(block):
                chunk = parse_chunk(event, self._secrets)
                if chunk.done:
                    await _drain(response)
                    yield chunk
                    return
                if chunk.data is not None:
                    patience.renew()
                yield chunk
        for event in splitter.finish():
            yield parse_chunk(event, self._secrets)


@dataclass(frozen=True, slots=True)
class _Call:
    url: URL
    payload: bytes
    limits: aiohttp.ClientTimeout
    accept: str


@dataclass(slots=True)
class _Reuse:
    kept: bool = False


async def _note_reuse(_session: aiohttp.ClientSession, context: Any, _params: object) -> None:
    context.trace_request_ctx.kept = True


class _Patience:
    """How long is waited in all until something of use comes. Only waiting counts: a slow caller is not the model's."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    def renew(self) -> None:
        """Say that it came."""
        self._left = self._seconds

    async def wait_for(self, coming: Awaitable[bytes]) -> bytes:
        """What comes. Raises ``TimeoutError`` when the patience ends."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout(self._left):
            came = await coming
        self._left = max(0.0, self._left - (loop.time() - begun))
        return came


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read past ``[DONE]``, where the end need be neither near nor clean: what comes there is nobody's."""
    with suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(AFTER_DONE):
            while await response.content.readany():
                pass


async def _read(response: aiohttp.ClientResponse) -> bytes:
    blocks, size = [], 0
    while block := await response.content.readany():
        size += len(block)
        _check_size(size)
        blocks.append(block)
    return b"".join(blocks)


def _check_size(size: int) -> None:
    if size > MAX_REPLY:
        message = "The model's answer is too long."
        raise UpstreamError(message)


def _serialise(body: JsonObject) -> bytes:
    """Write compact UTF-8 JSON; lone surrogates, which UTF-8 cannot carry, as escapes."""
    try:
        return to_json(body)
    except (ValueError, RecursionError):
        message = "The request holds a number or a nesting that JSON cannot carry."
        raise CallerError(message) from None


_PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions", "responses": "/responses"}


def _endpoint(params: LiteLLMParams, path: str) -> URL:
    url = URL(params.api_base or OPENAI_BASE)
    url = url.with_path(url.raw_path.rstrip("/") + path, encoded=True, keep_query=True)
    return url.update_query({"api-version": params.api_version}) if params.api_version else url


def _proxy(url: URL) -> str | None:
    proxies = getproxies()
    if proxy_bypass(f"{url.host}:{url.port}"):
        return None
    return proxies.get(url.scheme) or proxies.get("all")


def _headers(params: LiteLLMParams) -> CIMultiDict[str]:
    headers = CIMultiDict({"Content-Type": "application/json", "User-Agent": f"groundwarden/{__version__}"})
    headers["Accept-Encoding"] = "identity"  # nothing to unpack before a streamed piece can be judged
    if params.api_key is not None:
        headers["Authorization"] = f"Bearer {params.api_key}"
    if params.organization is not None:
        headers["OpenAI-Organization"] = params.organization
    headers.update(params.extra_headers)
    return headers
