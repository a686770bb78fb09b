"""The audit's lines and the thread that writes them."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.types import (
    Check,
    CheckKind,
    Claim,
    ClaimKind,
    ClaimResult,
    GroundingContext,
    Outcome,
    Source,
    Verdict,
)
from proxy.guard.answer import AnswerPart
from proxy.guard.record import Judged, Record
from proxy.observe import audit
from proxy.observe.audit import AuditSink, Hashing, line_of
from proxy.policy.model import Policy

KEY = "a key of the operator's"
SECRET = "planted-secret-7f3a"
QUERY = f"What is {SECRET}?"
ANSWER = f"It is {SECRET}. It is not known."
SCORES = {"grounding": 0.12345678901234, "relevance": 1 / 3}


def verdict_of(policy: Policy) -> Verdict:
    """A block with a claim that was scored, one that was not, and one that need not be."""
    claims = (
        ClaimResult(claim=Claim(index=0, start=0, end=26, text="x"), support=SCORES["grounding"], relevance=1 / 3),
        ClaimResult(claim=Claim(index=1, start=27, end=43, text="y", context="x"), failed="timeout"),
        ClaimResult(claim=Claim(index=2, start=43, end=44, text="z", kind=ClaimKind.COURTESY)),
    )
    checks = (
        Check(kind=CheckKind.GROUNDING, rule=policy.grounding, score=SCORES["grounding"]),
        Check(kind=CheckKind.RELEVANCE, rule=policy.relevance, score=SCORES["relevance"]),
    )
    return Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=claims, reasons=("grounding",), partial=True)


def record_of(policy: Policy | None = None, **fields) -> Record:
    """A record of a block, full of a secret."""
    policy = policy or Policy()
    judged = Judged(
        policy=policy,
        context=GroundingContext.of([Source(text=f"{SECRET} is here."), Source(text="Two.")], QUERY),
        parts=(AnswerPart(text=ANSWER, carries=frozenset({"tool_calls"})),),
        verdicts=(verdict_of(policy),),
    )
    known = {
        "request_id": "r-1",
        "tenant": "acme",
        "policy": policy.name,
        "policy_version": policy.version,
        "surface": "chat",
        "model": "m",
        "outcome": Outcome.BLOCKED,
        "status": 200,
        "total_seconds": 0.5,
        "upstream_seconds": 0.25,
        "reasons": ("grounding",),
        "source_chars": 30,
        "query_chars": 10,
        "answer_chars": 44,
        "judged": judged,
        **SCORES,
    }
    return Record(**{**known, **fields})


def row_of(record: Record, hashing: Hashing | None = None) -> dict:
    """The record's line, read back."""
    return json.loads(line_of(record, 1_700_000_000.25, hashing or Hashing(KEY)))


class Collected:
    """Lines in memory. ``gate`` holds them up; ``error`` is raised instead."""

    def __init__(self, error: Exception | None = None) -> None:
        self.lines: list[bytes] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error = error

    def open(self) -> None:
        """Open nothing."""

    def close(self) -> None:
        """Close nothing."""

    def write(self, line: bytes) -> None:
        """Take a line, or fail."""
        self.gate.wait(10)
        if self.error:
            raise self.error
        self.lines.append(line)


def sink_of(lines: Collected) -> tuple[AuditSink, Counter]:
    """A sink that has begun, and its counts."""
    counts: Counter = Counter()
    sink = AuditSink(lines, Hashing(KEY), lambda result: counts.update([result]))
    sink.start()
    return sink, counts


# --- lines ----------------------------------------------------------------------------------------------------------


