"""One request to a model, read: what Converse and InvokeModel have in common before and behind their shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from proxy.grounding.errors import CallerError, NotFound
from proxy.guard.assess import enforce_limits
from proxy.guard.stream import release_of
from proxy.surfaces.bedrock.blocks import flattened
from proxy.surfaces.bedrock.guardrails import policy_named
from proxy.surfaces.context import CONFIG_FIELD, read_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxy.grounding.gate import Release
    from proxy.grounding.types import GroundingContext
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.bedrock.prompt import Prompt
    from proxy.upstream.base import Upstream

JsonObject = dict[str, Any]

Trace = Literal["disabled", "enabled", "enabled_full"]
"""How much of the assessment is told: nothing, the checks that fired, all that ran."""
Processing = Literal["sync", "async"]
"""When a stream's text may leave: once it is judged, or at once."""

ANY_MODEL = "*"
"""The key of ``bedrock_models`` for model ids that it does not list."""

_MESSAGE = re.compile(r"messages\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail:
    """What a request says of its guardrail; every field may be left out."""

    identifier: str | None = None
    version: str | None = None
    trace: Trace = "disabled"
    processing: Processing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, read: what to ask, of whom, against what to judge the answer, and how to tell it."""

    upstream: Upstream
    body: JsonObject
    context: GroundingContext
    policy: Policy
    trace: Trace
    release: Release

    @property
    def stops(self) -> Sequence[str]:
        """The caller's stop sequences."""
        return self.body.get("stop") or ()

    @property
    def total(self) -> int:
        """Characters of the context, for the count of what was looked at."""
        return self.context.source_chars + len(self.context.query or "")


class Reader:
    """Reads prompts into requests. ``models`` are the configuration's ``bedrock_models``."""

    def __init__(self, services: Services, models: Mapping[str, str]) -> None:
        self._services, self._models = services, models

    def policy(self, call: Call, guardrail: Guardrail) -> Policy:
        """The policy that applies. Raises as ``policy_named`` does."""
        policy = policy_named(self._services, call, guardrail.identifier, guardrail.version)
        call.ledger.policy = policy
        return policy

    def require_model(self, call: Call, policy: Policy) -> str:
        """The ``model_name`` of the model that the path names: mapped, the very name, or the default.

        An ARN counts by its last part too. Raises ``NotFound`` for one that is not there or not for this caller.
        """
        given = call.path["model"]
        names = self._services.models.names()
        for candidate in (given, given.rpartition("/")[2]) if given.startswith("arn:") else (given,):
            name = self._models.get(candidate) or (candidate if candidate in names else None)
            if name is not None:
                break
        else:
            name = self._models.get(ANY_MODEL)
        if name is None or name not in names or not policy.allows_model(name):
            raise _no_such_model(given)
        call.ledger.model = name
        return name

    def read(
        self, call: Call, prompt: Prompt, guardrail: Guardrail, *, stream: bool, config: JsonObject | None = None
    ) -> Asked:
        """Make the request. ``config`` is the body's ``amazon-bedrock-guardrailConfig``, where it has one.

        Raises ``CallerError`` for a malformed mark, naming the field of the caller's own body, and for a context over
        the policy's limits.
        """
        policy = self.policy(call, guardrail)
        name = self.require_model(call, policy)
        body = {**prompt.fields, "model": name, "messages": prompt.messages}
        if config is not None:
            body[CONFIG_FIELD] = config
        try:
            context, forward = read_context(body, policy)
        except CallerError as error:
            raise _placed(error, prompt.origins) from None
        forward["messages"] = flattened(forward["messages"])
        if stream:
            forward |= {"stream": True, "stream_options": {"include_usage": True}}
        ledger = call.ledger
        ledger.stream = stream
        ledger.asked(context)
        enforce_limits(policy, context)
        return Asked(
            upstream=self._services.models.get(name),
            body=forward,
            context=context,
            policy=policy,
            trace=guardrail.trace if policy.allow_trace else "disabled",
            release=_release(policy, forward, guardrail),
        )


def _release(policy: Policy, body: JsonObject, guardrail: Guardrail) -> Release:
    """When text may leave. Who names a guardrail and no mode gets AWS's default, which is ``sync``."""
    sync = guardrail.processing == "sync" or (guardrail.identifier is not None and guardrail.processing is None)
    return release_of(policy, structured=any(body.get(name) for name in ("tools", "response_format")), sync=sync)


def _no_such_model(given: str) -> NotFound:
    """The error for an id that stands for no model, and in the same words for one that this caller may not use."""
    message = (
        f"The model `{given[:128]}` does not exist or you do not have access to it. Here an id is a model_name, or "
        "stands for one in bedrock_models."
    )
    return NotFound(message, param="modelId", code="model_not_found")


def _placed(error: CallerError, origins: list[str]) -> CallerError:
    """The error with the field's place in the caller's body, in its message too: AWS's errors have nothing else."""
    param = error.param or ""
    if found := _MESSAGE.match(param):
        param = origins[int(found[1])] + (param[found.end() :] if origins[int(found[1])].startswith("messages") else "")
    message = error.message if not param or param in error.message else f"{param}: {error.message}"
    return CallerError(message, param=param or None, code=error.code)
