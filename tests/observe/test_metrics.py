"""Metrics: the names, labels and words of INTERFACES §8, exactly, and never a series more than they allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from proxy.grounding.types import Outcome
from proxy.guard.record import Record
from proxy.guard.shadow import Shadowed
from proxy.observe import metrics as words
from proxy.observe.metrics import Metrics

# INTERFACES §8, by hand: name → labels. Histograms by their base name.
COUNTERS = {
    "groundwarden_requests_total": {"tenant", "policy", "surface", "model", "outcome"},
    "groundwarden_blocks_total": {"tenant", "policy", "check"},
    "groundwarden_bypass_total": {"tenant", "reason"},
    "groundwarden_scorer_errors_total": {"reason"},
    "groundwarden_policy_reloads_total": {"result"},
    # These, and others below, are not in INTERFACES; the README lists them.
    "groundwarden_shadow_total": {"tenant", "policy", "shadow", "outcome", "shadow_outcome"},
    "groundwarden_retries_total": {"tenant", "policy"},
    "groundwarden_audit_records_total": {"result"},
}
HISTOGRAMS = {
    "groundwarden_score": {"tenant", "policy", "check"},
    "groundwarden_scoring_seconds": set(),
    "groundwarden_upstream_seconds": {"model"},
    "groundwarden_first_token_seconds": set(),
    "groundwarden_added_seconds": set(),
    "groundwarden_shadow_score": {"tenant", "shadow", "check"},
    "groundwarden_scorer_batch_pairs": set(),
    "groundwarden_scorer_batch_seconds": set(),
}
GAUGES = {
    "groundwarden_scorer_queue_pairs": set(),
    "groundwarden_policy_last_success_timestamp_seconds": set(),
    "groundwarden_policy_last_reload_successful": set(),  # an alert must know the state, not only a count
    "groundwarden_policy_set_info": {"version"},
    "groundwarden_build_info": {"version"},
}
VERDICTS = "passed flagged redacted blocked unchecked unscored"
CHECKS = "grounding relevance missing_context uninspected scorer_error"
SURFACES = "chat completions responses apply_guardrail converse invoke check_grounding corroborate detect_groundedness"
BYPASSES = "no_source policy_off tool_calls json images scorer_error abstention"


def make_metrics():
    """Make metrics for a small configuration."""
    return Metrics(tenants={"acme": ["default"]}, policies=["default"], models=["gpt"], version="1.2.3")


def make_record(**changes):
    """Make a record of a blocked exchange in which everything happened."""
    values = {
        "request_id": "r1",
        "tenant": "acme",
        "policy": "default",
        "policy_version": "0123abcd",
        "surface": "chat",
        "model": "gpt",
        "outcome": Outcome.BLOCKED,
        "status": 200,
        "total_seconds": 1.5,
        "grounding": 0.31,
        "relevance": 0.9,
        "reasons": ("grounding",),
        "bypasses": ("tool_calls",),
        "scorer_errors": ("timeout",),
        "scoring_seconds": 0.02,
        "upstream_seconds": 1.2,
        "first_token_seconds": 0.4,
        "added_seconds": 0.03,
    }
    return Record(**(values | changes))


def read(metrics):
    """Parse what metrics render into (name, labels) → value."""
    body, _ = metrics.render()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def value(metrics, name, **labels):
    """Return one sample's value, None when there is no such sample."""
    return read(metrics).get((name, frozenset(labels.items())))


def everything_happened():
    """Make metrics that have seen one of everything."""
    metrics = make_metrics()
    metrics.record(make_record(retries=1))
    metrics.in_force("0123abcd", ["default"])
    metrics.shadowed(
        Shadowed(
            tenant="acme", policy="default", shadow="default", outcome="passed", shadow_outcome="blocked", grounding=0.5
        )
    )
    return metrics


def test_names_and_labels_are_exactly_those_documented():
    """After an exchange in which everything happened, the exposition holds all documented series and no other."""
    metrics = everything_happened()
    expected = dict(COUNTERS | GAUGES)
    for name, labels in HISTOGRAMS.items():
        expected |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
    found = {}
    for name, labels in read(metrics):
        found.setdefault(name, set()).update(label for label, _ in labels)
    assert found == expected


def test_types_are_those_documented():
    """Each name has the type its use needs: counters count, histograms distribute, gauges show a state."""
    metrics = everything_happened()
    body, _ = metrics.render()
    found = dict(re.findall(r"^# TYPE (\S+) (\S+)$", body.decode(), re.MULTILINE))
    expected = dict.fromkeys(COUNTERS, "counter") | dict.fromkeys(HISTOGRAMS, "histogram")
    assert found == expected | dict.fromkeys(GAUGES, "gauge")