def test_a_line_says_what_became_of_an_exchange():
    """Ids, outcome, sizes, times, the rules, and the score of every claim, in full precision."""
    row = row_of(record_of())
    hashes = row.pop("hashes")
    assert row == {
        "audit": 1,
        "time": "2023-11-14T22:13:20.250+00:00",
        "request_id": "r-1",
        "tenant": "acme",
        "policy": f"default@{Policy().version}",
        "surface": "chat",
        "model": "m",
        "stream": False,
        "status": 200,
        "outcome": "blocked",
        "reasons": ["grounding"],
        "bypasses": [],
        "scorer_errors": [],
        "retries": 0,
        **SCORES,
        "seconds": {"total": 0.5, "upstream": 0.25},
        "chars": {"source": 30, "query": 10, "answer": 44},
        "rules": {
            "grounding": {"threshold": 0.7, "action": "block", "aggregate": "min"},
            "relevance": {"threshold": 0.5, "action": "block", "aggregate": "min"},
            "abstention": "pass",
            "on_scorer_error": "block",
            "citations": 0.6,
            "timeout_ms": 2000,
            "retry": 0,
            "reading": row["rules"]["reading"],
            "calibration": row["rules"]["calibration"],
        },
        "choices": [
            {
                "index": 0,
                "outcome": "blocked",
                "reasons": ["grounding"],
                "bypasses": [],
                **SCORES,
                "partial": True,
                "chars": len(ANSWER),
                "carries": ["tool_calls"],
                "json": False,
                "claims": [
                    {"kind": "assertion", "start": 0, "end": 26, **SCORES},
                    {"kind": "assertion", "start": 27, "end": 43, "failed": "timeout", "leans": True},
                    {"kind": "courtesy", "start": 43, "end": 44},
                ],
            }
        ],
    }
    assert hashes["key"] == Hashing(KEY).name


def test_hashes_are_keyed_and_can_be_made_again_by_who_has_the_key():
    """A hash is the HMAC-SHA256 of the text under the operator's key, cut to 128 bits."""
    hashes = row_of(record_of())["hashes"]

    def expected(text: str) -> str:
        return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]

    assert hashes["sources"] == [expected(f"{SECRET} is here."), expected("Two.")]
    assert (hashes["query"], hashes["answers"]) == (expected(QUERY), [expected(ANSWER)])


def test_without_a_key_each_process_has_its_own():
    """Two processes' hashes cannot be compared, and say so by the key's name; one process's can."""
    one, other = Hashing(), Hashing()
    assert one("text") == one("text")
    assert (one("text"), one.name) != (other("text"), other.name)
    assert Hashing(KEY).name == Hashing(KEY).name


def test_many_sources_are_hashed_in_a_bounded_line():
    """Beyond a hundred sources one hash stands for the rest."""
    judged = Judged(policy=Policy(), context=GroundingContext.of([Source(text=str(n)) for n in range(5000)], None))
    row = row_of(record_of(judged=judged))
    assert len(row["hashes"]["sources"]) == audit.MAX_SOURCES
    assert row["hashes"]["further_sources"]
    assert "query" not in row["hashes"]


def test_texts_stay_out_unless_the_policy_says_so():
    """A line holds nothing of source, query or answer; with audit_text it holds all three."""
    assert SECRET not in json.dumps(row_of(record_of()))
    texts = row_of(record_of(Policy(audit_text=True)))["texts"]
    assert texts == {"sources": [f"{SECRET} is here.", "Two."], "query": QUERY, "answers": [{"text": ANSWER}]}


def test_a_record_shows_no_text_when_it_is_printed():
    """What a record holds for the audit is not in what it looks like in a log or a traceback."""
    assert SECRET not in repr(record_of())
    assert SECRET not in repr(record_of().judged)


def test_a_failure_before_anything_was_known_is_a_line_too():
    """Who had no key, or sent no JSON, is there with the error's code and no hashes."""
    known = record_of(judged=None, outcome=None, status=401, error="invalid_api_key", model="")
    failed = replace(known, policy="", policy_version="", grounding=None, relevance=None)
    row = row_of(failed)
    assert (row["status"], row["error"]) == (401, "invalid_api_key")
    assert not row.keys() & {"policy", "outcome", "hashes", "rules", "choices", "texts", "model"}


