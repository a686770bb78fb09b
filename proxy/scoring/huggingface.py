"""Any checker of claims in Hugging Face's format, run by torch. The only file that imports torch and transformers.

Rules of this file
- A score depends on its pair alone. On a CPU pairs run one by one. On a GPU, where that would waste it, a pass has a
  shape that follows from the length of its pairs, free rows filled up: in bfloat16 another shape would round otherwise.
- Only a premise is cut, from its end. A hypothesis that cannot be read whole is not supported: its score is 0.
- No code that comes with a checkpoint runs, and a checkpoint whose head is missing is refused.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from proxy.grounding.errors import ScoringError
from proxy.scoring.heads import MAKERS, Words
from proxy.scoring.labels import GENERATOR, Unusable, kind_and_head, supported_label
from proxy.scoring.tokens import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.grounding.types import Pair
    from proxy.scoring.base import EvidenceUse
    from proxy.scoring.heads import Encoded, Head

EXTRA = "groundwarden[transformers]"
"""What must be installed besides."""

MOST_TOKENS = 4096
"""Longest pair read, whatever a model allows: LettuceDetect's own limit."""

DEFAULT_TOKENS = 2048
"""Longest pair for a model without a limit of its own: MiniCheck's, whose T5 has relative positions."""

STEP = 32
"""Lengths on a GPU are rounded up to this."""

PASS_ROWS = {"cpu": 1, "cuda": 16}
PASS_TOKENS = 8192
"""Pairs that run in one pass, and their tokens; 1 means that each runs alone, at its own length."""

_OFFSET_POSITIONS = frozenset("camembert data2vec-text longformer mpnet roberta xlm-roberta xlm-roberta-xl".split())
"""Architectures that number positions from behind the padding token's number, and so have that many fewer."""


