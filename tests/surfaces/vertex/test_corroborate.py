"""Corroborate content as Google's client sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.api_core import exceptions
from surfaces.support import GOOD, GROUNDED, UNGROUNDED
from surfaces.vertex.conftest import CORROBORATORS, corroborator, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.support import World

PARENT = "projects/p/locations/us-central1"
PATH = f"/v1/{PARENT}:corroborateContent"
FACTS = [
    {"summary": "London is the capital of UK.", "title": "Capitals", "uri": "gs://b/c.txt", "vector_distance": 0.2},
    {"title": "Empty"},
    {"chunk": {"text": "Tokyo is the capital of Japan.", "page_span": {"first_page": 1, "last_page": 2}}, "score": 0.6},
]
BAD = "The capital of Japan is UNSUPPORTED."


def request(*texts: str, **fields: Any) -> dict[str, Any]:
    """A request of the client's."""
    return {"parent": PARENT, "content": {"parts": [{"text": text} for text in texts]}, "facts": FACTS, **fields}


@pytest.mark.parametrize("version", CORROBORATORS)
def test_each_version_corroborates(google: Callable[..., Any], world: World, version: str):
    """Claims with their bytes in what the parts spell, the facts behind them, and about the share supported."""
    texts = ("Hello. Grüße aus Köln! ", f"{GOOD} {BAD}")
    before = world.metric("groundwarden_requests_total", surface="corroborate")
    reply = google(corroborator, version=version).corroborate_content(request(*texts))
    spelled = "".join(texts).encode()
    told = {spelled[claim.start_index : claim.end_index].decode(): claim for claim in reply.claims}
    assert set(told[GOOD].fact_indexes) <= {0, 2}
    assert told[GOOD].fact_indexes
    assert list(told[BAD].fact_indexes) == []
    assert (told[GOOD].score, told[BAD].score) == (
        pytest.approx(GROUNDED, abs=1e-4),
        pytest.approx(UNGROUNDED, abs=1e-4),
    )
    assert "Hello." not in told
    assert 0.3 < reply.corroboration_score < 0.7
    assert world.metric("groundwarden_requests_total", surface="corroborate") == before + 1


def test_only_claims_that_reach_the_threshold_come_back(google: Callable[..., Any]):
    """As the parameter's own words have it; the score is that of the whole."""
    client = google(corroborator)
    whole = client.corroborate_content(request(f"{GOOD} {BAD}"))
    some = client.corroborate_content(request(f"{GOOD} {BAD}", parameters={"citation_threshold": 0.6}))
    assert (len(whole.claims), len(some.claims)) == (2, 1)
    assert some.claims[0].fact_indexes
    assert whole.corroboration_score == some.corroboration_score


def test_a_title_is_said_of_its_fact(world: World):
    """The scorer reads it behind the fact's text where a claim speaks of it."""
    world.http.post(
        PATH,
        json={"content": {"parts": [{"text": "By Capitals, London is the capital of UK."}]}, "facts": FACTS},
        headers={"x-goog-api-key": "key-default"},
    )
    assert "London is the capital of UK. (Capitals)" in {pair.premise for pair in world.scorer.asked}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": {"parts": []}}, "content"),
        ({"content": {"parts": [{"text": " "}]}}, "content"),
        ({"content": {"parts": [{"text": "a"}, {"inline_data": {"mime_type": "image/png", "data": b"x"}}]}},
         "content.parts[1].inline_data"),
        ({"parameters": {"citation_threshold": 2}}, "parameters.citation_threshold"),
    ],
)  # fmt: skip
def test_what_cannot_be_corroborated_is_refused(google: Callable[..., Any], change: Any, field: str):
    """INVALID_ARGUMENT with the field's name."""
    with pytest.raises(exceptions.BadRequest) as raised:
        google(corroborator).corroborate_content(request(GOOD, **change))
    assert told(raised) == ("INVALID_ARGUMENT", [field])


def test_without_facts_nothing_is_corroborated(google: Callable[..., Any]):
    """No corpus is searched: the score is 0."""
    reply = google(corroborator).corroborate_content(request(GOOD, facts=[]))
    assert (reply.corroboration_score, [list(claim.fact_indexes) for claim in reply.claims]) == (0, [[]])
