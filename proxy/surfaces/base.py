"""What every surface shares: the services it draws on, and the frame around each of its handlers.

The frame gives each request an id and a record. When the client leaves, the handler is cancelled, which closes the
upstream. Every error becomes the dialect's own shape here, once; text of prompts and answers never enters one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from proxy.grounding.errors import CallerError, GroundwardenError, Late, Overloaded, TooLarge
from proxy.grounding.types import CheckKind, Outcome, Verdict
from proxy.guard.exchange import Meter
from proxy.guard.record import Judged, Record, Sink
from proxy.guard.shadow import Exchange, Shadows
from proxy.surfaces.events import CLIENT_CLOSED, INTERNAL, EventStream, left
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from starlette.requests import Request

    from proxy.access import Access, Caller
    from proxy.grounding.types import GroundingContext
    from proxy.guard.answer import AnswerPart
    from proxy.guard.assess import Assessor
    from proxy.policy.model import Policy
    from proxy.upstream.base import Upstream

_log = logging.getLogger("groundwarden")

MAX_JSON_DEPTH = 64
"""Deeper bodies are refused: no API spoken here needs as much, and walking them must be safe."""

BODY_SECONDS = 20.0
"""What a request body may take to arrive; a half-sent one holds up a graceful stop no longer than this."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_RETRY_AFTER = re.compile(r"\d{1,9}|[A-Z][a-z]{2}, [\w: ]{20,25}")  # RFC 9110, section 10.2.3


class Models(Protocol):
    """The models callers may name."""

    def get(self, name: str) -> Upstream:
        """Return the next deployment of a model. Raises ``NotFound``."""
        ...

    def names(self) -> Sequence[str]:
        """List the names, in the order of the configuration."""
        ...


class Throttle(Protocol):
    """What decides how many requests of a tenant come in."""

    async def enter(self, tenant: str) -> None:
        """Let a request in. Raises ``RateLimited``."""
        ...

    def leave(self, tenant: str) -> None:
        """Say that a request that was let in has been answered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What surfaces draw on. ``policies`` returns the snapshot in force, which a request keeps to its end.

    Without a ``throttle`` everyone comes in; without ``shadows`` no second policy judges anything.
    """

    access: Access
    policies: Callable[[], Mapping[str, Policy]]
    models: Models
    assessor: Assessor
    sink: Sink
    max_body_bytes: int
    throttle: Throttle | None = None
    shadows: Shadows | None = None


