"""InvokeModel and its stream, asked by boto3: each maker's body, and the guardrail's marks beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError
from recording import Reply
from surfaces.support import (
    BAD,
    GOOD,
    QUERY,
    SECRET,
    SOURCE,
    World,
    answer,
    choice,
    chunk,
    delta,
    says,
    spells,
    streams,
    tag,
)

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKED = "I can't answer that from the documents I have."
CLAUDE = "anthropic.claude-3-haiku-20240307-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
LLAMA = "meta.llama3-8b-instruct-v1:0"
MISTRAL = "mistral.mistral-7b-instruct-v0:2"
TITAN = "amazon.titan-text-express-v1"
ACTION, TRACE = "amazon-bedrock-guardrailAction", "amazon-bedrock-trace"
CONFIG = {"amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}}
PROMPT = f"{tag('groundingSource', SOURCE)} {tag('query', QUERY)} Thanks."
PLAIN = f"{SOURCE} {QUERY} Thanks."

CLAUDES = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 50,
    "temperature": 0.5,
    "top_p": 0.9,
    "stop_sequences": ["END"],
    "messages": [{"role": "user", "content": PROMPT}],
}
NOVAS = {
    "schemaVersion": "messages-v1",
    "messages": [{"role": "user", "content": [{"text": PROMPT}]}],
    "inferenceConfig": {"maxTokens": 50, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
}
LLAMAS = {"prompt": PROMPT, "max_gen_len": 50, "temperature": 0.5, "top_p": 0.9}
MISTRALS = {"prompt": PROMPT, "max_tokens": 50, "temperature": 0.5, "top_p": 0.9, "stop": ["END"]}
CHATS = {
    "messages": [{"role": "user", "content": PROMPT}],
    "max_tokens": 50,
    "temperature": 0.5,
    "top_p": 0.9,
}
TITANS = {
    "inputText": PROMPT,
    "textGenerationConfig": {"maxTokenCount": 50, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
}
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": (CLAUDE, CLAUDES),
    "nova": (NOVA, NOVAS),
    "llama": (LLAMA, LLAMAS),
    "mistral": (MISTRAL, MISTRALS),
    "mistral chat": (MISTRAL, CHATS),
    "titan": (TITAN, TITANS),
}


def wholly(family: str, text: str, stop: str) -> dict[str, Any]:
    """What each family's whole answer is."""
    length = stop == "length"
    match family:
        case "claude":
            reason = {"end": "end_turn", "length": "max_tokens", "blocked": "guardrail_intervened"}[stop]
            return {
                "type": "message",
                "role": "assistant",
                "model": CLAUDE,
                "content": [{"type": "text", "text": text}],
                "stop_reason": reason,
                "stop_sequence": None,
                "usage": {"input_tokens": 11, "output_tokens": 7},
            }
        case "nova":
            reason = {"end": "end_turn", "length": "max_tokens", "blocked": "guardrail_intervened"}[stop]
            usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
            message = {"role": "assistant", "content": [{"text": text}]}
            return {"output": {"message": message}, "stopReason": reason, "usage": usage}
        case "llama":
            counts = {"prompt_token_count": 11, "generation_token_count": 7}
            return {"generation": text, **counts, "stop_reason": "length" if length else "stop"}
        case "mistral":
            return {"outputs": [{"text": text, "stop_reason": "length" if length else "stop"}]}
        case "mistral chat":
            message = {"role": "assistant", "content": text}
            return {"choices": [{"index": 0, "message": message, "stop_reason": "length" if length else "stop"}]}
    reason = {"end": "FINISH", "length": "LENGTH", "blocked": "CONTENT_FILTERED"}[stop]
    result = {"tokenCount": 7, "outputText": text, "completionReason": reason}
    return {"inputTextTokenCount": 11, "results": [result]}


