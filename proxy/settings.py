"""config.yaml as frozen ``Settings``. Every problem in it is found, and placed at its line.

Secrets are resolved here and go no further than they must: tenants and the admin port are known by the SHA-256 of
their keys; only ``model_list``, ``scorer_key``, ``audit_key`` and ``aws_secrets`` hold keys in the clear, and are not
shown when settings are printed.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from proxy.keys import Count, Flag, Integer, Keys, Name, Number, OneOf, nearest, validate
from proxy.policy.store import DEFAULT
from proxy.yamlfile import VARIABLE, ConfigError, FromEnvironment, Problem, dotted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from proxy.yamlfile import Document, KeyPath

MIN_AUDIT_KEY = 16
"""Characters that the key of the audit's hashes must have: who guesses it can try texts until a hash fits."""

STDOUT = "-"
"""The ``audit.path`` that is standard output."""

VERBATIM = "x-verbatim"
"""Marks, in a field's JSON Schema, that ``os.environ/NAME`` may not stand for its value."""

CONFIG_NAME = "config.yaml"
"""Where settings are looked for when no file is named."""

_HERE = Path(__file__).resolve().parent
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_ACCESS_KEY_ID = re.compile(r"[A-Za-z0-9]{4,128}")
_TENANT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _digest(value: str) -> str:
    if not _SHA256.fullmatch(value):
        message = "must be the SHA-256 of a key, 64 hexadecimal digits; try the output of: printf %s KEY | sha256sum"
        raise ValueError(message)
    return value.lower()


def _tenant_id(value: str) -> str:
    if not _TENANT_ID.fullmatch(value):
        message = "must be up to 64 letters, digits, dots, dashes and underscores; try acme"
        raise ValueError(message)
    return value


def _access_key_id(value: str) -> str:
    if not _ACCESS_KEY_ID.fullmatch(value):
        message = "must be 4 to 128 letters and digits; try AKIAACMEACMEACMEACME"
        raise ValueError(message)
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or parts.fragment:
        message = "must be an http or https address without a user; try https://scorer.internal/score"
        raise ValueError(message)
    return value


def _label(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        message = "must be the name of a label, or its number; try entailment"
        raise ValueError(message)
    return value


def _shown_as(pattern: re.Pattern[str]) -> Any:
    """What editors are told of a text that is checked here, in words of our own."""
    return Field(json_schema_extra={"pattern": f"^{pattern.pattern}$"})


def shipped_policies() -> Path:
    """Find the policies that come with the program: inside an installed package, or beside it in a checkout."""
    inside = _HERE / "policies"
    return inside if inside.is_dir() else _HERE.parent / "policies"


Port = Annotated[Integer, Field(ge=0, le=65535)]
"""A TCP port; 0 takes a free one."""
Digest = Annotated[Name, AfterValidator(_digest), _shown_as(_SHA256)]
"""SHA-256 in 64 lower-case hexadecimal digits."""
Seconds = Annotated[Number, Field(gt=0)]
"""A stretch of time, more than none."""
Variable = Annotated[Name, Field(json_schema_extra={"pattern": f"^{VARIABLE.pattern}$", VERBATIM: True})]
"""The name of an environment variable, which holds a secret. Whether it is one is checked with what it holds."""
Url = Annotated[Name, AfterValidator(_url), _shown_as(re.compile(r"https?://[^@#]+"))]
"""An http or https address."""
Label = Annotated[
    str | int,
    BeforeValidator(_label),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}),
]
"""A label of a model: its name or its index."""
PairTokens = Annotated[Integer, Field(ge=128)]
"""Tokens of a pair; with fewer there is no room for a claim and its evidence."""
Backend = Literal["embedded", "transformers", "llm", "remote"]
ModelEntry = Annotated[dict[str, Any], AfterValidator(plain)]
"""One entry of ``model_list``: LiteLLM's own shape, checked where it is used."""