@given(st.text())
def test_a_line_is_one_line_of_ascii_whatever_is_in_it(text):
    """No text and no name can end the line or make it unreadable."""
    policy = Policy(audit_text=True)
    judged = Judged(
        policy=policy, context=GroundingContext.of([Source(text=f"a{text}")], text), parts=(AnswerPart(text=text),)
    )
    line = line_of(record_of(policy, request_id=text, model=text, judged=judged), 0, Hashing(KEY))
    assert b"\n" not in line
    assert line.isascii()
    assert json.loads(line)["texts"]["answers"] == [{"text": text}]


# --- the thread -----------------------------------------------------------------------------------------------------


def test_records_are_written_in_order_and_counted():
    """Everything that was taken is written by the time the sink is closed."""
    lines = Collected()
    sink, counts = sink_of(lines)
    for number in range(50):
        sink(record_of(request_id=f"r-{number}"))
    sink.close()
    assert [json.loads(line)["request_id"] for line in lines.lines] == [f"r-{number}" for number in range(50)]
    assert counts == {"written": 50}


def test_a_sink_that_is_stuck_holds_nobody_up(monkeypatch):
    """While the disk hangs records wait, then fall away and are counted; nobody waits for them."""
    monkeypatch.setattr(audit, "MAX_RECORDS", 5)
    lines = Collected()
    lines.gate.clear()
    sink, counts = sink_of(lines)
    began = time.monotonic()
    for _ in range(20):
        sink(record_of())
    assert time.monotonic() - began < 1
    assert counts["dropped"] in (14, 15)  # one may have been taken out of the queue
    lines.gate.set()
    sink.close()
    assert counts["written"] + counts["dropped"] == 20


def test_what_waits_is_bounded_by_its_texts_too(monkeypatch):
    """Long texts that wait are memory: beyond the bound they fall away, but one alone is always taken."""
    monkeypatch.setattr(audit, "MAX_CHARS", 1000)
    lines = Collected()
    lines.gate.clear()
    sink, counts = sink_of(lines)
    sink(record_of(request_id="first"))
    while sink._waiting:
        time.sleep(0.01)
    for size in (5000, 10):
        sink(record_of(source_chars=size))
    assert counts == {"dropped": 1}
    lines.gate.set()
    sink.close()
    assert counts == {"dropped": 1, "written": 2}


def test_what_cannot_be_written_in_time_at_the_end_is_counted_as_lost(caplog):
    """A stop does not wait for a disk that hangs."""
    lines = Collected()
    lines.gate.clear()
    sink, counts = sink_of(lines)
    for _ in range(4):
        sink(record_of())
    with caplog.at_level(logging.ERROR):
        sink.close(seconds=0.1)
    sink(record_of())
    assert counts["dropped"] in (4, 5)
    assert "could not be written in time" in caplog.text
    lines.gate.set()


def test_a_disk_that_fails_is_counted_each_time_and_complained_of_once(caplog):
    """Every lost record is counted; the log says why, and not a thousand times, and holds no text."""
    sink, counts = sink_of(Collected(OSError(28, "No space left on device")))
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            sink(record_of())
        sink.close()
    assert counts == {"failed": 10}
    assert [entry.getMessage() for entry in caplog.records] == ["the audit cannot be written: no space left on device"]


def test_one_odd_record_does_not_end_the_writing(caplog):
    """A record that cannot be written, for whatever reason, is lost alone."""
    lines = Collected()
    sink, counts = sink_of(lines)
    with caplog.at_level(logging.ERROR):
        sink(record_of(total_seconds="odd"))
        sink(record_of())
        sink.close()
    assert counts == {"failed": 1, "written": 1}
    assert len(lines.lines) == 1


def test_closing_what_never_began_is_fine():
    """A server that did not start stops all the same."""
    AuditSink(Collected(), Hashing(), pytest.fail).close()
