"""What a sentence is: an assertion, or one of the few things that assert nothing.

A kind depends on the sentence's own text and on the request (the query); where it stands may yet make it an assertion
(``reading``). Typing is conservative: whatever is not wholly a courtesy, a question back, an abstention or a label, by
the closed lists of one language, is an assertion and is judged. What it names besides, the query must name too.
"""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxy.grounding.asked import Asked
from proxy.grounding.labels import announces, is_label
from proxy.grounding.phrases import languages_for, manners_for
from proxy.grounding.phrases.english_clauses import TRADE, abstains, asks_back
from proxy.grounding.phrases.grammar import DOCUMENTS, topics_of
from proxy.grounding.types import ClaimKind
from proxy.grounding.words import normal, terms

if TYPE_CHECKING:
    from proxy.grounding.phrases.grammar import Language, Manners, Topics

_OPENING_MARKS = "¿¡ "
_END_MARKS = " .!?…。！？"
_ASKS = re.compile(r"[?？][\s.!?…。！？]*$")

_PLAIN = re.compile(r"[A-Za-z\s,.'?!\"()-]*")
"""Only such a sentence can be an English question back or abstention: signs, figures and scripts may say anything."""

_SPOKEN = re.compile(r"[^\W\d_](?:[^\W\d_]|[\s,.'’?!…\"«»„“”()¿¡、。！？・-])*")
"""The same for the other languages."""

_FRIENDLY = re.compile(
    "[\U0001f600-\U0001f60a\U0001f642\U0001f643\U0001f917\U0001f44b\U0001f64f\u263a\u2728]"
    "[\ufe0f\U0001f3fb-\U0001f3ff]?"
)
"""Smiles, a wave, thanks: they say nothing. Thumbs, ticks and crosses may be the answer, and are not among them."""

_MAX_CHARS = 300
_MAX_COURTESY_WORDS, _MAX_QUESTION_WORDS, _MAX_ABSTENTION_WORDS = 20, 20, 32
_WORD = re.compile(r"\w+(?:'\w+)?")


def kind_of(text: str, *, query: str | None = None) -> ClaimKind:
    """What a sentence is.

    ``query`` tells whether "sure" is an answer, and which words an abstention, a question or a label may repeat.
    """
    return kind_for(text, Asked(query))


def kind_for(text: str, asked: Asked) -> ClaimKind:
    """``kind_of``, with a query that serves for many sentences."""
    plain = _strip_markup(text)
    smiles = not plain and _FRIENDLY.search(text) is not None
    words = len(_WORD.findall(plain))
    if words > _MAX_ABSTENTION_WORDS or len(plain) > _MAX_CHARS:
        return ClaimKind.ASSERTION
    manners = _courteous(plain) if words <= _MAX_COURTESY_WORDS else None
    if smiles or manners is not None:
        answers = not smiles and manners is not None and _assents(plain, manners) and _may_mean_yes(asked)
        return ClaimKind.ASSERTION if answers else ClaimKind.COURTESY
    if is_label(text, asked) or announces(text, asked):
        return ClaimKind.HEADING
    if _SPOKEN.fullmatch(plain.lstrip(_OPENING_MARKS)) is None or len(plain.splitlines()) > 1:
        return ClaimKind.ASSERTION  # a line of its own may be the answer
    if words <= _MAX_QUESTION_WORDS and _asks_back(plain, asked):
        return ClaimKind.QUESTION
    return ClaimKind.ABSTENTION if _only_abstains(plain, asked) else ClaimKind.ASSERTION


def is_assent(text: str) -> bool:
    """Whether a courtesy may mean yes: "Sure.", "Con gusto."."""
    plain = _strip_markup(text)
    manners = _courteous(plain)
    return manners is not None and _assents(plain, manners)


def _strip_markup(text: str) -> str:
    return re.sub(r"^[\s>#*+•–-]+|[*_`]+", "", _FRIENDLY.sub(" ", normal(text))).strip()


def _courteous(text: str) -> Manners | None:
    """The manners by which a sentence is nothing but phrases from the closed lists, or None."""
    return next((one for one in manners_for(text) if one.assents.fullmatch(text)), None)


def _assents(text: str, manners: Manners) -> bool:
    return manners.courtesies.fullmatch(text) is None


def _may_mean_yes(asked: Asked) -> bool:
    """Whether yes could answer the query: whatever does not plainly ask what, how or when, and nothing else."""
    return not asked.blank and (asked.compound or not asked.opens)


def _asks_back(text: str, asked: Asked) -> bool:
    if _PLAIN.fullmatch(text) and asks_back(text):
        return not _new_words(text, asked)
    return any(_asks_back_in(language, text, asked) for language in languages_for(text))


def _asks_back_in(language: Language, text: str, asked: Asked) -> bool:
    if language.spaced and not _ASKS.search(text):
        return False
    found = language.questions.fullmatch(_sentence(text, language))
    return found is not None and _names(topics_of(found), asked, language)


def _only_abstains(text: str, asked: Asked) -> bool:
    if _PLAIN.fullmatch(text) and abstains(text):
        return not _new_words(text, asked)
    if _ASKS.search(text):
        return False
    return any(_abstains_in(language, text, asked) for language in languages_for(text))


def _abstains_in(language: Language, text: str, asked: Asked) -> bool:
    sentence = language.documents.sub(DOCUMENTS, _sentence(text, language))
    return any(_names(topics, asked, language) for topics in language.abstentions.readings(sentence))


def _names(topics: Topics, asked: Asked, language: Language) -> bool:
    """Whether topics are only what the query has, and state nothing: one verb after "whether", elsewhere none."""
    return all(
        asked.names(topic, language)
        and not (language.spaced and len(language.verbs.findall(topic)) > (before in language.asking))
        for topic, before in topics
    )


def _sentence(text: str, language: Language) -> str:
    """A sentence without the marks around it, spaced as its language writes."""
    return (" " if language.spaced else "").join(text.lstrip(_OPENING_MARKS).rstrip(_END_MARKS).split())


def _new_words(text: str, asked: Asked) -> bool:
    """Whether English text has words of its own: beside the query's and the trade's, it may say nothing else."""
    return not TRADE.issuperset(set(terms(text)).difference(asked.terms))
