"""What is said of a file that cannot be read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Within this, a file that the system will not open raises ``ValueError`` with its name and the reason."""
    try:
        yield
    except OSError as error:
        message = f"{file}: {(error.strerror or 'cannot be read').lower()}"
        raise ValueError(message) from None
