"""The policies' own cases: read with file and line, judged by a real scorer, named where they come out otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from scorers import FailingScorer, OverlapScorer

from proxy.cases import trials_beside, trials_of, tried
from proxy.cli import main
from proxy.grounding.errors import ScoringError
from proxy.policy.store import PolicyStore
from proxy.settings import shipped_policies
from proxy.yamlfile import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "{question: What the plan covers, source: The plan covers fire., answer: The plan covers fire., expect: passed}"
BAD = "{name: floods, source: The plan covers fire., answer: The rates are high., expect: passed}"


def write(folder: Path, **files: str) -> Path:
    """Write policies, and files of cases (named ``cases_…``), and give the folder."""
    (folder / "tests").mkdir()
    for name, text in files.items():
        place = folder / "tests" / name.removeprefix("cases_") if name.startswith("cases_") else folder / name
        place.with_suffix(".yaml").write_text(text, encoding="utf-8")
    return folder


def read(folder: Path) -> tuple[list[str], list[str]]:
    """The policies of a folder's cases, and the problems of their files."""
    trials, problems = trials_of(PolicyStore(folder).load().policies, folder)
    return [trial.policy.name for trial in trials], [str(problem) for problem in problems]


async def problems_of(folder: Path, scorer=None) -> list[str]:
    """What comes out otherwise."""
    trials, problems = trials_beside(folder)
    assert problems == []
    return [str(problem) for problem in await tried(trials, scorer or OverlapScorer())]


def test_a_case_is_of_the_policy_that_it_or_its_file_names(tmp_path: Path):
    """The case's own policy, else the file's, else the one that the file is called after, else default."""
    folder = write(
        tmp_path,
        default="{}",
        acme="{}",
        cases_acme=f"cases: [{GOOD}]",
        cases_more=f"cases: [{GOOD}]",
        cases_named=f"policy: acme\ncases:\n  - {GOOD}\n  - {GOOD[:-1]}, policy: default}}",
    )
    assert read(folder) == (["acme", "default", "acme", "default"], [])


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            f"cases:\n  - {BAD.replace('passed', 'pased')}",
            "2:",
            "must be passed, flagged, redacted, blocked or unchecked",
        ),
        (
            "cases:\n  - {answer: x, expect: passed, qestion: y}",
            "2:33",
            "qestion: is not a known key; try question",
        ),
        ("cases:\n  - {expect: passed}", "2:5", "cases[0].answer: is required"),
        (
            f"policy: acmee\ncases: [{GOOD}]",
            "1:9",
            "policy: must name a policy; try acme",
        ),
        (
            f"cases:\n  - {GOOD[:-1]}, policy: nobody}}",
            "2:",
            "cases[0].policy: must name a policy; try acme, default",
        ),
        ("cases: []", "1:8", "cases: must hold at least one case"),
        ("policy: acme", "1:1", "cases: is required"),
        ("cases: [", "1:9", "is not valid YAML"),
    ],
)
def test_what_is_wrong_with_a_file_of_cases_is_told_with_its_line(tmp_path: Path, text: str, place: str, words: str):
    """File, line, column, and the nearest right word, as for everything else that is configured."""
    folder = write(tmp_path, default="{}", acme="{}", cases_some=text)
    _, [problem] = read(folder)

    assert problem.startswith(f"{folder}/tests/some.yaml:{place}")
    assert words in problem


def test_a_pipe_among_the_cases_is_a_problem(tmp_path: Path):
    """It would wait for a writer for ever."""
    write(tmp_path)
    os.mkfifo(tmp_path / "tests" / "pipe.yaml")

    assert read(tmp_path) == ([], [f"{tmp_path}/tests/pipe.yaml: is no ordinary file"])


async def test_a_case_that_comes_out_otherwise_is_named(tmp_path: Path):
    """With file, line, its name, what came out, and the scores that led there; never with its texts."""
    folder = write(tmp_path, default="{}", cases_some=f"cases:\n  - {GOOD}\n  - {BAD}\n")
    [problem] = await problems_of(folder)

    place, _, told = problem.partition(": cases[1].expect: ")
    assert place == f"{folder}/tests/some.yaml:3:{BAD.index('passed}') + 5}"
    assert told == "floods: should be passed, and is blocked (grounding 0.2500, threshold 0.7) by default"


