"""LiteLLM's ``model_list`` read into frozen values, and the upstreams that it describes.

Input is the list as YAML gives it, with ``os.environ/NAME`` already replaced by text (so numbers may come as text).
What LiteLLM's router would do with a key and this proxy does not is refused with "not yet" rather than ignored.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]

DEFAULT_TIMEOUT = 600.0
"""Seconds a call may take when the entry names no timeout: the openai SDK's own default."""

_ENTRY_KEYS = frozenset({"model_name", "litellm_params", "model_info"})
_TYPED = frozenset(
    "model custom_llm_provider api_key api_base base_url api_version organization extra_headers "
    "timeout stream_timeout max_retries num_retries extra_body".split()
)
_ROUTER_ONLY = frozenset(
    "rpm tpm itpm otpm tpd rpd weight order max_parallel_requests tags tag_regex max_budget budget_duration "
    "fallbacks context_window_fallback_dict cooldown_time routing_strategy silent_model model_info "
    "litellm_credential_name configurable_clientside_auth_params guardrails timeout_by_service_tier "
    "stream_timeout_by_service_tier callbacks success_callback failure_callback service_callback input_callback "
    "litellm_params model_list allow_client_keepalive_override keepalive_seconds retry_policy retry_strategy".split()
)
_SLIP = 0.8
"""From this likeness on (of difflib's, 0 to 1) a key is taken for a slip of the pen."""
_NEVER_DEFAULTS = frozenset({"messages", "stream", "stream_options"})


