"""Made-up documents of parallel facts: the same relation stated of several subjects, in prose, lists and tables.

A hypothesis restates one or two of them, or binds a value to the wrong subject. Small encoders match words; only such
pairs teach them which value belongs to which subject. Names are mostly invented, so that nothing can be known by heart.
Lists of questions and their answers teach that "No." denies what the question says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edits import casual, other_format, synonym
from relations import ENGLISH, Language, Relation
from sets import GROUNDING, RELEVANCE, Example

from proxy.grounding.labels import told_row

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator


FAQ_SHARE, WIDE_SHARE = 0.06, 0.14
"""Of the documents: lists of questions with their answers, and tables of several columns."""

FEATURES = (
    "priority support|offline maps|single sign-on|a spare key|free delivery|breakfast|a gift box|live chat|audit logs|"
    "a touch screen|parking|night mode|a charger|data export|weekend access|voice control|a carrying case|insurance"
).split("|")
_HAS = ("{S} includes {f}.", "{S} comes with {f}.", "{S} has {f}.", "With {s} you get {f}.", "{S} offers {f}.")
_LACKS = ("{S} does not include {f}.", "{S} comes without {f}.", "{S} has no {f}.", "There is no {f} with {s}.")
_MARKS = (("yes", "no"), ("Yes", "No"), ("✓", "–"), ("included", "not included"), ("x", "-"), ("✔", "✘"))
_FIRST_COLUMN = ("Item", "Name", "Product", "Model", "Entry", "Title", "Type", "")
_IN_A_UNIT = re.compile(r"([\d.,]+) (\w+)")


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


def _facts(rng: random.Random, language: Language) -> list[_Fact]:
    facts: list[_Fact] = []
    for relation in rng.sample(language.relations, rng.choice((1, 1, 2, 2, 3))):
        subjects = sorted({relation.subject(rng) for _ in range(rng.choice((2, 2, 3, 4, 5)))})
        rng.shuffle(subjects)
        values: list[str] = []
        for _ in range(60):
            value = relation.value(rng)
            if value not in values and value not in subjects and len(values) < len(subjects):
                values.append(value)
        facts += [_Fact(relation, s, v) for s, v in zip(subjects, values, strict=False)]
    return facts


def _premise(facts: list[_Fact], rng: random.Random, language: Language) -> str:
    relations = {fact.relation.heading for fact in facts}
    way = rng.random()
    if len(relations) == 1 and way < 0.3:
        return _table(facts, rng) if way < 0.15 else _list(facts, rng)
    if len(relations) == 1 and way < 0.4 and len(facts) > 1 and language is ENGLISH:
        return _one_sentence(facts, rng)
    shuffled = rng.sample(facts, len(facts))
    joined: list[str] = []
    for fact in shuffled:
        text = fact.stated(rng)
        if joined and language.joins and rng.random() < 0.25:
            joined[-1] = joined[-1].rstrip(".") + rng.choice(language.joins) + _small(text, fact)
        else:
            joined.append(text)
    if language.ends and rng.random() < 0.3:
        joined.insert(rng.randrange(len(joined) + 1), rng.choice(language.ends))
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


def documents(rng: random.Random, count: int, language: Language = ENGLISH, name: str = "en") -> Iterator[Example]:
    """About ``count`` pairs, grounding and relevance, in twos and threes of the same document."""
    made = number = 0
    while made < count:
        number += 1
        group = f"parallel-{name}-{number}"
        way = rng.random()
        if way < FAQ_SHARE:
            examples = list(_answered(rng, language, group))
        elif way < FAQ_SHARE + WIDE_SHARE:
            examples = list(_wide(rng, language, group))
        else:
            facts = _facts(rng, language)
            fact = rng.choice(facts)
            same = [each for each in facts if each.relation is fact.relation and each.subject != fact.subject]
            if not same:
                continue
            examples = list(_Document(facts, fact, rng.choice(same), rng, language, group).pairs())
        made += len(examples)
        yield from examples


def _answered(rng: random.Random, language: Language, group: str) -> Iterator[Example]:
    """Questions with yes or no for an answer, what that affirms, and what it denies."""
    asked = rng.sample(language.faq, min(len(language.faq), rng.choice((1, 2, 3))))
    answers = [rng.random() < 0.5 for _ in asked]
    told = [
        f"{question} {rng.choice(language.yes if yes else language.no)}"
        for (question, _, _), yes in zip(asked, answers, strict=True)
    ]
    premise = rng.choice((" ", "\n")).join(told)
    at = rng.randrange(len(asked))
    _, affirmed, denied = asked[at]
    yield Example(premise, affirmed, int(answers[at]), GROUNDING, "parallel.faq", group)
    yield Example(premise, denied, int(not answers[at]), GROUNDING, "parallel.faq", group)


def _wide(rng: random.Random, language: Language, group: str) -> Iterator[Example]:
    """A table of several columns, and what it says of a row: read as the product reads rows, or as it is written."""
    of: dict[Callable[[random.Random], str], list[Relation]] = defaultdict(list)
    for each in language.relations:
        of[each.subject].append(each)
    relations = rng.choice([several for several in of.values() if len(several) > 1])
    relations = rng.sample(relations, min(len(relations), rng.choice((2, 3, 4, 6))))
    subjects: list[str] = []
    while len(subjects) < 2:
        subjects = list(dict.fromkeys(relations[0].subject(rng) for _ in range(rng.choice((3, 4, 5)))))
    columns = [[_Fact(each, subject, each.value(rng)) for subject in subjects] for each in relations]
    features = rng.sample(FEATURES, rng.choice((0, 1, 2))) if language is ENGLISH else []
    held = [[rng.random() < 0.5 for _ in subjects] for _ in features]
    table = _Table(
        rng,
        [rng.choice(_FIRST_COLUMN) if language is ENGLISH else "", *(each.heading for each in relations), *features],
        [[_bare(each) for each in subjects], *([fact.value for fact in column] for column in columns)],
    )
    table.mark(held)
    at = rng.randrange(len(subjects))
    premise = table.read(at)

    def pair(hypothesis: str, label: int, kind: str) -> Example:
        return Example(premise, hypothesis, label, GROUNDING, f"parallel.wide.{kind}", group)

    column = rng.choice(columns)
    fact, others = column[at], [each for each in column if each.value != column[at].value]
    yield pair(fact.stated(rng), 1, "true")
    if others:
        yield pair(fact.stated(rng, rng.choice(others).value), 0, "swap")
    if language.joins:
        second = rng.choice([each for each in columns if each is not column])
        joint, told = rng.choice(language.joins), _small(second[at].stated(rng), second[at])
        yield pair(fact.stated(rng).rstrip(".") + joint + told, 1, "both")
        wrong = [each.value for each in second if each.value != second[at].value]
        if wrong:
            told = _small(second[at].stated(rng, rng.choice(wrong)), second[at])
            yield pair(fact.stated(rng).rstrip(".") + joint + told, 0, "both-wrong")
    if features:
        number = rng.randrange(len(features))
        has, subject, bare = held[number][at], subjects[at], features[number]
        for shapes, right in ((_HAS, has), (_LACKS, not has)):
            named = bare if shapes is _HAS else bare.removeprefix("a ")
            told = rng.choice(shapes).format(s=subject, S=_capital(subject), f=named)
            yield pair(told, int(right), "feature")


class _Table:
    """Names of columns and, column by column, their cells."""

    def __init__(self, rng: random.Random, names: list[str], columns: list[list[str]]) -> None:
        self._rng, self._names, self._columns = rng, names, columns
        for number, cells in enumerate(columns):
            units = [_IN_A_UNIT.fullmatch(cell) for cell in cells]
            if (
                number
                and rng.random() < 0.5
                and len({unit.group(2) if unit else "" for unit in units}) == 1
                and units[0]
            ):
                self._names[number] += rng.choice((f" ({units[0].group(2)})", f" in {units[0].group(2)}"))
                self._columns[number] = [unit.group(1) for unit in units if unit]

    def mark(self, held: list[list[bool]]) -> None:
        """Add columns of what each row has or has not."""
        yes, no = self._rng.choice(_MARKS)
        self._columns += [[yes if has else no for has in column] for column in held]
        order = [0, *self._rng.sample(range(1, len(self._columns)), len(self._columns) - 1)]
        self._names = [_capital(self._names[number].removeprefix("a ")) for number in order]
        self._columns = [self._columns[number] for number in order]

    def read(self, at: int) -> str:
        """Evidence that holds a row: alone, beside another, all of them, or the table as it is written."""
        rng, rows = self._rng, [list(cells) for cells in zip(*self._columns, strict=True)]
        told = [told_row(self._names, cells) for cells in rows]
        way = rng.random()
        if way < 0.55:
            return told[at]
        if way < 0.7:
            other = rng.choice([number for number in range(len(rows)) if number != at])
            return "\n".join(told[number] for number in sorted((at, other)))
        if way < 0.85:
            return "\n".join(told)
        lines = [self._names, ["---"] * len(self._names), *rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@dataclass(frozen=True, slots=True)
class _Document:
    """A document of ``facts``, asked about one of them; ``twin`` is another of its relation."""

    facts: list[_Fact]
    fact: _Fact
    twin: _Fact
    rng: random.Random
    language: Language
    group: str

    def pairs(self) -> Iterator[Example]:
        """What restates the fact, and what binds it wrongly."""
        rng, fact, twin = self.rng, self.fact, self.twin
        premise = _premise(self.facts, rng, self.language)
        asked = fact.asked(rng)
        english = self.language is ENGLISH

        def pair(hypothesis: str, label: int, kind: str) -> Example:
            if english and rng.random() < 0.3:
                hypothesis = rng.choice((other_format, synonym, casual))(hypothesis, rng) or hypothesis
            return Example(premise, hypothesis, label, GROUNDING, f"parallel.{kind}", self.group)

        way = rng.random()
        if way < 0.5 or (not english and way > 0.65):
            yield pair(fact.stated(rng), 1, "true")
            yield pair(fact.stated(rng, twin.value), 0, "swap")
        elif way < 0.65:
            shape = rng.choice(
                ("{q} {v}.", "{q} {v}", *(("{q} It is {v}.", "{q} The answer is {v}.") if english else ()))
            )
            yield pair(shape.format(q=asked, v=_capital(fact.value)), 1, "answer")
            yield pair(shape.format(q=asked, v=_capital(twin.value)), 0, "answer-swap")
        else:
            yield from _two(fact, twin, self.facts, rng, pair)
        if fact.relation.subject is fact.relation.value and rng.random() < 0.5:
            yield pair(fact.stated(rng), 1, "true")
            yield pair(fact.stated(rng, value=fact.subject, subject=fact.value), 0, "turned")
        other = fact.relation.value(rng)
        if rng.random() < 0.2 and other not in premise:
            yield pair(fact.stated(rng, other), 0, "value")
        stranger = fact.relation.subject(rng)
        if rng.random() < 0.12 and _bare(stranger) not in premise:
            yield pair(fact.stated(rng, subject=stranger), 0, "subject")
        if english and rng.random() < 0.1:
            yield from _denied(fact, rng, pair)
        if rng.random() < 0.3:
            yield from _relevance(fact, twin, self.facts, rng, self.group, english=english)


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


def _relevance(
    fact: _Fact, twin: _Fact, facts: list[_Fact], rng: random.Random, group: str, *, english: bool
) -> Iterator[Example]:
    """Any value of the right subject addresses the question; another subject or relation does not."""
    asked = fact.asked(rng)
    value = rng.choice((fact.value, twin.value, fact.relation.value(rng)))

    def pair(answer: str, label: int) -> Example:
        return Example(asked, answer, label, RELEVANCE, "parallel.relevance", group)

    yield pair(rng.choice((fact.stated(rng, value), _capital(value), f"It is {value}." if english else value)), 1)
    yield pair(twin.stated(rng), 0)
    others = [each for each in facts if each.relation is not fact.relation]
    if others:
        yield pair(rng.choice(others).stated(rng), 0)