@pytest.mark.parametrize(
    ("policy", "case"),
    [
        (
            "grounding: {action: flag}",
            "{source: The plan covers fire., answer: The rates are high., expect: flagged}",
        ),
        (
            "grounding: {action: redact}",
            "{source: It covers fire., answer: It covers fire. The rates are high., expect: redacted}",
        ),
        ("on_missing_context: block", "{answer: It covers fire., expect: blocked}"),
        ("{}", "{answer: It covers fire., expect: unchecked}"),
        (
            "sample: 0",
            "{source: It covers fire., answer: The rates are high., expect: blocked}",
        ),
        (
            "{}",
            "{source: [It covers fire., It covers theft.], answer: It covers theft., expect: passed}",
        ),
    ],
)
async def test_every_outcome_can_be_expected(tmp_path: Path, policy: str, case: str):
    """Whatever the policy makes of an answer is what a case may expect; a sample leaves no case out."""
    assert await problems_of(write(tmp_path, default=policy, cases_some=f"cases: [{case}]")) == []


async def test_a_request_over_the_limits_is_a_problem(tmp_path: Path):
    """A case that the policy would refuse says why."""
    policy = "limits: {source_chars: 5, on_exceed: reject}"
    [problem] = await problems_of(write(tmp_path, default=policy, cases_some=f"cases: [{GOOD}]"))

    assert "could not be judged by default: The grounding source has" in problem


async def test_a_scorer_that_fails_is_no_pass(tmp_path: Path):
    """What could not be scored is not what was expected."""
    folder = write(tmp_path, default="{}", cases_some=f"cases: [{GOOD}]")
    [problem] = await problems_of(folder, FailingScorer(ScoringError("gone")))

    assert "should be passed, and is blocked (grounding not scored" in problem


def test_the_cases_of_one_policy_are_those_beside_it(tmp_path: Path):
    """Of a policy file only its own cases are judged; wrong policies are told first."""
    folder = write(
        tmp_path,
        default="{}",
        acme="{}",
        cases_acme=f"cases: [{GOOD}]",
        cases_default=f"cases: [{GOOD}]",
    )

    assert [trial.policy.name for trial in trials_beside(folder / "acme.yaml")[0]] == ["acme"]
    (folder / "acme.yaml").write_text("stream: no")
    with pytest.raises(ConfigError):
        trials_beside(folder / "acme.yaml")


def test_check_judges_the_shipped_cases(capsys: pytest.CaptureFixture[str]):
    """The command runs them on the scorer that ships, and says how many there were."""
    assert main(["check", str(shipped_policies())]) == 0
    assert capsys.readouterr().out == "no problems found; 8 cases came out as expected\n"


def test_check_fails_for_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Exit status 1 and one line for each, unless cases are left out."""
    folder = write(tmp_path, default="{}", cases_some=f"cases:\n  - {BAD}\n")

    assert main(["check", str(folder)]) == 1
    assert capsys.readouterr().out.startswith(f"{folder}/tests/some.yaml:2:")
    assert main(["check", "--no-cases", str(folder)]) == 0
    assert capsys.readouterr().out == "no problems found\n"


def test_check_judges_the_cases_of_a_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """With a config.yaml they are those beside the policies that it names, by its scorer."""
    (tmp_path / "policies").mkdir()
    write(tmp_path / "policies", default="{}", cases_some=f"cases: [{GOOD}, {BAD}]")
    models = "model_list: [{model_name: m, litellm_params: {model: openai/m, api_key: k}}]\n"
    (tmp_path / "config.yaml").write_text(f"{models}policies: policies\n")

    assert main(["check", "--config", str(tmp_path / "config.yaml")]) == 1
    [line] = capsys.readouterr().out.splitlines()
    assert "cases[1].expect: floods: should be passed, and is blocked" in line
