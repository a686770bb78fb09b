"""``groundwarden replay``: from an audit to what would have been, for programs and for people."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml
from replay.support import QUERY, SOURCES, SeededScorer, context_of, judged, line, policy_of, record_of
from serving import Serving, passes_through
from surfaces.support import BAD, GOOD, MarkScorer, answer, asking, says, spells, streams

from proxy.cli import main
from proxy.policy.model import Policy
from proxy.replay.command import Options, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from recording import Recording

TEXTS = ("Tokyo is the capital.", "Kyoto was it before. Osaka is a port.", "Osaka is a port.", "Hello!")


class Tty(io.StringIO):
    """What takes itself for a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def audit_of(folder: Path, policy: Policy, **fields: Any) -> Path:
    """An audit of the texts above, one exchange each for two tenants."""
    file, context = folder / "audit.jsonl", context_of(*SOURCES)
    lines = []
    for number, text in enumerate(TEXTS):
        for tenant in ("acme", "beta"):
            verdict = asyncio.run(judged(policy, context, text, SeededScorer(9)))
            known = {"tenant": tenant, "request_id": f"{tenant}-{number}", **fields}
            lines.append(line(record_of(policy, context, text, verdict, **known)))
    file.write_bytes(b"".join(lines))
    return file


def policy_file(folder: Path, **keys: Any) -> Path:
    """A policy file, ``new.yaml``."""
    file = folder / "new.yaml"
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    return file


