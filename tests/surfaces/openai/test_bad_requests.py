"""Bad requests over HTTP: a clear 4xx in OpenAI's shape that names the field, and a server that goes on answering."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from surfaces.support import QUERY, SECRET, World, answer, asking, says, tag

from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

CHAT = "/v1/chat/completions"
CONFIG = "amazon-bedrock-guardrailConfig"
LIMIT = 1_000_000


@pytest.fixture(autouse=True)
def _answers_afterwards(world: World) -> Iterator[None]:
    """Whatever a test sent, nothing of it reached the model, and the next request is answered."""
    yield
    assert world.upstream.requests == []
    world.upstream.default = says(answer())
    assert world.post(asking()).status_code == 200


def refused(reply: Any, status: int = 400, *, param: str | None = None, code: str | None = None) -> str:
    """Check the shape of an error, and return its message."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert list(reply.json()) == ["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["message"], str)
    assert error["message"]
    assert error["type"] == "invalid_request_error"
    assert param is None or error["param"] == param
    assert code is None or error["code"] == code
    assert SECRET not in reply.text
    return error["message"]


# --- bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b'{"model": "m",}',
        b"not json",
        b"\xff\xfe\x00",
        b'{"a": "\xff"}',
        b'{"model": NaN}',
        b'{"temperature": Infinity}',
        b"{'model': 'm'}",
        b'{"a": 1} {"b": 2}',
        b'{"a": ' + b"1" * 5000 + b"}",
        b"null",
        b"[]",
        b'"m"',
        b"7",
        b"[" * 100_000,
        b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"x":' + b"[" * 65 + b"]" * 65 + b"}",
    ],
    ids=range(20),
)
def test_what_is_no_json_object_is_refused(world: World, raw: bytes):
    """Broken, foreign, endless and bottomless bodies are a 400, quickly."""
    refused(world.post(raw), code="invalid_json")


def test_a_number_that_json_cannot_carry_on_is_refused(world: World):
    """1e999 reads as infinity, which cannot be sent to the model."""
    raw = json.dumps(asking(temperature=7)).replace("7}", "1e999}").encode()
    refused(world.post(raw))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": SECRET}, "messages"),
        ({"messages": [SECRET]}, "messages[0]"),
        ({"messages": [{"content": SECRET}]}, "messages[0].role"),
        ({"messages": [{"role": ["user"], "content": SECRET}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": {"text": SECRET}}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [SECRET]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]}, "messages[0].content[0].text"),
        ({"model": None}, "model"),
        ({"model": ["m"]}, "model"),
        ({"model": {"name": "m"}}, "model"),
        ({"n": "2"}, "n"),
        ({"n": 0}, "n"),
        ({"n": -1}, "n"),
        ({"n": 1.0}, "n"),
        ({"n": True}, "n"),
        ({"n": 10**9}, "n"),
        ({"n": [1]}, "n"),
        ({"stream": "true"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"stream": {}}, "stream"),
        ({"guardrail": "enabled"}, "guardrail"),
        ({"guardrail": []}, "guardrail"),
        ({"guardrail": {"trace": True}}, "guardrail.trace"),
        ({"guardrail": {"trace": SECRET}}, "guardrail.trace"),
        ({"guardrail": {"trace": ["enabled"]}}, "guardrail.trace"),
        ({"guardrail": {"trace": {"a": SECRET}}}, "guardrail.trace"),
        ({"guardrail": {"policy": "lenient"}}, "guardrail"),
        (
            {"amazon-bedrock-guardrailConfig": {"guardrailIdentifier": "x"}},
            "amazon-bedrock-guardrailConfig.guardrailIdentifier",
        ),
        ({"grounding": SECRET}, "grounding"),
        ({"grounding": {"source": SECRET}}, "grounding"),
        ({"grounding": {"sources": SECRET}}, "grounding.sources"),
        ({"grounding": {"sources": [[SECRET]]}}, "grounding.sources[0]"),
        ({"grounding": {"sources": [{"text": {"a": SECRET}}]}}, "grounding.sources[0].text"),
        ({"grounding": {"query": [SECRET]}}, "grounding.query"),
        ({CONFIG: SECRET}, CONFIG),
        *(
            ({CONFIG: {"streamProcessingMode": bad}}, f"{CONFIG}.streamProcessingMode")
            for bad in ("sync", None, [], {})
        ),
        *(({CONFIG: {"tagSuffix": bad}}, f"{CONFIG}.tagSuffix") for bad in ("", "x" * 21, "a_b", f"{SECRET}!", 7, [])),
    ],
)
def test_a_wrong_type_names_its_field(world: World, fields: dict[str, Any], param: str):
    """A field of the wrong type is a 400 that names it and quotes nothing."""
    refused(world.post(asking(**fields)), param=param)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({CONFIG: {"tagsuffix": "sfx"}}, "known are tagSuffix and"),
        ({"grounding": {"sources": SECRET}}, "must be a list, of texts or of objects with a text"),
    ],
)
def test_what_would_be_right_is_said(world: World, fields: dict[str, Any], words: str):
    """A slip in how the source is given is answered with the right way."""
    assert words in refused(world.post(asking(**fields)))


@pytest.mark.parametrize("name", ["model", "messages"])
def test_a_missing_field_is_named(world: World, name: str):
    """Without a model, or without messages, the request is a 400 that says so."""
    body = {key: value for key, value in asking().items() if key != name}
    assert name in refused(world.post(body), param=name)


