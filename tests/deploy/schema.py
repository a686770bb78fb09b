"""Grafana's schema, by the types that Grafana publishes: what a dashboard holds against it."""

from __future__ import annotations

import builtins
import enum
import json
import sys
import types
import typing
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of Grafana's classic schema, which provisioned files are in
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

plugins.register_default_plugins()

DEFAULTS = {"multi", "includeAll", "allowCustomValue", "skipUrlSync", "auto", "auto_min", "auto_count", "builtIn"} | {
    "repeatDirection",
    "transparent",
    "placement",
    "selectionMode",
}
"""Keys that may be left out, and that Grafana's types then write out with their defaults."""


def against_schema(dashboard):
    """What Grafana's types know nothing of, miss, or have of another type."""
    model = Dashboard.from_json(dashboard)
    yield from differences(dashboard, json.loads(json.dumps(model, cls=JSONEncoder)))
    yield from wrong_types(model)


def differences(ours, theirs, path="dashboard"):
    """Where an object and what the types made of it differ, but for the defaults that they write out."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys() - DEFAULTS:
            if key not in ours or key not in theirs:
                yield f"{path}.{key} is only {'here' if key in ours else 'there'}"
            else:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{at}]")
    elif ours != theirs:
        yield f"{path}: {ours!r}, {theirs!r}"


def wrong_types(model, path="dashboard"):
    """Where an object of Grafana's types holds what its annotations do not allow."""
    module = sys.modules[type(model).__module__]
    for name, hint in type(model).__annotations__.items():
        value = getattr(model, name)
        resolved = eval(hint, vars(module)) if isinstance(hint, str) else hint  # noqa: S307 - Grafana's own words
        if not fits(value, resolved, vars(module)):
            yield f"{path}.{name}: {value!r}"
        for at, part in enumerate(value if isinstance(value, list) else [value]):
            if hasattr(type(part), "from_json"):
                yield from wrong_types(part, f"{path}.{name}[{at}]")


def fits(value, hint, names):
    """Whether a value is what a type hint says; a hint in quotes is one of ``names``."""
    hint = getattr(hint, "__forward_arg__", hint)
    hint = names[hint] if isinstance(hint, str) else hint
    arguments = typing.get_args(hint)
    match typing.get_origin(hint):
        case typing.Union | types.UnionType:
            return any(fits(value, each, names) for each in arguments)
        case typing.Literal:
            return value in arguments
        case builtins.list:
            return isinstance(value, list) and all(fits(each, arguments[0], names) for each in value)
        case builtins.dict:
            return isinstance(value, dict)
        case _:
            return hint is typing.Any or is_one(value, hint)


def is_one(value, kind):
    """Whether a value is of a class: an enumeration is read as its values, and True is no number."""
    if issubclass(kind, enum.Enum):
        return value in [each.value for each in kind]
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, kind)
