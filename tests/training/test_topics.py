"""Topics: every question is answered by its own topic's answers and by no other's."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import topics
from sets import RECIPES, RELEVANCE

LANGS = RECIPES["multilingual"].topics


@pytest.mark.parametrize("domain", topics.domains(), ids=lambda domain: domain["domain"])
def test_a_domain_has_topics_of_questions_and_answers_of_their_own(domain):
    """No question or answer stands in two topics, and every slot can be filled."""
    texts = [text for topic in domain["topics"] for text in (*topic["questions"], *topic["answers"])]
    assert len(domain["topics"]) >= 5
    assert [text for text, count in Counter(texts).items() if count > 1] == []
    assert set(topics.SLOT.findall(" ".join(texts))) <= set(topics.VALUES)
    assert "{" not in topics.SLOT.sub("", " ".join(texts))


@pytest.mark.parametrize("lang", LANGS)
def test_pairs_are_right_about_whose_answer_it_is(lang):
    """Those of its topic are positives, each with each; the others are not, and no slot is left."""
    chosen = [domain for domain in topics.domains() if domain.get("lang", "en") == lang]
    made = list(topics.pairs(random.Random(1), (lang,)))
    positives = sum(len(topic["questions"]) * len(topic["answers"]) for domain in chosen for topic in domain["topics"])
    assert sum(each.label for each in made) == positives > 0
    assert {each.head for each in made} == {RELEVANCE}
    assert not [each for each in made if topics.SLOT.search(each.premise + each.hypothesis)]
    assert 0.3 < positives / len(made) < 0.7
    foreign = {text for domain in topics.domains() if domain not in chosen for text in topics._answers(domain)}
    assert not foreign & {each.hypothesis for each in made}  # a far answer is of the same language


def test_the_same_seed_gives_the_same_pairs():
    """And another one others."""
    first, again, other = (list(topics.pairs(random.Random(seed), ("en",))) for seed in (1, 1, 2))
    assert first == again != other
