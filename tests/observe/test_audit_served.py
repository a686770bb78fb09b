"""The audit of a real server: a record an exchange however it ends, and whole lines however the server ends."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from recording import Recording, Reply
from serving import Serving, passes_through
from surfaces.support import (
    BAD,
    GOOD,
    QUERY,
    SECRET,
    SOURCE,
    MarkScorer,
    answer,
    asking,
    event,
    says,
    spells,
    streams,
)

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "texts": {"audit_text": True},
    "missing": {"on_missing_context": "block"},
    "after": {"stream": "after"},
}
ROOT = Path(__file__).parents[2]


class Audited:
    """A server with an audit, before a recording upstream; each policy has a tenant with the key ``key-NAME``."""

    def __init__(self, folder: Path, upstream: Recording, **audit: Any) -> None:
        self.file, self.upstream, self.scorer = folder / "audit.jsonl", upstream, MarkScorer()
        config = {
            "model_list": passes_through(upstream.url, "m"),
            "tenants": [{"id": name, "policy": name, "key_sha256": [sha256_of(f"key-{name}")]} for name in POLICIES],
            "audit": {"path": "audit.jsonl", **audit},
        }
        self.serving = Serving(folder, config, policies=POLICIES, scorer=self.scorer)

    def post(self, body: Any, policy: str = "default", *, seconds: float = 20, **headers: str) -> httpx.Response:
        """One chat request."""
        given = {"authorization": f"Bearer key-{policy}", **headers}
        url = f"{self.serving.url}/v1/chat/completions"
        return httpx.post(url, json=body, headers=given, timeout=seconds)

    def rows(self, count: int) -> list[dict[str, Any]]:
        """All records, once there are so many."""
        end = time.monotonic() + 10
        while len(lines := self.file.read_bytes().splitlines() if self.file.exists() else []) < count:
            assert time.monotonic() < end, lines
            time.sleep(0.02)
        return [json.loads(line) for line in lines]

    def metric(self, result: str) -> float:
        """How many records had this result."""
        text = httpx.get(f"{self.serving.admin}/metrics").text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        [value] = [
            sample.value
            for sample in samples
            if sample.name == "groundwarden_audit_records_total" and sample.labels == {"result": result}
        ]
        return value


@pytest.fixture
def audited(tmp_path: Path, recording: Recording) -> Iterator[Audited]:
    """A running one."""
    world = Audited(tmp_path, recording)
    with world.serving:
        yield world


def leaves(world: Audited, **fields: Any) -> None:
    """Ask while the model hangs, and leave."""
    world.upstream.default = Reply(
        headers={"content-type": "text/event-stream"}, body=[event(spells(GOOD)[0])], hang=True
    )
    with pytest.raises(httpx.TimeoutException):
        world.post(asking(**fields), seconds=0.5)


def fails(world: Audited) -> None:
    """Ask a model that fails."""
    world.upstream.default = says({"error": {"message": "No."}}, 500)
    assert world.post(asking()).status_code == 500


ENDINGS: dict[str, tuple[Callable[[Audited], Any], dict[str, Any]]] = {
    "passed": (lambda w: w.post(asking()), {"outcome": "passed", "status": 200}),
    "passed in a stream": (lambda w: w.post(asking(stream=True)), {"outcome": "passed", "stream": True}),
    "no source": (lambda w: w.post(asking(grounding=None)), {"outcome": "unchecked", "bypasses": ["no_source"]}),
    "no source, blocked": (
        lambda w: w.post(asking(grounding=None), "missing"),
        {"outcome": "blocked", "reasons": ["missing_context"]},
    ),
    "no key": (lambda w: w.post(asking(), "nobody"), {"status": 401, "error": "invalid_api_key", "tenant": ""}),
    "bad field": (lambda w: w.post(asking(n="x")), {"status": 400, "tenant": "default"}),
    "model failed": (fails, {"status": 500}),
    "left": (leaves, {"status": 499}),
    "left in a stream": (lambda w: leaves(w, stream=True), {"status": 499, "stream": True}),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_exchange_is_one_record(audited: Audited, ending: str):
    """However a request ends, there is one line that says so."""
    act, expected = ENDINGS[ending]
    audited.upstream.default = lambda request: (
        streams(*spells(GOOD)) if request.json.get("stream") else says(answer(GOOD))
    )
    act(audited)
    [row] = audited.rows(1)
    assert row | expected == row
    time.sleep(0.1)
    assert len(audited.rows(1)) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("context_length_exceeded", "context_length_exceeded"),
        (f"your prompt says: {SECRET}", "upstream_error"),
        (f"{SECRET}\n" * 100, "upstream_error"),
        (None, "upstream_error"),
        (400, "400"),
    ],
)
def test_what_a_model_gives_as_its_errors_code_is_told_only_if_it_is_one(audited: Audited, code, told, stream):
    """The field is the model's, and may quote the prompt; the audit, the page and the log have a word."""
    audited.upstream.default = says({"error": {"message": "No.", "code": code}}, 400)
    assert audited.post(asking(stream=stream)).status_code == 400
    assert [row["error"] for row in audited.rows(1)] == [told]
    shown = httpx.get(f"{audited.serving.admin}/recent").text
    assert (f'"error":"{told}"' in shown, SECRET in shown) == (True, False)


