"""The progress bar: drawn on a terminal, silent in a pipe, gone at the end."""

import io

import pytest

from proxy.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        """Say so."""
        return True


def test_a_terminal_sees_how_far_it_is(monkeypatch):
    """Count, bar and time left are drawn on one line, which is empty at the end."""
    now = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    stream = Terminal()
    with Progress(4, "scoring", stream=stream) as progress:
        progress.step()
        progress.step()
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn[1] == f"scoring [{'.' * 30}] 0/4"
    assert drawn[3] == f"scoring [{'#' * 15}{'.' * 15}] 2/4, 0:03 left"
    assert drawn[-1] == ""


def test_it_is_not_drawn_at_every_step():
    """Quick steps cost no drawing."""
    stream = Terminal()
    with Progress(1000, "scoring", stream=stream) as progress:
        for _ in range(1000):
            progress.step()
    assert stream.getvalue().count("\r") < 10


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 5), (Terminal(), 0)])
def test_a_pipe_sees_nothing(stream, total):
    """Nor is there a bar for no work at all."""
    with Progress(total, "scoring", stream=stream) as progress:
        progress.step()
    assert stream.getvalue() == ""


def test_it_is_gone_after_an_interruption():
    """Ctrl-C leaves a clean line."""
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt), Progress(3, "scoring", stream=stream):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("\r\x1b[K")
