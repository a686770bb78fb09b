"""Streams that are released while the model writes, over HTTP: live, valid for the openai client, and without a leak.

Time is told by order: an upstream waits until the caller has read what it said before.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
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
    answer,
    asking,
    choice,
    chunk,
    delta,
    event,
    events_of,
    everything,
    spells,
    streams,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BLOCKED = "I can't answer that from the documents I have."
OUTCOME = "x-groundwarden-outcome"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
NEXT = "London is the capital of the United Kingdom, as everybody knows."
WORSE = f"The capital of Japan is UNSUPPORTED {SECRET}, as nobody knows."
PAUSE = 0.05  # long enough for what may leave to leave, were it wrong to; no test fails for its being too short
GROUNDED_ON = {"grounding": {"sources": [SOURCE], "query": QUERY}}


def waits(happened: threading.Event) -> Iterator[float]:
    """An upstream that says nothing until something has happened."""
    while not happened.is_set():
        yield 0.002


def lives(*parts: Any, **fields: Any) -> Reply:
    """An upstream that says these parts: chunks and bytes; it waits for events, and pauses for seconds."""

    def body() -> Iterator[bytes | float]:
        for part in parts:
            if isinstance(part, threading.Event):
                yield from waits(part)
            else:
                yield part if isinstance(part, bytes | float) else event(part)

    return Reply(headers=SSE, body=body(), **fields)


def words(text: str, index: int = 0) -> list[dict[str, Any]]:
    """The chunks of a text, without what begins and ends a choice."""
    return spells(text, index=index)[1:-1]


@contextmanager
def reading(world: World, reply: Reply, policy: str = "default", **fields: Any) -> Iterator[httpx.Response]:
    """The raw reply to a streamed question, while it comes."""
    world.upstream.replies.append(reply)
    headers = {"authorization": f"Bearer key-{policy}"}
    body = asking(stream=True, **fields)
    with world.http.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
        yield response


def read_until(raw: Iterable[bytes], text: str) -> bytes:
    """What comes until the deltas spell this text."""
    seen, late = b"", time.monotonic() + 20  # comments would keep it alive for ever
    for block in raw:
        seen += block
        if text in spelt(seen):
            return seen
        if time.monotonic() > late:
            break
    pytest.fail(f"the stream never said {text!r}")


def spelt(raw: bytes, index: int = 0) -> str:
    """The text of one choice in as much of a stream as there is."""
    lines = raw[: raw.rfind(b"\n\n")].decode().splitlines()
    data = [json.loads(line[5:]) for line in lines if line.startswith("data: {")]
    choices = [one for each in data for one in each.get("choices", ()) if one.get("index") == index]
    return "".join(one["delta"].get("content") or "" for one in choices)


def chunks_of(raw: bytes) -> list[ChatCompletionChunk]:
    """The chunks of a whole stream, each valid, with one [DONE] at the end."""
    *data, done = events_of(raw)
    assert done == "[DONE]"
    assert "[DONE]" not in data
    return [ChatCompletionChunk.model_validate(one, strict=True) for one in data]


def finishes(chunks: Iterable[ChatCompletionChunk], index: int = 0) -> list[str]:
    """The finish reasons of one choice."""
    choices = [one for each in chunks for one in each.choices if one.index == index]
    return [one.finish_reason for one in choices if one.finish_reason]


def said(chunks: Iterable[ChatCompletionChunk], index: int = 0) -> str:
    """The text of one choice."""
    choices = [one for each in chunks for one in each.choices if one.index == index]
    return "".join(one.delta.content or "" for one in choices)


def asked(world: World, reply: Reply, policy: str = "default", **fields: Any) -> httpx.Response:
    """The whole reply to a streamed question."""
    return world.told(reply, policy, stream=True, **fields)


@contextmanager
def client_stream(world: World, reply: Reply, policy: str = "default", **fields: Any) -> Iterator[Any]:
    """The stream as the openai client reads it."""
    world.upstream.replies.append(reply)
    with (
        world.client(policy) as client,
        client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": QUERY}], stream=True, extra_body=GROUNDED_ON, **fields
        ) as stream,
    ):
        yield stream


# --- live ---------------------------------------------------------------------------------------------------------


def test_a_sentence_arrives_while_the_model_writes(world: World):
    """The upstream goes on only when the caller has read the first sentence; the rest follows."""
    read = threading.Event()
    with reading(world, lives(*words(f"{GOOD} {NEXT} "), read, *spells("The end.")[1:])) as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, GOOD)
        assert OUTCOME not in reply.headers
        read.set()
        seen += b"".join(raw)
    chunks = chunks_of(seen)
    assert (said(chunks), finishes(chunks)) == (f"{GOOD} {NEXT} The end.", ["stop"])


def test_the_openai_client_reads_sentence_by_sentence(world: World):
    """Each sentence of the answer is with the caller before the model has thought of the next but one."""
    steps = [threading.Event() for _ in range(3)]
    parts: list[Any] = [chunk(delta("", role="assistant"))]
    for step in steps:
        parts += [*words(f"{GOOD} {NEXT} "), step]
    seen, at = "", 0
    with client_stream(world, lives(*parts, chunk(delta(finish="stop")))) as stream:
        for one in stream:
            seen += one.choices[0].delta.content or ""
            if at < len(steps) and seen.count(GOOD) > at:
                steps[at].set()
                at += 1
    assert (seen, at) == (f"{GOOD} {NEXT} " * 3, 3)


@pytest.mark.parametrize(("policy", "text"), [("after", "The cap"), ("detects", "The cap"), ("detects", "")])
def test_what_need_not_wait_does_not(world: World, policy: str, text: str):
    """Under after, and where nothing can block, half a word is with the caller before the model goes on."""
    read = threading.Event()
    first = delta(text, role="assistant") if text else delta(tool_calls=[{"index": 0, "id": "c"}])
    with reading(world, lives(chunk(first), read, *spells("ital")[1:]), policy) as reply:
        raw = reply.iter_raw()
        seen = next(raw)
        assert json.loads(seen[5:])["choices"] == [first]
        read.set()
        chunks_of(seen + b"".join(raw))


@pytest.mark.parametrize(
    "text",
    [
        "total = price + tax  # each adds up\n" * 60,
        '{"capital":"Tokyo","of":"Japan"},' * 60,
        "| Tokyo | Japan |\n" * 99,
    ],
)
def test_what_has_no_sentence_ends_arrives_in_pieces(world: World, text: str):
    """Code, JSON and tables are with the caller but for their last part before the model goes on."""
    read = threading.Event()
    pieces = [text[start : start + 11] for start in range(0, len(text), 11)]
    with reading(world, lives(*(chunk(delta(piece)) for piece in pieces), read, chunk(delta(finish="stop")))) as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, text[: len(text) - 800].rstrip())
        read.set()
        assert said(chunks_of(seen + b"".join(raw))) == text


def test_what_must_be_judged_at_the_end_is_buffered(world: World):
    """With tools or a response_format, and for several choices under on_block: error, the verdict comes first."""
    text = f"{GOOD} {NEXT} {NEXT}"
    buffers: list[dict[str, Any]] = [
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"response_format": {"type": "json_object"}},
    ]
    assert OUTCOME not in asked(world, streams(*spells(text))).headers
    for fields in buffers:
        assert asked(world, streams(*spells(text)), **fields).headers[OUTCOME] == "passed"
    both = [*spells(text), *spells(text, index=1)]
    assert OUTCOME not in asked(world, streams(*both), n=2).headers
    assert asked(world, streams(*both), "error", n=2).headers[OUTCOME] == "passed"


def test_headers_tell_what_was_known_when_the_stream_began(world: World):
    """The policy and the request's id always; the outcome and scores not, if the stream began before the verdict."""
    reply = asked(world, streams(*spells(f"{GOOD} {NEXT} {NEXT}")))
    assert reply.headers["x-groundwarden-policy"].startswith("default@")
    assert reply.headers["x-request-id"]
    assert not [name for name in reply.headers if name in (OUTCOME, "x-groundwarden-grounding")]
    assert asked(world, streams(*spells(GOOD))).headers["x-groundwarden-grounding"] == "0.9124"


