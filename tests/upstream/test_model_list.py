"""Reading ``model_list``."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.grounding.errors import NotFound
from proxy.upstream.litellm_adapter import LiteLLM
from proxy.upstream.model_list import ModelListError, parse_model_list
from proxy.upstream.models import build_upstreams
from proxy.upstream.passthrough import PassThrough


def entry(name: str = "m", **params: Any) -> dict[str, Any]:
    """One entry of the list, with a model and a key unless others are given."""
    return {"model_name": name, "litellm_params": {"model": "openai/gpt-x", "api_key": "sk-1", **params}}


def problems(*items: Any, env: dict[str, str] | None = None) -> dict[tuple[str | int, ...], str]:
    """What is wrong with the list, by path from the list down."""
    with pytest.raises(ModelListError) as caught:
        parse_model_list(list(items), env or {})
    assert caught.value.path == caught.value.problems[0].path
    return {problem.path[1:]: problem.message for problem in caught.value.problems}


def test_litellms_own_example() -> None:
    """An ordinary LiteLLM entry is read: connection, numbers also as text, and the rest as default fields."""
    item = entry(
        timeout="30", stream_timeout=5, max_retries=2, temperature=0.2, organization="org", extra_body={"k": 1}
    )
    (read,) = parse_model_list([{**item, "model_info": {"id": "1"}}], {})
    params = read.litellm_params
    assert (params.timeout, params.stream_timeout, params.max_retries) == (30.0, 5.0, 2)
    assert dict(params.defaults) == {"temperature": 0.2, "k": 1}
    assert params.organization == "org"
    assert read.model_info == {"id": "1"}


def test_stream_timeout_follows_timeout() -> None:
    """Without ``stream_timeout``, ``timeout`` counts for streams too."""
    (read,) = parse_model_list([entry(timeout=7)], {})
    assert read.litellm_params.stream_timeout == 7


def test_secrets_are_not_shown() -> None:
    """The repr of an entry, which may end in a log, holds no key."""
    read = parse_model_list([entry(api_key="sk-hidden", extra_headers={"x-key": "hidden-too"})], {})
    assert "hidden" not in repr(read)


@pytest.mark.parametrize(
    ("params", "kind", "model"),
    [
        ({"model": "openai/gpt-x"}, PassThrough, "gpt-x"),
        ({"model": "openai/org/name"}, PassThrough, "org/name"),
        ({"model": "org/name", "custom_llm_provider": "openai"}, PassThrough, "org/name"),
        ({"model": "anthropic/claude"}, LiteLLM, None),
        ({"model": "gpt-x"}, LiteLLM, None),
        ({"model": "openai/responses/o9"}, LiteLLM, None),
        ({"model": "openai/x", "custom_llm_provider": "azure"}, LiteLLM, None),
    ],
)
def test_route(params: dict[str, Any], kind: type, model: str | None) -> None:
    """OpenAI-compatible models pass through under the name after ``openai/``; all others go to LiteLLM."""
    (read,) = parse_model_list([entry(**params)], {})
    assert isinstance(build_upstreams([read]).get("m"), kind)
    assert model is None or read.litellm_params.upstream_model == model


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": "nan"}, "timeout"),
        ({"stream_timeout": -1}, "stream_timeout"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"model": ""}, "model"),
        ({"model": 7}, "model"),
        ({"model": "openai/"}, "model"),
        ({"api_key": " sk-1\n"}, "api_key"),
        ({"api_base": "host/v1"}, "api_base"),
        ({"api_base": "ftp://host"}, "api_base"),
        ({"api_base": "https://user:word@host"}, "api_base"),
        ({"api_base": "http://[::1"}, "api_base"),
        ({"api_base": "http://a", "base_url": "http://b"}, "base_url"),
        ({"extra_headers": ["x"]}, "extra_headers"),
        ({"extra_body": "x"}, "extra_body"),
        ({"stream": True}, "stream"),
        ({"messages": []}, "messages"),
    ],
)
def test_wrong_value(params: dict[str, Any], key: str) -> None:
    """A wrong value is refused with the path of its key."""
    assert set(problems(entry(**params))) == {(0, "litellm_params", key)}


@pytest.mark.parametrize("header", ["content-length", "bad name", "x:y"])
def test_wrong_header(header: str) -> None:
    """A header that cannot be sent is refused by name."""
    assert set(problems(entry(extra_headers={header: "1"}))) == {(0, "litellm_params", "extra_headers", header)}


@pytest.mark.parametrize("key", ["rpm", "weight", "tags", "mock_response", "drop_params"])
def test_not_yet(key: str) -> None:
    """A key of LiteLLM's that nothing here acts on is refused with "not yet" instead of being ignored."""
    assert problems(entry(**{key: 1}))[0, "litellm_params", key].startswith("not yet")


