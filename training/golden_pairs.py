"""Synthetic pairs for the golden file: made up here, of both kinds, from about 10 to about 400 tokens, repeatable."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
GoldenPair = tuple[str, str, str]
"""kind ("grounding" or "relevance"), premise, hypothesis"""

NAMES = ("Harlow", "Brenta", "Quillon", "Tessaly", "Orrin", "Maldova", "Pikery", "Sundal", "Vexford", "Ilmare")
FACTS = (
    ("The {n} library opens at {a} on weekdays.", "When does the {n} library open?", "You can visit {n} from {a}."),
    ("A ticket to {n} costs {a} euros.", "How much is a ticket to {n}?", "The fare to {n} is {a} euros."),
    ("{n} has a population of {a} thousand.", "How many people live in {n}?", "{a} thousand people live in {n}."),
    (
        "The {n} bridge was finished in 19{a}.",
        "When was the {n} bridge finished?",
        "The bridge at {n} dates from 19{a}.",
    ),
    ("The {n} plan includes {a} seats.", "How many seats are in the {n} plan?", "With {n} you get {a} seats."),
    ("Refunds from {n} are paid within {a} days.", "How long do {n} refunds take?", "{n} refunds you in {a} days."),
    ("The {n} dam is {a} metres high.", "How high is the {n} dam?", "At {n} the dam rises {a} m."),
    ("{n} was founded by Ada {n} and {a} partners.", "Who founded {n}?", "Ada {n} was among the founders of {n}."),
    ("The {n} trail is closed on the {a}th of each month.", "When is the {n} trail closed?", "It shuts on the {a}th."),
    ("{n} ships {a} parcels an hour by rail.", "How does {n} ship parcels?", "{n} sends parcels by train."),
)
ODD = (
    ("", ""),
    ("", "Nothing supports this."),
    ("Everything is here.", ""),
    ("| plan | price |\n|---|---|\n| Basic | $9 |\n| Team | $29 |", "Team costs $29."),
    ("| plan | price |\n|---|---|\n| Basic | $9 |\n| Team | $29 |", "Basic costs $29."),
    ("La biblioth\u00e8que ouvre \u00e0 neuf heures.", "La biblioth\u00e8que est ouverte d\u00e8s neuf heures."),
    ("\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059\u3002", "Tokyo is the capital of Japan."),
    ("Status \U0001f7e2 green \u2014 all systems \u201cnominal\u201d\u2026", "All systems are nominal."),
    ("a [SEP] b [CLS] c [PAD]", "b follows a."),
    ('<script>alert(1)</script> {"retries": 3, "timeout": 30}', "The timeout is 30."),
)
ASIDES = (
    "The guide was last revised in spring.",
    "Please ask at the desk for the details, which may change without notice.",
    "None of this applies to groups, who should write to the office first.",
    "Locals will tell you that the weather decides more than any timetable does.",
)


def golden_pairs(count: int = 480) -> Iterator[GoldenPair]:
    """Yield ``count`` pairs, the odd ones of both kinds first."""
    for premise, hypothesis in ODD:
        yield "grounding", premise, hypothesis
        yield "relevance", premise, hypothesis
    chance = random.Random(SEED)
    for number in range(count - 2 * len(ODD)):
        yield _grounding(chance, number) if number % 5 < 3 else _relevance(chance, number)


def _fact(chance: random.Random) -> tuple[str, str, str]:
    name, amount = chance.choice(NAMES), chance.randrange(11, 99)
    plain, question, other = (template.format(n=name, a=amount) for template in chance.choice(FACTS))
    return plain, question, other


def _grounding(chance: random.Random, number: int) -> GoldenPair:
    facts = [_fact(chance) for _ in range(1 + number % 34)]
    chosen = chance.choice(facts)
    claims = (chosen[0], chosen[2], _fact(chance)[chance.choice((0, 2))], f"{chosen[2]} {_fact(chance)[0]}")
    sentences = [fact[0] for fact in facts] + chance.sample(ASIDES, number % 3)
    chance.shuffle(sentences)
    return "grounding", " ".join(sentences), chance.choice(claims)


def _relevance(chance: random.Random, number: int) -> GoldenPair:
    plain, question, other = _fact(chance)
    answers = (plain, other, f"{other} {chance.choice(ASIDES)}", _fact(chance)[2], chance.choice(ASIDES))
    padding = " ".join(chance.choice(ASIDES) for _ in range(number % 8))
    return "relevance", f"{padding} {question}".strip(), chance.choice(answers)
