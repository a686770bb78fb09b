"""Errors in the shape of Azure's REST guidelines: ``{"error": {"code", "message", "target"}}``, ``x-ms-error-code``.

The codes are those that Content Safety documents ("Azure AI Content Safety error codes"), and for ``api-version``
those of the guidelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import (
    CallerError,
    Forbidden,
    GroundwardenError,
    Late,
    NotFound,
    Overloaded,
    RateLimited,
    ScoringError,
    TooLarge,
    Unauthenticated,
)
from proxy.surfaces.base import retry_headers

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.surfaces.base import Call

NO_VERSION = "MissingApiVersionParameter"
BAD_VERSION = "UnsupportedApiVersionValue"
DETECTION_OFF = "GroundednessDetectionDisabled"

_OWN = frozenset({NO_VERSION, BAD_VERSION, DETECTION_OFF})
_KEY = (
    "Access denied due to a missing or invalid subscription key. "
    "Provide a valid key in the Ocp-Apim-Subscription-Key header."
)
_CODES: tuple[tuple[type[GroundwardenError], str], ...] = (
    (Unauthenticated, "401"),  # as Azure's gateways write it
    (Forbidden, "403"),
    (NotFound, "ResourceNotFound"),
    (Late, "RequestTimeout"),
    (TooLarge, "RequestEntityTooLarge"),
    (CallerError, "InvalidRequestBody"),
    (Overloaded, "TooManyRequests"),
    (RateLimited, "TooManyRequests"),
    (ScoringError, "ServerBusy"),
)


def error(raised: GroundwardenError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as status, body and headers."""
    code = next((code for kind, code in _CODES if isinstance(raised, kind)), "InternalError")
    if raised.code in _OWN:
        code = raised.code
    told = {"code": code, "message": _KEY if isinstance(raised, Unauthenticated) else raised.message}
    if raised.param:
        told["target"] = raised.param
    return raised.status, {"error": told}, {"x-ms-error-code": code, **retry_headers(raised)}


async def unserved(call: Call) -> Response:
    """Refuse the service's other operations."""
    del call
    message = "Of Content Safety only POST /contentsafety/text:detectGroundedness is served here."
    raise NotFound(message)
