"""Every field of AWS's service model is in the README's table, and does what the table says of it.

Each field of ConverseStream's body is tried by itself: a smallest body that holds it, beside one that does not. What is
refused is a caller's error that names it; what is ignored changes nothing of what the model is asked; what is passed on
is there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.session import get_session

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock.blocks import read_converse
from proxy.surfaces.bedrock.families.registry import family_of
from proxy.surfaces.bedrock.shapes import shaped

if TYPE_CHECKING:
    from collections.abc import Iterator

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("### Bedrock, field by field")[2].partition("\n## ")[0]
OPERATIONS = {
    "bedrock-runtime": ["ApplyGuardrail", "ConverseStream", "InvokeModel", "InvokeModelWithResponseStream"],
    "bedrock": ["ListGuardrails", "GetGuardrail"],
}
CLASSES = ("honoured", "passed on", "ignored", "refused")
NAME = re.compile(r"`([A-Za-z0-9_]+)`")


def rows() -> Iterator[tuple[str, str, str]]:
    """The table's rows: the operations, what the row is about, what it says."""
    operations = ""
    for line in SECTION.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0].startswith("---"):
            continue
        if not cells[1]:
            operations = cells[0]
        else:
            yield operations, cells[0], cells[1]


def told(text: str) -> list[str]:
    """The classes that a text names, in order."""
    return re.findall("|".join(CLASSES), text.lower())


def classes(*about: str) -> dict[str, set[str]]:
    """What the tables (or the row) of this name say of each field."""
    found: dict[str, set[str]] = {}
    for operations, first, second in rows():
        if not any(name in operations or first == name for name in about):
            continue
        begin, *_ = clauses = second.split(";")
        for name in NAME.findall(first):
            found.setdefault(name, set()).update(told(begin) or told(second)[:1])
        for clause in clauses:
            for name in NAME.findall(clause):
                found.setdefault(name, set()).update(told(clause))
    return found


# --- every name ---------------------------------------------------------------------------------------------------


def names(shape: Any, seen: frozenset[str] = frozenset()) -> set[str]:
    """The names of all members in a shape."""
    if shape.name in seen or getattr(shape, "is_document_type", False):
        return set()
    seen |= {shape.name}
    if shape.type_name == "structure":
        return set(shape.members).union(*(names(member, seen) for member in shape.members.values()))
    inner = {"list": "member", "map": "value"}.get(shape.type_name)
    return names(getattr(shape, inner), seen) if inner else set()


@pytest.mark.parametrize(("service", "operation"), [(name, one) for name, all_ in OPERATIONS.items() for one in all_])
def test_every_field_of_a_request_has_a_class(service: str, operation: str):
    """Each field of each operation's input is told to be honoured, passed on, ignored or refused."""
    shape = get_session().get_service_model(service).operation_model(operation).input_shape
    said = classes(operation, "all operations")
    assert {name for name in names(shape) if not said.get(name)} == set()


REPLIES = {
    "ApplyGuardrail": ("ApplyGuardrailResponse", "GuardrailAssessment", "GuardrailInvocationMetrics", "GuardrailUsage"),
    "ConverseStream": ("ConverseResponse", "ContentBlock", "TokenUsage", "ConverseTrace", "GuardrailTraceAssessment",
                       "ConverseStreamOutput", "ContentBlockDelta", "ContentBlockStart", "MessageStopEvent",
                       "ConverseStreamMetadataEvent"),
    "InvokeModel": ("InvokeModelResponse", "InvokeModelWithResponseStreamResponse", "ResponseStream"),
}  # fmt: skip


@pytest.mark.parametrize("operation", REPLIES)
def test_every_field_of_a_reply_is_told(operation: str):
    """Each field of what comes back is in the table, if only as one that never comes."""
    model = get_session().get_service_model("bedrock-runtime")
    said = {
        name for operations, *row in rows() for name in NAME.findall(" ".join(row)) if operation in operations
    } | set(classes("all operations"))
    assert {name for shape in REPLIES[operation] for name in model.shape_for(shape).members} - said == set()


