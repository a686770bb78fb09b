"""What the proxy adds to a request: p50 and p95 at 1 and 8 clients, unguarded and guarded, beside the same upstream.

    make bench-overhead            (or: python benchmarks/overhead.py --requests 200)

One run measures all of them by turns, so that a noisy machine disturbs each alike: direct calls to a small upstream
that answers at once, the same through Groundwarden with nothing to check, and through it with a source and a query.
Upstream, proxy and clients share the machine's cores. Needs no network and no data.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SOURCE = (
    "The Harbour Library opens at 9:00 and closes at 18:00 from Monday to Friday. On Saturdays it opens at 10:00 and "
    "closes at 14:00. Members may borrow up to 12 books for 21 days. A lost book costs 25 euros. The reading room has "
    "64 seats and is on the second floor. Students pay 8 euros a year for a card, everyone else 20 euros. The "
    "children's corner was painted by pupils of the harbour school in 2019. Concerts take place in the courtyard on "
    "the first Sunday of each month from May to September, and entry is free. The archive keeps ship registers from "
    "1841 to 1967, which may be read on Tuesdays with a letter from a school or university. Guide dogs are welcome, "
    "other animals are not. The cafe beside the entrance serves soup at noon and closes one hour before the library "
    "does. Bicycles can be left under the roof behind the building. The nearest bus stop is Old Crane, served by "
    "lines 4 and 17. In winter the north door stays locked because of the wind. Printing costs 10 cents a page, "
    "scanning is free."
)
QUERY = "What are the opening hours of the Harbour Library, and what does a card cost?"
ANSWER = (
    "The Harbour Library opens at 9:00 and closes at 18:00 from Monday to Friday. On Saturdays it opens at 10:00 and "
    "closes at 14:00. Members may borrow up to 12 books for 21 days. A lost book costs 25 euros. The reading room has "
    "64 seats and is on the second floor."
)
WAYS = ("direct", "unguarded", "guarded")


def reply() -> bytes:
    """A chat completion of about 1.9 kB, as a real provider's."""
    message = {"role": "assistant", "content": ANSWER}
    body = {
        "id": "chatcmpl-benchmark",
        "object": "chat.completion",
        "created": 1,
        "model": "benchmark",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 90, "total_tokens": 590},
        "padding": [0] * 550,
    }
    return json.dumps(body).encode()


def serve_upstream() -> None:
    """Run the upstream in this process; prints its port."""
    body = reply()

    async def answer(request: Any) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off")).run([listening])


@contextlib.asynccontextmanager
async def process(*command: str, ready: str | None = None) -> AsyncIterator[str]:
    """A child process; yields the first line it prints, or the first on stderr that holds ``ready``."""
    child = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE if ready else None
    )
    try:
        stream = child.stderr if ready else child.stdout
        assert stream is not None
        while (line := (await stream.readline()).decode()) and ready and ready not in line:
            pass
        draining = asyncio.create_task(stream.read())
        yield line.strip()
        draining.cancel()
    finally:
        child.terminate()
        await child.wait()


def request_body(*, guarded: bool) -> dict[str, Any]:
    """The same prompt, with or without marks."""
    content = f"{SOURCE}\n\n{QUERY}"
    body: dict[str, Any] = {"model": "benchmark", "messages": [{"role": "user", "content": content}]}
    return {**body, "grounding": {"sources": [SOURCE], "query": QUERY}} if guarded else body


async def measure(
    session: aiohttp.ClientSession, url: str, body: dict[str, Any], clients: int, count: int, expected: str
) -> list[float]:
    """Milliseconds of ``count`` requests by ``clients`` that each send one after another."""
    took: list[float] = []

    async def client() -> None:
        while len(took) < count:
            begin = time.perf_counter()
            async with session.post(url, json=body) as response:
                await response.read()
                outcome = response.headers.get("x-groundwarden-outcome")
                assert response.status == 200, await response.text()
                assert outcome in {None, expected}, f"{outcome}, and not {expected}"
            took.append((time.perf_counter() - begin) * 1000)

    await asyncio.gather(*(client() for _ in range(clients)))
    return took


def percentile(values: list[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    return statistics.quantiles(values, n=100)[round(share * 100) - 1]


async def run(requests: int, rounds: int) -> None:
    """Start everything, measure by turns, print the table."""
    async with process(sys.executable, __file__, "--upstream") as port:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.yaml"
            params = {"model": "openai/benchmark", "api_base": f"http://127.0.0.1:{port}/v1", "api_key": "unused"}
            models = [{"model_name": "benchmark", "litellm_params": params}]
            file.write_text(yaml.safe_dump({"server": {"port": 0, "admin_port": 0}, "model_list": models}))
            command = (sys.executable, "-m", "proxy", "serve", "--config", str(file))
            async with process(*command, ready="ready on") as line, aiohttp.ClientSession() as session:
                proxy = json.loads(line)["message"].split()[2].rstrip(",")
                await compare(session, f"http://127.0.0.1:{port}", proxy, requests, rounds)


async def compare(session: aiohttp.ClientSession, direct: str, proxy: str, requests: int, rounds: int) -> None:
    """Measure the three ways by turns at 1 and 8 clients."""
    path = "/v1/chat/completions"
    urls = {"direct": direct + path, "unguarded": proxy + path, "guarded": proxy + path}
    print("clients  way          p50 ms   p95 ms  added p50  added p95  requests/s")
    for clients in (1, 8):
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        seconds = dict.fromkeys(WAYS, 0.0)
        for _ in range(rounds):
            for way in WAYS:
                begin = time.perf_counter()
                body = request_body(guarded=way == "guarded")
                expected = "passed" if way == "guarded" else "unchecked"
                took[way] += await measure(session, urls[way], body, clients, requests, expected)
                seconds[way] += time.perf_counter() - begin
        for way in WAYS:
            p50, p95 = percentile(took[way], 0.5), percentile(took[way], 0.95)
            more50, more95 = p50 - percentile(took["direct"], 0.5), p95 - percentile(took["direct"], 0.95)
            rate = len(took[way]) / seconds[way]
            print(f"{clients:7}  {way:10} {p50:8.2f} {p95:8.2f} {more50:10.2f} {more95:10.2f} {rate:11.1f}")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100, help="a way, a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.upstream:
        serve_upstream()
        return
    print(f"{os.cpu_count()} cores; {args.rounds} rounds of {args.requests} requests a way, by turns\n")
    asyncio.run(run(args.requests, args.rounds))


if __name__ == "__main__":
    main()
