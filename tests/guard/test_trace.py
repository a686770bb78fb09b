"""Traces: every number of a verdict, spans that fit the answer, and citations in Vertex's shape."""

from __future__ import annotations

import json

import pytest

from proxy.grounding.types import (
    Check,
    CheckKind,
    Claim,
    ClaimKind,
    ClaimResult,
    Evidence,
    GroundingContext,
    Outcome,
    Rule,
    Source,
    Verdict,
    Window,
)
from proxy.guard.answer import AnswerPart
from proxy.guard.exchange import Meter
from proxy.guard.trace import grounding_metadata, trace_of
from proxy.policy.model import Policy

POLICY = Policy(name="acme")
CONTEXT = GroundingContext(
    sources=(
        Source(text="Die Gebühr ist 5 €. Tōkyō 東京.", id="a", uri="s3://a", title="Fees"),
        Source(text="Other text.", id="b"),
    ),
    query="?",
)
ANSWER = "Grüße 😀! Die Gebühr ist 5 €. 東京."
HELLO, FEE, CITY = "Grüße 😀!", "Die Gebühr ist 5 €.", "東京."


def claim_of(text, index=0, kind=ClaimKind.ASSERTION):
    """The claim with this text in the answer."""
    start = ANSWER.index(text)
    return Claim(index=index, start=start, end=start + len(text), text=text, kind=kind)


def evidence(source, start, end, support):
    """A window of a source and its support."""
    text = CONTEXT.sources[source].text[start:end]
    return Evidence(window=Window(source=source, start=start, end=end, text=text), support=support)


RESULTS = (
    ClaimResult(claim=claim_of(HELLO, kind=ClaimKind.COURTESY)),
    ClaimResult(
        claim=claim_of(FEE, 1),
        support=0.912345,
        relevance=0.5,
        evidence=(evidence(0, 0, 19, 0.912345), evidence(1, 0, 11, 0.6), evidence(0, 19, 29, 0.599999)),
    ),
    ClaimResult(claim=claim_of(CITY, 2), support=0.7, evidence=(evidence(0, 0, 19, 0.7),)),
)


def verdict_of(outcome=Outcome.PASSED, claims=RESULTS, score=0.912345):
    """A verdict with this outcome."""
    checks = (
        Check(kind=CheckKind.GROUNDING, rule=Rule(threshold=0.7), score=score),
        Check(kind=CheckKind.RELEVANCE, rule=Rule(threshold=0.5, action="flag")),
    )
    return Verdict(outcome=outcome, checks=checks, claims=claims, reasons=("x",), bypasses=("y",))


def trace(*verdicts, parts=None, meter=None):
    """The trace of these verdicts."""
    parts = [AnswerPart(index=at, text=ANSWER) for at in range(len(verdicts))] if parts is None else parts
    return trace_of(verdicts, parts, CONTEXT, POLICY, meter or Meter())


def test_a_trace_tells_outcome_checks_and_policy():
    """Scores have four places, and a check without a score says so."""
    told = trace(verdict_of())
    assert (told["outcome"], told["reasons"], told["bypasses"]) == ("passed", ["x"], ["y"])
    assert told["checks"] == {
        "grounding": {"score": 0.9123, "threshold": 0.7, "action": "block", "below": False},
        "relevance": {"score": None, "threshold": 0.5, "action": "flag", "below": False},
    }
    assert (told["policy"], told["policy_version"], "choices" in told) == ("acme", POLICY.version, False)
    assert json.loads(json.dumps(told)) == told


def test_claims_have_spans_in_characters_and_citations():
    """A claim's span cuts its text out of the answer; windows at or over the threshold are cited, best first."""
    hello, fee, city = trace(verdict_of())["claims"]
    assert all(ANSWER[claim["start"] : claim["end"]] == claim["text"] for claim in (hello, fee, city))
    assert (hello["kind"], hello["needs_check"], hello["score"], hello["citations"]) == ("courtesy", False, None, [])
    assert (fee["index"], fee["needs_check"], fee["score"], fee["relevance"]) == (1, True, 0.9123, 0.5)
    assert fee["citations"] == [
        {"source": 0, "start": 0, "end": 19, "score": 0.9123},
        {"source": 1, "start": 0, "end": 11, "score": 0.6},
    ]
    assert (hello["best"], fee["best"]) == (None, fee["citations"][0])


def test_the_best_evidence_is_told_though_it_is_too_weak():
    """A claim that nothing supports still says what came nearest, so that a block can be understood."""
    policy = Policy.model_validate({"citations": {"threshold": 0.99}})
    parts = [AnswerPart(text=ANSWER)]
    told = trace_of([verdict_of()], parts, CONTEXT, policy, Meter())["claims"][1]
    assert (told["citations"], told["best"]["score"]) == ([], 0.9123)


