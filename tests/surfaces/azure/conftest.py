"""A server with a judge model, asked over plain HTTP as Azure's documentation asks."""

from __future__ import annotations

import http.client
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from recording import Reply
from serving import Serving, passes_through
from surfaces.support import MarkScorer

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recording import Recording, Request

PATH = "/contentsafety/text:detectGroundedness"
VERSION = "2024-09-15-preview"

POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "flags": {"grounding": {"action": "flag"}},
    "off": {"grounding": {"action": "off"}},
    "redacts": {"grounding": {"action": "redact"}},
    "mean": {"grounding": {"aggregate": "mean", "threshold": 0.5}},
    "strict": {"grounding": {"threshold": 0.95}},
    "short": {"limits": {"source_chars": 100, "query_chars": 30, "answer_chars": 60, "on_exceed": "reject"}},
    "lenient": {
        "on_scorer_error": "pass",
        "on_uninspected": {"json": "pass"},
        "abstention": "block",
        "relevance": {"threshold": 0.95},
        "sample": 0,
    },
    "few-models": {"models": ["m"]},
}

_QUOTED = re.compile(r"BEGIN (\w+) (\w+)\n(.*?)\nEND \1 \2", re.DOTALL)


def texts_of(request: Request) -> dict[str, str]:
    """The texts that a question to the judge quotes, by what they are called."""
    return {name: text for name, _, text in _QUOTED.findall(request.json["messages"][1]["content"])}


def says(said: Any) -> Reply:
    """A chat completion that says ``said``: an object as JSON, or a text."""
    content = said if isinstance(said, str) else json.dumps(said)
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return Reply(
        body=json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "j", "choices": [choice]}
        ).encode()
    )


class Place:
    """The server, its scorer and the models behind it. Each policy has a tenant with the key ``key-NAME``."""

    def __init__(self, serving: Serving, upstream: Recording, scorer: MarkScorer) -> None:
        self.serving, self.upstream, self.scorer = serving, upstream, scorer
        self.url = serving.url

    def post(self, body: Any, policy: str = "default", version: str | None = VERSION, **headers: str) -> httpx.Response:
        """The reply to a body: an object, or bytes as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Ocp-Apim-Subscription-Key": f"key-{policy}", "Content-Type": "application/json", **headers}
        params = {} if version is None else {"api-version": version}
        return httpx.post(self.url + PATH, content=raw, headers=given, params=params, timeout=20)

    def result(self, body: Any, policy: str = "default") -> Any:
        """The result for a body that must be answered."""
        reply = self.post(body, policy)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def answers(self, editor: Callable[[dict[str, str]], Any]) -> None:
        """Have the judge answer with what ``editor`` makes of the texts that it is shown."""
        self.upstream.default = lambda request: says(editor(texts_of(request)))

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the metric's series that have these labels."""
        text = httpx.get(f"{self.serving.admin}/metrics").text
        samples = (one for family in text_string_to_metric_families(text) for one in family.samples if one.name == name)
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())

    def documented(self, body: Any, key: str = "key-default") -> Any:
        """Ask as the quickstart's Python does, with nothing but the standard library."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        headers = {"Ocp-Apim-Subscription-Key": key, "Content-Type": "application/json"}
        connection.request("POST", f"{PATH}?api-version={VERSION}", json.dumps(body), headers)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return json.loads(data.decode("utf-8"))


@pytest.fixture(scope="module")
def _place(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Place]:
    scorer = MarkScorer()
    config = {
        "model_list": passes_through(_recording_server.url, "m", "judge"),
        "judge": {"model": "judge", "timeout": 2},
        "tenants": [{"id": name, "policy": name, "key_sha256": [sha256_of(f"key-{name}")]} for name in POLICIES],
    }
    serving = Serving(tmp_path_factory.mktemp("azure"), config, policies=POLICIES, scorer=scorer)
    with serving:
        yield Place(serving, _recording_server, scorer)


@pytest.fixture
def place(_place: Place) -> Place:
    """The server with nothing recorded or scripted, its scorer in a good mood."""
    _place.upstream.reset()
    _place.scorer.reset()
    return _place
