"""The playground: one answer judged by a policy in force, for whoever tries it out. It leaves no record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.grounding.types import GroundingContext, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import enforce_limits
from proxy.guard.exchange import Meter, assess
from proxy.guard.trace import trace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.guard.assess import Assessor
    from proxy.policy.model import Policy

_FIELDS = ("policy", "source", "query", "answer")


async def judge(assessor: Assessor, policies: Mapping[str, Policy], body: Mapping[str, Any]) -> dict[str, Any]:
    """Judge ``{"policy", "source", "query", "answer"}``, all texts; returns the trace that a caller would get.

    Raises ``CallerError`` for anything else, and what scoring raises.
    """
    fields = _fields(body)
    policy = policies.get(fields["policy"])
    if policy is None:
        message = f"policy must be one of {', '.join(sorted(policies))}."
        raise CallerError(message, param="policy")
    context = GroundingContext.of([Source(text=fields["source"])], fields["query"])
    enforce_limits(policy, context)
    part, meter = AnswerPart(text=fields["answer"]), Meter()
    verdict = await assess(assessor, policy, context, part, meter)
    return trace_of((verdict,), (part,), context, policy, meter)


def _fields(given: Mapping[str, Any]) -> dict[str, str]:
    unknown = sorted(set(given) - set(_FIELDS))
    if unknown:
        message = f"There is no such field; the fields are {', '.join(_FIELDS)}."
        raise CallerError(message, param=unknown[0][:80])
    fields = {name: given.get(name, "") for name in _FIELDS}
    for name, value in fields.items():
        if not isinstance(value, str):
            message = f"{name} must be text."
            raise CallerError(message, param=name)
    if not fields["answer"].strip():
        message = "answer must hold the text to judge."
        raise CallerError(message, param="answer")
    return {**fields, "policy": fields["policy"] or "default"}
