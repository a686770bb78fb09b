"""Sources and query lifted out of a chat request: every way to mark them, and every way to do it wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from surfaces.support import tag

from proxy.grounding.errors import CallerError
from proxy.grounding.types import Source
from proxy.policy.model import Policy
from proxy.surfaces.context import read_context

CONFIG = "amazon-bedrock-guardrailConfig"
DECLARED = {CONFIG: {"tagSuffix": "sfx"}}
DEFAULT = Policy()
PATH = "messages[0].content"


def user(content: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    """A message."""
    return {"role": role, "content": content, **fields}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A request."""
    return {"model": "m", "messages": list(messages or [user("Hi")]), **fields}


def guard(text: Any, *qualifiers: str, **fields: Any) -> dict[str, Any]:
    """A content part with Bedrock's qualifiers."""
    return {"guardContent": {"text": {"text": text, "qualifiers": list(qualifiers)}}, **fields}


def found(request: dict[str, Any], policy: Policy = DEFAULT) -> tuple[list[str], str | None]:
    """The texts of the sources, and the query."""
    context, _ = read_context(request, policy)
    return [source.text for source in context.sources], context.query


def sent(request: dict[str, Any], policy: Policy = DEFAULT) -> list[Any]:
    """The contents of the messages that go upstream."""
    return [message["content"] for message in read_context(request, policy)[1]["messages"]]


# --- tags ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["system", "developer", "user"])
@pytest.mark.parametrize("kind", ["string", "text", "input_text"])
def test_tags_mark_sources_and_queries(role: str, kind: str):
    """Tags of the declared suffix are found in strings and text parts; their text stays where it was."""
    text = f"a {tag('groundingSource', 'S1')} b {tag('query', 'Q')}{tag('groundingSource', 'S2')}"
    content = text if kind == "string" else [{"type": kind, "text": text}]
    plain = "a S1 b QS2" if kind == "string" else [{"type": kind, "text": "a S1 b QS2"}]
    request = body(user(content, role), **DECLARED)
    assert found(request) == (["S1", "S2"], "Q")
    assert sent(request) == [plain]


def test_guarded_content_may_wrap_sources_and_queries():
    """What stands in guardContent is marked as if it stood outside, and guardContent alone marks nothing."""
    text = tag("guardContent", f"x {tag('groundingSource', 'S')} {tag('query', 'Q')}")
    assert found(body(user(text), **DECLARED)) == (["S"], "Q")
    assert sent(body(user(text), **DECLARED)) == ["x S Q"]
    assert found(body(user(tag("guardContent", "x")), **DECLARED)) == ([], None)


@pytest.mark.parametrize("config", [None, {}, {"tagSuffix": "other"}, {"streamProcessingMode": "SYNCHRONOUS"}])
def test_tags_of_another_suffix_are_text(config: Any):
    """Without the declared suffix a tag is plain text, closed or not, and goes upstream as it is."""
    text = tag("groundingSource", "S") + "<amazon-bedrock-guardrails-query_sfx>" + tag("query", "Q", "")
    request = body(user(text), **{CONFIG: config})
    assert found(request) == ([], None)
    assert sent(request) == [text]


def test_the_config_never_goes_upstream():
    """The configuration and the grounding field are taken out of the body; everything else stays in its order."""
    request = {"z": 1, **DECLARED, **body(), "grounding": {}, "a": {"grounding": 1}}
    _, forward = read_context(request, DEFAULT)
    assert list(forward) == ["z", "model", "messages", "a"]
    assert forward["a"] is request["a"]


# --- qualifiers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"type": "guardContent"}])
def test_qualifiers_mark_parts(fields: dict[str, Any]):
    """Parts with guardContent, with or without a type, mark their text and go upstream as ordinary text parts."""
    parts = [
        guard("S", "grounding_source", **fields),
        guard("Q", "query", **fields),
        guard("G", "guard_content", **fields),
        guard("both", "grounding_source", "guard_content", **fields),
        guard("plain", **fields),
        {"guardContent": {"text": {"text": "bare"}}, **fields},
    ]
    assert found(body(user(parts))) == (["S", "both"], "Q")
    texts = ["S", "Q", "G", "both", "plain", "bare"]
    assert sent(body(user(parts))) == [[{"type": "text", "text": text} for text in texts]]


