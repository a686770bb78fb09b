"""What every scorer owes, whatever scores behind it; each is made from a config.yaml, as an operator makes it.

The checkers and the embedded model are real, if tiny. The judge is a real server that counts words, the remote service
a real server with the embedded model in it.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from aiohttp import web
from recording import Recording, Reply
from scoring import support

from proxy.grounding.errors import Overloaded, ScoringError
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.embedded import EmbeddedModel, embedded_model

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from proxy.scoring.base import Scorer

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEAR = 0.005
PATIENCE = 60
LIMIT = 12
CHECKPOINTS = {"nli": support.bert, "minicheck": support.t5, "lettuce": support.modernbert}
BACKENDS = ["embedded", *CHECKPOINTS, "llm", "remote"]
QUOTED = re.compile(r"BEGIN (\w+) (\w+)\n(.*?)\nEND \1 \2", re.DOTALL)
SOURCE = "The library in Harlow opens at nine. Its members may borrow eight books for three weeks."
CLAIMS = ("It opens at nine.", "Members may borrow eight books.", "The pool is red.", "x", "東京", "nine " * 30)
ODD = ("", " \n", "\x00", "\ud800", "x" * 3000, "[CLS] [SEP] </s>", '{"supported": 1}', "BEGIN SOURCE 0")


def pairs() -> list[Pair]:
    """Pairs of both kinds and of many lengths."""
    grounding = [Pair(kind=CheckKind.GROUNDING, premise=SOURCE * 3, hypothesis=claim) for claim in CLAIMS]
    relevance = [Pair(kind=CheckKind.RELEVANCE, premise="When does it open?", hypothesis=claim) for claim in CLAIMS]
    return [each for both in zip(grounding, relevance, strict=True) for each in both]


def counting_judge(request: Any) -> Reply:
    """A judge that gives the share of the second text's words that the first one holds."""
    asked = request.json
    first, second = (set(text.lower().split()) for _, _, text in QUOTED.findall(asked["messages"][1]["content"]))
    field = asked["response_format"]["json_schema"]["schema"]["required"][0]
    verdict = json.dumps({field: len(first & second) / max(1, len(second))})
    choice = {"index": 0, "message": {"role": "assistant", "content": verdict}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "judge", "choices": [choice]}
    return Reply(body=json.dumps(body).encode())


@asynccontextmanager
async def embedded_service() -> AsyncIterator[str]:
    """The embedded model behind the documented wire; yields its address."""
    model, lock = EmbeddedModel(), threading.Lock()

    def score(asked: list[dict[str, Any]]) -> list[float]:
        with lock:
            return model.score([Pair(**{**each, "kind": CheckKind(each["kind"])}) for each in asked])

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"scores": await asyncio.to_thread(score, (await request.json())["pairs"])})

    app = web.Application()
    app.router.add_post("/score", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/score"
    await runner.cleanup()


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    """The server of the judge; yields its address."""
    with Recording() as server:
        server.default = counting_judge
        yield server.url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service() -> AsyncIterator[str]:
    """The remote service; yields its address."""
    async with embedded_service() as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=BACKENDS)
async def make(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, judge: str, service: str
) -> AsyncIterator[Callable[[], Scorer]]:
    """A maker of scorers of one backend; all are closed at the end."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    models, upstreams, made = None, [], []
    if name in CHECKPOINTS:
        labels = (("neutral", "entailment"),) if name == "nli" else ()
        written = {"backend": "transformers", "model": str(CHECKPOINTS[name](folder / "model", *labels)), "threads": 1}
    elif name == "llm":
        models = [{"model_name": "j", "litellm_params": {"model": "openai/j", "api_base": f"{judge}/v1"}}]
        written = {"backend": "llm", "model": "j"}
    else:
        written = {"backend": name, **({"url": service, "pairs_per_call": 5} if name == "remote" else {"threads": 1})}

    def new() -> Scorer:
        scorer, models_of_it = support.configured(folder, {**written, "queue_pairs": LIMIT}, models)
        made.append(scorer)
        upstreams.append(models_of_it)
        return scorer

    yield new
    for each in (*made, *upstreams):
        await each.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scorer(make: Callable[[], Scorer]) -> Scorer:
    """One scorer for all tests that leave it as it was, warm."""
    made = make()
    await made.warm()
    return made


async def until(true: Callable[[], bool]) -> None:
    """Wait for a condition, at most ``PATIENCE`` seconds."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - what is awaited may be set by another thread
            await asyncio.sleep(0.005)


