"""``groundwarden demo``: the real proxy before a model that says what it is told, on the documented cases.

The cases are those of Amazon Bedrock's contextual grounding check: a source about two capitals, and a bank's fees, each
with an answer that is grounded or not and relevant or not. The embedded upstream is a parrot: it answers whatever
follows "Say:" in the last message, so that a visitor can put any words into its mouth.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import yaml
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from proxy.app import Listener, Server
from proxy.check import load
from proxy.tables import table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

_SAY = "Say:"
_SUFFIX = "demo"
_MODEL = "parrot"

CAPITALS = "London is the capital of UK. Tokyo is the capital of Japan."
CAPITAL = "What is the capital of Japan?"
FEES = (
    "Transaction charges for a checking account are 1% for domestic transfers and 10% for international transfers. "
    "There is no fee for opening a savings account."
)
CHARGES = "What are the transaction charges for a checking account?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A documented example: what is asked of which source, what the model says, and what must come of it."""

    source: str
    query: str
    answer: str
    grounded: bool
    relevant: bool

    @property
    def outcome(self) -> str:
        """Passed or blocked: both must hold."""
        return "passed" if self.grounded and self.relevant else "blocked"


def _quadrants(source: str, query: str, answers: tuple[str, str, str, str]) -> list[Case]:
    """The four answers in the order grounded and relevant, only relevant, only grounded, neither."""
    kinds = ((True, True), (False, True), (True, False), (False, False))
    return [
        Case(source=source, query=query, answer=answer, grounded=grounded, relevant=relevant)
        for answer, (grounded, relevant) in zip(answers, kinds, strict=True)
    ]


CASES = (
    *_quadrants(
        CAPITALS,
        CAPITAL,
        (
            "The capital of Japan is Tokyo.",
            "The capital of Japan is London.",
            "The capital of UK is London.",
            "The capital of France is Paris.",
        ),
    ),
    *_quadrants(
        FEES,
        CHARGES,
        (
            "The transaction charges for a checking account are 1% for domestic and 10% for international transfers.",
            "There are no transaction charges for a checking account.",
            "There is no fee for opening a savings account.",
            "Opening a savings account costs $50.",
        ),
    ),
)

FRAIS = (
    "Les frais de transaction d'un compte courant sont de 1 % pour les virements nationaux et de 10 % pour les "
    "virements internationaux. L'ouverture d'un compte d'épargne est sans frais."
)
TITANIC = (
    "Titanic is a 1997 American epic romantic disaster movie. It was directed, written, and co-produced by James "
    "Cameron. The movie is about the 1912 sinking of the RMS Titanic. It starred Kate Winslet and Leonardo DiCaprio. "
    "The movie was released in 1997 and received positive critical reviews. It won 11 Academy Awards.\n"
    'James Cameron\'s "Titanic" is an epic, action-packed romance set against the ill-fated maiden voyage of the '
    "R.M.S. Titanic, which ultimately carried over 1,500 people to their death in the ice cold waters of the North "
    "Atlantic in the early hours of April 15, 1912."
)
_BOTH_CHARGES = (
    "Les frais de transaction d'un compte courant sont de 1 % pour les virements nationaux et de 10 % pour les "
    "virements internationaux."
)
FURTHER_CASES = (
    *_quadrants(
        FRAIS,
        "Quels sont les frais de transaction d'un compte courant ?",
        (
            _BOTH_CHARGES,
            "Il n'y a pas de frais de transaction pour un compte courant.",
            "L'ouverture d'un compte d'épargne est gratuite.",
            "L'ouverture d'un compte d'épargne coûte 50 euros.",
        ),
    ),
    *_quadrants(
        TITANIC,
        "Who directed Titanic, and when was it released?",
        (
            "Titanic was directed by James Cameron. It was released in 1997.",
            "Titanic was directed by James Cameron. It was released in 1996.",
            "The movie won 11 Academy Awards.",
            "The movie won three Oscars for its music.",
        ),
    ),
)
"""The same in French, and the facts of Google's check grounding page: not shown by the demo, judged on the
accuracy page."""


def chat_body(case: Case) -> dict[str, Any]:
    """The chat request of a case: a tagged prompt, as an application would send it."""
    tag = "amazon-bedrock-guardrails-"
    return {
        "model": _MODEL,
        "messages": [
            {
                "role": "system",
                "content": f"<{tag}groundingSource_{_SUFFIX}>{case.source}</{tag}groundingSource_{_SUFFIX}>",
            },
            {
                "role": "user",
                "content": f"<{tag}query_{_SUFFIX}>{case.query}</{tag}query_{_SUFFIX}> {_SAY} {case.answer}",
            },
        ],
        "amazon-bedrock-guardrailConfig": {"tagSuffix": _SUFFIX},
    }


