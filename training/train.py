"""Train the two-head cross-encoder on a mix.

    python training/train.py --base DIR --mix DIR/mix.npz --out DIR [--init DIR] [--minutes 70] [--lr 1.2e-4]
        [--head-lr 8] [--seed 1] [--int8]

``--base`` holds the encoder (``model.safetensors``, ``config.json``); ``--init`` goes on from a checkpoint of this
script instead. Killed, it goes on from its last checkpoint (one every few minutes) when started again with the same
arguments. The learning rate follows the share of ``--minutes`` or of the mix that is used up, whichever is further, so
that it always ends at zero. ``--int8`` trains with the weights rounded to 8 bits as they will be stored
(straight-through estimation, Bengio et al. 2013), so that rounding them at the end changes nothing.

On CPUs with AVX-512 bf16: bf16 autocast, eager attention and no dropout are eight times as fast as the obvious way.
Word embeddings stay as they are: they know more words than the mix holds, and half the parameters need no update.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils import parametrize
from transformers import AutoConfig, AutoModel

sys.path.insert(0, str(Path(__file__).parent))

from network import PARTS, read

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS_PER_BATCH = 3072
POOL = 96
"""Batches whose pairs are sorted by length together: little padding, and still a random order."""

SAVE_SECONDS = 240
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's malloc.h."""

WARM_UP = 0.05
LEVELS = 128
SMALLEST = 1e-8


class CrossEncoder(nn.Module):
    """``[CLS] premise [SEP] hypothesis [SEP]`` to two logits: grounding, relevance."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(folder, attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)
        self.enc = AutoModel.from_config(config, add_pooling_layer=False, attn_implementation="eager")
        self.pool = nn.Linear(config.hidden_size * PARTS, config.hidden_size)
        self.heads = nn.Linear(config.hidden_size, 2)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Logits, shape (batch, 2)."""
        hidden = self.enc(**inputs).last_hidden_state
        seen = read(hidden, inputs["token_type_ids"], inputs["attention_mask"])
        return self.heads(torch.tanh(self.pool(seen)))


class Rounded(nn.Module):
    """A weight as 8-bit integers times one scale a row; the gradient passes as if nothing were rounded.

    The scale has the sign that makes the row's outermost weight -128, as NNCF's symmetric mode stores it.
    """

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """The rounded weight."""
        plain = weight.detach()
        low, high = -plain.amin(1, keepdim=True), plain.amax(1, keepdim=True)
        scale = torch.where(low >= high, low, -high) / LEVELS
        scale = torch.where(scale.abs() < SMALLEST, SMALLEST, scale)
        return weight + ((plain / scale).round().clamp(-LEVELS, LEVELS - 1) * scale - plain)


