"""The alert rules: promtool reads them; each fires when it should and not else, and leads to its help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from deploy.support import CONFIG, DEPLOY, RULES, alerts, promtool

CASES = sorted(Path(__file__).parent.glob("*.test.yaml"))
NAMES = [alert["alert"] for alert in alerts()]


def test_promtool_reads_the_files():
    """Prometheus's own reader finds nothing wrong with the rules and the configuration."""
    promtool("check", "rules", RULES)
    promtool("check", "config", CONFIG)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should(file):
    """The cases written down hold."""
    promtool("test", "rules", file)


@pytest.mark.parametrize("name", NAMES)
def test_each_alert_has_cases_for_both(name):
    """For each alert there is a case in which it fires and one in which it does not."""
    expected = [
        bool(case["exp_alerts"])
        for file in CASES
        for test in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
        for case in test.get("alert_rule_test", ())
        if case["alertname"] == name
    ]
    assert set(expected) == {True, False}


@pytest.mark.parametrize("alert", alerts(), ids=NAMES)
def test_each_alert_says_what_to_do(alert):
    """An alert waits before it fires, has a severity, says what is wrong, and names its section of the run-book."""
    assert re.fullmatch(r"[1-9]\d*[mh]", alert["for"])
    assert alert["labels"]["severity"] in {"critical", "warning"}
    notes = alert["annotations"]
    assert notes["summary"]
    assert notes["description"]
    path, _, anchor = notes["runbook_url"].partition("#")
    assert path == "deploy/README.md"
    headings = re.findall(r"^#+ (.+)$", (DEPLOY / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {heading.lower() for heading in headings}
    assert alert["alert"].lower().startswith(anchor)