def test_closed_words_are_exactly_those_documented():
    """The closed label sets are the documented ones, and the outcome error besides."""
    assert {*VERDICTS.split(), "error"} == words.OUTCOMES
    assert set(CHECKS.split()) == words.CHECKS
    assert set(SURFACES.split()) == words.SURFACES
    assert set(BYPASSES.split()) == words.BYPASSES
    assert {"timeout", "error", "overloaded"} == words.SCORER_ERRORS
    assert {"success", "failure"} == words.RELOADS


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_outcome_is_counted(outcome):
    """A request is counted under its verdict's outcome."""
    metrics = make_metrics()
    metrics.record(make_record(outcome=outcome))
    labels = {"tenant": "acme", "policy": "default", "surface": "chat", "model": "gpt"}
    assert value(metrics, "groundwarden_requests_total", **labels, outcome=outcome.value) == 1


def test_a_failed_request_is_counted_as_error():
    """A request that failed before a verdict is counted, with what is not known of it as other."""
    metrics = make_metrics()
    metrics.record(make_record(outcome=None, status=401, error="invalid_api_key", tenant="", policy=""))
    labels = {"tenant": "other", "policy": "other", "surface": "chat", "model": "gpt"}
    assert value(metrics, "groundwarden_requests_total", **labels, outcome="error") == 1


def test_unknown_labels_become_other():
    """What is not in a closed set is counted as other, whichever label it is."""
    metrics = make_metrics()
    metrics.record(
        make_record(
            tenant="x",
            policy="x",
            surface="x",
            model="x",
            reasons=("x",),
            bypasses=("x",),
            scorer_errors=("x",),
        )
    )
    metrics.reload("x", 1.0)
    everything = {"tenant": "other", "policy": "other", "surface": "other", "model": "other", "outcome": "blocked"}
    assert value(metrics, "groundwarden_requests_total", **everything) == 1
    assert value(metrics, "groundwarden_blocks_total", tenant="other", policy="other", check="other") == 1
    assert value(metrics, "groundwarden_bypass_total", tenant="other", reason="other") == 1
    assert value(metrics, "groundwarden_scorer_errors_total", reason="other") == 1
    assert value(metrics, "groundwarden_policy_reloads_total", result="other") == 1
    assert value(metrics, "groundwarden_upstream_seconds_count", model="other") == 1


names = st.text(st.characters(codec=None), max_size=8).map("unknown ".__add__)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names, names, names, st.sampled_from([None, *Outcome]), st.lists(names)), max_size=20))
def test_random_names_make_no_series(exchanges):
    """However many names callers invent, there is at most one series per combination of closed labels."""
    metrics = make_metrics()
    for tenant, policy, surface, model, outcome, reasons in exchanges:
        metrics.record(
            make_record(
                tenant=tenant,
                policy=policy,
                surface=surface,
                model=model,
                outcome=outcome,
                reasons=tuple(reasons),
                bypasses=tuple(reasons),
                scorer_errors=tuple(reasons),
            )
        )
    series = [name for name, _ in read(metrics)]
    assert series.count("groundwarden_requests_total") <= len(words.OUTCOMES)
    assert series.count("groundwarden_blocks_total") <= len(words.CHECKS) + 1
    assert series.count("groundwarden_bypass_total") <= len(words.BYPASSES) + 1
    assert series.count("groundwarden_scorer_errors_total") <= len(words.SCORER_ERRORS) + 1


def test_a_block_is_counted_once_for_each_check():
    """Each check that blocked counts the exchange once, however many choices it blocked."""
    metrics = make_metrics()
    metrics.record(make_record(reasons=("grounding", "relevance", "grounding")))
    for check in ("grounding", "relevance"):
        assert value(metrics, "groundwarden_blocks_total", tenant="acme", policy="default", check=check) == 1


def test_what_is_only_flagged_is_no_block():
    """The reasons of an exchange that was not blocked are not counted as blocks."""
    metrics = make_metrics()
    metrics.record(make_record(outcome=Outcome.FLAGGED))
    assert value(metrics, "groundwarden_blocks_total", tenant="acme", policy="default", check="grounding") == 0


def test_what_alerts_watch_begins_at_zero():
    """Blocks, bypasses, failures and reloads are there before the first: a series that begins at 1 never rose."""
    metrics = Metrics(
        tenants={"acme": ["default", "strict"], "beta": ["default"]},
        policies=["default", "strict"],
        models=[],
        version="1",
    )
    counts = {}
    for (name, labels), count in read(metrics).items():
        if name in COUNTERS:
            assert count == 0
            counts.setdefault(name, []).append(dict(labels))
    assert {name: len(series) for name, series in counts.items()} == {
        "groundwarden_blocks_total": 3 * len(words.CHECKS),  # of the pairs that may occur only
        "groundwarden_bypass_total": 2 * len(words.BYPASSES),
        "groundwarden_scorer_errors_total": len(words.SCORER_ERRORS),
        "groundwarden_policy_reloads_total": len(words.RELOADS),
        "groundwarden_audit_records_total": len(words.AUDITED),
    }


