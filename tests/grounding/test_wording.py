"""Values in the evidence's writing, so that the encoder need not know two ways to write one number."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.wording import worded_as


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("It has 1255573 votes.", "Each of its 1,255,573 votes counts.", "It has 1,255,573 votes."),
        ("The meeting is on 2024-03-03.", "On 3 March 2024 they met.", "The meeting is on 3 March 2024."),
        ("Sales were $1,500,000.", "Sales of $1.5 million.", "Sales were $1.5 million."),
        ("The session starts at 15:00.", "From 3:00 PM on.", "The session starts at 3:00 PM."),
        ("Sie öffnet um 9 Uhr.", "Sie öffnet um neun Uhr.", "Sie öffnet um neun Uhr."),
        ("It lasted 14 days.", "It lasted two weeks.", "It lasted two weeks."),
        ("Elle ouvre à 9 h.", "Elle ouvre à neuf heures.", "Elle ouvre à neuf heures."),
        ("It costs 20 dollars a month.", "$20 a month", "It costs $20 a month."),
        ("Er kostet 1500,50 €.", "Er kostet 1.500,50 Euro.", "Er kostet 1.500,50 Euro."),
        ("Two of them, 3 of us.", "2 here, three there", "2 of them, three of us."),
        ("Es kostet 1500 €.", "Le prix est de 1 500 €.", "Es kostet 1 500 €."),
        ("5 here.", "Two, five, 2 and 5.0 there", "five here."),
        ("It lies in the US.", "The United States is large.", "It lies in the United States."),
        ("It lies in the US.", "The U.S. today", "It lies in the U.S."),
        ("U.K. law", "UK law", "UK law"),
        ("It led to the death of 1500 people.", "over 1,500 people died", "It led to the death of 1,500 people."),
    ],
)
def test_a_value_is_written_as_the_evidence_writes_it(claim, evidence, expected):
    """Numbers, dates, times, amounts and units, wherever both mean the same."""
    assert worded_as(claim, evidence) == expected


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It has 1255574 votes.", "Each of its 1,255,573 votes."),
        ("The Pro plan is for 20 users.", "The Pro plan costs $20."),
        ("It costs 20 dollars.", "It costs 20 euros."),
        ("It was on 3 March.", "It was on 3 March 2024."),
        ("It was on 3 March 2024.", "It was on 3 March."),
        ("It has 20 rooms.", "It has 20 rooms, not twenty-one."),
        ("No number.", "10 numbers."),
        ("It opened in 1997 and grew.", "It has 1,997 seats and 3 rooms."),
        ("It opened in 1997.", "It has 1,997 seats."),
        ("It is 5 °C.", "It is -5 °C."),
        ("Tell us.", "The U.S. today"),
        ("TELL US", "The U.S. today"),
        ("It costs US$5.", "The United States"),
        ("It lies in the US.", "The U.S. and the USA"),
        ("", "10"),
        ("10", ""),
    ],
)
def test_another_value_stays_as_it_is(claim, evidence):
    """Other numbers, other units, and dates of which one says more."""
    assert worded_as(claim, evidence) == claim


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_text_can_be_worded(claim, evidence):
    """Nothing raises, and beside itself a claim stays as it is."""
    worded_as(claim, evidence)
    assert worded_as(claim, claim) == claim


def test_many_values_are_worded_in_linear_time():
    """Twice the values on both sides, twice the time."""

    def spent(count):
        claim = " ".join(f"{number}," for number in range(3000, 3000 + count))
        evidence = " ".join(f"{number}.5 and 19th century, 1801," for number in range(count))
        gc.collect()
        begun = time.process_time()
        worded_as(claim, evidence)
        return time.process_time() - begun

    assert min(spent(4000), spent(4000)) < 3 * max(0.05, min(spent(2000), spent(2000)))
