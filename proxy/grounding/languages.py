"""Whether a text is English, as far as its letters and small words tell.

Words that English and another language share ("a", "do", "in", "is") say nothing. So a text of names and numbers has no
language; who needs one takes that of the text beside it.
"""

from __future__ import annotations

import re

from proxy.grounding.asked import normal, words_of
from proxy.grounding.phrases import LANGUAGES
from proxy.grounding.words import STOP

LOOKED_AT = 2_000
"""Characters of a text's beginning that are looked at."""

_OTHERS = frozenset(
    "und oder nicht ist war sind wird wurde werden wurden hat haben kein keine auch als et ou est sont pas ne qui que "
    "été était y fue era son ha está están não é foi são uma tem che non è sono sarà stato stata dei en niet is wordt "
    "zijn heeft was werd ook geen dat of no do as o e och att som är det jest nie się na ve bir".split()
)
_SMALL = _OTHERS.union(*(language.small for language in LANGUAGES))
_ENGLISH_TOO = frozenset(
    "ve war son al et die man den per sur men van tot mi chez las los san santa all me ha com ma".split()
)
_ENGLISH = STOP - _SMALL
_FOREIGN = {word for word in _SMALL if len(word) > 1 or not word.isascii()} - STOP - _ENGLISH_TOO
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]")
_ACCENTED_WORDS = 2


def is_english(text: str) -> bool | None:
    """Whether ``text`` is English; None when nothing tells."""
    text = normal(text[:LOOKED_AT])
    letters = len(_LETTER.findall(text))
    if 2 * len(_LATIN.findall(text)) < letters:
        return False
    words = words_of(text)
    english, foreign = (sum(word in small for word in words) for small in (_ENGLISH, _FOREIGN))
    if english == foreign:
        return False if not english and sum(not word.isascii() for word in words) >= _ACCENTED_WORDS else None
    return english > foreign


def both_english(one: str, other: str) -> bool:
    """Whether two texts are English; where only one tells its language, the other is taken to share it."""
    return is_english(one) is not False and is_english(other) is not False
