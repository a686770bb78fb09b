"""What the README shows is what happens: its Python runs against the demo, its files and keys exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from proxy.policy.cases import CaseFile
from proxy.settings import settings_from
from proxy.yamlfile import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The README's code blocks in a language, without the indent of a list."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", README, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def commented(section: str) -> list[str]:
    """The examples of a section in config.example.yaml that are commented out, without their marks."""
    lines = (ROOT / "config.example.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line.removeprefix("# ").removeprefix("#") for line in lines if line.startswith("#"))
    return re.findall(rf"^{section}:\n(?:[ ].*\n?)+", text, re.MULTILINE)


def yaml_with(key: str) -> str:
    """The one block of YAML that has this key in its first mapping."""
    [found] = [text for text in blocks("yaml") if key in next(yaml.safe_load_all(text))]
    return found


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """The demo on a free port; yields its address."""
    command = [sys.executable, "-u", "-m", "proxy", "demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        for line in process.stdout:
            if address := re.search(r"Serving on (\S+)/v1", line):
                break
        yield address.group(1)
        process.terminate()
        process.stdout.read()


@pytest.mark.parametrize("code", blocks("python"), ids=["openai", "boto3", "google"])
def test_the_examples_run(code: str, demo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Pasted against the demo, the examples of openai and boto3 print a block, Google's what is cited."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, object] = {}
    exec(code.replace("127.0.0.1:8080", demo.removeprefix("http://")), names)  # noqa: S102 - our own README
    client = names["client"]
    (client.transport if hasattr(client, "transport") else client).close()
    said = capsys.readouterr().out
    blocked = ("content_filter I can't answer", "guardrail_intervened [{'text': \"I can't answer")
    assert said.startswith(blocked) or re.fullmatch(r"0\.[45]\d* \[\[0\], \[\]\]\n", said)


def test_what_is_no_python_is_well_formed():
    """Its JSON is a request, its YAML models, cases, a list of tenants and three scorers."""
    [request] = map(json.loads, blocks("json"))
    models, tenants, scorers = (yaml_with(key) for key in ("bedrock_models", "tenants", "scorer"))
    assert CaseFile.model_validate(yaml.safe_load(yaml_with("cases"))).cases[0].expect == "blocked"
    assert set(request) == {"model", "messages", "amazon-bedrock-guardrailConfig"}
    assert set(yaml.safe_load(tenants)["tenants"][0]) == {"id", "policy", "policies", "key_sha256", "key_env", "aws"}
    assert list(yaml.safe_load(models)["bedrock_models"]) == ["anthropic.claude-3-haiku-20240307-v1:0", "*"]
    assert [one["scorer"]["backend"] for one in yaml.safe_load_all(scorers)] == ["transformers", "llm", "remote"]


@pytest.mark.parametrize(
    "text",
    [
        *yaml_with("scorer").split("---\n"),
        *commented("scorer"),
        *commented("judge"),
        yaml_with("bedrock_models"),
        *commented("bedrock_models"),
    ],
)
def test_the_settings_shown_are_right(text: str):
    """Each scorer, and each map of models, of the README and of config.example.yaml is one that settings accept."""
    models = {"model_list": [{"model_name": "gpt-4o-mini", "litellm_params": {"model": "openai/gpt-4o-mini"}}]}
    written = yaml.safe_dump({**yaml.safe_load(text), **models}).encode()
    _, problems = settings_from(parse(ROOT / "config.yaml", written), environ={"SCORER_KEY": "x"})
    assert problems == []


def test_what_it_links_to_exists():
    """Every relative link leads to a file."""
    targets = re.findall(r"\]\(([^)#:]+)\)", README.replace("\n", " "))
    assert targets
    assert all((ROOT / target).exists() for target in targets)
