"""Rewordings that keep a sentence true, and minimal edits that make it false: rules, no model.

Each takes a sentence and a random source and returns another sentence, or None where the rule does not apply. Used in
pairs: the same rewording goes before a true and a false hypothesis, so that it gives nothing away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    Rule = Callable[[str, random.Random], str | None]

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)
TENS = dict(zip("thirty forty fifty sixty seventy eighty ninety".split(), range(30, 100, 10), strict=True))
MONTHS = "January February March April May June July August September October November December".split()
MONTH = "|".join(MONTHS)
NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w]|[.,]\d)|(?<![\w.,-])\d+(?:\.\d+)?(?![\w]|[.,]\d)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-3]\d)\b")
NUMBER_WORD = re.compile(rf"\b({'|'.join(ONES[2:])}|{'|'.join(TENS)})\b")
NAME = re.compile(
    r"(?<![.!?:\"“]\s)(?<!^)\b(?:[A-Z][\w'’-]*[a-z]|[A-Z]{2,6})(?:\s(?:(?:of|the|de|van|von|del|la)\s)?(?:[A-Z][\w'’-]*[a-z]|[A-Z]{2,6}))*"
)
_NOT_NAMES = frozenset(
    "The A An In On At It He She They We I This That These Those But And However Although While After Before When As "
    "For By With From To If His Her Its Their There Here Some Many Most All Both Each No Not Yes Mr Mrs Ms Dr".split()
    + MONTHS
)


def names_in(text: str) -> list[str]:
    """Names of a text, by their capitals; the first word of a sentence is left out."""
    return [found.group() for found in NAME.finditer(text) if found.group() not in _NOT_NAMES]


def numbers_in(text: str) -> list[str]:
    """Numbers of a text as written, without those glued to letters."""
    return [found.group() for found in NUMBER.finditer(text)]


# --- rewordings ------------------------------------------------------------------------------------------------------

_SYNONYMS = tuple(
    tuple(group.split("|"))
    for group in (
        "began|started",
        "begins|starts",
        "large|big",
        "located in|situated in|found in",
        "also known as|also called",
        "purchased|bought",
        "famous|well-known",
        "approximately|about|around|roughly",
        "more than|over",
        "less than|under|fewer than",
        "children|kids",
        "film|movie",
        "several|a number of",
        "in order to|to",
        "such as|like",
        "due to|because of|owing to",
        "received|got|was given",
        "help|assist",
        "built|constructed",
        "tried to|attempted to",
        "shows|demonstrates",
        "shown|demonstrated",
        "use|make use of",
        "many|lots of|numerous",
        "nearly|almost",
        "quickly|rapidly|fast",
        "important|significant",
        "must|has to|needs to",
        "can|is able to",
        "may|might",
        "is not|isn't",
        "was not|wasn't",
        "does not|doesn't",
        "did not|didn't",
        "are not|aren't",
        "cannot|can't|can not",
        "will not|won't",
        "free of charge|at no cost|free",
        "allowed|permitted",
        "prohibited|forbidden|not allowed",
        "company|firm|business",
        "doctor|physician",
        "located|based",
        "whole|entire",
        "annually|every year|each year|yearly",
        "monthly|every month|each month|per month",
        "daily|every day|each day|per day",
        "weekly|every week|per week",
        "at least|no fewer than|a minimum of",
        "at most|no more than|up to|a maximum of",
        "finished|completed",
        "ended|concluded",
        "however,|but",
        "died|passed away",
        "killed|slain",
        "job|position",
        "money|funds",
        "chosen|selected|picked",
        "created|made",
        "requires|needs",
        "required|needed",
        "provides|offers|gives",
        "obtain|get",
        "according to|as stated by",
        "currently|at present|now",
        "earlier|previously",
        "later|afterwards",
        "in total|altogether",
        "enough|sufficient",
        "difficult|hard",
        "easy|simple",
        "car|automobile",
        "United States|U.S.|US|USA",
        "United Kingdom|UK",
        "World War II|the Second World War",
        "World War I|the First World War",
        "New York City|NYC",
        "European Union|EU",
    )
)
_ONE_WAY = frozenset("to like about under over but now".split())  # words that mean more than their group does
_SYNONYM_OF = {
    word: [other for other in group if other != word] for group in _SYNONYMS for word in group if word not in _ONE_WAY
}
_SYNONYM = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _SYNONYM_OF), key=len, reverse=True)) + r")(?!\w)")
_PREFIXES = (
    "According to the document, {}",
    "According to the text, {}",
    "The text says that {}",
    "The documents state that {}",
    "Yes, {}",
    "In short, {}",
    "Based on the information provided, {}",
    "As stated in the source, {}",
    "Sure: {}",
    "{} That is what the document says.",
    "The answer is that {}",
)
_UNITS = {
    "km": "kilometres|kilometers",
    "kg": "kilograms|kilos",
    "cm": "centimetres|centimeters",
    "mm": "millimetres|millimeters",
    "m": "metres|meters",
    "mph": "miles per hour",
    "ft": "feet",
    "lb": "pounds",
    "mg": "milligrams|milligrammes",
    "MW": "megawatts",
    "GB": "gigabytes",
    "MB": "megabytes",
    "hrs": "hours",
    "min": "minutes",
    "sq mi": "square miles",
    "km2": "square kilometres",
    "°C": "degrees Celsius",
}


def synonym(text: str, rng: random.Random) -> str | None:
    """One word or phrase for another that says the same."""
    found = list(_SYNONYM.finditer(text))
    if not found:
        return None
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(_SYNONYM_OF[at.group()]) + text[at.end() :]


def other_format(text: str, rng: random.Random) -> str | None:
    """A number, date, unit, percentage or amount written in another way."""
    ways = [way(text, rng) for way in (_date, _thousands, _word_for_digits, _digits_for_word, _percent, _amount, _unit)]
    ways = [way for way in ways if way and way != text]
    return rng.choice(ways) if ways else None


def _date(text: str, rng: random.Random) -> str | None:
    short = rng.random() < 0.3

    def month(name: str) -> str:
        return name[:3] if short else name

    out = re.sub(rf"\b({MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?, (\d{{4}})", lambda m: f"{m[2]} {month(m[1])} {m[3]}", text)
    if out != text:
        return out
    out = re.sub(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? ({MONTH}) (\d{{4}})", lambda m: f"{month(m[2])} {m[1]}, {m[3]}", text)
    if out != text:
        return out
    out = re.sub(rf"\b({MONTH}) (\d{{1,2}})\b(?!,? \d)", lambda m: f"{m[2]} {month(m[1])}", text)
    return out if out != text else None


def _thousands(text: str, rng: random.Random) -> str | None:
    def bare(m: re.Match[str]) -> str:
        return m.group().replace(",", "")

    out = re.sub(r"\b\d{1,3}(?:,\d{3})+\b", bare, text)
    if out != text and rng.random() < 0.5:
        return out
    out = re.sub(r"(?<![\d,.])(\d)(\d)?00,000(?!,)", lambda m: f"{m[1]}{m[2] or ''}00 thousand", text)
    return out if out != text else re.sub(r"\b\d{5,9}\b", lambda m: f"{int(m.group()):,}", text)


def _word_for_digits(text: str, rng: random.Random) -> str | None:
    found = [m for m in NUMBER.finditer(text) if m.group().isdigit() and 2 <= int(m.group()) <= 20]
    if not found:
        return None
    at = rng.choice(found)
    if text[at.end() : at.end() + 1] in "%-–:/" or text[at.start() - 1 : at.start()] in "$£€-–:/":
        return None
    if re.search(rf"(?:{MONTH}) $", text[: at.start()]) or re.match(rf" (?:{MONTH})", text[at.end() :]):
        return None
    return text[: at.start()] + ONES[int(at.group())] + text[at.end() :]


def _digits_for_word(text: str, rng: random.Random) -> str | None:
    found = list(NUMBER_WORD.finditer(text))
    if not found:
        return None
    at = rng.choice(found)
    if text[at.end() : at.end() + 1] == "-":
        return None
    word = at.group()
    return text[: at.start()] + str(TENS.get(word) or ONES.index(word)) + text[at.end() :]


def _percent(text: str, rng: random.Random) -> str | None:
    if "%" in text:
        return re.sub(r"\s?%", rng.choice((" percent", " per cent", " %")), text)
    out = re.sub(r" per ?cent\b", "%", text)
    return out if out != text else None


def _amount(text: str, rng: random.Random) -> str | None:
    ways = (
        (r"(?:US)?\$(\d[\d.,]*\d|\d)( (?:million|billion|thousand))?", lambda m: f"{m[1]}{m[2] or ''} dollars"),
        (r"€(\d[\d.,]*\d|\d)( (?:million|billion))?", lambda m: f"{m[1]}{m[2] or ''} euros"),
        (r"£(\d[\d.,]*\d|\d)( (?:million|billion))?", lambda m: f"{m[1]}{m[2] or ''} pounds"),
        (r"\b(\d[\d.,]*\d|\d) dollars\b", lambda m: f"${m[1]}"),
        (r"\b(\d[\d.,]*\d|\d) euros\b", lambda m: f"€{m[1]}"),
        (r"\b(\d[\d.]*) million\b", lambda m: f"{m[1]}M" if rng.random() < 0.5 else m.group()),
    )
    for pattern, write in ways:
        out = re.sub(pattern, write, text)
        if out != text:
            return out
    return None


def _unit(text: str, rng: random.Random) -> str | None:
    for short, long in _UNITS.items():
        names = long.split("|")
        out = re.sub(rf"(?<=\d)\s?{re.escape(short)}(?![\w/])", f" {rng.choice(names)}", text)
        if out != text:
            return out
        out = re.sub(rf"(?<=\d) (?:{long})\b", f" {short}", text)
        if out != text:
            return out
    return None


def prefix(text: str, rng: random.Random) -> str | None:
    """Words that say nothing but that it is said."""
    body = text if names_first(text) or rng.random() < 0.3 else text[:1].lower() + text[1:]
    return rng.choice(_PREFIXES).format(body)


def names_first(text: str) -> bool:
    """Whether the first word would keep its capital anywhere."""
    first = text.split(" ", 1)[0]
    return first.strip(",.'\"") not in _NOT_NAMES or first == "I"


def drop_aside(text: str, rng: random.Random) -> str | None:
    """Leave out brackets, a relative clause, or what follows the last comma."""
    ways = []
    out = re.sub(r"\s*\([^()]*\)", "", text)
    if out != text:
        ways.append(out)
    out = re.sub(r", (?:which|who|whose|where)\b[^,;.]*,", "", text, count=1)
    out = re.sub(r", (?:which|who|whose|where)\b[^,;.]*(?=[.!]$)", "", out, count=1)
    if out != text:
        ways.append(out)
    end = re.search(r", (?:\w+ing|and \w+ed|but|while|although|with|making|including|as)\b[^,;]*[.!]$", text)
    if end and end.start() > 30:
        ways.append(text[: end.start()] + ".")
    half = re.search(r"(?:, and|, but|;) (?:it|he|she|they|the|there|this|its|his|her)\b[^;]*[.!]$", text)
    if half and half.start() > 30:
        ways.append(text[: half.start()] + ".")
    return rng.choice(ways) if ways else None


def move_opening(text: str, rng: random.Random) -> str | None:  # noqa: ARG001 - a rule's shape
    """Turn "In 1990, the firm moved." into "The firm moved in 1990"."""
    found = re.match(r"(In|On|During|After|Since|By|At|Before|Until) ([^,]{3,40}), ([^;]{15,160})\.$", text)
    if not found:
        return None
    rest = found[3][:1].upper() + found[3][1:]
    return f"{rest} {found[1].lower()} {found[2]}."


def passive(text: str, rng: random.Random) -> str | None:  # noqa: ARG001 - as above
    """Turn "A was founded by B." into "B founded A"."""
    found = re.match(
        r"(.{3,60}?) (?:was|were) (\w+ed|written|won|built|made|held|led|sold|bought) by ([^,;]{3,60})\.$", text
    )
    if not found:
        return None
    verb = {"written": "wrote"}.get(found[2], found[2])
    who = found[3][:1].upper() + found[3][1:]
    what = found[1] if names_first(found[1]) else found[1][:1].lower() + found[1][1:]
    return f"{who} {verb} {what}."


def short_name(text: str, rng: random.Random) -> str | None:
    """A person by the last name alone."""
    found = list(re.finditer(r"\b[A-Z][a-z]{2,} ([A-Z][a-z]{3,})\b(?! [A-Z])", text))
    if not found:
        return None
    at = rng.choice(found)
    return text[: at.start()] + at.group(1) + text[at.end() :]


def casual(text: str, rng: random.Random) -> str | None:
    """Small letters throughout, no full stop, or marks of emphasis."""
    way = rng.randrange(3)
    if way == 0:
        return text.lower()
    if way == 1:
        return text.rstrip(".")
    words = text.split(" ")
    at = rng.randrange(len(words))
    words[at] = f"**{words[at]}**"
    return " ".join(words)


REWORDINGS: tuple[tuple[Rule, float], ...] = (
    (synonym, 3),
    (other_format, 4),
    (prefix, 1.5),
    (drop_aside, 2.5),
    (move_opening, 1.5),
    (passive, 1.5),
    (short_name, 0.7),
    (casual, 0.7),
)


def reworded(text: str, rng: random.Random, steps: int) -> str:
    """Up to ``steps`` rewordings, one after the other."""
    rules, weights = zip(*REWORDINGS, strict=True)
    for _ in range(steps):
        text = rng.choices(rules, weights)[0](text, rng) or text
    return text


# --- minimal edits -----------------------------------------------------------------------------------------------

_OPPOSITES = tuple(
    tuple(pair.split("|"))
    for pair in (
        "increased|decreased",
        "increase|decrease",
        "rose|fell",
        "higher|lower",
        "more|less",
        "most|least",
        "first|last",
        "before|after",
        "maximum|minimum",
        "at least|at most",
        "more than|less than",
        "over|under",
        "up to|at least",
        "north|south",
        "northern|southern",
        "east|west",
        "eastern|western",
        "won|lost",
        "open|closed",
        "opened|closed",
        "allowed|prohibited",
        "permitted|forbidden",
        "includes|excludes",
        "included|excluded",
        "with|without",
        "always|never",
        "all|some",
        "every|no",
        "many|few",
        "often|rarely",
        "early|late",
        "old|new",
        "older|younger",
        "larger|smaller",
        "largest|smallest",
        "highest|lowest",
        "longest|shortest",
        "best|worst",
        "male|female",
        "men|women",
        "man|woman",
        "father|mother",
        "son|daughter",
        "brother|sister",
        "husband|wife",
        "king|queen",
        "started|ended",
        "began|ended",
        "accepted|rejected",
        "approved|refused",
        "support|oppose",
        "supported|opposed",
        "success|failure",
        "successful|unsuccessful",
        "possible|impossible",
        "legal|illegal",
        "public|private",
        "left|right",
        "hot|cold",
        "inside|outside",
        "above|below",
        "buy|sell",
        "bought|sold",
        "free|paid",
        "required|optional",
        "must|need not",
        "can|cannot",
        "same|different",
        "only|not only",
        "positive|negative",
        "alive|dead",
        "born|died",
        "single|married",
        "full|empty",
        "front|back",
        "summer|winter",
        "morning|evening",
        "import|export",
        "arrived|left",
        "enter|leave",
        "hired|fired",
        "gained|lost",
        "agreed|refused",
        "likes|hates",
        "strong|weak",
        "rich|poor",
        "monthly|yearly",
        "weekly|daily",
        "daily|monthly",
        "hours|days",
        "days|weeks",
        "weeks|months",
        "months|years",
        "minutes|hours",
        "million|billion",
        "thousand|million",
        "km|miles",
        "kilometres|miles",
        "metres|feet",
        "kg|pounds",
        "dollars|euros",
    )
)
_OPPOSITE_OF: dict[str, list[str]] = {}
for _one, _other in _OPPOSITES:
    _OPPOSITE_OF.setdefault(_one, []).append(_other)
    _OPPOSITE_OF.setdefault(_other, []).append(_one)
_OPPOSITE = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _OPPOSITE_OF), key=len, reverse=True)) + r")\b")
_AUXILIARY = re.compile(r"\b(is|was|are|were|has|had|can|could|will|would|should|may|must|does|did)\b(?! not|n't)")
_NOT = re.compile(r"\b(is|was|are|were|has|had|can|could|will|would|should|may|must|does|did)(?: not|n't)\b|\bcannot\b")
_PAST = re.compile(r"\b(\w{3,}ed)\b")


@dataclass(slots=True)
class Pool:
    """What may be put in a value's place: names and numbers of the same text, and of others."""

    near_names: list[str] = field(default_factory=list)
    near_numbers: list[str] = field(default_factory=list)
    far_names: Sequence[str] = ()
    far_clauses: Sequence[str] = ()


