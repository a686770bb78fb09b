"""What a response holds, item by item: what the user reads, what is ruled on elsewhere, what must not leave.

The answer's text is that of all parts of all messages, in their order, a blank line between two parts. Fields of the
response that repeat the request (instructions, tools, metadata) may hold the caller's own words and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import UpstreamError
from proxy.guard.answer import AnswerPart, Carried
from proxy.surfaces.answers import chosen, object_in, spells, undeclared
from proxy.surfaces.metadata import fits, holds_text, inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.policy.model import Policy

JsonObject = dict[str, Any]

GAP = "\n\n"
"""What stands between two parts of an answer's text."""

ECHOED = frozenset(
    "instructions metadata tools tool_choice text prompt user safety_identifier prompt_cache_key reasoning "
    "conversation truncation previous_response_id".split()
)
_RESPONSE = ECHOED | {"id", "model", "output", "output_text"}
_MESSAGE = frozenset({"content", "id"})
_PARTS = {
    "output_text": frozenset({"text", "annotations", "logprobs"}),
    "refusal": frozenset({"refusal"}),
}
_SPOKEN = ("text", "refusal")
_REASONING = frozenset({"summary", "content", "encrypted_content", "id"})
_ITEMS = {"message": _MESSAGE, "reasoning": _REASONING}
_CALLS = frozenset(
    [f"{tool}_call" for tool in (
        "function", "custom_tool", "web_search", "file_search", "computer", "code_interpreter", "local_shell", "shell",
        "apply_patch", "tool_search", "mcp",
    )]
) | {"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_output"}  # fmt: skip
_OUTPUT = "_output"  # what a call gave is an item too
_TOKENS_ONLY = frozenset({"id"})
_STATES = frozenset(
    "in_progress completed incomplete failed queued cancelled searching generating interpreting".split()
)
_EXPECTED = {
    "status": _STATES,
    "phase": frozenset({"commentary", "final_answer"}),
    "role": frozenset({"assistant"}),
    "object": frozenset({"response"}),
}


def part_of(response: JsonObject, asked: JsonObject) -> AnswerPart:
    """A whole response, for the guard. ``asked`` is the request. Raises ``UpstreamError`` for what is none."""
    texts: list[str] = []
    refusals: list[str] = []
    carries = around(response, asked)
    for item in items_of(response):
        carries |= carried_by(item)
        for part in parts_in(item):
            texts.append(text_in(part))
            refusals.append(refusal_in(part))
    return AnswerPart(text=GAP.join(filter(None, texts)), refusal=" ".join(filter(None, refusals)),
                      carries=frozenset(carries))  # fmt: skip


def items_of(response: JsonObject) -> list[JsonObject]:
    """The items of a response's output. Raises ``UpstreamError`` where they are none."""
    output = response.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise malformed()
    return output


def parts_in(item: JsonObject) -> list[JsonObject]:
    """The parts of a message; no other item has any."""
    if item.get("type") != "message":
        return []
    content = item.get("content") or []
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise malformed()
    return content


def text_in(part: JsonObject) -> str:
    """What the user reads in a part."""
    text = part.get("text") if part.get("type") == "output_text" else None
    return text if isinstance(text, str) else ""


def refusal_in(part: JsonObject) -> str:
    """What the provider marked as a refusal."""
    refusal = part.get("refusal") if part.get("type") == "refusal" else None
    return refusal if isinstance(refusal, str) else ""


def malformed() -> UpstreamError:
    """What is not shaped like a response cannot be inspected, and is not released."""
    return UpstreamError("The model's reply is not a response.")


def around(response: JsonObject, asked: JsonObject) -> set[Carried]:
    """What stands around the output: ``default`` where it may be text that is not the caller's."""
    return set() if _repeats(response) and not _odd_around(response, asked) else {"default"}


def _odd_around(response: JsonObject, asked: JsonObject) -> set[str]:
    """Names of a response's fields that may hold text that is not the caller's."""
    more = {name for name in ECHOED if not _is_echo(response.get(name), asked.get(name), name)}
    return undeclared(response, _RESPONSE) | more


def unknown_around(response: JsonObject) -> JsonObject:
    """The fields of a response whose use nobody knows."""
    return _unexpected(response, _RESPONSE)


def unknown_in(item: JsonObject) -> JsonObject:
    """The same of an item; of a call of tools, none."""
    kind = str(item.get("type"))
    if _is_call(kind):
        return {}
    parts = [unknown_in_part(part) for part in parts_in(item)]
    known = _ITEMS.get(kind)
    return {**_unexpected(item, _TOKENS_ONLY if known is None else known | {"type"}), "parts": parts}


def unknown_in_part(part: JsonObject) -> JsonObject:
    """The same of a part of a message."""
    known = _PARTS.get(str(part.get("type")))
    return _unexpected(part, frozenset() if known is None else known | {"type"})


def _unexpected(fields: JsonObject, known: frozenset[str]) -> JsonObject:
    """Fields that are not known, less those that say what they always say."""
    return {
        name: value
        for name, value in fields.items()
        if name not in known and not (isinstance(value, str) and value in _EXPECTED.get(name, ()))
    }


def _repeats(response: JsonObject) -> bool:
    """Whether ``output_text``, where some servers say the whole answer again, says no other."""
    return response.get("output_text") in (None, "", *_joined(response))


def _is_call(kind: str) -> bool:
    return kind in _CALLS or kind.removesuffix(_OUTPUT) in _CALLS


