"""The gate: what leaves and when, and the same outcome as the whole answer's, however the answer and results come."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.claims import ClaimReader, split_claims
from proxy.grounding.cutting import LOOKAHEAD, MAX_CLAIM_CHARS
from proxy.grounding.gate import Gate
from proxy.grounding.types import ClaimKind, ClaimResult, Outcome, Rule
from proxy.grounding.verdict import Terms, decide, must_check

QUERY = "What does the plan cover?"


def terms(grounding="block", relevance="block", **changes):
    """What a policy says: thresholds of 0.7 and 0.5, and these actions."""
    said = {
        "grounding": Rule(threshold=0.7, action=grounding),
        "relevance": Rule(threshold=0.5, action=relevance),
        "relevance_applies": True,
        "abstention": "pass",
        "on_scorer_error": "block",
    }
    return Terms(**(said | changes))


def found(claim, support, relevance):
    """What the scorer says of a claim; without support it failed."""
    return ClaimResult(claim=claim, support=support, relevance=relevance, failed="timeout" if support is None else None)


# --- small cases --------------------------------------------------------------------------------------------------

A, B, C = "The plan covers fire.", " The plan covers theft.", " The plan covers floods."
ONE, TWO, ALL = len(A), len(A + B), len(A + B + C)
AHEAD = " " + "X" * (LOOKAHEAD - 1)  # enough to know that the sentence before it is over
GOOD, BAD, ASIDE, FAILED = (1.0, 1.0), (0.1, 1.0), (1.0, 0.1), (None, None)
END = "end"

# A policy; what happens (text, the result of a claim, the end) with what may leave after it; the outcome, if known.
CASES = {
    "text waits for its score": (
        terms(),
        [(A + B + C, 0), ((0, GOOD), ONE), ((1, GOOD), TWO), (END, TWO), ((2, GOOD), ALL)],
        "passed",
    ),
    "a sentence is over when its look-ahead is known": (
        terms(),
        [(A + AHEAD[:-1], 0), (AHEAD[-1:], 0), ((0, GOOD), ONE)],
        None,
    ),
    "a later score frees nothing before an earlier one": (
        terms(),
        [(A + B + C, 0), ((1, GOOD), 0), ((0, GOOD), TWO)],
        None,
    ),
    "the white space after a claim waits for the next": (terms(), [(A + "\n\n" + AHEAD, 0), ((0, GOOD), ONE)], None),
    "a bad claim stops the answer": (terms(), [(A + B + C, 0), ((0, GOOD), ONE), ((1, BAD), 0)], "blocked"),
    "a bad claim stops it though an earlier one waits": (terms(), [(A + B + C, 0), ((1, BAD), 0)], "blocked"),
    "a failed claim stops it": (terms(), [(A + B + C, 0), ((0, GOOD), ONE), ((1, FAILED), 0)], "blocked"),
    "a failed claim may pass, unscored": (
        terms(on_scorer_error="pass"),
        [(A + B + AHEAD, 0), ((0, FAILED), 0), ((1, GOOD), TWO), (END, TWO), ((2, GOOD), TWO + LOOKAHEAD)],
        "unscored",
    ),
    "a failed claim hides no bad one": (
        terms(on_scorer_error="pass"),
        [(A + B + C, 0), ((0, FAILED), 0), ((1, BAD), 0)],
        "blocked",
    ),
    "nothing leaves before one claim is relevant": (
        terms(),
        [(A + B + C, 0), ((0, ASIDE), 0), ((1, GOOD), TWO), (END, TWO), ((2, ASIDE), ALL)],
        "passed",
    ),
    "an answer that never is relevant is blocked at its end": (
        terms(),
        [(A + B + C, 0), ((0, ASIDE), 0), (END, 0), ((2, ASIDE), 0), ((1, ASIDE), 0)],
        "blocked",
    ),
    "where only irrelevance blocks, a relevant claim frees all there is": (
        terms(grounding="flag"),
        [(A + B + C, 0), ((1, BAD), ALL), (AHEAD, ALL + LOOKAHEAD)],
        None,
    ),
    "without a query relevance is not waited for": (
        terms(relevance_applies=False),
        [(A + AHEAD, 0), ((0, (1.0, None)), ONE)],
        None,
    ),
    "where nothing blocks, nothing waits": (terms("flag", "flag"), [(A, ONE), (B[:5], ONE + 5)], None),
    "a mean is known at the end": (
        replace(terms(), grounding=Rule(threshold=0.7, aggregate="mean")),
        [(A + B + C, 0), ((0, BAD), 0), (END, 0), ((1, GOOD), 0), ((2, BAD), 0)],
        "blocked",
    ),
    "a greeting leaves with the first claim": (terms(), [("Hello! " + A + AHEAD, 0), ((1, GOOD), 7 + ONE)], None),
    "an answer of greetings is decided at its end": (terms(), [("Hello! " * 9, 0), (END, 0)], "passed"),
    "an abstention does not open the gate": (terms(), [("I don't know. " * 9, 0), (END, 0)], "passed"),
    "nor does one that is scored": (
        terms(abstention="score"),
        [("I don't know. " + "Hello! " * 9, 0), ((0, GOOD), 0), (END, 0)],
        "passed",
    ),
    "an abstention that may block holds, though nothing else does": (
        terms("flag", "flag", abstention="block"),
        [("I don't know. " * 9, 0), (END, 0)],
        "blocked",
    ),
    "a claim says that the answer is no abstention": (
        terms("flag", "flag", abstention="block"),
        [("I don't know. " + A + AHEAD, 0), ((1, BAD), 14 + ONE + LOOKAHEAD)],
        None,
    ),
    "assent is judged at the end where it may be the answer": (
        terms(),
        [("Sure! Certainly!" + " \n" * LOOKAHEAD, 0), (END, 0), ((1, GOOD), 0), ((0, GOOD), len("Sure! Certainly!"))],
        "passed",
    ),
    "a lead-in waits for its list": (
        terms(),
        [("The plan covers:\n- fire.\n" + AHEAD, 0), ((1, GOOD), len("The plan covers:\n- fire."))],
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_may_leave_after_each_event(case: str):
    """After each event exactly so much of the text may leave, and at the end the outcome is known, or still open."""
    said, events, outcome = CASES[case]
    gate, claims, limits = Gate(said, QUERY), {}, []
    for event, _ in events:
        if event == END:
            claims |= {claim.index: claim for claim in gate.close()}
        elif isinstance(event, str):
            claims |= {claim.index: claim for claim in gate.feed(event)}
        else:
            gate.settle(found(claims[event[0]], *event[1]))
        limits.append(gate.limit)
    assert limits == [limit for _, limit in events]
    assert (gate.verdict and gate.verdict.outcome) == outcome


@pytest.mark.parametrize(("release", "limits"), [("sentence", [0, ONE]), ("buffer", [0, 0]), ("after", [ALL, ALL])])
def test_each_way_to_release_stops_at_a_bad_claim(release, limits):
    """Claim by claim, at the end or at once: what may leave differs, and a claim that blocks ends it all alike."""
    gate = Gate(terms(), QUERY, release)
    first, second = gate.feed(A + B + C)
    seen = [gate.limit]
    gate.settle(found(first, *GOOD))
    seen.append(gate.limit)
    gate.settle(found(second, *BAD))
    assert (seen, gate.limit, gate.verdict.outcome) == (limits, 0, "blocked")


def test_under_a_mean_nothing_leaves_before_the_end():
    """One claim's support says little of the mean of all."""
    gate = Gate(replace(terms(), grounding=Rule(threshold=0.7, aggregate="mean")), QUERY)
    for claim in gate.feed(A + B + C):
        gate.settle(found(claim, *GOOD))
    assert (gate.limit, gate.verdict) == (0, None)
    for claim in gate.close():
        gate.settle(found(claim, 0.4, 1.0))
    assert gate.verdict.outcome == "passed"


