"""The audit's lines read back. ``proxy/observe/audit.py`` writes them; only what a replay needs is read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.types import Claim, ClaimKind, ClaimResult, GroundingContext, Outcome, Rule, Source
from proxy.guard.answer import AnswerPart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT = 1
ERROR = "error"
"""The outcome of an exchange that failed before a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the policy of then said; ``written`` as it stands in the line."""

    grounding: Rule
    relevance: Rule
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
    carries: frozenset[str]
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
    try:
        with file.open("rb") as lines:
            for line in lines:
                if line.strip():
                    yield _row(line)
    except OSError as error:
        message = f"{file}: {(error.strerror or 'cannot be read').lower()}"
        raise ValueError(message) from None


def _row(line: bytes) -> Row | None:
    try:
        written = json.loads(line)
        return _made(written) if written["audit"] == FORMAT else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _made(written: dict[str, Any]) -> Row:
    outcome = written.get("outcome")
    rules = written.get("rules")
    return Row(
        time=str(written["time"]),
        request_id=str(written["request_id"]),
        tenant=str(written["tenant"]),
        policy=str(written.get("policy", "")),
        surface=str(written["surface"]),
        model=str(written.get("model", "")),
        stream=bool(written["stream"]),
        error=written.get("error"),
        outcome=ERROR if outcome is None else Outcome(outcome).value,
        reasons=tuple(map(str, written["reasons"])),
        bypasses=tuple(map(str, written["bypasses"])),
        retries=int(written["retries"]),
        source_chars=int(written["chars"]["source"]),
        query_chars=int(written["chars"]["query"]),
        rules=None if rules is None else _rules(rules),
        choices=tuple(_choice(choice, stream=bool(written["stream"])) for choice in written.get("choices", ())),
        texts=_texts(written),
    )


def _rules(written: dict[str, Any]) -> Rules:
    return Rules(
        grounding=Rule(**written["grounding"]),
        relevance=Rule(**written["relevance"]),
        timeout_ms=int(written["timeout_ms"]),
        retry=int(written["retry"]),
        reading=str(written["reading"]),
        calibration=str(written["calibration"]),
        written=written,
    )


def _choice(written: dict[str, Any], *, stream: bool) -> Choice:
    reasons = tuple(map(str, written["reasons"]))
    claims = tuple(_claim(index, claim) for index, claim in enumerate(written["claims"]))
    scores = (written.get("grounding"), written.get("relevance"))
    silent = written.get("chars") == 0 and not written.get("refusal") and not written.get("carries")
    return Choice(
        reasons=reasons,
        partial=bool(written["partial"]) or (stream and "uninspected" in reasons),  # a stream is not read on then
        chars=written.get("chars"),
        carries=frozenset(map(str, written.get("carries", ()))),
        json=bool(written.get("json")),
        judged=silent or bool(claims) or scores != (None, None),
        claims=claims,
    )


def _claim(index: int, written: dict[str, Any]) -> Scored:
    kind = ClaimKind(written["kind"])
    claim = Claim(index=index, start=int(written["start"]), end=int(written["end"]), text="", kind=kind)
    failed = written.get("failed")
    result = ClaimResult(
        claim=claim,
        support=_score(written.get("grounding")),
        relevance=_score(written.get("relevance")),
        failed=None if failed is None else str(failed),
    )
    return Scored(result=result, leans=bool(written.get("leans")))


def _score(value: Any) -> float | None:
    return None if value is None else float(value)


def _texts(written: dict[str, Any]) -> Texts | None:
    texts = written.get("texts")
    if texts is None:
        return None
    choices = written.get("choices", ())
    answers = tuple(
        AnswerPart(
            index=index,
            text=str(answer["text"]),
            refusal=str(answer.get("refusal", "")),
            carries=frozenset(choices[index].get("carries", ())) if index < len(choices) else frozenset(),
        )
        for index, answer in enumerate(texts["answers"])
    )
    sources = [Source(text=str(text)) for text in texts["sources"]]
    return Texts(context=GroundingContext.of(sources, texts["query"]), answers=answers)
