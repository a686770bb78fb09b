"""Tiny real checkpoints with random weights, and scorers made from a config.yaml as an operator writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from proxy.app import build_scorer
from proxy.check import load
from proxy.upstream.model_list import parse_model_list
from proxy.upstream.models import UpstreamSet, build_upstreams

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.scoring.base import Scorer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the library in harlow opens at nine and closes its members may borrow eight books pool is red".split()
SIGNS = list("abcdefghijklmnopqrstuvwxyz0123456789.,:;!?()[]<>/{}\"'-_=")
NOWHERE = [{"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": "http://127.0.0.1:9/v1"}}]

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def write_config(folder: Path, scorer: dict[str, Any], model_list: list[dict[str, Any]] | None = None) -> Path:
    """A config.yaml with this scorer, whose models are nowhere unless others are given."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"model_list": model_list or NOWHERE, "scorer": scorer}), encoding="utf-8")
    return file


def configured(
    folder: Path, scorer: dict[str, Any], model_list: list[dict[str, Any]] | None = None
) -> tuple[Scorer, UpstreamSet]:
    """The scorer of a config.yaml, not yet warm, and the models beside it."""
    settings, _ = load(write_config(folder, scorer, model_list))
    upstreams = build_upstreams(parse_model_list(list(settings.model_list)))
    return build_scorer(settings, upstreams), upstreams


def wordpiece(**options: Any) -> Any:
    """A BERT tokenizer that knows a few words and spells all others."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [*SPECIAL, *WORDS, *SIGNS, *(f"##{sign}" for sign in SIGNS)]
    inner = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names, **options)


def unigram() -> Any:
    """A T5 tokenizer in small: ``</s>`` is a word of its vocabulary, and "0" begins with a blank of its own."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "</s>", "<unk>", "▁", "▁1", "▁predict", *(f"▁{word}" for word in WORDS), *SIGNS]
    scores = [(word, 0.0 if word == "</s>" else -float(at)) for at, word in enumerate(words)]
    inner = Tokenizer(models.Unigram(scores, unk_id=2))
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def saved(folder: Path, model: Any, tokenizer: Any) -> Path:
    """Write a checkpoint."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def bert(folder: Path, labels: tuple[str, ...], *, kind: str = "SequenceClassification", seed: int = 1) -> Path:
    """A BERT of two layers that classifies pairs, or tokens, into ``labels``."""
    import torch
    import transformers

    torch.manual_seed(seed)
    named = {"id2label": dict(enumerate(labels)), "label2id": {label: at for at, label in enumerate(labels)}}
    tokenizer = wordpiece(model_max_length=256, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=256, initializer_range=0.3, **SIZES, **named
    )
    return saved(folder, getattr(transformers, f"BertFor{kind}")(config), tokenizer)


def roberta(folder: Path, labels: tuple[str, ...]) -> Path:
    """A RoBERTa, which numbers positions from behind its padding's number, with a tokenizer that states no limit."""
    import torch
    import transformers

    torch.manual_seed(3)
    named = {"id2label": dict(enumerate(labels)), "label2id": {label: at for at, label in enumerate(labels)}}
    tokenizer = wordpiece(eos_token="[SEP]")
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=258,
        pad_token_id=1,
        type_vocab_size=1,
        initializer_range=0.3,
        **SIZES,
        **named,
    )
    return saved(folder, transformers.RobertaForSequenceClassification(config), tokenizer)


def modernbert(folder: Path) -> Path:
    """A ModernBERT that marks tokens, with the labels LettuceDetect's have."""
    import torch
    import transformers

    torch.manual_seed(4)
    tokenizer = wordpiece(model_max_length=512)
    special = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    config = transformers.ModernBertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=512, initializer_range=0.3, num_labels=2, **SIZES, **special
    )
    return saved(folder, transformers.ModernBertForTokenClassification(config), tokenizer)


def t5(folder: Path) -> Path:
    """A T5 of two layers on each side."""
    import torch
    import transformers

    torch.manual_seed(5)
    tokenizer = unigram()
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        initializer_factor=1.5,
    )
    return saved(folder, transformers.T5ForConditionalGeneration(config), tokenizer)
