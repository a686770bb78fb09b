"""What only the pass-through owes: bytes left alone, and connections used well."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import SSE, Recording, Reply

from proxy.grounding.errors import CallerError, UpstreamError
from proxy.upstream import passthrough, retry
from proxy.upstream.model_list import LiteLLMParams
from proxy.upstream.passthrough import PassThrough, _serialise

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from proxy.upstream.base import Chunk

BODY: dict[str, Any] = {"model": "asked", "messages": [{"role": "user", "content": "hello"}]}
ANSWER = b'{ "id":"x",\r\n "choices":[{"index":0,"message":{"content":"\\u00fc \xc3\xbc"}}],"extra":1.50 }\n'
DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}'


@pytest.fixture
async def make(recording: Recording) -> AsyncIterator[Callable[..., PassThrough]]:
    """Make a pass-through to the recording server."""
    made: list[PassThrough] = []

    def make_one(**params: Any) -> PassThrough:
        params = {"model": "openai/real", "api_key": "sk-secret-key", "api_base": f"{recording.url}/v1", **params}
        made.append(PassThrough("asked", LiteLLMParams(**params)))
        return made[-1]

    yield make_one
    for upstream in made:
        await upstream.close()


async def read(upstream: PassThrough) -> list[Chunk]:
    """Every chunk of a streamed answer."""
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        return [chunk async for chunk in stream]


async def fails(upstream: PassThrough, *, stream: bool = False) -> UpstreamError:
    """The error that a call raises."""
    with pytest.raises(UpstreamError) as caught:
        await (read(upstream) if stream else upstream.complete(BODY))
    return caught.value


@asynccontextmanager
async def raw_server(*replies: list[bytes]) -> AsyncIterator[tuple[int, list[int]]]:
    """A server that gives each connection one list of replies, an empty one meaning to hang up instead.

    Gives its port and a list that grows by the connection's number with every request.
    """
    requests: list[int] = []
    connections = iter(replies)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(set(requests))
        for reply in next(connections):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            requests.append(number)
            if not reply:
                break
            writer.write(reply)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], requests


FULL = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


# Bytes


async def test_answer_bytes(make: Any, recording: Recording) -> None:
    """A whole answer's bytes are the upstream's, to the last blank."""
    recording.replies.append(Reply(body=ANSWER))
    answer = await make().complete(BODY)
    assert answer.raw == ANSWER
    assert answer.body == json.loads(ANSWER)


@pytest.mark.parametrize(
    "stream",
    [
        DELTA + b"\n\n" + b"data: [DONE]\n\n",
        DELTA + b"\r\n\r\n" + b"data:[DONE]\r\n\r\n",
        DELTA + b"\r\r" + b"data: [DONE]\r\r",
        b"\xef\xbb\xbf" + DELTA + b"\n\n",
        b": ping\n\n" + DELTA + b"\n\n: pong\n\n\n" + b"event: x\n\n" + DELTA,
        b'id: 1\nevent: message\ndata: {"choices":\ndata: []}\nretry: 5\n\n',
        DELTA + b"\n\n" + 'data: {"a": "ü👋"}\n\n'.encode(),
    ],
    ids=["lf", "crlf", "cr", "bom", "comments", "fields", "utf-8"],
)
async def test_stream_bytes(make: Any, recording: Recording, stream: bytes) -> None:
    """A stream's bytes, joined, are the upstream's, although they arrive one by one."""
    recording.replies.append(Reply(headers=SSE, body=[bytes([byte]) for byte in stream]))
    chunks = await read(make())
    assert b"".join(chunk.raw for chunk in chunks) == stream
    assert any(chunk.data is not None for chunk in chunks)
    assert sum(chunk.done for chunk in chunks) == stream.count(b"[DONE]")


async def test_huge_line(make: Any, recording: Recording) -> None:
    """A single event of two megabytes passes."""
    line = b'data: {"a": "' + b"x" * 2_000_000 + b'"}\n\n'
    recording.replies.append(Reply(headers=SSE, body=[line]))
    (chunk,) = await read(make())
    assert chunk.raw == line


async def test_request_bytes(make: Any, recording: Recording) -> None:
    """The body goes up compact, in the caller's key order, only the model replaced, defaults last, text unescaped."""
    recording.default = Reply()
    upstream = make(defaults={"top_p": 0.5, "seed": 1})
    await upstream.complete({"seed": 2, "model": "asked", "messages": [{"content": "ü👋"}], "unknown": None})
    expected = '{"seed":2,"model":"real","messages":[{"content":"ü👋"}],"unknown":null,"top_p":0.5}'
    assert recording.requests[0].body.decode() == expected


