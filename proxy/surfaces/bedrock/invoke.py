"""InvokeModel and its stream: ``POST /model/{id}/invoke`` and ``/invoke-with-response-stream``.

The body is the model maker's own (``families``); what concerns the guardrail stands in headers, in the body's
``amazon-bedrock-guardrailConfig``, and in the reply's ``amazon-bedrock-guardrailAction`` and ``amazon-bedrock-trace``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from proxy.grounding.errors import CallerError
from proxy.surfaces.base import parse_object
from proxy.surfaces.bedrock import flow
from proxy.surfaces.bedrock.asked import Asked, Guardrail, Processing, Reader, Trace
from proxy.surfaces.bedrock.eventstream import event
from proxy.surfaces.bedrock.families.registry import family_of
from proxy.surfaces.context import CONFIG_FIELD, STREAM_MODES
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.bedrock.families.base import Family
    from proxy.surfaces.bedrock.flow import Told, Writer
    from proxy.surfaces.bedrock.said import Ending, Said

JsonObject = dict[str, Any]

ACTION, TRACE = "amazon-bedrock-guardrailAction", "amazon-bedrock-trace"
METRICS = "amazon-bedrock-invocationMetrics"

_HEADER = "x-amzn-bedrock-"
_TRACES = {"ENABLED": "enabled", "DISABLED": "disabled", "ENABLED_FULL": "enabled_full"}


class InvokeModel:
    """The surface. ``models`` are the configuration's ``bedrock_models``."""

    def __init__(self, services: Services, models: Mapping[str, str]) -> None:
        self._services, self._reader = services, Reader(services, models)

    async def invoke(self, call: Call) -> Response:
        """Answer one InvokeModel call."""
        asked, dialect = self._read(call, stream=False)
        return await flow.whole(self._services, call, asked, dialect)

    async def stream(self, call: Call) -> Response:
        """Answer one InvokeModelWithResponseStream call."""
        asked, dialect = self._read(call, stream=True)
        return await flow.stream(self._services, call, asked, dialect)

    def _read(self, call: Call, *, stream: bool) -> tuple[Asked, _Dialect]:
        body = parse_object(call.body)
        config = body.pop(CONFIG_FIELD, None)
        guardrail = _guardrail(call.headers, config)
        self._reader.require_model(call, self._reader.policy(call, guardrail))
        model = call.path["model"]
        family = family_of(model, body)
        asked = self._reader.read(call, family.read(body), guardrail, stream=stream, config=config)
        return asked, _Dialect(family=family, model=model)


def _guardrail(headers: Mapping[str, str], config: Any) -> Guardrail:
    """What headers and body say of the guardrail. Raises ``CallerError`` where AWS does."""
    identifier = headers.get(f"{_HEADER}guardrailidentifier") or None
    version = headers.get(f"{_HEADER}guardrailversion") or None
    if config is not None and identifier is None:
        message = f"{CONFIG_FIELD} needs a guardrail: give the header X-Amzn-Bedrock-GuardrailIdentifier too."
        raise CallerError(message, param="guardrailIdentifier")
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if identifier is not None and kind != "application/json":
        message = "contentType must be application/json where a guardrail is named."
        raise CallerError(message, param="contentType")
    trace = headers.get(f"{_HEADER}trace", "DISABLED")
    mode = config.get("streamProcessingMode") if isinstance(config, dict) else None
    for value, known, name in (
        (trace, _TRACES, "trace"),
        (mode, STREAM_MODES, f"{CONFIG_FIELD}.streamProcessingMode"),
    ):
        if value is not None and (not isinstance(value, str) or value not in known):
            message = f"{name} must be one of {', '.join(known)}."
            raise CallerError(message, param=name)
    return Guardrail(
        identifier=identifier,
        version=version,
        trace=cast("Trace", _TRACES[trace]),
        processing=cast("Processing", STREAM_MODES[mode]) if mode else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """How InvokeModel tells things: as the family does, with the guardrail's fields beside."""

    family: Family
    model: str

    def whole(self, said: Said, told: Told) -> tuple[JsonObject, dict[str, str]]:
        headers = {
            f"{_HEADER}input-token-count": str(said.end.usage.prompt),
            f"{_HEADER}output-token-count": str(said.end.usage.completion),
            f"{_HEADER}invocation-latency": str(told.milliseconds),
        }
        return {**self.family.whole(said, self.model), **_marks(told)}, headers

    def writer(self) -> Writer:
        return _Marked(self.family.writer(self.model))

    def frame(self, written: JsonObject) -> bytes:
        return event("chunk", {"bytes": base64.b64encode(to_json(written)).decode()})

    def stream_headers(self) -> dict[str, str]:
        return {"x-amzn-bedrock-content-type": "application/json"}


def _marks(told: Told) -> JsonObject:
    marks: JsonObject = {ACTION: "INTERVENED" if told.intervened else "NONE"}
    if told.assessment is not None:
        outputs = [{told.guardrail: told.assessment}]
        marks[TRACE] = {"guardrail": {"input": {}, "outputs": outputs, "actionReason": told.reason}}
    return marks


class _Marked:
    """Writes a stream whose last chunk says what the guardrail did, and how many tokens there were."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.text, self.thought, self.picture, self.call = writer.text, writer.thought, writer.picture, writer.call

    def end(self, end: Ending, told: Told) -> list[JsonObject]:
        """The end, with the marks."""
        *written, last = self._writer.end(end, told)
        metrics = {
            "inputTokenCount": end.usage.prompt,
            "outputTokenCount": end.usage.completion,
            "invocationLatency": told.milliseconds,
        }
        return [*written, {**last, METRICS: metrics, **_marks(told)}]
