"""One tree of errors. Each carries the HTTP status a server should answer and a message fit for callers.

::

    GroundwardenError
    ├── CallerError              400: the request is at fault; ``param`` names the field
    │   ├── Unauthenticated      401
    │   ├── Forbidden            403
    │   ├── NotFound             404
    │   ├── Late                 408
    │   └── TooLarge             413
    ├── UpstreamError            502, or the upstream's own status: the model failed
    │   └── UpstreamTimeout      504
    ├── ScoringError             503: scoring failed; the policy decides what follows
    ├── Overloaded               429: the scorer's queue is full; ``retry_after`` in seconds
    └── RateLimited              429: the tenant has used up what it may; ``retry_after`` in seconds
"""

from __future__ import annotations


class GroundwardenError(Exception):
    """Base of every error raised on purpose. ``message`` is public: it must hold no prompt, answer or secret."""

    status = 500
    code: str | None = "internal_error"

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code


class CallerError(GroundwardenError):
    """The request is at fault; ``param`` names the field."""

    status = 400
    code = "invalid_request"


class Unauthenticated(CallerError):
    """No key, or an unknown one."""

    status = 401
    code = "invalid_api_key"


class Forbidden(CallerError):
    """A known caller asks for what is not its own."""

    status = 403
    code = "access_denied"


class NotFound(CallerError):
    """What the request names does not exist, or not for this caller."""

    status = 404
    code = "not_found"


def no_such_model(name: str) -> NotFound:
    """The error for a model that does not exist, and in the same words for one that this caller may not use."""
    message = f"The model `{name[:128]}` does not exist or you do not have access to it."
    return NotFound(message, param="model", code="model_not_found")


class TooLarge(CallerError):
    """The body is over the configured limit."""

    status = 413
    code = "request_too_large"


class Late(CallerError):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"


class UpstreamError(GroundwardenError):
    """The model failed.

    ``status`` is what the caller sees: the upstream's own, except 401 and 403, which are ours to hide, and
    failures to reach it at all, which are 502. ``type``, ``param`` and ``code`` are the upstream's own. ``quoted``:
    the message is the upstream's too.
    """

    status = 502
    code: str | None = "upstream_error"
    quoted = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,  # noqa: A002 - OpenAI's own field name
        param: str | None = None,
        code: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message, param=param, code=code)
        self.type = type
        self.retry_after = retry_after
        if status is not None:
            self.status = status


class UpstreamTimeout(UpstreamError):
    """The model did not answer in time."""

    status = 504
    code = "upstream_timeout"


class ScoringError(GroundwardenError):
    """Scoring failed. ``reason`` is the metric word: timeout or error."""

    status = 503
    code = "scorer_error"

    def __init__(self, message: str, *, reason: str = "error") -> None:
        super().__init__(message)
        self.reason = reason


class Overloaded(GroundwardenError):
    """The scorer's queue is full; try again after ``retry_after`` seconds."""

    status = 429
    code = "scorer_overloaded"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(GroundwardenError):
    """The tenant has used up its requests; try again after ``retry_after`` seconds."""

    status = 429
    code = "rate_limit_exceeded"

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
