"""A policy: what is asked of an answer, and what happens when it falls short. One file in the policies folder each.

The defaults here are those of every policy file. What a later version brings is refused with "not yet", so that no
key is ever accepted and then ignored.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, PlainSerializer, WithJsonSchema

from proxy.grounding.calibration import Calibration
from proxy.grounding.gate import needs_whole
from proxy.grounding.types import MAX_THRESHOLD, Action, Aggregate, Rule
from proxy.keys import Count, Flag, Integer, Keys, Name, Number, Text, WrittenAs

Role = Literal["system", "developer", "user", "assistant", "tool"]
"""The roles of a conversation."""

MAX_TIMEOUT_MS = 600_000
MAX_RETRIES = 5
"""Each is a whole call of the model that the caller waits for."""
_MAX_MESSAGE_CHARS = 5000
_ROLES: tuple[Role, ...] = get_args(Role)


def _off(value: Any) -> Any:
    """Read YAML's bare ``off``, which is false, as the word it was meant to be."""
    return "off" if value is False else value


def _in_order(roles: tuple[Role, ...]) -> tuple[Role, ...]:
    if not roles:
        message = "must name at least one role; try [system, developer, user]"
        raise ValueError(message)
    return tuple(role for role in _ROLES if role in roles)


def _calibration(value: Any) -> Calibration:
    """Take what the policy store has read; null is the identity. A path that nobody has read is refused."""
    if value is None:
        return Calibration()
    if not isinstance(value, Calibration):
        message = "must be the path of a calibration file, or null; groundwarden calibrate makes one"
        raise ValueError(message)  # noqa: TRY004 - pydantic collects only ValueError
    return value


def _content(calibration: Calibration) -> str | None:
    return None if calibration == Calibration() else calibration.text


Threshold = Annotated[Number, Field(ge=0, le=MAX_THRESHOLD)]


class GroundingKeys(Keys):
    """How the rule for grounding is written."""

    threshold: Threshold = 0.7
    action: Annotated[Action, BeforeValidator(_off)] = "block"
    aggregate: Aggregate = "min"


class RelevanceKeys(Keys):
    """How the rule for relevance is written. A sentence cannot be redacted for the whole answer's irrelevance."""

    threshold: Threshold = 0.5
    action: Annotated[Literal["block", "flag", "off"], BeforeValidator(_off)] = "block"


def _rule(keys: GroundingKeys | RelevanceKeys) -> Rule:
    return Rule(**dict(keys))


def _grounding_keys(value: Any) -> Any:
    return asdict(value) if isinstance(value, Rule) else value


def _relevance_keys(value: Any) -> Any:
    return {"threshold": value.threshold, "action": value.action} if isinstance(value, Rule) else value


class OnUninspected(Keys):
    """What happens to the parts of an answer that are no prose: let through, scored as prose, removed, or a block."""

    tool_calls: Literal["pass", "block"] = "pass"
    json_: Literal["score", "pass", "block"] = Field(default="score", alias="json")
    images: Literal["block", "pass"] = "block"
    reasoning: Literal["strip", "pass", "block"] = "strip"
    default: Literal["block", "pass", "strip"] = "block"


class Citations(Keys):
    """From which support on a window is cited for a sentence."""

    threshold: Threshold = 0.6


class Limits(Keys):
    """How much is read, in characters, and what happens beyond it: ``score`` it too, or ``reject``."""

    source_chars: Count = 100_000
    query_chars: Count = 1000
    answer_chars: Count = 5000
    on_exceed: Literal["score", "reject"] = "score"


class Retry(Keys):
    """How often the model is asked again, with the unsupported sentences named, before they block or are redacted."""

    attempts: Annotated[Integer, Field(ge=0, le=MAX_RETRIES)] = 0


