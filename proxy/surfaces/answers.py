"""The fields of a chat answer, declared: which hold what the user reads, which must not leave, which say nothing.

Whole answers and streams share this file: the deltas of a stream are first joined into the message they spell, and
both ``message`` and ``delta`` are cleaned by the same rules. A field declared nowhere that holds text, in the message,
the choice or around the choices, falls to the policy's ``on_uninspected.default``, and so does a known one that does
not look like itself (``metadata.py``); unknown metadata (numbers, short tokens) passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import UpstreamError
from proxy.guard.answer import AnswerPart, Carried
from proxy.surfaces.metadata import SPEAKING, Padding, fits, holds_string, holds_text, inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxy.policy.model import Policy

JsonObject = dict[str, Any]

CALLS = frozenset({"tool_calls", "function_call"})
_SPECIFIC = "provider_specific_fields"
REASONING = frozenset({_SPECIFIC, "reasoning", "reasoning_content", "reasoning_details", "reasoning_text", "thinking",
                       "thinking_blocks", "reasoning_summary"})  # fmt: skip
IMAGES = frozenset({"images", "image", "audio", "video"})
# Judged or ruled on elsewhere, or reviewed: annotations, citations and search results name what a provider looked up,
# and leave with the answer they belong to. Everything else is looked at, whatever its name.
_MESSAGE = frozenset({"content", "annotations", "extra_content"}) | CALLS | REASONING | IMAGES
_CHOICE = frozenset({"logprobs"})
_ANSWER = frozenset({"id", "model", "choices", "provider", "obfuscation", "p", "citations", "search_results"})
_BESIDE = frozenset({"annotations", "extra_content", "citations", "search_results"})  # waits for its answer's verdict
_STEADY = frozenset({"model", "provider"})  # the same in all chunks of a stream
_KEPT = _MESSAGE | {"role", "refusal"}  # in a stream any string may be a piece of text: these are known to be none
_FRAME = frozenset({"index", "finish_reason"})
_SPOKEN = frozenset({"content", "refusal"})
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking"})
_TEXT_PARTS = frozenset({"text", "output_text"})
_PART = frozenset({"type", "text", "annotations"})
_TOKENS = frozenset({"content", "refusal"})
_TOKEN_LISTS = frozenset({"tokens", "token_logprobs", "top_logprobs", "text_offset"})
_TOKEN_FIELDS = frozenset({"token", "logprob", "bytes", "top_logprobs"})
_PARTS = re.compile("\ufffd+")
_SPECIAL = re.compile(r"<\|[a-z0-9_]{1,30}\|>|</s>")
_FEWEST_WORDS = 4
_WORD = re.compile(r"[^\W\d_]*[.,!?'-]?[^\W\d_]*[.,!?]?")


def parts_of(answer: JsonObject) -> list[AnswerPart]:
    """Each choice of a whole answer, for the guard. Raises ``UpstreamError`` for an answer that holds none."""
    odd = bool(undeclared(answer, _ANSWER))
    return _some(
        [
            _part(index_of(choice, at), without_echo(choice, "message"), object_in(choice, "message"), odd=odd)
            for at, choice in choices_of(answer)
        ]
    )


def without_echo(choice: JsonObject, holder: str) -> JsonObject:
    """A choice without what holds its message, and without a ``text`` that says the very same, as Together sends it."""
    said = object_in(choice, holder).get("content")
    echoes = isinstance(said, str) and choice.get("text") == said
    return _without(choice, holder, "text") if echoes else _without(choice, holder)


class Spelled:
    """A stream's chunks joined, one by one, into the choices that they spell."""

    def __init__(self) -> None:
        self._around, self._odd, self._padding = _Joined(), False, Padding()
        self._choices: dict[int, tuple[_Joined, _Joined]] = {}
        self._odd_choices: set[int] = set()
        self._ended: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether every choice has said why it ended. A stream without this or ``[DONE]`` broke off."""
        return bool(self._choices) and self._choices.keys() <= self._ended

    def add(self, chunk: JsonObject) -> None:
        """Join one more chunk. Raises ``UpstreamError`` for what is none."""
        self._around.add(_without(chunk, *_ANSWER))
        self._padding.add(chunk.get("obfuscation"))
        self._odd = self._odd or bool(_misfits(chunk, _ANSWER))
        for at, choice in choices_of(chunk):
            index, delta = index_of(choice, at), object_in(choice, "delta")
            whole, message = self._choices.setdefault(index, (_Joined(), _Joined()))
            whole.add(without_echo(choice, "delta"))
            message.add(_without(delta, *_BESIDE))  # looked at one by one
            if _misfits(delta, _MESSAGE):
                self._odd_choices.add(index)
            if choice.get("finish_reason"):
                self._ended.add(index)

    @property
    def ended(self) -> int:
        """How many choices have said why they ended."""
        return len(self._ended)

    @property
    def begun(self) -> bool:
        """Whether any choice has."""
        return bool(self._choices)

    def parts(self) -> list[AnswerPart]:
        """Each choice, for the guard. Raises ``UpstreamError`` when there is none."""
        odd = self._odd or self._padding.spells(surely=True) or bool(undeclared(self._around.fields(), _ANSWER))
        return _some(
            [
                _part(index, whole.fields(), message.fields(), odd=odd or index in self._odd_choices)
                for index, (whole, message) in sorted(self._choices.items())
            ]
        )


class Around:
    """Fields of no known use, over a whole stream: what each says may be too short for a text, and all together one."""

    def __init__(self) -> None:
        self._joined = _Joined()
        self._seen: set[str] = set()

    def add(self, fields: JsonObject, *, said: bool) -> bool:
        """Take one event's; return whether a string came that is new after text has been ``said``."""
        self._joined.add(fields)
        new = set(_strings(fields)) - self._seen
        if not said:
            self._seen |= new
        return said and bool(new)

    def spell(self) -> bool:
        """Whether they read like text."""
        return bool(undeclared(self._joined.fields(), frozenset()))