@dataclass(slots=True)
class Ledger:
    """What is known of a request so far; becomes its ``Record``."""

    surface: str
    request_id: str
    meter: Meter = field(default_factory=Meter)
    caller: Caller | None = None
    policy: Policy | None = None
    model: str = ""
    stream: bool = False
    verdicts: tuple[Verdict, ...] = ()
    source_chars: int = 0
    query_chars: int = 0
    answer_chars: int = 0
    first_token: float | None = None
    context: GroundingContext | None = None
    parts: tuple[AnswerPart, ...] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)
    let_in: bool = False

    def asked(self, context: GroundingContext) -> None:
        """Note what the answer is to be judged against."""
        self.context = context
        self.source_chars, self.query_chars = context.source_chars, len(context.query or "")

    def answered(self, parts: Sequence[AnswerPart]) -> None:
        """Note the choices of the answer, as far as they came."""
        self.parts = tuple(parts)
        self.answer_chars = sum(len(part.text) for part in self.parts)

    def note_text(self) -> None:
        """Text leaves: the first time is when the stream's first token came."""
        if self.first_token is None:
            self.first_token = self.meter.total()

    def headers(self) -> dict[str, str]:
        """The reply's own headers (INTERFACES, "What comes back"): the request id always, the rest once judged."""
        headers = {"x-request-id": self.request_id}
        if self.policy is not None and (self.verdicts or self.stream):
            headers["x-groundwarden-policy"] = f"{self.policy.name}@{self.policy.version}"
        if self.verdicts:
            headers["x-groundwarden-outcome"] = self.outcome().value
            for kind in CheckKind:
                if (score := self.score(kind)) is not None:
                    headers[f"x-groundwarden-{kind.value}"] = f"{score:.4f}"
        return headers

    def outcome(self) -> Outcome:
        """The worst outcome of all choices."""
        return max((verdict.outcome for verdict in self.verdicts), key=lambda outcome: outcome.severity)

    def score(self, kind: CheckKind) -> float | None:
        """The lowest score of all choices that have one."""
        return min((s for verdict in self.verdicts if (s := verdict.score(kind)) is not None), default=None)

    def record(self, status: int, error: GroundwardenError | None = None) -> Record:
        """Everything this request leaves behind."""
        total = self.meter.total()
        return Record(
            request_id=self.request_id,
            tenant=self.caller.tenant if self.caller else "",
            policy=self.policy.name if self.policy else "",
            policy_version=self.policy.version if self.policy else "",
            surface=self.surface,
            model=self.model,
            outcome=self.outcome() if self.verdicts else None,
            status=status,
            error=_code(error) if error else None,
            grounding=self.score(CheckKind.GROUNDING),
            relevance=self.score(CheckKind.RELEVANCE),
            reasons=_words(v.reasons for v in self.verdicts if v.blocked),
            bypasses=_words(v.bypasses for v in self.verdicts),
            scorer_errors=self._scorer_errors(error),
            scoring_seconds=self.meter.scoring,
            upstream_seconds=self.meter.upstream,
            first_token_seconds=self.first_token,
            added_seconds=max(0.0, total - (self.meter.upstream or 0.0)),
            total_seconds=total,
            claims=sum(len(verdict.claims) for verdict in self.verdicts),
            source_chars=self.source_chars,
            query_chars=self.query_chars,
            answer_chars=self.answer_chars,
            stream=self.stream,
            retries=self.meter.retries,
            judged=self._judged(),
        )

    def _judged(self) -> Judged | None:
        if self.policy is None:
            return None
        parts = self.parts or self.meter.unjudged
        return Judged(policy=self.policy, context=self.context, parts=parts, verdicts=self.verdicts)

    def _scorer_errors(self, error: GroundwardenError | None) -> tuple[str, ...]:
        if isinstance(error, Overloaded):
            return ("overloaded",)
        return tuple(result.failed for v in self.verdicts for result in v.claims if result.failed)


def _code(error: GroundwardenError) -> str | None:
    """An error's code, as records have it. A model's own may be anything, also a sentence that quotes, or missing."""
    return error.code if _CODE.fullmatch(error.code or "") else type(error).code


def _words(groups: Any) -> tuple[str, ...]:
    """The words of all groups, each once, in order."""
    return tuple(dict.fromkeys(word for group in groups for word in group))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, read and its caller known. ``policies`` is the snapshot that it keeps to its end."""

    body: bytes
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    caller: Caller
    policies: Mapping[str, Policy]
    ledger: Ledger


class Signatures(Protocol):
    """What knows callers by a signature over the whole request, where a dialect has such."""

    def signs(self, request: Request) -> bool:
        """Whether a request is signed. Raises ``Unauthenticated`` where that shows to be wrong without the body."""
        ...

    def caller(self, request: Request, body: bytes) -> Caller:
        """Whose request it is. Raises ``Unauthenticated``."""
        ...


Handler = Callable[[Call], Awaitable[Response]]
RenderError = Callable[[GroundwardenError], tuple[int, dict[str, Any], dict[str, str]]]
"""An error as status, JSON body and extra headers, in the dialect's shape."""


def endpoint(
    services: Services,
    surface: str | None,
    handler: Handler,
    render_error: RenderError,
    signatures: Signatures | None = None,
) -> Callable[[Request], Awaitable[Response]]:
    """Put the frame around ``handler``: the caller, the body, ids, errors, the client leaving, the record.

    ``surface`` is the metric's word; None leaves no record (nothing was guarded). A request that is not signed, or
    where no ``signatures`` are known, is known by its key.
    """

    async def serve(request: Request) -> Response:
        ledger = Ledger(surface=surface or "", request_id=_request_id(request))
        response, error = Response(status_code=CLIENT_CLOSED), None
        try:
            call = await _read(services, request, ledger, signatures)
            response = await _while_connected(request, handler(call)) or response
        except ClientDisconnect:
            pass
        except GroundwardenError as raised:
            error = raised
        except Exception:  # noqa: BLE001 - the last line: callers get a generic error, the log gets the place
            _log.exception("unexpected error in request %s", ledger.request_id)
            error = GroundwardenError(INTERNAL)
        finally:
            if error is not None:
                response = json_response(*render_error(error))
            response.headers.update(ledger.headers())
            if surface is not None:
                finished = partial(_record, services, ledger)
                if isinstance(response, EventStream):
                    response.finished = finished  # the stream has only begun
                else:
                    finished(response.status_code, error)
        return response

    return serve


