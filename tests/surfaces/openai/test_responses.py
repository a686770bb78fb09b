"""``POST /v1/responses``, read by the openai client: judged like chat, told as one consistent stream of events."""

from __future__ import annotations

import json
import threading
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.responses import Response
from recording import SSE, Reply
from surfaces.openai.test_live import lives, packets, unevenly
from surfaces.support import ASIDE, BAD, GOOD, QUERY, SECRET, SOURCE, World, everything, says, tag

if TYPE_CHECKING:
    from collections.abc import Iterable

BLOCKED = "I can't answer that from the documents I have."
NEXT = "London is the capital of the United Kingdom, as everybody knows."
OUTCOME = "x-groundwarden-outcome"
GROUNDED_ON = {"grounding": {"sources": [SOURCE], "query": QUERY}}
USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 18,
}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": f"Hm, {SECRET}."}]}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "look",
    "arguments": '{"q": "capital of Japan"}',
    "status": "completed",
}


def text_part(text: str, **fields: Any) -> dict[str, Any]:
    """A part of a message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": [], **fields}


def message(*texts: Any, number: int = 1, **fields: Any) -> dict[str, Any]:
    """A message of these texts, or parts."""
    content = [one if isinstance(one, dict) else text_part(one) for one in texts]
    envelope = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
    return {**envelope, "content": content, **fields}


def response(*items: Any, **fields: Any) -> dict[str, Any]:
    """A whole response as OpenAI sends it; a text is a message."""
    output = [one if isinstance(one, dict) else message(one) for one in items]
    return {
        "id": "resp_up",
        "object": "response",
        "created_at": 1700000123,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": "up-1",
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": USAGE,
        "user": None,
        "metadata": {},
        **fields,
    }


def spoken(*items: Any, size: int = 0, **fields: Any) -> list[dict[str, Any]]:
    """The events of a stream that says these items: word by word, or in pieces of ``size``."""
    whole = response(*items, **fields)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    said: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for at, item in enumerate(whole["output"]):
        where = {"output_index": at}
        empty = {**item, "status": "in_progress", "content": []} if item["type"] == "message" else item
        said.append({"type": "response.output_item.added", **where, "item": empty})
        for place, part in enumerate(item.get("content", ()) if item["type"] == "message" else ()):
            said += _part(part, {"item_id": item["id"], **where, "content_index": place}, size)
        if item["type"] == "reasoning":
            here = {"item_id": item["id"], **where, "summary_index": 0}
            for word in item["summary"][0]["text"].split(" "):
                said.append({"type": "response.reasoning_summary_text.delta", **here, "delta": f"{word} "})
            said.append({"type": "response.reasoning_summary_text.done", **here, "text": item["summary"][0]["text"]})
        if item["type"] == "function_call":
            here = {"item_id": item["id"], **where}
            said.append({"type": "response.function_call_arguments.delta", **here, "delta": item["arguments"]})
            said.append({"type": "response.function_call_arguments.done", **here, "arguments": item["arguments"]})
        said.append({"type": "response.output_item.done", **where, "item": item})
    said.append({"type": f"response.{whole['status']}", "response": whole})
    return [{**one, "sequence_number": number} for number, one in enumerate(said)]


def _part(part: dict[str, Any], where: dict[str, Any], size: int) -> Iterable[dict[str, Any]]:
    name = "output_text" if part["type"] == "output_text" else "refusal"
    held = "text" if name == "output_text" else "refusal"
    text = part[held]
    words = [text[start : start + size] for start in range(0, len(text), size)] if size else text.split(" ")
    yield {"type": "response.content_part.added", **where, "part": {**part, held: ""}}
    for at, word in enumerate(words):
        more = {"logprobs": []} if name == "output_text" else {}
        yield {"type": f"response.{name}.delta", **where, "delta": word if size or at == 0 else f" {word}", **more}
    done = {"logprobs": []} if name == "output_text" else {}
    yield {"type": f"response.{name}.done", **where, held: text, **done}
    yield {"type": "response.content_part.done", **where, "part": part}


def event(data: dict[str, Any]) -> bytes:
    """One event as OpenAI sends it."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def streamed(events: list[dict[str, Any]]) -> Reply:
    """An upstream that streams these events."""
    return Reply(headers=SSE, body=[event(one) for one in events])


def asking(**fields: Any) -> dict[str, Any]:
    """A request with a source and a query."""
    return {"model": "m", "input": QUERY, **GROUNDED_ON, **fields}


def post(world: World, reply: Any, policy: str = "default", **fields: Any) -> Any:
    """The raw reply to a request."""
    world.upstream.replies.append(reply if isinstance(reply, Reply) else says(reply))
    return world.post(asking(**fields), policy, "/v1/responses")


