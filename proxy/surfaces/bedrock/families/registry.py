"""Which family a request is of: by the model's id (``anthropic.claude-…``), or else by the body.

The shapes are those of the "Inference request parameters" pages of AWS's user guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.surfaces.bedrock.families.anthropic import AnthropicMessages
from proxy.surfaces.bedrock.families.mistral import MistralChat
from proxy.surfaces.bedrock.families.nova import Nova
from proxy.surfaces.bedrock.families.prompts import Llama, MistralText, PlainText, Titan

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.families.base import Family

JsonObject = dict[str, Any]

_ANTHROPIC, _NOVA, _LLAMA, _TITAN, _PLAIN = AnthropicMessages(), Nova(), Llama(), Titan(), PlainText()
_MISTRAL_CHAT, _MISTRAL_TEXT = MistralChat(), MistralText()
_BY_ID: tuple[tuple[str, Family], ...] = (
    ("anthropic", _ANTHROPIC),
    ("claude", _ANTHROPIC),
    ("nova", _NOVA),
    ("llama", _LLAMA),
    ("titan-text", _TITAN),
)
_MISTRALS_NAMES = ("mistral", "mixtral", "ministral", "pixtral")
_BY_FIELD: tuple[tuple[str, Family], ...] = (
    ("anthropic_version", _ANTHROPIC),
    ("inputText", _TITAN),
    ("schemaVersion", _NOVA),
    ("inferenceConfig", _NOVA),
    ("max_gen_len", _LLAMA),
)
KNOWN = "Anthropic Messages, Amazon Nova, Meta Llama, Mistral, Amazon Titan Text"
"""The families, as an error lists them."""


def family_of(model: str, body: JsonObject) -> Family:
    """The family of a request, by the model's id or, where that says nothing, by the body. Raises ``CallerError``."""
    if "text" in body:  # no family has such a field
        return _Example(_by_id(model, body) or _PLAIN)
    found = _by_id(model, body) or next((family for name, family in _BY_FIELD if name in body), None)
    if found is None:
        message = (
            f"The model's body is of no family known here. Known are {KNOWN}; which one it is shows in the model's id, "
            f"or in one of the fields {', '.join(name for name, _ in _BY_FIELD)}."
        )
        raise CallerError(message, param="body")
    return found


def _by_id(model: str, body: JsonObject) -> Family | None:
    model = model.lower()
    if any(name in model for name in _MISTRALS_NAMES):
        return _MISTRAL_CHAT if "messages" in body else _MISTRAL_TEXT
    return next((family for name, family in _BY_ID if name in model), None)


class _Example:
    """The documented example's body, answered as the model's family answers."""

    def __init__(self, family: Family) -> None:
        self.read = _PLAIN.read
        self.whole, self.writer = family.whole, family.writer
