"""The page: self-contained, harmless whatever the rows hold, the worst first, and what would be blocked."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from chromium import CHROMIUM, browser
from evaluate.support import answers, evaluated, judge_at, write
from scorers import FailingScorer, TableScorer

from proxy.evaluate.catalogue import METRICS, Marking
from proxy.evaluate.histogram import bins_of, svg
from proxy.grounding.errors import ScoringError
from proxy.grounding.types import Rule
from proxy.policy.model import Policy

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "</script><script>document.title='gone'</script><img src=x onerror=alert(1)>"
MOVED = "((it) => {{ it.value = {}; it.dispatchEvent(new Event('input')) }})(document.querySelector('#grounding'))"
ROWS = [
    {"question": "Good?", "context": "It is good.", "answer": "It is good.", "note": EVIL},
    {"question": "Bad?", "context": "It is bad.", "answer": f"It is bad. {EVIL}"},
    {"question": "Fair?", "context": "It is fair.", "answer": "It is fair."},
    {"question": "Kind?", "context": "It is fair.", "answer": "Hello! How can I help you?"},
]
SCORER = TableScorer({"bad": 0.1, "fair": 0.75, "good": 0.95})


class Reader(HTMLParser):
    """The tags of a page, its text, and the content of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        """Note the text."""
        if self._open == "script":
            self.scripts[-1] += data
        else:
            self.text += data


async def page_of(folder: Path, *rows: Any, **options: Any) -> str:
    """The page for some rows."""
    data = write(folder / "data.jsonl", *rows)
    await evaluated(data, **{"scorer": SCORER, "report": folder / "page.html", **options})
    return (folder / "page.html").read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    """What the page holds of the rows."""
    return json.loads(Reader(page).scripts[0])


async def test_it_needs_nothing_else_and_lets_nothing_in(tmp_path):
    """No address is named, texts are no markup, and only the page's own script may run."""
    page = await page_of(tmp_path, *ROWS, "broken")
    read = Reader(page)
    assert not re.search(r"https?://|src=\"|href=|@import|url\(", page)
    assert EVIL not in page
    assert not set("<>&") & set(read.scripts[0])
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert not any(name.startswith("on") or name == "style" for _, found in read.tags for name in found)
    [policy] = [found["content"] for tag, found in read.tags if tag == "meta" and "http-equiv" in found]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "line 5: is not valid JSON" in read.text
    assert "fluency: skipped, no judge is configured" in read.text


async def test_the_worst_rows_come_first(tmp_path):
    """By the worst of a row's metrics on its own scale, and what could not be checked before all."""
    assert [row["line"] for row in data_of(await page_of(tmp_path, *ROWS))["rows"]] == [2, 4, 3, 1]
    failing = FailingScorer(ScoringError("no"), "fair")
    rows = data_of(await page_of(tmp_path, *ROWS, scorer=failing))["rows"]
    assert rows[0]["line"] == 3
    assert rows[0]["answers"] == [["failed", "failed"]]


async def test_it_holds_what_the_policy_decides_by(tmp_path):
    """Each answer's grounding and relevance from 0 to 1, null where nothing is asserted; the policy's thresholds."""
    policy = Policy(grounding=Rule(threshold=0.8), relevance=Rule(threshold=0.5, action="flag"))
    talk = {
        "messages": [
            {"role": "user", "content": "Fair?"},
            {"role": "assistant", "content": "It is fair.", "context": "It is fair."},
            {"role": "user", "content": "Thanks"},
            {"role": "assistant", "content": "It is bad.", "context": "It is bad."},
        ]
    }
    data = data_of(await page_of(tmp_path, *ROWS, talk, policy=policy))
    assert data["thresholds"] == {"grounding": 0.8, "relevance": 0}
    found = {row["line"]: row["answers"] for row in data["rows"]}
    assert found == {1: [[0.95, 1]], 2: [[0.1, 1]], 3: [[0.75, 1]], 4: [[None, None]], 5: [[0.75, 1], [0.1, 1]]}


async def test_what_has_no_context_is_not_blocked(tmp_path):
    """Its relevance is measured, but the proxy judges nothing without a source."""
    data = data_of(await page_of(tmp_path, *ROWS, {"question": "Open?", "answer": "It is bad."}))
    [row] = [row for row in data["rows"] if row["line"] == 5]
    assert row["answers"] == [[None, None]]
    assert row["scores"]["relevance"][0] is not None


async def test_texts_are_cut_and_only_the_worst_have_any(tmp_path, monkeypatch):
    """So that a page of many rows can still be opened."""
    monkeypatch.setattr("proxy.evaluate.report.WITH_TEXTS", 1)
    rows = [{**row, "long": "x" * 5000} for row in ROWS]
    first, *others = data_of(await page_of(tmp_path, *rows))["rows"]
    assert len(first["inputs"]["long"]) == 2002
    assert all("inputs" not in row for row in others)
    assert all(len(row["scores"]["groundedness"]) == 2 for row in others)


