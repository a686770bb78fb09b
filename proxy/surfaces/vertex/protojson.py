"""Request bodies read as Google's servers read proto-JSON, which is more than one way to write a message.

Rules of this file (protobuf.dev, "ProtoJSON Format"; what Google's REST front end does besides)
- Fields are named in camel case or as the proto names them; null is a field that is not there.
- Numbers and booleans may be written as strings. Strings may not be written as anything else.
- Names that the message does not have are refused, as Google refuses them; a message names the field as the proto does
  and never says what it holds.
- A comma before a closing bracket is let pass: Google's own examples have it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from proxy.grounding.errors import CallerError
from proxy.surfaces.base import parse_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MAX_NAME = 64
_LOOSE = re.compile(rb'"(?:[^"\\]|\\.?)*"?|,(?=\s*[}\]])', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CAMEL = re.compile(r"_([a-z0-9])")


@dataclass(frozen=True, slots=True)
class Message:
    """Fields by the names that the proto gives them. ``names`` are those by what may be written for them."""

    fields: Mapping[str, Shape]
    names: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Know the names once: a body may hold a message a hundred thousand times."""
        names = {written: name for name in self.fields for written in (name, _camel(name))}
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A list, with no more than ``most`` items if that is given: a longer one is refused before it is read."""

    of: Shape
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Strings:
    """A ``map<string, string>``."""


Scalar = Literal["STRING", "DOUBLE", "BOOL", "ANY"]
"""``ANY`` is what is known to be there and not read."""

Shape: TypeAlias = "Message | Repeated | Strings | Scalar"

Read = dict[str, Any]
"""A message that was read: by the proto's names, without what is not there."""


def read(body: bytes, shape: Message) -> Read:
    """The body as a message. Raises ``CallerError`` naming the first field that is not as it should be."""
    return dict(_fields(_parsed(body), shape, ""))


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        return parse_object(body)
    except CallerError:
        strict = _LOOSE.sub(lambda found: b"" if found[0] == b"," else found[0], body)
        if strict == body:
            raise
        return parse_object(strict)


def _fields(value: Any, shape: Message, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise _invalid(path, "an object")
    seen: set[str] = set()
    for written, held in value.items():
        if held is None:
            continue
        name = shape.names.get(written)
        if name is None:
            raise _unknown(written, path)
        if name in seen:
            message = f"{_at(path, name)} is given twice, by both of its names."
            raise CallerError(message, param=_at(path, name))
        seen.add(name)
        yield name, _value(held, shape.fields[name], _at(path, name))


def _value(value: Any, shape: Shape, path: str) -> Any:
    match shape:
        case Message():
            return dict(_fields(value, shape, path))
        case Repeated(of, most):
            if not isinstance(value, list):
                raise _invalid(path, "a list")
            if most is not None and len(value) > most:
                message = f"{path} must be at most {most}; there are {len(value)}."
                raise CallerError(message, param=path)
            return [_value(each, of, f"{path}[{at}]") for at, each in enumerate(value)]
        case Strings():
            return _strings(value, path)
        case _:
            return _SCALARS[shape](value, path)


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _invalid(path, "a string")
    return value


def _boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool) and value not in ("true", "false"):
        raise _invalid(path, "true or false")
    return value in (True, "true")


def _strings(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(held, str) for held in value.values()):
        raise _invalid(path, "an object whose values are strings")
    return value


def _number(value: Any, path: str) -> float:
    written = isinstance(value, str) and _NUMBER.fullmatch(value) is not None
    if not written and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _invalid(path, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _invalid(path, "a number that a double can hold")
    return number


_SCALARS: dict[Scalar, Callable[[Any, str], Any]] = {
    "STRING": _string,
    "DOUBLE": _number,
    "BOOL": _boolean,
    "ANY": lambda value, _: value,
}


def _camel(name: str) -> str:
    return _CAMEL.sub(lambda found: found[1].upper(), name)


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _invalid(path: str, what: str) -> CallerError:
    return CallerError(f"Invalid value at '{path}': it must be {what}.", param=path)


def _unknown(name: str, path: str) -> CallerError:
    place = f" at '{path}'" if path else ""
    message = f'Invalid JSON payload received. Unknown name "{name[:_MAX_NAME]}"{place}: Cannot find field.'
    return CallerError(message, param=path or None)
