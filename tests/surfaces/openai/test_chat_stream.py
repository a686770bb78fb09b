"""Streamed chat completions over HTTP: replayed as they came, or a block that is a whole, valid stream."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk
from recording import SSE, Reply
from surfaces.support import (
    ASIDE,
    BAD,
    GOOD,
    QUERY,
    SECRET,
    SOURCE,
    World,
    chunk,
    delta,
    event,
    events_of,
    everything,
    says,
    spells,
    streams,
)

BLOCKED = "I can't answer that from the documents I have."
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
OUTCOME = "x-groundwarden-outcome"


def _asked(world: World, reply: Reply, policy: str = "default", **fields: Any) -> Any:
    return world.told(reply, policy, stream=True, **fields)


def _read(world: World, policy: str = "default", **fields: Any) -> list[ChatCompletionChunk]:
    """What the openai client makes of the stream."""
    with world.client(policy) as client:
        extra = {"grounding": {"sources": [SOURCE], "query": QUERY}, **fields}
        with client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": QUERY}], stream=True, extra_body=extra
        ) as stream:
            return list(stream)


def _said(chunks: list[ChatCompletionChunk], index: int = 0) -> tuple[str, list[str]]:
    """The text and the finish reasons of one choice."""
    choices = [choice for one in chunks for choice in one.choices if choice.index == index]
    text = "".join(choice.delta.content or "" for choice in choices)
    return text, [choice.finish_reason for choice in choices if choice.finish_reason]


def _is_whole(raw: bytes) -> list[Any]:
    """The chunks of a stream, after checking that each is valid and that [DONE] is last and stands once."""
    *chunks, done = events_of(raw)
    assert done == "[DONE]"
    assert "[DONE]" not in chunks
    for one in chunks:
        ChatCompletionChunk.model_validate(one, strict=True)
    return chunks


# --- a pass -------------------------------------------------------------------------------------------------------

LINES = event("[DONE]")
RAW = {
    "plain": b"".join(event(one) for one in spells(GOOD)) + LINES,
    "CRLF": b"".join(event(one, "\r\n") for one in spells(GOOD)) + event("[DONE]", "\r\n"),
    "odd JSON": b'data:{"choices" : [ {"delta":{"content":"' + GOOD.encode() + b'"},"x":1e2} ], "y":1.00}\n\n' + LINES,
    "no space": b"".join(event(one) for one in spells(GOOD)) + b"data:[DONE]\n\n",
    "usage": b"".join(event(one) for one in [*spells(GOOD), chunk(usage=USAGE)]) + LINES,
    "obfuscation": b"".join(event({**one, "obfuscation": "aB3dE5" * 3}) for one in spells(GOOD)) + LINES,
    "ids in every chunk": b"".join(event({**one, "request_id": "0123456789ab"}) for one in spells(GOOD * 3)) + LINES,
    "no choices first": event(chunk(id="", prompt_filter_results=[])) + event(chunk(delta(GOOD))) + LINES,
    "tool calls": event(chunk(delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}])))
    + event(chunk(delta(tool_calls=[{"index": 0, "function": {"arguments": '"a b": 1}'}}], finish="tool_calls")))
    + LINES,
    "refusal": event(chunk(delta(refusal="I will "))) + event(chunk(delta(refusal="not."))) + LINES,
    "nothing": event(chunk(delta(role="assistant"))) + event(chunk(delta(finish="stop"))) + LINES,
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
def test_a_pass_replays_the_upstreams_bytes(world: World, raw: bytes):
    """A passed stream has exactly the bytes that the upstream sent."""
    reply = _asked(world, Reply(headers=SSE, body=raw), "buffered")
    assert (reply.status_code, reply.headers[OUTCOME], reply.content) == (200, "passed", raw)
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert world.asked.json["stream"] is True


@pytest.mark.parametrize(
    "raw",
    [
        b": SECRET\n\n" + b"".join(event(one) + b": SECRET ping\n\n" for one in spells(GOOD)) + LINES,
        b"event: SECRET\nid: SECRET\ndata: " + json.dumps(chunk(delta(GOOD))).encode() + b"\n\n" + LINES,
        b"data: " + json.dumps(chunk(delta(GOOD))).encode() + b"\nretry: SECRET\n\nid: SECRET\n\n" + LINES,
    ],
)
def test_what_is_beside_the_data_does_not_leave(world: World, raw: bytes):
    """Comments, event names and ids are not judged, and a guarded stream is replayed without them."""
    reply = _asked(world, Reply(headers=SSE, body=raw.replace(b"SECRET", SECRET.encode())))
    assert (reply.headers[OUTCOME], SECRET.encode() in reply.content) == ("passed", False)
    spoken = [json.loads(line[5:]) for line in reply.text.split("\n\n") if line.startswith("data: {")]
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in spoken if one["choices"]) == GOOD


def test_a_pass_through_the_openai_client(world: World):
    """The openai client reads the text, the finish and the usage of a passed stream."""
    world.upstream.default = streams(*spells(GOOD), chunk(usage=USAGE))
    chunks = _read(world, stream_options={"include_usage": True})
    assert _said(chunks) == (GOOD, ["stop"])
    assert chunks[-1].usage.total_tokens == 18
    assert world.asked.json["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("cut", [0, 1, 2])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_without_its_end_is_ended(world: World, cut: int, end: str):
    """When the upstream leaves out [DONE], or even the last blank line, the caller's stream is whole all the same."""
    raw = b"".join(event(one, end) for one in spells(GOOD)).removesuffix(end.encode() * cut)
    reply = _asked(world, Reply(headers=SSE, body=raw))
    assert reply.content.startswith(raw)
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in _is_whole(reply.content)) == GOOD