async def test_lone_surrogate(make: Any, recording: Recording) -> None:
    """A lone surrogate, which UTF-8 cannot carry, goes up as an escape."""
    await make().complete({**BODY, "user": "\ud800"})
    assert b'"user":"\\ud800"' in recording.requests[0].body


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
        max_leaves=8,
    )
)
def test_serialised_without_loss(value: Any) -> None:
    """Whatever JSON a body holds, surrogates included, reads the same after it was written."""
    assert json.loads(_serialise({"value": value})) == {"value": value}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**5000], ids=["nan", "inf", "digits"])
async def test_number_that_json_cannot_carry(make: Any, recording: Recording, value: Any) -> None:
    """A number that JSON cannot carry is the caller's error, and nothing is sent."""
    with pytest.raises(CallerError):
        await make().complete({**BODY, "temperature": value})
    assert recording.requests == []


async def test_nesting_that_json_cannot_carry(make: Any, recording: Recording) -> None:
    """A body nested too deeply to write is the caller's error, and nothing is sent."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CallerError):
        await make().complete({**BODY, "stop": value})
    assert recording.requests == []


async def test_large_body(make: Any, recording: Recording) -> None:
    """A body of several megabytes goes up with its length and without a warning."""
    await make().complete({**BODY, "user": "x" * 3_000_000})
    (request,) = recording.requests
    assert int(request.headers["content-length"]) == len(request.body) > 3_000_000


async def test_headers_up(make: Any, recording: Recording) -> None:
    """Exactly the operator's headers go up, beside what HTTP needs."""
    await make(organization="org").complete(BODY)
    headers = recording.requests[0].headers
    assert headers.pop("user-agent").startswith("groundwarden/")
    for name in ("host", "content-length"):
        headers.pop(name)
    assert headers == {
        "accept": "application/json",
        "accept-encoding": "identity",
        "authorization": "Bearer sk-secret-key",
        "content-type": "application/json",
        "openai-organization": "org",
    }


async def test_no_key(make: Any, recording: Recording) -> None:
    """A server that wants no key gets none."""
    await make(api_key=None).complete(BODY)
    assert "authorization" not in recording.requests[0].headers


async def test_address(make: Any, recording: Recording) -> None:
    """A base may end with a slash and carry a query; ``api_version`` becomes part of it."""
    await make(api_base=f"{recording.url}/a%2Fb/?x=1", api_version="v9").complete(BODY)
    (request,) = recording.requests
    assert (request.path, request.query) == ("/a/b/chat/completions", "x=1&api-version=v9")


async def test_whole_answer_to_a_stream_request(make: Any, recording: Recording) -> None:
    """Asked whole, a body that says to stream does not stream, and loses the option that would then be an error."""
    await make().complete({**BODY, "stream": True, "stream_options": {"include_usage": True}})
    assert recording.requests[0].json.keys() == {"model", "messages"}


async def test_cookies_are_not_kept(make: Any, recording: Recording) -> None:
    """A cookie that one reply sets does not travel with the next request."""
    upstream = make()
    recording.replies.append(Reply(headers={"content-type": "application/json", "set-cookie": "tenant=a"}))
    await upstream.complete(BODY)
    await upstream.complete(BODY)
    assert "cookie" not in recording.requests[1].headers


