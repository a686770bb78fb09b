"""Whether a text is English, as far as its letters and small words tell.

Words that English and another language share ("a", "do", "in", "is") say nothing. So a text of names and numbers has no
language; who needs one takes that of the text beside it.
"""

from __future__ import annotations

import re

from proxy.grounding.phrases import LANGUAGES
from proxy.grounding.words import STOP, normal, words_of

LOOKED_AT = 2_000
"""Characters of a text's beginning that are looked at."""

_ELSEWHERE = frozenset(
    "no do as o e och att som är det jest nie się na ve bir dengan untuk pada dari adalah tidak dalam oleh".split()
)
"""Common words of languages without phrases."""

_SMALL = _ELSEWHERE.union(*(one.small | one.common for one in LANGUAGES))
_ENGLISH_TOO = frozenset(
    "ve war son al et die man den per sur men van tot mi chez las los san santa all me ha com ma met".split()
)
_IN_NAMES = frozenset("da de di du del della dos das van von der la le".split())
"""Those that English names hold: "Charles de Gaulle". Before a word without a capital they are no part of a name, and
one after another they are one sign."""

_ENGLISH = STOP - _SMALL
_FOREIGN = {word for word in _SMALL if len(word) > 1 or not word.isascii()} - STOP - _ENGLISH_TOO - _IN_NAMES
_VERBS_TOO = _ENGLISH_TOO | STOP | frozenset("costa cobre era fu hay include kan pode sea sta dura".split())
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff]")
_PARTICLES = "|".join(sorted(_IN_NAMES, key=len, reverse=True))
_BEFORE_CAPITAL = re.compile(rf"(?<!\w)(?:(?i:{_PARTICLES})\s+)+(?=[^\W\d_])(?![a-zß-ÿ])")
_BEFORE_SMALL = re.compile(rf"(?<!\w)((?i:{_PARTICLES}))\s+(?=[a-zß-ÿ])(?!(?i:{_PARTICLES})\s)")
_ACCENTED_WORDS = 2


def is_english(text: str) -> bool | None:
    """Whether ``text`` is English; None when nothing tells."""
    text = normal(text[:LOOKED_AT])
    letters = len(_LETTER.findall(text))
    if 2 * len(_LATIN.findall(text)) < letters:
        return False
    words = words_of(text)
    english, foreign = sum(word in _ENGLISH for word in words), sum(word in _FOREIGN for word in words)
    foreign += sum(found.group(1).casefold() in _IN_NAMES for found in _BEFORE_SMALL.finditer(text))
    in_names = len(_BEFORE_CAPITAL.findall(text))
    accented = sum(not word.isascii() for word in words)
    if english == foreign + in_names:
        return False if not english and accented >= _ACCENTED_WORDS else None
    if (in_names, english + foreign + accented) == (1, 0) and not _has_verb(text):
        return None
    return english > foreign + in_names


def both_english(one: str, other: str) -> bool:
    """Whether two texts are English; where only one tells its language, the other is taken to share it."""
    return is_english(one) is not False and is_english(other) is not False


def _has_verb(text: str) -> bool:
    """Whether another language's verb stands in a text, and no English word or name looks like it."""
    found = (verb.casefold() for one in LANGUAGES if one.spaced for verb in one.verbs.findall(text))
    return not _VERBS_TOO.issuperset(found)
