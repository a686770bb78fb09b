"""Lines in a file: whole whatever is killed, shared by several writers, rotated by size."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from proxy.observe.appending import RotatedFile, StandardOutput

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from proxy.observe.appending import RotatedFile
path, size, count, max_bytes = sys.argv[1], *map(int, sys.argv[2:5])
lines = RotatedFile(Path(path), max_bytes=max_bytes, keep=1000)
lines.open()
print("ready", flush=True)
for number in range(count):
    lines.write(b'{"writer": "%d", "number": %d, "pad": "%s"}' % (__import__("os").getpid(), number, b"x" * size))
"""


def file_of(path: Path, max_bytes: int = 10_000_000, keep: int = 3) -> RotatedFile:
    """A file to write to."""
    return RotatedFile(path, max_bytes=max_bytes, keep=keep)


def writer(path: Path, size: int, count: int, max_bytes: int = 10**12) -> subprocess.Popen[bytes]:
    """Another process that writes ``count`` lines of a little more than ``size`` bytes; it has begun."""
    command = [sys.executable, "-c", WRITER, *map(str, (path, size, count, max_bytes))]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)  # noqa: S603 - our own code
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_lines_are_appended_and_nobody_else_may_read_them(tmp_path):
    """Lines end up in the file in order, after what is there; the file is the owner's."""
    path = tmp_path / "audit.jsonl"
    first, second = file_of(path), file_of(path)
    first.open()
    first.write(b"one")
    second.write(b"two")
    first.write(b"three")
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_line_is_one_write(tmp_path, monkeypatch):
    """A line goes to the system in one piece, so that a kill between two leaves nothing half."""
    written = []
    monkeypatch.setattr(os, "write", lambda fd, data: written.append(bytes(data)) or len(data))
    lines = file_of(tmp_path / "audit.jsonl")
    lines.write(b"x" * 100_000)
    assert written == [b"x" * 100_000 + b"\n"]


@pytest.mark.parametrize("begin", ["open", "write"])
def test_a_torn_line_is_ended_before_another_is_written(tmp_path, begin):
    """What a killed writer left unfinished is closed off at the start, and at every line of others."""
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"whole": 1}\n{"torn": ')
    lines = file_of(path)
    if begin == "open":
        lines.open()
        assert path.read_bytes().endswith(b'{"torn": \n')
    lines.write(b'{"whole": 2}')
    assert path.read_bytes() == b'{"whole": 1}\n{"torn": \n{"whole": 2}\n'


def test_a_kill_within_a_write_tears_no_line_but_its_own(tmp_path):
    """A writer killed with -9 in the midst of a huge line leaves a part of it; the next line stands by itself."""
    path = tmp_path / "audit.jsonl"
    for _ in range(20):
        path.unlink(missing_ok=True)
        process = writer(path, 64_000_000, 4)
        while path.stat().st_size == 0:
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if not path.read_bytes().endswith(b"\n"):
            break
    else:
        pytest.skip("this system finishes every write before it obeys a kill")
    file_of(path, max_bytes=10**12).write(b'{"whole": 1}')  # else a part of over 10 MB would be rotated away
    *_, torn, last = path.read_bytes().splitlines()
    assert json.loads(last) == {"whole": 1}
    with pytest.raises(json.JSONDecodeError):
        json.loads(torn)
    path.unlink()


def test_writers_of_several_processes_lose_and_mix_nothing(tmp_path):
    """Three processes that write and rotate at once: every line is whole, and each is there once."""
    path = tmp_path / "audit.jsonl"
    processes = [writer(path, 3_000, 150, max_bytes=7_000) for _ in range(3)]
    for process in processes:
        assert process.wait(60) == 0
        process.stdout.close()
    files = list(tmp_path.iterdir())
    lines = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    assert len({(line["writer"], line["number"]) for line in lines}) == len(lines) == 450
    assert len(files) == 225  # two lines a file: nobody rotates what another has just made
    assert all(file.stat().st_size <= 7_000 for file in files)


def test_the_file_is_rotated_by_size_and_old_ones_go(tmp_path):
    """Before a file grows beyond its size it gets a number; the highest number falls away. A long line is kept."""
    path = tmp_path / "audit.jsonl"
    lines = file_of(path, max_bytes=10, keep=2)
    for line in (b"a" * 9, b"b" * 4, b"c" * 4, b"d" * 50, b"e"):
        lines.write(line)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "audit.jsonl": b"e\n",
        "audit.jsonl.1": b"d" * 50 + b"\n",
        "audit.jsonl.2": b"bbbb\ncccc\n",
    }


@pytest.mark.parametrize("how", ["moved", "removed"])
def test_a_file_that_others_move_or_remove_is_made_anew(tmp_path, how):
    """Who rotates the file from outside finds the next line in a new one."""
    path = tmp_path / "audit.jsonl"
    lines = file_of(path)
    lines.write(b"one")
    if how == "moved":
        path.rename(tmp_path / "old")
    else:
        path.unlink()
    lines.write(b"two")
    assert path.read_bytes() == b"two\n"


def test_a_folder_that_comes_back_is_written_to_again(tmp_path):
    """A failure is raised each time, and is over when its cause is."""
    path = tmp_path / "later" / "audit.jsonl"
    lines = file_of(path)
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            lines.write(b"lost")
    path.parent.mkdir()
    lines.write(b"there")
    assert path.read_bytes() == b"there\n"


def test_a_full_disk_leaves_no_line_glued_to_another():
    """A write that the system cuts short fails, and the next one that succeeds begins a new line."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(OSError, match="No space left"):
        file_of(full).write(b"lost")


def test_standard_output_and_pipes_take_lines(capfd, tmp_path):
    """Lines go to standard output, and to a pipe by name, neither of which can be rotated."""
    StandardOutput().write(b"one")
    assert capfd.readouterr().out == "one\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []

    def read_on() -> None:
        with pipe.open("rb") as end:
            read.append(end.read(8))

    reading = threading.Thread(target=read_on)
    reading.start()
    lines = file_of(pipe, max_bytes=1)
    lines.open()
    lines.write(b"one")
    lines.write(b"two")
    reading.join(5)
    lines.close()
    assert read == [b"one\ntwo\n"]
