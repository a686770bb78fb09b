"""A verdict explained, for callers who ask (and may): scores, claims with their spans, evidence, time.

``grounding_metadata`` has the shape of Vertex RAG Engine's generateContent replies (google-cloud-aiplatform types):
segments in UTF-8 bytes, confidence scores parallel to the chunk indices, only chunks at or above the policy's citation
threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Check, ClaimResult, Evidence, GroundingContext, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.exchange import Meter
    from proxy.policy.model import Policy

_PLACES = 4


def trace_of(
    verdicts: Sequence[Verdict], parts: Sequence[AnswerPart], context: GroundingContext, policy: Policy, meter: Meter
) -> dict[str, Any]:
    """The ``guardrail`` object of a reply. With several choices the worst is told at the top, all in ``choices``."""
    told = [_verdict(verdict, policy) for verdict in verdicts]
    worst = max(range(len(verdicts)), key=lambda at: verdicts[at].outcome.severity)
    trace = {
        **told[worst],
        "policy": policy.name,
        "policy_version": policy.version,
        "timings": _timings(meter),
        "grounding_metadata": grounding_metadata(
            verdicts[worst], parts[worst].text if worst < len(parts) else "", context, policy.citations.threshold
        ),
    }
    if len(told) > 1:
        trace["choices"] = [{"index": part.index, **each} for part, each in zip(parts, told, strict=True)]
    return trace


def _verdict(verdict: Verdict, policy: Policy) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome.value,
        "reasons": list(verdict.reasons),
        "bypasses": list(verdict.bypasses),
        "checks": {check.kind.value: _check(check) for check in verdict.checks},
        "claims": [_claim(result, policy.citations.threshold) for result in verdict.claims if _in_answer(result)],
    }


def _in_answer(result: ClaimResult) -> bool:
    return result.claim.start < result.claim.end  # the provider's own refusal is no part of the text


def _check(check: Check) -> dict[str, Any]:
    return {
        "score": _rounded(check.score),
        "threshold": check.rule.threshold,
        "action": check.rule.action,
        "below": check.below,
    }


def _claim(result: ClaimResult, threshold: float) -> dict[str, Any]:
    claim = result.claim
    return {
        "index": claim.index,
        "text": claim.text,
        "start": claim.start,
        "end": claim.end,
        "kind": claim.kind.value,
        "needs_check": claim.needs_check,
        "score": _rounded(result.support),
        "relevance": _rounded(result.relevance),
        "failed": result.failed,
        "best": _place(result.evidence[0]) if result.evidence else None,
        "citations": [_place(found) for found in _cited(result, threshold)],
    }


def _place(found: Evidence) -> dict[str, Any]:
    window = found.window
    return {"source": window.source, "start": window.start, "end": window.end, "score": _rounded(found.support)}


def _cited(result: ClaimResult, threshold: float) -> list[Evidence]:
    return [found for found in result.evidence if found.support >= threshold]


def _timings(meter: Meter) -> dict[str, float | None]:
    return {
        "upstream_ms": _milliseconds(meter.upstream),
        "scoring_ms": _milliseconds(meter.scoring),
        "total_ms": _milliseconds(meter.total()),
    }


def grounding_metadata(verdict: Verdict, answer: str, context: GroundingContext, threshold: float) -> dict[str, Any]:
    """Chunks (one a cited window) and supports (one a claim with citations), as Vertex RAG Engine writes them."""
    chunks: dict[tuple[int, int, int], int] = {}
    supports = []
    at = begin = 0  # in characters, and the same place in bytes: an answer may have thousands of claims
    for result in verdict.claims:
        cited = _cited(result, threshold)
        if not cited or not _in_answer(result):
            continue
        keys = [(found.window.source, found.window.start, found.window.end) for found in cited]
        claim = result.claim
        begin += len(answer[at : claim.start].encode("utf-8", "replace"))
        at = claim.start
        supports.append(
            {
                "segment": {
                    "start_index": begin,
                    "end_index": begin + len(claim.text.encode("utf-8", "replace")),
                    "text": claim.text,
                },
                "grounding_chunk_indices": [chunks.setdefault(key, len(chunks)) for key in keys],
                "confidence_scores": [_rounded(found.support) for found in cited],
            }
        )
    return {"grounding_chunks": [_chunk(key, context) for key in chunks], "grounding_supports": supports}


def _chunk(key: tuple[int, int, int], context: GroundingContext) -> dict[str, Any]:
    number, start, end = key
    source = context.sources[number]
    return {
        "retrieved_context": {
            "uri": source.uri or source.id,
            "title": source.title,
            "text": source.text[start:end],
        }
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, _PLACES)


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)