def test_the_trace_comes_last(world: World):
    """A chunk without choices before [DONE] explains an answer that has left already."""
    text = f"{GOOD} {NEXT}"
    reply = asked(world, streams(*spells(text), chunk(usage=USAGE)), guardrail={"trace": "enabled"})
    *_, usage, trace, done = events_of(reply.content)
    assert (usage["usage"], trace["choices"], done) == (USAGE, [], "[DONE]")
    assert (trace["guardrail"]["outcome"], len(trace["guardrail"]["claims"])) == ("passed", 2)


# --- keep-alive, deadlines, leaving -------------------------------------------------------------------------------


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream begins and keeps alive after a fraction of a second."""
    monkeypatch.setattr("proxy.surfaces.live.START_SECONDS", 0.01)
    monkeypatch.setattr("proxy.surfaces.events.KEEP_ALIVE_SECONDS", 0.01)


@pytest.mark.usefixtures("hurried")
def test_comments_keep_the_line_alive(world: World):
    """While nothing may leave the caller gets headers and comments, before the first text and between two texts."""
    before, between = threading.Event(), threading.Event()
    parts = [chunk(delta("", role="assistant")), before, *words(f"{GOOD} {NEXT}"), between, chunk(delta(finish="stop"))]
    with reading(world, lives(*parts)) as reply:
        assert OUTCOME not in reply.headers
        raw = reply.iter_raw()
        seen = b""
        while seen.count(b": keep-alive\n\n") < 3:
            seen += next(raw)
        assert seen.replace(b": keep-alive\n\n", b"") == b""
        before.set()
        seen += read_until(raw, GOOD)
        known = len(seen)
        while seen.count(b": keep-alive\n\n", known) < 3:
            seen += next(raw)
        between.set()
        seen += b"".join(raw)
    assert said(chunks_of(seen)) == f"{GOOD} {NEXT}"


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("policy", ["default", "error", "buffered"])
def test_after_the_start_a_block_is_a_finish(world: World, policy: str):
    """Once headers have left, a block is content_filter in the stream, under on_block: error too."""
    begun = threading.Event()
    with reading(world, lives(begun, *spells(WORSE)), policy) as reply:
        assert (reply.status_code, OUTCOME in reply.headers) == (200, False)
        raw = reply.iter_raw()
        seen = next(raw)
        begun.set()
        seen += b"".join(raw)
    chunks = chunks_of(seen)
    assert (said(chunks), finishes(chunks)) == (BLOCKED, ["content_filter"])
    assert SECRET.encode() not in seen


@pytest.mark.usefixtures("hurried")
def test_the_openai_client_reads_past_comments(world: World):
    """Comments are nothing to it."""
    happened = threading.Event()
    threading.Timer(0.1, happened.set).start()
    with client_stream(world, lives(happened, *spells(GOOD))) as stream:
        chunks = list(stream)
    assert (said(chunks), finishes(chunks)) == (GOOD, ["stop"])


@pytest.mark.parametrize("read_first", [True, False])
def test_who_leaves_closes_the_upstream(world: World, read_first: bool):
    """When the caller goes, in mid-stream or before anything was sent, the upstream's connection is closed."""
    never = threading.Event()
    text = f"{GOOD} {NEXT}" if read_first else "The capital"
    if read_first:
        with reading(world, lives(*words(text), never)) as reply:
            read_until(reply.iter_raw(), GOOD)
    else:
        world.upstream.replies.append(lives(*words(text), never))
        with pytest.raises(httpx.ReadTimeout):
            world.http.post(
                "/v1/chat/completions",
                json=asking(stream=True),
                headers={"authorization": "Bearer key-default"},
                timeout=0.3,
            )
    assert world.asked.left.wait(5)
    never.set()


