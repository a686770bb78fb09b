"""Speed of the embedded scorer beside models of the shapes that other checkers have, in one run on the same threads.

    make bench-speed            (or: python benchmarks/speed.py [--threads 1] [--rounds 7] [--out FILE])

It needs torch and transformers, which nothing else here installs: .venv/bin/pip install -e '.[transformers]' (for a CPU
alone, add --extra-index-url https://download.pytorch.org/whl/cpu). The other models have random weights and are built
here: nothing is downloaded, and how well such a model judges is not measured. All take their turn in every round, so
that a noisy machine disturbs each alike.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import math
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openvino as ov
from judging import Judge

from proxy.app import embedded_scorer
from proxy.grounding.types import CheckKind, Pair
from proxy.guard.assess import Assessor
from proxy.scoring.embedded import MODEL_FOLDER, embedded_model
from proxy.settings import EmbeddedSettings

try:
    import torch
    import transformers
except ImportError as error:
    sys.exit(f"{error}: this benchmark needs .venv/bin/pip install -e '.[transformers]'")

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.scoring.base import Model

AIM = 8
"""Times the speed of the fastest other model, at one pair."""

PAIR_TOKENS, WINDOW_TOKENS = 160, 512
SPECIAL_TOKENS = 3
PAIRS = 5
"""Pairs of a contender that are timed in each round, beside one answer."""

SOURCE_CHARS = 4000
PLACES: tuple[dict[str, str | int], ...] = (
    {"name": "Harbour Library", "year": 1841, "by": "Ines Vale", "seats": 64, "price": 20, "day": "Monday", "bus": 4},
    {"name": "Mill Museum", "year": 1902, "by": "Otto Brandt", "seats": 120, "price": 14, "day": "Tuesday", "bus": 9},
    {"name": "Crane Theatre", "year": 1957, "by": "Maud Keller", "seats": 430, "price": 36, "day": "Sunday", "bus": 17},
    {"name": "Salt Street Pool", "year": 1974, "by": "Jon Reed", "seats": 210, "price": 58, "day": "Friday", "bus": 22},
)
SENTENCES = (
    "The {name} opened its doors in {year} and has been run by the town of Ostby ever since.",
    "The plans were drawn by {by}, who had won a competition against eleven other architects.",
    "There are {seats} seats in the {name}, most of them on the upper floor beside the tall windows.",
    "A yearly card for the {name} costs {price} euros, and students pay half of that.",
    "The {name} is closed every {day} and during the whole of the last week of January.",
    "Those who come by bus take line {bus} and get off in front of the {name}.",
    "Bicycles can be left under the roof behind the building, but not against the railings.",
    "In the winter of its tenth year a storm took part of the roof of the {name}, and repairs lasted for months.",
    "Guide dogs are welcome in the {name}, all other animals have to wait outside.",
    "The cafe next to the entrance serves soup at noon and closes an hour before the {name} does.",
    "Groups of more than ten people should write to the {name} a week before they come.",
)
SOURCE = " ".join(sentence.format(**place) for place in PLACES for sentence in SENTENCES)[:SOURCE_CHARS]
ANSWER = (
    "The Harbour Library has been run by the town of Ostby since it opened in 1841.",
    "A card for a year at the Mill Museum costs 14 euros, half of that for students.",
    "You reach the Crane Theatre by bus on line 17.",
    "The Salt Street Pool has 350 seats.",
    "Visitors may bring guide dogs into the Salt Street Pool, but no other animals.",
)
"""All but the fourth are supported."""

PREAMBLE = """# Speed of the embedded scorer

The embedded scorer as shipped, beside PyTorch models of the shapes that other checkers are built on. `make bench-speed`
makes this page again.

How to read it
- All numbers are medians, in brackets those of the best run. The contenders take turns in every round, so compare them
  with each other: the milliseconds are this machine's, and its load's.
