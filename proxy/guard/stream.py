"""Follow: a streamed answer judged while the model writes it.

A surface says what the model sends as ``Piece``s and renders what may leave; nothing here knows a dialect. One task
reads the model, others score claims, and one loop takes what comes from either, in turn, so that the gates need no
locks. A piece is released as it came once its gate (``grounding/gate.py``) lets its text leave; what a gate cannot
judge piece by piece (``Piece.hold``) waits, with all of its choice that has not left yet, for the verdict on the whole.
So does everything of an answer that may be redacted, or asked for again (``Policy.held_whole``).

Memory: what is held, plus the text of the answer. The model is not read on while ``PIECES_AHEAD`` pieces wait for the
caller to take what may leave, or while ``CLAIMS_AHEAD`` claims wait for the scorer. Text is cut and typed
``INLINE_CHARS`` at a time, and others have their turn in between, however long a piece is.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from proxy.grounding.errors import ScoringError, UpstreamError
from proxy.grounding.gate import Gate
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import (
    CLAIMS_IN_FLIGHT,
    INLINE_CHARS,
    UNINSPECTED,
    carried,
    looks_like_json,
    opens_json,
    settled_by_shape,
    terms_of,
    too_long,
)
from proxy.guard.exchange import preparing, timed, to_name
from proxy.guard.redaction import blocked_instead, removals, without

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence

    from proxy.grounding.gate import Release
    from proxy.grounding.types import Claim, ClaimResult, GroundingContext, Verdict
    from proxy.guard.assess import Assessor, Judging, Prepared
    from proxy.guard.exchange import Meter
    from proxy.policy.model import Policy

_Item = TypeVar("_Item")

PIECES_AHEAD = 256
CLAIMS_AHEAD = 64


def release_of(policy: Policy, *, structured: bool, choices: int = 1, sync: bool = False) -> Release:
    """When the text of an answer may leave: the one place that says so of a request.

    As the policy says, or after its sentence where the request asks for ``sync``: stricter, never laxer. At the end
    where the answer is ``structured`` (calls of tools, a format), or where a block of one of several choices is an
    error for all. What the policy holds back besides, ``Following`` knows (``Policy.held_whole``).
    """
    if structured or (policy.on_block == "error" and choices > 1):
        return "buffer"
    return "sentence" if sync and policy.stream == "after" else policy.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(Generic[_Item]):
    """What one event of the model's says of one choice; ``index`` is None when it speaks of none.

    ``text`` is what it adds to the answer that the user reads. ``hold``: it carries what must be judged whole, and its
    choice waits with it. ``last``: it ends its choice, so it waits for the verdict, where there is one to fear, and
    holds back nothing but itself. ``splits``: ``item`` may leave in two parts.
    """

    index: int | None
    item: _Item
    text: str = ""
    hold: bool = False
    last: bool = False
    splits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Generic[_Item]):
    """A piece that may leave: of its text, characters ``start`` to ``end`` (the whole when ``whole``)."""

    piece: Piece[_Item]
    start: int
    end: int

    @property
    def whole(self) -> bool:
        """Whether all of the piece leaves at once."""
        return self.start == 0 and self.end == len(self.piece.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A choice is blocked. Nothing more of it leaves; ``begun`` says whether something of it has left.

    ``gap`` is what keeps a message apart from the text before it: a blank line, or as much of one as is not there.
    """

    index: int
    begun: bool
    gap: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Every choice is decided: nothing more will come. ``cut``: the model was stopped before its end."""

    parts: tuple[AnswerPart, ...]
    verdicts: tuple[Verdict, ...]
    cut: bool


Step: TypeAlias = "Released[_Item] | Refused | Finished"


@dataclass(slots=True)
class _Waiting(Generic[_Item]):
    """A piece in its place: ``number`` among all pieces, ``begin`` in its choice's text; ``left`` has gone already."""

    number: int
    begin: int
    piece: Piece[_Item]
    left: int = 0