def read(raw: bytes) -> list[dict[str, Any]]:
    """The events of a whole stream, numbered without a gap, each under its own name."""
    events = []
    for block in raw.decode().strip().split("\n\n"):
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        if lines:
            name, data = lines
            events.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {events[-1]['type']}"
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    return events


def told(raw: bytes) -> tuple[str, str]:
    """What a whole stream says and how it ends, once all that repeats the deltas is seen to repeat them."""
    events = read(raw)
    texts: dict[tuple[int, int], str] = {}
    for one in events:
        place = (one.get("output_index", 0), one.get("content_index", 0))
        match one["type"]:
            case "response.output_item.added":
                assert not any(part.get("text") for part in one["item"].get("content") or ())
            case "response.output_text.delta":
                texts[place] = texts.get(place, "") + one["delta"]
            case "response.output_text.done":
                assert one["text"] == texts.get(place, "")
            case "response.content_part.done" if one["part"]["type"] == "output_text":
                assert one["part"]["text"] == texts.get(place, "")
    final = Response.model_validate(events[-1]["response"])
    spelt = {
        (at, number): part.text
        for at, item in enumerate(final.output)
        if item.type == "message"
        for number, part in enumerate(item.content)
        if part.type == "output_text"
    }
    assert spelt == texts
    why = final.incomplete_details.reason if final.incomplete_details else final.status
    return "|".join(texts[place] for place in sorted(texts)), str(why)


# --- whole --------------------------------------------------------------------------------------------------------


def test_a_pass_is_the_upstreams(world: World):
    """Byte for byte, at the upstream's own path, with the fields that are ours taken out of the request."""
    raw = json.dumps(response(GOOD), indent=1).encode()
    fields = {"max_output_tokens": 5, "store": False, "previous_response_id": "resp_1", "metadata": {"a": "b c"}}
    reply = post(world, says(raw), guardrail={"trace": "disabled"}, **fields)
    assert (reply.content, reply.headers[OUTCOME], reply.headers["x-groundwarden-grounding"]) == (
        raw,
        "passed",
        "0.9124",
    )
    assert (world.asked.path, world.asked.json) == ("/v1/responses", {"model": "m", "input": QUERY, **fields})


@pytest.mark.parametrize("bad", [BAD, ASIDE])
def test_a_block_is_built_fresh(world: World, bad: str):
    """Incomplete for its content: the policy's message, the upstream's id and usage, and nothing of the model's."""
    reply = post(world, response(REASONING, message(bad + SECRET), note=SECRET), metadata={"k": "v"})
    body = Response.model_validate(reply.json(), strict=True)
    assert (body.id, body.model, body.created_at, body.status, body.usage.total_tokens, body.metadata) == (
        "resp_up",
        "up-1",
        1700000123,
        "incomplete",
        18,
        {"k": "v"},
    )
    assert (body.incomplete_details.reason, body.output_text) == ("content_filter", BLOCKED)
    assert SECRET.encode() not in everything(reply)
    assert reply.headers[OUTCOME] == "blocked"


def test_the_openai_client_reads_both(world: World):
    """A pass, a block, and a block as an error."""
    with world.client() as client:
        world.upstream.default = says(response(GOOD))
        done = client.responses.create(model="m", input=QUERY, extra_body=GROUNDED_ON)
        assert (done.output_text, done.status) == (GOOD, "completed")
        world.upstream.default = says(response(BAD))
        done = client.responses.create(model="m", input=QUERY, extra_body=GROUNDED_ON)
        assert (done.output_text, done.incomplete_details.reason) == (BLOCKED, "content_filter")
    with world.client("error") as client, pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="m", input=QUERY, extra_body=GROUNDED_ON)
    assert caught.value.code == "content_filter"


@pytest.mark.parametrize(
    ("items", "outcome"),
    [
        ([message(GOOD, BAD)], "blocked"),
        ([message(GOOD), message(BAD, number=2)], "blocked"),
        ([message(GOOD, NEXT), message(GOOD, number=2)], "passed"),
        ([CALL], "passed"),
        ([message(BAD), CALL], "blocked"),
        ([message({"type": "refusal", "refusal": "I will not."})], "passed"),
        ([{"id": "ig", "type": "image_generation_call", "result": "aGk="}], "blocked"),
        ([{"id": "x", "type": "program", "code": f"say {SECRET}"}, message(GOOD)], "blocked"),
        ([message(GOOD, note=f"{SECRET} is not judged")], "blocked"),
        ([message(text_part(GOOD, note=f"{SECRET} is not judged"))], "blocked"),
        ([message({"type": "spoken", "text": SECRET})], "blocked"),
        ([], "passed"),
    ],
)
def test_every_part_of_the_output_is_looked_at(world: World, items: list[Any], outcome: str):
    """Texts are judged together; what is none is ruled on as in chat."""
    reply = post(world, response(*items))
    assert reply.headers[OUTCOME] == outcome
    if outcome == "blocked":
        assert SECRET.encode() not in everything(reply)
        assert reply.json()["incomplete_details"] == {"reason": "content_filter"}


