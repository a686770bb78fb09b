"""A small notation for closed lists of phrases, and what a language's file holds.

The notation, one phrase a line::

    no (sé|conozco) [la respuesta] [sobre <topic>]

``(a|b)`` is one of these, ``[a|b]`` one of these or nothing, ``<name>`` a part with a name. A space before or after
an optional word goes with it; one after a bar is nothing. Everything else is read as it stands, in any case. A phrase
is matched as a whole: there is no wildcard but ``<topic>``, whose words are checked one by one against the query.
"""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOPIC = r"([^\W\d_]+(?:[ '-][^\W\d_]+){0,15})"
"""Words, and nothing between them but spaces, apostrophes and hyphens. The only groups of a compiled phrase."""

_MARKS = r"[\s,.!?:;…¡¿、。！？：–—-]*"
SHORT = {"end": r"(?=\W*\Z)"}
"""A part of phrases: only marks follow."""

_REPLY_ENDS = r"[*_\"'”’»)]*(?=\s*(?:$|[,;:!…、。，！：；|]|\.(?!\s*\d)|[–—-]\s))"
_AFTER_BAR = re.compile(r"(?<=\|) ")
_OPENING = re.compile(r"<(\w+)>| ?\[|\(")


DOCUMENTS = "§"
"""Stands in a sentence for a mention of the documents, before ``abstentions`` are looked for in it."""

_OPENERS = 2