def rounded(model: CrossEncoder) -> None:
    """Train all matrices as they will be stored; the embeddings are rounded once and trained no more."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            parametrize.register_parametrization(module, "weight", Rounded())
        elif isinstance(module, nn.Embedding):
            with torch.no_grad():
                module.weight.copy_(Rounded()(module.weight))
            module.weight.requires_grad_(False)  # noqa: FBT003 - torch's own signature


@dataclass(slots=True)
class Mix:
    """Tokenised pairs: ids end to end, the lengths of premise and hypothesis, labels and heads.

    ``special`` holds the ids of [CLS], [SEP] and [PAD].
    """

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    heads: np.ndarray
    special: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Mix:
        """Read what mix.py wrote."""
        with np.load(path) as file:
            return cls(**{name: file[name] for name in ("ids", "lengths", "labels", "heads", "special")})

    def batches(self, seed: int) -> Iterator[np.ndarray]:
        """Row numbers, a batch at a time, each row once."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.labels))
        totals = self.lengths.sum(1) + 3
        pool = POOL * 40
        for start in range(0, len(order), pool):
            rows = order[start : start + pool]
            rows = rows[np.argsort(totals[rows], kind="stable")]
            made, first = [], 0
            for at in range(len(rows)):
                if (at - first + 1) * totals[rows[at]] > TOKENS_PER_BATCH:
                    made.append(rows[first:at])
                    first = at
            made.append(rows[first:])
            rng.shuffle(made)  # type: ignore[arg-type]
            yield from (batch for batch in made if len(batch))

    def tensors(self, rows: np.ndarray, starts: np.ndarray) -> dict[str, torch.Tensor]:
        """Inputs of the model for these rows, padded to the longest."""
        totals = self.lengths[rows].sum(1) + 3
        cls, sep, pad = self.special.tolist()
        ids = np.full((len(rows), int(totals.max())), pad, np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for at, row in enumerate(rows):
            first, second = self.lengths[row]
            tokens = self.ids[starts[row] : starts[row] + first + second]
            ids[at, : first + 2] = [cls, *tokens[:first], sep]
            ids[at, first + 2 : first + second + 3] = [*tokens[first:], sep]
            types[at, first + 2 : first + second + 3] = 1
            mask[at, : first + second + 3] = 1
        return {
            "input_ids": torch.from_numpy(ids),
            "token_type_ids": torch.from_numpy(types),
            "attention_mask": torch.from_numpy(mask),
        }


def start(args: argparse.Namespace) -> CrossEncoder:
    """The model to begin with: an encoder with fresh heads, or a checkpoint."""
    model = CrossEncoder(args.base)
    if args.init:
        weights = {name: value.float() for name, value in load_file(args.init / "model.safetensors").items()}
        model.load_state_dict(weights)
        return model
    weights = load_file(args.base / "model.safetensors")
    missing, _ = model.enc.load_state_dict(weights, strict=False)
    if [name for name in missing if "position_ids" not in name]:
        message = f"{args.base} lacks {missing}"
        raise SystemExit(message)
    return model


def keep_memory() -> None:
    """Have glibc keep freed memory: handing every batch's tensors back and forth can cost half of the time."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return  # another C library
    for option in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        mallopt(option, 2**31 - 1)


def train(args: argparse.Namespace) -> None:
    """One pass, or as much of it as fits into the minutes."""
    keep_memory()
    torch.manual_seed(args.seed)
    model = start(args)
    if args.int8:
        rounded(model)
    model.enc.embeddings.word_embeddings.weight.requires_grad_(False)  # noqa: FBT003 - torch's own signature
    mix = Mix.load(args.mix)
    starts = np.concatenate([[0], np.cumsum(mix.lengths.sum(1))[:-1]])
    tokens_in_all = int(mix.lengths.sum() + 3 * len(mix.labels))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.ndim > 1]
    fresh = {id(parameter) for part in (model.pool, model.heads) for parameter in part.parameters()}
    optimizer = torch.optim.AdamW(
        [
            {"params": [each for each in matrices if id(each) not in fresh], "weight_decay": 0.01},
            {"params": [each for each in trained if each.ndim == 1 and id(each) not in fresh], "weight_decay": 0.0},
            {"params": [each for each in trained if id(each) in fresh], "weight_decay": 0.01, "faster": args.head_lr},
        ],
        lr=args.lr,
        betas=(0.9, 0.98),
        fused=True,
    )
    done, seconds, seen = resume(args.out, model, optimizer)
    began, saved, loss_mean = time.monotonic() - seconds, time.monotonic(), 0.0
    model.train()
    for number, rows in enumerate(mix.batches(args.seed)):
        if number < done:
            continue
        spent = time.monotonic() - began
        progress = max(seen / tokens_in_all, spent / 60 / args.minutes)
        if progress >= 1:
            break
        rate = args.lr * min(progress / WARM_UP, (1 - progress) / (1 - WARM_UP)) if progress else 0.0
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("faster", 1.0)
        inputs = mix.tensors(rows, starts)
        heads, labels = torch.from_numpy(mix.heads[rows]), torch.from_numpy(mix.labels[rows])
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(**inputs)
        chosen = logits.float().gather(1, heads[:, None])[:, 0]
        loss = binary_cross_entropy_with_logits(chosen, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        seen += int(mix.lengths[rows].sum() + 3 * len(rows))
        loss_mean = loss.item() if not loss_mean else 0.99 * loss_mean + 0.01 * loss.item()
        if number % 100 == 0:
            speed = seen / max(1e-6, time.monotonic() - began)
            print(
                f"{progress:6.1%}  batch {number}  loss {loss_mean:.4f}  {speed:,.0f} tokens/s  {spent:.0f} s",
                flush=True,
            )
        if time.monotonic() - saved > SAVE_SECONDS:
            save_state(args.out, model, optimizer, (number + 1, time.monotonic() - began, seen))
            saved = time.monotonic()
    save(args.out, model)
    (args.out / "state.pt").unlink(missing_ok=True)
    print(f"{args.out}: loss {loss_mean:.4f}, {seen:,} tokens, {time.monotonic() - began:.0f} s")


def save_state(out: Path, model: nn.Module, optimizer: torch.optim.Optimizer, at: tuple[int, float, int]) -> None:
    """What is needed to go on; written whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "at": at}, out / "state.tmp")
    (out / "state.tmp").replace(out / "state.pt")


def resume(out: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[int, float, int]:
    """Batches, seconds and tokens already spent."""
    if not (out / "state.pt").exists():
        return 0, 0.0, 0
    state = torch.load(out / "state.pt", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"going on from batch {state['at'][0]}")
    done, seconds, seen = state["at"]
    return int(done), float(seconds), int(seen)


def save(out: Path, model: CrossEncoder) -> None:
    """The checkpoint: weights as trained (rounded ones rounded), configuration."""
    for module in model.modules():
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
    out.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().contiguous() for name, value in model.state_dict().items()}
    model.enc.config.to_json_file(out / "config.json")
    save_file(weights, out / "model.tmp")
    (out / "model.tmp").replace(out / "model.safetensors")  # whole or not at all


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--mix", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--init", type=Path)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--lr", type=float, default=1.5e-4)
    parser.add_argument("--head-lr", type=float, default=1.0, help="times --lr, for the heads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--int8", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "arguments.json").write_text(json.dumps(vars(args), default=str, indent=1) + "\n")
    train(args)


if __name__ == "__main__":
    main()