def other_number(text: str, rng: random.Random, pool: Pool) -> str | None:
    """Another number, year or day: a digit changed, one of the same text, or ten times as much."""
    found = list(NUMBER.finditer(text))
    words = list(NUMBER_WORD.finditer(text))
    if words and (not found or rng.random() < 0.3):
        at = rng.choice(words)
        other = rng.choice([word for word in ONES[2:] if word != at.group()])
        return text[: at.start()] + other + text[at.end() :]
    if not found:
        return None
    at = rng.choice(found)
    old = at.group()
    near = [each for each in pool.near_numbers if each not in text and _alike(each, old)]
    new = rng.choice(near) if near and rng.random() < 0.4 else _tweaked(old, rng)
    return None if new == old else text[: at.start()] + new + text[at.end() :]


def _alike(one: str, other: str) -> bool:
    return (YEAR.fullmatch(one) is None) == (YEAR.fullmatch(other) is None) and ("." in one) == ("." in other)


def _tweaked(number: str, rng: random.Random) -> str:
    plain = number.replace(",", "")
    if YEAR.fullmatch(number):
        return str(int(number) + rng.choice((-30, -12, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 11, 20)))
    if rng.random() < 0.25:
        value = float(plain) * rng.choice((0.1, 0.5, 2, 3, 10, 100))
        out = f"{value:,.0f}" if value >= 1 else f"{value:g}"
        return out if "," in number or value < 1000 else out.replace(",", "")
    digits = [at for at, character in enumerate(number) if character.isdigit()]
    at = rng.choice(digits)
    choices = [digit for digit in "123456789" if digit != number[at]]
    return number[:at] + rng.choice(choices) + number[at + 1 :]