def test_an_answer_that_calls_tools_need_not_be_relevant():
    """What shows only at the end counts for the whole."""
    for applies, outcome in ((True, "blocked"), (False, "passed")):
        gate = Gate(terms(), QUERY)
        for claim in gate.feed(A + B + C):
            gate.settle(found(claim, 1.0, 0.1))
        for claim in gate.close(relevance_applies=applies):
            gate.settle(found(claim, 1.0, 0.1))
        assert gate.verdict.outcome == outcome


def test_text_that_is_still_to_be_read_leaves_where_nothing_blocks():
    """What has come counts, though it is fed in parts."""
    free = Gate(replace(terms(), grounding=Rule(threshold=0.7, action="flag"), relevance_applies=False), QUERY)
    bound = Gate(terms(), QUERY)
    for gate, limit in ((free, len(A + B)), (bound, 0)):
        gate.expect(len(A + B))
        gate.feed(A)
        assert gate.limit == limit
        gate.feed(B)
        assert gate.limit == limit


def test_a_refusal_of_the_providers_is_an_abstention():
    """What the provider marked as a refusal beside the text is one more claim, and blocks where abstentions do."""
    for said, outcome in (("pass", "passed"), ("block", "blocked")):
        gate = Gate(terms(abstention=said), QUERY)
        assert gate.close("I cannot help with that.") == []
        assert gate.verdict.outcome == outcome
    gate = Gate(terms(abstention="score"), QUERY)
    [claim] = gate.close(" I cannot help with that. ")
    assert (claim.text, claim.kind, gate.verdict) == ("I cannot help with that.", ClaimKind.ABSTENTION, None)