@pytest.mark.parametrize(
    ("policy", "left"), [("default", False), ("reasoning-passes", True), ("reasoning-blocks", False)]
)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_stripped(world: World, policy: str, left: bool, stream: bool):
    """Its item stays, empty, for calls may belong to it; or passes, or blocks."""
    reply = post(
        world, streamed(spoken(REASONING, GOOD)) if stream else response(REASONING, GOOD), policy, stream=stream
    )
    assert (SECRET.encode() in reply.content) is left
    if policy == "reasoning-blocks":
        assert reply.headers[OUTCOME] == "blocked"
        return
    body = read(reply.content)[-1]["response"] if stream else reply.json()
    assert [item["type"] for item in body["output"]] == ["reasoning", "message"]
    assert bool(body["output"][0]["summary"]) is left
    if stream:
        assert told(reply.content) == (GOOD, "completed")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fields",
    [
        {"instructions": f"{SECRET} is the answer"},
        {"metadata": {"note": f"{SECRET} is the answer"}},
        {"tools": [{"type": "function", "name": "f", "description": f"{SECRET} is"}]},
        {"note": f"{SECRET} is the answer"},
        {"output_text": f"{SECRET} is the answer"},
        {"model": f"{SECRET} is the answer"},
    ],
)
def test_what_repeats_the_request_says_nothing_else(world: World, fields: dict[str, Any], stream: bool):
    """Text there that is not the caller's is text that nobody judged."""
    given: Any = streamed(spoken(GOOD, **fields)) if stream else response(GOOD, **fields)
    reply = post(world, given, stream=stream)
    assert reply.headers[OUTCOME] == "blocked"
    assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("stream", [False, True])
def test_what_repeats_the_request_passes(world: World, stream: bool):
    """As every response does."""
    fields = {
        "instructions": "Answer in one sentence, please.",
        "metadata": {"note": "one two three"},
        "text": {"format": {"type": "text"}},
        "user": "somebody with a long name",
    }
    given: Any = streamed(spoken(GOOD, **fields)) if stream else response(GOOD, **fields)
    assert post(world, given, stream=stream, **fields).headers[OUTCOME] == "passed"


def test_log_probabilities_are_those_of_the_text(world: World):
    """Released with it, without those not chosen; anything else goes."""
    good = {"token": GOOD, "logprob": -1.0, "bytes": list(GOOD.encode())}
    kept = post(world, response(message(text_part(GOOD, logprobs=[{**good, "top_logprobs": [{"token": SECRET}]}]))))
    gone = post(world, response(message(text_part(GOOD, logprobs=[{**good, "token": SECRET, "top_logprobs": []}]))))
    assert kept.json()["output"][0]["content"][0]["logprobs"] == [{**good, "top_logprobs": []}]
    assert gone.json()["output"][0]["content"][0]["logprobs"] == []
    assert SECRET.encode() not in kept.content + gone.content


# --- the request --------------------------------------------------------------------------------------------------


def test_tags_and_qualifiers_are_lifted_out(world: World):
    """Of the instructions, of messages in text or parts; what they said stays."""
    body = {
        "model": "m",
        "instructions": f"Use {tag('groundingSource', SOURCE)}.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": f"So: {tag('query', 'Where?')}"}]},
            {"role": "user", "content": [{"guardContent": {"text": {"text": QUERY, "qualifiers": ["query"]}}}]},
            {"type": "item_reference", "id": "msg_0"},
        ],
        "amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"},
    }
    world.upstream.replies.append(says(response(GOOD, instructions=f"Use {SOURCE}.")))
    reply = world.post(body, path="/v1/responses")
    assert reply.headers[OUTCOME] == "passed"
    assert world.asked.json == {
        "model": "m",
        "instructions": f"Use {SOURCE}.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "So: Where?"}]},
            {"role": "user", "content": [{"type": "input_text", "text": QUERY}]},
            {"type": "item_reference", "id": "msg_0"},
        ],
    }
    assert {pair.premise for pair in world.scorer.asked} >= {QUERY}


