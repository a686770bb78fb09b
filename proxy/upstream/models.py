"""The models behind the proxy, made from ``model_list`` and found by name."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from proxy.grounding.errors import no_such_model
from proxy.upstream.litellm_adapter import LiteLLM
from proxy.upstream.passthrough import Connections, PassThrough

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from proxy.upstream.base import Upstream
    from proxy.upstream.model_list import ModelEntry


class UpstreamSet:
    """The models that callers may name. Several deployments of one name take turns."""

    def __init__(self, upstreams: Iterable[Upstream], connections: Connections | None = None) -> None:
        self._all = tuple(upstreams)
        self._connections = connections
        by_name: dict[str, list[Upstream]] = {}
        for upstream in self._all:
            by_name.setdefault(upstream.name, []).append(upstream)
        self._turns: dict[str, Iterator[Upstream]] = {name: cycle(group) for name, group in by_name.items()}

    def names(self) -> tuple[str, ...]:
        """Every ``model_name`` once, in the order of the file."""
        return tuple(self._turns)

    def get(self, model_name: str) -> Upstream:
        """Return the deployment whose turn it is. Raises ``NotFound`` (404) for a name that is not in the list."""
        turns = self._turns.get(model_name)
        if turns is None:
            raise no_such_model(model_name)
        return next(turns)

    async def warm(self) -> None:
        """Load what the first call would wait for. Raises ``UpstreamError`` when a provider is not known."""
        for upstream in self._all:
            await upstream.warm()

    async def close(self) -> None:
        """Free every connection."""
        for upstream in self._all:
            await upstream.close()
        if self._connections is not None:
            await self._connections.close()


def build_upstreams(entries: Iterable[ModelEntry]) -> UpstreamSet:
    """Make one upstream for each entry; nothing is connected or imported until the first call."""
    connections = Connections()
    return UpstreamSet((_build(entry, connections) for entry in entries), connections)


def _build(entry: ModelEntry, connections: Connections) -> Upstream:
    if entry.litellm_params.passes_through:
        return PassThrough(entry.model_name, entry.litellm_params, connections)
    return LiteLLM(entry.model_name, entry.litellm_params)
