"""``POST /v1/completions``: the older API, of a prompt and a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.grounding.errors import CallerError
from proxy.guard.assess import without_scoring
from proxy.guard.stream import release_of
from proxy.surfaces.context import read_prompts
from proxy.surfaces.openai.completing import answered
from proxy.surfaces.openai.forms import COMPLETIONS
from proxy.surfaces.openai.request import (
    Request,
    choices_asked,
    flag,
    limited,
    opened,
    wants_sync,
    wants_trace,
    wants_usage,
)

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.surfaces.base import Call, Services


class Completions:
    """The completions surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def complete(self, call: Call) -> Response:
        """Answer ``POST /v1/completions``: as many choices for each prompt as ``n`` says."""
        return await answered(self._services, call, self._read(call))

    def _read(self, call: Call) -> Request:
        body, policy = opened(self._services, call)
        context, forward, prompts = read_prompts(body, policy)
        limited(call, policy, context)
        if flag(body, "echo") and without_scoring(policy, context) is None:
            message = "echo would mix the prompt into the answer that is judged; leave it out, or send no source."
            raise CallerError(message, param="echo")
        forward.pop("guardrail", None)
        choices = choices_asked(body) * prompts
        return Request(
            form=COMPLETIONS,
            upstream=self._services.models.get(call.ledger.model),
            body=forward,
            context=context,
            policy=policy,
            release=release_of(policy, structured=False, choices=choices, sync=wants_sync(body)),
            trace=wants_trace(body, policy),
            stream=call.ledger.stream,
            choices=choices,
            include_usage=wants_usage(body),
            asks_again=False,
        )
