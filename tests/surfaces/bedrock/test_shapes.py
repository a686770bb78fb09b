"""Requests held against botocore's model: what it can make is read, whatever else comes is a caller's error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from botocore.session import get_session
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock.blocks import read_converse
from proxy.surfaces.bedrock.families.registry import family_of
from proxy.surfaces.bedrock.prompt import Prompt
from proxy.surfaces.bedrock.shapes import shaped

MODEL = get_session().get_service_model("bedrock-runtime")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1, 1) | st.sampled_from(["", "text", "AA==", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "type", "text"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def valid(shape: Any, depth: int = 0) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one for each type
    """JSON that a shape allows."""
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max")
    if getattr(shape, "is_document_type", False):
        return JSON.filter(lambda value: value is not None)  # a null says that the field is not there
    match shape.type_name:
        case "structure":
            members = {name: held for name, held in shape.members.items() if "location" not in held.serialization}
            if shape.is_tagged_union:
                return st.one_of(
                    [valid(held, depth + 1).map(lambda value, n=name: {n: value}) for name, held in members.items()]
                )
            needed = {name: valid(held, depth + 1) for name, held in members.items() if name in shape.required_members}
            free = {name: valid(held, depth + 1) for name, held in members.items() if name not in needed}
            return st.fixed_dictionaries(needed, optional=free if depth < 5 else {})
        case "list":
            return st.lists(valid(shape.member, depth + 1), min_size=least, max_size=least + 2)
        case "map":
            return st.dictionaries(
                st.sampled_from(["a", "b"]), valid(shape.value, depth + 1), min_size=least, max_size=2
            )
        case "string":
            texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=least, max_size=max(least, 5))
            return st.sampled_from(shape.enum) if shape.enum else texts
        case "integer" | "long":
            return st.integers(least, most or least + 9)
        case "float" | "double":
            return st.floats(least, 1 if most is None else most)
        case "boolean":
            return st.booleans()
    return st.just("AA==")


CONVERSE = valid(MODEL.operation_model("ConverseStream").input_shape)


@settings(deadline=None, max_examples=200)
@given(CONVERSE)
def test_whatever_the_model_allows_has_its_shape_and_is_read_or_refused_by_name(body: dict[str, Any]):
    """All that botocore's model allows is let through as it is, and becomes a prompt or an error naming a field."""
    assert shaped("ConverseStream", body) == body
    told = _read(body)
    if isinstance(told, CallerError):
        assert told.param
        assert told.param in told.message
    else:
        assert len(told.messages) == len(told.origins)


def _read(body: dict[str, Any]) -> Prompt | CallerError:
    try:
        return read_converse(body)
    except CallerError as error:
        return error


@st.composite
def _broken(draw: st.DrawFn) -> dict[str, Any]:
    """A valid body with one value somewhere in it replaced."""
    body = draw(CONVERSE)
    place: Any = body
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return body
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or draw(st.booleans()):
            place[key] = draw(JSON)
            return body
        place = place[key]


@settings(deadline=None, max_examples=200)
@given(_broken())
def test_a_body_that_is_broken_somewhere_is_never_our_fault(body: dict[str, Any]):
    """Whatever is wrong with a body, it is a CallerError and nothing else."""
    with suppress(CallerError):
        read_converse(shaped("ConverseStream", body))


FIELDS = [
    "messages", "system", "prompt", "inputText", "text", "tools", "tool_choice", "max_tokens", "stop",
    "inferenceConfig",
    "textGenerationConfig", "toolConfig", "stop_sequences", "thinking", "temperature", "max_gen_len", "schemaVersion",
]  # fmt: skip
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON
        | st.sampled_from(["user", "text", "image", "tool_use", "tool_result", "document", "base64", "function"])
        for name in (
            "role",
            "content",
            "type",
            "text",
            "source",
            "id",
            "name",
            "input",
            "tool_use_id",
            "function",
            "data",
        )
    },
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON | BLOCKS | st.lists(BLOCKS, max_size=3), max_size=5)


@pytest.mark.parametrize("model", ["anthropic.x", "amazon.nova-x", "meta.llama", "mistral.x", "amazon.titan-text", "m"])
@settings(deadline=None, max_examples=150)
@given(BODIES)
def test_no_body_of_any_family_is_our_fault(model: str, body: dict[str, Any]):
    """Whatever a body holds, it is a prompt or a CallerError."""
    with suppress(CallerError):
        assert isinstance(family_of(model, body).read(body), Prompt)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            {"content": [], "source": "OUTPUT", "x" * 100: 1},
            f"{'x' * 64} must not be there: the API has no such field.",
        ),
        ({"content": [], "source": 1}, "source must be a string."),
        ({"content": []}, "source must be given."),
        (
            {"content": [{"text": {"text": "secret"}, "image": {}}], "source": "INPUT"},
            "content[0] must hold exactly one of text, image.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_words(body: dict[str, Any], told: str):
    """A message names the field and what it must be, and quotes nothing."""
    with pytest.raises(CallerError) as caught:
        shaped("ApplyGuardrail", body)
    assert caught.value.message == told
