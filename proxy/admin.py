"""The operators' port: probes, metrics, policies in force. Nothing here is for callers."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from proxy.settings import sha256_of
from proxy.surfaces.base import json_response

if TYPE_CHECKING:
    from starlette.requests import Request

    from proxy.observe.metrics import Metrics
    from proxy.policy.store import PolicyStore


@dataclass(slots=True)
class Health:
    """Whether traffic may be sent here: once the model is warm, and until shutdown begins."""

    ready: bool = False
    problems: list[str] = field(default_factory=list)
    """Why the last policy reload failed; empty when it did not."""

    def routes(self) -> list[Route]:
        """``/healthz`` and ``/readyz``, for both ports."""
        return [Route("/healthz", self._alive), Route("/readyz", self._ready)]

    async def _alive(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _: Request) -> Response:
        return PlainTextResponse("ready\n") if self.ready else PlainTextResponse("not ready\n", status_code=503)


def admin_app(health: Health, metrics: Metrics, store: PolicyStore, key_sha256: str | None) -> Starlette:
    """The admin port's application. ``key_sha256`` guards what is not a probe or a metric; None leaves it open."""

    async def expose(_: Request) -> Response:
        body, content_type = metrics.render()
        return Response(body, headers={"content-type": content_type})

    async def policies(request: Request) -> Response:
        if not _may(request, key_sha256):
            return PlainTextResponse("admin key needed\n", status_code=401, headers={"www-authenticate": "Bearer"})
        return json_response(200, _policies(health, store))

    app = Starlette(routes=[*health.routes(), Route("/metrics", expose), Route("/policies", policies)])
    app.router.redirect_slashes = False
    return app


def _may(request: Request, key_sha256: str | None) -> bool:
    if key_sha256 is None:
        return True
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(sha256_of(token), key_sha256)


def _policies(health: Health, store: PolicyStore) -> dict[str, Any]:
    snapshot = store.snapshot
    return {
        "version": snapshot.version,
        "loaded_at": snapshot.loaded_at,
        "problems": health.problems,
        "policies": {
            name: {"version": policy.version, **policy.model_dump(mode="json", by_alias=True, exclude={"name"})}
            for name, policy in sorted(snapshot.policies.items())
        },
    }
