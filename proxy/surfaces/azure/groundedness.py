"""Groundedness detection: ``POST /contentsafety/text:detectGroundedness`` (azure-rest-api-specs, 2024-09-15-preview).

Grounding alone is judged, by the policy's threshold. The query of a QnA task is what the answer is read with
("12/hour"). Under a policy without the check, and where it cannot be made (``guard/groundedness.py``), the reply is an
error and not "grounded".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError, Forbidden
from proxy.grounding.types import GroundingContext, Source
from proxy.grounding.verdict import unsupported
from proxy.guard.answer import AnswerPart
from proxy.guard.exchange import assess
from proxy.guard.groundedness import grounding_only, not_scored, require_within, unchecked
from proxy.guard.revise import corrected, unscored
from proxy.surfaces.azure.errors import DETECTION_OFF
from proxy.surfaces.azure.positions import located
from proxy.surfaces.azure.request import Detection, read, require_version
from proxy.surfaces.base import Call, Services, json_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from proxy.grounding.types import ClaimResult, Verdict
    from proxy.guard.revise import Editor, Told
    from proxy.policy.model import Policy

JsonObject = dict[str, Any]

NOT_CHECKED = "This could not be checked."
"""The reason of what is listed because it could not be scored."""

NO_REASON = "No reason can be given: the model that gives them did not answer as it should."
"""The reason where one was asked for and none came back."""

_FIELDS = {"answer": "text", "grounding_source": "groundingSources", "query": "qna.query"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A text that was judged under a policy. ``listed`` are the claims that are ungrounded or could not be scored."""

    text: str
    context: GroundingContext
    policy: Policy
    verdict: Verdict
    listed: tuple[ClaimResult, ...]


class DetectGroundedness:
    """The surface. Without an ``editor`` no reason and no correction can be had."""

    def __init__(self, services: Services, editor: Editor | None) -> None:
        self._services, self._editor = services, editor

    async def detect(self, call: Call) -> Response:
        """Answer one call."""
        policy = call.ledger.policy = call.policies[self._services.access.choose(call.caller, None)]
        require_version(call.query)
        asked = read(call.body)
        context = GroundingContext.of((Source(text=text) for text in asked.sources), asked.query)
        part = AnswerPart(text=asked.text)
        call.ledger.asked(context)
        call.ledger.answered((part,))
        _require_active(policy)
        require_within(policy, context, asked.text, _FIELDS)
        editor = self._editor_for(policy, asked)
        found = await self._judge(call, grounding_only(policy), context, part)
        reply = _render(found)
        if editor is not None:
            await self._revise(call, editor, asked, found, reply)
        return json_response(200, reply)

    async def _judge(self, call: Call, policy: Policy, context: GroundingContext, part: AnswerPart) -> _Found:
        verdict = await assess(self._services.assessor, policy, context, part, call.ledger.meter)
        bad, failed = unsupported(verdict.claims, policy.grounding), unscored(verdict)
        if failed and not bad:
            call.ledger.verdicts = (unchecked(verdict),)
            raise not_scored([str(result.failed) for result in failed])
        call.ledger.verdicts = (verdict,)
        listed = sorted((*bad, *failed), key=lambda result: result.claim.start)
        return _Found(text=part.text, context=context, policy=policy, verdict=verdict, listed=tuple(listed))

    def _editor_for(self, policy: Policy, asked: Detection) -> tuple[Editor, str] | None:
        """Who explains and corrects, if that is wanted. Raises ``CallerError`` where nobody can, or not that model."""
        if not asked.reasoning and not asked.corrections:
            return None
        if self._editor is None:
            wanted = "reasoning" if asked.reasoning else _asked_as(asked)
            message = f"{wanted} needs a judge model, and none is configured on this server (judge in its config.yaml)."
            raise CallerError(message, param=wanted)
        name = asked.deployment or self._editor.model
        if asked.deployment and not (name in self._services.models.names() and policy.allows_model(name)):
            field = "llmResource.azureOpenAIDeploymentName"
            message = (
                f"{field} must be a model of this server that you may use. Without it the server's judge is asked."
            )
            raise CallerError(message, param=field)
        return self._editor, name

    async def _revise(
        self, call: Call, editor: tuple[Editor, str], asked: Detection, found: _Found, reply: JsonObject
    ) -> None:
        """Add to the reply what was asked for besides."""
        bad = [result for result in found.listed if result.failed is None]
        if not bad:
            return
        asks, call.ledger.model = editor
        with call.ledger.meter.stage("upstream"):
            told = await asks.ask(
                call.ledger.model, bad, found.context, reason=asked.reasoning, rewrite=bool(asked.corrections)
            )
        if asked.reasoning:
            _add_reasons(reply["ungroundedDetails"], found.listed, told)
        if asked.corrections:
            text = await self._corrected(call, found, bad, told)
            if text is not None:
                reply.update(dict.fromkeys(asked.corrections, text))

    async def _corrected(self, call: Call, found: _Found, bad: Sequence[ClaimResult], told: Told) -> str | None:
        """The text as the sources support it, judged anew; None where that cannot be had."""
        policy = found.policy.model_copy(update={"shadow": None})  # which judges the text that was sent

        async def judge(text: str) -> Verdict:
            part = AnswerPart(text=text)
            return await assess(self._services.assessor, policy, found.context, part, call.ledger.meter)

        return await corrected(found.text, bad, told, policy.grounding, judge)


def _asked_as(asked: Detection) -> str:
    return "mitigating" if asked.corrections == ("mitigatedText",) else "correction"


def _require_active(policy: Policy) -> None:
    """Raise ``Forbidden`` where the policy checks no grounding."""
    if not policy.grounding.active:
        message = "The policy of this key does not check grounding (grounding.action: off), so nothing can be detected."
        raise Forbidden(message, code=DETECTION_OFF)


def _render(found: _Found) -> JsonObject:
    """Azure's reply. The percentage is the share of the text's code points, blanks between claims left out, in [0, 1].

    Under ``aggregate: mean`` a text may pass the policy, as the headers say, with a claim that is listed here.
    """
    claims = [result.claim for result in found.listed]
    places = located(found.text, [(claim.start, claim.end) for claim in claims])
    details: list[JsonObject] = [
        {"text": result.claim.text, "offset": offset, "length": length}
        | ({"reason": NOT_CHECKED} if result.failed is not None else {})
        for result, (offset, length) in zip(found.listed, places, strict=True)
    ]
    whole = sum(len(result.claim.text) for result in found.verdict.claims)
    return {
        "ungroundedDetected": bool(claims),
        "ungroundedPercentage": sum(len(claim.text) for claim in claims) / whole if claims else 0,
        "ungroundedDetails": details,
    }


def _add_reasons(details: Sequence[JsonObject], listed: Sequence[ClaimResult], told: Told) -> None:
    for detail, result in zip(details, listed, strict=True):
        if result.failed is None:
            revision = told[result.claim.index]
            detail["reason"] = (revision.reason if revision is not None else None) or NO_REASON
