"""Everything that can be wrong before a start, found at once."""

import json
from pathlib import Path

import pytest

from proxy.check import check_config, check_policies, load, notes_on
from proxy.policy.model import Policy
from proxy.settings import sha256_of, shipped_policies
from proxy.yamlfile import ConfigError

ROOT = Path(__file__).resolve().parent.parent
MODELS = "model_list: [{model_name: gpt, litellm_params: {model: openai/gpt, api_key: os.environ/KEY}}]\n"
ENVIRON = {"KEY": "sk-secret"}


@pytest.fixture
def write(tmp_path):
    """Write a config (with one model at its head) and policies, and give the config's path."""

    def written(config: str, **policies: str) -> Path:
        (tmp_path / "policies").mkdir(exist_ok=True)
        for name, text in policies.items():
            (tmp_path / "policies" / f"{name}.yaml").write_text(text)
        file = tmp_path / "config.yaml"
        file.write_text(MODELS + config)
        return file

    return written


def told(file: Path) -> list[str]:
    """Give a config's problems with its folder cut off."""
    return [str(problem).replace(f"{file.parent}/", "") for problem in check_config(file, environ=ENVIRON)]


def test_what_is_right_loads(write):
    """A good config gives settings and a store that holds its first set and requires the tenants' policies."""
    file = write(
        f"policies: policies\ntenants: [{{id: a, policy: acme, key_sha256: [{sha256_of('k')}]}}]", acme="stream: after"
    )

    settings, store = load(file, environ=ENVIRON)

    assert check_config(file, environ=ENVIRON) == []
    assert settings.tenants[0].policy == "acme"
    assert store.snapshot.policies["acme"].stream == "after"
    assert store.required == {"acme", "default"}


def test_the_process_environment_is_the_default(write, monkeypatch):
    """Without a mapping of their own callers get the process's variables."""
    file = write("")
    monkeypatch.delenv("KEY", raising=False)
    assert "KEY" in str(check_config(file)[0])
    monkeypatch.setenv("KEY", "x")
    assert check_config(file) == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            "policies: policies\ntenants:\n- {id: a, key_env: KEY, policy: acmee}",
            "config.yaml:4:33: tenants[0].policy: must name a policy; try acme",
        ),
        (
            "policies: policies\ntenants:\n- id: a\n  key_env: KEY\n  policies: [acme, nobody]",
            "config.yaml:6:20: tenants[0].policies[1]: must name a policy; try acme, default",
        ),
        ("policies: elsewhere", "config.yaml:2:11: policies: must be an existing folder"),
        ("policies: 5", "config.yaml:2:11: policies: must be a path"),
        ("server: {port: x}", "config.yaml:2:16: server.port: must be a whole number"),
    ],
)
def test_every_problem_names_its_line(write, config, expected):
    """One thing wrong is one line, with its place in the file."""
    [found] = told(write(config, acme="stream: after"))

    assert found.startswith(expected)


def test_models_are_checked_by_those_who_serve_them(tmp_path):
    """A problem of an entry is placed at its line, and a missing variable in it is not told twice."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "model_list:\n- model_name: a\n  litellm_params:\n    model: openai/a\n    api_key: os.environ/NOPE\n"
        "    timeout: soon\n- model_name: b\n  litellm_params: 5\n"
    )

    found = told(file)

    assert [line.split(": ")[0] for line in found] == ["config.yaml:5:14", "config.yaml:6:5", "config.yaml:8:3"]
    assert "model_list[0].litellm_params.timeout" in found[1]


def checkpoint(folder: Path, **fields) -> None:
    """A folder with nothing of a model but its config.json."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"], **fields}))


def test_a_judge_must_be_a_model_of_the_list(tmp_path):
    """As the one that scores must."""
    file = tmp_path / "config.yaml"
    models = "model_list: [{model_name: gpt, litellm_params: {model: openai/gpt, api_key: k}}]"
    file.write_text(f"{models}\njudge: {{model: gpd}}\n", encoding="utf-8")
    [problem] = check_config(file)
    assert str(problem).endswith("2:16: judge.model: must be a model_name of model_list; try gpt")


