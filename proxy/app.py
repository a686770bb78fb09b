"""The composition root: the only place where parts are chosen and joined.

One process, one event loop, one scoring thread; scale by replicas. ``Server.run`` serves until told to stop, then lets
what is in flight finish.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from proxy import __version__
from proxy.access import Access
from proxy.admin import AdminAuth, Health, admin_app
from proxy.evaluate.judged import LanguageJudge
from proxy.grounding.errors import NotFound
from proxy.grounding.types import CheckKind
from proxy.guard.assess import Assessor
from proxy.guard.record import fan_out
from proxy.guard.revise import Editor
from proxy.guard.shadow import Shadows
from proxy.observe.appending import RotatedFile, StandardOutput
from proxy.observe.audit import AuditSink, Hashing
from proxy.observe.log import LogSink
from proxy.observe.metrics import Metrics
from proxy.page.recent import Recent
from proxy.policy.store import DEFAULT
from proxy.scoring.base import unheard
from proxy.scoring.batcher import Batcher
from proxy.scoring.dispatch import Dispatch
from proxy.scoring.judge import Judge
from proxy.scoring.remote import Remote
from proxy.scoring.reviser import LanguageReviser
from proxy.scoring.routed import RoutedModel
from proxy.settings import STDOUT, EmbeddedSettings, JudgeSettings, RemoteSettings, TransformersSettings
from proxy.surfaces.azure import errors as azure_errors
from proxy.surfaces.azure.groundedness import DetectGroundedness
from proxy.surfaces.base import Services, endpoint, json_response
from proxy.surfaces.bedrock import errors as bedrock_errors
from proxy.surfaces.bedrock import frame as bedrock
from proxy.surfaces.bedrock.apply import ApplyGuardrail
from proxy.surfaces.bedrock.control import ControlPlane
from proxy.surfaces.bedrock.converse import Converse
from proxy.surfaces.bedrock.invoke import InvokeModel
from proxy.surfaces.bedrock.sigv4 import Signatures
from proxy.surfaces.openai import render as openai_render
from proxy.surfaces.openai.chat import Chat
from proxy.surfaces.openai.completions import Completions
from proxy.surfaces.openai.responses import Responses
from proxy.surfaces.vertex import errors as google_errors
from proxy.surfaces.vertex.check import CheckGrounding
from proxy.surfaces.vertex.corroborate import CorroborateContent
from proxy.throttle import Throttle
from proxy.upstream.model_list import parse_model_list
from proxy.upstream.models import build_upstreams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from proxy.policy.store import PolicyStore, Reload
    from proxy.scoring.base import Model, Ran, Scorer, Service
    from proxy.settings import JudgeModel, ScorerSettings, Settings
    from proxy.upstream.models import UpstreamSet

_log = logging.getLogger("groundwarden")

SMALL_BATCH = 1
"""Tokens of a batch for the model that takes one pair at a time: none waits for another's."""

BIG_BATCH = 4096
"""Tokens of a batch for models that may run on a GPU: one full pass of windows."""


def embedded_scorer(settings: EmbeddedSettings, ran: Ran = unheard) -> Scorer:
    """The scorer that ships with the package, loaded when it is warmed."""

    def load() -> Model:
        from proxy.scoring.embedded import embedded_model  # noqa: PLC0415 - OpenVINO is loaded off the event loop

        return embedded_model(threads=settings.threads)

    return Batcher(load, queue_pairs=settings.queue_pairs, batch_tokens=SMALL_BATCH, ran=ran)


def transformers_scorer(settings: TransformersSettings, ran: Ran) -> Scorer:
    """A checker of claims for grounding, and for relevance, of which it knows nothing, the model that ships."""

    def load() -> Model:
        from proxy.scoring.embedded import embedded_model  # noqa: PLC0415 - as above
        from proxy.scoring.huggingface import HuggingFaceModel  # noqa: PLC0415 - and so is torch

        checker = HuggingFaceModel(
            settings.model,
            revision=settings.revision,
            head=None if settings.head == "auto" else settings.head,
            entailment_label=settings.entailment_label,
            device=None if settings.device == "auto" else settings.device,
            dtype=None if settings.dtype == "auto" else settings.dtype,
            max_tokens=settings.max_tokens,
            threads=settings.threads,
        )
        relevance = embedded_model(threads=settings.threads)
        return RoutedModel(checker, relevance, to_other=lambda pair: pair.kind is CheckKind.RELEVANCE)

    return Batcher(load, queue_pairs=settings.queue_pairs, batch_tokens=BIG_BATCH, ran=ran)


def judge_scorer(settings: JudgeSettings, upstreams: UpstreamSet, ran: Ran) -> Scorer:
    """A model of ``model_list`` as the judge of both checks."""
    judge = Judge(settings.model, lambda: upstreams.get(settings.model), max_tokens=settings.max_tokens)
    return _dispatch(judge, settings, ran)


