"""A progress bar for long work: on a terminal, and nothing where the output is piped."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from types import TracebackType

_WIDTH = 30
_EVERY = 0.1


class Progress:
    """Counts ``total`` steps of ``what`` on one line of ``stream`` (standard error), which it clears at its end.

    ::

        with Progress(len(rows), "scoring") as progress:
            for row in rows:
                …
                progress.step()
    """

    def __init__(self, total: int, what: str, *, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty() and total > 0
        self._total = total
        self._what = what
        self._done = 0
        self._began = time.monotonic()
        self._drawn = float("-inf")

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._shown or now - self._drawn < _EVERY:
            return
        self._drawn = now
        filled = _WIDTH * self._done // self._total
        bar = "#" * filled + "." * (_WIDTH - filled)
        self._write(f"{self._what} [{bar}] {self._done}/{self._total}{self._left(now)}")

    def _left(self, now: float) -> str:
        """What the rest will take at the pace so far."""
        if not self._done:
            return ""
        seconds = round((now - self._began) / self._done * (self._total - self._done))
        return f", {seconds // 60}:{seconds % 60:02} left"

    def _write(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()
