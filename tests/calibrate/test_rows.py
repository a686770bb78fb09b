"""Labelled rows: every shape that is documented, and every mistake named with its line and field."""

import json
import re

import pytest

from proxy.calibrate.rows import read
from proxy.grounding.types import CheckKind

GROUNDING, RELEVANCE = CheckKind.GROUNDING, CheckKind.RELEVANCE
GOOD = {"source": "Tokyo is big.", "answer": "Tokyo is big.", "supported": True}


@pytest.fixture
def labelled(tmp_path):
    """Write rows (or raw lines) and read them."""

    def of(*rows):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        file = tmp_path / "labelled.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8", newline="")
        return read(file)

    return of


def test_a_row_is_an_answer_with_its_sources_and_labels(labelled):
    """Source, query, answer and both labels."""
    [example] = labelled({**GOOD, "query": "How big is it?", "relevant": False, "model": "x"}).examples

    assert [source.text for source in example.context.sources] == ["Tokyo is big."]
    assert (example.context.query, example.answer, example.line) == ("How big is it?", "Tokyo is big.", 1)
    assert example.labels == {GROUNDING: True, RELEVANCE: False}


@pytest.mark.parametrize("written", ["one", ["one"], [{"text": "one", "id": "7"}], {"text": "one"}])
@pytest.mark.parametrize("name", ["source", "sources"])
def test_sources_are_written_as_in_requests(labelled, name, written):
    """A text, a list of texts, or objects that hold one; under either name."""
    [example] = labelled({name: written, "answer": "x", "label": 1}).examples
    assert [source.text for source in example.context.sources] == ["one"]


@pytest.mark.parametrize(("label", "meant"), [(True, True), (1, True), (1.0, True), (False, False), (0, False)])
def test_labels_are_booleans_or_numbers(labelled, label, meant):
    """What spreadsheets and notebooks export is taken too."""
    [example] = labelled({**GOOD, "supported": label, "label": label}).examples
    assert example.labels == {GROUNDING: meant}


def test_claims_are_labelled_one_by_one(labelled):
    """Each claim of a row is an example of its own, in one group."""
    claims = [{"text": "It is big.", "supported": True}, {"text": "It is small.", "label": 0}]
    one, two = labelled({"source": "Tokyo is big.", "claims": claims}).examples
    assert (one.answer, two.answer, two.labels) == ("It is big.", "It is small.", {GROUNDING: False})
    assert one.group == two.group


def test_a_row_may_come_with_its_scores(labelled):
    """Without a source the scores stand; a label of a check without a score is not used."""
    one, two = labelled(
        {"grounding": 0.83, "supported": True, "relevant": True}, {"relevance": 1, "relevant": 0}
    ).examples
    assert (one.scores, one.labels) == ({GROUNDING: 0.83}, {GROUNDING: True})
    assert (two.scores, two.labels) == ({RELEVANCE: 1}, {RELEVANCE: False})
    assert one.group != two.group


def test_rows_belong_together_by_their_sources_or_as_they_say(labelled):
    """Equal sources are one group, and so is an equal ``group``."""
    rows = [GOOD, {**GOOD, "answer": "Other."}, {**GOOD, "source": "Else."}, {"grounding": 1, "label": 1, "group": 4}]
    groups = [example.group for example in labelled(*rows, {"grounding": 1, "label": 1, "group": 4}).examples]
    assert groups[0] == groups[1] != groups[2]
    assert groups[3] == groups[4]


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_no_matter(labelled):
    """Lines are counted as an editor counts them."""
    found = labelled("\ufeff" + json.dumps(GOOD) + "\r", "", "  ", json.dumps({**GOOD, "answer": "Other."}))
    assert [example.line for example in found.examples] == [1, 4]


def test_repeated_rows_count_once_and_contradictions_are_told(labelled):
    """A copy adds nothing; the same row with the other label is kept and named. Bare scores are never copies."""
    found = labelled(GOOD, GOOD, {**GOOD, "supported": False}, *[{"grounding": 0.5, "label": 1}] * 2)
    assert [example.line for example in found.examples] == [1, 3, 4, 5]
    assert found.notes == (
        "repeating an earlier row, counted once: 1",
        "contradicting an earlier row (its line in brackets), kept: line 3 (1)",
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", ":2: is not valid JSON"),
        ("[" * 100_000, ":2: is not valid JSON"),
        ("[1]", ":2: must be a JSON object"),
        ({}, ":2: source: is required"),
        ({"source": "", "answer": "x", "label": 1}, ":2: source: must be text"),
        ({"source": ["x", 5], "answer": "x", "label": 1}, ":2: source: must be text"),
        ({"sources": [], "answer": "x", "label": 1}, ":2: sources: must be text"),
        ({"source": "x", "label": 1}, ":2: answer: must be text that is not empty"),
        ({"source": "x", "answer": " ", "label": 1}, ":2: answer: must be text"),
        ({"source": "x", "answer": "x"}, ":2: supported: is required"),
        ({"source": "x", "answer": "x", "supported": "yes"}, ":2: supported: must be true or false"),
        ({"source": "x", "answer": "x", "label": 2}, ":2: label: must be true or false"),
        ({"source": "x", "answer": "x", "label": [1]}, ":2: label: must be true or false"),
        ({"source": "x", "answer": "x", "label": 1, "supported": False}, ":2: label: says otherwise"),
        ({"source": "x", "answer": "x", "relevant": True}, ":2: query: is required beside relevant"),
        ({"source": "x", "answer": "x", "label": 1, "query": 5}, ":2: query: must be text"),
        ({"source": "x", "claims": "x"}, ":2: claims: must be a list"),
        ({"source": "x", "claims": [1]}, ":2: claims[0]: must be an object"),
        ({"source": "x", "claims": [{"text": "y", "label": 1}, {"text": "x"}]}, ":2: claims[1].supported: is required"),
        ({"source": "x", "claims": [{"label": 1}]}, ":2: claims[0].text: must be text"),
        ({"grounding": "0.5", "label": 1}, ":2: grounding: must be a number between 0 and 1"),
        ({"grounding": 50, "label": 1}, ":2: grounding: must be a number between 0 and 1"),
        ({"grounding": True, "label": 1}, ":2: grounding: must be a number"),
        ({"grounding": 0.5, "relevant": True}, ":2: supported: is required"),
        ({"grounding": 0.5, "label": 1, "group": [1]}, ":2: group: must be text or a whole number"),
    ],
)
def test_every_mistake_is_named_with_its_line_and_field(labelled, row, words):
    """The first thing wrong ends the reading, in one line."""
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        labelled(GOOD, row)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_or_no_file_is_named(tmp_path):
    """Bytes that are not UTF-8 have a line, a folder and a missing file a reason, an empty file a remedy."""
    file = tmp_path / "labelled.jsonl"
    for content, words in (
        (b'{}\n{"\xff": 1}', ":1: source"),
        (b'\n{"\xff": 1}', ":2: is not UTF-8"),
        (b" \n", "is empty"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            read(file)
    for path, words in ((tmp_path, "is a directory"), (tmp_path / "none", "no such file")):
        with pytest.raises(ValueError, match=words):
            read(path)


def test_half_a_character_does_no_harm(labelled):
    """JSON may hold a lone surrogate, which no file can."""
    assert len(labelled('{"source": "\\ud83d", "answer": "\\ud83d", "label": 1}').examples) == 1
