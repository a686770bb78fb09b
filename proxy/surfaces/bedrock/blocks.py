"""A Converse request as one in OpenAI's dialect, for the seam to the models.

Marked blocks (``guardContent``) stay as they came: the reader of contexts knows them. What the other dialect cannot say
is refused by name, or left out where that loses nothing (README, "Bedrock, field by field").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from proxy.surfaces.bedrock.fields import must, refused
from proxy.surfaces.bedrock.parameters import read_parameters
from proxy.surfaces.bedrock.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

JsonObject = dict[str, Any]

_AUDIO = {"mp3": "mp3", "mpeg": "mp3", "mpga": "mp3", "wav": "wav"}
_DOCUMENTS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
_TOOL_CHOICES = {"auto": "auto", "any": "required"}


def read_converse(body: JsonObject) -> Prompt:
    """The prompt of a Converse request that is ``shaped``. Raises ``CallerError`` naming the field."""
    prompt = Prompt()
    if body.get("promptVariables"):
        path = "promptVariables"
        raise refused(path, "", "prompts of Bedrock's prompt management are not kept here")
    read_conversation(prompt, body)
    read_parameters(prompt, body)
    return prompt


def read_conversation(prompt: Prompt, body: JsonObject) -> None:
    """Read ``system``, ``messages`` and ``toolConfig``, as Converse and Nova have them."""
    if system := [part for block, path in _blocks(body.get("system"), "system") for part in _parts(block, path)]:
        prompt.add({"role": "system", "content": system}, "system")
    if not body.get("messages"):
        path = "messages"
        raise must(path, "be a list with at least one message")
    for at, message in enumerate(body["messages"]):
        _read_message(prompt, message, f"messages[{at}]")
    if body.get("toolConfig"):
        prompt.fields |= _tools(body["toolConfig"])


def _read_message(prompt: Prompt, message: JsonObject, path: str) -> None:
    parts: list[JsonObject] = []
    calls: list[JsonObject] = []
    for block, at in _blocks(message["content"], f"{path}.content"):
        if use := block.get("toolUse"):
            calls.append(_call(use, at))
        elif result := block.get("toolResult"):
            # Results stand before what the user says besides: they answer the message before.
            text = "\n".join(_result(each, f"{at}.toolResult.content[{n}]") for n, each in enumerate(result["content"]))
            prompt.add({"role": "tool", "tool_call_id": result["toolUseId"], "content": text}, path)
        else:
            parts += _parts(block, at)
    if calls:
        prompt.add({"role": message["role"], "content": parts or None, "tool_calls": calls}, path)
    elif parts or not any(block.get("toolResult") for block in message["content"]):
        prompt.add({"role": message["role"], "content": parts}, path)


def _blocks(blocks: Any, path: str) -> Iterator[tuple[JsonObject, str]]:
    """The blocks with their paths."""
    for at, block in enumerate(blocks or ()):
        yield block, f"{path}[{at}]"


def _parts(block: JsonObject, path: str) -> Iterable[JsonObject]:
    """What one block says, as parts of a message in OpenAI's dialect."""
    [(kind, value)] = block.items()
    if kind not in _READERS:
        raise refused(path, kind, "the models behind this server cannot be told it")
    return _READERS[kind](value, f"{path}.{kind}")


def text_part(text: str) -> JsonObject:
    """Plain text."""
    return {"type": "text", "text": text}


def image_part(kind: str, data: str) -> JsonObject:
    """A picture: its format, and its bytes in base64."""
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}}


def file_part(name: str, media_type: str, data: str) -> JsonObject:
    """A file: its bytes in base64."""
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{media_type};base64,{data}"}}


def _image(block: JsonObject, path: str) -> JsonObject:
    return image_part(block["format"], _bytes(block, path))


def _document(block: JsonObject, path: str) -> JsonObject:
    source = block["source"]
    if "text" in source:
        return text_part(source["text"])
    if "content" in source:
        return text_part("\n".join(each["text"] for each in source["content"]))
    kind = block.get("format") or "txt"
    return file_part(f"{block['name']}.{kind}", _DOCUMENTS[kind], _bytes(block, path))


