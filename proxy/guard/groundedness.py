"""A check of grounding that its caller asks for by name, as Azure's and Google's APIs have it.

Grounding alone is judged: these APIs have no word for relevance. Such a check is never passed over: where it cannot be
made, the caller gets an error and no score, whatever the policy says of a scorer that fails.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxy.grounding.errors import CallerError, ScoringError
from proxy.grounding.types import Outcome
from proxy.guard.assess import enforce_limits, too_long

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from proxy.grounding.types import GroundingContext, Verdict
    from proxy.policy.model import Policy


def grounding_only(policy: Policy) -> Policy:
    """The policy as far as it speaks of grounding.

    An abstention states nothing of the sources, JSON is judged as it stands, no text is changed here that could be
    redacted, and no request is out of the sample.
    """
    grounding = policy.grounding
    changes = {
        "grounding": replace(grounding, action="block") if grounding.action == "redact" else grounding,
        "relevance": replace(policy.relevance, action="off"),
        "abstention": "score" if policy.abstention == "score" else "pass",
        "on_uninspected": policy.on_uninspected.model_copy(update={"json_": "score"}),
        "in_sample": True,
    }
    return policy.model_copy(update=changes)


def require_within(policy: Policy, context: GroundingContext, text: str, fields: Mapping[str, str]) -> None:
    """Raise ``CallerError`` over limits at which the policy rejects.

    ``fields`` are the request's names of ``answer``, ``grounding_source`` and, if it has one, ``query``.
    """
    try:
        enforce_limits(policy, context)
    except CallerError as over:
        raise CallerError(over.message, param=fields[str(over.param)]) from None
    if too_long(len(text), policy):
        message = f"{fields['answer']} has {len(text)} characters; the policy allows {policy.limits.answer_chars}."
        raise CallerError(message, param=fields["answer"])


def unchecked(verdict: Verdict) -> Verdict:
    """The verdict on a text that could not be checked: nothing of it passed."""
    return replace(verdict, outcome=Outcome.BLOCKED, reasons=("scorer_error",), bypasses=())


def not_scored(failed: Collection[str]) -> ScoringError:
    """What the caller is told then. ``failed`` are the words of the scorer's failures."""
    late = "timeout" in failed
    why = "in time" if late else "now"
    message = f"The text could not be checked {why}, so whether it is grounded is not known. Try again."
    return ScoringError(message, reason="timeout" if late else "error")
