"""Where the tokens of a text lie."""

import pytest

from proxy.scoring.tokens import PREMISE_FLOOR, estimated_spans, fitted, sliced_spans, without_lone_surrogates


def words(text):
    """Spans of what stands between blanks."""
    at, found = 0, []
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        found.append((start, at))
    return found


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The dam is 87 m high.", ["The", "dam", "is", "87", "m", "high", "."]),
        ("internationalisation", ["intern", "ationa", "lisati", "on"]),
        ("東京は首都", ["東", "京", "は", "首", "都"]),
        ("naïve \ud800", ["naïve", "\ud800"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_an_estimate_counts_as_a_tokenizer_would(text, tokens):
    """Words of up to six letters, longer ones in parts, signs and ideographs alone."""
    assert [text[start:end] for start, end in estimated_spans(text)] == tokens


def test_an_endless_word_has_many_tokens():
    """No text can hide behind having no blanks."""
    assert len(estimated_spans("x" * 6000)) == 1000


def test_slices_change_nothing_where_there_are_blanks():
    """The spans of the slices are those of the whole text."""
    text = "alpha beta, gamma\n" * 50
    assert sliced_spans(text, words, size=40) == words(text)


def test_slices_cover_a_text_without_blanks():
    """An endless word is cut, and nothing of it is lost."""
    spans = sliced_spans("x" * 100, lambda part: [(0, len(part))], size=30)
    assert spans == [(0, 30), (30, 60), (60, 90), (90, 100)]


def test_half_characters_become_question_marks():
    """What UTF-8 cannot hold is replaced one for one, all else is as it was."""
    assert without_lone_surrogates("a\ud800é") == "a?é"
    assert without_lone_surrogates("plain") == "plain"


@pytest.mark.parametrize(
    ("premise", "hypothesis", "room", "read"),
    [
        (100, 20, 200, (100, 20)),
        (300, 20, 200, (180, 20)),
        (300, 180, 200, (PREMISE_FLOOR, 200 - PREMISE_FLOOR)),
        (10, 300, 200, (10, 190)),
        (0, 300, 200, (0, 200)),
        (0, 0, 200, (0, 0)),
    ],
)
def test_the_premise_is_cut_first_and_keeps_its_floor(
    premise: int, hypothesis: int, room: int, read: tuple[int, int]
) -> None:
    """All scorers cut a pair that is too long by this one rule."""
    assert fitted(premise, hypothesis, room) == read