def _audio(block: JsonObject, path: str) -> JsonObject:
    if block["format"] not in _AUDIO:
        raise refused(path, "format", "only mp3 and wav can be passed on")
    return {"type": "input_audio", "input_audio": {"data": _bytes(block, path), "format": _AUDIO[block["format"]]}}


def _bytes(block: JsonObject, path: str) -> str:
    if "bytes" not in block["source"]:
        raise refused(path, "source.s3Location", "this server reads no buckets; send the bytes")
    return str(block["source"]["bytes"])


# A mark for a cache only saves time, and the model does without its own earlier reasoning: both are left out.
_READERS: dict[str, Callable[[Any, str], Iterable[JsonObject]]] = {
    "text": lambda value, _: [text_part(value)],
    "guardContent": lambda value, path: (
        [{"guardContent": value}] if "text" in value else [_image(value["image"], f"{path}.image")]
    ),
    "image": lambda value, path: [_image(value, path)],
    "document": lambda value, path: [_document(value, path)],
    "audio": lambda value, path: [_audio(value, path)],
    "citationsContent": lambda value, _: [text_part(each["text"]) for each in value.get("content") or ()],
    "cachePoint": lambda *_: (),
    "reasoningContent": lambda *_: (),
}


def _call(use: JsonObject, path: str) -> JsonObject:
    if use.get("type"):
        raise refused(path, "toolUse.type", "there are no tools on the server's side")
    return call_part(use["toolUseId"], use["name"], use["input"])


def call_part(identity: str, name: str, arguments: Any) -> JsonObject:
    """A call of a tool, as a message of the assistant's holds it."""
    written = json.dumps(arguments, ensure_ascii=False)
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": written}}


def _result(block: JsonObject, path: str) -> str:
    """What a tool answered, as text: the other dialect has nothing else there."""
    [(kind, value)] = block.items()
    match kind:
        case "text":
            return str(value)
        case "json":
            return json.dumps(value, ensure_ascii=False)
        case "document":
            [(kind, _)] = value["source"].items()
            if kind in {"text", "content"}:
                return str(_document(value, path)["text"])
            path = f"{path}.document.source"
        case "searchResult":
            return "\n".join([value["title"], *(each["text"] for each in value["content"])])
    raise refused(path, kind, "a tool's result is passed on as text or JSON only")


def _tools(config: JsonObject) -> JsonObject:
    tools = []
    for tool, path in _blocks(config.get("tools"), "toolConfig.tools"):
        if tool.get("systemTool"):
            raise refused(path, "systemTool", "there are no tools on the server's side")
        if spec := tool.get("toolSpec"):
            schema = spec["inputSchema"]["json"]
            tools.append(tool_part(spec["name"], spec.get("description"), schema, strict=spec.get("strict")))
    fields: JsonObject = {"tools": tools} if tools else {}
    if choice := config.get("toolChoice"):
        [(kind, value)] = choice.items()
        fields["tool_choice"] = _TOOL_CHOICES.get(kind) or tool_choice(value["name"])
    return fields


def tool_part(name: str, description: str | None, schema: Any, *, strict: bool | None = None) -> JsonObject:
    """A tool that the model may call."""
    function = {"name": name, "description": description, "parameters": schema, "strict": strict}
    return {"type": "function", "function": {key: value for key, value in function.items() if value is not None}}


def tool_choice(name: str) -> JsonObject:
    """That this tool must be called."""
    return {"type": "function", "function": {"name": name}}


def flattened(messages: list[JsonObject]) -> list[JsonObject]:
    """The messages, a content of one text as that text: servers that know no parts understand it too."""
    return [{**message, "content": _flat(message.get("content"))} for message in messages]


def _flat(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    if not content:
        return ""
    if len(content) == 1 and set(content[0]) == {"type", "text"} and content[0]["type"] == "text":
        return content[0]["text"]
    return content
