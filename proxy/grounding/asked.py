"""The query as the typing of claims sees it: its words, and what kind of answer it asks for."""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

from proxy.grounding.phrases import LANGUAGES, MANNERS
from proxy.grounding.words import STOP, terms, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.phrases.grammar import Manners

QUERY_CHARS = 300
"""What of a query's end is looked at for the question, and read with a fragment."""

_YES_OR_NO = re.compile(
    r"(?:^|[.!?\n]\s*|[,;]\s*|\b(?:and|or|but)\s+)(?:is|are|am|was|were|do|does|did|has|have|can|could|will|would|may|must|should)\s+(?!you\b)[^.!?]*\?\s*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?。！？¿\n]+[.!?。！？]*")
_GREETING = re.compile(
    r"(?:hi|hello|hey|hola|buenos días|buenas tardes|bonjour|hallo|guten tag|goedendag|olá|oi|bom dia|ciao|buongiorno|"
    r"こんにちは|please|por favor|bitte)[,、 ]+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_STRETCHES = re.compile("[のとや・]")


def normal(text: str) -> str:
    """A text without what cannot be seen, its accents composed and its apostrophes straight."""
    return unicodedata.normalize("NFC", visible(text)).replace("’", "'")


def words_of(text: str) -> list[str]:
    """The folded words of a text, parted at apostrophes and hyphens."""
    return _WORD.findall(text.casefold())


def key(word: str) -> str:
    """What a folded word is compared by."""
    return next(iter(terms(word)), word)


class Asked:
    """A query, taken apart when first needed. It asks nothing when there is none."""

    def __init__(self, query: str | None) -> None:
        self._text = normal(query or "")

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
    def yes_or_no(self) -> bool:
        """Whether the last question is one that English answers with yes or no."""
        return _YES_OR_NO.search(self._text[-QUERY_CHARS:]) is not None

    @cached_property
    def opens(self) -> bool:
        """Whether all its questions ask what, how, when: yes is no answer to them. False when there is none."""
        return bool(self._questions) and all(self._askers(question) for question in self._questions)

    @cached_property
    def chooses(self) -> bool:
        """Whether a question seems to offer answers: "Pro or Basic?", "which", or by its punctuation."""
        return any(
            re.search(r"[,;:/、]", question) or any(asker.choices.search(question) for asker in self._askers(question))
            for question in self._questions
        )

    @cached_property
    def compound(self) -> bool:
        """Whether a question has more parts than one, of which yes may answer another."""
        return any(re.search(r"[,;:、]", question) for question in self._questions)

    @cached_property
    def in_english(self) -> bool:
        """Whether no other language's small words are more than English ones."""
        english = sum(word in STOP for word in self._words)
        return all(sum(word in one.small for word in self._words) <= english for one in LANGUAGES if one.spaced)

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
        words = [word for word in self._words if word not in manners.small]
        return any(words[at : at + len(run)] == list(run) for at in range(len(words) - len(run) + 1))

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
    def _questions(self) -> list[str]:
        sentences = [found.group().strip(" \t\"'«»“”¿¡") for found in _SENTENCE.finditer(self._text[-QUERY_CHARS:])]
        sentences = [_GREETING.sub("", sentence, count=1) for sentence in sentences]
        sentences = [sentence for sentence in sentences if sentence]
        return [sentence for sentence in sentences if sentence.endswith(("?", "？"))] or sentences[-1:]

    def _askers(self, question: str) -> list[Manners]:
        return [one for one in MANNERS if one.asks.match(question)]