class Watch:
    """Says of each chunk of a stream whether it can be judged by its text alone, or must wait for the whole.

    Around the text there may be unknown fields. Those without a string say nothing, and so does a short string that
    stays the same from chunk to chunk (a fingerprint, a tier); one that changes may be spelling something.
    """

    def __init__(self, policy: Policy) -> None:
        self._rules = policy.on_uninspected
        self._blocking = policy.blocking
        self._seen: dict[str, set[str]] = {}
        self._said = False  # whether any text has come: a field that is new after that may be spelling on
        self._padding = Padding()

    def holds(self, chunk: JsonObject, choice: JsonObject) -> bool:
        """Whether ``choice``, of ``chunk``, must wait."""
        delta = object_in(choice, "delta")
        content = _without_thoughts(delta.get("content"))
        kinds = ((self._rules.tool_calls, CALLS), (self._rules.images, IMAGES))
        whole = bool(delta.get("refusal")) or not isinstance(content, str | None)
        whole = whole or (self._blocking and any(delta.get(name) for name in _BESIDE))
        whole = whole or any(
            (rule == "block" or self._blocking) and any(delta.get(name) for name in names) for rule, names in kinds
        )
        reasons = bool(_reasoning(delta, _has_string)) or content is not delta.get("content")
        if whole or (reasons and self._rules.reasoning == "block"):
            return True
        unknown = (
            self.holds_around(chunk)
            or self._unknown("choice", without_echo(choice, "delta"), _CHOICE | {"finish_reason"})
            or self._unknown("delta", delta, _MESSAGE | {"refusal"})
        )
        self._said = self._said or bool(content)
        return unknown

    def holds_around(self, chunk: JsonObject) -> bool:
        """Whether what stands around the choices of ``chunk`` must wait."""
        if self._blocking and any(chunk.get(name) for name in _BESIDE):
            return True
        self._padding.add(chunk.get("obfuscation"))
        if self._rules.default != "block":
            return False
        changed = any(self._changes(f"chunk.{name}", chunk.get(name)) for name in _STEADY)
        return changed or self._padding.spells(surely=False) or self._unknown("chunk", chunk, _ANSWER)

    def _unknown(self, where: str, fields: JsonObject, declared: frozenset[str]) -> bool:
        if self._rules.default != "block":
            return False
        unknown = {name: value for name, value in fields.items() if name not in declared}
        return bool(undeclared(fields, declared)) or any(
            self._changes(f"{where}.{name}", value) for name, value in unknown.items()
        )

    def _changes(self, name: str, value: Any) -> bool:
        strings = set(_strings(value))
        seen = self._seen.setdefault(name, set())
        if not seen and not self._said:
            seen |= strings
        return not strings <= seen


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(item)