async def test_proxy_of_the_environment(make: Any, recording: Recording, monkeypatch: Any) -> None:
    """The environment's proxy is used, except for hosts that the environment exempts."""
    monkeypatch.setenv("http_proxy", recording.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    await make(api_base="http://model.invalid/v1").complete(BODY)
    await make().complete(BODY)
    assert [request.headers["host"] for request in recording.requests] == ["model.invalid", recording.url[7:]]


# Replies that are no answers


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}",
        b'{"a": -Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 5000,
    ],
    ids=["nan", "too large", "too deep", "infinity", "doubled key", "no utf-8", "deep list", "deep object", "digits"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_no_json(make: Any, recording: Recording, body: bytes, *, stream: bool) -> None:
    """JSON that readers may take differently, or cannot read, is a 502."""
    recording.replies.append(Reply(headers=SSE, body=b"data: " + body + b"\n\n") if stream else Reply(body=body))
    assert (await fails(make(), stream=stream)).status == 502


async def test_unreadable_chunk(make: Any, recording: Recording) -> None:
    """An unreadable chunk is a 502, after the chunks before it."""
    recording.replies.append(Reply(headers=SSE, body=DELTA + b"\n\ndata: <html>\n\ndata: [DONE]\n\n"))
    async with aclosing(make().stream(BODY)) as stream:
        assert (await anext(stream)).raw == DELTA + b"\n\n"
        with pytest.raises(UpstreamError):
            await anext(stream)


@pytest.mark.parametrize("body", [b"", b"\n\n", b": ping\n\n", b"hello\n", b"data: [DONE]\n\n"])
async def test_stream_that_says_nothing(make: Any, recording: Recording, body: bytes) -> None:
    """A stream without one chunk is a 502 and no empty answer."""
    recording.replies.append(Reply(headers=SSE, body=body))
    assert (await fails(make(), stream=True)).status == 502


@pytest.mark.parametrize(
    ("event", "status", "message"),
    [
        (b'data: {"error": {"message": "m", "code": 429}}', 429, "m"),
        (b'data: {"error": {"message": "m", "code": "server_error"}}', 502, "m"),
        (b'data: {"error": {"message": "m", "code": 401}}', 502, "The model did not accept this server's request."),
        (b'data: {"error": "m"}', 502, "m"),
        (b'data: {"object": "error", "message": "m", "code": 400}', 400, "m"),
        (b'event: error\ndata: {"message": "m"}', 502, "m"),
    ],
)
async def test_error_event(make: Any, recording: Recording, event: bytes, status: int, message: str) -> None:
    """An error in a stream is raised, whatever its shape, and a status that is no error's becomes 502."""
    recording.replies.append(Reply(headers=SSE, body=DELTA + b"\n\n" + event + b"\n\n"))
    error = await fails(make(), stream=True)
    assert (error.status, error.message) == (status, message)


async def test_error_null_is_none(make: Any, recording: Recording) -> None:
    """A field ``error`` that is null is no error."""
    recording.replies.append(Reply(body=b'{"error": null, "choices": []}'))
    assert (await make().complete(BODY)).body["choices"] == []


async def test_whole_error_to_a_stream_request(make: Any, recording: Recording) -> None:
    """An error object with status 200 keeps its message where a stream was asked for."""
    recording.replies.append(Reply(body=b'{"error": {"message": "m", "code": 400}}'))
    error = await fails(make(), stream=True)
    assert (error.status, error.message) == (400, "m")


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "m"}}',
        b'{"error": "m"}',
        b'{"message": "m"}',
        b'{"detail": "m"}',
        b'{"detail": [{"loc": ["body"], "msg": "m"}]}',
        b'[{"error": {"message": "m", "status": "INVALID_ARGUMENT"}}]',
        b'{"errors": [{"message": "m"}]}',
        b'{"object": "error", "message": "m"}',
    ],
)
async def test_error_shapes(make: Any, recording: Recording, body: bytes) -> None:
    """The message is found in the shapes that servers give their errors."""
    recording.replies.append(Reply(status=422, body=body))
    error = await fails(make())
    assert (error.status, error.message, error.code) == (422, "m", None)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 304])
