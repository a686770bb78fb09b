"""Amazon Nova: Converse's messages and events, with a place of its own for the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxy.surfaces.bedrock.blocks import read_conversation
from proxy.surfaces.bedrock.converse import Blocks, whole_body
from proxy.surfaces.bedrock.fields import Fields
from proxy.surfaces.bedrock.parameters import read_nova
from proxy.surfaces.bedrock.prompt import Prompt
from proxy.surfaces.bedrock.shapes import shaped

if TYPE_CHECKING:
    from proxy.surfaces.bedrock.flow import Writer
    from proxy.surfaces.bedrock.said import Said

JsonObject = dict[str, Any]

_AS_IN_CONVERSE = ("messages", "system", "toolConfig")


class Nova:
    """The family."""

    def read(self, body: JsonObject) -> Prompt:
        """The prompt in a body."""
        fields, prompt = Fields(body), Prompt()
        fields.ignore("schemaVersion")
        shared = {name: fields.taken(name) for name in _AS_IN_CONVERSE if fields.has(name)}
        read_conversation(prompt, shaped("Converse", shared))
        read_nova(fields.inside("inferenceConfig"), prompt)
        fields.done()
        return prompt

    def whole(self, said: Said, model: str) -> JsonObject:  # noqa: ARG002 - others tell it
        """Converse's body, without its metrics."""
        return whole_body(said)

    def writer(self, model: str) -> Writer:  # noqa: ARG002 - as above
        """Converse's events, each an object of its own."""
        return Blocks(tell_trace=False)
