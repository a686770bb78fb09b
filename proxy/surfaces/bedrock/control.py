"""The control plane, its reading side: ``GET /guardrails`` and ``GET /guardrails/{id}`` (bedrock 2023-04-20).

A caller sees the policies that it may use, each as DRAFT and as its present version. Writing is refused: policies are
files, and the refusal names the one to edit.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError, Forbidden, NotFound
from proxy.surfaces.base import json_response
from proxy.surfaces.bedrock.guardrails import ARN, DRAFT, name_in, require_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from proxy.grounding.types import Rule
    from proxy.policy.model import Policy
    from proxy.surfaces.base import Call

JsonObject = dict[str, Any]

_MAX_RESULTS = 1000
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_COUNT = re.compile(r"[0-9]{1,9}")  # more digits are no count of policies, and in their thousands no number to Python


class ControlPlane:
    """The surface. ``loaded_at`` says when the policies in force were read, in seconds since 1970."""

    def __init__(self, loaded_at: Callable[[], float]) -> None:
        self._loaded_at = loaded_at

    async def list(self, call: Call) -> Response:
        """Answer ListGuardrails: all that the caller may use, or the versions of one."""
        identifier = call.query.get("guardrailIdentifier")
        if identifier:
            policy = _policy(call, identifier)
            told = [self._summary(policy, version) for version in (DRAFT, policy.version)]
        else:
            told = [self._summary(call.policies[name], DRAFT) for name in sorted(call.caller.allowed)]
        start, end = _page(call.query, len(told))
        body: JsonObject = {"guardrails": told[start:end]}
        return json_response(200, {**body, "nextToken": str(end)} if end < len(told) else body)

    async def get(self, call: Call) -> Response:
        """Answer GetGuardrail."""
        policy = _policy(call, call.path["identifier"])
        version = call.query.get("guardrailVersion") or DRAFT
        require_version(policy, version)
        summary = self._summary(policy, version)
        named = {"guardrailId": summary.pop("id"), "guardrailArn": summary.pop("arn")}
        messages = {"blockedInputMessaging": policy.blocked_message, "blockedOutputsMessaging": policy.blocked_message}
        filters = [_filter("GROUNDING", policy.grounding), _filter("RELEVANCE", policy.relevance)]
        told = {**named, **summary, **messages, "contextualGroundingPolicy": {"filters": filters}}
        return json_response(200, told)

    async def refuse(self, call: Call) -> Response:
        """Refuse to write. Raises ``Forbidden``."""
        name = name_in(call.path.get("identifier", ""))
        file = f"{name}.yaml" if name in call.caller.allowed and _NAME.fullmatch(name) else "a file"
        message = (
            f"Guardrails are policies, and policies are files: edit {file} in the server's policies folder, which "
            "takes effect within two seconds. They cannot be changed through this API."
        )
        raise Forbidden(message)

    def _summary(self, policy: Policy, version: str) -> JsonObject:
        time = datetime.fromtimestamp(self._loaded_at(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        told = {
            "id": policy.name,
            "arn": ARN + policy.name,
            "status": "READY",
            "name": policy.name,
            "version": version,
            "createdAt": time,
            "updatedAt": time,
        }
        return {**told, "description": policy.description} if policy.description else told


def _policy(call: Call, identifier: str) -> Policy:
    """A policy that the caller may use. Raises ``NotFound`` for another and for none, in the same words."""
    name = name_in(identifier)
    if name not in call.caller.allowed:
        message = "There is no such guardrail, or you don't have access to it."
        raise NotFound(message, param="guardrailIdentifier")
    return call.policies[name]


def _filter(kind: str, rule: Rule) -> JsonObject:
    action = "BLOCK" if rule.action == "block" else "NONE"
    return {"type": kind, "threshold": rule.threshold, "action": action, "enabled": rule.active}


def _page(query: Mapping[str, str], total: int) -> tuple[int, int]:
    """Where the page that is asked for begins and ends."""
    size, token = query.get("maxResults", str(_MAX_RESULTS)), query.get("nextToken", "0")
    if not (_COUNT.fullmatch(size) and 1 <= int(size) <= _MAX_RESULTS):
        message = f"maxResults must be a whole number from 1 to {_MAX_RESULTS}."
        raise CallerError(message, param="maxResults")
    if not (_COUNT.fullmatch(token) and int(token) <= total):
        message = "nextToken must be one that ListGuardrails has given."
        raise CallerError(message, param="nextToken")
    return int(token), min(int(token) + int(size), total)