def piece(family: str, body: dict[str, Any]) -> str:
    """The text in one chunk of a stream."""
    match family:
        case "claude":
            return str(body.get("delta", {}).get("text", ""))
        case "nova":
            return str(body.get("contentBlockDelta", {}).get("delta", {}).get("text", ""))
        case "llama":
            return str(body["generation"])
        case "mistral":
            return str(body["outputs"][0]["text"])
        case "mistral chat":
            return str(body["choices"][0]["message"]["content"])
    return str(body["outputText"])


def named(policy: str = "default", **fields: Any) -> dict[str, Any]:
    """The guardrail's headers, as boto3 takes them."""
    return {
        "guardrailIdentifier": policy,
        "guardrailVersion": "DRAFT",
        "contentType": "application/json",
        **fields,
    }


@pytest.fixture
def invoke(world: World, bedrock: Callable[..., Any]) -> Callable[..., Any]:
    """The body of InvokeModel's reply under a policy, while the upstream says ``reply``."""

    def ask(model: str, body: Any, reply: Any = GOOD, policy: str = "default", **fields: Any) -> Any:
        world.upstream.replies.append(says(answer(reply) if isinstance(reply, str) else reply))
        given = {**named(policy), **fields}
        got = bedrock(policy).invoke_model(modelId=model, body=json.dumps(body), **given)
        assert got["contentType"] == "application/json"
        ask.headers = got["ResponseMetadata"]["HTTPHeaders"]
        return json.loads(got["body"].read())

    return ask


@pytest.fixture
def stream(world: World, bedrock: Callable[..., Any]) -> Callable[..., Any]:
    """The chunks of InvokeModel's stream under a policy, while the upstream spells ``reply``."""

    def ask(model: str, body: Any, reply: Any = GOOD, policy: str = "default", **fields: Any) -> list[Any]:
        usage = chunk(usage={"prompt_tokens": 11, "completion_tokens": 7})
        spelt = streams(*spells(reply), usage) if isinstance(reply, str) else reply
        world.upstream.replies.append(spelt)
        given = {**named(policy), **fields}
        got = bedrock(policy).invoke_model_with_response_stream(modelId=model, body=json.dumps(body), **given)
        assert got["contentType"] == "application/json"
        return [json.loads(one["chunk"]["bytes"]) for one in got["body"]]

    return ask


# --- each family --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", BODIES)
def test_a_prompt_goes_on_without_its_tags(world: World, invoke: Callable[..., Any], family: str):
    """Each body becomes OpenAI's, its tags are the context, and its parameters go on."""
    model, body = BODIES[family]
    invoke(model, {**body, **CONFIG})
    sent = world.asked.json
    assert sent["messages"] == [{"role": "user", "content": PLAIN}]
    stops = {} if family in {"llama", "mistral chat"} else {"stop": ["END"]}
    assert {name: value for name, value in sent.items() if name != "messages"} == {
        "model": "m",
        "max_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        **stops,
    }
    assert {pair.premise for pair in world.scorer.asked if pair.kind.value == "relevance"} == {QUERY}


@pytest.mark.parametrize("family", BODIES)
@pytest.mark.parametrize(
    ("text", "finish", "told", "stop", "action"),
    [
        (GOOD, "stop", GOOD, "end", "NONE"),
        (GOOD, "length", GOOD, "length", "NONE"),
        (BAD, "stop", BLOCKED, "blocked", "INTERVENED"),
    ],
)
def test_a_whole_answer_is_the_familys_own(
    invoke: Callable[..., Any], family: str, text: str, finish: str, told: str, stop: str, action: str
):
    """A pass and a block have the family's shape, with the guardrail's action beside and the counts in headers."""
    model, body = BODIES[family]
    reply = invoke(model, {**body, **CONFIG}, answer(choice(text, finish_reason=finish)))
    assert reply.pop(ACTION) == action
    assert TRACE not in reply
    assert str(reply.pop("id", "msg_")).startswith("msg_")
    assert reply == wholly(family, told, stop)
    assert invoke.headers["x-amzn-bedrock-input-token-count"] == "11"
    assert invoke.headers["x-amzn-bedrock-output-token-count"] == "7"


