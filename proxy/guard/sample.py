"""A set of policies as it applies to one request: those whose ``sample`` leaves it out judge nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.policy.model import Policy


class Sampled(Mapping[str, "Policy"]):
    """The policies of one snapshot, for the request of one id."""

    def __init__(self, policies: Mapping[str, Policy], request_id: str) -> None:
        self._policies, self._request_id = policies, request_id

    def __getitem__(self, name: str) -> Policy:
        return self._policies[name].for_request(self._request_id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._policies)

    def __len__(self) -> int:
        return len(self._policies)
