"""Server-sent events cut out of a stream of bytes without losing one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: ``raw`` are its bytes with the blank line that ends it, ``data`` its data lines joined by LF.

    ``data`` is None when the event has no data line; ``name`` is the value of its last ``event`` line, or "".
    """

    raw: bytes
    name: bytes = b""
    data: bytes | None = None


class EventSplitter:
    """Cuts bytes into events, in time linear in their number however they arrive.

    Lines end with LF, CRLF or CR. The ``raw`` of all events, joined, are the bytes fed. How the bytes were cut when
    fed makes no difference: a CR at the end of what has arrived waits for the next byte, which may be its LF.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._line = 0
        self._at_start = True

    def feed(self, block: bytes) -> list[Event]:
        """Take more bytes; return the events that they complete."""
        self._buffer += block
        return self._cut(at_end=False)

    def finish(self) -> list[Event]:
        """Return what is left when no more bytes come: an event without its blank line counts as one."""
        events = self._cut(at_end=True)
        if self._buffer:
            events.append(self._event(bytes(self._buffer)))
            self._buffer.clear()
        return events

    def _cut(self, *, at_end: bool) -> list[Event]:
        buffer, events, begun = self._buffer, [], 0
        while (found := _LINE_END.search(buffer, self._searched)) is not None:
            if found.end() == len(buffer) and buffer[-1] == ord("\r") and not at_end:
                break
            blank = found.start() == self._line
            self._searched = self._line = found.end()
            if blank:
                events.append(self._event(bytes(buffer[begun : found.end()])))
                begun = found.end()
        self._searched = len(buffer) if found is None else found.start()
        if begun:
            del buffer[:begun]
            self._searched -= begun
            self._line -= begun
        return events

    def _event(self, raw: bytes) -> Event:
        text = raw.removeprefix(_BOM) if self._at_start else raw
        self._at_start = False
        name, data = b"", []
        for line in _LINE_END.split(text):
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                name = value.removeprefix(b" ")
        return Event(raw, name, b"\n".join(data) if data else None)
