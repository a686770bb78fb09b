"""Two replicas of the real server with the embedded scorer, and callers of all kinds."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import httpx
from recording import SSE, Reply
from serving import Serving, passes_through

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from recording import Recording, Request

SOURCE = "London is the capital of UK. Tokyo is the capital of Japan."
QUERY = "What is the capital of Japan?"
GOOD, BAD, ASIDE = "The capital of Japan is Tokyo.", "The capital of Japan is London.", "The capital of UK is London."
MODEL = "maker/model-1.5"
"""A name with marks that mean something else in a regular expression."""

POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "flags": {"grounding": {"action": "flag"}, "relevance": {"action": "flag"}, "shadow": "default"},
    "fails-open": {"timeout_ms": 1, "on_scorer_error": "pass"},
    "needs-source": {"on_missing_context": "block", "shadow": "default"},
    "retries": {"retry": {"attempts": 1}, "shadow": "flags"},
}
TENANTS = {
    "acme": "default",
    "flagged": "flags",
    "open": "fails-open",
    "sourced": "needs-source",
    "retried": "retries",
}


def config() -> dict[str, Any]:
    """What both replicas are set up with."""
    tenants = [
        {"id": name, "policy": policy, "key_sha256": [sha256_of(f"key-{name}")]} for name, policy in TENANTS.items()
    ]
    return {"tenants": tenants, "audit": {"path": "audit.jsonl"}}


def parrot(request: Request) -> Reply:
    """What the model says, and says again when asked again: whatever follows "Say:" in the first message."""
    said = request.json["messages"][0]["content"]
    said = (said if isinstance(said, str) else said[-1]["text"]).rpartition("Say: ")[2]
    if not request.json.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return Reply(body=json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode())
    choices = [{"index": 0, "delta": {"content": said}}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    chunks = [{"id": "c", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    return Reply(
        headers=SSE, body=[*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]
    )


def chat(answer: str, *, sources: bool = True, **more: Any) -> tuple[str, dict[str, Any]]:
    """A chat request's path and body."""
    grounding = {"grounding": {"sources": [SOURCE], "query": QUERY}} if sources else {}
    messages = [{"role": "user", "content": f"{QUERY} Say: {answer}"}]
    return "/v1/chat/completions", {"model": MODEL, "messages": messages, **grounding, **more}


def marked(answer: str) -> list[dict[str, Any]]:
    """Bedrock's content blocks: source, query, and what the model shall say."""
    texts = ((SOURCE, "grounding_source"), (QUERY, "query"))
    blocks = [{"guardContent": {"text": {"text": text, "qualifiers": [qualifier]}}} for text, qualifier in texts]
    return [*blocks, {"text": f"Say: {answer}"}]


def apply(answer: str) -> tuple[str, dict[str, Any]]:
    """An ApplyGuardrail request's path and body."""
    texts = ((SOURCE, ["grounding_source"]), (QUERY, ["query"]), (answer, ["guard_content"]))
    content = [{"text": {"text": text, "qualifiers": qualifiers}} for text, qualifiers in texts]
    return "/guardrail/default/version/DRAFT/apply", {"source": "OUTPUT", "content": content}


def converse(answer: str) -> tuple[str, dict[str, Any]]:
    """A Converse request's path and body."""
    body = {"messages": [{"role": "user", "content": marked(answer)}]}
    return f"/model/{MODEL.replace('/', '%2F')}/converse", body


MIXED: list[tuple[str, str, tuple[str, dict[str, Any]]]] = [
    ("acme", "passed", chat(GOOD)),
    ("acme", "passed", chat(GOOD, stream=True)),
    ("acme", "blocked", chat(BAD)),
    ("acme", "blocked", chat(ASIDE)),
    ("acme", "unchecked", chat(GOOD, sources=False)),
    ("acme", "error", chat(GOOD, stream="maybe")),
    ("acme", "blocked", apply(BAD)),
    ("acme", "passed", converse(GOOD)),
    ("flagged", "flagged", chat(BAD)),
    ("open", "unscored", chat(GOOD)),
    ("sourced", "blocked", chat(GOOD, sources=False)),
    ("sourced", "passed", chat(GOOD)),
    ("retried", "blocked", chat(BAD)),
    ("other", "error", chat(GOOD)),  # a key that nobody has
]
"""A round of requests: whose, how it must come out, and what is sent."""


class Replicas:
    """A context manager: two servers, and what was sent to them by tenant and outcome."""

    def __init__(self, folder: Path, recording: Recording) -> None:
        recording.default = parrot
        self._folder, self._upstream = folder, recording.url
        self._stack = ExitStack()
        self.servers: list[Serving] = []
        self.sent: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        self._client = self._stack.enter_context(httpx.Client(timeout=30))
        self._stack.callback(self._stop)
        for name in "ab":
            self.servers.append(self._serving(name).__enter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def targets(self) -> list[str]:
        """Where Prometheus finds each."""
        return [server.admin.removeprefix("http://") for server in self.servers]

    def send(self, rounds: int = 1) -> None:
        """Send all kinds of requests to both; each must come out as it should."""
        for _ in range(rounds):
            for server in self.servers:
                for one in MIXED:
                    self._send_one(server, *one)

    def restart(self, at: int) -> None:
        """End a replica and start it anew at the same addresses: its counters begin at zero."""
        old = self.servers.pop(at)
        ports = {"port": int(old.url.rpartition(":")[2]), "admin_port": int(old.admin.rpartition(":")[2])}
        old.__exit__(None, None, None)
        self.servers.insert(at, self._serving(f"{at} again", **ports).__enter__())

    def _stop(self) -> None:
        while self.servers:
            self.servers.pop().__exit__(None, None, None)

    def _send_one(self, server: Serving, tenant: str, outcome: str, request: tuple[str, dict[str, Any]]) -> None:
        path, body = request
        reply = self._client.post(server.url + path, json=body, headers={"authorization": f"Bearer key-{tenant}"})
        assert reply.headers.get("x-groundwarden-outcome", "error") == outcome, (tenant, reply.text)
        self.sent[tenant, outcome] = self.sent.get((tenant, outcome), 0) + 1

    def _serving(self, name: str, **ports: int) -> Serving:
        folder = self._folder / name
        folder.mkdir()
        server = {"server": ports} if ports else {}
        written = {**config(), **server, "model_list": passes_through(self._upstream, MODEL)}
        return Serving(folder, written, policies=POLICIES)