LABELS = {"id2label": {"0": "yes", "1": "no"}, "label2id": {"yes": 0, "no": 1}}


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        ("{backend: llm, model: gpd}", "2:31: scorer.model: must be a model_name of model_list; try gpt"),
        ("{backend: llm, model: judge}", "2:31: scorer.model: must be a model_name of model_list; try gpt"),
        ("{backend: transformers, model: ./nowhere}", "2:40: scorer.model: must be an existing folder; its path is"),
        ("{backend: transformers, model: /no/where}", "2:40: scorer.model: must be an existing folder; its path is"),
        ("{backend: transformers, model: empty}", "2:40: scorer.model: must be a folder with a model's config.json in"),
        (
            "{backend: transformers, model: odd}",
            "2:40: scorer.model: has labels that do not say which one means supported (0 is yes, 1 is no); name it",
        ),
        (
            "{backend: transformers, model: odd, entailment_label: maybe}",
            "2:63: scorer.entailment_label: has labels that do not say which one means supported",
        ),
        (
            "{backend: transformers, model: odd, head: lettuce}",
            "2:40: scorer.model: is a BertForSequenceClassification, whose head can be nli or minicheck, not lettuce",
        ),
    ],
)
def test_a_scorer_that_cannot_start_is_found(write, tmp_path, scorer, expected):
    """What shows without loading or asking it is told with its line, and what would help."""
    checkpoint(tmp_path / "odd", **LABELS)
    (tmp_path / "empty").mkdir()

    [found] = told(write(f"scorer: {scorer}"))

    assert found.startswith(f"config.yaml:{expected}")


@pytest.mark.parametrize(
    "scorer",
    [
        "{backend: llm, model: gpt}",
        "{backend: transformers, model: org/name-on-the-hub}",
        "{backend: transformers, model: odd, entailment_label: yes-it-is}",
        "{backend: transformers, model: odd, entailment_label: 1}",
        "{backend: remote, url: 'https://scorer.internal/score'}",
    ],
)
def test_a_scorer_that_may_start_is_let_through(write, tmp_path, scorer):
    """A model on the hub is not looked up, a service not asked, and an operator who names the label is believed."""
    checkpoint(tmp_path / "odd", id2label={"0": "yes-it-is", "1": "no"})

    assert told(write(f"scorer: {scorer}")) == []


@pytest.mark.parametrize("path", ["none/audit.jsonl", "."])
def test_an_audit_that_cannot_be_written_is_found(write, path):
    """Its folder must exist, and it must be a file."""
    [problem] = told(write(f"policies: policies\naudit: {{path: {path}}}"))
    assert problem.startswith("config.yaml:3:15: audit.path: must be a file in a folder that exists")


def test_an_audit_that_can_be_written_is_let_through(write):
    """A file that is to be made, and standard output."""
    assert told(write("policies: policies\naudit: {path: audit.jsonl}")) == []
    assert told(write('policies: policies\naudit: {path: "-"}')) == []


def test_a_missing_extra_is_found(write, monkeypatch):
    """Without torch the scorer cannot load; the line says what to install."""
    monkeypatch.setattr("proxy.check.find_spec", lambda name: None)

    [found] = told(write("scorer: {backend: transformers, model: org/name}"))

    assert found == (
        "config.yaml:2:19: scorer.backend: needs torch and transformers, not installed here; "
        "try pip install 'groundwarden[transformers]'"
    )


def test_everything_is_found_at_once(write):
    """Settings, environment, models, tenants and policies are told together, in the order of their lines."""
    file = write(
        "policies: policies\nserver: {port: x}\ntenants: [{id: a, policy: nobody, key_env: NOT_SET}]\n",
        acme="stream: no",
    )

    found = told(file)

    assert [line.split(": ")[1] for line in found] == [
        "server.port",
        "tenants[0].policy",
        "tenants[0].key_env",
        "stream",
    ]
    with pytest.raises(ConfigError) as caught:
        load(file, environ=ENVIRON)
    assert list(caught.value.problems) == check_config(file, environ=ENVIRON)


