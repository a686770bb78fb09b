"""Binding: a claim that mixes two facts is put beside single sentences, an honest one beside whole windows."""

from __future__ import annotations

import pytest

from proxy.grounding.binding import SENTENCES, Piece, evidence_for, spoken_of
from proxy.grounding.rows import Rows
from proxy.grounding.types import Source, Window

NO_ROWS = Rows()
CAPITALS = "London is the capital of UK. Tokyo is the capital of Japan."
PLANS = "The Basic plan costs $10 a month. The Pro plan costs $20 a month."
YEARS = "The Louvre Museum opened in 1793. The Orsay Museum opened in 1986."
SALES = "In 2018 sales were 5 million. In 2019 sales were 7 million."
CITIES = "Anna Berg works in Oslo. Ben Costa works in Lima. Cara Doyle works in Cork. Dan Evans works in Bath."
FEES = "Fees\n- The fee in London is $10.\n- The fee in Tokyo is $20."
PEOPLE = "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903. It made Paris proud."


def window_of(text, start=0, source=0):
    """A window that begins at ``start`` in its source."""
    return Window(source=source, start=start, end=start + len(text), text=text)


def alone(claim, windows):
    """The sentences that are judged without their windows; none when the windows count."""
    sentences, asked_too = evidence_for(claim, windows, NO_ROWS)
    return [] if asked_too or {window.text for window in windows} <= {one.text for one in sentences} else sentences


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The capital of Japan is London.", CAPITALS),
        ("What is the capital of Japan? London.", CAPITALS),
        ("The Basic plan costs $20.", PLANS),
        ("The Pro plan costs $10 a month.", PLANS),
        ("The Louvre Museum opened in 1986.", YEARS),
        ("In 2019 sales were 5 million.", SALES),
        ("Anna Berg works in Cork.", CITIES),
        ("The fee in London is $20.", FEES),
        ("London is the capital of Japan.", CAPITALS),
        ("the capital of japan is london", CAPITALS),
        ("What is the capital of Japan? london", CAPITALS),
        ("What is the capital of Japan? Sorry, london.", CAPITALS),
        ("Did you know the capital of Japan is London?", CAPITALS),
        ('{"answer": "The capital of Japan is London."}', CAPITALS),
        ("The capital of Japan is Lon\u200bdon.", CAPITALS),
        ("The cap\u00adital of Japan is London.", CAPITALS),
    ],
)
def test_a_swapped_fact_is_judged_by_alone(claim, source):
    """A right value with the wrong subject must be supported by one sentence, not by two."""
    assert alone(claim, [window_of(source)])


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Tokyo is the capital of Japan.", CAPITALS),
        ("Japan has its capital in Tokyo.", CAPITALS),
        ("Tokyo is the capital of Japan and London of the UK.", CAPITALS),
        ("London is the capital of UK, and Tokyo is the capital of Japan.", CAPITALS),
        ("Paris is the capital of Japan.", CAPITALS),
        ("The Basic plan costs $10 a month.", PLANS),
        ("You pay $20 monthly for Pro.", PLANS),
        ("The plans cost $10 and $20.", PLANS),
        ("The Basic plan costs $30.", PLANS),
        ("The Louvre opened its doors in 1793.", YEARS),
        ("Anna Berg and Ben Costa work in Oslo and Lima.", CITIES),
        ("They work in Oslo, Lima, Cork and Bath.", CITIES),
        ("The fee is $10 in London and $20 in Tokyo.", FEES),
        ("Marie Curie won the Nobel Prize in 1903.", PEOPLE),
        ("Marie Curie won the Nobel Prize in Physics in 1903.", PEOPLE),
        ("It made Warsaw proud.", PEOPLE),
        ("The sky is blue.", CAPITALS),
        ("", CAPITALS),
        ("The capital of Japan is London.", ""),
    ],
)
def test_an_honest_claim_keeps_its_windows(claim, source):
    """Word for word, paraphrased, joined, listed, carried by a pronoun or simply absent: no mixture is suspected."""
    assert alone(claim, [window_of(source)]) == []


def test_a_pronoun_may_stand_for_the_missing_name():
    """A sentence about "it" says of the name before it what the claim says."""
    source = "Tokyo is the capital of Japan. It has 14 million people and lies in Asia."
    assert alone("Tokyo has 14 million people.", [window_of(source)]) == []


def test_the_nearest_sentences_come_first_and_are_few():
    """Sentences are ordered by the words they share with the claim, and capped."""
    found = alone("Anna Berg works in Cork.", [window_of(CITIES + " The sky is blue.")])
    assert len(found) == SENTENCES
    assert [window.text for window in found[:2]] == ["Anna Berg works in Oslo.", "Cara Doyle works in Cork."]
    assert not any("sky" in window.text for window in found)