class Server(Keys):
    """Where we listen. ``insecure`` allows callers without a key on a host that others can reach."""

    host: Name = "127.0.0.1"
    port: Port = 8080
    admin_host: Name = "127.0.0.1"
    admin_port: Port = 9464
    admin_key_env: Variable | None = None
    max_body_bytes: Count = 4_194_304
    insecure: Flag = False


class AwsKey(Keys):
    """An access key as AWS has them: its id, and the variable that holds the secret to sign with."""

    access_key_id: Annotated[Name, AfterValidator(_access_key_id), _shown_as(_ACCESS_KEY_ID)]
    secret_env: Variable


class TenantLimits(Keys):
    """How much of one server a tenant may use: requests a minute, and requests at once. None is as much as it likes."""

    requests_per_minute: Count | None = None
    concurrency: Count | None = None


class Tenant(Keys):
    """A caller: the policy it is under, others it may name, the SHA-256 of each of its keys, a key that signs."""

    id: Annotated[Name, AfterValidator(_tenant_id), _shown_as(_TENANT_ID)]
    policy: Name = DEFAULT
    policies: tuple[Name, ...] = ()
    key_sha256: tuple[Digest, ...] = ()
    key_env: Variable | None = None
    aws: AwsKey | None = None
    limits: TenantLimits = TenantLimits()

    @property
    def allowed(self) -> frozenset[str]:
        """Names of all policies this tenant may use."""
        return frozenset({self.policy, *self.policies})


class EmbeddedSettings(Keys):
    """The model that ships. ``threads`` a scoring process; ``queue_pairs`` may wait before callers are turned away."""

    backend: Backend = "embedded"
    threads: Count = 2
    queue_pairs: Count = 256


class TransformersSettings(Keys):
    """A checker of claims in Hugging Face's format: a folder, or a name on the hub at ``revision``.

    ``auto`` takes the head that the checkpoint has, a GPU where there is one, and bfloat16 on one that can.
    ``entailment_label`` is the label that means "supported", where the checkpoint does not say.
    """

    backend: Backend = "transformers"
    model: Name
    revision: Name | None = None
    head: Literal["auto", "nli", "minicheck", "lettuce"] = "auto"
    entailment_label: Label | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    max_tokens: PairTokens | None = None
    threads: Count = 2
    queue_pairs: Count = 256


class JudgeSettings(Keys):
    """A language model as the judge: a ``model_name`` of ``model_list``. ``timeout`` is for one question."""

    backend: Backend = "llm"
    model: Name
    max_tokens: PairTokens = 4096
    timeout: Seconds = 20.0
    concurrency: Count = 8
    queue_pairs: Count = 256


class RemoteSettings(Keys):
    """A scoring service over HTTP. ``api_key_env`` names the variable with its bearer token."""

    backend: Backend = "remote"
    url: Url
    api_key_env: Variable | None = None
    evidence: Literal["pieces", "whole"] = "pieces"
    max_tokens: PairTokens = 256
    pairs_per_call: Count = 64
    timeout: Seconds = 10.0
    concurrency: Count = 8
    queue_pairs: Count = 256


ScorerSettings = EmbeddedSettings | TransformersSettings | JudgeSettings | RemoteSettings
"""What scores, by its ``backend``."""
_ByBackend = OneOf(
    by="backend",
    choices={
        "embedded": EmbeddedSettings,
        "transformers": TransformersSettings,
        "llm": JudgeSettings,
        "remote": RemoteSettings,
    },
)


class JudgeModel(Keys):
    """A model of ``model_list`` that is asked what no scorer can tell. ``timeout`` is for one question."""

    model: Name
    timeout: Seconds = 60.0
    concurrency: Count = 8


class Audit(Keys):
    """Where exchanges are written down: a file, ``-`` for standard output, or null for nowhere.

    Before the file grows beyond ``max_bytes`` it becomes ``NAME.1``, and so on to ``keep`` old ones. ``key_env`` names
    the variable with the key that texts are hashed with; without one each process makes its own.
    """

    path: Name | None = None
    max_bytes: Count = 104_857_600
    keep: Count = 5
    key_env: Variable | None = None


