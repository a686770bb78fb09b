"""Rows in, results out: which metrics run, how turns are joined, what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from evaluate.support import answers, evaluated, judge_at, metric_of, write
from recording import Reply
from scorers import FailingScorer, TableScorer

from proxy.cli import main
from proxy.evaluate.catalogue import HARMS, METRICS, Marking
from proxy.evaluate.command import Options
from proxy.grounding.calibration import Calibration
from proxy.grounding.errors import ScoringError
from proxy.policy.model import Policy
from proxy.scoring.embedded import MODEL_NAME

if TYPE_CHECKING:
    from pathlib import Path

QA = {"question": "When?", "context": "It opens at nine.", "answer": "It opens at nine.", "ground_truth": "At nine."}
TALK = {
    "messages": [
        {"role": "user", "content": "When does it open?"},
        {"role": "assistant", "content": "It is nine.", "context": {"citations": [{"content": "It is nine."}]}},
        {"role": "user", "content": "And the tea?"},
        {"role": "assistant", "content": "Tea is free.", "context": {"citations": [{"content": "Tea costs."}]}},
    ]
}
QUALITY = ("groundedness", "relevance", "retrieval", "coherence", "fluency", "similarity", "f1_score")
KEYS = ("", "_score", "_passed", "_result", "_reason", "_status", "_threshold", "_properties")


@pytest.fixture
def data(tmp_path: Path) -> Any:
    """Write rows to a file."""
    return lambda *rows: write(tmp_path / "data.jsonl", *rows)


def statuses(row: dict[str, Any]) -> dict[str, str]:
    """How each metric of a row came out."""
    return {name: status for name in METRICS if (status := row.get(f"outputs.{name}.{name}_status")) is not None}


async def test_without_a_judge_what_needs_none_is_measured(data):
    """The rest is skipped with a reason, in the row, beside the metrics and in what is told."""
    results, told = await evaluated(data(QA))
    [row] = results["rows"]
    measured = ("groundedness", "relevance", "similarity", "f1_score")
    assert [name for name, status in statuses(row).items() if status == "completed"] == list(measured)
    assert sorted(results["skipped"]) == sorted(set(METRICS) - set(measured))
    assert "no judge is configured" in row["outputs.fluency.fluency_reason"]
    assert row["outputs.fluency.fluency_result"] == "not_applicable"
    assert "violence, self_harm: no judge is configured" in told.summary
    assert not any(key.startswith("fluency.") for key in results["metrics"])
    assert told.problems == ()


async def test_with_a_judge_all_is_measured(data, recording):
    """Under the package's keys."""
    recording.default = answers
    async with judge_at(recording) as judge:
        results, told = await evaluated(data(QA), judge=judge)
    [row] = results["rows"]
    assert set(statuses(row)) == set(METRICS)
    assert set(statuses(row).values()) == {"completed"}
    assert {f"outputs.{name}.{name}{key}" for name in QUALITY for key in KEYS} <= set(row)
    assert row["outputs.violence.violence"] == "Very low"
    assert results["skipped"] == {}
    assert {f"inputs.{key}" for key in QA} <= set(row)
    assert "f1_score" in told.summary


@pytest.mark.parametrize(
    ("row", "metrics"),
    [
        ({"answer": "It is."}, {"fluency", *HARMS}),
        ({"answer": "It is.", "ground_truth": "It is."}, {"fluency", "f1_score", *HARMS}),
        ({"answer": "It is.", "context": "It is."}, {"groundedness", "fluency", *HARMS}),
        ({"query": "Is it?", "response": "It is."}, {"relevance", "coherence", "fluency", *HARMS}),
        ({"query": "Is it?", "context": "It is."}, {"retrieval"}),
        ({"question": "Is it?", "answer": "It is.", "ground_truth": "x"}, {*METRICS} - {"groundedness", "retrieval"}),
        ({"question": " ", "answer": "", "ground_truth": "x"}, {"f1_score"}),
        (TALK, {*METRICS} - {"similarity", "f1_score"}),
    ],
)
async def test_which_metrics_run_follows_from_the_fields(data, recording, row, metrics):
    """A metric for whose fields no row has values is left out, with the reason."""
    recording.default = answers
    async with judge_at(recording) as judge:
        results, _ = await evaluated(data(row), judge=judge)
    assert set(statuses(results["rows"][0])) == metrics
    assert set(results["skipped"]) == set(METRICS) - metrics
    assert all("no row has" in reason for reason in results["skipped"].values())


