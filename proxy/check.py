"""Everything that can be wrong before a server starts, found at once: the work of ``groundwarden check``.

``load`` is what ``serve`` begins with: the same findings, raised.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.keys import nearest
from proxy.policy.store import PolicyStore, policy_names, policy_problems
from proxy.scoring.embedded import MODEL_NAME
from proxy.scoring.huggingface import EXTRA
from proxy.scoring.labels import GENERATOR, Unusable, kind_and_head, supported_label
from proxy.settings import STDOUT, model_folder, policies_folder, settings_from, tenants_written
from proxy.upstream.litellm_adapter import knows_provider
from proxy.upstream.model_list import ModelListError, parse_model_list
from proxy.yamlfile import ConfigError, in_order, plain, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from proxy.policy.model import Policy
    from proxy.settings import Settings
    from proxy.yamlfile import Document, KeyPath, Problem


def check_config(file: Path, *, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """Find all problems of a config.yaml: its own, its environment's, its models' and its policies'."""
    try:
        load(file, environ=environ)
    except ConfigError as error:
        return list(error.problems)
    return []


def notes_on(file: Path, *, environ: Mapping[str, str] | None = None) -> list[str]:
    """What works otherwise than a reader of a valid config.yaml and its policies may think, one line each."""
    _, store = load(file, environ=environ)
    return [
        f"policy {policy.name}: streams are held until their end (buffer): {why}"
        for policy in store.snapshot.policies.values()
        if policy.stream != "buffer" and (why := _why_held(policy))
    ]


def _why_held(policy: Policy) -> str:
    """Why an answer under a policy can leave only whole, nothing when it need not."""
    if policy.held_whole:
        return "with action: redact or retry an answer may still change"
    mean = policy.grounding.aggregate == "mean" and policy.blocking
    return "with aggregate: mean no sentence settles" if mean else ""


def check_policies(paths: Iterable[Path]) -> list[Problem]:
    """Find all problems of policy files, and of whole folders of them, without a config.yaml."""
    return in_order(problem for path in paths for problem in _policy_problems(path))


def load(
    file: Path, *, host: str | None = None, port: int | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Settings, PolicyStore]:
    """Read a config.yaml and its policies, ready to serve. ``host`` and ``port`` replace the file's.

    The store holds its first set, and insists from then on that every policy a tenant uses stays. Raises
    ``ConfigError`` with all problems.
    """
    environ = os.environ if environ is None else environ
    document = _overridden(read(file, environ=environ), host=host, port=port)
    settings, problems = settings_from(document, environ=environ)
    store, found = _store(document, settings)
    found += _model_problems(document, environ)
    found += _scorer_problems(document)
    found += _audit_problems(document)
    found += _judge_problems(document, "judge")
    known = {problem.path for problem in problems if problem.file == file}
    problems += [problem for problem in found if problem.file != file or problem.path not in known]
    if settings is None or store is None or problems:
        raise ConfigError(problems)
    return settings, store


def _overridden(document: Document, **given: str | int | None) -> Document:
    """Put what the command line says in the place of what the file says."""
    options = {key: value for key, value in given.items() if value is not None}
    server = document.value.get("server") or {}
    if not options or not isinstance(server, dict):
        return document
    return replace(document, value={**document.value, "server": {**server, **options}})


def _store(document: Document, settings: Settings | None) -> tuple[PolicyStore | None, list[Problem]]:
    """Load the policies, and find those that are missing or wrong."""
    folder = policies_folder(document)
    if not folder.is_dir():
        return None, [document.problem(("policies",), "must be an existing folder; its path is relative to this file")]
    problems = list(_unknown_policies(document, policy_names(folder)))
    required = settings.required_policies if settings and not problems else ()
    embedded = settings is not None and settings.scorer.backend == "embedded"
    store = PolicyStore(folder, required=required, scorer=MODEL_NAME if embedded else None)
    try:
        store.load()
    except ConfigError as error:
        problems += error.problems
    return store, problems


def _unknown_policies(document: Document, names: frozenset[str]) -> Iterator[Problem]:
    """Find tenants whose policies do not exist."""
    for path, name in _policies_named(document):
        if isinstance(name, str) and name not in names:
            yield document.problem(path, f"must name a policy; try {nearest(name, names) or ', '.join(sorted(names))}")


