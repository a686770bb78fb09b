"""What a family of bodies is, and what those have in common that can tell nothing but text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Writer
    from proxy.surfaces.bedrock.prompt import Prompt
    from proxy.surfaces.bedrock.said import Picture, Said

JsonObject = dict[str, Any]


class Family(Protocol):
    """One maker's bodies: a body read into a prompt, an answer written whole or piece by piece."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body. Raises ``CallerError`` naming the field, one that the family does not have too."""
        ...

    def whole(self, said: Said, model: str) -> JsonObject:
        """A whole answer; ``model`` is the id that the caller gave."""
        ...

    def writer(self, model: str) -> Writer:
        """What writes a stream; each object becomes one chunk."""
        ...


class Untold:
    """The pieces of an answer for which a family has no place: nothing is written of them."""

    def thought(self, text: str) -> list[JsonObject]:  # noqa: ARG002 - there is no place for it
        """Nothing."""
        return []

    def picture(self, picture: Picture) -> list[JsonObject]:  # noqa: ARG002 - as above
        """Nothing."""
        return []

    def call(self, at: int, identity: str, name: str, arguments: str) -> list[JsonObject]:  # noqa: ARG002 - as above
        """Nothing: who cannot offer tools is not called for them."""
        return []
