"""A guardrail is a policy: which one a request names, and a verdict told as AWS's assessments.

The identifier is the policy's name, alone or at the end of an ARN; the version is the policy's own, or DRAFT.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError, NotFound
from proxy.grounding.types import CheckKind, Outcome

if TYPE_CHECKING:
    from proxy.grounding.types import Verdict
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call, Services

JsonObject = dict[str, Any]

DRAFT = "DRAFT"
ARN = "arn:aws:bedrock:local:000000000000:guardrail/"
"""Before a policy's name, where AWS's shapes ask for an ARN."""

_CHARS_PER_UNIT = 1000
_UNCHARGED = (
    "topicPolicyUnits",
    "contentPolicyUnits",
    "wordPolicyUnits",
    "sensitiveInformationPolicyUnits",
    "sensitiveInformationPolicyFreeUnits",
)
_NAMES = {CheckKind.GROUNDING: "GROUNDING", CheckKind.RELEVANCE: "RELEVANCE"}


def name_in(identifier: str) -> str:
    """The policy's name in an identifier or ARN; "" where it names none."""
    return identifier.rpartition("guardrail/")[2]


def policy_named(services: Services, call: Call, identifier: str | None, version: str | None) -> Policy:
    """The policy that a request names, the tenant's own when it names none.

    Raises ``Forbidden`` for another's or an unknown one, ``NotFound`` for another version, and ``CallerError`` for an
    identifier without a version, or the reverse.
    """
    name = name_in(identifier or "")
    policy = call.policies[services.access.choose(call.caller, name or None)]
    if not identifier and not version:
        return policy
    if not version:
        message = "guardrailVersion must be given with a guardrailIdentifier. Use DRAFT, or the guardrail's version."
        raise CallerError(message, param="guardrailVersion")
    if not identifier:
        message = "guardrailIdentifier must be given with a guardrailVersion."
        raise CallerError(message, param="guardrailIdentifier")
    require_version(policy, version)
    return policy


def require_version(policy: Policy, version: str) -> None:
    """Raise ``NotFound`` for a version that is neither the policy's own nor DRAFT."""
    if version not in {DRAFT, policy.version}:
        message = f"Guardrail {policy.name} has no such version. Use DRAFT, or its present version."
        raise NotFound(message, param="guardrailVersion")


def assessment(
    verdict: Verdict, policy: Policy, *, full: bool, milliseconds: int, guarded: int, total: int, images: int = 0
) -> JsonObject:
    """A ``GuardrailAssessment``: the checks that fired (all that ran, when ``full``), the time and what was charged.

    ``guarded`` and ``total`` are characters: of the answer that was judged, and of all the text. ``images`` are not
    judged, and only counted.
    """
    metrics = {
        "guardrailProcessingLatency": milliseconds,
        "usage": usage_units(verdict, total),
        "guardrailCoverage": coverage(guarded, total, images),
    }
    details = {
        "guardrailId": policy.name,
        "guardrailVersion": policy.version,
        "guardrailArn": ARN + policy.name,
        "guardrailOrigin": ["REQUEST"],
        "guardrailOwnership": "SELF",
    }
    told: JsonObject = {"invocationMetrics": metrics, "appliedGuardrailDetails": details}
    filters = _filters(verdict, policy, full=full)
    if filters:
        told["contextualGroundingPolicy"] = {"filters": filters}
    return told


def coverage(guarded: int, total: int, images: int = 0) -> JsonObject:
    """A ``GuardrailCoverage``: characters, and images where there are any."""
    text = {"textCharacters": {"guarded": guarded, "total": total}}
    return {**text, "images": {"guarded": 0, "total": images}} if images else text


def usage_units(verdict: Verdict, total: int) -> JsonObject:
    """A ``GuardrailUsage``: one unit is up to 1,000 characters; nothing is charged for what was not scored."""
    units = math.ceil(total / _CHARS_PER_UNIT) if verdict.checks else 0
    return {**dict.fromkeys(_UNCHARGED, 0), "contextualGroundingPolicyUnits": units}


def reason(verdict: Verdict) -> str:
    """The ``actionReason``: which checks blocked or masked, or that none did."""
    if verdict.blocked:
        return "Guardrail blocked: " + ", ".join(each.replace("_", " ") for each in verdict.reasons) + "."
    if verdict.removed:
        return "Guardrail masked: " + ", ".join(verdict.reasons) + "."
    return "Could not be scored." if verdict.outcome is Outcome.UNSCORED else "No action."


def _filters(verdict: Verdict, policy: Policy, *, full: bool) -> list[JsonObject]:
    """The checks. Clients (LiteLLM's hook is one) take an intervention for a block only if some filter is BLOCKED.

    So a block for another reason than a score (no source, a scorer that failed, what cannot be judged) is told as a
    grounding of 0: none has been shown.
    """
    blocks = [check.kind for check in verdict.checks if verdict.blocked and check.kind.value in verdict.reasons]
    unshown = verdict.blocked and not blocks
    told = [
        _told(check.kind, check.rule.threshold, check.score, blocked=check.kind in blocks, detected=check.below)
        for check in verdict.checks
        if check.score is not None and (full or check.below) and not (unshown and check.kind is CheckKind.GROUNDING)
    ]
    if unshown:
        told.insert(0, _told(CheckKind.GROUNDING, policy.grounding.threshold, 0.0, blocked=True, detected=True))
    return told


def _told(kind: CheckKind, threshold: float, score: float, *, blocked: bool, detected: bool) -> JsonObject:
    return {
        "type": _NAMES[kind],
        "threshold": threshold,
        "score": round(score, 4),
        "action": "BLOCKED" if blocked else "NONE",
        "detected": detected,
    }
