"""The page itself: one file, sent with a policy that lets it run its own script and reach its own server only."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("page.html")
_BLOCK = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is sent: the document, and its headers."""

    body: bytes
    headers: dict[str, str]


@cache
def page() -> Page:
    """Read the page. Its one script and its one style are named by their hashes, so that no other may run or apply."""
    text = _FILE.read_text(encoding="utf-8")
    hashes = {name: _hash(content) for name, content in _BLOCK.findall(text)}
    rules = (
        "default-src 'none'",
        f"script-src '{hashes['script']}'",
        f"style-src '{hashes['style']}'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return Page(
        body=text.encode(),
        headers={
            "content-type": "text/html; charset=utf-8",
            "content-security-policy": "; ".join(rules),
            "cache-control": "no-cache",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
        },
    )


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
