"""Fit what stands behind the encoder: the weights of the exact checks, and the relevance head's calibration.

    python training/fit.py --data DIR --model FOLDER --held-out DIR/held_out.jsonl [...] [--rows 350]
        [--judged FILE] [--report FILE]

``FOLDER`` is an exported model; weights.json and calibration.json are written into it. Rows are judged on the
evidence that the proxy would give them: the best piece of evidence counts. Everything comes from ``train/`` and from
documents held out of training; no file of ``eval/`` is read but to keep its texts out. Each source weighs the same,
whatever its number of rows. ``--judged`` names a file for what the encoder and the checks said of every claim:
written when it is missing or of another model or other claims, read when it fits, so that a changed fit need not ask
the encoder again. The ablation (encoder alone, with exact checks) is printed by source, cross-validated.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

sys.path.insert(0, str(Path(__file__).parent))

from sets import GROUNDING, HELD_OUT, RELEVANCE, Guard, Row, read

from proxy.calibrate import auc, ece
from proxy.calibrate.fit import fit as calibration_of
from proxy.grounding.binding import evidence_for
from proxy.grounding.calibration import Calibration
from proxy.grounding.evidence import EvidenceIndex
from proxy.grounding.facts import WEIGHED, compare, facts_of
from proxy.grounding.types import CheckKind, GroundingContext, Pair, Source
from proxy.guard.assess import WINDOWS_PER_CLAIM
from proxy.scoring.embedded import CALIBRATION, CHECKS, EmbeddedModel

if TYPE_CHECKING:
    from proxy.grounding.calibration import Curve

SEED = 20261130
FOLDS = 5
Claim = tuple[str, str, int, str]
"""Source text, claim, label, name of the set."""


@dataclass(slots=True)
class Judged:
    """Claims as numbers: a row a piece of evidence, logit first, then signs; which claim each row belongs to."""

    features: np.ndarray
    owner: np.ndarray
    labels: np.ndarray
    sources: list[str]

    @property
    def weights(self) -> np.ndarray:
        """Each source the same in all."""
        names, counts = np.unique(self.sources, return_counts=True)
        share = dict(zip(names, 1 / counts / len(names), strict=True))
        return np.array([share[name] for name in self.sources]) * len(self.sources)


def claims(data: Path, held_out: list[Row], rows: int) -> list[Claim]:
    """Claims to fit on, up to ``rows`` a source."""
    guard, found = Guard.of(data / "eval"), []
    rng = random.Random(SEED)
    for one in HELD_OUT:
        kept = [row for row in read(data / "train", one) if not guard.knows(row["premise"])]
        found += [(row["premise"], row["hypothesis"], row["label"], one.file) for row in _sample(kept, rows, rng)]
    by: dict[str, list[Row]] = {}
    for row in held_out:
        if row["head"] == GROUNDING and (family := _family(row["source"])) in FAMILIES:
            by.setdefault(family, []).append(row)
    for family, kept in sorted(by.items()):
        found += [(row["premise"], row["hypothesis"], row["label"], family) for row in _sample(kept, rows, rng)]
    return found


FAMILIES = (
    "made",
    "parallel",
    "answers",
    "lessons",
    "vitaminc_bigbench.test",
    "factcg_cg2c.train",
    "multirc.train",
    "boolq.val",
    "lingnli.train",
    "infotabs_en.train",
    "pawsx.dev",
    "xinfotabs_de.train",
    "xinfotabs_es.train",
    "xinfotabs_fr.train",
    "jsick_ja.train",
)
"""Sources of held-out pairs: those of them that the mix has."""


def _family(source: str) -> str:
    if source.startswith("edit.") or source in ("copied", "reworded", "absent"):
        return "made"
    own = next((name for name in ("parallel", "answers") if source.startswith(name)), source)
    return own.removesuffix(".far").removesuffix(".relevance")


def _sample(rows: list, count: int, rng: random.Random) -> list:
    return rng.sample(rows, min(count, len(rows)))


def judge(model: EmbeddedModel, made: list[Claim]) -> Judged:
    """Logit and signs of every piece of evidence of every claim."""
    features, owner = [], []
    for number, (source, claim, _, _) in enumerate(made):
        index = EvidenceIndex(GroundingContext(sources=(Source(text=source),)), model.token_spans)
        first, then = evidence_for(claim, index.shortlist(claim, WINDOWS_PER_CLAIM), index.rows)
        stated = facts_of(claim)
        for piece in first + then:
            pair = Pair(kind=CheckKind.GROUNDING, premise=piece.text, hypothesis=claim, written=piece.written)
            signs = compare(stated, facts_of(piece.written or piece.text))
            features.append([model.logit(pair), *signs.weighed().values()])
            owner.append(number)
        if number % 250 == 0:
            print(f"{number} of {len(made)} claims", file=sys.stderr, flush=True)
    return Judged(
        np.array(features, np.float32),
        np.array(owner),
        np.array([claim[2] for claim in made], np.float32),
        [claim[3] for claim in made],
    )


def read_or_judge(path: Path | None, model: EmbeddedModel, weights: bytes, made: list[Claim]) -> Judged:
    """What this model said of these claims before, if it is there; else judge, and keep it if there is a path."""
    digest = hashlib.sha256(weights + repr(made).encode()).hexdigest()
    if path is not None and path.exists():
        with np.load(path) as file:
            if str(file["digest"]) == digest:
                return Judged(file["features"], file["owner"], file["labels"], file["sources"].tolist())
    judged = judge(model, made)
    if path is not None:
        np.savez(
            path,
            features=judged.features,
            owner=judged.owner,
            labels=judged.labels,
            sources=judged.sources,
            digest=digest,
        )
    return judged


def combined(features: torch.Tensor, owner: torch.Tensor, weights: torch.Tensor, claims_in_all: int) -> torch.Tensor:
    """The best piece's logit of each claim. A sign can only lower it, the encoder only raise it."""
    scale, bias, signs = softplus(weights[0]), weights[1], penalties(weights)
    logits = bias + scale * features[:, 0] + features[:, 1:] @ signs
    return torch.full((claims_in_all,), -1e9).scatter_reduce(0, owner, logits, "amax")


