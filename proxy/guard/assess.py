"""Assess: context and answer in, verdict out. No model is asked here.

Claims are handed to the scorer in order, a few at a time; each has its own time limit from that moment, so that a
long answer is not late for being long. Once one is late, the rest share one more limit; and all of them have one.
"""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from proxy.grounding.asked import asked_apart, asks_broadly, questions_in
from proxy.grounding.binding import Piece, evidence_for, spoken_of
from proxy.grounding.claims import hypothesis, is_fragment, is_in_table, split_claims, statement
from proxy.grounding.errors import CallerError, ScoringError
from proxy.grounding.evidence import WINDOW_TOKENS, EvidenceIndex, windows_of
from proxy.grounding.types import (
    CheckKind,
    Claim,
    ClaimResult,
    Evidence,
    GroundingContext,
    Outcome,
    Pair,
    Verdict,
    Window,
)
from proxy.grounding.verdict import Terms, decide, must_check, relevant_enough
from proxy.grounding.words import terms
from proxy.guard.caching import CachingScorer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer

WINDOWS_PER_CLAIM = 16
"""Length of the short list whose sentences are looked at; its recall is measured by ``make bench-shortlist``."""

NEAREST = 2
"""Sentences that are scored before the others: most supported claims need no more, and many only the first."""

ENOUGH = 0.85
"""Support at which, if the threshold is reached too, further evidence is not looked at."""

REPEATS, DENIES, ASIDE = 0.9, 0.1, 0.5
"""A sentence that holds this share of a claim's words and supports it no more than this says otherwise; then what holds
no more than that share of them does not support the claim either: "There are no charges for a checking account" beside
"Charges for a checking account are 1 %. There is no fee for a savings account."."""

WHOLE_MARGIN = 32
"""Tokens left free beside the evidence and the claim, for a scorer that reads all of it at once."""

QUERY_WINDOWS = 4
"""A query longer than one window is cut like a source, and one of several questions into these; an answer to any of its
first parts is relevant. Each part costs a claim a pair, so a query that is all questions is not asked besides."""

QUERY_TOKENS = 128
OWN_LOGIT, SOURCE_LOGIT, SOURCE_BIAS = 0.24, 0.48, 0.28
"""What a claim's relevance and that of the sentence that supports it say together: a logistic regression on questions,
their answers, and what answers other questions on the same paragraph (SQuAD 1.1, SQuADShifts)."""

OWN_ENOUGH = 0.5
"""Relevance from which a claim's source is not asked. The same under every policy, so that scores can be compared."""

_SUPPORTED = 0.5  # below this a sentence says nothing of what a claim is about
_SURE = 1e-4
CLAIMS_IN_FLIGHT = 2
"""Enough to keep the scorer busy. More would only let one long answer delay the others past their limits."""

REQUEST_SECONDS = 30.0
"""What scoring one choice may take in all, however many claims it holds."""

INLINE_CHARS = 500
"""What is cut, typed or counted at once on the event loop: 2 to 15 ms. Longer texts leave it, or are taken in turns."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A context ready to be judged against."""

    context: GroundingContext
    index: EvidenceIndex
    queries: tuple[str, ...]


