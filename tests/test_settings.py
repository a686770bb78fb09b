"""config.yaml: its defaults, and everything it refuses."""

import hashlib
from pathlib import Path

import pytest

from proxy.settings import (
    EmbeddedSettings,
    JudgeSettings,
    RemoteSettings,
    Server,
    Settings,
    TransformersSettings,
    find_config,
    policies_folder,
    settings_from,
    sha256_of,
    shipped_policies,
)
from proxy.yamlfile import ConfigError, parse

FILE = Path("etc/config.yaml")
MODELS = "model_list: [{model_name: gpt, litellm_params: {model: openai/gpt, api_key: os.environ/KEY}}]\n"
ENVIRON = {"KEY": "sk-upstream-secret", "ACME_KEY": "acme-secret\n", "PORT": "80", "YES": "true", "SHORT": "0123456"}
HASH = hashlib.sha256(b"one").hexdigest()
OTHER = hashlib.sha256(b"two").hexdigest()


def loaded(text: str) -> Settings:
    """Read a config that must be right, with one model at its head."""
    settings, problems = settings_from(parse(FILE, (MODELS + text).encode(), environ=ENVIRON), environ=ENVIRON)
    assert problems == []
    assert settings is not None
    return settings


def problems_of(text: str) -> list[str]:
    """Read a config that must be wrong, with one model at its head, and give its problems as printed."""
    settings, problems = settings_from(parse(FILE, (MODELS + text).encode(), environ=ENVIRON), environ=ENVIRON)
    assert settings is None
    return [str(problem) for problem in problems]


def test_the_judge_is_the_one_named_or_the_one_that_scores():
    """With neither there is none."""
    assert loaded("").judge_model is None
    scoring = loaded("scorer: {backend: llm, model: gpt-4o-mini, timeout: 7, concurrency: 3}").judge_model
    assert scoring.model_dump() == {"model": "gpt-4o-mini", "timeout": 7, "concurrency": 3}
    both = loaded("scorer: {backend: llm, model: gpt-4o-mini}\njudge: {model: other}")
    assert both.judge_model.model_dump() == {"model": "other", "timeout": 60, "concurrency": 8}


def test_the_audit_is_where_the_file_says():
    """A path is relative to the file, a dash is standard output, and the key comes from the environment."""
    assert loaded("audit: {path: logs/a.jsonl}").audit.path == "etc/logs/a.jsonl"
    assert loaded('audit: {path: "-"}').audit.path == "-"
    settings = loaded("audit: {path: /var/a.jsonl, max_bytes: 10, keep: 2, key_env: KEY}")
    assert settings.audit.model_dump() == {"path": "/var/a.jsonl", "max_bytes": 10, "keep": 2, "key_env": "KEY"}
    assert settings.audit_key == "sk-upstream-secret"
    assert "sk-upstream-secret" not in repr(settings)


def test_the_defaults_are_those_of_the_interface():
    """With models alone everything else has the values that INTERFACES section 3 shows."""
    settings = loaded("")

    assert settings.server.model_dump() == {
        "host": "127.0.0.1",
        "port": 8080,
        "admin_host": "127.0.0.1",
        "admin_port": 9464,
        "admin_key_env": None,
        "max_body_bytes": 4194304,
        "insecure": False,
    }
    assert settings.policies == shipped_policies()
    assert (settings.tenants, settings.bedrock_models, settings.audit.path) == ((), {}, None)
    assert settings.scorer.model_dump() == {"backend": "embedded", "threads": 2, "queue_pairs": 256}
    assert settings.required_policies == {"default"}


def test_the_shipped_policies_are_found():
    """Wherever the program lies, its default and strict policies are beside it."""
    assert {file.name for file in shipped_policies().glob("*.yaml")} >= {"default.yaml", "strict.yaml"}


def test_models_are_plain_and_resolved():
    """The list holds Python's own types, with variables resolved, and does not show when settings are printed."""
    settings = loaded("")
    key = settings.model_list[0]["litellm_params"]["api_key"]

    assert key == "sk-upstream-secret"
    assert type(key) is str
    assert "sk-upstream-secret" not in repr(settings)


