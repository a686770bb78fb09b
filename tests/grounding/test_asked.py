"""Questions: what asks, what answers it with yes or no, and what is read with it."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.asked import (
    asked_apart,
    asks_broadly,
    is_question,
    last_read_with,
    questions_in,
    reply_in,
    reply_to,
)

NO = """
No.|No, wash it by hand.|**No.** Wash it.|A: No|Answer: No.|- No - wash it.|Nope!|Unfortunately not.|Sadly, no.
I'm afraid not.|Not yet.|Not at all.|Absolutely not.|Never.|No, sorry.|Nein.|Nein, leider nicht.|Leider nicht.
Antwort: Nein.|Auf keinen Fall.|Noch nicht.|No, lo sentimos.|Lamentablemente, no.|Lo siento, pero no.|Claro que no.
Non.|Non, malheureusement.|Pas du tout.|Malheureusement, non.|No, purtroppo.|Purtroppo no.|Assolutamente no.|Não.
Infelizmente, não.|De modo algum.|Nee.|Nee, helaas niet.|Helaas niet.|Zeker niet.|いいえ。|いいえ、できません。
残念ながら、できません。
"""
YES = """
Yes.|Yes, you can.|**Yes** - always.|Of course!|A: Yes.|Certainly, sir.|Ja.|Ja, natürlich.|Selbstverständlich.|Sí.
Sí, claro.|Por supuesto.|Oui.|Oui, bien sûr.|Tout à fait.|Sì.|Certo.|Sim.|Claro que sim.|Ja, zeker.|Natuurlijk.|はい。
はい、可能です。
"""
NEITHER = """
No pets are allowed.|No. 5 is late.|None.|Nobody knows.|Not only that.|Yesterday.|Yes-men came.|Noch 5 Tage.|Nein-Sager.
No hay.|Non-stop.|Nonetheless, it is.|Não sei.|Never mind the fee.|Certo giorno.|Oui-dire|It is not.||...|いいえさん
"""


def lines(text):
    """The parts between bars."""
    return text.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize(("text", "yes"), [(each, False) for each in lines(NO)] + [(each, True) for each in lines(YES)])
def test_a_reply_opens_an_answer(text, yes):
    """In each language, after marks or a word like "Answer:", and set apart by a mark or the end."""
    found = reply_to("Is it so?", text) if text.isascii() else reply_in(text)
    assert found is not None
    assert found.yes is yes


@pytest.mark.parametrize("text", lines(NEITHER))
def test_other_words_are_no_reply(text):
    """Words that begin so, a number, a statement."""
    assert reply_in(text) is None


@pytest.mark.parametrize("question", ["Which bus is it?", "How?", "Was kostet es?", "¿Cuándo abre?", "It is so.", ""])
def test_only_a_question_for_yes_or_no_is_answered_so(question):
    """An open question is not, and a statement asks nothing."""
    assert reply_to(question, "No, nie.") is None


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Is it?", True),
        ("**Is it?**", True),
        ("Is it？」", True),
        ("ありますか。", True),
        ("It is.", False),
        ("", False),
    ],
)
def test_what_asks(text, asks):
    """By its mark, or as Japanese may without one."""
    assert is_question(text) is asks


def test_a_question_is_read_with_two_segments_and_a_statement_alone():
    """Of an answer that asks again, with what follows that; never past the end."""
    texts = ["Is it?", "No.", "Why?", "So.", "Is it?"]
    assert [last_read_with(texts, at) for at in range(5)] == [4, 1, 4, 3, 4]


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_asked_and_answered(question, text):
    """Nothing raises, and a reply lies within its text."""
    found = reply_to(f"{question}?", text)
    assert found is None or 0 < found.end <= len(text)


@pytest.mark.parametrize("piece", ["*", "_ ", "Q: ", "no", "no, ", "?", "か。", "ja, natürlich ", "いいえ"])
def test_replies_are_found_in_linear_time(piece):
    """Twice the text, twice the time."""

    def spent(length):
        text = (piece * length)[:length]
        gc.collect()
        begun = time.process_time()
        reply_to(f"{text}?", text)
        return time.process_time() - begun

    assert min(spent(200_000), spent(200_000)) < 3 * max(0.05, min(spent(100_000), spent(100_000)))


@pytest.mark.parametrize(
    ("query", "questions"),
    [
        ("What does it cost, and when does it open?", ["What does it cost?", "when does it open?"]),
        ("What does it cost? When does it open?", ["What does it cost?", "When does it open?"]),
        ("¿Cuánto cuesta y dónde está?", ["¿Cuánto cuesta?", "dónde está?"]),
        ("Was kostet das und wann öffnet es?", ["Was kostet das?", "wann öffnet es?"]),
        ("Who are Tom and Ann?", []),
        ("opening hours", []),
        ("Why?", []),
        ("", []),
    ],
)
def test_a_query_of_several_questions_is_parted(query, questions):
    """An answer to one of them is relevant."""
    assert questions_in(query) == questions


@pytest.mark.parametrize(
    ("query", "apart"),
    [
        ("What does it cost? When does it open?", True),
        ("What does it cost?\nWhen does it open?", True),
        ("What does it cost, and when does it open?", False),
        ("What do a trust and will cost?", False),
        ("I am from Spain. Is it open? And when?", False),
        ("Is it open? I am from Spain.", False),
        ("Why?", False),
        ("", False),
    ],
)
def test_questions_stand_apart_by_marks_of_their_own(query, apart):
    """What was parted at a word is a guess, and what has no mark may be no question."""
    assert asked_apart(query) is apart


@pytest.mark.parametrize(
    ("query", "broad"),
    [
        ("Summarise the article.", True),
        ("Can you give me a short summary?", True),
        ("Tell me about the strike.", True),
        ("What does this document say?", True),
        ("Give me the gist.", True),
        ("Sum this up in two sentences.", True),
        ("Recap the call for me", True),
        ("Short summary, please.", True),
        ("What is the sum of both?", False),
        ("What happened?", True),
        ("Fasse den Text bitte zusammen.", True),
        ("Résumez cet article.", True),
        ("Resume el texto.", True),
        ("この文書を要約してください。", True),
        ("What is the warranty period?", False),
        ("What happened in 2003?", False),
        ("When can I resume work?", False),
        ("Who approves the summary judgment?", False),
        ("Wann hat der Zoo offen?", False),
    ],
)
def test_a_query_may_ask_for_all_that_is_said(query, broad):
    """In eight languages; a word that only looks like it asks for nothing of the kind."""
    assert asks_broadly(query) is broad