@pytest.mark.parametrize("family", BODIES)
@pytest.mark.parametrize(
    ("text", "told", "action"),
    [(GOOD, GOOD, "NONE"), (BAD, BLOCKED, "INTERVENED"), (f"{GOOD} {BAD}", None, "INTERVENED")],
)
def test_a_stream_is_the_familys_own(
    world: World, stream: Callable[..., Any], family: str, text: str, told: str | None, action: str
):
    """The pieces spell the answer, or what may leave of it and the message; the last chunk says what was done."""
    model, body = BODIES[family]
    chunks = stream(model, {**body, **CONFIG}, text)
    spelt = "".join(piece(family, one) for one in chunks)
    assert spelt == (f"{GOOD}\n\n{BLOCKED}" if told is None else told)
    assert "UNSUPPORTED" not in repr(chunks)
    assert [one[ACTION] for one in chunks if ACTION in one] == [action]
    assert ACTION in chunks[-1]
    assert chunks[-1]["amazon-bedrock-invocationMetrics"]["inputTokenCount"] > 0
    assert world.asked.json["stream"] is True


def test_claudes_events_are_a_whole_message(stream: Callable[..., Any]):
    """A stream of Claude's begins a message, opens and closes a block, says why it ended, and ends."""
    chunks = stream(CLAUDE, {**CLAUDES, **CONFIG})
    kinds = [one["type"] for one in chunks]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert chunks[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert chunks[-2]["usage"] == {"input_tokens": 11, "output_tokens": 7}


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_a_trace_stands_beside_the_answer(invoke: Callable[..., Any], stream: Callable[..., Any], text: str):
    """With trace ENABLED_FULL the reply, and a stream's last chunk, hold the assessment by guardrail."""
    whole = invoke(LLAMA, {**LLAMAS, **CONFIG}, text, trace="ENABLED_FULL")[TRACE]["guardrail"]
    last = stream(LLAMA, {**LLAMAS, **CONFIG}, text, trace="ENABLED_FULL")[-1][TRACE]["guardrail"]
    for told in (whole, last):
        filters = told["outputs"][0]["default"]["contextualGroundingPolicy"]["filters"]
        assert {one["type"]: one["action"] for one in filters} == {
            "GROUNDING": "NONE" if text == GOOD else "BLOCKED",
            "RELEVANCE": "NONE",
        }
    assert TRACE not in invoke(LLAMA, {**LLAMAS, **CONFIG}, text, trace="DISABLED")
    assert TRACE not in invoke(LLAMA, {**LLAMAS, **CONFIG}, text, "no-trace", trace="ENABLED")


# --- more of Claude, Nova and Mistral -----------------------------------------------------------------------------


def test_claudes_blocks_and_tools_go_on(world: World, invoke: Callable[..., Any]):
    """System, pictures, documents, calls, results and tools reach the model in its dialect; old thoughts do not."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    reply = invoke(
        CLAUDE,
        {
            **CLAUDES,
            **CONFIG,
            "top_k": 5,
            "anthropic_beta": ["x"],
            "metadata": {"user_id": "u"},
            "thinking": {"type": "disabled"},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": PROMPT},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "D."}},
                        {
                            "type": "document",
                            "title": "Fees",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": SECRET, "signature": "s"},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "Seen.", "is_error": False},
                        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "Heard."}]},
                    ],
                },
            ],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "look", "disable_parallel_tool_use": True},
        },
        answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")),
    )
    assert reply["stop_reason"] == "tool_use"
    assert reply["content"] == [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]
    sent = world.asked.json
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert sent["messages"][0]["content"] == "Be brief."
    assert sent["messages"][1]["content"] == [
        {"type": "text", "text": PLAIN},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "D."},
        {"type": "file", "file": {"filename": "Fees", "file_data": "data:application/pdf;base64,AA=="}},
    ]
    assert [one["content"] for one in sent["messages"][3:]] == ["Seen.", "Heard."]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert (sent["parallel_tool_calls"], sent["top_k"], sent["thinking"]) == (False, 5, {"type": "disabled"})
    assert SECRET not in world.asked.body.decode()


def test_claude_may_be_asked_for_json_and_effort(world: World, invoke: Callable[..., Any]):
    """output_config goes on as response_format and reasoning_effort; what only caches is left out."""
    wanted = {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}
    invoke(CLAUDE, {**CLAUDES, **CONFIG, "output_config": wanted, "cache_control": {"type": "ephemeral"}})
    sent = world.asked.json
    assert sent["reasoning_effort"] == "low"
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
    }
    assert not {"output_config", "cache_control"} & set(sent)


def test_claudes_cached_tokens_are_told_apart(invoke: Callable[..., Any]):
    """As Anthropic counts, input_tokens are those that were not read from a cache."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    told = invoke(CLAUDE, {**CLAUDES, **CONFIG}, answer(GOOD, usage=usage))["usage"]
    assert told == {"input_tokens": 6, "output_tokens": 2, "cache_read_input_tokens": 4}


STOPPED = {
    "claude": ("stop_reason", "stop_sequence"),
    "nova": ("stopReason", "stop_sequence"),
    "titan": ("completionReason", "STOP_CRITERIA_MET"),
    "mistral": ("stop_reason", "stop"),
}


@pytest.mark.parametrize("family", STOPPED)
def test_a_stop_sequence_is_told_as_the_family_tells_it(
    invoke: Callable[..., Any], stream: Callable[..., Any], family: str
):
    """Where the server names it: Claude's stop_sequence holds it too, in a stream as well."""
    model, body = BODIES[family]
    name, word = STOPPED[family]
    whole = invoke(model, {**body, **CONFIG}, answer(choice(stop_reason="END")))
    last = chunk({**delta(finish="stop"), "stop_reason": "END"})
    chunks = stream(model, {**body, **CONFIG}, streams(*spells(GOOD)[:-1], last))
    for told in (whole, chunks):
        assert f'"{name}": "{word}"' in json.dumps(told)
    if family == "claude":
        assert whole["stop_sequence"] == "END"
        assert chunks[-2]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}


