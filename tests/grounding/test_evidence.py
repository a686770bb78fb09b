"""Evidence: windows that cover everything within their size, and short lists that hold the right window."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.evidence import OVERLAP_TOKENS, WINDOW_TOKENS, EvidenceIndex, terms, windows_of
from proxy.grounding.types import GroundingContext, Source

MEGABYTE = 1 << 20

unhurried = settings(deadline=None)  # the cores are shared: one slow example is no failure
few = settings(deadline=None, max_examples=20)

FIRST = "amber basalt cedar delta ember fjord granite harbor indigo jasper kelp lagoon maple nectar onyx pebble".split()
SECOND = "bear crane dove eagle fox goose heron ibis jay kite lark mole newt otter pike quail raven stork".split()
WORDS = [one + other for one in FIRST for other in SECOND]


def token_spans(text):
    """Tokens as a tokenizer makes them: a CJK character, a mark, or at most five letters of a word."""
    return [found.span() for found in re.finditer(r"[\u3040-\u9fff]|[^\W_]{1,5}|[^\w\s]|_", text)]


def tokens_in(window, text):
    """Tokens of a text that begin in a window."""
    return sum(window.start <= start < window.end for start, _ in token_spans(text))


texts = st.lists(
    st.one_of(
        st.sampled_from(
            ["One sentence. ", "Two!\n", "\n\n", "no end ", "、", "。", "東京は首都です。", "e.g. ", "|", "  "]
        ),
        st.integers(1, 90).map("word ".__mul__),
        st.integers(1, 200).map("京".__mul__),
        st.integers(1, 700).map("x".__mul__),
        st.integers(1, 30).map("A b. ".__mul__),
        st.text(max_size=8),
    ),
    max_size=12,
).map("".join)


@unhurried
@given(texts, st.integers(1, 40), st.integers(0, 39))
def test_windows_cover_all_and_keep_their_size(text, size, overlap):
    """Windows leave out no character, hold at most their size in tokens, and share no more than the overlap."""
    windows = windows_of(text, token_spans(text), source=3, size=size, overlap=overlap)
    assert bool(windows) == bool(text.strip())
    assert all(window.source == 3 and window.text == text[window.start : window.end] for window in windows)
    assert all(tokens_in(window, text) <= size for window in windows)
    ends = [0, *(window.end for window in windows)]
    for end, window in zip(ends, windows, strict=False):
        assert window.start <= end < window.end
        assert sum(window.start <= start < end for start, _ in token_spans(text)) <= overlap
    assert not windows or ends[-1] == len(text)


def test_windows_break_between_sentences_and_overlap():
    """Where sentences are short, each window begins and ends with whole ones and repeats the end of the last."""
    text = "".join(f"Sentence {number} is here. " for number in range(100))
    windows = windows_of(text, token_spans(text))
    assert all(re.fullmatch(r"(\s*Sentence \d+ is here\.)+\s*", window.text) for window in windows)
    for one, other in pairwise(windows):
        shared = sum(other.start <= start < one.end for start, _ in token_spans(text))
        assert OVERLAP_TOKENS - 7 < shared <= OVERLAP_TOKENS


def test_every_window_adds_something_beside_long_sentences():
    """A sentence that leaves no room for the overlap does not make windows that lie in one another."""
    text = "x " * 80 + "end. " + "Go. " * 20 + "y " * 110 + "end."
    windows = windows_of(text, token_spans(text))
    assert [window.end for window in windows] == sorted({window.end for window in windows})
    assert len(windows) == 2


@pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
def test_white_space_has_no_windows(text):
    """Nothing can be found in an empty text."""
    assert windows_of(text, token_spans(text)) == []
    context = GroundingContext(sources=(Source(text=text),))
    assert EvidenceIndex(context, token_spans).shortlist("anything", 4) == []


def test_a_text_without_tokens_is_one_window():
    """Characters that the tokenizer drops are still covered."""
    assert [window.text for window in windows_of("\u200b\u200b", [])] == ["\u200b\u200b"]


def test_windows_join_no_sources():
    """Each source is cut by itself, and windows say which one they are of."""
    context = GroundingContext(sources=(Source(text="One."), Source(text=" "), Source(text="Three.")))
    windows = EvidenceIndex(context, token_spans).windows
    assert [(window.source, window.text) for window in windows] == [(0, "One."), (2, "Three.")]


def sentence(rng):
    """Make up a sentence."""
    return " ".join(rng.choices(WORDS, k=rng.randint(5, 20))).capitalize() + "."


@few
@given(st.randoms(use_true_random=True))
def test_the_claims_own_sentence_is_on_the_short_list(rng):
    """However many windows there are, the one that holds a claim word for word is found, and found again."""
    sources = [[sentence(rng) for _ in range(rng.randint(300, 500))] for _ in range(3)]
    context = GroundingContext(sources=tuple(Source(text=" ".join(sentences)) for sentences in sources))
    index = EvidenceIndex(context, token_spans)
    assert len(index.windows) > 100
    for claim in (rng.choice(rng.choice(sources)) for _ in range(20)):
        assert any(claim in window.text for window in index.shortlist(claim, 4))


@few
@given(st.randoms(use_true_random=True))
def test_short_lists_are_deterministic(rng):
    """The same context and claim give the same list, ties and all."""
    context = GroundingContext(sources=(Source(text=" ".join(sentence(rng) for _ in range(50)) * 3),))
    claim = sentence(rng)
    lists = [EvidenceIndex(context, token_spans).shortlist(claim, 4) for _ in range(3)]
    assert lists[0] == lists[1] == lists[2]


@few
@given(st.randoms(use_true_random=True), st.integers(1, 30))
def test_a_short_list_has_k_windows_and_none_twice(rng, k):
    """A list is as long as asked for, even if few windows or none share a word with the claim."""
    text = " ".join(sentence(rng) for _ in range(100))
    index = EvidenceIndex(GroundingContext(sources=(Source(text=text),)), token_spans)
    for claim in (sentence(rng), WORDS[0], "nothing of the kind", ""):
        found = index.shortlist(claim, k)
        assert len(found) == len(set(found)) == min(k, len(index.windows))
        if k >= len(index.windows):
            assert found == list(index.windows)


def test_a_claim_in_a_script_without_spaces_is_found():
    """Characters are compared where a script writes no spaces."""
    filler = "".join(f"第{number}回の会議は大阪で開かれた。" for number in range(300))
    text = filler + "東京の人口は千四百万人です。" + filler
    index = EvidenceIndex(GroundingContext(sources=(Source(text=text),)), token_spans)
    assert "千四百万人" in index.shortlist("人口は千四百万人", 4)[0].text


def test_terms_are_folded_words():
    """Case, endings, thousands marks and function words make no difference; decimals stay whole."""
    assert terms("The fees are charged") == terms("A FEE, charging")
    assert terms("1,400 of 0.5") == ["1400", "0.5"]
    assert terms("東京 is") == ["東", "京"]


@pytest.mark.parametrize("unit", ["word ", "x", "京", "A b. ", ". ", "\n", "Go on and on. Then more of it\n"])
def test_a_megabyte_is_indexed_in_linear_time(unit):
    """No text is slow to cut and index: a megabyte takes seconds, not hours."""
    text = unit * (MEGABYTE // 2 // len(unit))
    began = time.perf_counter()
    index = EvidenceIndex(GroundingContext(sources=(Source(text=text),)), token_spans)
    assert len(index.shortlist(unit * 5, 4)) <= 4
    assert time.perf_counter() - began < 30
    assert all(tokens_in(window, window.text) <= WINDOW_TOKENS for window in index.windows[:20])


@pytest.mark.parametrize("text", [" " * 50_000 + "a", "a" * 50_000, "\n" * 50_000 + "end", "?!" * 25_000])
def test_a_window_is_bounded_in_characters_too(text):
    """What a tokenizer makes few tokens of still cannot put a whole source into one window."""
    windows = windows_of(text, [found.span() for found in re.finditer(r"\w+", text)])
    assert max(len(window.text) for window in windows) <= 16 * WINDOW_TOKENS
    assert (windows[0].start, windows[-1].end) == (0, len(text))


def test_an_attribute_leads_to_its_source():
    """Of many sources that say the same, the short list has the one that the claim names."""
    sources = tuple(Source(text="Sales rose by a tenth.", attributes=(("author", f"Firm{n}"),)) for n in range(50))
    index = EvidenceIndex(GroundingContext(sources=sources), token_spans)
    assert index.shortlist("Firm37 says that sales rose by a tenth.", 4)[0].source == 37