def test_a_record_has_the_scores_of_every_claim(audited: Audited):
    """A block is recorded with its claims' scores, and what the model wrote with nothing but a hash and its length."""
    audited.upstream.default = says(answer(f"{GOOD} {BAD} {SECRET}."))
    reply = audited.post(asking(), **{"x-request-id": "mine-7"})
    [row] = audited.rows(1)
    assert reply.headers["x-groundwarden-policy"] == row["policy"]
    assert (row["request_id"], row["outcome"], row["reasons"]) == ("mine-7", "blocked", ["grounding"])
    claims = row["choices"][0]["claims"]
    assert [claim["grounding"] for claim in claims] == [0.91236, 0.12344, 0.91236]
    assert row["chars"] == {"source": len(SOURCE), "query": len(QUERY), "answer": len(f"{GOOD} {BAD} {SECRET}.")}
    assert len(row["hashes"]["answers"][0]) == 32
    text = audited.file.read_text(encoding="utf-8")
    assert not any(secret in text for secret in (SECRET, SOURCE, QUERY, GOOD))


def test_a_stream_that_was_stopped_says_that_its_claims_are_not_all(audited: Audited):
    """A cut stream's record is partial; one that ran to its end is not."""
    audited.upstream.default = streams(*spells(f"{GOOD} {BAD} {GOOD} {GOOD}"), done=False)
    audited.post(asking(stream=True))
    audited.upstream.default = streams(*spells(f"{GOOD} {GOOD}"))
    audited.post(asking(stream=True))
    cut, whole = audited.rows(2)
    assert (cut["outcome"], cut["choices"][0]["partial"]) == ("blocked", True)
    assert (whole["outcome"], whole["choices"][0]["partial"], len(whole["choices"][0]["claims"])) == (
        "passed",
        False,
        2,
    )


def test_texts_are_there_under_a_policy_that_says_so(audited: Audited):
    """With audit_text the record holds source, query and answer, checked or not."""
    audited.upstream.default = says(answer(BAD))
    audited.post(asking(), "texts")
    audited.post(asking(grounding=None), "texts")
    checked, unchecked = audited.rows(2)
    assert checked["texts"] == {"sources": [SOURCE], "query": QUERY, "answers": [{"text": BAD}]}
    assert unchecked["texts"] == {"sources": [], "query": None, "answers": [{"text": BAD}]}


def test_equal_texts_have_equal_hashes_under_the_operators_key(tmp_path, recording, monkeypatch):
    """With a key of the operator's, hashes can be compared over restarts and replicas."""
    monkeypatch.setenv("AUDIT_KEY", "0123456789abcdef")
    recording.default = says(answer(GOOD))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        world = Audited(tmp_path / name, recording, key_env="AUDIT_KEY")
        with world.serving:
            world.post(asking())
    first, second = (json.loads((tmp_path / name / "audit.jsonl").read_bytes())["hashes"] for name in ("a", "b"))
    assert first == second


def test_a_failing_audit_fails_no_request_and_is_counted(audited: Audited):
    """While the file cannot be written everyone is served; each lost record is counted; then it is written again."""
    audited.upstream.default = says(answer(GOOD))
    audited.post(asking())
    audited.rows(1)
    audited.file.rename(audited.file.with_name("old"))
    audited.file.mkdir()
    assert [audited.post(asking()).status_code for _ in range(3)] == [200] * 3
    end = time.monotonic() + 10
    while audited.metric("failed") < 3:
        assert time.monotonic() < end
        time.sleep(0.05)
    audited.file.rmdir()
    audited.post(asking())
    assert len(audited.rows(1)) == 1
    assert [audited.metric(result) for result in ("written", "failed", "dropped")] == [2, 3, 0]


