"""The page's paths on the admin port: who may see what, and what the playground answers."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from serving import Serving, passes_through
from surfaces.support import BAD, GOOD, QUERY, SOURCE, MarkScorer

from proxy.policy.store import Reload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "an admin key"
PRIVATE = ("/policies", "/recent")


def serving(folder: Path, **server: Any) -> Serving:
    """A server with two policies."""
    config = {"model_list": passes_through("http://127.0.0.1:9", "m"), "server": server}
    policies: dict[str, dict[str, Any]] = {
        "default": {},
        "short": {"limits": {"source_chars": 10, "on_exceed": "reject"}},
    }
    return Serving(folder, config, policies=policies, scorer=MarkScorer())


@pytest.fixture(scope="module")
def _open_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("open")) as server:
        yield server


@pytest.fixture
def open_one(_open_one: Serving) -> Serving:
    """A server whose admin port asks for no key."""
    _open_one._server._scorer.reset()
    return _open_one


def trying(**fields: Any) -> dict[str, Any]:
    """What the playground sends; fields that are None are left out."""
    asked = {"policy": "default", "source": SOURCE, "query": QUERY, "answer": f"{GOOD} {BAD}", **fields}
    return {name: value for name, value in asked.items() if value is not None}


def test_the_page_may_reach_nothing_but_its_own_server(open_one):
    """It is one document that names no other address, and says so to the browser."""
    reply = httpx.get(f"{open_one.admin}/")
    rules = reply.headers["content-security-policy"]
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert rules.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in rules
    assert "frame-ancestors 'none'" in rules
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", reply.text)) - {"http://www.w3.org/2000/svg"}
    assert not addresses
    assert not re.search(
        r"<(?:script|link|img|iframe)[^>]+(?:src|href)=|\son\w+=|innerHTML|insertAdjacentHTML", reply.text
    )


def test_with_a_key_only_who_has_it_sees_anything(tmp_path, monkeypatch):
    """The page itself holds nothing and is open, as metrics and probes are; what it asks for needs the key."""
    monkeypatch.setenv("ADMIN_KEY", KEY)
    with serving(tmp_path, admin_key_env="ADMIN_KEY") as server:
        for path in ("/", "/metrics", "/healthz", "/readyz"):
            assert httpx.get(f"{server.admin}{path}").status_code == 200
        right = {"authorization": f"Bearer {KEY}"}
        for headers, status in (({}, 401), ({"authorization": "Bearer x"}, 401), (right, 200)):
            for path in PRIVATE:
                reply = httpx.get(f"{server.admin}{path}", headers=headers)
                assert (reply.status_code, "policies" in reply.text and status == 401) == (status, False)
            reply = httpx.post(f"{server.admin}/playground", json=trying(), headers=headers)
            assert reply.status_code == status


@pytest.mark.parametrize(("insecure", "status"), [(False, 403), (True, 200)])
def test_where_others_reach_it_nothing_is_open_without_a_key(tmp_path, insecure, status):
    """Who opens the port to Prometheus opens the metrics, and not the texts of the last verdicts."""
    with serving(tmp_path, admin_host="0.0.0.0", insecure=insecure) as server:
        address = server.admin.replace("0.0.0.0", "127.0.0.1")
        for path in ("/", "/metrics", "/healthz", "/readyz"):
            assert httpx.get(f"{address}{path}").status_code == 200
        replies = [httpx.get(f"{address}{path}") for path in PRIVATE]
        replies += [httpx.post(f"{address}/policies/reload"), httpx.post(f"{address}/playground", json=trying())]
        assert {reply.status_code for reply in replies} == {status}
        assert all(("admin_key_env" in reply.text) == (status == 403) for reply in replies)


def test_without_a_key_no_name_of_anyones_is_answered(open_one):
    """A page that gives its own name this address (DNS rebinding) reads nothing; localhost does."""
    for host, status in (
        ("evil.example", 403),
        ("evil.example:9464", 403),
        ("localhost:9464", 200),
        ("127.0.0.1", 200),
    ):
        for path in PRIVATE:
            assert httpx.get(f"{open_one.admin}{path}", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "answered"),
    [
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site", "origin": "http://localhost:1"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "own"}, True),
        ({}, True),
    ],
)
def test_without_a_key_no_page_of_anyones_sets_anything_off(open_one, headers, answered):
    """A browser sends a form or a question without a body anywhere; what another's page makes it send is refused."""
    headers = {name: open_one.admin if value == "own" else value for name, value in headers.items()}
    reload = httpx.post(f"{open_one.admin}/policies/reload", headers=headers)
    tried = httpx.post(f"{open_one.admin}/playground", json=trying(), headers=headers)
    read = httpx.get(f"{open_one.admin}/recent", headers=headers)
    assert {reload.status_code, tried.status_code, read.status_code} == ({200} if answered else {403})


