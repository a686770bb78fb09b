"""Reading: a claim is judged with what it refers to, however the answer is laid out, and never with later text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.claims import hypothesis, is_fragment, split_claims, statement
from proxy.grounding.cutting import MAX_CLAIM_CHARS, weight
from proxy.grounding.facts import compare, facts_of
from proxy.grounding.reading import CONTEXT_CHARS, HYPOTHESIS_CHARS, refers_back
from proxy.grounding.types import Claim, ClaimKind

QUERY = "What is the capital of Japan?"


def asked(text, query=QUERY, context=""):
    """What the scorer would be asked about a claim with this text."""
    return hypothesis(Claim(index=0, start=0, end=len(text), text=text, context=context), query)


def all_asked(answer, query=None):
    """What the scorer would be asked about each claim of an answer."""
    return [hypothesis(claim, query) for claim in split_claims(answer, query=query)]


# --- fragments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Tokyo.", "10%.", "Yes, 10%.", "No.", "The bank's fee.", "Monthly fee: $5", "東京"])
def test_a_fragment_is_judged_with_the_query(text):
    """A few words without a verb say nothing by themselves."""
    assert asked(text) == f"{QUERY} {text}"
    assert asked(text, None) == text


@pytest.mark.parametrize(
    "text", ["It is Tokyo.", "It’s 10%.", "That's Tokyo.", "They swim.", "Es Tokio.", "これは東京です。"]
)
def test_a_sentence_about_nothing_said_before_is_judged_with_the_query(text):
    """Its pronoun stands for what was asked."""
    assert asked(text) == f"{QUERY} {text}"
    assert asked(text, context="Tokyo is big.") == f"Tokyo is big. {text}"


@pytest.mark.parametrize(
    "text",
    [
        "Fees don't apply.",
        "Fees don’t apply.",
        "Tokyo has it.",
        "Some words in a row that hold none of those",
        "El plan cuesta veinte euros.",
        "Le forfait est gratuit.",
        "Der Tarif kostet nichts.",
        "東京は日本の首都であり、最大の都市です。",
    ],
)
def test_a_sentence_is_judged_alone(text):
    """The query adds nothing to a sentence."""
    assert not is_fragment(text)
    assert asked(text) == text


def test_marks_of_lists_and_stress_are_not_judged():
    """The scorer sees words and no Markdown; the query is cut from the left when it is long."""
    assert asked("- **Tokyo** is\n  the capital.") == "Tokyo is the capital."
    assert asked("2. Tokyo", "q") == "q? Tokyo"
    assert len(asked("Tokyo.", "long " * 400)) < 320


SHORT_REPLIES = """
Yes, you can.|No, it isn’t.|Yes, they do|No, you cannot!|Unfortunately, it does not.|No, it's not.|Ja, das ist es.
Nein, das geht leider nicht.|Ja, das können Sie.|Ja, Sie können das.|Sí, se puede.|No, no lo es.|Sí, así es.
Sí, es posible.|Oui, c'est possible.|Non, vous ne pouvez pas.|Ja, dat kan.|Nee, dat kan helaas niet.|Sim, pode.
Não, não é possível.|Sì, lo è.|No, non è possibile.|はい、可能です。|いいえ、できません。
"""


@pytest.mark.parametrize("text", SHORT_REPLIES.strip().replace("\n", "|").split("|"))
def test_a_short_reply_is_judged_with_the_query(text):
    """It says nothing but yes or no, though it has a verb."""
    query = "Is it free?"
    assert all_asked(text, query) == [f"{query} {text}"]


@pytest.mark.parametrize(
    "text",
    [
        "No, three weeks is too late.",
        "Yes, the plan is free of charge.",
        "Yes, provided a parent comes along.",
        "Nein, das Gerät kostet 20 Euro.",
    ],
)
@pytest.mark.parametrize(
    "query", ["Is it free?", "is it free", "free plan", "Is it free or not :)", "Is it free? Thanks!"]
)
def test_a_reply_that_goes_on_is_judged_with_the_query_too(text, query):
    """It says yes or no to that; a query without a mark at its end gets one, or it would read on in the answer."""
    [said] = all_asked(text, query)
    before = said.removesuffix(text)
    assert before in (f"{query} ", f"{query}? ")
    assert before.rstrip()[-1] in "?!)"


def test_what_a_question_says_of_who_asks_need_not_stand_in_the_source():
    """A number that only the asker has is no claim of the answer; the year asked about is, and all that "Yes." says."""
    evidence = facts_of("Children take half a tablet. Staff: 120 in 2020. The fee is $30.")
    for query, answer, absent in (
        ("Dose for my 9 year old of 34 kg?", "Half a tablet.", 0),
        ("Dose for my 9 year old of 34 kg?", "7 tablets.", 1),
        ("How many staff were there in 2019?", "120.", 1),
        ("Is the fee $20?", "Yes.", 1),
        ("I am 17, is it $30?", "Yes, the fee is $30.", 0),
    ):
        [said] = all_asked(answer, query)
        assert compare(facts_of(said), evidence).numbers_absent == absent, said


@pytest.mark.parametrize(
    ("query", "answer", "evidence", "denied"),
    [
        ("Is parking free?", "Yes.", "Parking is not free.", 1),
        ("Is parking free?", "Yes, it is.", "Is parking free? No.", 1),
        ("Is parking free?", "No.", "Parking is free.", 1),
        ("Is parking free?", "No, it isn't.", "Parking is not free.", 0),
        ("Is parking free?", "Of course.", "Parking is not free.", 1),
        ("Can I return the cup?", "Yes, you can.", "You cannot return the cup.", 1),
        ("Ist das Gerät wasserdicht?", "Ja.", "Das Gerät ist nicht wasserdicht.", 1),
        ("Ist das Gerät wasserdicht?", "Nein, leider nicht.", "Das Gerät ist wasserdicht.", 1),
        ("¿Cubre la póliza robos?", "Sí.", "La póliza no cubre robos.", 1),
        ("Le parking est-il gratuit ?", "Oui.", "Le parking n'est pas gratuit.", 1),
        ("La polizza copre il furto?", "Sì.", "La polizza non copre il furto.", 1),
        ("A apólice cobre roubo?", "Sim.", "A apólice não cobre roubo.", 1),
        ("Is de fles veilig?", "Ja.", "De fles is niet veilig.", 1),
        ("この保険は盗難を補償しますか？", "はい。", "この保険は盗難を補償しません。", 1),
        ("Which plan is free?", "Basic.", "The Pro plan is not free.", 0),
    ],
)
def test_a_wrong_yes_or_no_denies_what_the_evidence_says(query, answer, evidence, denied):
    """What the scorer is asked is the question with its answer, and that is read as one statement."""
    (text,) = all_asked(answer, query)
    assert compare(facts_of(text), facts_of(evidence)).negation == denied


# --- pronouns -----------------------------------------------------------------------------------------------------

REFER = """
It is free.|He left.|They swim.|This plan is good.|These are due.|That is so.|Its fee is due.|Both are due.
The former is due.|And they swim.|However, it is so.|“It is free.”|**It** is free.|Ella vive.|Estos planes son caros.
Su precio es alto.|Es gratis.|Además, cuesta poco.|Il est gratuit.|Ces forfaits sont chers.|C'est gratuit.
Leur prix est élevé.|Er ist teuer.|Diese Tarife gelten.|Das ist teuer.|Sie kostet nichts.|Beide sind gut.|Hij is duur.
Deze plannen zijn duur.|Het kost niets.|Ele é caro.|Estes são caros.|É grátis.|Questo piano è caro.|Entrambi sono cari.
Costa poco.|これは無料です。|そのプランは高いです。|同社は東京にあります。|しかし、それは高いです。
"""
DO_NOT = """
Item one is due.|Thistle grows.|The plan is good.|Theirs.|Tokyo is big.|Hear this.|There is a fee.|Italy won.
Butter is good.|Andorra is small.|El plan es caro.|Estambul es grande.|Le plan est cher.|Illinois est grand.
Der Tarif ist gut.|Das Produkt ist gut.|Die Kosten sind hoch.|Sie können gehen.|Het plan is duur.
Die kosten zijn hoog.|O plano é caro.|Il piano è caro.|東京は大きいです。|料金は高いです。
"""


@pytest.mark.parametrize("text", REFER.strip().replace("\n", "|").split("|"))
def test_a_sentence_that_opens_with_a_pronoun_refers_back(text):
    """In each language, also after a connective; in some the verb alone stands for it."""
    assert refers_back(text)
    assert split_claims(f"Tokyo was big. {text}")[-1].context == "Tokyo was big."


@pytest.mark.parametrize("text", DO_NOT.strip().replace("\n", "|").split("|"))
def test_other_sentences_do_not_refer_back(text):
    """Words that only begin so, articles, and words that mean something else in another language."""
    assert not refers_back(text)
    assert split_claims(f"Tokyo was big. {text}")[-1].context == ""


@pytest.mark.parametrize(
    ("answer", "last"),
    [
        ("Tokyo is big. It is old. They love it.", "Tokyo is big. They love it."),
        ("Tokyo is big. Osaka is small. It is old.", "Osaka is small. It is old."),
        ("Tokyo. It is old.", "Tokyo. It is old."),
        ("Tokyo is big. Yes. It is old.", "Tokyo is big. It is old."),
        ("Tokyo is big. I don't know. Thanks! It is old.", "Tokyo is big. It is old."),
        ("## Fees\nThey are due.", "Fees: They are due."),
        ("Tokyo is big.\n\n## Osaka\nIt is old.", "Osaka: It is old."),
        ("## Osaka\nTokyo is big. It is old.", "Tokyo is big. It is old."),
        ("- Pro plan. It is old.", "Pro plan. It is old."),
        ("Plans:\n- Pro\n- Basic\n\nTokyo is big.\n\nIt is old.", "Tokyo is big. It is old."),
        ("The Pro plan includes:\n- 5 seats\n\nIt is old.", "The Pro plan includes: It is old."),
        ("| a | b |\n|--|--|\n| c | d |\n\nIt is old.", f"{QUERY} It is old."),
        ("It is old.", f"{QUERY} It is old."),
        ("Hello! It is old.", f"{QUERY} It is old."),
        ("```\nx = 1\n```\nIt is old.", f"{QUERY} It is old."),
        ("## Parking\nYes.", f"{QUERY} Parking: Yes."),
        ("Fees:\n$5.", f"{QUERY} Fees: $5."),
        ("Fees:\nThe fee is $5.", "The fee is $5."),
        ("## Fees\nThe fee is $5. Monthly.", f"{QUERY} Monthly."),
        ("Is parking free? Yes.", "Is parking free? Yes."),
        ("**Is parking free?**\n\nOf course.", "Is parking free? Of course."),
        ("Is parking free? The garage is big.", "The garage is big."),
    ],
)
def test_it_is_what_was_last_spoken_of(answer, last):
    """The last assertion that has a subject, the heading, or the query; a fragment answers a question of the answer."""
    assert all_asked(answer, QUERY)[-1] == last


@pytest.mark.parametrize(
    "assent", ["Of course.", "Sure!", "Por supuesto.", "Bien sûr.", "Natürlich.", "もちろんです。"]
)
def test_assent_after_anything_is_an_answer(assent):
    """The answer may ask itself what it then says yes to; only at its beginning is assent a courtesy."""
    for before in ("Is parking free?", "Parking free:", "## Parking", "I don't know.", "Do you want parking?"):
        answer = f"{before}\n\n{assent} Text is here."
        assert split_claims(answer, query="What about parking?")[1].kind is ClaimKind.ASSERTION
    first, second, *_ = split_claims(f"Hello!\n{assent} Text is here.", query="What about parking?")
    assert (first.kind, second.kind) == (ClaimKind.COURTESY, ClaimKind.COURTESY)


# --- lists and tables ---------------------------------------------------------------------------------------------

LAYOUTS = [
    ("The Pro plan includes:\n- 5 seats\n* mail", ["The Pro plan includes: 5 seats", "The Pro plan includes: mail"]),
    ("The Pro plan has:\n\n1. 5 seats\n\n2) mail", ["The Pro plan has: 5 seats", "The Pro plan has: mail"]),
    ("## Benefits of Pro\n- 5 seats\n- mail", ["Benefits of Pro: 5 seats", "Benefits of Pro: mail"]),
    ("## Fees\nHere are the details:\n- 5 dollars", ["Fees: 5 dollars"]),
    ("## Fees\nHere are the fees:\n- 5 dollars", ["Fees: 5 dollars"]),
    ("**Fees:**\n- 5 dollars", ["Fees: 5 dollars"]),
    ("The fees are due.\n\nIt includes:\n- 5 dollars", ["The fees are due. It includes: 5 dollars"]),
    (
        "It has:\n- A:\n  - one\n  - two\n- B:\n  - three",
        ["It has: A: one", "It has: A: two", "It has: B:", "It has: B: three"],
    ),
    ("It has:\n- A:\n    - B:\n        - one\n- C is so.", ["It has: A: B: one", "It has: C is so."]),
    ("It has:\n- one\n\nText is here.\n\n- two is so.", ["It has: one", "Text is here.", "two is so."]),
    ("It has:\na) 5 seats\nB. mail", ["It has: 5 seats", "It has: B. mail"]),
    ("El plan incluye:\n- 5 plazas", ["El plan incluye: 5 plazas"]),
    ("プランの内容は次を含みます：\n- 5席", ["プランの内容は次を含みます： 5席"]),
]


@pytest.mark.parametrize(("answer", "last"), LAYOUTS)
def test_a_list_item_is_judged_with_its_lead_in(answer, last):
    """Or with the heading over it; an item that leads in others stands before them, and what is filler does not."""
    assert all_asked(answer)[-len(last) :] == last


TABLES = [
    (
        "| Plan | Price |\n|---|---|\n| Basic | $10 |\n| Pro | $20 |",
        ["Plan: Basic; Price: $10", "Plan: Pro; Price: $20"],
    ),
    ("## Costs\n\n| Plan | Price |\n|---|---|\n| Basic | $10 |", ["Costs: Plan: Basic; Price: $10"]),
    ("They cost:\n| Plan | Price |\n|---|---|\n| Basic | $10 |", ["They cost: Plan: Basic; Price: $10"]),
    ("Plan | Price\n--- | ---\nbasic | $10", ["Plan: basic; Price: $10"]),
    ("| | Basic | Pro |\n|---|---|---|\n| **Price** | $10 | |", ["Price; Basic: $10"]),
    ("| Plan |\n|---|\n| Basic | $10 |", ["Plan: Basic; $10"]),
    ("| Plan | Price |\n| Basic | $10 |", ["Plan; Price", "Basic; $10"]),
    ("| Plan |\n|---|\n| Basic |\n\n| $10 |", ["Plan: Basic", "Plan: $10"]),
    ("| Plan |\n|---|\n| Basic |\n\nText is here.\n\n| $10 |", ["Text is here.", "$10"]),
    ("| Pro | Price |\n|---|---|\n| 1 | 2 |", ["Pro; Price", "Pro: 1; Price: 2"]),
]
LONG_CELL = "word " * 60


@pytest.mark.parametrize(("answer", "last"), TABLES)
def test_a_row_is_judged_with_its_header(answer, last):
    """Each cell after the name of its column, and the heading over the table before them."""
    assert all_asked(answer)[-len(last) :] == last


@pytest.mark.parametrize(
    ("row", "last"),
    [
        (f"| Basic | {LONG_CELL}and {LONG_CELL}| $10 |", "Price: $10"),
        (f"| Basic | {LONG_CELL}x, | {LONG_CELL}|", f"Price: {LONG_CELL.strip()}"),
    ],
)
def test_the_rest_of_a_long_row_keeps_its_columns(row, last):
    """So do the rows after it."""
    *_, rest, after = all_asked(f"| Plan | Terms | Price |\n|---|---|---|\n{row}\n| Pro | none | $20 |")
    assert rest.endswith(last)
    assert rest.startswith(("Terms: word", "Terms: and", "Price: word"))
    assert after == "Plan: Pro; Terms: none; Price: $20"


def test_a_row_that_has_a_header_needs_no_query():
    """Its columns say what it is about; a row without one is a fragment."""
    assert all_asked("| Plan | Price |\n|---|---|\n| Basic | $10 |", QUERY)[1] == "Plan: Basic; Price: $10"
    assert all_asked("| Basic | $10 |", QUERY) == [f"{QUERY} Basic; $10"]
    assert all_asked("| Answer |\n|---|\n| Yes |", QUERY)[1] == f"{QUERY} Answer: Yes"


@pytest.mark.parametrize(
    ("answer", "alone"),
    [
        ("Tokyo is big. It is old.", "It is old."),
        ("It has:\n- **one**", "one"),
        ("| Plan | Price |\n|---|---|\n| Basic | $10 |", "Basic; $10"),
        ("## Fees\n$5", "$5"),
    ],
)
def test_a_claim_alone_has_no_context(answer, alone):
    """A context must not make a claim relevant: what was said before is asked about where it stands."""
    assert statement(split_claims(answer, query=QUERY)[-1]) == alone


# --- bounds -------------------------------------------------------------------------------------------------------

PIECES = [
    "It ",
    "東京",
    "서울",
    "word ",
    "| a ",
    "\n",
    "# ",
    ":",
    ". ",
    "- ",
    "|--|\n",
    "х",
    "Fees",
    "- A:\n",
    "| a | b |\n",
]
texts = st.lists(st.sampled_from(PIECES), max_size=150).map("".join)


@settings(deadline=None)
@given(texts, st.none() | texts)
def test_what_is_asked_fits_the_scorer(answer, query):
    """A context is short; what stands before a claim gives way, so that it can be read whole beside a window."""
    for claim in split_claims(answer, query=query):
        *lead, header = claim.context.split("\n")
        assert weight(" ".join(lead) if "|" in header else header) <= CONTEXT_CHARS
        if "|" not in header:
            assert weight(hypothesis(claim, query)) <= max(HYPOTHESIS_CHARS, weight(statement(claim))) + 1
            assert statement(claim) in hypothesis(claim, query)


def test_a_long_referent_is_cut_to_its_beginning():
    """The subject stands there."""
    [_, it] = split_claims("Tokyo is " + "very " * 60 + "big. It is old.")
    assert it.context.startswith("Tokyo is very")
    assert it.context.endswith("very")
    assert len(it.context) <= CONTEXT_CHARS


def test_a_bar_in_a_context_makes_no_table():
    """Only a row is read as one."""
    assert all_asked("Is it a | b?\n\nYes.")[-1] == "Is it a / b? Yes."
    assert all_asked("## Fees | terms\n- one")[-1] == "Fees / terms: one"


def test_a_long_header_is_no_longer_than_a_claim():
    """It is one claim's text."""
    for claim in split_claims("| " + "word " * 200 + "|\n|--|\n| 1 |"):
        assert weight(claim.context) <= CONTEXT_CHARS + MAX_CLAIM_CHARS + 1