def test_the_policies_folder_is_relative_to_the_file():
    """A relative folder is beside the file, an absolute one is itself."""
    assert loaded("policies: mine").policies == Path("etc/mine")
    assert loaded("policies: /srv/mine").policies == Path("/srv/mine")
    assert policies_folder(parse(FILE, b"policies: mine")) == Path("etc/mine")


def test_sections_with_everything_commented_out_are_not_given():
    """A known key with nothing after it means its default; an unknown one is still refused."""
    assert loaded("tenants:\nserver:\npolicies:\nbedrock_models:\naudit:\nscorer:\n") == loaded("")
    assert "is not a known key" in problems_of("tenant:\n")[0]


def test_numbers_and_flags_may_come_from_the_environment():
    """Text from a variable stands for the number or the boolean it spells."""
    server = loaded("server: {host: 0.0.0.0, port: os.environ/PORT, insecure: os.environ/YES}").server

    assert (server.port, server.insecure) == (80, True)


def test_keys_are_known_by_digest_only():
    """A tenant's and the admin's keys from variables become SHA-256 digests; the keys are kept nowhere."""
    settings = loaded(
        f"server: {{admin_key_env: ACME_KEY}}\ntenants:\n- {{id: acme, key_env: ACME_KEY}}\n"
        f"- {{id: beta, policy: strict, policies: [a, b], key_sha256: [{HASH.upper()}, {OTHER}]}}\n"
    )
    digest = hashlib.sha256(b"acme-secret").hexdigest()

    assert settings.tenants[0].key_sha256 == (digest,)
    assert settings.tenants[1].key_sha256 == (HASH, OTHER)
    assert settings.admin_key_sha256 == digest
    assert settings.required_policies == {"default", "strict", "a", "b"}
    assert "acme-secret" not in repr(settings)


def test_a_key_from_the_environment_stands_beside_hashes_while_keys_are_changed():
    """Both are the tenant's, so a new key can come before the old one goes; one key twice is still one too many."""
    [tenant] = loaded(f"tenants: [{{id: acme, key_env: ACME_KEY, key_sha256: [{HASH}]}}]").tenants

    assert set(tenant.key_sha256) == {HASH, sha256_of("acme-secret")}
    [problem] = problems_of(f"tenants: [{{id: acme, key_env: ACME_KEY, key_sha256: [{sha256_of('acme-secret')}]}}]")
    assert "tenants[0].key_env: is the same key as tenants[0].key_sha256[0]; keep one of the two" in problem


def test_a_tenant_may_be_known_by_what_it_signs():
    """An AWS access key alone will do; its secret is resolved, and shown nowhere."""
    settings = loaded("tenants: [{id: acme, aws: {access_key_id: AKIAACME, secret_env: ACME_KEY}}]\n")

    assert settings.aws_secrets == {"AKIAACME": "acme-secret"}
    assert "acme-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("backend: embedded", EmbeddedSettings, {"threads": 2}),
        ("threads: 5", EmbeddedSettings, {"threads": 5}),
        (
            "backend: transformers, model: org/name, entailment_label: 0",
            TransformersSettings,
            {"model": "org/name", "head": "auto", "device": "auto", "entailment_label": 0, "max_tokens": None},
        ),
        ("backend: llm, model: gpt", JudgeSettings, {"model": "gpt", "timeout": 20.0, "concurrency": 8}),
        ("backend: remote, url: 'https://a/b'", RemoteSettings, {"url": "https://a/b", "evidence": "pieces"}),
    ],
)
def test_each_scorer_has_its_own_keys(text, kind, expected):
    """The backend says which keys there are; without one it is the embedded scorer."""
    scorer = loaded(f"scorer: {{{text}}}").scorer

    assert type(scorer) is kind
    assert expected.items() <= scorer.model_dump().items()


