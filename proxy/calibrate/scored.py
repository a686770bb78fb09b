"""Scoring labelled rows as the proxy would score them, less the policy's own calibration.

An answer's grounding is that of its weakest claim, its relevance that of its best (``proxy.grounding.verdict``); a
calibration that rises keeps both in their places, so it may be fitted to whole answers as well as to single claims.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxy.grounding.calibration import Calibration
from proxy.grounding.types import MAX_THRESHOLD, CheckKind
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor
from proxy.guard.exchange import Meter, assess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.calibrate.rows import Example
    from proxy.grounding.types import Verdict
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """An example with its scores as the scorer gave them, for each check that it is labelled for."""

    example: Example
    scores: Mapping[CheckKind, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What came of the examples: those that have scores, how many assert nothing, and why others have none."""

    rows: tuple[Scored, ...]
    silent: int = 0
    failed: tuple[str, ...] = ()


async def score(
    examples: Sequence[Example], scorer: Scorer, policy: Policy, step: Callable[[], None] = lambda: None
) -> Scoring:
    """Score every example that did not come with its scores; ``step`` is called after each.

    What the policy lets through unscored is scored here all the same. Raises ``ScoringError`` when the scorer does not
    load; a row that it fails on is passed over.
    """
    await scorer.warm()
    assessor = Assessor(scorer)
    rows: list[Scored] = []
    silent, failed = 0, []
    for example in examples:
        verdict = None if example.scores else await _verdict(example, assessor, policy)
        claims = verdict.claims if verdict else ()
        scores = example.scores if verdict is None else _scores(verdict, example)
        wrong = next((f"line {example.line}: {claim.failed}" for claim in claims if claim.failed), None)
        if wrong:
            failed.append(wrong)
        elif scores:
            rows.append(Scored(example=example, scores=scores))
        else:
            silent += 1
        step()
    return Scoring(rows=tuple(rows), silent=silent, failed=tuple(failed))


async def _verdict(example: Example, assessor: Assessor, policy: Policy) -> Verdict:
    asked = _asking(policy, example.labels)
    return await assess(assessor, asked, example.context, AnswerPart(text=example.answer), Meter())


def _asking(policy: Policy, labels: Mapping[CheckKind, bool]) -> Policy:
    """The policy, made to score the checks that are labelled, and to let nothing by unscored.

    All evidence is asked: where an assessor is content with less, an answer passes either way.
    """
    rules = {
        kind.value: replace(rule, threshold=MAX_THRESHOLD, action="flag" if kind in labels else "off")
        for kind, rule in ((CheckKind.GROUNDING, policy.grounding), (CheckKind.RELEVANCE, policy.relevance))
    }
    seen = {
        "calibration": Calibration(),
        "limits": policy.limits.model_copy(update={"on_exceed": "score"}),
        "on_uninspected": policy.on_uninspected.model_copy(update={"json_": "score"}),
    }
    return policy.model_copy(update={**rules, **seen})


def _scores(verdict: Verdict, example: Example) -> dict[CheckKind, float]:
    """The scores of an answer, from its judged claims; none when it asserts nothing."""
    supports = [claim.support for claim in verdict.claims if claim.support is not None]
    relevances = [claim.relevance for claim in verdict.claims if claim.relevance is not None]
    found = {}
    if supports and CheckKind.GROUNDING in example.labels:
        found[CheckKind.GROUNDING] = min(supports)
    if relevances and CheckKind.RELEVANCE in example.labels:
        found[CheckKind.RELEVANCE] = max(relevances)
    return found
