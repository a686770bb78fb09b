"""A real Prometheus scrapes two real replicas under mixed traffic: every panel and alert has data, and sums hold."""

from __future__ import annotations

import json
import math
import re
import time

import pytest
from deploy.support import DASHBOARDS, Prometheus, alerts, binary, recorded, until
from deploy.traffic import MODEL, POLICIES, TENANTS, Replicas

MAY_BE_ZERO = {
    "Reloads failing",
    "Alerts",
    "Pairs waiting",
    "Pairs waiting, by replica",
    "Share slower than 1.024 s",
}
"""Panels that are right to show nothing but zeros in good times."""

RANGES = {"$__rate_interval": "5m", "$__range": "5m", "$datasource": "prometheus"}
ALL = dict.fromkeys(("job", "instance", "tenant", "policy", "model", "surface"), ".*")

SECOND = re.compile("groundwarden_(shadow|retries)_")
"""What only a tenant with a shadow and retries has."""

HISTORY_DAYS = 8
HISTORY_STEP = 3600


def history():
    """A week of what the rules record, as OpenMetrics: the alert on jumps compares with it."""
    now = int(time.time())
    begin = now - HISTORY_DAYS * 86400
    lines = []
    for name, value in (
        ("job_tenant:groundwarden_judged:rate5m", 0.5),
        ("job_tenant:groundwarden_blocked:rate5m", 0.05),
    ):
        lines.append(f"# TYPE {name} gauge")
        for tenant in TENANTS:
            lines += [
                f'{name}{{job="groundwarden",tenant="{tenant}"}} {value} {at}'
                for at in range(begin, now - HISTORY_STEP, HISTORY_STEP)
            ]
    return "\n".join([*lines, "# EOF\n"])


@pytest.fixture(scope="module")
def replicas(tmp_path_factory, _recording_server):
    """Two replicas."""
    binary("prometheus")  # before the models are loaded
    _recording_server.reset()
    with Replicas(tmp_path_factory.mktemp("replicas"), _recording_server) as both:
        yield both
    _recording_server.reset()


@pytest.fixture(scope="module")
def prometheus(replicas, tmp_path_factory):
    """A Prometheus that has seen mixed traffic, a policy that did not load, and one that did."""
    with Prometheus(tmp_path_factory.mktemp("prometheus"), replicas.targets, history()) as server:
        server.scraped()  # once before anything happened
        replicas.send()
        server.scraped()
        replicas.send(2)
        replicas.servers[0].write_policy("flags", {"groundign": {"action": "flag"}})
        until(lambda: server.query('groundwarden_policy_reloads_total{result="failure"} > 0'))
        server.pending = server.query(alert("GroundwardenPolicyReloadFailing")["expr"])
        replicas.servers[0].write_policy("flags", POLICIES["flags"])
        until(lambda: server.query('groundwarden_policy_reloads_total{result="success"} > 1'))
        server.scraped()
        yield server


def alert(name):
    """An alert rule by its name."""
    return next(rule for rule in alerts() if rule["alert"] == name)


def filled(expr, **chosen):
    """A panel's query with what Grafana puts in for its variables."""
    for name, value in RANGES.items():
        expr = expr.replace(name, value)
    for name, value in (ALL | chosen).items():
        expr = expr.replace(f"${name}", value)
    assert "$" not in expr
    return expr


PANELS = [
    pytest.param(panel["title"], target["expr"], id=f"{file.stem}/{panel['title']}/{target['refId']}")
    for file in DASHBOARDS
    for panel in json.loads(file.read_text(encoding="utf-8"))["panels"]
    for target in panel.get("targets", ())
]
VARIABLES = {
    (variable["name"], variable["definition"])
    for file in DASHBOARDS
    for variable in json.loads(file.read_text(encoding="utf-8"))["templating"]["list"]
    if "definition" in variable
}


@pytest.mark.parametrize(("title", "expr"), PANELS)
def test_every_panel_has_data(title, expr, prometheus):
    """With everything chosen a panel shows numbers, and such that something has happened."""
    found = prometheus.query(filled(expr))
    assert found
    numbers = [value for value in found.values() if math.isfinite(value)]
    assert numbers
    assert title in MAY_BE_ZERO or max(numbers) > 0


