"""Chat completions and the older completions of a prompt: two forms of one thing, judged as chat completions.

What a completion calls ``text`` is read as the content of a message (or delta) that has nothing else, so that one set
of rules serves both; and told as ``text`` again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from proxy.surfaces.answers import choices_of, malformed

if TYPE_CHECKING:
    from proxy.upstream.base import Api

JsonObject = dict[str, Any]
Turn: TypeAlias = Callable[[JsonObject, str], JsonObject]
"""Turns a reply or chunk from one form into another; the holder of what its choices say is ``message`` or ``delta``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One of the two. ``whole`` and ``chunk`` are what its objects are called, ``prefix`` is how its ids begin.

    ``inward`` and ``outward`` turn it into chat's and back.
    """

    api: Api
    whole: str
    chunk: str
    prefix: str
    inward: Turn
    outward: Turn


def _same(body: JsonObject, _holder: str) -> JsonObject:
    return body


def _with_message(body: JsonObject, holder: str) -> JsonObject:
    choices = [_renamed(choice, "text", holder, {"content": choice.get("text")}) for _, choice in choices_of(body)]
    return {**body, "choices": choices}


def _with_text(body: JsonObject, holder: str) -> JsonObject:
    choices = [_renamed(choice, holder, "text", _text_in(choice, holder)) for _, choice in choices_of(body)]
    return {**body, "choices": choices}


def _renamed(choice: JsonObject, old: str, new: str, value: Any) -> JsonObject:
    """The choice with another field in the place of one of its own; one that has that name already is some other.

    Raises ``UpstreamError`` where even that name is taken: of two fields in one place only one would be looked at.
    """
    if f"other_{new}" in choice and new in choice:
        raise malformed()
    kept = {f"other_{name}" if name == new else name: each for name, each in choice.items()}
    kept = {name.removeprefix("other_") if name == f"other_{old}" else name: each for name, each in kept.items()}
    if old not in choice:
        return {**kept, new: value}
    return {new if name == old else name: value if name == old else each for name, each in kept.items()}


def _text_in(choice: JsonObject, holder: str) -> str:
    content = (choice.get(holder) or {}).get("content")
    return content if isinstance(content, str) else ""


CHAT = Form(
    api="chat",
    whole="chat.completion",
    chunk="chat.completion.chunk",
    prefix="chatcmpl",
    inward=_same,
    outward=_same,
)
COMPLETIONS = Form(
    api="completions",
    whole="text_completion",
    chunk="text_completion",
    prefix="cmpl",
    inward=_with_message,
    outward=_with_text,
)