@pytest.mark.parametrize("family", BODIES)
def test_pictures_are_told_by_nova_alone(invoke: Callable[..., Any], stream: Callable[..., Any], family: str):
    """Where the policy passes a picture, Nova's answer has it; the other families have no place for one."""
    model, body = BODIES[family]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    whole = invoke(model, {**body, **CONFIG}, answer(choice(message={"images": [picture]})), "images-pass")
    said = streams(*spells(GOOD)[:-1], chunk(delta(images=[picture])), chunk(delta(finish="stop")))
    chunks = stream(model, {**body, **CONFIG}, said, "images-pass")
    for told in (whole, chunks):
        assert ("AA==" in json.dumps(told)) is (family == "nova")
    assert "".join(piece(family, one) for one in chunks) == GOOD


def test_claudes_calls_and_thoughts_stream_as_blocks(stream: Callable[..., Any]):
    """Reasoning that the policy passes, text and two calls that overlap are four blocks, one after the other."""

    def call(at: int, arguments: str, **fields: Any) -> Any:
        function = {"arguments": arguments, **({"name": fields.pop("name")} if "name" in fields else {})}
        return chunk(delta(tool_calls=[{"index": at, "function": function, **fields}]))

    said = streams(
        chunk(delta(reasoning_content="Hm.")),
        *spells(GOOD)[:-1],
        call(0, "", id="c0", name="look"),
        call(0, '{"a":'),
        call(1, '{"b":', id="c1", name="see"),
        call(0, " 1}"),
        call(1, " 2}"),
        chunk(delta(finish="tool_calls")),
    )
    chunks = stream(CLAUDE, {**CLAUDES, **CONFIG}, said, "reasoning-passes")
    blocks: list[Any] = []
    for one in chunks:
        if one["type"] == "content_block_start":
            assert one["index"] == len(blocks)
            blocks.append([one["content_block"]["type"], one["content_block"].get("name", ""), ""])
        if one["type"] == "content_block_delta":
            assert one["index"] == len(blocks) - 1
            told = one["delta"]
            blocks[-1][2] += told.get("text", "") + told.get("thinking", "") + told.get("partial_json", "")
    assert blocks == [
        ["thinking", "", "Hm."],
        ["text", "", GOOD],
        ["tool_use", "look", '{"a": 1}'],
        ["tool_use", "see", '{"b": 2}'],
    ]
    assert sum(one["type"] == "content_block_stop" for one in chunks) == 4
    assert chunks[-2]["delta"]["stop_reason"] == "tool_use"


