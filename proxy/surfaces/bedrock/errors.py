"""Errors in the shape of AWS's REST-JSON protocol: ``{"message"}`` and the ``x-amzn-errortype`` header.

Names and statuses are those of botocore's service model for bedrock-runtime. In a stream an error is an exception
event, whose names are the same with a small first letter.
"""

from __future__ import annotations

from typing import Any

from proxy.grounding.errors import (
    CallerError,
    Forbidden,
    GroundwardenError,
    NotFound,
    Overloaded,
    RateLimited,
    Unauthenticated,
    UpstreamError,
    UpstreamTimeout,
)
from proxy.surfaces.base import retry_headers
from proxy.surfaces.bedrock.eventstream import exception

_STATUS = {
    "AccessDeniedException": 403,
    "InternalServerException": 500,
    "ModelErrorException": 424,
    "ModelTimeoutException": 408,
    "ResourceNotFoundException": 404,
    "ServiceUnavailableException": 503,
    "ThrottlingException": 429,
    "ValidationException": 400,
}
_BY_KIND: tuple[tuple[type[GroundwardenError], str], ...] = (
    (Unauthenticated, "AccessDeniedException"),
    (Forbidden, "AccessDeniedException"),
    (NotFound, "ResourceNotFoundException"),
    (CallerError, "ValidationException"),
    (Overloaded, "ThrottlingException"),
    (RateLimited, "ThrottlingException"),
    (UpstreamTimeout, "ModelTimeoutException"),
)
_BY_STATUS = {429: "ThrottlingException", 503: "ServiceUnavailableException"}
# The streams' shapes have these; botocore reads any other too, but knows no name for it.
_IN_STREAM = {"ModelErrorException": "modelStreamErrorException", "ModelTimeoutException": "modelStreamErrorException"}
_IN_STREAM_KNOWN = frozenset(
    "internalServerException modelStreamErrorException serviceUnavailableException throttlingException "
    "validationException".split()
)

_SERVED = (
    "Of Bedrock's operations this server has ApplyGuardrail, Converse, ConverseStream, InvokeModel, "
    "InvokeModelWithResponseStream, ListGuardrails and GetGuardrail."
)


def error(raised: GroundwardenError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as status, body and headers."""
    name = _name(raised)
    return _STATUS[name], {"message": raised.message}, {"x-amzn-errortype": name, **retry_headers(raised)}


def unserved(place: str) -> tuple[dict[str, Any], dict[str, str]]:
    """An operation that is not here, as body and headers: AWS's own answer to one that it does not know."""
    return {"message": f"{place}. {_SERVED}"}, {"x-amzn-errortype": "UnknownOperationException"}


def stream_exception(raised: GroundwardenError) -> bytes:
    """An error in mid-stream, as an exception event: botocore raises ``EventStreamError`` for it."""
    name = _name(raised)
    name = _IN_STREAM.get(name, name[0].lower() + name[1:])
    return exception(name if name in _IN_STREAM_KNOWN else "internalServerException", raised.message)


def _name(raised: GroundwardenError) -> str:
    for kind, name in _BY_KIND:
        if isinstance(raised, kind):
            return name
    if raised.status in _BY_STATUS:
        return _BY_STATUS[raised.status]
    if not isinstance(raised, UpstreamError):
        return "InternalServerException"
    return "ValidationException" if 400 <= raised.status < 500 else "ModelErrorException"  # noqa: PLR2004 - HTTP's classes