def test_done_stands_once(world: World):
    """However often the upstream says [DONE], and whatever follows it, the caller's stream ends with one."""
    reply = _asked(world, streams(*spells(GOOD), b"data: [DONE]\n\n", b": bye\n\n"))
    _is_whole(reply.content)


def test_an_unchecked_stream_is_replayed(world: World):
    """Without a source the stream passes as it came, whatever it says."""
    raw = b"".join(event(one, "\r\n") for one in spells(BAD)) + event("[DONE]")
    reply = _asked(world, Reply(headers=SSE, body=raw), grounding=None)
    assert (reply.content, reply.headers[OUTCOME]) == (raw, "unchecked")


def test_headers_hold_the_scores(world: World):
    """The verdict is known before the stream begins, so its headers tell it."""
    reply = _asked(world, streams(*spells(f"{GOOD} {ASIDE}")), "buffered")
    assert reply.headers["x-groundwarden-grounding"] == "0.9124"
    assert reply.headers["x-groundwarden-relevance"] == "0.8123"


# --- a block ------------------------------------------------------------------------------------------------------


def test_the_shape_of_a_block(world: World):
    """A block is a chunk with role and message, one that ends with content_filter, and [DONE]; no usage is made up."""
    reply = _asked(world, streams(*spells(BAD + SECRET)))
    assert (reply.status_code, reply.headers[OUTCOME]) == (200, "blocked")
    envelope = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1700000123, "model": "up-1"}
    one = {"index": 0, "logprobs": None}
    assert _is_whole(reply.content) == [
        {**envelope, "choices": [{**one, "delta": {"role": "assistant", "content": BLOCKED}, "finish_reason": None}]},
        {**envelope, "choices": [{**one, "delta": {}, "finish_reason": "content_filter"}]},
    ]


@pytest.mark.parametrize(
    "tail",
    [
        [chunk(usage=USAGE)],
        [chunk(delta(finish="stop"), usage=USAGE)],
        [chunk(delta(), usage={**USAGE, "total_tokens": 1}), chunk(usage={**USAGE, "note": SECRET})],
    ],
)
def test_a_block_keeps_the_upstreams_usage(world: World, tail: list):
    """The upstream's count of tokens follows the block, wherever in the stream it stood, and without its words."""
    world.upstream.default = streams(*spells(BAD), *tail)
    chunks = _read(world)
    assert _said(chunks) == (BLOCKED, ["content_filter"])
    assert [one.usage.model_dump(exclude_none=True) for one in chunks if one.usage] == [USAGE]
    assert chunks[-1].choices == []
    assert SECRET not in repr(chunks)


def test_the_name_of_a_block_is_the_answers(world: World):
    """A first chunk without choices, as Azure sends it, does not name the block."""
    reply = _asked(world, streams(chunk(id="", created=0, model="", prompt_filter_results=[]), *spells(BAD)))
    assert {(one["id"], one["created"], one["model"]) for one in _is_whole(reply.content)} == {
        ("chatcmpl-up", 1700000123, "up-1")
    }


def test_a_block_may_be_an_error(world: World):
    """Under on_block: error a stream that has not begun is a 400 with code content_filter."""
    world.upstream.default = streams(*spells(BAD))
    with pytest.raises(openai.BadRequestError) as caught:
        _read(world, "error")
    assert caught.value.code == "content_filter"


