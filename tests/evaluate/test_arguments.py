"""The command line of evaluate, as a user runs it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from evaluate.support import write

from proxy.evaluate.arguments import add_to
from proxy.evaluate.catalogue import METRICS

if TYPE_CHECKING:
    from pathlib import Path


def parsed(*arguments: str) -> argparse.Namespace:
    """What comes of these arguments."""
    parser = argparse.ArgumentParser()
    add_to(parser)
    return parser.parse_args(["data.jsonl", *arguments])


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run groundwarden evaluate in a folder."""
    command = [sys.executable, "-m", "proxy", "evaluate", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own


def test_all_metrics_and_azures_tolerance_unless_told_otherwise():
    """The defaults."""
    args = parsed()
    assert (args.metrics, args.thresholds, args.tolerance) == (tuple(METRICS), [], 4)
    assert (args.output, args.report, args.similarity) == (None, None, "scorer")


@pytest.mark.parametrize(("level", "severity"), [("low", 2), ("medium", 4), ("high", 6), ("1", 1), ("7", 7)])
def test_the_tolerance_is_a_level_or_a_severity(level, severity):
    """Azure's four levels begin at 0, 2, 4 and 6."""
    assert parsed("--tolerance", level).tolerance == severity


def test_metrics_and_thresholds():
    """Separated by commas; given again."""
    args = parsed("--metrics", "f1_score, fluency", "--threshold", "fluency=4", "--threshold", "f1_score=0.8")
    assert args.metrics == ("f1_score", "fluency")
    assert dict(args.thresholds) == {"fluency": 4, "f1_score": 0.8}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tolerance", "0"),
        ("--tolerance", "very-low"),
        ("--tolerance", "8"),
        ("--tolerance", "some"),
        ("--metrics", "fluency,truth"),
        ("--metrics", ""),
        ("--threshold", "fluency"),
        ("--threshold", "fluency=6"),
        ("--threshold", "fluency=nan"),
        ("--threshold", "truth=3"),
        ("--threshold", "violence=3"),
        ("--threshold", "f1_score=2"),
        ("--similarity", "words"),
        (),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, arguments):
    """In one line, exit 2, before any work."""
    data = [] if not arguments else [str(write(tmp_path / "data.jsonl", {"answer": "x"}))]
    done = run(tmp_path, *data, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["output", "report", "baseline"])
def test_no_file_is_overwritten_by_another(tmp_path, name):
    """The data above all."""
    data = write(tmp_path / "data.json", {"answer": "x"})
    before = data.read_bytes()
    done = run(tmp_path, str(data), f"--{name}={data}")
    assert done.returncode == 2
    assert data.read_bytes() == before


def test_words_alone_need_no_model(tmp_path):
    """F1 is counted without loading the scorer; results lie where azure-ai-evaluation puts them; a bad line fails."""
    data = write(tmp_path / "data.jsonl", {"answer": "The tent", "ground_truth": "a tent"}, "broken")
    done = run(tmp_path, str(data), "--metrics=f1_score")
    assert done.returncode == 1
    assert done.stderr == f"groundwarden: {data}:2: is not valid JSON; write one object a line\n"
    assert "f1_score  1.000  1 of 1" in done.stdout
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "data.jsonl",
        "evaluation_results.html",
        "evaluation_results.json",
    ]


def test_a_file_that_is_not_there_is_told(tmp_path):
    """Exit 1 and one line."""
    done = run(tmp_path, "nowhere.jsonl")
    assert (done.returncode, done.stderr) == (1, "groundwarden: nowhere.jsonl: no such file or directory\n")
