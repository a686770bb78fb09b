"""Fixtures for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from recording import Recording
from smollm import smollm

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["recording", "smollm"]


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what LiteLLM's own types make pydantic warn of when they are first used."""
    config.addinivalue_line("filterwarnings", "ignore:Items? '.*' on TypedDict class '.*' (is|are) using:UserWarning")


@pytest.fixture(scope="session")
def _recording_server() -> Iterator[Recording]:
    with Recording() as server:
        yield server


@pytest.fixture
def recording(_recording_server: Recording) -> Recording:
    """A recording upstream with nothing recorded or scripted."""
    _recording_server.reset()
    return _recording_server
