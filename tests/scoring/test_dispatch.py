"""The queue in front of a scorer that is elsewhere."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.base import WARM_PAIR
from proxy.scoring.dispatch import Dispatch, seconds_to_wait

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from proxy.scoring.base import Scorer

    Make = Callable[..., Dispatch]

PATIENCE = 20


def pair(score: float | str) -> Pair:
    """A pair that ``Elsewhere`` gives ``score``."""
    return Pair(kind=CheckKind.GROUNDING, premise="the secret premise", hypothesis=str(score))


class Elsewhere:
    """Reads the score off the hypothesis, or fails as that says; answers only while ``go`` is set; counts."""

    name, max_tokens, evidence = "elsewhere", 99, "whole"

    def __init__(self, most_pairs: int = 2) -> None:
        self.most_pairs = most_pairs
        self.asked: list[list[str]] = []
        self.open = self.most_open = self.cancelled = 0
        self.closed = False
        self.go = asyncio.Event()
        self.go.set()

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """One token for the whole text."""
        return [(0, len(text))]

    async def ask(self, pairs: Sequence[Pair]) -> list[float]:
        """Wait for ``go``, then answer."""
        self.asked.append([each.hypothesis for each in pairs])
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(0)
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.open -= 1
        return [score for each in pairs for score in self.answer(each)]

    def answer(self, asked: Pair) -> list[float]:
        """One score, none, two, a bad one, or an error that quotes the text."""
        match asked.hypothesis:
            case "raise":
                raise ValueError(asked.premise)
            case "fail":
                message = "it said no"
                raise ScoringError(message)
            case "busy":
                message = "busy"
                raise Overloaded(message, retry_after=7)
            case "few":
                return []
            case "many":
                return [0.5, 0.5]
            case said:
                return [0.5 if asked == WARM_PAIR else float(said)]

    async def close(self) -> None:
        """Note it."""
        self.closed = True


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A maker of dispatchers; all are closed at the end."""
    made: list[Dispatch] = []

    def new(service: Elsewhere, **options) -> Dispatch:
        made.append(Dispatch(service, **{"timeout": PATIENCE, "close_seconds": 0.05, **options}))
        return made[-1]

    yield new
    for dispatch in made:
        await dispatch.close()


async def until(true: Callable[[], bool]) -> None:
    """Wait for a condition, at most ``PATIENCE`` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - what is awaited is set by other tasks
            await asyncio.sleep(0.001)


async def held(make: Make, count: int = 1, **options) -> tuple[Dispatch, Elsewhere, list[asyncio.Task]]:
    """A dispatcher with ``count`` questions open, of a pair each, that nobody answers yet."""
    service = Elsewhere(most_pairs=1)
    service.go.clear()
    dispatch = make(service, **options)
    tasks = [asyncio.create_task(dispatch.score([pair(at / 10)])) for at in range(count)]
    await until(lambda: service.open == min(count, options.get("at_once", count)))
    return dispatch, service, tasks


async def test_it_fits_the_seam(make: Make) -> None:
    """Name, limit, tokens and how evidence is wanted are the service's, and it can be warmed."""
    service = Elsewhere()
    seam: Scorer = make(service)
    assert (seam.name, seam.max_tokens, seam.evidence) == ("elsewhere", 99, "whole")
    assert seam.token_spans("abc") == [(0, 3)]
    await seam.warm()
    assert service.asked == [[WARM_PAIR.hypothesis]]


async def test_scores_come_back_in_the_order_asked(make: Make) -> None:
    """Pairs go out in groups of what the service takes, and come back as they were."""
    service = Elsewhere(most_pairs=3)
    wanted = [at / 10 for at in (5, 3, 8, 1, 2, 7, 6)]
    assert await make(service).score([pair(score) for score in wanted]) == wanted
    assert [len(group) for group in service.asked] == [3, 3, 1]
    assert await make(service).score([]) == []


async def test_no_more_questions_are_open_than_allowed(make: Make) -> None:
    """Many callers at once share the limit, and each gets its own."""
    service = Elsewhere()
    dispatch = make(service, at_once=3)
    wanted = [[(caller + at) % 10 / 10 for at in range(caller % 4)] for caller in range(30)]
    results = await asyncio.gather(*(dispatch.score([pair(score) for score in scores]) for scores in wanted))
    assert results == wanted
    assert service.most_open == 3
    assert dispatch.queue_pairs == 0


async def test_admit_refuses_when_the_queue_is_full(make: Make) -> None:
    """At the limit callers must be told when to come back; below it they are let in again."""
    dispatch, service, tasks = await held(make, 2, queue_pairs=3)
    dispatch.admit()
    tasks.append(asyncio.create_task(dispatch.score([pair(0.5)])))
    await until(lambda: dispatch.queue_pairs == 3)
    with pytest.raises(Overloaded) as refusal:
        dispatch.admit()
    assert 1 <= refusal.value.retry_after <= 60
    service.go.set()
    await asyncio.gather(*tasks)
    dispatch.admit()


