"""ApplyGuardrail, asked by boto3: what AWS's own client sends, and what it makes of our replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError
from serving import Serving, passes_through
from surfaces.bedrock.conftest import client_of
from surfaces.support import ASIDE, BAD, GOOD, QUERY, SECRET, SOURCE, MarkScorer, World, whole

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKED = "I can't answer that from the documents I have."
ARN = "arn:aws:bedrock:us-east-1:123456789012:guardrail/"


def text(words: str, *qualifiers: str) -> dict[str, Any]:
    """A content block."""
    return {"text": {"text": words, **({"qualifiers": list(qualifiers)} if qualifiers else {})}}


UNSHOWN = {"type": "GROUNDING", "threshold": 0.7, "score": 0.0, "action": "BLOCKED", "detected": True}
"""What tells a block that has no score: clients take no other intervention for a block."""

CONTEXT = [text(SOURCE, "grounding_source"), text(QUERY, "query")]


@pytest.fixture
def clients(bedrock: Callable[..., Any]) -> Callable[[str], Any]:
    """A boto3 client for each policy."""
    return bedrock


@pytest.fixture
def apply(clients: Callable[[str], Any]) -> Callable[..., Any]:
    """Ask for a judgement of content under a policy."""

    def ask(content: Any, policy: str = "default", **fields: Any) -> Any:
        given = {"guardrailIdentifier": policy, "guardrailVersion": "DRAFT", "source": "OUTPUT", **fields}
        return clients(policy).apply_guardrail(content=content, **given)

    return ask


def filters_of(reply: Any) -> dict[str, dict[str, Any]]:
    """The filters of a reply's one assessment, by type."""
    [assessment] = reply["assessments"]
    return {one["type"]: one for one in assessment.get("contextualGroundingPolicy", {}).get("filters", [])}


# --- verdicts -----------------------------------------------------------------------------------------------------


