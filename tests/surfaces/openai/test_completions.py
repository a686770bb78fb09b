"""``POST /v1/completions``, read by the openai client: the same rules as chat's, in the older shape."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai.types import Completion
from recording import SSE, Reply
from surfaces.support import (
    BAD,
    GOOD,
    QUERY,
    SECRET,
    SOURCE,
    World,
    event,
    events_of,
    everything,
    says,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKED = "I can't answer that from the documents I have."
NEXT = "London is the capital of the United Kingdom, as everybody knows."
OUTCOME = "x-groundwarden-outcome"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
GROUNDED_ON = {"grounding": {"sources": [SOURCE], "query": QUERY}}


def completion(*texts: Any, **fields: Any) -> dict[str, Any]:
    """A whole reply of these texts, or choices."""
    choices = [
        one if isinstance(one, dict) else {"text": one, "index": at, "logprobs": None, "finish_reason": "stop"}
        for at, one in enumerate(texts)
    ]
    envelope = {"id": "cmpl-up", "object": "text_completion", "created": 1700000123, "model": "up-1"}
    return {**envelope, "choices": choices, "usage": USAGE, **fields}


def piece(text: str, index: int = 0, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk of a stream."""
    one = {"text": text, "index": index, "logprobs": None, "finish_reason": finish, **fields}
    return {key: value for key, value in completion(one).items() if key != "usage"}


def pieces(text: str, index: int = 0) -> list[dict[str, Any]]:
    """A text word by word, and its end."""
    words = text.split(" ")
    said = [piece(word if at == 0 else f" {word}", index) for at, word in enumerate(words)]
    return [*said, piece("", index, "stop")]


def streamed(*chunks: Any) -> Reply:
    """An upstream that streams these chunks."""
    return Reply(headers=SSE, body=[*map(event, chunks), event("[DONE]")])


def post(world: World, reply: Any, policy: str = "default", **fields: Any) -> Any:
    """The raw reply to a prompt."""
    world.upstream.replies.append(reply if isinstance(reply, Reply) else says(reply))
    body = {"model": "m", "prompt": QUERY, **GROUNDED_ON, **fields}
    return world.post(body, policy, "/v1/completions")


def read(raw: bytes, index: int = 0) -> tuple[str, list[str]]:
    """The text and the finish reasons of one choice of a whole stream, with [DONE] last."""
    *chunks, done = events_of(raw)
    assert done == "[DONE]"
    assert {each["object"] for each in chunks} == {"text_completion"}
    choices = [one for each in chunks for one in each["choices"] if one["index"] == index]
    assert all(set(one) >= {"text", "index", "logprobs", "finish_reason"} for one in choices)
    return "".join(one["text"] for one in choices), [one["finish_reason"] for one in choices if one["finish_reason"]]


def test_a_pass_is_the_upstreams(world: World):
    """Byte for byte, at the upstream's own path, with the fields that are ours taken out of the request."""
    raw = b'{"id":"cmpl-1","object":"text_completion","choices":[{"text":"' + GOOD.encode() + b'","index":0}],"x":1.0}'
    reply = post(world, says(raw), max_tokens=5, suffix=".", guardrail={"trace": "disabled"})
    assert (reply.content, reply.headers[OUTCOME], reply.headers["x-groundwarden-grounding"]) == (
        raw,
        "passed",
        "0.9124",
    )
    assert (world.asked.path, world.asked.json) == (
        "/v1/completions",
        {"model": "m", "prompt": QUERY, "max_tokens": 5, "suffix": "."},
    )


def test_a_block_is_built_fresh(world: World):
    """The policy's message, content_filter, the upstream's id and count of tokens, and nothing of the model's."""
    bad = {
        "text": BAD + SECRET,
        "index": 0,
        "logprobs": {"tokens": [SECRET], "token_logprobs": [0.0]},
        "finish_reason": "stop",
    }
    reply = post(world, completion(bad, note=SECRET))
    body = Completion.model_validate(reply.json(), strict=True)
    assert (body.id, body.object, body.choices[0].text, body.choices[0].finish_reason, body.usage.total_tokens) == (
        "cmpl-up",
        "text_completion",
        BLOCKED,
        "content_filter",
        18,
    )
    assert "message" not in reply.json()["choices"][0]
    assert SECRET.encode() not in everything(reply)
    assert reply.headers[OUTCOME] == "blocked"