def clean(body: JsonObject, policy: Policy, *, holder: str) -> JsonObject:
    """A reply or chunk less what the policy strips; the same object when there is nothing to strip.

    ``holder`` is where its choices hold what is said: ``message`` or ``delta``. A chunk's piece of a text need not
    look like one, so where unknown text is stripped, a chunk loses every unknown field with a string in it.
    """
    holds = _holds_string if holder == "delta" else holds_text
    strip = _Strip(policy, holds)
    choices = body.get("choices")
    if isinstance(choices, list):
        cleaned = [_clean_choice(choice, strip, holder) if isinstance(choice, dict) else choice for choice in choices]
        if any(new is not old for new, old in zip(cleaned, choices, strict=True)):
            body = {**body, "choices": cleaned}
    return _less(body, strip.undeclared(body, _ANSWER | {"object"}))


def prompt_text(body: JsonObject) -> str:
    """The text of a request's messages or prompts, for counting its tokens; pictures and roles are none."""
    prompt = body.get("prompt")
    texts = [one for one in (prompt if isinstance(prompt, list) else [prompt]) if isinstance(one, str)]
    for message in body.get("messages") or ():
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts)


def _some(parts: list[AnswerPart]) -> list[AnswerPart]:
    if not parts:
        raise malformed()
    return parts


def malformed() -> UpstreamError:
    """What is not shaped like an answer cannot be inspected, and is not released."""
    return UpstreamError("The model's reply is not a chat completion.")


def choices_of(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    """The choices of a reply or chunk, with their places. Raises ``UpstreamError`` where they are none."""
    choices = body.get("choices") or []
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise malformed()
    return enumerate(choices)


def index_of(choice: JsonObject, at: int) -> int:
    """The number of the choice that stands at ``at``: its own where that is a number."""
    index = choice.get("index")
    return index if isinstance(index, int) else at


def object_in(choice: JsonObject, name: str) -> JsonObject:
    """A field that holds an object, {} where it holds nothing. Raises ``UpstreamError`` where it holds else."""
    value = choice.get(name) or {}
    if not isinstance(value, dict):
        raise malformed()
    return value


def _without(fields: JsonObject, *names: str) -> JsonObject:
    return {name: value for name, value in fields.items() if name not in names}


class _Joined:
    """Deltas joined: text and lists are appended in the order they came, objects joined by their keys.

    Only what is spoken is spelt exactly; elsewhere the items of a list are joined too, and of texts (an id in every
    chunk, say) each piece counts once: enough to see whether there is any text.
    """

    def __init__(self) -> None:
        self._pieces: dict[str, list[Any]] = {}

    def add(self, delta: JsonObject) -> None:
        for name, value in delta.items():
            pieces = self._pieces.setdefault(name, [])  # without a value too: the name itself may be text
            if value:
                pieces.append(value)

    def fields(self) -> JsonObject:
        return {name: _appended(pieces, spoken=name in _SPOKEN) for name, pieces in self._pieces.items()}


def _appended(pieces: list[Any], *, spoken: bool) -> Any:
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces) if spoken else _as_text(set(pieces))
    if all(isinstance(piece, list) for piece in pieces):
        items = [item for piece in pieces for item in piece]
        return items if spoken or len(items) == 1 else [_appended(items, spoken=False)]
    if all(isinstance(piece, dict) for piece in pieces):
        joined = _Joined()
        for piece in pieces:
            joined.add(piece)
        return joined.fields()
    return pieces[0] if len(pieces) == 1 else pieces


def _as_text(pieces: set[str]) -> str:
    """Pieces that read like words, one after the other; of fingerprints, times and other signs only the longest."""
    words = len(pieces) >= _FEWEST_WORDS and all(map(_WORD.fullmatch, pieces))
    # " is": the space belongs to a text
    words = words or any(piece != piece.strip() or holds_text(piece) for piece in pieces)
    return " ".join(sorted(pieces)) + " ." if words else max(pieces, key=len, default="")


