"""What the keys of all our files have in common: strict types, no unknown key, and a place and a remedy per problem.

A file's keys are a frozen pydantic model derived from ``Keys``. ``validate`` fills it from a document and says what is
wrong in our own words: pydantic's hold Python's names, and may hold the value.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from proxy.yamlfile import FromEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydantic.fields import FieldInfo

    from proxy.yamlfile import Document, KeyPath, Problem


def _from_environment(value: Any) -> Any:
    return value.scalar() if isinstance(value, FromEnvironment) else value


Text = Annotated[str, Strict()]
"""Text. A number is not text: YAML may have changed it (``007`` is 7)."""
Name = Annotated[str, Strict(), Field(min_length=1)]
"""Text that is not empty."""
Flag = Annotated[bool, Strict(), BeforeValidator(_from_environment)]
"""True or false."""
Integer = Annotated[int, Strict(), BeforeValidator(_from_environment)]
"""A whole number."""
Count = Annotated[int, Strict(), Field(ge=1), BeforeValidator(_from_environment)]
"""A whole number, at least 1."""
Number = Annotated[float, Strict(), Field(allow_inf_nan=False), BeforeValidator(_from_environment)]
"""A finite number."""


class Keys(BaseModel):
    """The keys of a file, or of a mapping in it. Frozen; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class WrittenAs:
    """Marks a field whose value is written as the keys of ``keys`` and made of them by ``make``."""

    keys: type[Keys]
    make: Callable[[Any], Any]
    unmake: Callable[[Any], Any]
    """Turns a value made earlier back into a mapping, and leaves anything else alone."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Read the keys, then make the value."""
        written = core_schema.no_info_before_validator_function(self.unmake, handler.generate_schema(self.keys))
        back = core_schema.plain_serializer_function_ser_schema(self.unmake)
        return core_schema.no_info_after_validator_function(self.make, written, serialization=back)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Marks a field that is written as the keys of one of ``choices``: the one that its key ``by`` names.

    Without that key it is the first. A name that is none of them is taken for the nearest one, whose own check of
    ``by`` then refuses it.
    """

    by: str
    choices: dict[str, type[Keys]]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Read the keys of the choice."""
        schemas = {name: handler.generate_schema(keys) for name, keys in self.choices.items()}
        return core_schema.tagged_union_schema(schemas, self.choose)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        """The choices, in their order, with what chooses beside them; ``proxy/schema.py`` makes conditions of it."""
        return {**handler(schema), "x-by": self.by, "x-choices": list(self.choices)}

    def choose(self, value: Any) -> str:
        """The name of the choice that a value is, or is meant to be."""
        name = value.get(self.by) if isinstance(value, dict) else getattr(value, self.by, None)
        first = next(iter(self.choices))
        if not isinstance(name, str):
            return first
        return name if name in self.choices else nearest(name, self.choices) or first


Model = TypeVar("Model", bound=Keys)


def validate(document: Document, model: type[Model]) -> tuple[Model | None, list[Problem]]:
    """Fill a model from a document: the model (None when anything is wrong with it), and all problems.

    The document's own problems are among them; what is wrong only because of those is not reported again.
    """
    problems = list(document.problems)
    known = {problem.path for problem in problems}
    try:
        filled = model.model_validate(document.value)
    except ValidationError as error:
        found = (_problem(document, model, details) for details in error.errors(include_url=False))
        problems += [problem for problem in found if problem.path not in known]
        return None, problems
    return (None if problems else filled), problems


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Find the one of ``words`` that was probably meant, None when none is like it."""
    return next(iter(difflib.get_close_matches(word, list(words), n=1, cutoff=0.61)), None)


def _problem(document: Document, model: type[Keys], details: ErrorDetails) -> Problem:
    path, fields = _place(model, details["loc"])
    at_key = details["type"] == "extra_forbidden"
    message = _unknown_key(fields, path) if at_key else _worded(details) + _hint(fields, path, details)
    return document.problem(path, message, at_key=at_key)


def _unknown_key(fields: dict[str, FieldInfo], path: KeyPath) -> str:
    meant = nearest(str(path[-1]), fields)
    remedy = f"try {meant}" if meant else f"the keys here are {', '.join(fields)}"
    return f"is not a known key; {remedy}"


def _worded(details: ErrorDetails) -> str:
    """Say in our words what a value must be."""
    context = details.get("ctx", {})
    if details["type"] == "value_error":
        return str(context["error"])
    if details["type"] == "literal_error":
        return f"must be {_without_quotes(context['expected'])}"
    words = _WORDS.get(details["type"])
    if details["type"] == "string_type" and isinstance(details.get("input"), list | tuple | dict):
        words = "must be one text, not a list or a mapping"
    return words.format_map(context) if words else details["msg"].replace("Input should be", "must be")


def _hint(fields: dict[str, FieldInfo], path: KeyPath, details: ErrorDetails) -> str:
    """Name a value that would be right: the one probably meant, else the default."""
    if details["type"] == "value_error":
        return ""
    written, expected = details.get("input"), details.get("ctx", {}).get("expected", "")
    meant = nearest(written, _literals(expected)) if isinstance(written, str) else None
    if meant:
        return f"; try {meant}"
    field = fields.get(str(path[-1])) if path else None
    default = field.default if field else None
    return f"; try {json.dumps(default)}" if isinstance(default, bool | int | float) else ""


def _literals(expected: str) -> Iterator[str]:
    """Split pydantic's list of what a literal may be: ``'a', 'b' or 'c'``."""
    return (word.strip("'") for word in expected.replace(" or ", ", ").split(", "))


def _without_quotes(expected: str) -> str:
    return expected.replace("'", "")


def _place(model: type[Keys], loc: Iterable[str | int]) -> tuple[KeyPath, dict[str, FieldInfo]]:
    """Turn pydantic's place into the file's, and find the fields of the mapping that its last part stands in.

    Pydantic's has the name of the choice after a field that is one of several. No fields where any key may stand.
    """
    path: KeyPath = ()
    around, fields, choices = _as_written(model), _as_written(model), None
    for part in loc:
        if choices:
            fields, choices = _as_written(choices[str(part)]), None
            continue
        path, around = (*path, part), fields
        if isinstance(part, str):
            field = fields.get(part)
            below, choices = _below(field) if field else (None, None)
            fields = _as_written(below) if below else {}
    return path, around


def _as_written(model: type[Keys]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _below(field: FieldInfo) -> tuple[type[Keys] | None, dict[str, type[Keys]] | None]:
    """Find the keys that a field's value is written with, or the choices of them."""
    for mark in field.metadata:
        if isinstance(mark, OneOf):
            return None, mark.choices
    return _keys_of(field.annotation, *field.metadata), None


def _keys_of(*annotations: Any) -> type[Keys] | None:
    """Find the keys that a value is written with, within lists and unions too."""
    for annotation in annotations:
        if isinstance(annotation, WrittenAs):
            return annotation.keys
        if isinstance(annotation, type) and issubclass(annotation, Keys):
            return annotation
        found = _keys_of(*get_args(annotation))
        if found:
            return found
    return None


_WORDS = {
    "missing": "is required",
    "string_type": "must be text; put it in quotes",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters long",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "path_type": "must be a path in quotes",
    "tuple_type": "must be a list; try [ … ]",
    "too_short": "must hold at least {min_length}",
}
