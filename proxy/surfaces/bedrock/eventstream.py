"""``application/vnd.amazon.eventstream``: the binary frames in which AWS streams (botocore decodes them and no more).

A frame is, in big-endian order: its whole length and its headers' length (4 bytes each), the CRC-32 of those 8 bytes,
the headers, the payload, and the CRC-32 of all before it. A header is the length of its name (1 byte), the name, the
type (1 byte; 7 is a string), the length of its value (2 bytes), the value. Payloads here are JSON objects.
"""

from __future__ import annotations

from binascii import crc32
from struct import pack
from typing import TYPE_CHECKING, Any

from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENT_TYPE = "application/vnd.amazon.eventstream"

MAX_HEADERS, MAX_PAYLOAD = 128 * 1024, 24 * 1024 * 1024
"""Bytes that a decoder takes at most: botocore's own limits."""

_STRING = 7
_AROUND = 16  # two lengths and two checksums
_MAX_NAME, _MAX_VALUE = 2**8 - 1, 2**15 - 1


def event(name: str, payload: Mapping[str, Any]) -> bytes:
    """One event, named as the service model's stream shape names its member. Raises ``ValueError`` if too long."""
    return _json_frame({":message-type": "event", ":event-type": name}, payload)


def exception(name: str, message: str) -> bytes:
    """An exception as an event, after which nothing may follow; ``name`` is the stream shape's member."""
    return _json_frame({":message-type": "exception", ":exception-type": name}, {"message": message})


def _json_frame(headers: Mapping[str, str], payload: Mapping[str, Any]) -> bytes:
    return encode({**headers, ":content-type": "application/json"}, to_json(payload))


def encode(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One frame with string headers. Raises ``ValueError`` for what a decoder would refuse."""
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    if len(head) > MAX_HEADERS or len(payload) > MAX_PAYLOAD:
        message = f"a frame holds at most {MAX_HEADERS} bytes of headers and {MAX_PAYLOAD} of payload"
        raise ValueError(message)
    prelude = pack("!II", _AROUND + len(head) + len(payload), len(head))
    begun = prelude + pack("!I", crc32(prelude)) + head + payload
    return begun + pack("!I", crc32(begun))


def _header(name: bytes, value: bytes) -> bytes:
    if not 0 < len(name) <= _MAX_NAME or len(value) > _MAX_VALUE:
        message = f"a header's name has 1 to {_MAX_NAME} bytes, its value at most {_MAX_VALUE}"
        raise ValueError(message)
    return pack("!B", len(name)) + name + pack("!BH", _STRING, len(value)) + value
