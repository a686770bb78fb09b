"""What is asked: the query as the typing of claims sees it, and the questions of any text with what answers them.

A question states nothing. What it asks is stated, or denied, by the reply after it: "Is it safe? No.".
"""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from proxy.grounding.phrases import MANNERS, manners_for
from proxy.grounding.words import normal, terms, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.phrases.grammar import Manners

QUERY_CHARS = 300
"""What of a query's end is read with a fragment."""

ANSWER = 2
"""Segments after a question that answer it: "No.", and why."""

_OPENING = re.compile(r"[\W_]*(?:[^\W\d_]{1,10}\s?[:：]\s*)?[\W_]*")
"""Marks of lists and stress, and one word that announces what follows: "Q:", "**Answer:**"."""

_ASKS = re.compile(r"(?:[?？]|か。)[\s\"'”’»)\]*_」』]*\Z")
_LONGEST_END = 24
_LONGEST_REPLY = 40
_SENTENCE = re.compile(r"[^.!?。！？¿\n]+[.!?。！？]*")
_AROUND = " \t\"'«»“”¿¡"
_STRETCHES = re.compile("[のとや・]")


_BROAD = re.compile(
    r"\b(?:summari[sz]e|summary of|summary,? please|sum (?:.{1,40} )?up|recap|gist|tl;?dr|"
    r"an? (?:short |brief |quick )?(?:summary|overview)|"
    r"(?:key|main) (?:points|facts|ideas|takeaways)|(?:tell|told) me (?:more |something )?about|"
    r"what(?:'s| is| are| does| do) (?:this|the|these) (?:document|text|article|page|report|e-?mail|source)s? "
    r"(?:about|say)|"
    r"what happened\W*$|fass\w*\b.{0,40}\bzusammen|zusammenfass\w*|überblick über|worum geht|erzähl\w* (?:mir|uns)|"
    r"résum\w*|de quoi (?:parle|traite)|parle[sz]?[ -]moi d|^\W*resum(?:e|en|a|ir|o)\b|resumen del?\b|"
    r"de qué trata|cuéntame|háblame|"
    r"riassum\w*|di (?:che )?cosa (?:parla|tratta)|do que (?:fala|trata)|samenvat\w*|vat\b.{0,40}\bsamen|"
    r"waar gaat .{0,40}\bover\b)|要約|まとめて|概要|どんな内容",
    re.IGNORECASE,
)


def asks_broadly(query: str) -> bool:
    """Whether a query asks for whatever the source says: "Summarise the article.", "What does the page say?"."""
    return _BROAD.search(normal(query)) is not None


def key(word: str) -> str:
    """What a folded word is compared by."""
    return next(iter(terms(word)), word)


def is_question(text: str) -> bool:
    """Whether a segment asks something."""
    return _ASKS.search(text, max(0, len(text) - _LONGEST_END)) is not None


def last_read_with(texts: Sequence[str], at: int) -> int:
    """The last of some segments that is read with the one at a place: a question is read with what answers it."""
    last = at
    while last + 1 < len(texts) and is_question(texts[last]):
        last = min(last + ANSWER, len(texts) - 1)
    return last


class Reply(NamedTuple):
    """Yes or no, and where what else is said begins, in characters."""

    yes: bool
    end: int


def reply_in(text: str) -> Reply | None:
    """The reply that a text opens with, or None: "No.", "Yes, of course", "**Leider nicht**"."""
    begin = _after_opening(text)
    for manners in manners_for(text[:_LONGEST_REPLY]):
        for yes, pattern in ((False, manners.denies), (True, manners.affirms)):
            found = pattern.match(text, begin)
            if found:
                return Reply(yes, found.end())
    return None


def reply_to(question: str, text: str) -> Reply | None:
    """The reply with which ``text`` answers a question that yes or no can answer; None when it does not."""
    if not is_question(question):
        return None
    begin = _after_opening(question)
    return None if any(one.asks.match(question, begin) for one in manners_for(question)) else reply_in(text)


