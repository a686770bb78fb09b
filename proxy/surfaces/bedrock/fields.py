"""The fields of a JSON object, taken one by one, each under the name that errors give it.

For bodies that no service model describes. What is not taken by the end is not known, and refused. ``must``,
``refused`` and ``under`` are the words of such errors, for other readers too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from proxy.grounding.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.surfaces.bedrock.prompt import Prompt

MAX_NAME = 64
"""Characters of a caller's own name for a field that an error repeats."""

_T = TypeVar("_T")


def must(path: str, what: str) -> CallerError:
    """The error that the field at ``path`` ("" for the body itself) is not ``what`` it must be."""
    return CallerError(f"{path or 'The request body'} must {what}.", param=path or None)


def under(path: str, name: str) -> str:
    """The path of the field ``name`` in what is at ``path``."""
    return f"{path}.{name}" if path else name


def refused(path: str, field: str, why: str) -> CallerError:
    """The error for a ``field`` under ``path`` that is known and not supported."""
    path = under(path, field) if field else path
    return CallerError(f"{path} is not supported: {why}.", param=path, code="unsupported_parameter")


class Fields:
    """An object at ``path`` ("" for the body itself). Every reader raises ``CallerError`` naming the field."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.path = path
        if not isinstance(value, dict):
            raise must(path, "be an object")
        self._left = {name: held for name, held in value.items() if held is not None}

    def has(self, name: str) -> bool:
        """Whether a field is there, and not null."""
        return name in self._left

    def at(self, name: str) -> str:
        """A field's path."""
        return under(self.path, name)

    def holds_list(self, name: str) -> bool:
        """Whether a field holds a list."""
        return isinstance(self._left.get(name), list)

    def taken(self, name: str) -> Any:
        """A field's value, whatever it is; None where there is none."""
        return self._left.pop(name, None)

    def ignore(self, *names: str) -> None:
        """Take fields that have no effect here."""
        for name in names:
            self.taken(name)

    def done(self) -> None:
        """Say that all has been read: any field left is not known."""
        for name in self._left:
            raise self._must(name[:MAX_NAME], "not be there: this model's body has no such field")

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self.taken(name)
        if not isinstance(value, str):
            raise self._must(name, "be a string")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or None."""
        return self.text(name) if self.has(name) else None

    def one_of(self, name: str, choices: Mapping[str, _T], *, needed: bool = False) -> _T | None:
        """What a word stands for; None where there is none."""
        if not self.has(name) and not needed:
            return None
        value = self.taken(name)
        if not isinstance(value, str) or value not in choices:
            raise self._must(name, f"be one of {', '.join(choices)}")
        return choices[value]

    def inside(self, name: str, *, needed: bool = False) -> Fields:
        """The object that a field holds; an empty one where there is none."""
        value = self.taken(name)
        return Fields({} if value is None and not needed else value, self.at(name))

    def objects(self, name: str, *, needed: bool = False) -> Iterator[tuple[str, Fields]]:
        """The objects in a list, each with its path."""
        for path, value in self.items(name, needed=needed):
            yield path, Fields(value, path)

    def items(self, name: str, *, needed: bool = False) -> list[tuple[str, Any]]:
        """What a list holds, with paths; nothing where there is none."""
        value = self.taken(name)
        if value is None and not needed:
            return []
        if not isinstance(value, list) or (needed and not value):
            raise self._must(name, "be a list with at least one item" if needed else "be a list")
        return [(f"{self.at(name)}[{at}]", item) for at, item in enumerate(value)]

    def count(self, name: str, prompt: Prompt, ours: str) -> None:
        """Pass a whole number on under our name for it."""
        if self.has(name):
            value = self.taken(name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise self._must(name, "be a whole number, 0 or more")
            prompt.fields[ours] = value

    def number(self, name: str, prompt: Prompt, ours: str) -> None:
        """Pass a number on under our name for it."""
        if self.has(name):
            value = self.taken(name)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise self._must(name, "be a number")
            prompt.fields[ours] = value

    def strings(self, name: str, prompt: Prompt, ours: str) -> None:
        """Pass a list of strings on under our name for it; an empty one is none."""
        values = self.items(name)
        if not all(isinstance(value, str) for _, value in values):
            raise self._must(name, "be a list of strings")
        if values:
            prompt.fields[ours] = [value for _, value in values]

    def _must(self, name: str, what: str) -> CallerError:
        return must(self.at(name), what)
