"""Corroborate content: ``POST …/locations/{location}:corroborateContent`` (google-cloud-aiplatform, v1 and v1beta1).

Facts are given with the request: no corpus is searched here. Indices of claims are UTF-8 bytes, as in all of Google's
grounding supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.surfaces.base import json_response
from proxy.surfaces.vertex.judged import Fact, judged, policy_for, threshold_in
from proxy.surfaces.vertex.protojson import Message, Read, Repeated, read

if TYPE_CHECKING:
    from starlette.responses import Response

    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.vertex.judged import Judgement

JsonObject = dict[str, Any]

_OTHER_DATA = (
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
)
_PART = Message(
    {
        "text": "STRING",
        **dict.fromkeys(_OTHER_DATA, "ANY"),
        **dict.fromkeys(("thought", "thought_signature", "video_metadata", "media_resolution"), "ANY"),
    }
)
_CHUNK = Message({"text": "STRING", "page_span": "ANY", "file_id": "STRING", "chunk_id": "STRING"})
_FACT = Message(
    {
        "query": "STRING",
        "title": "STRING",
        "uri": "STRING",
        "summary": "STRING",
        "vector_distance": "DOUBLE",
        "score": "DOUBLE",
        "chunk": _CHUNK,
    }
)
_REQUEST = Message(
    {
        "parent": "STRING",  # stands in the path
        "content": Message({"role": "STRING", "parts": Repeated(_PART)}),
        "facts": Repeated(_FACT),
        "parameters": Message({"citation_threshold": "DOUBLE"}),
    }
)
_PLACES = 4


class CorroborateContent:
    """The surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def corroborate(self, call: Call) -> Response:
        """Answer one call."""
        policy = policy_for(self._services, call, None)
        body = read(call.body, _REQUEST)
        least = threshold_in(body.get("parameters", {}), "parameters.citation_threshold")
        facts = [_fact(fact) for fact in body.get("facts", [])]
        found = await judged(self._services, call, _text(body), facts, policy=policy, threshold=least, field="content")
        return json_response(200, _render(found, least or 0.0))


def _text(body: Read) -> str:
    """The text of all parts, one behind the other, so that indices count in what the parts spell."""
    parts = body.get("content", {}).get("parts", [])
    for at, part in enumerate(parts):
        for name in _OTHER_DATA:
            if name in part:
                path = f"content.parts[{at}].{name}"
                message = f"{path} cannot be corroborated: only text can."
                raise CallerError(message, param=path)
    text = "".join(part.get("text", "") for part in parts)
    if not text.strip():
        message = "content must be given: the text to corroborate, in content.parts."
        raise CallerError(message, param="content")
    return text


def _fact(fact: Read) -> Fact:
    """A fact's own words are its chunk's; a summary counts beside them. Title and address are said of them."""
    texts = dict.fromkeys((fact.get("chunk", {}).get("text", ""), fact.get("summary", "")))
    attributes = ((name, fact[name]) for name in ("title", "uri") if fact.get(name))
    return Fact(text="\n".join(text for text in texts if text.strip()), attributes=tuple(attributes))


def _render(found: Judgement, least: float) -> JsonObject:
    """Google's reply: the claims that were checked and reach ``least``."""
    claims = [
        {
            "startIndex": start,
            "endIndex": end,
            "factIndexes": sorted({fact for fact, _ in found.cited(result)}),
            "score": round(result.support or 0.0, _PLACES),
        }
        for result, (start, end) in zip(found.results, found.places(), strict=True)
        if found.checked(result.claim) and (result.support or 0.0) >= least
    ]
    return {"corroborationScore": round(found.share(), _PLACES), "claims": claims}