class SettingsKeys(Keys):
    """The keys of config.yaml, with their defaults."""

    server: Server = Server()
    model_list: tuple[ModelEntry, ...] = Field(default=(), repr=False)
    policies: Path = Field(default_factory=shipped_policies)
    tenants: tuple[Tenant, ...] = ()
    scorer: Annotated[ScorerSettings, _ByBackend] = EmbeddedSettings()
    judge: JudgeModel | None = None
    bedrock_models: dict[Name, Name] = Field(default_factory=dict)
    """Bedrock's model ids, or ``*`` for all others, each with a ``model_name``."""
    audit: Audit = Audit()


class Settings(SettingsKeys):
    """All of config.yaml, with its names of variables resolved.

    ``policies`` is absolute or relative to the working directory, no longer to the file, and so are a scorer's
    ``model`` that is a folder and ``audit.path``. Every tenant has at least one ``key_sha256`` or an ``aws`` key, whose
    secret is in ``aws_secrets`` by its id. ``admin_key_sha256`` is None when the admin port asks for no key,
    ``scorer_key`` when a remote scorer does not, ``audit_key`` when each process makes its own.
    """

    admin_key_sha256: Digest | None = None
    scorer_key: str | None = Field(default=None, repr=False)
    audit_key: str | None = Field(default=None, repr=False)
    aws_secrets: dict[str, str] = Field(default_factory=dict, repr=False)

    @property
    def judge_model(self) -> JudgeModel | None:
        """The judge that is named, else the one that scores; None when there is neither."""
        scorer = self.scorer
        if self.judge is None and isinstance(scorer, JudgeSettings):
            return JudgeModel(model=scorer.model, timeout=scorer.timeout, concurrency=scorer.concurrency)
        return self.judge

    @property
    def required_policies(self) -> frozenset[str]:
        """Every policy that a caller may come under."""
        return frozenset({DEFAULT}).union(*(tenant.allowed for tenant in self.tenants))


def sha256_of(key: str) -> str:
    """Digest a key as it is compared: blanks around it, such as a mounted secret's last line break, do not count."""
    return hashlib.sha256(key.strip().encode("utf-8", "replace")).hexdigest()


def find_config(given: Path | None) -> Path:
    """Choose the file to read: the one given, else config.yaml here. Raises ``ConfigError`` when there is none."""
    if given is not None:
        return given
    here = Path(CONFIG_NAME)
    if here.exists():
        return here
    message = "does not exist here; name one with --config FILE, or begin with a copy of config.example.yaml"
    raise ConfigError([Problem(file=here, message=message)])


def settings_from(document: Document, *, environ: Mapping[str, str]) -> tuple[Settings | None, list[Problem]]:
    """Make settings of config.yaml's document: they (None when anything is wrong), and all problems.

    Whether the policies exist, and what each entry of ``model_list`` holds, is for ``check`` to find.
    """
    document = _without_empty(document)
    keys, problems = validate(document, SettingsKeys)
    known = {problem.path for problem in problems}
    problems += [problem for problem in _across(document, environ) if problem.path not in known]
    return (None if problems or keys is None else _resolved(keys, document, environ)), problems


def policies_folder(document: Document) -> Path:
    """Find the folder that a document names, or the shipped one: even when other settings are wrong."""
    written = document.value.get("policies")
    return document.file.parent / (str(written) if written else shipped_policies())


def model_folder(document: Document) -> Path | None:
    """Find the folder that a scorer's ``model`` names; None when it names none, and so a model on the hub."""
    written = _mapping(document.value.get("scorer")).get("model")
    if not isinstance(written, str):
        return None
    try:
        folder = document.file.parent / Path(written).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, nobody's home, or with a character no path can have
        return None