def test_a_failed_claim_says_why():
    """A claim that could not be scored has no score and the word for it."""
    failed = ClaimResult(claim=claim_of(FEE), failed="timeout")
    [told] = trace(verdict_of(claims=(failed,), score=None))["claims"]
    assert (told["failed"], told["score"], told["citations"]) == ("timeout", None, [])


def test_segments_are_counted_in_bytes():
    """A segment's indices cut its text out of the answer's UTF-8, whatever stands before it."""
    supports = trace(verdict_of())["grounding_metadata"]["grounding_supports"]
    for support, text in zip(supports, (FEE, CITY), strict=True):
        segment = support["segment"]
        assert segment["text"] == text
        assert ANSWER.encode()[segment["start_index"] : segment["end_index"]].decode() == text


def test_supports_name_chunks_once():
    """A window cited twice is one chunk, and confidence scores are parallel to the indices."""
    metadata = trace(verdict_of())["grounding_metadata"]
    named = [(each["grounding_chunk_indices"], each["confidence_scores"]) for each in metadata["grounding_supports"]]
    assert named == [([0, 1], [0.9123, 0.6]), ([0], [0.7])]
    assert [chunk["retrieved_context"] for chunk in metadata["grounding_chunks"]] == [
        {"uri": "s3://a", "title": "Fees", "text": FEE},
        {"uri": "b", "title": "", "text": "Other text."},
    ]


@pytest.mark.parametrize(("threshold", "chunks"), [(0.0, 3), (0.6, 2), (0.7, 1), (0.95, 0)])
def test_only_windows_at_the_threshold_are_chunks(threshold, chunks):
    """A higher threshold gives fewer citations, and a claim without any is no support."""
    metadata = grounding_metadata(verdict_of(), ANSWER, CONTEXT, threshold)
    assert (len(metadata["grounding_chunks"]), bool(metadata["grounding_supports"])) == (chunks, chunks > 0)


def test_several_choices_tell_the_worst_first():
    """With several choices the worst is told at the top with its own citations, and all by their index."""
    parts = [AnswerPart(index=5, text=ANSWER), AnswerPart(index=3, text="x" + ANSWER), AnswerPart(index=4)]
    moved = ClaimResult(claim=Claim(index=0, start=1, end=8, text="Grüße 😀"), evidence=RESULTS[2].evidence)
    verdicts = [verdict_of(), verdict_of(Outcome.BLOCKED, (moved,), 0.1), verdict_of(Outcome.FLAGGED, ())]
    told = trace(*verdicts, parts=parts)
    assert (told["outcome"], told["checks"]["grounding"]["below"]) == ("blocked", True)
    assert told["grounding_metadata"]["grounding_supports"][0]["segment"]["start_index"] == 1
    assert [(each["index"], each["outcome"]) for each in told["choices"]] == [
        (5, "passed"),
        (3, "blocked"),
        (4, "flagged"),
    ]


def test_a_verdict_without_an_answer_has_a_trace():
    """What stood before any answer is told without claims."""
    told = trace(Verdict(outcome=Outcome.BLOCKED, reasons=("missing_context",)), parts=[])
    assert (told["outcome"], told["claims"], told["checks"]) == ("blocked", [], {})
    assert told["grounding_metadata"] == {"grounding_chunks": [], "grounding_supports": []}


def test_the_providers_refusal_is_no_part_of_the_answer():
    """A scored refusal has no span in the text, so it is neither told as a claim nor as a support."""
    end = len(ANSWER)
    refusal = Claim(index=0, start=end, end=end, text="I can't.", kind=ClaimKind.ABSTENTION)
    told = trace(verdict_of(claims=(ClaimResult(claim=refusal, support=0.9, evidence=RESULTS[2].evidence),)))
    assert (told["claims"], told["grounding_metadata"]["grounding_supports"]) == ([], [])


def test_half_a_surrogate_pair_breaks_nothing():
    """Text that has no UTF-8 is counted all the same."""
    claim = Claim(index=0, start=2, end=4, text="ok")
    result = ClaimResult(claim=claim, evidence=RESULTS[2].evidence)
    [support] = grounding_metadata(verdict_of(claims=(result,)), "\ud83d ok", CONTEXT, 0.6)["grounding_supports"]
    assert support["segment"] == {"start_index": 2, "end_index": 4, "text": "ok"}


def test_times_are_in_milliseconds():
    """A stage that did not happen has no time."""
    timings = trace(verdict_of(), meter=Meter(upstream=0.1234567))["timings"]
    assert (timings["upstream_ms"], timings["scoring_ms"]) == (123.457, None)
    assert timings["total_ms"] >= 0