def _policies_named(document: Document) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every place where a tenant names a policy."""
    for index, tenant in tenants_written(document):
        yield ("tenants", index, "policy"), tenant.get("policy")
        others = tenant.get("policies")
        for position, name in enumerate(others if isinstance(others, list) else ()):
            yield ("tenants", index, "policies", position), name


def _model_problems(document: Document, environ: Mapping[str, str]) -> list[Problem]:
    """Find what is wrong with the entries of ``model_list``, in the words of those who serve them."""
    try:
        entries = parse_model_list(plain(document.value.get("model_list") or []), environ)
    except ModelListError as error:
        return [document.problem(problem.path, problem.message, at_key=True) for problem in error.problems]
    return [
        document.problem(("model_list", at, "litellm_params", "model"), "LiteLLM knows no provider of this name")
        for at, entry in enumerate(entries)
        if not entry.litellm_params.passes_through and not knows_provider(entry.litellm_params)
    ]


def _scorer_problems(document: Document) -> Iterator[Problem]:
    """Find what keeps the scorer from starting, as far as that shows without loading or asking it."""
    scorer = document.value.get("scorer")
    if not isinstance(scorer, dict):
        return
    if scorer.get("backend") == "llm":
        yield from _judge_problems(document, "scorer")
    if scorer.get("backend") == "transformers":
        yield from _missing_packages(document)
        yield from _checkpoint_problems(document, scorer)


def _audit_problems(document: Document) -> Iterator[Problem]:
    """Find an audit that cannot be written, as far as that shows before its first line."""
    audit = document.value.get("audit")
    path = audit.get("path") if isinstance(audit, dict) else None
    if not isinstance(path, str) or path in ("", STDOUT):
        return
    file = document.file.parent / Path(path).expanduser()
    if file.is_dir() or not file.parent.is_dir():
        message = "must be a file in a folder that exists, its path relative to this file, or - for standard output"
        yield document.problem(("audit", "path"), f"{message}; try audit.jsonl")
    elif not os.access(file if file.exists() else file.parent, os.W_OK):
        yield document.problem(("audit", "path"), "must be a file that can be written; try audit.jsonl")


def _judge_problems(document: Document, key: str) -> Iterator[Problem]:
    """Find a judge, named under ``key``, that is no model of ``model_list``."""
    section = document.value.get(key)
    model = section.get("model") if isinstance(section, dict) else None
    entries = document.value.get("model_list")
    named = (entry.get("model_name") for entry in (entries if isinstance(entries, list) else ()) if _is_mapping(entry))
    names = [name for name in named if isinstance(name, str)]
    if isinstance(model, str) and model not in names:
        remedy = nearest(model, names) or ", ".join(names)
        yield document.problem((key, "model"), f"must be a model_name of model_list; try {remedy}")


def _missing_packages(document: Document) -> Iterator[Problem]:
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        message = f"needs {' and '.join(missing)}, not installed here; try pip install '{EXTRA}'"
        yield document.problem(("scorer", "backend"), message)


def _checkpoint_problems(document: Document, scorer: Mapping[str, Any]) -> Iterator[Problem]:
    """Find what is wrong with a model in a folder. One on the hub is read when the server starts."""
    model, folder = scorer.get("model"), model_folder(document)
    if folder is None:
        if isinstance(model, str) and model.startswith((".", "/", "~")):
            yield document.problem(("scorer", "model"), "must be an existing folder; its path is relative to this file")
        return
    try:
        written = json.loads((folder / "config.json").read_bytes())
        kind, head = kind_and_head(written, None if scorer.get("head") == "auto" else scorer.get("head"))
        if kind != GENERATOR:
            supported_label(written, head, scorer.get("entailment_label"))
    except Unusable as error:
        key = "entailment_label" if scorer.get("entailment_label") is not None else "model"
        yield document.problem(("scorer", key), str(error))
    except (OSError, ValueError, AttributeError, TypeError):
        yield document.problem(("scorer", "model"), "must be a folder with a model's config.json in it")


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _policy_problems(path: Path) -> list[Problem]:
    if not path.is_dir():
        return policy_problems(path)
    try:
        PolicyStore(path).load()
    except ConfigError as error:
        return list(error.problems)
    return []
