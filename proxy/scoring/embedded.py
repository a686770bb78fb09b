"""The embedded model: a small two-head cross-encoder run by OpenVINO on the CPU.

One pass gives both heads; the kind of a pair says which is read. Pairs run one at a time, each padded to the same
length whenever it comes, so not a bit of a pair's score depends on what else is in its batch. A batch of eight would be
faster by a fifth at 64 tokens, a tenth at 128 and nothing at 256, and need eight times the memory for activations.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.grounding.calibration import Calibration
from proxy.grounding.facts import WEIGHED, ReadText
from proxy.grounding.languages import both_english
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.routed import MeanModel, RoutedModel
from proxy.scoring.tokens import fitted, sliced_spans, without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.scoring.base import EvidenceUse

MODEL_FOLDER = Path(__file__).parent / "e5"
"""The model that judges grounding and relevance in all languages."""

RELEVANCE_FOLDER = Path(__file__).parent / "minilm"
"""One that has a say in relevance where query and answer are English: surer which of two questions is answered."""

MODEL_NAME = "embedded/8"
"""What a policy's calibration is fitted for: the number rises when the files of either folder are replaced."""

CHECKS, CALIBRATION = "weights.json", "calibration.json"

POSITIONS = 512
"""What the encoder has embeddings for."""

MAX_TOKENS = 256
"""What it can judge. It has learnt from pairs of up to 256 tokens, most of them far shorter."""

FINE_STEP, COARSE_STEP, FINE_LIMIT = 8, 32, 128
"""Lengths are rounded up to 8, over 128 tokens to 32: OpenVINO keeps about 1 MB and spends 4 ms for each new length."""

MOST_UNKNOWN = 0.3
"""Share of a claim's characters that may be unknown to the vocabulary; with more, its meaning is not read."""

MOST_READ = 1024
"""Pairs kept between being measured and being scored; those that are never scored must not pile up."""

MOST_TEXTS = 256
"""Texts whose facts are kept: a claim is put beside several pieces of evidence, and a piece beside several claims."""

MIN_TOKENS = 160
SPECIAL_TOKENS = 3

ACTIVATION_GROUP = 128
"""Activations that are rounded to 8 bits together."""

HEADS = {CheckKind.GROUNDING: 0, CheckKind.RELEVANCE: 1}


def embedded_model(*, threads: int = 1) -> RoutedModel:
    """What ships with the package."""
    main = EmbeddedModel(threads=threads)
    return RoutedModel(
        main,
        MeanModel(main, EmbeddedModel(RELEVANCE_FOLDER, threads=threads)),
        to_other=lambda pair: pair.kind is CheckKind.RELEVANCE and both_english(pair.premise, pair.hypothesis),
    )


class EmbeddedModel:
    """A ``Model``. ``folder`` holds model.xml, model.bin and tokenizer.json; ``threads`` is the CPU threads it may use.

    ``folder`` may hold weights.json (what the exact checks add to the encoder's logit) and calibration.json (the map
    from there to a calibrated score) too; without them the score is the encoder's alone.

    Loading takes a third of a second, so nothing compiled is cached on disk. Raises ``FileNotFoundError`` when a file
    is missing, ``ValueError`` for fewer than 1 thread or for a ``max_tokens`` that is not within 160 and 512, and what
    OpenVINO or the tokenizer raises when a file is damaged.
    """

    def __init__(self, folder: Path = MODEL_FOLDER, *, threads: int = 1, max_tokens: int = MAX_TOKENS) -> None:
        if threads < 1:
            message = "the scorer needs at least one thread"
            raise ValueError(message)
        if not MIN_TOKENS <= max_tokens <= POSITIONS:
            message = f"max_tokens must be between {MIN_TOKENS} and {POSITIONS}"
            raise ValueError(message)
        for file in ("model.xml", "model.bin", "tokenizer.json"):
            if not (folder / file).is_file():
                raise FileNotFoundError(folder / file)
        self.name = MODEL_NAME if folder == MODEL_FOLDER else f"embedded/{folder.name}"
        self.max_tokens = max_tokens
        self.evidence: EvidenceUse = "pieces"
        self._tokenizer = _Tokenizer(folder / "tokenizer.json", max_tokens)
        self._network = _Network(folder / "model.xml", threads, self._tokenizer.pad)
        self._checks = _Checks.read(folder / CHECKS)
        self._read: dict[Pair, _Encoded] = {}  # between ``lengths`` and ``score``
        self._texts: dict[str, ReadText] = {}
        self._calibration = _read_calibration(folder / CALIBRATION)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._tokenizer.spans(text)

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as the model will read it (at most ``max_tokens``)."""
        if len(self._read) > MOST_READ:
            self._read.clear()
        self._read |= {pair: self._encode(pair) for pair in pairs}
        return [self._read[pair].length for pair in pairs]

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``.

        A claim too long to be read to its end, or in letters that the model does not know, scores 0 for grounding: what
        was not read cannot be called supported.
        """
        return [self._score(pair) for pair in pairs]

    def logit(self, pair: Pair, *, worded: bool = True) -> float:
        """What the encoder alone says: for fitting what stands behind it, and for measuring what each part is worth.

        With ``worded`` the claim's values are written as the evidence writes them, as ``score`` does.
        """
        return self._network.run(self._encode(pair) if worded else self._tokenizer.encode(pair))[HEADS[pair.kind]]

    def weighed(self, logit: float, pair: Pair) -> float:
        """The score of a pair whose ``logit`` the encoder gave: exact checks and calibration."""
        if pair.kind is CheckKind.GROUNDING:
            logit = self._checks.weigh(logit, self._text(pair.hypothesis), self._evidence(pair))
        return self._calibration.apply(pair.kind, _sigmoid(logit))

    def _score(self, pair: Pair) -> float:
        encoded = self._read.pop(pair, None) or self._encode(pair)
        if pair.kind is CheckKind.GROUNDING and not encoded.whole:
            return 0.0
        return self.weighed(self._network.run(encoded)[HEADS[pair.kind]], pair)

    def _encode(self, pair: Pair) -> _Encoded:
        if pair.kind is CheckKind.GROUNDING:
            pair = replace(pair, hypothesis=self._text(pair.hypothesis).worded_as(self._evidence(pair)))
        return self._tokenizer.encode(pair)

    def _evidence(self, pair: Pair) -> ReadText:
        return self._text(pair.written or pair.premise)

    def _text(self, text: str) -> ReadText:
        read = self._texts.get(text)
        if read is None:
            if len(self._texts) >= MOST_TEXTS:
                self._texts.clear()
            read = self._texts[text] = ReadText(text)
        return read