def test_litellms_typed_parts_mark_their_text():
    """Parts of LiteLLM's own types mark sources and queries and go upstream as ordinary text parts."""
    kinds = {"grounding_source": "S", "query": "Q", "guarded_text": "G"}
    parts = [{"type": kind, "text": text} for kind, text in kinds.items()]
    assert found(body(user(parts))) == (["S"], "Q")
    assert sent(body(user(parts))) == [[{"type": "text", "text": text} for text in "SQG"]]


def test_a_part_may_be_source_and_query():
    """One text with both qualifiers is both."""
    assert found(body(user([guard("X", "grounding_source", "query")]))) == (["X"], "X")


def test_what_stands_beside_a_qualified_text_stays():
    """A cache mark beside the text goes upstream with it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent(body(user([guard("S", "grounding_source", **mark)]))) == [[{"type": "text", "text": "S", **mark}]]


def test_tags_inside_qualified_parts_are_read():
    """A qualified part may hold tags; they go, and what they mark counts too."""
    request = body(user([guard(f"S {tag('query', 'Q')}", "grounding_source")]), **DECLARED)
    assert found(request) == (["S Q"], "Q")
    assert sent(request) == [[{"type": "text", "text": "S Q"}]]


def test_images_beside_qualifiers_stay_the_same_objects():
    """Parts that mark nothing are not copied."""
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    [content] = sent(body(user([image, guard("S", "grounding_source")])))
    assert content[0] is image


# --- the field ----------------------------------------------------------------------------------------------------

VERTEX = {"sourceUri": "gs://b/f", "sourceDisplayName": "F", "text": "S", "score": 0.3}
VERTEX_SNAKE = {"source_uri": "gs://b/f", "source_display_name": "F", "text": "S"}
VERTEX_CHUNK = {"sourceUri": "gs://b/f", "chunk": {"text": "S", "pageSpan": {"firstPage": 1, "lastPage": 2}}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("S", Source(text="S")),
        ({"text": "S"}, Source(text="S")),
        ({"id": "1", "text": "S", "uri": "u", "title": "t", "odd": 1}, Source(text="S", id="1", uri="u", title="t")),
        ({"id": None, "text": "S", "uri": 7}, Source(text="S")),
        (VERTEX, Source(text="S", uri="gs://b/f", title="F")),
        (VERTEX_SNAKE, Source(text="S", uri="gs://b/f", title="F")),
        (VERTEX_CHUNK, Source(text="S", uri="gs://b/f")),
        ({**VERTEX_CHUNK, "text": ""}, Source(text="S", uri="gs://b/f")),
    ],
)
def test_the_grounding_field_holds_sources(source: Any, expected: Source):
    """A source is a text, an object with a text and its names, or a context of Vertex RAG Engine in either spelling."""
    context, _ = read_context(body(grounding={"sources": [source], "query": " Q\n"}), DEFAULT)
    assert context.sources == (expected,)
    assert context.query == "Q"


@pytest.mark.parametrize("field", [None, {}, {"sources": []}, {"sources": None, "query": None}, {"query": " "}])
def test_an_empty_grounding_field_holds_nothing(field: Any):
    """A field without sources and query is as good as none."""
    assert found(body(grounding=field)) == ([], None)


# --- several together ---------------------------------------------------------------------------------------------


def test_all_marks_may_be_mixed():
    """Sources of tags, parts and field, from all trusted messages, are used together."""
    request = body(
        user(f"{tag('groundingSource', 'S1')}", "system"),
        user([guard("S2", "grounding_source"), {"type": "text", "text": tag("groundingSource", "S3")}], "developer"),
        user([{"type": "grounding_source", "text": "S4"}]),
        user(tag("query", "Q")),
        grounding={"sources": ["S5"]},
        **DECLARED,
    )
    assert found(request) == (["S1", "S2", "S3", "S4", "S5"], "Q")


def test_the_query_is_the_last_messages_that_has_one():
    """All queries of that message are joined; earlier messages', and later messages without one, change nothing."""
    request = body(
        user(tag("query", "Old"), "system"),
        user([guard("Q1", "query"), {"type": "text", "text": f"{tag('query', 'Q2')} {tag('query', 'Q3')}"}]),
        user("thanks"),
        user(tag("query", "Not mine"), "assistant"),
        **DECLARED,
    )
    assert found(request) == ([], "Q1\nQ2\nQ3")


def test_the_fields_query_stands_before_all():
    """A query in the grounding field is the query, whatever the messages mark."""
    assert found(body(user(tag("query", "Q")), grounding={"query": "F"}, **DECLARED)) == ([], "F")


