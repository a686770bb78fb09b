"""What stands around an answer without being a part of it: the fields that are known, and what their values look like.

A value that does not look as its field's values do is text, whatever the field is called, and falls to the policy's
``on_uninspected.default``. So does any string in a field whose name says that it speaks. What a provider says that it
looked up (annotations, citations, search results) is text by others and leaves with the answer it belongs to; of that
only the shape is checked.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SPEAKING = frozenset(
    "text content message output output_text generated_text answer response completion summary transcript caption "
    "thought thoughts explanation translation".split()
)
"""Names of fields that hold what somebody says, however little: a word in one is text and no token."""

_LONGEST_TOKEN = 64
_NAME = re.compile(r"[!-~]{0,512}")
_PROVIDER = re.compile(r"[\w.:/-]{0,40}|[A-Z0-9][\w.-]{0,20}(?: \(?[A-Z0-9][\w.-]{0,20}\)?){1,3}", re.ASCII)
_PADDING = re.compile(r"[A-Za-z0-9]{0,64}")
_BEDROCKS_PADDING = string.ascii_letters + string.digits
_SIGNATURE = re.compile(r"[A-Za-z0-9+/=_-]*")
_ADDRESS = re.compile(r"[!-~]{0,2048}")
_WORDLIKE = re.compile(r"[A-Za-z][a-z]{3,}")
_LOOKED_UP = frozenset(
    "type url uri link title text content snippet cited_text quote date last_updated start end start_index end_index "
    "index id name domain source sources document documents document_id document_ids document_index document_title "
    "file_id filename file_citation url_citation file_path container_file_citation container_id score".split()
)


def holds_text(value: Any) -> bool:
    """Whether anything inside reads like text rather than an identifier or a number."""
    if isinstance(value, str):
        value = value.strip()
        return len(value) > _LONGEST_TOKEN or not value.isascii() or any(character.isspace() for character in value)
    if isinstance(value, list) and sum(isinstance(item, str) for item in value) > 1:
        return True  # several strings make a sentence, whatever each is
    if isinstance(value, dict) and any(name in SPEAKING and holds_string(item) for name, item in value.items()):
        return True
    return any(holds_text(item) for item in inside(value))


def holds_string(value: Any) -> bool:
    """Whether there is a string among the values, however short; names count too, unless nothing is behind them."""
    if isinstance(value, str):
        return bool(value.strip())
    return any(holds_string(item) for item in (value.values() if isinstance(value, dict) else inside(value)))


def inside(value: Any) -> Iterable[Any]:
    """The names and values of an object, the items of a list."""
    if isinstance(value, dict):
        return (*value, *value.values())
    return value if isinstance(value, list) else ()


def fits(name: str, value: Any) -> bool:
    """Whether a value looks as those of this known field do; fields that have no known look always fit."""
    return value is None or name not in _LOOKS or _LOOKS[name](value)


class Padding:
    """Random letters that hide how long a chunk is, watched for words: of random ones few look like one."""

    def __init__(self) -> None:
        self._long = self._words = 0

    def add(self, value: Any) -> None:
        """Take one chunk's."""
        if isinstance(value, str) and len(value) >= 4:  # noqa: PLR2004 - shorter ones often look like words
            self._long += 1
            self._words += _WORDLIKE.fullmatch(value) is not None

    def spells(self, *, surely: bool) -> bool:
        """Whether it may be spelling something; ``surely`` when that is more than a chance of 1 in 10,000."""
        return self._words >= 2 + surely and 2 * self._words > self._long


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_bedrocks_padding(value: Any) -> bool:
    return isinstance(value, str) and _BEDROCKS_PADDING.startswith(value)


def _is_looked_up(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_looked_up(item) for item in value)
    if isinstance(value, dict):
        return all(
            (_LOOKED_UP.issuperset((name,)) and (isinstance(item, str) or _is_looked_up(item)))
            or not (holds_text(name) or holds_text(item) or (name in SPEAKING and holds_string(item)))
            for name, item in value.items()
        )
    return not isinstance(value, str) or _ADDRESS.fullmatch(value) is not None


def _is_signed(value: Any) -> bool:
    """What Google sends along: signatures of its thoughts, and numbers and tokens as any metadata."""
    if isinstance(value, dict):
        return all(
            (name == "thought_signature" and isinstance(item, str) and _SIGNATURE.fullmatch(item) is not None)
            or (not holds_text({name: None}) and not (name in SPEAKING and holds_string(item)) and _is_signed(item))
            for name, item in value.items()
        )
    return not holds_text(value)


_LOOKS: dict[str, Callable[[Any], bool]] = {
    "id": _matches(_NAME),
    "model": _matches(_NAME),
    "provider": _matches(_PROVIDER),
    "obfuscation": _matches(_PADDING),
    "p": _is_bedrocks_padding,
    "annotations": _is_looked_up,
    "citations": _is_looked_up,
    "search_results": _is_looked_up,
    "extra_content": _is_signed,
    "encrypted_content": _matches(_SIGNATURE),
}
