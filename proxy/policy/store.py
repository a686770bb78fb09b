"""The policies folder: loaded as a whole set or not at all, and watched.

Rules of this file:

- A set with any problem in it is not loaded; the last good one stays in force, whole.
- Changes are seen by content, never by time stamps: a mounted ConfigMap swaps a symbolic link, editors rename, and a
  repair may carry the time stamp of the damage.
- A half-written file can be valid and laxer than either the old or the new one. So a changed folder must read the
  same twice, a moment apart, before it counts, and a blank file is refused: it is what a writer leaves who begins.
- A bad set is reported once, not at every look.
- A calibration file belongs to the set of the policies that name it, wherever it lies: it is watched with them, and a
  bad one is a problem of the policy's line.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import threading
import time
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from proxy.grounding.calibration import Calibration
from proxy.keys import nearest, validate
from proxy.policy.model import Policy, PolicyKeys
from proxy.yamlfile import MAX_BYTES, ConfigError, Document, Problem, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

DEFAULT = "default"
"""The policy of callers that name none. It always exists: without a file of that name it is the built-in defaults."""

_log = logging.getLogger("groundwarden")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUFFIXES = {".yaml", ".yml"}
_SETTLE_SECONDS = 0.2
_MAX_CHAIN = 20
_LOOKS_WHEN_ASKED = 10
_READ_BY = ("trust", "tool_results", "history", "query")  # what a request's sources and its query are


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySnapshot:
    """A whole, valid set of policies. A request takes one and keeps it to its end.

    ``version``: first 8 hexadecimal digits of the SHA-256 over all names and versions. ``loaded_at``: seconds since
    the epoch.
    """

    policies: Mapping[str, Policy]
    version: str
    loaded_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """What one look at the folder led to. ``problems`` say why it failed, or could not be read yet."""

    result: Literal["success", "failure", "unchanged"]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Files:
    """What the folder holds: each policy file's bytes, or why it cannot be read. ``named`` are files they name."""

    contents: Mapping[Path, bytes | str]
    problems: tuple[Problem, ...] = ()
    named: Mapping[Path, bytes | str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the set would."""
        digest = hashlib.sha256()
        for file, content in (*self.contents.items(), *sorted(self.named.items())):
            data = content.encode() if isinstance(content, str) else content
            digest.update(os.fsencode(file) + f" {type(content).__name__} {len(data)}\n".encode() + data)
        digest.update(repr(self.problems).encode())
        return digest.hexdigest()


class PolicyStore:
    """The policies of one folder: ``NAME.yaml`` (or ``.yml``) each; its subfolders are not read.

    ``required`` are names that must exist in every set, such as those tenants refer to. ``scorer`` is the name of the
    scorer that calibrations must have been fitted for; None takes any. ``settle`` is how many seconds a changed folder
    must stay the same before it is read in earnest.
    """

    def __init__(
        self,
        folder: Path,
        *,
        required: Iterable[str] = (),
        scorer: str | None = None,
        settle: float = _SETTLE_SECONDS,
    ) -> None:
        self.folder = folder
        self.required = frozenset(required)
        self._scorer = scorer
        self._settle = settle
        self._named: frozenset[Path] = frozenset()
        self._lock = threading.Lock()
        self._seen: str | None = None
        self._own_default = False
        self._failed: tuple[Problem, ...] = ()
        self._snapshot: PolicySnapshot | None = None

    @property
    def snapshot(self) -> PolicySnapshot:
        """The set in force. Raises ``RuntimeError`` before the first ``load``."""
        if self._snapshot is None:
            message = "policies are not loaded yet"
            raise RuntimeError(message)
        return self._snapshot

    def load(self) -> PolicySnapshot:
        """Read the folder and put its set in force. Raises ``ConfigError`` with all problems of all files."""
        with self._lock:
            return self._take(self._look())

    def expect(self, scorer: str) -> None:
        """From now on take only calibrations that were fitted for this scorer.

        Raises ``ConfigError`` when the folder names another, and is then to be used no more.
        """
        with self._lock:
            if scorer != self._scorer:
                self._scorer = scorer
                self._take(self._look())

    def refresh(self, *, asked: bool = False) -> Reload:
        """Look again, and swap the set if the folder holds another, valid one.

        ``asked``: somebody waits for what comes of it. Then a set that failed before fails again, and a folder that is
        being written is looked at until it stays the same, or is a problem.

        Blocks for ``settle`` seconds when something changed (ten times as long when ``asked``): call it in a thread.
        Never raises for what is in the folder.
        """
        with self._lock:
            for _ in range(_LOOKS_WHEN_ASKED if asked else 1):
                files = self._look()
                if files.fingerprint == self._seen:
                    again = asked and self._failed
                    return Reload(result="failure", problems=self._failed) if again else Reload(result="unchanged")
                if self._settled(files):
                    return self._try(files)
            busy = Problem(file=self.folder, message="is being written; ask again when that has ended")
            return Reload(result="unchanged", problems=(busy,) if asked else ())

    def _try(self, files: _Files) -> Reload:
        try:
            self._take(files)
        except ConfigError as error:
            self._failed = error.problems
            return Reload(result="failure", problems=error.problems)
        except Exception:  # noqa: BLE001 - whatever a folder holds, the set in force stays and the watching goes on
            _log.exception("unexpected error while policies were read")
            self._failed = (Problem(file=self.folder, message="cannot be used; the log says where that came up"),)
            self._seen = files.fingerprint
            return Reload(result="failure", problems=self._failed)
        self._failed = ()
        return Reload(result="success")

    async def watch(self, report: Callable[[Reload], None], *, interval: float = 0.5) -> None:
        """Refresh every ``interval`` seconds until cancelled; ``report`` hears of each success and failure."""
        while True:
            await asyncio.sleep(interval)
            reload = await asyncio.to_thread(self.refresh)
            if reload.result != "unchanged":
                report(reload)

    def _settled(self, files: _Files) -> bool:
        """Whether the folder still holds the same a moment later; if not, a later look finds it."""
        time.sleep(self._settle)
        return self._look().fingerprint == files.fingerprint

    def _look(self) -> _Files:
        """Read the folder, and the files that its policies named the last time."""
        return replace(_gather(self.folder), named={file: _content(file) for file in self._named})

    def _take(self, files: _Files) -> PolicySnapshot:
        shelf = _Shelf(files, self._scorer)
        policies, problems = _policies(shelf, files), shelf.problems
        self._seen = replace(files, named=shelf.named).fingerprint
        self._named = frozenset(shelf.named)
        missing = () if problems else sorted(self.required - policies.keys())
        problems += [_missing(self.folder, name) for name in missing]
        own_default = any(file.stem == DEFAULT for file in files.contents)
        if self._own_default and not own_default:  # the built-in one may be laxer: not while serving
            problems.append(Problem(file=self.folder / f"{DEFAULT}.yaml", message="is gone; put it back, or restart"))
        if problems:
            raise ConfigError(problems)
        self._own_default = own_default
        self._snapshot = _snapshot(policies)
        return self._snapshot


def policy_names(folder: Path) -> frozenset[str]:
    """List the policies a folder offers, whether or not they are valid."""
    return frozenset(file.stem for file in _gather(folder).contents) | {DEFAULT}


def policy_problems(file: Path) -> list[Problem]:
    """Find all problems of one policy file and of those it extends, which lie beside it."""
    return _alone(file, None)[1]


def load_policy(file: Path, *, scorer: str | None = None) -> Policy:
    """Load one policy file, and those beside it that it extends. ``scorer``: as in a store.

    Raises ``ConfigError`` with its problems.
    """
    policy, problems = _alone(file, scorer)
    if policy is None or problems:
        raise ConfigError(problems)
    return policy


def _alone(file: Path, scorer: str | None) -> tuple[Policy | None, list[Problem]]:
    """Read one policy file with those it extends, and none of its other neighbours."""
    files = _gather(file.parent)
    if not file.exists():
        return None, [*files.problems] or [Problem(file=file, message="does not exist")]
    if file not in files.contents:
        return None, [Problem(file=file, message="must be a file that ends in .yaml to be a policy")]
    shelf = _Shelf(files, scorer)
    shelf.files[file.stem] = file
    shelf.report(_misnamed([file]))
    return _policy(shelf, file.stem), shelf.problems


class _Shelf:
    """The folder's documents by policy name, and everything found wrong so far, each thing once.

    ``named`` fills with the files that policies name, as they were read.
    """

    def __init__(self, files: _Files, scorer: str | None) -> None:
        self.files = {file.stem: file for file in files.contents}
        self.named: dict[Path, bytes | str] = {}
        self._scorer = scorer
        self._beside = files.named
        self._contents = files.contents
        self._documents: dict[str, Document | None] = {}
        self._problems: dict[Problem, None] = dict.fromkeys(files.problems)

    @property
    def problems(self) -> list[Problem]:
        return list(self._problems)

    def report(self, problems: Iterable[Problem]) -> None:
        self._problems.update(dict.fromkeys(problems))

    def document(self, name: str) -> Document | None:
        """Parse a policy's file, once; None when that is impossible."""
        if name not in self._documents:
            self._documents[name] = self._parsed(self.files[name])
        return self._documents[name]

    def calibration(self, file: Path) -> Calibration:
        """Read a calibration file. Raises ``ValueError``, which says what is wrong with naming it."""
        if file not in self.named:
            self.named[file] = self._beside[file] if file in self._beside else _content(file)
        content = self.named[file]
        if isinstance(content, str):
            message = f"names a file that {content}; its path is relative to this file"
            raise ValueError(message)  # noqa: TRY004 - a wrong file, not a wrong call
        found = _calibration(content)
        if self._scorer is not None and not found.suits(self._scorer):
            fitted = f"names a calibration for the scorer {found.scorer[:80]}, and scores come from {self._scorer}"
            message = f"{fitted}; fit one with groundwarden calibrate"
            raise ValueError(message)
        return found

    def _parsed(self, file: Path) -> Document | None:
        content = self._contents[file]
        if isinstance(content, str):
            self.report([Problem(file=file, message=content)])
            return None
        if not content.strip():
            message = "is empty; write at least a description, or remove the file"
            self.report([Problem(file=file, line=1, column=1, message=message)])
            return None
        try:
            return parse(file, content)
        except ConfigError as error:
            self.report(error.problems)
            return None


def _calibration(content: bytes) -> Calibration:
    """Make a calibration of a file's bytes. Raises ``ValueError``, which says what is wrong with naming it."""
    if len(content) > MAX_BYTES:
        message = f"names a file larger than {MAX_BYTES} bytes"
        raise ValueError(message)
    try:
        return Calibration.read(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except ValueError as error:
        reason = str(error)
    message = f"names a file that cannot be used: {reason}"
    raise ValueError(message)


def _policies(shelf: _Shelf, files: _Files) -> dict[str, Policy]:
    """Turn the folder's files into policies: those that are valid. All problems end on the shelf."""
    shelf.report(_misnamed(files.contents))
    shelf.report(_twice(files.contents))
    found = {name: _policy(shelf, name) for name in shelf.files}
    policies = {name: policy for name, policy in found.items() if policy is not None}
    if DEFAULT not in shelf.files and not files.problems:
        policies[DEFAULT] = Policy(name=DEFAULT)
    return policies


def _policy(shelf: _Shelf, name: str) -> Policy | None:
    """Make one policy of its file and those it extends; None, and problems on the shelf, when that fails."""
    document = _resolved(shelf, name, ())
    if document is None:
        return None
    keys = _validated(shelf, document)
    shelf.report(_unfit_shadow(shelf, name, document, keys))
    if keys is None or not _NAME.fullmatch(name):
        return None
    return Policy.model_validate({**dict(keys), "name": name})


def _validated(shelf: _Shelf, document: Document) -> PolicyKeys | None:
    """Fill a policy's keys; None when anything is wrong with them. All problems end on the shelf."""
    keys, problems = validate(_calibrated(shelf, document), PolicyKeys)
    shelf.report(problems)
    return keys


def _calibrated(shelf: _Shelf, document: Document) -> Document:
    """Put the calibration in the place of the path to it, which is relative to the file that this is written in."""
    written = document.value.get("calibration")
    if not isinstance(written, str) or not written:
        return document
    try:
        found = shelf.calibration(document.values["calibration",].file.parent / written)
    except ValueError as error:
        shelf.report([document.problem(("calibration",), str(error))])
        found = Calibration()
    return replace(document, value={**document.value, "calibration": found})


def _resolved(shelf: _Shelf, name: str, below: tuple[str, ...]) -> Document | None:
    """Lay a file over the one it extends, and so on down; ``below`` are the names that led here."""
    document = shelf.document(name)
    if document is None or "extends" not in document.value:
        return document
    base = document.value["extends"]
    rest = {key: value for key, value in document.value.items() if key != "extends"}
    alone = replace(document, value=rest)
    wrong = _wrong_base(shelf, base, (*below, name))
    if wrong:
        shelf.report([document.problem(("extends",), wrong)])
    elif base not in shelf.files:
        return alone
    else:
        resolved = _resolved(shelf, base, (*below, name))
        if resolved is not None:
            return alone.over(resolved)
    _validated(shelf, alone)  # what is wrong here whatever it extends
    return None


def _unfit_shadow(shelf: _Shelf, name: str, document: Document, keys: PolicyKeys | None) -> Iterator[Problem]:
    """Find a shadow that does not exist, or that would read other sources and another query out of a request.

    A policy that is its own shadow has none: whoever extends a policy to try a change beside it inherits that key.
    """
    shadow = document.value.get("shadow")
    if not isinstance(shadow, str) or shadow == name:
        return
    if shadow not in shelf.files:
        if shadow != DEFAULT:
            remedy = nearest(shadow, shelf.files.keys() - {name}) or DEFAULT
            yield document.problem(("shadow",), f"names a policy that does not exist; try {remedy}")
        return
    resolved = _resolved(shelf, shadow, ())
    other = _validated(shelf, resolved) if resolved is not None else None
    if keys is None or other is None:
        return
    for key in _READ_BY:
        if getattr(keys, key) != getattr(other, key):
            remedy = f"try extends: {name} in {shadow}.yaml"
            message = f"judges what this policy reads: {key} must be the same there; {remedy}"
            yield document.problem(("shadow",), message)


def _wrong_base(shelf: _Shelf, base: object, names: tuple[str, ...]) -> str | None:
    """Say what is wrong with what a file extends."""
    if not isinstance(base, str):
        return "must name one policy; try default"
    if base in names:
        return f"goes in a circle: {' → '.join((*names, base))}"
    if len(names) > _MAX_CHAIN:
        return f"is one of more than {_MAX_CHAIN} in a row; extend one further down"
    if base != DEFAULT and base not in shelf.files:
        return f"names a policy that does not exist; try {nearest(base, shelf.files.keys() - set(names)) or DEFAULT}"
    return None


def _misnamed(files: Iterable[Path]) -> Iterator[Problem]:
    """Find files whose name cannot be a policy's: it goes into headers, metrics and paths."""
    for file in files:
        if not _NAME.fullmatch(file.stem):
            message = "must be named with up to 64 letters, digits, dots, dashes and underscores"
            yield Problem(file=file, message=message)


def _twice(files: Iterable[Path]) -> Iterator[Problem]:
    """Find files that differ only in their ending."""
    first: dict[str, Path] = {}
    for file in files:
        other = first.setdefault(file.stem, file)
        if other != file:
            yield Problem(file=file, message=f"names the same policy as {other.name}; keep one")


def _missing(folder: Path, name: str) -> Problem:
    return Problem(file=folder / f"{name}.yaml", message="does not exist, but a tenant uses this policy")


def _snapshot(policies: dict[str, Policy]) -> PolicySnapshot:
    names = "\n".join(f"{name}@{policies[name].version}" for name in sorted(policies))
    version = hashlib.sha256(names.encode()).hexdigest()[:8]
    return PolicySnapshot(policies=MappingProxyType(policies), version=version, loaded_at=time.time())


def _gather(folder: Path) -> _Files:
    """Read every policy file of a folder. Hidden files are not policies: editors and ConfigMaps keep theirs so."""
    try:
        return _Files({file: _content(file) for file in sorted(folder.iterdir()) if _is_policy(file)})
    except OSError as error:
        problem = Problem(file=folder, message=f"must be a folder of policies: {_reason(error)}")
        return _Files({}, (problem,))


def _is_policy(file: Path) -> bool:
    return file.suffix in _SUFFIXES and not file.name.startswith(".") and (file.is_file() or not file.exists())


def _content(file: Path) -> bytes | str:
    """Read a file: its bytes, or why it cannot be read. A pipe is not opened: it would wait for a writer."""
    try:
        if file.exists() and not file.is_file():
            return "is no ordinary file"
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        return f"cannot be read: {_reason(error)}"
    except ValueError:
        return "has a name that no file can have"


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown reason").lower()
