"""Converse, asked by boto3 before a recording upstream: what the model is asked, what the caller gets."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError
from surfaces.support import ASIDE, BAD, GOOD, QUERY, SECRET, SOURCE, World, answer, choice, says, whole

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKED = "I can't answer that from the documents I have."
MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
PNG = b"\x89PNG not really"


def marked(text: str, *qualifiers: str) -> dict[str, Any]:
    """A guardContent block."""
    return {"guardContent": {"text": {"text": text, **({"qualifiers": list(qualifiers)} if qualifiers else {})}}}


def user(*content: Any) -> dict[str, Any]:
    """A message of the user's; texts become text blocks."""
    return {"role": "user", "content": [{"text": one} if isinstance(one, str) else one for one in content]}


CONTEXT = (marked(SOURCE, "grounding_source"), marked(QUERY, "query"))
ASK = user(*CONTEXT)


@pytest.fixture
def converse(world: World, bedrock: Callable[..., Any]) -> Callable[..., Any]:
    """Converse under a policy while the upstream says ``reply`` (an answer, or what it says)."""

    def ask(reply: Any = GOOD, policy: str = "default", **fields: Any) -> Any:
        world.upstream.replies.append(says(answer(reply) if isinstance(reply, str) else reply))
        return bedrock(policy).converse(**{"modelId": MODEL, "messages": [ASK], **fields})

    return ask


def guardrail(policy: str = "default", **fields: Any) -> dict[str, Any]:
    """A guardrailConfig."""
    return {"guardrailIdentifier": policy, "guardrailVersion": "DRAFT", **fields}


def said(reply: Any) -> Any:
    """The content of a reply's message."""
    assert reply["output"]["message"]["role"] == "assistant"
    return reply["output"]["message"]["content"]


# --- verdicts -----------------------------------------------------------------------------------------------------


