"""What upstreams say, read strictly: JSON objects, streamed chunks, and errors in the shapes that servers use."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from proxy.grounding.errors import UpstreamError
from proxy.upstream.base import Chunk, JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.upstream.model_list import LiteLLMParams
    from proxy.upstream.sse import Event

MAX_DEPTH = 100
"""Levels of a reply: more than any has, and few enough to be looked into by functions that call themselves."""

MAX_MESSAGE = 2000
"""Characters of an upstream's error message that are shown."""

BROKEN = "The model's answer could not be read."
UNREACHABLE = "The model could not be reached."
REFUSED = "The model did not accept this server's request."

_SECRET_NAME = re.compile("key|secret|token|password|credential")
_HIDDEN = frozenset({401, 403, 407})  # about our credentials, not the caller's


def parse_object(raw: bytes) -> JsonObject:
    """Parse UTF-8 JSON that must be one object. Raises ``UpstreamError`` (502) for anything else.

    NaN and Infinity, numbers too large to hold, nesting too deep to look into, and a key given twice are refused too:
    of a doubled key, clients differ in which value they take, so what was judged might not be what is read.
    """
    try:
        value = _STRICT.decode(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise UpstreamError(BROKEN) from None
    if not isinstance(value, dict) or (raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deep(value)):
        raise UpstreamError(BROKEN)
    return value


def parse_chunk(event: Event, secrets: Iterable[str] = ()) -> Chunk:
    """Read one event of a streamed reply. Raises ``UpstreamError`` when it is an error or cannot be read."""
    text = b"" if event.data is None else event.data.strip()
    if not text:
        return Chunk(raw=event.raw)
    if text == b"[DONE]":
        return Chunk(raw=event.raw, done=True)
    data = parse_object(text)
    raise_if_error(data, secrets, named_error=event.name.strip() == b"error")
    return Chunk(raw=event.raw, data=data)


def raise_if_error(body: JsonObject, secrets: Iterable[str] = (), *, named_error: bool = False) -> None:
    """Raise ``UpstreamError`` when a reply sent as a success is an error object after all.

    Its status is the error's own numeric ``code`` or ``status`` when that is an HTTP error, else 502.
    """
    if not body.get("error") and body.get("object") != "error" and not named_error:
        return
    found = _find_error(body)
    stated = (found.get(key) for key in ("code", "status", "status_code"))
    status = next((number for number in map(_status, stated) if number is not None), 502)
    raise error_for(status, body, secrets=secrets)


def error_for(
    status: int, body: object, *, retry_after: str | None = None, secrets: Iterable[str] = ()
) -> UpstreamError:
    """Return the error that callers may see for an upstream's reply of ``status`` (300 or more).

    ``body`` is the parsed reply, None when it was no JSON. 401, 403 and 407 concern our own credentials: they become
    502 with a generic message, as does a redirect. Each of ``secrets`` is blotted out of what is shown.
    """
    if status in _HIDDEN or _status(status) is None:
        return UpstreamError(REFUSED, retry_after=retry_after)
    found = _find_error(body)
    message = _message(found) or f"The model answered with HTTP {status}."
    error = UpstreamError(
        _blot(message, secrets)[:MAX_MESSAGE],
        status=status,
        type=_word(found.get("type"), secrets),
        param=_word(found.get("param"), secrets),
        retry_after=retry_after,
    )
    error.quoted = bool(found)
    if found:
        # The upstream's own code stands, also when it gave none.
        error.code = _word(found.get("code"), secrets)
    return error


def secrets_of(params: LiteLLMParams) -> tuple[str, ...]:
    """Return what must not show in an error; values too short to be secrets would blot out plain words."""
    settings = (value for key, value in params.settings.items() if _SECRET_NAME.search(key))
    values = (params.api_key, *params.extra_headers.values(), *settings)
    return tuple(value for value in values if isinstance(value, str) and len(value) >= 8)  # noqa: PLR2004


def try_parse(raw: bytes) -> Any:
    """Return the JSON value, or None when it cannot be read."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _find_error(body: object) -> dict[str, Any]:
    """Return the mapping that describes the error, {} when there is none.

    Known shapes: {"error": {...}}, {"error": "text"}, {"message": ...}, {"detail": ...}, {"errors": [...]}, and any of
    them as the first item of a list.
    """
    body = _first(body)
    if not isinstance(body, dict):
        return {}
    for key in ("error", "errors"):
        inner = _first(body.get(key))
        if isinstance(inner, dict):
            return inner
        if isinstance(inner, str) and inner:
            return {**body, "message": body.get("message") or inner}
    return body if _message(body) else {}


def _message(found: dict[str, Any]) -> str | None:
    for key in ("message", "detail", "msg", "error_message"):
        value = _first(found.get(key))
        if isinstance(value, dict):
            value = value.get("msg") or value.get("message")
        if isinstance(value, str) and value.strip():
            return value
    return None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _word(value: object, secrets: Iterable[str]) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return _blot(str(value), secrets)[:MAX_MESSAGE]


def _blot(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _status(value: object) -> int | None:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3 else value  # noqa: PLR2004
    return number if isinstance(number, int) and 400 <= number <= 599 else None  # noqa: PLR2004 - HTTP's own range


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _is_deep(value: Any) -> bool:
    """Whether anything inside lies more than ``MAX_DEPTH`` levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in below if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a key is given twice"
        raise ValueError(message)
    return found


_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_number, object_pairs_hook=_unique)