class Assessor:
    """Judges answers with one scorer. Holds no state of any request."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def caching(self) -> Assessor:
        """One for a single exchange, which keeps what it has prepared and scored for whoever judges that again."""
        return _CachingAssessor(CachingScorer(self._scorer))

    def admit(self) -> None:
        """Raise ``Overloaded`` when the scorer's queue is full: asked before the model is."""
        self._scorer.admit()

    async def prepare(self, context: GroundingContext) -> Prepared:
        """Cut sources and query into windows, off the event loop when they are long."""
        size = context.source_chars + len(context.query or "")
        return await _off_loop(size, self._prepare, context)

    def _prepare(self, context: GroundingContext) -> Prepared:
        query = context.query or ""
        parts = windows_of(query, self._scorer.token_spans(query), size=QUERY_TOKENS, overlap=0)
        return Prepared(
            context=context,
            index=EvidenceIndex(context, self._scorer.token_spans),
            queries=tuple(dict.fromkeys(_parts_of(query, [part.text for part in parts])))[:QUERY_WINDOWS],
        )

    async def judge(
        self, part: AnswerPart, preparing: Awaitable[Prepared], policy: Policy, *, per_claim: bool = True
    ) -> Verdict:
        """The verdict on one choice of an answer.

        The whole may take ``REQUEST_SECONDS``; with ``per_claim``, each claim ``policy.timeout_ms`` besides.
        """
        settled = settled_by_shape(part, policy)
        if settled is not None:
            return settled
        try:
            prepared = await preparing
        except ScoringError as error:
            verdict = _unprepared(error, policy)
        else:
            query = prepared.context.query
            claims = await _off_loop(len(part.text), split_claims, part.text, query=query, refusal=part.refusal)
            terms = terms_of(policy, prepared, calls_tools="tool_calls" in part.carries)
            judging = self.judging(prepared, policy, terms, per_claim=per_claim)
            judging.closed()
            verdict = decide(await judging.all(claims), terms)
        return replace(verdict, bypasses=(*carried(part), *verdict.bypasses))

    def judging(self, prepared: Prepared, policy: Policy, terms: Terms, *, per_claim: bool = True) -> Judging:
        """What scores the claims of one choice, one by one."""
        return Judging(self._scorer, prepared, policy, terms, per_claim=per_claim)

    async def count_tokens(self, *texts: str) -> int:
        """Tokens of texts by the scorer's vocabulary: an estimate, where the model's own count is not known."""
        return await _off_loop(sum(map(len, texts)), self._count_tokens, texts)

    def _count_tokens(self, texts: Sequence[str]) -> int:
        return sum(len(self._scorer.token_spans(text)) for text in texts)


class _CachingAssessor(Assessor):
    """Prepares its one context once."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__(scorer)
        self._prepared: Prepared | None = None

    async def prepare(self, context: GroundingContext) -> Prepared:
        if self._prepared is None or self._prepared.context is not context:
            self._prepared = await super().prepare(context)
        return self._prepared


def _parts_of(query: str, windows: list[str]) -> list[str]:
    questions = questions_in(query)
    for_all = len(windows) == 1 and len(questions) <= QUERY_WINDOWS and asked_apart(query)
    return questions if for_all else [*windows, *questions]


def without_scoring(policy: Policy, context: GroundingContext) -> Verdict | None:
    """The verdict that stands before any answer is known, if one does; None when the answer must be scored."""
    if not policy.active:
        return Verdict(outcome=Outcome.UNCHECKED, bypasses=("policy_off",))
    if context.sources:
        return None
    if policy.on_missing_context == "block":
        return Verdict(outcome=Outcome.BLOCKED, reasons=("missing_context",))
    return Verdict(outcome=Outcome.UNCHECKED, bypasses=("no_source",))


def enforce_limits(policy: Policy, context: GroundingContext) -> None:
    """Raise ``CallerError`` when a context is over the policy's limits and the policy rejects such requests."""
    enforce_sizes(policy, context.source_chars, len(context.query or ""))


def enforce_sizes(policy: Policy, source_chars: int, query_chars: int) -> None:
    """The same, of what is known of a context without its texts."""
    limits = policy.limits
    if limits.on_exceed != "reject":
        return
    for name, length, limit in (
        ("grounding source", source_chars, limits.source_chars),
        ("query", query_chars, limits.query_chars),
    ):
        if length > limit:
            message = f"The {name} has {length} characters; the policy allows {limit}."
            raise CallerError(message, code="limit_exceeded", param=name.replace(" ", "_"))


def looks_like_json(text: str) -> bool:
    """Whether an answer is a JSON object or array and not prose."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def opens_json(begin: str, policy: Policy) -> bool:
    """Whether an answer whose first word begins so may be JSON that the policy does not score."""
    return policy.on_uninspected.json_ != "score" and begin[:1] in ("{", "[")


def settled_by_shape(part: AnswerPart, policy: Policy) -> Verdict | None:
    """The verdict that an answer's shape settles without scoring: what may not leave unseen, JSON that need not be."""
    json_ = policy.on_uninspected.json_ != "score" and looks_like_json(part.text)
    return shape_settles(part.carries, len(part.text), policy, json_=json_)