def test_a_good_answer_passes(converse: Callable[..., Any]):
    """A supported answer arrives as one text block, with the upstream's usage, and no trace that nobody asked for."""
    reply = converse()
    assert (said(reply), reply["stopReason"]) == ([{"text": GOOD}], "end_turn")
    assert reply["usage"] == {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    assert isinstance(reply["metrics"]["latencyMs"], int)
    assert "trace" not in reply
    headers = reply["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["x-groundwarden-outcome"], headers["x-groundwarden-grounding"]) == ("passed", "0.9124")
    assert reply["ResponseMetadata"]["RequestId"] == headers["x-request-id"]


@pytest.mark.parametrize("bad", [BAD, ASIDE, f"{GOOD} {BAD}"])
def test_a_bad_answer_is_replaced(converse: Callable[..., Any], bad: str):
    """A block is HTTP 200 with stopReason guardrail_intervened, the policy's message, the usage, no model text."""
    reply = converse(bad, guardrailConfig=guardrail())
    assert (said(reply), reply["stopReason"]) == ([{"text": BLOCKED}], "guardrail_intervened")
    assert reply["usage"]["totalTokens"] == 18
    assert "capital" not in repr(reply)


def test_a_block_may_be_an_error(converse: Callable[..., Any], bedrock: Callable[..., Any]):
    """Under on_block: error a block is a ValidationException with the policy's message."""
    with pytest.raises(bedrock("error").exceptions.ValidationException) as caught:
        converse(BAD, "error")
    assert caught.value.response["Error"]["Message"] == BLOCKED
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["x-groundwarden-outcome"] == "blocked"


def test_only_marked_blocks_are_context(world: World, converse: Callable[..., Any]):
    """Without a marked source nothing is checked, and all text goes to the model."""
    reply = converse(BAD, messages=[user("Plain.", QUERY)])
    assert (said(reply), world.scorer.asked) == ([{"text": BAD}], [])
    assert reply["ResponseMetadata"]["HTTPHeaders"]["x-groundwarden-outcome"] == "unchecked"
    assert world.asked.json["messages"][0]["content"] == [
        {"type": "text", "text": "Plain."},
        {"type": "text", "text": QUERY},
    ]


def test_a_missing_context_may_block_before_the_model_is_asked(world: World, bedrock: Callable[..., Any]):
    """Under on_missing_context: block the model is not asked, and the usage is 0."""
    reply = bedrock("missing").converse(modelId=MODEL, messages=[user(QUERY)])
    assert (said(reply), reply["stopReason"]) == ([{"text": BLOCKED}], "guardrail_intervened")
    assert reply["usage"] == {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    assert world.upstream.requests == []


def test_sources_and_queries_of_all_places_count(world: World, converse: Callable[..., Any]):
    """Marked blocks in system and messages are used together; the query is the last message's; all text goes on."""
    converse(
        system=[{"text": "Be brief."}, marked("S1.", "grounding_source")],
        messages=[
            user(marked("Q1?", "query"), marked("S2.", "grounding_source", "guard_content")),
            {"role": "assistant", "content": [{"text": "Yes."}]},
            user(marked("Q2?", "query"), marked("Q3?", "query"), marked("Look here.", "guard_content")),
        ],
    )
    sources = {pair.premise for pair in world.scorer.asked if pair.kind.value == "grounding"}
    queries = {pair.premise for pair in world.scorer.asked if pair.kind.value == "relevance"}
    assert (whole(sources), queries) == ({"S1.", "S2."}, {"Q2?\nQ3?"})
    sent = world.asked.json["messages"]
    texts = [[part["text"] for part in one["content"]] for one in sent if isinstance(one["content"], list)]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "user"]
    assert texts == [["Be brief.", "S1."], ["Q1?", "S2."], ["Q2?", "Q3?", "Look here."]]
    assert sent[2]["content"] == "Yes."
    assert "guardContent" not in world.asked.body.decode()


def test_marks_count_only_in_trusted_roles(world: World, converse: Callable[..., Any]):
    """Under trust: [system] a user's mark is plain text."""
    assert said(converse(BAD, "system-only")) == [{"text": BAD}]
    assert said(converse(BAD, "system-only", system=[marked(SOURCE, "grounding_source")])) == [{"text": BLOCKED}]


def test_the_last_user_message_may_be_the_query(world: World, converse: Callable[..., Any]):
    """Under query: last_user plain text is the query when none is marked."""
    converse(GOOD, "last-user", messages=[user(CONTEXT[0], "And then?")])
    assert {pair.premise for pair in world.scorer.asked if pair.kind.value == "relevance"} == {"And then?"}


# --- which guardrail, and its trace -------------------------------------------------------------------------------


def test_a_guardrail_may_be_named(converse: Callable[..., Any]):
    """Another policy listed for the tenant applies when named, by ARN too, with DRAFT or its own version."""
    reply = converse(BAD, guardrailConfig=guardrail("flags"))
    assert said(reply) == [{"text": BAD}]
    version = reply["ResponseMetadata"]["HTTPHeaders"]["x-groundwarden-policy"].partition("@")[2]
    arn = "arn:aws:bedrock:us-east-1:123456789012:guardrail/flags"
    again = converse(BAD, guardrailConfig={"guardrailIdentifier": arn, "guardrailVersion": version})
    assert said(again) == [{"text": BAD}]


@pytest.mark.parametrize(
    ("config", "error", "named"),
    [
        (guardrail("missing"), "AccessDeniedException", "guardrail"),
        ({"guardrailIdentifier": "default", "guardrailVersion": "7"}, "ResourceNotFoundException", "version"),
        ({"guardrailIdentifier": "default"}, "ValidationException", "guardrailVersion"),
        ({"guardrailVersion": "DRAFT"}, "ValidationException", "guardrailIdentifier"),
    ],
)
def test_a_wrong_guardrail_is_refused(world: World, converse: Callable[..., Any], config: Any, error: str, named: str):
    """Another's guardrail, a wrong version, and half a name are errors in AWS's shape; the model is not asked."""
    with pytest.raises(ClientError, match=named) as caught:
        converse(guardrailConfig=config)
    assert type(caught.value).__name__ == error
    assert world.upstream.requests == []


@pytest.mark.parametrize(
    ("trace", "reply", "filters"),
    [
        ("enabled", GOOD, set()),
        ("enabled_full", GOOD, {"GROUNDING", "RELEVANCE"}),
        ("enabled", BAD, {"GROUNDING"}),
        ("enabled_full", BAD, {"GROUNDING", "RELEVANCE"}),
    ],
)
def test_a_trace_tells_the_assessment(converse: Callable[..., Any], trace: str, reply: str, filters: set[str]):
    """``enabled`` tells the filters that fired, ``enabled_full`` all; neither holds the model's text."""
    told = converse(reply, guardrailConfig=guardrail(trace=trace))["trace"]["guardrail"]
    [assessment] = told["outputAssessments"]["default"]
    found = assessment.get("contextualGroundingPolicy", {}).get("filters", [])
    assert {one["type"] for one in found} == filters
    assert {one["type"] for one in found if one["action"] == "BLOCKED"} == ({"GROUNDING"} if reply == BAD else set())
    assert "modelOutput" not in told
    assert assessment["invocationMetrics"]["guardrailCoverage"]["textCharacters"] == {
        "guarded": len(reply),
        "total": len(reply) + len(SOURCE) + len(QUERY),
    }
    assert assessment["appliedGuardrailDetails"]["guardrailId"] == "default"
    assert told["actionReason"].startswith("Guardrail blocked: grounding" if reply == BAD else "No action")


@pytest.mark.parametrize(("policy", "trace"), [("default", "disabled"), ("no-trace", "enabled_full")])
def test_a_trace_may_be_off_or_not_allowed(converse: Callable[..., Any], policy: str, trace: str):
    """Without trace, or under allow_trace: false, there is none."""
    assert "trace" not in converse(BAD, policy, guardrailConfig=guardrail(policy, trace=trace))


# --- what the model is asked --------------------------------------------------------------------------------------


def test_parameters_go_on_under_the_other_dialects_names(world: World, converse: Callable[..., Any]):
    """inferenceConfig, additional fields, an output schema and the effort reach the model; nothing of ours does."""
    converse(
        inferenceConfig={"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
        additionalModelRequestFields={"top_k": 40, "seed": 7},
        outputConfig={
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"schema": '{"type": "object"}', "name": "a"}},
            },
            "effort": "low",
        },
        guardrailConfig=guardrail(),
        requestMetadata={"team": "x"},
        performanceConfig={"latency": "optimized"},
        serviceTier={"type": "priority"},
        additionalModelResponseFieldPaths=["/stop_sequence"],
    )
    sent = world.asked.json
    assert sent.pop("messages")
    assert sent == {
        "model": "m",
        "max_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "top_k": 40,
        "seed": 7,
        "reasoning_effort": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a", "schema": {"type": "object"}, "strict": True},
        },
    }


