"""Accuracy on public human annotations, judged as the proxy judges: claims, evidence, scores, minimum.

    make bench-accuracy DATA=folder      (or: python benchmarks/accuracy.py --data folder [--rows 400] [--out FILE])

``folder`` holds ``eval/*.jsonl.gz``, one row a line: ``premise``, ``hypothesis``, ``label`` (1 = fully supported), or
``question``, ``answer``, ``label`` (1 = the answer addresses the question). They are made from published sets; their
sources stand in benchmarks/ACCURACY.md. Of a longer set the same ``--rows`` rows are drawn every time. Nothing is tuned
here: the scorer is fitted by training/, on other rows.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import written
from judging import judging
from minimal import FAMILIES, minimal_edits

from proxy.calibrate import auc, balanced_accuracy, best_threshold, ece, interval, reliability
from proxy.calibrate.plot import Panel, Series, counts_of, svg
from proxy.demo import CASES, FURTHER_CASES
from proxy.grounding.types import CheckKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from judging import Judge

SEED = 20261130
THRESHOLD = 0.7
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Set:
    """A file, what is measured on it, and what is aimed at. ``group`` names the field whose rows are one claim."""

    file: str
    aim: str = ""
    baseline: str = ""
    kind: CheckKind = CheckKind.GROUNDING
    group: str = ""
    lang: str = ""
    note: str = ""


SETS = (
    Set("wice_claim_oracle.test", "AUC .82", "T5-3B on ANLI .863", group="doc_id"),
    Set("wice_claim.test", "BAcc 74", "HHEM-2.1 75.9, MiniCheck-T5-L 72.2 (BAcc)", note="whole web pages"),
    Set("frank.test", "AUC .86", "BERTScore-P .836, FactCC .775"),
    Set("frank.valid", "AUC .86", "T5-11B .894 (AUC)"),
    Set("begin_v2_wow.test"),
    Set("begin_v2_cmu.dev"),
    Set("begin_v2_tc.dev"),
    Set("summacval_factcc.dev"),
    Set("summacval_polytope.dev", note="calls omissions errors"),
    Set("summacval_summeval.dev"),
    Set("summacval_xsumfaith.dev"),
    Set("cliff.test"),
    Set("goyal21.test"),
    Set("fever_symmetric_v02.test"),
    Set("covidfact_rte.dev"),
    Set("checkcovid_rationale.dev"),
    Set("boolq_contrast.test"),
    Set("rte.val"),
    Set("cad_nli.test"),
    Set("folio.val"),
    Set("lingnli.val", "AUC .90"),
    Set("xnli.dev", "AUC .90", lang="en"),
    Set("xnli.dev", "AUC .82", lang="es"),
    Set("xnli.dev", "AUC .82", lang="fr"),
    Set("xnli.dev", "AUC .82", lang="de"),
    Set("breaking_nli.test"),
    Set("negation_mnli.test"),
    Set("negation_rte.test"),
    Set("infotabs_en.dev", note="tables, linearised"),
    Set("jnli_ja.valid"),
    Set("jsick_ja.test"),
    Set("trecqa_wang.test", kind=CheckKind.RELEVANCE),
)
CALIBRATED = (
    "wice_claim.test",
    "frank.test",
    "begin_v2_wow.test",
    "cliff.test",
    "fever_symmetric_v02.test",
    "rte.val",
    "covidfact_rte.dev",
)
"""English grounding sets that calibration is reported on; no row of theirs was trained or fitted on."""

LENGTHS = (1, 3, 5, 10, 20)


@dataclass(slots=True)
class Scored:
    """Rows of one set with their scores."""

    labels: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def add(self, label: int, score: float, group: str) -> None:
        """One more row."""
        self.labels.append(label)
        self.scores.append(score)
        self.groups.append(group)

    def best_of_groups(self) -> Scored:
        """One row a group: a claim is supported if any of its chunks supports it."""
        best: dict[str, tuple[int, float]] = {}
        for label, score, group in zip(self.labels, self.scores, self.groups, strict=True):
            seen = best.get(group, (0, 0.0))
            best[group] = max(seen[0], label), max(seen[1], score)
        return Scored([each[0] for each in best.values()], [each[1] for each in best.values()], list(best))


def rows_of(folder: Path, one: Set, most: int) -> list[Row]:
    """The rows of a set, or the same sample of them every time; of grouped sets, whole groups."""
    with gzip.open(folder / f"{one.file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if not one.lang or row.get("lang") == one.lang]
    key: Callable[[Row], str] = (
        (lambda row: str(row[one.group]))
        if one.group
        else (lambda row: str(row["question"] if one.kind is CheckKind.RELEVANCE else row["id"]))
    )
    sizes = Counter(map(key, rows))
    names = sorted(sizes)
    random.Random(SEED).shuffle(names)
    chosen: set[str] = set()
    total = 0
    for name in names:
        if total >= most:
            break
        chosen.add(name)
        total += sizes[name]
    return [row for row in rows if key(row) in chosen]


async def judged(judge: Judge, row: Row, kind: CheckKind) -> float:
    """The score of one row."""
    if kind is CheckKind.RELEVANCE:
        return await judge.score(row["answer"], row["answer"], kind, row["question"])
    return await judge.score(row["premise"], row["hypothesis"], kind)


async def scored(judge: Judge, rows: Iterable[Row], one: Set) -> Scored:
    """Judge all rows of a set."""
    found = Scored()
    for row in rows:
        group = str(row.get(one.group) or row.get("doc_id") or row.get("question") or row["id"])
        found.add(int(row["label"]), await judged(judge, row, one.kind), group)
    return found.best_of_groups() if one.group else found


def mean_reciprocal_rank(found: Scored) -> float:
    """Of the first relevant sentence of each question that has one."""
    by: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for label, score, group in zip(found.labels, found.scores, found.groups, strict=True):
        by[group].append((-score, label))
    ranks = [
        1 / (1 + [label for _, label in sorted(pairs)].index(1))
        for pairs in by.values()
        if any(each[1] for each in pairs)
    ]
    return sum(ranks) / max(1, len(ranks))


def shares(found: Scored) -> tuple[float, float]:
    """Shares that pass at the default threshold: of the supported, of the unsupported."""
    good = [score >= THRESHOLD for label, score in zip(found.labels, found.scores, strict=True) if label]
    bad = [score >= THRESHOLD for label, score in zip(found.labels, found.scores, strict=True) if not label]
    return sum(good) / max(1, len(good)), sum(bad) / max(1, len(bad))


async def table_of_sets(judge: Judge, folder: Path, most: int, only: str) -> tuple[list[str], Scored]:
    """One line a set whose name holds ``only``, and the pooled scores of those that calibration is reported on."""
    lines = [
        "| set | rows | AUC (95 %) | BAcc at 0.7 | best BAcc | supported pass | unsupported pass | aim | others |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    pooled = Scored()
    for one in (each for each in SETS if only in f"{each.file} {each.lang}"):
        began = time.monotonic()
        found = await scored(judge, rows_of(folder, one, most), one)
        area, (low, high) = auc(found.labels, found.scores), interval(auc, found.labels, found.scores, found.groups)
        best = balanced_accuracy(found.labels, found.scores, best_threshold(found.labels, found.scores))
        good, bad = shares(found)
        name = f"{one.file}{f' {one.lang}' if one.lang else ''}"
        mrr = f"; MRR {mean_reciprocal_rank(found):.3f}" if one.kind is CheckKind.RELEVANCE else ""
        note = f" ({one.note})" if one.note else ""
        at = balanced_accuracy(found.labels, found.scores, THRESHOLD)
        lines.append(
            f"| {name}{note} | {len(found.labels)} | {area:.3f} ({low:.2f}–{high:.2f}){mrr} | {at:.3f} | {best:.3f} | "
            f"{good:.0%} | {bad:.0%} | {one.aim} | {one.baseline} |"
        )
        print(lines[-1], f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if one.file in CALIBRATED:
            for row in zip(found.labels, found.scores, found.groups, strict=True):
                pooled.add(*row)
    return lines, pooled


PLOT = "reliability.svg"


def plotted(pooled: Scored) -> str:
    """The reliability diagram, as the content of an SVG file."""
    series = Series(
        name="sets not trained on", bins=reliability(pooled.labels, pooled.scores), counts=counts_of(pooled.scores)
    )
    return svg([Panel(title=f"grounding: {len(pooled.labels)} rows", label="supported", after=series)])


def calibration(pooled: Scored) -> list[str]:
    """Expected calibration error and the reliability table."""
    error = ece(pooled.labels, pooled.scores)
    low, high = interval(ece, pooled.labels, pooled.scores, pooled.groups, n=200)
    lines = [
        f"Expected calibration error over {', '.join(CALIBRATED)}, {len(pooled.labels)} rows together: "
        f"**{error:.3f}** "
        f"({low:.3f}–{high:.3f}); aim ≤ .08, a peer reports .15.",
        "",
        f"![Reliability]({PLOT})",
        "",
        "| mean score | share supported | rows |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {mean:.2f} | {share:.2f} | {count} |" for mean, share, count in reliability(pooled.labels, pooled.scores)
    ]
    return lines


async def edits(judge: Judge, folder: Path, most: int) -> list[str]:
    """Minimal edits of sentences of documents: what is caught of each kind, and false alarms on paraphrases."""
    found: dict[str, list[float]] = defaultdict(list)
    for family, source, claim in minimal_edits(folder, most, SEED):
        found[family].append(await judge.score(source, claim, CheckKind.GROUNDING))
    alarms = sum(score < THRESHOLD for score in found["paraphrase"]) / max(1, len(found["paraphrase"]))
    good = sorted(found["paraphrase"])
    at = good[int(0.1 * len(good))] if good else 0.0
    lines = [
        f"False alarms on paraphrases at 0.7: **{alarms:.0%}** of {len(good)} (HHEM-2.1: 21 %). A threshold of "
        f"{at:.2f} gives 10 %.",
        "",
        "| edit | rows | caught at 0.7 | caught at 10 % false alarms | aim | HHEM-2.1 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for family, (aim, peer) in FAMILIES.items():
        scores = found[family]
        if family == "paraphrase" or not scores:
            continue
        caught, fixed = (sum(score < cut for score in scores) / len(scores) for cut in (THRESHOLD, at))
        lines.append(f"| {family} | {len(scores)} | {caught:.0%} | {fixed:.0%} | {aim} | {peer} |")
    return lines


async def answers(judge: Judge, folder: Path, most: int) -> list[str]:
    """Answers of several sentences: good ones that are blocked, and such with one bad sentence that are caught."""
    by: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for family, source, claim in minimal_edits(folder, 20 * most, SEED + 1):
        by[source]["good" if family == "paraphrase" else "bad"].append(claim)
    lines = [
        "| sentences | answers | good ones blocked | with one unsupported sentence: caught |",
        "| --- | --- | --- | --- |",
    ]
    rng = random.Random(SEED)
    scores: dict[tuple[str, str], float] = {}
    sources = list(by)[: 6 * most]
    for source in sources:
        for claim in by[source]["good"] + by[source]["bad"]:
            scores[source, claim] = await judge.score(source, claim, CheckKind.GROUNDING)
    pool = [(source, claim) for source in sources for claim in by[source]["good"]]
    wrong = [(source, claim) for source in sources for claim in by[source]["bad"]]
    for length in LENGTHS:
        drawn = [[scores[rng.choice(pool)] for _ in range(length)] for _ in range(2000)]
        blocked = sum(min(each) < THRESHOLD for each in drawn) / len(drawn)
        caught = sum(min([*each[1:], scores[rng.choice(wrong)]]) < THRESHOLD for each in drawn) / len(drawn)
        lines.append(f"| {length} | {len(drawn)} | {blocked:.0%} | {caught:.0%} |")
    return [
        *lines,
        "",
        f"Drawn from {len(pool)} reworded and {len(wrong)} edited sentences, each judged against its own document.",
    ]


async def documented(judge: Judge) -> list[str]:
    """The examples of the vendors' documentation at the default thresholds."""
    lines = ["| answer | grounding | relevance | right |", "| --- | --- | --- | --- |"]
    for case in (*CASES, *FURTHER_CASES):
        verdict = await judge.verdict([case.source], case.answer, case.query)
        grounding, relevance = (verdict.score(kind) or 0.0 for kind in (CheckKind.GROUNDING, CheckKind.RELEVANCE))
        right = (grounding >= THRESHOLD) == case.grounded and (relevance >= 0.5) == case.relevant
        lines.append(f"| {case.answer} | {grounding:.2f} | {relevance:.2f} | {'yes' if right else '**no**'} |")
    return lines


