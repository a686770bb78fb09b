"""A model's reply with other words in it, and a model asked again: what ``redact`` and ``retry`` need of a surface.

Both work on OpenAI's chat completions, which every upstream speaks, so all surfaces share them. Whatever else of a
choice might spell its old text (log-probabilities, token ids), or point into it (annotations), goes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from proxy.surfaces.answers import choices_of, index_of, object_in, parts_of
from proxy.upstream.base import Answer, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.upstream.base import Api, Upstream

JsonObject = dict[str, Any]

_MOST_NAMED = 20
_MOST_CHARS = 500
_TEXT_PARTS = frozenset({"text", "output_text"})
_REQUEST = (
    "These sentences of your answer are not supported by the documents you were given:\n\n{sentences}\n\n"
    "Answer the question again, using only what the documents say. Leave out what they do not say, and do not mention "
    "this message."
)


def redacted(answer: Answer, texts: Mapping[int, str]) -> Answer:
    """A whole reply whose choices, by their numbers, say these texts instead of their own."""
    choices = [
        _edited(choice, "message", texts[index_of(choice, at)]) if index_of(choice, at) in texts else choice
        for at, choice in choices_of(answer.body)
    ]
    return _answer({**answer.body, "choices": choices})


def edited(chunk: JsonObject, text: str) -> JsonObject:
    """A chunk of one choice that says ``text`` instead of its own."""
    return {**chunk, "choices": [_edited(choice, "delta", text) for _, choice in choices_of(chunk)]}


def asked_again(
    body: JsonObject, said: str, sentences: Sequence[str], field: Literal["messages", "input"] = "messages"
) -> JsonObject:
    """The request that asks once more: the same, the answer that was ``said``, and what is wrong with it.

    ``field`` is where the request has its messages; one that is a text is a message of the user's.
    """
    named = "\n".join(f"- {sentence[:_MOST_CHARS]}" for sentence in sentences[:_MOST_NAMED])
    more = [
        {"role": "assistant", "content": said},
        {"role": "user", "content": _REQUEST.format(sentences=named)},
    ]
    messages = [{"role": "user", "content": body[field]}] if isinstance(body[field], str) else body[field]
    return {**body, field: [*messages, *more]}


class Repeated:
    """A model that may be asked again for a whole answer, with one ``body``. ``said`` is what an answer says."""

    def __init__(
        self, upstream: Upstream, body: JsonObject, api: Api = "chat", said: Callable[[Answer], str] | None = None
    ) -> None:
        self._upstream, self._body = upstream, body
        self._api: Api = api
        self._said = said or _first_said

    async def ask(self) -> Answer:
        """Ask for the first time. Raises what the upstream raises."""
        return await self._upstream.complete(self._body, self._api)

    async def again(self, answer: Answer, sentences: Sequence[str]) -> Answer:
        """Ask once more, naming the sentences of ``answer`` that are not supported. Tokens of both are counted."""
        field: Literal["messages", "input"] = "input" if self._api == "responses" else "messages"
        body = asked_again(self._body, self._said(answer), sentences, field)
        new = await self._upstream.complete(body, self._api)
        spent = with_usage(new.body, answer.body.get("usage"))
        return new if spent is new.body else _answer(spent)


def _first_said(answer: Answer) -> str:
    [said] = parts_of(answer.body)[:1]
    return said.text


def with_usage(body: JsonObject, spent: Any) -> JsonObject:
    """A reply or chunk whose count of tokens has those ``spent`` before added; as it is where either has none."""
    usage = body.get("usage")
    if not isinstance(usage, dict) or not isinstance(spent, dict):
        return body
    return {**body, "usage": added(usage, spent)}


def added(one: JsonObject, other: JsonObject) -> JsonObject:
    """Two counts of tokens in one: numbers added, objects joined, anything else as the first has it."""
    total = {**other, **one}
    for name in one.keys() & other.keys():
        pair = one[name], other[name]
        if all(isinstance(each, dict) for each in pair):
            total[name] = added(*pair)
        elif all(isinstance(each, int | float) and not isinstance(each, bool) for each in pair):
            total[name] = pair[0] + pair[1]
    return total


def _edited(choice: JsonObject, holder: str, text: str) -> JsonObject:
    said = {name: value for name, value in object_in(choice, holder).items() if name != "annotations"}
    kept = {"index": choice.get("index", 0), holder: {**said, **_content(said, text)}, "logprobs": None}
    return kept | {"finish_reason": choice.get("finish_reason")}


def _content(said: JsonObject, text: str) -> JsonObject:
    """Content that says ``text`` in the shape that it had: a string, or the first of its parts that hold text."""
    content = said.get("content")
    if not isinstance(content, list):
        return {"content": text} if isinstance(content, str) or text else {}
    texts = [at for at, part in enumerate(content) if isinstance(part, dict) and str(part.get("type")) in _TEXT_PARTS]
    first = texts[0] if texts else -1
    return {
        "content": [
            {"type": part["type"], "text": text} if at == first else part
            for at, part in enumerate(content)
            if at == first or at not in texts
        ]
    }


def _answer(body: JsonObject) -> Answer:
    return Answer(raw=to_json(body), body=body)
