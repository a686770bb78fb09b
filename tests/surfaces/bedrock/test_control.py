"""The control plane, asked by boto3's ``bedrock`` client: policies are read as guardrails, and not written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from surfaces.bedrock.test_converse import BLOCKED

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.support import World

ARN = "arn:aws:bedrock:local:000000000000:guardrail/"


@pytest.fixture
def control(bedrock: Callable[..., Any]) -> Any:
    """The ``bedrock`` client of the tenant ``default``."""
    return bedrock("default", "bedrock")


def test_a_tenant_lists_the_guardrails_it_may_use(control: Any):
    """Its own policy and those listed for it, as DRAFT, with their descriptions; others' do not show."""
    told = control.list_guardrails()["guardrails"]
    assert [one["id"] for one in told] == ["default", "flags", "message"]
    assert {one["version"] for one in told} == {"DRAFT"}
    assert {one["status"] for one in told} == {"READY"}
    assert [one.get("description") for one in told] == ["the defaults", None, None]
    assert told[0]["arn"] == ARN + "default"
    assert abs(told[0]["createdAt"] - datetime.now(UTC)).total_seconds() < 3600


@pytest.mark.parametrize("identifier", ["flags", f"{ARN}flags"])
def test_one_guardrails_versions_are_listed(control: Any, identifier: str):
    """Named by id or ARN: DRAFT and the present version."""
    told = control.list_guardrails(guardrailIdentifier=identifier)["guardrails"]
    assert [one["id"] for one in told] == ["flags", "flags"]
    assert told[0]["version"] == "DRAFT"
    assert len(told[1]["version"]) == 8


def test_lists_come_in_pages(control: Any):
    """boto3's own paginator reads all pages."""
    pages = list(control.get_paginator("list_guardrails").paginate(PaginationConfig={"PageSize": 2}))
    assert [[one["id"] for one in page["guardrails"]] for page in pages] == [["default", "flags"], ["message"]]


@pytest.mark.parametrize("identifier", ["flags", f"{ARN}flags"])
def test_a_guardrail_is_its_policy(control: Any, identifier: str):
    """The policy's rules are contextual grounding filters, flag is NONE, its message both messages."""
    told = control.get_guardrail(guardrailIdentifier=identifier)
    assert (told["name"], told["guardrailId"], told["guardrailArn"]) == ("flags", "flags", f"{ARN}flags")
    assert (told["version"], told["status"]) == ("DRAFT", "READY")
    assert told["blockedOutputsMessaging"] == told["blockedInputMessaging"] == BLOCKED
    assert told["contextualGroundingPolicy"]["filters"] == [
        {"type": "GROUNDING", "threshold": 0.7, "action": "NONE", "enabled": True},
        {"type": "RELEVANCE", "threshold": 0.5, "action": "BLOCK", "enabled": True},
    ]


def test_a_version_may_be_named(control: Any):
    """The version that a list tells can be got, and used; another is not found."""
    version = control.list_guardrails(guardrailIdentifier="default")["guardrails"][1]["version"]
    assert control.get_guardrail(guardrailIdentifier="default", guardrailVersion=version)["version"] == version
    with pytest.raises(control.exceptions.ResourceNotFoundException, match="no such version"):
        control.get_guardrail(guardrailIdentifier="default", guardrailVersion="7")


@pytest.mark.parametrize("name", ["missing", "absent", f"{ARN}missing"])
def test_others_guardrails_are_not_found(control: Any, name: str):
    """Another tenant's policy and one that does not exist are not found, in the same words."""
    messages = set()
    for ask in (control.get_guardrail, control.list_guardrails):
        with pytest.raises(control.exceptions.ResourceNotFoundException) as caught:
            ask(guardrailIdentifier=name)
        messages.add(caught.value.response["Error"]["Message"])
    assert messages == {"There is no such guardrail, or you don't have access to it."}


MESSAGES = {"blockedInputMessaging": "no", "blockedOutputsMessaging": "no"}


@pytest.mark.parametrize(
    ("operation", "given", "file"),
    [
        ("create_guardrail", {"name": "new", **MESSAGES}, "a file"),
        ("update_guardrail", {"guardrailIdentifier": "flags", "name": "flags", **MESSAGES}, "flags.yaml"),
        ("create_guardrail_version", {"guardrailIdentifier": f"{ARN}flags"}, "flags.yaml"),
        ("delete_guardrail", {"guardrailIdentifier": "default"}, "default.yaml"),
        ("delete_guardrail", {"guardrailIdentifier": "missing"}, "a file"),
    ],
)
def test_writing_is_refused_and_names_the_file(control: Any, operation: str, given: dict[str, Any], file: str):
    """Each write raises AccessDeniedException, and says which policy file to edit, if it is the caller's to know."""
    with pytest.raises(control.exceptions.AccessDeniedException, match=f"edit {file} in") as caught:
        getattr(control, operation)(**given)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


@pytest.mark.parametrize(
    ("service", "operation", "given"),
    [
        ("bedrock", "list_foundation_models", {}),
        ("bedrock-runtime", "count_tokens", {"modelId": "m", "input": {"converse": {"messages": []}}}),
        ("bedrock-runtime", "list_async_invokes", {}),
    ],
)
def test_an_operation_that_is_not_here_says_what_is(
    bedrock: Callable[..., Any], service: str, operation: str, given: dict[str, Any]
):
    """It raises AWS's own error for unknown operations, with words that boto3 shows."""
    with pytest.raises(ClientError, match=r"Unknown path: .* this server has ApplyGuardrail, Converse") as caught:
        getattr(bedrock("default", service), operation)(**given)
    assert caught.value.response["Error"]["Code"] == "UnknownOperationException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_a_wrong_method_is_told_to_an_sdk_in_its_shape(world: World):
    """What only another SDK of AWS's would send is told likewise, with the methods that there are."""
    reply = world.http.get("/model/m/converse", headers={"amz-sdk-invocation-id": "1"})
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    assert reply.headers["x-amzn-errortype"] == "UnknownOperationException"
    assert reply.json()["message"].startswith("Wrong method: GET /model/m/converse. Of Bedrock's operations")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("maxResults=0", "maxResults"),
        ("maxResults=x", "maxResults"),
        (f"maxResults=000000001{'0' * 5000}", "maxResults"),
        (f"nextToken=000000001{'0' * 5000}", "nextToken"),
        ("nextToken=9", "nextToken"),
        ("nextToken=-1", "nextToken"),
    ],
)
def test_a_wrong_page_names_the_field(world: World, query: str, named: str):
    """What boto3 itself would not send is a ValidationException."""
    reply = world.http.get(f"/guardrails?{query}", headers={"authorization": "Bearer key-default"})
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert named in reply.json()["message"]


def test_an_unknown_key_is_denied(bedrock: Callable[..., Any]):
    """Without a known key nothing is told."""
    with pytest.raises(ClientError) as caught:
        bedrock("nobody", "bedrock").list_guardrails()
    assert type(caught.value).__name__ == "AccessDeniedException"
