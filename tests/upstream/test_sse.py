"""The splitter of server-sent events."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.upstream.sse import Event, EventSplitter

ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.sampled_from(
    [
        b"",
        b"",
        b"data: {}",
        b"data:x",
        b"data",
        b"data:  two",
        b": comment",
        b"event: error",
        b"id: 1",
        "data: ü👋".encode(),
        b"nonsense",
        b"data: a:b",
    ]
)
STREAMS = st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=12).map(b"".join)
NOISE = st.lists(
    st.sampled_from([b"\n", b"\r", b"data:", b" ", b":", b"x", b"\xef\xbb\xbf", b"\xc3"]), max_size=20
).map(b"".join)


def split(*blocks: bytes) -> list[Event]:
    """All events of a stream that arrives in these blocks."""
    splitter = EventSplitter()
    return [event for block in blocks for event in splitter.feed(block)] + splitter.finish()


@given(STREAMS | NOISE, st.data())
def test_cuts_make_no_difference(stream: bytes, data: st.DataObject) -> None:
    """However the bytes are cut, the events are the same and their bytes joined are the stream."""
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    blocks = [stream[begin:end] for begin, end in zip([0, *places], [*places, len(stream)], strict=True)]
    whole = split(stream)
    assert split(*blocks) == whole
    assert split(*(bytes([byte]) for byte in stream)) == whole
    assert b"".join(event.raw for event in whole) == stream


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(end: bytes) -> None:
    """LF, CRLF and CR end lines alike, and the blank line belongs to the event before it."""
    first, second = end.join([b"data: a", b"data: b", b"", b""]), end.join([b"event: e", b"data:c", b"", b""])
    assert split(first + second) == [Event(first, b"", b"a\nb"), Event(second, b"e", b"c")]


def test_event_is_given_at_once() -> None:
    """An event whose blank line has come is not held back; one that ends in CR waits for a byte, in case of LF."""
    splitter = EventSplitter()
    assert [event.data for event in splitter.feed(b"data: a\n\n")] == [b"a"]
    assert [event.data for event in splitter.feed(b"data: b\r\n\r\n")] == [b"b"]
    assert splitter.feed(b"data: c\r\r") == []
    assert [event.raw for event in splitter.feed(b"\n")] == [b"data: c\r\r\n"]


def test_no_blank_line_at_the_end() -> None:
    """What stands after the last blank line is an event too."""
    assert split(b"data: a\n\ndata: b") == [Event(b"data: a\n\n", b"", b"a"), Event(b"data: b", b"", b"b")]


def test_without_data() -> None:
    """Comments, stray blank lines and events without data are kept as events without data."""
    assert [event.data for event in split(b": ping\n\n\nevent: x\n\ndata\n\n")] == [None, None, None, b""]


def test_byte_order_mark() -> None:
    """A byte order mark at the start is kept in the bytes and no part of a field's name."""
    assert split(b"\xef\xbb\xbfdata: a\n\n") == [Event(b"\xef\xbb\xbfdata: a\n\n", b"", b"a")]


def test_one_space_is_dropped() -> None:
    """One space after the colon belongs to the syntax, a second to the data."""
    assert split(b"data:  a\n\n")[0].data == b" a"


@pytest.mark.parametrize(
    ("line", "block"), [(b"x" * 2_000_000, 1000), (b"x\ndata: " * 200_000, 4096), (b"\ndata: x\n" * 100_000, 4096)]
)
def test_linear_time(line: bytes, block: int) -> None:
    """Two megabytes in one line, in one event of many lines, or in many events, in small blocks, take a moment."""
    stream = b"data: " + line + b"\n\n"
    begun = time.perf_counter()
    events = split(*(stream[begin : begin + block] for begin in range(0, len(stream), block)))
    assert time.perf_counter() - begun < 5
    assert b"".join(event.raw for event in events) == stream