def test_the_openai_client_reads_both(world: World):
    """A pass, a block, and a block as an error."""
    with world.client() as client:
        world.upstream.default = says(completion(GOOD))
        done = client.completions.create(model="m", prompt=QUERY, extra_body=GROUNDED_ON)
        assert (done.choices[0].text, done.choices[0].finish_reason) == (GOOD, "stop")
        world.upstream.default = says(completion(BAD))
        done = client.completions.create(model="m", prompt=QUERY, extra_body=GROUNDED_ON)
        assert (done.choices[0].text, done.choices[0].finish_reason) == (BLOCKED, "content_filter")
    with world.client("error") as client, pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="m", prompt=QUERY, extra_body=GROUNDED_ON)
    assert caught.value.code == "content_filter"


def test_the_openai_client_reads_a_stream(world: World):
    """Sentence by sentence; a block in mid-stream is told in it, apart from the text before."""
    world.upstream.default = streamed(*pieces(f"{GOOD} {BAD} {SECRET} {NEXT}"))
    with (
        world.client() as client,
        client.completions.create(
            model="m",
            prompt=QUERY,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=GROUNDED_ON,
        ) as stream,
    ):
        chunks = list(stream)
    text = "".join(one.text for each in chunks for one in each.choices)
    assert text == f"{GOOD}\n\n{BLOCKED}"
    assert [one.finish_reason for each in chunks for one in each.choices if one.finish_reason] == ["content_filter"]
    assert chunks[-1].usage.total_tokens > 0
    assert {(one.id, one.object) for one in chunks} == {("cmpl-up", "text_completion")}


@pytest.mark.parametrize("policy", ["default", "buffered", "after", "detects"])
def test_a_good_stream_arrives_whole(world: World, policy: str):
    """In every mode; chunks are the upstream's own where they need not be cut."""
    reply = post(world, streamed(*pieces(f"{GOOD} {NEXT}")), policy, stream=True)
    assert read(reply.content) == (f"{GOOD} {NEXT}", ["stop"])
    if policy == "buffered":
        assert reply.content == b"".join(map(event, [*pieces(f"{GOOD} {NEXT}"), "[DONE]"]))


@pytest.mark.parametrize("text", [f"{BAD} {SECRET}", f"{GOOD} {BAD} {SECRET}"])
@pytest.mark.parametrize("policy", ["default", "buffered", "error"])
def test_no_unjudged_text_leaves_a_stream(world: World, text: str, policy: str):
    """From the first bad sentence on."""
    reply = post(world, streamed(*pieces(f"{text} {NEXT}"), {**completion(), "usage": USAGE}), policy, stream=True)
    assert SECRET.encode() not in everything(reply)
    if reply.status_code == 200:
        assert read(reply.content)[1] == ["content_filter"]
    else:
        assert (policy, reply.json()["error"]["code"]) == ("error", "content_filter")


@pytest.mark.parametrize("stream", [False, True])
def test_each_prompt_has_its_choices(world: World, stream: bool):
    """Several prompts, several choices each: judged one by one, the bad ones replaced."""
    texts = [GOOD, BAD + SECRET, GOOD, BAD + SECRET]
    reply: Any = completion(*texts)
    if stream:
        reply = streamed(*(one for at, text in enumerate(texts) for one in pieces(text, at)))
    got = post(world, reply, prompt=["One?", "Two?"], n=2, stream=stream)
    assert world.asked.json["prompt"] == ["One?", "Two?"]
    if stream:
        said = [read(got.content, at) for at in range(4)]
    else:
        said = [(one["text"], [one["finish_reason"]]) for one in got.json()["choices"]]
    assert said == [(GOOD, ["stop"]), (BLOCKED, ["content_filter"])] * 2
    assert SECRET.encode() not in everything(got)