def other_month(text: str, rng: random.Random, pool: Pool) -> str | None:  # noqa: ARG001 - an edit's shape
    """Another month or weekday."""
    days = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
    found = list(re.finditer(rf"\b(?:{MONTH}|{days})\b", text))
    if not found:
        return None
    at = rng.choice(found)
    group = MONTHS if at.group() in MONTHS else days.split("|")
    return text[: at.start()] + rng.choice([each for each in group if each != at.group()]) + text[at.end() :]


def other_name(text: str, rng: random.Random, pool: Pool) -> str | None:
    """Another name: of the same text, or of another."""
    found = [m for m in NAME.finditer(text) if m.group() not in _NOT_NAMES]
    if not found:
        return None
    at = rng.choice(found)
    old = at.group()
    near = [name for name in pool.near_names if not (set(name.split()) & set(old.split())) and name not in text]
    far = [name for name in rng.sample(list(pool.far_names), min(12, len(pool.far_names))) if name not in text]
    far.sort(key=lambda name: abs(len(name.split()) - len(old.split())))
    new = rng.choice(near) if near and rng.random() < 0.6 else (far[0] if far else None)
    return None if new is None else text[: at.start()] + new + text[at.end() :]


def swapped_names(text: str, rng: random.Random, pool: Pool) -> str | None:  # noqa: ARG001 - as above
    """Two names of the sentence in each other's place, unless they only stand in a list."""
    found = [m for m in NAME.finditer(text) if m.group() not in _NOT_NAMES]
    pairs = [
        (a, b)
        for a, b in pairwise(found)
        if a.group() != b.group() and not re.fullmatch(r",? (?:and|or|&) |, ", text[a.end() : b.start()])
    ]
    pairs = [(a, b) for a, b in pairs if len(text[a.end() : b.start()]) > 8]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    return text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]


