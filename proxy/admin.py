"""The operators' port: probes, metrics, policies in force, the page. Nothing here is for callers."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from proxy.grounding.errors import GroundwardenError
from proxy.page import playground
from proxy.page.html import page
from proxy.settings import is_loopback, sha256_of
from proxy.surfaces.base import json_response, parse_object, read_body, retry_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from proxy.guard.assess import Assessor
    from proxy.observe.metrics import Metrics
    from proxy.page.recent import Recent
    from proxy.policy.store import PolicyStore, Reload

_MAX_BODY_BYTES = 4_194_304
_PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminAuth:
    """Who may see and change what is not a probe or a metric. ``key_sha256`` None leaves it open, on loopback.

    On a ``host`` that others reach it is then closed, for texts may be there, unless ``insecure``. Open and on loopback
    it answers only to loopback's own names: a page of anyone's, in a browser on this machine, may give a name of its
    own this address, and would then read what is here. Open, it answers no request that a browser says another's page
    has made: such a page cannot read the answer, but it could have the policies reloaded.
    """

    key_sha256: str | None
    host: str
    insecure: bool = False

    def guards(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Put the check before ``handler``, whose errors it answers too."""

        async def answer(request: Request) -> Response:
            refused = self._refused(request)
            if refused is not None:
                return refused
            try:
                return await handler(request)
            except GroundwardenError as error:
                told = {"message": error.message, "param": error.param, "code": error.code}
                return json_response(error.status, {"error": told}, {**_PRIVATE, **retry_headers(error)})

        return answer

    def _refused(self, request: Request) -> Response | None:
        if self.key_sha256 is not None:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(sha256_of(token), self.key_sha256):
                return None
            return PlainTextResponse("admin key needed\n", status_code=401, headers={"www-authenticate": "Bearer"})
        if not is_loopback(self.host) and not self.insecure:
            return PlainTextResponse("others reach this port: set server.admin_key_env\n", status_code=403)
        if is_loopback(self.host) and not is_loopback(_host(request)):
            return PlainTextResponse("this address answers to localhost and 127.0.0.1 only\n", status_code=403)
        if _from_another_page(request):
            return PlainTextResponse("requests from other sites' pages are not answered\n", status_code=403)
        return None


def admin_app(
    health: Health,
    metrics: Metrics,
    store: PolicyStore,
    auth: AdminAuth,
    *,
    recent: Recent,
    assessor: Assessor,
    reload: Callable[[], Awaitable[Reload]],
) -> Starlette:
    """The admin port's application. ``reload`` reads the policies anew."""

    async def expose(_: Request) -> Response:
        body, content_type = metrics.render()
        return Response(body, headers={"content-type": content_type})

    async def show(_: Request) -> Response:
        return Response(page().body, headers=page().headers)

    async def policies(_: Request) -> Response:
        return json_response(200, _policies(health, store), _PRIVATE)

    async def reload_now(_: Request) -> Response:
        done = await reload()
        told = {"result": done.result, "version": store.snapshot.version, "problems": list(map(str, done.problems))}
        return json_response(422 if done.problems else 200, told, _PRIVATE)

    async def lately(_: Request) -> Response:
        return json_response(200, recent.shown(store.snapshot.policies), _PRIVATE)

    async def try_out(request: Request) -> Response:
        return await _try_out(request, assessor, store)

    routes = [
        *health.routes(),
        Route("/", show),
        Route("/metrics", expose),
        Route("/policies", auth.guards(policies)),
        Route("/policies/reload", auth.guards(reload_now), methods=["POST"]),
        Route("/recent", auth.guards(lately)),
        Route("/playground", auth.guards(try_out), methods=["POST"]),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app


def _host(request: Request) -> str:
    """The name that the caller used for this server."""
    try:
        return request.url.hostname or ""
    except ValueError:
        return ""


def _from_another_page(request: Request) -> bool:
    """Whether a browser says that a page which is not ours has made the request (Fetch Metadata, else RFC 6454)."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()


async def _try_out(request: Request, assessor: Assessor, store: PolicyStore) -> Response:
    """Judge what was typed into the page's playground."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        # A page of anyone's could send a form here without asking; JSON it may not.
        return PlainTextResponse("content-type must be application/json\n", status_code=415)
    try:
        body = parse_object(await read_body(request, _MAX_BODY_BYTES))
    except ClientDisconnect:
        return Response(status_code=400)
    return json_response(200, await playground.judge(assessor, store.snapshot.policies, body), _PRIVATE)


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