@pytest.mark.parametrize("usage", [True, False])
def test_a_missing_context_may_be_blocked(world: World, usage: bool):
    """Under on_missing_context: block the stream says no without the model; usage stands where it was asked for."""
    with world.client("missing") as client:
        chunks = list(
            client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": QUERY}],
                stream=True,
                n=2,
                stream_options={"include_usage": usage},
            )
        )
    assert [_said(chunks, index) for index in (0, 1)] == [(BLOCKED, ["content_filter"])] * 2
    assert [one.usage.total_tokens for one in chunks if one.usage] == [0] * usage
    assert world.upstream.requests == []


def test_one_of_several_choices_is_blocked(world: World):
    """Of interleaved choices only the bad one is replaced; each ends once, and the others say what they said."""
    kept, gone = spells(GOOD, index=1), spells(f"{BAD} {SECRET}.")
    mixed = [one for pair in zip(kept, gone, strict=False) for one in pair]
    rest = [*kept[len(mixed) // 2 :], *gone[len(mixed) // 2 :]]
    both = chunk(delta(SECRET), delta(" Tokyo is the capital of Japan.", index=1))
    reply = _asked(world, streams(*mixed, both, *rest, chunk(usage=USAGE)), "buffered", n=2)
    chunks = [ChatCompletionChunk.model_validate(one) for one in _is_whole(reply.content)]
    assert _said(chunks) == (BLOCKED, ["content_filter"])
    assert _said(chunks, 1)[1] == ["stop"]
    assert sorted(_said(chunks, 1)[0].split()) == sorted(f"{GOOD} Tokyo is the capital of Japan.".split())
    assert chunks[-1].usage.total_tokens == 18
    assert reply.headers[OUTCOME] == "blocked"
    assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("index", [None, "0", 0.0])
def test_odd_indices_do_not_free_a_blocked_choice(world: World, index: object):
    """However a choice is numbered, its blocked text does not leave."""
    said = [chunk({**delta(word), "index": index}) for word in (BAD, f" {SECRET}")]
    reply = _asked(world, streams(*said))
    assert _is_whole(reply.content)[-1]["choices"][0]["finish_reason"] == "content_filter"
    assert SECRET.encode() not in reply.content


FIELDS = [
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "odd",
    "deep",
    "list",
    "tool_calls",
    "around",
    "logprobs",
]


def _carried(name: str, text: str) -> dict[str, Any]:
    """A chunk that carries a piece of text in one of its places."""
    match name:
        case "deep":
            return chunk(delta(odd={"parts": {"text": text}}))
        case "list":
            return chunk(delta(odd=[{"type": "summary", "text": text}]))
        case "tool_calls":
            return chunk(delta(tool_calls=[{"index": 0, "function": {"arguments": text}}]))
        case "around":
            return chunk(delta(""), odd=text)
        case "logprobs":
            return chunk({**delta(""), "logprobs": {"content": [{"token": text, "logprob": -1, "top_logprobs": []}]}})
        case _:
            return chunk(delta(**{name: text}))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.sampled_from(FIELDS), max_size=6),
    policy=st.sampled_from(["default", "unknown-passes", "unknown-stripped", "reasoning-passes"]),
    cuts=st.lists(st.integers(1, 400), min_size=1, max_size=12),
    done=st.booleans(),
)
def test_no_cutting_of_a_stream_frees_blocked_text(world: World, places: list, policy: str, cuts: list, done: bool):
    """However a blocked stream is cut into packets, and wherever its text stands, none of it leaves."""
    world.reset()
    chunks = [delta_chunk for place in places for delta_chunk in (_carried(place, SECRET), *spells(BAD)[1:3])]
    raw = b"".join(event(one) for one in [*chunks, *spells(BAD)]) + (LINES if done else b"")
    edges = sorted({min(sum(cuts[: at + 1]), len(raw)) for at in range(len(cuts))} | {0, len(raw)})
    pieces = [raw[start:end] for start, end in pairwise(edges)]
    reply = _asked(world, Reply(headers=SSE, body=pieces), policy)
    assert reply.headers[OUTCOME] == "blocked"
    assert SECRET.encode() not in everything(reply)
    assert _is_whole(reply.content)[-1]["choices"][0]["finish_reason"] == "content_filter"


# --- parts that are no prose --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_deltas_are_stripped(world: World, name: str):
    """Reasoning deltas go, piece by piece; what remains is the answer with its metadata."""
    thoughts = [chunk(delta(**{name: word})) for word in ("Hm", ", ", SECRET)]
    reply = _asked(world, streams(*thoughts, *spells(GOOD)))
    chunks = [ChatCompletionChunk.model_validate(one) for one in _is_whole(reply.content)]
    assert _said(chunks) == (GOOD, ["stop"])
    assert reply.headers[OUTCOME] == "passed"
    assert SECRET.encode() not in reply.content
    assert _asked(world, streams(*thoughts, *spells(GOOD)), "reasoning-passes").content.count(SECRET.encode()) == 1


