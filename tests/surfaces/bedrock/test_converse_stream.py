"""ConverseStream, read by boto3 as it comes: nothing unjudged leaves, and every stream is a whole one."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError, EventStreamError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recording import SSE, Reply
from surfaces.bedrock.test_converse import ASK, BLOCKED, MODEL, PICTURES, PNG, TOOLS, guardrail, user
from surfaces.support import ASIDE, BAD, GOOD, QUERY, SECRET, World, answer, chunk, delta, event, says, spells, streams

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE = chunk(usage={"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})


@pytest.fixture
def stream(world: World, bedrock: Callable[..., Any]) -> Callable[..., Any]:
    """The events of ConverseStream under a policy while the upstream sends ``chunks`` (or spells a text)."""

    def ask(chunks: Any = GOOD, policy: str = "default", **fields: Any) -> list[Any]:
        spelt = [*spells(chunks), USAGE] if isinstance(chunks, str) else chunks
        world.upstream.replies.append(chunks if isinstance(chunks, Reply) else streams(*spelt))
        reply = bedrock(policy).converse_stream(**{"modelId": MODEL, "messages": [ASK], **fields})
        with closing(reply["stream"]) as events:
            return list(events)

    return ask


def told(events: list[Any]) -> str:
    """The text of a stream. Fails for a stream that is not whole: a start, blocks one by one, a stop, the metadata."""
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert list(events[-2]) == ["messageStop"]
    assert list(events[-1]) == ["metadata"]
    open_, text = set(), ""
    for one in events[1:-2]:
        [(kind, value)] = one.items()
        at = value["contentBlockIndex"]
        if kind == "contentBlockStop":
            open_.remove(at)
        else:
            open_.add(at)
        text += value.get("delta", {}).get("text", "")
    assert not open_
    return text


def stop(events: list[Any]) -> str:
    """Why it ended."""
    return str(events[-2]["messageStop"]["stopReason"])


@pytest.mark.parametrize("policy", ["default", "buffered", "after", "flags", "off"])
def test_a_good_answer_arrives_whole(world: World, stream: Callable[..., Any], policy: str):
    """In every mode a supported answer arrives in order with the usage last, asked for in the upstream's dialect."""
    events = stream(f"{GOOD} {GOOD}", policy)
    assert (told(events), stop(events)) == (f"{GOOD} {GOOD}", "end_turn")
    assert events[-1]["metadata"]["usage"] == {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    assert isinstance(events[-1]["metadata"]["metrics"]["latencyMs"], int)
    assert (world.asked.json["stream"], world.asked.json["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize("policy", ["default", "buffered", "error"])
@pytest.mark.parametrize("bad", [BAD, ASIDE])
def test_a_bad_answer_is_replaced(stream: Callable[..., Any], bedrock: Callable[..., Any], bad: str, policy: str):
    """A block from the start is the policy's message with stopReason guardrail_intervened, or an error."""
    if policy == "error":
        with pytest.raises(bedrock("error").exceptions.ValidationException, match="from the documents") as caught:
            stream(bad, policy)
        headers = caught.value.response["ResponseMetadata"]["HTTPHeaders"]
        assert (headers["x-groundwarden-outcome"], headers["content-type"]) == ("blocked", "application/json")
        return
    events = stream(bad, policy)
    assert (told(events), stop(events)) == (BLOCKED, "guardrail_intervened")
    assert "capital" not in repr(events)


def test_a_bad_sentence_ends_a_stream_that_has_begun(stream: Callable[..., Any]):
    """What was supported has left; then the message, in the same block; nothing of the bad sentence; the usage."""
    events = stream(f"{GOOD} {BAD} {GOOD}")
    assert told(events) == f"{GOOD}\n\n{BLOCKED}"
    assert stop(events) == "guardrail_intervened"
    assert "UNSUPPORTED" not in repr(events)
    assert {one["contentBlockDelta"]["contentBlockIndex"] for one in events if "contentBlockDelta" in one} == {0}
    assert events[-1]["metadata"]["usage"]["inputTokens"] > 0


@pytest.mark.parametrize(
    ("policy", "config", "leaks"),
    [
        ("after", {"streamProcessingMode": "async"}, True),
        ("after", {"streamProcessingMode": "sync"}, False),
        ("after", {}, False),
        ("after", None, True),
        ("default", {"streamProcessingMode": "async"}, False),
        ("buffered", {"streamProcessingMode": "async"}, False),
    ],
)
def test_async_needs_the_policys_own_consent(stream: Callable[..., Any], policy: str, config: Any, leaks: bool):
    """Text leaves unjudged only when the policy says after; sync, AWS's default, is stricter and always honoured."""
    fields = {} if config is None else {"guardrailConfig": guardrail(policy, **config)}
    slow = [event(one) for one in spells(BAD)]
    reply = Reply(headers=SSE, body=[*slow[:6], 0.2, *slow[6:], event(USAGE), event("[DONE]")])
    events = stream(reply, policy, **fields)
    assert stop(events) == "guardrail_intervened"
    assert ("capital" in told(events)) is leaks


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_the_trace_is_in_the_last_event(stream: Callable[..., Any], text: str):
    """The metadata, which comes last, holds the assessment that was asked for."""
    events = stream(text, guardrailConfig=guardrail(trace="enabled_full"))
    trace = events[-1]["metadata"]["trace"]["guardrail"]
    [assessment] = trace["outputAssessments"]["default"]
    filters = assessment["contextualGroundingPolicy"]["filters"]
    assert {one["type"]: one["action"] for one in filters} == {
        "GROUNDING": "NONE" if text == GOOD else "BLOCKED",
        "RELEVANCE": "NONE",
    }
    assert not any("trace" in repr(one) for one in events[:-1])


def test_the_first_text_does_not_wait_for_the_last(world: World, bedrock: Callable[..., Any]):
    """A supported sentence arrives while the model is still writing."""
    first, last = (
        [event(one) for one in spells(f"{GOOD} {GOOD} {GOOD}")][:-1],
        [event(one) for one in spells(GOOD)][-1:],
    )
    world.upstream.replies.append(Reply(headers=SSE, body=[*first, 1.5, *last, event("[DONE]")]))
    began, seen = time.monotonic(), 0.0
    for one in bedrock().converse_stream(modelId=MODEL, messages=[ASK])["stream"]:
        if "contentBlockDelta" in one and not seen:
            seen = time.monotonic() - began
    assert 0 < seen < 1.2 < time.monotonic() - began


def test_a_missing_context_may_block_before_the_model_is_asked(world: World, bedrock: Callable[..., Any]):
    """Under on_missing_context: block the stream is the message alone."""
    events = list(bedrock("missing").converse_stream(modelId=MODEL, messages=[user(QUERY)])["stream"])
    assert (told(events), stop(events)) == (BLOCKED, "guardrail_intervened")
    assert events[-1]["metadata"]["usage"]["totalTokens"] == 0
    assert world.upstream.requests == []


def test_without_a_source_text_passes_as_it_comes(world: World, stream: Callable[..., Any]):
    """Nothing to check against: nothing is asked of the scorer."""
    events = stream(BAD, messages=[user(QUERY)])
    assert (told(events), world.scorer.asked) == (BAD, [])


@pytest.mark.parametrize("policy", ["default", "off"])
def test_calls_of_tools_stream_as_blocks(stream: Callable[..., Any], policy: str):
    """Each call is a block of its own after the text: its id and name, its arguments piece by piece."""

    def call(at: int, arguments: str, **fields: Any) -> Any:
        function = {"arguments": arguments, **({"name": fields.pop("name")} if "name" in fields else {})}
        return chunk(delta(tool_calls=[{"index": at, "function": function, **fields}]))

    chunks = [
        *spells(GOOD)[:-1],
        call(0, "", id="c0", name="look"),
        call(0, '{"a":'),
        call(1, '{"b": 2}', id="c1", name="see"),
        call(0, " 1}"),
        chunk(delta(finish="tool_calls")),
        USAGE,
    ]
    events = stream(chunks, policy, toolConfig=TOOLS)
    assert (told(events), stop(events)) == (GOOD, "tool_use")
    starts = {
        one["contentBlockStart"]["contentBlockIndex"]: one["contentBlockStart"]["start"]["toolUse"]
        for one in events
        if "contentBlockStart" in one
    }
    assert starts == {1: {"toolUseId": "c0", "name": "look"}, 2: {"toolUseId": "c1", "name": "see"}}
    arguments: dict[int, str] = {}
    for one in events:
        if "toolUse" in one.get("contentBlockDelta", {}).get("delta", {}):
            at = one["contentBlockDelta"]["contentBlockIndex"]
            arguments[at] = arguments.get(at, "") + one["contentBlockDelta"]["delta"]["toolUse"]["input"]
    assert {at: json.loads(text) for at, text in arguments.items()} == {1: {"a": 1}, 2: {"b": 2}}


def test_forbidden_calls_of_tools_block(stream: Callable[..., Any]):
    """Under on_uninspected.tool_calls: block nothing of a call leaves."""
    call = chunk(delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": SECRET, "arguments": "{}"}}]))
    events = stream([*spells(GOOD)[:-1], call, chunk(delta(finish="tool_calls"))], "no-calls", toolConfig=TOOLS)
    assert stop(events) == "guardrail_intervened"
    assert SECRET not in repr(events)


@pytest.mark.parametrize(("policy", "shown"), [("default", ""), ("reasoning-passes", "Hm, Tokyo.")])
def test_reasoning_is_a_block_of_its_own(stream: Callable[..., Any], policy: str, shown: str):
    """Reasoning is stripped, or streams as a block before the text's."""
    thoughts = [chunk(delta(reasoning_content=piece)) for piece in ("Hm, ", "Tokyo.")]
    events = stream([*thoughts, *spells(GOOD), USAGE], policy)
    deltas = [one["contentBlockDelta"] for one in events if "contentBlockDelta" in one]
    thought = [one for one in deltas if "reasoningContent" in one["delta"]]
    assert "".join(one["delta"]["reasoningContent"]["text"] for one in thought) == shown
    assert told(events) == GOOD
    assert {one["contentBlockIndex"] for one in deltas if "text" in one["delta"]} == {1 if shown else 0}


def test_a_stop_sequence_ends_a_stream(stream: Callable[..., Any]):
    """Where the server names it, the stream stops with stop_sequence; text of the sequence itself blocks nothing."""
    last = chunk({**delta(finish="stop"), "stop_reason": "END OF IT"})
    events = stream([*spells(GOOD)[:-1], last, USAGE], inferenceConfig={"stopSequences": ["END OF IT"]})
    assert (told(events), stop(events)) == (GOOD, "stop_sequence")


@pytest.mark.parametrize(("policy", "shown"), [("images-pass", True), ("off", True), ("default", False)])
def test_pictures_stream_as_blocks(stream: Callable[..., Any], policy: str, shown: bool):
    """Where the policy passes them, each picture is a block of its own, with format and bytes; else they block."""
    pictures = [chunk(delta(images=[one])) for one in PICTURES]
    events = stream([*spells(GOOD)[:-1], *pictures, chunk(delta(finish="stop")), USAGE], policy)
    starts = [one["contentBlockStart"] for one in events if "contentBlockStart" in one]
    deltas = [one["contentBlockDelta"] for one in events if "contentBlockDelta" in one]
    told_of = {one["contentBlockIndex"]: one["delta"]["image"] for one in deltas if "image" in one["delta"]}
    assert stop(events) == ("end_turn" if shown else "guardrail_intervened")
    assert [one["start"]["image"]["format"] for one in starts] == (["png", "jpeg"] if shown else [])
    assert told_of == ({at: {"source": {"bytes": PNG}} for at in (1, 2)} if shown else {})
    assert told(events) == (GOOD if shown else BLOCKED)


def test_a_refusal_is_text(stream: Callable[..., Any]):
    """What the provider marks as a refusal is told as text once it is judged."""
    refusal = [chunk(delta(refusal=piece)) for piece in ("I cannot ", "say.")]
    events = stream([*refusal, chunk(delta(finish="stop")), USAGE])
    assert told(events) == "I cannot say."


def test_an_empty_answer_is_a_whole_stream(stream: Callable[..., Any]):
    """An answer without text has a start, a stop and the metadata."""
    events = stream([chunk(delta("", role="assistant")), chunk(delta(finish="stop")), USAGE])
    assert (told(events), stop(events), len(events)) == ("", "end_turn", 3)


def test_an_error_before_the_first_text_is_an_ordinary_one(world: World, bedrock: Callable[..., Any]):
    """What the upstream refuses, and a full queue, come before any stream."""
    world.upstream.replies.append(Reply(status=429, body=b'{"error": {"message": "slow"}}'))
    with pytest.raises(bedrock().exceptions.ThrottlingException):
        bedrock().converse_stream(modelId=MODEL, messages=[ASK])
    world.scorer.mood = "full"
    with pytest.raises(bedrock().exceptions.ThrottlingException):
        bedrock().converse_stream(modelId=MODEL, messages=[ASK])
    with pytest.raises(ClientError):
        bedrock().converse_stream(modelId="absent", messages=[ASK])


def test_a_stream_that_breaks_off_ends_in_an_exception_event(world: World, stream: Callable[..., Any]):
    """After text has left, a broken upstream is modelStreamErrorException, and botocore raises it."""
    said = [event(one) for one in spells(f"{GOOD} {GOOD} {GOOD}")][:-1]
    with pytest.raises(EventStreamError) as caught:
        stream(Reply(headers=SSE, body=[*said, 0.5]))
    assert caught.value.response["Error"]["Code"] == "modelStreamErrorException"


def test_a_held_stream_stays_alive(world: World, stream: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    """While text is held, events of no known name go out: botocore passes over them, and the line is not dead."""
    monkeypatch.setattr("proxy.surfaces.events.KEEP_ALIVE_SECONDS", 0.1)
    monkeypatch.setattr("proxy.surfaces.live.START_SECONDS", 0.1)
    slow = [event(one) for one in spells(GOOD)]
    reply = Reply(headers=SSE, body=[*slow[:3], 0.6, *slow[3:], event(USAGE), event("[DONE]")])
    assert told(stream(reply)) == GOOD
    world.upstream.replies.append(reply)
    raw = world.post({"messages": [ASK]}, path=f"/model/{quote(MODEL, safe='')}/converse-stream")
    assert raw.headers["content-type"] == "application/vnd.amazon.eventstream"
    buffer = EventStreamBuffer()
    buffer.add_data(raw.content)
    names = [message.headers[":event-type"] for message in buffer]
    assert names[0] == "keepAlive"
    assert names[-1] == "metadata"


def test_a_block_after_the_headers_left_is_told_in_the_stream(
    world: World, stream: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    """Under on_block: error a block that comes after the headers is an ordinary one."""
    monkeypatch.setattr("proxy.surfaces.live.START_SECONDS", 0.1)
    slow = [event(one) for one in spells(BAD)]
    events = stream(Reply(headers=SSE, body=[*slow[:3], 0.5, *slow[3:], event("[DONE]")]), "error")
    assert (told(events), stop(events)) == (BLOCKED, "guardrail_intervened")


def test_when_the_caller_leaves_the_model_is_left(world: World, bedrock: Callable[..., Any]):
    """Closing the stream closes the call upstream."""
    said = [event(one) for one in spells(f"{GOOD} {GOOD}")][:-2]
    world.upstream.replies.append(Reply(headers=SSE, body=said, hang=True))
    reply = bedrock().converse_stream(modelId=MODEL, messages=[ASK])
    next(iter(reply["stream"]))
    reply["stream"].close()
    assert world.upstream.requests[0].left.wait(5)


def test_nothing_unjudged_is_ever_on_the_wire(world: World):
    """Of a blocked answer no byte is in the raw reply, however the model's text is cut."""
    for cut in range(1, len(BAD), 5):
        chunks = [chunk(delta(BAD[:cut])), chunk(delta(BAD[cut:])), chunk(delta(finish="stop")), USAGE]
        world.upstream.replies.append(streams(*chunks))
        raw = world.post({"messages": [ASK]}, path=f"/model/{quote(MODEL, safe='')}/converse-stream")
        assert b"capital" not in raw.content
        assert raw.content.count(b"guardrail_intervened") == 1


@pytest.mark.parametrize("path", ["converse-stream", "invoke-with-response-stream"])
@pytest.mark.parametrize("text", [GOOD, BAD])
def test_a_stream_may_be_cut_at_every_byte(world: World, path: str, text: str):
    """However the line cuts a whole stream, botocore's decoder finds the same events in it."""

    def decoded(*pieces: bytes) -> list[Any]:
        buffer = EventStreamBuffer()
        found = []
        for piece in pieces:
            buffer.add_data(piece)
            found += [(message.headers, message.payload) for message in buffer]
        return found

    world.upstream.replies.append(streams(*spells(text), USAGE))
    body = {"messages": [ASK]} if path == "converse-stream" else {"text": text}
    raw = world.post(body, path=f"/model/{quote(MODEL, safe='')}/{path}").content
    events = decoded(raw)
    assert len(events) > 4
    for at in range(len(raw)):
        assert decoded(raw[:at], raw[at:]) == events
    assert decoded(*(raw[at : at + 1] for at in range(len(raw)))) == events


SENTENCES = st.lists(st.sampled_from([GOOD, BAD, ASIDE, "Hello!", "I don't know."]), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentences=SENTENCES, cuts=st.lists(st.integers(1, 150), max_size=4), where=st.floats(0, 1))
def test_a_stream_comes_out_as_the_whole_does(world: World, sentences: list[str], cuts: list[int], where: float):
    """However an answer is cut into chunks, its stream is blocked if and only if the whole is, and leaks nothing."""
    text = " ".join(sentences)
    ends = sorted({cut for cut in cuts if cut < len(text)} | {len(text)})
    pieces = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    world.upstream.replies.append(
        streams(*(chunk(delta(piece)) for piece in pieces), chunk(delta(finish="stop")), USAGE)
    )
    path = f"/model/{quote(MODEL, safe='')}"
    raw = world.post({"messages": [ASK]}, path=f"{path}/converse-stream").content
    world.upstream.replies.append(says(answer(text)))
    whole = world.post({"messages": [ASK]}, path=f"{path}/converse").json()
    buffer = EventStreamBuffer()
    at = int(where * len(raw))  # its length is that of the time it took, too
    events = []
    for part in (raw[:at], raw[at:]):
        buffer.add_data(part)
        events += [{message.headers[":event-type"]: json.loads(message.payload)} for message in buffer]
    assert stop(events) == whole["stopReason"]
    assert "UNSUPPORTED" not in told(events)
    if stop(events) == "end_turn":
        assert told(events) == whole["output"]["message"]["content"][0]["text"] == text
    else:
        assert told(events).endswith(BLOCKED)
