"""Completions and responses of a provider that has neither: LiteLLM asks its chat."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from recording import SSE, Reply

from proxy.upstream.litellm_adapter import LiteLLM
from proxy.upstream.model_list import parse_model_list

if TYPE_CHECKING:
    from recording import Recording

    from proxy.upstream.base import Api

TEXT = "Tokyo is the capital."
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": TEXT}],
    "model": "claude",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**ANSWER, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
        for word in ("Tokyo is", " the capital.")
    ),
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def upstream(recording: Recording) -> LiteLLM:
    """Anthropic, at the recording server; the entry has a default that responses do not know."""
    params = {"model": "anthropic/claude-3-haiku-20240307", "api_base": recording.url, "api_key": "k", "max_tokens": 9}
    [entry] = parse_model_list([{"model_name": "m", "litellm_params": params}])
    return LiteLLM("m", entry.litellm_params)


@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
async def test_a_whole_answer_has_the_shape_that_was_asked_for(recording: Recording, api: Api):
    """Whichever API it came from."""
    recording.default = Reply(body=json.dumps(ANSWER).encode())
    asked: dict[Api, dict[str, Any]] = {
        "chat": {"messages": [{"role": "user", "content": "hi"}]},
        "completions": {"prompt": "hi"},
        "responses": {"input": "hi"},
    }
    model = upstream(recording)
    body = (await model.complete(asked[api], api)).body
    await model.close()
    said: dict[Api, Any] = {
        "chat": lambda: body["choices"][0]["message"]["content"],
        "completions": lambda: body["choices"][0]["text"],
        "responses": lambda: body["output"][0]["content"][0]["text"],
    }
    assert said[api]() == TEXT
    assert recording.requests[0].path == "/v1/messages"


@pytest.mark.parametrize("api", ["completions", "responses"])
async def test_a_stream_has_the_shape_that_was_asked_for(recording: Recording, api: Api):
    """Its events say the text, and it ends as such streams do."""
    raw = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in EVENTS)
    recording.default = Reply(headers=SSE, body=raw.encode())
    model = upstream(recording)
    asked = {"prompt": "hi"} if api == "completions" else {"input": "hi"}
    chunks = [one async for one in model.stream({**asked, "stream": True}, api)]
    await model.close()
    data = [one.data for one in chunks if one.data is not None]
    if api == "completions":
        assert "".join(one["choices"][0].get("text") or "" for one in data if one["choices"]) == TEXT
        assert chunks[-1].done
    else:
        assert "".join(one["delta"] for one in data if one["type"] == "response.output_text.delta") == TEXT
        assert data[-1]["type"] == "response.completed"
        assert all(one.raw.startswith(b"event: response.") and not one.done for one in chunks)
