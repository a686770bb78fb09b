"""The parameters of a request, as Converse and Amazon Nova have them, under the other dialect's names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from proxy.surfaces.bedrock.fields import Fields, must, refused
from proxy.surfaces.context import CONFIG_FIELD
from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.prompt import Prompt

JsonObject = dict[str, Any]

_INFERENCE = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
_OURS = frozenset(
    "model messages stream stream_options n max_tokens temperature top_p stop tools tool_choice functions "
    "function_call response_format logprobs top_logprobs grounding guardrail".split()
) | {CONFIG_FIELD}  # set by fields of their own, or by us: an answer is one choice, and its text is judged
_NOVAS = frozenset({"inferenceConfig", "reasoningConfig"})
_EFFORTS = {name: name for name in ("low", "medium", "high")}


def read_parameters(prompt: Prompt, body: JsonObject) -> None:
    """Read Converse's ``inferenceConfig``, ``outputConfig`` and ``additionalModelRequestFields``.

    ``body`` is ``shaped``. Raises ``CallerError`` naming the field.
    """
    inference = body.get("inferenceConfig") or {}
    prompt.fields |= {ours: inference[theirs] for theirs, ours in _INFERENCE.items() if theirs in inference}
    output = body.get("outputConfig") or {}
    if output.get("effort"):
        prompt.fields["reasoning_effort"] = output["effort"]
    if wanted := output.get("textFormat"):
        prompt.fields["response_format"] = _format(wanted["structure"]["jsonSchema"])
    if (additional := body.get("additionalModelRequestFields")) is not None:
        _read_additional(prompt, additional)


def _format(wanted: JsonObject) -> JsonObject:
    path = "outputConfig.textFormat.structure.jsonSchema.schema"
    try:
        schema = json.loads(wanted["schema"])
    except (ValueError, RecursionError):
        raise must(path, "be a JSON schema") from None
    return format_part(schema, wanted.get("name"), wanted.get("description"))


def format_part(schema: Any, name: str | None = None, description: str | None = None) -> JsonObject:
    """That the answer is JSON of this schema."""
    told = {"name": name or "answer", "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": {**told, "description": description} if description else told}


def _read_additional(prompt: Prompt, given: Any) -> None:
    """The model's own parameters, passed on as they are, less what steers the gateway or has a field of its own.

    Nova's ``topK`` and reasoning, which Converse takes here, are read as in its own bodies.
    """
    path = "additionalModelRequestFields"
    fields = Fields(given, path)
    if fields.has("inferenceConfig"):
        inference = fields.inside("inferenceConfig")
        _read_nova_only(inference, prompt)
        inference.done()
    _read_effort(fields, prompt)
    for name, value in given.items():
        if name in STEERING_FIELDS or name in _OURS:
            raise refused(path, name, "it has a field of its own, or is set by the operator")
        if name not in _NOVAS:
            prompt.fields[name] = value


def read_nova(inference: Fields, prompt: Prompt) -> None:
    """Read Nova's own ``inferenceConfig``, in its present and its earlier names."""
    for name in ("maxTokens", "max_new_tokens"):
        inference.count(name, prompt, "max_tokens")
    inference.number("temperature", prompt, "temperature")
    for name in ("topP", "top_p"):
        inference.number(name, prompt, "top_p")
    inference.strings("stopSequences", prompt, "stop")
    _read_nova_only(inference, prompt)
    inference.done()


def _read_nova_only(inference: Fields, prompt: Prompt) -> None:
    """What ``inferenceConfig`` has with Nova and not in Converse."""
    for name in ("topK", "top_k"):
        inference.count(name, prompt, "top_k")
    _read_effort(inference, prompt)


def _read_effort(fields: Fields, prompt: Prompt) -> None:
    """Read ``reasoningConfig``, by which Nova's models are told how hard to think."""
    reasoning = fields.inside("reasoningConfig")
    enabled = reasoning.one_of("type", {"enabled": True, "disabled": False})
    effort = reasoning.one_of("maxReasoningEffort", _EFFORTS)
    if enabled and effort:
        prompt.fields["reasoning_effort"] = effort
    reasoning.done()