def _joined(response: JsonObject) -> Iterator[str]:
    output = response.get("output")
    items = output if isinstance(output, list) else []
    yield "".join(text_in(part) for item in items if isinstance(item, dict) for part in parts_in(item))


def _is_echo(value: Any, original: Any, name: str) -> bool:
    """Whether a value holds no text but the original's; metadata, to which no server adds any, not a word."""
    if name == "metadata":
        return set(_strings(value)) <= set(_strings(original))
    if not holds_text(value):
        return True
    return set(filter(holds_text, _strings(value))) <= set(_strings(original))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in inside(value):
        yield from _strings(item)


def carried_by(item: JsonObject) -> set[Carried]:
    """What an item holds that is no prose."""
    kind = str(item.get("type"))
    if kind == "message":
        odd = bool(undeclared(item, _MESSAGE)) or any(_is_odd(part) for part in parts_in(item))
        return {"default"} if odd else set()
    if kind == "reasoning":
        thinks = any(item.get(name) for name in ("summary", "content"))
        found: set[Carried] = {"reasoning"} if thinks else set()
        return found | ({"default"} if undeclared(item, _REASONING) else set())
    if kind == "image_generation_call":
        return {"images"}
    if _is_call(kind):
        return {"tool_calls"}
    return {"default"} if undeclared(item, _TOKENS_ONLY) else set()


def _is_odd(part: JsonObject) -> bool:
    known = _PARTS.get(str(part.get("type")))
    spoken = all(isinstance(part.get(name), str | None) for name in _SPOKEN)
    return known is None or not spoken or bool(_odd_in(part))


def _odd_in(part: JsonObject) -> set[str]:
    """Names of a part's fields that its kind does not have and that say something."""
    known = _PARTS.get(str(part.get("type")), frozenset())
    return undeclared(part, known) | {name for name in _SPOKEN if part.get(name) and name not in known}


def clean_response(response: JsonObject, policy: Policy, asked: JsonObject) -> JsonObject:
    """A response less what the policy strips; the same object when there is nothing to strip."""
    result = response
    if policy.on_uninspected.default == "strip":
        result = _less(response, _odd_around(response, asked) | (set() if _repeats(response) else {"output_text"}))
    output = response.get("output")
    if isinstance(output, list):
        cleaned = [clean_item(item, policy) for item in items_of(response)]
        if policy.on_uninspected.default == "strip":
            cleaned = [item for item in cleaned if "default" not in carried_by(item)]
        if len(cleaned) < len(output) or any(new is not old for new, old in zip(cleaned, output, strict=True)):
            result = {**result, "output": cleaned}
    return result


def clean_item(item: JsonObject, policy: Policy) -> JsonObject:
    """An item less what the policy strips. A reasoning item stays, empty: calls of tools may belong to it."""
    rules = policy.on_uninspected
    if item.get("type") == "reasoning" and rules.reasoning == "strip" and (item.get("summary") or item.get("content")):
        item = {name: value for name, value in item.items() if name != "content"} | {"summary": []}
    parts = parts_in(item)
    cleaned = [clean_part(part, policy) for part in parts]
    if rules.default == "strip":
        cleaned = [part for part in cleaned if not _is_odd(part)]
    if len(cleaned) < len(parts) or any(new is not old for new, old in zip(cleaned, parts, strict=True)):
        item = {**item, "content": cleaned}
    known = _ITEMS.get(str(item.get("type")))
    if known is not None and rules.default == "strip":
        item = _less(item, undeclared(item, known))
    return item


def clean_part(part: JsonObject, policy: Policy) -> JsonObject:
    """A part of a message, whose log-probabilities are those of its text or go."""
    if policy.on_uninspected.default == "strip":
        fitting = fits("annotations", part.get("annotations"))
        part = part if fitting else {**part, "annotations": []}
        part = _less(part, _odd_in(part)) if str(part.get("type")) in _PARTS else part
    if part.get("logprobs"):
        kept = tokens_of(part["logprobs"], text_in(part))
        part = part if kept is part["logprobs"] else {**part, "logprobs": kept}
    return part


def tokens_of(logprobs: Any, text: str) -> list[JsonObject]:
    """Log-probabilities of a text, without the tokens that were not chosen; [] when they spell anything else."""
    return chosen(logprobs) if spells(logprobs, text) else []


def _less(fields: JsonObject, gone: set[str]) -> JsonObject:
    return {name: value for name, value in fields.items() if name not in gone} if gone else fields


def with_text(response: JsonObject, texts: Mapping[tuple[int, int], str]) -> JsonObject:
    """A response, whose parts, by the places of item and part, say these texts."""
    output = [
        {**item, "content": [said(part, texts.get((at, place), "")) for place, part in enumerate(parts_in(item))]}
        if parts_in(item)
        else item
        for at, item in enumerate(items_of(response))
    ]
    return {**response, "output": output}


def said(part: JsonObject, text: str) -> JsonObject:
    """A part that says ``text``; what pointed into its own, or spelt it, goes."""
    if part.get("type") != "output_text" or part.get("text") == text:
        return part
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def redacted(response: JsonObject, text: str) -> JsonObject:
    """A response that says ``text`` in its first part, and nothing in the others."""
    places = [
        (at, place)
        for at, item in enumerate(items_of(response))
        for place, part in enumerate(parts_in(item))
        if text_in(part)
    ]
    return {name: value for name, value in with_text(response, {
        where: text if where == places[0] else "" for where in places
    }).items() if name != "output_text"}  # fmt: skip


def usage_of(response: JsonObject) -> JsonObject | None:
    """The count of tokens, None where there is none."""
    return object_in(response, "usage") or None