def test_secrets_never_appear(write):
    """Keys in the clear and from variables stay out of every message."""
    file = write(
        "server: {port: os.environ/KEY, host: os.environ/KEY, admin_key_env: os.environ/KEY}\n"
        "policies: os.environ/KEY\ntenants: [{id: os.environ/KEY, policy: os.environ/KEY, key_env: os.environ/KEY},\n"
        "  {id: b, key_sha256: [sk-secret]}]\nbedrock_models: {a: os.environ/KEY}\nscorer: os.environ/KEY\n"
    )

    found = told(file)

    assert len(found) == 7
    assert all("sk-secret" not in line for line in found)


def test_a_file_that_is_no_yaml_is_one_problem(write):
    """Nothing else is guessed about a file that cannot be read; a missing one is told too."""
    [found] = told(write("x: ["))
    assert "is not valid YAML" in found
    assert "does not exist" in str(check_config(Path("no-such-config.yaml"))[0])


def test_the_command_lines_host_and_port_are_checked_with_the_rest(write):
    """They replace the file's, and a host that others reach still needs tenants."""
    file = write("server: {host: 127.0.0.1, port: 1}")

    settings, _ = load(file, host="localhost", port=0, environ=ENVIRON)

    assert (settings.server.host, settings.server.port) == ("localhost", 0)
    with pytest.raises(ConfigError, match="loopback"):
        load(file, host="0.0.0.0", environ=ENVIRON)
    with pytest.raises(ConfigError, match="loopback"):
        load(write(""), host="0.0.0.0", environ=ENVIRON)
    with pytest.raises(ConfigError, match="server: must be a mapping"):
        load(write("server: 5"), host="localhost", environ=ENVIRON)


def test_what_is_buffered_all_the_same_is_said(write):
    """A policy whose streams cannot be released sentence by sentence is right, and told of."""
    file = write(
        "policies: policies",
        plain="{}",
        whole="grounding: {aggregate: mean}",
        asked="stream: buffer\ngrounding: {action: redact}",
        changed="grounding: {action: redact}",
        repeated="retry: {attempts: 1}",
    )
    noted = [note.split(":")[0] for note in notes_on(file, environ=ENVIRON)]
    assert noted == ["policy changed", "policy repeated", "policy whole"]


def test_policies_are_checked_without_a_config(tmp_path):
    """Files and folders may be named together, and each problem is told once."""
    (tmp_path / "a.yaml").write_text("stream: no")
    (tmp_path / "b.yaml").write_text("extends: a\ntimeout_ms: 0")

    assert len(check_policies([tmp_path])) == 2
    assert len(check_policies([tmp_path / "a.yaml", tmp_path / "b.yaml", tmp_path])) == 2
    assert len(check_policies([tmp_path / "a.yaml"])) == 1
    assert check_policies([]) == []


def test_the_shipped_policies_are_right():
    """Both pass; default.yaml states the built-in defaults and strict.yaml is nowhere laxer."""
    assert check_policies([shipped_policies()]) == []
    store = load(ROOT / "config.example.yaml", environ={"OPENAI_API_KEY": "x"})[1]
    default, strict = (store.snapshot.policies[name] for name in ("default", "strict"))

    assert default.model_copy(update={"description": ""}) == Policy()
    assert strict.grounding.threshold > default.grounding.threshold
    assert strict.relevance.threshold > default.relevance.threshold
    assert (strict.on_missing_context, strict.abstention, strict.allow_trace) == ("block", "pass", False)
    assert strict.trust == ("system", "developer")


def test_every_key_is_written_out_in_the_shipped_default():
    """default.yaml shows each key there is, so that it can serve as the reference."""
    text = (shipped_policies() / "default.yaml").read_text()

    assert all(f"{name}:" in text for name in set(Policy.model_fields) - {"name", "in_sample"})


def test_the_example_config_is_right():
    """config.example.yaml passes once its variable is set."""
    assert check_config(ROOT / "config.example.yaml", environ={"OPENAI_API_KEY": "x"}) == []
    [problem] = check_config(ROOT / "config.example.yaml", environ={})
    assert "OPENAI_API_KEY" in str(problem)