def test_a_stop_writes_what_waits(tmp_path, recording):
    """Nothing of a graceful stop is lost."""
    world = Audited(tmp_path, recording)
    recording.default = says(answer(GOOD))
    with world.serving:
        for _ in range(20):
            world.post(asking())
    assert len(world.file.read_bytes().splitlines()) == 20


# --- killed under traffic -------------------------------------------------------------------------------------------


class Process:
    """``groundwarden serve`` in a process of its own; ``url`` is where it answers."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            ports = one.getsockname()[1], other.getsockname()[1]
        config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
        config["server"] = {"port": ports[0], "admin_port": ports[1]}
        own = folder / f"config-{ports[0]}.yaml"
        own.write_text(yaml.safe_dump(config), encoding="utf-8")
        self.url = f"http://127.0.0.1:{ports[0]}"
        command = [sys.executable, "-m", "proxy", "serve", "--config", str(own)]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: S603 - our own program
        end = time.monotonic() + 60
        while not self._ready():
            assert time.monotonic() < end
            assert self.process.poll() is None
            time.sleep(0.1)

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill it as the kernel would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Traffic:
    """Asks as fast as it is answered, until told to stop. ``answered`` are the ids of what was."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url, self._ending, self.answered = url, threading.Event(), []
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(2)]

    def _ask(self, number: int) -> None:
        source = {"text": {"text": "Tokyo. " * random.Random(number).randint(500, 5000), "qualifiers": ["query"]}}
        body = {"source": "OUTPUT", "content": [source, {"text": {"text": "It is Tokyo."}}]}
        count = 0
        with httpx.Client(timeout=30) as client:
            while not self._ending.is_set():
                count += 1
                name = f"{id(self)}-{number}-{count}"
                url = f"{self._url()}/guardrail/default/version/DRAFT/apply"
                try:
                    if client.post(url, json=body, headers={"x-request-id": name}).status_code == 200:
                        self.answered.append(name)
                except httpx.TransportError:
                    time.sleep(0.05)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(20)


def scores(request: Any) -> Reply:
    """What a scoring service answers."""
    return says({"scores": [0.9] * len(request.json["pairs"])})


def test_kill_9_under_traffic_leaves_whole_lines(tmp_path, recording):
    """Two servers share one audit that rotates; one is killed and started again, twice.

    No line is torn or glued to another, none is there twice, and of the server that lives on none is missing.
    """
    recording.default = scores
    config = {
        "model_list": passes_through(recording.url, "m"),
        "scorer": {"backend": "remote", "url": f"{recording.url}/score"},
        "policies": "policies",
        "audit": {"path": "audit.jsonl", "max_bytes": 500_000, "keep": 1000},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "default.yaml").write_text("audit_text: true\n", encoding="utf-8")
    kills = 2
    with ExitStack() as stack:
        lives = stack.enter_context(Process(tmp_path))
        dies = [stack.enter_context(Process(tmp_path))]
        with Traffic(lambda: lives.url) as steady, Traffic(lambda: dies[-1].url) as shaken:
            for turn in range(kills):
                before = len(shaken.answered)
                while len(shaken.answered) < before + 20:
                    time.sleep(0.01)
                time.sleep(random.Random(turn).random() / 10)
                dies[-1].kill()
                dies.append(stack.enter_context(Process(tmp_path)))
        for one in (lives, dies[-1]):
            one.process.terminate()
            one.process.wait(20)
    lines = [line for file in tmp_path.glob("audit.jsonl*") for line in file.read_bytes().split(b"\n")[:-1]]
    torn = [line for line in lines if not line.endswith(b"}")]
    assert len(torn) <= kills  # a kill within the microseconds of a write; it has a line of its own
    names = [json.loads(line)["request_id"] for line in lines if line not in torn]
    assert len(names) == len(set(names))
    assert set(steady.answered) <= set(names)
    # What waited for the writer when the server was killed is gone with it: no more than was on its way.
    assert len(set(shaken.answered) - set(names)) <= kills * 4
    assert (tmp_path / "audit.jsonl.1").exists()