def replayed(capsys: pytest.CaptureFixture[str], *args: Any) -> dict[str, Any]:
    """What the command tells a pipe."""
    assert main(["replay", *map(str, args)]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_a_change_is_counted_by_tenant_and_check(tmp_path, capsys):
    """Every exchange is in the counts, and each that would change is named with what it would be."""
    off = {"action": "off"}
    audit = audit_of(tmp_path, policy_of(grounding={"threshold": 0.1}, relevance=off))
    told = replayed(capsys, audit, "--policy", policy_file(tmp_path, grounding={"threshold": 0.9}, relevance=off))
    assert told["policy"].startswith("new@")
    assert (told["exchanges"], told["same"] + told["changed"] + told["unsure"]) == (8, 8)
    assert sum(one["exchanges"] for one in told["outcomes"] + told["unsure_outcomes"]) == 8
    changed = [row for row in told["rows"] if len(row["would_be"]) == 1]
    assert len(changed) == told["changed"] > 0
    assert {row["was"] for row in changed} == {"passed"}
    assert told["tenants"]["acme"] == told["tenants"]["beta"]
    assert told["blocked"]["at_least"] == sum(row["would_be"] == ["blocked"] for row in told["rows"])
    assert told["checks"]["grounding"]["was"] == 0
    assert told["checks"]["grounding"]["at_least"] > 0


def test_filters_and_several_files(tmp_path, capsys):
    """A tenant, or the policy that judged, can be picked out of rotated files; what is left out is counted."""
    audit = audit_of(tmp_path, Policy())
    older = tmp_path / "audit.jsonl.1"
    older.write_bytes(audit_of(tmp_path, policy_of(name="other")).read_bytes())
    audit_of(tmp_path, Policy())
    told = replayed(capsys, audit, older, "--policy", "default", "--tenant", "acme", "--was", "other")
    assert (told["exchanges"], told["left_out"]) == (4, 12)
    assert set(told["judged_by"]) == {f"other@{Policy().version}"}
    both = replayed(capsys, audit, older, "--policy", "default")
    assert (both["exchanges"], both["same"]) == (16, 16)
    assert any("judged then by" in note for note in both["notes"])


def test_a_torn_line_is_passed_over_and_told(tmp_path, capsys):
    """What a kill tore, and lines of other formats, are counted and stop nothing."""
    audit = audit_of(tmp_path, Policy())
    whole = audit.read_bytes()
    audit.write_bytes(whole[:200] + b"\n" + b'{"audit": 99}\n[1]\nnull\n\xff\n' + b'{"audit": 1}\n' + whole)
    told = replayed(capsys, audit, "--policy", "default")
    assert (told["exchanges"], told["unreadable_lines"]) == (8, 6)


def test_what_needs_texts_says_so_without_them(tmp_path, capsys):
    """Without texts nothing is scored anew: the doubt and its reason are told."""
    audit = audit_of(tmp_path, policy_of(relevance={"action": "off"}))
    told = replayed(capsys, audit, "--policy", policy_file(tmp_path))
    assert told["rescored"] == 0
    assert told["why_unsure"]["not_scored"]["exchanges"] == told["unsure"] > 0


def test_texts_are_scored_again_where_they_were_recorded(tmp_path, capsys, recording: Recording):
    """With texts in the audit, a check that was off is scored now, by the scorer of a config.yaml."""
    recording.default = lambda request: says(
        {"scores": [0.3 if p["kind"] == "relevance" else 0.8 for p in request.json["pairs"]]}
    )
    config = {
        "model_list": passes_through(recording.url, "m"),
        "scorer": {"backend": "remote", "url": f"{recording.url}/score"},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    audit = audit_of(tmp_path, policy_of(relevance={"action": "off"}, audit_text=True))
    told = replayed(capsys, audit, "--policy", policy_file(tmp_path), "--config", tmp_path / "config.yaml")
    assert (told["unsure"], told["rescored"]) == (0, 4)
    assert {tuple(row["would_be"]) for row in told["rows"]} <= {("blocked",)}
    assert told["checks"]["relevance"]["at_least"] == 4
    assert QUERY in {pair["premise"] for request in recording.requests for pair in request.json["pairs"]}


def test_a_terminal_gets_tables(tmp_path, monkeypatch):
    """On a terminal the same is told in words and columns."""
    audit = audit_of(tmp_path, policy_of(grounding={"threshold": 0.1}, relevance={"threshold": 0.1}))
    screen = Tty()
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["replay", str(audit), "--policy", str(policy_file(tmp_path, grounding={"threshold": 0.95}))]) == 0
    text = screen.getvalue()
    assert text.startswith("8 exchanges under new@")
    for words in ("was", "would be", "tenant", "blocked by", "not certain", "acme-1", "passed"):
        assert words in text
    assert not text.strip().startswith("{")


WRONG = {
    "no such file": (["missing.jsonl", "--policy", "default"], "missing.jsonl: no such file"),
    "no policy": (["audit.jsonl"], "--policy"),
    "no such policy": (["audit.jsonl", "--policy", "missing.yaml"], "missing.yaml: does not exist"),
    "nothing of it": (["audit.jsonl", "--policy", "default", "--tenant", "nobody"], "no record of such an exchange"),
    "no audit": (["other.jsonl", "--policy", "default"], "no record"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_one_line(tmp_path, capsys, monkeypatch, case):
    """What is wrong is one line on standard error; 2 for usage, 1 for failure."""
    monkeypatch.chdir(tmp_path)
    audit_of(tmp_path, Policy())
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    args, expected = WRONG[case]
    try:
        status = main(["replay", *args])
    except SystemExit as ended:
        status = ended.code
    assert status == (2 if case == "no policy" else 1)
    [told] = capsys.readouterr().err.splitlines()
    assert expected in told


def test_a_servers_audit_can_be_replayed(tmp_path, capsys, recording: Recording):
    """From real traffic, streamed and not, to what a laxer and a stricter policy would have done."""
    config = {"model_list": passes_through(recording.url, "m"), "audit": {"path": "audit.jsonl"}}
    serving = Serving(tmp_path, config, policies={"default": {}}, scorer=MarkScorer())
    replies = {"good": answer(GOOD), "bad": answer(f"{GOOD} {BAD}")}
    with serving:
        url = f"{serving.url}/v1/chat/completions"
        for text, reply in replies.items():
            recording.default = says(reply)
            httpx.post(url, json=asking(), headers={"x-request-id": text}, timeout=20)
        recording.default = streams(*spells(f"{GOOD} {BAD} {GOOD}"))
        httpx.post(url, json=asking(stream=True), headers={"x-request-id": "cut"}, timeout=20)
    lax = replayed(capsys, tmp_path / "audit.jsonl", "--policy", policy_file(tmp_path, grounding={"threshold": 0.1}))
    told = {row["request_id"]: row["would_be"] for row in lax["rows"]}
    assert told["bad"] == ["passed"]
    assert told["cut"] in (["passed"], ["passed", "blocked"])
    strict = replayed(capsys, tmp_path / "audit.jsonl", "--policy", policy_file(tmp_path, relevance={"threshold": 0.9}))
    assert {row["request_id"]: row["would_be"] for row in strict["rows"]} == {"good": ["blocked"]}
    assert strict["checks"]["relevance"] == {"was": 0, "at_least": 2, "at_most": 3}  # the cut one's rest


HOSTILE: list[Any] = [None, True, -1, 0, 2, 1e400, float("nan"), 10**400, "", "x", "\ud800", "a\nb", "\x1b[2J", [], {}]
HOSTILE += [[[]], [{}], ["x", 1], {"a": 1}]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a line, but for what is only for people."""
    if path[:1] in (("seconds",), ("hashes",)):
        return []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for name, each in inner for found in places(each, (*path, name)))]


def test_no_line_stops_a_replay_or_steers_a_terminal(tmp_path, monkeypatch):
    """Whatever stands in any place of a line, it is replayed or passed over; the lines after it are counted."""
    policy = policy_of(audit_text=True)
    [whole, *_] = audit_of(tmp_path, policy).read_bytes().splitlines()
    lines = []
    for path in places(json.loads(whole))[1:]:
        for value in HOSTILE:
            made = json.loads(whole)
            at = made
            for name in path[:-1]:
                at = at[name]
            at[path[-1]] = value
            lines.append(json.dumps(made))
    file = tmp_path / "hostile.jsonl"
    file.write_text("\n".join([*lines, whole.decode()]), encoding="utf-8")

    @contextlib.asynccontextmanager
    async def scorer() -> AsyncIterator[SeededScorer]:
        yield SeededScorer(9)

    monkeypatch.setattr("proxy.replay.rows.MAX_LINE", 10_000)
    for keys in ({"grounding": {"threshold": 0.3}}, {"grounding": {"action": "redact"}, "timeout_ms": 9000}):
        report = asyncio.run(run(Options(files=(file,)), policy_of(**keys), scorer))
        told = report.object
        assert told["exchanges"] + told["unreadable_lines"] == len(lines) + 1
        assert told["exchanges"] > told["unreadable_lines"] / 10
        assert json.loads(json.dumps(told, allow_nan=False))
        assert all(part.isprintable() for part in report.text.split("\n"))
        assert "[2J" not in report.text