@pytest.mark.parametrize("place", ["odd", "deep", "list", "around"])
def test_text_in_unknown_fields_falls_to_the_policy(world: World, place: str):
    """Unknown text that comes word by word is seen for what it is: blocked, stripped or passed by the policy."""
    odd = [_carried(place, word) for word in ("Some", " words", " nobody", " judged", f" {SECRET}")]
    raw = b"".join(event(one) for one in [*odd, *spells(GOOD)]) + LINES
    replies = [_asked(world, Reply(headers=SSE, body=raw), f"{name}") for name in ("default", "unknown-stripped")]
    assert [reply.headers[OUTCOME] for reply in replies] == ["blocked", "passed"]
    assert all(SECRET.encode() not in reply.content and b"words" not in reply.content for reply in replies)
    assert _asked(world, Reply(headers=SSE, body=raw), "unknown-passes").content == raw


@pytest.mark.parametrize("fields", [{"note": f"a text with {SECRET} in it"}, {"images": [{"url": SECRET}]}])
@pytest.mark.parametrize("policy", ["flags", "detects"])
def test_the_last_chunk_is_looked_at_where_no_score_blocks(world: World, policy: str, fields: dict[str, Any]):
    """Without a query no score can block here, and all leaves at once: but for what may not leave unseen."""
    chunks = [chunk(delta(GOOD)), chunk(delta("", finish="stop", **fields))]
    reply = _asked(world, streams(*chunks), policy, grounding={"sources": [SOURCE]})
    assert SECRET.encode() not in everything(reply)
    text, finish = _said([ChatCompletionChunk.model_validate(one) for one in _is_whole(reply.content)])
    assert (text, finish) == (f"{GOOD}\n\n{BLOCKED}", ["content_filter"])


def test_a_message_beside_the_deltas_is_unknown_text(world: World):
    """Some servers repeat the whole message beside each delta; nobody judged it, so it falls to the policy."""
    chunks = [chunk({**delta(GOOD), "message": {"role": "assistant", "content": f"{GOOD} {SECRET}"}})]
    assert _asked(world, streams(*chunks)).headers[OUTCOME] == "blocked"
    stripped = _asked(world, streams(*chunks), "unknown-stripped")
    assert _is_whole(stripped.content)[0]["choices"] == [delta(GOOD)]


def test_tool_call_deltas_are_exempt_from_relevance(world: World):
    """A stream that calls a tool passes, with a relevance header absent, unless its text is unsupported."""
    calls = [chunk(delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]))]
    passed = _asked(world, streams(*spells(ASIDE), *calls))
    blocked = _asked(world, streams(*spells(BAD), *calls))
    assert (passed.headers[OUTCOME], blocked.headers[OUTCOME]) == ("passed", "blocked")
    assert "x-groundwarden-relevance" not in passed.headers
    assert b"tool_calls" not in blocked.content


def test_top_logprobs_are_emptied(world: World):
    """The tokens that were not chosen are taken out of a streamed chunk."""
    token = {"token": GOOD, "logprob": -0.1, "bytes": None, "top_logprobs": [{"token": SECRET, "logprob": -3}]}
    said = [chunk({**delta(GOOD), "logprobs": {"content": [token]}}), chunk(delta(finish="stop"))]
    reply = _asked(world, streams(*said))
    assert _is_whole(reply.content)[0]["choices"][0]["logprobs"] == {"content": [{**token, "top_logprobs": []}]}


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_the_trace_is_the_last_chunk(world: World, text: str):
    """The trace comes in a chunk of its own without choices, just before [DONE]."""
    world.upstream.default = streams(*spells(text), chunk(usage=USAGE))
    *_, usage, trace = _read(world, guardrail={"trace": "enabled"})
    assert (trace.choices, trace.id, trace.model) == ([], "chatcmpl-up", "up-1")
    assert trace.guardrail["outcome"] == ("passed" if text == GOOD else "blocked")
    assert usage.usage.total_tokens == 18


# --- the upstream fails -------------------------------------------------------------------------------------------

ERROR = {"message": "Overloaded.", "type": "server_error", "param": None, "code": "busy"}


@pytest.mark.parametrize("before", [0, 3])
def test_an_error_in_mid_stream_is_an_http_error(world: World, before: int):
    """As nothing has been sent, an error object in the stream becomes an error reply with its message."""
    reply = _asked(world, streams(*spells(GOOD)[:before], {"error": {**ERROR, "code": 503}}))
    assert (reply.status_code, reply.json()["error"]["message"]) == (503, "Overloaded.")


