"""A calibration in force: every score that is compared or told is on its scale, and edits of its file show."""

import asyncio
import time

import httpx
import pytest
from scorers import TableScorer
from serving import Serving

from proxy.grounding.calibration import Calibration, Curve
from proxy.grounding.types import CheckKind, GroundingContext, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.policy.model import Policy
from proxy.scoring.embedded import MODEL_NAME
from proxy.yamlfile import ConfigError

GROUNDING, RELEVANCE = CheckKind
CONTEXT = GroundingContext(sources=(Source(text="All there is."),), query="What is there?")
ANSWER = "Tokyo is big. London is old."


def fitted(grounding=0.5, relevance=0.5, scorer="table"):
    """A calibration that says of 0.5 in each check what it is worth."""
    curves = [
        Curve(knots=((0.0, 0.0), (0.5, middle), (1.0, 1.0)), method="platt", rows=60, positives=30)
        for middle in (grounding, relevance)
    ]
    return Calibration(scorer=scorer, grounding=curves[0], relevance=curves[1])


async def judged(calibration, scorer, **keys):
    """The verdict on the answer above."""
    assessor = Assessor(scorer)
    preparing = asyncio.ensure_future(assessor.prepare(CONTEXT))
    return await assessor.judge(AnswerPart(text=ANSWER), preparing, Policy(calibration=calibration, **keys))


async def test_scores_thresholds_and_citations_are_on_the_calibrated_scale():
    """Each claim's support, its evidence, both checks' scores, and so the outcome."""
    scorer = TableScorer({"big": 1.0, "old": 0.5}, {"big": 0.5, "old": 0.1, "All there is": 0.1})

    blocked = await judged(Calibration(), scorer)
    passed = await judged(fitted(grounding=0.8, relevance=0.6), scorer)

    assert (blocked.outcome, blocked.score(GROUNDING), blocked.score(RELEVANCE)) == ("blocked", 0.5, 0.5)
    assert (passed.outcome, passed.score(GROUNDING), passed.score(RELEVANCE)) == ("passed", 0.8, 0.6)
    assert [claim.support for claim in passed.claims] == [1.0, 0.8]
    assert [claim.evidence[0].support for claim in passed.claims] == [1.0, 0.8]


async def test_the_same_scores_may_be_worth_less():
    """A calibration that lowers scores blocks what passed."""
    scorer = TableScorer({"big": 0.75, "old": 0.75}, {"big": 0.9, "old": 0.9})
    assert (await judged(Calibration(), scorer)).outcome == "passed"
    assert (await judged(fitted(grounding=0.2), scorer)).outcome == "blocked"


def ask(url):
    """Send a question with its source, and give the reply's grounding and policy."""
    body = {
        "source": "OUTPUT",
        "content": [
            {"text": {"text": "All there is.", "qualifiers": ["grounding_source"]}},
            {"text": {"text": ANSWER}},
        ],
    }
    headers = httpx.post(f"{url}/guardrail/default/version/DRAFT/apply", json=body).headers
    return float(headers["x-groundwarden-grounding"]), headers["x-groundwarden-policy"]


@pytest.fixture
def config():
    """A config with a folder of policies, and a model that nobody asks."""
    params = {"model": "openai/none", "api_base": "http://127.0.0.1:1/v1", "api_key": "x"}
    return {"model_list": [{"model_name": "none", "litellm_params": params}], "policies": "policies"}


def scorer_named(name):
    """A scorer that finds half support, under a name."""
    scorer = TableScorer({"big": 1.0, "old": 0.5})
    scorer.name = name
    return scorer


def test_an_edited_calibration_shows_within_two_seconds(tmp_path, config):
    """A running server takes it up, keeps the last good one when it is broken, and says which version it was."""
    file = tmp_path / "cal.json"
    file.write_text(fitted(grounding=0.8, scorer=MODEL_NAME).text)
    policies = {"default": {"calibration": "../cal.json"}}
    with Serving(tmp_path, config, policies=policies, scorer=scorer_named(MODEL_NAME)) as server:
        url = server.url
        grounding, policy = ask(url)
        assert grounding == 0.8

        file.write_text(fitted(grounding=0.3, scorer=MODEL_NAME).text)
        end = time.monotonic() + 2
        while ask(url)[0] == 0.8:
            assert time.monotonic() < end, "the edit did not show"
            time.sleep(0.05)
        assert ask(url)[0] == 0.3
        assert ask(url)[1] != policy

        file.write_text("{")
        time.sleep(1.5)
        assert ask(url)[0] == 0.3


def test_a_server_whose_scorer_is_another_does_not_start(tmp_path, config):
    """What scores is known once it is warm: a calibration for another is then refused, with the policy's line."""
    (tmp_path / "cal.json").write_text(fitted(scorer=MODEL_NAME).text)
    server = Serving(tmp_path, config, policies={"acme": {"calibration": "../cal.json"}}, scorer=scorer_named("other"))
    with pytest.raises(RuntimeError) as caught, server:
        pass
    assert isinstance(caught.value.__cause__, ConfigError)
    assert "acme.yaml:1:14: calibration: names a calibration for the scorer" in str(caught.value.__cause__)
