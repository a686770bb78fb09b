"""The command line, as a user runs it: real processes, real pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from proxy.grounding.calibration import Calibration
from proxy.scoring.embedded import MODEL_NAME

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
        (("evaluate",), 2),
        (("evaluate", "nowhere.jsonl"), 1),
        (("score", "--source", "nowhere.txt", "--answer", "x"), 1),
        (("score", "--source", "SOURCE", "--answer", "x", "--policy", "nowhere.yaml"), 1),
        (("check", "nowhere.yaml"), 1),
        (("calibrate",), 2),
        (("calibrate", "SOURCE", "--precision", "95"), 2),
        (("calibrate", "SOURCE", "--recall", "much"), 2),
        (("calibrate", "SOURCE", "--check", "truth"), 2),
        (("calibrate", "SOURCE", "--plot", "x.png"), 2),
        (("calibrate", "SOURCE", "--out", "SOURCE"), 2),
        (("calibrate", "SOURCE"), 1),
        (("calibrate", "nowhere.jsonl"), 1),
        (("calibrate", "SOURCE", "--policy", "nowhere.yaml"), 1),
        (("calibrate", "SOURCE", "--config", "nowhere.yaml"), 1),
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


CAPITALS = (
    "Tokyo of Japan, London of England, Paris of France, Rome of Italy, Madrid of Spain, Berlin of Germany, "
    "Vienna of Austria, Lisbon of Portugal, Athens of Greece, Dublin of Ireland, Oslo of Norway, Cairo of Egypt, "
    "Lima of Peru, Quito of Ecuador, Hanoi of Vietnam, Warsaw of Poland"
)


def capitals() -> list[dict[str, object]]:
    """Labelled rows: of each of fifteen sources two true answers and two false ones, half of them beside the point."""
    pairs = [pair.split(" of ") for pair in CAPITALS.split(", ")]
    rows: list[dict[str, object]] = []
    for (city, country), (other, abroad) in pairwise(pairs):
        source = f"{city} is the capital of {country}. {other} is the capital of {abroad}."
        for answer, supported, relevant in (
            (f"{city} is the capital of {country}.", True, True),
            (f"{other} is the capital of {abroad}.", True, False),
            (f"The capital of {country} is a village.", False, True),
            (f"{abroad} has twelve thousand lakes.", False, False),
        ):
            row = {"source": source, "query": f"What is the capital of {country}?", "answer": answer}
            rows.append({**row, "supported": supported, "relevant": relevant})
    return rows


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    """A file of labelled rows."""
    file = tmp_path / "labelled.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in capitals()), encoding="utf-8")
    return str(file)


def test_calibrate_fits_both_checks_for_a_policy_to_use(labelled: str, source: str, tmp_path: Path):
    """With the real scorer: a report, a calibration that the policy takes, a plot, and nothing on standard error."""
    out, plot, policy = (tmp_path / name for name in ("acme.json", "acme.svg", "acme.yaml"))
    files = ("--out", str(out), "--plot", str(plot))
    done = run("calibrate", labelled, "--recall", "0.9", "--block-rate", "0.6", *files)
    assert (done.returncode, done.stderr) == (0, "")
    assert "grounding: 60 rows in 15 groups, 50.0% supported" in done.stdout
    assert "relevance: 60 rows in 15 groups, 50.0% relevant" in done.stdout
    assert done.stdout.count("recall 0.9") == 4  # in each check's table and lines
    assert plot.read_text().startswith("<svg")
    calibration = Calibration.read(out.read_text())
    assert (calibration.scorer, calibration.grounding.rows) == (MODEL_NAME, 60)

    policy.write_text(done.stdout.partition("In the policy:")[2], encoding="utf-8")
    judged = run("score", "--source", source, "--answer", "Tokyo is the capital of Japan.", "--policy", str(policy))
    assert judged.returncode == 0, judged.stderr
    assert 0 < json.loads(judged.stdout)["checks"]["grounding"]["threshold"] <= 0.99


def test_a_calibration_for_another_scorer_is_refused(source: str, tmp_path: Path):
    """Score says so in one line, with the policy's own line."""
    knots = "[[0, 0], [0.5, 0.4], [1, 1]]"
    curve = f'{{"method": "platt", "rows": 60, "positives": 30, "knots": {knots}}}'
    (tmp_path / "cal.json").write_text(
        f'{{"groundwarden_calibration": 1, "scorer": "remote/x", "grounding": {curve}, "relevance": null}}'
    )
    (tmp_path / "mine.yaml").write_text("description: x\ncalibration: cal.json\n")
    done = run("score", "--source", source, "--answer", "x", "--policy", str(tmp_path / "mine.yaml"))
    assert done.returncode == 1
    assert (
        f"mine.yaml:2:14: calibration: names a calibration for the scorer remote/x, and scores come from {MODEL_NAME}"
        in done.stderr
    )


def test_labelled_rows_that_are_wrong_are_named(tmp_path: Path):
    """File, line and field, and status 1."""
    file = tmp_path / "labelled.jsonl"
    file.write_text('{"source": "x", "answer": "y", "supported": true}\n{"source": "x", "answer": "y"}\n')
    done = run("calibrate", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"groundwarden: {file}:2: supported: is required: true or false\n"
