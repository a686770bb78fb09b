"""A language model that says why a claim is not supported, and rewrites it so that it is.

How texts are quoted and which replies count is ``asking``'s. What comes back is not believed here: a rewritten claim is
for whoever asked to judge.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from proxy.scoring.asking import PatientAsker, Question, could_not_check
from proxy.scoring.base import Revision
from proxy.scoring.tokens import estimated_spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.scoring.base import UnsupportedClaim
    from proxy.upstream.base import JsonObject, Upstream

MAX_TOKENS = 4096
"""The most that is shown of the sources, in estimated tokens: whole if they fit, else the passages nearest to the
claim. The claim itself comes on top."""

_CHARS_PER_TOKEN = 16  # more than any text has, so that what is far too long need not be counted
_BETWEEN = "\n\n"

_TASK = """\
The STATEMENT is part of an answer that was to rest on the SOURCE alone, and a check found that the SOURCE does not \
support it. Judge by the SOURCE alone, not by what you know.{read_with}"""
_READ_WITH = {
    "QUESTION": " The QUESTION is what was asked.",
    "CONTEXT": " The CONTEXT stood before the STATEMENT, which is to be read with it.",
}
_REASON = """ As "reason", say in one or two sentences, in the language of the STATEMENT, what in it the SOURCE \
contradicts or does not say."""
_REWRITE = """ As "rewritten", give the STATEMENT changed as little as possible so that the SOURCE supports all of it, \
in the same language and with nothing added; an empty text if the SOURCE says nothing of the kind."""


class LanguageReviser:
    """A ``Reviser``. ``upstream`` gives a model's deployment whose turn it is; closing them is for their maker.

    ``model`` is asked unless another is named. ``timeout`` is the seconds one question may take once it is asked,
    ``at_once`` how many may be open.
    """

    def __init__(self, model: str, upstream: Callable[[str], Upstream], *, timeout: float, at_once: int) -> None:
        self.model = model
        self._upstream = upstream
        self._asker = PatientAsker(timeout=timeout, at_once=at_once)

    async def revise(self, model: str, claim: UnsupportedClaim, *, reason: bool, rewrite: bool) -> Revision:
        """Ask one model about one claim. Raises ``ScoringError``, or ``Overloaded``, for no usable answer."""
        question = _question(claim, reason=reason, rewrite=rewrite)
        said = await self._asker.ask(partial(self._upstream, model), question)
        return Revision(
            reason=_text(said, "reason", may_be_empty=False) if reason else None,
            rewritten=_text(said, "rewritten", may_be_empty=True) if rewrite else None,
        )


def _text(said: JsonObject, field: str, *, may_be_empty: bool) -> str:
    value = said[field]
    if not isinstance(value, str) or not (may_be_empty or value.strip()):
        could_not_check("it gave another object than the one asked for")
    return value.strip()


def _question(claim: UnsupportedClaim, *, reason: bool, rewrite: bool) -> Question:
    read_with = {"QUESTION": claim.query, "CONTEXT": claim.context}
    read_with = {name: text for name, text in read_with.items() if text}
    task = _TASK.format(read_with="".join(_READ_WITH[name] for name in read_with))
    wanted = [name for name, asked in (("reason", reason), ("rewritten", rewrite)) if asked]
    return Question(
        name="revision",
        role="editor",
        done="checked and corrected",
        task=task + _REASON * reason + _REWRITE * rewrite,
        texts={"SOURCE": _shown(claim), **read_with, "STATEMENT": claim.statement},
        fields={name: {"type": "string"} for name in wanted},
        answer="{" + ", ".join(f'"{name}": a text' for name in wanted) + "}",
    )


def _shown(claim: UnsupportedClaim) -> str:
    """The sources, or where they are too long the passages that fit, nearest first."""
    whole = _BETWEEN.join(claim.sources)
    if _fits(whole, MAX_TOKENS):
        return whole
    kept: list[str] = []
    room = MAX_TOKENS
    for passage in claim.passages or (whole[: MAX_TOKENS * 2],):
        if kept and not _fits(passage, room):
            break
        kept.append(passage)
        room -= len(estimated_spans(passage))
    return _BETWEEN.join(kept)


def _fits(text: str, tokens: int) -> bool:
    return len(text) <= tokens * _CHARS_PER_TOKEN and len(estimated_spans(text)) <= tokens
