"""The whole program: its two ports, its logs and metrics, its start and its end."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml
from recording import Recording, Reply
from serving import passes_through
from surfaces.support import BAD, GOOD, SECRET, SOURCE, World, answer, asking, everything, says, spells, streams, tag

from proxy.cli import main
from proxy.observe.log import configure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OUTCOME, POLICY = "x-groundwarden-outcome", "x-groundwarden-policy"


@pytest.fixture(scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("app"), _recording_server) as world:
        yield world


@pytest.fixture
def world(_world: World) -> World:
    """The server with nothing recorded or scripted, its scorer in a good mood."""
    _world.reset()
    return _world


@pytest.fixture
def logged() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The lines that the process logs from now on, each parsed; the test's own client is kept quiet."""
    names = (None, "httpx", "uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
    kept = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in map(logging.getLogger, names)]
    stream = io.StringIO()
    configure(stream)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for logger, handlers, level, propagate in kept:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def within(seconds: float, condition: Callable[[], Any]) -> Any:
    """What the condition says once it is true; fails when that takes longer."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    return value


# --- the two ports ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_probes_answer_on_both_ports(world: World, path: str):
    """Live and ready are told without a key, to callers and operators."""
    assert [httpx.get(f"{url}{path}").status_code for url in (world.url, world.admin)] == [200, 200]


def test_what_is_the_operators_is_not_on_the_callers_port(world: World):
    """Metrics and policies are on the admin port only, and callers' paths are not there."""
    for path in ("/metrics", "/policies"):
        assert httpx.get(f"{world.url}{path}").status_code == 404
        assert httpx.get(f"{world.admin}{path}").status_code == 200
    assert httpx.post(f"{world.admin}/v1/chat/completions", json={}).status_code == 404
    assert httpx.get(f"{world.admin}/metrics/").status_code == 404


def test_the_policies_in_force_are_shown(world: World):
    """The admin port shows every policy with its version, the same that replies carry."""
    shown = httpx.get(f"{world.admin}/policies").json()
    reply = world.told(answer())
    assert reply.headers[POLICY] == f"default@{shown['policies']['default']['version']}"
    assert shown["policies"]["flags"]["grounding"]["action"] == "flag"
    assert shown["problems"] == []


# --- what a request leaves behind ---------------------------------------------------------------------------------

ENDINGS = {
    "passed": (answer(GOOD), "default", {}),
    "blocked": (answer(BAD), "default", {}),
    "flagged": (answer(BAD), "flags", {}),
    "unchecked": (answer(BAD), "default", {"grounding": None}),
    "error": (says({"error": {"message": "No."}}, 500), "default", {}),
}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_every_ending_is_counted_once(world: World, outcome: str):
    """A request is counted once, by tenant, policy, surface, model and outcome, failures as error."""
    reply, policy, fields = ENDINGS[outcome]
    labels = {"tenant": policy, "policy": policy, "surface": "chat", "model": "m", "outcome": outcome}
    before = world.metric("groundwarden_requests_total"), world.metric("groundwarden_requests_total", **labels)
    world.told(reply, policy, **fields)
    after = world.metric("groundwarden_requests_total"), world.metric("groundwarden_requests_total", **labels)
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1]


def test_a_block_is_counted_with_its_check_and_scores(world: World):
    """The check that blocked, both scores and the times of a request are in the metrics."""
    names = {
        "groundwarden_blocks_total": {"tenant": "default", "policy": "default", "check": "grounding"},
        "groundwarden_score_count": {"check": "grounding", "policy": "default"},
        "groundwarden_scoring_seconds_count": {},
        "groundwarden_upstream_seconds_count": {"model": "m"},
        "groundwarden_added_seconds_count": {},
    }
    before = [world.metric(name, **labels) for name, labels in names.items()]
    world.told(answer(BAD))
    assert [world.metric(name, **labels) for name, labels in names.items()] == [value + 1 for value in before]
    assert world.metric("groundwarden_build_info") == 1
    assert world.metric("groundwarden_scorer_queue_pairs") == 3


