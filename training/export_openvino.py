"""Turn a two-head cross-encoder checkpoint into the OpenVINO model that the proxy ships.

    python training/export_openvino.py export  --checkpoint DIR --out proxy/scoring/e5
    python training/export_openvino.py compare --checkpoint DIR --data DIR
    python training/export_openvino.py golden  --checkpoint DIR --out tests/scoring/golden_fp32.jsonl

``export`` writes model.xml, model.bin and tokenizer.json; ``compare`` builds every variant and prints a table of speed
and distance from fp32, so that the choice of ``SHIPPED`` can be made again for another checkpoint; ``golden`` writes
the fp32 scores, worked out by PyTorch, of the synthetic pairs in ``golden_pairs.py``: the tests hold the shipped model
to them. The same inputs give the same files.

A checkpoint is a folder of model.safetensors, config.json and tokenizer.json. Its keys: ``enc.*`` (a BertModel
without pooler), ``pool.*`` and ``heads.*``; logits = heads(tanh(pool(network.read(...)))), 0 grounding, 1 relevance.
``--data`` is a folder of gzip JSONL with premise and hypothesis, or question and answer. Static quantisation is
calibrated on it, so it must be training data, never what a figure is quoted from.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nncf
import numpy as np
import openvino as ov
import torch
from golden_pairs import golden_pairs
from network import PARTS, read
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from proxy.grounding.wording import worded_as
from proxy.scoring.embedded import ACTIVATION_GROUP, SPECIAL_TOKENS
from proxy.scoring.tokens import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEED = 20261129
MAX_TOKENS = 512
CALIBRATION_PAIRS = 400
CHECK_PAIRS = 2000
WINDOW_WORDS = 90
"""The proxy's windows are about this long; calibrating on whole pages would widen the ranges for nothing."""
ROWS_PER_FILE = 400
HEADS = ("grounding", "relevance")
Text = tuple[str, str]
Ids = list[int]


