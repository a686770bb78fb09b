"""Records: values that cannot change, handed to every sink whatever the others do."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from proxy.guard.record import Record, fan_out


def make_record():
    """Make the smallest record: a request that failed before anything was known."""
    return Record(
        request_id="r1",
        tenant="",
        policy="",
        policy_version="",
        surface="chat",
        model="",
        outcome=None,
        status=401,
        total_seconds=0.001,
    )


def test_what_did_not_happen_is_none_or_empty():
    """A record of a failure needs only what every request has; the rest says that it did not happen."""
    record = make_record()
    assert (record.grounding, record.relevance, record.error, record.upstream_seconds) == (None, None, None, None)
    assert (record.reasons, record.bypasses, record.scorer_errors) == ((), (), ())
    assert (record.claims, record.source_chars, record.stream) == (0, 0, False)


def test_a_record_cannot_be_changed():
    """A record is frozen, so a sink cannot alter what the next one sees."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_record().status = 200
    assert not hasattr(make_record(), "__dict__")


def test_every_sink_gets_the_record_in_order():
    """Each sink gets the same record, in the order given."""
    seen = []
    record = make_record()
    fan_out(lambda got: seen.append(("first", got)), lambda got: seen.append(("second", got)))(record)
    assert seen == [("first", record), ("second", record)]


def test_a_failing_sink_is_logged_and_hides_nothing_from_the_others(caplog):
    """A sink that raises neither fails the request nor keeps the record from the others, and the log says so."""
    seen = []

    def fail(record):
        raise OSError

    with caplog.at_level(logging.ERROR):
        fan_out(fail, seen.append)(make_record())
    assert seen == [make_record()]
    [entry] = caplog.records
    assert entry.exc_info[0] is OSError


def test_cancellation_is_not_swallowed():
    """What is not an error of the sink, like an interrupt, passes through."""

    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fan_out(interrupt)(make_record())


def test_no_sinks_are_fine():
    """A fan without sinks takes records and does nothing."""
    fan_out()(make_record())