def remote_scorer(settings: RemoteSettings, key: str | None, ran: Ran) -> Scorer:
    """A scoring service over HTTP."""
    service = Remote(
        settings.url,
        api_key=key,
        most_pairs=settings.pairs_per_call,
        max_tokens=settings.max_tokens,
        evidence=settings.evidence,
    )
    return _dispatch(service, settings, ran)


def _dispatch(service: Service, settings: JudgeSettings | RemoteSettings, ran: Ran) -> Scorer:
    return Dispatch(
        service,
        at_once=settings.concurrency,
        queue_pairs=settings.queue_pairs,
        timeout=settings.timeout,
        ran=ran,
    )


SCORERS: dict[type[ScorerSettings], Callable[[Any, Settings, UpstreamSet, Ran], Scorer]] = {
    EmbeddedSettings: lambda scorer, _settings, _upstreams, ran: embedded_scorer(scorer, ran),
    TransformersSettings: lambda scorer, _settings, _upstreams, ran: transformers_scorer(scorer, ran),
    JudgeSettings: lambda scorer, _settings, upstreams, ran: judge_scorer(scorer, upstreams, ran),
    RemoteSettings: lambda scorer, settings, _upstreams, ran: remote_scorer(scorer, settings.scorer_key, ran),
}


def build_scorer(settings: Settings, upstreams: UpstreamSet, ran: Ran = unheard) -> Scorer:
    """The scorer that the settings name; nothing is loaded or asked until it is warmed. ``ran`` hears of batches."""
    return SCORERS[type(settings.scorer)](settings.scorer, settings, upstreams, ran)


def build_audits(settings: Settings, metrics: Metrics) -> tuple[AuditSink, ...]:
    """What writes the audit, if one is wanted; nothing is opened before it is started."""
    audit = settings.audit
    if audit.path is None:
        return ()
    lines = (
        StandardOutput()
        if audit.path == STDOUT
        else RotatedFile(Path(audit.path), max_bytes=audit.max_bytes, keep=audit.keep)
    )
    return (AuditSink(lines, Hashing(settings.audit_key), metrics.audited),)


def _editor(judge: JudgeModel, upstreams: UpstreamSet) -> Editor:
    """Who says why a claim is not supported, and how it would be."""
    return Editor(LanguageReviser(judge.model, upstreams.get, timeout=judge.timeout, at_once=judge.concurrency))


def build_judge(settings: Settings, upstreams: UpstreamSet) -> LanguageJudge | None:
    """The judge of evaluations that the settings name; None without one."""
    judge = settings.judge_model
    if judge is None:
        return None
    return LanguageJudge(
        judge.model, lambda: upstreams.get(judge.model), timeout=judge.timeout, at_once=judge.concurrency
    )