def test_tags_in_the_prompt_are_lifted_out(world: World):
    """As in a user's message; the text stays."""
    prompt = f"Read {tag('groundingSource', SOURCE)} and say: {tag('query', QUERY)}"
    world.upstream.replies.append(says(completion(GOOD)))
    body = {"model": "m", "prompt": prompt, "amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}}
    reply = world.post(body, path="/v1/completions")
    assert (reply.headers[OUTCOME], world.asked.json) == (
        "passed",
        {"model": "m", "prompt": f"Read {SOURCE} and say: {QUERY}"},
    )
    assert {pair.premise for pair in world.scorer.asked} >= {QUERY}


def test_the_prompt_may_be_the_query(world: World):
    """Under query: last_user, less the sources in it; of several prompts none is everyone's."""
    tagged = {"prompt": f"{tag('groundingSource', SOURCE)}{QUERY}", "grounding": None}
    config = {"amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}}
    assert "x-groundwarden-relevance" in post(world, completion(GOOD), "last-user", **tagged, **config).headers
    assert QUERY in {pair.premise for pair in world.scorer.asked}
    several = {"prompt": ["One?", "Two?"], "grounding": {"sources": [SOURCE]}}
    reply = post(world, completion(GOOD, GOOD), "last-user", **several)
    assert "x-groundwarden-relevance" not in reply.headers


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt"),
        ({"prompt": {"a": 1}}, "prompt"),
        ({"n": 0}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"echo": True}, "echo"),
        ({"echo": "yes"}, "echo"),
        ({"api_base": "http://x"}, "api_base"),
        ({"guardrail": 1}, "guardrail"),
        (
            {
                "prompt": ["a", tag("groundingSource", SOURCE)],
                "amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"},
            },
            "prompt[1]",
        ),
        (
            {"prompt": tag("query", "x")[:-4], "amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}},
            "prompt",
        ),
    ],
)
def test_bad_requests_name_the_field(world: World, fields: dict[str, Any], param: str):
    """In OpenAI's shape, before the model is asked."""
    reply = post(world, completion(GOOD), **fields)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)
    assert world.upstream.requests == []


@pytest.mark.parametrize("prompt", [[1, 2, 3], [[1, 2], [3]], ["one", [2]]])
def test_tokens_go_up_as_they_are(world: World, prompt: Any):
    """There are no marks in them."""
    texts = [GOOD] * (1 if isinstance(prompt[0], int) else 2)
    reply = post(world, completion(*texts), prompt=prompt)
    assert (reply.headers[OUTCOME], world.asked.json["prompt"]) == ("passed", prompt)


def test_an_echo_without_a_source_passes(world: World):
    """There is nothing to judge, so nothing to mix."""
    reply = post(world, completion(f"{QUERY}{BAD}"), echo=True, grounding=None)
    assert (reply.headers[OUTCOME], reply.json()["choices"][0]["text"]) == ("unchecked", f"{QUERY}{BAD}")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("logprobs", "left"),
    [
        (
            {"tokens": [GOOD], "token_logprobs": [-1.0], "top_logprobs": [{SECRET: -2.0}], "text_offset": [0]},
            {"tokens": [GOOD], "token_logprobs": [-1.0], "top_logprobs": None, "text_offset": [0]},
        ),
        ({"tokens": [GOOD, SECRET], "token_logprobs": [-1.0, -1.0], "text_offset": [0, 3]}, None),
        ({"tokens": [GOOD], "token_logprobs": [SECRET]}, None),
        ({"tokens": [GOOD], "note": SECRET}, None),
        ({"tokens": [{"token": SECRET}]}, None),
        ({"content": [{"token": SECRET, "logprob": -1, "top_logprobs": []}]}, None),
    ],
)
def test_log_probabilities_are_those_of_the_text(world: World, logprobs: Any, left: Any, stream: bool):
    """Released with it, without those not chosen; anything else goes."""
    one = {"text": GOOD, "index": 0, "logprobs": logprobs, "finish_reason": "stop"}
    reply = post(
        world, streamed(piece(GOOD, finish="stop", logprobs=logprobs)) if stream else completion(one), stream=stream
    )
    assert SECRET.encode() not in everything(reply)
    body = events_of(reply.content)[0] if stream else reply.json()
    assert body["choices"][0]["logprobs"] == left


