"""AWS's signatures: what boto3 signs is let in, and nothing else that looks like it."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from surfaces.bedrock.conftest import KEY, OTHER, OTHERS_SECRET, SECRET
from surfaces.bedrock.test_converse import ASK, BLOCKED, MODEL
from surfaces.support import BAD, GOOD, answer, says, spells, streams

if TYPE_CHECKING:
    from surfaces.bedrock.conftest import Place


def signed(
    url: str,
    body: bytes,
    *,
    method: str = "POST",
    key: str = KEY,
    secret: str = SECRET,
    service: str = "bedrock",
    region: str = "us-east-1",
    at: datetime | None = None,
    **headers: str,
) -> dict[str, str]:
    """The headers of a request signed by botocore, at another time if need be."""
    request = AWSRequest(method=method, url=url, data=body, headers={"content-type": "application/json", **headers})
    request.headers["Host"] = httpx.URL(url).netloc.decode()
    auth = SigV4Auth(Credentials(key, secret), service, region)
    request.context["timestamp"] = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    auth._inject_signature_to_request(request, signature)
    return dict(request.headers.items())


def apply_url(place: Place, identifier: str = "default") -> str:
    """Where ApplyGuardrail is."""
    return f"{place.url}/guardrail/{identifier}/version/DRAFT/apply"


BODY = json.dumps({"source": "OUTPUT", "content": [{"text": {"text": GOOD}}]}).encode()


# --- what is let in -----------------------------------------------------------------------------------------------


def test_boto3s_requests_are_their_tenants(place: Place):
    """Every operation signs, ids with colons, slashes and queries among them; the policy is the tenant's."""
    acme, beta = place.client(), place.client(OTHER, OTHERS_SECRET)
    for client, told in ((acme, BLOCKED), (beta, BAD)):
        place.upstream.replies.append(says(answer(BAD)))
        reply = client.converse(modelId=MODEL, messages=[ASK])
        assert reply["output"]["message"]["content"] == [{"text": told}]
    arn = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{MODEL}"
    place.upstream.replies.append(streams(*spells(GOOD)))
    events = list(acme.converse_stream(modelId=arn, messages=[ASK])["stream"])
    assert events[-2] == {"messageStop": {"stopReason": "end_turn"}}
    place.upstream.replies.append(says(answer(GOOD)))
    body = json.dumps({"prompt": "Tōkyō?", "max_gen_len": 5})
    given = {"guardrailIdentifier": "flags", "guardrailVersion": "DRAFT", "contentType": "application/json"}
    assert GOOD.encode() in acme.invoke_model(modelId="meta.llama3-8b", body=body, **given)["body"].read()
    identifier = "arn:aws:bedrock:local:000000000000:guardrail/flags"
    content = [{"text": {"text": GOOD}}]
    named = {"guardrailIdentifier": identifier, "guardrailVersion": "DRAFT"}
    assert acme.apply_guardrail(**named, source="OUTPUT", content=content)["action"] == "NONE"
    control = place.client(service="bedrock")
    assert [one["id"] for one in control.list_guardrails(maxResults=1)["guardrails"]] == ["default"]
    assert control.get_guardrail(**named)["name"] == "flags"


def test_a_key_still_does(place: Place):
    """A tenant with a key needs no signature."""
    reply = httpx.post(apply_url(place), content=BODY, headers={"authorization": "Bearer gamma-key"})
    assert reply.status_code == 200


@pytest.mark.parametrize("seconds", [-290, 0, 290])
def test_clocks_may_differ_by_five_minutes(place: Place, seconds: int):
    """A request signed a little early or late is let in."""
    url, at = apply_url(place), datetime.now(UTC) + timedelta(seconds=seconds)
    assert httpx.post(url, content=BODY, headers=signed(url, BODY, at=at)).status_code == 200


def test_a_load_balancers_header_need_not_be_signed(place: Place):
    """What is added on the way, x-amzn-trace-id, does not break a signature."""
    url = apply_url(place)
    headers = {**signed(url, BODY), "x-amzn-trace-id": "Root=1-2"}
    assert httpx.post(url, content=BODY, headers=headers).status_code == 200


def test_a_true_hash_of_the_body_may_be_told(place: Place):
    """x-amz-content-sha256, as other SDKs send it, is let in when it is the body's."""
    url = apply_url(place)
    told = {"X-Amz-Content-SHA256": hashlib.sha256(BODY).hexdigest()}
    assert httpx.post(url, content=BODY, headers=signed(url, BODY, **told)).status_code == 200


# --- what is not --------------------------------------------------------------------------------------------------


def _denied(reply: httpx.Response, words: str) -> None:
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (403, "AccessDeniedException"), reply.text
    assert list(reply.json()) == ["message"]
    assert words in reply.json()["message"]
    assert SECRET not in reply.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"secret": "wrong"}, "does not match"),
        ({"secret": OTHERS_SECRET}, "does not match"),
        ({"key": OTHER}, "does not match"),
        ({"key": "AKIANOBODY"}, "security token"),
        ({"service": "s3"}, "scoped to the service bedrock"),
        ({"method": "PUT"}, "does not match"),
        ({"at": datetime.now(UTC) - timedelta(seconds=330)}, "Signature expired"),
        ({"at": datetime.now(UTC) + timedelta(hours=1)}, "not yet valid"),
        ({"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}, "not the hash"),
        ({"X-Amz-Content-SHA256": hashlib.sha256(b"{}").hexdigest()}, "not the hash"),
    ],
)
def test_a_wrong_signature_is_denied(place: Place, given: dict[str, Any], words: str):
    """Another secret, key, service, method or time, and an unsigned body, are AccessDeniedException, 403."""
    url = apply_url(place)
    _denied(httpx.post(url, content=BODY, headers=signed(url, BODY, **given)), words)


