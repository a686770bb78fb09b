"""Exact checks: what of a claim its evidence does not carry, after normalising; and no false alarm on what it does."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.facts import Signs, compare, facts_of

CAPITALS = "London is the capital of UK. Tokyo is the capital of Japan."
PLANS = "The Basic plan costs $10 a month. The Pro plan costs $20 a month."
FEES = "| Account | Fee |\n|---|---|\n| Checking | $5 |\n| Savings | $7 |"


def signs(claim, evidence):
    """The signs of a claim beside its evidence."""
    return compare(facts_of(claim), facts_of(evidence))


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It drew 1.5k visitors.", "It drew 1,500 visitors."),
        ("It drew 1500 visitors.", "It drew 1,500 visitors."),
        ("It drew 2.3 million visitors.", "It drew 2,300,000 visitors."),
        ("It drew 2.3M visitors.", "It drew 2.3 million visitors."),
        ("It has ten rooms.", "It has 10 rooms."),
        ("It has 25 rooms.", "It has twenty-five rooms."),
        ("It opens on March 3rd.", "It opens on 3 March."),
        ("It opened on 3 March 2021.", "It opened on March 3, 2021."),
        ("It opened in 2021.", "It opened on March 3, 2021."),
        ("It lasts two weeks.", "It lasts 14 days."),
        ("It lasts 90 minutes.", "It lasts 1.5 hours."),
        ("It takes one year, that is 12 months.", "It takes 1 year, or 12 months."),
        ("It is 87 m high and 2 km long.", "It is 87 metres high and 2 kilometres long."),
        ("The tax is 5 percent.", "The tax is 5%."),
        ("The tax is 5 per cent.", "The tax is 5 %."),
        ("It costs 5 dollars.", "It costs $5."),
        ("It costs €1.234,56.", "It costs 1234.56 euros."),
        ("About 1,500 people came.", "1,487 people came."),
        ("1. It has 7 rooms [2].", "It has 7 rooms."),
        ("Cuesta diez euros.", "Cuesta 10 euros."),
        ("Es kostet zehn Euro.", "Es kostet 10 Euro."),
        ("Peak output is 36 MW.", "Peak output is 36 megawatts."),
    ],
)
def test_the_same_value_written_otherwise_is_carried(claim, evidence):
    """Formats, units, number words and dates are normalised."""
    assert signs(claim, evidence).values_absent == 0


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It has eleven rooms.", "It has 10 rooms."),
        ("It drew 1.6k visitors.", "It drew 1,500 visitors."),
        ("It lasts three weeks.", "It lasts 14 days."),
        ("It opened in 2020.", "It opened on March 3, 2021."),
        ("It opens on 3 April.", "It opens on 3 March."),
        ("It weighs 5 kg.", "It is 5 km long."),
        ("It costs $5.", "It rose by 5%."),
        ("It costs €5.", "It costs $5."),
        ("50 km long.", "50 miles long."),
        ("It has 7 rooms.", "Key 1" + "0" * 400 + "."),
        ("The tax is 50%.", "The tax is 5%."),
        ("It drew 2.3 billion visitors.", "It drew 2.3 million visitors."),
        ("It costs 999 million.", "It costs 100 million."),
    ],
)
def test_another_value_is_absent(claim, evidence):
    """A digit, a unit or a month that the evidence does not hold."""
    assert signs(claim, evidence).values_absent >= 1


@pytest.mark.parametrize(
    ("claim", "evidence", "absent"),
    [
        ("The prize went to Carla Weiss.", "The jury gave the prize to Weiss, Carla.", 0),
        ("The prize went to Carla Weiss.", "The jury gave the prize to Anna Weiss.", 1),
        ("The prize went to carla weiss.", "The prize went to Carla Weiss.", 0),
        ("The Zürich office moved.", "The Zurich office moved.", 0),
        ("It is an Italian firm.", "The firm is from Italy.", 0),
        ("The firm joined NATO.", "The firm joined the EU.", 1),
    ],
)
def test_names(claim, evidence, absent):
    """A name counts by its words, whatever their order, case or accents."""
    assert signs(claim, evidence).names_absent == absent


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The capital of Japan is London.", CAPITALS),
        ("London is the capital of Japan.", CAPITALS),
        ("The Basic plan costs $20.", PLANS),
        ("The Basic plan costs $20 and the Pro plan costs $10.", PLANS),
        ("The fee for Savings is $5.", FEES),
        ("In 2019 sales were 5 million.", "In 2018 sales were 5 million. In 2019 sales were 7 million."),
    ],
)
def test_a_value_of_another_subject_is_swapped(claim, evidence):
    """Right value, wrong row."""
    assert signs(claim, evidence).swapped >= 1


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The capital of Japan is Tokyo.", CAPITALS),
        ("Japan has its capital in Tokyo.", CAPITALS),
        ("Tokyo is the capital of Japan and London is the capital of UK.", CAPITALS),
        ("The Pro plan costs $20.", PLANS),
        ("The fee for Savings is $7.", FEES),
        ("The museum was founded by Nora Feld.", "Nora Feld founded the museum. Its cafe opened later."),
        ("Alice Kramer became director in 2015.", "Alice Kramer joined in 2010. She became director in 2015."),
    ],
)
def test_a_value_of_its_own_subject_is_not(claim, evidence):
    """Compressions, rewritings, pronouns and joined facts are honest."""
    assert signs(claim, evidence).swapped == 0


@pytest.mark.parametrize(
    ("claim", "evidence", "negation", "opposed"),
    [
        ("Refunds are not possible.", "Refunds are possible.", 1, 0),
        ("Refunds are possible.", "Refunds aren't possible.", 1, 0),
        ("Refunds are not possible.", "No refunds are possible.", 0, 0),
        ("Sales rose in spring.", "Sales fell in spring.", 0, 1),
        ("Sales rose in spring.", "Sales increased in spring.", 0, 0),
        ("The gate is open at noon.", "The gate is closed at noon.", 0, 1),
    ],
)
def test_negation_and_opposites(claim, evidence, negation, opposed):
    """One side negated, or a word against its opposite."""
    found = signs(claim, evidence)
    assert (found.negation, found.opposed) == (negation, opposed)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_compared(claim, evidence):
    """Nothing raises, counts are counts and shares are shares, twice the same."""
    found = signs(claim, evidence)
    assert found == signs(claim, evidence)
    assert 0 <= found.missing <= 1
    assert 0 <= found.disorder <= 1
    assert len(found.numbers()) == len(Signs.names_of())
    assert all(0 <= number <= 2 for number in found.numbers())


@given(
    st.lists(st.sampled_from([CAPITALS, PLANS, FEES, "Refunds are not possible.", "It rose 5% to 1,500."]), min_size=1)
)
def test_a_text_carries_itself(parts):
    """A copy has no sign but what its own clauses say of each other."""
    text = " ".join(parts)
    found = signs(text, text)
    assert (found.values_absent, found.names_absent, found.missing, found.disorder) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "unit", ["1,", "a'", "[1", ". ", "1 ", " and", "A", "A-1", "12 345 ", "$", "万", "it is ", "\n", "1; "]
)
def test_no_text_takes_for_ever(unit):
    """Linear on what would trap a careless pattern; the bound is a hundred times what it takes."""
    began = time.monotonic()
    long, claim = facts_of(unit * (100_000 // len(unit))), facts_of("0 1 2 3 4 5 6 7 8 9 " * 17)
    compare(claim, long)
    assert time.monotonic() - began < 30