def _part(index: int, choice: JsonObject, message: JsonObject, *, odd: bool) -> AnswerPart:
    """One choice. ``choice`` is without what holds its message; ``odd``: there is unknown text around the choices."""
    carries: set[Carried] = set()
    text, others, odd_part = _content(_without_thoughts(message.get("content")))
    calls = [message[name] for name in CALLS if message.get(name)]
    refusal = message.get("refusal")
    spoken = _MESSAGE | {"refusal"} if isinstance(refusal, str) else _MESSAGE
    if others or any(message.get(name) for name in IMAGES):
        carries.add("images")
    if calls:
        carries.add("tool_calls")
    if _reasoning(message) or _without_thoughts(message.get("content")) is not message.get("content"):
        carries.add("reasoning")
    odd = odd or odd_part or any(isinstance(call, str) for call in calls)
    if odd or undeclared(message, spoken) or undeclared(choice, _CHOICE):
        carries.add("default")
    return AnswerPart(
        index=index, text=text, refusal=refusal if isinstance(refusal, str) else "", carries=frozenset(carries)
    )


def _content(content: Any) -> tuple[str, bool, bool]:
    """The text of a message's content, whether it holds anything else, and whether a text part says more beside."""
    if content is None or isinstance(content, str):
        return content or "", False, False
    if not isinstance(content, list):
        return "", True, False
    texts = [part for part in content if _is_text(part)]
    beside = any(undeclared(part, _PART) for part in texts)
    return "".join(part["text"] for part in texts), len(texts) < len(content), beside


def _without_thoughts(content: Any) -> Any:
    """Content without the parts that some providers think in; the same object when there are none."""
    if not isinstance(content, list):
        return content
    kept = [part for part in content if not (isinstance(part, dict) and str(part.get("type")) in _THOUGHTS)]
    return content if len(kept) == len(content) else kept


def _reasoning(message: JsonObject, holds: Callable[[Any], bool] = holds_text) -> set[str]:
    """Names of the fields that hold reasoning; LiteLLM's ``provider_specific_fields`` may, or may say nothing."""
    held = {name for name in REASONING if message.get(name)}
    return held if holds(message.get(_SPECIFIC)) else held - {_SPECIFIC}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _TEXT_PARTS and isinstance(part.get("text"), str)


def _has_string(value: Any) -> bool:
    """Whether there is a string among the values, which in a delta may be a piece of a thought."""
    return any(_strings(value))


def _holds_string(value: Any) -> bool:
    return isinstance(value, str) or any(_holds_string(item) for item in inside(value))


def undeclared(fields: JsonObject, declared: frozenset[str], holds: Callable[[Any], bool] = holds_text) -> set[str]:
    """Names of the fields that nobody declared and that hold text, and of those that do not look like themselves."""
    unknown = {
        name
        for name, value in fields.items()
        if name not in declared and (holds(value) or holds_text(name) or (name in SPEAKING and holds_string(value)))
    }
    return unknown | _misfits(fields, declared)


def _misfits(fields: JsonObject, declared: frozenset[str]) -> set[str]:
    return {name for name, value in fields.items() if name in declared and not fits(name, value)}


@dataclass(frozen=True, slots=True)
class _Strip:
    """Which fields a policy strips. ``holds`` says of a value whether it may be text."""

    policy: Policy
    holds: Callable[[Any], bool]

    def undeclared(self, fields: JsonObject, declared: frozenset[str]) -> set[str]:
        strips = self.policy.on_uninspected.default == "strip"
        return undeclared(fields, declared, self.holds) if strips else set()

    def thoughts(self, content: Any) -> Any:
        return _without_thoughts(content) if self.policy.on_uninspected.reasoning == "strip" else content

    def reasoning(self, fields: JsonObject) -> set[str]:
        strips = self.policy.on_uninspected.reasoning == "strip"
        return _reasoning(fields, holds_text if self.holds is holds_text else _has_string) if strips else set()


def _less(fields: JsonObject, gone: set[str]) -> JsonObject:
    return _without(fields, *gone) if gone else fields


