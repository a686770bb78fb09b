"""What both upstreams owe, the pass-through and LiteLLM, against one recording server."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from recording import SSE, Recording, Reply

from proxy.grounding.errors import UpstreamError, UpstreamTimeout
from proxy.upstream import retry
from proxy.upstream.model_list import parse_model_list
from proxy.upstream.models import UpstreamSet, build_upstreams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.upstream.base import Answer, Chunk, Upstream

KEY = "sk-a-very-secret-key"
PROMPT = "a prompt that nobody may write down"
BODY = {"model": "asked", "messages": [{"role": "user", "content": PROMPT}], "temperature": 0.5}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Grüße 👋"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
OK = Reply(body=json.dumps(ANSWER).encode())

Make = "Callable[..., Upstream]"


def event(data: object) -> bytes:
    """One event as OpenAI writes it."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One chunk of one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


STREAM = [chunk(role="assistant", content="Gr"), chunk(content="üße"), chunk(finish="stop"), b"data: [DONE]\n\n"]


@pytest.fixture(params=["openai", "hosted_vllm"])
async def make(request: pytest.FixtureRequest, recording: Recording) -> AsyncIterator[Make]:
    """Make an upstream of either kind, with the recording server's address unless another is given."""
    made: list[UpstreamSet] = []

    async def make_one(**params: Any) -> Upstream:
        params = {"model": f"{request.param}/real", "api_key": KEY, "api_base": f"{recording.url}/v1", **params}
        made.append(build_upstreams(parse_model_list([{"model_name": "asked", "litellm_params": params}])))
        await made[-1].warm()
        return made[-1].get("asked")

    yield make_one
    for upstreams in made:
        await upstreams.close()


async def ask(upstream: Upstream, **fields: Any) -> Answer:
    """A whole answer."""
    return await upstream.complete({**BODY, **fields})


async def read(upstream: Upstream, **fields: Any) -> list[Chunk]:
    """Every chunk of a streamed answer."""
    async with aclosing(upstream.stream({**BODY, "stream": True, **fields})) as stream:
        return [piece async for piece in stream]


