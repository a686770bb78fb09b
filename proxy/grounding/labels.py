"""Headings, lead-ins and table headers that assert nothing by themselves.

A line is a label when all of this holds, else it is a claim like any other:

- It is marked as one: a Markdown heading, a line in bold, a line that ends with a colon, or the line above a table's
  rule. A list item is none. "Step 2." alone needs no mark.
- It has no digit and no sign but its mark, ``&``, apostrophes and hyphens; only "Step 2" may have a number ("Phase 3"
  is a finding).
- It is one name or some joined by "and", in at most four words beside articles and the like. A name is a noun of a
  closed list that heads sections and columns ("fees"), or at most two words that stand in the query next to each other;
  words that add nothing ("details") may stand beside it or alone. Two nouns of the list together may state something:
  "Phone support", "Next day delivery". No word is a negation, may answer ("yes", "free", "covered") or is, where it is
  the query's, a verb.
- Where it uses words of the query, all that the query asks is what, how or when, and it offers no answers to choose
  from: to "Is there a fee?" or "Pro or Basic?" the heading "Fee" or "Basic" would be an answer.

A lead-in may also say "Here are the steps to ...:", and go on in the query's own words; or announce what something
contains: "The box contains:". That asserts nothing only if list items follow that are judged with it (see
``claims.ClaimReader``), and only if it is an article, one or two nouns in small letters and a verb of a closed list: no
name, number or negation of its own; two nouns must each be the query's or of the list.
"""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxy.grounding.asked import key
from proxy.grounding.cutting import LIST_MARK, is_rule
from proxy.grounding.phrases import MANNERS, manners_for
from proxy.grounding.phrases.english_clauses import VERBS
from proxy.grounding.words import normal, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.asked import Asked
    from proxy.grounding.phrases.grammar import Manners

COLONS = (":", "：")
BOLD, COLON, HEADER = 7, 8, 9
"""Ranks of what is no Markdown heading, whose ranks are 1 to 6."""

_MAX_WORDS, _MAX_OWN, _MAX_COLUMNS, _MAX_RUN, _MAX_STRETCH = 4, 2, 12, 6, 10
_HEADING = re.compile(r"(#{1,6})\s+(\S.*?)[\s#]*")
_BOLD = re.compile(r"(\*\*|__)([^\s*_](?:[^*_\n]*[^\s*_])?)\1")
_ITEM = re.compile(rf"\s*(?:{LIST_MARK}|>\s)")
_LISTED = re.compile(LIST_MARK)
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = re.compile(r"[*`]+")
_BAR, _LAST_BAR = re.compile(r"(?<!\\)\|"), re.compile(r"(?<!\\)\|$")
_LETTERS = re.compile(r"[^\W\d_]+(?:(?:[ '-]| & )[^\W\d_]+)*")
_STEP = re.compile(
    rf"(?:{'|'.join(sorted(word for one in MANNERS for word in one.steps))})\s?\d{{1,2}}[.):：]?",
    re.IGNORECASE,
)
_AND = frozenset().union(*(one.joins for one in MANNERS))
_LOADED = frozenset().union(*(one.answers | one.loaded for one in MANNERS))
_AND_IN_STRETCHES = re.compile(r"[と・&＆\s]+")
_AFTER_STRETCH = re.compile(r"(?:について|一覧)$")


def is_label(text: str, asked: Asked) -> bool:
    """Whether a line asserts nothing by itself, by the rule above."""
    text = normal(text).strip()
    header = header_of(text)
    if header is not None:
        return len(header) <= _MAX_COLUMNS and any(header) and all(not cell or _heads(cell, asked) for cell in header)
    body = head_of(text)
    if is_step(body or text):
        return not _names_step(text, asked)
    if body is None:
        return False
    return _heads(body, asked) or (text.rstrip("*_ ").endswith(COLONS) and _leads_in(body, asked))


