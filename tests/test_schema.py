"""The schemas that editors read: published as the models are, and of one mind with the loader."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import yaml

from proxy.cli import main
from proxy.keys import validate
from proxy.policy.cases import CaseFile
from proxy.policy.model import Policy, PolicyKeys
from proxy.policy.store import PolicyStore
from proxy.schema import published, schema_of
from proxy.settings import Settings, settings_from, shipped_policies
from proxy.upstream.model_list import ModelListError, parse_model_list
from proxy.yamlfile import parse, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
KINDS = ("policy", "config", "cases")
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 200, 0.5, 0.99, 1.5, 600_001, 70_000, "", "x", "off", "block", "pass", "cases",
    "sentence", "tagged", "https://host/x", "ftp://host", "a" * 64, "A/B", [], ["x"], ["user"], [1], {}, {"x": 1},
    "x" * 5001,
]  # fmt: skip
"""Written in every place; each must be taken, or refused, by schema and loader alike."""


class Everything(dict[str, str]):
    """An environment in which every variable is set."""

    def __missing__(self, name: str) -> str:
        return "0123456789abcdef"

    def get(self, name: str, _: Any = None) -> str:
        """The value of any variable."""
        return self[name]


SCHEMAS = {kind: schema_of(kind) for kind in KINDS}
VALIDATORS = {kind: jsonschema.Draft7Validator(schema) for kind, schema in SCHEMAS.items()}


def valid(kind: str, data: Any) -> bool:
    """What the schema says."""
    return VALIDATORS[kind].is_valid(data)


def put(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with ``value`` in this place."""
    made = copy.deepcopy(document)
    at = made
    for name in path[:-1]:
        at = at[name] if isinstance(name, int) else at.setdefault(name, {})
    at[path[-1]] = value
    return made


def loads(kind: str, data: Any) -> bool:
    """What the loader says of the same file."""
    document = parse(Path("file.yaml"), yaml.safe_dump(data).encode(), environ=Everything())
    if kind == "config":
        settings, problems = settings_from(document, environ=Everything())
        try:
            parse_model_list(plain(document.value.get("model_list") or []), {})
        except ModelListError:
            return False
        return settings is not None and not problems
    return not validate(document, PolicyKeys if kind == "policy" else CaseFile)[1]


MODELS = [{"model_name": "x", "litellm_params": {"model": "openai/x", "api_key": "k"}}]
OPEN = {"model_list": MODELS, "server": {"insecure": True}}
TENANT = {"id": "t", "key_sha256": ["0" * 64], "aws": {"access_key_id": "AKIA", "secret_env": "S"}, "limits": {}}
SCORERS: list[dict[str, Any]] = [
    {},
    {"backend": "transformers", "model": "x"},
    {"backend": "llm", "model": "x"},
    {"backend": "remote", "url": "http://host/"},
]
CASE = {"cases": [{"answer": "x", "expect": "passed"}]}


def places(kind: str, *, holder: dict[str, Any] | None = None, schema: dict[str, Any] | None = None) -> Iterator[Any]:
    """Every path to a key that the schema knows, through mappings."""
    schema = schema or SCHEMAS[kind]
    holder = holder or schema
    for name, each in holder.get("properties", {}).items():
        yield (name,)
        for below in (each, *each.get("anyOf", ())):
            if "$ref" in below:
                within = schema["$defs"][below["$ref"].rpartition("/")[2]]
                yield from ((name, *rest) for rest in places(kind, holder=within, schema=schema))


Place = tuple[str, dict[str, Any], tuple[Any, ...]]
ELSEWHERE = {("extends",), ("calibration",), ("audit", "path")}
"""What these name is for the store, or for the disk, to find."""


def documents() -> Iterator[Place]:
    """Every place to write a value in, and a right document around it."""
    yield from (("policy", {}, path) for path in places("policy"))
    for path in places("config"):
        if path[0] not in {"scorer", "bedrock_models", "judge"}:
            yield "config", {**OPEN, "tenants": [TENANT]} if path[0] == "server" else OPEN, path
    yield from (("config", {**OPEN, "judge": {"model": "x"}}, ("judge", key)) for key in ("model", "timeout"))
    yield from (("cases", CASE, path) for path in places("cases"))
    for key in ("name", "policy", "question", "source", "answer", "expect", "question_"):
        yield "cases", CASE, ("cases", 0, key)
    yield from scorers()
    yield from tenants_and_models()


def scorers() -> Iterator[Place]:
    """Every key of every scorer."""
    yield "config", OPEN, ("scorer",)
    definitions = SCHEMAS["config"]["$defs"]
    names = ("EmbeddedSettings", "TransformersSettings", "JudgeSettings", "RemoteSettings")
    for scorer, name in zip(SCORERS, names, strict=True):
        for key in definitions[name]["properties"]:
            yield "config", {**OPEN, "scorer": scorer}, ("scorer", key)


def tenants_and_models() -> Iterator[Place]:
    """Every key of a tenant and of a model."""
    definitions = SCHEMAS["config"]["$defs"]
    for holder, name in (((), "Tenant"), (("limits",), "TenantLimits"), (("aws",), "AwsKey")):
        for key in definitions[name]["properties"]:
            yield "config", {**OPEN, "tenants": [TENANT]}, ("tenants", 0, *holder, key)
    for key in ("model_name", "litellm_params", "model_info", "modelname"):
        yield "config", OPEN, ("model_list", 0, key)
    for key in ("model", "timeout", "stream_timeout", "max_retries", "num_retries", "extra_body", "rpm", "messages"):
        yield "config", OPEN, ("model_list", 0, "litellm_params", key)