def text(chunks: list[Chunk]) -> str:
    """The text of all chunks, and the proof that their bytes say the same as their objects."""
    for piece in chunks:
        assert piece.data is None or json.loads(piece.raw.removeprefix(b"data: ")) == piece.data
    choices = [choice for piece in chunks if piece.data for choice in piece.data["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def test_whole_answer(make: Make, recording: Recording) -> None:
    """A whole answer's bytes and object agree and hold the model's text, id, usage and finish reason."""
    recording.replies.append(OK)
    answer = await ask(await make())
    assert json.loads(answer.raw) == answer.body
    assert answer.body["choices"][0]["message"]["content"] == "Grüße 👋"
    assert answer.body["choices"][0]["finish_reason"] == "stop"
    assert answer.body["id"] == "chatcmpl-1"
    assert answer.body["usage"]["total_tokens"] == 3


async def test_request(make: Make, recording: Recording) -> None:
    """The upstream gets its own model name and key, and the caller's fields as they were."""
    recording.replies.append(OK)
    await ask(await make(extra_headers={"X-Team": "red"}), seed=7)
    (request,) = recording.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "red"
    assert request.json["model"] == "real"
    assert request.json["messages"] == BODY["messages"]
    assert (request.json["temperature"], request.json["seed"]) == (0.5, 7)


async def test_default_fields(make: Make, recording: Recording) -> None:
    """An entry's default request fields are used where the caller gives none, and only there."""
    recording.default = OK
    upstream = await make(temperature=0.1, top_p=0.2)
    await ask(upstream)
    assert (recording.requests[0].json["temperature"], recording.requests[0].json["top_p"]) == (0.5, 0.2)


async def test_stream(make: Make, recording: Recording) -> None:
    """A streamed answer gives the text in order, one finish reason, and ``[DONE]`` last."""
    recording.replies.append(Reply(headers=SSE, body=STREAM))
    chunks = await read(await make())
    assert text(chunks) == "Grüße"
    assert [piece.done for piece in chunks] == [False] * (len(chunks) - 1) + [True]
    reasons = [choice.get("finish_reason") for piece in chunks if piece.data for choice in piece.data["choices"]]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert recording.requests[0].json["stream"] is True


async def test_stream_is_not_held_back(make: Make, recording: Recording) -> None:
    """A chunk is given as soon as its event has come, not when the next one has."""
    recording.replies.append(Reply(headers=SSE, body=STREAM[:1], hang=True))
    upstream = await make()
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream, asyncio.timeout(5):
        assert text([await anext(stream)]) == "Gr"


@pytest.mark.parametrize("status", [400, 404, 409, 422, 429, 500, 503])
@pytest.mark.parametrize("how", [ask, read])
async def test_upstream_error(make: Make, recording: Recording, how: Any, status: int) -> None:
    """An upstream's error keeps its status, message and Retry-After, whether asked whole or streamed."""
    error = {"message": "too many things", "type": "some_error", "param": "n", "code": "some_code"}
    headers = {"content-type": "application/json", "retry-after": "7"}
    recording.replies.append(Reply(status=status, headers=headers, body=json.dumps({"error": error}).encode()))
    with pytest.raises(UpstreamError) as caught:
        await how(await make())
    raised = caught.value
    assert (raised.status, raised.message, raised.retry_after) == (status, "too many things", "7")
    assert (raised.type, raised.param, raised.code) == ("some_error", "n", "some_code")
    assert len(recording.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("how", [ask, read])
async def test_refused_credentials(make: Make, recording: Recording, how: Any, status: int) -> None:
    """What the upstream says about our credentials is hidden behind a 502."""
    error = {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}
    recording.replies.append(Reply(status=status, body=json.dumps({"error": error}).encode()))
    with pytest.raises(UpstreamError) as caught:
        await how(await make())
    assert caught.value.status == 502
    assert "Incorrect" not in caught.value.message
    assert caught.value.code == "upstream_error"


async def test_key_never_shows(make: Make, recording: Recording) -> None:
    """The upstream's key is blotted out of a message that quotes it."""
    recording.replies.append(Reply(status=400, body=json.dumps({"error": {"message": f"no {KEY} here"}}).encode()))
    with pytest.raises(UpstreamError) as caught:
        await ask(await make())
    assert caught.value.message.startswith("no ")
    assert KEY not in caught.value.message


@pytest.mark.parametrize(
    "body",
    [b"<html>gateway</html>", b"", b"{nope", b"[1]", b'"text"', b"null"],
    ids=["html", "empty", "cut", "list", "text", "null"],
)
async def test_unreadable_answer(make: Make, recording: Recording, body: bytes) -> None:
    """A success that is no JSON object is a 502 that quotes nothing of it."""
    recording.replies.append(Reply(body=body))
    with pytest.raises(UpstreamError) as caught:
        await ask(await make())
    assert caught.value.status == 502
    assert "gateway" not in caught.value.message


async def test_error_sent_as_success(make: Make, recording: Recording) -> None:
    """An error object with status 200 is an error."""
    recording.replies.append(Reply(body=b'{"error": {"message": "provider is down", "code": 503}}'))
    with pytest.raises(UpstreamError) as caught:
        await ask(await make())
    assert caught.value.status >= 500


async def test_unreadable_error(make: Make, recording: Recording) -> None:
    """An error page that is no JSON keeps its status and loses its text, which may name hosts."""
    recording.replies.append(
        Reply(status=503, headers={"content-type": "text/plain"}, body=b"connect to 10.9.8.7 failed")
    )
    with pytest.raises(UpstreamError) as caught:
        await ask(await make())
    assert caught.value.status == 503
    assert "10.9.8.7" not in caught.value.message


@pytest.mark.parametrize("how", [ask, read])
async def test_unreachable(make: Make, unused_tcp_port: int, how: Any) -> None:
    """A server that cannot be reached is a 502 that names no address."""
    with pytest.raises(UpstreamError) as caught:
        await how(await make(api_base=f"http://127.0.0.1:{unused_tcp_port}/v1"))
    assert caught.value.status == 502
    assert "127.0.0.1" not in caught.value.message
    assert str(unused_tcp_port) not in caught.value.message


async def test_whole_answer_too_late(make: Make, recording: Recording) -> None:
    """An answer that does not come within ``timeout`` is a 504."""
    recording.replies.append(Reply(body=b"", hang=True))
    with pytest.raises(UpstreamTimeout) as caught:
        await ask(await make(timeout=0.3))
    assert caught.value.status == 504


async def test_stream_falls_silent(make: Make, recording: Recording) -> None:
    """A stream that says nothing for ``stream_timeout`` is a 504, after the chunks that came."""
    recording.replies.append(Reply(headers=SSE, body=STREAM[:1], hang=True))
    upstream = await make(stream_timeout=0.5)
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        assert text([await anext(stream)]) == "Gr"
        with pytest.raises(UpstreamTimeout):
            await anext(stream)


async def test_comments_are_silence(make: Make, recording: Recording) -> None:
    """They say that the line is alive, and not that an answer comes."""
    body = (part for _ in range(200) for part in (b": keep-alive\n\n", 0.02))
    recording.replies.append(Reply(headers=SSE, body=[STREAM[0], *body]))
    upstream = await make(stream_timeout=0.4)
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        with pytest.raises(UpstreamTimeout):
            [chunk async for chunk in stream]
    assert await asyncio.to_thread(recording.requests[0].left.wait, 5)


async def test_a_slow_reader_is_not_the_models_fault(make: Make, recording: Recording) -> None:
    """Only what is waited for counts, not what the reader does in between."""
    recording.replies.append(Reply(headers=SSE, body=[part for one in STREAM for part in (one, 0.05)]))
    upstream = await make(stream_timeout=0.5)
    said = []
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        async for chunk in stream:
            said.append(chunk)
            await asyncio.sleep(0.6 if len(said) == 1 else 0)
    assert text(said) == "Grüße"


async def test_slow_stream_is_not_late(make: Make, recording: Recording) -> None:
    """A stream may take longer than ``timeout`` and ``stream_timeout`` as a whole while it keeps talking."""
    body = [STREAM[0], 0.3, STREAM[1], 0.3, STREAM[2], 0.3, STREAM[3]]
    recording.replies.append(Reply(headers=SSE, body=body))
    assert text(await read(await make(timeout=0.6, stream_timeout=0.6))) == "Grüße"


@pytest.mark.parametrize("how", [ask, read])
async def test_broken_connection(make: Make, recording: Recording, how: Any) -> None:
    """A connection that breaks in mid-answer is a 502."""
    recording.default = Reply(headers=SSE if how is read else OK.headers, body=[STREAM[0]], cut=True)
    with pytest.raises(UpstreamError) as caught:
        await how(await make())
    assert caught.value.status == 502


async def test_error_in_stream(make: Make, recording: Recording) -> None:
    """An error object in mid-stream is raised after the chunks before it, with a status that is an error's."""
    error = event({"error": {"message": "ran out of luck", "type": "server_error", "code": 500}})
    recording.replies.append(Reply(headers=SSE, body=[*STREAM[:2], error]))
    upstream = await make()
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        assert text([await anext(stream), await anext(stream)]) == "Grüße"
        with pytest.raises(UpstreamError) as caught:
            await anext(stream)
    assert caught.value.status >= 500


@pytest.mark.parametrize("reply", [OK, Reply(headers={"content-type": "text/html"}, body=b"<html></html>")])
async def test_unstreamed_reply_to_stream(make: Make, recording: Recording, reply: Reply) -> None:
    """A success that is no stream, where one was asked for, is a 502 and never an empty answer."""
    recording.replies.append(reply)
    with pytest.raises(UpstreamError) as caught:
        await read(await make())
    assert caught.value.status == 502


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
@pytest.mark.parametrize("how", [ask, read])
async def test_retry(make: Make, recording: Recording, how: Any, status: int, monkeypatch: Any) -> None:
    """With ``max_retries`` a failure that may pass is asked again, up to that number of times."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    good = Reply(headers=SSE, body=STREAM) if how is read else OK
    recording.replies.extend([Reply(status=status), Reply(status=status), good])
    await how(await make(max_retries=2))
    assert len(recording.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_no_retry_of_what_stays(make: Make, recording: Recording, status: int) -> None:
    """A failure that would come again is not asked again."""
    recording.default = Reply(status=status)
    with pytest.raises(UpstreamError):
        await ask(await make(max_retries=2))
    assert len(recording.requests) == 1


async def test_retries_run_out(make: Make, recording: Recording, monkeypatch: Any) -> None:
    """The last failure is raised when every retry has failed."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    recording.default = Reply(status=503)
    with pytest.raises(UpstreamError) as caught:
        await ask(await make(max_retries=2))
    assert (caught.value.status, len(recording.requests)) == (503, 3)


async def test_no_retry_once_begun(make: Make, recording: Recording) -> None:
    """A success that broke off is not asked again."""
    recording.default = Reply(headers=SSE, body=[STREAM[0]], cut=True)
    with pytest.raises(UpstreamError):
        await read(await make(max_retries=2))
    assert len(recording.requests) == 1


async def test_cancelled_whole_answer(make: Make, recording: Recording) -> None:
    """Cancelling a call closes the upstream's connection at once."""
    recording.replies.append(Reply(body=b"{", hang=True))
    asking = asyncio.ensure_future(ask(await make()))
    await asyncio.to_thread(recording.wait_for_request)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(recording.requests[0].left.wait, 2)


async def test_closed_stream(make: Make, recording: Recording) -> None:
    """Closing a stream that never ends closes the upstream's connection at once."""

    def forever() -> Any:
        while True:
            yield STREAM[0]
            yield 0.01

    recording.replies.append(Reply(headers=SSE, body=forever()))
    upstream = await make()
    async with aclosing(upstream.stream({**BODY, "stream": True})) as stream:
        assert text([await anext(stream)]) == "Gr"
    assert await asyncio.to_thread(recording.requests[0].left.wait, 2)


async def test_caller_cannot_steer(make: Make, recording: Recording) -> None:
    """Nothing in a body changes address, key or headers, also when it was not refused earlier."""
    recording.replies.append(OK)
    await ask(await make(), api_key="sk-the-callers-own", api_base="http://127.0.0.1:9", extra_headers={"X-Evil": "1"})
    (request,) = recording.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "x-evil" not in request.headers


async def test_nothing_is_written(make: Make, recording: Recording, caplog: Any, capfd: Any) -> None:
    """Neither prompt nor key reaches any log or output, in success or failure."""
    caplog.set_level(logging.DEBUG)
    recording.replies.extend(
        [OK, Reply(status=500), Reply(status=400), Reply(body=b"<html>"), Reply(headers=SSE, body=STREAM)]
    )
    upstream = await make()
    for how in (ask, ask, ask, ask, read):
        with suppress(UpstreamError):
            await how(upstream)
    out, err = capfd.readouterr()
    for written in (out, err, caplog.text):
        assert PROMPT not in written
        assert KEY not in written
