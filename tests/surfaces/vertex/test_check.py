"""Check grounding as Google's client sees it: requests, replies, limits, errors, policies, what is counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from google.api_core import exceptions
from surfaces.support import GOOD, GROUNDED, SECRET, UNGROUNDED
from surfaces.vertex.conftest import CHECKERS, checker, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.support import World

PLACE = "projects/p/locations/global/groundingConfigs"
PATH = f"/v1/{PLACE}/default_grounding_config:check"
FACTS = [
    {"fact_text": "London is the capital of UK.", "attributes": {"title": "Capitals", "URL": "https://a.example"}},
    {"fact_text": " "},
    {"fact_text": "Tokyo is the capital of Japan."},
]
BAD = "The capital of Japan is UNSUPPORTED."


def request(answer: str = GOOD, config: str = "default_grounding_config", **fields: Any) -> dict[str, Any]:
    """A request of the client's."""
    return {"grounding_config": f"{PLACE}/{config}", "answer_candidate": answer, "facts": FACTS, **fields}


def post(world: World, body: Any, policy: str = "default", path: str = PATH) -> Any:
    """A call without a client; ``body`` is an object, or bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return world.http.post(path, content=content, headers={"x-goog-api-key": f"key-{policy}"})


def error_of(response: Any) -> tuple[int, str, str]:
    """Status, Google's word for it and the message; fails for any other shape."""
    error = response.json()["error"]
    assert error.keys() - {"details"} == {"code", "message", "status"}
    assert error["code"] == response.status_code
    return error["code"], error["status"], error["message"]


@pytest.mark.parametrize("version", CHECKERS)
def test_each_version_checks(google: Callable[..., Any], world: World, version: str):
    """Claims with their bytes, what they cite and of which fact, and about the share that is supported."""
    answer = f"Größe! {GOOD} {BAD}"
    reply = google(checker, version=version).check_grounding(request(answer))
    claims = [claim for claim in reply.claims if claim.grounding_check_required]
    assert [answer.encode()[claim.start_pos : claim.end_pos].decode() for claim in claims[-2:]] == [GOOD, BAD]
    assert [claim.claim_text for claim in claims[-2:]] == [GOOD, BAD]
    good, bad = claims[-2:]
    chunks = [reply.cited_chunks[at] for at in good.citation_indices]
    assert {chunk.source for chunk in chunks} <= {"0", "2"}
    assert {chunk.chunk_text for chunk in chunks} <= {fact["fact_text"] for fact in FACTS}
    assert not bad.citation_indices
    assert getattr(good, "score", 0.0) == 0.0
    assert 0.3 < reply.support_score < 0.7
    assert world.upstream.requests == []


def test_a_cited_chunk_tells_what_its_fact_was_given(world: World):
    """Attributes come back as they were given, address and title where Google's shape has a place for them."""
    reply = post(world, {"answerCandidate": "London is the capital of UK.", "facts": FACTS}).json()
    cited = {chunk["source"]: chunk for chunk in reply["citedChunks"]}
    assert cited["0"] == {
        "chunkText": "London is the capital of UK.",
        "source": "0",
        "index": reply["citedChunks"].index(cited["0"]),
        "sourceMetadata": {"title": "Capitals", "URL": "https://a.example"},
        "uri": "https://a.example",
        "title": "Capitals",
    }
    assert reply["citedFacts"] == [{"chunkText": chunk["chunkText"]} for chunk in reply["citedChunks"]]


def test_scores_of_claims_come_when_asked_for(google: Callable[..., Any]):
    """And only for claims that were checked."""
    spec = {"enable_claim_level_score": True}
    reply = google(checker).check_grounding(request(f"Here is what I found. {GOOD} {BAD}", grounding_spec=spec))
    courtesy, good, bad = reply.claims
    assert (courtesy.grounding_check_required, "score" in courtesy, list(courtesy.citation_indices)) == (
        False,
        False,
        [],
    )
    assert (good.score, bad.score) == (pytest.approx(GROUNDED, abs=1e-4), pytest.approx(UNGROUNDED, abs=1e-4))


