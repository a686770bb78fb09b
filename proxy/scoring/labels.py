"""What the outputs of a Hugging Face checkpoint mean, read from its config.json. Knows words, loads nothing.

A model is asked only if exactly one of its labels says "supported": with the order wrong it would pass what it should
block, and nothing would show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

GENERATOR = "Seq2SeqLM"
"""A model whose answer is its first word: it has no labels."""

HEADS = {
    # Classifiers of a pair; those of them that are MiniCheck's are shown the pair in another way.
    "SequenceClassification": ("nli", "minicheck"),
    # LettuceDetect's, which mark what an answer makes up.
    "TokenClassification": ("lettuce",),
    # MiniCheck's T5.
    GENERATOR: ("minicheck",),
}
"""The heads that a checkpoint may have, the likeliest first, by the library's word for the class it is loaded with."""

_SUPPORTED = frozenset(
    "entailment entailed entails entail supported supports support consistent grounded faithful factual".split()
)
_CONVENTIONS = {
    # MiniCheck's classifiers answer 0 or 1, LettuceDetect's mark each token with 1 where it is made up.
    "minicheck": (frozenset({"0", "1"}), "1"),
    "lettuce": (frozenset({"0", "1"}), "0"),
}


class Unusable(ValueError):
    """A checkpoint that cannot be used. The message says why, and what would help, in words that follow its name."""


def kind_and_head(config: Mapping[str, Any], head: str | None = None) -> tuple[str, str]:
    """The library's word for the class of a checkpoint, and its head: the one given, if that is one it may have.

    Raises ``Unusable`` when it is not, and when the checkpoint is of no class that is known here.
    """
    architecture = str(next(iter(config.get("architectures") or ()), ""))
    kind = next((kind for kind in HEADS if architecture.endswith(f"For{kind}")), None)
    if architecture.endswith("ForConditionalGeneration"):
        kind = GENERATOR
    if kind is None:
        message = f"is a {architecture or 'model of unknown architecture'}, and no checker of claims; choose another"
        raise Unusable(message)
    if head is not None and head not in HEADS[kind]:
        message = f"is a {architecture}, whose head can be {' or '.join(HEADS[kind])}, not {head}"
        raise Unusable(message)
    return kind, head or HEADS[kind][0]


def supported_label(config: Mapping[str, Any], head: str, chosen: str | int | None = None) -> int:
    """The index of the label that says "supported"; 0 when there is but one output, which is the score itself.

    ``chosen`` is what the operator says it is: its name or its index. Raises ``Unusable`` when it cannot be told.
    """
    names = _names(config)
    if len(names) == 1 and head != "lettuce":
        return 0
    found = _chosen(names, chosen) if chosen is not None else _read(config, names, head)
    if len(found) != 1:
        shown = ", ".join(f"{index} is {name}" for index, name in names.items())
        message = f"has labels that do not say which one means supported ({shown}); name it with entailment_label"
        raise Unusable(message)
    return found[0]


def _names(config: Mapping[str, Any]) -> dict[int, str]:
    """Labels by index. A config that names none has two without a meaning."""
    named = config.get("id2label") or {}
    if named:
        return {int(index): str(name) for index, name in sorted(named.items(), key=lambda item: int(item[0]))}
    return {index: f"LABEL_{index}" for index in range(int(config.get("num_labels") or 2))}


def _chosen(names: dict[int, str], chosen: str | int) -> list[int]:
    return [index for index, name in names.items() if chosen in (index, name)]


def _read(config: Mapping[str, Any], names: dict[int, str], head: str) -> list[int]:
    if not _agree(config.get("label2id") or {}, names):
        return []
    words = {index: name.lower().removeprefix("label_") for index, name in names.items()}
    meant = _CONVENTIONS.get(head)
    if meant is not None and set(words.values()) == meant[0]:
        return [index for index, word in words.items() if word == meant[1]]
    return [index for index, word in words.items() if word in _SUPPORTED]


def _agree(indices: Mapping[str, Any], names: dict[int, str]) -> bool:
    """Whether a config's two tables, from label to index and back, say the same."""
    return all(str(indices.get(name, index)) == str(index) for index, name in names.items())