def test_pictures_documents_and_sound_are_passed_on(world: World, converse: Callable[..., Any]):
    """Bytes become data URLs, a document's text a text part; a mark for a cache and old reasoning are left out."""
    converse(
        messages=[
            user(
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"guardContent": {"image": {"format": "jpeg", "source": {"bytes": PNG}}}},
                {"document": {"format": "pdf", "name": "Fees", "source": {"bytes": b"%PDF"}}},
                {"document": {"name": "Note", "source": {"text": "A note."}}},
                {"document": {"name": "Note", "source": {"content": [{"text": "One."}, {"text": "Two."}]}}},
                {"audio": {"format": "wav", "source": {"bytes": b"RIFF"}}},
                {"cachePoint": {"type": "default"}},
                *CONTEXT,
            ),
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": SECRET}}}, {"text": "Hm."}],
            },
            user("Go on."),
        ]
    )
    first, second, third = world.asked.json["messages"]
    data = base64.b64encode(PNG).decode()
    assert first["content"][:6] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
        {"type": "file", "file": {"filename": "Fees.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        {"type": "text", "text": "A note."},
        {"type": "text", "text": "One.\nTwo."},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ]
    assert (second["content"], third["content"]) == ("Hm.", "Go on.")
    assert SECRET not in world.asked.body.decode()


TOOLS = {
    "tools": [
        {"toolSpec": {"name": "look", "description": "Looks.", "inputSchema": {"json": {"type": "object"}}}},
        {"cachePoint": {"type": "default"}},
    ]
}


def test_tools_go_both_ways(world: World, converse: Callable[..., Any]):
    """Tools, calls and results reach the model in its dialect; its call comes back as toolUse and is not judged."""
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "Tōkyō"}'}}
    reply = converse(
        answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")),
        toolConfig=TOOLS,
        messages=[
            ASK,
            {
                "role": "assistant",
                "content": [
                    {"text": "Let me see."},
                    {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"a": 1}}},
                ],
            },
            user(
                "Well?",
                {
                    "toolResult": {
                        "toolUseId": "t1",
                        "content": [{"json": {"b": 2}}, {"text": "Done."}],
                        "status": "error",
                    }
                },
            ),
        ],
    )
    assert reply["stopReason"] == "tool_use"
    assert said(reply) == [{"toolUse": {"toolUseId": "call_1", "name": "look", "input": {"at": "Tōkyō"}}}]
    sent = world.asked.json
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}
    ]
    assert sent["messages"][1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": '{"b": 2}\nDone.'},
        {"role": "user", "content": "Well?"},
    ]


