"""Work that is cut short goes on where it was: journals by themselves, and a real process that is killed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml
from evaluate.support import answers, evaluated, judge_at, metric_of, says, texts_of, write
from recording import Reply

from proxy.evaluate.catalogue import Marking
from proxy.evaluate.journal import Journal
from proxy.evaluate.rows import Row

if TYPE_CHECKING:
    from pathlib import Path

    from recording import Recording, Request

SETTINGS = {"scorer": "a", "metrics": ["x"]}
ROW = Row(line=1, inputs={}, turns=(), digest="d")


def test_what_is_kept_is_known_again(tmp_path):
    """By line and text."""
    with Journal(tmp_path / "j", SETTINGS) as journal:
        assert journal.done(ROW) is None
        journal.keep(ROW, {"outputs.x": 1})
    with Journal(tmp_path / "j", SETTINGS) as journal:
        assert journal.done(ROW) == {"outputs.x": 1}
        assert journal.done(replace(ROW, digest="other")) is None
        assert journal.done(replace(ROW, line=2)) is None
        assert not journal.restarted


def test_a_line_that_was_cut_off_is_dropped(tmp_path):
    """And what follows it stands on a line of its own."""
    with Journal(tmp_path / "j", SETTINGS) as journal:
        journal.keep(ROW, {"outputs.x": 1})
    with (tmp_path / "j").open("a", encoding="utf-8") as file:
        file.write('{"line": 2, "dig')
    with Journal(tmp_path / "j", SETTINGS) as journal:
        journal.keep(replace(ROW, line=2), {"outputs.x": 2})
    with Journal(tmp_path / "j", SETTINGS) as journal:
        assert [journal.done(replace(ROW, line=line)) for line in (1, 2)] == [{"outputs.x": 1}, {"outputs.x": 2}]


@pytest.mark.parametrize("written", ["", '{"sc', '{"scorer":"a","met', '{"scorer":"a"}\n[1]\n', '{"scorer":x}\n\0\n'])
def test_a_broken_journal_is_begun_anew(tmp_path, written):
    """So is one under other settings, and that is known."""
    (tmp_path / "j").write_text(written, encoding="utf-8")
    with Journal(tmp_path / "j", SETTINGS) as journal:
        assert (journal.done(ROW), journal.restarted) == (None, False)
        journal.keep(ROW, {"outputs.x": 1})
    with Journal(tmp_path / "j", {**SETTINGS, "scorer": "b"}) as journal:
        assert (journal.done(ROW), journal.restarted) == (None, True)


@pytest.mark.parametrize("written", ["x\n", "precious", "{}\n", '{"a": 1}\n[1]\n', "\n\n"])
def test_what_is_no_journal_is_left_alone(tmp_path, written):
    """It is somebody's own file that happens to have this name."""
    (tmp_path / "j").write_text(written, encoding="utf-8")
    with pytest.raises(ValueError, match="is not what an evaluation left"), Journal(tmp_path / "j", SETTINGS):
        pass
    assert (tmp_path / "j").read_text(encoding="utf-8") == written


def test_no_link_is_followed(tmp_path):
    """Whoever may write in the folder must not choose what file is emptied."""
    (tmp_path / "own").touch()
    (tmp_path / "j").symlink_to(tmp_path / "own")
    with pytest.raises(ValueError, match="is not what an evaluation left"), Journal(tmp_path / "j", SETTINGS):
        pass
    assert (tmp_path / "own").read_bytes() == b""


def test_two_at_once_are_refused(tmp_path):
    """The second says so; when the first is done it may."""
    with (
        Journal(tmp_path / "j", SETTINGS),
        pytest.raises(ValueError, match="another evaluation"),
        Journal(tmp_path / "j", SETTINGS),
    ):
        pass
    with Journal(tmp_path / "j", SETTINGS):
        pass


async def test_rows_that_failed_are_tried_again_and_no_others(tmp_path, recording):
    """The results are written all the same; once all is well nothing is left behind."""
    data = write(tmp_path / "data.jsonl", {"answer": "One."}, {"answer": "Two."})
    recording.default = lambda request: says("no") if "Two" in str(request.json) else answers(request)
    async with judge_at(recording) as judge:
        results, told = await evaluated(data, judge=judge, metrics=("fluency",))
        assert [row["outputs.fluency.fluency_status"] for row in results["rows"]] == ["completed", "error"]
        assert "tries their rows again" in told.summary
        recording.reset()
        recording.default = answers
        results, told = await evaluated(data, judge=judge, metrics=("fluency",))
    assert [row["outputs.fluency.fluency_status"] for row in results["rows"]] == ["completed", "completed"]
    assert [texts_of(request)["RESPONSE"] for request in recording.requests] == ["The judge is ready.", "Two."]
    assert not list(tmp_path.glob("*.partial"))