class PolicyKeys(Keys):
    """The keys of a policy file, after ``extends`` is resolved, with their defaults."""

    description: Text = ""
    grounding: Annotated[Rule, WrittenAs(GroundingKeys, _rule, _grounding_keys)] = _rule(GroundingKeys())
    relevance: Annotated[Rule, WrittenAs(RelevanceKeys, _rule, _relevance_keys)] = _rule(RelevanceKeys())
    blocked_message: Annotated[Name, Field(max_length=_MAX_MESSAGE_CHARS)] = (
        "I can't answer that from the documents I have."
    )
    redacted_message: Annotated[Text, Field(max_length=_MAX_MESSAGE_CHARS)] = "[removed: not in the documents]"
    """Stands in the place of what ``action: redact`` takes out; may be empty."""
    on_block: Literal["message", "error"] = "message"
    on_missing_context: Literal["pass", "block"] = "pass"
    on_scorer_error: Literal["block", "pass"] = "block"
    on_uninspected: OnUninspected = OnUninspected()
    abstention: Literal["pass", "score", "block"] = "pass"
    trust: Annotated[tuple[Role, ...], AfterValidator(_in_order), Field(json_schema_extra={"minItems": 1})] = (
        "system",
        "developer",
        "user",
    )
    tool_results: Annotated[Literal["off", "source"], BeforeValidator(_off)] = "off"
    history: Annotated[Literal["off", "source"], BeforeValidator(_off)] = "off"
    query: Literal["tagged", "last_user"] = "tagged"
    stream: Literal["sentence", "buffer", "after"] = "sentence"
    citations: Citations = Citations()
    calibration: Annotated[
        InstanceOf[Calibration],
        BeforeValidator(_calibration),
        PlainSerializer(_content),
        WithJsonSchema({"type": ["string", "null"]}),
    ] = Calibration()
    """Written as a path, relative to the file that names it. Scores, thresholds and citations are on its scale."""
    limits: Limits = Limits()
    timeout_ms: Annotated[Count, Field(le=MAX_TIMEOUT_MS)] = 2000
    retry: Retry = Retry()
    allow_trace: Flag = True
    audit_text: Flag = False
    """Whether the texts of an exchange may be kept: in the audit, and on the admin port's page."""
    models: tuple[Name, ...] = ("*",)
    shadow: Name | None = None
    """A policy of the same folder that judges the same answers, and is only counted. One that is its own has none."""
    sample: Annotated[Number, Field(ge=0, le=1)] = 1.0
    """The share of requests that is judged; the others pass unchecked. The request's id decides."""


class Policy(PolicyKeys):
    """A policy in force: frozen, and complete. ``name`` is its file's name without the ending."""

    name: Name = "default"
    in_sample: Flag = Field(default=True, exclude=True)
    """False for a request that the policy's ``sample`` leaves out: nothing is scored."""

    @cached_property
    def version(self) -> str:
        """First 8 hexadecimal digits of the SHA-256 over everything but the name."""
        canonical = json.dumps(self.model_dump(exclude={"name"}, by_alias=True), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:8]

    @property
    def active(self) -> bool:
        """Whether anything is scored at all."""
        return self.in_sample and (self.grounding.active or self.relevance.active)

    def for_request(self, request_id: str) -> Policy:
        """This policy as it applies to one request: itself, or not judging at all when it is out of the sample.

        The same id is in the sample of every policy that takes at least as large a share, and in every process.
        """
        if self.sample >= 1:
            return self
        drawn = int.from_bytes(hashlib.sha256(request_id.encode()).digest()[:8]) / 2**64
        return self if drawn < self.sample else self.model_copy(update={"in_sample": False})

    @property
    def blocking(self) -> bool:
        """Whether what is scored, or an abstention, may block an answer or change it."""
        acts = (self.grounding.action, self.relevance.action, self.abstention)
        return "block" in acts or "redact" in acts

    @property
    def held_whole(self) -> bool:
        """Whether nothing of an answer may leave before all of it is judged: it may be changed, or asked for again."""
        return needs_whole(self.grounding) or (self.retry.attempts > 0 and self.grounding.action == "block")

    def allows_model(self, name: str) -> bool:
        """Whether callers under this policy may use a model: shell patterns over the ``model_name``."""
        return any(fnmatchcase(name, pattern) for pattern in self.models)
