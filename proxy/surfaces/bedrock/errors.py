"""Errors in the shape of AWS's REST-JSON protocol: ``{"message"}`` and the ``x-amzn-errortype`` header.

Names and statuses are those of botocore's service model for bedrock-runtime.
"""

from __future__ import annotations

from typing import Any

from proxy.grounding.errors import CallerError, Forbidden, GroundwardenError, NotFound, Overloaded, Unauthenticated
from proxy.surfaces.base import retry_headers

_BY_KIND: tuple[tuple[type[GroundwardenError], str, int], ...] = (
    (Unauthenticated, "AccessDeniedException", 403),
    (Forbidden, "AccessDeniedException", 403),
    (NotFound, "ResourceNotFoundException", 404),
    (CallerError, "ValidationException", 400),
    (Overloaded, "ThrottlingException", 429),
)
_BY_STATUS = {503: "ServiceUnavailableException"}


def error(raised: GroundwardenError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as status, body and headers."""
    for kind, name, status in _BY_KIND:
        if isinstance(raised, kind):
            return _shape(raised, name, status)
    name = _BY_STATUS.get(raised.status, "InternalServerException")
    return _shape(raised, name, raised.status if raised.status in _BY_STATUS else 500)


def _shape(raised: GroundwardenError, name: str, status: int) -> tuple[int, dict[str, Any], dict[str, str]]:
    return status, {"message": raised.message}, {"x-amzn-errortype": name, **retry_headers(raised)}