def test_a_stalled_upstream_meets_its_deadline(world: World):
    """In mid-stream it becomes an error event after what had left, and no [DONE] follows."""
    world.upstream.replies.append(lives(*spells(f"{GOOD} {NEXT}")[:-1], hang=True))
    raw = world.post(asking(stream=True, model="hasty")).content
    assert spelt(raw) == GOOD
    assert (b"[DONE]" in raw, "error" in events_of(raw)[-1]) == (False, True)


def endless(one: bytes) -> Iterator[bytes | float]:
    """An upstream that goes on for ever, until the caller leaves."""
    while True:
        yield one
        yield 0.02


@pytest.mark.parametrize("before", [0, 4, 99])
def test_comments_keep_no_stream_alive(world: World, before: int):
    """An upstream that sends nothing but comments is late, before its first chunk and after any other."""
    said = [event(one) for one in spells(f"{GOOD} {NEXT}")[:-1][:before]]
    body = (part for parts in (said, endless(b": PROCESSING\n\n")) for part in parts)
    begun = time.monotonic()
    world.upstream.replies.append(Reply(headers=SSE, body=body))
    reply = world.post(asking(stream=True, model="hasty"))
    assert time.monotonic() - begun < 3
    assert b"did not answer in time" in reply.content
    assert reply.status_code == (504 if before < 99 else 200)
    assert world.asked.left.wait(5)


@pytest.mark.parametrize("more", [b": bye\n\n", event(chunk(delta(f" {SECRET}"))), event(chunk(usage=USAGE))])
@pytest.mark.parametrize("policy", ["default", "off"])
def test_nothing_comes_after_done(world: World, more: bytes, policy: str):
    """An upstream that goes on after [DONE] is not listened to, and closed."""
    said = [event(one) for one in spells(f"{GOOD} {NEXT}")] + [event("[DONE]")]
    body = (part for parts in (said, endless(more)) for part in parts)
    reply = asked(world, Reply(headers=SSE, body=body), policy)
    assert said_in(reply) == f"{GOOD} {NEXT}"
    assert SECRET.encode() not in reply.content
    assert world.asked.left.wait(5)


def said_in(reply: httpx.Response) -> str:
    """The text of a whole reply."""
    return said(chunks_of(reply.content))


@pytest.mark.parametrize("policy", ["default", "buffered", "off"])
@pytest.mark.parametrize("more", [b"", b": PROCESSING\n\n", event(chunk(delta("", obfuscation="")))])
def test_after_its_end_a_stream_has_not_long(world: World, more: bytes, policy: str, monkeypatch: pytest.MonkeyPatch):
    """Once every choice has said why it ended, the count of tokens may follow soon; more is not waited for."""
    monkeypatch.setattr("proxy.surfaces.reading.AFTER_FINISH", 0.2)
    end = [*(event(one) for one in spells(f"{GOOD} {NEXT}")), 0.02, event(chunk(usage=USAGE))]
    body = (part for parts in (end, endless(more)) for part in parts)
    reply = asked(world, Reply(headers=SSE, body=body), policy)
    chunks = chunks_of(reply.content)
    assert (said(chunks), finishes(chunks)) == (f"{GOOD} {NEXT}", ["stop"])
    assert [one.usage.total_tokens for one in chunks if one.usage] == [18]
    assert world.asked.left.wait(5)


def test_the_end_of_one_choice_is_not_that_of_all(world: World, monkeypatch: pytest.MonkeyPatch):
    """While another that was asked for has not begun, or goes on, there is no hurry."""
    monkeypatch.setattr("proxy.surfaces.reading.AFTER_FINISH", 0.05)
    parts = [*spells(GOOD), 0.15, *spells(NEXT, index=1)[:2], 0.15, *spells(NEXT, index=1)[2:]]
    chunks = chunks_of(asked(world, lives(*parts, event("[DONE]")), n=2).content)
    assert (said(chunks), said(chunks, 1)) == (GOOD, NEXT)


