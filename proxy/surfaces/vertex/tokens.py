"""Tokens as Google counts them for check grounding: words, and the marks that end a sentence.

"They wore off-the-rack clothes in 2024." has seven. A script that writes no spaces has no words that could be counted
without a dictionary: what stands between spaces and marks is one there.
"""

from __future__ import annotations

import re
from itertools import islice

from proxy.grounding.claims import segments

_BETWEEN_SPACES, _IN_WORDS = re.compile(r"\S+"), re.compile(r"\w")
_ENDS = re.compile("[.!?\u2026\u3002\uff01\uff1f\uff61]['\")\\]\u201d\u2019\u00bb\u203a\u300d\u300f]*\\s*\\Z")


def count_tokens(text: str, *, most: int) -> int:
    """Words and sentence ends in ``text``; no more than ``most + 1`` are counted."""
    found = (each for each in _BETWEEN_SPACES.finditer(text) if _IN_WORDS.search(text, *each.span()))
    words = sum(1 for _ in islice(found, most + 1))
    if words > most:
        return words
    return words + sum(1 for start, end in segments(text) if _ENDS.search(text[max(start, end - 16) : end]))