# --- every field of Converse --------------------------------------------------------------------------------------

MODEL = get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape
RULES = {
    path.replace("@", "messages.content"): kind
    for kind, text in {
        "honoured": "messages system guardrailConfig",
        "passed on": """
            inferenceConfig toolConfig outputConfig additionalModelRequestFields
            @.image @.document @.audio @.toolUse @.toolResult @.citationsContent
        """,
        "ignored": """
            additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier projectIdentifier
            system.cachePoint toolConfig.tools.cachePoint @.cachePoint @.reasoningContent @.citationsContent.citations
            @.image.error @.audio.error @.document.context @.document.citations @.toolResult.status @.toolResult.type
            @.toolResult.content.document.format @.toolResult.content.document.name
            @.toolResult.content.document.context @.toolResult.content.document.citations
            @.toolResult.content.searchResult.source @.toolResult.content.searchResult.citations
        """,
        "refused": """
            promptVariables toolConfig.tools.systemTool
            @.video @.searchResult @.toolAddition @.toolRemoval @.toolUse.type
            @.image.source.s3Location @.document.source.s3Location @.audio.source.s3Location
            @.toolResult.content.image @.toolResult.content.video
            @.toolResult.content.document.source.bytes @.toolResult.content.document.source.s3Location
        """,
    }.items()
    for path in text.split()
}
"""The class of each field, and of all in it that have none of their own."""

# What unions hold where a field needs one, and is not it: what can be told everywhere.
CHOSEN = {"DocumentSource": "bytes", "ToolChoice": "tool"}
IN_RESULTS = {**CHOSEN, "DocumentSource": "text"}
TEXT = {"text": "Beside."}
TOOL = {"name": "look", "inputSchema": {"json": {}}}
BESIDE = {"ContentBlock": TEXT, "SystemContentBlock": TEXT, "ToolResultContentBlock": TEXT, "Tool": {"toolSpec": TOOL}}
"""What stands in a list beside the field that is tried, and alone where none is."""


def paths(shape: Any, path: tuple[str, ...] = (), seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, ...]]:
    """Every field in the body, as the names that lead to it; lists and maps have no name of their own."""
    if shape.type_name in {"list", "map"}:
        yield from paths(shape.member if shape.type_name == "list" else shape.value, path, seen)
    elif shape.type_name == "structure" and not shape.is_document_type and shape.name not in seen:
        for name, member in shape.members.items():
            if "location" not in member.serialization:
                yield (*path, name)
                yield from paths(member, (*path, name), seen | {shape.name})


FRAMES = {"inferenceConfig", "outputConfig", "citationsContent"}
"""Fields that need hold nothing, and say nothing by themselves."""

PATHS = sorted(set(paths(MODEL)))


def rule(path: tuple[str, ...]) -> tuple[str, str]:
    """The nearest field that has a class, and the class."""
    ends = [".".join(path[:at]) for at in range(len(path), 0, -1)]
    return next((name, RULES[name]) for name in ends if name in RULES)


def smallest(shape: Any, path: tuple[str, ...] = (), name: str = "", chosen: dict[str, str] = CHOSEN) -> Any:
    """The smallest JSON that a shape allows, with the fields of ``path``; texts are the field's name, shouted."""
    if getattr(shape, "is_document_type", False):
        return {"JSON": name.upper()}
    if shape.type_name == "structure":
        chosen = IN_RESULTS if name == "toolResult" else chosen
        return {
            each: smallest(shape.members[each], path[1:] if path[:1] == (each,) else (), each, chosen)
            for each in _held(shape, path[:1], chosen)
        }
    if shape.type_name == "list":
        beside = [BESIDE[shape.member.name]] if shape.member.name in BESIDE else []
        return beside if beside and not path else [*beside, smallest(shape.member, path, name, chosen)]
    if shape.type_name == "map":
        return {"KEY": smallest(shape.value, path, name, chosen)}
    if shape.type_name == "string":
        text = '{"title": "SCHEMA"}' if name == "schema" else name.upper()
        return shape.enum[0] if shape.enum else text
    return {"blob": "QkxPQg==", "boolean": True, "float": 0.4375, "integer": 31337}[shape.type_name]