class HuggingFaceModel:
    """A ``Model`` for grounding; what kind a pair says it is, is not looked at.

    ``model`` is a name on the hub, at ``revision``, or a folder. ``head`` None, ``device`` None and ``dtype`` None
    choose what is there: the head by the checkpoint's architecture, a GPU, bfloat16 on one that has it. ``threads``
    is how many CPU threads torch may use, ``max_tokens`` may lower the model's own limit. Raises ``ScoringError``, in
    words for the operator, when something is missing or the checkpoint cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        head: Literal["nli", "minicheck", "lettuce"] | None = None,
        entailment_label: str | int | None = None,
        device: Literal["cpu", "cuda"] | None = None,
        dtype: Literal["float32", "bfloat16"] | None = None,
        max_tokens: int | None = None,
        threads: int = 2,
    ) -> None:
        torch, library = _libraries()
        torch.set_num_threads(threads)
        with _told_of(model):
            config = library.AutoConfig.from_pretrained(model, revision=revision, trust_remote_code=False)
            written = config.to_dict()
            kind, chosen = kind_and_head(written, head)
            label = 0 if kind == GENERATOR else supported_label(written, chosen, entailment_label)
            tokenizer = library.AutoTokenizer.from_pretrained(model, revision=revision, trust_remote_code=False)
            self._words = Words(tokenizer)
            self._head: Head = MAKERS[kind, chosen](torch, self._words, label)
            self._passes = _Passes(torch, config, tokenizer, device=device, begins=self._head.decoder_input)
            self._passes.load(getattr(library, f"AutoModelFor{kind}"), model, revision=revision, dtype=dtype)
        self.name = f"transformers/{model}"
        self.evidence: EvidenceUse = self._head.evidence
        limit = _limit(config, tokenizer, relative=self._head.decoder_input)
        self.max_tokens = min(max_tokens or MOST_TOKENS, limit, MOST_TOKENS)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the tokens of ``text``, in order. Safe to call from any thread."""
        return self._words.spans(text)

    def lengths(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens of each pair as the model will read it (at most ``max_tokens``)."""
        return [len(self._encode(pair).ids) for pair in pairs]

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Scores in [0, 1], in the order of ``pairs``."""
        encoded = [self._encode(pair) for pair in pairs]
        scores = [0.0] * len(pairs)
        for places, outputs in self._passes.run(encoded):
            for place, output in zip(places, outputs, strict=True):
                scores[place] = self._head.read(output, encoded[place])
        return scores

    def _encode(self, pair: Pair) -> Encoded:
        """Cut the premise from its end, down to its floor; what still does not fit is the hypothesis's end."""
        frame, (opening, closing) = self._head.frame, self._head.wording
        room = self.max_tokens - frame.size
        hypothesis = self._words.encode(pair.hypothesis)
        first = self._words.encode(opening + pair.premise + closing)
        first_kept, second_kept = fitted(len(first), len(hypothesis), room)
        kept = hypothesis[:second_kept]
        if first_kept < len(first):
            tail = self._words.encode(closing)
            first = self._words.encode(opening + pair.premise)[: max(0, first_kept - len(tail))] + tail
        read = len(kept) == len(hypothesis) and not pair.hypothesis.isspace()
        return frame.around(first, kept, whole=read)


class _Passes:
    """The network, and the passes through it; one thread at a time."""

    def __init__(self, torch: Any, config: Any, tokenizer: Any, *, device: str | None, begins: bool) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            message = "is to run on a GPU, and torch finds none; set device to auto or cpu"
            raise Unusable(message)
        self._torch, self._begins = torch, begins
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._pad = _first_known(tokenizer.pad_token_id, config.pad_token_id, 0)
        self._start = _first_known(getattr(config, "decoder_start_token_id", None), self._pad)
        self._typed = "token_type_ids" in tokenizer.model_input_names

    def load(self, maker: Any, model: str, *, revision: str | None, dtype: str | None) -> None:
        """Load the weights. Raises ``Unusable`` when any are missing: the library would make them up."""
        network, loaded = maker.from_pretrained(
            model,
            revision=revision,
            trust_remote_code=False,
            output_loading_info=True,
            dtype=getattr(self._torch, dtype or self._best_dtype()),
        )
        absent = sorted({*loaded["missing_keys"], *(str(key) for key in loaded["mismatched_keys"])})
        if absent:
            message = f"lacks weights ({absent[0]}), so it was not made for this head; choose another model or head"
            raise Unusable(message)
        self._network = network.to(self._device).eval()
        takes = inspect.signature(network.forward).parameters.keys()
        self._typed = "token_type_ids" in takes and self._typed

    def _best_dtype(self) -> str:
        return "bfloat16" if self._device == "cuda" and self._torch.cuda.is_bf16_supported() else "float32"

    def run(self, encoded: Sequence[Encoded]) -> Iterator[tuple[list[int], list[Any]]]:
        """Places in ``encoded`` and the outputs for them, a pass at a time. What is not to be read is left out."""
        by_width: dict[int, list[int]] = defaultdict(list)
        for at, each in enumerate(encoded):
            if each.readable:
                by_width[self._width(len(each.ids))].append(at)
        for width, places in by_width.items():
            rows = max(1, min(PASS_ROWS[self._device], PASS_TOKENS // width))
            for start in range(0, len(places), rows):
                chosen = places[start : start + rows]
                filled = [encoded[at] for at in (*chosen, *[chosen[0]] * (rows - len(chosen)))]
                yield chosen, self._pass(filled, width)[: len(chosen)]

    def _width(self, tokens: int) -> int:
        return tokens if PASS_ROWS[self._device] == 1 else -(-tokens // STEP) * STEP

    def _pass(self, rows: Sequence[Encoded], width: int) -> list[Any]:
        columns = {
            "input_ids": [self._padded(row.ids, width, self._pad) for row in rows],
            "attention_mask": [self._padded([1] * len(row.ids), width, 0) for row in rows],
        }
        if self._typed:
            columns["token_type_ids"] = [self._padded(row.types, width, 0) for row in rows]
        if self._begins:
            columns["decoder_input_ids"] = [[self._start] for _ in rows]
        inputs = {name: self._torch.tensor(column, device=self._device) for name, column in columns.items()}
        with self._torch.inference_mode():
            return list(self._network(**inputs).logits.float().cpu())

    @staticmethod
    def _padded(numbers: list[int], width: int, filling: int) -> list[int]:
        return numbers + [filling] * (width - len(numbers))


def _first_known(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _limit(config: Any, tokenizer: Any, *, relative: bool) -> int:
    """The longest pair that a model can read, by its tokenizer and its positions, unless those are ``relative``."""
    if relative:
        return DEFAULT_TOKENS
    stated = tokenizer.model_max_length
    positions = getattr(config, "max_position_embeddings", None)
    if positions and config.model_type in _OFFSET_POSITIONS:
        positions -= (config.pad_token_id or 0) + 1
    return min(limit for limit in (stated, positions or DEFAULT_TOKENS) if limit)


def _libraries() -> tuple[Any, Any]:
    """Import torch and transformers, which takes seconds, and keep them from writing or sending anything."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # The library would ask the hub's robot to convert a checkpoint in the old format, in the operator's name.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    try:
        import torch  # noqa: PLC0415 - heavy, and an extra
        import transformers  # noqa: PLC0415 - as above
    except ImportError as error:
        message = f"scorer.backend transformers needs {error.name or 'torch'}; try pip install '{EXTRA}'"
        raise ScoringError(message) from None
    transformers.utils.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    return torch, transformers


@contextmanager
def _told_of(model: str) -> Iterator[None]:
    """Turn whatever a library raises while a model is loaded into one line that names the model."""
    try:
        yield
    except Unusable as error:
        message = f"the scorer's model {model} {error}"
        raise ScoringError(message) from None
    except Exception as error:  # noqa: BLE001 - whatever it is, the operator must be told
        words = f"cannot be loaded: {' '.join(str(error).split())[:300] or type(error).__name__}"
        if "trust_remote_code" in str(error):
            words = "needs code of its own, which is never run here; choose a model that transformers knows"
        message = f"the scorer's model {model} {words}"
        raise ScoringError(message) from None