def test_no_caller_can_make_a_series(world: World):
    """Unknown keys, models and ids count as other: callers' words are no labels."""
    lines = world.http.get(f"{world.admin}/metrics").text.count("\n")
    for number in range(5):
        world.post(asking(model=f"odd-{number}"), f"nobody-{number}", **{"x-request-id": f"r-{number}"})
        world.post(asking(model=f"odd-{number}"))
    assert "odd-" not in world.http.get(f"{world.admin}/metrics").text
    assert world.http.get(f"{world.admin}/metrics").text.count("\n") <= lines + 2
    assert world.metric("groundwarden_requests_total", tenant="other", model="other", outcome="error") >= 5


def test_a_request_is_one_line_of_log(world: World, logged: Callable[[], list[dict[str, Any]]]):
    """A guarded request leaves one line with ids, scores, sizes and times; probes and listings leave none."""
    world.upstream.default = says(answer(BAD))
    world.post(asking(), **{"x-request-id": "mine-7"})
    world.http.get("/healthz")
    world.http.get("/v1/models", headers={"api-key": "key-default"})
    [line] = logged()
    expected = {"request_id": "mine-7", "tenant": "default", "model": "m", "outcome": "blocked", "status": 200}
    assert {name: line[name] for name in expected} == expected
    assert (line["grounding"], line["reasons"], line["source_chars"]) == (0.1234, ["grounding"], len(SOURCE))
    assert line["upstream_ms"] > 0


def _ways_to_tell(world: World) -> list[httpx.Response]:
    """Requests that plant the secret everywhere, ending in every way there is."""
    planted = asking(
        messages=[{"role": "user", "content": f"{SECRET} {tag('query', SECRET)}", "name": SECRET}],
        grounding={"sources": [f"{SECRET} is a source."], "query": f"Who is {SECRET}?"},
        user=SECRET,
        **{"amazon-bedrock-guardrailConfig": {"tagSuffix": "sfx"}},
    )
    said = [
        says(answer(f"{SECRET} is UNSUPPORTED.")),
        says(answer(f"I know {SECRET} very well.", odd=f"{SECRET} and more words")),
        says(f"{{{SECRET}".encode()),
        says({"error": {"message": f"Invalid key {SECRET}."}}, 401),
        says({"choices": [{"message": {"content": {"odd": SECRET}}}]}),
        Reply(body=[SECRET.encode()], cut=True, headers={"content-type": "application/json", "x-odd": SECRET}),
    ]
    replies = []
    for reply in said:
        world.upstream.replies.append(reply)
        replies.append(world.post(planted, cookie=SECRET, **{"x-request-id": f"{SECRET} and more"}))
    world.upstream.replies.append(streams(*spells(f"{SECRET} is UNSUPPORTED.")))
    replies.append(world.post({**planted, "stream": True}))
    world.scorer.mood = "failing"
    world.upstream.replies.append(says(answer(f"{SECRET} is here.")))
    replies += [
        world.post(planted),
        world.post(planted, SECRET),
        world.post({**planted, "messages": [{"role": "user", "content": SECRET}, {"role": "user", "content": 1}]}),
        world.post({**planted, "amazon-bedrock-guardrailConfig": {"tagSuffix": f"{SECRET}-much-too-long"}}),
        world.post(f'{{"model": "m", {SECRET}'.encode()),
        world.post(planted, path=f"/v1/chat/completions?key={SECRET}"),
    ]
    content = [{"text": {"text": SECRET, "qualifiers": ["grounding_source"]}}, {"text": {"text": f"{BAD} {SECRET}"}}]
    for source in ("OUTPUT", "SIDEWAYS"):
        body = {"source": source, "content": content}
        replies.append(world.post(body, path="/guardrail/default/version/DRAFT/apply"))
    return replies


def test_no_text_in_logs_metrics_and_errors(world: World, logged: Callable[[], list[dict[str, Any]]]):
    """However a request ends, no byte of prompt, source, answer or key is in a log line, a metric or a reply."""
    replies = _ways_to_tell(world)
    assert {reply.status_code for reply in replies} >= {200, 400, 401, 502}
    assert [reply.status_code for reply in replies if SECRET.encode() in everything(reply)] == []
    assert len(logged()) >= len(replies)
    assert SECRET not in repr(logged())
    assert SECRET not in httpx.get(f"{world.admin}/metrics").text


# --- the scorer is unwell -----------------------------------------------------------------------------------------


