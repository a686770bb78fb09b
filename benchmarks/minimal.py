"""Minimal edits of documents of evaluation sets: one thing wrong in an otherwise faithful sentence, and paraphrases.

The documents are those of ``summacval_factcc.dev`` and ``frank.valid`` (news) and ``wice_claim.test`` (web pages):
nothing was trained on them. The rules are written for this file alone and share no code with training/edits.py.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from typing import TYPE_CHECKING

from proxy.grounding.claims import segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FAMILIES = {
    "paraphrase": ("≤ 10 %", "21 %"),
    "wrong number": ("95 %", "57 %"),
    "wrong date": ("95 %", ""),
    "wrong name": ("", ""),
    "negation": ("", ""),
    "swapped roles": ("85 %", "0 %"),
    "wrong row": ("85 %", "0 %"),
    "added claim": ("95 %", "93 %"),
}
"""Kind of edit: share to be caught (of paraphrases: most false alarms), and what HHEM-2.1 reaches."""

FILES = ("summacval_factcc.dev", "frank.valid", "wice_claim.test")
_NUMBER = re.compile(r"(?<![\w.,$£€-])\d{1,3}(?:,\d{3})*(?![\w.,%-]\d|\w|%|,\d)")
_YEAR = re.compile(r"\b(?:1[89]\d\d|20[0-2]\d)\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+\b")
_VERB = re.compile(r"\b(is|was|are|were|has|had|can|will|would)\b (?!not\b)")
_OPENING = re.compile(r"^(In|On|After|During|Since) ([^,]{3,30}), ([^,;]{20,120})\.$")
_ASIDE = re.compile(r", (?:which|who) [^,.;]+(?=[,.])")
_BY = re.compile(r"^([A-Z][^,;]{2,50}) (?:was|were) (\w+ed) by ([A-Z][^,;]{2,50})\.$")
_ADDITIONS = (
    ", and the decision was taken unanimously.",
    ", and a second one is planned for next spring.",
    ", which cost about $40 million.",
    ", to the surprise of several experts.",
    ", and a refund is available on request.",
    ", as a spokesman for the ministry confirmed on Friday.",
)
_WORDS = "two three four five six seven eight nine ten eleven twelve".split()
_SAME = (
    (r"\babout\b", "approximately"),
    (r"\bmore than\b", "over"),
    (r"\bbegan\b", "started"),
    (r"\bbought\b", "purchased"),
    (r"\bchildren\b", "kids"),
    (r"\bpolice\b", "police officers"),
    (r"\bsaid that\b", "stated that"),
    (r"\bhas been\b", "was"),
    (r"\baccording to\b", "as reported by"),
    (r"\bhelp\b", "assist"),
    (r"\bdied\b", "passed away"),
    (r"\bbecause of\b", "due to"),
    (r"\blarge\b", "big"),
    (r"\bmany\b", "a large number of"),
    (r"\bnearly\b", "almost"),
    (r"\bshow(s?)\b", r"demonstrate\1"),
)


def minimal_edits(folder: Path, most: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """(kind, document, claim), the same for the same seed; up to ``most`` paraphrases and as many edits."""
    rng = random.Random(seed)
    documents = sorted({row["premise"] for file in FILES for row in _rows(folder, file)})
    rng.shuffle(documents)
    counts = dict.fromkeys(FAMILIES, 0)
    cap = {family: most if family == "paraphrase" else most // 4 for family in FAMILIES}
    for document in documents:
        if all(counts[family] >= cap[family] for family in FAMILIES):
            return
        parts = [document[start:end].strip() for start, end in segments(document)]
        good = [part for part in parts if _is_prose(part)]
        for text in rng.sample(good, min(4, len(good))):
            told = _paraphrase(text, rng)
            if told and counts["paraphrase"] < cap["paraphrase"]:
                counts["paraphrase"] += 1
                yield "paraphrase", document, told
            for family, edit in _EDITS.items():
                made = edit(text, parts, rng) if counts[family] < cap[family] else None
                if made and made != text and made not in document:
                    counts[family] += 1
                    yield family, document, made
    tables = (_table(rng) for _ in range(cap["wrong row"]))
    for source, right, wrong in tables:
        yield "wrong row", source, wrong
        if rng.random() < 0.25:
            yield "paraphrase", source, right


def _is_prose(part: str) -> bool:
    """Whether a segment of a web page is a sentence: menus and headlines run into one have no meaning to edit."""
    words = part.split()
    small = sum(word[0].islower() for word in words)
    plain = not re.search(r"[#|_<>{}\[\]]|https?:|www\.|[a-z][A-Z]|\(EX", part)
    return 8 <= len(words) <= 32 and part.endswith(".") and part[0].isupper() and plain and 2 * small > len(words)


def _rows(folder: Path, file: str) -> Iterator[dict[str, str]]:
    with gzip.open(folder / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _paraphrase(text: str, rng: random.Random) -> str | None:
    """The sentence in other words, nothing added: two of the rules that apply."""
    rules: list[Callable[[str], str]] = [
        lambda t: _OPENING.sub(lambda m: f"{m[3][0].upper()}{m[3][1:]} {m[1].lower()} {m[2]}.", t),
        lambda t: _ASIDE.sub("", t, count=1).replace(",.", "."),
        lambda t: _BY.sub(r"\3 \2 \1.", t),
        lambda t: re.sub(r"\s*\([^()]*\)", "", t),
        lambda t: _NUMBER.sub(lambda m: _worded(m[0]), t, count=1),
    ]
    rules += [lambda t, rule=rule: re.sub(rule[0], rule[1], t, count=1) for rule in _SAME]  # type: ignore[misc]
    rng.shuffle(rules)
    out, done = text, 0
    for rule in rules:
        changed = rule(out)
        if changed != out:
            out, done = changed, done + 1
        if done == 2:
            break
    return out if done else None


def _worded(number: str) -> str:
    plain = number.replace(",", "")
    if 2 <= int(plain) <= 12:
        return _WORDS[int(plain) - 2]
    return plain if "," in number else f"{int(plain):,}" if len(plain) > 4 else number


def _number(text: str, parts: list[str], rng: random.Random) -> str | None:  # noqa: ARG001 - one shape for all
    found = [m for m in _NUMBER.finditer(text) if not _YEAR.fullmatch(m[0])]
    if not found:
        return None
    at = rng.choice(found)
    value = int(at[0].replace(",", ""))
    other = max(
        2, value + rng.choice((-3, -2, 2, 3, 7)) if value < 100 else int(value * rng.choice((0.5, 0.8, 1.3, 2)))
    )
    return None if other == value else text[: at.start()] + f"{other:,}" + text[at.end() :]


def _date(text: str, parts: list[str], rng: random.Random) -> str | None:  # noqa: ARG001 - as above
    found = list(_YEAR.finditer(text))
    if not found:
        return None
    at = rng.choice(found)
    return text[: at.start()] + str(int(at[0]) + rng.choice((-7, -2, -1, 1, 2, 4))) + text[at.end() :]


def _name(text: str, parts: list[str], rng: random.Random) -> str | None:
    found = list(_NAME.finditer(text))
    others = [m[0] for part in parts for m in _NAME.finditer(part) if m[0] not in text]
    if not found or not others:
        return None
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(sorted(set(others))) + text[at.end() :]


def _negation(text: str, parts: list[str], rng: random.Random) -> str | None:  # noqa: ARG001 - as above
    found = _VERB.search(text)
    return None if found is None else f"{text[: found.end(1)]} not{text[found.end(1) :]}"


def _roles(text: str, parts: list[str], rng: random.Random) -> str | None:  # noqa: ARG001 - as above
    found = list(_NAME.finditer(text))
    if len(found) != 2 or re.fullmatch(r",? (?:and|or) |, ", text[found[0].end() : found[1].start()]):
        return None
    one, other = found
    return text[: one.start()] + other[0] + text[one.end() : other.start()] + one[0] + text[other.end() :]


def _addition(text: str, parts: list[str], rng: random.Random) -> str | None:  # noqa: ARG001 - as above
    return text.rstrip(".") + rng.choice(_ADDITIONS)


_EDITS: dict[str, Callable[[str, list[str], random.Random], str | None]] = {
    "wrong number": _number,
    "wrong date": _date,
    "wrong name": _name,
    "negation": _negation,
    "swapped roles": _roles,
    "added claim": _addition,
}


_ROWS = (
    ("Region", "North South East West Central Coastal".split(), "Visitors", "The {row} region had {value} visitors."),
    (
        "Tariff",
        "Mini Classic Comfort Premium Max".split(),
        "Monthly fee",
        "The {row} tariff has a monthly fee of {value}.",
    ),
    ("Room", "Garden Library Atrium Studio Gallery".split(), "Capacity", "The {row} room has a capacity of {value}."),
)


def _table(rng: random.Random) -> tuple[str, str, str]:
    """A markdown table, a true sentence of one of its rows, and the same with another row's value."""
    head, names, column, sentence = rng.choice(_ROWS)
    rows = {name: f"{rng.randint(12, 980)}" for name in rng.sample(names, 4)}
    body = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    one, other = rng.sample(sorted(rows), 2)
    source = f"Overview of this year.\n\n| {head} | {column} |\n| --- | --- |\n{body}\n\nFigures as of June."
    return source, sentence.format(row=one, value=rows[one]), sentence.format(row=one, value=rows[other])