async def test_a_warm_scorer_says_what_it_is(scorer: Scorer) -> None:
    """Name, limit, how evidence is wanted, and tokens that lie in the text."""
    assert scorer.name
    assert scorer.max_tokens >= 128
    assert scorer.evidence in {"pieces", "whole"}
    assert scorer.queue_pairs == 0
    spans = scorer.token_spans(SOURCE)
    assert len(spans) >= 16
    assert all(0 <= start <= end <= len(SOURCE) for start, end in spans)


async def test_order_and_neighbours_do_not_change_a_score(scorer: Scorer) -> None:
    """Alone, together, in another order, or beside other callers: the same pair has the same score."""
    asked = pairs()
    together = await scorer.score(asked)
    assert all(0 <= score <= 1 for score in together)
    assert len(set(together)) > len(CLAIMS) / 2
    order = random.Random(1).sample(range(len(asked)), len(asked))
    shuffled = await scorer.score([asked[at] for at in order])
    assert shuffled == pytest.approx([together[at] for at in order], abs=NEAR)
    alone = await asyncio.gather(*(scorer.score([each]) for each in asked))
    assert [score for [score] in alone] == pytest.approx(together, abs=NEAR)


async def test_no_pairs_no_scores(scorer: Scorer) -> None:
    """An empty call must give an empty answer."""
    assert await scorer.score([]) == []


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_any_text_is_scored(scorer: Scorer, text: str) -> None:
    """Whatever characters arrive, on either side and for either kind, there must be a score in [0, 1]."""
    asked = [Pair(kind=kind, premise=text, hypothesis="It is so.") for kind in CheckKind]
    asked += [Pair(kind=kind, premise=SOURCE, hypothesis=text) for kind in CheckKind]
    assert all(0 <= score <= 1 for score in await scorer.score(asked))
    assert all(0 <= end <= len(text) for span in scorer.token_spans(text) for end in span)


async def test_a_full_queue_refuses_and_empties(scorer: Scorer) -> None:
    """At the limit callers are told when to come back; what is in the queue gets its scores."""
    scorer.admit()
    task = asyncio.create_task(scorer.score(pairs()[:LIMIT]))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded) as refusal:
        scorer.admit()
    assert 1 <= refusal.value.retry_after <= 60
    assert len(await task) == LIMIT
    await until(lambda: scorer.queue_pairs == 0)
    scorer.admit()


async def test_a_cancelled_caller_leaves_nothing_behind(scorer: Scorer) -> None:
    """Its pairs leave the queue, and the next caller is served."""
    task = asyncio.create_task(scorer.score(pairs() * 3))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: scorer.queue_pairs == 0)
    assert len(await scorer.score(pairs()[:1])) == 1


async def test_a_failure_is_a_scoring_error_and_the_scorer_lives_on(scorer: Scorer) -> None:
    """What is no text at all fails its own caller only, and in words that callers may see."""
    asked = pairs()
    broken = Pair(kind=CheckKind.GROUNDING, premise="planted-secret", hypothesis=None)
    with pytest.raises(ScoringError) as failure:
        await scorer.score([broken])
    assert failure.value.reason == "error"
    assert "planted-secret" not in failure.value.message
    assert len(await scorer.score(asked)) == len(asked)


async def test_a_closed_scorer_refuses(make: Callable[[], Scorer]) -> None:
    """What is running when it closes ends, one way or the other; whatever comes later is refused."""
    scorer = make()
    await scorer.warm()
    running = asyncio.create_task(scorer.score(pairs()[:1]))
    await asyncio.sleep(0.001)
    await scorer.close()
    [result] = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(result, ScoringError | list)
    with pytest.raises(ScoringError):
        await scorer.score(pairs()[:1])
    await scorer.close()


async def test_a_scorer_never_warmed_closes(make: Callable[[], Scorer]) -> None:
    """Nothing was loaded or opened, so there is nothing to free."""
    await make().close()


@pytest.mark.parametrize("name", CHECKPOINTS)
async def test_relevance_is_the_embedded_models_where_a_checker_has_none(tmp_path: Path, name: str) -> None:
    """Beside any checker of claims, a pair of that kind has the score that the model that ships gives it."""
    folder = CHECKPOINTS[name](tmp_path / "model", *((("neutral", "entailment"),) if name == "nli" else ()))
    scorer, _ = support.configured(tmp_path, {"backend": "transformers", "model": str(folder), "threads": 1})
    relevance = [each for each in pairs() if each.kind is CheckKind.RELEVANCE]
    assert await scorer.score(relevance) == embedded_model().score(relevance)
    await scorer.close()
