"""Proto-JSON as Google's servers read it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.grounding.errors import CallerError
from proxy.surfaces.vertex.protojson import Message, Repeated, Strings, read

SHAPE = Message(
    {
        "some_text": "STRING",
        "a_number": "DOUBLE",
        "a_flag": "BOOL",
        "labels": Strings(),
        "many_more": Repeated(Message({"some_text": "STRING"})),
        "few": Repeated(Message({"some_text": "STRING"}), most=2),
    }
)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"someText": "a", "aNumber": 1, "aFlag": false}', {"some_text": "a", "a_number": 1.0, "a_flag": False}),
        ('{"a_number": "-1.5e2", "a_flag": "false"}', {"a_number": -150.0, "a_flag": False}),
        ('{"someText": null, "some_text": "b", "labels": {"x": ""}}', {"some_text": "b", "labels": {"x": ""}}),
        ('{"manyMore": [{"some_text": "a"}, {},],}', {"many_more": [{"some_text": "a"}, {}]}),
        ('{"someText": "a,}\\\\", }', {"some_text": "a,}\\"}),
        ('{"someText": ",]\\"", "manyMore": [ ]\n,\n}', {"some_text": ',]"', "many_more": []}),
    ],
)
def test_a_message_may_be_written_in_more_than_one_way(written: str, expected: object):
    """Names, numbers, booleans, nulls and commas; strings stay as they are."""
    assert read(written.encode(), SHAPE) == expected


@pytest.mark.parametrize(
    ("written", "param"),
    [
        ('{"aNumber": "1,5"}', "a_number"),
        ('{"aNumber": ""}', "a_number"),
        ('{"aNumber": " 1"}', "a_number"),
        ('{"aNumber": "1e999"}', "a_number"),
        ('{"aNumber": 1' + "0" * 400 + "}", "a_number"),
        ('{"aFlag": 0}', "a_flag"),
        ('{"aFlag": {}}', "a_flag"),
        ('{"someText": true}', "some_text"),
        ('{"labels": []}', "labels"),
        ('{"labels": {"a": null}}', "labels"),
        ('{"manyMore": [null]}', "many_more[0]"),
        ('{"manyMore": [{"more": 1}]}', "many_more[0]"),
        ('{"few": [{}, {}, 7]}', "few"),
        ('{"more": 1}', None),
        ('{"SomeText": "a"}', None),
        ('{"someText": "a",, }', None),
        ('{"someText": "a"', None),
    ],
)
def test_what_is_not_the_message_is_refused(written: str, param: str | None):
    """With the field as the proto names it."""
    with pytest.raises(CallerError) as raised:
        read(written.encode(), SHAPE)
    assert raised.value.param == param


@given(st.dictionaries(st.sampled_from(["someText", "some_text"]), st.text(), max_size=1))
def test_any_text_comes_through(body: dict[str, str]):
    """Trailing commas are taken out between values, never in one."""
    loose = json.dumps(body)[:-1] + ("," if body else "") + " }"
    assert list(read(loose.encode(), SHAPE).values()) == list(body.values())


def test_reading_takes_linear_time():
    """A string that never ends, full of escaped quotes, is read once."""
    begin = time.perf_counter()
    with pytest.raises(CallerError):
        read(b'{"someText": "' + b'\\"' * 500_000, SHAPE)
    assert time.perf_counter() - begin < 5


def test_a_list_that_is_too_long_is_not_read():
    """Its length alone refuses it, however much it holds: reading happens where all others wait."""
    body = b'{"few": [' + b'{"someText": "x"},' * 300_000 + b"{}]}"
    begin = time.perf_counter()
    json.loads(body)
    parsed = time.perf_counter() - begin
    with pytest.raises(CallerError, match="few must be at most 2; there are 300001"):
        read(body, SHAPE)
    assert time.perf_counter() - begin - parsed < 5 * parsed + 0.5
