"""AWS's documented examples, judged by the embedded scorer and held against golden files.

The sources, queries and answers are those of the user guide's pages on contextual grounding; a golden file holds each
request, what the model says, and the whole reply as boto3 reads it, with scores, times and ids made out. Run with
``GOLDEN=write`` to write them anew, and read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from serving import Serving, passes_through
from surfaces.bedrock.conftest import client_of
from surfaces.support import answer, says, spells, streams, tag

from proxy.demo import CASES, Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recording import Recording

GOLDEN = Path(__file__).parent / "golden"
MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
NAMED = {"guardrailIdentifier": "default", "guardrailVersion": "DRAFT"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Any]:
    """boto3 before a server with its own scorer and no tenants."""
    config = {"model_list": passes_through(_recording_server.url, "m"), "bedrock_models": {"*": "m"}}
    with Serving(tmp_path_factory.mktemp("documented"), config, policies={"default": {}}) as serving:
        made = client_of(serving.url, aws_access_key_id="any", aws_secret_access_key="any")
        yield made
        made.close()


@pytest.fixture
def upstream(_recording_server: Recording) -> Recording:
    """The model."""
    return _recording_server


def marked(case: Case) -> list[dict[str, Any]]:
    """The case's source and query as Converse has them."""
    return [
        {"guardContent": {"text": {"text": case.source, "qualifiers": ["grounding_source"]}}},
        {"guardContent": {"text": {"text": case.query, "qualifiers": ["query"]}}},
    ]


def apply(case: Case) -> dict[str, Any]:
    """ApplyGuardrail's request."""
    content = [
        {"text": {"text": case.source, "qualifiers": ["grounding_source"]}},
        {"text": {"text": case.query, "qualifiers": ["query"]}},
        {"text": {"text": case.answer, "qualifiers": ["guard_content"]}},
    ]
    return {**NAMED, "source": "OUTPUT", "outputScope": "FULL", "content": content}


def converse(case: Case) -> dict[str, Any]:
    """Converse's request."""
    messages = [{"role": "user", "content": marked(case)}]
    return {"modelId": MODEL, "messages": messages, "guardrailConfig": {**NAMED, "trace": "enabled_full"}}


def converse_stream(case: Case) -> dict[str, Any]:
    """ConverseStream's request."""
    asked = converse(case)
    return {**asked, "guardrailConfig": {**asked["guardrailConfig"], "streamProcessingMode": "sync"}}


def invoke(case: Case) -> dict[str, Any]:
    """InvokeModel's request: the user guide's own body."""
    source, query = tag("groundingSource", case.source, "xyz"), tag("query", case.query, "xyz")
    body = {"text": f"\n{source}\n\n{query}\n", "amazon-bedrock-guardrailConfig": {"tagSuffix": "xyz"}}
    named = {**NAMED, "trace": "ENABLED", "contentType": "application/json"}
    return {"modelId": MODEL, "body": json.dumps(body), **named}


OPERATIONS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "apply_guardrail": apply,
    "converse": converse,
    "converse_stream": converse_stream,
    "invoke_model": invoke,
    "invoke_model_with_response_stream": invoke,
}


def told(reply: Any) -> Any:
    """A reply as it is written down: streams read to their end, what changes from run to run made out."""
    reply = {name: held for name, held in reply.items() if name != "ResponseMetadata"}
    if "stream" in reply:
        return _made_out(list(reply["stream"]))
    if "body" in reply:
        body = reply["body"]
        read = getattr(body, "read", None)
        return _made_out(json.loads(read()) if read else [json.loads(one["chunk"]["bytes"]) for one in body])
    return _made_out(reply)


def _made_out(value: Any) -> Any:
    if isinstance(value, list):
        return [_made_out(one) for one in value]
    if not isinstance(value, dict):
        return value
    hidden = {"score", "guardrailProcessingLatency", "latencyMs", "invocationLatency", "guardrailVersion", "id"}
    return {name: f"<{name}>" if name in hidden else _made_out(held) for name, held in value.items()}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_documented_examples_come_out_as_documented(client: Any, operation: str, upstream: Recording):
    """Each example's whole reply is the golden one, and intervenes where the user guide says so."""
    path = GOLDEN / f"{operation}.json"
    found = []
    for case in CASES:
        upstream.reset()
        streamed = "stream" in operation
        said = streams(*spells(case.answer)) if streamed else says(answer(case.answer))
        upstream.replies.append(said)
        request = OPERATIONS[operation](case)
        reply = told(getattr(client, operation)(**request))
        text = json.dumps(reply)
        intervened = any(word in text for word in ('"guardrail_intervened"', '"INTERVENED"', '"GUARDRAIL_INTERVENED"'))
        assert intervened is (case.outcome == "blocked")
        if operation != "apply_guardrail" and intervened:
            assert case.answer not in text
        found.append({"request": request, "model_says": case.answer, "reply": reply})
    if os.environ.get("GOLDEN") == "write":
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))