def shape_settles(carries: frozenset[str], characters: int, policy: Policy, *, json_: bool) -> Verdict | None:
    """The same, of what is known of an answer without its text: ``json_`` says whether it looks like JSON."""
    rules = policy.on_uninspected
    refused = {
        "tool_calls": rules.tool_calls == "block",
        "images": rules.images == "block",
        "reasoning": rules.reasoning == "block",
        "default": rules.default == "block",
    }
    json_ = json_ and rules.json_ != "score"
    bad_json = json_ and rules.json_ == "block"
    if too_long(characters, policy) or bad_json or any(refused[kind] for kind in carries):
        return UNINSPECTED
    if json_:
        return Verdict(outcome=Outcome.UNCHECKED, bypasses=("json", *_uninspected(carries)))
    return None


UNINSPECTED = Verdict(outcome=Outcome.BLOCKED, reasons=("uninspected",))


def too_long(characters: int, policy: Policy) -> bool:
    """Whether an answer of so many characters is over the policy's limit, and refused for it."""
    return policy.limits.on_exceed == "reject" and characters > policy.limits.answer_chars


def carried(part: AnswerPart) -> tuple[str, ...]:
    """What a choice holds besides its text that nobody looks into, and that its verdict must name."""
    return _uninspected(part.carries)


def _uninspected(carries: frozenset[str]) -> tuple[str, ...]:
    return tuple(kind for kind in ("tool_calls", "images") if kind in carries)


def _unprepared(error: ScoringError, policy: Policy) -> Verdict:
    """The verdict when the scorer failed before the first claim: that of an answer whose one claim failed."""
    claim = Claim(index=0, start=0, end=0, text="")
    return decide([ClaimResult(claim=claim, failed=error.reason)], terms_for(policy, relevance_applies=True))


def terms_of(policy: Policy, prepared: Prepared, *, calls_tools: bool = False) -> Terms:
    """What the policy says of an answer to this request. One that calls tools is exempt from relevance."""
    return terms_for(policy, relevance_applies=bool(prepared.queries) and not calls_tools)


def terms_for(policy: Policy, *, relevance_applies: bool) -> Terms:
    """What the policy says of an answer whose relevance is asked about or not."""
    return Terms(
        grounding=policy.grounding,
        relevance=policy.relevance,
        relevance_applies=relevance_applies,
        abstention=policy.abstention,
        on_scorer_error=policy.on_scorer_error,
    )


