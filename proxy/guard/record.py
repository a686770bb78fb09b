"""Record: everything one exchange leaves behind, and the way it reaches those who count and log it.

It holds names, numbers and words from closed sets, and never a prompt, an answer or a piece of one; but for
``judged``, which is what was judged itself, for the few sinks that need it. A record is written once an exchange, on
failure and cancellation too. Nothing here knows who consumes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.grounding.types import GroundingContext, Outcome, Verdict
    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy

_log = logging.getLogger(__name__)

ERROR = "error"
"""Stands in the place of an outcome where a request failed, or would have, before a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was judged by which policy, and what was found. It holds texts, and so never shows itself.

    A sink takes numbers from it, and hashes; texts only where ``policy.audit_text`` says so. ``context`` is None when
    the request failed before it was read; ``parts`` are the choices of the answer, as far as they came, and
    ``verdicts`` theirs (one without parts: it stood before any answer was known).
    """

    policy: Policy = field(repr=False)
    context: GroundingContext | None = field(default=None, repr=False)
    parts: tuple[AnswerPart, ...] = field(default=(), repr=False)
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One exchange. Durations are in seconds, sizes in characters, scores in [0, 1]; None means "did not happen".

    ``request_id`` and ``model`` are as the caller sent them, so consumers must not trust them; ``tenant``, ``policy``
    and ``policy_version`` are empty when the request failed before they were known.
    """

    request_id: str
    tenant: str
    policy: str
    policy_version: str
    surface: str
    """chat, completions, responses, apply_guardrail, converse, invoke, check_grounding, corroborate or
    detect_groundedness."""
    model: str
    outcome: Outcome | None
    """None when the request failed before a verdict."""
    status: int
    """The HTTP status answered."""
    total_seconds: float
    error: str | None = None
    """The error's code when the request failed."""
    grounding: float | None = None
    relevance: float | None = None
    reasons: tuple[str, ...] = ()
    """The checks that blocked: grounding, relevance, missing_context, uninspected, scorer_error."""
    bypasses: tuple[str, ...] = ()
    """What passed unjudged: no_source, policy_off, tool_calls, json, images, scorer_error, abstention."""
    scorer_errors: tuple[str, ...] = ()
    """How scoring failed: timeout, error, overloaded. One word a failure."""
    scoring_seconds: float | None = None
    upstream_seconds: float | None = None
    first_token_seconds: float | None = None
    added_seconds: float | None = None
    """What the guard cost: the total less the time spent waiting for the upstream."""
    claims: int = 0
    source_chars: int = 0
    query_chars: int = 0
    answer_chars: int = 0
    stream: bool = False
    retries: int = 0
    """How often the model was asked again after a block."""
    judged: Judged | None = field(default=None, repr=False)
    """None when the request failed before its policy was known."""


Sink = Callable[[Record], None]
"""Takes a record; must be quick, for it is called on the event loop."""


def fan_out(*sinks: Sink) -> Sink:
    """One sink that hands each record to all of ``sinks``, in order.

    A sink that raises is logged and passed over: an exchange never fails for want of a counter.
    """

    def deliver(record: Record) -> None:
        for sink in sinks:
            try:
                sink(record)
            except Exception:  # noqa: BLE001 - whatever it is, it is the sink's fault and not the caller's
                _log.exception("a sink failed; the record is lost to it")

    return deliver
