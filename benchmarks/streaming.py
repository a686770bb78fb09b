"""What the guard costs a stream: time to the first text and to the end, for each way of releasing it, and unguarded.

    make bench-streaming           (or: python benchmarks/streaming.py --rounds 5)
    python benchmarks/streaming.py --base-url http://127.0.0.1:8000/v1 --model NAME      a real server's model

One run measures all of them by turns, at 1 and 16 streams side by side. The model is scripted: 30 tokens a second, so
that only the guard makes a difference. "first sentence" is when the model itself has written its first sentence:
``sentence`` cannot be earlier than that. Model, proxy and clients share the machine's cores. Needs no network and no
data.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import socket
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import uvicorn
import yaml
from overhead import ANSWER, QUERY, SOURCE, process
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOKENS_PER_SECOND = 30
TOKEN = re.compile(r"\s*\S{1,5}")
GUARDED = ("sentence", "buffer", "after")
WAYS = ("direct", "unguarded", *GUARDED)
STREAMS = (1, 16)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds from the request to the first text, to the end of the first sentence, and to the end of the stream."""

    first: float
    sentence: float
    total: float


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One chunk as a server-sent event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "chatcmpl-b", "object": "chat.completion.chunk", "created": 1, "model": "b", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


async def written() -> AsyncIterator[bytes]:
    """The scripted model's answer. Tokens come by the clock, however late the last one was."""
    begin = time.perf_counter()
    yield event({"role": "assistant", "content": ""})
    for number, token in enumerate(TOKEN.findall(ANSWER), 1):
        await asyncio.sleep(max(0.0, begin + number / TOKENS_PER_SECOND - time.perf_counter()))
        yield event({"content": token})
    yield event({}, "stop") + b"data: [DONE]\n\n"


def serve_upstream() -> None:
    """Run the scripted model in this process; prints its port."""

    async def answer(request: Any) -> StreamingResponse:
        await request.body()
        return StreamingResponse(written(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off")).run([listening])


def key_of(way: str) -> str:
    """The tenant's key under whose policy a way runs."""
    return f"key-{way}"


def configure(folder: Path, base_url: str, model: str) -> Path:
    """One tenant a way of releasing, over one model."""
    (folder / "policies").mkdir()
    for way in (*GUARDED, "default"):
        policy = {"stream": way if way in GUARDED else "sentence", "timeout_ms": 30_000}
        policy |= {"grounding": {"threshold": 0}, "relevance": {"threshold": 0}}  # whatever the model says, it passes
        (folder / "policies" / f"{way}.yaml").write_text(yaml.safe_dump(policy))
    tenants = [
        {"id": way, "policy": way if way in GUARDED else "default", "key_sha256": [_sha256(key_of(way))]}
        for way in WAYS
        if way != "direct"
    ]
    params = {"model": f"openai/{model}", "api_base": base_url, "api_key": "unused"}
    config = {
        "server": {"port": 0, "admin_port": 0},
        "model_list": [{"model_name": model, "litellm_params": params}],
        "policies": "policies",
        "tenants": tenants,
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def _sha256(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


async def stream(session: aiohttp.ClientSession, url: str, body: dict[str, Any], key: str) -> Took:
    """Ask once and read to the end."""
    begin = time.perf_counter()
    first = sentence = 0.0
    text = ""
    headers = {"authorization": f"Bearer {key}"}
    async with session.post(f"{url}/chat/completions", json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            choices = json.loads(line[6:])["choices"]
            text += "".join(choice["delta"].get("content") or "" for choice in choices)
            now = time.perf_counter() - begin
            first = first or (now if text else 0.0)
            sentence = sentence or (now if re.search(r"[.!?](\s|$)", text) else 0.0)
    total = time.perf_counter() - begin
    return Took(first, sentence or total, total)


async def run(rounds: int, tokens: int, base_url: str | None, model: str) -> None:
    """Start everything, measure by turns, print the table."""
    async with process(sys.executable, __file__, "--upstream") as port:
        direct = base_url or f"http://127.0.0.1:{port}/v1"
        with tempfile.TemporaryDirectory() as folder:
            file = configure(Path(folder), direct, model)
            command = (sys.executable, "-m", "proxy", "serve", "--config", str(file))
            async with process(*command, ready="ready on") as line:
                proxy = json.loads(line)["message"].split()[2].rstrip(",") + "/v1"
                timeout = aiohttp.ClientTimeout(total=600)
                async with aiohttp.ClientSession(timeout=timeout) as session:
                    for streams in STREAMS if base_url is None else STREAMS[:1]:
                        report(streams, await compare(session, direct, proxy, (streams, rounds), (model, tokens)))


async def compare(
    session: aiohttp.ClientSession, direct: str, proxy: str, size: tuple[int, int], ask: tuple[str, int]
) -> dict[str, list[Took]]:
    """Every way by turns: ``size`` is streams side by side and rounds, ``ask`` the model and its tokens at most."""
    took: dict[str, list[Took]] = {way: [] for way in WAYS}
    for _ in range(size[1]):
        for way in WAYS:
            body = {"model": ask[0], "messages": [{"role": "user", "content": f"{SOURCE}\n\n{QUERY}"}], "stream": True}
            body |= {"max_tokens": ask[1], "temperature": 0}
            if way in GUARDED:
                body |= {"grounding": {"sources": [SOURCE], "query": QUERY}}
            url = direct if way == "direct" else proxy
            took[way] += await asyncio.gather(*(stream(session, url, body, key_of(way)) for _ in range(size[0])))
    return took


def report(streams: int, took: dict[str, list[Took]]) -> None:
    """Medians in milliseconds, and what each way adds to the model's own."""
    own = {name: statistics.median(getattr(one, name) for one in took["direct"]) for name in ("sentence", "total")}
    print(f"{streams} at a time; the model's own first sentence is whole after {own['sentence'] * 1000:.0f} ms")
    print("way         first text ms   after the model's first sentence   total ms   longer")
    for way in WAYS:
        first, total = (statistics.median(getattr(one, name) for one in took[way]) for name in ("first", "total"))
        after, longer = (first - own["sentence"]) * 1000, total / own["total"] - 1
        print(f"{way:10} {first * 1000:14.0f} {after:+34.0f} {total * 1000:10.0f} {longer:+8.1%}")
    print(flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--base-url", help="a real OpenAI-compatible server, instead of the scripted model")
    parser.add_argument("--model", default="scripted", help="its model")
    parser.add_argument("--tokens", type=int, default=120, help="that it may write, at most")
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.upstream:
        serve_upstream()
        return
    print(f"{os.cpu_count()} cores; {args.rounds} rounds, by turns\n")
    asyncio.run(run(args.rounds, args.tokens, args.base_url, args.model))


if __name__ == "__main__":
    main()
