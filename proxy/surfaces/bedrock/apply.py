"""ApplyGuardrail: ``POST /guardrail/{id}/version/{v}/apply``, text blocks (botocore, bedrock-runtime 2023-09-30).

A guardrail is a policy: its identifier the policy's name, alone or at the end of an ARN, its version the policy's own
or DRAFT. Grounding is judged for OUTPUT only, as AWS documents; INPUT has nothing to check.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError, NotFound
from proxy.grounding.types import CheckKind, GroundingContext, Outcome, Source, Verdict
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import enforce_limits
from proxy.guard.exchange import assess
from proxy.surfaces.base import Call, Services, json_response, parse_object, qualifiers_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.policy.model import Policy

JsonObject = dict[str, Any]

_CHARS_PER_UNIT = 1000
_UNCHARGED = (
    "topicPolicyUnits",
    "contentPolicyUnits",
    "wordPolicyUnits",
    "sensitiveInformationPolicyUnits",
    "sensitiveInformationPolicyFreeUnits",
)


@dataclass
class _Content:
    """The request's text, by what it is for. ``answer`` are the blocks without a qualifier and the guarded ones."""

    sources: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    total: int = 0

    @property
    def judged(self) -> int:
        """Characters of the answer's blocks."""
        return sum(map(len, self.answer))


class ApplyGuardrail:
    """The surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def apply(self, call: Call) -> Response:
        """Answer one ApplyGuardrail call."""
        body = parse_object(call.body)
        policy = call.ledger.policy = self._policy(call)
        output = _one_of(body, "source", ("INPUT", "OUTPUT")) == "OUTPUT"
        full = _one_of(body, "outputScope", ("INTERVENTIONS", "FULL"), default="INTERVENTIONS") == "FULL"
        content = _read(body.get("content"))
        context = GroundingContext.of((Source(text=text) for text in content.sources), "\n".join(content.queries))
        call.ledger.source_chars, call.ledger.query_chars = context.source_chars, len(context.query or "")
        call.ledger.answer_chars = content.judged
        verdict = Verdict(outcome=Outcome.UNCHECKED)
        if output:
            if not content.answer:
                message = "content has no text to check: a block without qualifiers, or with guard_content."
                raise CallerError(message, param="content")
            enforce_limits(policy, context)
            part = AnswerPart(text="\n".join(content.answer))
            verdict = await assess(self._services.assessor, policy, context, part, call.ledger.meter)
        call.ledger.verdicts = (verdict,)
        milliseconds = round(call.ledger.meter.total() * 1000)
        return json_response(200, _render(verdict, policy, content, full=full, milliseconds=milliseconds))

    def _policy(self, call: Call) -> Policy:
        named = call.path["identifier"].rpartition("guardrail/")[2]
        policy = call.policies[self._services.access.choose(call.caller, named or None)]
        if call.path["version"] not in {"DRAFT", policy.version}:
            message = f"Guardrail {policy.name} has no such version. Use DRAFT, or its present version."
            raise NotFound(message, param="guardrailVersion")
        return policy


def _one_of(body: JsonObject, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
    value = body.get(name, default)
    if value not in allowed:
        message = f"{name} must be one of {', '.join(allowed)}."
        raise CallerError(message, param=name)
    return str(value)


def _read(content: Any) -> _Content:
    if not isinstance(content, list) or not content:
        message = "content must be a list with at least one block."
        raise CallerError(message, param="content")
    found = _Content()
    for at, block in enumerate(content):
        text, qualifiers = _text_block(block, f"content[{at}]")
        found.total += len(text)
        if "grounding_source" in qualifiers:
            found.sources.append(text)
        if "query" in qualifiers:
            found.queries.append(text)
        if not {"grounding_source", "query"} & set(qualifiers):
            found.answer.append(text)
    return found


def _text_block(block: Any, path: str) -> tuple[str, tuple[str, ...]]:
    if isinstance(block, dict) and "image" in block:
        message = f"{path}.image: images are not yet supported."
        raise CallerError(message, param=f"{path}.image")
    value = block.get("text") if isinstance(block, dict) else None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        message = f"{path}.text.text must be a string."
        raise CallerError(message, param=f"{path}.text.text")
    return value["text"], qualifiers_of(value, f"{path}.text")


def _render(verdict: Verdict, policy: Policy, content: _Content, *, full: bool, milliseconds: int) -> JsonObject:
    usage = _usage(content, scored=bool(verdict.checks))
    coverage = {"textCharacters": {"guarded": content.judged, "total": content.total}}
    metrics = {"guardrailProcessingLatency": milliseconds, "usage": usage, "guardrailCoverage": coverage}
    details = {"guardrailId": policy.name, "guardrailVersion": policy.version, "guardrailOwnership": "SELF"}
    assessment: JsonObject = {"invocationMetrics": metrics, "appliedGuardrailDetails": details}
    filters = _filters(verdict, full=full)
    if filters:
        assessment["contextualGroundingPolicy"] = {"filters": filters}
    return {
        "usage": usage,
        "action": "GUARDRAIL_INTERVENED" if verdict.blocked else "NONE",
        "actionReason": _reason(verdict),
        "outputs": [{"text": policy.blocked_message}] if verdict.blocked else [],
        "assessments": [assessment],
        "guardrailCoverage": coverage,
    }


def _filters(verdict: Verdict, *, full: bool) -> list[JsonObject]:
    """The checks that fired, or with FULL all that ran."""
    names = {CheckKind.GROUNDING: "GROUNDING", CheckKind.RELEVANCE: "RELEVANCE"}
    return [
        {
            "type": names[check.kind],
            "threshold": check.rule.threshold,
            "score": round(check.score, 4),
            "action": "BLOCKED" if check.kind.value in verdict.reasons and verdict.blocked else "NONE",
            "detected": check.below,
        }
        for check in verdict.checks
        if check.score is not None and (full or check.below)
    ]


def _usage(content: _Content, *, scored: bool) -> JsonObject:
    """One unit is up to 1,000 characters of text; nothing is charged for what was not scored."""
    units = math.ceil(content.total / _CHARS_PER_UNIT) if scored else 0
    return {**dict.fromkeys(_UNCHARGED, 0), "contextualGroundingPolicyUnits": units}


def _reason(verdict: Verdict) -> str:
    if verdict.blocked:
        return "Guardrail blocked: " + ", ".join(reason.replace("_", " ") for reason in verdict.reasons) + "."
    return "Could not be scored." if verdict.outcome is Outcome.UNSCORED else "No action."
