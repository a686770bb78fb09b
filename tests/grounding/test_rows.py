"""Table rows, read as evidence: with the names of their columns, and no other subject's beside them."""

from __future__ import annotations

import pytest

from proxy.grounding.binding import Piece, evidence_for
from proxy.grounding.claims import is_in_table, split_claims
from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.facts import ReadText
from proxy.grounding.rows import LONGEST_TOLD, Rows
from proxy.grounding.types import GroundingContext, Source, Window
from proxy.grounding.words import terms

TABLE = """# Plans

| Plan | Price | Seats | SSO |
|:-----|------:|-------|-----|
| Basic | $9 | 3 | no |
| Team | $29 | 10 | no |
| Scale | $99 | 50 | yes |

Prices are monthly.
"""
HEADER = "| Plan | Price | Seats | SSO |\n|:-----|------:|-------|-----|"
TABBED = "Port\tShips\tPilots\nOdda\t12\t3\nVik\t7\t\n\nCall us."


def window(text: str, part: str | None = None) -> Window:
    """The window of ``text`` that ``part`` is."""
    start = text.index(part) if part else 0
    return Window(source=0, start=start, end=start + len(part or text), text=part or text)


def words(claim: str) -> frozenset[str]:
    """A claim's words, as evidence is looked for by them."""
    return frozenset(terms(claim))


def pieces(claim: str, text: str) -> list[Piece]:
    """All evidence that a source gives a claim."""
    first, then = evidence_for(claim, [window(text)], Rows([text]))
    return [*first, *then]


@pytest.mark.parametrize(
    ("text", "row", "told"),
    [
        (TABLE, "| Team | $29 | 10 | no |", "Plan: Team; Price: $29; Seats: 10; SSO: no"),
        (TABBED, "Odda\t12\t3", "Port: Odda; Ships: 12; Pilots: 3"),
        (TABBED, "Vik\t7", "Port: Vik; Ships: 7"),
        ("a | b\n--- | ---\n1 | **2**\n", "1 | **2**", "a: 1; b: 2"),
        ("| | b |\n|---|---|\n| 1 | 2 | 3 |", "| 1 | 2 | 3 |", "1; b: 2; 3"),
        ("| Plan | Cost |\n|---|---|\n| Pro | $20 \\| day |", "| Pro | $20 \\| day |", "Plan: Pro; Cost: $20 | day"),
        (TABLE.replace("\n", "\r\n"), "| Scale | $99 | 50 | yes |", "Plan: Scale; Price: $99; Seats: 50; SSO: yes"),
    ],
)
def test_a_row_is_read_with_the_names_of_its_columns(text, row, told):
    """Whatever the table's marks, each cell stands behind its column's name."""
    assert Rows([text]).read(window(text, row)).told == told


@pytest.mark.parametrize(
    "text",
    [
        "Either a | b or c.",
        "One\ttwo\n1\t2",
        "A 1\tB 2\nx\ty\nz\tw",
        "| a |\n",
        "Intro: options | details\n---\nUse a | b.",
        "",
    ],
)
def test_what_is_no_table_stays_as_it_is_written(text):
    """A bar in a sentence, a line under one, two lines with a tab, or a first line with digits make no table."""
    read = Rows([text]).read(window(text))
    assert (read.told, read.written, read.header) == (text, text, "")


def test_character_references_are_read_as_characters():
    """And the window stays as it is written, for who cites it."""
    text = "James Cameron&#39;s film cost $200 &amp; more."
    [piece] = pieces("It cost $200.", text)
    assert (piece.text, piece.parts[0].text) == ("James Cameron's film cost $200 & more.", text)


def test_of_a_window_only_the_rows_that_the_claim_names_are_read():
    """Where it speaks of a cell; the text around a table stays."""
    rows, whole = Rows([TABLE]), window(TABLE)
    told = rows.read(whole, words("The Team plan costs $29.")).told
    assert told == "# Plans\nPlan: Team; Price: $29; Seats: 10; SSO: no\nPrices are monthly."
    assert rows.read(whole).told.count("Plan: ") == 3


@pytest.mark.parametrize("claim", ["Team is the cheapest plan.", "There are three plans.", "Plans differ in price."])
def test_what_compares_rows_is_put_to_all_of_them(claim):
    """A claim that names no row, or no cell of any, is about the table."""
    assert Rows([TABLE]).read(window(TABLE), words(claim)).told.count("Plan: ") == 3