def test_no_stream_goes_on_for_ever(world: World, monkeypatch: pytest.MonkeyPatch):
    """However lively it is."""
    monkeypatch.setattr("proxy.surfaces.reading.LONGEST_STREAM", 0.3)
    reply = asked(world, Reply(headers=SSE, body=endless(event(chunk(delta(""))))))
    assert (reply.status_code, world.asked.left.wait(5)) == (504, True)


@pytest.mark.parametrize(("policy", "finish"), [("impatient", "content_filter"), ("forgiving", "stop")])
def test_a_stalled_scorer_meets_its_deadline(world: World, policy: str, finish: str):
    """A claim that is not scored in time ends the stream, or leaves unscored, as the policy says."""

    async def stalls(pairs: Sequence[Any]) -> None:
        if any("United" in pair.hypothesis for pair in pairs):
            await asyncio.sleep(60)

    world.scorer.before = stalls
    chunks = chunks_of(asked(world, streams(*spells(f"{GOOD} {NEXT}")), policy).content)
    rest = f"\n\n{BLOCKED}" if finish == "content_filter" else f" {NEXT}"
    assert (said(chunks), finishes(chunks)) == (GOOD + rest, [finish])


# --- a block in mid-stream ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", [True, False])
def test_a_block_in_mid_stream_ends_a_valid_stream(world: World, usage: bool):
    """The openai client reads the text, the policy's message and content_filter, in chunks of one name; and usage."""
    reply = lives(*spells(f"{GOOD} {WORSE} {NEXT}")[:-1], hang=True)  # the upstream is cut, or this would never end
    with client_stream(world, reply, stream_options={"include_usage": usage}) as stream:
        chunks = list(stream)
    assert (said(chunks), finishes(chunks)) == (f"{GOOD}\n\n{BLOCKED}", ["content_filter"])
    assert {(one.id, one.created, one.model, one.object) for one in chunks} == {
        ("chatcmpl-up", 1700000123, "up-1", "chat.completion.chunk")
    }
    counted = [one.usage for one in chunks if one.usage]
    assert len(counted) == usage
    if usage:
        assert (chunks[-1].choices, chunks[-1].usage) == ([], counted[0])
        assert counted[0].total_tokens == counted[0].prompt_tokens + counted[0].completion_tokens
        assert min(counted[0].prompt_tokens, counted[0].completion_tokens) > 0
    assert world.asked.left.wait(5)


def test_a_block_in_mid_stream_has_the_upstreams_usage_if_it_said_it(world: World):
    """Numbers that the upstream gave before it was cut are not counted again."""
    both = [{**one, "usage": USAGE} for one in spells(f"{GOOD} {WORSE} {NEXT}")[:-1]]
    reply = asked(world, lives(*both, hang=True), stream_options={"include_usage": True})
    assert events_of(reply.content)[-2]["usage"] == USAGE


def test_the_message_of_a_block_is_the_policys(world: World):
    """Whatever it is written in."""
    chunks = chunks_of(asked(world, streams(*spells(f"{GOOD} {WORSE} {NEXT}")), "message").content)
    assert said(chunks) == f"{GOOD}\n\nNein, heute nicht. 🙅"


def test_a_block_before_the_first_release_is_an_ordinary_one(world: World):
    """Its headers tell it, and nothing stands before its message."""
    reply = asked(world, lives(*spells(f"{WORSE} {NEXT}")[:-1], hang=True))
    assert reply.headers[OUTCOME] == "blocked"
    chunks = chunks_of(reply.content)
    assert (said(chunks), chunks[0].choices[0].delta.role) == (BLOCKED, "assistant")


def test_an_answer_that_never_is_relevant_does_not_begin(world: World):
    """What is supported and beside the question waits for its end, and is blocked."""
    reply = asked(world, streams(*spells(f"{ASIDE} {ASIDE} {ASIDE}")))
    assert (reply.headers[OUTCOME], said(chunks_of(reply.content))) == ("blocked", BLOCKED)


def test_after_a_bad_claim_stops_what_has_begun(world: World):
    """Under after unjudged text leaves, and nothing more once a claim blocks."""
    cut = asked(world, lives(*words(f"{GOOD} {BAD} {NEXT}"), hang=True), "after")
    ended = asked(world, lives(*words(f"{GOOD} {BAD}"), chunk(delta(finish="stop")), PAUSE), "after")
    for reply in (cut, ended):
        chunks = chunks_of(reply.content)
        assert (said(chunks).endswith(BLOCKED), finishes(chunks)) == (True, ["content_filter"])


@pytest.mark.parametrize(("mode", "leaks"), [("SYNCHRONOUS", False), ("ASYNCHRONOUS", True)])
def test_a_caller_may_ask_that_nothing_leaves_unjudged(world: World, mode: str, leaks: bool):
    """As on Bedrock, beside the suffix: stricter than the policy's after; never laxer than its sentence."""
    config = {"amazon-bedrock-guardrailConfig": {"streamProcessingMode": mode}}
    reply = asked(world, lives(*words(f"{GOOD} {BAD} {NEXT}"), hang=True), "after", **config)
    assert (BAD[:-1] in said(chunks_of(reply.content))) is leaks
    strict = asked(world, lives(*words(f"{GOOD} {BAD} {NEXT}"), hang=True), **config)
    assert BAD[:-1] not in said(chunks_of(strict.content))