@pytest.mark.parametrize(
    ("additional", "sent"),
    [
        ({"inferenceConfig": {"topK": 20}}, {"top_k": 20}),
        ({"inferenceConfig": {"reasoningConfig": {"type": "enabled"}}}, {}),
        ({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}, {"reasoning_effort": "low"}),
        ({"reasoningConfig": {"type": "disabled"}, "top_k": 5}, {"top_k": 5}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
    ],
)
def test_a_models_own_parameters_go_on(world: World, converse: Callable[..., Any], additional: Any, sent: Any):
    """Nova's own among additionalModelRequestFields are read as AWS documents them, others go on as they are."""
    converse(additionalModelRequestFields=additional)
    assert {name: held for name, held in world.asked.json.items() if name not in {"model", "messages"}} == sent


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"auto": {}}, "auto"),
        ({"any": {}}, "required"),
        ({"tool": {"name": "look"}}, {"type": "function", "function": {"name": "look"}}),
    ],
)
def test_the_choice_of_a_tool_goes_on(world: World, converse: Callable[..., Any], given: Any, sent: Any):
    """Each toolChoice becomes the other dialect's."""
    converse(toolConfig={**TOOLS, "toolChoice": given})
    assert world.asked.json["tool_choice"] == sent


def test_results_of_tools_may_be_sources(world: World, converse: Callable[..., Any]):
    """Under tool_results: source what a tool answered is a source."""
    use = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}
    result = user({"toolResult": {"toolUseId": "t1", "content": [{"text": SOURCE}]}})
    reply = converse(BAD, "tool-results", messages=[user(QUERY), use, result], toolConfig=TOOLS)
    assert reply["stopReason"] == "guardrail_intervened"


# --- what comes back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "content_filtered"), ("odd", "end_turn")],
)
def test_why_an_answer_ended_is_told(converse: Callable[..., Any], finish: str, stop: str):
    """Each finish_reason has its stopReason."""
    assert converse(answer(choice(finish_reason=finish)))["stopReason"] == stop


