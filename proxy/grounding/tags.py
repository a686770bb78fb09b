"""Bedrock's input tags: find them, take their text, leave the prompt without them.

What this decides: which stretches of a text are grounding sources, queries and guarded content, and whether their
tags are well formed.

- A tag counts only when it is spelt exactly, in this case, with the declared suffix:
  ``<amazon-bedrock-guardrails-groundingSource_SFX>``, ``-query_SFX``, ``-guardContent_SFX`` and their closings. All
  else, other suffixes included, is plain text: a user who cannot guess the suffix can neither open nor close a tag.
- Tags go, their text stays. Every region is therefore a slice of the stripped text, and only its ends are kept.
- guardContent may hold sources and queries. Any other nesting, a closing that does not close the innermost open tag,
  and an open tag at the end are the caller's error. The message names tags, never the text around them.
- ``<`` occurs in a tag only as its first character, so attempts to match never overlap, and a text's end can be the
  beginning of at most one tag. That bounds what is held between pieces, and makes the work linear in the input.

What it must not know: roles and trust, JSON, what an empty source means, and where its pieces come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from proxy.grounding.errors import CallerError

SUFFIX_PARAM = "amazon-bedrock-guardrailConfig.tagSuffix"
"""The request field that declares the suffix, as errors name it."""

_STEM = "amazon-bedrock-guardrails-"
_SOURCE, _QUERY, _GUARD = _KINDS = ("groundingSource", "query", "guardContent")
_MAY_HOLD = {None: frozenset(_KINDS), _GUARD: frozenset((_SOURCE, _QUERY))}
_SUFFIX = re.compile("[A-Za-z0-9]{1,20}")
_TAG = re.compile(f"<(/?){_STEM}({'|'.join(_KINDS)})_({_SUFFIX.pattern})>")  # of any suffix: compiled once


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A text without its tags, and what they marked, each in the order of the text.

    ``guarded`` texts may hold sources and queries, whose texts then occur in both. Empty tags give empty strings.
    """

    text: str
    sources: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()


class _Region(NamedTuple):
    """What one pair of tags marked: ``stripped text[start:end]``."""

    kind: str
    start: int
    end: int


def validate_suffix(value: object) -> str:
    """Return ``value`` if it can be a tag suffix: 1 to 20 of A-Z, a-z, 0-9. Raises ``CallerError`` naming the field."""
    if isinstance(value, str) and _SUFFIX.fullmatch(value):
        return value
    message = f"{SUFFIX_PARAM} must be 1 to 20 characters of A-Z, a-z and 0-9"
    raise CallerError(message, param=SUFFIX_PARAM)


def scan(text: str, suffix: str, param: str | None = None) -> Marked:
    """Read a whole text at once. Raises as ``TagScanner`` does."""
    if _STEM not in text:
        validate_suffix(suffix)
        return Marked(text=text)
    scanner = TagScanner(suffix, param)
    scanner.feed(text)
    return scanner.close()


class TagScanner:
    """Reads a text piece by piece; however it is cut, the result is the same.

    ``suffix`` is the declared one, ``param`` the request field the text comes from (``messages[2].content``), which
    errors carry. The constructor and both methods raise ``CallerError``; after an error, or after ``close``, a scanner
    is of no more use and says so by raising again.
    """

    def __init__(self, suffix: str, param: str | None = None) -> None:
        self._suffix = validate_suffix(suffix)
        self._param = param
        self._spellings = tuple(self._spell(kind, slash) for kind in _KINDS for slash in ("", "/"))
        self._longest = max(map(len, self._spellings))
        self._held = ""  # the end of what was fed, when a tag may begin there
        self._plain: list[str] = []  # the stripped text so far, and its length
        self._length = 0
        self._open: list[tuple[str, int]] = []  # kind and start; two at most
        self._regions: list[_Region] = []
        self._ended: Exception | None = None

    def feed(self, piece: str) -> None:
        """Read on. Raises ``CallerError`` as soon as a tag stands where it must not."""
        self._refuse_if_ended()
        text = self._held + piece
        done = 0
        for tag in _TAG.finditer(text):
            slash, kind, suffix = tag.groups()
            if suffix == self._suffix:
                self._keep(text[done : tag.start()])
                self._turn(kind, closing=bool(slash))
                done = tag.end()
        cut = self._beginning_of_a_tag(text, done)
        self._keep(text[done:cut])
        self._held = text[cut:]

    def close(self) -> Marked:
        """Return what was found. Raises ``CallerError`` when a tag is still open."""
        self._refuse_if_ended()
        if self._open:
            kind, _ = self._open[-1]
            self._fail(f"{self._spell(kind)} is not closed")
        self._keep(self._held)
        self._ended = ValueError("the scanner is closed")
        text = "".join(self._plain)
        return Marked(
            text=text,
            sources=self._texts(_SOURCE, text),
            queries=self._texts(_QUERY, text),
            guarded=self._texts(_GUARD, text),
        )

    def _beginning_of_a_tag(self, text: str, done: int) -> int:
        """Index in ``text`` from which its end may be the beginning of a tag; its length when it cannot be."""
        start = text.rfind("<", max(done, len(text) - self._longest + 1))
        if start >= 0 and any(spelling.startswith(text[start:]) for spelling in self._spellings):
            return start
        return len(text)

    def _keep(self, plain: str) -> None:
        if plain:
            self._plain.append(plain)
            self._length += len(plain)

    def _turn(self, kind: str, *, closing: bool) -> None:
        """Open or close a region at the present end of the stripped text."""
        inside, start = self._open[-1] if self._open else (None, 0)
        if not closing:
            if kind not in _MAY_HOLD.get(inside, ()):
                self._fail(f"{self._spell(kind)} must not stand inside {self._spell(inside)}")
            self._open.append((kind, self._length))
        elif inside is None:
            self._fail(f"{self._spell(kind, '/')} closes nothing")
        elif inside != kind:
            self._fail(f"{self._spell(kind, '/')} stands where {self._spell(inside)} must be closed first")
        else:
            self._open.pop()
            self._regions.append(_Region(kind, start, self._length))

    def _texts(self, kind: str, text: str) -> tuple[str, ...]:
        return tuple(text[region.start : region.end] for region in self._regions if region.kind == kind)

    def _spell(self, kind: str | None, slash: str = "") -> str:
        return f"<{slash}{_STEM}{kind}_{self._suffix}>"

    def _refuse_if_ended(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _fail(self, message: str) -> None:
        self._ended = CallerError(message, param=self._param)
        raise self._ended
