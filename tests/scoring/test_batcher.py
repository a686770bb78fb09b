"""The queue in front of a model."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.base import Model, Scorer
from proxy.scoring.batcher import WARM_PAIR, Batcher

PATIENCE = 20


def pair(words: int, score: float = 0.5) -> Pair:
    """A pair of ``words`` tokens that ``TableModel`` gives ``score``."""
    return Pair(kind=CheckKind.GROUNDING, premise=" ".join(["w"] * words), hypothesis=str(score))


class TableModel:
    """Reads the score off the hypothesis; counts words as tokens; remembers its batches and threads."""

    name = "table"
    max_tokens = 100
    evidence = "whole"

    def __init__(self) -> None:
        self.batches: list[list[Pair]] = []
        self.threads: set[int] = {threading.get_ident()}

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """One token for each character."""
        return [(at, at + 1) for at in range(len(text))]

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """One token for each word of the premise."""
        self.threads.add(threading.get_ident())
        return [len(each.premise.split()) for each in pairs]

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The number in the hypothesis."""
        self.threads.add(threading.get_ident())
        if WARM_PAIR not in pairs:
            self.batches.append(list(pairs))
        return [0.5 if each == WARM_PAIR else float(each.hypothesis) for each in pairs]


class BadModel(TableModel):
    """Fails for each pair whose hypothesis names a way to fail."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Fail as told, else as the table."""
        for each in pairs:
            if each.hypothesis == "raise":
                raise ValueError(each.premise)
            if each.hypothesis == "exit":
                raise SystemExit
            if each.hypothesis == "few":
                return [0.5] * (len(pairs) - 1)
            if each.hypothesis == "many":
                return [0.5] * (len(pairs) + 1)
        return super().score(pairs)


class HeldModel(TableModel):
    """Scores nothing until ``go`` is set; ``entered`` says that a batch has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.go = threading.Event()

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Wait for ``go``, then as the table."""
        if WARM_PAIR not in pairs:
            self.entered.set()
            self.go.wait(PATIENCE)
        return super().score(pairs)


Make = Callable[..., Batcher]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """A maker of batchers; all are closed at the end."""
    made: list[Batcher] = []

    def new(model: Model, **options) -> Batcher:
        made.append(Batcher(lambda: model, **options))
        return made[-1]

    yield new
    for batcher in made:
        await batcher.close()


async def held(make: Make, **options) -> tuple[Batcher, HeldModel, asyncio.Task]:
    """A batcher whose worker is stuck in a batch of one pair, and the task that waits for it."""
    model = HeldModel()
    batcher = make(model, **options)
    await batcher.warm()
    task = asyncio.create_task(batcher.score([pair(1, 0.1)]))
    assert await asyncio.to_thread(model.entered.wait, PATIENCE)
    return batcher, model, task