def test_a_remote_scorers_key_is_resolved_and_not_shown():
    """The variable's value is at hand for the scorer, without the blanks of a mounted secret, and in no print."""
    settings = loaded("scorer: {backend: remote, url: 'http://a/', api_key_env: ACME_KEY}")

    assert settings.scorer_key == "acme-secret"
    assert "acme-secret" not in repr(settings)
    assert loaded("scorer: {backend: remote, url: 'http://a/'}").scorer_key is None


def test_a_models_folder_is_relative_to_the_file(tmp_path):
    """A model that is a folder beside the file becomes its path; anything else stays a name."""
    (tmp_path / "models" / "nli").mkdir(parents=True)
    text = f"{MODELS}scorer: {{backend: transformers, model: models/NAME}}"

    def model(name):
        document = parse(tmp_path / "config.yaml", text.replace("NAME", name).encode(), environ=ENVIRON)
        settings, problems = settings_from(document, environ=ENVIRON)
        assert problems == []
        return settings.scorer.model

    assert model("nli") == str(tmp_path / "models" / "nli")
    assert model("other") == "models/other"


def test_settings_can_be_made_in_code():
    """The demo needs no file: sections are values with defaults."""
    settings = Settings(model_list=({"model_name": "demo"},), server=Server(port=0))

    assert settings.server.port == 0
    assert settings.policies.is_dir()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", '"::1"', '"[::1]"'])
def test_loopback_needs_no_tenants(host):
    """On an address that only this machine reaches, anyone may call."""
    assert loaded(f"server: {{host: {host}}}").tenants == ()


@pytest.mark.parametrize("host", ["0.0.0.0", '"::"', "10.0.0.1", "proxy.internal"])
def test_other_hosts_need_tenants_or_insecure(host):
    """On an address that others reach, no tenants is refused unless it is meant."""
    [problem] = problems_of(f"server: {{host: {host}}}")

    assert problem.startswith("etc/config.yaml:2:16: server.host: must be a loopback address")
    assert loaded(f"server: {{host: {host}, insecure: true}}").server.insecure
    assert loaded(f"server: {{host: {host}}}\ntenants: [{{id: a, key_env: ACME_KEY}}]").tenants