def test_an_error_instead_of_a_stream(world: World):
    """An upstream's plain error reply keeps its status and message, and the openai client raises it."""
    world.upstream.default = says({"error": ERROR}, 429, **{"retry-after": "2"})
    with pytest.raises(openai.RateLimitError, match="Overloaded"):
        _read(world)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(headers=SSE, body=[event(spells(GOOD)[1])], cut=True),
        Reply(headers=SSE, body=b"data: {\n\n"),
        Reply(headers=SSE, body=b""),
        Reply(headers=SSE, body=b"data: [DONE]\n\n"),
        streams({"choices": [7]}),
        streams({"choices": [{"delta": "x"}]}),
        streams(chunk()),
        Reply(headers={"content-type": "text/html"}, body=b"<html>"),
    ],
)
def test_a_broken_stream_is_a_502(world: World, reply: Reply):
    """A stream that breaks off, cannot be read or holds no answer is an error and not half an answer."""
    reply = _asked(world, reply)
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_error")


def test_a_whole_answer_instead_of_a_stream_is_a_502(world: World):
    """A JSON reply to a streamed request is not handed out as if it were a stream."""
    assert _asked(world, says({"choices": []})).status_code == 502


def _with(fields: list[dict[str, Any]], **choice_fields: list[Any]) -> Reply:
    """A stream of GOOD in as many chunks as there are fields, each chunk with its own."""
    said = [chunk(delta(GOOD if at == 0 else "")) | more for at, more in enumerate(fields)]
    return streams(*said, chunk(delta(finish="stop")))


@pytest.mark.parametrize(
    "fields",
    [
        [{"system_fingerprint": "fp_a1"}, {"system_fingerprint": "fp_b2"}],
        [{"service_tier": "auto"}, {"service_tier": "default"}],
        [{"object": "chat.completion.chunk"}, {"object": "chat.completion.done"}],
        [{"p": "abcd"}, {"p": "abcdefgh"}, {"p": "ab"}, {"p": "abcdefghijk"}, {"p": "a"}],
        [{"created_at": f"2024-09-30T20:20:4{digit}Z"} for digit in range(6)],
        [{"model": "accounts/acme/models/llama-v3p1-8b-instruct#accounts/acme/deployments/ab12cd34ef56"}] * 2,
        [{"model": "gpt-4o"}, {"model": "gpt-4o-2024-08-06"}],
    ],
)
def test_metadata_that_changes_is_no_text(world: World, fields: list[dict[str, Any]]):
    """Short values that differ from chunk to chunk, as providers send them, do not block a good answer."""
    reply = _asked(world, _with(fields))
    assert (reply.status_code, reply.headers[OUTCOME]) == (200, "passed")


@pytest.mark.parametrize(
    "fields",
    [
        [{f"{SECRET} is London": None}, {}],
        [{"usage": {f"{SECRET} is London": 0}}, {}],
        [{"id": f"{SECRET} is London"}, {}],
        [{"note": " capital"}, {"note": f" {SECRET}"}],
        [{"note": f"{SECRET} is"}, {"note": "fp_" + "0" * 40}],
        [{"model": {"note": f"{SECRET} is London"}}, {}],
    ],
)
def test_text_in_names_and_ids_does_not_leave(world: World, fields: list[dict[str, Any]]):
    """A name, an id and a word with its space are text wherever they stand."""
    reply = _asked(world, _with(fields))
    assert (reply.headers[OUTCOME], SECRET.encode() in reply.content) == ("blocked", False)


def test_parts_that_think_are_stripped(world: World):
    """Providers that think in parts of the content have them taken out, and the rest is judged and released."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": SECRET}]}, {"type": "text", "text": GOOD}]
    reply = _asked(world, streams(chunk(delta(parts)), chunk(delta(finish="stop"))))
    assert (reply.headers[OUTCOME], SECRET.encode() in reply.content) == ("passed", False)
    assert GOOD.encode() in reply.content


def test_a_stream_that_only_stops_broke_off(world: World):
    """Without a finish reason and without [DONE] half an answer is no answer, even if the connection closed well."""
    half = event(chunk(delta(GOOD)))
    broken = _asked(world, Reply(headers=SSE, body=half))
    assert (broken.status_code, broken.json()["error"]["message"]) == (502, "The model's answer broke off.")
    assert _asked(world, Reply(headers=SSE, body=half + b"data: [DONE]\n\n")).status_code == 200
    assert _asked(world, Reply(headers=SSE, body=half + event(chunk(delta(finish="stop"))))).status_code == 200