class Server:
    """The whole program: both ports, the scorer, the models, the policies."""

    def __init__(self, settings: Settings, store: PolicyStore, *, scorer: Scorer | None = None) -> None:
        self._settings = settings
        self._store = store
        self._upstreams = build_upstreams(parse_model_list(list(settings.model_list)))
        self._health = Health()
        self._metrics = self._counted()
        self._scorer = scorer or build_scorer(settings, self._upstreams, self._metrics.ran)
        self._assessor = Assessor(self._scorer)
        self._audits = build_audits(settings, self._metrics)
        self._recent = Recent()
        self._reloading = asyncio.Lock()
        self._shadows = Shadows(self._metrics.shadowed)
        self.app = self._app()
        server = settings.server
        auth = AdminAuth(key_sha256=settings.admin_key_sha256, host=server.admin_host, insecure=server.insecure)
        admin = admin_app(
            self._health,
            self._metrics,
            store,
            auth,
            recent=self._recent,
            assessor=self._assessor,
            reload=self.reload,
        )
        self._main = Listener(self.app, server.host, server.port)
        self._admin = Listener(admin, server.admin_host, server.admin_port)

    @property
    def address(self) -> str:
        """Where callers reach it; known once ``started`` is set."""
        return self._main.address

    @property
    def admin_address(self) -> str:
        """Where operators reach it; known once ``started`` is set."""
        return self._admin.address

    async def run(self, started: Callable[[], None] | None = None) -> None:
        """Serve until a signal or ``stop``. ``started`` is called when both ports answer and the model is warm.

        Raises ``OSError`` when a port is taken, ``ScoringError`` when the model does not load, ``ConfigError`` when a
        policy names a calibration for another scorer.
        """
        watching: asyncio.Task[None] | None = None
        try:
            with self._heeding_signals():
                await asyncio.gather(self._scorer.warm(), self._upstreams.warm())
                self._store.expect(self._scorer.name)
                self._show_policies(self._metrics)
                await self._main.listen()
                await self._admin.listen()
                for audit in self._audits:
                    audit.start()
                self._health.ready = True
                watching = asyncio.create_task(self._store.watch(self._reloaded))
                watching.add_done_callback(_report_end)
                _log.info("ready on %s, operators on %s", self.address, self.admin_address)
                if started is not None:
                    started()
                await self._main.drain()
        finally:
            self._health.ready = False
            if watching is not None:
                watching.cancel()
            await self._admin.close()
            await self._shadows.close()
            for audit in self._audits:
                await asyncio.to_thread(audit.close)
            await self._scorer.close()  # before the models, for it may be asking one
            await self._upstreams.close()

    def stop(self) -> None:
        """Begin a graceful stop: no new connections, what is in flight finishes. Asked twice, it does not wait."""
        self._health.ready = False
        self._main.force_exit = self._main.should_exit
        self._main.should_exit = True

    @contextlib.contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, and read the policies anew on SIGHUP."""
        loop = asyncio.get_running_loop()
        reloading: set[asyncio.Task[Reload]] = set()

        def reload() -> None:
            task = loop.create_task(self.reload())
            reloading.add(task)
            task.add_done_callback(reloading.discard)

        signals = {signal.SIGINT: self.stop, signal.SIGTERM: self.stop, signal.SIGHUP: reload}
        try:
            for number, heed in signals.items():
                loop.add_signal_handler(number, heed)
        except (RuntimeError, ValueError):  # not in the main thread: whoever runs us stops us
            yield
            return
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _counted(self) -> Metrics:
        settings = self._settings
        metrics = Metrics(
            tenants={tenant.id: tenant.allowed for tenant in settings.tenants} or {DEFAULT: {DEFAULT}},
            policies=self._store.snapshot.policies,
            models=self._upstreams.names(),
            version=__version__,
        )
        metrics.set_queue(lambda: self._scorer.queue_pairs)
        metrics.reload("success", self._store.snapshot.loaded_at)
        self._show_policies(metrics)
        return metrics

    def _show_policies(self, metrics: Metrics) -> None:
        metrics.in_force(self._store.snapshot.version, self._store.snapshot.policies)

    async def reload(self) -> Reload:
        """Look at the policies now, and say what came of it: what failed before is told again."""
        async with self._reloading:  # those who wait must not fill the threads that others need, for names and files
            reload = await asyncio.to_thread(partial(self._store.refresh, asked=True))
        if reload.result != "unchanged":
            self._reloaded(reload)
        return reload

    def _reloaded(self, reload: Reload) -> None:
        self._metrics.reload(reload.result, self._store.snapshot.loaded_at)
        self._health.problems = [str(problem) for problem in reload.problems]
        if reload.result == "success":
            self._show_policies(self._metrics)
            _log.info("policies reloaded: version %s", self._store.snapshot.version)
        for problem in self._health.problems:
            _log.error("policies not reloaded, the last good ones stay in force: %s", problem)

    def _app(self) -> Starlette:
        services = Services(
            access=Access(self._settings),
            policies=lambda: self._store.snapshot.policies,
            models=self._upstreams,
            assessor=self._assessor,
            sink=fan_out(self._metrics.record, LogSink(), self._recent, *self._audits),
            max_body_bytes=self._settings.server.max_body_bytes,
            throttle=Throttle({tenant.id: tenant.limits for tenant in self._settings.tenants}),
            shadows=self._shadows,
        )
        chat, completions, responses = Chat(services), Completions(services), Responses(services)
        openai = openai_render.error
        routes = [
            *self._health.routes(),
            Route("/v1/chat/completions", endpoint(services, "chat", chat.complete, openai), methods=["POST"]),
            Route("/v1/completions", endpoint(services, "completions", completions.complete, openai), methods=["POST"]),
            Route("/v1/responses", endpoint(services, "responses", responses.respond, openai), methods=["POST"]),
            Route("/v1/models", endpoint(services, None, chat.models, openai)),
            Route("/v1/models/{id:path}", endpoint(services, None, chat.model, openai)),
            *self._bedrock(services),
            *self._azure(services),
            *self._google(services),
        ]
        app = Starlette(routes=routes, exception_handlers={404: _no_route, 405: _no_route})
        app.router.redirect_slashes = False  # it would send callers to wherever their Host header says
        return app

    def _google(self, services: Services) -> Iterator[Route]:
        """The routes of Google's two checks; its other operations on projects are told so in its own words."""
        check = endpoint(services, "check_grounding", CheckGrounding(services).check, google_errors.error)
        corroborate = endpoint(services, "corroborate", CorroborateContent(services).corroborate, google_errors.error)
        elsewhere = endpoint(services, None, google_errors.unserved, google_errors.error)
        location = "/projects/{project}/locations/{location}"
        for version in ("v1", "v1beta", "v1alpha"):
            yield Route(f"/{version}{location}/groundingConfigs/{{config}}:check", check, methods=["POST"])
        for version in ("v1", "v1beta1"):
            yield Route(f"/{version}{location}:corroborateContent", corroborate, methods=["POST"])
        for version in ("v1", "v1alpha", "v1beta", "v1beta1"):
            path = f"/{version}/projects/{{rest:path}}"
            yield Route(path, elsewhere, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])

    def _azure(self, services: Services) -> Iterator[Route]:
        """The routes of Content Safety: one operation, and a refusal of the others in the same shape."""
        judge = self._settings.judge_model
        surface = DetectGroundedness(services, None if judge is None else _editor(judge, self._upstreams))
        detect = endpoint(services, "detect_groundedness", surface.detect, azure_errors.error)
        yield Route("/contentsafety/text:detectGroundedness", detect, methods=["POST"])
        elsewhere = endpoint(services, None, azure_errors.unserved, azure_errors.error)
        yield Route("/contentsafety/{rest:path}", elsewhere, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])

    def _bedrock(self, services: Services) -> Iterator[Route]:
        """The routes of both of Bedrock's services, for callers with a key or a signature."""
        guardrail, models = ApplyGuardrail(services), self._settings.bedrock_models
        converse, invoke = Converse(services, models), InvokeModel(services, models)
        control = ControlPlane(lambda: self._store.snapshot.loaded_at)
        signatures = Signatures(services.access.signers) if services.access.signers else None
        for method, path, surface, handler in (
            ("POST", "/guardrail/{identifier:path}/version/{version}/apply", "apply_guardrail", guardrail.apply),
            ("POST", "/model/{model:path}/converse", "converse", converse.converse),
            ("POST", "/model/{model:path}/converse-stream", "converse", converse.stream),
            ("POST", "/model/{model:path}/invoke", "invoke", invoke.invoke),
            ("POST", "/model/{model:path}/invoke-with-response-stream", "invoke", invoke.stream),
            ("GET", "/guardrails", None, control.list),
            ("GET", "/guardrails/{identifier:path}", None, control.get),
            ("POST", "/guardrails", None, control.refuse),
            ("POST", "/guardrails/{identifier:path}", None, control.refuse),
            ("PUT", "/guardrails/{identifier:path}", None, control.refuse),
            ("DELETE", "/guardrails/{identifier:path}", None, control.refuse),
        ):
            yield Route(path, bedrock.endpoint(services, surface, handler, signatures), methods=[method])


