"""Programs that speak to Bedrock, pointed here as users point them: LangChain, Anthropic's SDK, LiteLLM's guardrail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from surfaces.bedrock.conftest import KEY, SECRET
from surfaces.bedrock.test_converse import BLOCKED, CONTEXT, MODEL
from surfaces.support import ASIDE, BAD, GOOD, QUERY, SOURCE, answer, choice, chunk, delta, says, spells, streams, tag

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from surfaces.bedrock.conftest import Place
    from surfaces.support import World

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


# --- LangChain: ChatBedrockConverse -------------------------------------------------------------------------------


@pytest.fixture
def chat(place: Place) -> Iterator[Any]:
    """ChatBedrockConverse with an AWS access key, and nothing of ours but the address."""
    from langchain_aws import ChatBedrockConverse

    made = ChatBedrockConverse(
        model=MODEL,
        endpoint_url=place.url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        temperature=0.2,
        max_tokens=50,
        guardrails={"guardrailIdentifier": "default", "guardrailVersion": "DRAFT", "trace": "enabled"},
    )
    yield made
    made.client.close()
    made.bedrock_client.close()


def _asked() -> list[Any]:
    from langchain_core.messages import HumanMessage, SystemMessage

    return [SystemMessage("Be brief."), HumanMessage([*CONTEXT, {"type": "text", "text": "Thanks."}])]


@pytest.mark.parametrize(("said", "told", "stop"), [(GOOD, GOOD, "end_turn"), (BAD, BLOCKED, "guardrail_intervened")])
def test_langchain_gets_an_answer_or_a_block(place: Place, chat: Any, said: str, told: str, stop: str):
    """Its invoke returns the text, the stop reason, the usage and, for a block, the trace."""
    place.upstream.replies.append(says(answer(said)))
    reply = chat.invoke(_asked())
    assert (reply.content, reply.response_metadata["stopReason"]) == (told, stop)
    assert reply.usage_metadata["total_tokens"] == 18
    assert "UNSUPPORTED" not in repr(reply)
    trace = reply.response_metadata["trace"]["guardrail"]["outputAssessments"]["default"][0]
    assert ("contextualGroundingPolicy" in trace) is (said == BAD)
    [sent] = place.upstream.requests
    assert sent.json["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [part["text"] for part in sent.json["messages"][1]["content"]] == [SOURCE, QUERY, "Thanks."]


@pytest.mark.parametrize(
    ("said", "told", "stop"),
    [
        (GOOD, GOOD, "end_turn"),
        (BAD, BLOCKED, "guardrail_intervened"),
        (f"{GOOD} {BAD}", f"{GOOD}\n\n{BLOCKED}", "guardrail_intervened"),
    ],
)
def test_langchain_reads_a_stream_to_its_end(place: Place, chat: Any, said: str, told: str, stop: str):
    """Its chunks add up to the text, the stop reason and the usage, for a pass, a block, and one in mid-stream."""
    usage = chunk(usage={"prompt_tokens": 11, "completion_tokens": 7})
    place.upstream.replies.append(streams(*spells(said), usage))
    whole = None
    for one in chat.stream(_asked()):
        whole = one if whole is None else whole + one
    assert whole is not None
    assert (whole.text, whole.response_metadata["stopReason"]) == (told, stop)
    assert whole.usage_metadata["total_tokens"] > 0


def test_langchains_tools_are_called_and_answered(place: Place, chat: Any):
    """A bound tool is called, whole and in a stream, and its result goes back to the model."""
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import tool

    @tool
    def look(city: str) -> str:
        """Look up a city."""
        return city

    bound = chat.bind_tools([look])
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Tokyo"}'}}
    place.upstream.replies.append(
        says(answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")))
    )
    reply = bound.invoke(_asked())
    expected = [{"name": "look", "args": {"city": "Tokyo"}, "id": "c1", "type": "tool_call"}]
    assert reply.tool_calls == expected
    deltas = [chunk(delta(tool_calls=[{"index": 0, **call}])), chunk(delta(finish="tool_calls"))]
    place.upstream.replies.append(streams(*deltas))
    whole = None
    for one in bound.stream(_asked()):
        whole = one if whole is None else whole + one
    assert whole is not None
    assert whole.tool_calls == expected
    place.upstream.replies.append(says(answer(GOOD)))
    assert bound.invoke([*_asked(), reply, ToolMessage("Sunny.", tool_call_id="c1")]).content == GOOD
    roles = [one["role"] for one in place.upstream.requests[-1].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


def test_langchains_structured_output_works(place: Place, chat: Any):
    """with_structured_output, which calls a tool, returns the object."""
    from pydantic import BaseModel

    class City(BaseModel):
        """A city."""

        name: str

    call = {"id": "c1", "type": "function", "function": {"name": "City", "arguments": '{"name": "Tokyo"}'}}
    place.upstream.replies.append(
        says(answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")))
    )
    assert chat.with_structured_output(City).invoke(_asked()) == City(name="Tokyo")
    sent = place.upstream.requests[0].json
    assert sent["tool_choice"] in ("required", {"type": "function", "function": {"name": "City"}})


# --- Anthropic's own SDK: AnthropicBedrock ------------------------------------------------------------------------


@pytest.fixture
def claude(place: Place) -> Iterator[Any]:
    """AnthropicBedrock with an AWS access key, and nothing of ours but the address."""
    from anthropic import AnthropicBedrock

    keys = {"aws_access_key": KEY, "aws_secret_key": SECRET, "aws_region": "us-east-1"}
    with AnthropicBedrock(base_url=place.url, max_retries=0, **keys) as made:
        yield made


PROMPT = f"{tag('groundingSource', SOURCE)} {tag('query', QUERY)}"
MESSAGE = {
    "model": MODEL,
    "max_tokens": 50,
    "messages": [{"role": "user", "content": PROMPT}],
    "stop_sequences": ["END"],
    "extra_headers": {"X-Amzn-Bedrock-GuardrailIdentifier": "default", "X-Amzn-Bedrock-GuardrailVersion": "DRAFT"},
    "extra_body": {"amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}},
}


@pytest.mark.parametrize(
    ("said", "told", "stop"), [(GOOD, GOOD, "stop_sequence"), (BAD, BLOCKED, "guardrail_intervened")]
)
def test_anthropics_sdk_gets_an_answer_or_a_block(place: Place, claude: Any, said: str, told: str, stop: str):
    """Its types hold the text, why it ended and the usage, whole and in a stream that it puts together."""
    place.upstream.replies.append(says(answer(choice(said, stop_reason="END"))))
    reply = claude.messages.create(**MESSAGE)
    usage = chunk(usage={"prompt_tokens": 11, "completion_tokens": 7})
    last = chunk({**delta(finish="stop"), "stop_reason": "END"})
    place.upstream.replies.append(streams(*spells(said)[:-1], last, usage))
    with claude.messages.stream(**MESSAGE) as events:
        streamed = events.get_final_message()
    for one in (reply, streamed):
        assert ([block.text for block in one.content], one.stop_reason) == ([told], stop)
        assert one.stop_sequence == ("END" if stop == "stop_sequence" else None)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)
    assert reply.model_extra["amazon-bedrock-guardrailAction"] == ("NONE" if said == GOOD else "INTERVENED")


def test_anthropics_sdk_calls_tools(place: Place, claude: Any):
    """A tool is called, whole and in a stream, and its result goes back to the model."""
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Tokyo"}'}}
    place.upstream.replies.append(
        says(answer(choice(None, message={"tool_calls": [call]}, finish_reason="tool_calls")))
    )
    reply = claude.messages.create(**MESSAGE, tools=tools)
    deltas = [chunk(delta(tool_calls=[{"index": 0, **call}])), chunk(delta(finish="tool_calls"))]
    place.upstream.replies.append(streams(*deltas))
    with claude.messages.stream(**MESSAGE, tools=tools) as events:
        streamed = events.get_final_message()
    for one in (reply, streamed):
        [used] = one.content
        assert (used.type, used.name, used.input, one.stop_reason) == (
            "tool_use",
            "look",
            {"city": "Tokyo"},
            "tool_use",
        )
    place.upstream.replies.append(says(answer(GOOD)))
    result = {"type": "tool_result", "tool_use_id": used.id, "content": "Sunny."}
    told = [{"role": "assistant", "content": streamed.content}, {"role": "user", "content": [result]}]
    claude.messages.create(**{**MESSAGE, "messages": [*MESSAGE["messages"], *told]}, tools=tools)
    assert [one["role"] for one in place.upstream.requests[-1].json["messages"]] == ["user", "assistant", "tool"]


def test_anthropics_sdk_raises_its_own_errors(place: Place, claude: Any):
    """A wrong field, a guardrail of another's and a busy model are errors of the SDK's own kinds."""
    import anthropic

    with pytest.raises(anthropic.BadRequestError, match="container"):
        claude.messages.create(**MESSAGE, container="c")
    with pytest.raises(anthropic.PermissionDeniedError, match="guardrail"):
        claude.messages.create(
            **{**MESSAGE, "extra_headers": {**MESSAGE["extra_headers"], "X-Amzn-Bedrock-GuardrailIdentifier": "no"}}
        )
    place.upstream.replies.append(says({"error": {"message": "slow"}}, 429))
    with pytest.raises(anthropic.RateLimitError):
        claude.messages.create(**MESSAGE)


# --- LiteLLM: the proxy's Bedrock guardrail -----------------------------------------------------------------------


@pytest.fixture
async def hook(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """The guardrail as LiteLLM's proxy makes it of its config: ``guardrail: bedrock``, ``mode: post_call``."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.proxy.guardrails.guardrail_hooks.bedrock_guardrails import BedrockGuardrail

    def made(policy: str = "default", **options: Any) -> Any:
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", f"key-{policy}")
        return BedrockGuardrail(
            guardrail_name="grounded",
            guardrailIdentifier=policy,
            guardrailVersion="DRAFT",
            aws_region_name="us-east-1",
            aws_bedrock_runtime_endpoint=world.url,
            event_hook="post_call",
            default_on=True,
            async_handler=client,
            **options,
        )

    client = AsyncHTTPHandler()
    yield made
    await client.close()