@pytest.mark.parametrize("name", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize(
    ("ended", "stop"),
    [
        ("END OF IT", "stop_sequence"),
        ("###", "stop_sequence"),
        ("other", "end_turn"),
        (128001, "end_turn"),
        (None, "end_turn"),
    ],
)
def test_a_stop_sequence_is_told_where_the_server_tells_it(
    converse: Callable[..., Any], name: str, ended: Any, stop: str
):
    """A sequence of the caller's, as vLLM and SGLang name it, is stop_sequence, and not judged as the model's text."""
    config = {"stopSequences": ["###", "END OF IT"]}
    reply = converse(answer(choice(**{name: ended})), inferenceConfig=config)
    assert (reply["stopReason"], said(reply)) == (stop, [{"text": GOOD}])
    assert converse(answer(choice(**{name: ended}, finish_reason="length")), inferenceConfig=config)["stopReason"] == (
        "max_tokens"
    )


def test_a_stop_sequence_that_nobody_asked_for_is_text(converse: Callable[..., Any]):
    """What a server puts there otherwise is judged as any unknown text is."""
    assert converse(answer(choice(stop_reason="END OF IT")))["stopReason"] == "guardrail_intervened"


PICTURES = [
    {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{base64.b64encode(PNG).decode()}"}}
    for kind in ("png", "jpg")
]
UNTOLD = [
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}},
    {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AA=="}},
]
SHOWN = [{"image": {"format": kind, "source": {"bytes": PNG}}} for kind in ("png", "jpeg")]


@pytest.mark.parametrize(
    ("policy", "context", "shown"), [("images-pass", True, True), ("default", False, True), ("default", True, False)]
)
def test_pictures_in_an_answer_are_told_or_block(converse: Callable[..., Any], policy: str, context: bool, shown: bool):
    """Under on_uninspected.images: pass, and where nothing is checked, pictures with their bytes are image blocks."""
    messages = [ASK] if context else [user(QUERY)]
    reply = converse(answer(choice(message={"images": [*PICTURES, *UNTOLD]})), policy, messages=messages)
    assert said(reply) == ([{"text": GOOD}, *SHOWN] if shown else [{"text": BLOCKED}])
    content = [{"type": "text", "text": GOOD}, *PICTURES]
    assert said(converse(answer(choice(content)), policy, messages=messages)) == said(reply)


@pytest.mark.parametrize(("policy", "shown"), [("default", False), ("reasoning-passes", True)])
def test_reasoning_is_shown_only_if_the_policy_passes_it(converse: Callable[..., Any], policy: str, shown: bool):
    """Reasoning is stripped, or comes first as reasoningContent."""
    content = said(converse(answer(choice(message={"reasoning_content": "Hm, Tokyo."})), policy))
    thought = [{"reasoningContent": {"reasoningText": {"text": "Hm, Tokyo."}}}] if shown else []
    assert content == [*thought, {"text": GOOD}]


@pytest.mark.parametrize(
    "written",
    ['{"at": ', "NaN", '{"at": [-Infinity]}', '{"at": 1e999}', *("[" * deep + "]" * deep for deep in (960, 10**5))],
)
def test_arguments_that_are_no_json_are_malformed(converse: Callable[..., Any], written: str):
    """A call whose arguments cannot be read, or not be written, is left out; stopReason says malformed_tool_use."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": written}}
    reply = converse(answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")), toolConfig=TOOLS)
    assert (said(reply), reply["stopReason"]) == ([], "malformed_tool_use")


def test_cached_tokens_are_told_apart(converse: Callable[..., Any]):
    """Tokens read from a cache are not among inputTokens, as on Bedrock."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    assert converse(answer(GOOD, usage=usage))["usage"] == {
        "inputTokens": 6,
        "outputTokens": 2,
        "totalTokens": 12,
        "cacheReadInputTokens": 4,
    }


def test_tokens_are_counted_here_where_the_upstream_did_not(converse: Callable[..., Any]):
    """Without the upstream's usage the counts are our own."""
    usage = converse(answer(GOOD, usage=None))["usage"]
    assert usage["inputTokens"] > 10
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]


def test_of_several_choices_only_the_first_is_told(world: World, converse: Callable[..., Any]):
    """Bedrock's answer is one: another choice is neither judged nor told."""
    reply = converse(answer(GOOD, BAD))
    assert said(reply) == [{"text": GOOD}]
    assert BAD not in {pair.hypothesis for pair in world.scorer.asked}


def test_unknown_text_in_an_answer_blocks_it(converse: Callable[..., Any]):
    """A field that nobody knows and that holds text is treated as on every surface: on_uninspected.default."""
    odd = answer(choice(message={"appendix": f"{SECRET} and more words"}))
    assert converse(odd)["stopReason"] == "guardrail_intervened"
    reply = converse(odd, "unknown-passes")
    assert said(reply) == [{"text": GOOD}]
    assert SECRET not in repr(reply)


# --- which model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [MODEL, "m", "other-m", f"arn:aws:bedrock:us-east-1::foundation-model/{MODEL}", "us.amazon.nova-lite-v1:0"]
)
def test_a_model_is_found_by_its_id_an_arn_or_its_name(world: World, converse: Callable[..., Any], model: str):
    """Ids of bedrock_models, ARNs that end in one, and names of model_list reach the model."""
    assert said(converse(modelId=model)) == [{"text": GOOD}]
    assert world.asked.json["model"] == ("other-m" if model == "other-m" else "m")


