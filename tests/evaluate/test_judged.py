"""What a language model judges, behind a real server under the test's control."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from evaluate.support import answers, judge_at, metric_of, says, texts_of
from recording import Reply

from proxy.evaluate.catalogue import HARMS
from proxy.evaluate.rows import Turn
from proxy.grounding.errors import ScoringError
from proxy.grounding.types import Source

if TYPE_CHECKING:
    from recording import Recording

SECRET = "planted-secret-7f3a"
TURN = Turn(
    query="fees and hours?",
    response="There are no fees.",
    sources=(Source(text="About fees."), Source(text="About dogs.")),
    ground_truth="None.",
    history="user: Hello\nassistant: Hi",
)


async def measured(recording: Recording, *names: str, turn: Turn = TURN, **options: Any) -> Any:
    """The results of these metrics."""
    async with judge_at(recording, **options) as judge:
        return await judge.measure(turn, names)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("coherence", {"QUESTION": TURN.query, "RESPONSE": TURN.response}),
        ("fluency", {"RESPONSE": TURN.response}),
        ("similarity", {"QUESTION": TURN.query, "TRUTH": TURN.ground_truth, "RESPONSE": TURN.response}),
        *((harm, {"QUESTION": TURN.query, "RESPONSE": TURN.response}) for harm in HARMS),
    ],
)
async def test_each_metric_is_one_question_with_its_own_rubric(recording, name, quoted):
    """At temperature 0, for a whole number and a reason; what the judge says is the result."""
    field = "severity" if name in HARMS else "score"
    recording.default = says({field: 3, "reason": " Because. "})
    result = (await measured(recording, name))[name]
    assert (result.status, result.score, result.reason) == ("completed", 3.0, "Because.")
    assert result.properties == {"judge": "judge"}
    [request] = recording.requests
    assert texts_of(request) == quoted
    schema = request.json["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"], list(schema["schema"]["properties"])) == (name, True, ["reason", field])
    assert request.json["temperature"] == 0


async def test_rubrics_are_told_apart(recording):
    """No two metrics are asked for in the same words."""
    recording.default = answers
    await measured(recording, "coherence", "fluency", "similarity", "retrieval", *HARMS)
    rules = {request.json["messages"][0]["content"].split("RESPONSE")[0] for request in recording.requests}
    assert len(rules) == 8


@pytest.mark.parametrize(
    ("answered", "score"),
    [([True], 5), ([False], 1), ([True, False], 2), ([True, True, False, False], 2), ([True, True, True, False], 3.25)],
)
async def test_retrieval_is_the_squared_share_of_intents(recording, answered, score):
    """From 1 to 5, counted here; the documents are numbered, and what was said before is shown."""
    intents = [{"intent": str(at), "answered": each} for at, each in enumerate(answered)]
    recording.default = says({"intents": intents})
    result = (await measured(recording, "retrieval"))["retrieval"]
    assert result.score == pytest.approx(score)
    assert result.reason == f"the documents answer {sum(answered)} of {len(answered)} intents"
    assert result.properties["intents"] == intents
    assert texts_of(recording.requests[0]) == {
        "HISTORY": TURN.history,
        "QUESTION": TURN.query,
        "DOCUMENTS": "[1] About fees.\n\n[2] About dogs.",
    }


@pytest.mark.parametrize(
    "said",
    [
        {"score": 6, "reason": "x"},
        {"score": 0, "reason": "x"},
        {"score": 3.5, "reason": "x"},
        {"score": True, "reason": "x"},
        {"score": "3", "reason": "x"},
        '{"score": 1e400, "reason": "x"}',
        {"score": 3, "reason": None},
        {"score": 3},
        {"score": 3, "reason": "x", "more": 1},
        "Score: 3",
        '```json\n{"score": 3, "reason": "x"}\n```',
    ],
)
async def test_anything_but_a_whole_number_on_the_scale_is_an_error(recording, said):
    """And no score, and so no pass; it keeps no other metric back."""
    recording.default = lambda request: says(said) if metric_of(request) == "fluency" else answers(request)
    found = await measured(recording, "fluency", "coherence")
    assert (found["fluency"].status, found["fluency"].score) == ("error", None)
    assert found["fluency"].reason.startswith("could not be checked: the judge's answer cannot be used")
    assert found["coherence"].score == 5


@pytest.mark.parametrize("said", [{"intents": []}, {"intents": [{"intent": "x"}]}, {"intents": "x"}, {"intents": [1]}])
async def test_intents_must_be_what_was_asked_for(recording, said):
    """Without any, there is no share."""
    recording.default = says(said)
    assert (await measured(recording, "retrieval"))["retrieval"].status == "error"


async def test_a_severity_ends_at_seven(recording):
    """Azure's scale."""
    recording.default = says({"severity": 8, "reason": "x"})
    assert (await measured(recording, "violence"))["violence"].status == "error"


async def test_a_failure_tells_nothing_of_the_texts(recording):
    """An upstream's own words may quote what it was asked."""
    recording.default = Reply(status=500, body=json.dumps({"error": {"message": SECRET}}).encode())
    result = (await measured(recording, "fluency"))["fluency"]
    assert result.status == "error"
    assert "HTTP 500" in result.reason
    assert SECRET not in result.reason


async def test_a_busy_judge_is_asked_again(recording):
    """After the time that it asks for."""
    busy = Reply(status=429, headers={"content-type": "application/json", "retry-after": "1"}, body=b"{}")
    recording.replies += [busy, says({"score": 4, "reason": "x"})]
    assert (await measured(recording, "fluency"))["fluency"].score == 4
    assert len(recording.requests) == 2


async def test_a_judge_that_is_silent_is_given_up(recording):
    """After its time."""
    recording.default = Reply(hang=True)
    result = (await measured(recording, "fluency", timeout=0.2))["fluency"]
    assert (result.status, result.reason) == ("error", "could not be checked: the judge did not answer in time")


async def test_no_more_questions_are_open_than_allowed(recording):
    """``concurrency`` counts questions, not rows."""
    recording.default = Reply(hang=True)
    await measured(recording, "fluency", "coherence", "violence", timeout=0.2, concurrency=2)
    assert len(recording.requests) == 3
    assert sum(request.left.wait(1) for request in recording.requests) == 3


async def test_a_judge_that_cannot_be_asked_shows_before_the_work(recording):
    """In its own words, for none of them can quote anyone."""
    recording.default = Reply(status=404, body=json.dumps({"error": {"message": "no such model"}}).encode())
    async with judge_at(recording) as judge:
        with pytest.raises(ScoringError, match="no such model"):
            await judge.warm()