def test_the_support_score_is_about_the_share_of_supported_claims(world: World):
    """Whatever the claims' own scores are between the ends; a text that states nothing is wholly supported."""
    three_of_four = post(world, {"answerCandidate": f"{GOOD} {GOOD} {GOOD} {BAD}", "facts": FACTS}).json()
    assert three_of_four["supportScore"] == pytest.approx(0.75, abs=0.02)
    nothing = post(world, {"answerCandidate": "Here is what I found.", "facts": FACTS}).json()
    assert (nothing["supportScore"], nothing["claims"][0]["groundingCheckRequired"]) == (1, False)


def test_a_higher_threshold_cites_less(world: World):
    """The threshold concerns citations alone; the ends of its range are allowed."""
    replies = {
        threshold: post(
            world,
            {"answerCandidate": GOOD, "facts": FACTS, "groundingSpec": {"citationThreshold": threshold}},
        ).json()
        for threshold in (0, 0.6, "0.95", 1)
    }
    cited = [len(reply["citedChunks"]) for reply in replies.values()]
    assert cited[0] >= cited[1] > 0 == cited[2] == cited[3]
    assert len({reply["supportScore"] for reply in replies.values()}) == 1


@pytest.mark.parametrize(
    "body",
    [
        (
            b'{"answerCandidate": "%s", "facts": [{"factText": "a"}], "groundingSpec": {"citationThreshold": "0.6", '
            b'"enableClaimLevelScore": true,},}'
        ),
        (
            b'{"answer_candidate": "%s", "facts": [{"fact_text": "a", "attributes": null}], '
            b'"grounding_spec": {"citation_threshold": 6e-1, "enable_claim_level_score": "true"}, "user_labels": {}}'
        ),
    ],
)
def test_requests_may_be_written_as_google_reads_them(world: World, body: bytes):
    """Both spellings of names, numbers and booleans as strings, null, and the commas of Google's own examples."""
    reply = post(world, body % GOOD.encode())
    assert reply.status_code == 200
    assert reply.json()["claims"][0]["score"] == pytest.approx(GROUNDED, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"answer_candidate": ""}, "answer_candidate", "must be given"),
        ({"answer_candidate": " \n"}, "answer_candidate", "must be given"),
        ({"answer_candidate": "word " * 4097}, "answer_candidate", "at most 4096 tokens"),
        ({"facts": [{"fact_text": "a"}] * 201}, "facts", "at most 200; there are 201"),
        (
            {"facts": [{"fact_text": "a", "attributes": {f"k{at}": "v" for at in range(65)}}]},
            "facts[0].attributes",
            "at most 64; there are 65",
        ),
        ({"facts": [{"fact_text": "a"}, {"fact_text": "x" * 10_001}]}, "facts[1].fact_text", "10000 characters"),
        ({"grounding_spec": {"citation_threshold": 1.01}}, "grounding_spec.citation_threshold", "between 0 and 1"),
        ({"grounding_spec": {"citation_threshold": -0.1}}, "grounding_spec.citation_threshold", "between 0 and 1"),
        ({"user_labels": {f"k{n}": "" for n in range(65)}}, "user_labels", "at most 64"),
        ({"user_labels": {"Team": "a"}}, "user_labels", "lowercase"),
        ({"user_labels": {"team": "a" * 64}}, "user_labels", "63"),
        ({"user_labels": {"1st": "a"}}, "user_labels", "begins with a letter"),
    ],
)
def test_what_google_refuses_is_refused(google: Callable[..., Any], change: Any, field: str, says: str):
    """INVALID_ARGUMENT with the field's name, for the client's own exception."""
    with pytest.raises(exceptions.BadRequest, match=says) as raised:
        google(checker).check_grounding({**request(), **change})
    assert told(raised) == ("INVALID_ARGUMENT", [field])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"answerCandidate": SECRET, "answer_candidate": GOOD}, "answer_candidate"),
        ({"answerCandidate": 7}, "answer_candidate"),
        ({"facts": {"factText": SECRET}}, "facts"),
        ({"facts": [SECRET]}, "facts[0]"),
        ({"facts": [{"factText": [SECRET]}]}, "facts[0].fact_text"),
        ({"facts": [{"attributes": {"a": 1}}]}, "facts[0].attributes"),
        ({"facts": [{"factTxt": SECRET}]}, "facts[0]"),
        ({"groundingSpec": {"citationThreshold": "NaN"}}, "grounding_spec.citation_threshold"),
        ({"groundingSpec": {"citationThreshold": True}}, "grounding_spec.citation_threshold"),
        ({"groundingSpec": {"enableClaimLevelScore": 1}}, "grounding_spec.enable_claim_level_score"),
        ({"groundingSpec": {"enableClaimLevelScore": "yes"}}, "grounding_spec.enable_claim_level_score"),
        ({"unknownField": SECRET}, None),
    ],
)
def test_a_malformed_request_names_the_field_and_holds_no_text(world: World, change: Any, field: str | None):
    """In Google's words where it has some: an unknown name is said."""
    reply = post(world, {"answerCandidate": GOOD, "facts": FACTS, **change})
    code, status, message = error_of(reply)
    assert (code, status) == (400, "INVALID_ARGUMENT")
    [violation] = reply.json()["error"]["details"][0]["fieldViolations"]
    assert violation.get("field") == field
    assert SECRET not in reply.text
    if "unknownField" in change:
        assert message == 'Invalid JSON payload received. Unknown name "unknownField": Cannot find field.'


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"answerCandidate": "x" "y"}', b'{"a": ,}'])
def test_what_is_no_json_object_is_refused(world: World, body: bytes):
    """INVALID_ARGUMENT."""
    assert error_of(post(world, body))[:2] == (400, "INVALID_ARGUMENT")


