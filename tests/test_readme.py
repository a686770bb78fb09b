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


@pytest.mark.parametrize("code", blocks("python"), ids=["openai", "boto3"])
def test_the_examples_run(code: str, demo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Pasted against the demo, the openai example and the boto3 example print a block."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    names: dict[str, object] = {}
    exec(code.replace("http://127.0.0.1:8080", demo), names)  # noqa: S102 - our own README
    names["client"].close()
    said = capsys.readouterr().out
    assert said.startswith(("content_filter I can't answer", "guardrail_intervened [{'text': \"I can't answer"))


def test_what_is_no_python_is_well_formed():
    """Its JSON is a request, its YAML models, a list of tenants and three scorers."""
    [request], [models, tenants, scorers] = map(json.loads, blocks("json")), blocks("yaml")
    assert set(request) == {"model", "messages", "amazon-bedrock-guardrailConfig"}
    assert set(yaml.safe_load(tenants)["tenants"][0]) == {"id", "policy", "policies", "key_sha256", "aws"}
    assert list(yaml.safe_load(models)["bedrock_models"]) == ["anthropic.claude-3-haiku-20240307-v1:0", "*"]
    assert [one["scorer"]["backend"] for one in yaml.safe_load_all(scorers)] == ["transformers", "llm", "remote"]


@pytest.mark.parametrize(
    "text", [*blocks("yaml")[2].split("---\n"), *commented("scorer"), blocks("yaml")[0], *commented("bedrock_models")]
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