class Layer(nn.Module):
    """One BERT layer; parameter names are Hugging Face's, so that a checkpoint loads as it is."""

    def __init__(self, size: int, inner: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")}),
                "output": nn.ModuleDict({"dense": nn.Linear(size, size), "LayerNorm": nn.LayerNorm(size, epsilon)}),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, inner)})
        self.output = nn.ModuleDict({"dense": nn.Linear(inner, size), "LayerNorm": nn.LayerNorm(size, epsilon)})

    def forward(self, hidden: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Let all tokens look at each other."""
        mine, after, out = self.attention["self"], self.attention["output"], self.output
        query, key, value = (self._split(mine[name](hidden)) for name in ("query", "key", "value"))
        seen = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        seen = seen.transpose(1, 2).flatten(2)
        middle = after["LayerNorm"](after["dense"](seen) + hidden)
        return out["LayerNorm"](out["dense"](nn.functional.gelu(self.intermediate["dense"](middle))) + middle)

    def _split(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden.unflatten(2, (self.heads, hidden.shape[2] // self.heads)).transpose(1, 2)


class Encoder(nn.Module):
    """BERT without pooler."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        size, epsilon = config["hidden_size"], config["layer_norm_eps"]
        tables = (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size"))
        self.embeddings = nn.ModuleDict({f"{name}_embeddings": nn.Embedding(config[of], size) for name, of in tables})
        self.embeddings["LayerNorm"] = nn.LayerNorm(size, epsilon)
        shape = size, config["intermediate_size"], config["num_attention_heads"], epsilon
        layers = nn.ModuleList(Layer(*shape) for _ in range(config["num_hidden_layers"]))
        self.encoder = nn.ModuleDict({"layer": layers})

    def forward(self, input_ids: torch.Tensor, mask: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
        """The last hidden states, of shape (pairs, tokens, hidden)."""
        table = self.embeddings
        positions = torch.arange(input_ids.shape[1], dtype=torch.int64)
        hidden = table["word_embeddings"](input_ids) + table["position_embeddings"](positions)
        hidden = table["LayerNorm"](hidden + table["token_type_embeddings"](token_type_ids))
        bias = (mask[:, None, None, :].float() - 1) * 1e9
        for layer in self.encoder["layer"]:
            hidden = layer(hidden, bias)
        return hidden


class CrossEncoder(nn.Module):
    """ids, mask and types of shape (pairs, tokens) to logits of shape (pairs, 2).

    The sigmoid is left to the caller: in bf16 a probability near 1 moves in steps of 0.004, its logit far finer.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.enc = Encoder(config)
        self.pool = nn.Linear(PARTS * config["hidden_size"], config["hidden_size"])
        self.heads = nn.Linear(config["hidden_size"], 2)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor) -> Any:
        """Judge a padded batch."""
        hidden = self.enc(input_ids, attention_mask, token_type_ids)
        return self.heads(torch.tanh(self.pool(read(hidden, token_type_ids, attention_mask))))


def load_checkpoint(folder: Path) -> CrossEncoder:
    """Read a checkpoint in fp32, ready to infer."""
    model = CrossEncoder(json.loads((folder / "config.json").read_text("utf-8")))
    model.load_state_dict({key: value.float() for key, value in load_file(folder / "model.safetensors").items()})
    return model.eval()


class PairTokenizer:
    """[CLS] premise [SEP] hypothesis [SEP]; a pair that is too long is cut as the proxy cuts it."""

    def __init__(self, path: Path) -> None:
        self.inner = Tokenizer.from_file(str(path))
        self.inner.no_truncation()
        self.inner.no_padding()
        self.cls, self.sep, self.pad = (self.inner.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]"))

    def __call__(self, pair: Text) -> tuple[Ids, Ids]:
        """Token ids and segment ids of one pair, unpadded."""
        premise, hypothesis = (self.inner.encode(text, add_special_tokens=False).ids for text in pair)
        one, other = fitted(len(premise), len(hypothesis), MAX_TOKENS - SPECIAL_TOKENS)
        first, second = [self.cls, *premise[:one], self.sep], [*hypothesis[:other], self.sep]
        return first + second, [0] * len(first) + [1] * len(second)

    def batch(self, pairs: Sequence[Text], length: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids, mask and segments of shape (pairs, tokens), padded to the longest or to ``length``."""
        encoded = [self(pair) for pair in pairs]
        shape = len(pairs), max(length, *(len(ids) for ids, _ in encoded), 1)
        ids, mask, types = np.full(shape, self.pad, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, (tokens, segments) in enumerate(encoded):
            ids[row, : len(tokens)], types[row, : len(tokens)], mask[row, : len(tokens)] = tokens, segments, 1
        return ids, mask, types


def read_pairs(folder: Path, count: int) -> list[Text]:
    """``count`` pairs, sampled evenly over the files and over both heads; long premises become windows."""
    chance = random.Random(SEED)
    pairs: list[Text] = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        found = list(_pairs_of(path, chance))
        pairs += chance.sample(found, min(len(found), ROWS_PER_FILE))
    chance.shuffle(pairs)
    if len(pairs) < count:
        message = f"{folder} holds only {len(pairs)} usable pairs; {count} are needed"
        raise SystemExit(message)
    return pairs[:count]


def _pairs_of(path: Path, chance: random.Random) -> Iterator[Text]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get("hypothesis"):
                yield _window(row["premise"], chance), row["hypothesis"]
            elif row.get("question") and row.get("answer"):
                yield row["question"], row["answer"]


def _window(text: str, chance: random.Random) -> str:
    words = text.split()
    start = chance.randrange(max(1, len(words) - WINDOW_WORDS + 1))
    return " ".join(words[start : start + WINDOW_WORDS])


def convert(model: CrossEncoder) -> ov.Model:
    """Trace to fp32 OpenVINO with free batch and length, and named inputs."""
    example = {
        name: torch.ones((2, 16), dtype=torch.int64) for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    with torch.no_grad():
        converted = ov.convert_model(model, example_input=example, input=[ov.PartialShape([-1, -1])] * 3)
    for port, name in zip(converted.inputs, example, strict=True):
        port.get_tensor().set_names({name})
    converted.output(0).get_tensor().set_names({"logits"})
    return converted


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to make and run the model.

    ``weights`` compresses the weights alone to int8; ``smooth`` quantises weights and activations, calibrated, with
    that strength of smooth-quant (-1 turns it off); ``half`` stores what is left in fp16, as the checkpoint does;
    ``hint`` is the precision it is worked out in, ``group`` how many activations are rounded to 8 bits together (0:
    none is).
    """

    name: str
    hint: str = "f32"
    group: int = 0
    weights: nncf.CompressWeightsMode | None = None
    smooth: float | None = None
    half: bool = False


WEIGHTS = Variant(name="int8 weights, bf16", weights=nncf.CompressWeightsMode.INT8_SYM, half=True, hint="bf16")
SHIPPED = replace(WEIGHTS, name="int8 weights and activations, bf16", group=ACTIVATION_GROUP)
HALF = Variant(name="fp16 weights, bf16", half=True, hint="bf16")
PTQ = Variant(name="PTQ int8, smooth-quant 0.95", smooth=0.95)
VARIANTS = (
    Variant(name="fp32"),
    replace(HALF, name="fp16 weights, fp32", hint="f32"),
    HALF,
    WEIGHTS,
    SHIPPED,
    replace(SHIPPED, name="int8 weights and activations, fp32", hint="f32"),
    PTQ,
    replace(PTQ, name="PTQ int8, smooth-quant 0.5", smooth=0.5),
    replace(PTQ, name="PTQ int8, no smooth-quant", smooth=-1),
    replace(PTQ, name="PTQ int8, smooth-quant 0.95, bf16", hint="bf16"),
)


def build(checkpoint: Path, variant: Variant, calibration: Sequence[Text] = ()) -> ov.Model:
    """Convert, and quantise as the variant says."""
    model = convert(load_checkpoint(checkpoint))
    if variant.smooth is not None:
        return quantise(model, PairTokenizer(checkpoint / "tokenizer.json"), calibration, variant.smooth)
    if variant.weights is not None:
        return nncf.compress_weights(model, mode=variant.weights)
    return model


def quantise(model: ov.Model, tokenizer: PairTokenizer, calibration: Sequence[Text], smooth: float) -> ov.Model:
    """Post-training int8 of weights and activations."""
    return nncf.quantize(
        model,
        nncf.Dataset([tokenizer.batch([pair]) for pair in calibration]),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(calibration),
        advanced_parameters=nncf.AdvancedQuantizationParameters(
            smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(matmul=smooth),
        ),
    )


def compile_file(path: Path, variant: Variant) -> ov.CompiledModel:
    """Compile as the proxy does, on one thread."""
    options = {
        "INFERENCE_PRECISION_HINT": variant.hint,
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": variant.group,
    }
    return ov.Core().compile_model(path, "CPU", options)


def scores_of(
    compiled: ov.CompiledModel, tokenizer: PairTokenizer, pairs: Sequence[Text], size: int = 8, length: int = 0
) -> np.ndarray:
    """Scores of shape (pairs, 2), in batches of ``size`` in the given order."""
    parts = [compiled(tokenizer.batch(pairs[at : at + size], length))[0].copy() for at in range(0, len(pairs), size)]
    return sigmoid(np.concatenate(parts))


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Logits to scores in [0, 1]."""
    return 1 / (1 + np.exp(-logits))


def milliseconds(compiled: ov.CompiledModel, length: int, size: int = 8, rounds: int = 15) -> float:
    """Milliseconds per pair of full length: the best of some rounds, as other work on the machine only adds."""
    ids = np.random.default_rng(SEED).integers(1000, 20000, (size, length))
    inputs = ids, np.ones_like(ids), np.zeros_like(ids)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        compiled(inputs)
        times.append(time.perf_counter() - start)
    return 1000 * min(times) / size


def export(checkpoint: Path, out: Path) -> None:
    """Write the shipped variant and its tokenizer."""
    out.mkdir(parents=True, exist_ok=True)
    ov.save_model(build(checkpoint, SHIPPED), out / "model.xml", compress_to_fp16=SHIPPED.half)
    shutil.copyfile(checkpoint / "tokenizer.json", out / "tokenizer.json")
    print(f"{(out / 'model.bin').stat().st_size / 1e6:.1f} MB")


def compare(checkpoint: Path, data: Path) -> None:
    """Print a table of all variants; distances are over pairs that calibration did not see."""
    tokenizer = PairTokenizer(checkpoint / "tokenizer.json")
    pairs = read_pairs(data, CALIBRATION_PAIRS + CHECK_PAIRS)
    calibration = pairs[:CALIBRATION_PAIRS]
    check = sorted(pairs[CALIBRATION_PAIRS:], key=lambda pair: len(tokenizer(pair)[0]))
    reference = None
    print(
        "variant | MB | ms at 64/128/256 | grounding mean/p99/max | relevance mean/p99/max | same pair, other company"
    )
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.xml"
            ov.save_model(build(checkpoint, variant, calibration), path, compress_to_fp16=variant.half)
            compiled, size = compile_file(path, variant), path.with_suffix(".bin").stat().st_size / 1e6
            scores = scores_of(compiled, tokenizer, check)
            reference = scores if reference is None else reference
            apart = [_spread(column) for column in np.abs(scores - reference).T]
            speed = "/".join(f"{milliseconds(compiled, length):.1f}" for length in (64, 128, 256))
            self_apart = _company(compiled, tokenizer, check)
            print(f"{variant.name} | {size:.1f} | {speed} | {apart[0]} | {apart[1]} | {self_apart:.4f}", flush=True)


def _spread(distance: np.ndarray) -> str:
    return f"{distance.mean():.4f}/{np.percentile(distance, 99):.4f}/{distance.max():.4f}"


def _company(compiled: ov.CompiledModel, tokenizer: PairTokenizer, check: Sequence[Text]) -> float:
    """How far a pair's score moves when it is alone, in a mixed batch, or padded far."""
    some = list(check[:: max(1, len(check) // 200)])
    alone = scores_of(compiled, tokenizer, some, 1)
    order = np.random.default_rng(SEED).permutation(len(some))
    mixed = np.empty_like(alone)
    mixed[order] = scores_of(compiled, tokenizer, [some[at] for at in order])
    padded = scores_of(compiled, tokenizer, some, 4, MAX_TOKENS)
    return float(max(np.abs(alone - mixed).max(), np.abs(alone - padded).max()))


def golden(checkpoint: Path, out: Path) -> None:
    """Write kind, premise, hypothesis and fp32 score, one JSON object a line."""
    model, tokenizer = load_checkpoint(checkpoint), PairTokenizer(checkpoint / "tokenizer.json")
    with out.open("w", encoding="utf-8") as lines, torch.inference_mode():
        for kind, premise, hypothesis in golden_pairs():
            read = worded_as(hypothesis, premise) if kind == "grounding" else hypothesis  # as the proxy does
            tensors = [torch.from_numpy(array) for array in tokenizer.batch([(premise, read)])]
            score = torch.sigmoid(model(*tensors))[0, HEADS.index(kind)].item()
            row = {"kind": kind, "premise": premise, "hypothesis": hypothesis, "score": round(score, 5)}
            lines.write(json.dumps(row, ensure_ascii=True) + "\n")


def main() -> None:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["export", "compare", "golden"])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="for compare: a folder of training data, gzip JSONL")
    parser.add_argument("--out", type=Path, help="for export: a folder; for golden: a file")
    arguments = parser.parse_args()
    needed = "data" if arguments.command == "compare" else "out"
    if getattr(arguments, needed) is None:
        parser.error(f"{arguments.command} needs --{needed}")
    torch.manual_seed(SEED)
    commands = {"export": export, "compare": compare, "golden": golden}
    commands[arguments.command](arguments.checkpoint, getattr(arguments, needed))


if __name__ == "__main__":
    main()