PLACES = [place for place in documents() if place[2] not in ELSEWHERE]


@pytest.mark.parametrize(("kind", "document", "path"), PLACES, ids=[f"{each[0]}:{each[2]}" for each in PLACES])
def test_schema_and_loader_agree(kind: str, document: dict[str, Any], path: tuple[Any, ...]):
    """Whatever is written in a place, an editor marks it exactly where the program would refuse it."""
    written = [put(document, path, value) for value in VALUES]
    differ = [
        (value, valid(kind, data), loads(kind, data))
        for value, data in zip(VALUES, written, strict=True)
        if valid(kind, data) != loads(kind, data)
    ]
    assert differ == []


def test_the_places_are_all():
    """Every key of the models is among the places, so that none is forgotten when it is added."""
    written = {(kind, path[0]) for kind, _, path in PLACES}

    assert {("policy", field.alias or name) for name, field in PolicyKeys.model_fields.items()} - written == {
        ("policy", "calibration")
    }
    assert len({path for kind, _, path in PLACES if kind == "policy"}) > 30
    assert valid("policy", {"calibration": "x.json"})
    assert valid("policy", {"calibration": None})
    assert not valid("policy", {"calibration": 5})


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("policy", {"grouding": {}}),
        ("policy", {"on_uninspected": {"jsn": "pass"}}),
        ("config", {**OPEN, "sever": {}}),
        ("config", {**OPEN, "scorer": {"backend": "llm", "model": "x", "threads": 1}}),
        ("config", {**OPEN, "tenants": [{"id": "t"}]}),
        ("config", {**OPEN, "tenants": [{"id": "t", "key_env": ["A", "B"]}]}),
        ("config", {"server": {}}),
        ("config", {"model_list": []}),
        ("cases", {}),
        ("cases", {"cases": []}),
    ],
)
def test_what_is_misspelt_or_missing_is_refused(kind: str, data: Any):
    """Unknown keys, and what must be there, are marked."""
    assert not valid(kind, data)
    assert not loads(kind, data)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("policy", {"timeout_ms": "os.environ/N", "grounding": {"threshold": "os.environ/N"}}),
        ("policy", {"allow_trace": "os.environ/YES", "grounding": {"action": "os.environ/ACTION"}}),
        ("config", put(put(OPEN, ("server", "port"), "os.environ/N"), ("tenants",), [{"id": "t", "key_env": "K"}])),
        ("config", {**OPEN, "tenants": [{"id": "os.environ/ID", "key_sha256": ["os.environ/HASH"]}]}),
    ],
)
def test_the_environment_may_stand_for_a_value(kind: str, data: Any):
    """Where a number, a flag or a choice belongs, the name of a variable is taken too."""
    environ = {"N": "0", "YES": "true", "ACTION": "flag", "K": "key", "ID": "acme", "HASH": "0" * 64}
    document = parse(Path("file.yaml"), yaml.safe_dump(data).encode(), environ=environ)
    if kind == "config":
        assert settings_from(document, environ=environ)[1] == []
    else:
        assert all("timeout_ms" in str(problem) for problem in validate(document, PolicyKeys)[1])
    assert valid(kind, data)


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_schema_is_the_models(kind: str):
    """What is published is what the models say now (make schemas), and is a schema."""
    written = json.loads(published(kind).read_text(encoding="utf-8"))

    assert written == schema_of(kind)
    jsonschema.Draft7Validator.check_schema(written)


def test_every_key_of_a_policy_is_described():
    """An editor says what each key is for."""
    schema = SCHEMAS["policy"]
    undescribed = [
        name for name, each in schema["properties"].items() if not ("description" in each or _refers(schema, each))
    ]

    assert set(undescribed) <= {"description", "blocked_message"}


def _refers(schema: dict[str, Any], each: dict[str, Any]) -> bool:
    return "$ref" in each and "description" in schema["$defs"][each["$ref"].rpartition("/")[2]]


EXAMPLES = [
    *((file, "policy") for file in sorted(shipped_policies().glob("*.yaml"))),
    *((file, "cases") for file in sorted(shipped_policies().glob("tests/*.yaml"))),
    (ROOT / "config.example.yaml", "config"),
]


@pytest.mark.parametrize(("file", "kind"), EXAMPLES, ids=[file.name for file, _ in EXAMPLES])
def test_each_example_names_its_schema_and_keeps_to_it(file: Path, kind: str):
    """The first line of each file that people copy leads an editor to its schema."""
    text = file.read_text(encoding="utf-8")
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", text.splitlines()[0])

    assert named is not None
    assert (file.parent / named[1]).resolve() == published(kind).resolve()
    jsonschema.validate(yaml.safe_load(text), json.loads((file.parent / named[1]).read_text()))


def test_the_schemas_are_no_policies():
    """What lies beside the policies is not taken for one of them."""
    assert set(PolicyStore(shipped_policies()).load().policies) == {"default", "strict"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_gives_a_schema(kind: str, capsys: pytest.CaptureFixture[str]):
    """``schema`` prints it, and with ``--path`` where it lies."""
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of(kind)
    assert main(["schema", kind, "--path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == published(kind)


def test_a_policy_and_settings_need_nothing_of_the_schemas():
    """The models work as before where the schema's words were added."""
    assert Policy(trust=("user",)).trust == ("user",)
    assert Settings().scorer.backend == "embedded"
