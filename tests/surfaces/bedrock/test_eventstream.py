"""The encoder of AWS's event streams, read back by botocore's own decoder."""

from __future__ import annotations

import json
from binascii import crc32
from typing import Any

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from proxy.surfaces.bedrock.eventstream import MAX_HEADERS, MAX_PAYLOAD, encode, event, exception

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
HEADERS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), TEXTS, max_size=5)


def decoded(*pieces: bytes) -> list[Any]:
    """What botocore makes of a stream that comes in these pieces."""
    buffer = EventStreamBuffer()
    found = []
    for piece in pieces:
        buffer.add_data(piece)
        found += list(buffer)
    return found


@given(HEADERS, st.binary(max_size=500))
def test_botocore_reads_back_what_was_written(headers: dict[str, str], payload: bytes):
    """Headers and payload come back as they were, whatever they hold."""
    [message] = decoded(encode(headers, payload))
    assert (message.headers, message.payload) == (headers, payload)


def test_a_stream_may_be_cut_at_every_byte():
    """Wherever two frames are cut in two, and cut into single bytes, the decoder finds the same two events."""
    raw = event("first", {"text": "Tōkyō 🗼"}) + event("second", {"n": 1, "surrogate": "\ud800"})
    whole = decoded(raw)
    assert [message.headers[":event-type"] for message in whole] == ["first", "second"]
    assert [json.loads(message.payload) for message in whole] == [
        {"text": "Tōkyō 🗼"},
        {"n": 1, "surrogate": "\ud800"},
    ]
    for at in range(len(raw) + 1):
        cut = decoded(raw[:at], raw[at:])
        assert [(message.headers, message.payload) for message in cut] == [
            (message.headers, message.payload) for message in whole
        ]
    assert len(decoded(*(raw[at : at + 1] for at in range(len(raw))))) == 2


def test_every_byte_is_checked():
    """No byte of a frame can be flipped without the decoder's noticing, or waiting for more."""
    raw = event("name", {"text": "x"})
    for at in range(len(raw)):
        flipped = bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]])
        with pytest.raises(ChecksumMismatch):
            decoded(flipped)
    assert raw[-4:] == crc32(raw[:-4]).to_bytes(4, "big")


def test_an_exception_is_an_event_of_its_own_type():
    """An exception says its name in ``:exception-type``, and botocore makes an error of it."""
    [message] = decoded(exception("throttlingException", "Too much."))
    assert message.headers[":message-type"] == "exception"
    parsed = message.to_response_dict()
    assert (parsed["status_code"], json.loads(parsed["body"])) == (400, {"message": "Too much."})


@pytest.mark.parametrize(
    ("headers", "payload"),
    [
        ({"n" * 256: "v"}, b""),
        ({"": "v"}, b""),
        ({"n": "v" * 2**15}, b""),
        ({f"n{at}": "v" * 32_000 for at in range(5)}, b""),
        ({}, b"x" * (MAX_PAYLOAD + 1)),
    ],
    ids=["long name", "no name", "long value", "long headers", "long payload"],
)
def test_what_no_decoder_takes_is_not_written(headers: dict[str, str], payload: bytes):
    """Names, values, headers and payloads over a decoder's limits raise ValueError."""
    with pytest.raises(ValueError, match="at most"):
        encode(headers, payload)


def test_the_longest_frame_is_read():
    """A payload and headers at the limits are still read."""
    headers = {f"{at}": "v" * 32_762 for at in range(4)}
    assert sum(1 + len(name) + 3 + len(value) for name, value in headers.items()) <= MAX_HEADERS
    [message] = decoded(encode(headers, b"x" * MAX_PAYLOAD))
    assert (len(message.payload), message.headers) == (MAX_PAYLOAD, headers)
