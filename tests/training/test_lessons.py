"""Lessons: what supports an answer stands in its source, and claims keep the labels of their sentences."""

from __future__ import annotations

import random

import lessons
import pytest
from sets import GROUNDING, RECIPES, RELEVANCE

DOCUMENT = {
    "lang": "en",
    "source": "Sofas may be sent back within 14 days. Lamps may be sent back within 30 days. We pay the postage.",
    "questions": [
        {
            "query": "can i return a sofa after 3 weeks?",
            "answers": [
                {
                    "relevant": True,
                    "sentences": [
                        {
                            "text": "No, sofas go back within 14 days.",
                            "ok": True,
                            "from": ["Sofas may be sent back within 14 days."],
                        },
                        {"text": "The postage is yours to pay.", "ok": False, "from": []},
                    ],
                },
                {
                    "relevant": False,
                    "sentences": [
                        {"text": "Postage is paid by the shop.", "ok": True, "from": ["We pay the postage."]}
                    ],
                },
            ],
        },
        {
            "query": "how long for lamps",
            "answers": [
                {
                    "relevant": True,
                    "sentences": [{"text": "30 days.", "ok": True, "from": ["Lamps may be sent back within 30 days."]}],
                }
            ],
        },
    ],
}


@pytest.fixture
def made(monkeypatch):
    """Pairs of the document above, trained on."""
    monkeypatch.setattr(lessons, "documents", lambda langs: [("lessons-x-0", DOCUMENT)])
    return [each for seed in range(20) for each in lessons.pairs(random.Random(seed), ("en",), lambda _: False)]


@pytest.mark.parametrize(
    ("name", "document"),
    list(lessons.documents(RECIPES["multilingual"].topics)),
    ids=lambda each: str(each)[:30],
)
def test_support_stands_in_the_source_as_it_is_named(name, document):
    """Sentences that are right name their support, those that are not name none; both kinds are there."""
    sentences = [each for one in document["questions"] for two in one["answers"] for each in two["sentences"]]
    assert name.startswith("lessons-")
    assert all(part in document["source"] for each in sentences for part in each["from"])
    assert all(bool(each["from"]) == each["ok"] for each in sentences)
    assert {each["ok"] for each in sentences} == {True, False}


def test_a_claim_has_its_sentences_label(made):
    """A false sentence is a negative beside all evidence, a right one a positive beside what supports it."""
    by = {0: set(), 1: set()}
    for each in made:
        if each.head == GROUNDING:
            by[each.label].add((each.premise, each.hypothesis))
    assert any("14 days" in claim for _, claim in by[1])
    assert not any("yours to pay" in claim for _, claim in by[1])
    assert any("yours to pay" in claim for _, claim in by[0])
    assert all("14 days" in premise for premise, claim in by[1] if "sofas go back" in claim)
    assert any("how long for lamps" in claim for _, claim in by[1])  # a fragment stands behind its question


def test_what_answers_another_question_is_not_relevant(made):
    """Nor is an answer to another question about the same document; what supports an answer is."""
    by = {(each.premise, each.hypothesis): each.label for each in made if each.head == RELEVANCE}
    query = "can i return a sofa after 3 weeks?"
    assert by[query, "No, sofas go back within 14 days."] == 1
    assert by[query, "Sofas may be sent back within 14 days."] == 1
    assert by[query, "Postage is paid by the shop."] == 0
    assert by[query, "30 days."] == 0


def test_to_a_broad_question_nothing_is_irrelevant(monkeypatch):
    """A request to summarise is answered by what answers other questions, and its answers may answer those."""
    broad = {**DOCUMENT["questions"][1], "query": "Summarise the page.", "broad": True}
    document = {**DOCUMENT, "questions": [DOCUMENT["questions"][0], broad]}
    monkeypatch.setattr(lessons, "documents", lambda langs: [("lessons-x-0", document)])
    made = [each for seed in range(20) for each in lessons.pairs(random.Random(seed), ("en",), lambda _: False)]
    relevance = {(each.premise, each.hypothesis, each.label) for each in made if each.head == RELEVANCE}
    assert ("Summarise the page.", "30 days.", 1) in relevance
    assert {premise for premise, _, label in relevance if label == 0} == {DOCUMENT["questions"][0]["query"]}
    assert not any(text == "30 days." for _, text, label in relevance if label == 0)


def test_a_sentence_that_answers_share_is_shown_once(monkeypatch):
    """Contrasts differ in one sentence; the others would weigh as often as there are answers."""
    answer = DOCUMENT["questions"][1]["answers"][0]
    twice = {**DOCUMENT, "questions": [{"query": "how long", "answers": [answer, {**answer}]}]}
    monkeypatch.setattr(lessons, "documents", lambda langs: [("lessons-x-0", twice)])
    kept = list(lessons.pairs(random.Random(1), ("en",), lambda _: True))
    assert len([each for each in kept if each.head == GROUNDING]) == 1


def test_what_is_kept_out_stands_beside_its_whole_source(monkeypatch):
    """As a fit judges it: the product finds the evidence."""
    monkeypatch.setattr(lessons, "documents", lambda langs: [("lessons-x-0", DOCUMENT)])
    kept = list(lessons.pairs(random.Random(1), ("en",), lambda _: True))
    assert {each.premise for each in kept if each.head == GROUNDING} == {DOCUMENT["source"]}
