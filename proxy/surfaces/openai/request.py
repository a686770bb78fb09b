"""A request to a model, read: what the OpenAI surfaces have in common before and behind their shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError, no_such_model
from proxy.guard.assess import enforce_limits
from proxy.surfaces.base import parse_object
from proxy.surfaces.context import CONFIG_FIELD, STREAM_MODES
from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.grounding.gate import Release
    from proxy.grounding.types import GroundingContext
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.openai.forms import Form
    from proxy.upstream.base import Upstream

JsonObject = dict[str, Any]

_MAX_CHOICES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One completion that is asked for: what to ask, of whom, against what to judge the answer.

    ``choices`` is how many the answer has; ``asks_again``: the model may be asked once more after a block.
    """

    form: Form
    upstream: Upstream
    body: JsonObject
    context: GroundingContext
    policy: Policy
    release: Release
    trace: bool
    stream: bool
    choices: int
    include_usage: bool
    asks_again: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRequest:
    """One response that is asked for, likewise."""

    upstream: Upstream
    body: JsonObject
    context: GroundingContext
    policy: Policy
    release: Release
    trace: bool
    stream: bool

    def texts(self) -> Iterator[str]:
        """The texts of the request, for counting their tokens."""
        given = self.body.get("input")
        yield str(self.body.get("instructions") or "")
        for item in given if isinstance(given, list) else [{"content": given}]:
            content = item.get("content") or item.get("output")
            for part in content if isinstance(content, list) else [{"text": content}]:
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"]


def opened(services: Services, call: Call) -> tuple[JsonObject, Policy]:
    """The body, once it names a model that the caller may use, and the policy that applies.

    Raises ``CallerError`` naming the field, ``NotFound`` for the model.
    """
    body = parse_object(call.body)
    policy = call.ledger.policy = call.policies[call.caller.policy]
    refuse_steering(body)
    name = body.get("model")
    if not isinstance(name, str):
        message = "model must be a string."
        raise CallerError(message, param="model")
    require_model(services, name, policy)
    call.ledger.model = name
    call.ledger.stream = flag(body, "stream")
    return body, policy


def limited(call: Call, policy: Policy, context: GroundingContext) -> GroundingContext:
    """The context, noted. Raises ``CallerError`` where it is over the policy's limits."""
    call.ledger.asked(context)
    enforce_limits(policy, context)
    return context


def require_model(services: Services, name: str, policy: Policy) -> None:
    """Raise ``NotFound`` for a model that is not there or not for this caller."""
    if name not in services.models.names() or not policy.allows_model(name):
        raise no_such_model(name)


def refuse_steering(body: JsonObject) -> None:
    """Raise ``CallerError`` for a field that would steer the gateway rather than the model."""
    for name in body:
        if name in STEERING_FIELDS:
            message = f"{name} is set by the operator and cannot be sent with a request."
            raise CallerError(message, param=name, code="unsupported_parameter")


def wants_sync(body: JsonObject) -> bool:
    """Whether the caller asks that nothing leaves before it is judged, as on Bedrock. For a body that was read."""
    config = body.get(CONFIG_FIELD)
    return isinstance(config, dict) and STREAM_MODES.get(config.get("streamProcessingMode", "")) == "sync"


def wants_trace(body: JsonObject, policy: Policy) -> bool:
    """Whether the answer is to be explained: the caller asks for it and the policy allows it."""
    value = body.get("guardrail")
    if value is None:
        return False
    if not isinstance(value, dict) or set(value) - {"trace"}:
        message = 'guardrail must be {"trace": "enabled"} or {"trace": "disabled"}; it has no other field.'
        raise CallerError(message, param="guardrail")
    wanted = value.get("trace", "disabled")
    if wanted not in ("enabled", "disabled"):
        message = 'guardrail.trace must be "enabled" or "disabled".'
        raise CallerError(message, param="guardrail.trace")
    return bool(wanted == "enabled") and policy.allow_trace


def wants_usage(body: JsonObject) -> bool:
    """Whether a stream is to tell its count of tokens."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def flag(body: JsonObject, name: str) -> bool:
    """A field that is true or false, false when it is not there."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        message = f"{name} must be true or false."
        raise CallerError(message, param=name)
    return bool(value)


def choices_asked(body: JsonObject) -> int:
    """How many choices are asked for."""
    value = body.get("n")
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_CHOICES:
        message = f"n must be a whole number from 1 to {_MAX_CHOICES}."
        raise CallerError(message, param="n")
    return value