def test_a_full_scorer_refuses_before_the_model_is_asked(world: World):
    """A full queue is a 429 with Retry-After, and costs nothing upstream."""
    before = world.metric("groundwarden_scorer_errors_total", reason="overloaded")
    world.scorer.mood = "full"
    for stream in (False, True):
        reply = world.post(asking(stream=stream))
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")
        assert (reply.json()["error"]["type"], reply.json()["error"]["code"]) == (
            "rate_limit_error",
            "scorer_overloaded",
        )
    assert world.upstream.requests == []
    assert world.metric("groundwarden_scorer_errors_total", reason="overloaded") == before + 2


def test_a_full_scorer_does_not_matter_where_nothing_is_scored(world: World):
    """Requests without a source are answered even when the queue is full."""
    world.scorer.mood = "full"
    assert world.told(answer(), grounding=None).headers[OUTCOME] == "unchecked"


@pytest.mark.parametrize(("mood", "reason"), [("failing", "error"), ("late", "timeout")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_to_score_blocks(world: World, mood: str, reason: str, stream: bool):
    """When scoring fails after the model has answered, on_scorer_error: block makes an ordinary block."""
    names = {
        "groundwarden_scorer_errors_total": {"reason": reason},
        "groundwarden_blocks_total": {"policy": "impatient", "check": "scorer_error"},
    }
    before = [world.metric(name, **labels) for name, labels in names.items()]
    world.scorer.mood = mood
    reply = world.told(streams(*spells(GOOD)) if stream else answer(GOOD), "impatient", stream=stream)
    assert (reply.status_code, reply.headers[OUTCOME]) == (200, "blocked")
    assert b"content_filter" in reply.content
    assert b"Tokyo" not in reply.content
    assert "x-groundwarden-grounding" not in reply.headers
    assert [world.metric(name, **labels) for name, labels in names.items()] == [value + 1 for value in before]


@pytest.mark.parametrize(("mood", "reason"), [("failing", "error"), ("late", "timeout")])
def test_a_failure_to_score_may_pass(world: World, mood: str, reason: str):
    """Under on_scorer_error: pass the answer is released as it came, unscored, and counted as a bypass."""
    names = {
        "groundwarden_scorer_errors_total": {"reason": reason},
        "groundwarden_bypass_total": {"tenant": "forgiving", "reason": "scorer_error"},
    }
    before = [world.metric(name, **labels) for name, labels in names.items()]
    world.scorer.mood = mood
    raw = json.dumps(answer(GOOD), indent=1).encode()
    reply = world.told(says(raw), "forgiving")
    assert (reply.content, reply.headers[OUTCOME]) == (raw, "unscored")
    assert [world.metric(name, **labels) for name, labels in names.items()] == [value + 1 for value in before]


def test_unsupported_text_is_blocked_though_scoring_may_fail(world: World):
    """on_scorer_error: pass does not release what was scored and found unsupported."""
    assert world.told(answer(BAD), "forgiving").headers[OUTCOME] == "blocked"


# --- policies change ----------------------------------------------------------------------------------------------


@pytest.fixture
def edit(world: World) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Write the policy `message` anew; afterwards it is as it was, and in force."""
    before = world.told(answer(), "message").headers[POLICY]
    world.reset()
    yield lambda policy: world.serving.write_policy("message", policy)
    world.serving.write_policy("message", {"blocked_message": "Nein, heute nicht. 🙅"})
    within(5, lambda: world.told(answer(), "message").headers[POLICY] == before)


def test_an_edit_shows_within_two_seconds(world: World, edit: Callable[[dict[str, Any]], None]):
    """A changed policy applies to requests within two seconds, and the reload is counted."""
    before = world.metric("groundwarden_policy_reloads_total", result="success")
    edit({"blocked_message": "Changed."})
    world.upstream.default = says(answer(BAD))
    within(2, lambda: b"Changed." in world.post(asking(), "message").content)
    assert world.metric("groundwarden_policy_reloads_total", result="success") == before + 1
    assert world.metric("groundwarden_policy_last_success_timestamp_seconds") == pytest.approx(time.time(), abs=5)


def test_a_bad_edit_changes_nothing(
    world: World, edit: Callable[[dict[str, Any]], None], logged: Callable[[], list[dict[str, Any]]]
):
    """A bad file leaves the last good set in force, is counted once, and is named in the log and on the admin port."""
    version = httpx.get(f"{world.admin}/policies").json()["version"]
    before = world.metric("groundwarden_policy_reloads_total", result="failure")
    edit({"grounding": {"threshold": 1.0}})
    [problem] = within(3, lambda: httpx.get(f"{world.admin}/policies").json()["problems"])
    assert "message.yaml" in problem
    assert "threshold" in problem
    time.sleep(0.8)
    assert world.metric("groundwarden_policy_reloads_total", result="failure") == before + 1
    assert httpx.get(f"{world.admin}/policies").json()["version"] == version
    assert [line["level"] for line in logged() if "message.yaml" in line["message"]] == ["error"]
    assert httpx.get(f"{world.url}/readyz").status_code == 200


def test_a_request_keeps_the_policy_it_began_with(world: World, edit: Callable[[dict[str, Any]], None]):
    """A policy that changes while the model writes does not apply to that request."""
    before = world.told(answer(), "message").headers[POLICY]
    world.upstream.default = Reply(body=[2.0, json.dumps(answer(BAD)).encode()])
    done: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: done.append(world.post(asking(), "message")))
    thread.start()
    within(2, lambda: len(world.upstream.requests) == 2)
    edit({"blocked_message": "Changed.", "grounding": {"action": "off"}})
    version = before.partition("@")[2]
    within(2, lambda: httpx.get(f"{world.admin}/policies").json()["policies"]["message"]["version"] != version)
    assert done == []
    thread.join(10)
    assert (done[0].headers[POLICY], done[0].headers[OUTCOME]) == (before, "blocked")
    assert b"Changed." not in done[0].content


# --- the end ------------------------------------------------------------------------------------------------------


def test_a_graceful_stop_finishes_what_is_in_flight(tmp_path: Path, recording: Recording):
    """After a stop no new connection is taken, the operators are told, and a request in flight gets its answer."""
    with World(tmp_path, recording) as world:
        recording.default = Reply(body=[1.5, json.dumps(answer()).encode()])
        done: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: done.append(world.post(asking())))
        thread.start()
        within(5, lambda: recording.requests)
        world.serving.stop()
        within(1, lambda: httpx.get(f"{world.admin}/readyz").status_code == 503)
        within(1, lambda: _refuses(world.url))
        assert done == []
        thread.join(10)
        assert (done[0].status_code, done[0].headers[OUTCOME]) == (200, "passed")
    assert _refuses(world.admin)


def _half_sent(url: str) -> socket.socket:
    """A connection whose request stops in the middle of its body."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
        b"Authorization: Bearer key-default\r\nContent-Length: 1000\r\n\r\n{"
    )
    return connection


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, recording: Recording, monkeypatch):
    """A half-sent request gets a 408 after a while, and holds up a stop no longer than that."""
    monkeypatch.setattr("proxy.surfaces.base.BODY_SECONDS", 0.5)
    with World(tmp_path, recording) as world, _half_sent(world.url) as connection:
        connection.settimeout(10)
        assert b" 408 " in connection.recv(1000).partition(b"\r\n")[0]
        with _half_sent(world.url):
            began = time.monotonic()
            world.serving.stop()
            within(10, lambda: _refuses(world.admin))
            assert time.monotonic() - began < 10