_LEAST = {
    "transposed": 1.5,
    "answered": 2.5,
    "remeasured": 1.5,
    "altered": 3.0,
    "missing": 0.5,
    "disorder": 0.75,
    "changed": 1.0,
}
LEAST = torch.tensor([_LEAST.get(name, 0.0) for name in WEIGHED])
"""The least that a sign lowers the logit by. Names in each other's place, and questions with their answers, are too
rare in these sets to be weighed by them. And these sets are single sentences, most of them written to be reworded or
contradicted: in answers drawn from documents, words and word orders that are the answer's own are a worse sign than
they show, and a sentence that only leaves words out is a better one."""


def penalties(weights: torch.Tensor) -> torch.Tensor:
    """The signs' weights, none above minus its least."""
    return -softplus(weights[2:]) - LEAST * (weights[2:] > OFF)


OFF = -29.0
"""Below this a sign is left out altogether: the encoder alone."""


def fit(judged: Judged, chosen: np.ndarray, *, signs: bool) -> torch.Tensor:
    """Weights of the combination on the chosen claims, by maximum likelihood with a small ridge."""
    rows = chosen[judged.owner]
    number = np.cumsum(chosen) - 1
    features = torch.from_numpy(judged.features[rows])
    owner = torch.from_numpy(number[judged.owner[rows]])
    labels = torch.from_numpy(judged.labels[chosen])
    sample = torch.from_numpy(judged.weights[chosen].astype(np.float32))
    weights = torch.full((features.shape[1] + 1,), -3.0)
    weights[0], weights[1] = 0.5, 0.0
    weights.requires_grad_()
    optimizer = torch.optim.LBFGS([weights], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        used = weights if signs else torch.cat([weights[:2], torch.full((len(weights) - 2,), -30.0)])
        value = binary_cross_entropy_with_logits(combined(features, owner, used, len(labels)), labels, weight=sample)
        value = value + 0.002 * softplus(used[2:]).pow(2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    done = weights.detach()
    return done if signs else torch.cat([done[:2], torch.full((len(done) - 2,), -30.0)])


def scores_of(judged: Judged, weights: torch.Tensor) -> np.ndarray:
    """Probability of each claim."""
    owner = torch.from_numpy(judged.owner)
    return torch.sigmoid(combined(torch.from_numpy(judged.features), owner, weights, len(judged.labels))).numpy()


def ablation(judged: Judged) -> dict[str, dict[str, float]]:
    """AUC and ECE by source of the encoder alone and with exact checks, each fold scored by the others' fit."""
    folds = np.random.default_rng(SEED).integers(0, FOLDS, len(judged.labels))
    table: dict[str, dict[str, float]] = {}
    for name, signs in (("encoder", False), ("with exact checks", True)):
        scores = np.zeros(len(judged.labels))
        for fold in range(FOLDS):
            scores[folds == fold] = scores_of(judged, fit(judged, folds != fold, signs=signs))[folds == fold]
        for source in ["all", *sorted(set(judged.sources))]:
            rows = np.array([source in ("all", each) for each in judged.sources])
            found = table.setdefault(source, {"claims": float(rows.sum())})
            found[f"AUC {name}"] = auc(judged.labels[rows], scores[rows])
            found[f"ECE {name}"] = ece(judged.labels[rows], scores[rows])
    return table


def curve(labels: np.ndarray, scores: np.ndarray, sources: list[str]) -> Curve:
    """The map of ``groundwarden calibrate``, for sources that weigh the same and a share of ``RELEVANT`` positives.

    Rows are repeated to weigh as much.
    """
    names, counts = np.unique(sources, return_counts=True)
    share = dict(zip(names, 1 / counts, strict=True))
    weights = np.array([share[source] for source in sources])
    positive = labels == 1
    weights[positive] *= RELEVANT / weights[positive].sum()
    weights[~positive] *= (1 - RELEVANT) / weights[~positive].sum()
    rows = np.repeat(np.arange(len(labels)), np.rint(weights * REPEATED * len(labels)).astype(int))
    return calibration_of(labels[rows], scores[rows], rows.tolist()).curve


RELEVANT = 0.4
"""Share of answers that are to the question, for the calibration of relevance: low, for an answer is relevant if any of
its sentences is, or the source's sentence behind one; each has a chance to look so."""

REPEATED = 8
"""Times that a row of mean weight is repeated, so that weights are kept to an eighth."""


def relevance(model: EmbeddedModel, held_out: list[Row], rows: int) -> Curve:
    """The map of the relevance head, on held-out questions."""
    pairs = [row for row in held_out if row["head"] == RELEVANCE]
    pairs = _sample(pairs, 4 * rows, random.Random(SEED))
    logits = [
        model.logit(Pair(kind=CheckKind.RELEVANCE, premise=r["premise"], hypothesis=r["hypothesis"])) for r in pairs
    ]
    scores = 1 / (1 + np.exp(-np.array(logits)))
    labels = np.array([row["label"] for row in pairs], float)
    print(f"relevance: {len(pairs)} pairs, AUC {auc(labels, scores):.3f}")
    return curve(labels, scores, [_family(row["source"]) for row in pairs])


PRIOR = 0.48
"""Share of supported claims that scores are calibrated to. In these sets fewer are, for half of them were written to be
wrong; of real answers' claims most are right. The logit is shifted as Saerens et al. (2002) do for another prior."""


def shift(judged: Judged) -> float:
    """What the prior adds to every logit."""
    share = float(np.average(judged.labels, weights=judged.weights))
    return float(np.log(PRIOR / (1 - PRIOR)) - np.log(share / (1 - share)))


def main() -> None:
    """Fit, write, and print the ablation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, nargs="+", required=True)
    parser.add_argument("--rows", type=int, default=350)
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    for stale in (CHECKS, CALIBRATION):
        (args.model / stale).unlink(missing_ok=True)
    torch.set_num_threads(2)
    model = EmbeddedModel(args.model, threads=2)
    lines = [line for file in args.held_out for line in file.read_text("utf-8").splitlines()]
    held_out = list(map(json.loads, dict.fromkeys(lines)))
    judged = read_or_judge(
        args.judged, model, (args.model / "model.bin").read_bytes(), claims(args.data, held_out, args.rows)
    )
    table = ablation(judged)
    for source, row in table.items():
        print(f"{source:28}", "  ".join(f"{name} {value:.3f}" for name, value in row.items()))
    weights = fit(judged, np.ones(len(judged.labels), bool), signs=True)
    weights[1] += shift(judged)
    written = {
        "bias": round(float(weights[1]), 4),
        "scale": round(float(softplus(weights[0])), 4),
        "signs": {name: round(float(each), 4) for name, each in zip(WEIGHED, penalties(weights), strict=True)},
    }
    (args.model / CHECKS).write_text(json.dumps(written, indent=1) + "\n")
    maps = Calibration(  # grounding needs no map: the sigmoid of a logistic regression is calibrated
        scorer=model.name,
        relevance=relevance(model, held_out, args.rows),
    )
    (args.model / CALIBRATION).write_text(maps.text)
    print(json.dumps(written), maps.text)
    if args.report:
        args.report.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
