"""Every provider that LiteLLM knows and the pass-through does not. The only file that imports LiteLLM.

LiteLLM takes about three seconds to import, so that happens at the first call, in a thread. It is kept from writing
anything: its loggers are off, and those of the HTTP libraries under it, which would write addresses with keys in them
and whole requests, speak from warnings up.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import warnings
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import UpstreamError, UpstreamTimeout
from proxy.upstream.base import LATE, Answer, Chunk, JsonObject, defaults_for, to_json
from proxy.upstream.replies import BROKEN, UNREACHABLE, error_for, secrets_of
from proxy.upstream.retry import Failure, is_retryable, persist
from proxy.upstream.steering import STEERING_FIELDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from proxy.upstream.base import Api
    from proxy.upstream.model_list import LiteLLMParams

_log = logging.getLogger(__name__)

# LiteLLM reads a caller's metadata as instructions to itself, and sends it to almost no provider.
_KEPT_BACK = STEERING_FIELDS | {"metadata", "model"}
_SILENT = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "litellm")
_QUIET = ("httpx", "httpcore", "openai", "aiohttp", "boto3", "botocore", "urllib3", "google")
_PREFIX = re.compile(r"(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)(?: -|:)? )+")


class LiteLLM:
    """One deployment reached through LiteLLM. Implements ``Upstream``.

    ``Answer.raw`` and ``Chunk.raw`` are what LiteLLM returned, as JSON, for there are no upstream's bytes to keep; a
    stream ends with ``[DONE]``, one of responses with its last event. For a provider that has no completions or
    responses LiteLLM asks its chat, and turns that into what was asked for.
    """

    def __init__(self, name: str, params: LiteLLMParams) -> None:
        self.name = name
        self._params = params
        self._secrets = secrets_of(params)
        self._library: Any = None

    async def warm(self) -> None:
        """Import LiteLLM. Raises ``UpstreamError`` when it knows no provider for the model."""
        if self._library is None:
            library = await asyncio.to_thread(_load)
            if not _knows(library, self._params):
                message = f"LiteLLM knows no provider for {self._params.model} (model_name {self.name})."
                raise UpstreamError(message)
            self._library = library

    async def complete(self, body: JsonObject, api: Api = "chat") -> Answer:
        """Ask for a whole answer; each attempt may take ``timeout`` seconds."""
        limit = self._params.timeout
        arguments = self._arguments(body, api, stream=False, limit=limit)
        result = await persist(lambda: self._attempt(_CALLS[api], arguments, limit), self._params.max_retries)
        parsed = _dump(result)
        return Answer(raw=to_json(parsed), body=parsed)

    async def stream(self, body: JsonObject, api: Api = "chat") -> AsyncGenerator[Chunk, None]:
        """Ask for a streamed answer; no wait, for its beginning or between two chunks, exceeds ``stream_timeout``."""
        limit = self._params.stream_timeout
        arguments = self._arguments(body, api, stream=True, limit=limit)
        result = await persist(lambda: self._attempt(_CALLS[api], arguments, limit), self._params.max_retries)
        begun = False
        async with self._reading(result):
            while (piece := await _next(result, limit)) is not None:
                data = _dump_chunk(piece)
                begun = begun or api != "chat" or _begins(data)
                name = f"event: {data.get('type')}\n".encode() if api == "responses" else b""
                yield Chunk(raw=name + b"data: " + to_json(data) + b"\n\n", data=data)
        if api != "responses":
            yield Chunk(raw=b"data: [DONE]\n\n", done=True)

    async def close(self) -> None:
        """Close LiteLLM's connections; they are the process's, so every adapter's."""
        if self._library is not None:
            from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients  # noqa: PLC0415

            await close_litellm_async_clients()
            self._library.in_memory_llm_clients_cache.flush_cache()

    def _arguments(self, body: JsonObject, api: Api, *, stream: bool, limit: float) -> dict[str, Any]:
        """Return LiteLLM's keyword arguments: the entry's settings, the caller's fields, the entry's defaults."""
        params = self._params
        fields = {key: value for key, value in body.items() if key not in _KEPT_BACK}
        asked = {**defaults_for(api, params.defaults), **fields}
        asked["stream"] = stream
        if not stream:
            asked.pop("stream_options", None)  # an error without stream
        connection = {
            "api_key": params.api_key,
            "api_base": params.api_base,
            "api_version": params.api_version,
            "organization": params.organization,
            "custom_llm_provider": params.custom_llm_provider,
            "extra_headers": dict(params.extra_headers) or None,
        }
        given = {key: value for key, value in connection.items() if value is not None}
        # Repetition is this adapter's own, the same as the pass-through's.
        own = {"model": params.model, "timeout": limit, "max_retries": 0, "num_retries": 0}
        return {**asked, **params.settings, **given, **own}

    async def _attempt(self, name: str, arguments: dict[str, Any], limit: float) -> Any:
        await self.warm()
        try:
            async with asyncio.timeout(limit):
                return await getattr(self._library, name)(**arguments)
        except Exception as error:  # noqa: BLE001 - LiteLLM lets through whatever its providers raise
            return self._failure(error)

    @asynccontextmanager
    async def _reading(self, result: Any) -> AsyncIterator[None]:
        try:
            yield
        except UpstreamError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise self._failure(error).error from None
        finally:
            with suppress(Exception):
                await result.aclose()

    def _failure(self, error: Exception) -> Failure:
        """Return what callers may see of what LiteLLM raised. No stack, host name or key is among it."""
        error = getattr(error, "original_exception", None) or error
        # With the upstream's headers it is the upstream's own reply, whatever LiteLLM makes of its status.
        chain = _chain(error) if getattr(error, "litellm_response_headers", None) is None else []
        if any(isinstance(link, TimeoutError) or "Timeout" in type(link).__name__ for link in chain):
            return Failure(UpstreamTimeout(LATE))
        if any(isinstance(link, OSError) or type(link).__name__ in _LOST for link in chain):
            return Failure(UpstreamError(UNREACHABLE), retryable=True)
        status = getattr(error, "status_code", None)
        if not isinstance(status, int) or status < 300 or isinstance(error, self._library.APIConnectionError):  # noqa: PLR2004
            return Failure(UpstreamError(BROKEN))
        if str(getattr(error, "message", "")).startswith("litellm.APIError: LiteLLM:"):
            return Failure(UpstreamError(BROKEN))
        shown = error_for(status, _body(error), retry_after=_retry_after(error), secrets=self._secrets)
        return Failure(shown, retryable=is_retryable(status))


