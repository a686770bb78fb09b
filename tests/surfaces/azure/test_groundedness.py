"""Groundedness detection over plain HTTP: what is detected, where it lies, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from surfaces.azure.conftest import PATH
from surfaces.support import BAD, GOOD, QUERY, SECRET, SOURCE

if TYPE_CHECKING:
    import httpx
    from surfaces.azure.conftest import Place
    from surfaces.support import World

WORSE = "Osaka is UNSUPPORTED too 🌞."


def asking(text: str = GOOD, **fields: Any) -> dict[str, Any]:
    """A request about a text; fields replace, add, or with None take away."""
    body = {"domain": "Generic", "task": "Summarization", "text": text, "groundingSources": [SOURCE], **fields}
    return {name: value for name, value in body.items() if value is not None}


def error_of(reply: httpx.Response, status: int) -> dict[str, Any]:
    """The error of a reply, which must be in Azure's shape and no more."""
    assert reply.status_code == status, reply.text
    body = reply.json()
    assert set(body) == {"error"}
    assert set(body["error"]) <= {"code", "message", "target"}
    assert reply.headers["x-ms-error-code"] == body["error"]["code"]
    assert body["error"]["message"]
    return body["error"]


# --- what is detected ---------------------------------------------------------------------------------------------


def test_a_grounded_text(place: Place):
    """Nothing is ungrounded: false, 0, no details, and the guard's own headers."""
    reply = place.post(asking())
    assert reply.json() == {"ungroundedDetected": False, "ungroundedPercentage": 0, "ungroundedDetails": []}
    assert reply.headers["x-groundwarden-outcome"] == "passed"
    assert reply.headers["x-groundwarden-grounding"] == "0.9124"
    assert reply.headers["content-type"] == "application/json"


def test_an_ungrounded_text(place: Place):
    """The claim is told with its place and length in three counts; without reasoning there is no reason."""
    assert place.result(asking(BAD)) == {
        "ungroundedDetected": True,
        "ungroundedPercentage": 1,
        "ungroundedDetails": [
            {
                "text": BAD,
                "offset": {"utf8": 0, "utf16": 0, "codePoint": 0},
                "length": dict.fromkeys(("utf8", "utf16", "codePoint"), len(BAD)),
            }
        ],
    }


def test_the_percentage_is_the_share_of_the_text(place: Place):
    """Code points of ungrounded claims over those of all, blanks between them left out; the order is the text's."""
    result = place.result(asking(f"🌞 {BAD}  {GOOD}\n\n{WORSE}"))
    assert [detail["text"] for detail in result["ungroundedDetails"]] == [f"🌞 {BAD}", WORSE]
    whole = len(f"🌞 {BAD}{GOOD}{WORSE}")
    assert result["ungroundedPercentage"] == pytest.approx((2 + len(BAD) + len(WORSE)) / whole)
    last = result["ungroundedDetails"][1]
    before = f"🌞 {BAD}  {GOOD}\n\n"
    assert last["offset"] == {"utf8": len(before) + 3, "utf16": len(before) + 1, "codePoint": len(before)}
    assert last["length"] == {"utf8": len(WORSE) + 3, "utf16": len(WORSE) + 1, "codePoint": len(WORSE)}