SIGNS = "aws: {access_key_id: AKIA, secret_env: ACME_KEY}"
REFUSED = [
    ("server: {port: 65536}", "server.port: must be 65535 or less; try 8080"),
    ("server: {port: -1}", "must be 0 or more"),
    ('server: {port: "80"}', "must be a whole number"),
    ("server: {port: true}", "must be a whole number"),
    ("server: {admin_port: x}", "server.admin_port: must be a whole number; try 9464"),
    ('server: {host: ""}', "must not be empty"),
    ("server: {max_body_bytes: 0}", "must be 1 or more"),
    ("server: {insecure: 1}", "must be true or false"),
    ("server: {prot: 1}", "server.prot: is not a known key; try port"),
    ("server: 8080", "server: must be a mapping"),
    ("server: {admin_key_env: NOT_SET}", "needs the environment variable NOT_SET"),
    ("server: {admin_key_env: sk-secret}", "must be the name of an environment variable"),
    ("polices: x", "polices: is not a known key; try policies"),
    ("policies: 5", "policies: must be a path"),
    ("scorer: {backend: embeded}", "must be embedded, transformers, llm or remote; try embedded"),
    ("scorer: {backend: transformer, model: x, head: nli}", "scorer.backend: must be embedded, transformers, llm or"),
    ("scorer: {backend: 7}", "scorer.backend: must be embedded, transformers, llm or remote"),
    ("scorer: embedded", "scorer: must be a mapping"),
    ("scorer: {backend: transformers}", "scorer.model: is required"),
    ("scorer: {backend: llm}", "scorer.model: is required"),
    ("scorer: {backend: remote}", "scorer.url: is required"),
    ("scorer: {model: x}", "scorer.model: is not a known key; the keys here are backend, threads, queue_pairs"),
    ("scorer: {backend: transformers, model: x, thread: 1}", "scorer.thread: is not a known key; try threads"),
    ("scorer: {backend: llm, model: x, threads: 1}", "scorer.threads: is not a known key; the keys here are backend,"),
    ("scorer: {backend: remote, url: 'http://a/', urll: x}", "scorer.urll: is not a known key; try url"),
    ("scorer: {backend: transformers, model: x, trust_remote_code: true}", "scorer.trust_remote_code: is not a known"),
    ("scorer: {backend: transformers, model: 7}", "scorer.model: must be text; put it in quotes"),
    ("scorer: {backend: transformers, model: x, head: mini}", "must be auto, nli, minicheck or lettuce; try minicheck"),
    ("scorer: {backend: transformers, model: x, device: gpu}", "scorer.device: must be auto, cpu or cuda"),
    ("scorer: {backend: transformers, model: x, dtype: bf16}", "scorer.dtype: must be auto, float32 or bfloat16"),
    ("scorer: {backend: transformers, model: x, max_tokens: 64}", "scorer.max_tokens: must be 128 or more"),
    ("scorer: {backend: transformers, model: x, entailment_label: true}", "must be the name of a label, or its number"),
    ("scorer: {backend: llm, model: x, timeout: 0}", "scorer.timeout: must be greater than 0"),
    ("scorer: {backend: llm, model: x, concurrency: 0}", "scorer.concurrency: must be 1 or more; try 8"),
    ("scorer: {backend: remote, url: 'ftp://a/'}", "scorer.url: must be an http or https address"),
    ("scorer: {backend: remote, url: 'https://me:secret@a/'}", "scorer.url: must be an http or https address"),
    ("scorer: {backend: remote, url: 'https:///x'}", "scorer.url: must be an http or https address"),
    ("scorer: {backend: remote, url: 'https://a:port/'}", "scorer.url: must be an http or https address"),
    ("scorer: {backend: remote, url: 'http://a/', evidence: all}", "scorer.evidence: must be pieces or whole"),
    ("scorer: {backend: remote, url: 'http://a/', api_key_env: NOT_SET}", "needs the environment variable NOT_SET"),
    ("scorer: {backend: remote, url: 'http://a/', api_key_env: sk-secret}", "must be the name of an environment"),
    ("scorer: {threads: 0}", "must be 1 or more"),
    ("scorer: {queue_pairs: 0}", "must be 1 or more; try 256"),
    ("audit: {path: 7}", "audit.path: must be text"),
    ("audit: {file: a.jsonl}", "audit.file: is not a known key"),
    ("audit: {path: a.jsonl, keep: 0}", "audit.keep: must be 1 or more; try 5"),
    ("audit: {path: a.jsonl, max_bytes: 0}", "audit.max_bytes: must be 1 or more"),
    ("audit: {path: a.jsonl, key_env: NOT_SET}", "audit.key_env: needs the environment variable NOT_SET"),
    ("audit: {path: a.jsonl, key_env: SHORT}", "audit.key_env: names a key shorter than 16 characters"),
    ("bedrock_models: {some.model-v1:0: nobody}", "some.model-v1:0: must be a model_name of model_list; try"),
    ("bedrock_models: {some.model-v1:0: 7}", "must be text"),
    ("bedrock_models: [some.model-v1:0]", "bedrock_models: must be a mapping"),
    ("tenants: {id: a}", "tenants: must be a list"),
    ("tenants: [5]", "tenants[0]: must be a mapping"),
    (f"tenants: [{{key_sha256: [{HASH}]}}]", "tenants[0].id: is required"),
    (f"tenants: [{{id: 7, key_sha256: [{HASH}]}}]", "must be text; put it in quotes"),
    (f"tenants: [{{id: a b, key_sha256: [{HASH}]}}]", "must be up to 64 letters"),
    (f"tenants: [{{id: a, polcy: x, key_sha256: [{HASH}]}}]", "try policy"),
    ("tenants: [{id: a}]", "tenants[0]: must have key_sha256, key_env or aws"),
    ("tenants: [{id: a, key_sha256: []}]", "tenants[0]: must have key_sha256, key_env or aws"),
    ("tenants: [{id: a, key_env: [KEY, NEXT]}]", "tenants[0].key_env: must be one text, not a list or a mapping"),
    ("tenants: [{id: a, key_sha256: [sk-secret]}]", "tenants[0].key_sha256[0]: must be the SHA-256 of a key"),
    (f"tenants: [{{id: a, key_sha256: {HASH}}}]", "tenants[0].key_sha256: must be a list"),
    ("tenants: [{id: a, key_env: NOT_SET}]", "tenants[0].key_env: needs the environment variable NOT_SET"),
    ("tenants: [{id: a, key_env: os.environ/KEY}]", "must be the name of an environment variable"),
    ("tenants: [{id: a, aws: {access_key_id: AKIA}}]", "tenants[0].aws.secret_env: is required"),
    ("tenants: [{id: a, aws: {access_key_id: A/B, secret_env: ACME_KEY}}]", "must be 4 to 128 letters and digits"),
    ("tenants: [{id: a, aws: {access_key_id: AKIA, secret_env: NOT_SET}}]", "needs the environment variable NOT_SET"),
    (
        f"tenants: [{{id: a, {SIGNS}}}, {{id: b, {SIGNS}}}]",
        "tenants[1].aws.access_key_id: is the access key of tenants[0] already",
    ),
    (
        f"tenants: [{{id: a, key_sha256: [{HASH}]}}, {{id: a, key_sha256: [{OTHER}]}}]",
        "tenants[1].id: is the id of tenants[0] already",
    ),
    (
        f"tenants: [{{id: a, key_sha256: [{HASH}]}}, {{id: b, key_sha256: [{OTHER}, {HASH.upper()}]}}]",
        "tenants[1].key_sha256[1]: is the key of tenants[0] already",
    ),
    (
        "tenants: [{id: a, key_env: ACME_KEY}, {id: b, key_env: ACME_KEY}]",
        "tenants[1].key_env: is the key of tenants[0] already",
    ),
    (
        f"tenants: [{{id: a, key_env: ACME_KEY}}, {{id: b, key_sha256: [{sha256_of('acme-secret')}]}}]",
        "tenants[1].key_sha256[0]: is the key of tenants[0] already",
    ),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_every_wrong_value_is_refused_at_its_line(text, words):
    """Each thing refused is told once, with file, line and key, and no secret."""
    [problem] = problems_of(text)

    assert problem.startswith("etc/config.yaml:2:")
    assert words in problem
    assert "secret" not in problem.replace("secret_env", "")


@pytest.mark.parametrize("text", ["", "server: {port: 80}", "model_list:", "model_list: []"])
def test_no_models_are_refused(text):
    """Without a model there is nothing to serve."""
    settings, [problem] = settings_from(parse(FILE, text.encode()), environ={})

    assert settings is None
    assert "model_list: must hold at least one model" in str(problem)


@pytest.mark.parametrize("text", ["model_list: x", "model_list: {a: b}"])
def test_a_model_list_of_another_kind_is_refused_once(text):
    """What is no list is said to be none, and nothing more."""
    settings, [problem] = settings_from(parse(FILE, text.encode()), environ={})

    assert settings is None
    assert "model_list: must be a list" in str(problem)


def test_all_problems_are_found_at_once():
    """A value of the wrong type hides neither a missing variable nor what is wrong between keys."""
    text = (
        "server: {port: x, host: 0.0.0.0, admin_key_env: NOT_SET}\nbedrock_models: {a: nobody}\n"
        "scorer: {backend: llm}\npolicies: os.environ/NOT_SET\n"
    )

    assert len(problems_of(text)) == 6


def test_the_file_is_found_or_asked_for(tmp_path, monkeypatch):
    """A named file is taken as it is; without a name config.yaml here; without that, one line that says what to do."""
    monkeypatch.chdir(tmp_path)

    assert find_config(Path("x.yaml")) == Path("x.yaml")
    with pytest.raises(ConfigError) as caught:
        find_config(None)
    assert "--config" in caught.value.message
    assert "\n" not in caught.value.message
    (tmp_path / "config.yaml").touch()
    assert find_config(None) == Path("config.yaml")