@pytest.mark.parametrize(("title", "expr"), PANELS)
def test_every_panel_has_data_of_one(title, expr, prometheus, replicas):
    """With one thing chosen of each, as Grafana quotes it, a panel shows that."""
    quoted = re.sub(r"([.+*?()|{}^$\[\]\\])", r"\\\\\1", MODEL)
    whose = (
        {"tenant": "retried", "policy": "retries"} if SECOND.search(expr) else {"tenant": "acme", "policy": "default"}
    )
    one = {"job": "groundwarden", "instance": replicas.targets[0], **whose}
    assert prometheus.query(filled(expr, **one, model=quoted, surface="chat"))


@pytest.mark.parametrize(("name", "definition"), sorted(VARIABLES), ids=lambda text: text[:20])
def test_every_variable_has_its_values(name, definition, prometheus, replicas):
    """The lists to choose from hold what there is."""
    selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", definition).groups()
    assert label == name
    expected = {
        "job": {"groundwarden"},
        "instance": set(replicas.targets),
        "tenant": {*TENANTS, "other"},
        "policy": {*TENANTS.values(), "other"},
        "model": {MODEL, "other"},
        "surface": {"chat", "apply_guardrail", "converse"},
    }
    assert prometheus.label_values(label, filled(selector)) == expected[name]


@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: file.stem)
def test_reloads_are_marked(file, prometheus):
    """The mark for a reload stands at a time of today, in milliseconds."""
    for note in json.loads(file.read_text(encoding="utf-8"))["annotations"]["list"]:
        found = prometheus.query(filled(note["expr"]))
        assert len(found) == 2
        assert all(0 <= time.time() - value / 1000 < 600 for value in found.values())


@pytest.mark.parametrize("rule", recorded(), ids=lambda rule: rule["record"])
def test_every_recording_has_data(rule, prometheus):
    """What is recorded is there."""
    assert prometheus.query(rule["record"])


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_every_alert_compares_numbers(rule, prometheus):
    """An alert that does not fire compares something: its expression, asked for yes or no, has an answer."""
    expr = re.sub(r" (>=|<=|==|>|<) ", r" \1 bool ", rule["expr"])
    expr = re.sub(r"absent\((\w+)\)", r"count(\1)", expr)
    found = prometheus.query(expr)
    assert found
    assert all(math.isfinite(value) for value in found.values())


def test_alerts_see_what_happened(prometheus, replicas):
    """The failing reload was seen in the one replica where it failed; the tenant that fails open is seen."""
    assert prometheus.pending == {frozenset({("job", "groundwarden"), ("instance", replicas.targets[0])}): 0}
    assert prometheus.query(alert("GroundwardenPolicyReloadFailing")["expr"]) == {}
    tenants = [dict(labels)["tenant"] for labels in prometheus.query(alert("GroundwardenFailOpen")["expr"])]
    assert tenants == ["open"]
    assert prometheus.query(alert("GroundwardenScorerErrors")["expr"])
    assert prometheus.query(alert("GroundwardenAbsent")["expr"]) == {}


def test_sums_over_replicas_are_what_was_sent(prometheus, replicas):
    """Each exchange is counted once, in one replica; the sum over both is the number sent, to the last one."""
    counted = prometheus.query("sum by (tenant, outcome) (groundwarden_requests_total)")
    assert {
        (dict(labels)["tenant"], dict(labels)["outcome"]): count for labels, count in counted.items()
    } == replicas.sent
    judged = sum(count for (_, outcome), count in replicas.sent.items() if outcome != "error")
    assert prometheus.one("sum(groundwarden_added_seconds_count)") == judged
    assert prometheus.one('sum(groundwarden_added_seconds_bucket{le="+Inf"})') == judged
    assert prometheus.one("count(groundwarden_build_info)") == 2


def test_first_blocks_are_seen(prometheus, replicas):
    """A tenant's very first block is an increase, since its series was there at zero."""
    blocked = sum(count for (_, outcome), count in replicas.sent.items() if outcome == "blocked")
    assert prometheus.one("sum(increase(groundwarden_blocks_total[5m]))") >= 0.9 * blocked


def test_a_restart_loses_and_doubles_nothing(prometheus, replicas):
    """A replica that starts again counts from zero: the sum of its rates goes on, the rate of a sum would jump."""
    selector = 'groundwarden_bypass_total{tenant="acme",reason="no_source"}'
    before = prometheus.one(f"sum({selector})")
    replicas.restart(1)
    prometheus.scraped()
    replicas.send()
    prometheus.scraped()
    sent = replicas.sent["acme", "unchecked"]
    assert prometheus.one(f"sum(resets({selector}[5m]))") == 1
    assert prometheus.one(f"sum({selector})") < before + 2
    assert 0.9 * sent <= prometheus.one(f"sum(increase({selector}[5m]))") <= 1.5 * sent
