"""The command as a whole, with a scorer that is a table: what it says, and what it writes."""

import asyncio
import json
import random

import pytest
from scorers import OverlapScorer, SlowScorer, TableScorer

from proxy.calibrate.command import Options, run
from proxy.calibrate.thresholds import Wish
from proxy.grounding.calibration import Calibration
from proxy.grounding.types import CheckKind, Rule
from proxy.policy.model import Policy


@pytest.fixture
def labelled(tmp_path):
    """Write rows to a file and give its path."""

    def of(rows):
        file = tmp_path / "labelled.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return file

    return of


def scored(count, seed=0, **more):
    """Rows with scores that are too high: of those scored x, a share of x squared is supported."""
    draw = random.Random(seed)
    for _ in range(count):
        score = draw.random()
        yield {"grounding": score, "supported": draw.random() < score**2, **more}


async def told(file, *wishes, policy=None, scorer=None, **options):
    """The report on a file."""
    wanted = tuple(Wish(quantity=quantity, value=value) for quantity, value in wishes)
    options = Options(labelled=file, wishes=wanted, **options)
    return await run(options, policy or Policy(), scorer or OverlapScorer())


async def test_the_report_says_all_that_matters(labelled):
    """Rows, share, AUC with its interval, errors before and after, and each wish with its threshold and figures."""
    text = await told(
        labelled(scored(300)), ("precision", 0.8), ("precision", 0.999), ("recall", 0.9), ("block rate", 0.3)
    )

    assert "labelled.jsonl: 300 labelled rows, for the scorer overlap" in text
    assert "with their scores, taken to be this scorer's uncalibrated ones: 300" in text
    assert "grounding: 300 rows, " in text
    assert "AUC: 0." in text
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines() if line}
    before, after = map(float, lines["ECE, 15 bins of equal count"][-2:])
    assert after < before
    assert lines["in force, as scored"][4] == lines["in force, calibrated"][3] == "0.7"
    assert "precision 0.999" in text
    assert "cannot be met" in text
    assert float(lines["recall 0.9"][2]) < float(lines["precision 0.8"][2])
    assert "Nothing is written; --out FILE" in text


async def test_files_are_written_whole_and_the_same_each_time(labelled, tmp_path):
    """The calibration names its scorer and its rows; the same rows give the same bytes; nothing else is left behind."""
    out, plot = tmp_path / "acme.calibration.json", tmp_path / "acme.svg"
    text = await told(labelled(scored(120)), ("recall", 0.9), out=out, plot=plot, beside=tmp_path)
    first = out.read_bytes(), plot.read_bytes()
    await told(labelled(scored(120)), out=out, plot=plot)

    assert (out.read_bytes(), plot.read_bytes()) == first
    calibration = Calibration.read(out.read_text())
    assert (calibration.scorer, calibration.grounding.rows) == ("overlap", 120)
    assert not calibration.relevance.fitted
    assert plot.read_text().startswith("<svg")
    assert "calibration: acme.calibration.json\ngrounding:\n  threshold: 0." in text
    assert {file.name for file in tmp_path.iterdir()} == {"labelled.jsonl", "acme.calibration.json", "acme.svg"}


async def test_the_path_is_told_from_the_policys_folder(labelled, tmp_path):
    """Where the policy lies elsewhere, the line to paste leads from there; odd names are quoted."""
    (tmp_path / "policies").mkdir()
    file = labelled(scored(80))
    text = await told(file, out=tmp_path / "a.json", beside=tmp_path / "policies")
    assert "\ncalibration: ../a.json" in text
    text = await told(file, out=tmp_path / "my own: file.json", beside=tmp_path)
    assert '\ncalibration: "my own: file.json"' in text


async def test_both_checks_are_fitted_where_both_are_labelled(labelled, tmp_path):
    """One file holds both maps; with ``check`` only that one is fitted."""
    draw = random.Random(1)
    rows = [{**row, "relevance": draw.random()} for row in scored(200)]
    rows = [{**row, "relevant": draw.random() < row["relevance"] ** 3} for row in rows]
    out = tmp_path / "a.json"

    text = await told(labelled(rows), out=out)
    both = Calibration.read(out.read_text())
    assert both.grounding.fitted
    assert both.relevance.fitted
    assert text.index("grounding: 200 rows") < text.index("relevance: 200 rows")

    await told(labelled(rows), out=out, check=CheckKind.RELEVANCE)
    alone = Calibration.read(out.read_text())
    assert (alone.grounding.fitted, alone.relevance) == (False, both.relevance)


async def test_a_check_with_too_few_labels_is_told_and_the_other_fitted(labelled):
    """Unless it was asked for: then it is a failure."""
    file = labelled([*scored(100), {"relevance": 0.5, "relevant": True}])
    assert "not fitted: relevance: 1 labelled rows are too few" in await told(file)
    with pytest.raises(ValueError, match="relevance: 1 labelled rows are too few; label 49 more"):
        await told(file, check=CheckKind.RELEVANCE)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (list(scored(20)), "grounding: 20 labelled rows are too few; label 30 more at least, better 200 in all"),
        ([{"grounding": 0.5, "supported": True}] * 60, "grounding: only 0 of 60 rows are labelled false"),
    ],
)
async def test_what_cannot_be_fitted_is_refused_before_any_work(labelled, tmp_path, rows, words):
    """Too few rows, or of one kind: nothing is scored, nothing is written."""
    with pytest.raises(ValueError, match=words):
        await told(labelled(rows), out=tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()


async def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(labelled, tmp_path):
    """A missing folder and a folder in the file's place are told at once."""
    for out in (tmp_path / "none" / "a.json", tmp_path):
        with pytest.raises(OSError, match="cannot be written"):
            await told(labelled(scored(60)), out=out)


async def test_texts_are_scored_and_what_has_no_score_is_told(labelled):
    """Rows of one source are one group; greetings, repeats and few sources are told."""
    scorer = TableScorer({"true": 0.9, "false": 0.4})
    words = [("true", True)] * 30 + [("false", False)] * 30 + [("true", False)] * 5
    rows = [
        {"source": f"Source {at % 12}.", "answer": f"Item {at} is {word}.", "supported": label}
        for at, (word, label) in enumerate(words)
    ]
    greeting = {"source": "x", "answer": "Hello!", "supported": True}
    text = await told(labelled([*rows, rows[0], greeting]), scorer=scorer)
    assert "grounding: 65 rows in 12 groups" in text
    assert "asserting nothing, so not judged and left out: 1" in text
    assert "repeating an earlier row, counted once: 1" in text
    assert "under 200 rows thresholds are rough" in text

    one_source = [{**row, "source": "Source."} for row in rows]
    assert "the rows come from few different sources" in await told(labelled(one_source), scorer=scorer)


async def test_an_interruption_leaves_nothing_behind(labelled, tmp_path):
    """Ctrl-C cancels the work: no file is begun."""
    scorer = SlowScorer(60)
    rows = ({"source": "x", "answer": f"It is {at}.", "supported": at % 2} for at in range(60))
    out = tmp_path / "a.json"
    running = asyncio.create_task(told(labelled(rows), scorer=scorer, out=out))
    await scorer.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [file.name for file in tmp_path.iterdir()] == ["labelled.jsonl"]


async def test_a_policy_that_takes_the_mean_is_told_apart(labelled):
    """Thresholds are for the weakest claim."""
    policy = Policy(grounding=Rule(threshold=0.6, aggregate="mean"))
    text = await told(labelled(scored(80)), policy=policy)
    assert "this policy takes the mean" in text
    assert "in force, calibrated  0.6" in text
