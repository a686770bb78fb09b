"""End to end with a real language model: SmolLM2 behind a real server, the proxy, the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openai import OpenAI
from serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smollm import Served

SOURCE = "London is the capital of the UK. Tokyo is the capital of Japan."
QUERY = "What is the capital of Japan?"
BLOCKED = "I can't answer that from the documents I have."
TAG = "amazon-bedrock-guardrails"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, smollm: Served) -> Iterator[OpenAI]:
    """A client of a proxy that reaches the same model by pass-through and through LiteLLM."""
    at = {"api_base": smollm.base_url, "api_key": "unused"}
    models = [
        {"model_name": "small", "litellm_params": {"model": f"openai/{smollm.model}", **at}},
        {"model_name": "small-litellm", "litellm_params": {"model": f"hosted_vllm/{smollm.model}", **at}},
    ]
    with (
        Serving(tmp_path_factory.mktemp("real"), {"model_list": models}) as serving,
        OpenAI(base_url=f"{serving.url}/v1", api_key="any", max_retries=0, timeout=120) as made,
    ):
        yield made


def ask(client: OpenAI, model: str, **options):
    """Ask with a tagged prompt; returns the raw response."""
    prompt = (
        f"<{TAG}-groundingSource_x9>{SOURCE}</{TAG}-groundingSource_x9>\n\n<{TAG}-query_x9>{QUERY}</{TAG}-query_x9>"
    )
    return client.chat.completions.with_raw_response.create(
        model=model,
        messages=[{"role": "user", "content": prompt}],
        temperature=0,
        max_tokens=24,
        extra_body={"amazon-bedrock-guardrailConfig": {"tagSuffix": "x9"}, "guardrail": {"trace": "enabled"}},
        **options,
    )


@pytest.mark.parametrize("model", ["small", "small-litellm"])
def test_what_the_model_really_says_is_judged(client: OpenAI, model: str):
    """The model's own answer is scored; it is released if it passed, and replaced if it was blocked."""
    response = ask(client, model)
    trace = response.http_response.json()["guardrail"]
    said = " ".join(claim["text"] for claim in trace["claims"])
    content = response.parse().choices[0].message.content
    assert said
    assert 0 <= float(response.headers["x-groundwarden-grounding"]) <= 1
    assert 0 <= float(response.headers["x-groundwarden-relevance"]) <= 1
    if response.headers["x-groundwarden-outcome"] == "blocked":
        assert content == BLOCKED
        assert said not in content
    else:
        assert response.headers["x-groundwarden-outcome"] == "passed"
        assert trace["claims"][0]["text"] in content


def test_a_right_and_relevant_answer_passes_and_a_stray_one_does_not(client: OpenAI):
    """This small model answers about the UK when asked about Japan: relevant or not, the verdict says so."""
    response = ask(client, "small")
    trace = response.http_response.json()["guardrail"]
    about_japan = "Tokyo" in trace["claims"][0]["text"]
    assert (response.headers["x-groundwarden-outcome"] == "passed") is about_japan


def test_a_real_stream_comes_to_the_same_end(client: OpenAI):
    """Streamed, the same question comes to the same verdict, in valid chunks that end with one finish."""
    whole = ask(client, "small")
    stream = client.chat.completions.with_raw_response.create(
        model="small",
        messages=[{"role": "user", "content": f"{SOURCE}\n\n{QUERY}"}],
        temperature=0,
        max_tokens=24,
        stream=True,
        extra_body={"grounding": {"sources": [SOURCE], "query": QUERY}},
    )
    chunks = list(stream.parse())
    finishes = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    outcome = whole.headers["x-groundwarden-outcome"]
    assert stream.headers.get("x-groundwarden-outcome", outcome) == outcome  # absent where the model took its time
    assert finishes == (["content_filter"] if outcome == "blocked" else ["stop"])
