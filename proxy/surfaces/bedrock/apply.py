"""ApplyGuardrail: ``POST /guardrail/{id}/version/{v}/apply`` (botocore, bedrock-runtime 2023-09-30).

Grounding is judged for OUTPUT only, as AWS documents; INPUT has nothing to check. Pictures cannot be judged: the
policy's ``on_uninspected.images`` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.grounding.types import GroundingContext, Outcome, Source, Verdict
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import enforce_limits
from proxy.guard.exchange import assess
from proxy.guard.redaction import redacted
from proxy.surfaces.base import Call, Services, json_response, parse_object
from proxy.surfaces.bedrock import guardrails
from proxy.surfaces.bedrock.shapes import shaped

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.policy.model import Policy

JsonObject = dict[str, Any]


@dataclass
class _Content:
    """The request's text, by what it is for. ``answer`` are the blocks without a qualifier and the guarded ones."""

    sources: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    total: int = 0
    images: int = 0

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
        body = shaped("ApplyGuardrail", body)
        content = _read(body["content"])
        context = GroundingContext.of((Source(text=text) for text in content.sources), "\n".join(content.queries))
        call.ledger.asked(context)
        call.ledger.answer_chars = content.judged
        verdict = Verdict(outcome=Outcome.UNCHECKED)
        if body["source"] == "OUTPUT":
            if not content.answer and not content.images:
                message = "content has no text to check: a block without qualifiers, or with guard_content."
                raise CallerError(message, param="content")
            enforce_limits(policy, context)
            text = "\n".join(content.answer)
            part = AnswerPart(text=text, carries=frozenset({"images"})) if content.images else AnswerPart(text=text)
            call.ledger.answered((part,))
            verdict = await assess(self._services.assessor, policy, context, part, call.ledger.meter)
        call.ledger.verdicts = (verdict,)
        full = body.get("outputScope") == "FULL"
        milliseconds = round(call.ledger.meter.total() * 1000)
        return json_response(200, _render(verdict, policy, content, full=full, milliseconds=milliseconds))

    def _policy(self, call: Call) -> Policy:
        named = guardrails.name_in(call.path["identifier"])
        policy = call.policies[self._services.access.choose(call.caller, named or None)]
        guardrails.require_version(policy, call.path["version"])
        return policy


def _read(blocks: list[JsonObject]) -> _Content:
    if not blocks:
        message = "content must be a list with at least one block."
        raise CallerError(message, param="content")
    found = _Content()
    for block in blocks:
        if "text" not in block:
            found.images += 1
            continue
        text, qualifiers = block["text"]["text"], set(block["text"].get("qualifiers") or ())
        found.total += len(text)
        if "grounding_source" in qualifiers:
            found.sources.append(text)
        if "query" in qualifiers:
            found.queries.append(text)
        if not {"grounding_source", "query"} & qualifiers:
            found.answer.append(text)
    return found


def _render(verdict: Verdict, policy: Policy, content: _Content, *, full: bool, milliseconds: int) -> JsonObject:
    assessment = guardrails.assessment(
        verdict,
        policy,
        full=full,
        milliseconds=milliseconds,
        guarded=content.judged,
        total=content.total,
        images=content.images,
    )
    return {
        "usage": guardrails.usage_units(verdict, content.total),
        "action": "GUARDRAIL_INTERVENED" if verdict.blocked or verdict.removed else "NONE",
        "actionReason": guardrails.reason(verdict),
        "outputs": _outputs(verdict, policy, "\n".join(content.answer)),
        "assessments": [assessment],
        "guardrailCoverage": guardrails.coverage(content.judged, content.total, content.images),
    }


def _outputs(verdict: Verdict, policy: Policy, answer: str) -> list[JsonObject]:
    """What takes the answer's place: a message, or the answer without what was removed; nothing where it may stay."""
    if verdict.blocked:
        return [{"text": policy.blocked_message}]
    return [{"text": redacted(answer, verdict.removed, policy.redacted_message)}] if verdict.removed else []