def test_a_good_answer(apply: Callable[..., Any]):
    """A supported, relevant answer gets action NONE, no outputs, and no filters, for none fired."""
    reply = apply([*CONTEXT, text(GOOD)])
    assert (reply["action"], reply["outputs"], filters_of(reply)) == ("NONE", [], {})
    headers = reply["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["x-groundwarden-outcome"], headers["x-groundwarden-grounding"]) == ("passed", "0.9124")


def test_full_scope_lists_the_filters_that_did_not_fire(apply: Callable[..., Any]):
    """With outputScope FULL both filters are there with score, threshold, action NONE and detected false."""
    assert filters_of(apply([*CONTEXT, text(GOOD, "guard_content")], outputScope="FULL")) == {
        "GROUNDING": {"type": "GROUNDING", "threshold": 0.7, "score": 0.9124, "action": "NONE", "detected": False},
        "RELEVANCE": {"type": "RELEVANCE", "threshold": 0.5, "score": 0.8123, "action": "NONE", "detected": False},
    }


@pytest.mark.parametrize(
    ("answer", "fired"), [(BAD, {"GROUNDING": 0.1234}), (ASIDE, {"RELEVANCE": 0.2222})], ids=["ungrounded", "aside"]
)
@pytest.mark.parametrize("scope", ["INTERVENTIONS", "FULL"])
def test_a_bad_answer_is_blocked(apply: Callable[..., Any], answer: str, fired: dict, scope: str):
    """The guardrail intervenes with the policy's message; the filter that fired is BLOCKED and detected."""
    reply = apply([*CONTEXT, text(answer)], outputScope=scope)
    assert (reply["action"], reply["outputs"]) == ("GUARDRAIL_INTERVENED", [{"text": BLOCKED}])
    filters = filters_of(reply)
    assert {kind: one["score"] for kind, one in filters.items() if one["action"] == "BLOCKED"} == fired
    assert {kind for kind, one in filters.items() if one["detected"]} == set(fired)
    assert len(filters) == (1 if scope == "INTERVENTIONS" else 2)
    assert reply["actionReason"].startswith("Guardrail blocked")


def test_a_flag_is_detected_and_not_blocked(apply: Callable[..., Any]):
    """Under action: flag the filter says detected with action NONE, and nothing intervenes."""
    reply = apply([*CONTEXT, text(BAD)], "flags")
    assert (reply["action"], reply["outputs"]) == ("NONE", [])
    assert (filters_of(reply)["GROUNDING"]["detected"], filters_of(reply)["GROUNDING"]["action"]) == (True, "NONE")


def test_the_message_is_the_policys(apply: Callable[..., Any]):
    """The blocked message arrives as the policy has it, whatever its characters."""
    assert apply([*CONTEXT, text(BAD)], "message")["outputs"] == [{"text": "Nein, heute nicht. 🙅"}]


def test_an_input_is_not_judged(world: World, apply: Callable[..., Any]):
    """For INPUT there is nothing to check: action NONE, no filters, no units, the scorer not asked."""
    reply = apply([*CONTEXT, text(BAD)], source="INPUT", outputScope="FULL")
    assert (reply["action"], filters_of(reply)) == ("NONE", {})
    assert reply["usage"]["contextualGroundingPolicyUnits"] == 0
    assert world.scorer.asked == []


def test_several_sources_and_queries_are_joined(world: World, apply: Callable[..., Any]):
    """All sources are used together, all queries make one, and all answer blocks are judged."""
    first, last = [text("S1.", "grounding_source"), text("Q1?", "query"), text(GOOD)], [text(BAD), text("Q2?", "query")]
    assert apply([*first, *CONTEXT, *last])["action"] == "GUARDRAIL_INTERVENED"
    sources = {pair.premise for pair in world.scorer.asked if pair.kind.value == "grounding"}
    queries = {pair.premise for pair in world.scorer.asked if pair.kind.value == "relevance"}
    assert (whole(sources), queries) == ({"S1.", SOURCE}, {f"Q1?\n{QUERY}\nQ2?"})


def test_guarded_blocks_hide_no_plain_ones(world: World, apply: Callable[..., Any]):
    """Blocks marked guard_content and blocks without a qualifier are both judged."""
    assert apply([*CONTEXT, text(GOOD), text(GOOD, "guard_content")])["action"] == "NONE"
    assert apply([*CONTEXT, text(BAD), text(GOOD, "guard_content")])["action"] == "GUARDRAIL_INTERVENED"
    assert apply([*CONTEXT, text(GOOD), text(BAD, "guard_content")])["action"] == "GUARDRAIL_INTERVENED"


def test_a_source_may_be_a_query_too(world: World, apply: Callable[..., Any]):
    """A block with both qualifiers is both, and guard_content beside them does not make it the answer."""
    apply([text(SOURCE, "grounding_source", "query", "guard_content"), text(GOOD)])
    assert whole({pair.premise for pair in world.scorer.asked}) == {SOURCE}
    assert {pair.hypothesis for pair in world.scorer.asked} == {GOOD}


def test_without_a_query_only_grounding_is_judged(apply: Callable[..., Any]):
    """A white query is none: there is no relevance filter, and no header."""
    reply = apply([CONTEXT[0], text(" ", "query"), text(ASIDE)], outputScope="FULL")
    assert set(filters_of(reply)) == {"GROUNDING"}
    assert "x-groundwarden-relevance" not in reply["ResponseMetadata"]["HTTPHeaders"]


IMAGE = {"image": {"format": "png", "source": {"bytes": b"png"}}}


@pytest.mark.parametrize(("policy", "action"), [("default", "GUARDRAIL_INTERVENED"), ("images-pass", "NONE")])
@pytest.mark.parametrize("answer", [[], [text(GOOD)]])
def test_pictures_cannot_be_judged(apply: Callable[..., Any], answer: list, policy: str, action: str):
    """Under on_uninspected.images a picture in an answer blocks or passes; it is counted, and not as guarded."""
    reply = apply([*CONTEXT, *answer, IMAGE, IMAGE], policy)
    assert (reply["action"], reply["guardrailCoverage"]["images"]) == (action, {"guarded": 0, "total": 2})
    assert apply([*CONTEXT, IMAGE], source="INPUT")["action"] == "NONE"


@pytest.mark.parametrize(("policy", "action"), [("default", "NONE"), ("missing", "GUARDRAIL_INTERVENED")])
@pytest.mark.parametrize("sources", [[], [text(" ", "grounding_source")]])
def test_a_missing_context(apply: Callable[..., Any], policy: str, action: str, sources: list):
    """Without a source, or with white ones, the policy's on_missing_context decides."""
    reply = apply([*sources, text(GOOD)], policy)
    assert reply["action"] == action
    assert filters_of(reply) == ({} if action == "NONE" else {"GROUNDING": UNSHOWN})
    outcome = reply["ResponseMetadata"]["HTTPHeaders"]["x-groundwarden-outcome"]
    assert outcome == ("unchecked" if action == "NONE" else "blocked")


# --- the rest of the reply ----------------------------------------------------------------------------------------

UNITS = ("topicPolicy", "contentPolicy", "wordPolicy", "sensitiveInformationPolicy", "sensitiveInformationPolicyFree")


@pytest.mark.parametrize(("length", "units"), [(1, 1), (1000, 1), (1001, 2), (2500, 3)])
def test_usage_counts_units_of_a_thousand_characters(apply: Callable[..., Any], length: int, units: int):
    """All text counts, in units of up to 1,000 characters; the other policies' units are 0."""
    usage = apply([text("s" * (length - 1), "grounding_source"), text("a")] if length > 1 else [text("a")])["usage"]
    assert usage["contextualGroundingPolicyUnits"] == (units if length > 1 else 0)
    assert [usage[f"{name}Units"] for name in UNITS] == [0] * 5


def test_coverage_counts_characters(apply: Callable[..., Any]):
    """Guarded are the answer's characters, total those of all blocks; the assessment repeats them with the latency."""
    reply = apply([text("ss", "grounding_source"), text("qqq", "query"), text("a 🙂"), text("b")])
    assert reply["guardrailCoverage"] == {"textCharacters": {"guarded": 4, "total": 9}}
    metrics = reply["assessments"][0]["invocationMetrics"]
    assert (metrics["guardrailCoverage"], metrics["usage"]) == (reply["guardrailCoverage"], reply["usage"])
    assert isinstance(metrics["guardrailProcessingLatency"], int)


def test_only_answer_blocks_can_be_guarded(apply: Callable[..., Any]):
    """Guarded characters never exceed the total, however many blocks the answer has."""
    assert apply([text("a"), text("b"), text("c")])["guardrailCoverage"]["textCharacters"] == {"guarded": 3, "total": 3}


# --- which guardrail ----------------------------------------------------------------------------------------------


def test_a_guardrail_is_named_with_its_version_or_draft(apply: Callable[..., Any]):
    """The version told in a reply, and DRAFT, name the policy; the details say which it was."""
    details = apply([*CONTEXT, text(GOOD)])["assessments"][0]["appliedGuardrailDetails"]
    assert (details["guardrailId"], details["guardrailOwnership"]) == ("default", "SELF")
    again = apply([*CONTEXT, text(GOOD)], guardrailVersion=details["guardrailVersion"])
    assert again["assessments"][0]["appliedGuardrailDetails"] == details


def test_a_guardrail_may_be_named_by_arn(apply: Callable[..., Any]):
    """An ARN, whose slash boto3 encodes, names the policy at its end."""
    assert apply([*CONTEXT, text(GOOD)], guardrailIdentifier=f"{ARN}default")["action"] == "NONE"


def test_a_tenant_may_name_the_policies_listed_for_it(apply: Callable[..., Any]):
    """Another policy that is listed for the tenant applies when named."""
    assert apply([*CONTEXT, text(BAD)], guardrailIdentifier="flags")["action"] == "NONE"


@pytest.mark.parametrize("version", ["1", "00000000", "draft", "DRAFT "])
def test_another_version_is_not_found(apply: Callable[..., Any], version: str):
    """A version that is neither DRAFT nor the present one raises ResourceNotFoundException."""
    with pytest.raises(ClientError, match="no such version") as caught:
        apply([*CONTEXT, text(GOOD)], guardrailVersion=version)
    assert type(caught.value).__name__ == "ResourceNotFoundException"


@pytest.mark.parametrize("name", ["missing", "absent", f"{ARN}missing", "../default", "default/x", "x" * 2048])
def test_others_guardrails_are_denied(clients: Callable[[str], Any], apply: Callable[..., Any], name: str):
    """Another tenant's policy, and one that does not exist, raise AccessDeniedException in the same words."""
    with pytest.raises(clients("default").exceptions.AccessDeniedException) as caught:
        apply([*CONTEXT, text(GOOD)], guardrailIdentifier=name)
    assert caught.value.response["Error"]["Message"] == (
        "You don't have access to this guardrail. Here a guardrail's identifier is the name of a policy."
    )
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_an_unknown_key_is_denied(world: World, clients: Callable[[str], Any]):
    """An unknown bearer token raises AccessDeniedException and is not repeated."""
    with pytest.raises(clients("nobody").exceptions.AccessDeniedException) as caught:
        clients("nobody").apply_guardrail(
            guardrailIdentifier="default", guardrailVersion="DRAFT", source="OUTPUT", content=[text(GOOD)]
        )
    assert "key-nobody" not in repr(caught.value.response)


def test_dummy_credentials_do_without_tenants(tmp_path_factory: pytest.TempPathFactory):
    """Without tenants boto3's signed requests are answered, whatever they are signed with; only default exists."""
    folder = tmp_path_factory.mktemp("single")
    config = {"model_list": passes_through("http://127.0.0.1:9", "m")}
    policies = {"default": {"description": "x"}, "other": {"description": "y"}}
    with Serving(folder, config, policies=policies, scorer=MarkScorer()) as serving:
        client = client_of(serving.url, aws_access_key_id="dummy", aws_secret_access_key="dummy")
        ask = {"guardrailVersion": "DRAFT", "source": "OUTPUT", "content": [*CONTEXT, text(BAD)]}
        assert client.apply_guardrail(guardrailIdentifier="default", **ask)["action"] == "GUARDRAIL_INTERVENED"
        with pytest.raises(client.exceptions.AccessDeniedException):
            client.apply_guardrail(guardrailIdentifier="other", **ask)
        client.close()


# --- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "action", "outcome"), [("default", "GUARDRAIL_INTERVENED", "blocked"), ("forgiving", "NONE", "unscored")]
)
def test_a_failing_scorer(world: World, apply: Callable[..., Any], policy: str, action: str, outcome: str):
    """When scoring fails, on_scorer_error decides; nothing of the failure's own words is told."""
    world.scorer.mood = "failing"
    reply = apply([*CONTEXT, text(GOOD)], policy)
    assert (reply["action"], reply["ResponseMetadata"]["HTTPHeaders"]["x-groundwarden-outcome"]) == (action, outcome)
    assert filters_of(reply) == ({} if action == "NONE" else {"GROUNDING": UNSHOWN})
    assert SECRET not in repr(reply)