class Judging:
    """Scores the claims of one choice: ``CLAIMS_IN_FLIGHT`` at a time, in the order in which they are handed in.

    Each claim may take ``policy.timeout_ms`` from its turn (a long answer is not late for being long). Once one is
    late, those that wait by then share one more limit. From ``closed`` on, all together may take ``REQUEST_SECONDS``.
    """

    def __init__(
        self, scorer: Scorer, prepared: Prepared, policy: Policy, terms: Terms, *, per_claim: bool = True
    ) -> None:
        self._scorer = scorer
        self._prepared = prepared
        self._claim_seconds = policy.timeout_ms / 1000 if per_claim else REQUEST_SECONDS
        self._deadline = math.inf
        self._late = (-math.inf, math.inf)  # when a claim was late, and the limit of those that waited then
        self._terms = terms
        self._calibration = policy.calibration
        self._passing = min(terms.grounding.threshold, policy.citations.threshold)
        self._enough = max(ENOUGH, terms.grounding.threshold, policy.citations.threshold)
        self._asks_relevance = terms.relevance.active and terms.relevance_applies

    def closed(self) -> None:
        """Say that no more claims will come."""
        self._deadline = min(self._deadline, asyncio.get_running_loop().time() + REQUEST_SECONDS)

    async def all(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Results of all claims, in their order; what need not be checked has an empty one."""
        results = {claim.index: ClaimResult(claim=claim) for claim in claims}
        waiting = iter([claim for claim in claims if must_check(claim, self._terms.abstention)])
        handed_in = asyncio.get_running_loop().time()

        async def take_turns() -> None:
            for claim in waiting:
                results[claim.index] = await self.one(claim, handed_in)

        async with asyncio.TaskGroup() as group:
            for _ in range(CLAIMS_IN_FLIGHT):
                group.create_task(take_turns())
        return [results[claim.index] for claim in claims]

    async def one(self, claim: Claim, handed_in: float) -> ClaimResult:
        """The result of one claim, whose turn it is. A scorer that fails or is late is part of it and no exception.

        ``handed_in`` is when the claim began to wait, on the loop's clock. No more than ``CLAIMS_IN_FLIGHT`` at once.
        """
        late, shared = self._late
        limit = min(self._deadline, self._in_time(), shared if handed_in <= late else math.inf)
        if limit <= asyncio.get_running_loop().time():
            return ClaimResult(claim=claim, failed="timeout")
        try:
            async with asyncio.timeout_at(limit):
                return await self._ask(claim)
        except TimeoutError:
            late, shared = self._late
            if handed_in > late:
                self._late = (asyncio.get_running_loop().time(), self._in_time())
            return ClaimResult(claim=claim, failed="timeout")
        except ScoringError as error:
            return ClaimResult(claim=claim, failed=error.reason)

    def _in_time(self) -> float:
        return asyncio.get_running_loop().time() + self._claim_seconds

    async def _ask(self, claim: Claim) -> ClaimResult:
        asserted, alone = hypothesis(claim, self._prepared.context.query), statement(claim)
        first: list[Piece] = []
        then: list[Piece] = []
        if self._terms.grounding.active:
            first, then = self._evidence_for(asserted)
        queries = self._prepared.queries if self._asks_relevance else ()
        pairs = [Pair(kind=CheckKind.RELEVANCE, premise=query, hypothesis=alone) for query in queries]
        lent = bool(claim.context) and not is_in_table(claim) and not is_fragment(alone)  # those mean nothing alone
        found: list[tuple[Piece, float]] = []
        relevance: float | None = None
        denied = False
        nearest = _in_turn(asserted, first[:NEAREST])
        for at, pieces in enumerate((*nearest, first[NEAREST:], then)):
            if (pieces or pairs) and max((support for _, support in found), default=0.0) < self._enough:
                scores = await self._scorer.score(pairs + _grounding_pairs(pieces, asserted))
                relevant, scores = scores[: len(pairs)], scores[len(pairs) :]
                relevance = max((self._calibrated(CheckKind.RELEVANCE, each) for each in relevant), default=relevance)
                supports = self._supports(pieces, scores)
                found += await self._alone(supports, alone) if lent else supports
                denied = denied or (at < len(nearest) and _denied(asserted, supports))
                found = _held(asserted, found) if denied else found
                pairs = []
        found.sort(key=lambda each: -each[1])
        if relevance is not None and relevance < OWN_ENOUGH:
            relevance = max(relevance, await self._relevance_of_source(queries, {alone, asserted}, found, relevance))
        if self._terms.grounding.action != "redact" and relevant_enough(relevance, self._terms.relevance):
            self._asks_relevance = False  # under redact the claim may have to leave
        return ClaimResult(
            claim=claim, support=found[0][1] if found else None, relevance=relevance, evidence=_evidence(found)
        )

    async def _relevance_of_source(
        self, queries: Sequence[str], said: set[str], found: Sequence[tuple[Piece, float]], own: float
    ) -> float:
        """Relevance that a claim owes to the sentence that supports it; nothing where it only repeats that.

        "Hold the button for 10 seconds." does not say of what it is the answer; its source does. And what any part of
        the source says answers "Summarise this.".
        """
        if asks_broadly(self._prepared.context.query or ""):
            return found[0][1] if found else 0.0
        piece, support = next(((piece, support) for piece, support in found if piece.sentence), (None, 0.0))
        if piece is None or support < _SUPPORTED:
            return 0.0
        sentence = self._prepared.index.rows.read(piece.parts[-1]).told
        if said & {sentence, piece.parts[-1].text}:
            return 0.0
        pairs = [Pair(kind=CheckKind.RELEVANCE, premise=query, hypothesis=sentence) for query in queries]
        addresses = max(await self._scorer.score(pairs))
        logit = OWN_LOGIT * _logit(own) + SOURCE_LOGIT * _logit(addresses) + SOURCE_BIAS
        return self._calibrated(CheckKind.RELEVANCE, 1 / (1 + math.exp(-logit)))

    async def _alone(self, found: list[tuple[Piece, float]], alone: str) -> list[tuple[Piece, float]]:
        """Lower what passes, or may be cited, to the support that the evidence gives the claim without its context.

        A true sentence before it would lend "It covers fire" its own support.
        """
        passing = [piece for piece, support in found if support >= self._passing]
        if not passing:
            return found
        scores = dict(self._supports(passing, await self._scorer.score(_grounding_pairs(passing, alone))))
        return [(piece, min(support, scores.get(piece, support))) for piece, support in found]

    def _evidence_for(self, asserted: str) -> tuple[list[Piece], list[Piece]]:
        index = self._prepared.index
        sources = self._prepared.context.sources
        if self._scorer.evidence == "pieces":
            windows = index.shortlist(asserted, WINDOWS_PER_CLAIM)
            return evidence_for(asserted, windows, index.rows, spoken_of(asserted, windows, sources))
        room = self._scorer.max_tokens - len(self._scorer.token_spans(asserted)) - WHOLE_MARGIN
        windows = index.shortlist(asserted, max(1, room // WINDOW_TOKENS))
        return [Piece.of(windows, spoken_of(asserted, windows, sources))], []

    def _supports(self, pieces: list[Piece], scores: list[float]) -> list[tuple[Piece, float]]:
        return [
            (piece, self._calibrated(CheckKind.GROUNDING, score)) for piece, score in zip(pieces, scores, strict=True)
        ]

    def _calibrated(self, kind: CheckKind, score: float) -> float:
        """On the policy's own scale, if it was fitted for this scorer."""
        return self._calibration.apply(kind, score) if self._calibration.suits(self._scorer.name) else score


def _share(asserted: str, piece: Piece) -> float:
    """How much of a claim's words a piece holds."""
    words = frozenset(terms(asserted))
    return len(words.intersection(terms(piece.text))) / max(1, len(words))


def _in_turn(asserted: str, nearest: list[Piece]) -> list[list[Piece]]:
    """The nearest sentences as they are asked: the first may be enough, if no other could deny what it supports."""
    return [nearest[:1], nearest[1:]] if nearest and _share(asserted, nearest[0]) > ASIDE else [nearest]


def _denied(asserted: str, nearest: Sequence[tuple[Piece, float]]) -> bool:
    """Whether one of the nearest sentences holds the claim's words and says otherwise."""
    return any(
        piece.sentence and support <= DENIES and _share(asserted, piece) >= REPEATS for piece, support in nearest
    )


def _held(asserted: str, found: Sequence[tuple[Piece, float]]) -> list[tuple[Piece, float]]:
    """What supports a claim of which a sentence says otherwise: only what holds as much of its words."""
    return [(piece, min(support, DENIES) if _share(asserted, piece) <= ASIDE else support) for piece, support in found]


def _logit(score: float) -> float:
    score = min(1 - _SURE, max(_SURE, score))
    return math.log(score / (1 - score))


def _grounding_pairs(pieces: list[Piece], asserted: str) -> list[Pair]:
    return [
        Pair(kind=CheckKind.GROUNDING, premise=piece.text, hypothesis=asserted, written=piece.written)
        for piece in pieces
    ]


def _evidence(found: list[tuple[Piece, float]]) -> tuple[Evidence, ...]:
    """What was read, best first, each stretch of a source once, with the best support it had a part in."""
    best: dict[Window, float] = {}
    for piece, support in found:
        for window in piece.parts:
            best.setdefault(window, support)
    return tuple(Evidence(window=window, support=support) for window, support in best.items())


async def _off_loop(size: int, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run quick work here and long work in a thread. ``size`` in characters."""
    if size <= INLINE_CHARS:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