@dataclass(slots=True)
class _Choice(Generic[_Item]):
    """One choice of the answer. ``gate`` and ``judging`` are None when the scorer failed before the first claim."""

    index: int
    gate: Gate | None
    judging: Judging | None
    text: list[str] = field(default_factory=list)
    length: int = 0
    first: str = ""  # character that is no space
    claims: deque[tuple[Claim, float]] = field(default_factory=deque)  # to be scored, with when they closed
    scoring: int = 0
    queue: deque[_Waiting[_Item]] = field(default_factory=deque)
    held: bool = False  # leaves with its verdict
    whole: bool = False  # is not read claim by claim, but by ``Assessor.judge`` when it has ended
    bypasses: tuple[str, ...] = ()
    begun: bool = False
    tail: str = ""  # the end of what has left
    refused: bool = False
    redacted: bool = False
    verdict: Verdict | None = None

    @property
    def blocked(self) -> bool:
        """Whether it must not go on."""
        return self.verdict is not None and self.verdict.blocked

    @property
    def part(self) -> AnswerPart:
        """What is known of the choice when the model was cut off."""
        return AnswerPart(index=self.index, text="".join(self.text))

    def next(self) -> Released[_Item] | None:
        """The first waiting piece, or as much of it as may leave; None while nothing may."""
        if not self.queue or self.blocked:
            return None
        waiting, piece = self.queue[0], self.queue[0].piece
        end, size = len(piece.text), len(piece.text)
        if self.verdict is None:
            if self.held or self.gate is None or (piece.last and (piece.hold or not self.gate.free)):
                return None
            limit = self.gate.limit
            end = min(size, limit - waiting.begin)
            if not (limit or self.gate.free) or end < 0 or (end < size and (not piece.splits or end <= waiting.left)):
                return None
        return Released(piece=piece, start=waiting.left, end=end)

    @property
    def gap(self) -> str:
        """What is missing of a blank line behind the text that has left; nothing where no text has."""
        if not self.tail or self.tail.endswith("\n\n"):
            return ""
        return "\n" if self.tail.endswith("\n") else "\n\n"

    def decide(self) -> None:
        """Take the verdict from the gate, if there is one yet."""
        verdict = self.gate.verdict if self.gate is not None else None
        self.verdict = verdict and replace(verdict, bypasses=(*self.bypasses, *verdict.bypasses))

    def leave(self, step: Released[_Item]) -> None:
        """Note that this has left."""
        self.begun = True
        self.tail = (self.tail + step.piece.text[step.start : step.end])[-2:]
        self.queue[0].left = step.end
        if step.end == len(step.piece.text):
            self.queue.popleft()


@dataclass(frozen=True, slots=True)
class _Ended:
    """The model has said all: what its choices are, whole."""

    parts: tuple[AnswerPart, ...]