async def test_a_row_without_a_field_skips_what_needs_it(data):
    """The others have it; its own reason says what is missing, and it counts as no pass."""
    results, _ = await evaluated(data(QA, {"answer": "It opens at nine."}), scorer=TableScorer({}))
    second = results["rows"][1]
    assert second["outputs.groundedness.groundedness_result"] == "not_applicable"
    assert "context is missing" in second["outputs.groundedness.groundedness_reason"]
    assert results["metrics"]["groundedness.groundedness"] == 5
    assert results["metrics"]["groundedness.binary_aggregate"] == 0.5
    assert "groundedness.groundedness_passed" not in results["metrics"]


async def test_only_the_metrics_that_are_named_run(data):
    """`--metrics` narrows."""
    results, _ = await evaluated(data(QA), metrics=("f1_score",))
    assert set(statuses(results["rows"][0])) == {"f1_score"}


async def test_turns_are_averaged_and_kept(data, recording):
    """Scores are means, harms the most severe; the whole is judged by that, each turn by itself."""
    recording.default = answers
    talk = json.loads(
        json.dumps(TALK)
        .replace("Tea is free.", "Tea is free. rate violence 5")
        .replace("It is nine.", "It is nine. rate fluency 2")
    )
    scorer = TableScorer({"Tea": 0.35, "nine": 1.0})
    async with judge_at(recording) as judge:
        results, _ = await evaluated(data(talk), judge=judge, scorer=scorer)
    [row] = results["rows"]
    assert row["outputs.groundedness.groundedness"] == pytest.approx(3.5)
    assert row["outputs.groundedness.evaluation_per_turn.groundedness"] == pytest.approx([5, 2])
    assert row["outputs.groundedness.evaluation_per_turn.groundedness_result"] == ["pass", "fail"]
    assert row["outputs.groundedness.groundedness_result"] == "pass"
    assert row["outputs.groundedness.groundedness_reason"].startswith("turn 2: grounding 0.3500")
    assert row["outputs.fluency.fluency"] == 3.5
    assert row["outputs.violence.violence_score"] == 5
    assert row["outputs.violence.violence"] == "Medium"
    assert row["outputs.violence.violence_result"] == "fail"
    assert row["outputs.violence.evaluation_per_turn.violence_score"] == [0, 5]


async def test_a_turn_that_could_not_be_checked_leaves_the_whole_unchecked(data):
    """The mean of the others would be a pass that nobody gave; they are still there."""
    failing = FailingScorer(ScoringError("no", reason="timeout"), "Tea")
    results, told = await evaluated(data(TALK), scorer=failing)
    [row] = results["rows"]
    assert row["outputs.groundedness.groundedness_score"] is None
    assert row["outputs.groundedness.groundedness_result"] == "unknown"
    assert row["outputs.groundedness.groundedness_reason"].startswith("turn 2: could not be checked")
    assert row["outputs.groundedness.evaluation_per_turn.groundedness"] == [5, None]
    assert results["metrics"]["groundedness.binary_aggregate"] == 0
    assert len(told.problems) == 2


async def test_a_single_turn_has_none_per_turn(data):
    """As in the package: there is nothing to average."""
    results, _ = await evaluated(data({"messages": TALK["messages"][:2]}))
    assert not any("evaluation_per_turn" in key for key in results["rows"][0])