SENTENCES = st.lists(
    st.sampled_from(
        [GOOD, BAD, WORSE, "東京 is the capital 🇯🇵.", "大阪は UNSUPPORTED です。", "- 👩‍🔬 é UNSUPPORTED.", "Hello!"]
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SENTENCES, st.sampled_from([" ", "\n", "\n\n", "  "]))
def test_every_count_finds_the_ungrounded_text_again(place: Place, sentences: list[str], between: str):
    """A client that cuts its own encoding of the text at any of the three offsets finds the detail's text."""
    text = between.join(sentences)
    result = place.result(asking(text))
    utf8, utf16 = text.encode(), text.encode("utf-16-le")
    for detail in result["ungroundedDetails"]:
        offset, length = detail["offset"], detail["length"]
        assert text[offset["codePoint"] :][: length["codePoint"]] == detail["text"]
        assert utf8[offset["utf8"] :][: length["utf8"]].decode() == detail["text"]
        assert utf16[2 * offset["utf16"] :][: 2 * length["utf16"]].decode("utf-16-le") == detail["text"]
    assert sum(detail["text"].count("UNSUPPORTED") for detail in result["ungroundedDetails"]) == text.count(
        "UNSUPPORTED"
    )
    assert result["ungroundedDetected"] is ("UNSUPPORTED" in text)


def test_a_half_character_is_no_trouble(place: Place):
    """JSON may hold half of a surrogate pair; it is counted, and comes back as it was."""
    result = place.result(json.dumps(asking(f"\ud83c {BAD}")).encode())
    [detail] = result["ungroundedDetails"]
    assert detail["text"].endswith(BAD)


@pytest.mark.parametrize("task", ["QnA", "QNA", "qna"])
@pytest.mark.parametrize("domain", ["Generic", "GENERIC", "Medical", "MEDICAL", None])
def test_a_question_is_read_with_its_answer(place: Place, task: str, domain: str | None):
    """The query of a QnA task makes a fragment a claim; relevance is not asked for, and no header tells of it."""
    body = asking("12/hour", domain=domain, task=task, qna={"query": "How much does she get paid per hour?"})
    reply = place.post(body)
    assert reply.status_code == 200
    assert {pair.kind.value for pair in place.scorer.asked} == {"grounding"}
    assert any("paid per hour" in pair.hypothesis for pair in place.scorer.asked)
    assert "x-groundwarden-relevance" not in reply.headers


@pytest.mark.parametrize("task", ["Summarization", "SUMMARIZATION", None])
def test_a_summary_has_no_question(place: Place, task: str | None):
    """Without QnA, which is the default, a query beside the text is not used."""
    place.result(asking("12/hour", task=task, qna={"query": "How much does she get paid per hour?"}))
    assert place.scorer.asked
    assert not any("paid per hour" in pair.hypothesis for pair in place.scorer.asked)


def test_all_sources_are_used(place: Place):
    """Every source, a blank one aside, is evidence."""
    place.result(asking(groundingSources=["First source.", " ", "Second source."]))
    assert {"First source.", "Second source."} <= {pair.premise for pair in place.scorer.asked}


def test_what_asserts_nothing_is_not_ungrounded(place: Place):
    """A greeting and an abstention are grounded, also where the policy blocks abstentions."""
    for policy in ("default", "lenient"):
        reply = place.post(asking("Hello! The documents do not say."), policy)
        assert reply.json() == {"ungroundedDetected": False, "ungroundedPercentage": 0, "ungroundedDetails": []}
        assert reply.headers["x-groundwarden-outcome"] == "passed"


# --- beyond Azure's limits ----------------------------------------------------------------------------------------


def test_long_sources_and_long_texts_are_judged_to_the_end(place: Place):
    """Beyond 55,000 characters of sources and 7,500 of text the last sentence is found, and its evidence too."""
    filler = "The river Thames flows through the city of London and on to the sea. "
    sources = [filler * 500, filler * 500 + "Kyoto has a golden temple."]
    assert sum(map(len, sources)) > 55_000
    text = f"{GOOD} " * 300 + "Kyoto has a golden temple. " + BAD
    assert len(text) > 7_500
    result = place.result(asking(text, groundingSources=sources))
    [detail] = result["ungroundedDetails"]
    assert (detail["text"], detail["offset"]["codePoint"]) == (BAD, len(text) - len(BAD))
    assert 0 < result["ungroundedPercentage"] < 0.01
    asked = [pair for pair in place.scorer.asked if "Kyoto" in pair.hypothesis]
    assert any("golden temple" in pair.premise for pair in asked)


@pytest.mark.parametrize(
    ("fields", "target", "told"),
    [
        ({"groundingSources": [SOURCE, "x" * 80]}, "groundingSources", "the policy allows 100"),
        ({"task": "QnA", "qna": {"query": "q" * 31}}, "qna.query", "has 31 characters; the policy allows 30"),
        ({"text": "T" * 61}, "text", "has 61 characters; the policy allows 60"),
    ],
)
def test_the_policys_limits_govern(place: Place, fields: dict[str, Any], target: str, told: str):
    """Where the policy rejects what is longer, the field is named and nothing is called grounded."""
    error = error_of(place.post(asking(**fields), "short"), 400)
    assert (error["code"], error["target"]) == ("InvalidRequestBody", target)
    assert told in error["message"]
    assert place.result(asking(), "short")["ungroundedDetected"] is False


# --- policies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "outcome"), [("default", "blocked"), ("flags", "flagged"), ("redacts", "blocked"), ("mean", "passed")]
)
def test_the_policys_action_changes_no_result(place: Place, policy: str, outcome: str):
    """What is ungrounded is told whatever the policy would do about it; the header tells what it would."""
    reply = place.post(asking(f"{GOOD} {BAD}"), policy)
    assert [detail["text"] for detail in reply.json()["ungroundedDetails"]] == [BAD]
    assert reply.json()["ungroundedDetected"] is True
    assert reply.headers["x-groundwarden-outcome"] == outcome


def test_the_threshold_is_the_policys(place: Place):
    """Support of 0.91 is too little where 0.95 is asked for."""
    assert place.result(asking())["ungroundedDetected"] is False
    assert place.result(asking(), "strict")["ungroundedDetected"] is True


