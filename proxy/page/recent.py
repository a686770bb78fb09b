"""What the page shows of the last hour: counts a minute, score histograms, the last verdicts.

It is a sink: numbers of this process since its start, gone with it. Texts are kept only under a policy that says
``audit_text: true``, and shown only while that policy, as it is by then, still says so.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.types import CheckKind
from proxy.guard.record import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proxy.grounding.types import ClaimResult
    from proxy.guard.record import Judged, Record
    from proxy.policy.model import Policy

MINUTES = 60
LAST = 100
"""Verdicts that are kept."""
BINS = 20
"""Bars of a histogram, each as wide as the others; the last one has 1.0 too."""
MAX_TEXT = 10_000
"""Characters kept of a query and of an answer."""


@dataclass(slots=True)
class _Minute:
    """What ended within one minute, by tenant."""

    number: int
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    scores: Counter[tuple[str, str, int]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    """One verdict. ``text`` is None where the policy does not let it be kept."""

    row: dict[str, Any]
    policy: str
    text: dict[str, Any] | None = field(default=None, repr=False)


class Recent:
    """The last hour. ``clock`` tells seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._since = clock()
        self._minutes: deque[_Minute] = deque()
        self._last: deque[_Last] = deque(maxlen=LAST)

    def __call__(self, record: Record) -> None:
        """Take one exchange."""
        now = self._clock()
        minute = self._minute(int(now // 60))
        outcome = ERROR if record.outcome is None else record.outcome.value
        minute.outcomes[record.tenant, outcome] += 1
        for check, score in ((CheckKind.GROUNDING, record.grounding), (CheckKind.RELEVANCE, record.relevance)):
            if score is not None:
                minute.scores[record.tenant, check.value, min(BINS - 1, int(score * BINS))] += 1
        self._last.append(_Last(row=_row(record, outcome, now), policy=record.policy, text=_text(record.judged)))

    def shown(self, policies: Mapping[str, Policy]) -> dict[str, Any]:
        """What the page reads, newest verdict first. ``policies`` are those in force."""
        now = self._clock()
        self._forget(int(now // 60))
        return {
            "now": now,
            "since": self._since,
            "bins": BINS,
            "minutes": [
                {"at": minute.number * 60, "tenants": _nested(minute.outcomes.items())} for minute in self._minutes
            ],
            "scores": self._scores(),
            "last": [_shown(one, policies) for one in reversed(self._last)],
        }

    def _minute(self, number: int) -> _Minute:
        self._forget(number)
        if not self._minutes or self._minutes[-1].number < number:
            self._minutes.append(_Minute(number))
        return self._minutes[-1]

    def _forget(self, number: int) -> None:
        """Drop what is older than an hour, and what is yet to come: the clock has been put back since."""
        while self._minutes and self._minutes[-1].number > number + 1:
            self._minutes.pop()
        while self._minutes and self._minutes[0].number <= number - MINUTES:
            self._minutes.popleft()

    def _scores(self) -> dict[str, dict[str, list[int]]]:
        """Histograms by tenant and check."""
        found: dict[str, dict[str, list[int]]] = {}
        for minute in self._minutes:
            for (tenant, check, at), count in minute.scores.items():
                found.setdefault(tenant, {}).setdefault(check, [0] * BINS)[at] += count
        return found


def _nested(counts: Any) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (tenant, outcome), count in counts:
        found.setdefault(tenant, {})[outcome] = count
    return found


def _shown(one: _Last, policies: Mapping[str, Policy]) -> dict[str, Any]:
    policy = policies.get(one.policy)
    allowed = one.text is not None and policy is not None and policy.audit_text
    return {**one.row, "text": one.text} if allowed else one.row


def _row(record: Record, outcome: str, now: float) -> dict[str, Any]:
    return {
        "at": now,
        "request_id": record.request_id,
        "tenant": record.tenant,
        "policy": f"{record.policy}@{record.policy_version}" if record.policy else "",
        "surface": record.surface,
        "model": record.model,
        "outcome": outcome,
        "status": record.status,
        "error": record.error,
        "reasons": record.reasons,
        "bypasses": record.bypasses,
        "grounding": record.grounding,
        "relevance": record.relevance,
        "claims": record.claims,
        "seconds": record.total_seconds,
        "added": record.added_seconds,
    }


def _text(judged: Judged | None) -> dict[str, Any] | None:
    if judged is None or not judged.policy.audit_text:
        return None
    query = judged.context.query if judged.context else None
    return {
        "query": query[:MAX_TEXT] if query else None,
        "answers": [part.text[:MAX_TEXT] for part in judged.parts],
        "threshold": judged.policy.grounding.threshold,
        "claims": [
            [_claim(result) for result in verdict.claims if result.claim.start < MAX_TEXT]
            for verdict in judged.verdicts
        ],
    }


def _claim(result: ClaimResult) -> dict[str, Any]:
    claim = result.claim
    return {"start": claim.start, "end": claim.end, "kind": claim.kind.value, "score": result.support}