class Asked:
    """A query, taken apart when first needed. It asks nothing when there is none."""

    def __init__(self, query: str | None) -> None:
        self._text = normal(query or "")
        self._runs: dict[tuple[Manners, int], set[tuple[str, ...]]] = {}  # all runs of words, by their length

    @property
    def blank(self) -> bool:
        """Whether there is no query."""
        return not self._text.strip()

    @cached_property
    def terms(self) -> frozenset[str]:
        """Folded words without English function words."""
        return frozenset(terms(self._text))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of all words."""
        return frozenset(map(key, self._words))

    @cached_property
    def opens(self) -> bool:
        """Whether all its questions ask what, how, when: yes is no answer to them. False when there is none."""
        return bool(self._questions) and all(askers for _, askers in self._questions)

    @cached_property
    def chooses(self) -> bool:
        """Whether a question seems to offer answers: "Pro or Basic?", "which", or by its punctuation."""
        return any(
            re.search(r"[,;:/、]", question) or any(asker.choices.search(question) for asker in askers)
            for question, askers in self._questions
        )

    @cached_property
    def compound(self) -> bool:
        """Whether a question has more parts than one, of which yes may answer another."""
        return any(
            re.search(r"[,;:、]", question) or any(asker.adds.search(question) for asker in askers)
            for question, askers in self._questions
        )

    def names(self, topic: str, manners: Manners) -> bool:
        """Whether a topic holds nothing but words of the query and small ones, and none that is barred."""
        if not manners.spaced:
            return not any(bar in topic for bar in manners.barred) and all(
                stretch in self._squeezed for stretch in _STRETCHES.split(topic.casefold())
            )
        return all(
            word in manners.small or (word not in manners.barred and key(word) in self.keys) for word in words_of(topic)
        )

    def says(self, run: Sequence[str], manners: Manners) -> bool:
        """Whether these words stand in the query in this order, with nothing but small ones between them."""
        runs = (manners, len(run))
        if runs not in self._runs:
            words = [word for word in self._words if word not in manners.small]
            self._runs[runs] = set(zip(*(words[at:] for at in range(len(run))), strict=False))
        return tuple(run) in self._runs[runs]

    def holds(self, stretch: str) -> bool:
        """Whether the query holds these characters, of a language without spaces."""
        return stretch.casefold() in self._squeezed

    @cached_property
    def _words(self) -> list[str]:
        return words_of(self._text)

    @cached_property
    def _squeezed(self) -> str:
        return "".join(self._text.casefold().split())

    @cached_property
    def _questions(self) -> list[tuple[str, list[Manners]]]:
        """What ends with a question mark, else the last sentence; each with the manners by which it asks openly."""
        sentences = [_ungreeted(found.group().strip(_AROUND)) for found in _SENTENCE.finditer(self._text)]
        sentences = [sentence for sentence in sentences if sentence]
        questions = [sentence for sentence in sentences if sentence.endswith(("?", "？"))] or sentences[-1:]
        return [(question, [one for one in MANNERS if one.asks.match(question)]) for question in questions]


def _ungreeted(sentence: str) -> str:
    greeting = next(filter(None, (one.greetings.match(sentence) for one in MANNERS)), None)
    return sentence[greeting.end() :] if greeting else sentence


def _after_opening(text: str) -> int:
    found = _OPENING.match(text)
    return found.end() if found else 0


_OPENERS = (
    r"and\s+(?:what|when|where|who|whom|whose|which|why|how|is|are|do|does|did|can|could|should|will)",
    r"und\s+(?:was|wann|wo|wer|wem|wen|welche[rsnm]?|warum|wie|wieviel|ist|sind|kann)",
    r"en\s+(?:wat|wanneer|waar|wie|welke|waarom|hoe|hoeveel)",
    r"y\s+(?:qué|cuándo|dónde|quién(?:es)?|cuál(?:es)?|cómo|cuánt[oa]s?)",
    r"et\s+(?:que|quoi|quand|où|qui|quel(?:le)?s?|pourquoi|comment|combien|est-ce)",
    r"e\s+(?:che|cosa|quando|dove|chi|qual[ei]?|perché|come|quant[oaie]|o\s+que|onde|quem|quais|quantos?)",
)
_NEXT_QUESTION = re.compile(rf"[?？]\s*(?=\S)|,?\s+(?=(?:{'|'.join(_OPENERS)})\b)", re.IGNORECASE)
_JOINED = re.compile(rf"(?:{'|'.join(_OPENERS)})\b", re.IGNORECASE)
_MARKED = re.compile(r"[?？](?=\s|\Z)")


def questions_in(query: str) -> list[str]:
    """The questions that a query asks one after another, without the words that join them; none where it asks one."""
    parts = (part.strip(" ,;?？") for part in _NEXT_QUESTION.split(query))
    found = [part.split(None, 1)[-1] if at and _JOINED.match(part) else part for at, part in enumerate(parts) if part]
    found = [f"{part}?" for part in found if len(part.split()) > 1 or not part.isascii()]
    return found if len(found) > 1 else []


def asked_apart(query: str) -> bool:
    """Whether a query is nothing but its questions: each has a mark of its own, and none was parted by a guess."""
    return len(questions_in(query)) == len(_MARKED.findall(query.strip())) > 1
