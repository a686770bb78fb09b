"""An upstream's error in the middle of an answer, as it may reach the caller.

By then the model has spoken, and providers quote in errors what they could not parse or finish: text that nobody has
judged. So of an upstream's own words only those leave that speak of servers and requests and can say nothing of any
document: a message, type or code with another word in it does not.
"""

from __future__ import annotations

import re

from proxy.grounding.errors import UpstreamError
from proxy.upstream.base import BROKE_OFF

MOST_WORDS = 40

_WORD = re.compile(r"[a-z]+(?:[\'\u2019][a-z]+)?|\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_NUMBER = 6
_WORDS = frozenset(
    """
    a about above after again all allowed already an and any are as at attempt attempts back bad be because been before
    being below broken busy but by can cannot capacity check client close closed code complete completed completion
    connect connecting connection contact content context continue could currently data deadline decode decoding demand
    details did disconnected does doesn't down due during elapsed encountered end ended engine error errors event exceed
    exceeded exceeds exception expected expired fail failed failure filter filtered finish finished flagged for found
    from gateway generate generating generation got had has have having help high if in incomplete inference instance
    internal interrupted invalid is issue it its key kind large later length less limit limited limits load longer lost
    malformed management max maximum memory message messages minute minutes missing model moderation moment more must
    needs network no not number occurred of off on only oops operation or our out output over overload overloaded
    parameter params please policy problem process processing prompt prompts provider proxy quota rate reach reached
    read reason received reduce refused reject rejected remote request requested requests required reset resource
    resources response responses result retry returned routing run running safety second seconds see sent server
    servers service setting size slow something sorry status stopped stream streaming such support supported system
    temporarily temporary terminated than that the their then there this throttled throttling time timed timeout to
    token tokens too traffic triggered try type unable unauthorized unavailable under unexpected unexpectedly unknown
    upstream usage use user valid value violation wait was we went were when which while will with within without worker
    write wrong you your
    """.split()
)


def harmless(error: UpstreamError) -> UpstreamError:
    """The error, less every word of the upstream's that might be the model's."""
    if not error.quoted:
        return error
    shown = UpstreamError(
        error.message if _is_bare(error.message) else BROKE_OFF,
        status=error.status,
        type=_kept(error.type),
        retry_after=error.retry_after,
    )
    shown.code = _kept(error.code)
    return shown


def _kept(word: str | None) -> str | None:
    return word if word is not None and _is_bare(word) else None


def _is_bare(text: str) -> bool:
    words = _WORD.findall(_HUMP.sub(" ", text).lower())
    numbers = [word for word in words if word.isdigit()]
    return (
        0 < len(words) <= MOST_WORDS
        and _WORDS.issuperset(word for word in words if not word.isdigit())
        and all(len(number) <= _LONGEST_NUMBER for number in numbers)
        and len(numbers) <= 2  # noqa: PLR2004 - "the limit of 8192 tokens was exceeded: 9000"
        and text.isascii()
    )