def test_a_policy_without_the_check_refuses(place: Place):
    """With grounding off nothing can be detected, and that is no "grounded"."""
    error = error_of(place.post(asking(BAD), "off"), 403)
    assert error["code"] == "GroundednessDetectionDisabled"
    assert place.scorer.asked == []


def test_what_a_policy_lets_pass_elsewhere_is_judged_here(place: Place):
    """JSON that other surfaces pass unscored, and requests out of the sample, are judged: the caller asks for it."""
    body = asking(json.dumps({"capital": BAD}))
    assert place.result(body, "lenient")["ungroundedDetected"] is True


# --- what cannot be checked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["default", "flags", "lenient"])
def test_a_scorer_that_fails_is_an_error(place: Place, policy: str):
    """Whatever the policy lets pass elsewhere: 503 in Azure's shape, its own words untold, the failure counted."""
    place.scorer.mood = "failing"
    before = place.metric("groundwarden_scorer_errors_total", reason="error")
    error = error_of(reply := place.post(asking(), policy), 503)
    assert error["code"] == "ServerBusy"
    assert "could not be checked" in error["message"]
    assert SECRET not in reply.text
    assert reply.headers["x-groundwarden-outcome"] == "blocked"
    assert place.metric("groundwarden_scorer_errors_total", reason="error") == before + 1


def test_a_scorer_that_is_late_is_an_error(place: Place, monkeypatch: pytest.MonkeyPatch):
    """After the seconds that a request may take it is a 503."""
    monkeypatch.setattr("proxy.guard.assess.REQUEST_SECONDS", 0.2)
    place.scorer.mood = "late"
    error = error_of(place.post(asking()), 503)
    assert "in time" in error["message"]


def test_a_full_scorer_says_when_to_come_back(place: Place):
    """429 with Retry-After."""
    place.scorer.mood = "full"
    reply = place.post(asking())
    assert error_of(reply, 429)["code"] == "TooManyRequests"
    assert reply.headers["retry-after"] == "3"


def test_a_failure_hides_no_ungrounded_claim(place: Place):
    """One claim ungrounded, another not scored: both are listed, the second with the reason that it was not checked."""

    async def fail(pairs: Any) -> None:
        if any("Thames" in pair.hypothesis for pair in pairs):
            raise RuntimeError(SECRET)

    place.scorer.before = _as_scoring_error(fail)
    first = "The Thames is a river."
    result = place.result(asking(f"{first} {BAD} {GOOD}"))
    assert [detail["text"] for detail in result["ungroundedDetails"]] == [first, BAD]
    assert [detail.get("reason") for detail in result["ungroundedDetails"]] == ["This could not be checked.", None]
    assert result["ungroundedPercentage"] == pytest.approx((len(first) + len(BAD)) / len(first + BAD + GOOD))


def _as_scoring_error(fail: Any) -> Any:
    from proxy.grounding.errors import ScoringError

    async def before(pairs: Any) -> None:
        try:
            await fail(pairs)
        except RuntimeError as error:
            raise ScoringError(str(error)) from None

    return before


# --- requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version", ["2024-02-15-preview", "2024-04-15-preview", "2024-09-15-preview", "2024-12-15-preview", "2027-01-01"]
)
def test_versions(place: Place, version: str):
    """The documented ones, and whatever comes later."""
    assert place.post(asking(), version=version).status_code == 200


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (None, "MissingApiVersionParameter"),
        ("", "MissingApiVersionParameter"),
        ("2023-10-01", "UnsupportedApiVersionValue"),
        ("2024-02-14", "UnsupportedApiVersionValue"),
        ("2024-13-45-preview", "UnsupportedApiVersionValue"),
        ("preview", "UnsupportedApiVersionValue"),
        ("٢٠٢٤-٠٩-١٥-preview", "UnsupportedApiVersionValue"),
    ],
)
def test_versions_that_are_none(place: Place, version: str | None, code: str):
    """A missing version, one before the operation was there, and what is no version."""
    error = error_of(place.post(asking(), version=version), 400)
    assert (error["code"], error["target"]) == (code, "api-version")