NAME = "amazon-bedrock-guardrails-"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"<{NAME}query_sfx>{SECRET}", f"<{NAME}query_sfx>"),
        (f"{SECRET}</{NAME}groundingSource_sfx>", f"</{NAME}groundingSource_sfx>"),
        (f"<{NAME}query_sfx>{tag('groundingSource', SECRET)}</{NAME}query_sfx>", f"<{NAME}groundingSource_sfx>"),
        (f"<{NAME}guardContent_sfx><{NAME}query_sfx>{SECRET}</{NAME}guardContent_sfx>", f"<{NAME}query_sfx>"),
        (tag("guardContent", tag("guardContent", SECRET)), f"<{NAME}guardContent_sfx>"),
    ],
)
def test_a_malformed_tag_is_named(world: World, text: str, named: str):
    """An unclosed, stray or crossed tag of the declared suffix is a 400 that names the tag and not the text."""
    body = asking(messages=[{"role": "user", "content": text}], **{CONFIG: {"tagSuffix": "sfx"}})
    assert named in refused(world.post(body), param="messages[0].content")


def test_every_field_that_steers_the_gateway_is_refused(world: World):
    """Whatever would steer the gateway rather than the model is a 400 that names it, even when it is null."""
    for name in sorted(STEERING_FIELDS):
        reply = world.post(asking(**{name: None}))
        assert name in refused(reply, param=name, code="unsupported_parameter")


@pytest.mark.parametrize(
    "name",
    [
        "api_base",
        "base_url",
        "api_key",
        "api_version",
        "custom_llm_provider",
        "extra_headers",
        "extra_body",
        "mock_response",
        "fallbacks",
        "model_list",
        "callbacks",
        "success_callback",
        "num_retries",
        "aws_secret_access_key",
        "vertex_credentials",
        "langfuse_host",
        "input_cost_per_token",
        "drop_params",
    ],
)
def test_the_documented_steering_fields_are_among_them(name: str):
    """The list of refused fields holds all that INTERFACES names, and their like."""
    assert name in STEERING_FIELDS


@pytest.mark.parametrize("name", ["absent", "", "M", "m ", "m\x00", "../m", "é", "\ud800", "x" * 100_000])
def test_an_unknown_model_is_not_found(world: World, name: str):
    """A model that is not in the list is a 404 with OpenAI's code, its name cut short."""
    message = refused(world.post(asking(model=name)), 404, param="model", code="model_not_found")
    assert len(message) < 300


# --- size ---------------------------------------------------------------------------------------------------------

BIG = json.dumps(asking(user="x" * LIMIT)).encode()


def test_a_body_over_the_limit_is_refused(world: World):
    """A body that says it is too long is a 413 that names the limit."""
    assert str(LIMIT) in refused(world.post(BIG), 413, code="request_too_large")


def test_a_body_of_the_limit_is_read(world: World):
    """A body of exactly the limit is not too long."""
    raw = json.dumps({"model": "absent"}).encode()
    refused(world.post(raw + b" " * (LIMIT - len(raw))), 404)
    refused(world.post(raw + b" " * (LIMIT - len(raw) + 1)), 413)


def test_a_chunked_body_over_the_limit_is_refused(world: World):
    """A body without a length is refused as soon as it is too long, even one without end."""

    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 100_000

    address = urlsplit(world.url)
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-default\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(head.encode())
        for piece in endless():
            try:
                connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            except OSError:
                break
            connection.settimeout(0.02)
            try:
                reply = connection.recv(65536)
            except TimeoutError:
                connection.settimeout(10)
                continue
            break
    assert reply.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("length", ["-1", "x", "1, 2", "²", "99999999999999999999"])
def test_an_absurd_length_is_refused(world: World, length: str):
    """A Content-Length that is no number, or beyond all measure, does not get a success."""
    address = urlsplit(world.url)
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\napi-key: key-default\r\ncontent-length: {length}\r\n\r\n{{}}"
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(head.encode())
        status = connection.recv(65536)[9:12]
    assert status in (b"400", b"413")


# --- paths and methods --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_a_wrong_method_is_refused(world: World, method: str):
    """Chat completions are asked for by POST; everything else is a 405 that says which methods there are."""
    reply = world.http.request(method, CHAT, headers={"api-key": "key-default"})
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        refused(reply, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/embeddings",
        "/v1/chat",
        "//v1/chat/completions",
        "/v1//chat/completions",
        "/v1/chat/completions/",
        "/v1/chat/completions//",
        "/v1/chat%2Fcompletions/x",
        "/V1/chat/completions",
        "/v1/chat/completions;x",
        "/v1/./chat/../chat/completions/.",
        "/metrics",
        "/policies",
        "/guardrail/default/version/DRAFT/apply/",
        "//guardrail/default/version/DRAFT/apply",
        "/guardrail/default/version//apply",
    ],
)
def test_an_unknown_path_is_not_found(world: World, path: str):
    """Only the documented paths exist: no slash more or less, no redirect, and nothing of the admin port's."""
    address = urlsplit(world.url)
    body = json.dumps(asking()).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: evil.example\r\napi-key: key-default\r\ncontent-length: {len(body)}\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(f"{head}connection: close\r\n\r\n".encode() + body)
        reply = connection.makefile("rb").read()
    assert reply[9:12] == b"404"
    assert b"evil.example" not in reply
    assert b'"error"' in reply


@pytest.mark.parametrize("host", ["[", "a b", "x:y:z", "\xe9"])
def test_an_odd_host_is_no_server_error(world: World, host: str):
    """A Host header that is no host changes nothing."""
    address = urlsplit(world.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(f"GET /nowhere HTTP/1.1\r\nhost: {host}\r\n\r\n".encode("latin-1"))
        assert connection.recv(65536)[9:12] == b"404"


def test_an_error_never_quotes_the_prompt(world: World):
    """A request with a fault at its end is refused without a word of what stood before it."""
    messages = [{"role": "user", "content": f"{QUERY} {SECRET}"}, {"role": "user", "content": 7}]
    refused(world.post(asking(messages=messages)), param="messages[1].content")