def test_nova_has_system_and_tools(world: World, invoke: Callable[..., Any]):
    """Nova's system and toolConfig are Converse's; its older names for the parameters count too."""
    reasoning = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}
    tools = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
    older = {"max_new_tokens": 5, "top_p": 0.5, "top_k": 3, **reasoning}
    invoke(NOVA, {**NOVAS, **CONFIG, "system": [{"text": "Be brief."}], "toolConfig": tools, "inferenceConfig": older})
    sent = world.asked.json
    assert (sent["max_tokens"], sent["top_p"], sent["top_k"], sent["reasoning_effort"]) == (5, 0.5, 3, "high")
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["tools"][0]["function"]["name"] == "look"


def test_mistrals_chat_may_show_pictures(world: World, invoke: Callable[..., Any]):
    """Content in parts, as for Pixtral: texts, with their tags, and pictures."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    content = [{"type": "text", "text": PROMPT}, picture]
    reply = invoke(
        "mistral.mistral-7b-instruct-v0:2", {**CONFIG, "messages": [{"role": "user", "content": content}]}, BAD
    )
    assert reply[ACTION] == "INTERVENED"
    assert world.asked.json["messages"] == [{"role": "user", "content": [{"type": "text", "text": PLAIN}, picture]}]


def test_mistrals_chat_has_tools(world: World, invoke: Callable[..., Any], stream: Callable[..., Any]):
    """Mistral's messages, calls and results go on as they are; a call comes back whole, in a stream at its end."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    body = {
        **CHATS,
        **CONFIG,
        "messages": [
            *CHATS["messages"],
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "t", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "t", "content": "Seen."},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "tool_choice": "any",
    }
    reply = invoke(MISTRAL, body, answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")))
    [told] = reply["choices"]
    assert (told["stop_reason"], told["message"]["tool_calls"]) == ("tool_calls", [call])
    sent = world.asked.json
    assert sent["tool_choice"] == "required"
    assert sent["messages"][1]["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
    assert sent["messages"][2] == {"role": "tool", "content": "Seen.", "tool_call_id": "t"}
    deltas = [
        chunk(delta(tool_calls=[{"index": 0, **call, "function": {"name": "look", "arguments": '{"at":'}}])),
        chunk(delta(tool_calls=[{"index": 0, "function": {"arguments": " 1}"}}])),
        chunk(delta(finish="tool_calls")),
    ]
    last = stream(MISTRAL, body, streams(*deltas))[-1]
    assert last["choices"][0]["message"]["tool_calls"] == [call]


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        (LLAMA, "<s>[INST] {} [/INST] {} </s><s>[INST] {} [/INST]"),
        (LLAMA, "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>{}<|eot_id|>{}"),
        (MISTRAL, "<s>[INST] {} [/INST] {}</s>[INST] {} [/INST]"),
    ],
)
def test_a_prompt_in_a_template_goes_on_in_its_turns(world: World, invoke: Callable[..., Any], model: str, prompt: str):
    """A conversation in the model's own template is asked in turns; the last one's query counts."""
    user, assistant = (f"<|start_header_id|>{role}<|end_header_id|>\n\n" for role in ("user", "assistant"))
    said, last = "Yes.", f"{tag('query', QUERY)} Go on."
    turns = (PROMPT, said, last)
    if "<|begin_of_text|>" in prompt:
        turns = (PROMPT, f"{assistant}{said}", f"{user}{last}<|eot_id|>{assistant}")
    invoke(model, {"prompt": prompt.format(*turns), **CONFIG})
    assert world.asked.json["messages"] == [
        {"role": "user", "content": PLAIN},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": f"{QUERY} Go on."},
    ]


