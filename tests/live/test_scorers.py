"""End to end with each other scorer: the real proxy, a config.yaml with that scorer in it, an ordinary request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from recording import Recording, Reply
from scoring import support
from serving import Serving, passes_through
from surfaces.support import GOOD, QUERY, SOURCE, answer, asking

from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.huggingface import HuggingFaceModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from smollm import Served

OUTCOME, GROUNDING, RELEVANCE = (f"x-groundwarden-{name}" for name in ("outcome", "grounding", "relevance"))
PATIENT = {"timeout_ms": 30_000}
FORGIVING = {**PATIENT, "on_scorer_error": "pass"}
VERDICTS = {"supported": '{"supported": 0.9}', "relevant": '{"relevant": 0.8}'}


def served(upstream: Recording, verdict: Callable[[str], str]) -> None:
    """Make a recording server both the model that answers and the judge, whose verdicts are given by their field."""

    def reply(request: Any) -> Reply:
        format_ = request.json.get("response_format")
        said = verdict(format_["json_schema"]["schema"]["required"][0]) if format_ else GOOD
        return Reply(body=json.dumps(answer(said)).encode())

    upstream.default = reply


def ask(serving: Serving) -> httpx.Response:
    """The reply to an ordinary question, its trace in it."""
    body = asking(guardrail={"trace": "enabled"})
    return httpx.post(f"{serving.url}/v1/chat/completions", json=body, timeout=120)


def judged_by(folder: Path, upstream: Recording, policy: dict[str, Any], **scorer: Any) -> Serving:
    """A proxy whose models ``m`` and ``judge`` are both at the recording server."""
    config = {
        "model_list": passes_through(upstream.url, "m", "judge"),
        "scorer": {"backend": "llm", "model": "judge", **scorer},
    }
    return Serving(folder, config, policies={"default": policy})


def counted(serving: Serving, name: str, **labels: str) -> float:
    """The sum of a metric's series that have these labels."""
    families = text_string_to_metric_families(httpx.get(f"{serving.admin}/metrics").text)
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def test_a_checker_in_a_folder_scores_grounding(tmp_path: Path, recording: Recording):
    """A folder beside config.yaml is loaded; the score in the header is the checker's own for a piece of the source."""
    folder = support.bert(tmp_path / "nli", ("contradiction", "neutral", "entailment"))
    served(recording, VERDICTS.__getitem__)
    config = {
        "model_list": passes_through(recording.url, "m"),
        "scorer": {"backend": "transformers", "model": "nli", "threads": 1},
    }
    with Serving(tmp_path, config, policies={"default": PATIENT}) as serving:
        reply = ask(serving)
    premises = [SOURCE, *SOURCE.split(". ", 1), f"{SOURCE.split('. ', 1)[0]}."]
    asked = [Pair(kind=CheckKind.GROUNDING, premise=premise, hypothesis=GOOD) for premise in premises]
    scores = [f"{score:.4f}" for score in HuggingFaceModel(str(folder), threads=1).score(asked)]
    assert f"{float(reply.headers[GROUNDING]):.4f}" in scores
    assert float(reply.headers[RELEVANCE]) > 0.5  # the model that ships knows that this is an answer


def test_a_judges_verdict_decides(tmp_path: Path, recording: Recording):
    """The judge is a model of the list; its numbers are the scores, and it is asked about this claim and source."""
    served(recording, VERDICTS.__getitem__)
    with judged_by(tmp_path, recording, PATIENT) as serving:
        recording.requests.clear()
        reply = ask(serving)
    assert [reply.headers[name] for name in (OUTCOME, GROUNDING, RELEVANCE)] == ["passed", "0.9000", "0.8000"]
    asked = [request.json for request in recording.requests]
    questions = [body["messages"][1]["content"] for body in asked if "response_format" in body]
    assert {body["model"] for body in asked} == {"m", "judge"}
    assert any("Tokyo is the capital of Japan." in question and GOOD in question for question in questions)
    assert any(QUERY in question and GOOD in question for question in questions)


