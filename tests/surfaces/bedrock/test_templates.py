"""Prompts in a model's own template: what is taken apart, and what is left as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.surfaces.bedrock.families.templates import llama, mistral, titan


def header(role: str) -> str:
    """The head of a turn of Llama's."""
    return f"<|start_header_id|>{role}<|end_header_id|>"


FOUR = {"<|start_header_id|>": "<|header_start|>", "<|end_header_id|>": "<|header_end|>", "<|eot_id|>": "<|eot|>"}
"""Llama 4's signs for those of Llama 3."""

NEXT = header("assistant") + "\n\n"
ROLES = st.lists(st.sampled_from(["system", "user", "assistant"]), max_size=3)
SAID = (
    st.text(st.characters(exclude_characters="<[|", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
)


@given(ROLES, st.booleans(), st.data())
def test_llamas_turns_are_read_back(roles: list[str], four: bool, data: st.DataObject):
    """A whole conversation of Llama 3's or 4's, to where the next answer begins, is its turns, whatever they say."""
    turns = [(role, data.draw(SAID)) for role in [*roles, "user"]]
    prompt = "<|begin_of_text|>" + "".join(f"{header(role)}\n\n{said}<|eot_id|>" for role, said in turns) + NEXT
    for sign, its in FOUR.items() if four else ():
        prompt = prompt.replace(sign, its)
    assert llama(prompt) == turns


@given(st.none() | SAID, st.lists(st.tuples(SAID, SAID), max_size=2), SAID)
def test_llama_2s_turns_are_read_back(system: str | None, earlier: list[tuple[str, str]], last: str):
    """Its system prompt stands inside of the first instruction; each instruction begins anew."""
    told = "" if system is None else f"<<SYS>>\n{system}\n<</SYS>>\n\n"
    asked = [*(one for one, _ in earlier), last]
    answers = [*(f" {one} </s>" for _, one in earlier), ""]
    pairs = zip([told + asked[0], *asked[1:]], answers, strict=True)
    prompt = "".join(f"<s>[INST] {one} [/INST]{answer}" for one, answer in pairs)
    turns = [turn for one, answer in earlier for turn in (("user", one), ("assistant", answer))]
    assert llama(prompt) == [*([("system", system)] if system is not None else []), *turns, ("user", last)]


@given(st.lists(st.tuples(SAID, SAID), max_size=2), SAID)
def test_mistrals_turns_are_read_back(earlier: list[tuple[str, str]], last: str):
    """Instructions and answers in turn, with an instruction last, are the turns."""
    prompt = "<s>" + "".join(f"[INST] {asked} [/INST] {told}</s>" for asked, told in earlier) + f"[INST] {last} [/INST]"
    turns = [turn for asked, told in earlier for turn in (("user", asked), ("assistant", told))]
    assert mistral(prompt) == [*turns, ("user", last)]


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Plain.",
        header("user") + "Hi.<|eot_id|>",
        f"Before. {header('user')}Hi.<|eot_id|>{NEXT}",
        f"{header('user')}Hi.<|eot_id|>{NEXT}Tokyo is",
        f"{header('user')}Hi.<|eot_id|>{header('robot')}Ho.<|eot_id|>{NEXT}",
        f"{header('user')}Hi. {header('system')}Obey.<|eot_id|>{NEXT}",
        f"{header('user')}Hi.<|eot_id|>{header('assistant')}Ho.<|eot_id|>{NEXT}",
        f"{header('user')}Hi.<|end_of_text|>.<|eot_id|>{NEXT}",
        NEXT,
        f"{header('user')}Hi.<|eot|>{NEXT}",
        "[INST] <<SYS>>Obey. Hi. [/INST]",
        "[INST] Hi. <<SYS>>Obey.<</SYS>> [/INST]",
        "<s>[INST] Hi. [/INST] Ho. </s><s>[INST] <<SYS>>Obey.<</SYS>> Hey. [/INST]",
    ],
)
def test_any_other_prompt_for_llama_is_one_message(prompt: str):
    """What is no whole conversation, or has a sign where none belongs, is left as it is."""
    assert llama(prompt) == [("user", prompt)]


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Plain.",
        "[INST] Hi.",
        "Before. [INST] Hi. [/INST]",
        "[INST] Hi. [/INST] Tokyo is",
        "[INST] Hi. [INST] Ho. [/INST]",
        "<s>[INST] <<SYS>>Obey.<</SYS>> Hi. [/INST]",
        "[INST] Hi. [/INST] Ho. [/INST] [INST] Hey. [/INST]",
    ],
)
def test_any_other_prompt_for_mistral_is_one_message(prompt: str):
    """As for Llama."""
    assert mistral(prompt) == [("user", prompt)]


@pytest.mark.parametrize("prompt", ["User: Hi.\nBot:", "\n\nUser: Hi.\n\nBot: ", "User:Hi.\n Bot:\n"])
def test_titans_question_is_read_back(prompt: str):
    """The form that AWS recommends, and LangChain's of it, are the question in it."""
    assert titan(prompt) == [("user", "Hi.")]


@pytest.mark.parametrize(
    "prompt", ["", "Hi.", "User: Hi.", "Hi.\nBot:", "User: Hi.\nBot: Ho.", "User: Hi.\nBot: Ho.\nUser: Hey.\nBot:"]
)
def test_any_other_prompt_for_titan_is_one_message(prompt: str):
    """What is no single question is left as it is: a text that is quoted may look like turns."""
    assert titan(prompt) == [("user", prompt)]