async def test_redirect(make: Any, recording: Recording, status: int) -> None:
    """A redirect is not followed, for it could carry key and prompt elsewhere; it is a 502."""
    recording.replies.append(Reply(status=status, headers={"location": f"{recording.url}/elsewhere"}))
    assert (await fails(make())).status == 502
    assert len(recording.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_too_long(make: Any, recording: Recording, monkeypatch: Any, *, stream: bool) -> None:
    """A reply beyond the bound is a 502, whole or streamed, and is not read to its end."""
    monkeypatch.setattr(passthrough, "MAX_REPLY", 10_000)

    def forever() -> Any:
        while True:
            yield DELTA + b"\n\n"

    recording.replies.append(Reply(headers=SSE if stream else {}, body=forever()))
    error = await fails(make(), stream=stream)
    assert (error.status, error.message) == (502, "The model's answer is too long.")


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
@pytest.mark.parametrize("stream", [False, True])
async def test_packed(make: Any, recording: Recording, encoding: str, pack: Any, *, stream: bool) -> None:
    """A reply that is packed although nobody asked is unpacked."""
    body = DELTA + b"\n\n" if stream else ANSWER
    kind = "text/event-stream" if stream else "application/json"
    recording.replies.append(Reply(headers={"content-type": kind, "content-encoding": encoding}, body=pack(body)))
    upstream = make()
    raw = (await read(upstream))[0].raw if stream else (await upstream.complete(BODY)).raw
    assert raw == body


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", b"no gzip"), ("gzip", gzip.compress(ANSWER)[:40]), ("br", b"\x00")],
    ids=["no gzip", "cut", "unknown"],
)
async def test_packed_badly(make: Any, recording: Recording, encoding: str, body: bytes) -> None:
    """A packed reply that cannot be unpacked, or not to its end, is a 502."""
    recording.replies.append(
        Reply(headers={"content-type": "application/json", "content-encoding": encoding}, body=body)
    )
    assert (await fails(make())).status == 502


async def test_no_http(make: Any) -> None:
    """A server that speaks something else is a 502."""
    async with raw_server([b"SSH-2.0-OpenSSH_9.6\r\n"]) as (port, _):
        assert (await fails(make(api_base=f"http://127.0.0.1:{port}"))).status == 502


# Connections


async def test_connection_is_reused(make: Any, recording: Recording) -> None:
    """Calls one after another, whole and streamed, use one connection."""
    upstream = make()
    for _ in range(3):
        recording.replies.append(Reply(headers=SSE, body=[DELTA + b"\n\n", b"data: [DONE]\n\n"]))
        await read(upstream)
        await upstream.complete(BODY)
    assert len({request.client for request in recording.requests}) == 1


async def test_idle_connection_closed_by_the_server(make: Any) -> None:
    """A kept connection that the server closes as the next request comes is replaced, and the caller never knows."""
    async with raw_server([FULL, b""], [FULL]) as (port, requests):
        upstream = make(api_base=f"http://127.0.0.1:{port}")
        await upstream.complete(BODY)
        await upstream.complete(BODY)
        assert requests == [0, 0, 1]


async def test_fresh_connection_closed_by_the_server(make: Any) -> None:
    """A new connection that the server closes is a 502 at once: it may have done its work."""
    async with raw_server([b""], [FULL]) as (port, requests):
        assert (await fails(make(api_base=f"http://127.0.0.1:{port}"))).status == 502
        assert requests == [0]


