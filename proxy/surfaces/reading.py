"""A streamed answer's chunks read into pieces for the guard: the part that no dialect changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from proxy.grounding.errors import UpstreamError
from proxy.guard.stream import Piece
from proxy.surfaces.answers import Spelled, Watch, object_in
from proxy.upstream.base import BROKE_OFF

if TYPE_CHECKING:
    from proxy.guard.answer import AnswerPart
    from proxy.policy.model import Policy

JsonObject = dict[str, Any]
_Item = TypeVar("_Item")


class Reading(Generic[_Item]):
    """What one stream says. A surface adds each chunk's ``data``, then makes pieces of it; ``item`` is what it renders.

    ``done`` is set by the surface when ``[DONE]`` has come.
    """

    def __init__(self, policy: Policy) -> None:
        self._watch, self._spelled = Watch(policy), Spelled()
        self.done = False

    def add(self, data: JsonObject) -> None:
        """Join one more chunk. Raises ``UpstreamError`` for what is none."""
        self._spelled.add(data)

    def piece_of_none(self, item: _Item, data: JsonObject) -> Piece[_Item]:
        """A chunk without a choice."""
        return Piece(index=None, item=item, hold=self._watch.holds_around(data))

    def piece(self, item: _Item, data: JsonObject, choice: JsonObject, *, index: int, splits: bool) -> Piece[_Item]:
        """One choice of a chunk; ``splits`` as in ``Piece``."""
        content = object_in(choice, "delta").get("content")
        return Piece(
            index=index,
            item=item,
            text=content if isinstance(content, str) else "",
            hold=self._watch.holds(data, choice),
            last=bool(choice.get("finish_reason")),
            splits=splits,
        )

    def parts(self) -> list[AnswerPart]:
        """The choices, whole. Raises ``UpstreamError`` for a stream that broke off or held none."""
        if not (self.done or self._spelled.complete):
            raise UpstreamError(BROKE_OFF)
        return self._spelled.parts()
