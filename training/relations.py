"""Relations and answered questions that parallel.py makes documents of, in English, and what a language consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edits import ONES

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_SYLLABLES = (
    "ba be bo ca ce da de di do fa fe ga go ha he ja ka ke ki ko la le li lo ma me mi mo na ne no pa pe po ra re ri ro "
    "sa se si so ta te ti to va ve vi za zo".split()
)
_COUNTRIES = (
    "Japan France Kenya Peru Canada Norway Egypt India Spain Chile Ghana Poland Turkey Brazil Vietnam Italy UK".split()
)
_TOWNS = (
    "Tokyo Paris Nairobi Lima Ottawa Oslo Cairo Delhi Madrid Santiago Accra Warsaw Ankara Brasilia Hanoi Rome London "
    "Berlin Vienna Lisbon".split()
)
_FIRST = (
    "Anna Boris Carla David Elena Farid Grace Hugo Irene James Karim Laura Miguel Nora Oscar Priya Quinn Rosa Samuel "
    "Tara Uri Vera Walter Ximena Yusuf Zoe Alice Bob Maria John Mary Peter".split()
)


def word(rng: random.Random) -> str:
    """A word that means nothing."""
    stem = "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((2, 2, 3))))
    return stem + rng.choice(("", "", "n", "r", "s", "l", "m"))


def _country(rng: random.Random) -> str:
    return rng.choice(_COUNTRIES) if rng.random() < 0.5 else word(rng).capitalize()


def town(rng: random.Random) -> str:
    """A town, real or made up."""
    return rng.choice(_TOWNS) if rng.random() < 0.4 else word(rng).capitalize()


def person(rng: random.Random) -> str:
    """A first name, mostly with a family name."""
    first = rng.choice(_FIRST)
    return first if rng.random() < 0.3 else f"{first} {word(rng).capitalize()}"


def _product(rng: random.Random) -> str:
    tail = rng.choice((f" {rng.randint(2, 900)}", " Pro", " Plus", "", " Mini", " X"))
    return rng.choice(("the ", "")) + word(rng).capitalize() + tail


def _plan(rng: random.Random) -> str:
    names = "Basic Team Scale Pro Starter Business Free Gold Silver Student Family Enterprise".split()
    return f"the {rng.choice(names)} plan"


def _account(rng: random.Random) -> str:
    return rng.choice(
        (
            "a checking account",
            "a savings account",
            "a brokerage account",
            "a credit card",
            "an international transfer",
            "a domestic transfer",
            "a wire transfer",
            "a late payment",
            "a cash withdrawal",
            "a replacement card",
            "an overdraft",
            "a student account",
        )
    )


def firm(rng: random.Random) -> str:
    """A firm that there is not."""
    return word(rng).capitalize() + rng.choice((" Inc", " Ltd", " Group", " Bank", "", ""))


def _team(rng: random.Random) -> str:
    return (
        rng.choice(
            ("the sales team", "the support desk", "the finance department", "the legal team", "the night shift")
        )
        if rng.random() < 0.5
        else f"the {word(rng).capitalize()} team"
    )


def _leave(rng: random.Random) -> str:
    kinds = "parental sick annual study unpaid bereavement".split()
    return f"{rng.choice(kinds)} leave"


def _drug(rng: random.Random) -> str:
    return word(rng) + rng.choice(("ol", "ine", "ate", "am"))


def money(rng: random.Random) -> str:
    """An amount with its currency."""
    shape = rng.choice(("${}", "{} euros", "£{}", "{} dollars", "€{}"))
    value = rng.choice((rng.randint(2, 99), rng.randint(100, 4000), round(rng.uniform(1, 99), 2)))
    return shape.format(f"{value:,}" if isinstance(value, int) else f"{value:.2f}")


def _share(rng: random.Random) -> str:
    value = rng.choice((rng.randint(1, 60), round(rng.uniform(0.2, 40), 1)))
    return rng.choice(("{}%", "{} %", "{} percent")).format(value)


def _year(rng: random.Random) -> str:
    return str(rng.randint(1890, 2026))


def _time(rng: random.Random) -> str:
    return f"{rng.randint(5, 22)}:{rng.choice(('00', '15', '30', '45'))}"


def _days(rng: random.Random) -> str:
    amount = rng.randint(2, 30)
    shown = ONES[amount] if amount <= 20 and rng.random() < 0.4 else str(amount)
    return f"{shown} {rng.choice(('days', 'weeks', 'hours', 'months', 'working days'))}"


def _from(*values: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(values)


def _count(unit: str) -> Callable[[random.Random], str]:
    return lambda rng: f"{rng.randint(3, 950)} {unit}"


@dataclass(frozen=True, slots=True)
class Relation:
    """A kind of fact: how its subjects and values are made, stated, asked for; the value's heading in a table."""

    subject: Callable[[random.Random], str]
    value: Callable[[random.Random], str]
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    heading: str


