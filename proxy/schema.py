"""JSON Schemas for editors, made of the same models that read the files, and published beside the policies.

A schema says what one file by itself can show: keys, types, ranges, choices. What needs another file, the environment
or two places at once is for ``groundwarden check``. ``os.environ/NAME`` may stand wherever a value does. The draft is
7, which every editor's YAML support reads.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from proxy.policy.cases import CaseFile
from proxy.policy.model import PolicyKeys
from proxy.settings import VERBATIM, SettingsKeys, shipped_policies
from proxy.upstream.model_list import entry_schema
from proxy.yamlfile import parse

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["policy", "config", "cases"]
"""What a schema is of."""

DRAFT = "http://json-schema.org/draft-07/schema#"
FROM_ENVIRONMENT = {"$ref": "#/$defs/FromEnvironment"}

_VARIABLE = {"type": "string", "pattern": "^os\\.environ/[A-Za-z_][A-Za-z0-9_]*$"}

_RENAMED = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_DROPPED = frozenset({"title", "format", "discriminator", "allow_inf_nan", "strict"})
_PLAIN = frozenset({"number", "integer", "boolean"})


def published(kind: Kind) -> Path:
    """The schema's file, where this program is installed."""
    return shipped_policies() / "schema" / f"{kind}.schema.json"


def schema_of(kind: Kind) -> dict[str, Any]:
    """The schema of policy files, of config.yaml or of files of cases."""
    if kind == "policy":
        return _described(_policy())
    if kind == "config":
        return _config(_made(SettingsKeys, "config.yaml of Groundwarden"))
    return _made(CaseFile, "Cases of policies")


def write() -> None:
    """Write all three where they are published from; ``make schemas`` does."""
    for kind in ("policy", "config", "cases"):
        file = published(kind)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(schema_of(kind), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _made(model: type[PolicyKeys | SettingsKeys | CaseFile], title: str) -> dict[str, Any]:
    schema = _plain(model.model_json_schema(by_alias=True))
    return {"$schema": DRAFT, "title": title, **schema, "$defs": {"FromEnvironment": _VARIABLE, **schema["$defs"]}}


def _policy() -> dict[str, Any]:
    schema = _made(PolicyKeys, "A policy of Groundwarden")
    base = {"type": "string", "description": "the policy that this one is laid over, key by key"}
    return {**schema, "properties": {"extends": base, **schema["properties"]}}


def _config(schema: dict[str, Any]) -> dict[str, Any]:
    """Add what the settings check between keys, and LiteLLM's shape of a model. A key with nothing after it is none."""
    properties: dict[str, Any] = {
        name: {"anyOf": [{"type": "null"}, each]} for name, each in schema["properties"].items()
    }
    properties["model_list"] = {"type": "array", "minItems": 1, "items": entry_schema(FROM_ENVIRONMENT)}
    tenant = schema["$defs"]["Tenant"]
    tenant["anyOf"] = [_holding(name) for name in ("key_sha256", "key_env", "aws")]
    return {**schema, "properties": properties, "required": ["model_list"]}


def _holding(name: str) -> dict[str, Any]:
    """A mapping in which a key says something."""
    return {"required": [name], "properties": {name: {"not": {"enum": [None, [], {}]}}}}


def _plain(value: Any) -> Any:
    """A schema of pydantic's in draft 7's words, without Python's, that takes the environment's text for a value."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {
        str(_RENAMED.get(name, name)): _below(name, item) for name, item in value.items() if name not in _DROPPED
    }
    return _or_environment(_one_of(_off(made)))


def _below(name: str, item: Any) -> Any:
    """What a word of a schema holds: schemas by name, plain values, or one more schema."""
    if name in {"properties", "$defs"}:
        return {key: _plain(each) for key, each in item.items()}
    return item if name in {"default", "enum", "const", "required"} else _plain(item)


def _off(schema: dict[str, Any]) -> dict[str, Any]:
    """Bare ``off`` is false to YAML, and is meant as the word."""
    if "off" not in schema.get("enum", ()):
        return schema
    return {**{name: item for name, item in schema.items() if name != "type"}, "enum": [*schema["enum"], False]}


def _one_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Choose by the key that names the choice, as the reader does, so that an editor shows one choice's errors."""
    if "x-by" not in schema:
        return schema
    by, choices = schema["x-by"], schema["x-choices"]
    references = dict(zip(choices, schema["oneOf"], strict=True))
    first = next(iter(choices))
    told = {name: item for name, item in schema.items() if name not in {"x-by", "x-choices", "oneOf"}}
    named = [
        {"if": {"properties": {by: {"const": name}}, "required": [by]}, "then": references[name]} for name in choices
    ]
    unnamed = {"if": {"required": [by]}, "else": references[first]}
    return {**told, "type": "object", "properties": {by: {"enum": list(choices)}}, "allOf": [*named, unnamed]}


def _or_environment(schema: dict[str, Any]) -> dict[str, Any]:
    """Let ``os.environ/NAME`` stand for what is no free text."""
    if VERBATIM in schema:
        return {name: item for name, item in schema.items() if name != VERBATIM}
    kind = schema.get("type")
    closed = "enum" in schema or "pattern" in schema or (isinstance(kind, str) and kind in _PLAIN)
    if not closed:
        return schema
    about: dict[str, Any] = {name: schema[name] for name in ("default", "description") if name in schema}
    return {**about, "anyOf": [{name: item for name, item in schema.items() if name not in about}, FROM_ENVIRONMENT]}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe each key by what stands beside it in the policy that shows them all."""
    file = shipped_policies() / "default.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    for path, place in parse(file, file.read_bytes(), environ={}).keys.items():
        at = schema
        for name in path:
            at = _property(schema, at, str(name))
        if found := re.search(r"\s#\s(.*)$", lines[place.line - 1]):
            at.setdefault("description", found[1])
    return schema


def _property(schema: dict[str, Any], holder: dict[str, Any], name: str) -> dict[str, Any]:
    reference = holder.get("$ref") or next((each["$ref"] for each in holder.get("allOf", ()) if "$ref" in each), None)
    if reference:
        holder = schema["$defs"][reference.rpartition("/")[2]]
    found: dict[str, Any] = holder["properties"][name]
    return found
