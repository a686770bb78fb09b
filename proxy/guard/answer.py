"""What a surface hands to the guard: one choice of a model's answer, in no vendor's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Carried = Literal["tool_calls", "images", "reasoning", "default"]
"""What an answer may hold besides prose: calls of tools, pictures or sound, reasoning, undeclared text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart:
    """One choice. ``text`` is what the user would read, ``refusal`` what the provider itself marked as a refusal."""

    index: int = 0
    text: str = ""
    refusal: str = ""
    carries: frozenset[Carried] = frozenset()