async def until(true: Callable[[], bool]) -> None:
    """Wait for a condition, at most ``PATIENCE`` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - what is awaited is set by another thread
            await asyncio.sleep(0.005)


async def test_scores_come_back_in_the_order_asked(make: Make) -> None:
    """Sorting inside must not show outside."""
    pairs = [pair(words, words / 100) for words in (50, 3, 80, 1, 20, 7, 33)]
    assert await make(TableModel(), batch_tokens=60).score(pairs) == [each / 100 for each in (50, 3, 80, 1, 20, 7, 33)]


async def test_many_callers_each_get_their_own_scores(make: Make) -> None:
    """Requests that share batches must not share results."""
    batcher = make(TableModel(), batch_tokens=40)
    wanted = [[(caller * 7 + n) % 100 / 100 for n in range(caller % 5 + 1)] for caller in range(60)]
    calls = [batcher.score([pair(n + 1, score) for n, score in enumerate(scores)]) for scores in wanted]
    assert await asyncio.gather(*calls) == wanted


async def test_no_batch_is_over_the_token_budget(make: Make) -> None:
    """Longest times count must stay within the budget, save for one pair that is longer by itself."""
    model = TableModel()
    await make(model, batch_tokens=64).score([pair(words) for words in (*range(1, 40), 90, 3)])
    for batch in model.batches:
        longest = max(model.lengths(batch))
        assert longest * len(batch) <= 64 or len(batch) == 1
    assert len(model.batches) < 41


async def test_waiting_requests_share_a_batch_in_the_order_they_came(make: Make) -> None:
    """What waits behind a busy worker must be taken together, first come first served."""
    batcher, model, first = await held(make, batch_tokens=10)
    later = [asyncio.create_task(batcher.score([pair(2, n / 10)])) for n in range(7)]
    await until(lambda: batcher.queue_pairs == 8)
    model.go.set()
    await asyncio.gather(first, *later)
    assert [[float(each.hypothesis) for each in batch] for batch in model.batches] == [
        [0.1],
        [0.0, 0.1, 0.2, 0.3, 0.4],
        [0.5, 0.6],
    ]


async def test_no_pairs_need_no_model(make: Make) -> None:
    """An empty call must give an empty answer at once."""
    model = TableModel()
    assert await make(model).score([]) == []
    assert model.batches == []


async def test_the_model_lives_in_one_thread_that_is_not_the_loops() -> None:
    """Loading, measuring and scoring must all happen in the worker thread."""
    made: list[TableModel] = []

    def factory() -> TableModel:
        made.append(TableModel())
        return made[-1]

    batcher = Batcher(factory)
    assert made == []
    await batcher.warm()
    await batcher.score([pair(1)])
    await batcher.close()
    assert len(made) == 1
    assert len(made[0].threads) == 1
    assert threading.get_ident() not in made[0].threads


async def test_warm_tells_name_limit_and_tokens(make: Make) -> None:
    """After warm the scorer must answer for its model; before it, tokens are an error, not a crash."""
    batcher: Scorer = make(TableModel())
    with pytest.raises(ScoringError):
        batcher.token_spans("abc")
    assert (batcher.name, batcher.max_tokens, batcher.evidence) == ("", 0, "pieces")
    await batcher.warm()
    assert (batcher.name, batcher.max_tokens, batcher.evidence) == ("table", 100, "whole")
    assert batcher.token_spans("abc") == [(0, 1), (1, 2), (2, 3)]


async def test_a_model_that_cannot_be_loaded_is_an_error_that_can_be_tried_again() -> None:
    """Warm must raise when loading fails, and succeed once it works."""
    broken = [True]

    def factory() -> TableModel:
        if broken[0]:
            raise FileNotFoundError
        return TableModel()

    batcher = Batcher(factory)
    with pytest.raises(ScoringError, match="FileNotFoundError"):
        await batcher.warm()
    broken[0] = False
    await batcher.warm()
    await batcher.close()


async def test_a_model_that_says_why_it_cannot_be_loaded_is_quoted() -> None:
    """What is raised as ScoringError holds nobody's text, so the operator must see it as it is."""

    def factory() -> TableModel:
        message = "the scorer's model x lacks weights"
        raise ScoringError(message)

    batcher = Batcher(factory)
    with pytest.raises(ScoringError, match="the scorer's model x lacks weights"):
        await batcher.warm()
    await batcher.close()


async def test_admit_refuses_when_the_queue_is_full(make: Make) -> None:
    """At the limit callers must be told when to come back; below it they are let in again."""
    batcher, model, first = await held(make, queue_pairs=3)
    batcher.admit()
    second = asyncio.create_task(batcher.score([pair(1), pair(2)]))
    await until(lambda: batcher.queue_pairs == 3)
    with pytest.raises(Overloaded) as refusal:
        batcher.admit()
    assert 1 <= refusal.value.retry_after <= 60
    model.go.set()
    await asyncio.gather(first, second)
    await until(lambda: batcher.queue_pairs == 0)
    batcher.admit()


async def test_the_loop_runs_while_a_batch_does(make: Make) -> None:
    """A model that is busy must not hold up the event loop."""
    _, model, first = await held(make)
    for _ in range(100):
        await asyncio.sleep(0)
    assert not first.done()
    model.go.set()
    assert await first == [0.1]


async def test_a_cancelled_callers_pairs_never_run(make: Make) -> None:
    """Work that nobody waits for must leave the queue, and must not disturb its neighbours."""
    batcher, model, first = await held(make)
    gone = asyncio.create_task(batcher.score([pair(1, 0.7), pair(2, 0.7)]))
    kept = asyncio.create_task(batcher.score([pair(1, 0.8)]))
    await until(lambda: batcher.queue_pairs == 4)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert batcher.queue_pairs == 2
    model.go.set()
    assert await asyncio.gather(first, kept) == [[0.1], [0.8]]
    assert all(each.hypothesis != "0.7" for batch in model.batches for each in batch)


async def test_a_caller_cancelled_while_its_batch_runs_harms_nobody(make: Make) -> None:
    """A result that nobody waits for any more must be thrown away quietly."""
    batcher, model, first = await held(make)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    model.go.set()
    assert await batcher.score([pair(1, 0.4)]) == [0.4]