@pytest.mark.parametrize("white", ["", " ", "\n\t", "\u3000"])
def test_white_marks_are_none(white: str):
    """An empty or white source is no source, and a white query no query: an earlier one stands."""
    request = body(
        user(tag("query", "Q"), "system"),
        user(f"{tag('groundingSource', white)}{tag('query', white)}"),
        user([guard(white, "grounding_source"), guard(white, "query")]),
        grounding={"sources": [white, {"text": white}, {"text": None}], "query": white},
        **DECLARED,
    )
    assert found(request) == ([], "Q")


# --- roles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["assistant", "tool", "function", "weird", "", "SYSTEM"])
def test_marks_of_other_roles_do_not_count(role: str):
    """Marks outside the trusted roles make no source; tags stay as text, even malformed, and are no error."""
    text = tag("groundingSource", "S") + "</amazon-bedrock-guardrails-query_sfx>"
    request = body(user(text, role), user([guard("S", "grounding_source")], role), **DECLARED)
    assert found(request) == ([], None)
    assert sent(request) == [text, [{"type": "text", "text": "S"}]]


def test_trust_is_the_policys():
    """A policy may trust tools and not users."""
    request = body(user(tag("groundingSource", "U")), user(tag("groundingSource", "T"), "tool"), **DECLARED)
    assert found(request, Policy(trust=("tool",))) == (["T"], None)
    assert sent(request, Policy(trust=("tool",))) == [tag("groundingSource", "U"), "T"]


@pytest.mark.parametrize("role", ["tool", "function"])
def test_tool_results_are_sources_where_the_policy_says(role: str):
    """A tool's whole text is a source, named by its call; where it marks sources itself, those count instead."""
    parts = [{"type": "text", "text": "S1"}, {"type": "text", "text": "S2"}]
    request = body(user(parts, role, tool_call_id="call_1"), user(tag("groundingSource", "S3") + "x", role), **DECLARED)
    context, _ = read_context(request, Policy(tool_results="source", trust=("tool",)))
    assert context.sources[0] == Source(text="S1\nS2", id="call_1")
    assert [source.text for source in context.sources[1:]] == (["S3"] if role == "tool" else [sent(request)[1]])
    assert found(request) == ([], None)


def test_earlier_turns_are_sources_where_the_policy_says():
    """User and assistant turns before the last user message are sources, each once; the system prompt is not."""
    request = body(
        user("sys", "system"),
        user("U1"),
        user("A1", "assistant"),
        user("U2"),
        user(None, "assistant"),
        user([{"type": "text", "text": "U3"}]),
    )
    assert found(request, Policy(history="source")) == (["U1", "A1", "U2"], None)


def test_the_last_user_message_is_the_query_where_the_policy_says():
    """It is used without its tags and its sources, and only when no query is given."""
    request = body(user("U1"), user("A", "assistant"), user(f"U2? {tag('groundingSource', 'S')}"), **DECLARED)
    assert found(request, Policy(query="last_user")) == (["S"], "U2? ")
    assert found(body(user("U"), user([guard("S", "grounding_source")])), Policy(query="last_user")) == (["S"], "U")
    assert found({**request, "grounding": {"query": "F"}}, Policy(query="last_user"))[1] == "F"
    assert found(body(user("A", "assistant")), Policy(query="last_user")) == ([], None)


# --- nothing is changed that need not be --------------------------------------------------------------------------


def test_untouched_messages_are_the_same_objects():
    """Messages without marks go upstream as the very objects that came, also beside marked ones."""
    messages = [
        user("plain"),
        user([{"type": "text", "text": "part"}, {"type": "odd"}]),
        user(None, "assistant", tool_calls=[{"id": "x"}]),
        {"role": "user"},
        user([]),
        user(tag("query", "Q"), name="n"),
    ]
    request = body(*messages, **DECLARED)
    _, forward = read_context(request, DEFAULT)
    assert [new is old for new, old in zip(forward["messages"], messages, strict=True)] == [True] * 5 + [False]
    assert forward["messages"][5] == user("Q", name="n")


def test_the_request_is_left_as_it_is():
    """Reading a context does not change the body that was read."""
    request = body(
        user([guard(tag("query", "Q"), "grounding_source"), {"type": "query", "text": "x"}]),
        grounding={"sources": ["S"]},
        **DECLARED,
    )
    before = copy.deepcopy(request)
    read_context(request, DEFAULT)
    assert request == before


# --- malformed ----------------------------------------------------------------------------------------------------

OPEN, CLOSE = (f"<{slash}amazon-bedrock-guardrails-query_sfx>" for slash in ("", "/"))
SUFFIX = f"{CONFIG}.tagSuffix"