def _held(shape: Any, first: tuple[str, ...], chosen: dict[str, str]) -> list[str]:
    """The names of the members that a structure must hold, and the one that is tried."""
    if shape.is_tagged_union:
        return [*first] or [chosen.get(shape.name, next(iter(shape.members)))]
    needed = {*shape.required_members, *first}
    return [name for name, member in shape.members.items() if name in needed and "location" not in member.serialization]


def asked(path: tuple[str, ...]) -> dict[str, Any]:
    """What the model is asked, of a smallest body with the fields of ``path``. Raises ``CallerError``."""
    body = {"messages": [{"role": "user", "content": [TEXT]}], **smallest(MODEL, path)}
    prompt = read_converse(shaped("ConverseStream", body))
    return {"messages": prompt.messages, **prompt.fields}


def leaf(path: tuple[str, ...]) -> str:
    """What must be found of a field in what the model is asked: "" where it is its fields that must."""
    value = smallest(MODEL, path)
    for name in path:
        while isinstance(value, list):
            value = value[-1]
        value = value[name]
    if path[-1] == "schema":
        return "SCHEMA"
    if isinstance(value, dict):
        return str(value.get("JSON", ""))
    while isinstance(value, list):
        value = value[-1]
    return value if isinstance(value, str) else "" if isinstance(value, dict) else json.dumps(value)


def test_every_field_of_converse_is_tried():
    """The walk finds the fields, and each rule is one of them."""
    assert len(PATHS) > 150
    assert {name for name in RULES if tuple(name.split(".")) not in PATHS} == set()


@pytest.mark.parametrize("path", PATHS, ids=".".join)
def test_a_field_does_what_the_table_says(path: tuple[str, ...]):
    """Its class is the one in the README, and shows in what the model is asked."""
    of, kind = rule(path)
    assert kind in classes("Converse", "all operations")[path[-1]]
    if kind == "refused":
        with pytest.raises(CallerError) as caught:
            asked(path)
        place = caught.value.param or ""
        assert re.sub(r"\[\d+\]", "", place) == of
        assert f"{place} is not supported" in caught.value.message
        return
    told = asked(path)
    if kind == "ignored":
        assert told == asked(tuple(of.split(".")[:-1]))
    if kind == "passed on":
        assert leaf(path) in json.dumps(told)
        assert told != asked(()) or path[-1] in FRAMES


# --- every field of InvokeModel's families ------------------------------------------------------------------------