async def report(folder: Path, most: int, only: str) -> tuple[str, str]:
    """The page, or the parts and sets of it whose name holds ``only``; and the reliability diagram."""
    async with judging() as judge:
        parts: dict[str, list[str]] = {}
        sets, pooled = await table_of_sets(judge, folder, most, only)
        if len(sets) > 2:
            parts["Sets"] = sets
        if not only:
            parts["Calibration"] = calibration(pooled)
        if only in "minimal edits":
            parts["Minimal edits"] = await edits(judge, folder, most)
        if only in "answers of several sentences":
            parts["Answers of several sentences"] = await answers(judge, folder, most // 8)
        if only in "whole answers to questions":
            parts["Whole answers to questions"] = await written.table(judge, written.names())
        if only in "documented examples":
            parts["Documented examples"] = await documented(judge)
    page = "\n\n".join(f"## {title}\n\n" + "\n".join(lines) for title, lines in parts.items()) + "\n"
    return page, plotted(pooled) if pooled.labels else ""


def main() -> None:
    """Print the page, or write it between the marks of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--only", default="", help="part of the name of a set or of a heading, in small letters")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.only and args.out is not None:
        parser.error("--only prints a part of the page; --out writes it whole")
    page, plot = asyncio.run(report(args.data / "eval", args.rows, args.only))
    if args.out is None:
        print(page)
        return
    mark = "<!-- made by make bench-accuracy: everything below -->\n"
    before = args.out.read_text("utf-8").split(mark)[0] if args.out.exists() else ""
    args.out.write_text(f"{before}{mark}\n{page}", "utf-8")
    args.out.with_name(PLOT).write_text(plot, "utf-8")


if __name__ == "__main__":
    main()
