"""Logs: JSON, one object a line, on one stream for the whole process.

The rules. A record's line holds numbers, words of closed sets and names; never text. Names come from callers too
(request id, model), so every character that could end a line, hide or pretend is replaced and their length is bounded.
An exception is logged by its type and place: its message may quote what it choked on, so only the messages of our own
errors, which are public by contract, are kept.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from proxy.grounding.errors import GroundwardenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from proxy.guard.record import Record

MAX_NAME = 128
"""Characters kept of a name."""
MAX_MESSAGE = 4096
"""Characters kept of a log message."""
MAX_CAUSES = 4
"""Exceptions kept of a chain."""
MAX_FRAMES = 12
"""Innermost frames kept of a traceback."""

_AFTER_WORDS = re.compile(r"[\n(<]")
_NAME_MARKS = frozenset("._:/@+-")
_FIELDS = "groundwarden_fields"
_MILLISECONDS = 1000
_request_log = logging.getLogger("groundwarden.request")


def configure(stream: TextIO | None = None, level: int | str = logging.INFO) -> None:
    """Send all logging of this process to ``stream`` (standard error) as JSON lines, from ``level`` up.

    Replaces every handler of the root logger and of uvicorn's, and silences uvicorn's access log, whose lines hold
    paths and repeat the records. Start uvicorn with ``log_config=None`` or it undoes this. Raises ``ValueError`` for
    an unknown level.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.setLevel(level)
    root.handlers[:] = [handler]
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = name != "uvicorn.access"


class JsonFormatter(logging.Formatter):
    """One JSON object a line, ASCII only: no message can end the line or begin a new one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: time (UTC), level, logger, message, a request's fields, an exception and its causes."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(_message(record), MAX_MESSAGE),
        }
        line |= getattr(record, _FIELDS, {})
        if record.exc_info and record.exc_info[1] is not None:
            line["exceptions"] = [_describe(error) for error in _chain(record.exc_info[1])]
        return json.dumps(line)


def _message(record: logging.LogRecord) -> str:
    """What a line says. Asyncio's own begin with what happened; then come tasks, with what they choked on."""
    message = record.getMessage()
    return _AFTER_WORDS.split(message, maxsplit=1)[0].rstrip() if record.name == "asyncio" else message


class LogSink:
    """A sink that logs each record as one line of the logger ``groundwarden.request``, at level INFO.

    Durations are in milliseconds, scores have four decimals; what is None is left out.
    """

    def __call__(self, record: Record) -> None:
        """Log one line."""
        fields = {name: value for name, value in _fields(record).items() if value is not None}
        _request_log.info("request", extra={_FIELDS: fields})


def _fields(record: Record) -> dict[str, Any]:
    """Return what a line says of a record."""
    return {
        "request_id": harmless(record.request_id),
        "tenant": harmless(record.tenant),
        "policy": harmless(record.policy),
        "policy_version": harmless(record.policy_version),
        "surface": harmless(record.surface),
        "model": harmless(record.model),
        "outcome": None if record.outcome is None else record.outcome.value,
        "status": record.status,
        "error": None if record.error is None else harmless(record.error),
        "grounding": _score(record.grounding),
        "relevance": _score(record.relevance),
        "reasons": _names(record.reasons),
        "bypasses": _names(record.bypasses),
        "scorer_errors": _names(record.scorer_errors),
        "scoring_ms": _ms(record.scoring_seconds),
        "upstream_ms": _ms(record.upstream_seconds),
        "first_token_ms": _ms(record.first_token_seconds),
        "added_ms": _ms(record.added_seconds),
        "total_ms": _ms(record.total_seconds),
        "claims": record.claims,
        "source_chars": record.source_chars,
        "query_chars": record.query_chars,
        "answer_chars": record.answer_chars,
        "stream": record.stream,
        "retries": record.retries,
    }


def harmless(value: str) -> str:
    """Make a name harmless: letters, digits and a few marks stay, all else becomes ``_``; cut to ``MAX_NAME``."""
    kept = (char if char.isalnum() or char in _NAME_MARKS else "_" for char in value[: MAX_NAME + 1])
    return _cut("".join(kept), MAX_NAME)


def _names(values: tuple[str, ...]) -> list[str]:
    return [harmless(value) for value in values]


def _score(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * _MILLISECONDS, 3)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what caused it, at most ``MAX_CAUSES`` in all."""
    for _ in range(MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _describe(error: BaseException) -> dict[str, Any]:
    """Return an exception's type and place, and its message if it is ours."""
    kind = type(error)
    described: dict[str, Any] = {
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "frames": _frames(error.__traceback__),
    }
    if isinstance(error, GroundwardenError):
        described["message"] = _cut(error.message, MAX_MESSAGE)
    return described


def _frames(traceback: TracebackType | None) -> list[str]:
    """Return ``file:line function`` of the innermost frames, outermost first."""
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_qualname}")
        traceback = traceback.tb_next
    return frames[-MAX_FRAMES:]