@pytest.mark.parametrize("model", [CLAUDE, NOVA, LLAMA, MISTRAL, TITAN, "m"])
def test_the_documented_example_is_accepted(world: World, invoke: Callable[..., Any], model: str):
    """AWS's own example of a tagged body, which is no family's, is one prompt; a good and a bad answer are told."""
    body = {"text": PROMPT, **CONFIG}
    assert GOOD in json.dumps(invoke(model, body))
    assert world.asked.json["messages"] == [{"role": "user", "content": PLAIN}]
    assert invoke(model, body, BAD)[ACTION] == "INTERVENED"


@pytest.mark.parametrize("family", ["claude", "nova", "llama", "titan"])
def test_a_family_shows_in_the_body_where_the_id_is_a_name(invoke: Callable[..., Any], family: str):
    """Under a name of the configuration's the body says whose it is."""
    _, body = BODIES[family]
    reply = invoke("m", {**body, **CONFIG})
    assert set(reply) - {ACTION, "id"} == set(wholly(family, GOOD, "end"))


# --- the guardrail's headers and config ---------------------------------------------------------------------------


def _post(world: World, body: Any, model: str = LLAMA, path: str = "invoke", **headers: str) -> Any:
    return world.post(body, path=f"/model/{quote(model, safe='')}/{path}", **headers)


IDENTIFIER, VERSION = "x-amzn-bedrock-guardrailidentifier", "x-amzn-bedrock-guardrailversion"
NAMED = {IDENTIFIER: "default", VERSION: "DRAFT"}
ASK: dict[str, Any] = {"prompt": SECRET}


@pytest.mark.parametrize("path", ["invoke", "invoke-with-response-stream"])
@pytest.mark.parametrize(
    ("body", "headers", "named"),
    [
        ({**ASK, **CONFIG}, {}, "X-Amzn-Bedrock-GuardrailIdentifier"),
        (ASK, {IDENTIFIER: "default"}, "guardrailVersion"),
        (ASK, {VERSION: "DRAFT"}, "guardrailIdentifier"),
        (ASK, {**NAMED, "content-type": "text/plain"}, "contentType"),
        (ASK, {"x-amzn-bedrock-trace": "enabled"}, "trace must be one of ENABLED"),
        ({**ASK, "amazon-bedrock-guardrailConfig": {"tagSuffix": "no-dash"}}, NAMED, "tagSuffix"),
        ({**ASK, "amazon-bedrock-guardrailConfig": {"streamProcessingMode": "sync"}}, NAMED, "streamProcessingMode"),
        ({**ASK, "amazon-bedrock-guardrailConfig": {"streamProcessingMode": []}}, NAMED, "streamProcessingMode"),
        ({**ASK, "amazon-bedrock-guardrailConfig": {"suffix": "a"}}, NAMED, "suffix"),
        ({**ASK, "amazon-bedrock-guardrailConfig": "sfx"}, NAMED, "amazon-bedrock-guardrailConfig"),
        ({"prompt": PROMPT + tag("query", "x")[:-1], **CONFIG}, NAMED, "prompt: "),
        (b"[]", NAMED, "object"),
        (b"", NAMED, "JSON"),
    ],
)
def test_a_wrong_guardrail_is_a_validation_error(world: World, body: Any, headers: Any, named: str, path: str):
    """As on Bedrock: config without an identifier, half a name, a wrong value. The message names the field."""
    reply = _post(world, body, path=path, **headers)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException"), reply.text
    assert named in reply.json()["message"]
    assert SECRET not in reply.text
    assert world.upstream.requests == []