async def test_kept_connection_closed_after_a_while(make: Any, monkeypatch: Any) -> None:
    """A kept connection that ends later than an idle limit would end it is a 502: the model may have worked."""
    monkeypatch.setattr(passthrough, "STALE_WITHIN", 0.0)
    async with raw_server([FULL, b""], [FULL]) as (port, requests):
        upstream = make(api_base=f"http://127.0.0.1:{port}")
        await upstream.complete(BODY)
        assert (await fails(upstream)).status == 502
        assert requests == [0, 0]


async def test_kept_connection_closed_in_mid_reply(make: Any) -> None:
    """A kept connection that ends after the first byte of a reply is a 502."""
    async with raw_server([FULL, b"HTTP/1.1 200 OK\r\nContent-"], [FULL]) as (port, requests):
        upstream = make(api_base=f"http://127.0.0.1:{port}")
        await upstream.complete(BODY)
        assert (await fails(upstream)).status == 502
        assert requests == [0, 0]


async def test_retry_after_lost_connection(make: Any, monkeypatch: Any) -> None:
    """With ``max_retries`` a connection that was lost before any reply is asked again."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    async with raw_server([b""], [FULL]) as (port, requests):
        await make(api_base=f"http://127.0.0.1:{port}", max_retries=1).complete(BODY)
        assert requests == [0, 1]


async def test_open_after_done(make: Any, recording: Recording, monkeypatch: Any) -> None:
    """A stream that stays open after ``[DONE]`` ends soon and without an error."""
    monkeypatch.setattr(passthrough, "AFTER_DONE", 0.05)
    recording.replies.append(Reply(headers=SSE, body=[DELTA + b"\n\n", b"data: [DONE]\n\n"], hang=True))
    async with asyncio.timeout(2):
        assert (await read(make()))[-1].done


async def test_many_streams_at_once(make: Any, recording: Recording) -> None:
    """Two hundred streams run side by side; none waits for a connection."""
    recording.default = Reply(headers=SSE, body=[DELTA + b"\n\n", 1.0, b"data: [DONE]\n\n"])
    upstream, begun = make(), time.monotonic()
    streams = await asyncio.gather(*(read(upstream) for _ in range(200)))
    assert all(chunks[-1].done for chunks in streams)
    assert time.monotonic() - begun < 5


def test_wait() -> None:
    """A retry waits as Retry-After asks, up to a minute; else half a second, doubling to eight, less some jitter."""
    assert retry._wait(0, "7") == 7
    assert 0.375 <= retry._wait(0, None) <= 0.5
    assert 0.375 <= retry._wait(0, "3600") <= 0.5
    assert 0.375 <= retry._wait(0, "9" * 8000) <= 0.5
    assert 1.5 <= retry._wait(2, "Wed, 21 Oct 2026 07:28:00 GMT") <= 2
    assert retry._wait(50, None) <= 8


@pytest.mark.parametrize(
    ("api", "path"), [("chat", "chat/completions"), ("completions", "completions"), ("responses", "responses")]
)
async def test_each_dialect_has_its_path(make: Any, recording: Recording, api: Any, path: str) -> None:
    """And of the entry's default fields those that it knows."""
    upstream = make(defaults={"temperature": 0.5, "max_tokens": 9})
    recording.default = Reply(body=b'{"id": "x"}')
    await upstream.complete({"model": "asked"}, api)
    known = {"temperature": 0.5} if api == "responses" else {"temperature": 0.5, "max_tokens": 9}
    assert (recording.requests[0].path, recording.requests[0].json) == (f"/v1/{path}", {"model": "real", **known})


async def test_nothing_is_read_after_done(make: Any, recording: Recording) -> None:
    """However much comes, and for how long."""
    more = (part for _ in range(400) for part in (DELTA + b"\n\n", 0.01))
    recording.default = Reply(
        headers=SSE, body=(one for parts in ([DELTA, b"\n\ndata: [DONE]\n\n"], more) for one in parts)
    )
    begun = time.monotonic()
    chunks = await read(make())
    assert (len(chunks), chunks[-1].done) == (2, True)
    assert time.monotonic() - begun < 3
