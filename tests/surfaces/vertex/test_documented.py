"""Google's documented examples of check grounding, through its own client, judged by the scorer that ships.

Facts, answers and what is expected are those of the page "Check grounding with RAG" (Vertex AI Search).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from serving import Serving, passes_through
from surfaces.vertex.conftest import checker

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = "projects/p/locations/global/groundingConfigs/default_grounding_config"
MOVIE = (
    "Titanic is a 1997 American epic romantic disaster movie. It was directed, written, and co-produced by James "
    "Cameron. The movie is about the 1912 sinking of the RMS Titanic. It stars Kate Winslet and Leonardo DiCaprio. The "
    "movie was released on December 19, 1997. It received positive critical reviews. The movie won 11 Academy Awards, "
    "and was nominated for fourteen total Academy Awards."
)
REVIEW = (
    'James Cameron\'s "Titanic" is an epic, action-packed romance set against the ill-fated maiden voyage of the '
    "R.M.S. Titanic; the pride and joy of the White Star Line and, at the time, the largest moving object ever built. "
    'She was the most luxurious liner of her era -- the "ship of dreams" -- which ultimately carried over 1,500 people '
    "to their death in the ice cold waters of the North Atlantic in the early hours of April 15, 1912."
)
FACTS = (MOVIE, REVIEW)
AUTHORS = ("Simple Wikipedia", "Rotten Tomatoes")
FOUND, DIRECTED = "Here is what I found.", "Titanic was directed by James Cameron."
RELEASED, SUNK = (
    "It was released in 1997.",
    ("It was based on the sinking of the RMS Titanic that led to the death of 1500 people."),
)
PITT, STARRED = "It starred Brad Pitt and Kate Winslet", "It starred Kate Winslet and Leonardo DiCaprio."

# Each claim with the facts that it cites, None where it needs no check. The page cites fact 1 for the release in 1997,
# which stands in fact 0 alone.
EXAMPLES = [
    (0.99, {FOUND: None, DIRECTED: ["0"]}),
    (0.99, {DIRECTED: ["0"], RELEASED: ["0"]}),
    (0.95, {DIRECTED: ["0"], SUNK: ["1"]}),
    (0.54, {DIRECTED: ["0"], PITT: []}),
    (0.99, {FOUND: None, DIRECTED: ["0"], STARRED: ["0"]}),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The client before a server with its own scorer and no tenants."""
    config = {"model_list": passes_through("http://127.0.0.1:9", "m")}
    with Serving(tmp_path_factory.mktemp("documented"), config, policies={"default": {}}) as serving:
        made = checker(serving.url)
        yield made
        made.transport.close()


def check(client: Any, answer: str, facts: Any, **spec: Any) -> Any:
    """The reply to one call, with claim-level scores."""
    request = {
        "grounding_config": CONFIG,
        "answer_candidate": answer,
        "facts": facts,
        "grounding_spec": {"enable_claim_level_score": True, **spec},
    }
    return client.check_grounding(request)


@pytest.mark.parametrize("entity", [False, True], ids=["plain", "as in Google's curl"])
@pytest.mark.parametrize(("support", "claims"), EXAMPLES)
def test_the_documented_examples_come_out_as_documented(client: Any, support: float, claims: Any, entity: bool):
    """The same claims, citations and need of a check, and a support score within 0.15 of the documented one."""
    texts = [text.replace("Cameron's", "Cameron&#39;s") if entity else text for text in FACTS]
    facts = [{"fact_text": text, "attributes": {"author": by}} for text, by in zip(texts, AUTHORS, strict=True)]
    reply = check(client, " ".join(claims), facts, citation_threshold=0.6)
    cited = {
        claim.claim_text: [reply.cited_chunks[at].source for at in claim.citation_indices]
        if claim.grounding_check_required
        else None
        for claim in reply.claims
    }
    assert cited == claims
    assert reply.support_score == pytest.approx(support, abs=0.15)
    for chunk in reply.cited_chunks:
        assert chunk.chunk_text in texts[int(chunk.source)]
        assert chunk.source_metadata == {"author": AUTHORS[int(chunk.source)]}
    answer = " ".join(claims).encode()
    assert [answer[claim.start_pos : claim.end_pos].decode() for claim in reply.claims] == list(claims)


def test_a_claim_that_is_partly_true_is_not_grounded(client: Any):
    """The page's other example: the founders are right, the year is not."""
    facts = [{"fact_text": "Google was founded in 1998 by Larry Page and Sergey Brin."}]
    reply = check(client, "Google was founded by Larry Page and Sergey Brin in 1975", facts)
    assert (list(reply.cited_chunks), list(reply.claims[0].citation_indices)) == ([], [])
    assert reply.support_score < 0.5


def test_an_attribute_supports_a_claim(client: Any):
    """Whoever is said to say it must be the fact's author; the page's example."""
    facts = [{"fact_text": "Toronto is the capital of Ontario", "attributes": {"author": "Wikipedia"}}]
    claims = (
        "Wikipedia cites that Toronto is the capital of Ontario",
        "Toronto is the capital of Ontario",
        "Government of Ontario claims that Toronto is the capital of Ontario",
    )
    replies = [check(client, claim, facts) for claim in claims]
    scores = [reply.claims[0].score for reply in replies]
    assert [bool(reply.claims[0].citation_indices) for reply in replies] == [True, True, False]
    assert min(scores[:2]) > 0.7
    assert scores[2] < 0.6


def test_every_window_of_a_long_fact_has_its_attributes(client: Any):
    """What is said of a fact is said of its last sentence too, and of no other fact."""
    filler = "The city keeps several parks along the lake, and each of them has its own garden. " * 60
    facts = [
        {"fact_text": f"{filler}Toronto is the capital of Ontario.", "attributes": {"author": "Wikipedia"}},
        {"fact_text": "Ottawa is the capital of Canada.", "attributes": {"author": "Britannica"}},
    ]
    said = check(client, "Wikipedia says that Toronto is the capital of Ontario.", facts).claims[0]
    other = check(client, "Britannica says that Toronto is the capital of Ontario.", facts).claims[0]
    assert said.score > 0.8
    assert other.score < 0.7
