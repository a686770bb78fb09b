"""Lines appended to a file that several processes may share, that is rotated by size, and that a kill cannot tear.

A line is one ``write()`` to a file opened for appending, under a lock that the kernel releases when its holder dies. A
writer that finds the last line unfinished (its writer was killed within the write, or the disk was full) ends it first,
so that no line is ever glued to another's torn one. The file may be moved or removed by others: writers follow its
name. What a killed process has written stays; what a machine that loses its power had not yet put on disk does not.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MODE = 0o600  # what is written may hold texts
_TRIES = 100
_STDOUT = 1


class Lines(Protocol):
    """Where lines go. All methods raise ``OSError`` when that fails."""

    def open(self) -> None:
        """Make sure that lines can be written, and end one that was left unfinished."""
        ...

    def write(self, line: bytes) -> None:
        """Write one line, given without its line break."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class StandardOutput:
    """Lines on standard output, for whoever collects it."""

    def open(self) -> None:
        """It is open."""

    def write(self, line: bytes) -> None:
        """Write one line."""
        _write(_STDOUT, line + b"\n")

    def close(self) -> None:
        """It stays open."""


class RotatedFile:
    """Lines in a file. Before it grows beyond ``max_bytes`` it becomes ``NAME.1``, that ``NAME.2``, up to ``keep``."""

    def __init__(self, path: Path, *, max_bytes: int, keep: int) -> None:
        self._path, self._max_bytes, self._keep = path, max_bytes, keep
        self._fd: int | None = None

    def open(self) -> None:
        """Open or make the file; end a line that was left unfinished."""
        fd = self._opened()
        with _locked(fd):
            if _is_file(fd) and _torn(fd):
                _write(fd, b"\n")

    def write(self, line: bytes) -> None:
        """Write one line."""
        try:
            self._append(line + b"\n")
        except OSError:
            self.close()  # opened anew by the next: the disk, or the folder, may be another by then
            raise

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _append(self, line: bytes) -> None:
        for _ in range(_TRIES):
            fd = self._opened()
            with _locked(fd):
                if not _is_file(fd):
                    _write(fd, line)
                    return
                if self._in_place(fd):
                    size = os.fstat(fd).st_size
                    if not size or size + len(line) <= self._max_bytes:
                        _write(fd, b"\n" + line if _torn(fd) else line)
                        return
                    self._rotate()
            self.close()  # it has another name now
        message = "the file is moved away again and again"
        raise OSError(message)

    def _opened(self) -> int:
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY, _MODE)
        return self._fd

    def _in_place(self, fd: int) -> bool:
        """Whether the open file still has its name: another process may have rotated it."""
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(fd))

    def _rotate(self) -> None:
        """Move the names on. The lock on the file that has the first one keeps others from doing the same."""
        free = 1
        while free < self._keep and self._numbered(free).exists():
            free += 1
        for number in range(free - 1, 0, -1):
            self._numbered(number).replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _is_file(fd: int) -> bool:
    """Whether it is an ordinary file: a pipe or a terminal has no size, and no line to end."""
    return stat.S_ISREG(os.fstat(fd).st_mode)


def _torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def _write(fd: int, data: bytes) -> None:
    """One ``write()``; more only where the system took less than all."""
    while data:
        data = data[os.write(fd, data) :]


@contextmanager
def _locked(fd: int) -> Iterator[None]:
    """Hold the file's lock, where the file system knows locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        yield  # one write() to a file opened for appending is whole by itself, only rotation by several is not safe
        return
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
