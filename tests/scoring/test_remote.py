"""A scoring service over HTTP: the wire, and everything that can be wrong with an answer."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from recording import Recording, Reply

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring import remote
from proxy.scoring.remote import Remote

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    Make = Callable[..., Remote]

PAIRS = [
    Pair(kind=CheckKind.GROUNDING, premise="The pool is red.", hypothesis="It is “red”."),
    Pair(kind=CheckKind.RELEVANCE, premise="Which colour \ud800?", hypothesis="Red."),
]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A maker of clients; all are closed at the end."""
    made: list[Remote] = []

    def new(url: str, **options: Any) -> Remote:
        made.append(Remote(url, **options))
        return made[-1]

    yield new
    for client in made:
        await client.close()


def answers(value: Any) -> Reply:
    """A reply with this JSON, or these bytes."""
    return Reply(body=value if isinstance(value, bytes) else json.dumps(value).encode())


async def test_the_wire_is_as_documented(make: Make, recording: Recording) -> None:
    """One POST with the pairs in order, and the scores in the same order; further keys of the answer are ignored."""
    recording.replies.append(answers({"scores": [0.25, 1], "model": "x"}))
    assert await make(f"{recording.url}/v2/score?team=a", api_key="sk-1").ask(PAIRS) == [0.25, 1.0]
    [request] = recording.requests
    assert (request.method, request.path, request.query) == ("POST", "/v2/score", "team=a")
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.headers["content-type"] == "application/json"
    assert request.json == {
        "pairs": [
            {"kind": "grounding", "premise": "The pool is red.", "hypothesis": "It is “red”."},
            {"kind": "relevance", "premise": "Which colour \ud800?", "hypothesis": "Red."},
        ]
    }


async def test_without_a_key_none_is_sent(make: Make, recording: Recording) -> None:
    """No header of ours names anybody."""
    recording.replies.append(answers({"scores": [1, 1]}))
    await make(recording.url).ask(PAIRS)
    assert "authorization" not in recording.requests[0].headers


WRONG = [
    b"",
    b"[0.5, 0.5]",
    b"<html>",
    b"\xff",
    b"[" * 100_000,
    {},
    {"scores": None},
    {"scores": {"0": 1}},
    {"scores": [0.5]},
    {"scores": [0.5, 0.5, 0.5]},
    {"scores": [0.5, "0.5"]},
    {"scores": [0.5, None]},
    {"scores": [0.5, True]},
    {"scores": [0.5, 1.5]},
    {"scores": [0.5, -1]},
    b'{"scores": [0.5, NaN]}',
    b'{"scores": [0.5, Infinity]}',
    b'{"scores": [0.5, 1e999]}',
]


@pytest.mark.parametrize("value", WRONG, ids=range(len(WRONG)))
async def test_a_wrong_answer_is_an_error(make: Make, recording: Recording, value: Any) -> None:
    """Anything but one finite number in [0, 1] for each pair."""
    recording.replies.append(answers(value))
    with pytest.raises(ScoringError, match="did not give one score"):
        await make(recording.url).ask(PAIRS)


async def test_an_endless_answer_is_not_read_to_its_end(
    make: Make, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No service can fill this process's memory."""
    monkeypatch.setattr(remote, "MAX_REPLY", 1000)
    recording.replies.append(Reply(body=[b" " * 600, b" " * 600], hang=True))
    with pytest.raises(ScoringError, match="too long"):
        await make(recording.url).ask(PAIRS)


@pytest.mark.parametrize("status", [201, 302, 400, 401, 500, 503])
async def test_any_other_status_is_an_error(make: Make, recording: Recording, status: int) -> None:
    """Only 200 is an answer, and a redirect, which the key would follow, is none."""
    headers = {"content-type": "application/json", "location": f"{recording.url}/elsewhere"}
    recording.replies.append(Reply(status=status, headers=headers, body=b'{"scores": [1, 1], "secret": "x"}'))
    with pytest.raises(ScoringError, match=f"HTTP {status}"):
        await make(recording.url, api_key="sk-1").ask(PAIRS)
    assert len(recording.requests) == 1


@pytest.mark.parametrize(("header", "seconds"), [({"retry-after": "7"}, 7), ({}, 5)])
async def test_a_busy_service_says_so(make: Make, recording: Recording, header: dict[str, str], seconds: int) -> None:
    """429 is being overloaded, for as long as the service says."""
    recording.replies.append(Reply(status=429, headers=header))
    with pytest.raises(Overloaded) as refusal:
        await make(recording.url).ask(PAIRS)
    assert refusal.value.retry_after == seconds


async def test_a_service_that_is_not_there_is_an_error(make: Make, unused_tcp_port: int) -> None:
    """Its address is not told: errors may reach callers."""
    with pytest.raises(ScoringError, match="could not be reached") as failure:
        await make(f"http://127.0.0.1:{unused_tcp_port}/").ask(PAIRS)
    assert str(unused_tcp_port) not in failure.value.message


async def test_a_connection_that_breaks_is_an_error(make: Make, recording: Recording) -> None:
    """Half an answer is none."""
    recording.replies.append(Reply(body=[b'{"scores": [1, '], cut=True))
    with pytest.raises(ScoringError, match="could not be reached"):
        await make(recording.url).ask(PAIRS)


async def test_a_cancelled_question_closes_its_connection(make: Make, recording: Recording) -> None:
    """The service can stop working for nobody."""
    recording.default = Reply(body=b"{", hang=True)
    asking = asyncio.create_task(make(recording.url).ask(PAIRS))
    await asyncio.to_thread(recording.wait_for_request)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(recording.requests[0].left.wait, 5)


@pytest.fixture
async def over_tls(tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """A service with a certificate of its own making: its address, and the certificate."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*command.split(), *names], check=True, capture_output=True)  # noqa: S603, ASYNC221 - brief

    async def score(request: web.Request) -> web.Response:
        pairs = (await request.json())["pairs"]
        return web.json_response({"scores": [0.5] * len(pairs)})

    app = web.Application()
    app.router.add_post("/score", score)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    yield f"https://localhost:{site._server.sockets[0].getsockname()[1]}/score", certificate
    await runner.cleanup()


async def test_a_certificate_that_nobody_vouches_for_is_refused(make: Make, over_tls: tuple[str, Path]) -> None:
    """Verification is on, and there is no key that turns it off."""
    with pytest.raises(ScoringError, match=r"could not be reached \(ClientConnectorCertificateError\)"):
        await make(over_tls[0]).ask(PAIRS)


async def test_an_operators_own_authority_is_trusted(over_tls: tuple[str, Path]) -> None:
    """``SSL_CERT_FILE`` names it when the process starts, as for all of Python."""
    url, certificate = over_tls
    script = (
        "import asyncio; from proxy.scoring.base import WARM_PAIR; from proxy.scoring.remote import Remote\n"
        "async def main():\n"
        f"    client = Remote({url!r}); print(await client.ask([WARM_PAIR])); await client.close()\n"
        "asyncio.run(main())"
    )
    environ = {**os.environ, "SSL_CERT_FILE": str(certificate)}
    command = [sys.executable, "-c", script]
    done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[0.5]", "")


async def test_texts_are_counted_by_estimate(make: Make) -> None:
    """The service counts for itself; windows are cut by about as many tokens."""
    client = make("http://a/", most_pairs=3, max_tokens=500, evidence="whole")
    assert (client.name, client.most_pairs, client.max_tokens, client.evidence) == ("remote", 3, 500, "whole")
    assert client.token_spans("The pool is red.") == [(0, 3), (4, 8), (9, 11), (12, 15), (15, 16)]