def test_a_request_without_facts_supports_nothing(world: World):
    """As the policy says it is unchecked or blocked; the score is never a pass."""
    for policy, outcome in (("default", "unchecked"), ("missing", "blocked")):
        reply = post(world, {"answerCandidate": f"Here is what I found. {GOOD}"}, policy)
        assert (reply.status_code, reply.headers["x-groundwarden-outcome"]) == (200, outcome)
        body = reply.json()
        assert (body["supportScore"], body["citedChunks"]) == (0, [])
        assert [claim["groundingCheckRequired"] for claim in body["claims"]] == [False, True]


def test_a_grounding_config_is_a_policy(google: Callable[..., Any], world: World):
    """The default one is the tenant's own policy; another is a policy's name that the tenant may name."""
    assert google(checker).check_grounding(request(config="flags")).support_score > 0.9
    flagged = post(world, {"answerCandidate": BAD, "facts": FACTS}, path=f"/v1/{PLACE}/flags:check")
    assert flagged.headers["x-groundwarden-outcome"] == "flagged"
    assert flagged.headers["x-groundwarden-policy"].startswith("flags@")
    for config in ("missing", "nowhere"):
        with pytest.raises(exceptions.Forbidden, match=r"grounding config\. default_grounding_config is") as raised:
            google(checker).check_grounding(request(config=config))
        assert told(raised) == ("PERMISSION_DENIED", [])


def test_a_policy_that_does_not_check_grounding_gives_no_score(google: Callable[..., Any]):
    """FAILED_PRECONDITION: nothing passes for want of a check."""
    with pytest.raises(exceptions.BadRequest, match="does not check grounding") as raised:
        google(checker, "off").check_grounding(request())
    assert told(raised) == ("FAILED_PRECONDITION", [])


