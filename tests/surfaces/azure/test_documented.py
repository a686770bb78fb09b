"""Azure's documented calls, sent as its quickstart sends them, judged by the scorer that ships.

The bodies are those of the quickstart for groundedness detection and of azure-rest-api-specs' examples.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from serving import Serving, passes_through
from surfaces.azure.conftest import Place, says, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recording import Recording

BANK = (
    "I'm 21 years old and I need to make a decision about the next two years of my life. Within a week. I currently "
    "work for a bank that requires strict sales goals to meet. IF they aren't met three times (three months) you're "
    "canned. They pay me 10/hour and it's not unheard of to get a raise in 6ish months. The issue is, **I'm not a "
    "salesperson**. That's not my personality. I'm amazing at customer service, I have the most positive customer "
    'service "reports" done about me in the short time I\'ve worked here. A coworker asked "do you ask for people to '
    'fill these out? you have a ton". That being said, I have a job opportunity at Chase Bank as a part time teller. '
    "What makes this decision so hard is that at my current job, I get 40 hours and Chase could only offer me 20 "
    "hours/week. Drive time to my current job is also 21 miles **one way** while Chase is literally 1.8 miles from my "
    "house, allowing me to go home for lunch. I do have an apartment and an awesome roommate that I know wont be late "
    "on his portion of rent, so paying bills with 20hours a week isn't the issue. It's the spending money and being "
    "broke all the time.\n\nI previously worked at Wal-Mart and took home just about 400 dollars every other week. So "
    "I know i can survive on this income. I just don't know whether I should go for Chase as I could definitely see "
    "myself having a career there. I'm a math major likely going to become an actuary, so Chase could provide "
    "excellent opportunities for me **eventually**."
)
LYMPHOMA = (
    "Our patient, Ms. Johnson, presented with persistent fatigue, unexplained weight loss, and frequent night sweats. "
    "After a series of tests, she was diagnosed with Hodgkin’s lymphoma, a type of cancer that affects the lymphatic "
    "system. The diagnosis was confirmed through a lymph node biopsy revealing the presence of Reed-Sternberg cells, a "
    "characteristic of this disease. She was further staged using PET-CT scans. Her treatment plan includes "
    "chemotherapy and possibly radiation therapy, depending on her response to treatment. The medical team remains "
    "optimistic about her prognosis given the high cure rate of Hodgkin’s lymphoma."
)
SUN = (
    "The Sun rises in the east because the Earth rotates on its axis from west to east, causing the Sun to appear in "
    "the eastern sky as the planet spins. This daily rotation makes the Sun seem to travel across the sky from east to "
    "west."
)


def qna(text: str, query: str = "How much does she currently get paid per hour at the bank?") -> dict[str, Any]:
    """The quickstart's question."""
    return {
        "domain": "Generic",
        "task": "QnA",
        "qna": {"query": query},
        "text": text,
        "groundingSources": [BANK],
        "reasoning": False,
    }


def summary(text: str, source: str, domain: str = "Medical", **fields: Any) -> dict[str, Any]:
    """The quickstart's summaries."""
    return {"domain": domain, "task": "Summarization", "text": text, "groundingSources": [source], **fields}


CASES = {
    "12/hour": (qna("12/hour"), True),
    "10/hour": (qna("10/hour"), False),
    "stroke": (summary("Ms Johnson has been in the hospital after experiencing a stroke.", LYMPHOMA), True),
    "lymphoma": (summary("Ms. Johnson was diagnosed with Hodgkin’s lymphoma.", LYMPHOMA), False),
    "west": (summary("The Sun rises in the west.", SUN, "Generic"), True),
    "east": (summary("The Sun rises in the east.", SUN, "Generic"), False),
    "Kevin": (summary("The patient name is Kevin.", "The patient name is Jane."), True),
    "Jane": (summary("The patient name is Jane.", "The patient name is Jane."), False),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Place]:
    """A server with its own scorer, a judge, and no tenants, where any key does."""
    config = {"model_list": passes_through(_recording_server.url, "gpt-4o"), "judge": {"model": "gpt-4o"}}
    with Serving(tmp_path_factory.mktemp("documented"), config, policies={"default": {}}) as serving:
        yield Place(serving, _recording_server, scorer=None)


@pytest.mark.parametrize(("body", "detected"), CASES.values(), ids=CASES)
def test_the_documented_texts(real: Place, body: dict[str, Any], detected: bool):
    """Each documented text is found ungrounded as a whole, where it is; what the source says is not."""
    result = real.documented(body, key="<your_subscription_key>")
    whole = {unit: len(body["text"]) for unit in ("utf8", "utf16", "codePoint")}
    detail = {"text": body["text"], "offset": dict.fromkeys(whole, 0), "length": whole}
    assert result == {
        "ungroundedDetected": detected,
        "ungroundedPercentage": int(detected),
        "ungroundedDetails": [detail] if detected else [],
    }


def test_the_documented_correction(real: Place):
    """Kevin becomes Jane, as the quickstart shows, and the judged correction says so too."""
    real.upstream.reset()
    real.upstream.default = lambda request: says(
        {"reason": "The premise mentions Jane.", "rewritten": texts_of(request)["STATEMENT"].replace("Kevin", "Jane")}
    )
    resource = {
        "resourceType": "AzureOpenAI",
        "azureOpenAIEndpoint": "<your_OpenAI_endpoint>",
        "azureOpenAIDeploymentName": "gpt-4o",
    }
    source = "The patient name is Jane."
    fields = {"reasoning": True, "correction": True, "llmResource": resource}
    result = real.documented(summary("The patient name is Kevin.", source, **fields))
    assert result["correctionText"] == "The patient name is Jane."
    assert result["ungroundedDetails"][0]["reason"] == "The premise mentions Jane."


def test_a_made_up_correction_stays_here(real: Place):
    """A judge that corrects to what the source does not say is found out by the scorer."""
    real.upstream.reset()
    real.upstream.default = lambda _: says({"rewritten": "The patient name is Robert."})
    result = real.documented(summary("The patient name is Kevin.", "The patient name is Jane.", correction=True))
    assert result["ungroundedDetected"] is True
    assert "correctionText" not in result


def test_the_readmes_call(real: Place):
    """What the README sends with curl gets what the README shows."""
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    shown = re.search(
        r"^\$ curl -s '\S+?(/contentsafety\S+)'.*?-d '(\{.*?\})'\n(\{.*?\})$", readme, re.DOTALL | re.MULTILINE
    )
    assert shown
    headers = {"Ocp-Apim-Subscription-Key": "any", "Content-Type": "application/json"}
    assert httpx.post(real.url + shown[1], content=shown[2], headers=headers).text == shown[3]
