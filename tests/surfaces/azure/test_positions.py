"""Offsets and lengths, against the encodings themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.surfaces.azure.positions import located, size

MIXED = st.text(
    st.one_of(
        st.characters(exclude_categories=()),  # lone surrogates too
        st.sampled_from("aé東京한🌞👩‍🔬🇯🇵𝔘e\u0301 .\n"),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "utf8", "utf16", "points"),
    [("", 0, 0, 0), ("12/hour", 7, 7, 7), ("é", 2, 1, 1), ("東京", 6, 2, 2), ("🌞", 4, 2, 1), ("\ud83c", 3, 1, 1)],
)
def test_sizes_in_the_three_counts(text: str, utf8: int, utf16: int, points: int):
    """Bytes of UTF-8, units of UTF-16, code points."""
    assert size(text) == {"utf8": utf8, "utf16": utf16, "codePoint": points}


@given(MIXED, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=5))
def test_each_span_is_found_again_in_each_encoding(text: str, pairs: list[tuple[int, int]]):
    """Cutting the encoded text at offset and length gives the span, whatever the text holds."""
    spans = sorted((min(pair), max(pair)) for pair in pairs if max(pair) <= len(text))
    utf8, utf16 = text.encode("utf-8", "surrogatepass"), text.encode("utf-16-le", "surrogatepass")
    for (start, end), (offset, length) in zip(spans, located(text, spans), strict=True):
        assert text[offset["codePoint"] :][: length["codePoint"]] == text[start:end]
        cut = utf8[offset["utf8"] :][: length["utf8"]]
        assert cut.decode("utf-8", "surrogatepass") == text[start:end]
        cut = utf16[2 * offset["utf16"] :][: 2 * length["utf16"]]
        assert cut == text[start:end].encode("utf-16-le", "surrogatepass")
