"""Closed lists of what asserts nothing, one file a language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxy.grounding.phrases.dutch import DUTCH
from proxy.grounding.phrases.english import ENGLISH
from proxy.grounding.phrases.french import FRENCH
from proxy.grounding.phrases.german import GERMAN
from proxy.grounding.phrases.italian import ITALIAN
from proxy.grounding.phrases.japanese import JAPANESE
from proxy.grounding.phrases.portuguese import PORTUGUESE
from proxy.grounding.phrases.spanish import SPANISH

if TYPE_CHECKING:
    from proxy.grounding.phrases.grammar import Language, Manners

__all__ = ["ENGLISH", "LANGUAGES", "MANNERS", "languages_for", "manners_for"]

LANGUAGES = (SPANISH, FRENCH, GERMAN, DUTCH, PORTUGUESE, ITALIAN, JAPANESE)
"""Those whose questions back and abstentions are lists; English has a grammar in ``english_clauses``."""

MANNERS = (ENGLISH, *LANGUAGES)
_SPACED, _UNSPACED = (tuple(one for one in LANGUAGES if one.spaced is spaced) for spaced in (True, False))
_SPACED_MANNERS = (ENGLISH, *_SPACED)
_KANA_OR_KANJI = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def manners_for(text: str) -> tuple[Manners, ...]:
    """The manners that a text of its script can have."""
    return _SPACED_MANNERS if _is_spaced(text) else _UNSPACED


def languages_for(text: str) -> tuple[Language, ...]:
    """The same without English."""
    return _SPACED if _is_spaced(text) else _UNSPACED


def _is_spaced(text: str) -> bool:
    return text.isascii() or not _KANA_OR_KANJI.search(text)