def test_who_asks_for_a_reload_again_and_again_takes_no_thread_from_others(open_one):
    """The program's threads also look up the models' addresses: those who ask wait outside of them."""
    server, asking = open_one._server, []

    def slow(*, asked: bool = False) -> Reload:
        asking.append(asked)
        time.sleep(0.05)
        return Reload(result="unchanged")

    async def ask() -> float:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(server._store, "refresh", slow)
            waiting = [asyncio.create_task(server.reload()) for _ in range(40)]
            await asyncio.sleep(0.01)
            begun = time.monotonic()
            await asyncio.to_thread(int)
            took = time.monotonic() - begun
            await asyncio.gather(*waiting)
        return took

    took = asyncio.run_coroutine_threadsafe(ask(), open_one._loop).result(30)
    assert (len([each for each in asking if each]), took < 0.2) == (40, True)


def test_the_playground_takes_json_only(open_one):
    """A form of anyone's page can be sent here by a browser; it is not read."""
    reply = httpx.post(f"{open_one.admin}/playground", content=b"{}", headers={"content-type": "text/plain"})
    assert reply.status_code == 415
    assert httpx.get(f"{open_one.admin}/playground").status_code == 405


def test_the_playground_judges_and_leaves_no_trace(open_one):
    """It answers with the trace of the policy in force, and neither metrics nor the last verdicts know of it."""
    before = httpx.get(f"{open_one.admin}/metrics").text
    trace = httpx.post(f"{open_one.admin}/playground", json=trying()).json()
    assert (trace["outcome"], trace["reasons"], trace["policy"]) == ("blocked", ["grounding"], "default")
    assert [claim["score"] for claim in trace["claims"]] == [0.9124, 0.1234]
    place = trace["claims"][0]["citations"][0]
    assert SOURCE[place["start"] : place["end"]]
    assert httpx.get(f"{open_one.admin}/metrics").text.count("\n") == before.count("\n")
    assert "groundwarden_requests_total{" not in httpx.get(f"{open_one.admin}/metrics").text
    assert httpx.get(f"{open_one.admin}/recent").json()["last"] == []


def test_without_a_source_or_a_query_the_policy_decides(open_one):
    """What the proxy would do without them, the playground does."""
    unchecked = httpx.post(f"{open_one.admin}/playground", json=trying(source=None)).json()
    assert (unchecked["outcome"], unchecked["bypasses"]) == ("unchecked", ["no_source"])
    alone = httpx.post(f"{open_one.admin}/playground", json=trying(query=None, answer=GOOD)).json()
    assert (alone["outcome"], list(alone["checks"])) == ("passed", ["grounding"])


WRONG = {
    "no answer": ({"answer": " "}, 400, "answer"),
    "no such policy": ({"policy": "nobody"}, 400, "policy must be one of default, short"),
    "no text": ({"source": ["a"]}, 400, "source must be text"),
    "unknown field": ({"model": "m"}, 400, "There is no such field"),
    "over a limit": ({"policy": "short"}, 400, "The grounding source has"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_told_by_field(open_one, case):
    """Each is one clear message."""
    fields, status, expected = WRONG[case]
    reply = httpx.post(f"{open_one.admin}/playground", json=trying(**fields))
    assert (reply.status_code, expected in reply.json()["error"]["message"]) == (status, True)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000])
def test_what_is_no_object_is_refused(open_one, body):
    """Nothing that is sent makes an unexpected error."""
    reply = httpx.post(f"{open_one.admin}/playground", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")


def test_a_busy_scorer_says_when_to_come_back(open_one):
    """The playground stands in the same queue as the traffic."""
    open_one._server._scorer.mood = "full"
    reply = httpx.post(f"{open_one.admin}/playground", json=trying())
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")