@pytest.mark.parametrize(
    ("slip", "meant"), [("timout", "timeout"), ("max_retrys", "max_retries"), ("apibase", "api_base")]
)
def test_a_misspelt_key(slip: str, meant: str) -> None:
    """A slip of the pen is named with what was meant, and goes into no request unless it stands in ``extra_body``."""
    assert f"try {meant}," in problems(entry(**{slip: 1}))[0, "litellm_params", slip]
    (read,) = parse_model_list([entry(extra_body={slip: 1}, models=["a"], top_p=1)], {})
    assert dict(read.litellm_params.defaults) == {slip: 1, "models": ["a"], "top_p": 1}


def test_settings_of_a_provider() -> None:
    """Settings that only LiteLLM understands are kept for it and are no request fields."""
    (read,) = parse_model_list([entry(model="bedrock/x", aws_region_name="eu-west-1", drop_params=True, top_k=3)], {})
    assert dict(read.litellm_params.settings) == {"aws_region_name": "eu-west-1", "drop_params": True}
    assert dict(read.litellm_params.defaults) == {"top_k": 3}


@pytest.mark.parametrize("item", [entry("*"), entry("gpt-*"), entry(model="openai/*")])
def test_wildcard(item: dict[str, Any]) -> None:
    """Names with a star are refused with "not yet" rather than served wrongly."""
    (message,) = problems(item).values()
    assert "not yet" in message


@pytest.mark.parametrize("value", [None, {}, "x"])
def test_no_list(value: object) -> None:
    """Anything but a list is refused."""
    with pytest.raises(ModelListError, match="model_list: must be a list"):
        parse_model_list(value, {})


def test_every_problem_at_once() -> None:
    """All problems of all entries are reported together, each with its path."""
    found = problems("x", {"model_name": "m", "params": {}}, entry(timeout=0, rpm=3))
    assert set(found) == {
        (0,),
        (1, "params"),
        (1, "litellm_params"),
        (2, "litellm_params", "timeout"),
        (2, "litellm_params", "rpm"),
    }


def test_openais_key() -> None:
    """``OPENAI_API_KEY`` is used where an entry names neither key nor address, and goes to no other address."""
    bare = {"model_name": "m", "litellm_params": {"model": "openai/gpt-x"}}
    local = {"model_name": "m", "litellm_params": {"model": "openai/gpt-x", "api_base": "http://127.0.0.1:1"}}
    first, second = parse_model_list([bare, local], {"OPENAI_API_KEY": "sk-env"})
    assert first.litellm_params.api_key == "sk-env"
    assert second.litellm_params.api_key is None
    assert set(problems(bare)) == {(0, "litellm_params", "api_key")}


def test_names_and_turns() -> None:
    """Names come once in the file's order, and deployments of one name take turns."""
    upstreams = build_upstreams(parse_model_list([entry("b"), entry("a"), entry("b")], {}))
    assert upstreams.names() == ("b", "a")
    first, second, third = (upstreams.get("b") for _ in range(3))
    assert first is not second
    assert first is third


def test_unknown_model() -> None:
    """A name that is not in the list is OpenAI's own 404."""
    with pytest.raises(NotFound, match="The model `x` does not exist") as caught:
        build_upstreams([]).get("x")
    assert (caught.value.status, caught.value.code, caught.value.param) == (404, "model_not_found", "model")


async def test_unknown_provider() -> None:
    """A provider that LiteLLM does not know shows when upstreams are warmed, not as the caller's fault."""
    upstreams = build_upstreams(parse_model_list([entry(model="nobody/x")], {}))
    with pytest.raises(Exception, match="knows no provider for nobody/x") as caught:
        await upstreams.warm()
    assert caught.value.status == 502
    await upstreams.close()