@pytest.mark.parametrize(("text", "status"), [(f"{WORSE} {NEXT}", 400), (f"{GOOD} {WORSE} {NEXT}", 200)])
def test_a_block_is_an_error_only_before_the_start(world: World, text: str, status: int):
    """Under on_block: error, what has not begun is a 400, and what has ends with content_filter."""
    reply = asked(world, lives(*spells(text)[:-1], hang=True), "error")
    assert reply.status_code == status
    if status == 200:
        chunks = chunks_of(reply.content)
        assert (said(chunks), finishes(chunks)) == (f"{GOOD}\n\n{BLOCKED}", ["content_filter"])
    assert SECRET.encode() not in everything(reply)


def test_the_trace_of_a_block_tells_what_was_scored(world: World):
    """The claims until the stop, and why."""
    reply = asked(world, lives(*spells(f"{GOOD} {BAD} {NEXT}")[:-1], hang=True), guardrail={"trace": "enabled"})
    *_, trace, done = events_of(reply.content)
    assert (trace["guardrail"]["outcome"], trace["guardrail"]["reasons"], done) == ("blocked", ["grounding"], "[DONE]")
    assert [one["text"] for one in trace["guardrail"]["claims"]][:2] == [GOOD, BAD]


# --- several choices ----------------------------------------------------------------------------------------------


def test_one_of_several_live_choices_is_blocked(world: World):
    """Each choice is accumulated and gated by itself: the bad one ends in mid-stream, the other goes on to its end."""
    first, second = spells(f"{GOOD} {WORSE} {NEXT}"), spells(f"{GOOD} {NEXT} {NEXT}", index=1)
    mixed = [one for pair in zip(first, second, strict=False) for one in pair]
    longest = max(first, second, key=len)
    rest = longest[min(len(first), len(second)) :]
    reply = asked(world, streams(*mixed, *rest, chunk(usage=USAGE)), n=2)
    chunks = chunks_of(reply.content)
    assert (said(chunks), finishes(chunks)) == (f"{GOOD}\n\n{BLOCKED}", ["content_filter"])
    assert (said(chunks, 1), finishes(chunks, 1)) == (f"{GOOD} {NEXT} {NEXT}", ["stop"])
    assert [one.usage.total_tokens for one in chunks if one.usage] == [18]
    assert SECRET.encode() not in everything(reply)


def test_choices_in_one_chunk_are_gated_one_by_one(world: World):
    """A chunk may hold a piece of a good choice and one of a bad choice."""
    both = [
        chunk(delta(f"{WORSE} {NEXT}"), delta(f"{GOOD} {NEXT}", index=1)),
        chunk(delta(SECRET), delta(" So.", index=1)),
    ]
    ends = chunk(delta(finish="stop"), delta(index=1, finish="stop"))
    chunks = chunks_of(asked(world, streams(*both, ends), n=2).content)
    assert [(said(chunks, at), finishes(chunks, at)) for at in (0, 1)] == [
        (BLOCKED, ["content_filter"]),
        (f"{GOOD} {NEXT} So.", ["stop"]),
    ]


def test_the_upstream_is_cut_when_the_last_choice_is_blocked(world: World):
    """Not before: one of two may still be good."""
    read = threading.Event()
    parts = [*words(f"{WORSE} {NEXT}"), read, *words(f"{GOOD} {NEXT} ", index=1), *words(f"{WORSE} {NEXT}", index=1)]
    with reading(world, lives(*parts, hang=True), n=2) as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, BLOCKED)
        read.set()
        seen += b"".join(raw)
    chunks = chunks_of(seen)
    assert [(said(chunks, at), finishes(chunks, at)) for at in (0, 1)] == [
        (BLOCKED, ["content_filter"]),
        (f"{GOOD} {NEXT}\n\n{BLOCKED}", ["content_filter"]),
    ]
    assert SECRET.encode() not in seen


def test_a_choice_that_nobody_asked_for_does_not_swallow_a_block(world: World):
    """Under on_block: error a second choice may begin the reply after the first was refused: both end in it."""
    scored = threading.Event()

    async def notes(pairs: Sequence[Any]) -> None:
        if any("UNSUPPORTED" in pair.hypothesis for pair in pairs):
            scored.set()

    world.scorer.before = notes
    parts = [*words(f"{WORSE} {NEXT}"), scored, *spells(f"{GOOD} {NEXT}", index=1)]
    reply = asked(world, lives(*parts, chunk(delta(finish="stop"))), "error")
    if reply.status_code == 200:
        chunks = chunks_of(reply.content)
        assert [finishes(chunks, at) for at in (0, 1)] == [["content_filter"], ["stop"]]
    assert SECRET.encode() not in everything(reply)


# --- oddities -----------------------------------------------------------------------------------------------------

