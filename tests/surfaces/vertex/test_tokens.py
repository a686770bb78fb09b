"""Tokens as Google counts them."""

from __future__ import annotations

import time

import pytest

from proxy.surfaces.vertex.tokens import count_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("They wore off-the-rack clothes in 2024.", 7),  # the documented one
        ("They wore off-the-rack clothes in 2024", 6),
        ("", 0),
        (" . ", 1),
        ("One. Two! Three?", 6),
        ('She said "Yes." Then she left...', 8),
        ("Mr. Smith costs 3.50 euros", 5),
        ("a - b", 2),
        ("日本の首都は東京です。", 2),
    ],
)
def test_words_and_sentence_ends_are_counted(text: str, tokens: int):
    """A mark within a word or between words is none."""
    assert count_tokens(text, most=4096) == tokens


def test_no_more_is_counted_than_matters():
    """A text over the limit costs no more than its beginning; one endless run of marks is read once."""
    begin = time.perf_counter()
    assert count_tokens("word " * 800_000, most=4096) == 4097
    assert count_tokens("-" * 1_000_000, most=4096) == 0
    assert time.perf_counter() - begin < 5
