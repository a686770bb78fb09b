"""A guard brought in step by step, on the real server: flag, redact, retry, shadow, sample; and limits by tenant."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import boto3
import httpx
import openai
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from prometheus_client.parser import text_string_to_metric_families
from recording import SSE, Recording, Reply
from serving import Serving, passes_through
from surfaces.support import (
    BAD,
    GOOD,
    QUERY,
    SOURCE,
    MarkScorer,
    answer,
    asking,
    choice,
    chunk,
    event,
    events_of,
    says,
    spells,
    streams,
)

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator

UNSURE = "Its mayor is UNSUPPORTED."
MARK = "[removed]"
LEFT = f"{GOOD} {MARK}"
MIXED = f"{GOOD} {UNSURE}"
POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "redacts": {"grounding": {"action": "redact"}, "redacted_message": MARK},
    "retries": {"retry": {"attempts": 2}},
    "flags": {"grounding": {"action": "flag"}, "shadow": "lax"},
    "tries": {"shadow": "lax"},
    "off": {"grounding": {"action": "off"}, "relevance": {"action": "off"}, "shadow": "lax"},
    "lax": {"extends": "default", "grounding": {"threshold": 0.1}},
    "half": {"sample": 0.5},
    "none": {"sample": 0},
    "rated": {},
    "narrow": {},
}
LIMITS = {"rated": {"requests_per_minute": 3}, "narrow": {"concurrency": 1}}


class Rollout:
    """The server with a tenant for each policy, before a recording upstream."""

    def __init__(self, serving: Serving, upstream: Recording) -> None:
        self.url, self.admin, self.upstream = serving.url, serving.admin, upstream

    def post(self, policy: str, path: str = "/v1/chat/completions", body: Any = None, **headers: str) -> httpx.Response:
        """The raw reply to a plain question."""
        headers = {"authorization": f"Bearer key-{policy}", **headers}
        return httpx.post(self.url + path, json=asking() if body is None else body, headers=headers, timeout=20)

    def told(self, policy: str, *replies: Any, **fields: Any) -> httpx.Response:
        """The reply to a plain question when the upstream answers so."""
        self.upstream.replies.extend(reply if isinstance(reply, Reply) else says(reply) for reply in replies)
        return self.post(policy, body=asking(**fields))

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the metric's series that have these labels."""
        families = text_string_to_metric_families(httpx.get(f"{self.admin}/metrics").text)
        samples = (sample for family in families for sample in family.samples if sample.name == name)
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def rises(self, name: str, **labels: str) -> Any:
        """A call that waits until the metric is higher than it is now, and tells by how much."""
        before = self.metric(name, **labels)

        def risen() -> float:
            until = time.monotonic() + 5
            while time.monotonic() < until:
                if (now := self.metric(name, **labels)) > before:
                    return now - before
                time.sleep(0.05)
            return 0.0

        return risen


@pytest.fixture(scope="module")
def _rollout(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Rollout]:
    tenants = [
        {
            "id": name,
            "policy": name,
            "key_sha256": [sha256_of(f"key-{name}")],
            **({"limits": LIMITS[name]} if name in LIMITS else {}),
        }
        for name in POLICIES
    ]
    config = {
        "model_list": passes_through(_recording_server.url, "m"),
        "tenants": tenants,
        "bedrock_models": {"*": "m"},
    }
    folder = tmp_path_factory.mktemp("rollout")
    with Serving(folder, config, policies=POLICIES, scorer=MarkScorer()) as serving:
        yield Rollout(serving, _recording_server)


@pytest.fixture
def rollout(_rollout: Rollout) -> Rollout:
    """The server with nothing recorded or scripted."""
    _rollout.upstream.reset()
    return _rollout


def bedrock(rollout: Rollout, policy: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A boto3 client for a policy."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", f"key-{policy}")
    session = boto3.Session(region_name="us-east-1")
    client = session.client(
        "bedrock-runtime",
        endpoint_url=rollout.url.replace("http://", "https://", 1),
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )
    client.meta.events.register("before-send.bedrock-runtime", _end_tls)
    return client


def _end_tls(request: Any, **_: object) -> None:
    """Stand in for what ends TLS before the server."""
    request.url = request.url.replace("https://", "http://", 1)


def conversation(text: str = QUERY) -> dict[str, Any]:
    """A Converse request with a source and a query."""
    blocks = [
        {"guardContent": {"text": {"text": SOURCE, "qualifiers": ["grounding_source"]}}},
        {"guardContent": {"text": {"text": QUERY, "qualifiers": ["query"]}}},
        {"text": text},
    ]
    return {"modelId": "m", "messages": [{"role": "user", "content": blocks}]}


# --- redact ---------------------------------------------------------------------------------------------------------


