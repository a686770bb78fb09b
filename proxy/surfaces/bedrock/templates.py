"""Prompts written in a model's own chat template, read back into the turns that they are made of.

Llama 3 and Mistral are asked on Bedrock with one string that holds a whole conversation. The models behind this server
are asked in turns and put their own template around them. Only a prompt that is such a conversation from its first sign
to the place of the next answer is taken apart; any other is one message of the user's, as it is.
"""

from __future__ import annotations

import re

Turn = tuple[str, str]
"""A role and what it says."""

_LLAMA = re.compile(r"<\|start_header_id\|>(system|user|assistant)<\|end_header_id\|>(.*?)<\|eot_id\|>\s*", re.DOTALL)
_LLAMA_NEXT = re.compile(r"<\|start_header_id\|>assistant<\|end_header_id\|>\s*")
_LLAMA_SIGN = re.compile(r"<\|[a-z_]+\|>")
_MISTRAL = re.compile(r"\[INST\](.*?)\[/INST\](.*?)(?=\[INST\]|\Z)", re.DOTALL)
_MISTRAL_SIGN = re.compile(r"\[/?INST\]|</?s>|<</?SYS>>")


def llama(prompt: str) -> list[Turn]:
    """The turns of a prompt for Llama 3."""
    rest = prompt.strip().removeprefix("<|begin_of_text|>").lstrip()
    turns: list[Turn] = []
    at = 0
    while found := _LLAMA.match(rest, at):
        turns.append((found[1], found[2].strip()))
        at = found.end()
    whole = turns and turns[-1][0] == "user" and _LLAMA_NEXT.fullmatch(rest, at)
    return turns if whole and not any(_LLAMA_SIGN.search(said) for _, said in turns) else [("user", prompt)]


def mistral(prompt: str) -> list[Turn]:
    """The turns of a prompt for Mistral's instructed models."""
    rest = prompt.strip().removeprefix("<s>").lstrip()
    turns: list[Turn] = []
    at = 0
    while found := _MISTRAL.match(rest, at):
        answer = found[2].strip().removesuffix("</s>").strip()
        turns += [("user", found[1].strip()), *([("assistant", answer)] if answer else [])]
        at = found.end()
    whole = turns and turns[-1][0] == "user" and at == len(rest)
    return turns if whole and not any(_MISTRAL_SIGN.search(said) for _, said in turns) else [("user", prompt)]