@dataclass(frozen=True, slots=True)
class _Checks:
    """A logistic combination of the encoder's logit with the signs of the exact checks (Cox 1958)."""

    bias: float = 0.0
    scale: float = 1.0
    signs: tuple[float, ...] = ()

    @classmethod
    def read(cls, path: Path) -> _Checks:
        """Weights as training/fit.py wrote them; none without the file. ``ValueError`` if they are for other signs."""
        if not path.is_file():
            return cls()
        written = json.loads(path.read_text("utf-8"))
        if tuple(written["signs"]) != WEIGHED:
            message = f"{path.name} holds weights of other signs than {', '.join(WEIGHED)}"
            raise ValueError(message)
        return cls(written["bias"], written["scale"], tuple(written["signs"].values()))

    def weigh(self, logit: float, claim: ReadText, evidence: ReadText) -> float:
        """The logit of the claim's support, exact checks and all."""
        if not self.signs:
            return logit
        found = claim.signs_beside(evidence).weighed().values()
        return (
            self.bias + self.scale * logit + sum(weight * sign for weight, sign in zip(self.signs, found, strict=True))
        )


def _read_calibration(path: Path) -> Calibration:
    return Calibration.read(path.read_text("utf-8")) if path.is_file() else Calibration()


@dataclass(frozen=True, slots=True)
class _Encoded:
    """Token ids of ``[CLS] premise [SEP]`` and of ``hypothesis [SEP]``.

    ``whole`` when the hypothesis was read: not cut, and in letters that the vocabulary has.
    """

    first: list[int]
    second: list[int]
    whole: bool

    @property
    def length(self) -> int:
        return len(self.first) + len(self.second)


class _Tokenizer:
    """Texts to ids. Texts are data: "[SEP]" in one is a word, never a separator. Holds no state between calls."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 - heavy: only when an embedded model is wanted

        self._inner = Tokenizer.from_file(str(path))
        self._inner.no_truncation()
        self._inner.no_padding()
        self._inner.encode_special_tokens = True
        self._room = max_tokens - SPECIAL_TOKENS
        specials = ("[CLS]", "[SEP]", "[PAD]", "[UNK]")
        self._start, self._end, self.pad, self._unknown = (self._special(token) for token in specials)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of a text."""
        return sliced_spans(text, lambda part: self._encode(part).offsets)

    def encode(self, pair: Pair) -> _Encoded:
        """Cut what is too long: the premise from its end down to its floor, then the hypothesis from its end."""
        premise: list[int] = self._encode(pair.premise).ids
        read = self._encode(pair.hypothesis)
        hypothesis: list[int] = read.ids
        unknown = sum(
            end - start for one, (start, end) in zip(read.ids, read.offsets, strict=True) if one == self._unknown
        )
        first_kept, second_kept = fitted(len(premise), len(hypothesis), self._room)
        first = [self._start, *premise[:first_kept], self._end]
        second = [*hypothesis[:second_kept], self._end]
        legible = unknown <= MOST_UNKNOWN * len(pair.hypothesis)
        return _Encoded(first, second, whole=legible and second_kept == len(hypothesis))

    def _special(self, token: str) -> int:
        found = self._inner.token_to_id(token)
        if found is None:
            message = f"the tokenizer has no {token}"
            raise ValueError(message)
        return found

    def _encode(self, text: str) -> Any:
        return self._inner.encode(without_lone_surrogates(text), add_special_tokens=False)


class _Network:
    """The compiled model and its one request; one thread at a time."""

    def __init__(self, path: Path, threads: int, pad: int) -> None:
        import numpy as np  # noqa: PLC0415 - as above
        import openvino as ov  # noqa: PLC0415 - as above

        core = ov.Core()
        able = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if "BF16" in able else "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            # Pinned, the single threads of several processes would all sit on the first core.
            "ENABLE_CPU_PINNING": False,
            # Two fifths faster; a logit moves by 0.04 on average.
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": ACTIVATION_GROUP,
        }
        self._request = core.compile_model(str(path), "CPU", options).create_infer_request()
        self._np = np
        self._pad = pad

    def run(self, encoded: _Encoded) -> tuple[float, float]:
        """Logits: grounding, relevance."""
        np, width = self._np, rounded_length(encoded.length)
        ids, mask, types = np.full((1, width), self._pad), np.zeros((1, width), int), np.zeros((1, width), int)
        ids[0, : encoded.length] = encoded.first + encoded.second
        mask[0, : encoded.length] = 1
        types[0, len(encoded.first) : encoded.length] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        grounding, relevance = self._request.infer(inputs, share_inputs=True)[0][0].tolist()
        return grounding, relevance


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))


def rounded_length(tokens: int) -> int:
    """The length that a pair of ``tokens`` is padded to: depends on nothing but that pair."""
    step = FINE_STEP if tokens <= FINE_LIMIT else COARSE_STEP
    return -(-tokens // step) * step
