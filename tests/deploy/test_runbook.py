"""The run-book: what a newcomer pastes works, and ends in a block that Prometheus shows; its files fit together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose
from deploy.support import CONFIG, DASHBOARDS, DEPLOY, ROOT, Prometheus
from serving import Serving

from proxy.settings import settings_from
from proxy.yamlfile import parse

RUNBOOK = (DEPLOY / "README.md").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
KEYS = {name: f"{name.lower()}-for-tests-only" for name in ("ACME_KEY", "BETA_KEY", "ADMIN_KEY", "OPENAI_API_KEY")}


def commands() -> list[str]:
    """What the run-book says to type, each with its further lines."""
    blocks = re.findall(r"^```console\n(.*?)^```", RUNBOOK, re.MULTILINE | re.DOTALL)
    return [command for block in blocks for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """What ``compose.yaml`` starts, without Docker and on free ports; yields the addresses to use instead."""
    folder = tmp_path_factory.mktemp("runbook")
    config = yaml.safe_load((DEPLOY / "config.yaml").read_text(encoding="utf-8"))
    config["server"] |= {"host": "127.0.0.1", "admin_host": "127.0.0.1"}
    config["policies"] = "policies"
    shutil.copytree(ROOT / "policies", folder / "policies")
    with pytest.MonkeyPatch.context() as environment:
        for name, key in KEYS.items():
            environment.setenv(name, key)
        server = Serving(folder, config)
    with server, Prometheus(folder, [server.admin.removeprefix("http://")]) as prometheus:
        prometheus.scraped()
        yield {
            "8080": server.url,
            "9464": server.admin,
            "9090": prometheus.url,
            "prometheus": prometheus,
            "policies": folder / "policies",
        }


def run(text: str, started) -> str:
    """Run lines in bash, as typed but for the addresses and the patience."""
    for port in ("8080", "9464", "9090"):
        text = text.replace(f"http://127.0.0.1:{port}", started[port])
    text = text.replace("seq 60", "seq 3").replace("sleep 1", "sleep 0")
    command, environment = [shutil.which("bash"), "-euc", text], {**KEYS, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_steps_show_a_block(started):
    """Typed in order, the commands judge two answers, make traffic, and find the block in Prometheus."""
    typed = [command for command in commands() if not command.startswith(("export", "docker"))]
    define, passes, blocks, traffic, ask, problems = typed
    said = run(define + passes + blocks, started).splitlines()
    assert '"action":"NONE"' in said[0].replace(" ", "")
    assert '"action":"GUARDRAIL_INTERVENED"' in said[1].replace(" ", "")
    assert run(define + traffic, started) == ""
    started["prometheus"].scraped()
    found = run(ask, started)
    assert '"check":"grounding"' in found
    assert '"tenant":"acme"' in found
    assert '"problems":[]' in run(problems, started).replace(" ", "")


def test_only_docker_s_commands_are_not_run():
    """Of what the run-book says to type, only the keys and Docker's own two lines are left out above."""
    left_out = [command for command in commands() if command.startswith(("export", "docker"))]
    assert len(left_out) == 3
    assert len(commands()) == 9
    [check] = [command for command in left_out if " check " in command]
    assert f"config.yaml:{check.split()[-1]}:ro" in (DEPLOY / "compose.yaml").read_text(encoding="utf-8")


def test_a_reload_can_be_asked_for(started):
    """The command in the text on policies puts an edit in force, and says what is wrong with one."""
    command = re.search(r"`(curl -X POST .*?)`", RUNBOOK, re.DOTALL)[1].replace("\n", " ")
    before = json.loads(run(command, started))
    (started["policies"] / "new.yaml").write_text("extends: strict\n")
    after = json.loads(run(command, started))
    assert after["problems"] == []
    assert after["version"] != before["version"]
    (started["policies"] / "new.yaml").write_text("extends: strickt\n")
    assert "new.yaml" in str(json.loads(run(command, started))["problems"])
    (started["policies"] / "new.yaml").unlink()
    assert json.loads(run(command, started))["version"] == before["version"]