def test_an_early_stop_says_nothing_of_what_it_does_not_know():
    """The verdict of an answer that was stopped has the claims that were scored; relevance only if it was reached."""
    gate = Gate(terms(), QUERY)
    first, *_ = gate.feed(A + B + C)
    gate.settle(found(first, 0.1, 0.1))
    assert (gate.verdict.reasons, [check.kind for check in gate.verdict.checks]) == (("grounding",), ["grounding"])
    assert [result.claim for result in gate.verdict.claims] == [first]


LONG = {
    "code": "```python\n" + "total = price + tax  # each adds up\n" * 200 + "```\n",
    "one line of code": "total=price+tax;" * 400,
    "JSON": '{"plan":' + '{"covers":["fire","theft"],"limit":5},' * 200 + "}",
    "a table": "| Plan | Price |\n|---|---|\n" + "| basic | 1 |\n" * 300,
    "a sentence without an end": "it covers fire and theft and floods " * 200,
    "one word": "a" * 5000,
    "Japanese without an end": "東京は日本の首都であり" * 300,
}


@pytest.mark.parametrize("name", LONG)
def test_what_has_no_sentence_ends_leaves_in_bounded_pieces(name: str):
    """While each claim passes as it closes, no more than one claim and two look-aheads of the text wait."""
    gate, fed = Gate(terms(relevance_applies=False), QUERY), 0
    for start in range(0, len(LONG[name]), 7):
        for claim in gate.feed(LONG[name][start : start + 7]):
            gate.settle(found(claim, *GOOD))
        fed = min(start + 7, len(LONG[name]))
        assert fed - gate.limit <= MAX_CLAIM_CHARS + 2 * LOOKAHEAD
    assert gate.limit > 0


# --- any answer, cutting, scores and order ------------------------------------------------------------------------