async def run(*, port: int, once: bool) -> int:
    """Serve, show the table, and keep serving unless ``once``. Returns the exit status."""
    async with _parrot() as upstream:
        with tempfile.TemporaryDirectory() as folder:
            settings, store = load(_config(Path(folder), upstream, 0 if once else port))
        server = Server(settings, store)
        started = asyncio.Event()
        serving = asyncio.create_task(server.run(started.set))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if serving.done():
            await serving  # raises what kept it from starting
            return 0
        wrong = await _show(server)
        if once:
            _say("To keep it serving: groundwarden demo.")
            server.stop()
        else:
            _say(f"Serving on {server.address}/v1, metrics on {server.admin_address}/metrics; Ctrl-C stops it.")
        _say("Try next, with other words after Say: (the model is a parrot) or another source:\n")
        _say(_curl("http://127.0.0.1:8080" if once else server.address))
        await serving
        return 1 if wrong else 0


async def _show(server: Server) -> int:
    """Send every case, print the table. Returns how many outcomes are not the documented one."""
    async with aiohttp.ClientSession() as session:
        replies = [await _ask(session, server.address, case) for case in CASES]
    rows = [
        [case.query, case.answer, *shown, "" if shown[-1] == case.outcome else f"documented: {case.outcome}"]
        for case, shown in zip(CASES, replies, strict=True)
    ]
    for source in dict.fromkeys(case.source for case in CASES):
        _say(f"source: {source}")
    _say("")
    wrong = sum(shown[-1] != case.outcome for case, shown in zip(CASES, replies, strict=True))
    titles = ["question", "answer", "grounding", "relevance", "outcome", ""]
    _say(table(titles if wrong else titles[:-1], rows if wrong else [row[:-1] for row in rows]))
    _say(f"\n{len(CASES) - wrong} of {len(CASES)} as documented.")
    return wrong


def _say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def _ask(session: aiohttp.ClientSession, address: str, case: Case) -> list[str]:
    async with session.post(f"{address}/v1/chat/completions", json=chat_body(case)) as response:
        await response.read()
        names = ("grounding", "relevance", "outcome")
        return [response.headers.get(f"x-groundwarden-{name}", f"HTTP {response.status}") for name in names]


def _curl(address: str) -> str:
    body = json.dumps(chat_body(CASES[1]), indent=1).replace("'", "'\\''")
    return f"curl -i {address}/v1/chat/completions -H 'content-type: application/json' -d '{body}'"


def _config(folder: Path, upstream: str, port: int) -> Path:
    file = folder / "config.yaml"
    params = {"model": f"openai/{_MODEL}", "api_base": f"{upstream}/v1", "api_key": "unused"}
    settings = {
        "server": {"port": port, "admin_port": 0},
        "model_list": [{"model_name": _MODEL, "litellm_params": params}],
        "bedrock_models": {"*": _MODEL},
    }
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return file


@contextlib.asynccontextmanager
async def _parrot() -> AsyncIterator[str]:
    """The embedded upstream on a free port of its own; yields its address."""
    app = Starlette(routes=[Route("/v1/chat/completions", _repeat, methods=["POST"])])
    listener = Listener(app, "127.0.0.1", 0)
    await listener.listen()
    serving = asyncio.create_task(listener.drain())
    try:
        yield listener.address
    finally:
        listener.should_exit = True
        await serving


async def _repeat(request: Request) -> Response:
    body = await request.json()
    content = body["messages"][-1]["content"]
    parts = content if isinstance(content, list) else [{"text": content}]
    said = "\n".join(str(part.get("text", "")) for part in parts).rpartition(_SAY)[2].strip()
    reply = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": _MODEL}
    usage = {"prompt_tokens": 0, "completion_tokens": len(said.split()), "total_tokens": len(said.split())}
    if body.get("stream"):
        return StreamingResponse(_events(reply, said), media_type="text/event-stream")
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({**reply, "object": "chat.completion", "choices": [choice], "usage": usage})


async def _events(reply: dict[str, Any], said: str) -> AsyncIterator[str]:
    deltas = [{"role": "assistant", "content": ""}, *({"content": word + " "} for word in said.split())]
    for delta in deltas:
        yield _event(reply, {"index": 0, "delta": delta, "finish_reason": None})
    yield _event(reply, {"index": 0, "delta": {}, "finish_reason": "stop"})
    yield "data: [DONE]\n\n"


def _event(reply: dict[str, Any], choice: dict[str, Any]) -> str:
    return f"data: {json.dumps({**reply, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
