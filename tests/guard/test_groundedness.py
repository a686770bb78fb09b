"""A check of grounding that its caller asks for by name: what of a policy applies, and how it fails."""

from __future__ import annotations

import pytest

from proxy.grounding.errors import CallerError
from proxy.grounding.types import GroundingContext, Outcome, Source, Verdict
from proxy.guard.groundedness import grounding_only, not_scored, require_within, unchecked
from proxy.policy.model import Policy

FIELDS = {"answer": "text", "grounding_source": "facts", "query": "question"}


def policy_of(**keys: object) -> Policy:
    """A policy with these keys."""
    return Policy.model_validate(keys)


def test_only_grounding_is_left_of_a_policy():
    """Relevance, redaction, abstentions, unscored JSON and the sample keep no text from being judged."""
    policy = policy_of(
        grounding={"threshold": 0.6, "action": "redact", "aggregate": "mean"},
        abstention="block",
        on_uninspected={"json": "pass"},
        sample=0,
    )
    only = grounding_only(policy.for_request("any"))
    grounding = (only.grounding.threshold, only.grounding.action, only.grounding.aggregate)
    assert grounding == (0.6, "block", "mean")
    assert (only.relevance.action, only.abstention, only.on_uninspected.json_) == ("off", "pass", "score")
    assert only.active


@pytest.mark.parametrize(
    ("source", "query", "text", "field"),
    [("s" * 11, "", "t", "facts"), ("s", "q" * 11, "t", "question"), ("s", "", "t" * 11, "text")],
)
def test_what_is_over_a_limit_is_named_as_the_request_names_it(source: str, query: str, text: str, field: str):
    """Every field of the three, where the policy rejects; none where it scores all the same."""
    limits = {"source_chars": 10, "query_chars": 10, "answer_chars": 10}
    context = GroundingContext.of([Source(text=source)], query)
    require_within(policy_of(limits=limits | {"on_exceed": "score"}), context, text, FIELDS)
    with pytest.raises(CallerError, match="has 11 characters; the policy allows 10") as raised:
        require_within(policy_of(limits=limits | {"on_exceed": "reject"}), context, text, FIELDS)
    assert raised.value.param == field


def test_what_could_not_be_checked_did_not_pass():
    """Whatever the policy made of a scorer that failed, the record has a block, and the caller the kind of failure."""
    let_through = Verdict(outcome=Outcome.UNSCORED, bypasses=("scorer_error",))
    found = unchecked(let_through)
    assert (found.outcome, found.reasons, found.bypasses) == (Outcome.BLOCKED, ("scorer_error",), ())
    assert (not_scored(["error"]).reason, not_scored(["error", "timeout"]).reason) == ("error", "timeout")
