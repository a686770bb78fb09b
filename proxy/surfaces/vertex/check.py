"""Check grounding: ``POST …/groundingConfigs/{config}:check`` (google-cloud-discoveryengine, v1, v1beta, v1alpha).

A claim is a sentence. It is supported by what a fact says, and by what its attributes say of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxy.grounding.errors import CallerError
from proxy.surfaces.base import json_response
from proxy.surfaces.vertex.judged import Fact, judged, policy_for, threshold_in
from proxy.surfaces.vertex.protojson import Message, Read, Repeated, Strings, read
from proxy.surfaces.vertex.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from proxy.grounding.types import Evidence
    from proxy.surfaces.base import Call, Services
    from proxy.surfaces.vertex.judged import Judgement

JsonObject = dict[str, Any]

MOST_TOKENS = 4096
"""Of an answer candidate, as ``tokens`` counts them."""

MOST_FACTS, MOST_FACT_CHARS = 200, 10_000

MOST_ATTRIBUTES = 64
"""Of a fact. Google states no limit; each is looked at for every claim."""

MOST_LABELS, MOST_LABEL_CHARS = 64, 63

ONE_CHUNK = 600
"""Characters: what is cited of one fact at no greater distance is one chunk. About the length of a window."""

_REQUEST = Message(
    {
        "grounding_config": "STRING",  # stands in the path
        "answer_candidate": "STRING",
        "facts": Repeated(Message({"fact_text": "STRING", "attributes": Strings()}), most=MOST_FACTS),
        "grounding_spec": Message({"citation_threshold": "DOUBLE", "enable_claim_level_score": "BOOL"}),
        "user_labels": Strings(),
    }
)
_PLACES = 4


class CheckGrounding:
    """The surface."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def check(self, call: Call) -> Response:
        """Answer one call."""
        policy = policy_for(self._services, call, call.path["config"])
        body = read(call.body, _REQUEST)
        spec = body.get("grounding_spec", {})
        _require_labels(body.get("user_labels", {}))
        found = await judged(
            self._services,
            call,
            await _candidate(body),
            _facts(body),
            policy=policy,
            threshold=threshold_in(spec, "grounding_spec.citation_threshold"),
        )
        return json_response(200, _render(found, scores=spec.get("enable_claim_level_score", False)))


async def _candidate(body: Read) -> str:
    text: str = body.get("answer_candidate", "")
    if not text.strip():
        message = "answer_candidate must be given: the text to check."
        raise CallerError(message, param="answer_candidate")
    if await asyncio.to_thread(count_tokens, text, most=MOST_TOKENS) > MOST_TOKENS:  # a long text takes a while
        message = f"answer_candidate must have at most {MOST_TOKENS} tokens: words, and marks that end a sentence."
        raise CallerError(message, param="answer_candidate")
    return text


def _facts(body: Read) -> list[Fact]:
    facts = body.get("facts", [])
    for number, fact in enumerate(facts):
        if (length := len(fact.get("fact_text", ""))) > MOST_FACT_CHARS:
            path = f"facts[{number}].fact_text"
            message = f"{path} must have at most {MOST_FACT_CHARS} characters; it has {length}."
            raise CallerError(message, param=path)
        if (count := len(fact.get("attributes", {}))) > MOST_ATTRIBUTES:
            path = f"facts[{number}].attributes"
            message = f"{path} must be at most {MOST_ATTRIBUTES}; there are {count}."
            raise CallerError(message, param=path)
    return [
        Fact(text=fact.get("fact_text", ""), attributes=tuple(fact.get("attributes", {}).items())) for fact in facts
    ]


def _require_labels(labels: dict[str, str]) -> None:
    """Raise ``CallerError`` for labels that Google's rules do not allow. They change nothing: nothing is billed."""
    if len(labels) > MOST_LABELS:
        message = f"user_labels must be at most {MOST_LABELS}; there are {len(labels)}."
        raise CallerError(message, param="user_labels")
    for name, value in labels.items():
        if not (name and _is_label(name) and _is_label(value) and name[0].isalpha()):
            message = (
                f"user_labels must have keys of 1 to {MOST_LABEL_CHARS} and values of up to {MOST_LABEL_CHARS} "
                "characters: lowercase letters, digits, underscores and dashes; a key begins with a letter."
            )
            raise CallerError(message, param="user_labels")


def _is_label(text: str) -> bool:
    return len(text) <= MOST_LABEL_CHARS and all(
        sign in "_-" or (sign.isalnum() and sign == sign.lower()) for sign in text
    )


@dataclass(slots=True)
class _Chunk:
    """A stretch of a fact that is cited."""

    fact: int
    start: int
    end: int


@dataclass(slots=True)
class _Chunks:
    """All that is cited, in the order in which it first is; what is cited of a fact side by side is one."""

    all: list[_Chunk] = field(default_factory=list)

    def add(self, fact: int, found: Evidence) -> None:
        start, end = found.window.start, found.window.end
        near = [
            chunk
            for chunk in self.all
            if chunk.fact == fact and start <= chunk.end + ONE_CHUNK and chunk.start <= end + ONE_CHUNK
        ]
        if not near:
            self.all.append(_Chunk(fact, start, end))
            return
        first = near[0]
        first.start = min(start, *(chunk.start for chunk in near))
        first.end = max(end, *(chunk.end for chunk in near))
        self.all = [chunk for chunk in self.all if chunk is first or chunk not in near]

    def index(self, fact: int, found: Evidence) -> int:
        start = found.window.start
        return next(at for at, chunk in enumerate(self.all) if chunk.fact == fact and chunk.start <= start <= chunk.end)


def _render(found: Judgement, *, scores: bool) -> JsonObject:
    cited = [found.cited(result) for result in found.results]
    chunks = _Chunks()
    for evidence in cited:
        for fact, each in evidence:
            chunks.add(fact, each)
    told = [_chunk(chunk, at, found.facts) for at, chunk in enumerate(chunks.all)]
    claims: list[JsonObject] = []
    for result, (start, end), evidence in zip(found.results, found.places(), cited, strict=True):
        required = found.checked(result.claim)
        claim: JsonObject = {
            "startPos": start,
            "endPos": end,
            "claimText": result.claim.text,
            "groundingCheckRequired": required,
        }
        if required:
            claim["citationIndices"] = list(dict.fromkeys(chunks.index(fact, each) for fact, each in evidence))
            if scores:
                claim["score"] = round(result.support or 0.0, _PLACES)
        claims.append(claim)
    return {
        "supportScore": round(found.share(), _PLACES),
        "citedChunks": told,
        "citedFacts": [{"chunkText": chunk["chunkText"]} for chunk in told],
        "claims": claims,
    }


def _chunk(chunk: _Chunk, at: int, facts: Sequence[Fact]) -> JsonObject:
    fact = facts[chunk.fact]
    attributes = dict(fact.attributes)
    known = {name.casefold(): value for name, value in attributes.items()}
    named = {
        "sourceMetadata": attributes,
        "uri": known.get("uri") or known.get("url"),
        "title": known.get("title"),
    }
    return {
        "chunkText": fact.text[chunk.start : chunk.end],
        "source": str(chunk.fact),
        "index": at,
        **{name: value for name, value in named.items() if value},
    }
