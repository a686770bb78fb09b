"""The words of the domain.

Values are frozen, slotted and keyword-only, and check themselves: a value that exists is valid. Spans are in
characters (Python string indices), start inclusive, end exclusive; a surface converts where its dialect counts
otherwise. Scores are floats in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_THRESHOLD = 0.99
"""Highest threshold accepted; at 1 everything would be blocked (Bedrock, "contextual grounding check")."""

Action = Literal["block", "flag", "redact", "off"]
Aggregate = Literal["min", "mean"]


class Outcome(StrEnum):
    """How an exchange ended, from best to worst (``severity`` orders them)."""

    PASSED = "passed"
    UNCHECKED = "unchecked"
    FLAGGED = "flagged"
    REDACTED = "redacted"
    UNSCORED = "unscored"
    BLOCKED = "blocked"

    @property
    def severity(self) -> int:
        """0 for the best outcome, rising; with several choices the highest one is reported."""
        return list(Outcome).index(self)


class CheckKind(StrEnum):
    """The two questions asked of an answer."""

    GROUNDING = "grounding"
    RELEVANCE = "relevance"


class ClaimKind(StrEnum):
    """What a sentence of an answer is. Only assertions are judged.

    A heading is one that asserts nothing by itself, like "Fees:", or the header of a table; others are assertions.
    """

    ASSERTION = "assertion"
    ABSTENTION = "abstention"
    QUESTION = "question"
    COURTESY = "courtesy"
    HEADING = "heading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One grounding source: a text the answer may rest on, with the names its caller gave it.

    ``attributes`` are names and values that are said of the text ("author", "Wikipedia"), and support claims that speak
    of them ("Wikipedia says that ...").
    """

    text: str
    id: str = ""
    uri: str = ""
    title: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingContext:
    """What an answer is judged against. Sources are used together; ``query`` is None when none was given."""

    sources: tuple[Source, ...] = ()
    query: str | None = None

    @classmethod
    def of(cls, sources: Iterable[Source], query: str | None) -> Self:
        """A context without what is blank: an empty or white source is no source, and so for the query."""
        kept = tuple(source for source in sources if source.text.strip())
        return cls(sources=kept, query=query if query and query.strip() else None)

    @property
    def source_chars(self) -> int:
        """Characters in all sources together."""
        return sum(len(source.text) for source in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence (or line) of the answer: ``text == answer[start:end]``.

    ``context`` is what it must be read with, from earlier in the answer: the heading or lead-in of a list item, that
    and a table's header (on a line of its own) for a row, and for "It ..." the sentence that it speaks of. It is a
    referent and no part of the claim: it is judged where it stands, and answers no query for the claim.
    """

    index: int
    start: int
    end: int
    text: str
    kind: ClaimKind = ClaimKind.ASSERTION
    context: str = ""

    @property
    def needs_check(self) -> bool:
        """Whether this asserts something that the sources must support."""
        return self.kind is ClaimKind.ASSERTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of one source, short enough to be scored beside a claim. ``source`` is an index into the context."""

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A window and how far it supports the claim, in [0, 1]."""

    window: Window
    support: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One question to a scoring model.

    Grounding: does ``premise`` (a window) support ``hypothesis`` (a claim)?
    Relevance: does ``hypothesis`` (a piece of the answer) address ``premise`` (the query)?

    ``written`` is what exact checks read for the premise where that is not what an encoder reads; else "".
    """

    kind: CheckKind
    premise: str
    hypothesis: str
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """What was found about one claim.

    ``support`` and ``relevance`` are None when that check did not run for it, or failed; ``failed`` then says why
    (timeout, error or overloaded). ``evidence`` is ordered best first.
    """

    claim: Claim
    support: float | None = None
    relevance: float | None = None
    evidence: tuple[Evidence, ...] = ()
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A policy's rule for one check: what score is needed, and what happens below it."""

    threshold: float
    action: Action = "block"
    aggregate: Aggregate = "min"

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= MAX_THRESHOLD:
            message = f"threshold must be between 0 and {MAX_THRESHOLD}"
            raise ValueError(message)

    @property
    def active(self) -> bool:
        """Whether this check runs at all."""
        return self.action != "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of one answer: its score against its rule. ``score`` is None when it did not run or failed."""

    kind: CheckKind
    rule: Rule
    score: float | None = None

    @property
    def below(self) -> bool:
        """Whether the score lies under the rule's threshold."""
        return self.score is not None and self.score < self.rule.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one answer.

    ``reasons`` are the metric words for why it was blocked, redacted or flagged (grounding, relevance, missing_context,
    uninspected, scorer_error); ``bypasses`` the words for what was let through unjudged (no_source, policy_off,
    tool_calls, json, images, scorer_error, abstention). ``partial``: it stood before the answer's end, so ``claims``
    are only those that were scored by then. ``removed`` are the claims that a redacted answer leaves without.
    """

    outcome: Outcome
    checks: tuple[Check, ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    reasons: tuple[str, ...] = ()
    bypasses: tuple[str, ...] = ()
    partial: bool = False
    removed: tuple[Claim, ...] = ()

    def score(self, kind: CheckKind) -> float | None:
        """The score of one check, None when it did not run."""
        return next((check.score for check in self.checks if check.kind is kind), None)

    @property
    def blocked(self) -> bool:
        """Whether the answer must not reach the caller."""
        return self.outcome is Outcome.BLOCKED