def tenants_written(document: Document) -> list[tuple[int, dict[str, Any]]]:
    """List a document's tenants with their index, as they are written: nothing about their keys is certain."""
    written = enumerate(_list(document.value.get("tenants")))
    return [(index, tenant) for index, tenant in written if isinstance(tenant, dict)]


def _without_empty(document: Document) -> Document:
    """Take a key with nothing after it, such as ``tenants:`` above lines that are commented out, as not given."""
    value = {key: value for key, value in document.value.items() if value is not None or not _is_known(key)}
    return replace(document, value=value)


def _is_known(key: str) -> bool:
    return key in SettingsKeys.model_fields


def _resolved(keys: SettingsKeys, document: Document, environ: Mapping[str, str]) -> Settings:
    admin_key = keys.server.admin_key_env
    resolved = {
        "policies": policies_folder(document),
        "tenants": tuple(_with_digest(tenant, environ) for tenant in keys.tenants),
        "admin_key_sha256": sha256_of(environ[admin_key]) if admin_key else None,
        "scorer": _with_folder(keys.scorer, document),
        "scorer_key": _scorer_key(keys.scorer, environ),
        "audit": _with_place(keys.audit, document),
        "audit_key": environ[keys.audit.key_env].strip() if keys.audit.key_env else None,
        "aws_secrets": {
            tenant.aws.access_key_id: environ[tenant.aws.secret_env].strip()
            for tenant in keys.tenants
            if tenant.aws is not None
        },
    }
    return Settings.model_validate({**dict(keys), **resolved})


def _with_folder(scorer: ScorerSettings, document: Document) -> ScorerSettings:
    folder = model_folder(document)
    if not isinstance(scorer, TransformersSettings) or folder is None:
        return scorer
    return scorer.model_copy(update={"model": str(folder)})


def _with_place(audit: Audit, document: Document) -> Audit:
    """The audit with its path from the working directory; standard output has none."""
    if audit.path in (None, STDOUT):
        return audit
    return audit.model_copy(update={"path": str(document.file.parent / Path(str(audit.path)).expanduser())})


def _scorer_key(scorer: ScorerSettings, environ: Mapping[str, str]) -> str | None:
    name = scorer.api_key_env if isinstance(scorer, RemoteSettings) else None
    return environ[name].strip() if name else None


def _with_digest(tenant: Tenant, environ: Mapping[str, str]) -> Tenant:
    if tenant.key_env is None:
        return tenant
    return tenant.model_copy(update={"key_sha256": (*tenant.key_sha256, sha256_of(environ[tenant.key_env]))})