def test_without_a_config_tags_are_plain_text(world: World, invoke: Callable[..., Any]):
    """With no declared suffix nothing is marked, and nothing is taken out."""
    assert invoke(LLAMA, LLAMAS, BAD)["generation"] == BAD
    assert world.asked.json["messages"][0]["content"] == PROMPT


def test_without_a_guardrail_the_tenants_own_applies(world: World):
    """Without headers the tenant's own policy decides what a prompt without marks means."""
    reply = world.post(ASK, "missing", path=f"/model/{quote(LLAMA)}/invoke")
    assert (reply.json()["generation"], reply.json()[ACTION]) == (BLOCKED, "INTERVENED")


def test_another_guardrail_may_be_named(invoke: Callable[..., Any], bedrock: Callable[..., Any]):
    """One listed for the tenant applies; another's is denied."""
    assert invoke(LLAMA, {**LLAMAS, **CONFIG}, BAD, guardrailIdentifier="flags")["generation"] == BAD
    with pytest.raises(bedrock().exceptions.AccessDeniedException):
        invoke(LLAMA, LLAMAS, guardrailIdentifier="missing")


@pytest.mark.parametrize(
    ("policy", "mode", "leaks"),
    [
        ("after", "ASYNCHRONOUS", True),
        ("after", "SYNCHRONOUS", False),
        ("after", None, False),
        ("default", "ASYNCHRONOUS", False),
    ],
)
def test_asynchronous_needs_the_policys_own_consent(
    stream: Callable[..., Any], policy: str, mode: str | None, leaks: bool
):
    """Text leaves unjudged only when the policy says after and the request asks for it."""
    config = {"tagSuffix": "sfx", **({"streamProcessingMode": mode} if mode else {})}
    said = streams(*spells(BAD))
    slow = Reply(headers=said.headers, body=[*list(said.body)[:6], 0.2, *list(said.body)[6:]])
    chunks = stream(LLAMA, {**LLAMAS, "amazon-bedrock-guardrailConfig": config}, slow, policy)
    assert chunks[-1][ACTION] == "INTERVENED"
    assert ("capital" in "".join(one["generation"] for one in chunks)) is leaks


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "body"), [("m", {"prompt": SECRET}), ("cohere.command-r-v1:0", {"message": SECRET}), ("m", {})]
)
def test_an_unknown_family_lists_the_known_ones(world: World, model: str, body: Any):
    """A body of no family known here is a ValidationException that lists those that are."""
    reply = _post(world, body, model)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException")
    for name in ("Anthropic Messages", "Amazon Nova", "Llama", "Mistral", "Titan"):
        assert name in reply.json()["message"]
    assert SECRET not in reply.text


CLAUDE_ASK = {"role": "user", "content": SECRET}