def entry_schema(from_environment: Mapping[str, Any]) -> dict[str, Any]:
    """One entry as a JSON Schema: what LiteLLM's shape has and this proxy serves, as far as the file alone shows it.

    ``from_environment`` is the schema of text that stands for a value.
    """
    text = {"type": "string", "minLength": 1}
    number = [from_environment, {"type": "string", "pattern": "^[0-9.eE+-]+$"}, {"type": "null"}]
    seconds = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, *number]}
    often = {"anyOf": [{"type": "integer", "minimum": 0}, *number]}
    either = {"anyOf": [text, {"type": "null"}]}
    params = {
        "model": {**text, "description": "provider/name; openai/… passes through to any server of that protocol"},
        **dict.fromkeys("custom_llm_provider api_key api_base base_url api_version organization".split(), either),
        "timeout": {**seconds, "description": "seconds that a whole answer may take", "default": DEFAULT_TIMEOUT},
        "stream_timeout": {**seconds, "description": "seconds that a stream may be silent; default: timeout"},
        "max_retries": {**often, "description": "calls after one that failed, with growing waits", "default": 0},
        "num_retries": often,
        "extra_headers": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
        "extra_body": {"type": ["object", "null"]},
    }
    refused = {key: {"type": "null"} for key in sorted(_ROUTER_ONLY | _NEVER_DEFAULTS)}
    return {
        "type": "object",
        "required": ["model_name", "litellm_params"],
        "properties": {
            "model_name": text,
            "litellm_params": {"type": "object", "required": ["model"], "properties": {**params, **refused}},
            "model_info": {"type": ["object", "null"]},
        },
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: ``path`` is where, from ``model_list`` down; ``message`` what, and what would be right."""

    path: Path
    message: str


class ModelListError(ValueError):
    """The list cannot be served. ``problems`` holds every one found, ``path`` is that of the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{_dotted(problem.path)}: {problem.message}" for problem in problems))
        self.problems = tuple(problems)
        self.path = self.problems[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteLLMParams:
    """Where one deployment is and how to ask it.

    ``timeout`` and ``stream_timeout`` are seconds (> 0): the longest a whole answer may take, and the longest a
    stream may be silent. ``settings`` are further settings for LiteLLM alone; ``defaults`` are request fields used
    where the caller gives none.
    """

    model: str
    custom_llm_provider: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_base: str | None = None
    api_version: str | None = None
    organization: str | None = None
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    stream_timeout: float = DEFAULT_TIMEOUT
    max_retries: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passes_through(self) -> bool:
        """Whether the deployment speaks OpenAI's chat completions, so that bytes can pass as they are."""
        provider = self.custom_llm_provider or self.model.partition("/")[0]
        named = self.custom_llm_provider is not None or "/" in self.model
        return named and provider == "openai" and not self.upstream_model.startswith("responses/")

    @property
    def upstream_model(self) -> str:
        """The model's name at an OpenAI-compatible server."""
        return self.model.removeprefix("openai/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One entry: what callers ask for, and one deployment that answers. ``model_info`` is kept but not acted on."""

    model_name: str
    litellm_params: LiteLLMParams
    model_info: Mapping[str, Any] = field(default_factory=dict)


def parse_model_list(items: object, env: Mapping[str, str] | None = None) -> tuple[ModelEntry, ...]:
    """Read the value of ``model_list``. Raises ``ModelListError`` with every problem found.

    ``env`` (the process's own when None) is asked for ``OPENAI_API_KEY`` only, and only for entries that name
    neither ``api_key`` nor ``api_base``, so that the key goes to nobody but OpenAI.
    """
    if not isinstance(items, list):
        raise ModelListError([Problem(("model_list",), "must be a list of entries")])
    problems: list[Problem] = []
    reader = _Reader(problems, os.environ if env is None else env)
    entries = [reader.entry(("model_list", index), item) for index, item in enumerate(items)]
    if problems:
        raise ModelListError(problems)
    return tuple(entry for entry in entries if entry is not None)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads entries and collects what is wrong with them."""

    problems: list[Problem]
    env: Mapping[str, str]

    def complain(self, path: Path, message: str) -> None:
        self.problems.append(Problem(path, message))

    def entry(self, path: Path, item: object) -> ModelEntry | None:
        if not isinstance(item, dict):
            self.complain(path, "must be a mapping with model_name and litellm_params")
            return None
        for key in item.keys() - _ENTRY_KEYS:
            self.complain((*path, key), "unknown key; known are model_name, litellm_params and model_info")
        name = self.name((*path, "model_name"), item.get("model_name"))
        params = self.params((*path, "litellm_params"), item.get("litellm_params"))
        info = {} if item.get("model_info") is None else item["model_info"]
        if not isinstance(info, dict):
            self.complain((*path, "model_info"), "must be a mapping")
            return None
        if name is None or params is None:
            return None
        return ModelEntry(model_name=name, litellm_params=params, model_info=MappingProxyType(info))

    def name(self, path: Path, value: object) -> str | None:
        text = self.text(path, value, required=True)
        if text is not None and "*" in text:
            self.complain(path, "names with * are not yet served; list each model by its own name")
            return None
        return text

    def params(self, path: Path, value: object) -> LiteLLMParams | None:
        if not isinstance(value, dict):
            self.complain(path, "must be a mapping with at least a model, such as openai/gpt-4o-mini")
            return None
        given = {key: item for key, item in value.items() if item is not None}
        model = self.name((*path, "model"), given.get("model"))
        if model is None:
            return None
        timeout = self.seconds((*path, "timeout"), given.get("timeout"), DEFAULT_TIMEOUT)
        params = LiteLLMParams(
            model=model,
            custom_llm_provider=self.text((*path, "custom_llm_provider"), given.get("custom_llm_provider")),
            api_key=self.header_text((*path, "api_key"), given.get("api_key")),
            api_base=self.base(path, given),
            api_version=self.text((*path, "api_version"), given.get("api_version")),
            organization=self.header_text((*path, "organization"), given.get("organization")),
            extra_headers=MappingProxyType(self.headers((*path, "extra_headers"), given.get("extra_headers", {}))),
            timeout=timeout,
            stream_timeout=self.seconds((*path, "stream_timeout"), given.get("stream_timeout"), timeout),
            max_retries=self.retries(path, given),
            settings=MappingProxyType({key: item for key, item in given.items() if _is_setting(key)}),
            defaults=MappingProxyType(self.defaults(path, given)),
        )
        self.check_served(path, given, params)
        return self.with_openai_key(path, params)

    def check_served(self, path: Path, given: Mapping[str, Any], params: LiteLLMParams) -> None:
        for key in given.keys() & _ROUTER_ONLY:
            self.complain((*path, key), "not yet: nothing here acts on it")
        if not params.passes_through:
            return
        for key in params.settings:
            self.complain((*path, key), "not yet for openai models, which are passed through without LiteLLM")
        if not params.upstream_model:
            self.complain((*path, "model"), "names no model after openai/")
        if params.api_base is not None and not _is_base(params.api_base):
            self.complain(
                (*path, "api_base"), "must be an http or https address without a user, such as https://host/v1"
            )

    def with_openai_key(self, path: Path, params: LiteLLMParams) -> LiteLLMParams:
        if not params.passes_through or params.api_key is not None or params.api_base is not None:
            return params
        if "authorization" in {name.lower() for name in params.extra_headers}:
            return params
        key = self.header_text((*path, "api_key"), self.env.get("OPENAI_API_KEY"))
        if key is None:
            message = "missing, and OPENAI_API_KEY is not set; a server that wants no key needs api_base"
            self.complain((*path, "api_key"), message)
        return replace(params, api_key=key)

    def base(self, path: Path, given: Mapping[str, Any]) -> str | None:
        base = self.text((*path, "api_base"), given.get("api_base"))
        other = self.text((*path, "base_url"), given.get("base_url"))
        if base is not None and other is not None and base != other:
            self.complain((*path, "base_url"), "differs from api_base; give one of the two")
        return base if base is not None else other

    def retries(self, path: Path, given: Mapping[str, Any]) -> int:
        key = "max_retries" if "max_retries" in given else "num_retries"
        number = _number(given.get(key, 0))
        if number is None or number < 0 or number != int(number):
            self.complain((*path, key), "must be a whole number, 0 or more")
            return 0
        return int(number)

    def defaults(self, path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
        body = given.get("extra_body", {})
        if not isinstance(body, dict):
            self.complain((*path, "extra_body"), "must be a mapping")
            body = {}
        plain = {key: item for key, item in given.items() if key not in _TYPED | STEERING_FIELDS}
        for key in (plain.keys() | body.keys()) & (_NEVER_DEFAULTS | {"model"}):
            self.complain((*path, key), "belongs to the caller's request")
        for key in plain:
            # What is not known goes into the request, so a misspelt timeout would be sent to the model, and be none.
            meant = get_close_matches(str(key), sorted(_TYPED - {"model"}), n=1, cutoff=_SLIP)
            if meant:
                message = f"is not a known key; try {meant[0]}, or extra_body for a field of the request with this name"
                self.complain((*path, key), message)
        return {**plain, **body}

    def seconds(self, path: Path, value: object, default: float) -> float:
        if value is None:
            return default
        number = _number(value)
        if number is None or number <= 0:
            self.complain(path, "must be a number of seconds above 0")
            return default
        return number

    def text(self, path: Path, value: object, *, required: bool = False) -> str | None:
        if value is None and not required:
            return None
        if not isinstance(value, str) or not value.strip():
            self.complain(path, "must be text that is not empty")
            return None
        return value

    def header_text(self, path: Path, value: object) -> str | None:
        text = self.text(path, value)
        if text is not None and not (text.isascii() and text.isprintable() and text == text.strip()):
            self.complain(path, "holds a blank at an end, a line break or another character that a header cannot carry")
            return None
        return text

    def headers(self, path: Path, value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            self.complain(path, "must be a mapping of header names to text")
            return {}
        return {str(name): self.header(path, name, text) for name, text in value.items()}

    def header(self, path: Path, name: object, value: object) -> str:
        if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            self.complain((*path, str(name)), "is not a header name")
        elif name.lower() in {"host", "content-length", "transfer-encoding", "connection", "content-type"}:
            self.complain((*path, name), "is set by the connection itself")
        return self.header_text((*path, str(name)), value) or ""


def _is_setting(key: str) -> bool:
    return key in STEERING_FIELDS and key not in _TYPED and key not in _ROUTER_ONLY


def _number(value: object) -> float | None:
    """Return a finite number, also one written as text; None for anything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_base(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc and port_is_fine


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)
