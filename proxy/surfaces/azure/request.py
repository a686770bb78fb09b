"""A ``detectGroundedness`` request, read: the fields of Azure's REST specification and of its quickstart.

Both spell ``domain`` and ``task`` in more than one way (Generic, GENERIC), so case does not count. ``mitigating`` is
what the specification calls ``correction``. Azure's own limits (55,000 characters of sources, 7,500 of text) are not
ours: the policy's are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NoReturn

from proxy.grounding.errors import CallerError
from proxy.surfaces.azure.errors import BAD_VERSION, NO_VERSION
from proxy.surfaces.base import parse_object

if TYPE_CHECKING:
    from collections.abc import Mapping

JsonObject = dict[str, Any]

FIRST_VERSION = "2024-02-15-preview"
"""The first ``api-version`` with this operation; every later one is answered alike."""

_VERSION = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-preview)?")
_FIELDS = frozenset(
    "domain task qna text groundingSources reasoning correction mitigating llmResource".split(),
)
_DOMAINS = {"generic": "Generic", "medical": "Medical"}
_TASKS = {"summarization": "Summarization", "qna": "QnA"}
_RESOURCES = {"azureopenai": "AzureOpenAI"}
_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What is asked. ``query`` is None unless the task is QnA; ``deployment`` is the model that is to explain.

    ``corrections`` are the names under which a corrected text is wanted; none: no correction.
    """

    text: str
    sources: tuple[str, ...]
    query: str | None
    reasoning: bool
    corrections: tuple[str, ...]
    deployment: str | None


def require_version(query: Mapping[str, str]) -> None:
    """Raise ``CallerError`` unless ``api-version`` is a version that has this operation."""
    version = query.get("api-version", "")
    if not version:
        message = "The api-version query parameter (?api-version=) is required for all requests."
        raise CallerError(message, param="api-version", code=NO_VERSION)
    found = _VERSION.fullmatch(version)
    if not found or not _is_date(found[1]) or found[1] < FIRST_VERSION[:10]:
        message = f"Unsupported api-version. The supported api-versions are {FIRST_VERSION} and every later one."
        raise CallerError(message, param="api-version", code=BAD_VERSION)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def read(raw: bytes) -> Detection:
    """Read a body. Raises ``CallerError`` naming the field."""
    body = {name: value for name, value in parse_object(raw).items() if value is not None}
    for name in body:
        if name not in _FIELDS:
            _refuse(name[:_MAX_NAME], "not be there: this operation has no such field")
    _one_of(body, "domain", _DOMAINS)  # both are judged alike: the sources decide
    reasoning = _flag(body, "reasoning")
    corrections = _corrections(body)
    return Detection(
        text=_text(body.get("text"), "text"),
        sources=_sources(body.get("groundingSources")),
        query=_query(body) if _one_of(body, "task", _TASKS) == "QnA" else None,
        reasoning=reasoning,
        corrections=corrections,
        deployment=_deployment(body) if reasoning or corrections else None,
    )


def _corrections(body: JsonObject) -> tuple[str, ...]:
    """Under which names: the quickstart's and the later specification's, and the earlier specification's."""
    names = ("correctionText", "correctedText") if _flag(body, "correction") else ()
    return (*names, "mitigatedText") if _flag(body, "mitigating") else names


def _sources(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        _refuse("groundingSources", "be a list with at least one text")
    for at, source in enumerate(value):
        if not isinstance(source, str):
            _refuse(f"groundingSources[{at}]", "be a string")
    if not any(source.strip() for source in value):
        _refuse("groundingSources", "hold at least one text that is not blank")
    return tuple(value)


def _query(body: JsonObject) -> str:
    qna = body.get("qna")
    if qna is None:
        _refuse("qna", "be given when task is QnA: an object with the query")
    if not isinstance(qna, dict):
        _refuse("qna", "be an object with the query")
    return _text(qna.get("query"), "qna.query")


def _deployment(body: JsonObject) -> str | None:
    """The deployment's name. Whatever endpoint stands beside it is never called."""
    resource = body.get("llmResource")
    if resource is None:
        return None
    if not isinstance(resource, dict):
        _refuse("llmResource", "be an object")
    resource = {name: value for name, value in resource.items() if value is not None}
    _one_of(resource, "resourceType", _RESOURCES, at="llmResource.")
    for name in ("azureOpenAIEndpoint", "azureOpenAIDeploymentName"):
        if not isinstance(resource.get(name, ""), str):
            _refuse(f"llmResource.{name}", "be a string")
    return resource.get("azureOpenAIDeploymentName") or None


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        _refuse(name, "be a string that is not blank")
    return value


def _flag(body: JsonObject, name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        _refuse(name, "be true or false")
    return value


def _one_of(body: JsonObject, name: str, words: Mapping[str, str], *, at: str = "") -> str | None:
    """The word a field is, in its usual spelling; None where there is none."""
    value = body.get(name)
    word = words.get(value.lower()) if isinstance(value, str) else None
    if value is not None and word is None:
        _refuse(at + name, f"be one of {', '.join(words.values())}")
    return word


def _refuse(name: str, why: str) -> NoReturn:
    message = f"{name} must {why}."
    raise CallerError(message, param=name)
