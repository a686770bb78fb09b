"""The seam between the guard and the models behind it.

A request body is the caller's JSON object in one of OpenAI's dialects, less the fields that are ours. An answer comes
back as the upstream gave it: ``raw`` are the bytes that a pass releases, ``body`` the same parsed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

JsonObject = dict[str, Any]

Api: TypeAlias = Literal["chat", "completions", "responses"]
"""Which of OpenAI's dialects a body is in: chat completions, the older completions of a prompt, or responses."""

BROKE_OFF = "The model's answer broke off."
"""What callers are told of a reply that ended before its end."""

LATE = "The model did not answer in time."
"""What they are told of one that did not come."""


_OF_RESPONSES = frozenset(
    "temperature top_p user metadata store service_tier reasoning truncation max_output_tokens "
    "parallel_tool_calls".split()
)


def defaults_for(api: Api, defaults: Mapping[str, Any]) -> JsonObject:
    """Of an entry's default fields, written for chat completions, those that this dialect has too."""
    return {name: value for name, value in defaults.items() if api != "responses" or name in _OF_RESPONSES}


def to_json(value: Any) -> bytes:
    """Compact JSON; text that UTF-8 cannot hold (lone surrogates) is escaped. ``ValueError`` for NaN and infinities."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole, successful reply: ``raw`` is exactly what the upstream sent, ``body`` the same as an object."""

    raw: bytes
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One server-sent event of a streamed reply.

    ``raw`` are its bytes including the blank line that ends it; ``data`` its JSON object, or None for a comment,
    an event without data, or ``[DONE]`` (then ``done`` is true).
    """

    raw: bytes
    data: JsonObject | None = None
    done: bool = False


class Upstream(Protocol):
    """One model of ``model_list``.

    Both calls raise ``UpstreamError`` (``UpstreamTimeout`` when late). A stream that carries an error object
    raises it too. Cancelling a call, or closing the iterator, closes the connection.
    """

    name: str
    """The ``model_name`` callers use."""

    async def complete(self, body: JsonObject, api: Api = "chat") -> Answer:
        """Ask for a whole answer. ``body["model"]`` is replaced by the upstream's own model name."""
        ...

    def stream(self, body: JsonObject, api: Api = "chat") -> AsyncGenerator[Chunk, None]:
        """Ask for a streamed answer (``body["stream"]`` is true). An async generator: close it with ``aclosing``.

        Nothing comes after ``[DONE]``. No wait for the beginning, or from one chunk with data to the next, is longer
        than the operator allows; comments do not count.
        """
        ...

    async def warm(self) -> None:
        """Load what the first call would wait for. Raises ``UpstreamError`` when the model can never be asked."""
        ...

    async def close(self) -> None:
        """Free connections."""
        ...