async def test_a_busy_service_is_left_alone(make: Make) -> None:
    """Its callers fail as overloaded, and nobody new is admitted for as long as it said."""
    dispatch = make(Elsewhere())
    with pytest.raises(ScoringError) as failure:
        await dispatch.score([pair("busy")])
    assert failure.value.reason == "overloaded"
    with pytest.raises(Overloaded, match="the scorer is busy") as refusal:
        dispatch.admit()
    assert 6 <= refusal.value.retry_after <= 7


@pytest.mark.parametrize("way", ["raise", "fail", "few", "many", "nan", "inf", "1.5", "-0.1", "not a number"])
async def test_a_failure_is_an_error_and_the_scorer_lives_on(
    make: Make, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong elsewhere, its caller gets ScoringError, the next one a score, and no log any text."""
    dispatch = make(Elsewhere())
    with pytest.raises(ScoringError) as failure:
        await dispatch.score([pair(way), pair(0.1)])
    assert failure.value.reason == "error"
    assert caplog.records
    assert "secret" not in failure.value.message + caplog.text
    assert await dispatch.score([pair(0.6)]) == [0.6]
    assert dispatch.queue_pairs == 0


async def test_one_failure_gives_up_the_rest_of_its_request_only(make: Make) -> None:
    """What nobody will read is not asked on; another caller's questions are."""
    service = Elsewhere(most_pairs=1)
    dispatch = make(service)
    results = await asyncio.gather(
        dispatch.score([pair("fail"), pair(0.2)]), dispatch.score([pair(0.3)]), return_exceptions=True
    )
    assert isinstance(results[0], ScoringError)
    assert results[1] == [0.3]


async def test_a_late_answer_is_a_timeout(make: Make) -> None:
    """A question has its own limit from when it is asked, not from when it began to wait."""
    _, _, tasks = await held(make, 3, at_once=1, timeout=0.05)
    begun = time.monotonic()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [result.reason for result in results] == ["timeout"] * 3
    assert time.monotonic() - begun > 0.1


async def test_a_cancelled_callers_questions_are_given_up(make: Make) -> None:
    """What is open ends, what waits is never asked, and a neighbour is not disturbed."""
    dispatch, service, [gone, kept] = await held(make, 2, at_once=2)
    waiting = asyncio.create_task(dispatch.score([pair(0.7), pair(0.7)]))
    await until(lambda: dispatch.queue_pairs == 4)
    for task in (waiting, gone):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (dispatch.queue_pairs, service.open, service.cancelled) == (1, 1, 1)
    service.go.set()
    assert await kept == [0.1]
    assert service.asked == [["0.0"], ["0.1"]]
    assert await dispatch.score([pair(0.4)] * 4) == [0.4] * 4  # every turn has come back


async def test_a_caller_cancelled_at_once_leaves_nothing(make: Make) -> None:
    """A question whose task never ran is not counted for ever."""
    dispatch = make(Elsewhere())
    task = asyncio.create_task(dispatch.score([pair(0.1)]))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert dispatch.queue_pairs == 0


async def test_close_finishes_what_is_open_and_refuses_what_waits(make: Make) -> None:
    """Open questions get their answers; what waits and what comes later gets ScoringError; then all is freed."""
    dispatch, service, [first, waiting] = await held(make, 2, at_once=1, close_seconds=PATIENCE)
    closing = asyncio.create_task(dispatch.close())
    with pytest.raises(ScoringError, match="closed"):
        await waiting
    assert not first.done()
    assert not service.closed
    service.go.set()
    await closing
    assert await first == [0.0]
    assert service.closed
    with pytest.raises(ScoringError, match="closed"):
        await dispatch.warm()


async def test_close_does_not_wait_for_ever(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """A question that nobody answers is given up, and its caller told."""
    dispatch, service, [first] = await held(make)
    async with asyncio.timeout(PATIENCE):
        await dispatch.close()
    with pytest.raises(ScoringError, match="closing"):
        await first
    assert service.cancelled == 1
    assert "1 questions did not end" in caplog.text


async def test_close_before_anything_and_twice() -> None:
    """Closing an unused scorer, or one already closed, must do nothing."""
    dispatch = Dispatch(Elsewhere())
    await dispatch.close()
    await dispatch.close()
    with pytest.raises(ScoringError):
        await dispatch.score([pair(0.1)])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), (" 7 ", 7), ("0", 1), ("3600", 60), ("9" * 5000, 60), (None, 5), ("", 5), ("soon", 5), ("²", 5)],
)
def test_waiting_times_are_read_from_the_header(header: str | None, seconds: int) -> None:
    """Whole seconds within a minute; what is none of these is a guess."""
    assert seconds_to_wait(header) == seconds


async def test_each_question_is_told(make):
    """Whoever counts hears of every question: its pairs and its seconds, of a failing one too."""
    told = []
    dispatch = make(Elsewhere(most_pairs=2), ran=lambda pairs, seconds: told.append((pairs, seconds)))
    await dispatch.score([pair("0.1"), pair("0.2"), pair("0.3")])
    with pytest.raises(ScoringError):
        await dispatch.score([pair("fail")])
    assert [pairs for pairs, _ in told] == [2, 1, 1]
    assert all(0 <= seconds < PATIENCE for _, seconds in told)