def _report_end(watching: asyncio.Task[None]) -> None:
    """Say so if policies are no longer watched, for edits would go unseen."""
    if not watching.cancelled() and watching.exception() is not None:
        _log.error("policies are no longer watched; restart to see edits", exc_info=watching.exception())


async def _no_route(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, in AWS's shape for its SDKs, else in the one most clients here read."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (404, None)
    word = "Unknown path" if status == 404 else "Wrong method"  # noqa: PLR2004 - HTTP's own number
    message = f"{word}: {request.method} {request.url.path[:200]}"
    if "amz-sdk-invocation-id" in request.headers:  # every SDK of AWS's sends it
        body, named = bedrock_errors.unserved(message)
        return json_response(status, body, {**(headers or {}), **named})
    code = "not_found" if status == 404 else "method_not_allowed"  # noqa: PLR2004 - as above
    _, body, _ = openai_render.error(NotFound(message, code=code))
    return json_response(status, body, dict(headers or {}))


class Listener(uvicorn.Server):
    """A uvicorn server that binds before it answers, and whose start and end we time: two share one loop."""

    def __init__(self, app: Starlette, host: str, port: int) -> None:
        self._place = (host, port)
        super().__init__(
            uvicorn.Config(
                app, lifespan="off", log_config=None, access_log=False, server_header=False, ws="none", loop="none"
            )
        )

    @property
    def address(self) -> str:
        """The URL it answers on; known once it listens."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def listen(self) -> None:
        """Bind and answer. Raises ``OSError`` when the address cannot be had."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup([_bound(*self._place)])

    async def drain(self) -> None:
        """Answer until told to stop, then finish what is in flight."""
        await self.main_loop()
        await self.close()

    async def close(self) -> None:
        """Let what is in flight finish, if it ever listened."""
        if self.started:
            self.started = False
            await self.shutdown()


def _bound(host: str, port: int) -> socket.socket:
    """A bound socket that names its protocol: asyncio switches Nagle's delay off (40 ms a reply) only on those."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        message = f"cannot listen on {host}, port {port}: {(error.strerror or 'unknown reason').lower()}"
        raise OSError(message) from error
    return bound