- "Pair": one premise and claim of 160 tokens, alone (batch 1). "Answer": 5 sentences, 4 of them supported, against a
  source of 4,000 characters.
- The embedded scorer's times hold everything: cutting texts into tokens, exact checks, and for the answer claims,
  evidence and the queue. It looks at no further evidence once a claim is supported.
- The others' times hold the model alone. As SummaC, MiniCheck and HHEM do, they judge every sentence of the answer
  against the whole source, in windows that fill 512 tokens with the sentence and so overlap a little (without overlap
  they would be a tenth shorter), one after another. T5 takes one step of its decoder, as in MiniCheck.
- The others run in fp32 and in bf16; the faster counts, and is named. Their weights are random, which changes nothing
  about their speed. Exported to a faster runtime or in 8 bits they would be faster than here.
"""


@dataclass(slots=True)
class Contender:
    """Who is timed, at what, and the milliseconds that were found. An answer is ``part``, ``parts`` times."""

    name: str
    precision: str
    parameters: int
    pair: Callable[[], Any]
    part: Callable[[], Any]
    parts: int = 1
    pair_ms: list[float] = field(default_factory=list)
    answer_ms: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """One round."""
        self.pair_ms += [timed(self.pair) for _ in range(PAIRS)]
        self.answer_ms.append(timed(self.part, self.parts))


def timed(call: Callable[[], Any], times: int = 1) -> float:
    """Milliseconds of ``times`` calls."""
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) * 1000


def pair_of(model: Model) -> Pair:
    """A claim with as much of the source as makes it a pair of ``PAIR_TOKENS``, in whole words."""
    words = SOURCE.split()
    premises = [" ".join(words[:count]) for count in range(1, PAIR_TOKENS)]
    pairs = [Pair(kind=CheckKind.GROUNDING, premise=each, hypothesis=ANSWER[0]) for each in premises]
    lengths = model.lengths(pairs)
    return pairs[max(at for at, length in enumerate(lengths) if length <= PAIR_TOKENS)]


def windows_of_source(model: Model) -> int:
    """How many windows the source fills for a model that reads it with a sentence of the answer beside it."""
    room = WINDOW_TOKENS - SPECIAL_TOKENS - max(len(model.token_spans(sentence)) for sentence in ANSWER)
    return math.ceil(len(model.token_spans(SOURCE)) / room)


def embedded_parameters() -> int:
    """What the model that ships holds."""
    graph = ov.Core().read_model(str(MODEL_FOLDER / "model.xml"))
    return sum(math.prod(node.get_output_shape(0)) for node in graph.get_ops() if node.get_type_name() == "Constant")


def embedded(model: Model, assessor: Assessor, runner: asyncio.Runner) -> Contender:
    """The scorer that ships: a pair through the model, an answer as the proxy judges it."""
    pair, judge, answer = pair_of(model), Judge(assessor), " ".join(ANSWER)
    return Contender(
        "embedded scorer",
        "",
        embedded_parameters(),
        lambda: model.score([pair]),
        lambda: runner.run(judge.score(SOURCE, answer, CheckKind.GROUNDING)),
    )


def others(windows: int) -> list[Contender]:
    """The other shapes, each in both precisions."""
    deberta = transformers.DebertaV2Config(
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
    )
    # transformers ties its embeddings, and so counts 25 million fewer than were published.
    t5 = transformers.T5Config(
        d_model=768, d_ff=2048, num_layers=12, num_heads=12, feed_forward_proj="gated-gelu", decoder_start_token_id=0
    )
    modernbert = transformers.ModernBertConfig()  # its defaults are the base model
    made: list[Contender] = []
    for name, model in (
        ("DeBERTa-v3-base", transformers.DebertaV2ForSequenceClassification(deberta)),
        ("ModernBERT-base", transformers.ModernBertForSequenceClassification(modernbert)),
        ("Flan-T5-base", transformers.T5ForConditionalGeneration(t5)),
    ):
        for precision, variant in (("fp32", model), ("bf16", copy.deepcopy(model).to(torch.bfloat16))):
            pair, window = (forward(variant.eval(), tokens) for tokens in (PAIR_TOKENS, WINDOW_TOKENS))
            parts = len(ANSWER) * windows
            made.append(Contender(name, precision, model.num_parameters(), pair, window, parts))
    return made


def forward(model: Any, tokens: int) -> Callable[[], Any]:
    """A call that judges one pair of ``tokens``."""
    ids = torch.randint(10, 30_000, (1, tokens))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.zeros((1, 1), dtype=torch.long)

    def call() -> Any:
        with torch.inference_mode():
            return model(**inputs).logits

    return call


def measure(contenders: Sequence[Contender], rounds: int) -> None:
    """Let all run once unseen, then by turns."""
    for each in contenders:
        each.pair()
        each.part()
    for number in range(rounds):
        for each in contenders:
            each.take_turn()
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """Median and best of what was timed."""

    median: float
    best: float
    precision: str

    @classmethod
    def fastest(cls, times: dict[str, list[float]]) -> Figure:
        """Of the precision with the lowest median."""
        found = (cls(statistics.median(each), min(each), precision) for precision, each in times.items())
        return min(found, key=lambda figure: figure.median)

    def text(self) -> str:
        """For a cell of the table."""
        return f"{self.median:,.1f} ({self.best:,.1f}) {self.precision}".rstrip()

    def slower_than(self, other: Figure) -> str:
        """How many times the milliseconds of ``other``."""
        return f"**{self.median / other.median:.1f}** ({self.best / other.best:.1f})"


def table(contenders: Sequence[Contender]) -> list[str]:
    """One line a model, the first of which the others are compared with, and whether the aim is met."""
    lines = [
        "| model | parameters | ms per pair | pairs/s | ms per answer | times slower: pair | times slower: answer |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    found: list[tuple[Figure, Figure]] = []
    for name, group in groupby(contenders, key=lambda each: each.name):
        same = list(group)
        pair = Figure.fastest({each.precision: each.pair_ms for each in same})
        answer = Figure.fastest({each.precision: each.answer_ms for each in same})
        found.append((pair, answer))
        cells = [name, f"{same[0].parameters / 1e6:.0f} M", pair.text(), f"{1000 / pair.median:.1f}", answer.text()]
        cells += [mine.slower_than(first) for mine, first in zip((pair, answer), found[0], strict=True)]
        lines.append(f"| {' | '.join(cells)} |")
    times = min(pair.median for pair, _ in found[1:]) / found[0][0].median
    met = "met" if times >= AIM else "not met"
    return [*lines, "", f"Aim: {AIM} times the pairs/s of the fastest other. Found: **{times:.1f}** ({met})."]


def report(threads: int, rounds: int) -> str:
    """Measure, and write it down."""
    torch.set_num_threads(threads)
    model, scorer = embedded_model(threads=threads), embedded_scorer(EmbeddedSettings(threads=threads))
    windows = windows_of_source(model)
    with asyncio.Runner() as runner:
        runner.run(scorer.warm())
        contenders = [embedded(model, Assessor(scorer), runner), *others(windows)]
        measure(contenders, rounds)
        runner.run(scorer.close())
    machine = (
        f"{os.cpu_count()} cores with {torch.backends.cpu.get_cpu_capability()}, threads used: {threads}; "
        f"{rounds} rounds of {PAIRS} pairs and an answer: for the others {len(ANSWER)} sentences by {windows} windows. "
        f"torch {torch.__version__}, transformers {transformers.__version__}, OpenVINO {ov.__version__.split('-')[0]}."
    )
    return "\n".join([machine, "", *table(contenders)]) + "\n"


def main() -> None:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    page = report(args.threads, args.rounds)
    if args.out is None:
        print(page)
        return
    args.out.write_text(f"{PREAMBLE}\n{page}", "utf-8")


if __name__ == "__main__":
    main()