def test_an_answer_leaves_without_what_is_not_supported(rollout: Rollout):
    """The reply is the model's but for the sentence; nothing that spells it, or points into it, comes along."""
    tokens = [{"token": MIXED, "logprob": -0.1, "bytes": None, "top_logprobs": []}]
    said = choice(
        MIXED, message={"annotations": [{"type": "url_citation", "title": "UNSUPPORTED"}]}, logprobs={"content": tokens}
    )
    reply = rollout.told("redacts", answer(said))
    body = reply.json()

    assert body["choices"][0]["message"]["content"] == LEFT
    assert (body["choices"][0]["finish_reason"], body["id"]) == ("stop", "chatcmpl-up")
    assert body["usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    assert reply.headers["x-groundwarden-outcome"] == "redacted"
    assert b"UNSUPPORTED" not in reply.content
    assert rollout.metric("groundwarden_requests_total", policy="redacts", outcome="redacted") >= 1


def test_each_choice_is_redacted_by_itself(rollout: Rollout):
    """One choice passes as it came, one leaves redacted, and one of which nothing is left is blocked."""
    body = rollout.told("redacts", answer(GOOD, MIXED, BAD), n=3).json()
    told = [(one["message"]["content"], one["finish_reason"]) for one in body["choices"]]

    assert told[:2] == [(GOOD, "stop"), (LEFT, "stop")]
    assert told[2][1] == "content_filter"
    assert "UNSUPPORTED" not in str(body)


def test_a_stream_is_redacted_too(rollout: Rollout):
    """The chunks that leave spell the redacted answer, for raw clients and for openai's; other chunks stay."""
    usage = chunk(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})
    reply = rollout.told("redacts", streams(*spells(MIXED), usage), stream=True)
    chunks = [one for one in events_of(reply.content) if one != "[DONE]"]
    text = "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"])

    assert text == LEFT
    assert chunks[-1]["usage"]["total_tokens"] == 3
    assert b"UNSUPPORTED" not in reply.content

    rollout.upstream.replies.append(streams(*spells(MIXED)))
    with (
        openai.OpenAI(base_url=f"{rollout.url}/v1", api_key="key-redacts", max_retries=0) as client,
        client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": QUERY}],
            stream=True,
            extra_body={"grounding": {"sources": [SOURCE], "query": QUERY}},
        ) as stream,
    ):
        assert "".join(one.choices[0].delta.content or "" for one in stream) == LEFT


def test_calls_of_tools_stay_with_a_redacted_answer(rollout: Rollout):
    """What the policy lets pass beside the text still passes."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    body = rollout.told("redacts", answer(choice(MIXED, message={"tool_calls": [call]}))).json()

    assert body["choices"][0]["message"] == {"role": "assistant", "content": LEFT, "tool_calls": [call]}


def test_bedrock_masks(rollout: Rollout, monkeypatch: pytest.MonkeyPatch):
    """Converse, its stream and ApplyGuardrail give the redacted answer, in AWS's words for a mask."""
    client = bedrock(rollout, "redacts", monkeypatch)
    rollout.upstream.replies += [says(answer(MIXED)), streams(*spells(MIXED))]
    whole = client.converse(**conversation())
    assert whole["output"]["message"]["content"] == [{"text": LEFT}]
    assert whole["stopReason"] == "end_turn"

    stream = client.converse_stream(**conversation())["stream"]
    deltas = [one["contentBlockDelta"]["delta"]["text"] for one in stream if "contentBlockDelta" in one]
    assert "".join(deltas) == LEFT

    applied = client.apply_guardrail(
        guardrailIdentifier="redacts",
        guardrailVersion="DRAFT",
        source="OUTPUT",
        content=[
            {"text": {"text": SOURCE, "qualifiers": ["grounding_source"]}},
            {"text": {"text": QUERY, "qualifiers": ["query"]}},
            {"text": {"text": MIXED}},
        ],
    )
    assert (applied["action"], applied["outputs"]) == ("GUARDRAIL_INTERVENED", [{"text": LEFT}])
    assert applied["actionReason"] == "Guardrail masked: grounding."
    client.close()


# --- retry ----------------------------------------------------------------------------------------------------------


def test_the_model_is_asked_again(rollout: Rollout):
    """It is told which sentences are not supported; the tokens of both answers are counted."""
    reply = rollout.told("retries", answer(MIXED), answer(GOOD))
    first, second = (request.json["messages"] for request in rollout.upstream.requests)

    assert reply.json()["choices"][0]["message"]["content"] == GOOD
    assert reply.json()["usage"] == {"prompt_tokens": 22, "completion_tokens": 14, "total_tokens": 36}
    assert reply.headers["x-groundwarden-outcome"] == "passed"
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": MIXED}
    assert second[-1]["role"] == "user"
    assert UNSURE in second[-1]["content"]
    assert GOOD not in second[-1]["content"]
    assert rollout.metric("groundwarden_retries_total", tenant="retries", policy="retries") >= 1


