"""Requests held against AWS's own service model, which botocore ships: the authority for every field.

botocore's own validator is for Python values (bytes for blobs) and quotes what it refuses; here the JSON is checked as
it comes over the wire, and a message names the field and what it must be, never what it holds. Patterns are not
checked: AWS's do not know our policies' names, and its SDKs do not check them either.
"""

from __future__ import annotations

import base64
import binascii
from functools import cache
from typing import TYPE_CHECKING, Any

from proxy.surfaces.bedrock.fields import MAX_NAME, must, under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JsonObject = dict[str, Any]


def shaped(operation: str, body: JsonObject) -> JsonObject:
    """A JSON body that is as bedrock-runtime's model has it, less its nulls: they say that a field is not there.

    Raises ``CallerError`` naming the first field that is not.
    """
    return _structure(_input_of(operation), body, "")


@cache
def _input_of(operation: str) -> Any:
    """The input shape of one operation; botocore is imported when the first request needs it."""
    from botocore.loaders import Loader  # noqa: PLC0415 - as above
    from botocore.model import ServiceModel  # noqa: PLC0415

    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")
    return model.operation_model(operation).input_shape


def _checked(shape: Any, value: Any, path: str) -> Any:
    if getattr(shape, "is_document_type", False):
        return value  # any JSON, its nulls included
    return _CHECKS[shape.type_name](shape, value, path)


def _structure(shape: Any, value: Any, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise must(path, "be an object")
    inside = {name: member for name, member in shape.members.items() if "location" not in member.serialization}
    given = {name: held for name, held in value.items() if held is not None}
    for name in given:
        if name not in inside:
            raise must(under(path, name[:MAX_NAME]), "not be there: the API has no such field")
    for name in shape.required_members:
        if name in inside and name not in given:
            raise must(under(path, name), "be given")
    if getattr(shape, "is_tagged_union", False) and len(given) != 1:
        raise must(path, f"hold exactly one of {', '.join(inside)}")
    return {name: _checked(inside[name], held, under(path, name)) for name, held in given.items()}


def _list(shape: Any, value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise must(path, "be a list")
    _bounds(shape, len(value), path, "items")
    return [_checked(shape.member, item, f"{path}[{at}]") for at, item in enumerate(value)]


def _map(shape: Any, value: Any, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise must(path, "be an object")
    _bounds(shape, len(value), path, "entries")
    return {name: _checked(shape.value, item, under(path, name[:MAX_NAME])) for name, item in value.items()}


def _string(shape: Any, value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise must(path, "be a string")
    if shape.enum and value not in shape.enum:
        raise must(path, f"be one of {', '.join(shape.enum)}")
    _bounds(shape, len(value), path, "characters")
    return value


def _number(shape: Any, value: Any, path: str) -> int | float:
    whole = shape.type_name in {"integer", "long"}
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise must(path, "be a whole number" if whole else "be a number")
    _bounds(shape, value, path, "")
    return value


def _boolean(_: Any, value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise must(path, "be true or false")
    return value


def _blob(_: Any, value: Any, path: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise must(path, "be base64") from None
    return str(value)


_CHECKS: dict[str, Callable[[Any, Any, str], Any]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "integer": _number,
    "long": _number,
    "float": _number,
    "double": _number,
    "boolean": _boolean,
    "blob": _blob,
}


def _bounds(shape: Any, size: float, path: str, unit: str) -> None:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if (least is not None and size < least) or (most is not None and size > most):
        raise must(path, " ".join(_range(least, most, unit)))


def _range(least: Any, most: Any, unit: str) -> Iterator[str]:
    yield "have" if unit else "be"
    if least is not None:
        yield f"at least {least}"
    if least is not None and most is not None:
        yield "and"
    if most is not None:
        yield f"at most {most}"
    if unit:
        yield unit