@pytest.mark.parametrize(
    ("request_body", "param"),
    [
        ({"model": "m"}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": {"role": "user"}}, "messages"),
        ({"messages": "hi"}, "messages"),
        (body("hi"), "messages[0]"),
        (body(user("x"), None), "messages[1]"),
        (body({"content": "x"}), "messages[0].role"),
        (body(user("x", role=7)), "messages[0].role"),
        (body(user(7)), PATH),
        (body(user({"text": "x"})), PATH),
        (body(user("x"), user(True)), "messages[1].content"),
        (body(user(["x"])), f"{PATH}[0]"),
        (body(user([{"type": "text", "text": "x"}, None])), f"{PATH}[1]"),
        (body(user([{"type": "text"}])), f"{PATH}[0].text"),
        (body(user([{"type": "text", "text": 7}])), f"{PATH}[0].text"),
        (body(user([{"type": "query", "text": None}])), f"{PATH}[0].text"),
        (body(user([{"type": "grounding_source"}])), f"{PATH}[0].text"),
        (body(user([{"type": "guardContent"}])), f"{PATH}[0].guardContent"),
        (body(user([{"guardContent": "x"}])), f"{PATH}[0].guardContent"),
        (body(user([{"guardContent": {"text": "x"}}])), f"{PATH}[0].guardContent"),
        (body(user([{"guardContent": {"image": {}}}])), f"{PATH}[0].guardContent"),
        (body(user([guard(7, "query")])), f"{PATH}[0].guardContent.text.text"),
        (body(user([guard("x", "source")])), f"{PATH}[0].guardContent.text.qualifiers"),
        (body(user([guard("x", ["query"])])), f"{PATH}[0].guardContent.text.qualifiers"),
        (
            body(user([{"guardContent": {"text": {"text": "x", "qualifiers": "query"}}}])),
            f"{PATH}[0].guardContent.text.qualifiers",
        ),
        (body(**{CONFIG: "sfx"}), CONFIG),
        (body(**{CONFIG: []}), CONFIG),
        *((body(**{CONFIG: {"tagSuffix": bad}}), SUFFIX) for bad in ("", "a" * 21, "a-b", "ä", "a b", "a\n", None, 7)),
        (body(user(OPEN), **DECLARED), PATH),
        (body(user(CLOSE), **DECLARED), PATH),
        (body(user("x"), user([{"type": "text", "text": OPEN}]), **DECLARED), "messages[1].content[0].text"),
        (body(user([guard(CLOSE)]), **DECLARED), f"{PATH}[0].guardContent.text.text"),
        (body(user(tag("query", tag("query", "x"))), **DECLARED), PATH),
        (body(user(tag("query", tag("guardContent", "x"))), **DECLARED), PATH),
        (body(user(f"{OPEN}{tag('groundingSource', 'x')[:-5]}{CLOSE}"), **DECLARED), PATH),
        (body(user([{"type": "text", "text": OPEN}, {"type": "text", "text": CLOSE}]), **DECLARED), f"{PATH}[0].text"),
        (body(grounding="S"), "grounding"),
        (body(grounding=["S"]), "grounding"),
        (body(grounding={"source": ["S"]}), "grounding"),
        (body(grounding={"sources": "S"}), "grounding.sources"),
        (body(grounding={"sources": {"text": "S"}}), "grounding.sources"),
        (body(grounding={"sources": ["S", 7]}), "grounding.sources[1]"),
        (body(grounding={"sources": [{"id": "1"}]}), "grounding.sources[0].text"),
        (body(grounding={"sources": [{"text": ["S"]}]}), "grounding.sources[0].text"),
        (body(grounding={"sources": [{"chunk": {"text": 7}}]}), "grounding.sources[0].text"),
        (body(grounding={"query": 7}), "grounding.query"),
        (body(grounding={"query": ["Q"]}), "grounding.query"),
    ],
)
def test_every_malformed_mark_names_its_field(request_body: dict[str, Any], param: str):
    """A malformed request is the caller's error, and the error names the field that is wrong."""
    with pytest.raises(CallerError) as caught:
        read_context(request_body, DEFAULT)
    assert caught.value.param == param
    assert caught.value.status == 400


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, 7, None])
def test_parts_of_odd_types_are_not_ours_to_judge(kind: Any):
    """A part whose type is no string goes upstream as it came; the model's server says what it thinks of it."""
    part = {"type": kind, "text": "x"}
    assert sent(body(user([part]))) == [[part]]
