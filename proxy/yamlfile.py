"""YAML files whose every key and value knows its file, line and column.

Rules of this file:

- It knows YAML, places and environment variables, not what any key means.
- Everything wrong is collected. Only a file that cannot be read as YAML at all raises, with that one problem.
- No message holds a value, an anchor's or a tag's name: any of them may be a secret in the wrong place.
- Only what JSON knows comes out: mappings with text keys, lists, text, numbers, booleans and null. Keys are taken as
  they are written (``off:`` is "off", ``50256:`` is "50256"), and so are dates (``api_version: 2024-02-01``).
- Aliases share what they point to, so a small file can expand without end: nesting and expansion are bounded.
- Whole numbers have at most 64 bits: with more, nothing that writes them down again is sure to succeed.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from proxy.grounding.errors import GroundwardenError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

MAX_BYTES = 1_048_576
"""Largest file read."""
MAX_DEPTH = 50
"""Deepest nesting of mappings and lists."""
MAX_VALUES = 100_000
"""Most keys and values in one file after its aliases are expanded."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What an environment variable may be named. Anything else in the place of a name may be a secret."""

_MAX_INTEGER = 2**63 - 1
_ENVIRONMENT = "os.environ/"
_QUOTED = re.compile(r"'(?!<)[^']{2,}'")
_TAG = "tag:yaml.org,2002:"

KeyPath = tuple[str | int, ...]
"""Where a value stands in its file: mapping keys and list indices from the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in a file. ``line`` and ``column`` count from 1; 0 when the file as a whole is meant."""

    file: Path
    message: str
    line: int = 0
    column: int = 0
    path: KeyPath = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else str(self.file)
        return ": ".join(part for part in (place, dotted(self.path), self.message) if part)