SENTENCES = [
    sentence
    for line in """
The plan covers fire.¦It covers theft as well!¦The fee is $1,234.50 a year¦Dr. Smith, e.g., paid in Jan. 2020.¦Yes.¦No
He asked: “Is it so?” and left.¦She said (as ever) "no".¦See https://a.example/x?y=1.¦It is so [1].[2]¦Really?!¦5 %
I don't know.¦I don't have enough information to answer that.¦The documents do not say what the plan covers.
Hello!¦Sure!¦Certainly! Here is the answer:¦You're welcome.¦I hope this helps!¦Is there anything else?¦Of course.
# Fees¦## What it covers¦**Fees**¦Fees:¦The plan covers:¦Here are the steps:¦- fire¦* theft, too¦1. Pay.¦2) Wait.
| a | b |¦|---|---|¦| 1. x | 2 |¦Plan | Price¦```python¦x = price + 1  # why. not¦```¦~~~¦> quoted. Words.¦---¦***¦✓
東京は首都です。¦人口は？¦「はい。」と言った。¦わかりません。¦こんにちは！¦北京是中国的首都。¦Привет.¦Hola.¦料金：
""".splitlines()
    for sentence in line.split("¦")
    if sentence
]
texts = st.lists(
    st.tuples(
        st.sampled_from(SENTENCES)
        | st.sampled_from(SENTENCES)
        | st.integers(1, 500).map("x".__mul__)
        | st.integers(1, 90).map("wo rd ".__mul__)
        | st.text(max_size=5),
        st.sampled_from([" ", " ", " ", "\n", "\n\n", "", "\r\n", " " * 30]),
    ).map("".join),
    max_size=9,
).map("".join)
quiet = st.lists(
    st.sampled_from(["Sure! ", "Of course. ", "Fees:\n", "# Fees\n", "Here are the steps:\n", "The plan covers:\n"])
    | st.sampled_from(["Hello! ", "I don't know. ", "- fire\n", "Is there anything else? ", "\n" * 30, "---\n"]),
    max_size=12,
).map("".join)
texts = texts | quiet
scores = st.sampled_from([1.0, 0.9, 0.7, 0.7, 0.6999, 0.5, 0.4999, 0.0])
kind = st.sampled_from([1.0, 1.0, 0.9, 0.7])
results = st.tuples(kind, scores) | st.tuples(scores, scores) | st.sampled_from([GOOD, GOOD, FAILED, (0.9, None)])
rules = st.builds(
    Rule, threshold=st.sampled_from([0.7, 0.5, 0.0]), action=st.sampled_from(["block", "block", "flag", "off"])
)
blocking = st.builds(Rule, threshold=st.sampled_from([0.7, 0.5]))
policies = st.builds(
    Terms,
    grounding=rules | blocking,
    relevance=rules | blocking,
    relevance_applies=st.booleans(),
    abstention=st.sampled_from(["pass", "score", "block"]),
    on_scorer_error=st.sampled_from(["block", "pass"]),
).filter(lambda said: said.grounding.active or said.relevance.active)
queries = st.sampled_from([QUERY, None, "Is it so?"])
refusals = st.sampled_from(["", "", "", "I cannot help with that."])
tables = st.lists(results, min_size=1, max_size=5)
plays = settings(deadline=None, max_examples=400)


class Played:
    """An answer that went through a gate, cut and scored in an order that ``seed`` decides; ``limits`` as it went."""

    def __init__(self, text, refusal, said, query, table, release="sentence", seed=0):
        self.random, self.said, self.table = Random(seed), said, table
        self.gate = Gate(said, query, release)
        self.waiting, self.asked, self.known, self.moments = [], set(), {}, []
        eager = self.random.choice([0, 0.2, 0.9])
        begin = 0
        while begin < len(text):
            end = begin + self.random.choice([1, 2, 5, 20, 100, len(text)])
            self.come(self.gate.feed(text[begin:end]))
            begin = end
            while self.waiting and self.random.random() < eager:
                self.settle()
        self.come(self.gate.close(refusal))
        while self.waiting:
            self.settle()

    def come(self, claims):
        """Claims to be scored: each once."""
        assert not {claim.index for claim in claims} & self.asked
        self.asked |= {claim.index for claim in claims}
        self.waiting += claims
        self.note()

    def settle(self):
        """Score one of those that wait."""
        claim = self.waiting.pop(self.random.randrange(len(self.waiting)))
        self.known[claim.start, claim.end, claim.index] = found(claim, *self.table[claim.index % len(self.table)])
        self.gate.settle(self.known[claim.start, claim.end, claim.index])
        self.note()

    @property
    def stopped(self):
        """Whether a claim was found that blocks whatever the others are."""
        blocks = self.said.grounding.action == "block"
        return blocks and not all(passes(result, self.said) for result in self.known.values())

    def note(self):
        """What is known and may leave now."""
        self.moments.append((self.gate.limit, self.stopped, dict(self.known)))

    @property
    def limits(self):
        """What may leave, moment by moment, until a stop."""
        return [limit for limit, stopped, _ in self.moments if not stopped]


def whole(text, refusal, said, query, table):
    """The claims of the whole answer and their results, as they are judged without a stream."""
    claims = split_claims(text, query=query, refusal=refusal)
    return [
        found(claim, *table[claim.index % len(table)])
        if must_check(claim, said.abstention)
        else ClaimResult(claim=claim)
        for claim in claims
    ]


def passes(result, said):
    """Whether this result lets the text of its claim pass."""
    if result.support is None:
        return said.on_scorer_error == "pass"
    return result.support >= said.grounding.threshold


