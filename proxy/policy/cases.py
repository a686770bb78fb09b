"""Cases beside the policies: in ``tests/NAME.yaml`` of their folder, what an answer should come out as.

A case says what is asked, of which source, what a model might answer, and the outcome that is expected. This file reads
them; ``proxy/cases.py`` has them judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from proxy.keys import Keys, Name, Text, nearest, validate
from proxy.yamlfile import ConfigError, Problem, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from proxy.yamlfile import Document

FOLDER = "tests"
"""Where the cases of a folder of policies lie."""

_SUFFIXES = frozenset({".yaml", ".yml"})


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Source = Annotated[
    tuple[Text, ...],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One text, or a list of them."""


class Case(Keys):
    """One answer, and what should come of it. ``policy`` is the file's unless it is given."""

    name: Text = ""
    policy: Name | None = None
    question: Text = ""
    source: Source = ()
    answer: Text
    expect: Literal["passed", "flagged", "redacted", "blocked", "unchecked"]


def _some(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    if not cases:
        message = "must hold at least one case; try an answer, and what to expect of it"
        raise ValueError(message)
    return cases


class CaseFile(Keys):
    """The keys of a file of cases."""

    description: Text = ""
    policy: Name | None = None
    cases: Annotated[tuple[Case, ...], AfterValidator(_some), Field(json_schema_extra={"minItems": 1})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A case, where it stands, and the name of its policy."""

    case: Case
    policy: str
    document: Document
    index: int

    def problem(self, message: str) -> Problem:
        """Say of the case that it came out otherwise, at the place of what it expects."""
        named = f"{self.case.name}: " if self.case.name else ""
        return self.document.problem(("cases", self.index, "expect"), f"{named}{message}")


def case_files(policies: Path) -> list[Path]:
    """List the files of cases of a folder of policies."""
    folder = policies / FOLDER
    return sorted(file for file in folder.glob("[!.]*") if file.suffix in _SUFFIXES) if folder.is_dir() else []


def read_cases(file: Path, policies: Iterable[str]) -> tuple[list[Placed], list[Problem]]:
    """Read a file of cases, for these policies: the cases that can be judged, and all problems of the file.

    A case whose policy is not named is of the policy that the file is named after, else of ``default``.
    """
    names = frozenset(policies)
    if file.exists() and not file.is_file():  # a pipe would wait for a writer
        return [], [Problem(file=file, message="is no ordinary file")]
    try:
        document = read(file)
    except ConfigError as error:
        return [], list(error.problems)
    keys, problems = validate(document, CaseFile)
    if keys is None:
        return [], problems
    fallback = keys.policy or (file.stem if file.stem in names else "default")
    placed = [
        Placed(case=case, policy=case.policy or fallback, document=document, index=index)
        for index, case in enumerate(keys.cases)
    ]
    problems += _unknown(placed, names, keys)
    return [each for each in placed if each.policy in names], list(dict.fromkeys(problems))


def _unknown(placed: list[Placed], names: frozenset[str], keys: CaseFile) -> Iterator[Problem]:
    """Find cases of policies that do not exist."""
    for each in placed:
        if each.policy in names:
            continue
        path = ("cases", each.index, "policy") if each.case.policy else ("policy",) if keys.policy else ()
        remedy = nearest(each.policy, names) or ", ".join(sorted(names))
        yield each.document.problem(path, f"must name a policy; try {remedy}")
