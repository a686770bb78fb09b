"""The dashboards: as the script writes them, in Grafana's own schema, about metrics and labels that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations

import pytest
from deploy.schema import against_schema
from deploy.support import DASHBOARDS, DEPLOY, RULES, alerts, recorded

from proxy.observe import metrics as words
from proxy.observe.metrics import Metrics

REGISTRY = Metrics(tenants={}, policies=[], models=[], version="1")._registry
OWN = {
    name: {*collector._labelnames, *(["le"] if name.endswith("_bucket") else [])}
    for collector, names in REGISTRY._collector_to_names.items()
    for name in names
}
"""Every series of ours and its labels, as the registry has them."""
RECORDED = {rule["record"]: set(re.match(r"[a-z_]+", rule["record"])[0].split("_")) for rule in recorded()}
FOREIGN = {"up": set(), "ALERTS": {"alertname", "alertstate"}}
TARGET = {"job", "instance"}
"""What Prometheus adds to each."""

WORDS = {
    "outcome": words.OUTCOMES,
    "shadow_outcome": words.SHADOW_OUTCOMES,
    "check": words.CHECKS,
    "reason": words.SCORER_ERRORS | words.BYPASSES,
    "result": words.RELOADS | words.AUDITED,
    "alertstate": {"firing"},
}
"""The closed sets that labels are taken from."""


def read(file):
    """A dashboard."""
    return json.loads(file.read_text(encoding="utf-8"))


def queries(dashboard):
    """Every query of a dashboard, its panels' and its annotations', with a name."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']}/{target['refId']}", target["expr"]
    for note in dashboard["annotations"]["list"]:
        yield note["name"], note["expr"]


EVERY = [
    *(pytest.param(expr, id=f"{file.stem}/{name}") for file in DASHBOARDS for name, expr in queries(read(file))),
    *(pytest.param(rule["expr"], id=rule["alert"]) for rule in alerts()),
    *(pytest.param(rule["expr"], id=rule["record"]) for rule in recorded()),
]
each_dashboard = pytest.mark.parametrize("file", DASHBOARDS, ids=lambda file: file.stem)
each_query = pytest.mark.parametrize("expr", EVERY)


def test_the_files_are_what_the_script_writes(tmp_path):
    """Nobody edited the JSON by hand, or the script without running it."""
    command = [sys.executable, str(DEPLOY / "grafana" / "generate.py"), str(tmp_path)]
    subprocess.run(command, check=True)  # noqa: S603 - our own
    assert {file.name: file.read_text() for file in DASHBOARDS} == {
        file.name: file.read_text() for file in tmp_path.iterdir()
    }


@each_dashboard
def test_grafana_s_types_hold_all_of_it(file):
    """Read into Grafana's own types and written again, a dashboard is the same: nothing unknown, nothing missing."""
    assert list(against_schema(read(file))) == []


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("refresh",), 30),
        (("graphTooltip",), 7),
        (("schemaVersion",), "41"),
        (("unheard-of",), 1),
        (("panels", 1, "type"), 4),
        (("panels", 1, "options", "colorMode"), "colourful"),
        (("panels", 1, "targets", 0, "format"), "picture"),
        (("panels", 1, "gridPos", "w"), "wide"),
        (("templating", "list", 0, "type"), "guess"),
    ],
)
def test_what_is_against_the_schema_is_found(path, wrong):
    """The check above sees an unknown key, a wrong type and a word that no enumeration has, wherever they stand."""
    broken = read(DASHBOARDS[0])
    place = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    assert list(against_schema(broken)) != []


@each_dashboard
def test_panels_do_not_overlap(file):
    """Every panel has an id of its own and a place of its own within the dashboard's width."""
    panels = read(file)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]


def test_the_dashboards_are_told_apart():
    """Uids and titles are unique, and the link to a tenant's dashboard leads to one."""
    all_of_them = [read(file) for file in DASHBOARDS]
    assert len({each["uid"] for each in all_of_them}) == len({each["title"] for each in all_of_them}) == 3
    links = re.findall(r"/d/([\w-]+)\?", json.dumps(all_of_them))
    assert links
    assert set(links) <= {each["uid"] for each in all_of_them}


@each_dashboard
def test_variables_are_those_that_queries_use(file):
    """Every variable that a query names exists, and every one that exists is used."""
    dashboard = read(file)
    names = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(dashboard["panels"])))
    assert used == names
    if "tenant" in names:
        assert {"tenant", "policy", "model", "surface"} <= names


def test_score_distributions_are_heat_maps():
    """The scores of both checks are shown as heat maps, for all tenants and for one."""
    for name in ("overview", "tenant"):
        maps = [
            panel
            for panel in read(DEPLOY / "grafana" / "dashboards" / f"{name}.json")["panels"]
            if panel["type"] == "heatmap"
        ]
        shown = {
            check
            for check in ("grounding", "relevance")
            for panel in maps
            if f'check="{check}"' in str(panel["targets"])
        }
        assert shown == {"grounding", "relevance"}


@each_query
def test_metrics_and_labels_exist(expr):
    """A query selects metrics that are in the registry, by labels that they have and words that occur."""
    known = {**OWN, **RECORDED, **FOREIGN}
    selected = re.findall(r"\b((?:[a-z_]+:)?groundwarden_\w+(?::\w+)?|up|ALERTS)\b(?:\{([^}]*)\})?", expr)
    assert selected or expr.startswith("vector(")
    for name, matchers in selected:
        assert name in known
        for label, operator, value in re.findall(r'(\w+)(=~|!=|!~|=)"([^"]*)"', matchers):
            assert label in known[name] | TARGET
            if label in WORDS and operator in {"=", "!=", "=~"} and not value.startswith("$"):
                assert set(value.split("|")) <= WORDS[label]
    for kept in re.findall(r"by \(([^)]*)\)", expr):
        allowed = set().union(*(known[name] for name, _ in selected)) | TARGET
        assert {label.strip() for label in kept.split(",")} <= allowed


@each_query
def test_rates_come_before_sums(expr):
    """A counter is rated series by series, so that one replica's restart is not taken for a fall of the sum.

    Every series of ours is aggregated, so that the number of replicas changes no result's shape.
    """
    for function in re.finditer(r"\b(rate|increase)\(", expr):
        assert re.match(r"groundwarden_\w+(\{[^}]*\})?\[[^\]]+\]\)", expr[function.end() :])
    counters = "|".join(sorted(name for name in OWN if name.endswith(("_total", "_bucket", "_sum", "_count"))))
    for counter in re.finditer(rf"\b({counters})\b", expr):
        assert re.search(r"\b(rate|increase)\($", expr[: counter.start()])
    for series in re.finditer(r"\bgroundwarden_\w+", expr):
        if series.start() and expr[series.start() - 1] == ":":
            continue  # recorded, and so summed already
        before = expr[: series.start()]
        assert re.search(r"\b(sum|min|max|count|absent)( by \([^)]*\))? ?\((\w+\()?$", before), before


@each_dashboard
def test_thresholds_shown_are_those_alerted_on(file):
    """The seconds of the objective are the same in the dashboards as in the rules, and an edge of the buckets."""
    from proxy.observe.metrics import OWN_SECONDS

    edges = set(re.findall(r'le=\\?"([\d.]+)\\?"', file.read_text(encoding="utf-8")))
    assert edges <= set(re.findall(r'le="([\d.]+)"', RULES.read_text(encoding="utf-8"))) == {"1.024"}
    assert 1.024 in OWN_SECONDS