def test_what_tools_gave_back_may_be_a_source(world: World):
    """Under tool_results: source."""
    items = [CALL, {"type": "function_call_output", "call_id": "call_1", "output": SOURCE}]
    reply = post(world, response(GOOD), "tool-results", input=items, grounding=None)
    assert (reply.headers[OUTCOME], world.asked.json["input"]) == ("passed", items)
    assert post(world, response(GOOD), input=items, grounding=None).headers[OUTCOME] == "unchecked"


def test_the_input_may_be_the_query(world: World):
    """Under query: last_user."""
    post(world, response(GOOD), "last-user", grounding={"sources": [SOURCE]})
    assert QUERY in {pair.premise for pair in world.scorer.asked}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": 7}, "input"),
        ({"input": [7]}, "input[0]"),
        ({"input": [{"role": "user", "content": 7}]}, "input[0].content"),
        ({"input": [{"content": "x"}]}, "input[0].role"),
        ({"instructions": 7}, "instructions"),
        ({"background": True}, "background"),
        ({"stream": "yes"}, "stream"),
        ({"extra_headers": {}}, "extra_headers"),
        ({"guardrail": {"trace": 1}}, "guardrail.trace"),
        ({"grounding": {"sources": "x"}}, "grounding.sources"),
        ({"model": None}, "model"),
        (
            {"input": tag("query", "x")[:-4], "amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}},
            "input",
        ),
    ],
)
def test_bad_requests_name_the_field(world: World, fields: dict[str, Any], param: str):
    """In OpenAI's shape, before the model is asked."""
    reply = post(world, response(GOOD), **fields)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)
    assert world.upstream.requests == []


def test_an_upstream_without_it_says_so(world: World):
    """Its own status and message."""
    reply = post(world, says({"error": {"message": "Not Found", "type": "NotFoundError"}}, 404))
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, "Not Found")


# --- streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["default", "buffered", "after", "detects", "off"])
@pytest.mark.parametrize(
    "items", [[GOOD + " " + NEXT], [REASONING, GOOD], [message(GOOD, NEXT)], [message(GOOD), message(NEXT, number=2)]]
)
def test_a_good_stream_arrives_whole(world: World, policy: str, items: list[Any]):
    """In every mode, consistent in itself."""
    reply = post(world, streamed(spoken(*items)), policy, stream=True)
    texts = [part["text"] for item in response(*items)["output"] for part in item.get("content", ())]
    assert told(reply.content) == ("|".join(texts), "completed")
    assert (SECRET.encode() in reply.content) is (policy == "off" and REASONING in items)


def test_a_pass_replays_the_upstreams_bytes(world: World):
    """Where nothing has to be cut."""
    events = spoken(f"{GOOD} {NEXT}")
    reply = post(world, streamed(events), "buffered", stream=True)
    assert reply.content == b"".join(map(event, events))


def test_a_sentence_arrives_while_the_model_writes(world: World):
    """The upstream goes on only when the caller has read the first sentence."""
    read_it = threading.Event()
    events = spoken(f"{GOOD} {NEXT} {NEXT}")
    at = next(n for n, one in enumerate(events) if one.get("delta") == " London") + 8
    parts = [*map(event, events[:at]), read_it, *map(event, events[at:])]
    world.upstream.replies.append(lives(*parts))
    seen = ""
    with (
        world.client() as client,
        client.responses.create(model="m", input=QUERY, stream=True, extra_body=GROUNDED_ON) as stream,
    ):
        for one in stream:
            seen += one.delta if one.type == "response.output_text.delta" else ""
            if seen.startswith(GOOD):
                read_it.set()
    assert seen == f"{GOOD} {NEXT} {NEXT}"


@pytest.mark.parametrize(("text", "said"), [(BAD, BLOCKED), (f"{GOOD} {BAD} {NEXT}", f"{GOOD}\n\n{BLOCKED}")])
def test_the_openai_client_reads_a_block(world: World, text: str, said: str):
    """Its own accumulator finds the events in order; the response is incomplete for its content."""
    world.upstream.replies.append(lives(*map(event, spoken(f"{text} {SECRET} {NEXT}")[:-4]), hang=True))
    with (
        world.client() as client,
        client.responses.stream(model="m", input=QUERY, extra_body=GROUNDED_ON) as stream,
    ):
        events = list(stream)
    last = events[-1]
    assert (last.type, last.response.incomplete_details.reason) == ("response.incomplete", "content_filter")
    assert last.response.output_text == said
    assert "".join(one.delta for one in events if one.type == "response.output_text.delta") == said
    assert (last.response.id, last.response.usage.total_tokens > 0) == ("resp_up", True)
    assert world.asked.left.wait(5)


