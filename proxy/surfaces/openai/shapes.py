"""Responses built fresh: the shapes of a block, which hold the request's own words and the upstream's names."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from proxy.surfaces.openai.render import name_of, time_of

if TYPE_CHECKING:
    from collections.abc import Sequence

JsonObject = dict[str, Any]


def response_of(asked: JsonObject, original: JsonObject) -> JsonObject:
    """The outer object: the upstream's id, time and model where they are well formed, else ours; the rest as asked."""
    return {
        "id": name_of(original.get("id")) or f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": time_of(_whole(original.get("created_at"))),
        "status": "incomplete",
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "max_output_tokens": asked.get("max_output_tokens"),
        "model": name_of(original.get("model")),
        "output": [],
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "previous_response_id": asked.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "store": asked.get("store", True),
        "temperature": asked.get("temperature"),
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": asked.get("top_p"),
        "truncation": asked.get("truncation") or "disabled",
        "usage": None,
        "metadata": asked.get("metadata") or {},
    }


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def message_of(texts: Sequence[str], status: str, *, identity: str = "") -> JsonObject:
    """A message of the assistant's."""
    return {
        "id": identity or f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": [text_part(text) for text in texts],
    }


def text_part(text: str) -> JsonObject:
    """A part of one that the user reads."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def counted(prompt: int, completion: int) -> JsonObject:
    """A count of tokens."""
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }
