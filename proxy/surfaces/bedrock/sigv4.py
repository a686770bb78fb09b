"""AWS's signatures (SigV4), verified: a request that a tenant's secret has signed is that tenant's.

botocore makes the signature anew from what came over the wire, with the secret of the access key that the request
names; the two are compared in constant time. Every header that AWS's services read (``x-amz…``) must be among the
signed ones, so must the host and the date; the body counts by its own hash, whatever a header says of it. The region
is whatever the caller's SDK has. Presigned addresses and session tokens are refused: tenants' keys have neither.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from proxy.access import Caller, Signer

CLOCK_SKEW = 300.0
"""Seconds by which a caller's clock may differ from ours; so long, too, may a request be sent again."""

SERVICE = "bedrock"
"""The name under which bedrock-runtime and bedrock sign."""

_SCHEME = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{_SCHEME}\s+Credential=(?P<key>[^/,\s]+)/(?P<date>\d{{8}})/(?P<region>[a-z0-9-]{{1,40}})/(?P<service>[a-z0-9-]+)"
    r"/aws4_request\s*,\s*SignedHeaders=(?P<headers>[a-z0-9_;-]+)\s*,\s*Signature=(?P<signature>[0-9a-f]{64})"
)
_DATE = "%Y%m%dT%H%M%SZ"
_ALWAYS_SIGNED = frozenset({"host", "x-amz-date"})
_PRESIGNED = frozenset({"x-amz-algorithm", "x-amz-credential", "x-amz-signature"})  # of an address, in any case
_SESSION = "x-amz-security-token"
_ADDED_ON_THE_WAY = frozenset({"x-amzn-trace-id"})  # by load balancers, after the signature


class Signatures:
    """Verifies signatures of the ``signers``, by access key id. ``now`` is the clock, in seconds since 1970."""

    def __init__(self, signers: Mapping[str, Signer], *, now: Callable[[], float] = time.time) -> None:
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - loaded only where requests are signed
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above
        from botocore.credentials import Credentials  # noqa: PLC0415 - as above

        self._signers, self._now = signers, now
        self._auth, self._request, self._credentials = SigV4Auth, AWSRequest, Credentials

    def signs(self, request: Request) -> bool:
        """Whether a request is signed at all.

        Raises ``Unauthenticated`` for a signature that is wrong whatever the body, before that is read.
        """
        if _PRESIGNED & {name.lower() for name in request.query_params}:
            message = "Presigned addresses are not taken here: sign the request's headers."
            raise Unauthenticated(message)
        if not request.headers.get("authorization", "").startswith(_SCHEME):
            return False
        self._read(request)
        return True

    def caller(self, request: Request, body: bytes) -> Caller:
        """Whose request it is. Raises ``Unauthenticated``."""
        parts, signer = self._read(request)
        told = request.headers.get("x-amz-content-sha256")
        if told is not None and not hmac.compare_digest(told.encode(), hashlib.sha256(body).hexdigest().encode()):
            message = "The request's x-amz-content-sha256 is not the hash of its body."
            raise Unauthenticated(message)
        if not hmac.compare_digest(self._signature(request, body, parts, signer), parts["signature"]):
            message = (
                "The request signature we calculated does not match the signature you provided. Check your AWS secret "
                "access key, and that nothing between you and this server changes the Host header."
            )
            raise Unauthenticated(message)
        return signer.caller

    def _read(self, request: Request) -> tuple[dict[str, str], Signer]:
        """The parts of a signature that may be right."""
        found = _AUTHORIZATION.fullmatch(request.headers.get("authorization", "").strip())
        signer = self._signers.get(found["key"]) if found else None
        if found is None or signer is None:
            message = "The security token included in the request is invalid."
            raise Unauthenticated(message)
        parts = found.groupdict()
        if parts["service"] != SERVICE:
            message = f"The signature's credential must be scoped to the service {SERVICE}."
            raise Unauthenticated(message)
        signed = set(parts["headers"].split(";"))
        sent = {name for name in request.headers if name.startswith("x-amz")} - _ADDED_ON_THE_WAY
        if missing := sorted((_ALWAYS_SIGNED | sent) - signed):
            message = f"The signature must cover the headers {', '.join(missing)[:200]}."
            raise Unauthenticated(message)
        if _SESSION in sent:
            message = "This server's access keys have no session token: send none (unset AWS_SESSION_TOKEN)."
            raise Unauthenticated(message)
        self._require_now(request.headers.get("x-amz-date", ""), parts["date"])
        return parts, signer

    def _require_now(self, date: str, day: str) -> None:
        try:
            signed = datetime.strptime(date, _DATE).replace(tzinfo=UTC).timestamp()
        except ValueError:
            message = "x-amz-date must be a time such as 20260102T030405Z."
            raise Unauthenticated(message) from None
        if abs(self._now() - signed) > CLOCK_SKEW or not date.startswith(day):
            message = f"Signature expired, or not yet valid: x-amz-date may differ by {CLOCK_SKEW:g} seconds."
            raise Unauthenticated(message)

    def _signature(self, request: Request, body: bytes, parts: dict[str, str], signer: Signer) -> str:
        auth = self._auth(self._credentials(parts["key"], signer.secret), parts["service"], parts["region"])
        made = self._made(request, body, set(parts["headers"].split(";")))
        made.context["timestamp"] = request.headers["x-amz-date"]
        return str(auth.signature(auth.string_to_sign(made, auth.canonical_request(made)), made))

    def _made(self, request: Request, body: bytes, signed: set[str]) -> Any:
        """The request as botocore has it: its path and query as they came, and no header but the signed ones."""
        if "host" not in request.headers:
            message = "A signed request needs a Host header."
            raise Unauthenticated(message)
        path = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
        query = request.scope["query_string"].decode("latin-1")
        url = f"http://{request.headers.get('host', '')}{path}{'?' if query else ''}{query}"
        made = self._request(method=request.method, url=url, data=body)
        for name, value in request.headers.items():
            if name in signed:
                made.headers[name] = value
        return made
