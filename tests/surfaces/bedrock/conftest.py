"""boto3 as Bedrock's users have it: one client for each policy, with the tenant's key where boto3 looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from serving import Serving, passes_through
from surfaces.support import MarkScorer

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recording import Recording
    from surfaces.support import World

KEY, SECRET = "AKIAACMEACMEACMEACME", "acme/secret+key"
OTHER, OTHERS_SECRET = "AKIABETABETABETABETA", "beta-secret"


def client_of(url: str, service: str = "bedrock-runtime", **credentials: str) -> Any:
    """A client of boto3 that tries once."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=20)
    session = boto3.Session(region_name="us-east-1")
    return session.client(service, endpoint_url=url, config=config, **credentials)


def _end_tls(request: Any, **_: object) -> None:
    """Stand in for what ends TLS before the server: boto3 sends a bearer token to https addresses only."""
    request.url = request.url.replace("https://", "http://", 1)


@pytest.fixture(scope="module")
def _made(_world: World) -> Iterator[Callable[[str, str], Any]]:
    made: dict[tuple[str, str], Any] = {}

    def client(policy: str, service: str) -> Any:
        if (policy, service) not in made:
            made[policy, service] = client_of(_world.url.replace("http://", "https://", 1), service)
            made[policy, service].meta.events.register(f"before-send.{service}", _end_tls)
        return made[policy, service]

    yield client
    for one in made.values():
        one.close()


@pytest.fixture
def bedrock(world: World, _made: Callable[[str, str], Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A boto3 client for a policy: ``bedrock-runtime``, or another service."""

    def client(policy: str = "default", service: str = "bedrock-runtime") -> Any:
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", f"key-{policy}")
        return _made(policy, service)

    return client


class Place:
    """A server with two tenants that sign and one with a key, before a recording upstream."""

    def __init__(self, serving: Serving, upstream: Recording) -> None:
        self.url, self.upstream = serving.url, upstream
        self.clients: list[Any] = []

    def client(self, key: str = KEY, secret: str = SECRET, service: str = "bedrock-runtime", **more: str) -> Any:
        """boto3 with credentials."""
        self.clients.append(client_of(self.url, service, aws_access_key_id=key, aws_secret_access_key=secret, **more))
        return self.clients[-1]


@pytest.fixture(scope="module")
def _place(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[Place]:
    tenants = [
        {"id": "acme", "policies": ["flags"], "aws": {"access_key_id": KEY, "secret_env": "ACME_AWS"}},
        {"id": "beta", "policy": "flags", "aws": {"access_key_id": OTHER, "secret_env": "BETA_AWS"}},
        {"id": "gamma", "key_sha256": [sha256_of("gamma-key")]},
    ]
    config = {
        "model_list": passes_through(_recording_server.url, "m"),
        "tenants": tenants,
        "bedrock_models": {"*": "m"},
    }
    policies: dict[str, Any] = {"default": {}, "flags": {"grounding": {"action": "flag"}}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACME_AWS", f" {SECRET}\n")
        patch.setenv("BETA_AWS", OTHERS_SECRET)
        serving = Serving(tmp_path_factory.mktemp("signed"), config, policies=policies, scorer=MarkScorer())
    with serving:
        yield Place(serving, _recording_server)


@pytest.fixture
def place(_place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The server with nothing recorded or scripted; no bearer token is about."""
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    _place.upstream.reset()
    yield _place
    while _place.clients:
        _place.clients.pop().close()
