"""Grounding sources and query lifted out of a request (INTERFACES, "Marking the context").

The request is patched, not rebuilt: messages without marks stay the very objects that came, tags go and their text
stays, qualified parts become ordinary text parts. Marks count only in roles the policy trusts; elsewhere they stay
as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.grounding.tags import Marked, scan, validate_suffix
from proxy.grounding.types import GroundingContext, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from proxy.policy.model import Policy

CONFIG_FIELD = "amazon-bedrock-guardrailConfig"
STREAM_MODES = {"SYNCHRONOUS": "sync", "ASYNCHRONOUS": "async"}
"""What a body's ``streamProcessingMode`` may say, and Converse's word for it."""

_TYPED_PARTS = {"grounding_source": ("grounding_source",), "query": ("query",), "guarded_text": ("guard_content",)}
_TEXT_PARTS = ("text", "input_text", "output_text")
_QUALIFIERS = ("grounding_source", "query", "guard_content")

JsonObject = dict[str, Any]


def read_context(body: JsonObject, policy: Policy) -> tuple[GroundingContext, JsonObject]:
    """The context of a request, and its body less everything that is ours.

    ``body`` is left as it is. Raises ``CallerError`` naming the field for marks that are malformed.
    """
    forward = _less_ours(body)
    reader = _Reader(policy, _suffix(body.get(CONFIG_FIELD)))
    messages = enumerate(_messages(body))
    forward["messages"] = [reader.message(f"messages[{at}]", message) for at, message in messages]
    return reader.context(body.get("grounding")), forward


def read_prompts(body: JsonObject, policy: Policy) -> tuple[GroundingContext, JsonObject, int]:
    """The same of a completion's request, whose prompts are the user's, and how many prompts there are.

    Raises ``CallerError`` where several prompts bring marks of their own: one answer would be judged by another's.
    """
    forward = _less_ours(body)
    suffix = _suffix(body.get(CONFIG_FIELD))
    prompts = _prompts(body.get("prompt"))
    marks = [_Marks(suffix if "user" in policy.trust else None) for _ in prompts]
    one = len(prompts) == 1
    stripped: list[Any] = []
    for at, (prompt, marked) in enumerate(zip(prompts, marks, strict=True)):
        path = "prompt" if one else f"prompt[{at}]"
        stripped.append(marked.take(prompt, path) if isinstance(prompt, str) else prompt)
        if not one and (marked.sources or marked.queries):
            message = f"{path} brings a source or query of its own: send it alone, or use the grounding field for all."
            raise CallerError(message, param=path)
    forward["prompt"] = stripped if isinstance(body["prompt"], list) and stripped != [body["prompt"]] else stripped[0]
    sources, query = _grounding_field(body.get("grounding"))
    last = "\n".join(marks[0].said) if one and policy.query == "last_user" else ""
    asked = query or "\n".join(each for each in marks[0].queries if each.strip()) or last
    return GroundingContext.of((*marks[0].sources, *sources), asked), forward, len(prompts)


def read_input(body: JsonObject, policy: Policy) -> tuple[GroundingContext, JsonObject]:
    """The same of a response's request: its instructions are the system's, its input a text of the user's or items."""
    forward = _less_ours(body)
    reader = _Reader(policy, _suffix(body.get(CONFIG_FIELD)))
    if body.get("instructions") is not None:
        said = {"role": "system", "content": _string(body["instructions"], "instructions")}
        forward["instructions"] = reader.message("instructions", said, "")["content"]
    given = body.get("input")
    if isinstance(given, str):
        forward["input"] = reader.message("input", {"role": "user", "content": given}, "")["content"]
    elif isinstance(given, list):
        forward["input"] = [_input_item(reader, f"input[{at}]", item) for at, item in enumerate(given)]
    elif given is not None:
        message = "input must be a string or a list of items."
        raise CallerError(message, param="input")
    return reader.context(body.get("grounding")), forward


def _input_item(reader: _Reader, path: str, item: Any) -> Any:
    """One item: a message, what a tool gave back, or something else that holds no marks."""
    if not isinstance(item, dict):
        text = f"{path} must be an object."
        raise CallerError(text, param=path)
    if str(item.get("type")).endswith("_call_output") and "output" in item:
        told = {"role": "tool", "content": item["output"], "tool_call_id": item.get("call_id")}
        output = _as_input(reader.message(path, told, ".output")["content"], item["output"])
        return item if output is item["output"] else {**item, "output": output}
    if item.get("type", "message") != "message":
        return item
    read = reader.message(path, item)
    content = _as_input(read.get("content"), item.get("content"))
    return item if content is item.get("content") else {**read, "content": content}


def _as_input(new: Any, old: Any) -> Any:
    """Content whose parts that were marks are text as this API calls it."""
    if not isinstance(new, list) or new is old:
        return new
    return [
        {**part, "type": "input_text"} if part is not before and str(before.get("type")) not in _TEXT_PARTS else part
        for part, before in zip(new, old, strict=True)
    ]


def _less_ours(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key not in {CONFIG_FIELD, "grounding"}}