SAID = [{"role": "user", "content": "Hi."}]
CLAUDES = {"name": "look", "input_schema": {"type": "object"}}
SPEC = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, tuple[str, Any, Any]]]] = {
    "Anthropic Messages": (
        "anthropic.claude",
        {"messages": SAID},
        {
            "max_tokens": ("passed on", 3, ("max_tokens", 3)),
            "temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "top_p": ("passed on", 0.5, ("top_p", 0.5)),
            "top_k": ("passed on", 3, ("top_k", 3)),
            "stop_sequences": ("passed on", ["END"], ("stop", ["END"])),
            "system": ("passed on", "Be brief.", None),
            "tools": ("passed on", [CLAUDES], None),
            "tool_choice": ("passed on", {"type": "any"}, ("tool_choice", "required")),
            "thinking": ("passed on", {"type": "disabled"}, ("thinking", {"type": "disabled"})),
            "output_config": ("passed on", {"effort": "low"}, ("reasoning_effort", "low")),
            "anthropic_version": ("ignored", "bedrock-2023-05-31", None),
            "anthropic_beta": ("ignored", ["x"], None),
            "metadata": ("ignored", {"user_id": "u"}, None),
            "cache_control": ("ignored", {"type": "ephemeral"}, None),
            "service_tier": ("ignored", "auto", None),
            "mcp_servers": ("refused", [], None),
            "container": ("refused", "c", None),
        },
    ),
    "Amazon Nova": (
        "amazon.nova",
        {"messages": [{"role": "user", "content": [{"text": "Hi."}]}]},
        {
            "system": ("passed on", [{"text": "Be brief."}], None),
            "toolConfig": ("passed on", SPEC, None),
            "schemaVersion": ("ignored", "messages-v1", None),
            "inferenceConfig.maxTokens": ("passed on", 3, ("max_tokens", 3)),
            "inferenceConfig.temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "inferenceConfig.topP": ("passed on", 0.5, ("top_p", 0.5)),
            "inferenceConfig.topK": ("passed on", 3, ("top_k", 3)),
            "inferenceConfig.stopSequences": ("passed on", ["END"], ("stop", ["END"])),
            "inferenceConfig.reasoningConfig": (
                "passed on",
                {"type": "enabled", "maxReasoningEffort": "high"},
                ("reasoning_effort", "high"),
            ),
        },
    ),
    "Meta Llama": (
        "meta.llama",
        {"prompt": "Hi."},
        {
            "max_gen_len": ("passed on", 3, ("max_tokens", 3)),
            "temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "top_p": ("passed on", 0.5, ("top_p", 0.5)),
            "images": ("refused", ["AA=="], None),
        },
    ),
    "Mistral, a `prompt`": (
        "mistral",
        {"prompt": "Hi."},
        {
            "max_tokens": ("passed on", 3, ("max_tokens", 3)),
            "temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "top_p": ("passed on", 0.5, ("top_p", 0.5)),
            "top_k": ("passed on", 3, ("top_k", 3)),
            "stop": ("passed on", ["END"], ("stop", ["END"])),
        },
    ),
    "Mistral, `messages`": (
        "mistral",
        {"messages": SAID},
        {
            "max_tokens": ("passed on", 3, ("max_tokens", 3)),
            "temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "top_p": ("passed on", 0.5, ("top_p", 0.5)),
            "tools": ("passed on", [FUNCTION], ("tools", [FUNCTION])),
            "tool_choice": ("passed on", "any", ("tool_choice", "required")),
            "stop": ("refused", ["END"], None),
            "safe_prompt": ("refused", True, None),
        },
    ),
    "Amazon Titan Text": (
        "amazon.titan-text",
        {"inputText": "Hi."},
        {
            "textGenerationConfig.maxTokenCount": ("passed on", 3, ("max_tokens", 3)),
            "textGenerationConfig.temperature": ("passed on", 0.5, ("temperature", 0.5)),
            "textGenerationConfig.topP": ("passed on", 0.5, ("top_p", 0.5)),
            "textGenerationConfig.stopSequences": ("passed on", ["END"], ("stop", ["END"])),
        },
    ),
}


@pytest.mark.parametrize(("row", "field"), [(row, field) for row, (*_, fields) in FAMILIES.items() for field in fields])
def test_a_familys_field_does_what_the_table_says(row: str, field: str):
    """As for Converse: in the family's row under its class, and so it behaves; what a family lacks is refused."""
    model, body, fields = FAMILIES[row]
    kind, value, expected = fields[field]
    outer, _, inner = field.rpartition(".")
    given = {**body, **({outer: {inner: value}} if outer else {inner: value})}
    plain = family_of(model, body).read(body)
    said = classes(row).get(inner)
    if kind == "refused":
        assert said in ({"refused"}, None)
        with pytest.raises(CallerError, match=inner):
            family_of(model, given).read(given)
        return
    assert kind in (said or set())
    told = family_of(model, given).read(given)
    changed = (told.messages, told.fields) != (plain.messages, plain.fields)
    assert changed is (kind == "passed on")
    if expected is not None:
        assert told.fields[expected[0]] == expected[1]