@plays
@given(texts, refusals, policies, queries, tables, st.sampled_from(["sentence", "buffer", "after"]), st.integers())
def test_the_outcome_is_the_whole_answers(text, refusal, said, query, table, release, seed):
    """However it is cut, scored and released, an answer ends as it would if it were judged whole."""
    played = Played(text, refusal, said, query, table, release, seed)
    gate = played.gate
    expected = decide(whole(text, refusal, said, query, table), said)
    assert gate.verdict.outcome is expected.outcome
    if played.stopped:
        assert expected.outcome is Outcome.BLOCKED
        assert set(gate.verdict.reasons) <= {*expected.reasons, "scorer_error"}
    else:
        assert gate.verdict == expected


@plays
@given(texts, refusals, policies, queries, tables, st.integers(), st.integers())
def test_cutting_and_order_change_nothing_in_the_end(text, refusal, said, query, table, one, other):
    """Two streams of one answer end alike, and at their ends as much of it may leave."""
    both = [Played(text, refusal, said, query, table, seed=seed) for seed in (one, other)]
    assert len({each.gate.verdict.outcome for each in both}) == 1
    assert len({each.stopped for each in both}) == 1
    assert len({each.gate.limit for each in both}) == 1


@plays
@given(texts, policies, queries, tables, st.integers())
def test_no_part_of_a_claim_leaves_before_it_passed(text, said, query, table, seed):
    """Where grounding may block, what may leave ends before the first claim that has no result, or a bad one."""
    said = replace(said, grounding=replace(said.grounding, action="block", threshold=said.grounding.threshold or 0.7))
    judged = [
        result.claim for result in whole(text, "", said, query, table) if must_check(result.claim, said.abstention)
    ]
    for limit, _, known in Played(text, "", said, query, table, seed=seed).moments:
        for claim in judged:
            result = known.get((claim.start, claim.end, claim.index))
            assert limit <= claim.start or (result is not None and passes(result, said))


@plays
@given(texts, policies, queries, tables, st.integers())
def test_nothing_leaves_before_the_answer_may_be_one(text, said, query, table, seed):
    """Where anything may block: not before an assertion was judged, nor before a claim is relevant if it must be."""
    said = replace(said, relevance=replace(said.relevance, action="block"))
    for limit, _, known in Played(text, "", said, query, table, seed=seed).moments:
        results = known.values()
        assertions = [result for result in results if result.claim.kind is ClaimKind.ASSERTION]
        relevant = any(r.relevance is not None and r.relevance >= said.relevance.threshold for r in results)
        free = not said.relevance_applies and "block" not in (said.grounding.action, said.abstention)
        assert free or limit == 0 or (assertions and (relevant or not said.relevance_applies))


@plays
@given(texts, policies, queries, tables, st.sampled_from(["sentence", "buffer", "after"]), st.integers())
def test_what_may_leave_grows_until_a_stop_and_then_is_nothing(text, said, query, table, release, seed):
    """What was free to leave stays free until a claim stops the answer; then nothing is, and nothing becomes so."""
    played = Played(text, "", said, query, table, release, seed)
    assert played.limits == sorted(played.limits)
    assert [limit for limit, stopped, _ in played.moments if stopped] == [0] * (
        len(played.moments) - len(played.limits)
    )
    assert all(limit <= len(text) for limit in played.limits)


@settings(plays, max_examples=200)
@given(texts, policies, queries, st.sampled_from(["sentence", "buffer", "after"]))
def test_nothing_waits_where_nothing_can_block(text, said, query, release):
    """With no blocking check left to settle, text may leave as it comes, however it is to be released."""
    said = replace(said, abstention="pass", grounding=replace(said.grounding, action="flag"))
    said = replace(said, relevance=replace(said.relevance, action="block" if not said.relevance_applies else "flag"))
    gate = Gate(said, query, release)
    for at, character in enumerate(text[:200], 1):
        gate.feed(character)
        assert gate.limit == at
    assert gate.free


@settings(plays, max_examples=200)
@given(texts, policies, queries)
def test_a_good_answer_leaves_claim_by_claim(text, said, query):
    """While every claim passes as it closes and one has asserted something, only what is open waits."""
    gate, asserted = Gate(said, query), False
    for start in range(0, len(text), 90):
        for claim in gate.feed(text[start : start + 90]):
            gate.settle(found(claim, *GOOD))
            asserted = asserted or claim.needs_check
        closed = ClaimReader(query).feed(text[: start + 90])
        assert not asserted or gate.limit >= closed[-1].end