def test_batches_are_counted():
    """Of each batch of the scorer's, its pairs and its time are observed."""
    metrics = make_metrics()
    metrics.ran(5, 0.25)
    metrics.ran(3, 0.5)
    assert value(metrics, "groundwarden_scorer_batch_pairs_sum") == 8
    assert value(metrics, "groundwarden_scorer_batch_pairs_count") == 2
    assert value(metrics, "groundwarden_scorer_batch_seconds_sum") == 0.75


def test_what_was_refused_at_the_door_adds_no_latency():
    """A request without a verdict, such as one with a wrong key, is no sample of what judging costs."""
    metrics = make_metrics()
    metrics.record(make_record(outcome=None, status=401, error="invalid_api_key", added_seconds=0.0001))
    assert value(metrics, "groundwarden_added_seconds_count") == 0


def test_bypasses_are_counted_once_and_errors_each():
    """A bypass counts an exchange once; scoring failures are counted one by one."""
    metrics = make_metrics()
    metrics.record(make_record(bypasses=("json", "json"), scorer_errors=("timeout", "timeout")))
    assert value(metrics, "groundwarden_bypass_total", tenant="acme", reason="json") == 1
    assert value(metrics, "groundwarden_scorer_errors_total", reason="timeout") == 2


def test_scores_fall_into_steps_of_a_twentieth():
    """Scores are distributed over 20 buckets from 0.05 to 1."""
    metrics = make_metrics()
    metrics.record(make_record(grounding=0.31))
    labels = {"tenant": "acme", "policy": "default", "check": "grounding"}
    assert value(metrics, "groundwarden_score_bucket", **labels, le="0.3") == 0
    assert value(metrics, "groundwarden_score_bucket", **labels, le="0.35") == 1
    edges = {dict(found)["le"] for name, found in read(metrics) if name == "groundwarden_score_bucket"}
    assert len(edges) == 21
    assert {"0.05", "0.7", "1.0", "+Inf"} <= edges


def test_what_did_not_happen_is_not_observed():
    """A record without scores and durations leaves the distributions empty."""
    metrics = make_metrics()
    nothing = ("grounding", "relevance", "scoring_seconds", "upstream_seconds", "first_token_seconds", "added_seconds")
    metrics.record(make_record(**dict.fromkeys(nothing)))
    counts = {name: count for (name, _), count in read(metrics).items() if name.endswith("_count")}
    assert set(counts.values()) == {0}
    assert not {"groundwarden_score_count", "groundwarden_upstream_seconds_count"} & set(counts)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("groundwarden_scoring_seconds", 0.02),
        ("groundwarden_first_token_seconds", 0.4),
        ("groundwarden_added_seconds", 0.03),
    ],
)
def test_durations_are_seconds(name, seconds):
    """Durations are observed in seconds, as their names say."""
    metrics = make_metrics()
    metrics.record(make_record())
    assert value(metrics, f"{name}_sum") == seconds


def test_the_queue_is_read_at_each_scrape():
    """The queue's length is asked for when it is shown, not remembered."""
    metrics, lengths = make_metrics(), iter([3, 5])
    metrics.set_queue(lambda: next(lengths))
    assert [value(metrics, "groundwarden_scorer_queue_pairs") for _ in range(2)] == [3, 5]


def test_a_failed_reload_does_not_move_the_last_success():
    """Reloads are counted by result from zero on, and only a success moves the timestamp."""
    metrics = make_metrics()
    assert value(metrics, "groundwarden_policy_reloads_total", result="failure") == 0
    metrics.reload("success", 100.0)
    metrics.reload("failure", 200.0)
    assert value(metrics, "groundwarden_policy_reloads_total", result="success") == 1
    assert value(metrics, "groundwarden_policy_reloads_total", result="failure") == 1
    assert value(metrics, "groundwarden_policy_last_success_timestamp_seconds") == 100.0
    assert value(metrics, "groundwarden_policy_last_reload_successful") == 0
    metrics.reload("success", 300.0)
    assert value(metrics, "groundwarden_policy_last_reload_successful") == 1


def test_the_build_is_named():
    """The running version is a label of a gauge that is 1."""
    assert value(make_metrics(), "groundwarden_build_info", version="1.2.3") == 1


def test_the_content_type_is_prometheus_text():
    """The exposition's content type is the text format that every Prometheus reads."""
    assert make_metrics().render()[1].startswith("text/plain; version=")


def test_two_sets_of_metrics_share_nothing():
    """Metrics live in their own registry: a second set starts at zero and the library's global one stays clean."""
    first, second = make_metrics(), make_metrics()
    first.record(make_record())
    assert value(second, "groundwarden_added_seconds_count") == 0
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("groundwarden")]


def test_the_readme_lists_every_metric():
    """Users find each name in the README's table."""
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    missing = {
        name for name in COUNTERS | GAUGES | HISTOGRAMS if f"`{name.removeprefix('groundwarden_')}`" not in readme
    }
    assert missing == set()