BAD_BODIES: list[tuple[Any, str | None]] = [
    (b"", None),
    (b"{", None),
    (b"[]", None),
    (b'{"text": NaN}', None),
    (b"\xff", None),
    (asking(domain="Legal"), "domain"),
    (asking(domain=7), "domain"),
    (asking(task="Chat"), "task"),
    (asking(task=["QnA"]), "task"),
    (asking(task="QnA"), "qna"),
    (asking(task="QnA", qna=QUERY), "qna"),
    (asking(task="QnA", qna={}), "qna.query"),
    (asking(task="QnA", qna={"query": " "}), "qna.query"),
    (asking(task="QnA", qna={"query": 7}), "qna.query"),
    (asking(text=None), "text"),
    (asking(text="  \n"), "text"),
    (asking(text=["a"]), "text"),
    (asking(groundingSources=None), "groundingSources"),
    (asking(groundingSources=[]), "groundingSources"),
    (asking(groundingSources=SOURCE), "groundingSources"),
    (asking(groundingSources=[SOURCE, {"text": SOURCE}]), "groundingSources[1]"),
    (asking(groundingSources=[" ", ""]), "groundingSources"),
    (asking(reasoning="true"), "reasoning"),
    (asking(correction=1), "correction"),
    (asking(mitigating="yes"), "mitigating"),
    (asking(grounding_sources=[SOURCE]), "grounding_sources"),
    (asking(reasoning=True, llmResource="gpt"), "llmResource"),
    (asking(reasoning=True, llmResource={"resourceType": "OpenAI"}), "llmResource.resourceType"),
    (asking(reasoning=True, llmResource={"azureOpenAIEndpoint": 7}), "llmResource.azureOpenAIEndpoint"),
    (asking(reasoning=True, llmResource={"azureOpenAIDeploymentName": {}}), "llmResource.azureOpenAIDeploymentName"),
]


@pytest.mark.parametrize(("body", "target"), BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_bad_bodies_are_refused_by_field(place: Place, body: Any, target: str | None):
    """InvalidRequestBody, with the field as the target; nothing is scored."""
    error = error_of(place.post(body), 400)
    assert (error["code"], error.get("target")) == ("InvalidRequestBody", target)
    assert place.scorer.asked == []
    assert SOURCE not in error["message"]


def test_keys(place: Place):
    """Azure's own header, and the others; without a key, or with a wrong one, 401 as Azure writes it."""
    for header in ("api-key", "x-api-key"):
        assert place.post(asking(), **{"Ocp-Apim-Subscription-Key": "", header: "key-default"}).status_code == 200
    assert place.post(asking(), Authorization="Bearer key-default").status_code == 200
    for wrong in ("", "nobody"):
        error = error_of(place.post(asking(), **{"Ocp-Apim-Subscription-Key": wrong}), 401)
        assert error["code"] == "401"
        assert "Ocp-Apim-Subscription-Key" in error["message"]


@pytest.mark.parametrize(("method", "path"), [("GET", PATH), ("POST", "/contentsafety/text:analyze")])
def test_other_operations_are_not_here(place: Place, method: str, path: str):
    """A 404 in Azure's shape says what is."""
    import httpx

    reply = httpx.request(method, place.url + path, headers={"api-key": "key-default"}, timeout=20)
    error = error_of(reply, 404)
    assert error["code"] == "ResourceNotFound"
    assert "text:detectGroundedness" in error["message"]


def test_a_body_that_is_too_large(world: World):
    """413 in Azure's shape."""
    reply = world.post(asking("x" * 1_000_001), path=f"{PATH}?api-version=2024-09-15-preview")
    assert error_of(reply, 413)["code"] == "RequestEntityTooLarge"


def test_a_request_is_counted(place: Place):
    """One exchange of this surface by its outcome, one block by grounding, one score."""
    labels = {"tenant": "default", "policy": "default"}
    counted = [
        ("groundwarden_requests_total", {**labels, "surface": "detect_groundedness", "outcome": "blocked"}),
        ("groundwarden_blocks_total", {**labels, "check": "grounding"}),
        ("groundwarden_score_count", {**labels, "check": "grounding"}),
    ]
    before = [place.metric(name, **some) for name, some in counted]
    place.result(asking(BAD))
    assert [place.metric(name, **some) for name, some in counted] == [number + 1 for number in before]


# --- without a judge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning", "correction", "mitigating"])
@pytest.mark.parametrize("resource", [None, {"resourceType": "AzureOpenAI", "azureOpenAIDeploymentName": "m"}])
def test_without_a_judge_what_needs_one_is_refused(world: World, field: str, resource: Any):
    """Named, before anything is scored or asked: also for a text that would be grounded."""
    body = asking(**{field: True, "llmResource": resource})
    error = error_of(world.post(body, path=f"{PATH}?api-version=2024-09-15-preview"), 400)
    assert (error["code"], error["target"]) == ("InvalidRequestBody", field)
    assert "judge" in error["message"]
    assert (world.scorer.asked, world.upstream.requests) == ([], [])


def test_without_a_judge_the_rest_works(world: World):
    """False is not asked for, and a resource that nobody uses is ignored."""
    body = asking(BAD, reasoning=False, correction=False, llmResource={"resourceType": "Other"})
    reply = world.post(body, path=f"{PATH}?api-version=2024-09-15-preview")
    assert reply.json()["ungroundedDetected"] is True
