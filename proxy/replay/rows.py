"""The audit's lines read back. ``proxy/observe/audit.py`` writes them; only what a replay needs is read.

A file may be anyone's: a line that the audit would not have written so is no record, whatever is wrong with it. Names
go to a terminal later, so none may hold what would steer one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast, get_args

from proxy.files import readable
from proxy.grounding.types import Claim, ClaimKind, ClaimResult, GroundingContext, Outcome, Rule, Source
from proxy.guard.answer import AnswerPart, Carried
from proxy.guard.record import ERROR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 1
MAX_LINE = 2**28
"""Bytes of a line: far more than the texts of one exchange take. What goes on longer is no line of an audit."""

_CARRIED = frozenset(get_args(Carried))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the policy of then said; ``written`` as it stands in the line.

    ``citations`` is the threshold from which evidence was cited.
    """

    grounding: Rule
    relevance: Rule
    citations: float
    timeout_ms: int
    retry: int
    reading: str
    calibration: str
    written: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What was found about one claim. ``leans``: it was read with what stands before it."""

    result: ClaimResult
    leans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice. ``chars`` is None when no answer is known; ``judged``: its claims, if it has any, are known.

    ``partial``: it was stopped before its end, so that it may have had more claims.
    """

    reasons: tuple[str, ...]
    partial: bool
    chars: int | None
    carries: frozenset[Carried]
    json: bool
    judged: bool
    claims: tuple[Scored, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What the policy of then let be kept."""

    context: GroundingContext = field(repr=False)
    answers: tuple[AnswerPart, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One exchange. ``outcome`` is an ``Outcome``'s value or ``error``; ``rules`` is None when no policy was known."""

    time: str
    request_id: str
    tenant: str
    policy: str
    surface: str
    model: str
    stream: bool
    error: str | None
    outcome: str
    reasons: tuple[str, ...]
    bypasses: tuple[str, ...]
    retries: int
    source_chars: int
    query_chars: int
    rules: Rules | None
    choices: tuple[Choice, ...]
    texts: Texts | None


def rows_in(file: Path) -> Iterator[Row | None]:
    """Read a file's lines; None for one that is no record, such as one torn by a kill. Raises ``ValueError``."""
    with readable(file), file.open("rb") as lines:
        while line := lines.readline(MAX_LINE):
            if line.strip():
                yield _row(line)


def _row(line: bytes) -> Row | None:
    try:
        written = json.loads(line)
        return _made(written) if written["audit"] == FORMAT else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _name(value: Any) -> str:
    """A name or a word. Raises ``ValueError`` for what the audit never writes as one."""
    if not isinstance(value, str) or not value.isprintable():
        message = "not a name"
        raise ValueError(message)
    return value


def _count(value: Any) -> int:
    """A number of things. Raises ``ValueError`` for any other."""
    if type(value) is not int or not 0 <= value <= sys.maxsize:
        message = "not a count"
        raise ValueError(message)
    return value


def _list(value: Any) -> list[Any]:
    """A list. Raises ``ValueError`` for anything else: text, too, can be gone through."""
    if not isinstance(value, list):
        message = "not a list"
        raise ValueError(message)  # noqa: TRY004 - a wrong line, not a wrong call
    return value


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(_name, _list(value)))


def _carries(written: dict[str, Any]) -> frozenset[Carried]:
    found = frozenset(_names(written.get("carries", [])))
    if not found <= _CARRIED:
        message = "not what an answer carries"
        raise ValueError(message)
    return cast("frozenset[Carried]", found)


def _made(written: dict[str, Any]) -> Row:
    outcome = written.get("outcome")
    rules = written.get("rules")
    return Row(
        time=_name(written["time"]),
        request_id=_name(written["request_id"]),
        tenant=_name(written["tenant"]),
        policy=_name(written.get("policy", "")),
        surface=_name(written["surface"]),
        model=_name(written.get("model", "")),
        stream=bool(written["stream"]),
        error=None if written.get("error") is None else _name(written["error"]),
        outcome=ERROR if outcome is None else Outcome(outcome).value,
        reasons=_names(written["reasons"]),
        bypasses=_names(written["bypasses"]),
        retries=_count(written["retries"]),
        source_chars=_count(written["chars"]["source"]),
        query_chars=_count(written["chars"]["query"]),
        rules=None if rules is None else _rules(rules),
        choices=tuple(_choice(choice, stream=bool(written["stream"])) for choice in _list(written.get("choices", []))),
        texts=_texts(written),
    )


def _rules(written: dict[str, Any]) -> Rules:
    return Rules(
        grounding=Rule(**written["grounding"]),
        relevance=Rule(**written["relevance"]),
        citations=_threshold(written["citations"]),
        timeout_ms=_count(written["timeout_ms"]),
        retry=_count(written["retry"]),
        reading=_name(written["reading"]),
        calibration=_name(written["calibration"]),
        written=written,
    )


def _choice(written: dict[str, Any], *, stream: bool) -> Choice:
    reasons, carries = _names(written["reasons"]), _carries(written)
    claims = tuple(_claim(index, claim) for index, claim in enumerate(_list(written["claims"])))
    scores = (_score(written.get("grounding")), _score(written.get("relevance")))
    chars = None if written.get("chars") is None else _count(written["chars"])
    silent = chars == 0 and not written.get("refusal") and not carries
    return Choice(
        reasons=reasons,
        partial=bool(written["partial"]) or (stream and "uninspected" in reasons),  # a stream is not read on then
        chars=chars,
        carries=carries,
        json=bool(written.get("json")),
        judged=silent or bool(claims) or scores != (None, None),
        claims=claims,
    )


def _claim(index: int, written: dict[str, Any]) -> Scored:
    kind = ClaimKind(written["kind"])
    claim = Claim(index=index, start=_count(written["start"]), end=_count(written["end"]), text="", kind=kind)
    failed = written.get("failed")
    result = ClaimResult(
        claim=claim,
        support=_score(written.get("grounding")),
        relevance=_score(written.get("relevance")),
        failed=None if failed is None else _name(failed),
    )
    return Scored(result=result, leans=bool(written.get("leans")))


def _score(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # not a number is neither
        message = "not a score"
        raise ValueError(message)
    return float(value)


def _threshold(value: Any) -> float:
    """A score that must be there. Raises ``ValueError`` for any other."""
    found = _score(value)
    if found is None:
        message = "not a threshold"
        raise ValueError(message)
    return found


def _texts(written: dict[str, Any]) -> Texts | None:
    texts, choices = written.get("texts"), _list(written.get("choices", []))
    if texts is None or not choices:
        return None
    answers = tuple(
        AnswerPart(
            index=index,
            text=_text(answer["text"]),
            refusal=_text(answer.get("refusal", "")),
            carries=_carries(choices[index]) if index < len(choices) else frozenset(),
        )
        for index, answer in enumerate(_list(texts["answers"]))
    )
    sources = [Source(text=_text(text)) for text in _list(texts["sources"])]
    query = None if texts["query"] is None else _text(texts["query"])
    return Texts(context=GroundingContext.of(sources, query), answers=answers)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        message = "not a text"
        raise ValueError(message)  # noqa: TRY004 - as above
    return value