@pytest.mark.parametrize(
    "said", ["It is supported.", '```json\n{"supported": 1}\n```', '{"supported": 1, "relevant": 1}', ""]
)
@pytest.mark.parametrize(("policy", "outcome"), [(PATIENT, "blocked"), (FORGIVING, "unscored")])
def test_a_judge_that_cannot_be_read_could_not_check(
    tmp_path: Path, recording: Recording, said: str, policy: dict[str, Any], outcome: str
):
    """By default it is a block by the check scorer_error, unscored where the policy lets that pass, never a pass."""
    served(recording, VERDICTS.__getitem__)
    with judged_by(tmp_path, recording, policy) as serving:
        served(recording, lambda _: said)
        reply = ask(serving)
        blocks = counted(serving, "groundwarden_blocks_total", check="scorer_error")
        errors = counted(serving, "groundwarden_scorer_errors_total", reason="error")
    content = reply.json()["choices"][0]["message"]["content"]
    assert (reply.status_code, reply.headers[OUTCOME]) == (200, outcome)
    assert (content == GOOD) is (outcome == "unscored")
    assert (blocks, errors) == (1 if outcome == "blocked" else 0, 1)


def test_a_judge_that_cannot_be_asked_keeps_the_server_from_starting(tmp_path: Path, recording: Recording):
    """What is set up wrongly shows at the start, in the upstream's own words."""
    message = "response_format is not supported"
    recording.default = Reply(status=400, body=json.dumps({"error": {"message": message}}).encode())
    with pytest.raises(RuntimeError) as failure, judged_by(tmp_path, recording, PATIENT):
        pass
    assert message in str(failure.value.__cause__)


def test_a_remote_services_scores_decide(tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch):
    """Every pair goes to the service with the key, and its scores are the verdict's."""
    monkeypatch.setenv("SCORER_KEY", "sk-scorer\n")

    def reply(request: Any) -> Reply:
        if request.path != "/score":
            return Reply(body=json.dumps(answer(GOOD)).encode())
        scores = [0.75 if pair["kind"] == "grounding" else 0.625 for pair in request.json["pairs"]]
        return Reply(body=json.dumps({"scores": scores}).encode())

    recording.default = reply
    config = {
        "model_list": passes_through(recording.url, "m"),
        "scorer": {"backend": "remote", "url": f"{recording.url}/score", "api_key_env": "SCORER_KEY"},
    }
    with Serving(tmp_path, config, policies={"default": PATIENT}) as serving:
        response = ask(serving)
    assert [response.headers[name] for name in (OUTCOME, GROUNDING, RELEVANCE)] == ["passed", "0.7500", "0.6250"]
    keys = {request.headers["authorization"] for request in recording.requests if request.path == "/score"}
    assert keys == {"Bearer sk-scorer"}


def small_judge(smollm: Served) -> dict[str, Any]:
    """SmolLM as an entry of the model list, which says no more than a few words."""
    at = {"model": f"openai/{smollm.model}", "api_base": smollm.base_url, "api_key": "unused", "max_tokens": 8}
    return {"model_name": "small", "litellm_params": at}


def test_a_real_model_that_cannot_judge_is_refused_at_the_start(tmp_path: Path, smollm: Served):
    """SmolLM gives no verdict even on the first pair, so a server with it as the judge does not start."""
    config = {"model_list": [small_judge(smollm)], "scorer": {"backend": "llm", "model": "small", "timeout": 60}}
    with pytest.raises(RuntimeError) as failure, Serving(tmp_path, config):
        pass
    assert "the judge's answer cannot be used" in str(failure.value.__cause__)


def test_a_real_model_that_stops_judging_lets_nothing_pass(tmp_path: Path, recording: Recording, smollm: Served):
    """SmolLM answers in prose or is cut short: that is could not check, and so a block, though the answer is right."""
    asked: list[Any] = []

    def verdict(request: Any) -> Reply:
        asked.append(request)
        if len(asked) == 1:  # the server's own first question
            return Reply(body=json.dumps(answer(VERDICTS["supported"])).encode())
        body = {**request.json, "model": smollm.model, "max_tokens": 8}
        return Reply(body=httpx.post(f"{smollm.base_url}/chat/completions", json=body, timeout=60).content)

    recording.default = lambda request: (
        verdict(request) if "response_format" in request.json else Reply(body=json.dumps(answer(GOOD)).encode())
    )
    with judged_by(tmp_path, recording, PATIENT, timeout=60) as serving:
        reply = ask(serving)
        blocks = counted(serving, "groundwarden_blocks_total", check="scorer_error")
    assert len(asked) > 1
    assert (reply.headers[OUTCOME], blocks) == ("blocked", 1)
    assert not {GROUNDING, RELEVANCE} & reply.headers.keys()
    assert reply.json()["choices"][0]["finish_reason"] == "content_filter"
