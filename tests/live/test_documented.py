"""The documented examples, on the embedded model, at the shipped default policy, through the official client."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from openai import OpenAI
from recording import Reply
from serving import Serving, passes_through

from proxy.demo import CASES, Case, chat_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recording import Recording

DEFAULT_MESSAGE = "I can't answer that from the documents I have."


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Serving]:
    """The server as an operator starts it: shipped policies, embedded scorer."""
    folder = tmp_path_factory.mktemp("documented")
    with Serving(folder, {"model_list": passes_through(_recording_server.url, "parrot")}) as server:
        yield server


def says(answer: str) -> Reply:
    """An upstream reply with these words."""
    message = {"role": "assistant", "content": answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "parrot", "choices": [choice]}
    return Reply(body=json.dumps({**body, "usage": usage}).encode())


@pytest.mark.parametrize("case", CASES, ids=[case.answer for case in CASES])
def test_documented_example(case: Case, serving: Serving, recording: Recording):
    """Each documented answer comes to its documented end, and each score lies on the documented side."""
    recording.replies.append(says(case.answer))
    with OpenAI(base_url=f"{serving.url}/v1", api_key="any", max_retries=0) as client:
        body = chat_body(case)
        reply = client.chat.completions.with_raw_response.create(
            model=body["model"],
            messages=body["messages"],
            extra_body={"amazon-bedrock-guardrailConfig": body["amazon-bedrock-guardrailConfig"]},
        )
    parsed = reply.parse()
    assert reply.headers["x-groundwarden-outcome"] == case.outcome
    assert (float(reply.headers["x-groundwarden-grounding"]) >= 0.7) is case.grounded
    assert (float(reply.headers["x-groundwarden-relevance"]) >= 0.5) is case.relevant
    blocked = case.outcome == "blocked"
    assert parsed.choices[0].message.content == (DEFAULT_MESSAGE if blocked else case.answer)
    assert parsed.choices[0].finish_reason == ("content_filter" if blocked else "stop")
    assert "amazon-bedrock" not in recording.requests[-1].body.decode()


def test_fragments_are_judged_with_the_question(serving: Serving, recording: Recording):
    """A bare "Tokyo." is right and a bare "Paris." is not, though neither is a sentence."""
    outcomes = {}
    with OpenAI(base_url=f"{serving.url}/v1", api_key="any", max_retries=0) as client:
        for answer in ("Tokyo.", "Paris."):
            recording.replies.append(says(answer))
            reply = client.chat.completions.with_raw_response.create(
                model="parrot",
                messages=[{"role": "user", "content": "What is the capital of Japan?"}],
                extra_body={"grounding": {"sources": [CASES[0].source], "query": CASES[0].query}},
            )
            outcomes[answer] = reply.headers["x-groundwarden-outcome"]
    assert outcomes == {"Tokyo.": "passed", "Paris.": "blocked"}


def test_one_score_whatever_the_traffic(serving: Serving, recording: Recording):
    """The same request gets the same score alone and beside many others."""
    recording.default = says(CASES[4].answer)
    scores: list[str] = []

    def ask() -> None:
        with OpenAI(base_url=f"{serving.url}/v1", api_key="any", max_retries=0) as client:
            reply = client.chat.completions.with_raw_response.create(
                model="parrot",
                messages=[{"role": "user", "content": "?"}],
                extra_body={"grounding": {"sources": [CASES[4].source], "query": CASES[4].query}},
            )
            scores.append(reply.headers["x-groundwarden-grounding"])

    ask()
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scores) == 9
    assert max(map(float, scores)) - min(map(float, scores)) <= 0.005