def _prompts(prompt: Any) -> list[Any]:
    """The prompts: texts, or lists of tokens, which hold no marks."""
    if isinstance(prompt, str):
        return [prompt]
    if isinstance(prompt, list) and prompt:
        if all(_is_token(token) for token in prompt):
            return [prompt]
        if all(isinstance(one, str) or (isinstance(one, list) and all(map(_is_token, one))) for one in prompt):
            return prompt
    message = "prompt must be a string, a list of strings, a list of tokens, or a list of such lists."
    raise CallerError(message, param="prompt")


def _is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _suffix(config: Any) -> str | None:
    """The declared tag suffix. Without one, every tag is plain text."""
    if config is None:
        return None
    if not isinstance(config, dict):
        message = f"{CONFIG_FIELD} must be an object."
        raise CallerError(message, param=CONFIG_FIELD)
    for unknown in set(config) - {"tagSuffix", "streamProcessingMode"}:
        message = (
            f"{CONFIG_FIELD}.{unknown[:64]} is not a known field here; known are tagSuffix and streamProcessingMode. "
            "Your key decides which policy applies."
        )
        raise CallerError(message, param=f"{CONFIG_FIELD}.{unknown[:64]}")
    if config.get("streamProcessingMode", "SYNCHRONOUS") not in [*STREAM_MODES]:
        message = f"{CONFIG_FIELD}.streamProcessingMode must be one of {', '.join(STREAM_MODES)}."
        raise CallerError(message, param=f"{CONFIG_FIELD}.streamProcessingMode")
    return validate_suffix(config["tagSuffix"]) if "tagSuffix" in config else None


def _messages(body: JsonObject) -> list[Any]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        message = "messages must be a list with at least one message."
        raise CallerError(message, param="messages")
    return messages


@dataclass
class _Reader:
    """Walks the messages once, in order."""

    policy: Policy
    suffix: str | None
    sources: list[Source] = field(default_factory=list)
    query: str = ""
    last_user: str = ""
    _earlier: list[str] = field(default_factory=list)

    def message(self, path: str, message: Any, field: str = ".content") -> Any:
        """One message, at ``path`` of the body; ``field`` is where, from there, its content stands."""
        role = _role(message, path)
        before = len(self.sources)
        marked = _Marks(self.suffix) if role in self.policy.trust else None
        content = _content(message.get("content"), path + field, marked)
        text = _text_of(content) if marked is None else "\n".join(marked.said)
        if marked is not None:
            self.sources += marked.sources
            self.query = "\n".join(q for q in marked.queries if q.strip()) or self.query
        if role in {"tool", "function"} and self.policy.tool_results == "source" and len(self.sources) == before:
            self.sources.append(Source(text=text, id=str(message.get("tool_call_id") or message.get("name") or "")))
        self._turn(role, text)
        return message if content is message.get("content") else {**message, "content": content}

    def context(self, grounding: Any) -> GroundingContext:
        """What the messages marked, and the body's ``grounding`` field."""
        sources, query = _grounding_field(grounding)
        last = self.last_user if self.policy.query == "last_user" else None
        return GroundingContext.of((*self.sources, *sources), query or self.query or last)

    def _turn(self, role: str, text: str) -> None:
        """Remember what was said, less the sources it held; earlier turns are sources where the policy says so."""
        if role == "user":
            if self.policy.history == "source":
                self.sources += [Source(text=turn) for turn in self._earlier]
            self._earlier = []
            self.last_user = text if text.strip() else self.last_user
        if role in {"user", "assistant"}:
            self._earlier.append(text)


@dataclass
class _Marks:
    """What one trusted message marks. ``said`` is what it says besides sources."""

    suffix: str | None
    sources: list[Source] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def take(self, text: str, path: str, qualifiers: tuple[str, ...] = ()) -> str:
        """Collect what tags in ``text``, and its qualifiers, mark; return it without the tags."""
        found = Marked(text=text) if self.suffix is None else scan(text, self.suffix, path)
        self.sources += [Source(text=source) for source in found.sources]
        self.queries += found.queries
        if "grounding_source" in qualifiers:
            self.sources.append(Source(text=found.text))
        else:
            self.said.append(_without(found.text, found.sources))
        if "query" in qualifiers:
            self.queries.append(found.text)
        return found.text


def _without(text: str, sources: Iterable[str]) -> str:
    """The text less its sources, which stand in it in this order."""
    kept, at = [], 0
    for source in sources:
        begin = text.index(source, at)
        kept.append(text[at:begin])
        at = begin + len(source)
    return "".join((*kept, text[at:]))


def _role(message: Any, path: str) -> str:
    if not isinstance(message, dict):
        text = f"{path} must be an object."
        raise CallerError(text, param=path)
    role = message.get("role")
    if not isinstance(role, str):
        text = f"{path}.role must be a string."
        raise CallerError(text, param=f"{path}.role")
    return role


