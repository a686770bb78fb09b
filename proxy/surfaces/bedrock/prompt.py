"""A prompt in OpenAI's dialect, in the making: what every reader of a request's body writes into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]


@dataclass(slots=True)
class Prompt:
    """OpenAI's ``messages`` and the other ``fields`` of the body.

    ``origins`` says of each message which field of the caller's request it comes from, so that errors can name that.
    """

    messages: list[JsonObject] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    fields: JsonObject = field(default_factory=dict)

    def add(self, message: JsonObject, origin: str) -> None:
        """Add one message."""
        self.messages.append(message)
        self.origins.append(origin)
