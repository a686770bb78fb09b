"""The command line, as a user runs it: real processes, real pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run groundwarden with these arguments and this standard input."""
    command = [sys.executable, "-m", "proxy", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A file with a source."""
    file = tmp_path / "source.txt"
    file.write_text("Tokyo is the capital of Japan. London is the capital of UK.", encoding="utf-8")
    return str(file)


def test_the_demo_ends_as_documented():
    """Every documented outcome comes about, and the table, its count and a line to try next are printed."""
    done = run("demo", "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" blocked") == 6
    assert "8 of 8 as documented" in done.stdout
    assert "curl -i http://127.0.0.1:" in done.stdout


@pytest.mark.parametrize("dash", [False, True])
def test_score_judges_one_answer(source: str, dash: bool):
    """The verdict is JSON when piped, whether the answer is an argument or standard input."""
    answer = "Tokyo is the capital of Japan."
    told = ["-"] if dash else ["--answer", answer]
    done = run("score", "--query", "What is the capital of Japan?", "--source", source, *told, text=answer)
    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["outcome"], verdict["claims"][0]["text"]) == (0, "passed", answer)


def test_score_takes_a_policy_by_name_or_file(source: str, tmp_path: Path):
    """Shipped policies go by name, others by file, whatever else lies beside the file."""
    (tmp_path / "config.yaml").write_text("server: {port: 1}", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text("grounding: {threshold: 0.1}", encoding="utf-8")
    for policy, name in (("strict", "strict"), (str(tmp_path / "mine.yaml"), "mine")):
        done = run("score", "--source", source, "--answer", "Tokyo is the capital of Japan.", "--policy", policy)
        assert json.loads(done.stdout)["policy"] == name


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ((), 2),
        (("serve", "--port", "x"), 2),
        (("score", "--answer", "x"), 2),
        (("score", "--source", "SOURCE"), 2),
        (("score", "--source", "SOURCE", "--answer", "x", "-"), 2),
        (("evaluate", "x.jsonl"), 2),
        (("score", "--source", "nowhere.txt", "--answer", "x"), 1),
        (("score", "--source", "SOURCE", "--answer", "x", "--policy", "nowhere.yaml"), 1),
        (("check", "nowhere.yaml"), 1),
        (("serve", "--config", "nowhere.yaml"), 1),
    ],
)
def test_what_is_wrong_is_said_in_one_line(source: str, arguments: tuple[str, ...], status: int):
    """Usage errors end with 2, failures with 1, each with one line that says what to do."""
    done = run(*(argument.replace("SOURCE", source) for argument in arguments))
    said = (done.stderr or done.stdout).strip().splitlines()
    assert (done.returncode, len(said)) == (status, 1)
    assert "Traceback" not in said[0]


def test_a_file_that_is_no_text_is_named(tmp_path: Path):
    """An error about a file names it."""
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\xff")
    assert "x.bin: is not UTF-8 text" in run("score", "--source", str(tmp_path / "x.bin"), "--answer", "x").stderr