_CALLS: dict[Api, str] = {"chat": "acompletion", "completions": "atext_completion", "responses": "aresponses"}
_LOST = frozenset({"ConnectError", "ReadError", "WriteError", "RemoteProtocolError", "ClientConnectorError"})


def knows_provider(params: LiteLLMParams) -> bool:
    """Whether LiteLLM has a provider for a model. Imports LiteLLM, which takes seconds the first time."""
    return _knows(_load(), params)


def _knows(library: Any, params: LiteLLMParams) -> bool:
    try:
        library.get_llm_provider(params.model, params.custom_llm_provider, params.api_base, params.api_key)
    except Exception:  # noqa: BLE001 - whatever it is, the model cannot be asked
        return False
    return True


def _load() -> Any:
    """Import LiteLLM without network, ``.env`` file, telemetry or a word on any output."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    _silence()  # now, for it writes while it is imported, and below, for it sets its loggers up then
    # What its own types make pydantic say of them is nothing to an operator.
    warnings.filterwarnings("ignore", message="Items? '.*' on TypedDict class", category=UserWarning)
    import litellm  # noqa: PLC0415 - slow, and not needed where every model passes through

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    for callbacks in ("callbacks", "input_callback", "success_callback", "failure_callback", "service_callback"):
        setattr(litellm, callbacks, [])
    _silence()
    return litellm


def _silence() -> None:
    for name in _SILENT:
        logger = logging.getLogger(name)
        logger.disabled = True
        logger.propagate = False  # and so for the loggers of its modules
        logger.setLevel(logging.CRITICAL + 1)
    for name in _QUIET:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


async def _next(result: Any, limit: float) -> Any:
    """Return the next chunk, None at the end."""
    async with asyncio.timeout(limit):
        return await anext(result, None)


def _dump(result: Any) -> JsonObject:
    parsed: JsonObject = result.model_dump(mode="json", warnings=False)
    return parsed


def _dump_chunk(piece: Any) -> JsonObject:
    """Return a chunk as LiteLLM's own proxy sends it, with ``finish_reason`` also while it is null."""
    data: JsonObject = piece.model_dump(mode="json", warnings=False, exclude_none=True, exclude_unset=True)
    for choice in data.get("choices", ()):
        choice.setdefault("finish_reason", None)
    return data


def _begins(data: JsonObject) -> bool:
    """Return whether an answer has begun with this chunk.

    Raises ``UpstreamError`` when it ends before it begins: so LiteLLM reads a reply that is no stream at all.
    """
    choices = data.get("choices", ())
    if any(choice["finish_reason"] is not None and not choice.get("delta") for choice in choices):
        raise UpstreamError(BROKEN)
    return bool(choices)


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _body(error: Exception) -> Any:
    """Return the provider's own error: parsed where it is JSON, else a plain sentence about the request."""
    given = getattr(error, "body", None)
    if isinstance(given, dict):
        return given
    message = str(getattr(error, "message", ""))
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(message, message.index("{"))[0]
    plain = message[_end_of_prefix(message) :]
    is_sentence = "\n" not in plain and "<" not in plain and getattr(error, "status_code", 500) < 500  # noqa: PLR2004
    return {"message": plain, "type": "invalid_request_error"} if is_sentence else None


def _end_of_prefix(message: str) -> int:
    found = _PREFIX.match(message)
    return found.end() if found else 0


def _retry_after(error: Exception) -> str | None:
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        value = headers.get("retry-after") if headers is not None else None
        if isinstance(value, str):
            return value
    return None
