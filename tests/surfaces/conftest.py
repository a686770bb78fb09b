"""One server for all tests of the surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from surfaces.support import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recording import Recording


@pytest.fixture(scope="session")
def _world(tmp_path_factory: pytest.TempPathFactory, _recording_server: Recording) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world"), _recording_server) as world:
        yield world


@pytest.fixture
def world(_world: World) -> World:
    """The server with nothing recorded or scripted, its scorer in a good mood."""
    _world.reset()
    return _world
