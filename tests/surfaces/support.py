"""What the tests of the surfaces share: a scorer that reads marks, requests and replies, and one server for all."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import httpx
from openai import OpenAI
from prometheus_client.parser import text_string_to_metric_families
from recording import SSE, Reply
from scorers import OverlapScorer
from serving import Serving, passes_through

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import CheckKind
from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recording import Recording, Request

    from proxy.grounding.types import Pair

SOURCE = "London is the capital of UK. Tokyo is the capital of Japan."
QUERY = "What is the capital of Japan?"
GOOD = "The capital of Japan is Tokyo."
BAD = "The capital of Japan is UNSUPPORTED."
ASIDE = "The capital of UK is ASIDE."
SECRET = "planted-secret-7f3a"
"""Stands in whatever must not reach the caller."""

BEDROCK_MODELS = (
    "anthropic.claude-3-haiku-20240307-v1:0",
    "us.amazon.nova-lite-v1:0",
    "meta.llama3-8b-instruct-v1:0",
    "mistral.mistral-7b-instruct-v0:2",
    "amazon.titan-text-express-v1",
    "cohere.command-r-v1:0",
)
"""Model ids of Bedrock's that stand for the model ``m``."""

GROUNDED, RELEVANT = 0.91236, 0.81234
UNGROUNDED, IRRELEVANT = 0.12344, 0.22223

POLICIES: dict[str, dict[str, Any]] = {
    "default": {"description": "the defaults"},
    "error": {"on_block": "error"},
    "buffered": {"stream": "buffer"},
    "after": {"stream": "after"},
    "missing": {"on_missing_context": "block"},
    "reasoning-passes": {"on_uninspected": {"reasoning": "pass"}},
    "reasoning-blocks": {"on_uninspected": {"reasoning": "block"}},
    "unknown-passes": {"on_uninspected": {"default": "pass"}},
    "unknown-stripped": {"on_uninspected": {"default": "strip"}},
    "images-pass": {"on_uninspected": {"images": "pass"}},
    "no-calls": {"on_uninspected": {"tool_calls": "block"}},
    "last-user": {"query": "last_user"},
    "tool-results": {"tool_results": "source"},
    "history": {"history": "source"},
    "system-only": {"trust": ["system"]},
    "impatient": {"timeout_ms": 100},
    "forgiving": {"on_scorer_error": "pass", "timeout_ms": 100},
    "refusals": {"abstention": "score"},
    "no-trace": {"allow_trace": False},
    "flags": {"grounding": {"action": "flag"}},
    "detects": {"grounding": {"action": "flag"}, "relevance": {"action": "flag"}},
    "off": {"grounding": {"action": "off"}, "relevance": {"action": "off"}},
    "few-models": {"models": ["m", "other-*"]},
    "short": {"limits": {"source_chars": 100, "on_exceed": "reject"}},
    "redacting": {"grounding": {"action": "redact"}, "redacted_message": "[…]"},
    "asking-again": {"retry": {"attempts": 1}},
    "no-refusals": {"abstention": "block"},
    "message": {"blocked_message": "Nein, heute nicht. 🙅"},
}


def whole(premises: set[str]) -> set[str]:
    """The premises that are no part of another: the windows, without the sentences that are asked about besides."""
    return {one for one in premises if not any(one in other for other in premises - {one})}


async def _at_once(_: Sequence[Pair]) -> None:
    """Wait for nothing."""


class MarkScorer(OverlapScorer):
    """A claim with UNSUPPORTED in it is not grounded, one with ASIDE not relevant, nor is the source; others are both.

    ``mood`` makes it ``full``, ``failing`` or ``late``; ``asked`` are all pairs it scored. ``before`` is waited for
    before pairs are scored.
    """

    name = "marks"

    def __init__(self) -> None:
        super().__init__()
        self.mood = ""
        self.before = _at_once

    def reset(self) -> None:
        """Forget what was asked, and be well."""
        self.mood = ""
        self.before = _at_once
        self.asked.clear()

    def admit(self) -> None:
        """Refuse everyone when full."""
        if self.mood == "full":
            message = "The scorer is busy. Try again in a moment."
            raise Overloaded(message, retry_after=3)

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Score, fail, or take too long."""
        if self.mood == "failing":
            raise ScoringError(SECRET)
        if self.mood == "late":
            await asyncio.sleep(60)
        await self.before(pairs)
        return await super().score(pairs)

    def judge(self, pair: Pair) -> float:
        """The score of one pair."""
        if pair.kind is CheckKind.GROUNDING:
            return UNGROUNDED if "UNSUPPORTED" in pair.hypothesis else GROUNDED
        if pair.hypothesis in SOURCE:
            return 0.01
        return IRRELEVANT if "ASIDE" in pair.hypothesis else RELEVANT


def tag(kind: str, text: str, suffix: str = "sfx") -> str:
    """Text inside a pair of Bedrock's tags."""
    name = f"amazon-bedrock-guardrails-{kind}_{suffix}"
    return f"<{name}>{text}</{name}>"


def asking(**fields: Any) -> dict[str, Any]:
    """A chat request with a source and a query in the ``grounding`` field; ``fields`` replace or add."""
    return {
        "model": "m",
        "messages": [{"role": "user", "content": QUERY}],
        "grounding": {"sources": [SOURCE], "query": QUERY},
        **fields,
    }