@pytest.mark.parametrize(
    ("cells", "claim", "named"),
    [
        (("Basic plan | $9", "Pro plan | $20"), "The Basic plan costs $20.", ["Basic"]),
        (("2019 | $9", "2020 | $20"), "In 2019 it cost $20.", ["2019"]),
        (("1 | Reds | 9", "2 | Blues | 7"), "Reds lead after 2 games with 9 points.", ["Reds"]),
        (("Pro | $9", "Pro | $20"), "Pro costs $20.", ["Pro", "Pro"]),
    ],
)
def test_a_rows_subject_is_what_tells_it_from_the_others(cells, claim, named):
    """Words that every first cell holds name none, nor does a number that only counts the rows."""
    columns = " | ".join("Abc"[: 1 + cells[0].count("|")])
    text = f"| {columns} |\n|{'---|' * (1 + cells[0].count('|'))}\n" + "\n".join(f"| {each} |" for each in cells)
    told = Rows([text]).read(window(text), words(claim)).told
    assert [
        each for each in ("Basic", "Pro", "2019", "2020", "Reds", "Blues") for _ in range(told.count(each))
    ] == named


def test_a_row_knows_its_header_from_another_window():
    """A long table is cut into windows, and only the first holds its header."""
    table = TABLE.replace("| Basic", "".join(f"| Plan{n} | ${n} | {n} | no |\n" for n in range(200)) + "| Basic", 1)
    index = EvidenceIndex(
        GroundingContext.of([Source(text=table)], None), lambda text: [(at, at + 1) for at in range(len(text))]
    )
    claim = "The Scale plan costs $99."
    found = index.shortlist(claim, 16)
    assert not any("Price | Seats" in each.text for each in found[:1])
    first, _ = evidence_for(claim, found, index.rows)
    assert first[0].text == "Plan: Scale; Price: $99; Seats: 50; SSO: yes"
    assert first[0].parts[0].text == "| Scale | $99 | 50 | yes |"
    assert first[0].written == f"{HEADER}\n| Scale | $99 | 50 | yes |"


def test_rows_of_other_subjects_lend_a_claim_nothing():
    """No piece of evidence for Basic holds the row that has what Basic has not; and a header is no evidence."""
    for claim in ("The Basic plan has SSO: yes.", "The Basic plan has 50 seats."):
        found = pieces(claim, TABLE)
        assert not [piece for piece in found if "Basic" in piece.text and "Scale" in piece.text]
        assert not [piece for piece in found if "Plan; Price" in piece.text or piece.text.startswith("| Plan")]


def test_a_claim_of_two_rows_gets_both():
    """Rows that the claim names are composed, each in its line, under one header."""
    [both] = {
        (piece.text, piece.written)
        for piece in pieces("Basic costs $9 and Scale $99.", TABLE)
        if len(piece.parts) == 2 and "Team" not in piece.text
    }
    assert both == (
        "Plan: Basic; Price: $9; Seats: 3; SSO: no\nPlan: Scale; Price: $99; Seats: 50; SSO: yes",
        f"{HEADER}\n| Basic | $9 | 3 | no |\n| Scale | $99 | 50 | yes |",
    )


def test_rows_in_small_letters_and_with_tabs_are_rows_of_their_own():
    """The rule for lines that go on does not join them, and the header is none of them."""
    text = "name\tage\ttown\nann\t5\t\nbo\t6\toslo\n"
    told = {piece.text for piece in pieces("Bo is 6.", text)}
    assert "name: bo; age: 6; town: oslo" in told
    assert not any(each.startswith("name\t") for each in told)


def test_more_than_a_premise_holds_is_read_as_it_is_written():
    """Names of columns behind every cell would push the last rows out of what the model reads."""
    names = [f"Column number {number}" for number in range(9)]
    lines = [f"| {' | '.join(names)} |", "|---" * 9 + "|", *(f"| {' | '.join('x' * 9)} |" for _ in range(6))]
    long, short = "\n".join(lines), "\n".join(lines[:5])
    assert Rows([long]).read(window(long)).told == long
    told = Rows([short]).read(window(short)).told
    assert told.startswith("Column number 0: x; ")
    assert len(told) * 2 > LONGEST_TOLD


def test_the_exact_checks_read_a_table_as_it_is_written():
    """What prose spells with colons and semicolons stays prose to them: "Fee for A: 1%; fee for B: 10%." is swapped."""
    prose = ReadText("The fee for domestic transfers is 1%. The fee for international transfers is 10%.")
    swapped = ReadText("Fee for domestic transfers: 10%; fee for international transfers: 1%.")
    assert swapped.signs_beside(prose).weighed()["swapped"] > 0
    [row] = [piece for piece in pieces("Team costs $9.", TABLE) if piece.text.startswith("Plan: Team")][:1]
    assert ReadText("Team costs $9.").signs_beside(ReadText(row.written)).weighed()["numbers_absent"] > 0


def test_only_a_row_is_in_a_table():
    """A bar in a sentence makes none: it is judged without what stands before it, too."""
    answer = "| Plan | Price |\n|---|---|\n| Pro | $9 |\n\nIt covers theft. It also covers fire in the garage | shed."
    claims = split_claims(answer, query="What does it cover?")
    assert [is_in_table(claim) for claim in claims if claim.needs_check][-3:] == [True, False, False]