def swapped_numbers(text: str, rng: random.Random, pool: Pool) -> str | None:  # noqa: ARG001 - as above
    """Two numbers of the sentence in each other's place."""
    found = list(NUMBER.finditer(text))
    pairs = [
        (a, b)
        for a, b in pairwise(found)
        if a.group() != b.group() and _alike(a.group(), b.group()) and b.start() - a.end() > 6
    ]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    return text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]


def negated(text: str, rng: random.Random, pool: Pool) -> str | None:  # noqa: ARG001 - as above
    """ "Not" put in or taken out."""  # noqa: D210
    found = _NOT.search(text)
    if found:
        plain = "can" if found.group() == "cannot" else found.group(1)
        return text[: found.start()] + plain + text[found.end() :]
    auxiliaries = list(_AUXILIARY.finditer(text))
    if auxiliaries:
        at = auxiliaries[0]
        return text[: at.end()] + rng.choice((" not", " not", " never")) + text[at.end() :]
    past = _PAST.search(text)
    if past:
        stem = past.group(1)[:-2]
        return text[: past.start()] + rng.choice((f"did not {stem}", f"never {past.group(1)}")) + text[past.end() :]
    return None


def opposite(text: str, rng: random.Random, pool: Pool) -> str | None:  # noqa: ARG001 - as above
    """A word for its opposite, or a unit for another."""
    found = list(_OPPOSITE.finditer(text))
    if not found:
        return None
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(_OPPOSITE_OF[at.group()]) + text[at.end() :]


