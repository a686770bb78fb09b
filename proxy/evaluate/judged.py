"""The metrics that a language model judges: coherence, fluency, retrieval, the four harms, similarity on request.

How texts are quoted and which replies count is ``proxy.scoring.asking``'s. Retrieval is counted here: the share of the
question's intents that the documents answer, squared so that gaps weigh, on a straight line from 1 to 5 (Azure AI
Studio, "Retrieval score").
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from proxy.evaluate.catalogue import METRICS, PATIENCE, Result
from proxy.evaluate.rubrics import HARM_TASKS, INTENTS, RUBRICS
from proxy.grounding.errors import GroundwardenError, Overloaded
from proxy.scoring.asking import PatientAsker, Question, could_not_check

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from proxy.evaluate.rows import Turn
    from proxy.upstream.base import Upstream

_ASKED = {
    "coherence": {"QUESTION": "query", "RESPONSE": "response"},
    "fluency": {"RESPONSE": "response"},
    "similarity": {"QUESTION": "query", "TRUTH": "ground_truth", "RESPONSE": "response"},
    "retrieval": {"HISTORY": "history", "QUESTION": "query"},
} | {name: {"QUESTION": "query", "RESPONSE": "response"} for name in HARM_TASKS}
"""The texts that each metric's question quotes, and the field of a turn that each is."""

_REASON = {"type": "string", "description": "one or two sentences"}
_RATED = ', "reason": why, in one or two sentences}'
_INTENT = {
    "type": "object",
    "properties": {"intent": {"type": "string"}, "answered": {"type": "boolean"}},
    "required": ["intent", "answered"],
    "additionalProperties": False,
}


class LanguageJudge:
    """Asks a model of ``model_list``. ``upstream`` gives the deployment whose turn it is; closing is its maker's.

    ``timeout`` is the seconds one question may take once it is asked, ``at_once`` how many may be open.
    """

    def __init__(self, model: str, upstream: Callable[[], Upstream], *, timeout: float, at_once: int) -> None:
        self.model = model
        self.at_once = at_once
        self._upstream = upstream
        self._asker = PatientAsker(timeout=timeout, at_once=at_once)

    async def warm(self) -> None:
        """Ask once, about nobody's text, so that a judge that cannot be asked shows before the work, in its own words.

        Raises ``ScoringError`` or ``Overloaded``.
        """
        await self._ask(_rated("fluency", {"RESPONSE": "The judge is ready."}), told=True)

    async def measure(self, turn: Turn, names: Collection[str]) -> dict[str, Result]:
        """The results of the metrics that are named. What the judge fails on is an error, and keeps no other back."""
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(self._result(name, turn)) for name in names}
        return {name: task.result() for name, task in tasks.items()}

    async def _result(self, name: str, turn: Turn) -> Result:
        try:
            score, reason, more = await self._judged(name, turn)
        except GroundwardenError as error:
            return Result(status="error", reason=f"could not be checked: {error.message}")
        return Result(score=score, reason=reason, properties={"judge": self.model, **more})

    async def _judged(self, name: str, turn: Turn) -> tuple[float, str, dict[str, Any]]:
        """A metric's score, the judge's reason, and what else is to be known."""
        texts = {word: getattr(turn, field) for word, field in _ASKED[name].items()}
        texts = {word: text for word, text in texts.items() if text}
        if name == "retrieval":
            documents = "\n\n".join(f"[{number}] {source.text}" for number, source in enumerate(turn.sources, start=1))
            intents = _intents(await self._ask(_intended({**texts, "DOCUMENTS": documents})))
            answered = sum(intent["answered"] for intent in intents)
            score = 1 + 4 * (answered / len(intents)) ** 2
            return score, f"the documents answer {answered} of {len(intents)} intents", {"intents": intents}
        said = await self._ask(_rated(name, texts))
        return *_rating(said, name), {}

    async def _ask(self, question: Question, *, told: bool = False) -> dict[str, Any]:
        """The object that came back. A busy judge is asked again."""
        for _ in range(PATIENCE - 1):
            try:
                return await self._asker.ask(self._upstream, question, told=told)
            except Overloaded as error:
                await asyncio.sleep(error.retry_after)
        return await self._asker.ask(self._upstream, question, told=told)


def _field(name: str) -> str:
    return "severity" if METRICS[name].harm else "score"


def _rated(name: str, texts: dict[str, str]) -> Question:
    """A question whose answer is a whole number on the metric's scale, with a reason. The scale is checked here."""
    metric, field = METRICS[name], _field(name)
    scale = f"a whole number from {metric.lowest:g} to {metric.highest:g}"
    return Question(
        name=name,
        task=RUBRICS[name] if name in RUBRICS else HARM_TASKS[name],
        texts=texts,
        fields={"reason": _REASON, field: {"type": "integer", "description": scale}},
        answer=f'{{"{field}": {scale}{_RATED}',
    )


def _intended(texts: dict[str, str]) -> Question:
    return Question(
        name="retrieval",
        task=INTENTS,
        texts=texts,
        fields={"intents": {"type": "array", "items": _INTENT}},
        answer='{"intents": [{"intent": a text, "answered": true or false}, …]}',
    )


def _rating(said: dict[str, Any], name: str) -> tuple[float, str]:
    """The number and the reason in a reply. Raises ``ScoringError`` for a number off the scale, or no reason."""
    number, reason, metric = said[_field(name)], said["reason"], METRICS[name]
    if isinstance(number, bool) or not isinstance(number, int | float):
        could_not_check("its score is no number")
    if not metric.lowest <= number <= metric.highest or number != int(number):
        could_not_check(f"it gave no whole number from {metric.lowest:g} to {metric.highest:g}")
    if not isinstance(reason, str):
        could_not_check("its reason is no text")
    return float(number), reason.strip()


def _intents(said: dict[str, Any]) -> list[dict[str, Any]]:
    """The intents in a reply. Raises ``ScoringError`` unless there is at least one, each with its answer."""
    intents = said["intents"]
    if not isinstance(intents, list) or not intents or not all(map(_is_intent, intents)):
        could_not_check("it gave other intents than those asked for")
    return intents


def _is_intent(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and set(item) == {"intent", "answered"}
        and isinstance(item["intent"], str)
        and isinstance(item["answered"], bool)
    )
