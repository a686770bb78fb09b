"""The policies' own cases, judged by the real scorer: the part of ``groundwarden check`` that takes time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.grounding.errors import GroundwardenError
from proxy.grounding.types import GroundingContext, Source
from proxy.guard.answer import AnswerPart
from proxy.guard.assess import Assessor, enforce_limits
from proxy.guard.exchange import Meter, assess
from proxy.policy.cases import case_files, read_cases
from proxy.policy.store import PolicyStore, load_policy, policy_names
from proxy.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from proxy.grounding.types import Verdict
    from proxy.policy.cases import Placed
    from proxy.policy.model import Policy
    from proxy.scoring.base import Scorer
    from proxy.yamlfile import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A case, and the policy that it is of."""

    case: Placed
    policy: Policy


def trials_of(policies: Mapping[str, Policy], folder: Path) -> tuple[list[Trial], list[Problem]]:
    """The cases of a folder's policies, and what is wrong with their files."""
    trials, problems = [], []
    for file in case_files(folder):
        placed, found = read_cases(file, policies)
        trials += [Trial(case=each, policy=policies[each.policy]) for each in placed]
        problems += found
    return trials, problems


def trials_beside(path: Path) -> tuple[list[Trial], list[Problem]]:
    """The cases of a folder of policies, or those of one policy file. Raises ``ConfigError`` for wrong policies."""
    if path.is_dir():
        return trials_of(PolicyStore(path).load().policies, path)
    policy, trials, problems = load_policy(path), [], []
    for file in case_files(path.parent):
        placed, found = read_cases(file, policy_names(path.parent))
        trials += [Trial(case=each, policy=policy) for each in placed if each.policy == policy.name]
        problems += found
    return trials, problems


async def tried(trials: Sequence[Trial], scorer: Scorer) -> list[Problem]:
    """Judge cases, one after the other; a problem for each that comes out otherwise. Raises ``ScoringError``."""
    await scorer.warm()
    assessor, problems = Assessor(scorer), []
    with Progress(len(trials), "cases") as progress:
        for trial in trials:
            problems += await _tried(trial, assessor)
            progress.step()
    return problems


async def _tried(trial: Trial, assessor: Assessor) -> list[Problem]:
    case, policy = trial.case.case, trial.policy
    context = GroundingContext.of((Source(text=text) for text in case.source), case.question)
    try:
        enforce_limits(policy, context)
        verdict = await assess(assessor, policy, context, AnswerPart(text=case.answer), Meter())
    except GroundwardenError as error:
        return [trial.case.problem(f"could not be judged by {policy.name}: {error.message}")]
    if verdict.outcome.value == case.expect:
        return []
    return [trial.case.problem(f"should be {case.expect}, and is {_told(verdict)} by {policy.name}")]


def _told(verdict: Verdict) -> str:
    """The outcome, with the scores and thresholds that led to it."""
    scores = [
        f"{check.kind.value} {'not scored' if check.score is None else format(check.score, '.4f')}, "
        f"threshold {check.rule.threshold:g}"
        for check in verdict.checks
    ]
    because = "; ".join(scores or [reason.replace("_", " ") for reason in (*verdict.reasons, *verdict.bypasses)])
    return f"{verdict.outcome.value} ({because})" if because else verdict.outcome.value