def test_spans_are_those_of_the_source_and_windows_may_overlap():
    """A sentence is a slice of its source wherever its window begins, and counts once though two windows hold it."""
    filler = "Nothing of note happens here. "
    source = filler * 3 + CAPITALS + " " + filler
    start = len(filler) * 2
    windows = [window_of(source[start:], start, 5), window_of(source[start + len(filler) :], start + len(filler), 5)]
    found = [part for piece in alone("The capital of Japan is London.", windows) for part in piece.parts]
    assert [window.text for window in found].count("London is the capital of UK.") == 1
    assert all(window.source == 5 and source[window.start : window.end] == window.text for window in found)


def test_facts_of_two_sources_are_not_mixed():
    """The exchanged value may stand in another source."""
    one, other = (part.strip() + "." for part in CAPITALS.rstrip(".").split("."))
    windows = [window_of(f"{one} See below.", source=0), window_of(f"{other} See above.", source=1)]
    found = alone("The capital of Japan is London.", windows)
    assert {window.text for window in found} >= {one, other}


def test_the_nearest_sentences_are_judged_beside_their_windows():
    """A claim that repeats part of one sentence is put to that sentence too, and nothing is put twice."""
    window = window_of(f"Fees. {PLANS} Write to us. Call us. We are here.")
    pieces, windows = evidence_for("The Pro plan costs $20.", [window], NO_ROWS)
    assert (pieces[0].text, windows) == ("The Pro plan costs $20 a month.", [Piece.of([window])])
    assert len({piece.text for piece in pieces}) == len(pieces) <= SENTENCES + 2
    single = window_of("The Pro plan costs $20 a month.")
    assert evidence_for("The Pro plan costs $20.", [single, single], NO_ROWS) == (
        [Piece.of([single], sentence=True)],
        [],
    )


def test_a_claim_that_joins_two_facts_gets_both_sentences():
    """Evidence is composed from several places, in the order of the source, whatever lies between them."""
    far = " ".join(f"Entry {number} concerns an unrelated matter." for number in range(40))
    first, second = "The bridge opened in May.", "The designer is Clara Wieck."
    windows = [window_of(first), window_of(far, 100), window_of(second, 9000)]
    claim = "The bridge opened in May and its designer is Clara Wieck."
    assert f"{first} {second}" in [piece.text for piece in evidence_for(claim, windows, NO_ROWS)[0]]


def test_sources_are_not_composed_with_each_other():
    """Two documents may say different things in the same words."""
    windows = [window_of("The drug is safe for adults."), window_of("Children take vitamins.", source=1)]
    pieces, _ = evidence_for("The drug is safe for children.", windows, NO_ROWS)
    assert all(len({part.source for part in piece.parts}) == 1 for piece in pieces)


def test_a_pronoun_is_read_only_after_its_own_predecessor():
    """A "he" far away is somebody else, and a neighbour is what really stands beside."""
    source = (
        "Marie Curie was a physicist. " + "Nothing else is said here. " * 40 + "Karl Weber was old. He died in Warsaw."
    )
    at = source.index("Karl")
    windows = [window_of(source[:28]), window_of(source[at:], at)]
    for piece in evidence_for("Marie Curie died in Warsaw.", windows, NO_ROWS)[0]:
        assert not ("Marie" in piece.text and "He died" in piece.text)


def test_a_sentence_is_read_with_its_neighbours():
    """What "she" stands for is said before."""
    source = "Rosa Lind runs the mill. She sold it in 1990. Nobody minded. The end."
    pieces, _ = evidence_for("Rosa Lind sold the mill in 1990.", [window_of(source)], NO_ROWS)
    assert "Rosa Lind runs the mill. She sold it in 1990." in {piece.text for piece in pieces}


@pytest.mark.parametrize("parts", [([], 1), (["A b."], 0)])
def test_nothing_is_composed_of_nothing(parts):
    """No windows, or a claim without words, is no error."""
    texts, _ = parts
    for claim in ("", "...", "A b."):
        pieces, windows = evidence_for(claim, [window_of(text) for text in texts], NO_ROWS)
        assert len(pieces) <= 1 >= len(windows)


def test_a_question_of_the_source_is_read_with_its_answer():
    """Alone it states nothing: "Is it safe?" must not be evidence that it is."""
    text = "Is the cup safe?\nNo. Wash it by hand. It holds one litre."
    first, _ = evidence_for("The cup is safe.", [Window(source=0, start=0, end=len(text), text=text)], NO_ROWS)
    assert "Is the cup safe?\nNo. Wash it by hand." in {piece.text for piece in first}
    assert not any(piece.text.endswith("?") for piece in first)