def test_a_second_request_to_stop_does_not_wait(tmp_path: Path, recording: Recording):
    """Asked to stop twice, the server leaves a hanging model behind."""
    with World(tmp_path, recording) as world:
        recording.default = Reply(body=[60.0])
        threading.Thread(target=lambda: _left_alone(world), daemon=True).start()
        within(5, lambda: recording.requests)
        world.serving.stop()
        within(2, lambda: _refuses(world.url))
        world.serving.stop()
        within(10, lambda: _refuses(world.admin))


def _left_alone(world: World) -> None:
    try:
        world.post(asking())
    except httpx.HTTPError:
        return


def test_replies_are_not_delayed_by_nagle(world: World):
    """The listening sockets name TCP, without which asyncio leaves Nagle's delay on (40 ms a reply)."""
    servers = (world.serving._server._main, world.serving._server._admin)
    protocols = {bound.proto for server in servers for listening in server.servers for bound in listening.sockets}
    assert protocols == {socket.IPPROTO_TCP}


def _refuses(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz", timeout=2)
    except httpx.ConnectError:
        return True
    return False


# --- the command --------------------------------------------------------------------------------------------------

MODELS = passes_through("http://127.0.0.1:9", "m")
UNKNOWN_PROVIDER = [{"model_name": "m", "litellm_params": {"model": "nobody/x", "api_key": "x"}}]
NO_VARIABLE = [{"model_name": "m", "litellm_params": {"model": "openai/m", "api_key": "os.environ/GW_TEST_ABSENT"}}]


def _command(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "proxy", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def _configured(folder: Path, **config: Any) -> Path:
    file = folder / "config.yaml"
    ports = {"port": 0, "admin_port": 0}
    server = {**ports, **config.pop("server", {})}
    file.write_text(yaml.safe_dump({"model_list": MODELS, "server": server, **config}))
    return file


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_runs_until_it_is_told_to_stop(tmp_path: Path, recording: Recording, number: int):
    """The command serves with the embedded scorer, logs JSON lines, and ends with status 0 on SIGTERM and Ctrl-C."""
    recording.default = says(answer("The capital of Japan is Tokyo."))
    file = _configured(tmp_path, model_list=passes_through(recording.url, "m"))
    with _command("serve", "--config", file) as process:
        try:
            url = _ready(process)
            outcome = httpx.post(f"{url}/v1/chat/completions", json=asking(), timeout=30).headers[OUTCOME]
            process.send_signal(number)
            out, rest = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (outcome, process.returncode, out) == ("passed", 0, "")
    assert all(json.loads(line)["level"] == "info" for line in rest.splitlines())


def _ready(process: subprocess.Popen[str]) -> str:
    """The address in the log line that says the server is ready."""
    for line in process.stderr:
        message = json.loads(line)["message"]
        if message.startswith("ready on "):
            return message.removeprefix("ready on ").partition(",")[0]
    pytest.fail("the server did not start")


@pytest.mark.parametrize(
    ("config", "policy", "expected"),
    [
        ({}, "grounding:\n  threshold: 1.0\n", "default.yaml:2"),
        ({"tenants": [{"id": "a", "policy": "acmee", "key_sha256": ["0" * 64]}]}, None, "config.yaml:"),
        ({"tenants": [{"id": "a", "key_env": "GW_TEST_ABSENT"}]}, None, "GW_TEST_ABSENT"),
        ({"model_list": NO_VARIABLE}, None, "GW_TEST_ABSENT"),
        ({"server": {"prot": 1}}, None, "try port"),
        ({"server": {"host": "0.0.0.0"}}, None, "loopback"),
        ({"model_list": []}, None, "at least one model"),
        ({"model_list": UNKNOWN_PROVIDER}, None, "config.yaml:"),
    ],
)
def test_what_is_wrong_at_the_start_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: dict, policy: str | None, expected: str
):
    """Each problem is one line with file and line; serve and check end with status 1 and say the same."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "default.yaml").write_text(policy or "description: x\n")
    file = _configured(tmp_path, policies="policies", **config)
    statuses = [main([command, "--config", str(file)]) for command in ("serve", "check")]
    told = capsys.readouterr()
    assert statuses == [1, 1]
    assert [f"groundwarden: {line}" for line in told.out.splitlines()] == told.err.splitlines()
    [line] = told.out.splitlines()
    assert expected in line
    assert str(tmp_path) in line
    assert ".yaml:" in line


def test_a_taken_port_is_told(tmp_path: Path):
    """When the port is taken, serve says so in one line and ends with status 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with _command("serve", "--config", _configured(tmp_path), "--port", port) as process:
            _, err = process.communicate(timeout=60)
    last = err.splitlines()[-1]
    assert process.returncode == 1
    assert last.startswith("groundwarden: ")
    assert str(port) in last
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", ["", "serve --nonsense", "serve --port x", "serve --port 65536", "fly", "check --config"]
)
def test_usage_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: str):
    """A wrong command line is one line on standard error, with status 2."""
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    told = capsys.readouterr()
    assert (ended.value.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert "--help" in told.err


def test_a_missing_config_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Without a config.yaml serve says how to get one, in one line and with status 1."""
    monkeypatch.chdir(tmp_path)
    assert [main(["serve"]), main(["serve", "--config", "absent.yaml"])] == [1, 1]
    first, second = capsys.readouterr().err.splitlines()
    assert "config.example.yaml" in first
    assert "absent.yaml" in second