TEXT = f"{GOOD} {NEXT} {NEXT}"
LIVE = spells(TEXT)
RAW = {
    "no [DONE]": b"".join(map(event, LIVE)),
    "two finish chunks": b"".join(map(event, [*LIVE, LIVE[-1]])) + event("[DONE]"),
    "comments": b"".join(b": PROCESSING\n\n" + event(one) for one in LIVE) + event("[DONE]"),
    "CRLF": b"".join(event(one, "\r\n") for one in LIVE) + event("[DONE]", "\r\n"),
    "empty deltas": b"".join(event(one) + event(chunk(delta(""))) + event(chunk(delta())) for one in LIVE),
    "no choices at all": b"".join(event(one) + event(chunk()) for one in LIVE) + event("[DONE]"),
    "usage in every chunk": b"".join(event({**one, "usage": USAGE}) for one in LIVE) + event("[DONE]"),
    "a line of two megabytes": event(json.dumps(LIVE[0])[:-1] + " " * 2_000_000 + "}") + b"".join(map(event, LIVE[1:])),
    "one chunk": event(chunk(delta(TEXT, role="assistant", finish="stop"))),
    "the text in one chunk": event(chunk(delta(TEXT, role="assistant"))) + event(LIVE[-1]),
}  # fmt: skip


@pytest.mark.parametrize("size", [10_000_000, 13])
@pytest.mark.parametrize("name", RAW)
def test_oddities_of_providers_change_nothing(world: World, name: str, size: int):
    """The text is whole and ends once or as often as the provider said, whole or in small packets."""
    if size == 13 and len(RAW[name]) > 1_000_000:
        size = 1_000
    pieces = [RAW[name][start : start + size] for start in range(0, len(RAW[name]), size)]
    reply = asked(world, Reply(headers=SSE, body=pieces))
    raw = reply.content.replace(b"data: [DONE]\r\n\r\n", b"data: [DONE]\n\n")
    chunks = chunks_of(raw)
    assert (said(chunks), set(finishes(chunks))) == (TEXT, {"stop"})
    assert [one.delta.role for each in chunks for one in each.choices if one.delta.role] == ["assistant"]
    assert b"PROCESSING" not in raw


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ("", {"role": "", "tool_calls": None, "function_call": None, "refusal": None, "reasoning_content": ""}),
        (NEXT, {"role": "assistant", "annotations": [], "provider_specific_fields": {"refusal": None}}),
    ],
)
def test_empty_fields_hold_nothing_back(world: World, more: str, fields: dict[str, Any]):
    """Providers repeat roles and empty fields in every chunk, with a fingerprint and an id beside."""
    read = threading.Event()
    said_so = [chunk(delta(one["choices"][0]["delta"]["content"], **fields)) for one in words(f"{GOOD} {NEXT} {more}")]
    beside = {"system_fingerprint": "fp_a1b2", "service_tier": "default", "x_groq": {"id": "req_01"}, "usage": None}
    parts = [{**one, **beside} for one in said_so]
    parts = [chunk(delta("", role="assistant")), *parts, read, chunk(delta(finish="stop"))]
    with reading(world, lives(*parts)) as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, GOOD)
        read.set()
        seen += b"".join(raw)
    assert spelt(seen) == f"{GOOD} {NEXT} {more}"


def test_an_error_object_in_mid_stream_is_an_error_event(world: World):
    """After the start it comes through in OpenAI's shape; what had not passed does not leave, and [DONE] neither."""
    error = {"error": {"message": "Overloaded.", "type": "server_error", "param": None, "code": "busy"}}
    read = threading.Event()
    reply = lives(*spells(f"{GOOD} {NEXT}")[:-1], read, error)
    seen = ""

    def take() -> None:
        nonlocal seen
        for one in stream:
            seen += one.choices[0].delta.content or ""
            if seen == GOOD:
                read.set()

    with client_stream(world, reply) as stream, pytest.raises(openai.APIError, match="Overloaded"):
        take()
    assert seen == GOOD


def test_reasoning_is_stripped_while_the_answer_leaves(world: World):
    """Piece by piece, before the text and in the middle of it, in every field that holds reasoning."""
    names = ("reasoning", "reasoning_content", "thinking")
    thoughts = [chunk(delta(**{name: word})) for name in names for word in ("Hm", f" {SECRET}", "!")]
    nested = [chunk(delta(provider_specific_fields={"reasoning_content": word})) for word in (SECRET, f" {SECRET}")]
    reply = asked(
        world, streams(*thoughts, *words(f"{GOOD} {NEXT}"), *nested, *thoughts, *words(NEXT), *spells("")[1:])
    )
    assert OUTCOME not in reply.headers
    assert said(chunks_of(reply.content)) == f"{GOOD} {NEXT}{NEXT}"
    assert SECRET.encode() not in reply.content


# --- no leak ------------------------------------------------------------------------------------------------------

PLACES = [
    "content",
    "refusal",
    "reasoning_content",
    "provider_specific_fields",
    "odd",
    "deep",
    "list",
    "role",
    "tool_calls",
    "function_call",
    "audio",
    "parts",
    "choice",
    "index",
    "finish_reason",
    "around",
    "no choices",
    "object",
    "id",
    "logprobs",
    "top_logprobs",
]