def relation(subject: Callable[[random.Random], str], value: Callable[[random.Random], str], *rest: str) -> Relation:
    """A relation of subject and value; ``rest``: statements and questions, each set apart by bars, and a heading."""
    statements, questions, heading = rest
    return Relation(subject, value, tuple(statements.split("|")), tuple(questions.split("|")), heading)


@dataclass(frozen=True, slots=True)
class Language:
    """What documents of one language are made of.

    ``joins`` put two statements into one; ``faq`` are question, its affirmation and its denial; ``yes`` and ``no`` are
    answers to them; ``ends`` say nothing of the facts.
    """

    relations: tuple[Relation, ...]
    faq: tuple[tuple[str, str, str], ...]
    yes: tuple[str, ...]
    no: tuple[str, ...]
    joins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


def faq(text: str) -> tuple[tuple[str, str, str], ...]:
    """Three lines each: the question, its affirmation, its denial."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return tuple(zip(lines[::3], lines[1::3], lines[2::3], strict=True))


_RELATIONS = (
    relation(
        _country,
        town,
        "{v} is the capital of {s}.|The capital of {s} is {v}.|{S} has {v} as its capital.|In {s}, the capital is {v}."
        "|{S}'s capital is {v}.",
        "What is the capital of {s}?|Which city is the capital of {s}?",
        "Capital",
    ),
    relation(
        _plan,
        money,
        "{S} costs {v}.|The price of {s} is {v}.|You pay {v} for {s}.|{S} is {v} a month.|{S} is priced at {v}."
        "|For {v} you get {s}.",
        "How much is {s}?|What does {s} cost?|What is the price of {s}?",
        "Price",
    ),
    relation(
        _plan,
        _count("seats"),
        "{S} includes {v}.|With {s} you get {v}.|{S} comes with {v}.|{v} are part of {s}.",
        "How many seats does {s} include?",
        "Seats",
    ),
    relation(
        _account,
        money,
        "The fee for {s} is {v}.|{S} costs {v}.|You are charged {v} for {s}.|There is a charge of {v} for {s}."
        "|We charge {v} for {s}.",
        "What is the fee for {s}?|How much does {s} cost?",
        "Fee",
    ),
    relation(
        _account,
        _share,
        "The charge for {s} is {v}.|A fee of {v} applies to {s}.|{S} carries a {v} fee.|You pay {v} for {s}.",
        "What is the charge for {s}?|What fee applies to {s}?",
        "Rate",
    ),
    relation(
        _product,
        lambda rng: f"{round(rng.uniform(0.5, 90), 1)} kg",
        "{S} weighs {v}.|The weight of {s} is {v}.|{S} has a weight of {v}.",
        "How much does {s} weigh?",
        "Weight",
    ),
    relation(
        _product,
        _year,
        "{S} was launched in {v}.|{S} came out in {v}.|The launch of {s} was in {v}.|In {v}, {s} reached the market.",
        "When was {s} launched?|In which year did {s} come out?",
        "Launched",
    ),
    relation(
        _product,
        person,
        "{S} was designed by {v}.|{v} designed {s}.|The designer of {s} is {v}.|{v} is the designer of {s}.",
        "Who designed {s}?",
        "Designer",
    ),
    relation(
        _product,
        _from(*"red green blue black white yellow grey orange purple brown silver".split()),
        "{S} is {v}.|The colour of {s} is {v}.|{S} comes in {v}.",
        "What colour is {s}?",
        "Colour",
    ),
    relation(
        person,
        town,
        "{s} lives in {v}.|{s} is based in {v}.|The home of {s} is {v}.|{s}'s home is in {v}.",
        "Where does {s} live?",
        "Home",
    ),
    relation(
        person,
        _from(*"engineer nurse pilot teacher lawyer chef painter geologist judge farmer surgeon".split()),
        "{s} works as a {v}.|{s} is a {v}.|By profession, {s} is a {v}.",
        "What does {s} do?|What is the job of {s}?",
        "Job",
    ),
    relation(
        person,
        _year,
        "{s} was born in {v}.|{s}'s year of birth is {v}.|In {v}, {s} was born.",
        "When was {s} born?|In what year was {s} born?",
        "Born",
    ),
    relation(
        person,
        _year,
        "{s} joined the firm in {v}.|In {v}, {s} joined the firm.|{s} came to the firm in {v}."
        "|{s} has been with the firm since {v}.",
        "When did {s} join the firm?",
        "Joined",
    ),
    relation(
        person,
        person,
        "{s} manages {v}.|{v} reports to {s}.|{v}'s manager is {s}.|{s} is the manager of {v}.",
        "Who does {s} manage?",
        "Reports",
    ),
    relation(
        person,
        person,
        "{s} defeated {v}.|{v} lost to {s}.|{v} was beaten by {s}.|{s} won against {v}.",
        "Who lost to {s}?",
        "Beaten",
    ),
    relation(
        person,
        person,
        "{s} sued {v}.|{v} was sued by {s}.|{s} took {v} to court.|{s} filed a lawsuit against {v}.",
        "Who did {s} sue?",
        "Defendant",
    ),
    relation(
        firm,
        firm,
        "{s} acquired {v}.|{v} was acquired by {s}.|{s} bought {v}.|{v} now belongs to {s}.",
        "Which company did {s} acquire?",
        "Acquired",
    ),
    relation(
        person,
        person,
        "{s} taught {v}.|{v} was taught by {s}.|{v} was a pupil of {s}.|{s} was {v}'s teacher.",
        "Who was taught by {s}?",
        "Pupil",
    ),
    relation(
        town,
        _time,
        "The museum in {s} opens at {v}.|In {s}, the museum opens at {v}.|At {v} the museum in {s} opens its doors.",
        "When does the museum in {s} open?",
        "Opens",
    ),
    relation(
        town,
        _from(*"Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
        "The office in {s} is closed on {v}.|{S} has its office closed on {v}.|On {v} the {s} office is closed.",
        "On which day is the {s} office closed?",
        "Closed",
    ),
    relation(
        town,
        _from("rain", "snow", "fog", "sun", "hail", "strong wind", "frost", "storms"),
        "{s} will have {v} tomorrow.|Tomorrow brings {v} to {s}.|Expect {v} in {s} tomorrow.",
        "What weather is forecast for {s}?",
        "Weather",
    ),
    relation(
        firm,
        person,
        "{s} was founded by {v}.|{v} founded {s}.|The founder of {s} is {v}.|{v} started {s}.",
        "Who founded {s}?",
        "Founder",
    ),
    relation(
        firm,
        _count("people"),
        "{s} employs {v}.|{v} work at {s}.|{s} has a staff of {v}.|The staff of {s} numbers {v}.",
        "How many people work at {s}?",
        "Staff",
    ),
    relation(
        firm,
        lambda rng: f"{rng.choice(('$', '€'))}{rng.randint(2, 900)} {rng.choice(('million', 'billion'))}",
        "{s} reported revenue of {v}.|The revenue of {s} was {v}.|{s} earned {v}.|Revenue at {s} came to {v}.",
        "What was the revenue of {s}?",
        "Revenue",
    ),
    relation(
        _team,
        person,
        "{S} is led by {v}.|{v} leads {s}.|{v} is in charge of {s}.|The head of {s} is {v}.",
        "Who leads {s}?",
        "Head",
    ),
    relation(
        _leave,
        _days,
        "{S} lasts {v}.|Employees get {v} of {s}.|You are entitled to {v} of {s}.|{S} is limited to {v}.",
        "How long is {s}?|How much {s} do employees get?",
        "Length",
    ),
    relation(
        _leave,
        _days,
        "{S} must be requested at least {v} in advance.|Requests for {s} are due {v} before."
        "|Ask for {s} no later than {v} before it starts.",
        "How early must {s} be requested?",
        "Notice",
    ),
    relation(
        _drug,
        lambda rng: f"{rng.choice((5, 10, 20, 25, 50, 100, 200, 250, 500))} mg",
        "The daily dose of {s} is {v}.|Take {v} of {s} a day.|{S} is given at {v} per day.|Patients receive {v} of {s}"
        " daily.",
        "What is the daily dose of {s}?",
        "Dose",
    ),
    relation(
        _product,
        _days,
        "The warranty of {s} is {v}.|{S} has a warranty of {v}.|We guarantee {s} for {v}.",
        "How long is the warranty of {s}?",
        "Warranty",
    ),
    relation(
        town,
        lambda rng: f"{rng.randint(2, 900)},{rng.randint(100, 999)} inhabitants",
        "{s} has {v}.|The population of {s} is {v}.|{v} live in {s}.",
        "How many inhabitants does {s} have?",
        "Population",
    ),
)
_FAQ = faq("""
    Is it safe for children?
    It is safe for children.
    It is not safe for children.
    Can I pay by card?
    You can pay by card.
    Card payments are not possible.
    Is the pool heated?
    The pool is heated.
    The pool is not heated.
    Are dogs allowed?
    Dogs are allowed.
    Dogs are not allowed.
    Is the device waterproof?
    The device is waterproof.
    The device is not waterproof.
    Do you ship abroad?
    We ship abroad.
    We do not ship abroad.
    Can I cancel online?
    You can cancel online.
    It is not possible to cancel online.
    Is breakfast included?
    Breakfast is included in the price.
    Breakfast is not included in the price.
    Does it work on a Mac?
    It works on a Mac.
    It does not work on a Mac.
    Is delivery free?
    Delivery is free of charge.
    Delivery is not free of charge.
    Can I return opened items?
    Opened items can be returned.
    Opened items cannot be returned.
    Are spare parts available?
    Spare parts are available.
    Spare parts are not available.
    Do I need a visa?
    You need a visa.
    You do not need a visa.
    Is there parking?
    There is parking.
    There is no parking.
    Can the battery be replaced?
    The battery can be replaced.
    The battery cannot be replaced.
    Does the plan include support?
    The plan includes support.
    The plan does not include support.
    Will my old key still work?
    Your old key will still work.
    Your old key will no longer work.
    Is the museum open on Sundays?
    The museum is open on Sundays.
    The museum is closed on Sundays.
    Did the merger go through?
    The merger went through.
    The merger did not go through.
    Was anyone hurt?
    Someone was hurt.
    Nobody was hurt.
    Has the bug been fixed?
    The bug has been fixed.
    The bug has not been fixed.
    Should it be taken with food?
    It should be taken with food.
    It should not be taken with food.
    May I share my password?
    You may share your password.
    You must not share your password.
    Is it dishwasher safe?
    It is dishwasher safe.
    It is not dishwasher safe.
    Are students eligible?
    Students are eligible.
    Students are not eligible.
    Can I change the date later?
    The date can be changed later.
    The date cannot be changed later.
""")

_ENDS = (
    "Terms apply.",
    "Please ask our staff for details.",
    "All figures were checked this year.",
    "See the annex for more.",
    "This notice replaces earlier ones.",
    "The list is not complete.",
)

ENGLISH = Language(
    _RELATIONS,
    _FAQ,
    yes=("Yes.", "Yes, of course.", "Yes", "Yes, that is so."),
    no=("No.", "No, sorry.", "Unfortunately not.", "No", "No, not at present."),
    joins=(", and ", "; ", ", while ", ", but "),
    ends=_ENDS,
)
