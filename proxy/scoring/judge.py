"""A language model as the judge: one question a pair, one number back, and nothing else counts.

How texts are quoted and which replies count is ``asking``'s. A number out of range is "could not check", too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.asking import Asker, Question, could_not_check, read_object
from proxy.scoring.base import WARM_PAIR
from proxy.scoring.tokens import estimated_spans, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.scoring.base import EvidenceUse
    from proxy.upstream.base import JsonObject, Upstream

MAX_TOKENS = 4096
"""Longest pair, in estimated tokens; the instructions come on top."""

_GROUNDING = """\
How far does the SOURCE support the STATEMENT? Judge by the SOURCE alone, not by what you know. 1 means that all of \
the STATEMENT is said in the SOURCE or follows from it, 0 that some part of it is contradicted there or is not there \
at all, and a number between how sure you are."""

_RELEVANCE = """\
How far does the ANSWER address the QUESTION? Whether it is true does not matter. 1 means that it answers the \
QUESTION, 0 that it is about something else, and a number between how sure you are."""

# What is asked for each kind of pair: the field of the reply, what premise and hypothesis are called, the task.
_TASKS = {
    CheckKind.GROUNDING: ("supported", ("SOURCE", "STATEMENT"), _GROUNDING),
    CheckKind.RELEVANCE: ("relevant", ("QUESTION", "ANSWER"), _RELEVANCE),
}


class Judge:
    """A ``Service`` that asks a model of ``model_list``.

    ``upstream`` gives the deployment whose turn it is; closing them is for whoever made them. ``max_tokens`` is the
    longest pair in estimated tokens (at least twice ``PREMISE_FLOOR`` in tokens.py); a longer one loses the tail of its
    premise, and a claim that does not fit even so is not supported.
    """

    evidence: EvidenceUse = "whole"
    most_pairs = 1

    def __init__(self, model: str, upstream: Callable[[], Upstream], *, max_tokens: int = MAX_TOKENS) -> None:
        self.name = f"llm/{model}"
        self.max_tokens = max_tokens
        self._upstream = upstream
        self._asker = Asker()

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of about as many tokens as a language model makes of ``text``."""
        return estimated_spans(text)

    async def ask(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1]. Raises ``ScoringError`` for anything but one number, ``Overloaded`` for a 429."""
        return [await self._ask(pair) for pair in pairs]

    async def close(self) -> None:
        """Hold nothing: the models are their maker's."""

    async def _ask(self, pair: Pair) -> float:
        fitted = self._fitted(pair)
        if fitted is None:
            return 0.0
        said = await self._asker.ask(self._upstream(), _question(fitted), told=pair == WARM_PAIR)
        return _score(said, _TASKS[pair.kind][0])

    def _fitted(self, pair: Pair) -> Pair | None:
        """The pair with what is too long cut from its end; None for a claim that cannot be shown whole."""
        premise, hypothesis = estimated_spans(pair.premise), estimated_spans(pair.hypothesis)
        first, second = fitted(len(premise), len(hypothesis), self.max_tokens)
        if pair.kind is CheckKind.GROUNDING and second < len(hypothesis):
            return None
        kept = _head(pair.premise, premise, first), _head(pair.hypothesis, hypothesis, second)
        return Pair(kind=pair.kind, premise=kept[0], hypothesis=kept[1])


def _head(text: str, spans: list[tuple[int, int]], count: int) -> str:
    """The first ``count`` tokens of a text."""
    return text if len(spans) <= count else text[: spans[count - 1][1]]


def _question(pair: Pair) -> Question:
    """The range is left out of the schema, which not all servers take; it is checked."""
    field, (first, second), task = _TASKS[pair.kind]
    return Question(
        name="verdict",
        task=task,
        texts={first: pair.premise, second: pair.hypothesis},
        fields={field: {"type": "number", "description": "from 0 to 1"}},
        answer=f'{{"{field}": a number from 0 to 1}}',
    )


def read_score(body: JsonObject, field: str) -> float:
    """The number in a judge's reply. Raises ``ScoringError`` unless there is exactly one, where it must be."""
    return _score(read_object(body, (field,)), field)


def _score(said: JsonObject, field: str) -> float:
    number = said[field]
    if isinstance(number, bool) or not isinstance(number, int | float):
        could_not_check("it gave another object than the one asked for")
    if not 0 <= number <= 1:
        could_not_check("it gave a number that is not from 0 to 1")
    return float(number)
