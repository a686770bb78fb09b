"""Logs: one JSON line a record, only names and numbers, nothing a caller can forge or smuggle text into."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import io
import json
import logging
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.errors import CallerError
from proxy.grounding.tags import validate_suffix
from proxy.grounding.types import Outcome
from proxy.guard.record import Record
from proxy.observe.log import MAX_CAUSES, MAX_FRAMES, MAX_MESSAGE, MAX_NAME, LogSink, configure

LOGGERS = ("", "uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


@pytest.fixture(autouse=True)
def logging_restored():
    """Put logging back as it was."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate
    logging.getLogger().manager._clear_cache()


def make_record(**changes):
    """Make a record of a passed exchange."""
    values = {
        "request_id": "req-1",
        "tenant": "acme",
        "policy": "default",
        "policy_version": "0123abcd",
        "surface": "chat",
        "model": "openai/gpt-4o:latest",
        "outcome": Outcome.PASSED,
        "status": 200,
        "total_seconds": 1.23456789,
    }
    return Record(**(values | changes))


def logged(action, level=logging.INFO):
    """Return the lines that an action logs, parsed."""
    stream = io.StringIO()
    configure(stream, level)
    action()
    text = stream.getvalue()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def line_of(**changes):
    """Return the one line a record leaves."""
    [line] = logged(lambda: LogSink()(make_record(**changes)))
    return line


def test_a_record_is_one_line_of_its_fields():
    """A record leaves exactly one line, with durations in milliseconds and scores of four decimals."""
    line = line_of(
        grounding=0.123456,
        relevance=1.0,
        reasons=("grounding",),
        bypasses=("json", "images"),
        scorer_errors=("timeout",),
        scoring_seconds=0.0123456,
        upstream_seconds=1.0,
        first_token_seconds=0.5,
        added_seconds=0.25,
        claims=3,
        source_chars=100,
        query_chars=10,
        answer_chars=50,
        stream=True,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line.pop("time"))
    assert line == {
        "level": "info",
        "logger": "groundwarden.request",
        "message": "request",
        "request_id": "req-1",
        "tenant": "acme",
        "policy": "default",
        "policy_version": "0123abcd",
        "surface": "chat",
        "model": "openai/gpt-4o:latest",
        "outcome": "passed",
        "status": 200,
        "grounding": 0.1235,
        "relevance": 1.0,
        "reasons": ["grounding"],
        "bypasses": ["json", "images"],
        "scorer_errors": ["timeout"],
        "scoring_ms": 12.346,
        "upstream_ms": 1000.0,
        "first_token_ms": 500.0,
        "added_ms": 250.0,
        "total_ms": 1234.568,
        "claims": 3,
        "source_chars": 100,
        "query_chars": 10,
        "answer_chars": 50,
        "stream": True,
        "retries": 0,
    }


def test_every_field_of_a_record_is_logged():
    """No field of a record is forgotten but what holds texts: each is in the line, seconds as milliseconds."""
    full = {"error": "x"} | dict.fromkeys(
        [
            "grounding",
            "relevance",
            "scoring_seconds",
            "upstream_seconds",
            "first_token_seconds",
            "added_seconds",
        ],
        0.5,
    )
    expected = {field.name.replace("_seconds", "_ms") for field in dataclasses.fields(Record)} - {"judged"}
    assert expected <= set(line_of(**full))


def test_a_failed_request_says_why_and_has_no_outcome():
    """A request without verdict is logged with its error's code; what did not happen is left out."""
    line = line_of(outcome=None, status=429, error="scorer_overloaded")
    assert (line["status"], line["error"]) == (429, "scorer_overloaded")
    assert not {"outcome", "grounding", "upstream_ms"} & set(line)


CALLERS_NAMES = ("request_id", "tenant", "policy", "policy_version", "surface", "model", "error")


@settings(deadline=None)
@given(st.sampled_from(CALLERS_NAMES), st.text(st.characters(codec=None)))
def test_no_name_can_inject(field, name):
    """Whatever a caller names itself, its line stays one line of ASCII, and the name one short word."""
    stream = io.StringIO()
    configure(stream)
    LogSink()(make_record(**{field: name}))
    text = stream.getvalue()
    assert text.isascii()
    assert text.count("\n") == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    assert re.fullmatch(r"[\w._:/@+-]*…?", json.loads(text)[field])


@pytest.mark.parametrize("field", CALLERS_NAMES)
def test_forged_lines_stay_in_their_name(field):
    """Newlines, escapes, quotes, spaces and directional marks in a name are replaced."""
    forged = 'a\nb\r{"c": "d"}\x1b[31m\u2028\u202e\x00 e'
    assert line_of(**{field: forged})[field] == "a_b___c_:__d____31m____e"


def test_words_are_cleaned_too():
    """Reasons, bypasses and scorer errors are cleaned like names."""
    line = line_of(reasons=("a b",), bypasses=("c\nd",), scorer_errors=("e" * 1000,))
    assert (line["reasons"], line["bypasses"]) == (["a_b"], ["c_d"])
    assert len(line["scorer_errors"][0]) == MAX_NAME


def test_a_very_long_name_is_cut():
    """A name of any length takes a bounded part of a line."""
    model = line_of(model="m" * 10_000_000)["model"]
    assert len(model) == MAX_NAME
    assert model.endswith("…")


