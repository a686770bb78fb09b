"""The rules of a policy that scores and verdicts hang on, as they are written beside them and compared later."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxy.grounding.types import Rule
    from proxy.policy.model import Policy

_DIGITS = 8


def rules_of(policy: Policy) -> dict[str, Any]:
    """What a replay must know of the policy that judged.

    ``reading`` (how sources and query are found) and ``calibration`` are digests: they tell only whether another
    policy has the same.
    """
    reading = [policy.trust, policy.tool_results, policy.history, policy.query]
    return {
        "grounding": _rule(policy.grounding),
        "relevance": _rule(policy.relevance),
        "abstention": policy.abstention,
        "on_scorer_error": policy.on_scorer_error,
        "citations": policy.citations.threshold,
        "timeout_ms": policy.timeout_ms,
        "retry": policy.retry.attempts,
        "reading": _digest(json.dumps(reading)),
        "calibration": _digest(policy.calibration.text),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {"threshold": rule.threshold, "action": rule.action, "aggregate": rule.aggregate}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
