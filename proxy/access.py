"""Who is calling: a key in, a ``Caller`` out.

Keys are compared as SHA-256 digests, each with every tenant's, in constant time and without stopping early, so that
neither a key nor a tenant's place in the list shows in the time taken. No message holds a key.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxy.grounding.errors import Forbidden, Unauthenticated
from proxy.policy.store import DEFAULT
from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.settings import Settings

_KEY_HEADERS = ("api-key", "x-api-key", "ocp-apim-subscription-key", "x-goog-api-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A tenant that has shown its key: the policy it is under, and all policies it may name."""

    tenant: str
    policy: str
    allowed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Who signs with an AWS access key, and the secret that it is verified with."""

    secret: str = field(repr=False)
    caller: Caller


_ANYONE = Caller(tenant=DEFAULT, policy=DEFAULT, allowed=frozenset({DEFAULT}))


class Access:
    """The tenants of the settings and their keys. Without tenants everyone is the one tenant ``default``."""

    def __init__(self, settings: Settings) -> None:
        callers = [
            (tenant, Caller(tenant=tenant.id, policy=tenant.policy, allowed=tenant.allowed))
            for tenant in settings.tenants
        ]
        self._keys = [(digest, caller) for tenant, caller in callers for digest in tenant.key_sha256]
        self._open = not settings.tenants
        self.signers = {
            tenant.aws.access_key_id: Signer(secret=settings.aws_secrets[tenant.aws.access_key_id], caller=caller)
            for tenant, caller in callers
            if tenant.aws is not None
        }
        """Tenants that sign, by AWS access key id."""

    def identify(self, headers: Mapping[str, str]) -> Caller:
        """Find whose key a request carries, in any of the headers our dialects use. Names match in any case.

        Of several known keys the first counts, in the order of INTERFACES section 7. Raises ``Unauthenticated``.
        """
        if self._open:
            return _ANYONE
        given = list(_keys(headers))
        if not given:
            message = (
                "You didn't provide an API key. Provide it as a bearer token in the Authorization header "
                "(Authorization: Bearer YOUR_KEY), or in the api-key or x-api-key header."
            )
            raise Unauthenticated(message)
        for key in given:
            caller = self._known(key)
            if caller is not None:
                return caller
        message = "Incorrect API key provided. Ask the operator of this server for a key."
        raise Unauthenticated(message)

    def choose(self, caller: Caller, name: str | None) -> str:
        """Decide which policy applies to a request that names one (None: its own). Raises ``Forbidden``."""
        if name is None:
            return caller.policy
        if name not in caller.allowed:
            # The same words whether or not the policy exists: others' policies are not ours to reveal.
            message = "You don't have access to this guardrail. Here a guardrail's identifier is the name of a policy."
            raise Forbidden(message, param="guardrailIdentifier")
        return name

    def _known(self, key: str) -> Caller | None:
        presented = sha256_of(key)
        found = None
        for digest, caller in self._keys:
            if hmac.compare_digest(presented, digest):
                found = caller
        return found


def _keys(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield every key a request carries."""
    lowered = {name.lower(): value for name, value in headers.items()}
    scheme, _, token = lowered.get("authorization", "").strip().partition(" ")
    candidates = [token if scheme.lower() == "bearer" else "", *(lowered.get(name, "") for name in _KEY_HEADERS)]
    return (key.strip() for key in candidates if key.strip())
