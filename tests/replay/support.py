"""What the tests of the replay share: exchanges judged and recorded, as the server does both."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scorers import OverlapScorer

from proxy.grounding.errors import CallerError, ScoringError
from proxy.grounding.gate import Gate
from proxy.grounding.types import CheckKind, GroundingContext, Source, Verdict
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor, enforce_limits, looks_like_json, settled_by_shape, terms_of, without_scoring
from proxy.guard.exchange import preparing
from proxy.guard.record import Judged, Record
from proxy.guard.redaction import blocked_instead
from proxy.observe.audit import Hashing, line_of
from proxy.policy.model import Policy
from proxy.replay.rows import rows_in

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.grounding.types import Pair
    from proxy.replay.rows import Row

SOURCES = ("Tokyo is the capital of Japan. It has 14 million people.", "Kyoto was the capital before. Osaka is a port.")
QUERY = "What is the capital of Japan?"
BROKEN = "Sapporo breaks the scorer."
"""A claim that cannot be scored."""
GRID = (0.0,) * 16 + (
    0.2,
    0.45,
    0.5,
    0.65,
    0.7,
    0.85,
    0.91,
    0.93,
    0.96,
    1.0,
)  # the best of many pieces counts: most are poor
HASHING = Hashing("a key of the tests")


class SeededScorer(OverlapScorer):
    """Gives each pair a score of ``GRID``, by its texts and a seed, and fails for ``BROKEN``."""

    name = "seeded"

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._seed = seed

    def judge(self, pair: Pair) -> float:
        """The score of one pair."""
        if BROKEN in pair.hypothesis:
            message = "broken"
            raise ScoringError(message)
        text = f"{self._seed}|{pair.kind}|{pair.premise}|{pair.hypothesis}"
        return GRID[hashlib.sha256(text.encode()).digest()[0] % len(GRID)]


def context_of(*sources: str, query: str | None = QUERY) -> GroundingContext:
    """A context with these sources."""
    return GroundingContext.of([Source(text=text) for text in sources], query)


def policy_of(**keys: Any) -> Policy:
    """A policy with these keys, as a file would write them."""
    return Policy.model_validate(keys)


async def judged(
    policy: Policy, context: GroundingContext, text: str, scorer: OverlapScorer, *, stream: bool = False
) -> Verdict | None:
    """The verdict of a server under a policy; None when it refuses the request."""
    try:
        enforce_limits(policy, context)
    except CallerError:
        return None
    settled = without_scoring(policy, context)
    if settled is not None:
        return settled
    assessor, part = Assessor(scorer), AnswerPart(text=text)
    if stream and settled_by_shape(part, policy) is None:
        prepared = await assessor.prepare(context)
        terms = terms_of(policy, prepared)
        judging, gate = assessor.judging(prepared, policy, terms), Gate(terms, context.query)
        waiting = [*gate.feed(text), *gate.close()] if gate.verdict is None else []
        for claim in waiting:
            if gate.verdict is not None:
                break
            gate.settle(await judging.one(claim, asyncio.get_running_loop().time()))
        assert gate.verdict is not None
        verdict = gate.verdict
    else:
        async with preparing(assessor, context) as task:
            verdict = await assessor.judge(part, task, policy)
    return blocked_instead(verdict) if verdict.removed and looks_like_json(text) else verdict


def record_of(
    policy: Policy,
    context: GroundingContext,
    text: str,
    verdict: Verdict | None,
    *,
    stream: bool = False,
    **fields: Any,
) -> Record:
    """What a server leaves behind of an exchange."""
    verdicts = () if verdict is None else (verdict,)
    scores = {kind.value: None if verdict is None else verdict.score(kind) for kind in CheckKind}
    parts = () if verdict is None or "missing_context" in verdict.reasons else (AnswerPart(text=text),)
    known = {
        "request_id": "r-1",
        "tenant": "acme",
        "policy": policy.name,
        "policy_version": policy.version,
        "surface": "chat",
        "model": "m",
        "outcome": None if verdict is None else verdict.outcome,
        "status": 400 if verdict is None else 200,
        "error": "limit_exceeded" if verdict is None else None,
        "total_seconds": 0.1,
        "reasons": verdict.reasons if verdict is not None and verdict.blocked else (),
        "bypasses": () if verdict is None else verdict.bypasses,
        "source_chars": context.source_chars,
        "query_chars": len(context.query or ""),
        "answer_chars": len(text),
        "stream": stream,
        "judged": Judged(policy=policy, context=context, parts=parts, verdicts=verdicts),
        **scores,
    }
    return Record(**{**known, **fields})


def line(record: Record) -> bytes:
    """The record as the audit writes it."""
    return line_of(record, 1_700_000_000, HASHING) + b"\n"


def row_of(record: Record, folder: Path) -> Row:
    """The record written and read back."""
    file = folder / "one.jsonl"
    file.write_bytes(line(record))
    [row] = rows_in(file)
    assert row is not None
    return row


def recorded(policy: Policy, text: str, folder: Path, *, seed: int = 0, context: Any = None, **fields: Any) -> Row:
    """An exchange judged under ``policy``, written to the audit and read back."""
    context = context or context_of(*SOURCES)
    stream = fields.pop("stream", False)
    verdict = asyncio.run(judged(policy, context, text, SeededScorer(seed), stream=stream))
    return row_of(record_of(policy, context, text, verdict, stream=stream, **fields), folder)


def truth(policy: Policy, text: str, *, seed: int = 0, context: Any = None) -> str:
    """What a server under ``policy`` would make of the whole answer."""
    verdict = asyncio.run(judged(policy, context or context_of(*SOURCES), text, SeededScorer(seed)))
    return "error" if verdict is None else verdict.outcome.value


def with_claims(row: Row, *supports: float, relevance: float = 0.9, **fields: Any) -> Row:
    """A row whose one choice has these scores instead."""
    [choice] = row.choices
    [scored] = choice.claims[:1]
    claims = tuple(
        replace(scored, result=replace(scored.result, support=support, relevance=relevance)) for support in supports
    )
    return replace(row, choices=(replace(choice, claims=claims, judged=True, **fields),))