def _data() -> dict[str, Any]:
    source = {"type": "grounding_source", "text": SOURCE}
    return {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": [source]},
            {"role": "user", "content": [{"type": "query", "text": QUERY}]},
        ],
    }


async def _after(guardrail: Any, *said: str) -> Any:
    """What the proxy has after the hook has seen the model's answer."""
    import litellm
    from litellm.proxy._types import UserAPIKeyAuth

    choices = [
        litellm.Choices(index=at, message=litellm.Message(role="assistant", content=one)) for at, one in enumerate(said)
    ]
    response = litellm.ModelResponse(choices=choices)
    await guardrail.async_post_call_success_hook(
        data=_data(), user_api_key_dict=UserAPIKeyAuth(api_key="sk"), response=response
    )
    return response


async def test_litellm_lets_a_good_answer_pass(world: World, hook: Any):
    """A supported answer is left as it is; source, query and answer came over."""
    response = await _after(hook(), GOOD)
    assert response.choices[0].message.content == GOOD
    assert {pair.premise for pair in world.scorer.asked if pair.kind.value == "relevance"} == {QUERY}


@pytest.mark.parametrize(
    ("policy", "said"), [("default", [BAD]), ("default", [ASIDE]), ("default", [GOOD, BAD]), ("missing", [GOOD])]
)
async def test_litellm_blocks_a_bad_answer(hook: Any, policy: str, said: list[str]):
    """What is not supported is an error 400 with the policy's message; so is a block that has no score."""
    from fastapi import HTTPException

    guardrail = hook(policy)
    if policy == "missing":
        guardrail._collect_grounding_blocks = lambda _: []
    with pytest.raises(HTTPException) as caught:
        await _after(guardrail, *said)
    assert caught.value.status_code == 400
    assert caught.value.detail["bedrock_guardrail_response"] == BLOCKED
    assert "capital" not in repr(caught.value.detail)


async def test_litellm_may_answer_with_the_message(hook: Any):
    """With disable_exception_on_block the block is an answer with the policy's message."""
    from litellm.exceptions import ModifyResponseException

    with pytest.raises(ModifyResponseException) as caught:
        await _after(hook(disable_exception_on_block=True), BAD)
    assert caught.value.message == BLOCKED


async def test_litellm_hears_of_a_wrong_guardrail(hook: Any):
    """A guardrail that is not the tenant's fails, and lets nothing pass."""
    from fastapi import HTTPException

    guardrail = hook()
    guardrail.guardrailIdentifier = "missing"
    with pytest.raises(HTTPException):
        await _after(guardrail, GOOD)
