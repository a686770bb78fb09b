"""A real model answers through both upstreams."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from proxy.upstream.model_list import parse_model_list
from proxy.upstream.models import build_upstreams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from smollm import Served

    from proxy.upstream.base import Upstream

QUESTION = {
    "model": "small",
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "max_tokens": 24,
    "temperature": 0,
}


@pytest.fixture(params=["openai", "hosted_vllm"])
async def upstream(request: pytest.FixtureRequest, smollm: Served) -> AsyncIterator[Upstream]:
    """The model behind the pass-through, then behind LiteLLM."""
    params = {"model": f"{request.param}/{smollm.model}", "api_base": smollm.base_url, "api_key": "unused"}
    upstreams = build_upstreams(parse_model_list([{"model_name": "small", "litellm_params": params}]))
    yield upstreams.get("small")
    await upstreams.close()


async def test_answers_whole(upstream: Upstream) -> None:
    """A whole answer from a real model arrives with its text, finish reason and usage."""
    answer = await upstream.complete(QUESTION)
    choice = answer.body["choices"][0]
    assert "Paris" in choice["message"]["content"]
    assert choice["finish_reason"] == "stop"
    assert answer.body["usage"]["completion_tokens"] > 0


async def test_answers_streamed(upstream: Upstream) -> None:
    """A streamed answer from a real model arrives in several pieces and ends with a finish reason."""
    async with aclosing(upstream.stream({**QUESTION, "stream": True})) as stream:
        chunks = [chunk async for chunk in stream]
    choices = [choice for chunk in chunks if chunk.data for choice in chunk.data["choices"]]
    pieces = [choice["delta"].get("content") or "" for choice in choices]
    assert "Paris" in "".join(pieces)
    assert sum(1 for piece in pieces if piece) > 1
    assert choices[-1]["finish_reason"] == "stop"
