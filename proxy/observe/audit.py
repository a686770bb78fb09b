"""The audit: what became of each exchange, one JSON object a line, written beside the traffic and never in its way.

A line holds names, numbers, words of closed sets, and keyed hashes of the texts; texts themselves only under a policy
that says ``audit_text: true``. Its scores are those of every claim, with the rules they were judged by, so that
``groundwarden replay`` can say later what another policy would have done. README, "Audit", lists the fields.

Records wait in a bounded queue for one thread that hashes and writes. When it is full the record is dropped; when
writing fails the record is lost; both are counted, and no request waits or fails for either.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from proxy.grounding.types import CheckKind
from proxy.guard.assess import looks_like_json
from proxy.guard.rules import rules_of
from proxy.observe.log import harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.grounding.types import ClaimResult, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.guard.record import Judged, Record
    from proxy.observe.appending import Lines

Result: TypeAlias = Literal["written", "dropped", "failed"]
"""What became of a record: on its way out, or lost because the queue was full or the writing failed."""

FORMAT = 1
"""The version of a line, its first field."""

MAX_RECORDS = 10_000
"""Records that may wait for the writer."""
MAX_CHARS = 64 * 2**20
"""Characters of texts that may wait with them."""
MAX_SOURCES = 100
"""Sources of one exchange that are hashed one by one; the last hash stands for all further ones."""

CLOSING_SECONDS = 5.0
"""How long a stopping server waits for what is still to be written."""

_COMPLAINT_SECONDS = 60.0
_HASH_DIGITS = 32
_SHORT = 8

_log = logging.getLogger(__name__)


class Hashing:
    """HMAC-SHA256 of texts. Without ``key`` (of the operator's) by one that only this process has, and forgets."""

    def __init__(self, key: str | None = None) -> None:
        self._key = key.encode() if key else secrets.token_bytes(32)
        self.name = self(b"groundwarden audit key")[:_SHORT]
        """Tells hashes by one key from those by another, and does not tell the key."""

    def __call__(self, *texts: str | bytes) -> str:
        """First 32 hexadecimal digits of the HMAC-SHA256 of the texts, one after the other, in UTF-8."""
        digest = hmac.new(self._key, digestmod=hashlib.sha256)
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        return digest.hexdigest()[:_HASH_DIGITS]


class AuditSink:
    """A sink that hands each record to a thread, which writes it to ``lines``.

    ``count`` hears, from any thread, what became of each record.
    """

    def __init__(self, lines: Lines, hashing: Hashing, count: Callable[[Result], None]) -> None:
        self._lines, self._hashing, self._count = lines, hashing, count
        self._waiting: deque[tuple[float, Record]] = deque()
        self._chars = 0
        self._change = threading.Condition()
        self._ending = False
        self._complained = -_COMPLAINT_SECONDS
        self._thread = threading.Thread(target=self._work, name="groundwarden-audit", daemon=True)

    def __call__(self, record: Record) -> None:
        """Take one record, or drop it when too much waits already. Never waits for the writer."""
        chars = _chars(record)
        with self._change:
            full = len(self._waiting) >= MAX_RECORDS or (self._waiting and self._chars + chars > MAX_CHARS)
            if not (full or self._ending):
                self._waiting.append((time.time(), record))
                self._chars += chars
                self._change.notify()
                return
        self._count("dropped")

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Write what waits, for so many seconds at most; what is left then is dropped. Blocks."""
        with self._change:
            self._ending = True
            self._change.notify()
        if self._thread.is_alive():
            self._thread.join(seconds)
        with self._change:
            left, self._chars = len(self._waiting), 0
            self._waiting.clear()
        for _ in range(left):
            self._count("dropped")
        if left:
            _log.error("the audit lost %d records that could not be written in time", left)

    def _work(self) -> None:
        try:
            self._lines.open()
        except OSError as error:
            self._complain(error)
        while (next_one := self._next()) is not None:
            ended, record = next_one
            try:
                self._lines.write(line_of(record, ended, self._hashing))
            except OSError as error:
                self._count("failed")
                self._complain(error)
            except Exception:  # noqa: BLE001 - one odd record must not end the writing of all others
                self._count("failed")
                _log.exception("a record could not be made an audit line")
            else:
                self._count("written")
        self._lines.close()

    def _next(self) -> tuple[float, Record] | None:
        """The next record, when there is one; None at the end."""
        with self._change:
            while not self._waiting:
                if self._ending:
                    return None
                self._change.wait()
            found = self._waiting.popleft()
            self._chars -= _chars(found[1])
            return found

    def _complain(self, error: OSError) -> None:
        """Say why nothing is written, once a minute: the metric counts how often."""
        now = time.monotonic()
        if now - self._complained >= _COMPLAINT_SECONDS:
            self._complained = now
            _log.error("the audit cannot be written: %s", (error.strerror or str(error)).lower())


def line_of(record: Record, ended: float, hashing: Hashing) -> bytes:
    """One record as a line of ASCII without its line break. ``ended``: seconds since the epoch."""
    return json.dumps(_row(record, ended, hashing), separators=(",", ":")).encode()


def _row(record: Record, ended: float, hashing: Hashing) -> dict[str, Any]:
    row = {
        "audit": FORMAT,
        "time": datetime.fromtimestamp(ended, UTC).isoformat(timespec="milliseconds"),
        "request_id": harmless(record.request_id),
        "tenant": harmless(record.tenant),
        "policy": f"{record.policy}@{record.policy_version}" if record.policy else None,
        "surface": harmless(record.surface),
        "model": harmless(record.model) or None,
        "stream": record.stream,
        "status": record.status,
        "error": None if record.error is None else harmless(record.error),
        "outcome": None if record.outcome is None else record.outcome.value,
        "reasons": record.reasons,
        "bypasses": record.bypasses,
        "scorer_errors": record.scorer_errors,
        "retries": record.retries,
        "grounding": record.grounding,
        "relevance": record.relevance,
        "seconds": _seconds(record),
        "chars": {"source": record.source_chars, "query": record.query_chars, "answer": record.answer_chars},
    }
    if record.judged is not None:
        row |= _judged(record.judged, hashing)
    return {name: value for name, value in row.items() if value is not None}


def _seconds(record: Record) -> dict[str, float]:
    measured = {
        "total": record.total_seconds,
        "upstream": record.upstream_seconds,
        "scoring": record.scoring_seconds,
        "first_token": record.first_token_seconds,
        "added": record.added_seconds,
    }
    return {name: round(value, 6) for name, value in measured.items() if value is not None}


def _judged(judged: Judged, hashing: Hashing) -> dict[str, Any]:
    row: dict[str, Any] = {"hashes": _hashes(judged, hashing), "rules": rules_of(judged.policy)}
    parts = judged.parts if len(judged.parts) == len(judged.verdicts) else [None] * len(judged.verdicts)
    row["choices"] = [
        _choice(verdict, part, index) for index, (verdict, part) in enumerate(zip(judged.verdicts, parts, strict=True))
    ]
    if judged.policy.audit_text:
        row["texts"] = _texts(judged)
    return row


def _choice(verdict: Verdict, part: AnswerPart | None, index: int) -> dict[str, Any]:
    choice = {
        "index": part.index if part else index,
        "outcome": verdict.outcome.value,
        "reasons": verdict.reasons,
        "bypasses": verdict.bypasses,
        "grounding": verdict.score(CheckKind.GROUNDING),
        "relevance": verdict.score(CheckKind.RELEVANCE),
        "partial": verdict.partial,
        "chars": len(part.text) if part else None,
        "carries": sorted(part.carries) if part else None,
        "json": looks_like_json(part.text) if part else None,
        "refusal": bool(part and part.refusal) or None,
        "claims": [_claim(result) for result in verdict.claims],
    }
    return {name: value for name, value in choice.items() if value is not None}


def _claim(result: ClaimResult) -> dict[str, Any]:
    """``leans``: it was read with what stands before it, and then also alone where that would let it pass."""
    claim = result.claim
    row = {
        "kind": claim.kind.value,
        "start": claim.start,
        "end": claim.end,
        "grounding": result.support,
        "relevance": result.relevance,
        "failed": result.failed,
        "leans": bool(claim.context) or None,
    }
    return {name: value for name, value in row.items() if value is not None}


def _hashes(judged: Judged, hashing: Hashing) -> dict[str, Any]:
    sources = [source.text for source in judged.context.sources] if judged.context else []
    query = judged.context.query if judged.context else None
    hashes = {
        "key": hashing.name,
        "sources": [hashing(text) for text in sources[:MAX_SOURCES]],
        "query": hashing(query) if query else None,
        "answers": [hashing(part.text) for part in judged.parts],
    }
    if len(sources) > MAX_SOURCES:
        hashes["further_sources"] = hashing(*sources[MAX_SOURCES:])
    return {name: value for name, value in hashes.items() if value is not None}


def _texts(judged: Judged) -> dict[str, Any]:
    context = judged.context
    return {
        "sources": [source.text for source in context.sources] if context else [],
        "query": context.query if context else None,
        "answers": [_answer(part) for part in judged.parts],
    }


def _answer(part: AnswerPart) -> dict[str, str]:
    return {"text": part.text, "refusal": part.refusal} if part.refusal else {"text": part.text}


def _chars(record: Record) -> int:
    return record.source_chars + record.query_chars + record.answer_chars
