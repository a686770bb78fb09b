"""What is done is kept line by line, so that work that was cut short, even by a kill, goes on where it was.

The first line says under which settings the others were made; under others the work begins anew. A row is known by its
line and the digest of its text. A last line without an end was cut off in writing and is dropped. A file that begins
otherwise, or a link, is somebody's own: it is refused and left as it is.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from proxy.evaluate.rows import Row


class Journal:
    """The rows that are done. One process at a time: a second raises ``ValueError``."""

    def __init__(self, file: Path, settings: dict[str, Any]) -> None:
        self.file = file
        self.restarted = False
        """Whether there was work under other settings, which is of no use now."""
        self._settings = settings
        self._done: dict[tuple[int, str], dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self._stream = self._opened()
        try:
            self._lock()
            self._resume()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def done(self, row: Row) -> dict[str, Any] | None:
        """A row's outputs, if they are known."""
        return self._done.get((row.line, row.digest))

    def keep(self, row: Row, outputs: dict[str, Any]) -> None:
        """Write a row's outputs down, so that they outlive this process."""
        self._done[row.line, row.digest] = outputs
        self._write({"line": row.line, "digest": row.digest, "outputs": outputs})

    def remove(self) -> None:
        """Forget all of it: the work is done."""
        self.file.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        try:
            return os.fdopen(os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666), "a+b")
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise self._not_ours() from None

    def _not_ours(self) -> ValueError:
        return ValueError(f"{self.file}: is not what an evaluation left; name another --output, or move the file away")

    def _lock(self) -> None:
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            message = f"{self.file}: is being written by another evaluation; name another --output"
            raise ValueError(message) from None

    def _resume(self) -> None:
        self._stream.seek(0)
        held = self._stream.read()
        begin = _line(self._settings).partition(b":")[0]
        if not (held.startswith(begin) or begin.startswith(held)):
            raise self._not_ours()
        whole = held.split(b"\n")[:-1]
        try:
            first, *others = (json.loads(line) for line in whole)
            written = {(entry["line"], entry["digest"]): entry["outputs"] for entry in others}
        except (ValueError, KeyError, TypeError):
            first, written = None, {}
        if first == self._settings:
            self._done = written
            self._stream.truncate(sum(len(line) + 1 for line in whole))
            return
        self.restarted = bool(written)
        self._stream.truncate(0)
        self._write(self._settings)

    def _write(self, entry: dict[str, Any]) -> None:
        self._stream.write(_line(entry))
        self._stream.flush()
        os.fsync(self._stream.fileno())


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"
