"""How the known checkers of claims want a pair written, and how a score is read from what they give for it.

NLI classifiers, MiniCheck (https://github.com/Liyan06/MiniCheck, minicheck/inference.py) and LettuceDetect
(https://github.com/KRLabsOrg/LettuceDetect, detectors and prompts): the formats are those of the checkers' own code.

Texts are data. What a text holds of the tokenizer's special words never becomes a separator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from proxy.scoring.labels import Unusable
from proxy.scoring.tokens import sliced_spans, without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.scoring.base import EvidenceUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A pair as it is read: token ids, their types, where the hypothesis lies; ``whole`` when that was not cut."""

    ids: list[int]
    types: list[int]
    hypothesis: slice
    whole: bool

    @property
    def readable(self) -> bool:
        """Whether there is a hypothesis, and all of it."""
        return self.whole and self.hypothesis.start < self.hypothesis.stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The token ids and types before, between and after two texts, and the types of the texts themselves."""

    before: list[tuple[int, int]]
    between: list[tuple[int, int]]
    after: list[tuple[int, int]]
    types: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Tokens that are no text's."""
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, first: list[int], second: list[int], *, whole: bool) -> Encoded:
        """Put two texts in; ``whole`` says whether the second is all there."""
        one, other = ([(token, kind) for token in ids] for ids, kind in zip((first, second), self.types, strict=True))
        head = [*self.before, *one, *self.between]
        row = [*head, *other, *self.after]
        place = slice(len(head), len(head) + len(other))
        return Encoded(ids=[token for token, _ in row], types=[kind for _, kind in row], hypothesis=place, whole=whole)


class Words:
    """Texts to ids. Holds no state between calls, so any thread may ask."""

    def __init__(self, tokenizer: Any) -> None:
        inner = getattr(tokenizer, "backend_tokenizer", None)
        if inner is None:
            message = "has no fast tokenizer (tokenizer.json); choose a model that has one"
            raise Unusable(message)
        inner.no_truncation()
        inner.no_padding()
        inner.encode_special_tokens = True
        self._inner = inner
        self._separator = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
        # Some vocabularies hold the special words besides, so that a text could still spell one.
        framing = {tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.eos_token_id}
        self._unknown = None if tokenizer.unk_token_id in framing else tokenizer.unk_token_id
        self._special = frozenset(tokenizer.all_special_ids) - {self._unknown}

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without any that is not a word's."""
        ids = self._tokens(text).ids
        if self._special.isdisjoint(ids):
            return list(ids)
        kept = (self._unknown if token in self._special else token for token in ids)
        return [token for token in kept if token is not None]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character spans of all tokens of a text."""
        return sliced_spans(text, lambda part: self._tokens(part).offsets)

    def pair_frame(self) -> Frame:
        """What the tokenizer puts around two texts."""
        probe = self._inner.encode("a", "b")
        rows = list(zip(probe.ids, probe.type_ids, strict=True))
        owners = probe.sequence_ids
        first, second = owners.index(0), owners.index(1)
        end_of_first, end_of_second = (len(owners) - owners[::-1].index(owner) for owner in (0, 1))
        return Frame(
            before=rows[:first],
            between=rows[end_of_first:second],
            after=rows[end_of_second:],
            types=(rows[first][1], rows[second][1]),
        )

    def joined_frame(self) -> Frame:
        """What the tokenizer puts around one text, and its separator between the two that make it up."""
        probe = self._inner.encode("a")
        rows = [(token, 0) for token in probe.ids]
        owners = probe.sequence_ids
        if self._separator is None:
            message = "has a tokenizer without a token that ends a text; choose another head"
            raise Unusable(message)
        return Frame(
            before=rows[: owners.index(0)],
            between=[(self._separator, 0)],
            after=rows[len(owners) - owners[::-1].index(0) :],
        )

    def _tokens(self, text: str) -> Any:
        return self._inner.encode(without_lone_surrogates(text), add_special_tokens=False)


class Head(Protocol):
    """One kind of checker. Outputs are torch tensors, those of one pair."""

    evidence: EvidenceUse
    frame: Frame
    wording: tuple[str, str]
    """What stands before and after the premise's text."""
    decoder_input: bool
    """Whether the model is a generator that must be given a token to begin with."""

    def read(self, output: Any, encoded: Encoded) -> float:
        """The score in [0, 1]."""
        ...


class _Classifier:
    """The probability of one label of the pair; with one output only, that output is the score's logit."""

    evidence: EvidenceUse = "pieces"
    wording = ("", "")
    decoder_input = False

    def __init__(self, torch: Any, words: Words, label: int) -> None:
        self._torch, self._label = torch, label
        self.frame = self._frame(words)

    def _frame(self, words: Words) -> Frame:
        return words.pair_frame()

    def read(self, output: Any, encoded: Encoded) -> float:  # noqa: ARG002 - other heads need it
        logits = output.reshape(-1)
        chances = logits.sigmoid() if len(logits) == 1 else self._torch.softmax(logits, 0)
        return float(chances[self._label])


class _MiniCheckClassifier(_Classifier):
    """MiniCheck's classifiers: document and claim are one text with one separator between."""

    evidence: EvidenceUse = "whole"

    def _frame(self, words: Words) -> Frame:
        return words.joined_frame()


class _MiniCheckGenerator:
    """MiniCheck's T5: the first token that follows is "1" where the document supports the claim, and "0" if not.

    Only these two count. Each is known by its first token, as in training: for T5 3 (a blank) and 209.
    """

    evidence: EvidenceUse = "whole"
    wording = ("predict: ", "")
    decoder_input = True

    def __init__(self, torch: Any, words: Words, _label: int) -> None:
        self._torch = torch
        self.frame = words.joined_frame()
        self._answers = [next(iter(words.encode(answer)), -1) for answer in ("0", "1")]
        if len({*self._answers, -1}) < 3:  # noqa: PLR2004 - both, and each its own
            message = "has a tokenizer that does not tell 0 from 1, MiniCheck's answers; choose another head"
            raise Unusable(message)

    def read(self, output: Any, encoded: Encoded) -> float:  # noqa: ARG002 - other heads need it
        return float(self._torch.softmax(output[0, self._answers], 0)[1])


class _TokenClassifier:
    """LettuceDetect: each token of an answer is made up or not; the answer is as good as its worst token.

    Its prompt is the one without a question, for pairs carry none.
    """

    evidence: EvidenceUse = "whole"
    wording = ("Summarize the following text:\npassage 1: ", "\noutput:")
    decoder_input = False

    def __init__(self, torch: Any, words: Words, label: int) -> None:
        self._torch, self._label = torch, label
        self.frame = words.pair_frame()

    def read(self, output: Any, encoded: Encoded) -> float:
        supported = self._torch.softmax(output[encoded.hypothesis], -1)[:, self._label]
        return float(supported.min())


MAKERS: dict[tuple[str, str], Callable[[Any, Words, int], Head]] = {
    ("SequenceClassification", "nli"): _Classifier,
    ("SequenceClassification", "minicheck"): _MiniCheckClassifier,
    ("Seq2SeqLM", "minicheck"): _MiniCheckGenerator,
    ("TokenClassification", "lettuce"): _TokenClassifier,
}
"""By the library's word for the class a checkpoint is loaded with, and the head's name. Made with torch, the words, and
the index of the label that says "supported". Raises ``Unusable``."""