@pytest.mark.parametrize(
    ("model", "body", "named"),
    [
        (LLAMA, {"prompt": 7}, "prompt"),
        (LLAMA, {**ASK, "odd": 1}, "odd"),
        (LLAMA, {**ASK, "max_gen_len": "5"}, "max_gen_len"),
        (LLAMA, {**ASK, "max_gen_len": True}, "max_gen_len"),
        (LLAMA, {**ASK, "temperature": "hot"}, "temperature"),
        (MISTRAL, {**ASK, "stop": "x"}, "stop must be a list"),
        (MISTRAL, {**ASK, "stop": [1]}, "stop must be a list of strings"),
        (MISTRAL, {"messages": [{"role": "robot", "content": SECRET}]}, "messages[0].role"),
        (MISTRAL, {"messages": [{"role": "user", "content": [SECRET]}]}, "messages[0].content"),
        (MISTRAL, {"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        (MISTRAL, {"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        (MISTRAL, {"messages": [{"role": "user", "content": [{"type": "poem"}]}]}, "messages[0].content[0].type"),
        (
            MISTRAL,
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"http://{SECRET}"}}]}
                ]
            },
            "messages[0].content[0].image_url.url",
        ),
        (MISTRAL, {"messages": [CLAUDE_ASK], "stop": ["x"]}, "stop"),
        (
            CLAUDE,
            {"messages": [CLAUDE_ASK], "output_config": {"format": {"type": "text"}}},
            "output_config.format.type",
        ),
        (CLAUDE, {"messages": [CLAUDE_ASK], "output_config": {"odd": 1}}, "output_config.odd"),
        (MISTRAL, {"messages": [{"role": "user", "content": SECRET, "odd": 1}]}, "messages[0].odd"),
        (TITAN, {"inputText": SECRET, "textGenerationConfig": []}, "textGenerationConfig"),
        (TITAN, {"inputText": SECRET, "textGenerationConfig": {"odd": 1}}, "textGenerationConfig.odd"),
        (NOVA, {"messages": [{"role": "user", "content": SECRET}]}, "messages[0].content must be a list"),
        (
            NOVA,
            {"messages": [{"role": "user", "content": [{"text": SECRET}]}], "inferenceConfig": {"x": 1}},
            "inferenceConfig.x",
        ),
        (NOVA, {"schemaVersion": "messages-v1"}, "messages"),
        (CLAUDE, {"messages": []}, "messages"),
        (CLAUDE, {"messages": [SECRET]}, "messages[0]"),
        (CLAUDE, {"messages": [{"role": "system", "content": SECRET}]}, "messages[0].role"),
        (CLAUDE, {"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
        (CLAUDE, {"messages": [{"role": "user", "content": [{"type": "poem"}]}]}, "messages[0].content[0].type"),
        (CLAUDE, {"messages": [{"role": "user", "content": [{"text": SECRET}]}]}, "messages[0].content[0].type"),
        (
            CLAUDE,
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": SECRET}}]}]},
            "messages[0].content[0].source.type",
        ),
        (CLAUDE, {"messages": [CLAUDE_ASK], "tools": [{"type": "bash_20250124", "name": "b"}]}, "tools[0].type"),
        (CLAUDE, {"messages": [CLAUDE_ASK], "tool_choice": {"type": "maybe"}}, "tool_choice.type"),
        (CLAUDE, {"messages": [CLAUDE_ASK], "stream": True}, "stream"),
    ],
)
def test_a_bad_body_names_the_field(world: World, model: str, body: Any, named: str):
    """What a family's body does not have, or holds wrongly, is named in a ValidationException; nothing is quoted."""
    reply = _post(world, body, model)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException"), reply.text
    assert named in reply.json()["message"]
    assert SECRET not in reply.text
    assert world.upstream.requests == []


def test_an_unknown_model_is_not_found(bedrock: Callable[..., Any]):
    """A model id that is not mapped is a ResourceNotFoundException."""
    with pytest.raises(ClientError) as caught:
        bedrock().invoke_model(modelId="absent.model-v1:0", body=b"{}")
    assert type(caught.value).__name__ == "ResourceNotFoundException"


def test_a_request_is_counted_under_its_surface(world: World, invoke: Callable[..., Any]):
    """The metrics know it as invoke."""
    labels = {"surface": "invoke", "tenant": "default", "model": "m", "outcome": "passed"}
    before = world.metric("groundwarden_requests_total", **labels)
    invoke(LLAMA, {**LLAMAS, **CONFIG})
    assert world.metric("groundwarden_requests_total", **labels) == before + 1
