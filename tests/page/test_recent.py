"""What the page is told of the last hour, and that it is told no text that a policy keeps."""

from __future__ import annotations

import json

import pytest
from replay.support import QUERY, SOURCES, context_of, policy_of, record_of

from proxy.grounding.types import Check, CheckKind, Claim, ClaimResult, Outcome, Verdict
from proxy.page.recent import BINS, LAST, MAX_TEXT, Recent
from proxy.policy.model import Policy

SECRET = "planted-secret-7f3a"


def exchange(policy: Policy | None = None, score: float = 0.5, **fields):
    """A record of a block with this grounding."""
    policy = policy or Policy()
    checks = (Check(kind=CheckKind.GROUNDING, rule=policy.grounding, score=score),)
    claim = ClaimResult(claim=Claim(index=0, start=0, end=len(SECRET), text=SECRET), support=score)
    verdict = Verdict(outcome=Outcome.BLOCKED, checks=checks, claims=(claim,), reasons=("grounding",))
    return record_of(policy, context_of(*SOURCES), SECRET, verdict, **fields)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The time."""
    return Clock()


def test_counts_are_by_minute_and_tenant_and_go_after_an_hour(clock):
    """What is older than an hour is forgotten, also when nothing new comes."""
    recent = Recent(clock)
    for tenant in ("acme", "acme", "beta"):
        recent(exchange(tenant=tenant))
    clock.now += 60
    recent(exchange(tenant="acme", outcome=None))
    first, second = recent.shown({})["minutes"]
    assert first["tenants"] == {"acme": {"blocked": 2}, "beta": {"blocked": 1}}
    assert second["tenants"] == {"acme": {"error": 1}}
    assert second["at"] - first["at"] == 60
    clock.now += 59 * 60
    assert len(recent.shown({})["minutes"]) == 1
    clock.now += 60
    assert recent.shown({})["minutes"] == []
    assert recent.shown({})["scores"] == {}


def test_a_clock_that_is_put_back_hides_nothing_new(clock):
    """What was counted at times that are yet to come goes; what ends now is shown where it belongs."""
    recent = Recent(clock)
    clock.now += 86_400
    recent(exchange(tenant="acme"))
    clock.now -= 86_400
    recent(exchange(tenant="beta"))
    [minute] = recent.shown({})["minutes"]
    assert (minute["at"], minute["tenants"]) == (int(clock.now // 60) * 60, {"beta": {"blocked": 1}})


@pytest.mark.parametrize(("score", "bin_"), [(0.0, 0), (0.049, 0), (0.05, 1), (0.999, BINS - 1), (1.0, BINS - 1)])
def test_scores_fall_into_their_bars(clock, score, bin_):
    """Every score from 0 to 1 has a bar."""
    recent = Recent(clock)
    recent(exchange(score=score))
    bars = recent.shown({})["scores"]["acme"]["grounding"]
    assert (len(bars), bars[bin_], sum(bars)) == (BINS, 1, 1)


def test_the_last_verdicts_are_bounded_and_newest_first(clock):
    """The oldest fall away."""
    recent = Recent(clock)
    for number in range(LAST + 5):
        recent(exchange(request_id=f"r-{number}"))
    last = recent.shown({})["last"]
    assert (len(last), last[0]["request_id"], last[-1]["request_id"]) == (LAST, f"r-{LAST + 4}", "r-5")


def test_no_text_is_told_unless_the_policy_lets_it_be_kept(clock):
    """Neither query nor answer is there under a policy that says nothing of it."""
    recent = Recent(clock)
    recent(exchange())
    told = json.dumps(recent.shown({"default": policy_of(audit_text=True)}))
    assert SECRET not in told
    assert QUERY not in told
    assert "text" not in recent.shown({})["last"][0]


def test_no_more_claims_are_kept_than_there_is_text(clock):
    """Of a very long answer only the begin is kept, and so are its claims."""
    keeps = policy_of(audit_text=True)
    starts = (0, MAX_TEXT - 1, MAX_TEXT, 10 * MAX_TEXT)
    claims = tuple(ClaimResult(claim=Claim(index=0, start=at, end=at + 5, text="x"), support=0.5) for at in starts)
    verdict = Verdict(outcome=Outcome.PASSED, claims=claims)
    recent = Recent(clock)
    recent(record_of(keeps, context_of(*SOURCES), "x" * 11 * MAX_TEXT, verdict))
    [told] = recent.shown({"default": keeps})["last"]
    assert [claim["start"] for claim in told["text"]["claims"][0]] == [0, MAX_TEXT - 1]


def test_text_goes_when_the_policy_changes(clock):
    """What was kept is told only while the policy in force still says so."""
    keeps = policy_of(audit_text=True)
    recent = Recent(clock)
    recent(exchange(keeps))
    [told] = recent.shown({"default": keeps})["last"]
    assert (told["text"]["query"], told["text"]["answers"]) == (QUERY, [SECRET])
    assert told["text"]["claims"] == [[{"start": 0, "end": len(SECRET), "kind": "assertion", "score": 0.5}]]
    for policies in ({"default": Policy()}, {}):
        assert SECRET not in json.dumps(recent.shown(policies))
