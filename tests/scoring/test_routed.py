"""Two models as one."""

import pytest

from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.routed import MeanModel, RoutedModel


class OneScore:
    """Gives every pair its own score, and counts a token a character of the premise."""

    evidence = "whole"
    max_tokens = 9

    def __init__(self, name, score):
        self.name, self._score = name, score
        self.asked = []

    def token_spans(self, text):
        """One token, in this model's name."""
        return [(0, len(self.name))]

    def lengths(self, pairs):
        """The premise's characters."""
        return [len(pair.premise) for pair in pairs]

    def score(self, pairs):
        """The same for all, told apart by their order."""
        self.asked.append(list(pairs))
        return [self._score + at / 100 for at in range(len(pairs))]


def pair(kind, premise="p"):
    """A pair of a kind."""
    return Pair(kind=CheckKind(kind), premise=premise, hypothesis="h")


@pytest.fixture
def models():
    """One for grounding, one for relevance."""
    return OneScore("facts", 0.1), OneScore("topic", 0.7)


def by_kind(models):
    """The first for grounding, the second for relevance."""
    return RoutedModel(*models, to_other=lambda pair: pair.kind is CheckKind.RELEVANCE)


def test_each_pair_goes_to_the_model_for_its_kind(models):
    """Scores and lengths come back in the order asked, each from the right model."""
    routed = by_kind(models)
    pairs = [pair("relevance", "a"), pair("grounding", "bb"), pair("relevance", "ccc"), pair("grounding", "dddd")]

    assert routed.score(pairs) == [0.7, 0.1, 0.71, 0.11]
    assert routed.lengths(pairs) == [1, 2, 3, 4]
    assert models[0].asked == [[pairs[1], pairs[3]]]
    assert models[1].asked == [[pairs[0], pairs[2]]]


def test_a_model_without_pairs_is_not_asked(models):
    """Where only one check runs, the other model rests; no pairs give no scores."""
    routed = by_kind(models)

    assert routed.score([pair("grounding")]) == [0.1]
    assert models[1].asked == []
    assert (routed.score([]), routed.lengths([])) == ([], [])


def test_it_counts_and_is_named_as_the_main_model(models):
    """Windows of the sources are fitted to the model that reads them."""
    routed = by_kind(models)

    assert (routed.name, routed.max_tokens, routed.evidence) == ("facts", 9, "whole")
    assert routed.token_spans("x") == [(0, 5)]


@pytest.mark.parametrize(
    ("one", "other", "mean"),
    [(0.5, 0.5, 0.5), (0.9, 0.1, 0.5), (0.8, 0.5, 2 / 3), (1.0, 1.0, 1.0), (1.0, 0.0, 0.5), (0.0, 0.5, 0.001)],
)
def test_two_have_a_say(one, other, mean):
    """Odds are multiplied and the root taken; who is quite sure outweighs who is not, and is no veto."""
    both = MeanModel(OneScore("facts", one), OneScore("topic", other))

    assert both.score([pair("relevance")]) == [pytest.approx(mean, abs=1e-5)]


def test_two_that_have_a_say_read_the_same_pairs(models):
    """In their order; what they take is what both take, and all else is the main one's."""
    both = MeanModel(*models)
    pairs = [pair("relevance", "a"), pair("relevance", "bb")]

    assert len(both.score(pairs)) == 2
    assert models[0].asked == models[1].asked == [pairs]
    assert both.lengths(pairs) == [2, 4]
    assert (both.name, both.max_tokens, both.evidence) == ("facts", 9, "whole")
    assert (both.token_spans("x"), both.score([]), both.lengths([])) == ([(0, 5)], [], [])
