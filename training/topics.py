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
"""Answers of other topics of the same domain, and of other domains of its language, that each question gets."""

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
    chosen = [domain for domain in domains() if _lang(domain) in langs]
    for domain in chosen:
        far = [
            answer
            for other in chosen
            if other is not domain and _lang(other) == _lang(domain)
            for answer in _answers(other)
        ]
        for topic in domain["topics"]:
            group = f"topics-{domain['domain']}-{topic['topic']}"
            near = [answer for answer in _answers(domain) if answer not in topic["answers"]]
            for question in topic["questions"]:
                others = [*rng.sample(near, min(NEAR, len(near))), *rng.sample(far, min(FAR, len(far)))]
                for label, answers in ((1, topic["answers"]), (0, others)):
                    for answer in answers:
                        yield Example(*_filled(question, answer, rng), label, RELEVANCE, "topics", group)


def _lang(domain: dict[str, Any]) -> str:
    return str(domain.get("lang", "en"))


def _answers(domain: dict[str, Any]) -> list[str]:
    return [answer for topic in domain["topics"] for answer in topic["answers"]]