async def test_a_turn_without_sources_is_left_out_of_the_mean(data):
    """Small talk between grounded answers."""
    talk = [*TALK["messages"][:2], {"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "It is."}]
    results, _ = await evaluated(data({"messages": talk}), scorer=TableScorer({"nine": 0.7}))
    [row] = results["rows"]
    assert row["outputs.groundedness.groundedness"] == 3
    assert row["outputs.groundedness.evaluation_per_turn.groundedness"] == [3, None]
    assert row["outputs.groundedness.evaluation_per_turn.groundedness_status"] == ["completed", "skipped"]


async def test_bad_lines_are_told_and_the_rest_is_evaluated(data):
    """By line, in the results and as problems, so that the command fails."""
    results, told = await evaluated(data(QA, "not json", {"question": 1, "answer": "x"}, QA))
    assert [row["line"] for row in results["rows"]] == [1, 4]
    assert [error["line"] for error in results["errors"]] == [2, 3]
    assert [problem.split("data.jsonl:")[1] for problem in told.problems] == [
        "2: is not valid JSON; write one object a line",
        "3: question: must be text",
    ]


@pytest.mark.parametrize(("rows", "words"), [([], "is empty"), (["x"], "data.jsonl:1: is not valid JSON")])
async def test_without_a_row_there_is_nothing_to_do(data, tmp_path, rows, words):
    """And nothing is written."""
    with pytest.raises(ValueError, match=words):
        await evaluated(data(*rows))
    assert [file.name for file in tmp_path.iterdir()] == ["data.jsonl"]


async def test_a_scorer_that_fails_on_a_row_is_told(data):
    """Unknown and no pass; the others have their scores."""
    failing = FailingScorer(ScoringError("no", reason="timeout"), "Bad")
    results, told = await evaluated(data(QA, {**QA, "answer": "Bad luck it is."}), scorer=failing)
    row = results["rows"][1]
    assert row["outputs.groundedness.groundedness_result"] == "unknown"
    assert row["outputs.groundedness.groundedness_status"] == "error"
    assert row["outputs.groundedness.groundedness_score"] is None
    assert results["metrics"]["groundedness.binary_aggregate"] == 0.5
    assert any("data.jsonl:2: groundedness: could not be checked" in problem for problem in told.problems)
    assert not any("Bad luck" in problem for problem in told.problems)


async def test_a_judge_that_cannot_be_asked_ends_the_work_before_it_begins(data, recording, tmp_path):
    """Nothing is written."""
    recording.default = Reply(status=401, body=b'{"error": {"message": "bad key"}}')
    async with judge_at(recording) as judge:
        with pytest.raises(ScoringError, match="HTTP"):
            await evaluated(data(QA), judge=judge)
    assert not (tmp_path / "data.results.json").exists()


async def test_a_judge_is_not_asked_when_nothing_is_for_it(data, recording):
    """Not even whether it is there."""
    async with judge_at(recording) as judge:
        await evaluated(data(QA), judge=judge, metrics=("groundedness", "f1_score"))
    assert recording.requests == []


async def test_the_judge_measures_similarity_on_request(data, recording):
    """By Azure's rubric instead of the scorer's agreement."""
    recording.default = answers
    async with judge_at(recording) as judge:
        results, _ = await evaluated(data(QA), judge=judge, metrics=("similarity",), similarity="judge")
    assert results["rows"][0]["outputs.similarity.similarity_properties"] == {"judge": "judge"}
    assert metric_of(recording.requests[-1]) == "similarity"


@pytest.mark.parametrize(
    ("tolerance", "rate", "passed"), [(2, 0.75, 0.25), (4, 0.5, 0.5), (6, 0.25, 0.75), (7, 0.25, 0.75), (5, 0.25, 0.75)]
)
async def test_defect_rates_follow_the_tolerance(data, recording, tolerance, rate, passed):
    """At and above it, and at and above each level whatever it is."""
    recording.default = answers
    rows = [{"answer": f"It is. rate violence {severity}"} for severity in (0, 3, 4, 7)]
    async with judge_at(recording) as judge:
        results, _ = await evaluated(data(*rows), judge=judge, marking=Marking(tolerance=tolerance))
    metrics = results["metrics"]
    assert metrics["violence.violence_defect_rate"] == rate
    assert metrics["violence.binary_aggregate"] == passed
    levels = [metrics[f"violence.violence_defect_rate_{level}"] for level in ("very_low", "low", "medium", "high")]
    assert levels == [1, 0.75, 0.5, 0.25]
    assert [row["outputs.violence.violence"] for row in results["rows"]] == ["Very low", "Low", "Medium", "High"]
    assert metrics["violence.violence_score"] == 3.5
    assert metrics["sexual.sexual_defect_rate"] == 0


async def test_thresholds_are_the_users(data):
    """The score stays, what it means changes."""
    scorer = TableScorer({"nine": 0.85})
    results, _ = await evaluated(data(QA), scorer=scorer, marking=Marking(thresholds={"groundedness": 4.5}))
    [row] = results["rows"]
    assert row["outputs.groundedness.groundedness"] == pytest.approx(4)
    assert row["outputs.groundedness.groundedness_threshold"] == 4.5
    assert row["outputs.groundedness.groundedness_result"] == "fail"


async def test_odd_characters_are_written(data):
    """Half a surrogate pair is JSON and no UTF-8."""
    results, _ = await evaluated(data('{"answer": "\\ud83d it is", "ground_truth": "é"}'))
    assert results["rows"][0]["inputs.answer"] == "\ud83d it is"


async def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(data, tmp_path):
    """A missing folder, or one in the file's place."""
    for output in (tmp_path / "none" / "a.json", tmp_path):
        with pytest.raises(OSError, match="cannot be written"):
            await evaluated(data(QA), output=output)


def test_the_page_lies_beside_the_results(tmp_path):
    """Unless it is named."""
    options = Options(data=tmp_path / "d.jsonl", output=tmp_path / "r.json")
    assert options.page == tmp_path / "r.html"
    assert replace(options, report=tmp_path / "p.html").page == tmp_path / "p.html"


@pytest.mark.parametrize("named", ["embedded/1", "embedded/2"])
async def test_a_calibration_must_be_of_this_scorer(data, named):
    """Which has its name only once it is warm; it then stands in each result."""

    class Late(TableScorer):
        """A scorer that is nameless while it is cold, as the batcher is."""

        name = ""

        async def warm(self) -> None:
            """Have a name."""
            self.name = "embedded/1"

    policy = Policy().model_copy(update={"calibration": Calibration(scorer=named)})
    if named == "embedded/2":
        with pytest.raises(ValueError, match=r"is for the scorer embedded/2, and this is embedded/1"):
            await evaluated(data(QA), scorer=Late({"nine": 0.85}), policy=policy)
        return
    results, _ = await evaluated(data(QA), scorer=Late({"nine": 0.85}), policy=policy)
    assert results["rows"][0]["outputs.groundedness.groundedness_properties"]["scorer"] == "embedded/1"


def test_a_calibrated_policy_is_taken_at_the_command_line(data, tmp_path, capsys):
    """By the scorer that ships, which is cold when the policy is read."""
    calibration = Calibration(scorer=MODEL_NAME)
    (tmp_path / "acme.calibration.json").write_text(calibration.text, encoding="utf-8")
    (tmp_path / "acme.yaml").write_text("calibration: acme.calibration.json\n", encoding="utf-8")
    files = (data(QA), "--policy", tmp_path / "acme.yaml", "--output", tmp_path / "r.json")
    assert main(["evaluate", *map(str, files)]) == 0, capsys.readouterr().err
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["settings"]["scorer"] == MODEL_NAME
