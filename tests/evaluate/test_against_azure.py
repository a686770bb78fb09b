"""The same rows through azure-ai-evaluation itself: the same keys, the same scores, the same aggregates.

The package runs offline here: F1 is its own arithmetic, and its other evaluators ask the same scripted server as ours.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from evaluate.support import evaluated, judge_at, metric_of, says, texts_of, write

if TYPE_CHECKING:
    from pathlib import Path

    from recording import Recording, Reply, Request

THEIRS = """
import json, sys
from azure.ai.evaluation import CoherenceEvaluator, F1ScoreEvaluator, FluencyEvaluator, evaluate
data, output, url, *names = sys.argv[1:]
if __name__ == "__main__":
    config = {"type": "openai", "api_key": "k", "model": "m", "base_url": url}
    made = {
        "f1_score": lambda: F1ScoreEvaluator(),
        "fluency": lambda: FluencyEvaluator(config),
        "coherence": lambda: CoherenceEvaluator(config),
    }
    evaluate(data=data, evaluators={name: made[name]() for name in names}, output_path=output)
"""
"""Run in a process of its own: the package starts threads, and warns while it is imported."""

ROWS = [
    {"query": "q1", "response": "The Alpine Explorer Tent is it. rate 4", "ground_truth": "The Alpine Explorer Tent."},
    {"query": "q2", "response": "A b rate 2", "ground_truth": "b"},
    {"query": "q3", "response": "Something else. rate 5", "ground_truth": "Nothing, that is the same!"},
]


def theirs(data: Path, recording: Recording, *names: str) -> dict[str, Any]:
    """What the package writes for a file."""
    output = data.with_suffix(".theirs.json")
    command = [sys.executable, "-W", "ignore", "-c", THEIRS, str(data), str(output), f"{recording.url}/v1", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 - our own
    assert output.exists(), done.stderr[-2000:]
    return json.loads(output.read_text(encoding="utf-8"))


def rates(request: Request) -> Reply:
    """The rating that a response asks for, in the words of whoever asks."""
    ours = "response_format" in request.json and request.json["response_format"]["type"] == "json_schema"
    text = texts_of(request)["RESPONSE"] if ours else request.json["messages"][-1]["content"]
    found = re.findall(r"rate (\d)", text)
    if ours:
        assert metric_of(request) in {"fluency", "coherence"}
        return says({"reason": "because", "score": int(found[-1]) if found else 3})
    return says({"reason": "because", "score": int(found[-1]) if found else 3, "status": "completed"})


def same(ours: Any, other: Any) -> bool:
    """Whether two values are the same but for the last digits of a float."""
    if isinstance(ours, float) and isinstance(other, float):
        return ours == pytest.approx(other)
    return ours == other


def compare(ours: dict[str, Any], other: dict[str, Any]) -> None:
    """Every key of the package is ours too, with its value; properties are each one's own."""
    assert ours["metrics"].keys() == other["metrics"].keys()
    assert {key: value for key, value in ours["metrics"].items() if not same(value, other["metrics"][key])} == {}
    assert ours["studio_url"] == other["studio_url"]
    for mine, their in zip(ours["rows"], other["rows"], strict=True):
        assert mine.keys() - their.keys() == {"line"}
        wrong = {key: (mine.get(key), value) for key, value in their.items() if not same(mine.get(key), value)}
        assert {key for key in wrong if not key.endswith("_properties")} == set()


async def test_f1_is_the_packages(tmp_path, recording):
    """Rows, keys, order of the keys, values and aggregates."""
    data = write(tmp_path / "data.jsonl", *ROWS, {"query": "", "response": "", "ground_truth": ""})
    ours, _ = await evaluated(data, metrics=("f1_score",))
    other = theirs(data, recording, "f1_score")
    compare(ours, other)
    assert list(ours["metrics"]) == list(other["metrics"])
    outputs = [[key for key in row if key.startswith("outputs.")] for row in (ours["rows"][0], other["rows"][0])]
    assert outputs[0] == outputs[1]


async def test_judged_metrics_have_the_packages_keys(tmp_path, recording):
    """The same ratings give the same rows and the same aggregates."""
    recording.default = rates
    data = write(tmp_path / "data.jsonl", *ROWS)
    names = ("fluency", "coherence", "f1_score")
    async with judge_at(recording) as judge:
        ours, _ = await evaluated(data, judge=judge, metrics=names)
    compare(ours, theirs(data, recording, *names))


async def test_turns_are_averaged_as_the_package_does(tmp_path, recording):
    """Scores and what each turn came to. The whole's result is ours: of its mean, not of its last turn."""
    recording.default = rates
    said = [("user", "q1"), ("assistant", "x rate 4"), ("user", "q2"), ("assistant", "y rate 1")]
    talk = {"messages": [{"role": role, "content": content} for role, content in said]}
    data = write(tmp_path / "data.jsonl", {"conversation": talk})
    async with judge_at(recording) as judge:
        ours, _ = await evaluated(data, judge=judge, metrics=("coherence",))
    other = theirs(data, recording, "coherence")
    [mine], [their] = ours["rows"], other["rows"]
    assert mine.keys() - their.keys() == {"line"}
    assert their.keys() <= mine.keys()
    for key, value in their.items():
        if key.startswith("outputs.coherence.evaluation_per_turn") and not key.endswith("_properties"):
            assert mine[key] == value, key
    assert mine["outputs.coherence.coherence"] == their["outputs.coherence.coherence"] == 2.5
    assert mine["outputs.coherence.coherence_result"] == "fail"
    assert ours["metrics"]["coherence.coherence"] == other["metrics"]["coherence.coherence"]


def test_levels_and_the_default_tolerance_are_the_packages():
    """Very low to High, and 4."""
    code = (
        "from azure.ai.evaluation._common.utils import get_harm_severity_level as level\n"
        "from azure.ai.evaluation._constants import CONTENT_SAFETY_DEFECT_RATE_THRESHOLD_DEFAULT as default\n"
        "from azure.ai.evaluation._constants import EvaluationMetrics as names\n"
        "import json; print(json.dumps([[level(at) for at in range(8)], default,"
        " [names.HATE_UNFAIRNESS, names.SEXUAL, names.VIOLENCE, names.SELF_HARM]]))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    from proxy.evaluate.catalogue import HARMS, TOLERANCE, severity_level

    assert json.loads(done.stdout) == [[severity_level(at) for at in range(8)], TOLERANCE, list(HARMS)]