TORONTO = "Toronto is the capital of Ontario."
BY_WIKIPEDIA = Source(text=TORONTO, attributes=(("author", "Wikipedia"), ("published", "2024-03-01")))


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("Wikipedia says that Toronto is the capital of Ontario.", "Wikipedia"),
        ("In 2024 Wikipedia named it.", "Wikipedia, 2024-03-01"),
        ("Its author is not known.", "author: Wikipedia"),
        (TORONTO, None),
        ("Britannica says so.", None),
    ],
)
def test_an_attribute_is_told_where_the_claim_speaks_of_it(claim, told):
    """By its value, or by its name; to any other claim the source says nothing but its text."""
    sources = (Source(text="Nothing."), BY_WIKIPEDIA)
    windows = [window_of(sources[0].text), window_of(TORONTO, source=1)]
    said = spoken_of(claim, windows, sources)
    assert said == ({1: told} if told else {})
    pieces, _ = evidence_for(claim, windows, NO_ROWS, said)
    beside = f"{TORONTO} ({told})" if told else TORONTO
    assert beside in {piece.text for piece in pieces}
    assert not any("Nothing. (" in piece.text for piece in pieces)


def test_the_same_words_of_two_sources_are_two_evidences_where_the_claim_tells_them_apart():
    """And one where it does not."""
    sources = [Source(text=TORONTO, attributes=(("author", name),)) for name in ("Wikipedia", "Britannica")]
    windows = [window_of(source.text, source=number) for number, source in enumerate(sources)]
    for claim, texts in (
        ("Britannica says that Toronto is the capital of Ontario.", [f"{TORONTO} (Britannica)", TORONTO]),
        (TORONTO, [TORONTO]),
    ):
        pieces, _ = evidence_for(claim, windows, NO_ROWS, spoken_of(claim, windows, sources))
        assert [piece.text for piece in pieces] == texts


def test_what_is_said_of_a_source_stands_once_behind_its_last_stretch():
    """In evidence of several sources, each has its own."""
    windows = [window_of("A.", source=0), window_of("B.", start=9, source=0), window_of("C.", source=1)]
    assert Piece.of(windows, {0: "x", 1: "y"}).text == "A. B. (x) C. (y)"
    assert Piece.of(windows, {1: "y"}).text == "A. B. C. (y)"


def test_an_endless_attribute_is_cut():
    """Its beginning is enough to tell whose text it is."""
    source = Source(text=TORONTO, attributes=(("author", "Wikipedia " * 10_000),))
    windows = [window_of(TORONTO)]
    assert len(spoken_of("Wikipedia says so.", windows, (source,))[0]) < 400


def test_an_endless_name_is_read_in_part():
    """A name is the caller's text as much as a value is, and is looked at for every claim."""
    source = Source(text=TORONTO, attributes=(("author " * 10_000, "Ann"),))
    assert len(spoken_of("The author says so.", [window_of(TORONTO)], (source,))[0]) < 400


def test_a_sentence_that_opens_with_a_pronoun_is_read_after_the_one_before_it():
    """Alone, "It has four ports" would support four ports of whatever the claim names."""
    source = "Model X supports WPA3. It has four ports. Model Y has two ports."
    first, _ = evidence_for("Model Y has four ports.", [window_of(source)], NO_ROWS)
    texts = [piece.text for piece in first if piece.sentence]
    assert "Model X supports WPA3. It has four ports." in texts
    assert "It has four ports." not in texts
    assert not any(piece.sentence for piece in first if len(piece.parts) > 2)


def test_a_mixture_is_not_judged_by_the_sentence_that_only_lends_it_a_name_or_date():
    """It shares less with the claim than the sentence in which that was exchanged; alone it would mislead."""
    founders = "Acme was founded in 1987 by Maria Lopez and John Grant. Maria Lopez was followed by Peter Chan."
    moon = "Apollo 11 launched on July 16, 1969. The crew returned to Earth on July 24."
    for claim, source, lender in (
        ("Acme was founded by Peter Chan.", founders, "followed"),
        ("Apollo 11 launched on July 24.", moon, "returned"),
    ):
        first, then = evidence_for(claim, [window_of(source)], NO_ROWS)
        assert first
        assert not then
        assert not any(lender in piece.text for piece in first)


def test_a_pronoun_anywhere_may_stand_for_the_missing_name():
    """Then the claim is no mixture, and the sentences are read together."""
    source = "Our patient, Ms. Johnson, felt tired. After some tests, she was diagnosed with lymphoma in Rome."
    first, then = evidence_for("Ms. Johnson was diagnosed with lymphoma.", [window_of(source)], NO_ROWS)
    assert source in {piece.text for piece in (*first, *then)}


@pytest.mark.parametrize(
    ("claim", "mixed"),
    [
        ("The Pro plan costs $12.", False),
        ("The Basic plan costs $12.", True),
    ],
)
def test_the_header_of_a_table_holds_no_names(claim, mixed):
    """Or the row would lack the "Plan" that the header lends it, and be read without the header."""
    table = "| Plan | Price | Storage |\n|---|:-:|---|\n| Basic | $5 | 10 GB |\n| Pro | $12 | 100 GB |"
    assert bool(alone(claim, [window_of(table)])) is mixed
