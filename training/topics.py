"""Questions asked in many words and answers that share none with them: pairs for relevance.

The public sets hold questions whose answer stands in a sentence much like them. Users ask "How many holidays do I
get?" of a page that speaks of annual leave. ``topics/*.json`` holds, for kinds of documents that assistants answer
from, questions and answers of topics that lie close together: any answer of a topic addresses any of its questions,
true or not, and none of another topic's. Written for this; not taken from any data set.

Shape of a file: ``[{"domain", "lang"?, "topics": [{"topic", "questions": [str], "answers": [str]}]}]``; slots such as
``{n}`` or ``{date}`` get a value for each pair.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relations import firm, money, person, town, word
from sets import RELEVANCE, Example

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

FILES = Path(__file__).parent / "topics"
NEAR, FAR = 7, 1
"""Answers of other topics of the same domain, and of other domains, that each question is paired with."""

SLOT = re.compile(r"\{(\w+)\}")
_MONTHS = "January February March April May June July August September October November December".split()


def _code(rng: random.Random) -> str:
    return rng.choice(("E{}", "KX-{}", "F{}", "P0{}", "ERR-{}")).format(rng.randint(1, 99))


def _date(rng: random.Random) -> str:
    day, month = rng.randint(1, 28), rng.choice(_MONTHS)
    return rng.choice((f"{day} {month}", f"{month} {day}", f"{day} {month} {rng.randint(1990, 2027)}"))


VALUES = {
    "n": lambda rng: str(rng.randint(2, 30)),
    "m": lambda rng: str(rng.randint(31, 90)),
    "big": lambda rng: f"{rng.randint(1, 900) * 1_000:,}",
    "money": money,
    "pct": lambda rng: f"{rng.randint(1, 95)}%",
    "date": _date,
    "year": lambda rng: str(rng.randint(1900, 2027)),
    "time": lambda rng: rng.choice((f"{rng.randint(1, 12)} pm", f"{rng.randint(6, 23)}:{rng.choice(('00', '30'))}")),
    "name": person,
    "org": firm,
    "place": town,
    "product": lambda rng: word(rng).capitalize() + rng.choice(("", " Pro", " 300", " Mini")),
    "code": _code,
}


def domains(folder: Path = FILES) -> list[dict[str, Any]]:
    """Every domain of every file."""
    return [domain for path in sorted(folder.glob("*.json")) for domain in json.loads(path.read_text("utf-8"))]


def _filled(question: str, answer: str, rng: random.Random) -> tuple[str, str]:
    """Both with values: a slot that stands in both gets one."""
    values: dict[str, str] = {}

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in values:
            values[name] = VALUES[name](rng)
        return values[name]

    return SLOT.sub(value, question), SLOT.sub(value, answer)


def pairs(rng: random.Random, langs: tuple[str, ...]) -> Iterator[Example]:
    """Every question with every answer of its topic, and with some of others."""
    chosen = [domain for domain in domains() if domain.get("lang", "en") in langs]
    everything = [
        (domain["domain"], answer) for domain in chosen for each in domain["topics"] for answer in each["answers"]
    ]
    for domain in chosen:
        group = f"topics-{domain['domain']}"

        def pair(question: str, answer: str, label: int, source: str, group: str = group) -> Example:
            return Example(*_filled(question, answer, rng), label, RELEVANCE, source, group)

        for topic in domain["topics"]:
            near = [answer for other in domain["topics"] if other is not topic for answer in other["answers"]]
            for question in topic["questions"]:
                for answer in topic["answers"]:
                    yield pair(question, answer, 1, "topics")
                for answer in rng.sample(near, min(NEAR, len(near))):
                    yield pair(question, answer, 0, "topics.near")
                far = [answer for name, answer in rng.sample(everything, 20) if name != domain["domain"]]
                for answer in far[:FAR]:
                    yield pair(question, answer, 0, "topics.far")
