"""Rows in both formats of Azure AI Studio, and every mistake named with its line and field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from evaluate.support import write

from proxy.evaluate.rows import read

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTED_QA = {
    "question": "Which tent is the most waterproof?",
    "context": "From our product list, the Alpine Explorer tent is the most waterproof.",
    "answer": "The Alpine Explorer Tent is the most waterproof.",
    "ground_truth": "The Alpine Explorer Tent has the highest rainfly waterproof rating at 3000m",
}


def turns_of(folder: Path, row: Any) -> Any:
    """The turns of the one row of a file."""
    [found], bad = read(write(folder / "data.jsonl", row))
    assert not bad
    return found.turns


@pytest.mark.parametrize("names", [("question", "answer"), ("query", "response"), ("question", "response")])
def test_a_row_is_a_question_with_its_answer(tmp_path, names):
    """Under the old names and the new, mixed too; what the row held is kept as it was written."""
    row = {
        names[0]: DOCUMENTED_QA["question"],
        names[1]: DOCUMENTED_QA["answer"],
        "context": DOCUMENTED_QA["context"],
        "ground_truth": DOCUMENTED_QA["ground_truth"],
        "id": 7,
    }
    [found], _ = read(write(tmp_path / "data.jsonl", "", row))
    [turn] = found.turns
    assert (turn.query, turn.response, turn.ground_truth) == tuple(
        DOCUMENTED_QA[name] for name in ("question", "answer", "ground_truth")
    )
    assert [source.text for source in turn.sources] == [DOCUMENTED_QA["context"]]
    assert (found.line, found.inputs) == (2, row)


@pytest.mark.parametrize(
    ("context", "texts"),
    [
        ("one", ["one"]),
        (" ", []),
        (None, []),
        ({}, []),
        (["one", "", "two"], ["one", "two"]),
        ({"citations": []}, []),
        ({"citations": [{"id": "1", "title": "T", "content": "one"}, {"content": "two"}]}, ["one", "two"]),
        ({"citations": "one"}, ["one"]),
        ([{"text": "one"}, {"content": "two"}], ["one", "two"]),
        ({"contexts": {"contexts": [{"sourceUri": "gs://x", "text": "one", "score": 0.1}]}}, ["one"]),
        ({"fee": "1%"}, ['{"fee": "1%"}']),
    ],
)
def test_a_context_has_many_forms(tmp_path, context, texts):
    """Text, lists, citations, Vertex's contexts; any other object counts as the text that it is."""
    [turn] = turns_of(tmp_path, {"question": "q", "answer": "a", "context": context})
    assert [source.text for source in turn.sources] == texts


def test_a_citation_keeps_its_names(tmp_path):
    """Identifier, title and address come along."""
    citation = {"id": "7", "title": "Orders", "url": "https://x/y", "content": "one"}
    [turn] = turns_of(tmp_path, {"question": "q", "answer": "a", "context": {"citations": [citation]}})
    [source] = turn.sources
    assert (source.id, source.title, source.uri) == ("7", "Orders", "https://x/y")


TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "How do I check my order?"},
    {"role": "assistant", "content": "See your email.", "context": {"citations": [{"content": "By email."}]}},
    {"role": "user", "content": "And the stove?", "context": "Cool it first."},
    {"role": "user", "content": "It is dirty."},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "assistant", "content": [{"type": "text", "text": "Wipe it."}], "ground_truth": "Wipe it cold."},
]


@pytest.mark.parametrize("form", ["messages", "conversation"])
def test_a_conversation_is_a_turn_for_each_answer(tmp_path, form):
    """Each with what was asked since the last answer, its own citations, the shared context, and what came before."""
    row = {"messages": TALK} if form == "messages" else {"conversation": {"messages": TALK}}
    first, second = turns_of(tmp_path, {**row, "context": "Shared.", "ground_truth": "By email."})
    assert (first.query, first.response, first.history) == ("How do I check my order?", "See your email.", "")
    assert (second.query, second.response) == ("And the stove?\nIt is dirty.", "Wipe it.")
    assert second.history == "user: How do I check my order?\nassistant: See your email."
    assert [source.text for source in first.sources] == ["Shared.", "By email."]
    assert [source.text for source in second.sources] == ["Shared.", "Cool it first."]
    assert (first.ground_truth, second.ground_truth) == ("By email.", "Wipe it cold.")


def test_the_conversations_own_context_is_shared(tmp_path):
    """As azure-ai-evaluation has it: beside the messages, inside the conversation."""
    talk = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], "context": "Shared."}
    [turn] = turns_of(tmp_path, {"conversation": talk})
    assert [source.text for source in turn.sources] == ["Shared."]


def test_an_opening_greeting_has_no_question(tmp_path):
    """An answer that nobody asked for is a turn, too, and takes no later question for its own."""
    talk = [{"role": "assistant", "content": "Welcome."}, *TALK[1:3]]
    first, second = turns_of(tmp_path, {"messages": talk})
    assert (first.query, second.query) == (None, "How do I check my order?")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("not json", "is not valid JSON"),
        ('{"answer": NaN}', "is not valid JSON"),
        ('{"answer": "a", "note": [1e999]}', "holds a number that is too large"),
        ('{"answer": "a", "context": {"n": -1e400}}', "holds a number that is too large"),
        ("[1]", "must be a JSON object"),
        ({}, "answer: is required"),
        ({"question": "q"}, "answer: is required"),
        ({"question": 5, "answer": "a"}, "question: must be text"),
        ({"question": "q", "answer": ["a"]}, "answer: must be text"),
        ({"question": "q", "query": "other", "answer": "a"}, "question: is not the same as query"),
        ({"answer": "a", "ground_truth": 1}, "ground_truth: must be text"),
        ({"answer": "a", "context": 7}, "context: must be text"),
        ({"answer": "a", "context": ["x", 7]}, "context[1]: must be text"),
        ({"answer": "a", "context": {"citations": [7]}}, "context.citations[0]: must be text"),
        ({"messages": "x"}, "messages: must be a list"),
        ({"messages": ["x"]}, "messages[0]: must be an object"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": "x"}]}, "messages: must hold an answer"),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "image_url"}]}]},
            "messages[0].content: must be text",
        ),
        ({"messages": TALK, "answer": "a"}, "answer: must not stand beside messages"),
        ({"messages": TALK, "conversation": {"messages": TALK}}, "conversation: must not stand beside messages"),
        ({"conversation": "x"}, "conversation: must be an object"),
        ({"conversation": {}}, "conversation.messages: must be a list"),
    ],
)
def test_a_wrong_line_is_told_and_the_others_are_read(tmp_path, row, words):
    """By its number and its field, without anything that it holds."""
    rows, bad = read(write(tmp_path / "data.jsonl", DOCUMENTED_QA, row, DOCUMENTED_QA))
    assert [each.line for each in rows] == [1, 3]
    assert [each.line for each in bad] == [2]
    assert words in bad[0].message
    assert "secret" not in bad[0].message


def test_bytes_that_are_no_text_and_a_mark_at_the_beginning(tmp_path):
    """A byte order mark is none of the data's; a line that is not UTF-8 is told."""
    file = tmp_path / "data.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(DOCUMENTED_QA).encode() + b"\r\n\xff\n")
    rows, bad = read(file)
    assert (len(rows), [(each.line, each.message) for each in bad]) == (1, [(2, "is not UTF-8 text")])


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    """In one line, with its name."""
    with pytest.raises(ValueError, match=r"nowhere\.jsonl: no such file"):
        read(tmp_path / "nowhere.jsonl")
