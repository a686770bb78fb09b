"""Known metadata by its looks, and text for what it is, whatever the field that holds it."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import pytest
from surfaces.support import GOOD, SECRET, World, answer, choice, chunk, delta, everything, spells, streams

from proxy.surfaces.metadata import Padding, fits

SENTENCE = f"{SECRET} is what nobody judged"
OUTCOME = "x-groundwarden-outcome"

KNOWN = [
    ("id", "chatcmpl-AbC123"),
    ("id", "resp_" + "0a" * 100),
    ("id", None),
    ("model", "accounts/acme/models/llama-v3p1-8b-instruct#accounts/acme/deployments/ab12cd34ef56"),
    ("provider", "OpenAI"),
    ("provider", "Google AI Studio"),
    ("provider", "deepinfra/fp8"),
    ("obfuscation", "aB3dE5xY"),
    ("p", "abcdefghijklmnopqrstuvwxyzABC"),
    ("citations", ["https://example.com/a?b=c", "https://example.com/d"]),
    ("citations", [{"url": "https://example.com", "title": "A page", "start": 3}]),
    ("search_results", [{"title": "A page", "url": "https://example.com", "date": "2025-01-01", "snippet": "It is."}]),
    ("annotations", [{"type": "url_citation", "url_citation": {"url": "u", "title": "A page", "start_index": 1}}]),
    ("extra_content", {"google": {"thought": True, "thought_signature": "Q2lRQmZ" * 40 + "=="}}),
]
ODD = [
    ("id", SENTENCE),
    ("model", SENTENCE),
    ("model", {"note": SENTENCE}),
    ("provider", SENTENCE),
    ("provider", "It is covered"),
    ("provider", ["It", "is"]),
    ("obfuscation", SENTENCE),
    ("obfuscation", "x" * 65),
    ("obfuscation", {"a": 1}),
    ("p", "Paris"),
    ("citations", [SENTENCE]),
    ("citations", [{"verdict": SENTENCE}]),
    ("annotations", [{"type": "note", "note": SENTENCE}]),
    ("annotations", [{"type": "x", "answer": "Paris"}]),
    ("extra_content", {"google": {"note": SENTENCE}}),
    ("extra_content", {"google": {"text": "Paris"}}),
    ("extra_content", {"google": {"thought_signature": SENTENCE}}),
    ("extra_content", SENTENCE),
]


@pytest.mark.parametrize(("name", "value"), KNOWN)
def test_metadata_that_looks_like_itself_is_none(name: str, value: Any):
    """As providers send it."""
    assert fits(name, value)


@pytest.mark.parametrize(("name", "value"), ODD)
def test_text_in_a_known_field_does_not_look_like_it(name: str, value: Any):
    """A sentence, a word where somebody speaks, or another kind of value."""
    assert not fits(name, value)


def test_random_padding_spells_nothing():
    """However long the stream, what OpenAI pads its chunks with is not taken for words; words are."""
    random.seed(7)
    letters = string.ascii_letters + string.digits
    taken = 0
    for _ in range(500):
        padding = Padding()
        for _chunk in range(random.choice([3, 10, 300])):
            padding.add("".join(random.choices(letters, k=random.randint(0, 20))))
        assert not padding.spells(surely=True)
        taken += padding.spells(surely=False)
    assert taken < 20
    padding = Padding()
    for word in ("Tokyo", "stands", "for", "Japan"):
        padding.add(word)
    assert padding.spells(surely=True)


PLACES: dict[str, Any] = {
    "provider": lambda text: {"provider": text},
    "obfuscation": lambda text: {"obfuscation": text},
    "model": lambda text: {"model": text},
    "citations": lambda text: {"citations": [text]},
    "around": lambda text: {"text": text},
}
IN_MESSAGE: dict[str, Any] = {
    "extra_content": lambda text: {"extra_content": {"google": {"note": text}}},
    "text": lambda text: {"text": text},
    "annotations": lambda text: {"annotations": [{"type": "x", "answer": text}]},
}


def _whole(place: str, text: str) -> Any:
    if place in PLACES:
        return answer(choice(GOOD), **PLACES[place](text))
    if place == "choice":
        return answer(choice(GOOD, text=text))
    return answer(choice(GOOD, message=IN_MESSAGE[place](text)))


def _streamed(place: str, text: str) -> Any:
    if place in PLACES:
        odd = chunk(delta(""), **PLACES[place](text))
    elif place == "choice":
        odd = chunk({**delta(""), "text": text})
    else:
        odd = chunk(delta("", **IN_MESSAGE[place](text)))
    role, *said, end = spells(f"{GOOD} {GOOD} {GOOD}")
    return streams(role, odd, *said, end)


@pytest.mark.parametrize("policy", ["default", "buffered", "unknown-stripped", "unknown-passes"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", [*PLACES, *IN_MESSAGE, "choice"])
def test_text_where_none_belongs_falls_to_the_policy(world: World, place: str, stream: bool, policy: str):
    """Whole or in a stream, at the top, in the choice and in what it says: blocked, stripped, or let through."""
    given = _streamed(place, SENTENCE) if stream else _whole(place, SENTENCE)
    reply = world.told(given, policy, stream=stream)
    assert reply.status_code == 200
    if policy == "unknown-passes":
        assert SECRET in reply.text
    else:
        assert SECRET.encode() not in everything(reply)
        expected = "passed" if policy == "unknown-stripped" else "blocked"
        assert reply.headers.get(OUTCOME, expected) == expected


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("place", ["text", "choice", "around"])
def test_one_word_is_text_where_somebody_speaks(world: World, place: str, stream: bool):
    """It need not look like a sentence."""
    given = _streamed(place, "Paris") if stream else _whole(place, "Paris")
    reply = world.told(given, stream=stream)
    assert b"Paris" not in everything(reply)
    assert b"content_filter" in reply.content


@pytest.mark.parametrize("policy", ["default", "buffered"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_text_that_repeats_the_message_is_no_other(world: World, stream: bool, policy: str):
    """Together sends each piece of content as the choice's text too."""
    said = choice(GOOD, text=GOOD)
    given: Any = answer(said)
    if stream:
        pieces = spells(f"{GOOD} {GOOD}")
        for one in pieces:
            one["choices"][0]["text"] = one["choices"][0]["delta"].get("content")
        given = streams(*pieces)
    reply = world.told(given, policy, stream=stream)
    assert reply.headers.get(OUTCOME, "passed") == "passed"
    assert b"content_filter" not in reply.content


