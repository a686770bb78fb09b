"""Prompts written in a model's own chat template, read back into the turns that they are made of.

Llama, Mistral and Titan are asked on Bedrock with one string that holds a whole conversation. The models behind this
server are asked in turns and put their own template around them. Only a prompt that is such a conversation from its
first sign to the place of the next answer is taken apart; any other is one message of the user's, as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

Turn = tuple[str, str]
"""A role and what it says."""

_INSTRUCTION = re.compile(r"\[INST\](.*?)\[/INST\](.*?)(?=(?:<s>\s*)?\[INST\]|\Z)\s*(?:<s>\s*)?", re.DOTALL)
_INSTRUCTION_SIGN = re.compile(r"\[/?INST\]|</?s>|<</?SYS>>")
_SYSTEM = re.compile(r"\s*<<SYS>>(.*?)<</SYS>>", re.DOTALL)
_TITAN = re.compile(r"\s*User:(.*?)\n\s*Bot:\s*", re.DOTALL)
_TITAN_SIGN = re.compile(r"^\s*(?:User|Bot):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Headed:
    """A template in which each turn stands between a header with its role and an end."""

    turn: re.Pattern[str]
    next: re.Pattern[str]

    @classmethod
    def of(cls, start: str, stop: str, end: str) -> _Headed:
        """The template whose headers are between ``start`` and ``stop``."""
        header = f"{re.escape(start)}{{}}{re.escape(stop)}"
        turn = header.format("(system|user|assistant)") + rf"(.*?){re.escape(end)}\s*"
        return cls(re.compile(turn, re.DOTALL), re.compile(header.format("assistant") + r"\s*"))


_SIGN = re.compile(r"<\|[a-z_]+\|>")
_LLAMAS = (
    _Headed.of("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),  # Llama 3
    _Headed.of("<|header_start|>", "<|header_end|>", "<|eot|>"),  # Llama 4
)


def llama(prompt: str) -> list[Turn]:
    """The turns of a prompt for Llama 2, 3 or 4."""
    rest = prompt.strip().removeprefix("<|begin_of_text|>").lstrip()
    found = next((turns for template in _LLAMAS if (turns := _headed(template, rest))), None)
    return found or _instructions(prompt, system=True) or [("user", prompt)]


def mistral(prompt: str) -> list[Turn]:
    """The turns of a prompt for Mistral's instructed models."""
    return _instructions(prompt, system=False) or [("user", prompt)]


def titan(prompt: str) -> list[Turn]:
    """The turn of a prompt for Titan: one question. With more turns in it, or in what it quotes, it stays as it is."""
    found = _TITAN.fullmatch(prompt)
    return [("user", found[1].strip() if found and not _TITAN_SIGN.search(found[1]) else prompt)]


def _headed(template: _Headed, rest: str) -> list[Turn] | None:
    turns: list[Turn] = []
    at = 0
    while found := template.turn.match(rest, at):
        turns.append((found[1], found[2].strip()))
        at = found.end()
    whole = turns and turns[-1][0] == "user" and template.next.fullmatch(rest, at)
    return turns if whole and not any(_SIGN.search(said) for _, said in turns) else None


def _instructions(prompt: str, *, system: bool) -> list[Turn] | None:
    """Instructions and answers in turn. Llama 2 has a ``system`` prompt inside of the first instruction."""
    rest = prompt.strip().removeprefix("<s>").lstrip()
    turns: list[Turn] = []
    at = 0
    while found := _INSTRUCTION.match(rest, at):
        asked = found[1]
        if system and not turns and (told := _SYSTEM.match(asked)):
            turns.append(("system", told[1].strip()))
            asked = asked[told.end() :]
        answer = found[2].strip().removesuffix("</s>").strip()
        turns += [("user", asked.strip()), *([("assistant", answer)] if answer else [])]
        at = found.end()
    whole = turns and turns[-1][0] == "user" and at == len(rest)
    return turns if whole and not any(_INSTRUCTION_SIGN.search(said) for _, said in turns) else None
