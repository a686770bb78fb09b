"""The queue in front of a model: many callers on the event loop, one worker thread.

Requests are served in the order they came. A batch takes pairs from the front of the queue as long as its longest pair
times its count stays within the token budget, so padding is paid for; a request's own pairs are sorted by length.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.scoring.base import WARM_PAIR, checked, unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import EvidenceUse, Model, Ran

_log = logging.getLogger(__name__)

FIRST_GUESS = 0.02
"""Seconds a pair takes, until some have been timed."""
SMOOTHING = 0.2
MAX_RETRY_SECONDS = 60


@dataclass(slots=True, eq=False)
class _Job:
    """One call of ``score``. ``left`` counts the scores still missing; ``waiting`` holds indices not yet in a batch."""

    pairs: list[Pair]
    future: asyncio.Future[list[float]]
    loop: asyncio.AbstractEventLoop
    scores: list[float] = field(init=False)
    left: int = field(init=False)
    waiting: deque[int] = field(init=False)
    lengths: list[int] | None = None

    def __post_init__(self) -> None:
        self.left = len(self.pairs)
        self.scores = [0.0] * self.left
        self.waiting = deque(range(self.left))


_Batch = list[tuple[_Job, int]]


class Batcher:
    """A ``Scorer`` over the ``Model`` that ``factory`` makes; the worker thread makes it, uses it and drops it.

    ``queue_pairs`` is how many pairs may be unfinished before ``admit`` refuses. ``batch_tokens`` is the token budget
    of a batch; a longer pair goes alone. ``close_seconds`` is how long ``close`` waits for a batch that is running.
    ``ran`` is told of each batch, in the worker thread.
    ``name`` is "", ``max_tokens`` 0 and ``evidence`` "pieces" until the model is loaded. What ``factory`` raises as
    ``ScoringError`` says why it cannot be, and is passed on as it is.
    """

    def __init__(
        self,
        factory: Callable[[], Model],
        *,
        queue_pairs: int = 256,
        batch_tokens: int = 2048,
        close_seconds: float = 10.0,
        ran: Ran = unheard,
    ) -> None:
        self.name = ""
        self.max_tokens = 0
        self.evidence: EvidenceUse = "pieces"
        self._factory = factory
        self._limit = queue_pairs
        self._budget = batch_tokens
        self._close_seconds = close_seconds
        self._ran = ran
        self._model: Model | None = None
        self._jobs: deque[_Job] = deque()
        self._running: _Batch = []
        self._pair_seconds = FIRST_GUESS
        self._closed = False
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._worker: threading.Thread | None = None

    @property
    def queue_pairs(self) -> int:
        """Pairs handed in and not yet scored, those in the running batch included."""
        with self._changed:
            return self._pending()

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe from any thread; ``ScoringError`` before warm."""
        model = self._model
        if model is None:
            message = "the scoring model is not loaded"
            raise ScoringError(message)
        return model.token_spans(text)

    def admit(self) -> None:
        """Raise ``Overloaded`` when the queue is full; ``retry_after`` is when it should have emptied, 1 to 60 s."""
        pending = self.queue_pairs
        if pending >= self._limit:
            seconds = min(MAX_RETRY_SECONDS, max(1, math.ceil(pending * self._pair_seconds)))
            message = "the scorer's queue is full"
            raise Overloaded(message, retry_after=seconds)

    async def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``.

        Raises ``ScoringError`` when the model cannot be loaded, fails, or gives anything but one number in [0, 1] for
        each pair; and after ``close``. When the caller is cancelled, what has not begun is dropped.
        """
        if not pairs:
            return []
        loop = asyncio.get_running_loop()
        job = _Job(list(pairs), loop.create_future(), loop)
        self._enqueue(job)
        try:
            return await job.future
        finally:
            self._drop(job)

    async def warm(self) -> None:
        """Load the model in the worker thread and score one pair. Raises ``ScoringError``; may be tried again."""
        await self.score([WARM_PAIR])

    async def close(self) -> None:
        """Finish the running batch, refuse what waits, free the model. A batch that hangs is left after a while."""
        with self._changed:
            self._closed = True
            waiting = [job for job in self._jobs if job.waiting]
            self._jobs.clear()
            self._changed.notify_all()
            started = self._worker is not None
        self._fail(waiting, "the scorer is closing")
        if started and not await asyncio.to_thread(self._ended.wait, self._close_seconds):
            _log.error("the running batch did not end within %s s and was left", self._close_seconds)
        with self._changed:
            abandoned = [job for job, _ in self._running]
        self._fail(abandoned, "the scorer is closing")

    # The event loop's side. The lock is never held while the model runs.

    def _enqueue(self, job: _Job) -> None:
        with self._changed:
            if self._closed:
                message = "the scorer is closed"
                raise ScoringError(message)
            if self._worker is None:
                # A daemon, so that a model that hangs cannot keep the process from ending.
                self._worker = threading.Thread(target=self._work, name="groundwarden-scorer", daemon=True)
                self._worker.start()
            self._jobs.append(job)
            self._changed.notify_all()

    def _drop(self, job: _Job) -> None:
        with self._changed:
            job.waiting.clear()
            with contextlib.suppress(ValueError):
                self._jobs.remove(job)

    def _pending(self) -> int:
        return sum(len(job.waiting) for job in self._jobs) + len(self._running)

    # The worker's side.

    def _work(self) -> None:
        try:
            while jobs := self._next_jobs():
                self._prepare(jobs)
                self._run(self._take_batch())
        finally:
            self._model = None
            self._ended.set()

    def _next_jobs(self) -> list[_Job]:
        """Wait for jobs; empty once closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._jobs)
            return [] if self._closed else list(self._jobs)

    def _prepare(self, jobs: list[_Job]) -> None:
        """Load the model if need be and measure as many jobs as may fill a batch. One that cannot be measured fails."""
        tokens = 0
        for job in jobs:
            try:
                self._load()
                tokens += self._measure(job)
            except BaseException as error:  # noqa: BLE001 - whatever a model raises, the worker lives on
                self._report([job], error)
            if tokens >= self._budget:
                return

    def _load(self) -> None:
        if self._model is None:
            model = self._factory()
            self.name, self.max_tokens, self.evidence = model.name, model.max_tokens, model.evidence
            self._model = model

    def _measure(self, job: _Job) -> int:
        """Sort a job's pairs by length, once; returns the tokens that still wait."""
        if self._model is None:
            return 0
        lengths = job.lengths
        if lengths is None:
            lengths = self._model.lengths(job.pairs)
            if len(lengths) != len(job.pairs):
                message = f"{len(lengths)} lengths for {len(job.pairs)} pairs"
                raise ValueError(message)
        with self._changed:
            if job.lengths is None:
                job.lengths, job.waiting = lengths, deque(sorted(job.waiting, key=lengths.__getitem__))
            return sum(lengths[index] for index in job.waiting)

    def _take_batch(self) -> _Batch:
        """Move pairs from the front of the queue into the running batch, up to the budget or a job not measured."""
        with self._changed:
            longest = 0
            while self._jobs and (job := self._jobs[0]).lengths is not None:
                while job.waiting:
                    longest = max(longest, job.lengths[job.waiting[0]])
                    if self._running and longest * (len(self._running) + 1) > self._budget:
                        return list(self._running)
                    self._running.append((job, job.waiting.popleft()))
                self._jobs.popleft()
            return list(self._running)

    def _run(self, batch: _Batch) -> None:
        if not batch or self._model is None:
            return
        start = time.monotonic()
        scores: list[float] | BaseException
        try:
            scores = checked(self._model.score([job.pairs[index] for job, index in batch]), len(batch))
        except BaseException as error:  # noqa: BLE001 - as above
            scores = error
        self._time(time.monotonic() - start, len(batch))
        with self._changed:
            self._running = []
        if isinstance(scores, BaseException):
            self._report([job for job, _ in batch], scores)
        else:
            self._deliver(batch, scores)

    def _time(self, seconds: float, count: int) -> None:
        self._pair_seconds += SMOOTHING * (seconds / count - self._pair_seconds)
        self._ran(count, seconds)

    def _deliver(self, batch: _Batch, scores: list[float]) -> None:
        for (job, index), score in zip(batch, scores, strict=True):
            job.scores[index] = score
            job.left -= 1
            if job.left == 0:
                _tell(job, job.scores)

    def _report(self, jobs: list[_Job], error: BaseException) -> None:
        """Fail jobs for an error of the model's. Only its type is told: its words may hold the texts.

        What was raised as ``ScoringError`` holds none, and says more.
        """
        if isinstance(error, ScoringError):
            self._fail(jobs, error.message)
            return
        kind = type(error).__name__
        where = traceback.extract_tb(error.__traceback__)[-1]
        _log.error("scoring failed: %s at %s:%s", kind, where.filename, where.lineno)
        self._fail(jobs, f"the scoring model failed ({kind})")

    def _fail(self, jobs: list[_Job], message: str) -> None:
        for job in jobs:
            self._drop(job)
            _tell(job, ScoringError(message))


def _tell(job: _Job, result: list[float] | ScoringError) -> None:
    """Wake the caller from the worker thread; one whose loop has ended, or who has gone, is not told."""
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(_resolve, job.future, result)


def _resolve(future: asyncio.Future[list[float]], result: list[float] | ScoringError) -> None:
    if future.done():
        return
    if isinstance(result, ScoringError):
        future.set_exception(result)
    else:
        future.set_result(result)