def _clean_choice(choice: JsonObject, strip: _Strip, holder: str) -> JsonObject:
    result = choice
    for name in ("message", "delta"):
        said = choice.get(name)
        if not isinstance(said, dict):
            continue
        thoughts = strip.reasoning(said)
        if (content := strip.thoughts(said.get("content"))) is not said.get("content"):
            said = {**said, "content": content}
            result = {**result, name: said}
        if gone := thoughts | strip.undeclared(said, _KEPT):
            result = {**result, name: _less(said, gone)}
        if thoughts:  # their tokens are among the log-probabilities
            result = {**_less(result, {"token_ids"}), "logprobs": None}
    result = _less(result, strip.undeclared(choice, _CHOICE | _FRAME | {holder}))
    logprobs = result.get("logprobs")
    released = _released_logprobs(logprobs, object_in(choice, holder))
    return result if released is logprobs else {**result, "logprobs": released}


def _released_logprobs(logprobs: Any, said: JsonObject) -> JsonObject | None:
    """Log-probabilities of what is released: None when their tokens spell anything else than what is said here.

    ``top_logprobs`` go: the tokens not chosen are text that nobody judged.
    """
    if not isinstance(logprobs, dict):
        return None
    if "tokens" in logprobs:
        return _released_tokens(logprobs, said)
    if not _TOKENS.issuperset(logprobs):
        return None
    for name, tokens in logprobs.items():
        if tokens and not spells(tokens, said.get(name)):
            return None
    return _without_alternatives(logprobs)


def _released_tokens(logprobs: JsonObject, said: JsonObject) -> JsonObject | None:
    """The same in the shape of the older completions: parallel lists."""
    tokens, numbers = logprobs["tokens"], [logprobs.get(name) or [] for name in ("token_logprobs", "text_offset")]
    if not _TOKEN_LISTS.issuperset(logprobs) or not isinstance(tokens, list):
        return None
    if not all(isinstance(token, str) for token in tokens) or not all(map(_are_numbers, numbers)):
        return None
    if "".join(tokens).strip() != str(said.get("content") or "").strip():
        return None
    return {**logprobs, "top_logprobs": None} if logprobs.get("top_logprobs") else logprobs


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float | None) for value in values)


def spells(tokens: Any, text: Any) -> bool:
    """Whether tokens are those of ``text``; a last special token, as some servers send, may follow."""
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        return False
    if not all(_is_token(token) for token in tokens):
        return False
    if tokens and _SPECIAL.fullmatch(tokens[-1]["token"]):
        tokens = tokens[:-1]
    # Bytes where there are any: a character may be spread over several tokens.
    pieces = [bytes(one["bytes"]) if one.get("bytes") else one["token"].encode("utf-8", "replace") for one in tokens]
    return b"".join(pieces).strip() == str(text or "").encode("utf-8", "replace").strip()


def _is_token(token: JsonObject) -> bool:
    """Whether a token's fields are what they are called, and its bytes spell it (or a part of a character)."""
    spelling, value, raw = token.get("token"), token.get("logprob"), token.get("bytes")
    if not _TOKEN_FIELDS.issuperset(token) or not isinstance(spelling, str) or not isinstance(value, int | float):
        return False
    if not raw:
        return True
    whole = isinstance(raw, list) and all(isinstance(one, int) and 0 <= one < 256 for one in raw)  # noqa: PLR2004
    # How many signs stand for a part of a character is not agreed upon.
    return whole and _PARTS.sub("\ufffd", bytes(raw).decode("utf-8", "replace")) == _PARTS.sub("\ufffd", spelling)


def _without_alternatives(logprobs: JsonObject) -> JsonObject:
    kept = {name: tokens and chosen(tokens) for name, tokens in logprobs.items()}
    return logprobs if all(kept[name] is tokens for name, tokens in logprobs.items()) else kept


def chosen(tokens: list[JsonObject]) -> list[JsonObject]:
    """Tokens without those that were not chosen; the same list when there are none."""
    if not any(token.get("top_logprobs") for token in tokens):
        return tokens
    return [{**token, "top_logprobs": []} if token.get("top_logprobs") else token for token in tokens]
