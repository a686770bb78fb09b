"""Made-up documents of parallel facts: the same relation stated of several subjects, in prose, lists and tables.

A hypothesis restates one or two of them, or binds a value to the wrong subject. Small encoders match words; only such
pairs teach them which value belongs to which subject. Names are mostly invented, so that nothing can be known by heart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edits import ONES, casual, other_format, synonym
from sets import GROUNDING, RELEVANCE, Example

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

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


def _word(rng: random.Random) -> str:
    stem = "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((2, 2, 3))))
    return stem + rng.choice(("", "", "n", "r", "s", "l", "m"))


def _country(rng: random.Random) -> str:
    return rng.choice(_COUNTRIES) if rng.random() < 0.5 else _word(rng).capitalize()


def _town(rng: random.Random) -> str:
    return rng.choice(_TOWNS) if rng.random() < 0.4 else _word(rng).capitalize()


def _person(rng: random.Random) -> str:
    first = rng.choice(_FIRST)
    return first if rng.random() < 0.3 else f"{first} {_word(rng).capitalize()}"


def _product(rng: random.Random) -> str:
    tail = rng.choice((f" {rng.randint(2, 900)}", " Pro", " Plus", "", " Mini", " X"))
    return rng.choice(("the ", "")) + _word(rng).capitalize() + tail


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


def _firm(rng: random.Random) -> str:
    return _word(rng).capitalize() + rng.choice((" Inc", " Ltd", " Group", " Bank", "", ""))


def _team(rng: random.Random) -> str:
    return (
        rng.choice(
            ("the sales team", "the support desk", "the finance department", "the legal team", "the night shift")
        )
        if rng.random() < 0.5
        else f"the {_word(rng).capitalize()} team"
    )


def _leave(rng: random.Random) -> str:
    kinds = "parental sick annual study unpaid bereavement".split()
    return f"{rng.choice(kinds)} leave"


def _drug(rng: random.Random) -> str:
    return _word(rng) + rng.choice(("ol", "ine", "ate", "am"))


def _money(rng: random.Random) -> str:
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


def _relation(subject: Callable[[random.Random], str], value: Callable[[random.Random], str], *rest: str) -> Relation:
    statements, questions, heading = rest
    return Relation(subject, value, tuple(statements.split("|")), tuple(questions.split("|")), heading)


RELATIONS = (
    _relation(
        _country,
        _town,
        "{v} is the capital of {s}.|The capital of {s} is {v}.|{S} has {v} as its capital.|In {s}, the capital is {v}."
        "|{S}'s capital is {v}.",
        "What is the capital of {s}?|Which city is the capital of {s}?",
        "Capital",
    ),
    _relation(
        _plan,
        _money,
        "{S} costs {v}.|The price of {s} is {v}.|You pay {v} for {s}.|{S} is {v} a month.|{S} is priced at {v}."
        "|For {v} you get {s}.",
        "How much is {s}?|What does {s} cost?|What is the price of {s}?",
        "Price",
    ),
    _relation(
        _plan,
        _count("seats"),
        "{S} includes {v}.|With {s} you get {v}.|{S} comes with {v}.|{v} are part of {s}.",
        "How many seats does {s} include?",
        "Seats",
    ),
    _relation(
        _account,
        _money,
        "The fee for {s} is {v}.|{S} costs {v}.|You are charged {v} for {s}.|There is a charge of {v} for {s}."
        "|We charge {v} for {s}.",
        "What is the fee for {s}?|How much does {s} cost?",
        "Fee",
    ),
    _relation(
        _account,
        _share,
        "The charge for {s} is {v}.|A fee of {v} applies to {s}.|{S} carries a {v} fee.|You pay {v} for {s}.",
        "What is the charge for {s}?|What fee applies to {s}?",
        "Rate",
    ),
    _relation(
        _product,
        lambda rng: f"{round(rng.uniform(0.5, 90), 1)} kg",
        "{S} weighs {v}.|The weight of {s} is {v}.|{S} has a weight of {v}.",
        "How much does {s} weigh?",
        "Weight",
    ),
    _relation(
        _product,
        _year,
        "{S} was launched in {v}.|{S} came out in {v}.|The launch of {s} was in {v}.|In {v}, {s} reached the market.",
        "When was {s} launched?|In which year did {s} come out?",
        "Launched",
    ),
    _relation(
        _product,
        _person,
        "{S} was designed by {v}.|{v} designed {s}.|The designer of {s} is {v}.|{v} is the designer of {s}.",
        "Who designed {s}?",
        "Designer",
    ),
    _relation(
        _product,
        _from(*"red green blue black white yellow grey orange purple brown silver".split()),
        "{S} is {v}.|The colour of {s} is {v}.|{S} comes in {v}.",
        "What colour is {s}?",
        "Colour",
    ),
    _relation(
        _person,
        _town,
        "{s} lives in {v}.|{s} is based in {v}.|The home of {s} is {v}.|{s}'s home is in {v}.",
        "Where does {s} live?",
        "Home",
    ),
    _relation(
        _person,
        _from(*"engineer nurse pilot teacher lawyer chef painter geologist judge farmer surgeon".split()),
        "{s} works as a {v}.|{s} is a {v}.|By profession, {s} is a {v}.",
        "What does {s} do?|What is the job of {s}?",
        "Job",
    ),
    _relation(
        _person,
        _year,
        "{s} was born in {v}.|{s}'s year of birth is {v}.|In {v}, {s} was born.",
        "When was {s} born?|In what year was {s} born?",
        "Born",
    ),
    _relation(
        _person,
        _year,
        "{s} joined the firm in {v}.|In {v}, {s} joined the firm.|{s} came to the firm in {v}."
        "|{s} has been with the firm since {v}.",
        "When did {s} join the firm?",
        "Joined",
    ),
    _relation(
        _person,
        _person,
        "{s} manages {v}.|{v} reports to {s}.|{v}'s manager is {s}.|{s} is the manager of {v}.",
        "Who does {s} manage?",
        "Reports",
    ),
    _relation(
        _person,
        _person,
        "{s} defeated {v}.|{v} lost to {s}.|{v} was beaten by {s}.|{s} won against {v}.",
        "Who lost to {s}?",
        "Beaten",
    ),
    _relation(
        _town,
        _time,
        "The museum in {s} opens at {v}.|In {s}, the museum opens at {v}.|At {v} the museum in {s} opens its doors.",
        "When does the museum in {s} open?",
        "Opens",
    ),
    _relation(
        _town,
        _from(*"Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
        "The office in {s} is closed on {v}.|{S} has its office closed on {v}.|On {v} the {s} office is closed.",
        "On which day is the {s} office closed?",
        "Closed",
    ),
    _relation(
        _town,
        _from("rain", "snow", "fog", "sun", "hail", "strong wind", "frost", "storms"),
        "{s} will have {v} tomorrow.|Tomorrow brings {v} to {s}.|Expect {v} in {s} tomorrow.",
        "What weather is forecast for {s}?",
        "Weather",
    ),
    _relation(
        _firm,
        _person,
        "{s} was founded by {v}.|{v} founded {s}.|The founder of {s} is {v}.|{v} started {s}.",
        "Who founded {s}?",
        "Founder",
    ),
    _relation(
        _firm,
        _count("people"),
        "{s} employs {v}.|{v} work at {s}.|{s} has a staff of {v}.|The staff of {s} numbers {v}.",
        "How many people work at {s}?",
        "Staff",
    ),
    _relation(
        _firm,
        lambda rng: f"{rng.choice(('$', '€'))}{rng.randint(2, 900)} {rng.choice(('million', 'billion'))}",
        "{s} reported revenue of {v}.|The revenue of {s} was {v}.|{s} earned {v}.|Revenue at {s} came to {v}.",
        "What was the revenue of {s}?",
        "Revenue",
    ),
    _relation(
        _team,
        _person,
        "{S} is led by {v}.|{v} leads {s}.|{v} is in charge of {s}.|The head of {s} is {v}.",
        "Who leads {s}?",
        "Head",
    ),
    _relation(
        _leave,
        _days,
        "{S} lasts {v}.|Employees get {v} of {s}.|You are entitled to {v} of {s}.|{S} is limited to {v}.",
        "How long is {s}?|How much {s} do employees get?",
        "Length",
    ),
    _relation(
        _leave,
        _days,
        "{S} must be requested at least {v} in advance.|Requests for {s} are due {v} before."
        "|Ask for {s} no later than {v} before it starts.",
        "How early must {s} be requested?",
        "Notice",
    ),
    _relation(
        _drug,
        lambda rng: f"{rng.choice((5, 10, 20, 25, 50, 100, 200, 250, 500))} mg",
        "The daily dose of {s} is {v}.|Take {v} of {s} a day.|{S} is given at {v} per day.|Patients receive {v} of {s}"
        " daily.",
        "What is the daily dose of {s}?",
        "Dose",
    ),
    _relation(
        _product,
        _days,
        "The warranty of {s} is {v}.|{S} has a warranty of {v}.|We guarantee {s} for {v}.",
        "How long is the warranty of {s}?",
        "Warranty",
    ),
    _relation(
        _town,
        lambda rng: f"{rng.randint(2, 900)},{rng.randint(100, 999)} inhabitants",
        "{s} has {v}.|The population of {s} is {v}.|{v} live in {s}.",
        "How many inhabitants does {s} have?",
        "Population",
    ),
)
_ENDS = (
    "Terms apply.",
    "Please ask our staff for details.",
    "All figures were checked this year.",
    "See the annex for more.",
    "This notice replaces earlier ones.",
    "The list is not complete.",
)


@dataclass(frozen=True, slots=True)
class _Fact:
    relation: Relation
    subject: str
    value: str

    def stated(self, rng: random.Random, value: str | None = None, subject: str | None = None) -> str:
        subject = subject or self.subject
        text = rng.choice(self.relation.statements).format(s=subject, S=_capital(subject), v=value or self.value)
        return _capital(text)

    def asked(self, rng: random.Random) -> str:
        return rng.choice(self.relation.questions).format(s=self.subject, S=_capital(self.subject))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _small(text: str, fact: _Fact) -> str:
    """A statement after "and": its first word small unless it is a name."""
    name = text.startswith((fact.subject, fact.value)) and fact.subject[:1].isupper()
    return text if name or text.split(" ", maxsplit=1)[0] in fact.value else text[:1].lower() + text[1:]


def _facts(rng: random.Random) -> list[_Fact]:
    facts: list[_Fact] = []
    for relation in rng.sample(RELATIONS, rng.choice((1, 1, 2, 2, 3))):
        subjects = sorted({relation.subject(rng) for _ in range(rng.choice((2, 2, 3, 4, 5)))})
        rng.shuffle(subjects)
        values: list[str] = []
        for _ in range(60):
            value = relation.value(rng)
            if value not in values and value not in subjects and len(values) < len(subjects):
                values.append(value)
        facts += [_Fact(relation, s, v) for s, v in zip(subjects, values, strict=False)]
    return facts


def _premise(facts: list[_Fact], rng: random.Random) -> str:
    relations = {fact.relation.heading for fact in facts}
    way = rng.random()
    if len(relations) == 1 and way < 0.3:
        return _table(facts, rng) if way < 0.15 else _list(facts, rng)
    if len(relations) == 1 and way < 0.4 and len(facts) > 1:
        return _one_sentence(facts, rng)
    shuffled = rng.sample(facts, len(facts))
    joined: list[str] = []
    for fact in shuffled:
        text = fact.stated(rng)
        if joined and rng.random() < 0.25:
            joined[-1] = (
                joined[-1].rstrip(".") + rng.choice((", and ", "; ", ", while ", ", but ")) + _small(text, fact)
            )
        else:
            joined.append(text)
    if rng.random() < 0.3:
        joined.insert(rng.randrange(len(joined) + 1), rng.choice(_ENDS))
    return " ".join(joined)


def _table(facts: list[_Fact], rng: random.Random) -> str:
    heading = facts[0].relation.heading
    if rng.random() < 0.5:
        return "\n".join(f"Item: {_bare(fact.subject)}; {heading}: {fact.value}" for fact in facts)
    rows = "\n".join(f"| {_bare(fact.subject)} | {fact.value} |" for fact in facts)
    return f"| Item | {heading} |\n|---|---|\n{rows}"


def _list(facts: list[_Fact], rng: random.Random) -> str:
    mark = rng.choice(("- ", "* ", "• "))
    colon = rng.choice((": ", " – ", ": "))
    lines = "\n".join(f"{mark}{_capital(_bare(fact.subject))}{colon}{fact.value}" for fact in facts)
    return f"{facts[0].relation.heading}:\n{lines}"


def _one_sentence(facts: list[_Fact], rng: random.Random) -> str:
    items = [f"{fact.value} for {fact.subject}" for fact in facts]
    if rng.random() < 0.4:
        subjects, values = ", ".join(f.subject for f in facts[:-1]), ", ".join(f.value for f in facts[:-1])
        last = facts[-1]
        heading = facts[0].relation.heading.lower()
        return f"The {heading} of {subjects} and {last.subject} is {values} and {last.value} respectively."
    return f"{facts[0].relation.heading}: {', '.join(items[:-1])} and {items[-1]}."


def _bare(subject: str) -> str:
    return subject.removeprefix("the ").removeprefix("a ").removeprefix("an ")


def documents(rng: random.Random, count: int) -> Iterator[Example]:
    """About ``count`` pairs, grounding and relevance, in twos and threes of the same document."""
    made = number = 0
    while made < count:
        number += 1
        facts = _facts(rng)
        fact = rng.choice(facts)
        same = [each for each in facts if each.relation is fact.relation and each.subject != fact.subject]
        if not same:
            continue
        for example in _about(fact, rng.choice(same), facts, rng, f"parallel-{number}"):
            made += 1
            yield example


def _about(fact: _Fact, twin: _Fact, facts: list[_Fact], rng: random.Random, group: str) -> Iterator[Example]:
    premise = _premise(facts, rng)
    asked = fact.asked(rng)

    def pair(hypothesis: str, label: int, kind: str) -> Example:
        if rng.random() < 0.3:
            hypothesis = rng.choice((other_format, synonym, casual))(hypothesis, rng) or hypothesis
        return Example(premise, hypothesis, label, GROUNDING, f"parallel.{kind}", group)

    way = rng.random()
    if way < 0.5:
        yield pair(fact.stated(rng), 1, "true")
        yield pair(fact.stated(rng, twin.value), 0, "swap")
    elif way < 0.65:
        shape = rng.choice(("{q} {v}.", "{q} {v}", "{q} It is {v}.", "{q} The answer is {v}."))
        yield pair(shape.format(q=asked, v=_capital(fact.value)), 1, "answer")
        yield pair(shape.format(q=asked, v=_capital(twin.value)), 0, "answer-swap")
    else:
        yield from _two(fact, twin, facts, rng, pair)
    other = fact.relation.value(rng)
    if rng.random() < 0.2 and other not in premise:
        yield pair(fact.stated(rng, other), 0, "value")
    stranger = fact.relation.subject(rng)
    if rng.random() < 0.12 and _bare(stranger) not in premise:
        yield pair(fact.stated(rng, subject=stranger), 0, "subject")
    if rng.random() < 0.1:
        yield from _denied(fact, rng, pair)
    if rng.random() < 0.3:
        yield from _relevance(fact, twin, facts, rng, group)


def _two(
    fact: _Fact, twin: _Fact, facts: list[_Fact], rng: random.Random, pair: Callable[[str, int, str], Example]
) -> Iterator[Example]:
    """Claims that join two facts: right, both values exchanged, or one wrong."""
    joint = rng.choice((" and ", ", and ", ", while ", "; "))
    shape = rng.choice(fact.relation.statements)

    def both(one: str, other: str) -> str:
        first = _capital(shape.format(s=fact.subject, S=_capital(fact.subject), v=one)).rstrip(".")
        second = _capital(shape.format(s=twin.subject, S=_capital(twin.subject), v=other))
        return first + joint + _small(second, twin)

    yield pair(both(fact.value, twin.value), 1, "both")
    yield pair(both(twin.value, fact.value), 0, "both-swap")
    third = rng.choice([each for each in facts if each.subject != fact.subject])
    if third.relation is not fact.relation:
        text = third.stated(rng)
        yield pair(fact.stated(rng).rstrip(".") + joint + _small(text, third), 1, "join")
        wrong = third.stated(rng, third.relation.value(rng))
        yield pair(fact.stated(rng).rstrip(".") + joint + _small(wrong, third), 0, "join-wrong")


def _denied(fact: _Fact, rng: random.Random, pair: Callable[[str, int, str], Example]) -> Iterator[Example]:
    """The statement with "not"."""
    for plain, denied in (
        (" is ", " is not "),
        (" was ", " was not "),
        (" costs ", " does not cost "),
        (" includes ", " does not include "),
        (" weighs ", " does not weigh "),
        (" lives ", " does not live "),
        (" manages ", " does not manage "),
    ):
        text = fact.stated(rng)
        if plain in text:
            yield pair(text.replace(plain, denied, 1), 0, "denied")
            return


def _relevance(fact: _Fact, twin: _Fact, facts: list[_Fact], rng: random.Random, group: str) -> Iterator[Example]:
    """Any value of the right subject addresses the question; another subject or relation does not."""
    asked = fact.asked(rng)
    value = rng.choice((fact.value, twin.value, fact.relation.value(rng)))

    def pair(answer: str, label: int) -> Example:
        return Example(asked, answer, label, RELEVANCE, "parallel.relevance", group)

    yield pair(rng.choice((fact.stated(rng, value), _capital(value), f"It is {value}.")), 1)
    yield pair(twin.stated(rng), 0)
    others = [each for each in facts if each.relation is not fact.relation]
    if others:
        yield pair(rng.choice(others).stated(rng), 0)