def test_the_openai_client_reads_a_pass(world: World):
    """Its accumulator ends with the whole response."""
    world.upstream.replies.append(streamed(spoken(REASONING, f"{GOOD} {NEXT}")))
    with (
        world.client() as client,
        client.responses.stream(model="m", input=QUERY, extra_body=GROUNDED_ON) as stream,
    ):
        done = stream.get_final_response()
    assert (done.output_text, done.status, done.usage.total_tokens) == (f"{GOOD} {NEXT}", "completed", 18)


def test_a_block_may_be_an_error_before_the_start(world: World):
    """And a finish after it."""
    early = post(world, streamed(spoken(BAD)), "error", stream=True)
    late = post(world, streamed(spoken(f"{GOOD} {BAD} {NEXT}")), "error", stream=True)
    assert (early.status_code, early.json()["error"]["code"]) == (400, "content_filter")
    assert told(late.content)[1] == "content_filter"


@pytest.mark.parametrize("stream", [False, True])
def test_a_missing_context_may_be_blocked(world: World, stream: bool):
    """Without asking the model."""
    reply = world.post({"model": "m", "input": QUERY, "stream": stream}, "missing", "/v1/responses")
    assert world.upstream.requests == []
    body = read(reply.content)[-1]["response"] if stream else reply.json()
    assert Response.model_validate(body, strict=True).output_text == BLOCKED
    assert (body["usage"]["total_tokens"], body["status"]) == (0, "incomplete")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", [GOOD, BAD])
def test_the_trace_is_a_field_of_the_response(world: World, stream: bool, text: str):
    """At the top of it, whole or in the last event."""
    given: Any = streamed(spoken(text)) if stream else response(text)
    reply = post(world, given, guardrail={"trace": "enabled"}, stream=stream)
    body = read(reply.content)[-1]["response"] if stream else reply.json()
    assert body["guardrail"]["outcome"] == ("passed" if text == GOOD else "blocked")


def test_what_contradicts_the_deltas_is_an_error(world: World):
    """A text at the end that is not the one that was said cannot be judged any more."""
    for at in (-4, -3, -2, -1):
        events = json.loads(json.dumps(spoken(GOOD)))
        broken = json.loads(json.dumps(events[at]).replace(GOOD, f"{SECRET} is here"))
        reply = post(world, streamed([*events[:at], broken, *events[len(events) + at + 1 :]]), stream=True)
        assert reply.status_code == 502
        assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("kept", [0, 3])
def test_text_that_only_the_end_says_is_judged(world: World, kept: int):
    """A server that sends no deltas, or not all: what it says at the end is the answer."""
    for text, said in ((GOOD, (GOOD, "completed")), (BAD, (BLOCKED, "content_filter"))):
        events = spoken(text)
        deltas = [one for one in events if one["type"].endswith(".delta")]
        left = [one for one in events if one not in deltas[kept:]]
        reply = post(world, streamed([{**one, "sequence_number": at} for at, one in enumerate(left)]), stream=True)
        if said[1] == "content_filter":
            assert told(reply.content) == said
        else:
            assert read(reply.content)[-1]["response"]["output"][0]["content"][0]["text"] == GOOD
        assert b"UNSUPPORTED" not in reply.content


def test_calls_of_tools_wait_for_the_verdict(world: World):
    """And leave with it; a bad sentence beside them takes them along."""
    passed = post(world, streamed(spoken(GOOD, CALL)), stream=True)
    blocked = post(world, streamed(spoken(f"{GOOD} {BAD}", CALL)), stream=True)
    assert b"call_1" in passed.content
    assert b"call_1" not in blocked.content
    assert told(blocked.content)[1] == "content_filter"


def test_a_refusal_is_an_abstention(world: World):
    """It passes, and is scored where the policy scores those."""
    refusal = message({"type": "refusal", "refusal": f"UNSUPPORTED {SECRET}"})
    assert post(world, streamed(spoken(refusal)), stream=True).headers[OUTCOME] == "passed"
    scored = post(world, streamed(spoken(refusal)), "refusals", stream=True)
    assert (scored.headers[OUTCOME], SECRET.encode() in everything(scored)) == ("blocked", False)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_error", "message": "Overloaded.", "param": None},
        {"type": "error", "error": {"code": "server_error", "message": "Overloaded."}},
        {
            "type": "response.failed",
            "response": {**response(), "error": {"code": "server_error", "message": "Overloaded."}},
        },
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_an_error_in_mid_stream(world: World, error: dict[str, Any], begun: bool):
    """After the start the openai client raises it; before, it is an HTTP error."""
    events = spoken(f"{GOOD} {NEXT} {NEXT}")
    parts = [event(one) for one in events[:-4]]
    world.upstream.replies.append(lives(*(parts if begun else parts[:4]), *([0.3] if begun else []), event(error)))
    with world.client() as client:

        def everything_of_it() -> None:
            with client.responses.create(model="m", input=QUERY, stream=True, extra_body=GROUNDED_ON) as stream:
                list(stream)

        with pytest.raises(openai.APIError, match="Overloaded"):
            everything_of_it()


