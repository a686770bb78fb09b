"""The frame around Bedrock's handlers: the shared one, with AWS's errors and AWS's name for the request id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.surfaces import base
from proxy.surfaces.bedrock import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from proxy.surfaces.base import Handler, Services, Signatures


def endpoint(
    services: Services, surface: str | None, handler: Handler, signatures: Signatures | None
) -> Callable[[Request], Awaitable[Response]]:
    """Put the frame around ``handler``. ``ResponseMetadata`` of boto3 has the request id only under AWS's name."""
    inner = base.endpoint(services, surface, handler, errors.error, signatures)

    async def serve(request: Request) -> Response:
        response = await inner(request)
        response.headers["x-amzn-requestid"] = response.headers["x-request-id"]
        return response

    return serve