@pytest.mark.parametrize("way", ["raise", "exit", "few", "many", "nan", "inf", "1.5", "-0.1", "not a number"])
async def test_a_failing_batch_is_an_error_and_the_scorer_lives_on(make: Make, way: str) -> None:
    """Whatever the model does wrong, its caller must get ScoringError and the next caller a score."""
    batcher = make(BadModel())
    secret = Pair(kind=CheckKind.GROUNDING, premise="the secret premise", hypothesis=way)
    with pytest.raises(ScoringError) as failure:
        await batcher.score([secret])
    assert failure.value.reason == "error"
    assert "secret" not in failure.value.message
    assert await batcher.score([pair(1, 0.6)]) == [0.6]


async def test_nothing_of_the_texts_is_logged(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """An exception's words may hold a caller's text, so only its type and place must be logged."""
    with pytest.raises(ScoringError):
        await make(BadModel()).score([Pair(kind=CheckKind.GROUNDING, premise="the secret", hypothesis="raise")])
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_only_the_batch_concerned_fails(make: Make) -> None:
    """A request in another batch must not pay for its neighbour's failure."""
    model = BadModel()
    batcher = make(model, batch_tokens=1)
    bad = Pair(kind=CheckKind.GROUNDING, premise="w", hypothesis="raise")
    results = await asyncio.gather(
        batcher.score([pair(1, 0.1)]),
        batcher.score([bad, pair(9, 0.2), pair(9, 0.3)]),
        batcher.score([pair(1, 0.4)]),
        return_exceptions=True,
    )
    assert results[0] == [0.1]
    assert isinstance(results[1], ScoringError)
    assert results[2] == [0.4]
    assert batcher.queue_pairs == 0


@pytest.mark.parametrize("count", [0, 2, None])
async def test_a_model_that_cannot_measure_fails_only_that_request(make: Make, count: int | None) -> None:
    """Lengths that raise or miscount must be an error, and the worker must go on."""

    class Unmeasured(TableModel):
        def lengths(self, pairs: Sequence[Pair]) -> list[int]:
            if pairs[0].hypothesis != "bad":
                return super().lengths(pairs)
            if count is None:
                raise RuntimeError
            return [1] * count

    batcher = make(Unmeasured())
    with pytest.raises(ScoringError):
        await batcher.score([Pair(kind=CheckKind.GROUNDING, premise="w", hypothesis="bad")])
    assert await batcher.score([pair(1, 0.9)]) == [0.9]


async def test_close_finishes_what_runs_and_refuses_what_waits(make: Make) -> None:
    """The running batch must give its scores; what waits and what comes later must get ScoringError."""
    batcher, model, first = await held(make)
    waiting = asyncio.create_task(batcher.score([pair(1)]))
    await until(lambda: batcher.queue_pairs == 2)
    closing = asyncio.create_task(batcher.close())
    with pytest.raises(ScoringError):
        await waiting
    assert not first.done()
    model.go.set()
    await closing
    assert await first == [0.1]
    with pytest.raises(ScoringError):
        await batcher.score([pair(1)])
    with pytest.raises(ScoringError):
        await batcher.warm()
    with pytest.raises(ScoringError):
        batcher.token_spans("freed")


async def test_close_does_not_wait_for_ever_for_a_model_that_hangs(make: Make) -> None:
    """A hanging batch must be given up, and its caller told."""
    batcher, model, first = await held(make, close_seconds=0.05)
    async with asyncio.timeout(PATIENCE):
        await batcher.close()
    with pytest.raises(ScoringError):
        await first
    model.go.set()


async def test_close_before_anything_and_twice() -> None:
    """Closing an unused scorer, or one already closed, must do nothing."""
    batcher = Batcher(TableModel)
    await batcher.close()
    await batcher.close()
    with pytest.raises(ScoringError):
        await batcher.warm()


async def test_each_batch_is_told(make):
    """Whoever counts hears of every batch: its pairs and its seconds, of a failing one too."""
    told = []
    batcher = make(TableModel(), ran=lambda pairs, seconds: told.append((pairs, seconds)))
    await batcher.warm()
    await batcher.score([pair(1, 0.1), pair(1, 0.2)])
    with pytest.raises(ScoringError):
        await batcher.score([pair(1, -1.0)])
    assert [pairs for pairs, _ in told] == [1, 2, 1]
    assert all(0 <= seconds < PATIENCE for _, seconds in told)
