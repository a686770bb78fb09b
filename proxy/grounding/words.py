"""Words as the core compares them: folded, stemmed a little, without function words and without what cannot be seen."""

from __future__ import annotations

import re
import unicodedata

_NO_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u0e00-\u0e7f"
_TERM = re.compile(rf"\d+(?:[.,]\d+)*|[{_NO_SPACES}]|[^\W\d_{_NO_SPACES}]+")
_WORD = re.compile(r"[^\W\d_]+")
INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0001-\U000e01ef]"
)
"""Control and format characters: the scorer's tokenizer drops them, so nothing here may see a word end at one."""

STOP = frozenset(
    "a an the of to in on at by for with from and or as is am are was were be been it its this that these those which "
    "who whom what when where why how do does did has have had will would can could may might not no he she they we "
    "you i his her their our your there than then so if but into about over also such".split()
)
_ENDINGS = ("ingly", "ation", "ments", "ment", "ings", "ing", "edly", "ies", "ied", "ers", "ed", "er", "es", "ly", "s")
_SHORTEST_STEM = 3
_NO_ADVERBS = frozenset("apply supply reply comply multiply family assembly monopoly anomaly italy july".split())


def visible(text: str) -> str:
    """The text without characters that cannot be seen."""
    return INVISIBLE.sub("", text)


def normal(text: str) -> str:
    """A text without what cannot be seen, its accents composed and its apostrophes straight."""
    return unicodedata.normalize("NFC", visible(text)).replace("\u2019", "'")


def words_of(text: str) -> list[str]:
    """The folded words of a text, parted at apostrophes and hyphens."""
    return _WORD.findall(text.casefold())


def terms(text: str) -> list[str]:
    """Folded words of a text, in order, without function words."""
    return [_stem(word) for word in _TERM.findall(visible(text).casefold()) if word not in STOP]


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    for ending in _ENDINGS:
        if word.endswith(ending) and word not in _NO_ADVERBS and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith(("e", "y")) and len(word) > _SHORTEST_STEM else word