async def test_other_settings_and_other_texts_are_worked_out_anew(tmp_path, recording):
    """What was found under a threshold, or for a row that is edited since, is of no use."""
    recording.default = lambda request: says("no") if "Two" in str(request.json) else answers(request)
    async with judge_at(recording) as judge:
        data = write(tmp_path / "data.jsonl", {"answer": "One."}, {"answer": "Two."})
        await evaluated(data, judge=judge, metrics=("fluency",))
        recording.requests.clear()
        write(data, {"answer": "Uno."}, {"answer": "Two."})
        await evaluated(data, judge=judge, metrics=("fluency",))
        assert len(recording.requests) == 3
        marking = Marking(thresholds={"fluency": 4})
        _, told = await evaluated(data, judge=judge, metrics=("fluency",), marking=marking)
    assert len(recording.requests) == 6
    assert "began anew" in told.summary


def command(folder: Path, recording: Recording) -> list[str]:
    """A real run with the recording server as the judge, two questions at a time."""
    params = {"model": "openai/real", "api_key": "k", "api_base": f"{recording.url}/v1", "max_retries": 0}
    config = {
        "model_list": [{"model_name": "judge", "litellm_params": params}],
        "judge": {"model": "judge", "concurrency": 2},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    files = [f"--{name}={folder / file}" for name, file in (("config", "config.yaml"), ("output", "r.json"))]
    return [sys.executable, "-m", "proxy", "evaluate", str(folder / "data.jsonl"), "--metrics=fluency", *files]


def written(file: Path) -> int:
    """How many lines a journal has by now."""
    return len(file.read_bytes().splitlines()) if file.exists() else 0


def test_a_killed_process_goes_on_where_it_was(tmp_path, recording):
    """After kill -9 no row that was done is asked about again, and all rows are in the results, in order."""
    count = 8
    write(tmp_path / "data.jsonl", *({"answer": f"Row {at}. rate {at % 5 + 1}"} for at in range(count)))

    def stuck(request: Request) -> Reply:
        return Reply(hang=True) if "Row 5" in str(request.json) else answers(request)

    recording.default = stuck
    asked = command(tmp_path, recording)
    with subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own
        recording.wait_for_request(60)
        while written(tmp_path / "r.json.partial") < count:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    assert not (tmp_path / "r.json").exists()
    journal = (tmp_path / "r.json.partial").read_text(encoding="utf-8").splitlines()
    kept = {json.loads(entry)["line"] for entry in journal[1:]}
    assert kept == {1, 2, 3, 4, 5, 7, 8}

    recording.reset()
    recording.default = answers
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 - our own
    assert (done.returncode, done.stderr) == (0, "")
    assert [texts_of(request)["RESPONSE"] for request in recording.requests] == [
        "The judge is ready.",
        "Row 5. rate 1",
    ]
    results = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [row["outputs.fluency.fluency"] for row in results["rows"]] == [at % 5 + 1 for at in range(count)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.yaml", "data.jsonl", "r.html", "r.json"]


def test_an_interrupted_process_says_that_it_goes_on(tmp_path, recording):
    """After Ctrl-C; what was done is kept."""
    write(tmp_path / "data.jsonl", {"answer": "Row 0."}, {"answer": "Row 1."})
    recording.default = lambda request: Reply(hang=True) if "Row 1" in str(request.json) else answers(request)
    asked = command(tmp_path, recording)
    with subprocess.Popen(  # noqa: S603 - our own
        asked,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a shell's background ignores it
    ) as process:
        recording.wait_for_request(60)
        while written(tmp_path / "r.json.partial") < 2:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "groundwarden: interrupted; the same command goes on from here\n")
    assert written(tmp_path / "r.json.partial") == 2


def test_a_bar_is_shown_on_a_terminal_and_not_in_a_pipe(tmp_path, recording):
    """On standard error; the summary stays whole."""
    write(tmp_path / "data.jsonl", *({"answer": f"Row {at}."} for at in range(3)))
    recording.default = answers
    screen, terminal = pty.openpty()
    done = subprocess.run(  # noqa: S603 - our own
        command(tmp_path, recording), stdout=subprocess.PIPE, stderr=terminal, text=True, check=False, timeout=120
    )
    os.close(terminal)
    shown = os.read(screen, 100_000).decode()
    os.close(screen)
    assert done.returncode == 0
    assert "evaluating [" in shown
    assert "/3" in shown
    assert "evaluating" not in done.stdout
    assert all(metric_of(request) == "fluency" for request in recording.requests)