def test_the_configuration_is_good(monkeypatch):
    """config.yaml has no mistake, and neither has the one in the Kubernetes manifest."""
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    given = parse(DEPLOY / "config.yaml", (DEPLOY / "config.yaml").read_bytes())
    settings, problems = settings_from(given, environ=KEYS)
    assert problems == []
    assert settings.policies.resolve() == ROOT / "policies"
    inner = next(part for part in manifest() if part["kind"] == "ConfigMap")["data"]["config.yaml"]
    _, problems = settings_from(parse(Path("config.yaml"), inner.encode()), environ=KEYS)
    assert problems == []


def test_compose_accepts_the_file():
    """The file follows the Compose specification, and another one would be refused."""
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert set(PyCompose.from_yaml(text).service_names()) == {"groundwarden", "prometheus", "grafana"}
    with pytest.raises(ValueError, match="read_only"):
        PyCompose.from_yaml(text.replace("read_only: true", "read_only: perhaps"))


def test_what_compose_mounts_is_there():
    """Every mounted file and folder exists, and lies where the mounted configuration looks for it."""
    inside = {}
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source, target = volume.split(":")[:2]
            if source.startswith("."):
                assert (DEPLOY / source).exists()
                inside[target] = DEPLOY / source
    assert inside["/etc/groundwarden/policies"].resolve() == ROOT / "policies"
    assert "/etc/groundwarden/deploy/config.yaml" in COMPOSE["services"]["groundwarden"]["command"]
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/groundwarden.yaml").read_text())[
        "providers"
    ]
    assert inside[provider["options"]["path"]] == DASHBOARDS[0].parent
    home = COMPOSE["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (inside[str(Path(home).parent)] / Path(home).name).exists()


def test_compose_s_parts_find_each_other():
    """Prometheus looks for the proxy's service on its admin port, Grafana for Prometheus's; all is for this machine."""
    (job,) = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert found["names"] == ["groundwarden"]
    assert found["port"] == 9464
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    ports = [port for service in COMPOSE["services"].values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert {port.rpartition(":")[2] for port in ports} == {"8080", "9464", "9090", "3000"}


def test_every_key_is_asked_for():
    """Each variable that the configuration names is passed into the container, and demanded if it is a key of ours."""
    named = set(re.findall(r"key_env: (\w+)|environ/(\w+)", (DEPLOY / "config.yaml").read_text(encoding="utf-8")))
    given = COMPOSE["services"]["groundwarden"]["environment"]
    assert {one or other for one, other in named} | {"ADMIN_KEY"} == set(given)
    assert [name for name, value in given.items() if ":?" not in value] == ["OPENAI_API_KEY"]


def manifest():
    """The parts of the Kubernetes manifest."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))


def test_the_manifest_s_parts_fit():
    """The selectors are the pods' labels, ports and volumes have names that exist, probes ask what the server has."""
    deployment, service, budget = (
        next(part for part in manifest() if part["kind"] == kind)["spec"]
        for kind in ("Deployment", "Service", "PodDisruptionBudget")
    )
    pod = deployment["template"]
    labels = pod["metadata"]["labels"]
    assert labels == service["selector"] == deployment["selector"]["matchLabels"] == budget["selector"]["matchLabels"]
    (container,) = pod["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": 8080, "admin": 9464}
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(ports["admin"])
    assert {port["targetPort"] for port in service["ports"]} == {"http"}
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
    assert [(probe["path"], probe["port"]) for probe in probes] == [("/readyz", "http")] * 2 + [("/healthz", "http")]
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        volume["name"] for volume in pod["spec"]["volumes"]
    }


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!http)[^)#]+)", RUNBOOK))
def test_what_the_run_book_links_to_is_there(path):
    """Links lead somewhere."""
    assert (DEPLOY / path).exists()