@pytest.mark.parametrize("cut", [2, 8, -1])
def test_a_stream_that_breaks_off_is_an_error(world: World, cut: int):
    """Without its last event it is half an answer."""
    reply = post(world, streamed(spoken(GOOD)[:cut]), stream=True)
    assert (reply.status_code, reply.json()["error"]["message"]) == (502, "The model's answer broke off.")


PLACES = ["note", "item", "part", "event", "annotation", "obfuscation", "reasoning", "arguments", "unknown", "logprobs"]


def carries(place: str, number: count) -> dict[str, Any]:  # noqa: PLR0911 - one for each place
    """An event with text where nobody looks for any."""
    text = f"{SECRET} is not judged"
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "sequence_number": next(number)}
    delta = {"type": "response.output_text.delta", **where, "delta": "", "logprobs": []}
    match place:
        case "note":
            return {**delta, "note": text}
        case "item":
            item = {"id": text, "type": "program", "code": text}
            return {"type": "response.output_item.added", **where, "output_index": 7, "item": item}
        case "part":
            part = {"type": "spoken", "text": text}
            return {"type": "response.content_part.added", **where, "content_index": 5, "part": part}
        case "event":
            return {**delta, "item_id": text}
        case "annotation":
            return {"type": "response.output_text.annotation.added", **where, "annotation": {"note": text}}
        case "obfuscation":
            return {**delta, "obfuscation": text}
        case "reasoning":
            return {"type": "response.reasoning_text.delta", **where, "delta": text}
        case "arguments":
            return {"type": "response.function_call_arguments.delta", **where, "delta": text}
        case "unknown":
            return {"type": "response.whisper.delta", **where, "delta": text}
        case _:
            token = {"token": text, "logprob": -1.0, "bytes": [], "top_logprobs": []}
            return {**delta, "logprobs": [token]}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.integers(0, 3),
    places=st.lists(st.sampled_from(PLACES), max_size=4),
    policy=st.sampled_from(["default", "unknown-passes", "unknown-stripped", "reasoning-passes", "buffered", "error"]),
    size=st.sampled_from([0, 1, 7, 1000]),
    cuts=st.lists(st.integers(1, 900), min_size=1, max_size=12),
    seed=st.integers(),
)
def test_nothing_of_an_unjudged_claim_leaves(
    world: World, before: int, places: list[str], policy: str, size: int, cuts: list[int], seed: int
):
    """From the first bad claim on nothing leaves, in whatever event, packets, pieces and order of scores it comes."""
    world.reset()
    world.scorer.before = unevenly(seed)
    good = f"{GOOD} " * before
    events = spoken(f"{good}{BAD} {SECRET} {NEXT}", size=size)
    at = next(
        n for n in range(len(events)) if "UNSUPPORTED" in "".join(one.get("delta", "") for one in events[: n + 1])
    )
    extra = [carries(place, count(100)) for place in places]
    spot = Random(seed).randint(at + 1, len(events) - 4)
    raw = b"".join(map(event, [*events[:spot], *extra, *events[spot:]]))
    reply = post(world, Reply(headers=SSE, body=packets(raw, cuts)), policy, stream=True)
    assert SECRET.encode() not in everything(reply)
    assert b"UNSUPPORTED" not in everything(reply)
    if reply.status_code == 200:
        text, why = told(reply.content)
        assert why == "content_filter"
        assert good.startswith(text.removesuffix(BLOCKED).rstrip())
    else:
        assert (policy, reply.status_code) == ("error", 400)


