"""A chat completion's request, read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxy.grounding.types import GroundingContext
    from proxy.policy.model import Policy
    from proxy.upstream.base import Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request, read: what to ask, of whom, against what to judge the answer."""

    upstream: Upstream
    body: dict[str, Any]
    context: GroundingContext
    policy: Policy
    trace: bool
    stream: bool
    choices: int
    include_usage: bool