def _across(document: Document, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Find what is wrong between keys, or between the file and the environment.

    Works on the values as written, whatever their type, so that one wrong key hides no other problem.
    """
    tenants = tenants_written(document)
    yield from _no_models(document)
    yield from _unknown_models(document)
    server = document.value.get("server")
    if isinstance(server, dict):
        yield from _open_to_all(document, server)
        yield from _variable(document, ("server", "admin_key_env"), server.get("admin_key_env"), environ)
    yield from _audit(document, environ)
    key = _mapping(document.value.get("scorer")).get("api_key_env")
    yield from _variable(document, ("scorer", "api_key_env"), key, environ)
    for index, tenant in tenants:
        yield from _how_known(document, index, tenant)
        yield from _variable(document, ("tenants", index, "key_env"), tenant.get("key_env"), environ)
        secret = _mapping(tenant.get("aws")).get("secret_env")
        yield from _variable(document, ("tenants", index, "aws", "secret_env"), secret, environ)
    yield from _repeated(document, [(("tenants", index, "id"), tenant.get("id")) for index, tenant in tenants], "id")
    yield from _repeated(document, _digests(tenants, environ), "key")
    signing = [
        (("tenants", index, "aws", "access_key_id"), _mapping(tenant.get("aws")).get("access_key_id"))
        for index, tenant in tenants
    ]
    yield from _repeated(document, signing, "access key")


def _audit(document: Document, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Find a key of the audit's hashes that is none. Whether its file can be written is for ``check`` to find."""
    key_env = _mapping(document.value.get("audit")).get("key_env")
    yield from _variable(document, ("audit", "key_env"), key_env, environ)
    if isinstance(key_env, str) and 0 < len(environ.get(key_env, "").strip()) < MIN_AUDIT_KEY:
        message = f"names a key shorter than {MIN_AUDIT_KEY} characters, which can be guessed; try openssl rand -hex 32"
        yield document.problem(("audit", "key_env"), message)


def _unknown_models(document: Document) -> Iterator[Problem]:
    """Find model ids of Bedrock's that stand for no model of ours."""
    entries = _list(document.value.get("model_list"))
    names = [name for entry in entries if isinstance(name := _mapping(entry).get("model_name"), str)]
    for given, name in _mapping(document.value.get("bedrock_models")).items():
        if isinstance(name, str) and names and name not in names:
            remedy = nearest(name, names) or ", ".join(names)
            yield document.problem(("bedrock_models", given), f"must be a model_name of model_list; try {remedy}")


def _no_models(document: Document) -> Iterator[Problem]:
    if document.value.get("model_list", []) == []:
        yield document.problem(("model_list",), "must hold at least one model; copy one from config.example.yaml")


def _open_to_all(document: Document, server: dict[str, Any]) -> Iterator[Problem]:
    """Find a server that others can reach and that asks nobody for a key."""
    if document.value.get("tenants"):
        return
    host, insecure = server.get("host"), server.get("insecure")
    insecure = insecure.scalar() if isinstance(insecure, FromEnvironment) else insecure
    if isinstance(host, str) and not is_loopback(host) and insecure is not True:
        message = "must be a loopback address when there are no tenants, or anyone who reaches it may use the models"
        yield document.problem(("server", "host"), f"{message}; try 127.0.0.1, tenants, or server.insecure: true")


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own, that no other reaches."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _variable(document: Document, path: KeyPath, name: Any, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Find a key that should name an environment variable and does not. What it holds may be the secret itself."""
    if not isinstance(name, str):
        return
    if isinstance(name, FromEnvironment) or not VARIABLE.fullmatch(name):
        yield document.problem(path, "must be the name of an environment variable and nothing else; try MY_KEY")
    elif not environ.get(name, "").strip():
        yield document.problem(path, f"needs the environment variable {name}, which is not set; try export {name}=…")


def _how_known(document: Document, index: int, tenant: dict[str, Any]) -> Iterator[Problem]:
    """Find a tenant known by nothing."""
    if not any(tenant.get(name) for name in ("key_sha256", "key_env", "aws")):
        message = "must have key_sha256, key_env or aws; try key_env: MY_KEY"
        yield document.problem(("tenants", index), message)


def _digests(tenants: list[tuple[int, dict[str, Any]]], environ: Mapping[str, str]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the digest of every tenant's every key, and where it comes from."""
    for index, tenant in tenants:
        for position, digest in enumerate(_list(tenant.get("key_sha256"))):
            yield ("tenants", index, "key_sha256", position), digest.lower() if isinstance(digest, str) else None
        name = tenant.get("key_env")
        key = environ.get(name, "") if isinstance(name, str) else ""
        yield ("tenants", index, "key_env"), sha256_of(key) if key else None


def _repeated(document: Document, values: Iterable[tuple[KeyPath, Any]], what: str) -> Iterator[Problem]:
    """Find what two tenants share, or one tenant has twice."""
    first: dict[str, KeyPath] = {}
    for path, value in values:
        if not isinstance(value, str):
            continue
        other = first.setdefault(value, path)
        if other == path:
            continue
        if other[:2] == path[:2]:
            yield document.problem(path, f"is the same {what} as {dotted(other)}; keep one of the two")
        else:
            yield document.problem(path, f"is the {what} of {dotted(other[:2])} already; each needs its own")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