@dataclass(frozen=True, slots=True)
class _More:
    """More text of the piece before, that is to be read in its turn."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class _Scored:
    choice: _Choice[Any]
    result: ClaimResult


@dataclass(frozen=True, slots=True)
class _Judged:
    choice: _Choice[Any]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Telling(Generic[_Item]):
    """What the model says, as a surface reads it: its pieces, and at its end its choices, whole.

    ``parts_of`` may raise what is wrong with them.
    """

    pieces: AsyncGenerator[Piece[_Item], None]
    parts_of: Callable[[], Sequence[AnswerPart]]


class Following(Generic[_Item]):
    """One streamed answer of ``expected`` choices, followed by taking its ``steps`` once.

    ``parts_of`` is asked at the model's end for its choices, whole, and may raise what is wrong with them. ``edit``
    makes an item with another text, which holds nothing else that spells the old one; without it what should leave
    redacted is blocked. ``again`` asks the model once more, given what it said as far as that is known and the
    sentences that are not supported; without it nobody is asked twice.
    """

    _preparing: asyncio.Task[Prepared]

    def __init__(
        self,
        assessor: Assessor,
        policy: Policy,
        context: GroundingContext,
        meter: Meter,
        *,
        release: Release,
        expected: int,
        pieces: AsyncGenerator[Piece[_Item], None],
        parts_of: Callable[[], Sequence[AnswerPart]],
        edit: Callable[[_Item, str], _Item] | None = None,
        again: Callable[[str, Sequence[str]], Telling[_Item]] | None = None,
    ) -> None:
        self._policy, self._context, self._meter = policy, context, meter
        self._assessor = meter.assessor_for(policy, assessor)
        self._release: Release = "buffer" if policy.held_whole else release
        self._expected = expected
        self._telling, self._edit, self._ask_again = Telling(pieces, parts_of), edit, again
        self._attempts = policy.retry.attempts if again is not None else 0
        self._before: tuple[dict[int, _Choice[_Item]], tuple[AnswerPart, ...] | None] | None = None
        self._events: asyncio.Queue[object] = asyncio.Queue()
        self._room = asyncio.Semaphore(PIECES_AHEAD)
        self._scorer_keeps_up = asyncio.Event()
        self._scorer_keeps_up.set()
        self._unscored = 0
        self._read_on = 0  # characters since others had their turn
        self._scoring_since = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._prepared: Prepared | None = None
        self._choices: dict[int, _Choice[_Item]] = {}
        self._others: deque[_Waiting[_Item]] = deque()  # pieces of no choice
        self._parts: tuple[AnswerPart, ...] | None = None
        self._count = 0
        self._begun = False

    @property
    def verdicts(self) -> tuple[Verdict, ...] | None:
        """The verdicts, in the order of the choices, once all are known."""
        if self._parts is None and not self._cut:
            return None
        known = [self._choices[index].verdict for index in sorted(self._choices)]
        return None if None in known else tuple(verdict for verdict in known if verdict is not None)

    async def steps(self) -> AsyncGenerator[Step[_Item], None]:
        """What may leave, as soon as it may; ``Finished`` is last. Raises what the model's stream raises."""
        async with preparing(self._assessor, self._context) as self._preparing:
            try:
                self._start(self._read)
                while (verdicts := self.verdicts) is None:
                    await self._take(await self._events.get())
                    await self._let_others()
                    if await self._asked_again():
                        continue
                    for step in self._leaving():
                        yield step
            finally:
                await self._stop()
        yield Finished(parts=self._known_parts(), verdicts=verdicts, cut=self._parts is None)

    # --- what comes in ----------------------------------------------------------------------------------------------

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = asyncio.create_task(self._reported(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reported(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised where the steps are taken
            self._events.put_nowait(error)

    async def _stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _asked_again(self) -> bool:
        """Whether the model was asked once more, so that nothing is decided: nothing of what it said has left."""
        verdicts = self.verdicts
        sentences = to_name(self._policy, verdicts) if verdicts is not None and self._attempts else []
        if not sentences or self._ask_again is None or self._expected > 1 or self._begun:
            return False
        self._attempts -= 1
        self._meter.retries += 1
        await self._stop()
        said, self._before = self._known_parts()[0].text, (self._choices, self._parts)
        self._note_unscored(-self._unscored)
        self._events, self._room = asyncio.Queue(), asyncio.Semaphore(PIECES_AHEAD)
        self._choices, self._parts, self._others = {}, None, deque()
        self._telling = self._ask_again(said, sentences)
        self._start(self._read)
        return True

    def _as_before(self, error: Exception) -> None:
        """Let the block stand that the model was asked again for, now that it fails. Raises what else is wrong."""
        if self._before is None or not isinstance(error, UpstreamError):
            raise error
        (self._choices, self._parts), self._attempts = self._before, 0

    async def _read(self) -> None:
        async with aclosing(timed(self._telling.pieces, self._meter)) as pieces:
            async for piece in pieces:
                await self._hand_on(piece)
                for start in range(INLINE_CHARS, len(piece.text) if piece.index is not None else 0, INLINE_CHARS):
                    await self._hand_on(_More(piece.index or 0, piece.text[start : start + INLINE_CHARS]))
        self._events.put_nowait(_Ended(tuple(self._telling.parts_of())))

    async def _hand_on(self, event: object) -> None:
        self._events.put_nowait(event)
        await self._room.acquire()
        await self._scorer_keeps_up.wait()

    async def _let_others(self) -> None:
        """Give the loop to others once enough has been read: a queue that is not empty does not."""
        if self._read_on >= INLINE_CHARS:
            self._read_on = 0
            await asyncio.sleep(0)

    async def _take(self, event: object) -> None:
        if self._prepared is None and isinstance(event, Piece | _Ended):
            await self._prepare()
        match event:
            case Piece():
                self._room.release()
                self._add(event)
            case _More(index, text):
                self._room.release()
                self._feed(self._choice(index), text)
            case _Scored(choice, result):
                self._settle(choice, result)
            case _Judged(choice, verdict):
                self._note_unscored(-1)
                choice.verdict = verdict
            case _Ended(parts):
                self._end(parts)
            case Exception():
                self._as_before(event)

    def _settle(self, choice: _Choice[_Item], result: ClaimResult) -> None:
        self._note_unscored(-1)
        choice.scoring -= 1
        if choice.gate is not None and choice.verdict is None and not choice.whole:
            choice.gate.settle(result)
            choice.decide()
        if choice.whole or choice.verdict is not None:
            self._give_up(choice)
        elif choice.judging is not None:
            self._take_turns(choice, choice.judging)

    async def _prepare(self) -> None:
        try:
            self._prepared = await self._preparing
        except ScoringError:
            return  # every choice is judged whole, which meets the same error

    def _add(self, piece: Piece[_Item]) -> None:
        self._count += 1
        if piece.index is None:
            self._others.append(_Waiting(self._count, 0, piece))
            return
        choice = self._choice(piece.index)
        if choice.blocked:
            return
        choice.queue.append(_Waiting(self._count, choice.length, piece))
        choice.length += len(piece.text)
        if piece.text:
            choice.text.append(piece.text)
            choice.first = choice.first or piece.text.strip()[:1]
        if too_long(choice.length, self._policy):
            choice.verdict = UNINSPECTED
            return
        choice.whole = choice.whole or choice.gate is None or opens_json(choice.first, self._policy)
        choice.held = choice.held or (piece.hold and not piece.last) or choice.whole
        if choice.gate is not None:
            choice.gate.expect(len(piece.text))
        self._feed(choice, piece.text[:INLINE_CHARS])

    def _feed(self, choice: _Choice[_Item], text: str) -> None:
        """Read on in a choice that is judged claim by claim."""
        if choice.gate is None or choice.judging is None or choice.whole or choice.verdict is not None:
            return
        self._read_on += len(text)
        self._score(choice, choice.judging, choice.gate.feed(text))

    def _choice(self, index: int) -> _Choice[_Item]:
        if index not in self._choices:
            gate = judging = None
            if self._prepared is not None:
                terms = terms_of(self._policy, self._prepared)
                gate = Gate(terms, self._context.query, self._release)
                judging = self._assessor.judging(self._prepared, self._policy, terms)
            self._choices[index] = _Choice(index, gate, judging)
        return self._choices[index]

    def _score(self, choice: _Choice[_Item], judging: Judging, claims: Sequence[Claim]) -> None:
        now = asyncio.get_running_loop().time()
        choice.claims.extend((claim, now) for claim in claims)
        self._note_unscored(len(claims))
        self._take_turns(choice, judging)

    def _take_turns(self, choice: _Choice[_Item], judging: Judging) -> None:
        """Score the claims that come next, ``CLAIMS_IN_FLIGHT`` at a time: one task each, however many wait."""

        async def score(claim: Claim, handed_in: float) -> None:
            self._events.put_nowait(_Scored(choice, await judging.one(claim, handed_in)))

        while choice.claims and choice.scoring < CLAIMS_IN_FLIGHT:
            choice.scoring += 1
            self._start(partial(score, *choice.claims.popleft()))

    def _give_up(self, choice: _Choice[_Item]) -> None:
        """Score no more, claim by claim, of a choice that is decided, or judged whole."""
        self._note_unscored(-len(choice.claims))
        choice.claims.clear()

    def _note_unscored(self, change: int) -> None:
        """Count claims in, and out again; scoring takes as long as there are any."""
        now = time.perf_counter()
        if self._unscored:
            self._meter.scoring = (self._meter.scoring or 0.0) + now - self._scoring_since
        self._scoring_since = now
        self._unscored += change
        if self._unscored < CLAIMS_AHEAD:
            self._scorer_keeps_up.set()
        else:
            self._scorer_keeps_up.clear()

    def _end(self, parts: tuple[AnswerPart, ...]) -> None:
        known = {part.index for part in parts}
        self._parts = (*parts, *(choice.part for choice in self._choices.values() if choice.index not in known))
        for part in self._parts:
            choice = self._choice(part.index)
            if choice.verdict is None:
                choice.verdict = settled_by_shape(part, self._policy)
            if choice.verdict is not None:
                self._give_up(choice)
                continue
            choice.whole = choice.whole or part.text != "".join(choice.text)
            if choice.gate is None or choice.judging is None or choice.whole:
                choice.whole = choice.held = True
                self._give_up(choice)
                self._note_unscored(1)
                self._start(partial(self._judge, choice, part))
                continue
            choice.bypasses = carried(part)
            choice.judging.closed()
            claims = choice.gate.close(part.refusal, relevance_applies="tool_calls" not in part.carries)
            self._score(choice, choice.judging, claims)
            choice.decide()

    async def _judge(self, choice: _Choice[_Item], part: AnswerPart) -> None:
        """Judge a choice whole."""
        verdict = await self._assessor.judge(part, self._preparing, self._policy)
        self._events.put_nowait(_Judged(choice, verdict))

    # --- what goes out ----------------------------------------------------------------------------------------------

    @property
    def _cut(self) -> bool:
        """Whether every choice that was asked for is blocked, so that the model need not go on."""
        blocked = sum(choice.blocked for choice in self._choices.values())
        return blocked >= max(self._expected, len(self._choices))

    def _known_parts(self) -> tuple[AnswerPart, ...]:
        if self._parts is not None:
            return tuple(sorted(self._parts, key=lambda part: part.index))
        return tuple(self._choices[index].part for index in sorted(self._choices))

    def _leaving(self) -> Iterator[Step[_Item]]:
        choices = [self._choices[index] for index in sorted(self._choices)]
        for choice in choices:
            self._redact(choice)
        free = all(choice.gate is not None and choice.gate.free for choice in choices)
        if self._release == "buffer" and self.verdicts is None and not free:
            return
        for choice in choices:
            if choice.blocked and not choice.refused:
                choice.refused = True
                choice.queue.clear()
                yield Refused(index=choice.index, begun=choice.begun, gap=choice.gap)
        while (step := self._next(choices)) is not None:
            self._begun = True
            yield step

    def _redact(self, choice: _Choice[_Item]) -> None:
        """Take out of a choice's pieces what its verdict removes; block it where they do not spell its text."""
        verdict = choice.verdict
        if verdict is None or not verdict.removed or choice.redacted:
            return
        text = "".join(choice.text)
        whole = next((part.text for part in self._parts or () if part.index == choice.index), None)
        if self._edit is None or text != whole or looks_like_json(text):
            choice.verdict = blocked_instead(verdict)
            return
        choice.redacted = True
        gone = removals(text, verdict.removed)
        for waiting in choice.queue:
            piece = waiting.piece
            left = without(piece.text, waiting.begin, gone, self._policy.redacted_message)
            waiting.piece = replace(piece, item=self._edit(piece.item, left), text=left)

    def _next(self, choices: Sequence[_Choice[_Item]]) -> Released[_Item] | None:
        """The piece that came first among those that may leave, taken out of its queue."""
        ready = [(choice.queue[0].number, choice, step) for choice in choices if (step := choice.next()) is not None]
        first = min((choice.queue[0].number for choice in choices if choice.queue), default=self._count + 1)
        held = bool(self._others) and self._others[0].piece.hold and self.verdicts is None
        if self._others and not held and (self._begun or ready) and self._others[0].number < first:
            return Released(piece=self._others.popleft().piece, start=0, end=0)
        if not ready:
            return None
        _, choice, step = min(ready, key=lambda each: each[0])
        choice.leave(step)
        return step