def carries(place: str, text: str) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912 - one for each place
    """A chunk with a text in one of the places where there may be one."""
    token = {"token": text, "logprob": -1, "bytes": None, "top_logprobs": []}
    match place:
        case "provider_specific_fields":
            return chunk(delta(provider_specific_fields={"reasoning_content": text}))
        case "deep":
            return chunk(delta(odd={"parts": {"text": text}}))
        case "list":
            return chunk(delta(odd=[{"type": "summary", "text": text}]))
        case "tool_calls":
            return chunk(delta(tool_calls=[{"index": 0, "function": {"arguments": text}}]))
        case "function_call":
            return chunk(delta(function_call={"name": "f", "arguments": text}))
        case "audio":
            return chunk(delta(audio={"transcript": text}))
        case "parts":
            return chunk(delta([{"type": "text", "text": text}]))
        case "choice":
            return chunk({**delta(""), "text": text})
        case "index" | "finish_reason":
            return chunk({**delta(""), place: text})
        case "around":
            return chunk(delta(""), odd=text)
        case "no choices":
            return chunk(odd=text)
        case "object" | "id":
            return chunk(delta(""), **{place: text})
        case "logprobs":
            return chunk({**delta(""), "logprobs": {"content": [token]}})
        case "top_logprobs":
            chosen = {**token, "token": "x", "top_logprobs": [token]}
            return chunk({**delta("x"), "logprobs": {"content": [chosen]}})
        case _:
            return chunk(delta(**{place: text}))


def packets(raw: bytes, cuts: list[int]) -> list[bytes]:
    """A stream cut into TCP segments."""
    edges = sorted({min(sum(cuts[: at + 1]), len(raw)) for at in range(len(cuts))} | {0, len(raw)})
    return [raw[start:end] for start, end in pairwise(edges)]


def unevenly(seed: int) -> Any:
    """A scorer that takes its time with some claims, so that scores come in any order."""
    random = Random(seed)

    async def before(_: Sequence[Any]) -> None:
        for _turn in range(random.choice([0, 0, 1, 5, 40])):
            await asyncio.sleep(0)

    return before


leaks = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
cuttings = st.lists(st.integers(1, 900), min_size=1, max_size=12)


@leaks
@given(
    before=st.integers(0, 4),
    places=st.lists(st.sampled_from(PLACES), max_size=5),
    policy=st.sampled_from(["default", "unknown-passes", "unknown-stripped", "reasoning-passes", "buffered", "error"]),
    size=st.sampled_from([1, 4, 30, 1000]),
    other=st.booleans(),
    cuts=cuttings,
    seed=st.integers(),
)
def test_nothing_of_an_unjudged_claim_leaves(
    world: World, before: int, places: list, policy: str, size: int, other: bool, cuts: list, seed: int
):
    """From the first bad claim on nothing leaves, in whatever field, packets, pieces and order of scores it comes."""
    world.reset()
    world.scorer.before = unevenly(seed)
    good, bad = f"{GOOD} " * before, f"{WORSE} {SECRET} {NEXT} "
    spoken = [chunk(delta(good[start : start + size])) for start in range(0, len(good), size)]
    spoken += [chunk(delta(bad[start : start + max(size, 30)])) for start in range(0, len(bad), max(size, 30))]
    extra = [carries(place, SECRET) for place in places]
    beside = words(f"{GOOD} {NEXT}", index=1) if other else []
    all_chunks = [
        chunk(delta("", role="assistant")),
        *beside,
        *spoken,
        *extra,
        *words(NEXT),
        chunk(delta(finish="stop")),
    ]
    raw = b"".join(map(event, [*all_chunks, *([chunk(delta(index=1, finish="stop"))] * other)]))
    reply = asked(world, Reply(headers=SSE, body=packets(raw, cuts)), policy, n=1 + other)
    assert SECRET.encode() not in everything(reply)
    assert b"UNSUPPORTED" not in everything(reply)
    if reply.status_code == 200:
        chunks = chunks_of(reply.content)
        text = said(chunks)
        assert finishes(chunks) == ["content_filter"]
        assert text.endswith(BLOCKED)
        assert good.startswith(text.removesuffix(BLOCKED).rstrip())
    else:
        assert (policy, reply.status_code) == ("error", 400)


@pytest.mark.parametrize("place", [place for place in PLACES if place not in {"content", "reasoning_content", "parts"}])
@settings(leaks, max_examples=8)
@given(
    at=st.integers(0, 20),
    cuts=cuttings,
    seed=st.integers(),
)
def test_text_in_no_field_of_its_own_leaves_unjudged(world: World, place: str, at: int, cuts: list, seed: int):
    """Text in a field that nobody judges, wherever in a good answer: the answer ends there, or leaves without it."""
    world.reset()
    world.scorer.before = unevenly(seed)
    chunks = spells(f"{GOOD} {NEXT} {NEXT}")
    chunks[at:at] = [carries(place, f"{SECRET} is not in the documents")]
    pieces = packets(b"".join(map(event, chunks[:-1])), cuts)
    reply = asked(world, lives(*pieces, PAUSE, chunks[-1]))
    if place in {"tool_calls", "function_call", "refusal"}:  # by the policy these leave with an answer that passes
        assert reply.content.count(SECRET.encode()) == 1
        assert reply.headers.get(OUTCOME, "passed") == "passed"
    else:
        assert SECRET.encode() not in everything(reply)
    chunks_of(reply.content)