def test_a_model_that_does_not_learn_is_blocked(rollout: Rollout):
    """After as many attempts as the policy allows, with the tokens of them all."""
    reply = rollout.told("retries", *[answer(MIXED)] * 3)

    assert reply.json()["choices"][0]["finish_reason"] == "content_filter"
    assert reply.json()["usage"]["total_tokens"] == 54
    assert len(rollout.upstream.requests) == 3
    assert b"UNSUPPORTED" not in reply.content


def test_a_model_that_fails_the_second_time_is_a_block(rollout: Rollout):
    """The caller gets the block and not the error."""
    reply = rollout.told("retries", answer(MIXED), says({"error": {"message": "no"}}, status=400))

    assert (reply.status_code, reply.headers["x-groundwarden-outcome"]) == (200, "blocked")


def test_a_stream_is_asked_for_again(rollout: Rollout):
    """Nothing of the first answer leaves; the second does, with the tokens of both."""
    usage = chunk(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})
    replies = [streams(usage, *spells(MIXED)), streams(*spells(GOOD), usage)]
    reply = rollout.told("retries", *replies, stream=True, stream_options={"include_usage": True})
    chunks = [one for one in events_of(reply.content) if one != "[DONE]"]

    assert "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks if one["choices"]) == GOOD
    assert [one["usage"]["total_tokens"] for one in chunks if one.get("usage")] == [6]
    assert b"UNSUPPORTED" not in reply.content
    assert len(rollout.upstream.requests) == 2


def test_bedrock_asks_again(rollout: Rollout, monkeypatch: pytest.MonkeyPatch):
    """Converse and its stream give the second answer, and count both."""
    client = bedrock(rollout, "retries", monkeypatch)
    usage = chunk(usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})
    rollout.upstream.replies += [says(answer(MIXED)), says(answer(GOOD))]
    whole = client.converse(**conversation())
    assert whole["output"]["message"]["content"] == [{"text": GOOD}]
    assert whole["usage"]["totalTokens"] == 36

    rollout.upstream.replies += [streams(usage, *spells(MIXED)), streams(*spells(GOOD), usage)]
    told = list(client.converse_stream(**conversation())["stream"])
    assert "".join(one["contentBlockDelta"]["delta"]["text"] for one in told if "contentBlockDelta" in one) == GOOD
    assert told[-1]["metadata"]["usage"]["totalTokens"] == 6
    client.close()


# --- shadow and sample ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "outcome"), [("flags", "flagged"), ("tries", "blocked"), ("off", "unchecked")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_shadow_is_only_counted(rollout: Rollout, policy: str, outcome: str, stream: bool):
    """The caller sees the first policy's outcome; what the second would have said is counted beside it."""
    labels = {"tenant": policy, "policy": policy, "shadow": "lax", "outcome": outcome, "shadow_outcome": "passed"}
    risen = rollout.rises("groundwarden_shadow_total", **labels)
    reply = rollout.told(policy, streams(*spells(MIXED)) if stream else answer(MIXED), stream=stream)

    assert reply.status_code == 200
    assert stream or reply.headers["x-groundwarden-outcome"] == outcome
    assert (b"UNSUPPORTED" in reply.content) is (policy != "tries")
    assert risen() == 1
    assert rollout.metric("groundwarden_shadow_score_count", tenant=policy, shadow="lax", check="grounding") >= 1
    assert rollout.metric("groundwarden_requests_total", policy="lax") == 0


def test_a_check_has_a_shadow_too(rollout: Rollout, monkeypatch: pytest.MonkeyPatch):
    """ApplyGuardrail, where no model is asked, is judged twice as well."""
    risen = rollout.rises("groundwarden_shadow_total", tenant="tries", outcome="blocked", shadow_outcome="passed")
    client = bedrock(rollout, "tries", monkeypatch)
    client.apply_guardrail(
        guardrailIdentifier="tries",
        guardrailVersion="DRAFT",
        source="OUTPUT",
        content=[
            {"text": {"text": SOURCE, "qualifiers": ["grounding_source"]}},
            {"text": {"text": QUERY, "qualifiers": ["query"]}},
            {"text": {"text": MIXED}},
        ],
    )
    client.close()
    assert risen() == 1