def choice(content: Any = GOOD, *, index: int = 0, message: dict[str, Any] | None = None, **fields: Any) -> Any:
    """One choice of a whole answer; ``message`` adds to the message, ``fields`` to the choice."""
    said = {"role": "assistant", "content": content, **(message or {})}
    return {"index": index, "message": said, "logprobs": None, "finish_reason": "stop", **fields}


def answer(*choices: Any, **fields: Any) -> dict[str, Any]:
    """A whole answer as OpenAI sends it. Choices are objects, or texts."""
    made = [one if isinstance(one, dict) else choice(one, index=at) for at, one in enumerate(choices or (GOOD,))]
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    envelope = {"id": "chatcmpl-up", "object": "chat.completion", "created": 1700000123, "model": "up-1"}
    return {**envelope, "choices": made, "usage": usage, **fields}


def says(body: Any, status: int = 200, **headers: str) -> Reply:
    """What the upstream answers: an object, or bytes as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, body=raw, headers={"content-type": "application/json", **headers})


def chunk(*choices: Any, **fields: Any) -> dict[str, Any]:
    """One chunk of a stream."""
    envelope = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1700000123, "model": "up-1"}
    return {**envelope, "choices": list(choices), **fields}


def delta(content: str | None = None, *, index: int = 0, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One choice of a chunk."""
    said = fields if content is None else {"content": content, **fields}
    return {"index": index, "delta": said, "logprobs": None, "finish_reason": finish}


def event(data: Any, end: str = "\n") -> bytes:
    """One server-sent event."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}{end}{end}".encode()


def spells(text: str, *, index: int = 0) -> list[dict[str, Any]]:
    """The chunks of one choice: the role, the text word by word, the end."""
    words = re.findall(r"\S+\s*", text)
    said = [chunk(delta(word, index=index)) for word in words]
    return [chunk(delta("", index=index, role="assistant")), *said, chunk(delta(index=index, finish="stop"))]


def streams(*chunks: Any, done: bool = True) -> Reply:
    """An upstream that streams these chunks: objects, or bytes as they are."""
    events = [one if isinstance(one, bytes) else event(one) for one in chunks]
    return Reply(headers=SSE, body=[*events, *([event("[DONE]")] if done else [])])


def events_of(raw: bytes) -> list[Any]:
    """The data of a stream's events, parsed, ``[DONE]`` as it is. Fails for anything that is no such stream."""
    assert raw.endswith((b"\n\n", b"\r\n\r\n"))
    lines = [line for line in raw.decode().splitlines() if line and not line.startswith(":")]
    assert all(line.startswith("data:") for line in lines)
    data = [line.removeprefix("data:").strip() for line in lines]
    return [one if one == "[DONE]" else json.loads(one) for one in data]


class World:
    """The server before a recording upstream. Each policy has a tenant of its name with the key ``key-NAME``."""

    def __init__(self, folder: Path, upstream: Recording) -> None:
        self.upstream, self.scorer = upstream, MarkScorer()
        entries = passes_through(upstream.url, "m", "other-m", "hidden", "hasty", "gone")
        entries[3]["litellm_params"]["timeout"] = 0.3
        entries[4]["litellm_params"]["api_base"] = "http://127.0.0.1:9/v1"
        tenants = [{"id": name, "policy": name, "key_sha256": [sha256_of(f"key-{name}")]} for name in POLICIES]
        tenants[0]["policies"] = ["flags", "message"]
        config = {
            "server": {"max_body_bytes": 1_000_000},
            "model_list": entries,
            "tenants": tenants,
            "bedrock_models": dict.fromkeys(BEDROCK_MODELS, "m") | {"hidden-v1": "hidden", "hasty-v1": "hasty"},
        }
        self.serving = Serving(folder, config, policies=POLICIES, scorer=self.scorer)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.serving)
        self.url, self.admin = self.serving.url, self.serving.admin
        self.http = self._open.enter_context(httpx.Client(base_url=self.url, timeout=20))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def reset(self) -> None:
        """Forget what was recorded and scripted."""
        self.upstream.reset()
        self.scorer.reset()

    @property
    def asked(self) -> Request:
        """The one request that reached the upstream."""
        [request] = self.upstream.requests
        return request

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the metric's series that have these labels, 0 when there are none; fails for no such metric."""
        families = list(text_string_to_metric_families(self.http.get(f"{self.admin}/metrics").text))
        known = tuple(family.name for family in families)
        assert name.removesuffix("_total").startswith(known), f"no metric {name}"
        samples = (sample for family in families for sample in family.samples if sample.name == name)
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def client(self, policy: str = "default", **options: Any) -> OpenAI:
        """An openai client under a policy. Close it, or use it in a ``with`` block."""
        return OpenAI(base_url=f"{self.url}/v1", api_key=f"key-{policy}", max_retries=0, timeout=20, **options)

    def post(self, body: Any, policy: str = "default", path: str = "/v1/chat/completions", **headers: str) -> Any:
        """The raw reply to a raw request: an object, or bytes as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"authorization": f"Bearer key-{policy}", "content-type": "application/json", **headers}
        return self.http.post(path, content=raw, headers=given)

    def told(self, reply: Any, policy: str = "default", **fields: Any) -> Any:
        """The raw reply to a plain question when the upstream answers ``reply`` (a ``Reply``, or an answer)."""
        self.upstream.replies.append(reply if isinstance(reply, Reply) else says(reply))
        return self.post(asking(**fields), policy)


def everything(response: httpx.Response) -> bytes:
    """Every byte the caller got: headers and body."""
    return repr(response.headers.multi_items()).encode() + response.content
