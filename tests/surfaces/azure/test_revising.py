"""Reasons and corrections through the judge model: what it is shown, what is believed of it, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from recording import Reply
from surfaces.azure.conftest import says, texts_of
from surfaces.azure.test_groundedness import asking, error_of
from surfaces.support import BAD, GOOD, QUERY, SECRET, SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from surfaces.azure.conftest import Place

RIGHT = "Tokyo is the capital."
WHY = "The SOURCE names another city."


def rewriting(change: Callable[[str], str]) -> Callable[[dict[str, str]], Any]:
    """A judge that rewrites a statement so."""
    return lambda texts: {"rewritten": change(texts["STATEMENT"])}


def test_a_reason_for_each_ungrounded_claim(place: Place):
    """The judge is asked once for each ungrounded claim, and not about the others; its words are the reason."""
    place.answers(lambda texts: {"reason": f"{WHY} ({texts['STATEMENT'][:5]})"})
    result = place.result(asking(f"{GOOD} {BAD} Osaka is UNSUPPORTED.", reasoning=True))
    assert [detail["reason"] for detail in result["ungroundedDetails"]] == [f"{WHY} (The c)", f"{WHY} (Osaka)"]
    assert "correctionText" not in result
    assert [request.json["model"] for request in place.upstream.requests] == ["judge", "judge"]
    body = place.upstream.requests[0].json
    assert texts_of(place.upstream.requests[0]) == {"SOURCE": SOURCE, "STATEMENT": BAD}
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason"]


def test_the_judge_is_shown_the_question_and_what_stood_before(place: Place):
    """A claim is read with the query and with its lead-in; a list item's marker is no part of what it says."""
    place.answers(lambda _: {"reason": WHY})
    text = "These are capitals of Japan:\n- Osaka UNSUPPORTED"
    place.result(asking(text, task="QnA", qna={"query": QUERY}, reasoning=True))
    [request] = place.upstream.requests
    assert texts_of(request) == {
        "SOURCE": SOURCE,
        "QUESTION": QUERY,
        "CONTEXT": "These are capitals of Japan:",
        "STATEMENT": "Osaka UNSUPPORTED",
    }


def test_nothing_ungrounded_asks_nobody(place: Place):
    """A grounded text has no reasons and no correction, and costs no call."""
    seconds = place.metric("groundwarden_upstream_seconds_count")
    result = place.result(asking(reasoning=True, correction=True))
    assert result == {"ungroundedDetected": False, "ungroundedPercentage": 0, "ungroundedDetails": []}
    assert place.upstream.requests == []
    assert place.metric("groundwarden_upstream_seconds_count") == seconds


def test_a_correction(place: Place):
    """What is ungrounded is rewritten in its place, the rest stays as it was, and both of its names tell it."""
    place.answers(rewriting(lambda _: RIGHT))
    result = place.result(asking(f"{GOOD}  {BAD}\n\n- {BAD}\n", correction=True))
    expected = f"{GOOD}  {RIGHT}\n\n- {RIGHT}\n"
    assert (result["correctionText"], result["correctedText"]) == (expected, expected)
    assert "mitigatedText" not in result
    assert all("reason" not in detail for detail in result["ungroundedDetails"])
    assert {text for request in place.upstream.requests for text in texts_of(request)} == {"SOURCE", "STATEMENT"}


def test_the_earlier_specifications_name(place: Place):
    """``mitigating`` is answered with ``mitigatedText``."""
    place.answers(rewriting(lambda _: RIGHT))
    result = place.result(asking(BAD, mitigating=True))
    assert result["mitigatedText"] == RIGHT
    assert "correctionText" not in result


def test_both_are_one_question(place: Place):
    """Reason and rewriting of a claim come from one call."""
    place.answers(lambda _: {"reason": WHY, "rewritten": RIGHT})
    result = place.result(asking(BAD, reasoning=True, correction=True))
    assert (result["ungroundedDetails"][0]["reason"], result["correctionText"]) == (WHY, RIGHT)
    assert len(place.upstream.requests) == 1


def test_a_correction_is_judged_before_it_leaves(place: Place):
    """A judge that makes up its correction is not believed: nothing of it is in the reply."""
    place.answers(rewriting(lambda _: f"{SECRET} is UNSUPPORTED."))
    reply = place.post(asking(BAD, correction=True))
    assert reply.json()["ungroundedDetected"] is True
    assert "correctionText" not in reply.json()
    assert SECRET not in reply.text
    assert any(SECRET in pair.hypothesis for pair in place.scorer.asked)


def test_what_stays_ungrounded_is_left_out(place: Place):
    """A rewritten sentence that is no better is left out, one that the sources say nothing of too; the rest leaves."""
    change = {"One is UNSUPPORTED.": "Still UNSUPPORTED.", "Two is UNSUPPORTED.": "", "Three is UNSUPPORTED.": RIGHT}
    place.answers(rewriting(lambda statement: change[statement]))
    text = f"{GOOD} One is UNSUPPORTED. Two is UNSUPPORTED. Three is UNSUPPORTED."
    assert place.result(asking(text, correction=True))["correctionText"] == f"{GOOD} {RIGHT}"