@pytest.mark.parametrize(
    ("model", "policy"), [("absent.model-v1:0", "default"), ("hidden-v1", "few-models"), ("*", "default")]
)
def test_another_model_is_not_found(world: World, converse: Callable[..., Any], model: str, policy: str):
    """An id that is not mapped, or whose model the policy does not allow, is a ResourceNotFoundException."""
    with pytest.raises(ClientError) as caught:
        converse(GOOD, policy, modelId=model)
    assert type(caught.value).__name__ == "ResourceNotFoundException"
    assert world.upstream.requests == []


# --- errors -------------------------------------------------------------------------------------------------------


def _post(world: World, body: Any, model: str = MODEL, **headers: str) -> Any:
    return world.post(body, path=f"/model/{quote(model, safe='')}/converse", **headers)


def _content(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(blocks)}]}


DOCUMENT = {"name": "d", "format": None, "source": {"bytes": None, "text": "D."}}
S3 = {"s3Location": {"uri": "s3://bucket/key"}}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "JSON"),
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": {}}, "messages must be a list"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": []}]}, "messages[0].role"),
        ({**_content({"text": SECRET}), "odd": 1}, "odd"),
        (_content({"text": 7}), "messages[0].content[0].text"),
        (_content({"text": SECRET, "image": {}}), "messages[0].content[0]"),
        (_content({}), "messages[0].content[0]"),
        (_content({"poem": SECRET}), "messages[0].content[0].poem"),
        (_content(marked(SECRET, "source")), "messages[0].content[0].guardContent.text.qualifiers[0]"),
        (_content({"image": {"format": "bmp", "source": {"bytes": "AA=="}}}), "image.format"),
        (_content({"image": {"format": "png", "source": {"bytes": "?"}}}), "image.source.bytes must be base64"),
        (_content({"image": {"format": "png", "source": S3}}), "image.source.s3Location is not supported"),
        (_content({"video": {"format": "mp4", "source": {"bytes": "AA=="}}}), "video is not supported"),
        (_content({"audio": {"format": "flac", "source": {"bytes": "AA=="}}}), "audio.format is not supported"),
        (
            _content({"toolResult": {"toolUseId": "t", "content": [{"image": {"format": "png", "source": S3}}]}}),
            "messages[0].content[0].toolResult.content[0].image is not supported",
        ),
        (
            _content({"toolUse": {"toolUseId": "t", "name": "n", "input": {}, "type": "server_tool_use"}}),
            "toolUse.type is not supported",
        ),
        ({**_content({"text": SECRET}), "system": [{"text": ""}]}, "system[0].text must have at least 1"),
        ({**_content({"text": SECRET}), "inferenceConfig": {"temperature": 3}}, "inferenceConfig.temperature"),
        ({**_content({"text": SECRET}), "inferenceConfig": {"maxTokens": 1.5}}, "inferenceConfig.maxTokens"),
        ({**_content({"text": SECRET}), "inferenceConfig": {"maxTokens": True}}, "inferenceConfig.maxTokens"),
        ({**_content({"text": SECRET}), "toolConfig": {"tools": []}}, "toolConfig.tools must have at least 1"),
        ({**_content({"text": SECRET}), "toolConfig": {"tools": [{"systemTool": {"name": "n"}}]}}, "systemTool"),
        ({**_content({"text": SECRET}), "guardrailConfig": {"trace": "on"}}, "guardrailConfig.trace"),
        ({**_content({"text": SECRET}), "guardrailConfig": {"streamProcessingMode": "sync"}}, "streamProcessingMode"),
        ({**_content({"text": SECRET}), "promptVariables": {"a": {"text": "b"}}}, "promptVariables is not supported"),
        ({**_content({"text": SECRET}), "additionalModelRequestFields": [1]}, "additionalModelRequestFields"),
        ({**_content({"text": SECRET}), "additionalModelRequestFields": {"n": 2}}, "additionalModelRequestFields.n"),
        ({**_content({"text": SECRET}), "additionalModelRequestFields": {"api_base": "x"}}, "api_base"),
        (
            {**_content({"text": SECRET}), "additionalModelRequestFields": {"inferenceConfig": {"topP": 1}}},
            "additionalModelRequestFields.inferenceConfig.topP",
        ),
        (
            {**_content({"text": SECRET}), "additionalModelRequestFields": {"reasoningConfig": {"type": SECRET}}},
            "additionalModelRequestFields.reasoningConfig.type must be one of",
        ),
        (
            {
                **_content({"text": SECRET}),
                "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{"}}}},
            },
            "outputConfig.textFormat.structure.jsonSchema.schema",
        ),
    ],
)
def test_a_bad_request_names_the_field(world: World, body: Any, named: str):
    """What the service model does not allow, or we do not support, is a ValidationException that names the field."""
    reply = _post(world, body)
    assert (reply.status_code, reply.headers["x-amzn-errortype"]) == (400, "ValidationException"), reply.text
    assert named in reply.json()["message"]
    assert SECRET not in reply.text
    assert world.upstream.requests == []