_ADDED = (
    "in {year}",
    "since {year}",
    "for {few} years",
    "at a cost of ${number}",
    "by {few} percent",
    "in {name}",
    "with {name}",
    "according to {name}",
    "because of {name}",
    "for the first time",
    "every {few} months",
    "at no extra charge",
    "within {few} hours",
    "together with {name}",
    "and won an award for it",
    "and this was widely criticised",
    "and it applies to all customers",
    "which made it the largest in the world",
    "which was later confirmed by {name}",
    "and {number} people took part",
    "and it is available free of charge",
    "despite strong opposition",
    "on the advice of {name}",
    "and the rest is refunded",
)


def added_claim(text: str, rng: random.Random, pool: Pool) -> str | None:
    """Something more than the sentence says: a detail, or a clause of another text."""
    stem = text.rstrip(" .")
    if pool.far_clauses and rng.random() < 0.45:
        clause = rng.choice(pool.far_clauses)
        clause = clause if names_first(clause) else clause[:1].lower() + clause[1:]
        return f"{stem}{rng.choice((', and ', ', while ', '. ', '; '))}{clause.rstrip(' .')}."
    name = rng.choice(pool.far_names) if pool.far_names else "the council"
    detail = rng.choice(_ADDED).format(
        year=rng.randint(1900, 2025), few=rng.choice(ONES[2:13]), number=rng.randint(3, 900), name=name
    )
    return f"{stem}{',' if detail.startswith(('and', 'which')) else ''} {detail}."


EDITS: tuple[tuple[Callable[[str, random.Random, Pool], str | None], float], ...] = (
    (other_number, 5),
    (other_month, 1.5),
    (other_name, 3),
    (swapped_names, 2.5),
    (swapped_numbers, 4),
    (negated, 1.2),
    (opposite, 2),
    (added_claim, 1.2),
)


def edited(text: str, rng: random.Random, pool: Pool) -> tuple[str, str] | None:
    """One minimal edit and its rule's name; None when no rule applies."""
    rules = list(EDITS)
    while rules:
        rule = rng.choices(rules, [weight for _, weight in rules])[0]
        out = rule[0](text, rng, pool)
        if out and out.casefold() != text.casefold():
            return out, rule[0].__name__
        rules.remove(rule)
    return None