def test_a_full_queue_throttles(world: World, clients: Callable[[str], Any], apply: Callable[..., Any]):
    """A full queue raises ThrottlingException with status 429 and Retry-After."""
    world.scorer.mood = "full"
    with pytest.raises(clients("default").exceptions.ThrottlingException) as caught:
        apply([*CONTEXT, text(GOOD)])
    metadata = caught.value.response["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["HTTPHeaders"]["retry-after"]) == (429, "3")


def test_a_context_over_the_limit(clients: Callable[[str], Any], apply: Callable[..., Any]):
    """Under limits.on_exceed: reject a longer source raises ValidationException."""
    with pytest.raises(clients("short").exceptions.ValidationException, match="101 characters"):
        apply([text("x" * 101, "grounding_source"), text(GOOD)], "short")


# --- bad requests, which boto3 itself would not send --------------------------------------------------------------


def _raw(world: World, body: Any, identifier: str = "default", version: str = "DRAFT", **headers: str) -> Any:
    path = f"/guardrail/{quote(identifier, safe='')}/version/{version}/apply"
    return world.post(body, path=path, **headers)


OK: dict[str, Any] = {"source": "OUTPUT", "content": [text(GOOD)]}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "JSON"),
        (b"[]", "object"),
        (b"[" * 100_000, ""),
        ({"content": [text(SECRET)]}, "source"),
        ({**OK, "source": "output"}, "source"),
        ({**OK, "source": ["OUTPUT"]}, "source"),
        ({**OK, "outputScope": "ALL"}, "outputScope"),
        ({**OK, "outputScope": {}}, "outputScope"),
        ({**OK, "content": None}, "content"),
        ({**OK, "content": []}, "content"),
        ({**OK, "content": text(SECRET)}, "content"),
        ({**OK, "content": [text(GOOD), SECRET]}, "content[1]"),
        ({**OK, "odd": 1}, "odd"),
        ({**OK, "content": [{}]}, "content[0] must hold exactly one of text, image"),
        ({**OK, "content": [{"text": SECRET}]}, "content[0].text must be an object"),
        ({**OK, "content": [{"text": {"text": SECRET, "odd": 1}}]}, "content[0].text.odd"),
        ({**OK, "content": [text(None)]}, "content[0].text.text"),
        ({**OK, "content": [text(SECRET, "source")]}, "content[0].text.qualifiers"),
        ({**OK, "content": [{"text": {"text": SECRET, "qualifiers": "query"}}]}, "content[0].text.qualifiers"),
        ({**OK, "content": [{"text": {"text": SECRET, "qualifiers": [["query"]]}}]}, "content[0].text.qualifiers"),
        ({**OK, "content": [{"image": {"format": "gif", "source": {"bytes": "AA=="}}}]}, "content[0].image.format"),
        ({**OK, "content": [{"image": {"format": "png", "source": {"bytes": "?"}}}]}, "content[0].image.source.bytes"),
    ],
)
def test_bad_content_is_a_validation_error(world: World, body: Any, named: str):
    """A malformed request is a ValidationException in AWS's shape that names the field and quotes nothing."""
    reply = _raw(world, body)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert list(reply.json()) == ["message"]
    assert named in reply.json()["message"]
    assert SECRET not in reply.text


