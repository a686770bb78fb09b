"""``POST /v1/chat/completions`` and ``GET /v1/models``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.guard.stream import release_of
from proxy.surfaces.base import Call, Services, json_response
from proxy.surfaces.context import read_context
from proxy.surfaces.openai.completing import answered
from proxy.surfaces.openai.forms import CHAT
from proxy.surfaces.openai.request import (
    Request,
    choices_asked,
    limited,
    opened,
    require_model,
    wants_sync,
    wants_trace,
    wants_usage,
)

if TYPE_CHECKING:
    from starlette.responses import Response

JsonObject = dict[str, Any]
_CREATED = 1_700_000_000  # /v1/models must name a time; a model list has none


class Chat:
    """The chat surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def complete(self, call: Call) -> Response:
        """Answer ``POST /v1/chat/completions``."""
        return await answered(self._services, call, self._read(call))

    async def models(self, call: Call) -> Response:
        """Answer ``GET /v1/models``: the models this caller may use."""
        policy = call.policies[call.caller.policy]
        data = [_model(name) for name in self._services.models.names() if policy.allows_model(name)]
        return json_response(200, {"object": "list", "data": data})

    async def model(self, call: Call) -> Response:
        """Answer ``GET /v1/models/{id}``."""
        name = call.path["id"]
        require_model(self._services, name, call.policies[call.caller.policy])
        return json_response(200, _model(name))

    def _read(self, call: Call) -> Request:
        body, policy = opened(self._services, call)
        context, forward = read_context(body, policy)
        limited(call, policy, context)
        forward.pop("guardrail", None)
        choices = choices_asked(body)
        return Request(
            form=CHAT,
            upstream=self._services.models.get(call.ledger.model),
            body=forward,
            context=context,
            policy=policy,
            release=release_of(policy, structured=_is_structured(body), choices=choices, sync=wants_sync(body)),
            trace=wants_trace(body, policy),
            stream=call.ledger.stream,
            choices=choices,
            include_usage=wants_usage(body),
        )


def _is_structured(body: JsonObject) -> bool:
    """Whether the answer may be another thing than prose."""
    plain = body.get("response_format") in (None, {"type": "text"})
    return not plain or any(body.get(name) for name in ("tools", "functions"))


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "groundwarden"}