def test_nothing_signed_can_be_changed(place: Place):
    """Another body, path, query, host or header than was signed is denied."""
    url = apply_url(place)
    headers = signed(url, BODY, **{"x-amzn-bedrock-trace": "DISABLED"})
    _denied(httpx.post(url, content=BODY + b" ", headers=headers), "does not match")
    _denied(httpx.post(apply_url(place, "flags"), content=BODY, headers=headers), "does not match")
    _denied(httpx.post(f"{url}?a=b", content=BODY, headers=headers), "does not match")
    _denied(httpx.post(url, content=BODY, headers={**headers, "Host": "elsewhere"}), "does not match")
    _denied(httpx.post(url, content=BODY, headers={**headers, "x-amzn-bedrock-trace": "ENABLED"}), "does not match")
    assert httpx.post(url, content=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize("name", ["x-amzn-bedrock-guardrailidentifier", "x-amz-security-token"])
def test_headers_that_count_must_be_signed(place: Place, name: str):
    """A header that somebody on the way has added is denied, and named."""
    url = apply_url(place)
    _denied(httpx.post(url, content=BODY, headers={**signed(url, BODY), name: "flags"}), name)


def test_a_session_token_is_denied(place: Place):
    """A signed token of AWS's is none of ours: who sends one is told to leave it out."""
    url = apply_url(place)
    _denied(httpx.post(url, content=BODY, headers=signed(url, BODY, **{"x-amz-security-token": "t"})), "session token")
    client = place.client(aws_session_token="t")
    with pytest.raises(client.exceptions.AccessDeniedException, match="AWS_SESSION_TOKEN"):
        client.apply_guardrail(
            guardrailIdentifier="default", guardrailVersion="DRAFT", source="OUTPUT", content=[{"text": {"text": GOOD}}]
        )


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer gamma-key"}])
def test_a_presigned_address_is_denied(place: Place, headers: dict[str, str]):
    """A signature in the address, as botocore makes it, is not taken, whatever else says who calls."""
    request = AWSRequest(method="POST", url=apply_url(place), data=BODY)
    SigV4QueryAuth(Credentials(KEY, SECRET), "bedrock", "us-east-1").add_auth(request)
    assert "X-Amz-Signature=" in request.url
    _denied(httpx.post(request.url, content=BODY, headers=headers), "Presigned")


@pytest.mark.parametrize("region", ["eu-central-1", "us-gov-west-1", "local"])
def test_any_region_does(place: Place, region: str):
    """There are no regions here: whichever the caller's SDK has is let in."""
    url = apply_url(place)
    assert httpx.post(url, content=BODY, headers=signed(url, BODY, region=region)).status_code == 200


@pytest.mark.parametrize("day", ["20200101", "20991231"])
def test_a_credential_of_another_day_is_denied(place: Place, day: str):
    """The credential's day must be that of x-amz-date."""
    url = apply_url(place)
    headers = signed(url, BODY)
    headers["Authorization"] = re.sub(r"/\d{8}/", f"/{day}/", headers["Authorization"])
    _denied(httpx.post(url, content=BODY, headers=headers), "Signature expired")


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.replace("host;", ""),
        lambda value: value.replace("Signature=", "Signature=0"),
        lambda value: value.replace("aws4_request", "aws4"),
        lambda value: value.replace("SignedHeaders=", "Signed="),
        lambda value: value.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256-PAYLOAD"),
        lambda value: value.partition(",")[0],
        lambda _: "AWS4-HMAC-SHA256",
        lambda value: value[:-1] + ("0" if value[-1] != "0" else "1"),
        lambda value: value.replace("Credential=", "Credential=" + "A" * 9000),
    ],
)
def test_a_malformed_signature_is_denied(place: Place, change: Any):
    """Whatever is not a whole signature is denied, and breaks nothing."""
    url = apply_url(place)
    headers = signed(url, BODY)
    headers["Authorization"] = change(headers["Authorization"])
    reply = httpx.post(url, content=BODY, headers=headers)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (403, "AccessDeniedException")


@pytest.mark.parametrize("date", ["", "yesterday", "2026-01-02T03:04:05Z", "20260102T030405"])
def test_a_date_that_is_none_is_denied(place: Place, date: str):
    """A time in another form is denied."""
    url = apply_url(place)
    headers = {**signed(url, BODY), "X-Amz-Date": date}
    _denied(httpx.post(url, content=BODY, headers=headers), "x-amz-date")


def test_an_unsigned_request_is_denied(place: Place):
    """Without a key or a signature a request is denied, and so is an unknown key."""
    _denied(httpx.post(apply_url(place), content=BODY), "API key")
    _denied(httpx.post(apply_url(place), content=BODY, headers={"authorization": "Bearer nobody"}), "API key")


def test_a_wrong_signature_is_denied_before_the_body_is_read(place: Place):
    """Who signs with an unknown key does not get to send a body."""
    url = apply_url(place)
    headers = {**signed(url, BODY, key="AKIANOBODY"), "Content-Length": "1000000"}
    lines = [
        f"POST {httpx.URL(url).raw_path.decode()} HTTP/1.1",
        *(f"{name}: {held}" for name, held in headers.items()),
    ]
    with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port), timeout=5) as line:
        line.sendall("\r\n".join([*lines, "", "{"]).encode())
        assert line.recv(100).startswith(b"HTTP/1.1 403 ")


def test_signatures_open_bedrocks_paths_only(place: Place):
    """On OpenAI's paths a signature is no key."""
    url = f"{place.url}/v1/chat/completions"
    assert httpx.post(url, content=b"{}", headers=signed(url, b"{}")).status_code == 401