@pytest.mark.parametrize("policy", ["default", "unknown-stripped", "buffered"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("at", [4, 8, 20])
def test_text_in_no_field_of_its_own_leaves_unjudged(world: World, place: str, policy: str, at: int):
    """Wherever in a good answer: the answer ends there, or leaves without it; calls leave by the policy."""
    events = spoken(f"{GOOD} {NEXT} {NEXT}")
    events[at:at] = [carries(place, count(100))]
    reply = post(world, streamed(events), policy, stream=True)
    if place == "arguments":
        assert reply.content.count(SECRET.encode()) == 1
    else:
        assert SECRET.encode() not in everything(reply)
    assert reply.status_code == 200
    read(reply.content)


def test_it_is_counted(world: World):
    """Under its own name."""
    before = world.metric("groundwarden_requests_total", surface="responses")
    post(world, response(GOOD))
    assert world.metric("groundwarden_requests_total", surface="responses") == before + 1


@pytest.mark.parametrize("stream", [False, True])
def test_unsupported_sentences_may_be_taken_out(world: World, stream: bool):
    """Of every place that holds them: deltas, what repeats them, the whole."""
    texts = [message(f"{GOOD} {BAD}", f"{BAD} {GOOD}"), message(GOOD, number=2)]
    given: Any = streamed(spoken(*texts)) if stream else response(*texts)
    reply = post(world, given, "redacting", stream=stream)
    assert reply.headers[OUTCOME] == "redacted"
    assert b"UNSUPPORTED" not in reply.content
    said = told(reply.content)[0] if stream else Response.model_validate(reply.json()).output_text
    assert (said.count(GOOD), said.count("[…]")) == (3, 1)  # two in a row are one gap


@pytest.mark.parametrize("stream", [False, True])
def test_the_model_may_be_asked_again(world: World, stream: bool):
    """With its answer and what is wrong with it as further items; the tokens of both are counted."""
    for text in (BAD + SECRET, GOOD):
        world.upstream.replies.append(streamed(spoken(text)) if stream else says(response(text)))
    reply = world.post(asking(stream=stream), "asking-again", "/v1/responses")
    assert (reply.headers[OUTCOME], SECRET.encode() in everything(reply)) == ("passed", False)
    body = read(reply.content)[-1]["response"] if stream else reply.json()
    assert (body["output"][0]["content"][0]["text"], body["usage"]["total_tokens"]) == (GOOD, 36)
    first, second = (request.json for request in world.upstream.requests)
    assert first["input"] == QUERY
    assert [item["role"] for item in second["input"]] == ["user", "assistant", "user"]


UNREAD = f"{SECRET} is not judged"
WHERE = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
EMPTY = {"type": "response.output_text.delta", **WHERE, "delta": "", "logprobs": []}
ADDED = {"type": "response.output_item.added", "output_index": 3}
TOKENS = [{"token": SECRET, "logprob": -1.0}]
MISPLACED = {
    "a field of another kind": {**EMPTY, "text": UNREAD},
    "a part beside a delta": {**EMPTY, "part": text_part(UNREAD)},
    "an item beside a delta": {**EMPTY, "item": message(UNREAD)},
    "a response beside a delta": {**EMPTY, "response": {"x": UNREAD}},
    "an annotation beside a delta": {**EMPTY, "annotation": {"note": UNREAD}},
    "a refusal beside a delta": {**EMPTY, "refusal": UNREAD},
    "a kind like a known one": {"type": "response.output_text.whisper", **WHERE, "delta": UNREAD},
    "another like it": {"type": "response.refusal.whisper", **WHERE, "text": UNREAD},
    "a name of a kind": {"type": f"response.output_text.{UNREAD}", **WHERE},
    "a delta beside an item": {**ADDED, "item": message(), "delta": UNREAD},
    "tokens beside an item": {**ADDED, "item": message(), "logprobs": TOKENS},
    "a text beside a part": {"type": "response.content_part.added", **WHERE, "part": text_part(""), "text": UNREAD},
    "a text beside a response": {"type": "response.in_progress", "response": response(), "text": UNREAD},
    "what we call our own": {"type": "response.in_progress", "response": response(guardrail={"note": UNREAD})},
    "words of metadata": {"type": "response.in_progress", "response": response(metadata={"a": SECRET, "b": "is"})},
}  # fmt: skip


@pytest.mark.parametrize("policy", ["default", "unknown-stripped", "buffered"])
@pytest.mark.parametrize("place", MISPLACED)
@pytest.mark.parametrize("at", [4, 12])
def test_a_field_is_known_where_it_belongs(world: World, place: str, policy: str, at: int):
    """Not in an event of another kind, and a kind is known by its whole name."""
    events = spoken(f"{GOOD} {NEXT}")
    events[at:at] = [MISPLACED[place]]
    reply = post(world, streamed(events), policy, stream=True)
    assert reply.status_code == 200
    assert SECRET.encode() not in everything(reply)


MIXED = [
    message(GOOD, {"type": "refusal", "refusal": "No.", "text": UNREAD}),
    message(text_part(GOOD, refusal=UNREAD)),
    message(text_part(GOOD, refusal=SECRET)),
    {"id": "x", "type": "recall", "text": UNREAD},
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("policy", ["default", "unknown-stripped"])
@pytest.mark.parametrize("item", MIXED)
def test_a_part_says_what_its_kind_does(world: World, item: Any, policy: str, stream: bool):
    """Nor is an item a call for its name's end."""
    given: Any = streamed(spoken(item, message(GOOD, number=2))) if stream else response(item, message(GOOD, number=2))
    reply = post(world, given, policy, stream=stream)
    assert reply.status_code == 200
    assert SECRET.encode() not in everything(reply)


def test_another_answer_in_output_text_is_stripped(world: World):
    """Where the policy strips what nobody knows."""
    reply = post(world, response(GOOD, output_text=UNREAD), "unknown-stripped")
    assert (reply.headers[OUTCOME], SECRET.encode() in reply.content) == ("passed", False)


@pytest.mark.parametrize("policy", ["default", "unknown-passes", "unknown-stripped"])
def test_what_an_early_event_says_later_is_judged(world: World, policy: str):
    """A response that is in progress may hold text too, and waits for its verdict like any other."""
    events = spoken(f"{GOOD} {NEXT} {NEXT}")
    output = [{**REASONING, "summary": []}, message(f"{SECRET} is UNSUPPORTED.", number=2)]
    late = {"type": "response.in_progress", "response": response(*output, status="in_progress")}
    body = [*map(event, events[:14]), 0.3, event(late), *map(event, events[14:24]), 0.3, *map(event, events[24:])]
    reply = post(world, Reply(headers=SSE, body=body), policy, stream=True)
    assert GOOD.split()[0].encode() in reply.content
    assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("where", ["field", "kind", "response", "item"])
def test_words_one_by_one_are_no_metadata(world: World, where: str):
    """Each looks like a sign; together, from event to event, they spell."""
    words = ["planted", "secretive", "words", "nobody", "ever", "judged"]
    made: dict[str, Any] = {
        "field": lambda word: {**EMPTY, "sign": word},
        "kind": lambda word: {"type": f"response.{word}"},
        "response": lambda word: {"type": "response.in_progress", "response": response(sign=word)},
        "item": lambda word: {**ADDED, "item": {"id": "x", "type": word}},
    }
    events = spoken(f"{GOOD} {NEXT} {NEXT}")
    events[14:14] = [made[where](word) for word in words]
    reply = post(world, streamed(events), stream=True)
    assert sum(word.encode() in reply.content for word in words) < 2
    assert b"content_filter" in reply.content
    if where in {"kind", "field"}:
        reply = post(world, streamed(events), "unknown-stripped", stream=True)
        assert not any(word.encode() in reply.content for word in words[:3])
        assert told(reply.content)[1] == "completed"


def test_signs_that_come_and_go_pass(world: World):
    """States, tiers and numbers change from event to event and say nothing."""
    events = spoken(REASONING, CALL, message(GOOD, phase="commentary"), message(NEXT, number=2, phase="final_answer"))
    for number, one in enumerate(events):
        one |= {"took_ms": number, "server": "eu-1"}
        if "response" in one:
            one["response"] = {**one["response"], "service_tier": "auto" if number < 2 else "default"}
    assert told(post(world, streamed(events), stream=True).content) == (f"{GOOD}|{NEXT}", "completed")


@pytest.mark.parametrize("kind", ["response.created", "response.completed", "response.failed", ""])
@pytest.mark.parametrize(
    "output", [5, "abc", [1], {"a": 1}, [{"type": ["message"]}], [{"type": "message", "content": [{"type": ["x"]}]}]]
)
def test_what_is_no_response_is_no_fault_of_ours(
    world: World, kind: str, output: Any, caplog: pytest.LogCaptureFixture
):
    """It is an upstream's error, or blocked, and nothing else goes wrong."""
    odd = {**response(), "output": output}
    events = spoken(GOOD)
    events[9:9] = [{"type": kind, "response": odd}]
    for policy in ("default", "unknown-stripped", "unknown-passes"):
        reply = post(world, streamed(events) if kind else odd, policy, stream=bool(kind))
        assert reply.status_code in (200, 502)
    assert "Traceback" not in caplog.text


def test_an_error_after_a_refusal_says_nothing_of_the_model(world: World):
    """The model has spoken by then, if only to refuse."""
    events = [{"type": "response.refusal.delta", **WHERE, "delta": "I will "}, {"type": "error", "message": UNREAD}]
    assert SECRET.encode() not in everything(post(world, streamed(events), stream=True))
