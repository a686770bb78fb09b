"""An upstream's error after the model has spoken: its words about servers, and none of the model's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from surfaces.support import GOOD, SECRET, World, everything, spells, streams

from proxy.grounding.errors import UpstreamError, UpstreamTimeout
from proxy.surfaces.midstream import harmless
from proxy.upstream.replies import error_for

KEPT = [
    "Overloaded.",
    "The server had an error while processing your request. Sorry about that!",
    "Rate limit reached for requests. Please try again in 20 seconds.",
    "Internal Server Error",
    "upstream connection closed unexpectedly",
    "The context length of 8192 tokens was exceeded.",
    "Request timed out.",
]
GONE = [
    f"Failed to parse: {SECRET}",
    "The capital of Japan is Osaka.",
    "Osaka",
    "The answer is 42.",
    "request " * 41,
    "is the limit 1 2 3",
    "error 12345678",
    "日本",
    "ｅｒｒｏｒ",
    "",
]


def quoted(message: str, **fields: Any) -> UpstreamError:
    """An error as the upstream puts it."""
    return error_for(500, {"error": {"message": message, **fields}})


@pytest.mark.parametrize("message", KEPT)
def test_words_about_servers_are_kept(message: str):
    """As upstreams put them, with the type and the code."""
    error = harmless(quoted(message, type="server_error", code="rate_limit_exceeded"))
    assert (error.message, error.type, error.code) == (message, "server_error", "rate_limit_exceeded")


@pytest.mark.parametrize("message", GONE)
def test_other_words_are_not(message: str):
    """Nor in the type, the code and the parameter."""
    error = harmless(quoted(message, type=message, code=message, param=message))
    assert error.message == "The model's answer broke off."
    assert (error.type, error.code, error.param) == (None, None, None)


def test_camels_are_words():
    """Servers name errors so."""
    assert harmless(quoted("Overloaded", type="InternalServerError")).type == "InternalServerError"


@given(st.text(max_size=60))
def test_whatever_leaves_is_of_few_words(text: str):
    """No text gets through but one of known words."""
    error = harmless(quoted(f"error {text}"))
    assert error.message in ("The model's answer broke off.", f"error {text}")
    assert error.message.isascii()


def test_what_is_ours_stays():
    """It quotes nobody."""
    for error in (UpstreamTimeout("The model did not answer in time."), UpstreamError("The model's answer broke off.")):
        assert harmless(error) is error


@pytest.mark.parametrize("policy", ["default", "buffered", "after", "error"])
@pytest.mark.parametrize("before", [1, 4, 14])
def test_an_error_carries_no_text_past_the_gate(world: World, policy: str, before: int):
    """Whether something has left by then or not, and wherever in the error it stands."""
    said = f"The model said: {SECRET} is not in the documents"
    error = {"error": {"message": said, "type": SECRET, "param": SECRET, "code": SECRET, "failed_generation": said}}
    reply = world.told(streams(*spells(f"{GOOD} {GOOD} {GOOD}")[:before], error), policy, stream=True)
    assert SECRET.encode() not in everything(reply)
    assert b"error" in reply.content


def test_what_nobody_judges_keeps_its_error(world: World):
    """Without a source the upstream's words are the caller's business, as its text is."""
    error = {"error": {"message": "No such tool: look", "code": "tool"}}
    reply = world.told(streams(*spells(GOOD)[:4], error), stream=True, grounding=None)
    assert b"No such tool: look" in reply.content
