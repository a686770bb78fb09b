"""Google's own clients over REST, before servers of ours that speak plain http."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.auth import api_key
from google.cloud import (
    aiplatform_v1,
    aiplatform_v1beta1,
    discoveryengine_v1,
    discoveryengine_v1alpha,
    discoveryengine_v1beta,
)
from google.cloud.aiplatform_v1.services.vertex_rag_service.transports import rest as rag_v1
from google.cloud.aiplatform_v1beta1.services.vertex_rag_service.transports import rest as rag_v1beta1
from google.cloud.discoveryengine_v1.services.grounded_generation_service.transports import rest as check_v1
from google.cloud.discoveryengine_v1alpha.services.grounded_generation_service.transports import rest as check_v1alpha
from google.cloud.discoveryengine_v1beta.services.grounded_generation_service.transports import rest as check_v1beta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from surfaces.support import World

CHECKERS = {
    "v1": (discoveryengine_v1, check_v1),
    "v1beta": (discoveryengine_v1beta, check_v1beta),
    "v1alpha": (discoveryengine_v1alpha, check_v1alpha),
}
CORROBORATORS = {"v1": (aiplatform_v1, rag_v1), "v1beta1": (aiplatform_v1beta1, rag_v1beta1)}


def options(url: str, key: str) -> dict[str, Any]:
    """What makes a REST transport of Google's reach ``url`` with an API key."""
    return {"host": url.removeprefix("http://"), "url_scheme": "http", "credentials": api_key.Credentials(key)}


def checker(url: str, key: str = "any", version: str = "v1") -> Any:
    """A client of check grounding."""
    module, rest = CHECKERS[version]
    transport = rest.GroundedGenerationServiceRestTransport(**options(url, key))
    return module.GroundedGenerationServiceClient(transport=transport)


def corroborator(url: str, key: str = "any", version: str = "v1") -> Any:
    """A client of RAG Engine's service, which corroborates."""
    module, rest = CORROBORATORS[version]
    return module.VertexRagServiceClient(transport=rest.VertexRagServiceRestTransport(**options(url, key)))


def told(raised: pytest.ExceptionInfo[Any]) -> tuple[str, list[str | None]]:
    """Google's word for an error that a client raised, and the fields that it names."""
    violations = (detail.get("fieldViolations", []) for detail in raised.value.details)
    status = raised.value.response.json()["error"]["status"]
    return status, [violation.get("field") for each in violations for violation in each]


@pytest.fixture
def google(world: World) -> Iterator[Callable[..., Any]]:
    """Makes a client of ``checker`` or ``corroborator`` for a policy's tenant."""
    made: list[Any] = []

    def client(kind: Callable[..., Any], policy: str = "default", version: str = "v1") -> Any:
        made.append(kind(world.url, f"key-{policy}", version))
        return made[-1]

    yield client
    for one in made:
        one.transport.close()