def test_words_in_the_padding_do_not_leave(world: World):
    """What spells something there is text."""
    words = ["Tokyo", "stands", "before", SECRET.replace("-", ""), "everywhere"]
    said = [{**one, "obfuscation": word} for one, word in zip(spells(GOOD)[1:], words, strict=False)]
    reply = world.told(streams(*said, *spells(GOOD)[-1:]), "buffered", stream=True)
    assert reply.headers[OUTCOME] == "blocked"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("raw", [None, list(b"The capital")])
def test_a_token_with_a_broken_character_is_no_hiding_place(world: World, raw: Any, stream: bool):
    """U+FFFD stands for a part of a character, and the rest of its token must be what its bytes say."""
    tokens = [
        {"token": f"{SECRET} \ufffd", "logprob": -1, "bytes": raw, "top_logprobs": []},
        {"token": GOOD.removeprefix("The capital"), "logprob": -1, "bytes": None, "top_logprobs": []},
    ]
    given: Any = answer(choice(GOOD, logprobs={"content": tokens}))
    if stream:
        given = streams(chunk({**delta(GOOD), "logprobs": {"content": tokens}}), chunk(delta(finish="stop")))
    reply = world.told(given, stream=stream)
    assert reply.headers[OUTCOME] == "passed"
    assert SECRET.encode() not in everything(reply)


@pytest.mark.parametrize("spelling", ["\ufffd", "\ufffd\ufffd", "\ufffd\ufffd\ufffd"])
def test_parts_of_a_character_keep_their_log_probabilities(world: World, spelling: str):
    """However many signs a server puts for them."""
    text = f"{GOOD} \U0001f600"
    raw = "\U0001f600".encode()
    tokens = [
        {"token": f"{GOOD} ", "logprob": -1, "bytes": list(f"{GOOD} ".encode()), "top_logprobs": []},
        {"token": spelling, "logprob": -1, "bytes": list(raw[:3]), "top_logprobs": []},
        {"token": "\ufffd", "logprob": -1, "bytes": list(raw[3:]), "top_logprobs": []},
    ]
    reply = world.told(answer(choice(text, logprobs={"content": tokens})))
    assert json.loads(reply.content)["choices"][0]["logprobs"] == {"content": tokens}
