"""Recall of the lexical short list on WiCE: how often the annotated evidence is among the windows that get scored.

    make bench-shortlist DATA=folder       (or: python benchmarks/shortlist.py --data folder)

``folder`` holds ``wice_claim.dev.jsonl.gz``, one claim a line: ``premise`` (a whole web page), ``hypothesis``,
``evidence_sentences`` (the page's sentences) and ``supporting_sentences`` (sets of their numbers). It is made from the
published WiCE data set (github.com/ryokamoi/wice, entailment_retrieval/claim; annotations ODC-BY, texts CC BY-SA and
Common Crawl terms).
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.types import GroundingContext, Source
from proxy.guard.assess import WINDOWS_PER_CLAIM
from proxy.scoring.embedded import EmbeddedModel

if TYPE_CHECKING:
    from proxy.grounding.types import Window

Row = dict[str, Any]


def _lists(row: Row) -> Row:
    """Some copies of the file hold lists as text."""
    for name in ("evidence_sentences", "supporting_sentences"):
        if isinstance(row[name], str):
            row[name] = ast.literal_eval(row[name])
    return row


def places(row: Row) -> list[tuple[int, int]]:
    """Where each of the page's sentences stands in it."""
    found, at = [], 0
    for sentence in row["evidence_sentences"]:
        start = row["premise"].find(sentence, at)
        start = row["premise"].find(sentence) if start < 0 else start
        found.append((start, start + len(sentence.rstrip())))
        at = max(at, start)
    return found


def holds(windows: list[Window], place: tuple[int, int]) -> bool:
    """Whether the windows hold the whole sentence, one of them or neighbours between them."""
    at = place[0]
    for window in sorted(windows, key=lambda window: window.start):
        if window.start <= at < window.end:
            at = window.end
    return at >= place[1]


def main() -> None:
    """Print recall by length of the short list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    with gzip.open(folder / "wice_claim.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(_lists, map(json.loads, lines)) if any(row["supporting_sentences"])]
    model = EmbeddedModel()
    context = [GroundingContext(sources=(Source(text=row["premise"]),)) for row in rows]
    indices = [EvidenceIndex(each, model.token_spans) for each in context]
    print(f"{len(rows)} claims, {sum(len(index.windows) for index in indices) / len(rows):.1f} windows a page\n")
    print(f"{'k':>3}  {'sentences':>9}  {'a whole supporting set':>22}")
    for k in (4, 8, 12, 16, 24, 32):
        sentences, sets = [], 0
        for row, index in zip(rows, indices, strict=True):
            windows, where = index.shortlist(row["hypothesis"], k), places(row)
            needed = [[at for at in group if at < len(where)] for group in row["supporting_sentences"]]
            sentences += [holds(windows, where[at]) for at in {at for group in needed for at in group}]
            sets += any(all(holds(windows, where[at]) for at in group) for group in needed)
        mark = "  <- in use" if k == WINDOWS_PER_CLAIM else ""
        print(f"{k:>3}  {sum(sentences) / len(sentences):>9.3f}  {sets / len(rows):>22.3f}{mark}")


if __name__ == "__main__":
    main()
