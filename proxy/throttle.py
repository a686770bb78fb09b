"""How much of this server each tenant may use: requests a minute, and requests at once.

Counted in this process alone: with several replicas a tenant has as much of each. The minute is the one that ends now,
not one of the clock, so no burst of twice the limit fits around its edge. When the system's clock is put back, it
begins anew: else nobody would come in until the clock is where it was.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING

from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from proxy.grounding.errors import RateLimited

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.settings import TenantLimits

_AT_ONCE_SECONDS = 1
"""When to come back where too many requests are open: one of them may end at any moment."""
_CLOCK_SECONDS = 1
"""By how much a clock may be put back and nothing is made of it: it is corrected so all the time."""


class Throttle:
    """The limits of the tenants that have any, by tenant id."""

    def __init__(self, limits: Mapping[str, TenantLimits]) -> None:
        self._limits = limits
        self._rates = {
            tenant: RateLimitItemPerMinute(limit.requests_per_minute)
            for tenant, limit in limits.items()
            if limit.requests_per_minute is not None
        }
        self._open: Counter[str] = Counter()
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def enter(self, tenant: str) -> None:
        """Let a request in, and count it until ``leave``. Raises ``RateLimited``, and then nothing is counted."""
        limit = self._limits.get(tenant)
        most = limit.concurrency if limit else None
        if most is not None and self._open[tenant] >= most:
            message = f"Too many requests at once: {most} may be open. Wait until one has been answered."
            raise RateLimited(message, retry_after=_AT_ONCE_SECONDS)
        self._open[tenant] += 1  # before anything is waited for, so that no two take the last place
        try:
            await self._count(tenant)
        except BaseException:
            self.leave(tenant)
            raise

    def leave(self, tenant: str) -> None:
        """Say that a request that was let in has been answered."""
        self._open[tenant] -= 1

    async def _count(self, tenant: str) -> None:
        rate = self._rates.get(tenant)
        if rate is None or await self._limiter.hit(rate, tenant):
            return
        begins, _ = await self._limiter.get_window_stats(rate, tenant)
        if begins - time.time() > rate.get_expiry() + _CLOCK_SECONDS:  # what was counted is yet to come
            await self._limiter.clear(rate, tenant)
            await self._limiter.hit(rate, tenant)
            return
        message = f"Too many requests: {rate.amount} a minute are allowed."
        raise RateLimited(message, retry_after=max(1, math.ceil(begins - time.time())))