class ConfigError(GroundwardenError):
    """What is configured cannot be used. ``problems`` holds everything found, ``message`` one line for each."""

    code = "invalid_configuration"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(in_order(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by file and line, and name each once."""
    return sorted(dict.fromkeys(problems), key=lambda problem: (str(problem.file), problem.line, problem.column))


class FromEnvironment(str):
    """Text that came from an environment variable: likely a secret, and the only text that may stand for a number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<from the environment>"

    def scalar(self) -> Any:
        """Read this text as YAML would: a number, a boolean, null, or the text itself."""
        try:
            value = yaml.safe_load(self)
        except (yaml.YAMLError, ValueError):
            return str(self)
        return str(self) if _too_big(value) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is written, counted from 1."""

    file: Path
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file's content with the place of every key and value in it.

    ``value`` is the root mapping. ``problems`` are those that did not stop the reading (a key given twice, a missing
    environment variable); what they concern is in ``value`` too, as the first one given or as empty text.
    """

    file: Path
    value: dict[str, Any] = field(default_factory=dict, repr=False)
    keys: Mapping[KeyPath, Place] = field(default_factory=dict, repr=False)
    values: Mapping[KeyPath, Place] = field(default_factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()

    def problem(self, path: KeyPath, message: str, *, at_key: bool = False) -> Problem:
        """Place a message at the value of ``path`` (or at its key), or at the nearest thing around it in the file."""
        places = self.keys if at_key and path in self.keys else self.values
        for length in range(len(path), -1, -1):
            place = places.get(path[:length])
            if place is not None:
                return Problem(file=place.file, line=place.line, column=place.column, path=path, message=message)
        return Problem(file=self.file, path=path, message=message)

    def over(self, base: Document) -> Document:
        """Lay this document over ``base``: mappings are merged key by key, everything else is replaced.

        Every value keeps the place it was written in.
        """
        return Document(
            file=self.file,
            value=_merged(base.value, self.value),
            keys={**base.keys, **self.keys},
            values={**base.values, **self.values},
            problems=base.problems + self.problems,
        )


def read(file: Path, *, environ: Mapping[str, str] | None = None) -> Document:
    """Read a file; see ``parse``. A file that cannot be opened raises ``ConfigError`` too."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise ConfigError([Problem(file=file, message="does not exist")]) from error
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise ConfigError([Problem(file=file, message=f"cannot be read: {reason}")]) from error
    return parse(file, data, environ=environ)


def parse(file: Path, data: bytes, *, environ: Mapping[str, str] | None = None) -> Document:
    """Read ``data`` as the content of ``file``. ``os.environ/NAME`` is replaced by the variable's value everywhere.

    An empty document is an empty mapping. Raises ``ConfigError`` with a single problem when there is no mapping to be
    had: not UTF-8, not YAML, too large, too deep, or another kind of value at the root.
    """
    text = _decoded(file, data)
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as error:
        raise ConfigError([_unreadable(file, error)]) from None
    except yaml.reader.ReaderError as error:
        line, column = _line_and_column(text[: error.position])
        problem = Problem(file=file, line=line, column=column, message="holds a character that YAML does not allow")
        raise ConfigError([problem]) from None
    if root is None or root.tag == f"{_TAG}null":
        return Document(file=file)
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError([_at(file, root, (), "must be a mapping of keys to values")])
    builder = _Builder(file, os.environ if environ is None else environ)
    value = builder.build(root, ())
    return Document(file=file, value=value, keys=builder.keys, values=builder.values, problems=tuple(builder.problems))


def dotted(path: KeyPath) -> str:
    """Write a path as people do: ``tenants[1].policy``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def plain(value: Any) -> Any:
    """Copy a value into Python's own types: text from the environment becomes ordinary text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


class _Composer(yaml.SafeLoader):
    """PyYAML's own composer, which stops at ``MAX_DEPTH``: it calls itself for every level."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=f"it is nested deeper than {MAX_DEPTH} levels", problem_mark=mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _composed(text: str) -> yaml.Node | None:
    """Parse one document into nodes; None when there is none."""
    loader = _Composer(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


class _Builder:
    """Turns nodes into plain values, noting the place of each and everything that is wrong."""

    def __init__(self, file: Path, environ: Mapping[str, str]) -> None:
        self.file = file
        self.environ = environ
        self.keys: dict[KeyPath, Place] = {}
        self.values: dict[KeyPath, Place] = {}
        self.problems: list[Problem] = []
        self._constructor = yaml.constructor.SafeConstructor()
        self._open: set[int] = set()
        self._values_met = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        """Turn one node, and all below it, into its value."""
        self._count(node, path)
        self.values[path] = _place(self.file, node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        with self._entered(node, path):
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key_node, value_node in self._entries(node, path):
            key = _whole(key_node.value)
            here = (*path, key)
            self.keys[here] = _place(self.file, key_node)
            value[key] = self.build(value_node, here)
        return value

    def _entries(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """Yield a mapping's own entries, then those that its ``<<`` keys add; each key once."""
        seen: set[str] = set()
        merged: list[yaml.Node] = []
        for key, value in node.value:
            self._count(key, path)
            if key.tag == f"{_TAG}merge":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
            elif not isinstance(key, yaml.ScalarNode):
                self._report(key, path, "has a key that is not plain text")
            elif key.value in seen:
                self._report(key, (*path, key.value), "is given twice; keep one")
            else:
                seen.add(key.value)
                yield key, value
        for other in merged:
            for key, value in self._merged_entries(other, path):
                if key.value not in seen:
                    seen.add(key.value)
                    yield key, value

    def _merged_entries(self, node: yaml.Node, path: KeyPath) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """Yield the entries of a mapping that is merged into another."""
        if not isinstance(node, yaml.MappingNode):
            self._report(node, path, "merges (<<) what is not a mapping")
            return
        with self._entered(node, path):
            yield from self._entries(node, path)

    def _count(self, node: yaml.Node, path: KeyPath) -> None:
        self._values_met += 1
        if self._values_met > MAX_VALUES:
            raise ConfigError([_at(self.file, node, path, f"has more than {MAX_VALUES} values; use fewer aliases")])

    @contextmanager
    def _entered(self, node: yaml.Node, path: KeyPath) -> Iterator[None]:
        """Stay within a node while what is below it is built."""
        if id(node) in self._open:
            raise ConfigError([_at(self.file, node, path, "holds an alias to itself")])
        if len(self._open) >= MAX_DEPTH:
            raise ConfigError([_at(self.file, node, path, f"is nested deeper than {MAX_DEPTH} levels")])
        self._open.add(id(node))
        try:
            yield
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return self._text(node, path)
        if kind == "timestamp":
            return str(node.value)
        if kind not in {"null", "bool", "int", "float"}:
            self._report(node, path, "has a YAML tag that is not supported; remove the tag")
            return ""
        try:
            value = self._constructor.construct_object(node)
        except (ValueError, KeyError, yaml.YAMLError):
            self._report(node, path, f"is not a valid {kind}")
            return ""
        if _too_big(value):
            self._report(node, path, f"is out of range; try {_MAX_INTEGER} at most")
            return ""
        return value

    def _text(self, node: yaml.ScalarNode, path: KeyPath) -> str:
        text = _whole(node.value)
        if not text.startswith(_ENVIRONMENT):
            return text
        name = text.removeprefix(_ENVIRONMENT)
        if not VARIABLE.fullmatch(name):
            self._report(node, path, f"must name a variable after {_ENVIRONMENT}; try {_ENVIRONMENT}MY_KEY")
            return FromEnvironment()
        found = self.environ.get(name, "")
        if not found:
            self._report(node, path, f"needs the environment variable {name}, which is not set; try export {name}=…")
        return FromEnvironment(_whole(found))

    def _report(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self.problems.append(_at(self.file, node, path, message))


def _too_big(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > _MAX_INTEGER


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge two mappings key by key, mappings within them too."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _decoded(file: Path, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise ConfigError([Problem(file=file, message=f"is larger than {MAX_BYTES} bytes")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _line_and_column(data[: error.start].decode("utf-8", "replace"))
        problem = Problem(file=file, line=line, column=column, message="is not UTF-8 text; save the file as UTF-8")
        raise ConfigError([problem]) from None


def _whole(text: str) -> str:
    r"""Join the halves of characters that JSON writes in two (``\ud83d\ude00``). A half alone could not be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _line_and_column(before: str) -> tuple[int, int]:
    """Count from 1 where the text after ``before`` begins."""
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _unreadable(file: Path, error: yaml.MarkedYAMLError) -> Problem:
    """Describe a syntax error by PyYAML's own words, less the snippet of the file and every name it quotes."""
    mark = error.problem_mark or error.context_mark
    words = ", ".join(str(part) for part in (error.context, error.problem) if part) or "a syntax error"
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Problem(file=file, line=line, column=column, message=f"is not valid YAML: {_QUOTED.sub('…', words)}")


def _place(file: Path, node: yaml.Node) -> Place:
    return Place(file=file, line=node.start_mark.line + 1, column=node.start_mark.column + 1)


def _at(file: Path, node: yaml.Node, path: KeyPath, message: str) -> Problem:
    place = _place(file, node)
    return Problem(file=file, line=place.line, column=place.column, path=path, message=message)
