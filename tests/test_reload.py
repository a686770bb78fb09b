"""Policies that change while servers run: however they are written, whole sets only, and every replica agrees."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families
from scorers import OverlapScorer
from serving import Serving, passes_through

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

MODELS = passes_through("http://127.0.0.1:9", "m")
BAD = "grounding: {treshold: 0.5}\n"


def within(seconds: float, condition: Callable[[], Any]) -> Any:
    """What the condition gives once it is true; fails when that takes longer."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "too late"
        time.sleep(0.05)
    return found


def configmap(folder: Path, generation: str, **policies: str) -> None:
    """Write a set of policies as the kubelet does: a new folder, then one renaming of the link ``..data``."""
    real = folder / f"..{generation}"
    real.mkdir(parents=True)
    for name, text in policies.items():
        (real / f"{name}.yaml").write_text(text, encoding="utf-8")
    temporary = folder / "..data_tmp"
    temporary.symlink_to(real.name)
    temporary.replace(folder / "..data")
    for name in policies:
        link = folder / f"{name}.yaml"
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}.yaml")
    for link in folder.glob("[!.]*.yaml"):
        if link.stem not in policies:
            link.unlink()


def serving(folder: Path, policies: Path, **server: Any) -> Serving:
    """A server on a folder of policies, with a folder of its own."""
    folder.mkdir()
    config = {"model_list": MODELS, "policies": str(policies), "server": server}
    return Serving(folder, config, scorer=OverlapScorer())


def shown(server: Serving) -> dict[str, Any]:
    """What the admin port shows of the policies."""
    return httpx.get(f"{server.admin}/policies").json()


def versions(server: Serving) -> list[str]:
    """The versions of the set that the metrics show."""
    families = text_string_to_metric_families(httpx.get(f"{server.admin}/metrics").text)
    samples = [each for family in families for each in family.samples if each.name == "groundwarden_policy_set_info"]
    assert all(sample.value == 1 for sample in samples)
    return [sample.labels["version"] for sample in samples]


def metric(server: Serving, name: str, **labels: str) -> float:
    """The sum of the metric's series that have these labels."""
    families = text_string_to_metric_families(httpx.get(f"{server.admin}/metrics").text)
    samples = (sample for family in families for sample in family.samples if sample.name == name)
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def test_replicas_take_up_a_configmap_and_agree(tmp_path: Path):
    """Both swap the whole set within two seconds, by one link, and show the same version in metrics and admin port."""
    policies = tmp_path / "policies"
    configmap(policies, "one", default="timeout_ms: 1000\n", acme="extends: default\n")
    with serving(tmp_path / "a", policies) as one, serving(tmp_path / "b", policies) as other:
        first = shown(one)["version"]
        assert versions(one) == versions(other) == [first]
        assert shown(other)["version"] == first

        configmap(policies, "two", default="timeout_ms: 1500\n", beta="extends: default\n")
        within(2, lambda: shown(one)["version"] != first and shown(other)["version"] != first)
        second = shown(one)
        assert {name: policy["timeout_ms"] for name, policy in second["policies"].items()} == {
            "default": 1500,
            "beta": 1500,
        }
        assert shown(other)["policies"] == second["policies"]
        assert versions(one) == versions(other) == [second["version"]]

        configmap(policies, "three", default="timeout_ms: 1700\n", beta=BAD)
        within(2, lambda: shown(one)["problems"] and shown(other)["problems"])
        for server in (one, other):
            assert shown(server)["policies"] == second["policies"]
            assert versions(server) == [second["version"]]
            assert metric(server, "groundwarden_policy_reloads_total", result="failure") == 1


def test_an_atomic_rename_is_taken_up(tmp_path: Path):
    """Editors and tools that write a new file and rename it over the old one are seen."""
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "default.yaml").write_text("timeout_ms: 1000\n", encoding="utf-8")
    with serving(tmp_path / "a", policies) as server:
        (policies / ".default.yaml.swp").write_text("timeout_ms: 1200\n", encoding="utf-8")
        (policies / ".default.yaml.swp").replace(policies / "default.yaml")
        within(2, lambda: shown(server)["policies"]["default"]["timeout_ms"] == 1200)


def test_a_reload_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """``POST /policies/reload`` says what came of it at once: taken up, nothing new, or every problem; with the key."""
    monkeypatch.setenv("ADMIN_KEY", "operator")
    policies = tmp_path / "policies"
    policies.mkdir()
    file = policies / "default.yaml"
    file.write_text("timeout_ms: 1000\n", encoding="utf-8")
    with serving(tmp_path / "a", policies, admin_key_env="ADMIN_KEY") as server:

        def reload(key: str = "operator") -> httpx.Response:
            headers = {"authorization": f"Bearer {key}"}
            return httpx.post(f"{server.admin}/policies/reload", headers=headers, timeout=10)

        assert reload("nobody").status_code == 401
        assert (
            httpx.get(f"{server.admin}/policies/reload", headers={"authorization": "Bearer operator"}).status_code
            == 405
        )
        first = reload()
        assert (first.status_code, first.json()["result"], first.json()["problems"]) == (200, "unchanged", [])

        file.write_text("timeout_ms: 1100\n", encoding="utf-8")
        second = within(2, lambda: (said := reload().json())["version"] != first.json()["version"] and said)
        assert second["result"] in {"success", "unchanged"}  # the watch may have been quicker

        file.write_text(BAD, encoding="utf-8")
        for _ in range(2):  # what failed is told again, not passed over as seen
            failed = reload()
            assert (failed.status_code, failed.json()["result"]) == (422, "failure")
            [problem] = failed.json()["problems"]
            assert problem.startswith(f"{file}:1:13: grounding.treshold: is not a known key; try threshold")
            assert failed.json()["version"] == second["version"]


def test_sighup_reloads(tmp_path: Path):
    """The signal reads the policies anew and stops nothing."""
    (tmp_path / "policies").mkdir()
    file = tmp_path / "policies" / "default.yaml"
    file.write_text(BAD.replace("treshold", "threshold"), encoding="utf-8")
    config = {"model_list": MODELS, "policies": "policies", "server": {"port": 0, "admin_port": 0}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "proxy", "serve", "--config", str(tmp_path / "config.yaml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stderr is not None
        try:
            said = _line(process, "ready on")
            file.write_text(BAD, encoding="utf-8")
            process.send_signal(signal.SIGHUP)
            assert "grounding.treshold" in _line(process, "not reloaded")
            process.send_signal(signal.SIGHUP)  # asked for again, it is told again, though nothing has changed
            assert "grounding.treshold" in _line(process, "not reloaded")
            assert process.poll() is None
            assert httpx.get(f"{said.split()[-1].rstrip(chr(34) + '}')}/healthz").status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert process.returncode == 0


def _line(process: subprocess.Popen[str], words: str) -> str:
    """The message of the next line of log that has these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return yaml.safe_load(line)["message"]
    message = f"the log ended without {words}"
    raise AssertionError(message)