@pytest.mark.parametrize("stream", [False, True])
def test_other_text_falls_to_the_policy(world: World, stream: bool):
    """A completion has one text: another is nobody's."""
    odd = {"message": {"content": f"{SECRET} is not judged"}}
    one = {"text": GOOD, "index": 0, "logprobs": None, "finish_reason": "stop", **odd}
    reply = post(
        world, streamed(piece(GOOD, **odd), piece("", finish="stop")) if stream else completion(one), stream=stream
    )
    assert reply.headers[OUTCOME] == "blocked"
    assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("stream", [False, True])
def test_a_missing_context_may_be_blocked(world: World, stream: bool):
    """Without asking the model, as many choices as were asked for."""
    body = {"model": "m", "prompt": ["a", "b"], "stream": stream, "stream_options": {"include_usage": True}}
    reply = world.post(body, "missing", "/v1/completions")
    assert world.upstream.requests == []
    if stream:
        assert [read(reply.content, at) for at in (0, 1)] == [(BLOCKED, ["content_filter"])] * 2
        assert events_of(reply.content)[-2]["usage"]["total_tokens"] == 0
    else:
        assert [one["text"] for one in reply.json()["choices"]] == [BLOCKED] * 2


@pytest.mark.parametrize("stream", [False, True])
def test_the_trace_explains(world: World, stream: bool):
    """As in chat."""
    given: Any = streamed(*pieces(GOOD)) if stream else completion(GOOD)
    reply = post(world, given, guardrail={"trace": "enabled"}, stream=stream)
    body = events_of(reply.content)[-2] if stream else reply.json()
    assert (body["guardrail"]["outcome"], body["guardrail"]["claims"][0]["text"]) == ("passed", GOOD)


def test_it_is_counted(world: World):
    """Under its own name."""
    before = world.metric("groundwarden_requests_total", surface="completions")
    post(world, completion(GOOD))
    assert world.metric("groundwarden_requests_total", surface="completions") == before + 1


def test_an_upstream_error_keeps_its_message(world: World):
    """And its status, in OpenAI's shape."""
    reply = post(world, says({"error": {"message": "No such path", "type": "invalid_request_error"}}, 404))
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, "No such path")


def test_who_is_judged_late_is_blocked(world: World):
    """A scorer that stalls ends a stream."""

    async def stalls(pairs: Sequence[Any]) -> None:
        if any("United" in pair.hypothesis for pair in pairs):
            await asyncio.sleep(60)

    world.scorer.before = stalls
    reply = post(world, streamed(*pieces(f"{GOOD} {NEXT}")), "impatient", stream=True)
    assert read(reply.content) == (f"{GOOD}\n\n{BLOCKED}", ["content_filter"])
    assert json.loads(reply.content.split(b"\n\n")[0][6:])["choices"][0]["text"]


@pytest.mark.parametrize("stream", [False, True])
def test_unsupported_sentences_may_be_taken_out(world: World, stream: bool):
    """As in chat; nobody is asked again, for a prompt has no turns."""
    text = f"{GOOD} {BAD} {NEXT}"
    reply = post(world, streamed(*pieces(text)) if stream else completion(text), "redacting", stream=stream)
    assert reply.headers[OUTCOME] == "redacted"
    said = read(reply.content)[0] if stream else reply.json()["choices"][0]["text"]
    assert (GOOD in said, NEXT in said, "UNSUPPORTED" in reply.text) == (True, True, False)
    blocked = post(world, completion(BAD), "asking-again")
    assert (blocked.headers[OUTCOME], len(world.upstream.requests)) == ("blocked", 2)


@pytest.mark.parametrize("stream", [False, True])
def test_no_field_hides_behind_another(world: World, stream: bool):
    """What chat calls a message or delta is some other field here, and is looked at, whatever else there is."""
    name = "delta" if stream else "message"
    hidden = {name: {"content": f"{SECRET} is not judged"}, f"other_{name}": 0}
    if stream:
        first, *rest = pieces(GOOD)
        first["choices"][0] |= hidden
        given: Any = streamed(first, *rest)
    else:
        given = completion(GOOD)
        given["choices"][0] |= hidden
    reply = post(world, given, stream=stream)
    assert (reply.status_code, SECRET.encode() in everything(reply)) == (502, False)