def test_nothing_left_is_no_correction(place: Place):
    """Where the sources say nothing of the kind of any sentence there is no correction."""
    place.answers(rewriting(lambda _: ""))
    assert "correctionText" not in place.result(asking(BAD, correction=True))


def test_a_correction_that_cannot_be_judged_does_not_leave(place: Place):
    """The scorer fails on the corrected text: the result stands, without it."""
    place.answers(rewriting(lambda _: f"{SECRET} opens at nine."))

    async def before(pairs: Any) -> None:
        from proxy.grounding.errors import ScoringError

        if any(SECRET in pair.hypothesis for pair in pairs):
            message = "no"
            raise ScoringError(message)

    place.scorer.before = before
    reply = place.post(asking(BAD, correction=True))
    assert (reply.status_code, reply.json()["ungroundedDetected"]) == (200, True)
    assert SECRET not in reply.text


@pytest.mark.parametrize(
    "answer",
    [
        Reply(status=500, body=b'{"error": {"message": "planted-secret-7f3a"}}'),
        Reply(status=429, body=b'{"error": {"message": "planted-secret-7f3a"}}'),
        Reply(body=b"{}"),
        Reply(body=b"{", hang=True),
        says(SECRET),
        says({"reason": SECRET}),
        says({"reason": SECRET, "rewritten": RIGHT, "more": 1}),
        says({"reason": SECRET, "rewritten": 7}),
        says({"reason": " ", "rewritten": SECRET}),
    ],
    ids=["500", "429", "no completion", "late", "prose", "a field less", "a field more", "a number", "a blank reason"],
)
def test_a_judge_that_fails_loses_no_result(place: Place, answer: Reply, caplog: pytest.LogCaptureFixture):
    """The detection stands, the reason says that there is none, no correction leaves, and nobody's words are told."""
    place.upstream.default = answer
    reply = place.post(asking(BAD, reasoning=True, correction=True))
    result = reply.json()
    assert (reply.status_code, result["ungroundedDetected"]) == (200, True)
    assert result["ungroundedDetails"][0]["reason"].startswith("No reason can be given")
    assert "correctionText" not in result
    assert SECRET not in reply.text + caplog.text
    assert any("could not be explained or corrected" in record.message for record in caplog.records)


def test_one_claim_that_nobody_rewrote_is_no_correction(place: Place):
    """A correction with a claim left as it was would be none."""
    place.answers(lambda texts: {"rewritten": RIGHT} if "Osaka" in texts["STATEMENT"] else {})
    assert "correctionText" not in place.result(asking(f"{BAD} Osaka is UNSUPPORTED.", correction=True))


# --- which model --------------------------------------------------------------------------------------------------


def test_a_deployment_is_a_model_of_this_server(place: Place):
    """The deployment's name is looked up in ``model_list``; the endpoint beside it is never called."""
    place.answers(lambda _: {"reason": WHY})
    resource = {
        "resourceType": "AzureOpenAI",
        "azureOpenAIEndpoint": "http://127.0.0.1:9/",
        "azureOpenAIDeploymentName": "m",
    }
    body = asking(BAD, reasoning=True, llmResource=resource)
    assert place.result(body)["ungroundedDetails"][0]["reason"] == WHY
    assert [request.json["model"] for request in place.upstream.requests] == ["m"]


@pytest.mark.parametrize(("policy", "deployment"), [("default", "<your_deployment_name>"), ("few-models", "judge")])
def test_another_deployment_is_refused(place: Place, policy: str, deployment: str):
    """One that is not there, and one that the caller's policy keeps from it, in the same words; nothing is asked."""
    resource = {"azureOpenAIEndpoint": place.upstream.url, "azureOpenAIDeploymentName": deployment}
    error = error_of(place.post(asking(BAD, correction=True, llmResource=resource), policy), 400)
    assert (error["code"], error["target"]) == ("InvalidRequestBody", "llmResource.azureOpenAIDeploymentName")
    assert place.upstream.requests == []
    place.answers(rewriting(lambda _: RIGHT))
    assert place.result(asking(BAD, correction=True), policy)["correctionText"] == RIGHT


def test_the_judges_time_is_counted_as_the_models(place: Place):
    """Asking the judge is an upstream's time, under its name."""
    place.answers(lambda _: {"reason": WHY})
    labels = {"surface": "detect_groundedness", "model": "judge", "outcome": "blocked"}
    before = place.metric("groundwarden_requests_total", **labels)
    seconds = place.metric("groundwarden_upstream_seconds_count", model="judge")
    place.result(asking(BAD, reasoning=True))
    assert place.metric("groundwarden_requests_total", **labels) == before + 1
    assert place.metric("groundwarden_upstream_seconds_count", model="judge") == seconds + 1


def test_a_correction_over_the_policys_limit_is_none(place: Place):
    """A text that is too long to be judged leaves unseen otherwise: whoever wrote the sources could ask for one."""
    place.answers(rewriting(lambda _: f"{BAD} " * 3))
    result = place.result(asking(BAD, correction=True), "short")
    assert result["ungroundedDetected"] is True
    assert "correctionText" not in result
