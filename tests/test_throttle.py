"""What a tenant may use, when the system's clock does not go as it should."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from proxy.grounding.errors import RateLimited
from proxy.settings import TenantLimits
from proxy.throttle import Throttle

if TYPE_CHECKING:
    import pytest


async def asked(throttle: Throttle, times: int) -> list[int]:
    """Ask so often; the seconds after which to come back, 0 where it was let in."""
    told = []
    for _ in range(times):
        try:
            await throttle.enter("acme")
        except RateLimited as error:
            told.append(error.retry_after)
        else:
            throttle.leave("acme")
            told.append(0)
    return told


async def test_a_clock_that_is_put_back_locks_nobody_out(monkeypatch: pytest.MonkeyPatch):
    """An hour back, a minute's worth is let in as ever, and not a request more; forward it is a new minute."""
    throttle = Throttle({"acme": TenantLimits(requests_per_minute=2)})
    real = time.time
    first = await asked(throttle, 4)
    assert (first[:2], [55 <= wait <= 61 for wait in first[2:]]) == ([0, 0], [True, True])

    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    back = await asked(throttle, 4)
    assert (back[:2], [55 <= wait <= 61 for wait in back[2:]]) == ([0, 0], [True, True])

    monkeypatch.setattr(time, "time", real)
    assert (await asked(throttle, 3))[:2] == [0, 0]