def _content(content: Any, path: str, marked: _Marks | None) -> Any:
    if content is None:
        return None
    if isinstance(content, str):
        stripped = marked.take(content, path) if marked else content
        return content if stripped == content else stripped
    if not isinstance(content, list):
        text = f"{path} must be a string or a list of parts."
        raise CallerError(text, param=path)
    parts = [_part(part, f"{path}[{at}]", marked) for at, part in enumerate(content)]
    return content if all(new is old for new, old in zip(parts, content, strict=True)) else parts


def _part(part: Any, path: str, marked: _Marks | None) -> Any:
    if not isinstance(part, dict):
        text = f"{path} must be an object."
        raise CallerError(text, param=path)
    kind = part.get("type")
    if "guardContent" in part or kind == "guardContent":
        text, qualifiers = _guard_content(part.get("guardContent"), f"{path}.guardContent")
        return _qualified(part, text, qualifiers, f"{path}.guardContent.text.text", marked)
    if isinstance(kind, str) and kind in _TYPED_PARTS:
        text = _string(part.get("text"), f"{path}.text")
        return _qualified(part, text, _TYPED_PARTS[kind], f"{path}.text", marked)
    if kind in _TEXT_PARTS or isinstance(part.get("text"), str):
        text = _string(part.get("text"), f"{path}.text")
        stripped = marked.take(text, f"{path}.text") if marked else text
        return part if stripped == text else {**part, "text": stripped}
    return part


def _qualified(
    part: JsonObject, text: str, qualifiers: tuple[str, ...], path: str, marked: _Marks | None
) -> JsonObject:
    """An ordinary text part; what else the caller put beside it (a cache mark, say) stays."""
    if marked is not None:
        text = marked.take(text, path, qualifiers)
    rest = {key: value for key, value in part.items() if key not in {"type", "guardContent", "text"}}
    return {"type": "text", "text": text, **rest}


def _guard_content(value: Any, path: str) -> tuple[str, tuple[str, ...]]:
    block = value.get("text") if isinstance(value, dict) else None
    if not isinstance(block, dict):
        message = f'{path} must hold a text block: {{"text": {{"text": …, "qualifiers": […]}}}}.'
        raise CallerError(message, param=path)
    qualifiers = _qualifiers(block, f"{path}.text")
    return _string(block.get("text"), f"{path}.text.text"), qualifiers


def _qualifiers(block: JsonObject, path: str) -> tuple[str, ...]:
    """What a text block is, in Bedrock's words."""
    qualifiers = block.get("qualifiers") or []
    if not isinstance(qualifiers, list) or any(qualifier not in _QUALIFIERS for qualifier in qualifiers):
        message = f"{path}.qualifiers must be a list of {', '.join(_QUALIFIERS)}."
        raise CallerError(message, param=f"{path}.qualifiers")
    return tuple(qualifiers)


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        message = f"{path} must be a string."
        raise CallerError(message, param=path)
    return value


def _text_of(content: Any) -> str:
    """The text of a message, parts joined by line breaks."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _grounding_field(value: Any) -> tuple[list[Source], str | None]:
    """Sources and query of the body's ``grounding`` field. Its query stands before any in the messages."""
    if value is None:
        return [], None
    if not isinstance(value, dict):
        message = 'grounding must be an object: {"sources": […], "query": "…"}.'
        raise CallerError(message, param="grounding")
    for unknown in set(value) - {"sources", "query"}:
        message = f"grounding.{unknown[:64]} is not a known field; grounding has sources and query."
        raise CallerError(message, param="grounding")
    query = value.get("query")
    if query is not None:
        query = _string(query, "grounding.query").strip() or None
    return [_source(source, path) for source, path in _listed(value.get("sources") or [], "grounding.sources")], query


def _listed(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    """The sources of a list, each with its place; replies of ``retrieveContexts`` count as the contexts they hold."""
    if isinstance(value, dict) and "contexts" in value:
        yield from _listed(value["contexts"] or [], f"{path}.contexts")
        return
    if not isinstance(value, list):
        message = f"{path} must be a list, of texts or of objects with a text."
        raise CallerError(message, param=path)
    for at, each in enumerate(value):
        place = f"{path}[{at}]"
        holds_more = isinstance(each, dict) and "contexts" in each
        yield from _listed(each, place) if holds_more else ((each, place),)


def _source(value: Any, path: str) -> Source:
    """A source as plain text, as {id, text, uri, title}, or as a context of Vertex's ``retrieveContexts``.

    A context's score is a distance or a similarity, as its store has it, and says how it was found: it is not read.
    """
    if isinstance(value, str):
        return Source(text=value)
    if not isinstance(value, dict):
        message = f"{path} must be a string or an object with a text."
        raise CallerError(message, param=path)
    chunk = value.get("chunk")
    text = value.get("text") or (chunk.get("text") if isinstance(chunk, dict) else None)
    first = _first_string(value)
    return Source(
        text=_string("" if text is None and "text" in value else text, f"{path}.text"),
        id=first("id"),
        uri=first("uri", "sourceUri", "source_uri"),
        title=first("title", "sourceDisplayName", "source_display_name"),
    )


def _first_string(value: JsonObject) -> Callable[..., str]:
    return lambda *names: next((value[name] for name in names if isinstance(value.get(name), str)), "")