def test_a_policy_may_reject_what_is_too_long(google: Callable[..., Any]):
    """The policy's own limits, by the fields' names."""
    for change, field in (
        ({"facts": [{"fact_text": "x" * 101}]}, "facts"),
        ({"answer_candidate": "long " * 1001, "facts": []}, "answer_candidate"),
    ):
        with pytest.raises(exceptions.BadRequest, match="the policy allows") as raised:
            google(checker, "short").check_grounding({**request(), **change})
        assert told(raised) == ("INVALID_ARGUMENT", [field])


@pytest.mark.parametrize("policy", ["default", "forgiving"])
def test_what_cannot_be_scored_is_an_error(google: Callable[..., Any], world: World, policy: str):
    """UNAVAILABLE, whatever the policy lets pass elsewhere; it is counted and nothing of it leaks."""
    world.scorer.mood = "failing"
    before = world.metric("groundwarden_requests_total", surface="check_grounding", outcome="blocked")
    with pytest.raises(exceptions.ServiceUnavailable) as raised:
        google(checker, policy).check_grounding(request())
    assert told(raised) == ("UNAVAILABLE", [])
    assert SECRET not in raised.value.response.text
    assert world.metric("groundwarden_requests_total", surface="check_grounding", outcome="blocked") == before + 1


def test_a_full_queue_says_when_to_come_back(google: Callable[..., Any], world: World):
    """RESOURCE_EXHAUSTED with a RetryInfo, and the header that other clients read."""
    world.scorer.mood = "full"
    with pytest.raises(exceptions.TooManyRequests) as raised:
        google(checker).check_grounding(request(), retry=None)
    assert told(raised) == ("RESOURCE_EXHAUSTED", [])
    assert [detail["retryDelay"] for detail in raised.value.details] == ["3s"]
    assert post(world, {"answerCandidate": GOOD, "facts": FACTS}).headers["retry-after"] == "3"


def test_keys_are_asked_for(google: Callable[..., Any], world: World):
    """A wrong key, or none, is UNAUTHENTICATED; a bearer token counts as a key does."""
    with pytest.raises(exceptions.Unauthorized) as raised:
        google(checker, "nobody").check_grounding(request())
    assert told(raised) == ("UNAUTHENTICATED", [])
    body = {"answerCandidate": GOOD, "facts": FACTS}
    assert error_of(world.http.post(PATH, json=body))[:2] == (401, "UNAUTHENTICATED")
    bearer = world.http.post(PATH, json=body, headers={"authorization": "Bearer key-default"})
    assert bearer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"/v1/{PLACE}/default_grounding_config:generate"),
        ("GET", f"/v1/{PLACE}/default_grounding_config:check"),
        ("POST", "/v1beta1/projects/p/locations/l:retrieveContexts"),
    ],
)
def test_other_operations_are_said_to_be_elsewhere(world: World, method: str, path: str):
    """NOT_FOUND in Google's shape."""
    reply = world.http.request(method, path, headers={"x-goog-api-key": "key-default"})
    assert error_of(reply)[:2] == (404, "NOT_FOUND")


def test_a_body_that_is_too_large_is_refused(world: World):
    """As Google has it, by INVALID_ARGUMENT."""
    reply = post(world, b'{"answerCandidate": "' + b"x" * 1_000_001 + b'"}')
    assert error_of(reply)[:2] == (400, "INVALID_ARGUMENT")


def test_json_and_refusals_are_judged_as_they_stand(world: World):
    """A policy's rules for answers that pass by do not concern who asks for exactly this check."""
    reply = post(world, {"answerCandidate": '{"capital": "UNSUPPORTED"}', "facts": FACTS}).json()
    assert reply["supportScore"] < 0.1


def test_half_a_surrogate_pair_counts_three_bytes(world: World):
    """JSON can write one; nothing breaks."""
    body = b'{"answerCandidate": "\\ud800 is the capital. ' + GOOD.encode() + b'", "facts": [{"factText": "a"}]}'
    reply = post(world, body)
    assert reply.status_code == 200
    assert reply.json()["claims"][-1]["endPos"] == 3 + len(" is the capital. ") + len(GOOD)