def _record(services: Services, ledger: Ledger, status: int, error: GroundwardenError | None) -> None:
    if ledger.let_in and services.throttle is not None and ledger.caller is not None:
        services.throttle.leave(ledger.caller.tenant)
    services.sink(ledger.record(status, error))
    _shadow(services, ledger)


def _shadow(services: Services, ledger: Ledger) -> None:
    """Have the policy's shadow judge what the policy judged, if it did and the shadow's sample has this request."""
    policy, context, caller = ledger.policy, ledger.context, ledger.caller
    if services.shadows is None or policy is None or context is None or caller is None or not ledger.verdicts:
        return
    shadow = ledger.policies.get(policy.shadow or policy.name)
    if shadow is None or shadow.name == policy.name or not shadow.in_sample:
        return
    done = Exchange(
        tenant=caller.tenant,
        policy=policy,
        outcome=ledger.outcome(),
        context=context,
        parts=ledger.parts or ledger.meter.unjudged,
        assessor=ledger.meter.assessor or services.assessor,
    )
    services.shadows.judge(done, shadow)


async def _enter(services: Services, ledger: Ledger, caller: Caller) -> None:
    """Let the caller in. Only what leaves a record counts: that is where it leaves again."""
    ledger.caller = caller
    if services.throttle is not None and ledger.surface:
        await services.throttle.enter(caller.tenant)
        ledger.let_in = True


async def _read(services: Services, request: Request, ledger: Ledger, signatures: Signatures | None) -> Call:
    if signatures is not None and signatures.signs(request):
        body = await read_body(request, services.max_body_bytes)
        await _enter(services, ledger, caller := signatures.caller(request, body))
    else:
        await _enter(services, ledger, caller := services.access.identify(request.headers))
        body = await read_body(request, services.max_body_bytes)
    named = services.policies().items()
    ledger.policies = {name: policy.for_request(ledger.request_id) for name, policy in named}
    return Call(
        body=body,
        path=request.path_params,
        query=request.query_params,
        headers=request.headers,
        caller=caller,
        policies=ledger.policies,
        ledger=ledger,
    )


def _request_id(request: Request) -> str:
    given = request.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else f"req_{uuid.uuid4().hex}"


async def _while_connected(request: Request, work: Awaitable[Response]) -> Response | None:
    """Finish ``work``, or cancel it and return None when the client leaves first."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(left(request.receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def json_response(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """A JSON reply."""
    return Response(to_json(body), status_code=status, headers=headers, media_type="application/json")


def retry_headers(error: GroundwardenError) -> dict[str, str]:
    """``Retry-After`` where the error knows when to come back."""
    after = str(getattr(error, "retry_after", None) or "")
    return {"retry-after": after} if _RETRY_AFTER.fullmatch(after) else {}


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body. Raises ``TooLarge`` at the first byte over ``limit``."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        message = f"The request body did not arrive within {BODY_SECONDS:g} seconds."
        raise Late(message) from None
    return bytes(body)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The request body is larger than {limit} bytes (server.max_body_bytes).")


def parse_object(body: bytes) -> dict[str, Any]:
    """The body as a JSON object. Raises ``CallerError`` (400) for anything else."""
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        message = "The request body is not valid JSON."
        raise CallerError(message, code="invalid_json") from None
    if not isinstance(value, dict):
        message = "The request body must be a JSON object."
        raise CallerError(message, code="invalid_json")
    _refuse_depth(value)
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and the infinities are no JSON


def _too_deep() -> CallerError:
    return CallerError(f"The request body is nested more than {MAX_JSON_DEPTH} levels deep.", code="invalid_json")


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
        level = [child for child in level if isinstance(child, dict | list)]
        if not level:
            return
    raise _too_deep()
