"""A scoring service over HTTP.

One question is ``POST`` of ``{"pairs": [{"kind": "grounding" | "relevance", "premise": …, "hypothesis": …}, …]}``; the
answer is 200 and ``{"scores": [a number in [0, 1], …]}``, in the order of the pairs. 429, with ``Retry-After`` or not,
says that the service is busy. Everything else is a failure. Redirects are not followed: the key would travel with them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp

from proxy import __version__
from proxy.grounding.errors import Overloaded, ScoringError
from proxy.scoring.dispatch import seconds_to_wait
from proxy.scoring.tokens import estimated_spans
from proxy.upstream.base import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import EvidenceUse

MAX_REPLY = 1024 * 1024
"""Bytes of an answer that are read."""

CONNECT_SECONDS = 5.0


class Remote:
    """A ``Service`` at ``url`` (http or https; certificates are always verified, by the CAs that Python knows).

    ``api_key`` goes out as a bearer token. ``most_pairs`` is how many pairs one question may hold, ``max_tokens`` and
    ``evidence`` what suits the model behind the service, which counts and cuts for itself. A proxy named by
    ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` is used.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        most_pairs: int = 64,
        max_tokens: int = 256,
        evidence: EvidenceUse = "pieces",
    ) -> None:
        self.name = "remote"
        self.max_tokens = max_tokens
        self.evidence = evidence
        self.most_pairs = most_pairs
        self._url = url
        self._headers = {"Content-Type": "application/json", "User-Agent": f"groundwarden/{__version__}"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._session: aiohttp.ClientSession | None = None

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of about as many tokens as a language model makes of ``text``."""
        return estimated_spans(text)

    async def ask(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``. Raises ``Overloaded`` for a 429, else ``ScoringError``."""
        question = [{"kind": pair.kind, "premise": pair.premise, "hypothesis": pair.hypothesis} for pair in pairs]
        try:
            async with self._open().post(
                self._url, data=to_json({"pairs": question}), headers=self._headers, allow_redirects=False
            ) as response:
                _refuse_failure(response)
                raw = await _read(response)
        except aiohttp.ServerTimeoutError:
            message = "the scoring service could not be reached in time"
            raise ScoringError(message, reason="timeout") from None
        except (aiohttp.ClientError, OSError) as error:
            message = f"the scoring service could not be reached ({type(error).__name__})"
            raise ScoringError(message) from None
        return _scores(raw, len(pairs))

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        """The session, opened in the running loop when first needed."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),  # whoever asks limits how many questions are open
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),  # and how long they take
                trust_env=True,
            )
        return self._session


def _refuse_failure(response: aiohttp.ClientResponse) -> None:
    if response.status == 429:  # noqa: PLR2004 - HTTP's own number
        message = "the scoring service is busy"
        raise Overloaded(message, retry_after=seconds_to_wait(response.headers.get("Retry-After")))
    if response.status != 200:  # noqa: PLR2004 - as above
        message = f"the scoring service answered with HTTP {response.status}"
        raise ScoringError(message)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    raw = b""
    while block := await response.content.readany():
        raw += block
        if len(raw) > MAX_REPLY:
            message = "the scoring service's answer is too long"
            raise ScoringError(message)
    return raw


def _scores(raw: bytes, count: int) -> list[float]:
    try:
        value: Any = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    scores = value.get("scores") if isinstance(value, dict) else None
    if not isinstance(scores, list) or len(scores) != count or not all(map(_is_score, scores)):
        message = "the scoring service did not give one score in [0, 1] for each pair"
        raise ScoringError(message)
    return [float(score) for score in scores]


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
