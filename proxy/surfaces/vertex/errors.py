"""Errors in the shape of Google's APIs (AIP-193): ``{"error": {"code", "message", "status", "details"}}``.

A field at fault stands in a ``google.rpc.BadRequest``, when to come back in a ``google.rpc.RetryInfo``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import (
    CallerError,
    Forbidden,
    GroundwardenError,
    NotFound,
    Overloaded,
    RateLimited,
    ScoringError,
    Unauthenticated,
)
from proxy.surfaces.base import retry_headers

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.surfaces.base import Call

CHECK_OFF = "grounding_check_off"
"""The code of an error that says that the caller's policy does not check what the call asks for."""

_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_BY_KIND: tuple[tuple[type[GroundwardenError], str], ...] = (
    (Unauthenticated, "UNAUTHENTICATED"),
    (Forbidden, "PERMISSION_DENIED"),
    (NotFound, "NOT_FOUND"),
    (Overloaded, "RESOURCE_EXHAUSTED"),
    (RateLimited, "RESOURCE_EXHAUSTED"),
    (CallerError, "INVALID_ARGUMENT"),
)
_TYPE = "type.googleapis.com/google.rpc."


def error(raised: GroundwardenError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as status, body and headers."""
    status = _status(raised)
    told: dict[str, Any] = {"code": _STATUS[status], "message": raised.message, "status": status}
    headers = retry_headers(raised)
    if status == "INVALID_ARGUMENT":
        field = {"field": raised.param} if raised.param else {}
        violation = {**field, "description": raised.message}
        told["details"] = [{"@type": f"{_TYPE}BadRequest", "fieldViolations": [violation]}]
    elif headers.get("retry-after", "").isdigit():
        told["details"] = [{"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{headers['retry-after']}s"}]
    return _STATUS[status], {"error": told}, headers


async def unserved(call: Call) -> Response:
    """Refuse the other operations on projects."""
    del call
    message = "Of Google's operations only groundingConfigs.check and corroborateContent are served here."
    raise NotFound(message)


def _status(raised: GroundwardenError) -> str:
    if raised.code == CHECK_OFF:
        return "FAILED_PRECONDITION"
    if isinstance(raised, ScoringError):
        return "DEADLINE_EXCEEDED" if raised.reason == "timeout" else "UNAVAILABLE"
    kind = next((status for kind, status in _BY_KIND if isinstance(raised, kind)), None)
    return kind or next((status for status, code in _STATUS.items() if code == raised.status), "INTERNAL")
