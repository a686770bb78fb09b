"""What each part of the embedded scorer is worth, set by set: AUC as one after the other is added.

    make bench-ablation DATA=folder      (or: python benchmarks/ablation.py --data folder [--rows 120] [--out FILE])

``folder`` is that of ``accuracy.py``. The encoder is asked of every piece of evidence, and its best word counts:
first of whole windows alone, then of single sentences too, then of sentences with their neighbours and composed ones;
then with the claim's values written as the evidence writes them; and last with the exact checks. Claims are split as
the proxy splits them, and the least supported counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from accuracy import SETS, Row, rows_of

from proxy.calibrate import auc
from proxy.grounding.binding import evidence_for
from proxy.grounding.claims import hypothesis, split_claims
from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.types import CheckKind, GroundingContext, Pair, Source
from proxy.guard.assess import WINDOWS_PER_CLAIM
from proxy.scoring.embedded import EmbeddedModel

PARTS = ("windows", "+ sentences", "+ composed", "+ values", "+ exact checks")
ENCODER_PARTS = 3
HEAD = """# What each part of the embedded scorer is worth

AUC, as one part after the other is added; `make bench-ablation` makes this page, and `benchmarks/ablation.py` says how.
"""


def supports(model: EmbeddedModel, row: Row) -> list[float]:
    """The row's support, 0 to 1, as each part is added."""
    index = EvidenceIndex(GroundingContext(sources=(Source(text=row["premise"]),)), model.token_spans)
    least = [1.0] * len(PARTS)
    for claim in split_claims(row["hypothesis"]):
        if claim.needs_check:
            best = _best(model, index, hypothesis(claim, None))
            least = [min(both) for both in zip(least, best, strict=True)]
    return least


def _best(model: EmbeddedModel, index: EvidenceIndex, asserted: str) -> list[float]:
    first, then = evidence_for(asserted, index.shortlist(asserted, WINDOWS_PER_CLAIM), index.rows)
    since = [(piece, 2 if len(piece.parts) > 1 else 1) for piece in first] + [(piece, 0) for piece in then]
    best = [-1e9] * len(PARTS)
    for piece, part in since:
        pair = Pair(kind=CheckKind.GROUNDING, premise=piece.text, hypothesis=asserted, written=piece.written)
        plain, worded = model.logit(pair, worded=False), model.logit(pair)
        found = [plain if at >= part else -1e9 for at in range(ENCODER_PARTS)]
        best = [max(both) for both in zip(best, [*found, worded, model.weighed(worded, pair)], strict=True)]
    return best


def ranked(scores: list[float]) -> list[float]:
    """Places in [0, 1], ties sharing one: what the area under the curve depends on."""
    places = {score: at for at, score in enumerate(sorted(set(scores)))}
    return [places[score] / max(1, len(places) - 1) for score in scores]


def table(folder: Path, most: int) -> list[str]:
    """One line a set."""
    model = EmbeddedModel(threads=2)
    lines = [f"| set | rows | {' | '.join(PARTS)} |", "| --- | --- |" + " --- |" * len(PARTS)]
    for one in (each for each in SETS if each.kind is CheckKind.GROUNDING and not each.group):
        rows = rows_of(folder, one, most)
        labels = [int(row["label"]) for row in rows]
        columns = zip(*(supports(model, row) for row in rows), strict=True)
        areas = " | ".join(f"{auc(labels, ranked(list(column))):.3f}" for column in columns)
        lines.append(f"| {one.file} {one.lang} | {len(rows)} | {areas} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    """Print the table, or write it under the head of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    page = "\n".join(table(args.data / "eval", args.rows)) + "\n"
    if args.out is None:
        print(page)
        return
    args.out.write_text(f"{HEAD}\n{page}", "utf-8")


if __name__ == "__main__":
    main()