def head_of(text: str) -> str | None:
    """The words of a line that is marked as a heading or lead-in, without the marks; None when it is not."""
    if "\n" in text or _ITEM.match(text):
        return None
    marked = _HEADING.fullmatch(text) or _BOLD.fullmatch(text.removesuffix(":"))
    if marked is None and not text.rstrip("*_ ").endswith(COLONS):
        return None
    body = re.sub(r"[*_`]+", "", marked.group(2) if marked else text)
    return body.strip().rstrip("".join(COLONS)).strip()


def rank_of(text: str) -> int:
    """1 to 6 for a Markdown heading, ``BOLD`` for a line in bold, ``COLON`` for any other."""
    heading = _HEADING.fullmatch(text)
    if heading:
        return len(heading.group(1))
    return BOLD if _BOLD.fullmatch(text.removesuffix(":")) else COLON


def is_step(text: str) -> bool:
    """Whether a line is no more than "Step 2."."""
    return _STEP.fullmatch(text.strip("*_# ")) is not None


def is_filler(text: str) -> bool:
    """Whether a lead-in names no more than a closed list of nouns: "Here are the steps:"."""
    body = head_of(normal(text).strip())
    if body is None:
        return False
    led_in = [_led_in(body, one) for one in manners_for(body) if one.spaced]
    return any(nouns and not rest for nouns, rest in led_in)


def announces(text: str, asked: Asked) -> bool:
    """Whether a line does no more than announce the list that follows: "The box contains:"."""
    text = normal(text).strip()
    body = head_of(text) if text.rstrip("*_ ").endswith(COLONS) else None
    return body is not None and any(_announces_by(" ".join(body.split()), asked, one) for one in manners_for(body))


def _announces_by(body: str, asked: Asked, manners: Manners) -> bool:
    found = manners.announces.fullmatch(body)
    if found is None:
        return False
    if not manners.spaced:
        topic = _group(found)
        return len(topic) <= _MAX_STRETCH and not any(bar in topic for bar in manners.barred)
    given = _WORD.findall(_group(found))
    article, *named = (word.casefold() for word in given)
    content = [word for word in named if word not in manners.small]
    strange = [word for word in content if word not in manners.labels | manners.fillers and key(word) not in asked.keys]
    capital = any(not word.islower() for word in given[1:]) and not manners.capital_nouns
    return (
        article in manners.small
        and 0 < len(content) <= _MAX_OWN
        and len(strange) <= (len(content) == 1)
        and not capital
        and not _is_loaded(named, manners)
    )


def is_list_item(text: str) -> bool:
    """Whether a claim opens with a list's mark."""
    return _LISTED.match(text) is not None


def cells_of(row: str) -> list[str]:
    """The cells of a table row, without marks. A bar behind a backslash parts nothing."""
    inner = _LAST_BAR.sub("", row.strip().removeprefix("|"))
    return [" ".join(_MARKS.sub("", cell).replace(r"\|", "|").split()) for cell in _BAR.split(inner)]


def told_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row with the name of its column before each cell: "Plan: Basic; Price: $10". Empty cells are left out."""
    padded = [*names, *[""] * (len(cells) - len(names))]
    return "; ".join(
        f"{name.rstrip(':')}: {cell}" if name else cell for name, cell in zip(padded, cells, strict=False) if cell
    )


def header_of(text: str) -> list[str] | None:
    """The cells of a table's header with its rule under it, or None for anything else."""
    if "|" not in text or "\n" not in text:
        return None
    first, _, second = text.strip().partition("\n")
    return cells_of(first) if "|" in first and is_rule(second) else None


def _names_step(text: str, asked: Asked) -> bool:
    """Whether the query asks for a step, so that its number may be the answer."""
    return any(key(word) in asked.keys or asked.holds(word) for word in words_of(text))


def _heads(body: str, asked: Asked) -> bool:
    return any(_heads_by(body, asked, one) for one in manners_for(body))


