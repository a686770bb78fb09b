"""The families whose body is one prompt and whose answer is one text: Meta Llama, Mistral's completion, Titan Text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from proxy.surfaces.bedrock.blocks import text_part
from proxy.surfaces.bedrock.families import templates
from proxy.surfaces.bedrock.families.base import Untold
from proxy.surfaces.bedrock.fields import Fields
from proxy.surfaces.bedrock.prompt import Prompt

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Told, Writer
    from proxy.surfaces.bedrock.said import Ending, Said, Stop

JsonObject = dict[str, Any]

_TITANS_REASONS: dict[Stop, str] = {
    "length": "LENGTH",
    "sequence": "STOP_CRITERIA_MET",
    "filtered": "CONTENT_FILTERED",
    "blocked": "CONTENT_FILTERED",
}


class _Prompted(ABC):
    """What they share."""

    prompt = "prompt"

    def read(self, body: JsonObject) -> Prompt:
        """The prompt goes on in the turns that it is made of; where it has none, as one message of the user's."""
        fields, prompt = Fields(body), Prompt()
        for role, said in self.turns(fields.text(self.prompt)):
            prompt.add({"role": role, "content": [text_part(said)]}, self.prompt)
        self.parameters(fields, prompt)
        fields.done()
        return prompt

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt."""
        return [("user", prompt)]

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        fields.number("temperature", prompt, "temperature")
        fields.number("top_p", prompt, "top_p")

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """The one text, why it ended and the counts."""
        return self.chunk(said.text, said.end)

    @abstractmethod
    def chunk(self, text: str, end: Ending | None) -> JsonObject:
        """A text and, at the end, how it ended."""

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Each piece of the text a chunk like the whole."""
        return _Pieces(self)


class _Pieces(Untold):
    """Writes a stream."""

    def __init__(self, family: _Prompted) -> None:
        self._family = family

    def text(self, text: str) -> list[JsonObject]:
        """A piece of text."""
        return [self._family.chunk(text, None)]

    def end(self, end: Ending, told: Told) -> list[JsonObject]:  # noqa: ARG002 - told around it
        """Why it ended, and the counts."""
        return [self._family.chunk("", end)]


class Llama(_Prompted):
    """Meta Llama."""

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt in one of Llama's templates."""
        return templates.llama(prompt)

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        super().parameters(fields, prompt)
        fields.count("max_gen_len", prompt, "max_tokens")

    def chunk(self, text: str, end: Ending | None) -> JsonObject:
        """A piece, or the whole."""
        return {
            "generation": text,
            "prompt_token_count": end and end.usage.prompt,
            "generation_token_count": end and end.usage.completion,
            "stop_reason": _word(end),
        }


class MistralText(_Prompted):
    """Mistral's text completion."""

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turns of a prompt in Mistral's template."""
        return templates.mistral(prompt)

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        super().parameters(fields, prompt)
        fields.count("max_tokens", prompt, "max_tokens")
        fields.count("top_k", prompt, "top_k")
        fields.strings("stop", prompt, "stop")

    def chunk(self, text: str, end: Ending | None) -> JsonObject:
        """A piece, or the whole."""
        return {"outputs": [{"text": text, "stop_reason": _word(end)}]}


def _word(end: Ending | None) -> str | None:
    if end is None:
        return None
    return "length" if end.stop == "length" else "stop"


class Titan(_Prompted):
    """Amazon Titan Text."""

    prompt = "inputText"

    def turns(self, prompt: str) -> list[templates.Turn]:
        """The turn of a prompt in the form that AWS recommends."""
        return templates.titan(prompt)

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """Read the other fields."""
        inside = fields.inside("textGenerationConfig")
        inside.count("maxTokenCount", prompt, "max_tokens")
        inside.number("temperature", prompt, "temperature")
        inside.number("topP", prompt, "top_p")
        inside.strings("stopSequences", prompt, "stop")
        inside.done()

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """The one text as a list of results."""
        result = {
            "tokenCount": said.end.usage.completion,
            "outputText": said.text,
            "completionReason": _titans_reason(said.end),
        }
        return {"inputTextTokenCount": said.end.usage.prompt, "results": [result]}

    def chunk(self, text: str, end: Ending | None) -> JsonObject:
        """A piece."""
        return {
            "index": 0,
            "outputText": text,
            "inputTextTokenCount": end and end.usage.prompt,
            "totalOutputTextTokenCount": end and end.usage.completion,
            "completionReason": end and _titans_reason(end),
        }


def _titans_reason(end: Ending) -> str:
    return _TITANS_REASONS.get(end.stop, "FINISH")


class PlainText(_Prompted):
    """``{"text": …}``, the body of the example on AWS's page on contextual grounding, which is no model's own."""

    prompt = "text"

    def parameters(self, fields: Fields, prompt: Prompt) -> None:
        """There are none."""

    def chunk(self, text: str, end: Ending | None) -> JsonObject:  # noqa: ARG002 - it tells none
        """A piece, or the whole."""
        return {"text": text}