def test_a_sample_is_judged_and_the_rest_passes_unchecked(rollout: Rollout):
    """The request's id decides, the same each time; what is left out passes as it came, and is a counted bypass."""
    rollout.upstream.default = says(answer(BAD))
    ids = [f"request-{number}" for number in range(24)]
    outcomes = [rollout.post("half", **{"x-request-id": one}).headers["x-groundwarden-outcome"] for one in ids]

    assert set(outcomes) == {"blocked", "unchecked"}
    assert 4 <= outcomes.count("blocked") <= 20
    again = [rollout.post("half", **{"x-request-id": one}).headers["x-groundwarden-outcome"] for one in ids[:6]]
    assert again == outcomes[:6]
    unchecked = ids[outcomes.index("unchecked")]
    reply = rollout.post("half", **{"x-request-id": unchecked})
    assert reply.json()["choices"][0]["message"]["content"] == BAD
    assert rollout.metric("groundwarden_bypass_total", tenant="half", reason="policy_off") >= outcomes.count(
        "unchecked"
    )


def test_no_sample_is_no_check(rollout: Rollout):
    """With a share of 0 nothing is scored, in streams either, under the policy's own name and version."""
    whole, streamed = rollout.told("none", answer(BAD)), rollout.told("none", streams(*spells(BAD)), stream=True)

    assert whole.headers["x-groundwarden-outcome"] == "unchecked"
    assert whole.headers["x-groundwarden-policy"].startswith("none@")
    assert b"UNSUPPORTED" in streamed.content


# --- limits ---------------------------------------------------------------------------------------------------------


def test_a_rate_is_kept_in_every_dialect(rollout: Rollout, monkeypatch: pytest.MonkeyPatch):
    """The fourth request of a minute is a 429 with Retry-After, in the dialect that was spoken; others go on."""
    rollout.upstream.default = says(answer(GOOD))
    assert [rollout.post("rated").status_code for _ in range(3)] == [200] * 3

    refused = rollout.post("rated")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert "3 a minute" in refused.json()["error"]["message"]
    with (
        openai.OpenAI(base_url=f"{rollout.url}/v1", api_key="key-rated", max_retries=0) as client,
        pytest.raises(openai.RateLimitError),
    ):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUERY}])
    aws = bedrock(rollout, "rated", monkeypatch)
    with pytest.raises(ClientError) as raised:
        aws.converse(**conversation())
    aws.close()
    assert raised.value.response["Error"]["Code"] == "ThrottlingException"
    assert raised.value.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"]
    azure = rollout.post(
        "rated",
        "/contentsafety/text:detectGroundedness?api-version=2024-09-15-preview",
        {"domain": "Generic", "task": "Summarization", "text": GOOD, "groundingSources": [SOURCE]},
    )
    assert (azure.status_code, azure.headers["retry-after"].isdigit()) == (429, True)
    assert azure.json()["error"]["code"]
    google = rollout.post(
        "rated",
        "/v1/projects/p/locations/global/groundingConfigs/default_grounding_config:check",
        {"answerCandidate": GOOD, "facts": [{"factText": SOURCE}]},
    )
    assert (google.status_code, google.json()["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert rollout.post("default").status_code == 200
    assert len(rollout.upstream.requests) == 4
    listed = httpx.get(f"{rollout.url}/v1/models", headers={"authorization": "Bearer key-rated"})
    assert listed.status_code == 200
    assert rollout.metric("groundwarden_requests_total", tenant="rated", outcome="error") >= 4


def test_requests_at_once_are_bounded(rollout: Rollout):
    """A second request while one is open is a 429; when it has been answered, streams too, there is room again."""
    going = threading.Event()

    def slowly(_: Any) -> Reply:
        going.set()
        return Reply(headers=SSE, body=[event(spells(GOOD)[0]), 1.0, *map(event, spells(GOOD)[1:]), event("[DONE]")])

    rollout.upstream.default = slowly
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(rollout.post, "narrow", body=asking(stream=True))
        assert going.wait(5)
        refused = rollout.post("narrow")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "1 may be open" in refused.json()["error"]["message"]
        assert first.result().status_code == 200
    rollout.upstream.default = says(answer(GOOD))
    assert [rollout.post("narrow").status_code for _ in range(2)] == [200, 200]


def test_who_leaves_makes_room(rollout: Rollout):
    """A caller that goes before its answer no longer counts."""
    rollout.upstream.default = Reply(body=b"", hang=True)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{rollout.url}/v1/chat/completions",
            json=asking(),
            headers={"authorization": "Bearer key-narrow"},
            timeout=0.5,
        )
    rollout.upstream.default = says(answer(GOOD))
    until = time.monotonic() + 5
    while (status := rollout.post("narrow").status_code) == 429 and time.monotonic() < until:
        time.sleep(0.05)
    assert status == 200


def test_a_request_that_is_wrong_makes_room(rollout: Rollout):
    """Errors end a request like anything else."""
    assert [rollout.post("narrow", body={}).status_code for _ in range(3)] == [400] * 3