def _heads_by(body: str, asked: Asked, manners: Manners) -> bool:
    if not manners.spaced:
        return _heads_in_stretches(body, asked, manners)
    return _LETTERS.fullmatch(body) is not None and _heads_in(words_of(body), asked, manners)


def _heads_in(words: list[str], asked: Asked, manners: Manners) -> bool:
    if _is_loaded(words, manners):
        return False
    content = _content(words, manners)
    return len(content) <= _MAX_WORDS and all(
        _heads_part([word for word in part if word in content], asked, manners) for part in _parted(words)
    )


def _heads_part(content: list[str], asked: Asked, manners: Manners) -> bool:
    """Whether words name one thing: a noun of the list, or what was asked about, and fillers."""
    named = [word for word in content if word not in manners.fillers]
    own = [word for word in named if word not in manners.labels]
    if not content or len(own) > _MAX_OWN or len(named) > max(1, len(own)):
        return False
    return _may_repeat(content, asked) and (not own or _is_asked(own, asked, manners))


def _parted(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _AND:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _is_loaded(words: list[str], manners: Manners) -> bool:
    return any(word in _LOADED or word in manners.barred for word in words)


def _may_repeat(content: list[str], asked: Asked) -> bool:
    """Whether the query holds none of the words, or asks nothing that they could answer."""
    return not any(key(word) in asked.keys for word in content) or (asked.opens and not asked.chooses)


def _is_asked(own: list[str], asked: Asked, manners: Manners) -> bool:
    verbs = VERBS.search(" ".join(own)) or any(word.endswith("ed") for word in own)
    return not verbs and asked.says(own, manners)


def _heads_in_stretches(body: str, asked: Asked, manners: Manners) -> bool:
    parts = [
        [_AFTER_STRETCH.sub("", stretch) for stretch in part.split("の")] for part in _AND_IN_STRETCHES.split(body)
    ]
    return sum(map(len, parts)) <= _MAX_WORDS and all(
        sum(stretch not in manners.fillers for stretch in part) <= 1
        and all(_heads_stretch(stretch, asked, manners) for stretch in part)
        for part in parts
    )


def _heads_stretch(stretch: str, asked: Asked, manners: Manners) -> bool:
    if asked.holds(stretch) and not (asked.opens and not asked.chooses):
        return False
    if stretch in manners.labels or stretch in manners.fillers:
        return True
    barred = any(bar in stretch for bar in manners.barred) or re.search(r"[\d\W]", stretch)
    return bool(stretch) and not barred and len(stretch) <= _MAX_STRETCH and asked.holds(stretch)


def _leads_in(body: str, asked: Asked) -> bool:
    return any(_leads_in_by(body, asked, one) for one in manners_for(body))


def _leads_in_by(body: str, asked: Asked, manners: Manners) -> bool:
    if not manners.spaced:
        found = manners.lead_ins.fullmatch(body)
        return found is not None and _heads_in_stretches(_group(found), asked, manners)
    nouns, rest = _led_in(body, manners)
    if not nouns or len(rest) > _MAX_RUN or _is_loaded(rest, manners):
        return False
    return _may_repeat(nouns + rest, asked) and (not rest or asked.says(rest, manners))


def _led_in(body: str, manners: Manners) -> tuple[list[str], list[str]]:
    """What a lead-in names: nouns of the closed list, and the words after them. Nothing when it is no lead-in."""
    found = manners.lead_ins.fullmatch(" ".join(body.split()))
    if found is None:
        return [], []
    words = _content(words_of(_group(found)), manners)
    nouns = manners.labels | manners.fillers
    end = next((at for at, word in enumerate(words) if word not in nouns), len(words))
    named = sum(word in manners.labels for word in words[:end])
    return (words[:end], words[end:]) if named <= 1 and end <= _MAX_WORDS else ([], [])


def _group(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group), "")


def _content(words: list[str], manners: Manners) -> list[str]:
    return [word for word in words if word not in manners.small and word not in _AND]
