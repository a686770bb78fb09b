"""The queue in front of a scorer that is elsewhere: what ``batcher`` is to a model, for the network.

Everything runs on the event loop. Questions go out in the order they came, a limited number at a time, each with its
own time limit. A service that says it is busy is left alone for as long as it says, and callers are turned away.
"""

from __future__ import annotations

import asyncio
import logging
import math
import traceback
from typing import TYPE_CHECKING

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.scoring.base import WARM_PAIR, checked, unheard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import EvidenceUse, Ran, Service

_log = logging.getLogger(__name__)

FIRST_GUESS = 0.5
"""Seconds a pair takes, until some have been timed."""
SMOOTHING = 0.2
MAX_RETRY_SECONDS = 60
SECONDS_WHEN_BUSY = 5
"""How long a service that does not say it for itself is left alone."""


def seconds_to_wait(retry_after: str | None) -> int:
    """Seconds by a ``Retry-After`` header, 1 to 60; a date counts as none."""
    given = (retry_after or "").strip()
    seconds = int(given[:9]) if given.isascii() and given.isdecimal() else SECONDS_WHEN_BUSY
    return min(MAX_RETRY_SECONDS, max(1, seconds))


class Dispatch:
    """A ``Scorer`` over a ``Service``.

    ``at_once`` questions may be open; ``queue_pairs`` is how many pairs may be unfinished before ``admit`` refuses.
    ``timeout`` is the seconds one question may take once it is asked, ``close_seconds`` how long ``close`` waits for
    those that are open. ``ran`` is told of each question.
    """

    def __init__(
        self,
        service: Service,
        *,
        at_once: int = 8,
        queue_pairs: int = 256,
        timeout: float = 30.0,
        close_seconds: float = 10.0,
        ran: Ran = unheard,
    ) -> None:
        self.name: str = service.name
        self.max_tokens: int = service.max_tokens
        self.evidence: EvidenceUse = service.evidence
        self._service = service
        self._at_once, self._limit = at_once, queue_pairs
        self._timeout, self._close_seconds = timeout, close_seconds
        self._ran = ran
        self._turns = asyncio.Semaphore(at_once)
        self._questions = self._pairs = 0
        self._open: set[asyncio.Timeout] = set()
        self._none_open = asyncio.Event()
        self._pair_seconds = FIRST_GUESS
        self._busy_until = -math.inf
        self._closed = False

    @property
    def queue_pairs(self) -> int:
        """Pairs handed in and not yet scored."""
        return self._pairs

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._service.token_spans(text)

    def admit(self) -> None:
        """Raise ``Overloaded`` when the queue is full, or while the service asks to be left alone."""
        seconds = self._busy_until - asyncio.get_running_loop().time()
        message = "the scorer is busy"
        if self._pairs >= self._limit:
            seconds = self._pairs * self._pair_seconds / self._at_once
            message = "the scorer's queue is full"
        elif seconds <= 0:
            return
        raise Overloaded(message, retry_after=min(MAX_RETRY_SECONDS, max(1, math.ceil(seconds))))

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``.

        Raises ``ScoringError`` when any question fails, is late (``reason`` timeout) or meets a busy service
        (overloaded), and after ``close``. When one fails, or the caller is cancelled, the others are given up.
        """
        size = self._service.most_pairs
        groups = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        try:
            async with asyncio.TaskGroup() as tasks:
                asked = [self._count(tasks.create_task(self._in_turn(group)), len(group)) for group in groups]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [score for task in asked for score in task.result()]

    async def warm(self) -> None:
        """Ask once, so that what is set up wrongly shows at the start. Raises ``ScoringError``; may be tried again."""
        await self.score([WARM_PAIR])

    async def close(self) -> None:
        """Let open questions end, refuse what waits, free the connections. What does not end is left after a while."""
        self._closed = True
        for _ in range(self._questions):
            self._turns.release()  # whoever waits for a turn gets one now, and is refused
        if self._open:
            self._none_open.clear()
            try:
                async with asyncio.timeout(self._close_seconds):
                    await self._none_open.wait()
            except TimeoutError:
                await self._give_up()
        await self._service.close()

    def _count(self, task: asyncio.Task[list[float]], pairs: int) -> asyncio.Task[list[float]]:
        """Count a question and its pairs until its task ends, however it does: one cancelled early never runs."""

        def uncount(_: object) -> None:
            self._questions -= 1
            self._pairs -= pairs

        self._questions += 1
        self._pairs += pairs
        task.add_done_callback(uncount)
        return task

    async def _in_turn(self, pairs: Sequence[Pair]) -> list[float]:
        self._refuse_when_closed()
        async with self._turns:
            self._refuse_when_closed()
            begun = asyncio.get_running_loop().time()
            try:
                return await self._ask(pairs)
            finally:
                self._time(asyncio.get_running_loop().time() - begun, len(pairs))

    def _refuse_when_closed(self) -> None:
        if self._closed:
            message = "the scorer is closed"
            raise ScoringError(message)

    async def _ask(self, pairs: Sequence[Pair]) -> list[float]:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                self._open.add(limit)
                return checked(await self._service.ask(pairs), len(pairs))
        except Exception as error:  # noqa: BLE001 - whatever a service raises is "could not check"
            raise self._failure(error) from None
        finally:
            self._open.discard(limit)
            if not self._open:
                self._none_open.set()

    def _failure(self, error: Exception) -> ScoringError:
        """What callers see. Of what was not raised on purpose only the type is told: its words may hold the texts."""
        if isinstance(error, ScoringError):
            _log.error("scoring failed: %s", error.message)
            return error
        if isinstance(error, Overloaded):
            self._busy_until = asyncio.get_running_loop().time() + error.retry_after
            return ScoringError("the scorer is busy", reason="overloaded")
        if isinstance(error, TimeoutError) and not self._closed:
            return ScoringError("the scorer did not answer in time", reason="timeout")
        if self._closed:
            return ScoringError("the scorer is closing")
        kind, where = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
        _log.error("scoring failed: %s at %s:%s", kind, where.filename, where.lineno)
        return ScoringError(f"the scorer failed ({kind})")

    def _time(self, seconds: float, count: int) -> None:
        self._pair_seconds += SMOOTHING * (seconds / count - self._pair_seconds)
        self._ran(count, seconds)

    async def _give_up(self) -> None:
        _log.error("%s questions did not end within %s s and were left", len(self._open), self._close_seconds)
        now = asyncio.get_running_loop().time()
        for limit in self._open:
            limit.reschedule(now)
        await self._none_open.wait()