Topics = tuple[tuple[str, str], ...]
"""What a sentence names, each with the word before it ("" when it comes first)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstaining:
    """The clauses that abstain in one language, what may open them and what may join two of them."""

    opener: re.Pattern[str]
    clause: re.Pattern[str]
    joint: re.Pattern[str]

    def readings(self, sentence: str) -> Iterator[Topics]:
        """What a sentence of such clauses names, for each way to read it; nothing when it holds anything else."""
        for _ in range(1 + _OPENERS):
            yield from self._read(sentence)
            opened = self.opener.match(sentence)
            if opened is None:
                return
            sentence = sentence[opened.end() :]

    def _read(self, sentence: str) -> Iterator[Topics]:
        whole = self._topics(sentence)
        if whole is not None:
            yield whole
        for joint in self.joint.finditer(sentence):
            first, second = self._topics(sentence[: joint.start()]), self._topics(sentence[joint.end() :])
            if first is not None and second is not None:
                yield first + second

    def _topics(self, clause: str) -> Topics | None:
        found = self.clause.fullmatch(clause)
        return None if found is None else topics_of(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Manners:
    """How one language greets, heads, asks and refers. All patterns ignore case.

    ``courtesies`` match a whole sentence of them, ``assents`` one that may hold words besides that can also say yes.
    ``lead_ins`` and ``announces`` match a whole line without its colon; their groups are topics: of a list, and of what
    has what is listed. ``small`` are words that a topic or
    label may hold beside the query's; ``barred`` words that it must not hold even so: negations, and what joins
    clauses. ``labels`` are nouns that head a section or a column, ``fillers`` words that add nothing to one, ``steps``
    nouns that a number may follow, ``joins`` words for "and", ``answers`` those that say yes or no, and ``loaded`` more
    that no label may hold, for they may answer too. ``greetings`` match what may open a query, ``asks`` the opening of
    a question that yes cannot answer; ``adds`` finds a further one within it that yes may answer, ``choices`` what
    offers answers. ``connectives`` match what may open a sentence, ``refers`` the opening of a sentence about the one
    before, ``verbs`` finds some that make a sentence of a few words. ``affirms`` and ``denies`` match a reply that may
    open an answer: yes and no. Without spaces between words (``spaced``) topics
    are checked in stretches, and ``barred`` are stretches too. With ``capital_nouns`` a capital shows no name.
    """

    courtesies: re.Pattern[str]
    assents: re.Pattern[str]
    lead_ins: re.Pattern[str]
    announces: re.Pattern[str]
    small: frozenset[str]
    barred: frozenset[str]
    labels: frozenset[str]
    fillers: frozenset[str]
    steps: frozenset[str]
    joins: frozenset[str]
    answers: frozenset[str]
    loaded: frozenset[str]
    greetings: re.Pattern[str]
    asks: re.Pattern[str]
    adds: re.Pattern[str]
    choices: re.Pattern[str]
    connectives: re.Pattern[str]
    refers: re.Pattern[str]
    verbs: re.Pattern[str]
    affirms: re.Pattern[str]
    denies: re.Pattern[str]
    spaced: bool = True
    capital_nouns: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language(Manners):
    """And how it asks back and abstains.

    ``documents`` finds a mention of the sources; ``questions`` matches a whole sentence without its marks, its groups
    are topics. After one of ``asking`` ("whether", "how much") a topic may be a clause. By its ``common``
    words and the small ones a text is known to be in the language.
    """

    documents: re.Pattern[str]
    questions: re.Pattern[str]
    abstentions: Abstaining
    asking: frozenset[str]
    common: frozenset[str]


def topics_of(found: re.Match[str]) -> Topics:
    """The topics in a match."""
    before = (found.string[: found.start(at)].split() for at in range(1, 1 + len(found.groups())))
    return tuple(
        (group, words[-1].casefold() if words else "")
        for group, words in zip(found.groups(), before, strict=True)
        if group
    )


def phrases(lines: str, parts: Mapping[str, str] | None = None) -> re.Pattern[str]:
    """A pattern that matches any line, in the notation above. ``parts`` are patterns by name."""
    return re.compile(source_of(lines, parts), re.IGNORECASE)


def mentions(lines: str, parts: Mapping[str, str] | None = None) -> re.Pattern[str]:
    """A pattern that finds any line within a sentence, in whole words."""
    return re.compile(rf"(?<!\w){source_of(lines, parts)}(?!\w)", re.IGNORECASE)


def repeated(lines: str, *, parts: Mapping[str, str] | None = None, spaced: bool = True) -> re.Pattern[str]:
    """A pattern that matches a whole sentence of nothing but lines, with marks between them."""
    ends = r"(?!\w)" if spaced else ""
    return re.compile(rf"{_MARKS}(?:{source_of(lines, parts)}{ends}{_MARKS})+", re.IGNORECASE)


def openings(lines: str, parts: Mapping[str, str] | None = None) -> re.Pattern[str]:
    """A pattern that matches any line at the beginning of a sentence, in whole words."""
    return re.compile(rf"{source_of(lines, parts)}(?!\w)", re.IGNORECASE)


def leading(lines: str, after: str) -> re.Pattern[str]:
    """A pattern that matches any line at the beginning of a text, with ``after``, an expression, behind it."""
    return re.compile(f"{source_of(lines)}{after}", re.IGNORECASE)


def replies(lines: str, *, spaced: bool = True) -> re.Pattern[str]:
    """A pattern that matches a reply at the beginning of a sentence, where that ends or a mark sets it apart.

    So "No." and "No, wash it by hand." are replies, and neither "No pets." nor "No. 5 is late.".
    """
    return leading(lines, (r"(?!\w)" if spaced else "") + _REPLY_ENDS)


def parts_of(table: Mapping[str, str], topic: str = TOPIC) -> dict[str, str]:
    """Patterns of named parts, each written with those before it."""
    parts = {"topic": topic}
    for name, lines in table.items():
        parts[name] = source_of(lines, parts)
    return parts


def abstaining(openers: str, clauses: str, joints: str, parts: Mapping[str, str], *, space: str = " ") -> Abstaining:
    """Sentences of one or two clauses that abstain, with up to two openers ("I am sorry, but") before them.

    ``space`` is what stands between them.
    """
    opener, clause, joint = (source_of(lines, parts) for lines in (openers, clauses, joints))
    return Abstaining(
        opener=re.compile(f"{opener}{space}", re.IGNORECASE),
        clause=re.compile(clause, re.IGNORECASE),
        joint=re.compile(f"{joint}{space}", re.IGNORECASE),
    )


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


def source_of(lines: str, parts: Mapping[str, str] | None = None) -> str:
    """The regular expression for any of the lines."""
    tidy = (_AFTER_BAR.sub("", " ".join(line.split())) for line in lines.strip().splitlines())
    written = [_line(line, parts or {}) for line in tidy]
    return f"(?:{'|'.join(written)})"


def _line(line: str, parts: Mapping[str, str]) -> str:
    pattern, at = _alternatives(line, 0, parts)
    if at != len(line):
        message = f"unbalanced: {line}"
        raise ValueError(message)
    return pattern


def _alternatives(line: str, at: int, parts: Mapping[str, str]) -> tuple[str, int]:
    """The pattern from ``at`` to the bracket that closes it, or to the end; and where that is."""
    out: list[str] = []
    leads = True  # nothing stands before, in this alternative
    while at < len(line) and line[at] not in ")]":
        opened = _OPENING.match(line, at)
        if opened is None:
            out.append("|" if line[at] == "|" else re.escape(line[at]))
            leads, at = line[at] == "|", at + 1
        elif opened.group(1):
            out.append(parts[opened.group(1)])
            leads, at = False, opened.end()
        else:
            inner, end = _alternatives(line, opened.end(), parts)
            at = end + 1
            if opened.group() == "(":
                out.append(f"(?:{inner})")
            elif opened.group() == " [":
                out.append(f"(?: (?:{inner}))?")
            elif leads and line.startswith(" ", at):
                out.append(f"(?:(?:{inner}) )?")
                at += 1
                continue  # still nothing that must stand before
            else:
                out.append(f"(?:{inner})?")
            leads = False
    return "".join(out), at