async def test_each_metric_has_its_figures_and_its_histogram(tmp_path, recording):
    """Those that ran; of harms the defect rates too."""
    recording.default = answers
    async with judge_at(recording) as judge:
        page = await page_of(tmp_path, *ROWS, {"answer": "rate violence 6"}, judge=judge)
    text = Reader(page).text
    assert page.count("<svg") == len(METRICS) - 2
    assert "similarity: skipped, no row has ground_truth" in text
    assert "mean 1.20, 4 of 5 passed" in text
    assert "at the tolerance 0.20, low and up 0.20, medium and up 0.20, high 0.20" in text


@pytest.mark.parametrize(
    ("name", "scores", "counts"),
    [
        ("fluency", [1, 5, 5, 3], {"1": (1, 0), "3": (0, 1), "5": (0, 2)}),
        (
            "groundedness",
            [1, 2.9, 3, 5],
            {"1 to 1.5": (1, 0), "2.5 to 3": (1, 0), "3 to 3.5": (0, 1), "4.5 to 5": (0, 1)},
        ),
        ("f1_score", [0, 0.5, 1], {"0 to 0.1": (1, 0), "0.5 to 0.6": (0, 1), "0.9 to 1": (0, 1)}),
        ("violence", [0, 3, 4, 7], {"0": (0, 1), "3": (0, 1), "4": (1, 0), "7": (1, 0)}),
        ("violence", [], {}),
    ],
)
def test_a_histogram_counts_failures_and_passes(name, scores, counts):
    """Every score once, in its bin; the drawing says the same in words."""
    bins = bins_of(METRICS[name], scores, Marking())
    assert {each.label: (each.failed, each.passed) for each in bins if each.failed or each.passed} == counts
    drawn = svg(name, bins)
    assert all(f"{label}: {sum(each)}" in drawn for label, each in counts.items())
    assert drawn.count("<rect") == sum(bool(count) for each in counts.values() for count in each)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_in_a_browser_the_slider_shows_what_would_be_blocked(tmp_path):
    """It stands at the policy's threshold and counts as it moves; greetings never fall; no row's script runs."""
    await page_of(tmp_path, *ROWS)
    async with browser() as tab:
        await tab.open((tmp_path / "page.html").as_uri())
        assert await tab.run("document.querySelector('#grounding').value") == "0.7"
        for threshold, blocked in ((None, [2]), (0.05, []), (0.8, [2, 3]), (0.99, [2, 3, 1])):
            if threshold is not None:
                await tab.run(MOVED.format(threshold))
                assert await tab.run("document.querySelector('#grounding-at').textContent") == f"{threshold:.2f}"
            verdict = await tab.run("document.querySelector('#verdict').textContent")
            assert verdict.startswith(f"{len(blocked)} of 4 answers would be blocked"), verdict
            marked = "[...document.querySelectorAll('tr.blocked td:first-child')].map(each => +each.textContent)"
            assert await tab.run(marked) == blocked
            assert await tab.run("document.querySelectorAll('#spread .fail').length") == 20
        await tab.run("document.querySelector('#only').click()")
        assert await tab.run("document.querySelectorAll('tbody tr').length") == 3
        await tab.run("document.querySelector('details').open = true")
        await tab.until(f"document.body.innerText.includes({json.dumps(EVIL)})")
        assert await tab.run("document.title") == "Evaluation"
        assert tab.complaints == []
        assert tab.requests == [(tmp_path / "page.html").as_uri()]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_in_a_browser_a_message_without_content_hides_no_row(tmp_path):
    """Such a row is read, for the answers in it, and the rows beside it are shown."""
    talk = {"messages": [{"role": "user"}, {"role": "assistant", "content": "It is good.", "context": "It is good."}]}
    await page_of(tmp_path, talk, *ROWS)
    async with browser() as tab:
        await tab.open((tmp_path / "page.html").as_uri())
        assert await tab.run("document.querySelectorAll('tbody tr').length") == 5
        assert tab.complaints == []


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_in_a_browser_a_score_that_just_fails_does_not_look_like_a_pass(tmp_path):
    """It is cut off after two digits, not rounded."""
    await page_of(tmp_path, ROWS[2], scorer=TableScorer({"fair": 0.6993}), metrics=("groundedness",))
    async with browser() as tab:
        await tab.open((tmp_path / "page.html").as_uri())
        assert await tab.run("document.querySelector('td.bad').textContent") == "2.99"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
async def test_in_a_browser_rows_are_sorted_and_paged(tmp_path):
    """By any metric, a hundred at a time."""
    rows = [{"answer": "x " * (at + 1), "ground_truth": "x " * 120} for at in range(120)]
    await page_of(tmp_path, *rows, metrics=("f1_score",))
    async with browser() as tab:
        await tab.open((tmp_path / "page.html").as_uri())
        assert await tab.run("document.querySelector('#blocking').hidden") is True
        first = "document.querySelector('tbody td').textContent"
        assert (await tab.run(first), await tab.run("document.querySelectorAll('tbody tr').length")) == ("1", 100)
        await tab.run("document.querySelector('#more').click()")
        assert await tab.run("document.querySelectorAll('tbody tr').length") == 120
        assert await tab.run("document.querySelector('#more').hidden") is True
        await tab.run(
            "((by) => { by.value = 'f1_score'; by.dispatchEvent(new Event('change')) })(document.querySelector('#by'))"
        )
        assert await tab.run(first) == "1"
        assert tab.complaints == []