def test_a_null_says_that_a_field_is_not_there(world: World):
    """Nulls, which other clients send, are left out; in the input of a tool they are a value."""
    use = {"toolUseId": "t", "name": "n", "input": {"a": None}, "type": None}
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "Hi.", "image": None}, marked(SOURCE), {"document": DOCUMENT}]},
            {"role": "assistant", "content": [{"toolUse": use, "text": None}]},
            user({"toolResult": {"toolUseId": "t", "content": [{"json": {"b": None}, "text": None}], "status": None}}),
        ],
        "system": None,
        "inferenceConfig": {"maxTokens": None, "topP": 0.5},
        "toolConfig": {"tools": TOOLS["tools"], "toolChoice": {"auto": {}, "any": None}},
        "guardrailConfig": None,
    }
    world.upstream.replies.append(says(answer(GOOD)))
    assert _post(world, body).status_code == 200
    sent = world.asked.json
    assert (sent["top_p"], "max_tokens" in sent, sent["tool_choice"]) == (0.5, False, "auto")
    assert sent["messages"][0]["content"][2] == {"type": "text", "text": "D."}
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"a": null}'
    assert sent["messages"][2]["content"] == '{"b": null}'


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, "ValidationException", 400),
        (401, "ModelErrorException", 424),
        (404, "ValidationException", 400),
        (429, "ThrottlingException", 429),
        (500, "ModelErrorException", 424),
        (503, "ServiceUnavailableException", 503),
    ],
)
def test_the_upstreams_errors_have_aws_names(
    world: World, bedrock: Callable[..., Any], status: int, error: str, code: int
):
    """What the model's provider refuses or fails at is one of Converse's own exceptions."""
    world.upstream.replies.append(says({"error": {"message": "no"}}, status))
    with pytest.raises(ClientError) as caught:
        bedrock().converse(modelId=MODEL, messages=[ASK])
    assert type(caught.value).__name__ == error
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == code


def test_a_late_model_is_a_timeout(world: World, bedrock: Callable[..., Any]):
    """An upstream that does not answer in time is a ModelTimeoutException."""
    world.upstream.replies.append(says(answer()))
    world.upstream.replies[0].body = [2.0, json.dumps(answer()).encode()]
    with pytest.raises(bedrock().exceptions.ModelTimeoutException):
        bedrock().converse(modelId="hasty-v1", messages=[ASK])


def test_a_full_queue_throttles_before_the_model_is_asked(world: World, bedrock: Callable[..., Any]):
    """A full queue is a ThrottlingException, and costs no tokens."""
    world.scorer.mood = "full"
    with pytest.raises(bedrock().exceptions.ThrottlingException):
        bedrock().converse(modelId=MODEL, messages=[ASK])
    assert world.upstream.requests == []


def test_a_request_is_counted_under_its_surface(world: World, converse: Callable[..., Any]):
    """The metrics know it as converse, by its model's own name."""
    labels = {"surface": "converse", "tenant": "default", "model": "m", "outcome": "blocked"}
    before = world.metric("groundwarden_requests_total", **labels)
    converse(BAD)
    assert world.metric("groundwarden_requests_total", **labels) == before + 1