def test_a_body_over_the_limit_is_a_validation_error(world: World):
    """A body that is too long is refused with a 4xx that botocore can read."""
    reply = _raw(world, json.dumps({**OK, "odd": "x" * 1_000_000}).encode())
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException")


@pytest.mark.parametrize("identifier", ["%", " ", "é", "a" * 5000, "a/version/1/apply"])
def test_odd_identifiers_are_denied_or_not_found(world: World, identifier: str):
    """No identifier, however odd, finds a guardrail or breaks the server."""
    assert _raw(world, OK, identifier=identifier).status_code in {403, 404}


@pytest.mark.parametrize("identifier", ["", ARN])
def test_without_a_name_the_tenants_own_applies(world: World, identifier: str):
    """A path that names no guardrail is judged under the tenant's own policy."""
    reply = world.post(OK, "message", path=f"/guardrail/{quote(identifier, safe='')}/version/DRAFT/apply")
    assert reply.headers["x-groundwarden-policy"].startswith("message@")


def test_one_request_is_counted_once(world: World, apply: Callable[..., Any]):
    """A judgement shows in the metrics under its own surface and tenant."""
    labels = {"surface": "apply_guardrail", "tenant": "default", "policy": "default", "outcome": "blocked"}
    before = world.metric("groundwarden_requests_total", **labels)
    apply([*CONTEXT, text(BAD)])
    assert world.metric("groundwarden_requests_total", **labels) == before + 1
