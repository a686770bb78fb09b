"""Table rows, read as evidence: with the names of their columns, and no other subject's beside them."""

from __future__ import annotations

import pytest

from proxy.grounding.binding import evidence_for
from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.facts import ReadText
from proxy.grounding.labels import row_told, told_row
from proxy.grounding.rows import Rows
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
TABBED = "Port\tShips\tPilots\nOdda\t12\t3\nVik\t7\t\n\nCall us."


def window(text: str, part: str | None = None) -> Window:
    """The window of ``text`` that ``part`` is."""
    start = text.index(part) if part else 0
    return Window(source=0, start=start, end=start + len(part or text), text=part or text)


@pytest.mark.parametrize(
    ("text", "row", "told"),
    [
        (TABLE, "| Team | $29 | 10 | no |", "Plan: Team; Price: $29; Seats: 10; SSO: no"),
        (TABBED, "Odda\t12\t3", "Port: Odda; Ships: 12; Pilots: 3"),
        (TABBED, "Vik\t7\t", "Port: Vik; Ships: 7"),
        ("a | b\n--- | ---\n1 | **2**\n", "1 | **2**", "a: 1; b: 2"),
        ("| | b |\n|---|---|\n| 1 | 2 | 3 |", "| 1 | 2 | 3 |", "1; b: 2; 3"),
        (TABLE.replace("\n", "\r\n"), "| Scale | $99 | 50 | yes |", "Plan: Scale; Price: $99; Seats: 50; SSO: yes"),
    ],
)
def test_a_row_is_read_with_the_names_of_its_columns(text, row, told):
    """Whatever the table's marks, each cell stands behind its column's name."""
    assert Rows([text]).read(window(text, row)) == told


@pytest.mark.parametrize("text", ["Either a | b or c.", "One\ttwo\n1\t2", "A 1\tB 2\nx\ty\nz\tw", "| a |\n", ""])
def test_what_is_no_table_stays_as_it_is_written(text):
    """A bar in a sentence, two lines with a tab, or a first line with digits make no table."""
    assert Rows([text]).read(window(text)) == text


def test_of_a_window_only_the_rows_that_the_claim_names_are_read():
    """And all of them where it names none; the text around a table stays."""
    rows, whole = Rows([TABLE]), window(TABLE)
    named = rows.read(whole, frozenset(terms("The Team plan has SSO.")))
    assert "Plan: Team" in named
    assert not any(other in named for other in ("Basic", "Scale", "|"))
    assert named.startswith("# Plans")
    assert named.rstrip().endswith("Prices are monthly.")
    assert rows.read(whole).count("Plan: ") == 3


def test_a_row_knows_its_header_from_another_window():
    """A long table is cut into windows, and only the first holds its header."""
    table = TABLE.replace("| Basic", "".join(f"| Plan{n} | ${n} | {n} | no |\n" for n in range(200)) + "| Basic", 1)
    index = EvidenceIndex(
        GroundingContext.of([Source(text=table)], None), lambda text: [(at, at + 1) for at in range(len(text))]
    )
    claim = "The Scale plan costs $99."
    found = index.shortlist(claim, 16)
    assert not any("Price | Seats" in each.text for each in found[:1])
    pieces, _ = evidence_for(claim, found, rows=index.rows)
    assert pieces[0].text == "Plan: Scale; Price: $99; Seats: 50; SSO: yes"
    assert pieces[0].parts[0].text == "| Scale | $99 | 50 | yes |"


def test_rows_of_other_subjects_lend_a_claim_nothing():
    """No piece of evidence for Basic holds the row that has what Basic has not; and a header is no evidence."""
    first, then = evidence_for("The Basic plan has SSO.", [window(TABLE)], rows=Rows([TABLE]))
    assert not [piece for piece in [*first, *then] if "Basic" in piece.text and "Scale" in piece.text]
    assert not [piece for piece in first if piece.text.startswith("Plan; Price")]


def test_a_claim_of_two_rows_gets_both():
    """Rows that the claim names are composed."""
    first, _ = evidence_for("Basic costs $9 and Scale $99.", [window(TABLE)], rows=Rows([TABLE]))
    assert any("Basic" in piece.text and "Scale" in piece.text and "Team" not in piece.text for piece in first)


def test_the_exact_checks_read_a_told_row_as_a_row():
    """A value is tied to its row's subject and its column: the same signs as beside the row as it is written."""
    told = ReadText(told_row(["Plan", "Price", "Seats"], ["Team", "$29", "10"]))
    written = ReadText("| Plan | Price | Seats |\n|---|---|---|\n| Team | $29 | 10 |")
    for claim in ("The price of the Team plan is $29.", "The Scale plan has 10 seats.", "Team has 12 seats.", "No."):
        assert ReadText(claim).signs_beside(told) == ReadText(claim).signs_beside(written)


def test_a_told_row_is_told_from_prose():
    """At least two cells with names, and no mark in a cell that would part it."""
    assert row_told("Plan: Team; Price: $29; Seats: 10") == (["Plan", "Price", "Seats"], ["Team", "$29", "10"])
    assert row_told("Note: this is prose.") is None
    assert row_told("He said: wait; then he left.") is None