@pytest.mark.parametrize("policy", ["default", "unknown-stripped", "reasoning-blocks"])
@pytest.mark.parametrize("place", ["odd", "deep", "list", "around", "no choices", "choice", "provider_specific_fields"])
def test_text_that_is_spelt_in_a_field_does_not_leave(world: World, place: str, policy: str):
    """One word of it looks like metadata; the second shows that it is none, before the first has told anything."""
    spelt_out = [carries(place, word) for word in ("Some", f" {SECRET}", " is", " here")]
    read = threading.Event()
    rest = [*words(f"{NEXT} " * 4), PAUSE, chunk(delta(finish="stop"))]
    with reading(world, lives(*words(f"{GOOD} {NEXT} "), read, *spelt_out, *rest), policy) as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, GOOD)
        read.set()
        seen += b"".join(raw)
    assert SECRET.encode() not in seen
    chunks_of(seen)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("policy", "text", "outcome"),
    [
        ("default", "I cannot help with UNSUPPORTED.", "passed"),
        ("no-refusals", "I cannot help with that.", "blocked"),
        ("refusals", "I cannot help with that.", "passed"),
        ("refusals", "I cannot help with UNSUPPORTED.", "blocked"),
    ],
)
def test_a_refusal_is_an_abstention(world: World, policy: str, text: str, outcome: str, stream: bool, last: bool):
    """Whatever the provider refuses with: it passes, blocks or is scored as the policy says of abstentions."""
    given: Any = answer(choice(None, message={"refusal": f"{text} {SECRET}"}))
    if stream:
        pieces = [chunk(delta(refusal=word)) for word in (f"{text} ", SECRET)]
        end = pieces.pop()["choices"][0]["delta"] if last else {}
        given = streams(chunk(delta(role="assistant")), *pieces, chunk(delta(finish="stop", **end)))
    reply = world.told(given, policy, stream=stream)
    assert reply.headers[OUTCOME] == outcome
    assert (SECRET in reply.text) is (outcome == "passed")


def test_a_refusal_that_is_scored_does_not_leave_before(world: World):
    """What the provider marks as a refusal waits for the end, and blocks where it is scored and not supported."""
    read = threading.Event()
    refusal = chunk(delta(refusal=f"UNSUPPORTED {SECRET}"))
    rest = [refusal, *words(f"{NEXT} " * 4), PAUSE, chunk(delta(finish="stop"))]
    with reading(world, lives(*words(f"{GOOD} {NEXT} "), read, *rest), "refusals") as reply:
        raw = reply.iter_raw()
        seen = read_until(raw, GOOD)
        read.set()
        seen += b"".join(raw)
    assert SECRET.encode() not in seen
    assert finishes(chunks_of(seen)) == ["content_filter"]


def test_an_error_for_a_block_is_one_for_all_choices(world: World):
    """With on_block: error and n > 1 a bad choice makes the reply a 400, and nothing of the good one leaves."""
    good, bad = spells(GOOD, index=0), spells(WORSE, index=1)
    mixed = [one for pair in zip(good, bad, strict=False) for one in pair]
    reply = world.told(streams(*mixed, *bad[len(good) :]), "error", stream=True, n=2)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "content_filter")
    assert SECRET.encode() not in everything(reply)


def test_a_choice_that_breaks_off_is_an_error_though_another_has_ended(world: World):
    """Without [DONE] every choice must have said why it ended."""
    broken = [*spells(GOOD, index=0), *spells(NEXT, index=1)[:-1]]
    reply = world.told(streams(*broken, done=False), "buffered", stream=True, n=2)
    assert reply.status_code == 502


def test_a_caller_that_leaves_is_recorded_as_such(world: World):
    """The record of a stream that nobody read to its end has no outcome, and is counted once."""
    before = world.metric("groundwarden_requests_total", surface="chat")
    never = threading.Event()
    with reading(world, lives(*words(f"{GOOD} {NEXT} "), never)) as reply:
        next(reply.iter_bytes())
    end = time.monotonic() + 5
    while world.metric("groundwarden_requests_total", surface="chat") == before and time.monotonic() < end:
        time.sleep(0.02)
    never.set()
    assert world.metric("groundwarden_requests_total", surface="chat") == before + 1


SIDES = {
    "annotations": chunk(delta("", annotations=[{"type": "url_citation", "url_citation": {"title": SECRET}}])),
    "extra content": chunk(delta("", extra_content={"g": SECRET})),
    "citations": chunk(citations=[SECRET]),
    "the model": chunk(delta(""), model=SECRET),
    "a field that is new": chunk(delta("", **{SECRET: "x"}, note=SECRET)),
    "the last chunk": chunk(delta(finish="stop", note=SECRET)),
}


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES)
@pytest.mark.parametrize("policy", ["default", "buffered"])
def test_what_stands_beside_the_text_waits_for_the_verdict(world: World, side: dict[str, Any], policy: str):
    """A blocked answer takes with it what was sent beside its good sentences, in either way of releasing."""
    reply = world.told(streams(*words(f"{GOOD} {NEXT} "), side, *words(WORSE), *spells("")[-1:]), policy, stream=True)
    assert reply.status_code == 200
    assert SECRET.encode() not in everything(reply)
    assert events_of(reply.content)[-1] == "[DONE]"


def test_many_claims_at_once_do_not_hold_up_others(world: World):
    """A delta of thousands of claims is scored a few at a time: one bad claim ends it, and the rest is given up."""
    reply = world.told(streams(chunk(delta(f"{GOOD} {WORSE} " + f"{GOOD} " * 3000)), *spells("")[-1:]), stream=True)
    assert SECRET.encode() not in everything(reply)
    assert len(world.scorer.asked) < 100
