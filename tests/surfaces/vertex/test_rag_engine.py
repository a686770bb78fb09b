"""RAG Engine's shapes on the OpenAI surface: its contexts as sources, its grounding metadata in the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.cloud.aiplatform_v1beta1 import types
from google.protobuf import json_format
from surfaces.support import GOOD, QUERY, answer, asking, says

if TYPE_CHECKING:
    from surfaces.support import World

FOUND = types.RetrieveContextsResponse(
    contexts={
        "contexts": [
            {
                "source_uri": "gs://bucket/far.txt",
                "source_display_name": "far.txt",
                "text": "London is the capital of UK.",
                "score": 1.2,
            },
            {
                "source_uri": "gs://bucket/near.txt",
                "source_display_name": "near.txt",
                "chunk": {"text": "Tokyo is the capital of Japan.", "page_span": {"first_page": 3, "last_page": 4}},
                "score": 0.1,
            },
        ]
    }
)
SNAKE: Any = types.RetrieveContextsResponse.to_dict(FOUND)
CAMEL: Any = json_format.MessageToDict(types.RetrieveContextsResponse.pb(FOUND))


def ask(world: World, sources: Any, said: str = GOOD) -> Any:
    """The reply to a chat request with these sources and the trace."""
    world.upstream.replies.append(says(answer(said)))
    body = asking(grounding={"sources": sources, "query": QUERY}, guardrail={"trace": "enabled"})
    return world.http.post("/v1/chat/completions", json=body, headers={"api-key": "key-default"})


@pytest.mark.parametrize("found", [SNAKE, CAMEL], ids=["snake", "camel"])
@pytest.mark.parametrize(
    "given",
    [
        lambda found: found["contexts"]["contexts"],
        lambda found: found["contexts"],
        lambda found: found,
        lambda found: [found],
    ],
    ids=["contexts", "list of contexts", "whole reply", "reply in a list"],
)
def test_retrieved_contexts_are_sources(world: World, found: Any, given: Any):
    """As a client of either kind holds them, one by one or the whole reply; near and far ones alike."""
    reply = ask(world, given(found), f"{GOOD} London is the capital of UK.")
    assert reply.headers["x-groundwarden-outcome"] == "passed"
    assert {pair.premise for pair in world.scorer.asked} >= {
        "London is the capital of UK.",
        "Tokyo is the capital of Japan.",
    }


def test_the_trace_has_grounding_metadata_that_googles_types_read(world: World):
    """Chunks with address and title, supports with byte segments and confidences from 0.6 on, parallel to indices."""
    said = f"Größe zählt hier nicht. {GOOD} The capital of Japan is UNSUPPORTED."
    metadata = ask(world, SNAKE, said).json()["guardrail"]["grounding_metadata"]
    read = types.GroundingMetadata(metadata)
    chunks = {(chunk.retrieved_context.uri, chunk.retrieved_context.title) for chunk in read.grounding_chunks}
    assert chunks == {("gs://bucket/far.txt", "far.txt"), ("gs://bucket/near.txt", "near.txt")}
    texts = [said.encode()[one.segment.start_index : one.segment.end_index].decode() for one in read.grounding_supports]
    assert texts == [one.segment.text for one in read.grounding_supports]
    assert GOOD in texts
    assert "The capital of Japan is UNSUPPORTED." not in texts
    for support in read.grounding_supports:
        assert len(support.grounding_chunk_indices) == len(support.confidence_scores) > 0
        assert all(confidence >= 0.6 for confidence in support.confidence_scores)
        assert all(0 <= index < len(read.grounding_chunks) for index in support.grounding_chunk_indices)


@pytest.mark.parametrize(
    ("sources", "field"),
    [
        ({"contexts": {"contexts": "x"}}, "grounding.sources.contexts.contexts"),
        ([{"contexts": [{"sourceUri": "gs://b/c"}]}], "grounding.sources[0].contexts[0].text"),
        ({"sources": []}, "grounding.sources"),
    ],
)
def test_a_malformed_context_is_named(world: World, sources: Any, field: str):
    """A 400 before the model is asked."""
    reply = ask(world, sources)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, field)
    assert world.upstream.requests == []