def test_a_record_has_no_field_for_text():
    """All that a record holds as a string is a name or a word: no field of it is meant for text."""
    strings = {field.name for field in dataclasses.fields(Record) if "str" in str(field.type)}
    assert strings == {*CALLERS_NAMES, "reasons", "bypasses", "scorer_errors"}


def test_a_message_is_one_bounded_line():
    """Any logger's message stays on its line and is cut when it is very long."""
    [line] = logged(lambda: logging.getLogger("any").warning("a\nb %s", "c" * MAX_MESSAGE))
    assert line["message"].startswith("a\nb ccc")
    assert len(line["message"]) == MAX_MESSAGE


def test_an_exception_is_logged_without_its_text():
    """A foreign exception is logged by type and place, and its message, which may quote a prompt, is not."""

    def fail():
        try:
            try:
                int("the patient's secret")
            except ValueError as error:
                {}[f"another secret: {error}"]
        except KeyError:
            logging.getLogger("any").exception("failed")

    [line] = logged(fail)
    assert [error["type"] for error in line["exceptions"]] == ["builtins.KeyError", "builtins.ValueError"]
    assert re.search(r"test_log\.py:\d+ .*fail$", line["exceptions"][0]["frames"][-1])
    assert "secret" not in json.dumps(line)


def test_our_own_errors_keep_their_public_message():
    """The message of an error of ours is public by contract, so it is logged."""

    def fail():
        try:
            validate_suffix("no suffix")
        except CallerError:
            logging.getLogger("any").exception("failed")

    [line] = logged(fail)
    assert line["exceptions"][0]["message"].startswith("amazon-bedrock-guardrailConfig.tagSuffix must be")


def test_a_deep_exception_is_bounded():
    """Deep recursion and long chains of causes leave a bounded line."""

    def dig(depth):
        if depth == 0:
            raise RuntimeError
        try:
            dig(depth - 1)
        except RuntimeError as error:
            raise RuntimeError from error

    def fail():
        try:
            dig(30)
        except RuntimeError:
            logging.getLogger("any").exception("failed")

    [line] = logged(fail)
    assert len(line["exceptions"]) == MAX_CAUSES
    assert all(len(error["frames"]) <= MAX_FRAMES for error in line["exceptions"])


def test_a_hidden_context_is_not_logged():
    """An exception raised from None is logged alone."""

    def hide():
        try:
            {}["secret"]
        except KeyError:
            raise RuntimeError from None

    def fail():
        try:
            hide()
        except RuntimeError:
            logging.getLogger("any").exception("failed")

    [line] = logged(fail)
    assert len(line["exceptions"]) == 1


def test_exc_info_without_an_exception_is_harmless():
    """A logger asked for an exception when there is none logs its message alone."""
    [line] = logged(lambda: logging.getLogger("any").error("nothing", exc_info=True))  # noqa: LOG014 - the point
    assert "exceptions" not in line


def test_asyncio_does_not_say_what_a_task_choked_on():
    """Its message about an error that nobody fetched quotes the error; ours names type and place."""

    def fails(text: str) -> None:
        raise ValueError(text)

    async def fails_too(text: str) -> None:
        raise ValueError(text)

    async def leaves() -> None:
        task = asyncio.ensure_future(fails_too("planted-7f3a"))
        asyncio.get_running_loop().call_soon(fails, "planted-7f3a")
        await asyncio.sleep(0.01)
        del task
        gc.collect()

    callback, task = logged(lambda: asyncio.run(leaves()))
    assert callback["message"].startswith("Exception in callback test_asyncio")
    assert task["message"] == "Task exception was never retrieved"
    assert [each["exceptions"][0]["type"] for each in (callback, task)] == ["builtins.ValueError"] * 2
    assert "planted" not in json.dumps([callback, task])


def test_uvicorn_logs_through_us_and_its_access_log_is_silent():
    """What uvicorn says becomes our JSON lines once; its access log, which repeats the records, is gone."""
    for name in LOGGERS[1:]:
        logging.getLogger(name).addHandler(logging.StreamHandler(io.StringIO()))
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # as an embedded uvicorn may have left it

    def speak():
        logging.getLogger("uvicorn.error").info("started")
        logging.getLogger("uvicorn.access").error("GET /secret")

    [line] = logged(speak)
    assert (line["logger"], line["message"]) == ("uvicorn.error", "started")
    assert not logging.getLogger("uvicorn.access").hasHandlers()


def test_the_level_is_obeyed():
    """Lines under the level are not written."""
    assert logged(lambda: logging.getLogger("any").info("quiet"), "WARNING") == []
    assert logged(lambda: LogSink()(make_record()), "WARNING") == []


def test_an_unknown_level_is_refused():
    """A level that does not exist is an error at the start, not silence later."""
    with pytest.raises(ValueError, match="LOUD"):
        configure(io.StringIO(), "LOUD")


def test_configuring_twice_logs_once():
    """The last configuration replaces the one before."""
    first = io.StringIO()
    configure(first)
    assert len(logged(lambda: logging.getLogger("any").info("once"))) == 1
    assert first.getvalue() == ""


def test_standard_error_is_the_default():
    """Without a stream, lines go to the process's standard error as it is at that moment."""
    configure()
    [handler] = logging.getLogger().handlers
    assert handler.stream is sys.stderr
