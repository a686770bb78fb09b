"""Checkers of claims in Hugging Face's format: tiny real ones, with random weights, against torch by hand."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from scoring import support

from proxy.grounding.errors import ScoringError
from proxy.grounding.types import CheckKind, Pair
from proxy.scoring import huggingface
from proxy.scoring.huggingface import HuggingFaceModel

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.scoring.base import Model

NLI = ("neutral", "entailment", "contradiction")
SOURCE = "The library in Harlow opens at nine. Its members may borrow eight books."
TEXTS = (
    (SOURCE, "The library opens at nine."),
    ("The pool is red.", "The library opens at 8:30, and closes at nine!"),
    ("Members may borrow books.", "Books?"),
    (SOURCE * 2, "It is so."),
    ("", "The pool is red."),
)


def pair(premise: str, hypothesis: str) -> Pair:
    """A grounding pair."""
    return Pair(kind=CheckKind.GROUNDING, premise=premise, hypothesis=hypothesis)


PAIRS = [pair(*texts) for texts in TEXTS]


def checker(folder: Path, **options: Any) -> HuggingFaceModel:
    """The model in a folder, on one thread: these are so small that more only wait for each other."""
    return HuggingFaceModel(str(folder), threads=1, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this module's checkpoints lie: one of each kind."""
    folder = tmp_path_factory.mktemp("checkpoints")
    support.bert(folder / "nli", NLI)
    support.roberta(folder / "roberta", ("0", "1"))
    support.bert(folder / "single", ("LABEL_0",))
    support.bert(folder / "tokens", ("hallucinated", "supported"), kind="TokenClassification")
    support.modernbert(folder / "lettuce")
    support.t5(folder / "minicheck")
    return folder


@pytest.fixture(scope="module")
def checkers(folder: Path) -> dict[str, HuggingFaceModel]:
    """Each kind as it is found, but for a lower limit."""
    names = ("nli", "single", "lettuce", "tokens", "minicheck")
    return {name: checker(folder / name, max_tokens=160) for name in names}


def by_hand(folder: Path, kind: str, *texts: str, **inputs: Any) -> tuple[Any, Any]:
    """The library's own encoding of texts, and the logits of the library's own model for it."""
    tokenizer, model = loaded(folder, kind)
    encoded = tokenizer(*texts, return_tensors="pt")
    with torch.inference_mode():
        return encoded, model(**encoded, **inputs).logits[0]


@cache
def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    """A checkpoint's tokenizer and model as the library loads them."""
    model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder), model.eval()


def near(expected: list[float]) -> Any:
    """The same scores, but for rounding."""
    return pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("labels", list(itertools.permutations(NLI)), ids="-".join)
def test_an_nli_classifier_is_read_in_its_own_order(tmp_path: Path, labels: tuple[str, ...]) -> None:
    """The score must be the probability of entailment, wherever the config says that it stands."""
    support.bert(tmp_path, labels)
    expected = [by_hand(tmp_path, "SequenceClassification", *texts)[1].softmax(0) for texts in TEXTS]
    scores = checker(tmp_path).score(PAIRS)
    assert scores == near([float(chances[labels.index("entailment")]) for chances in expected])
    assert max(scores) - min(scores) > 0.01


def test_a_classifier_of_two_is_read_too(tmp_path: Path) -> None:
    """Supported or not: the probability of the first."""
    support.bert(tmp_path, ("entailment", "not_entailment"))
    expected = [by_hand(tmp_path, "SequenceClassification", *texts)[1].softmax(0)[0] for texts in TEXTS]
    assert checker(tmp_path).score(PAIRS) == near([float(each) for each in expected])


def test_a_single_output_is_a_logit(folder: Path) -> None:
    """A model with one output gives its sigmoid."""
    expected = [by_hand(folder / "single", "SequenceClassification", *texts)[1].sigmoid() for texts in TEXTS]
    assert checker(folder / "single").score(PAIRS) == near([float(each) for each in expected])


def test_the_operator_may_name_the_label(folder: Path) -> None:
    """Unreadable labels are refused at once, with the key that helps, which then decides."""
    with pytest.raises(ScoringError, match=r"roberta has labels .* \(0 is 0, 1 is 1\); name it with entailment_label"):
        checker(folder / "roberta")
    no, yes = (checker(folder / "roberta", entailment_label=label) for label in (0, "1"))
    assert [one + other for one, other in zip(no.score(PAIRS), yes.score(PAIRS), strict=True)] == near([1.0] * 5)


def test_minichecks_classifiers_join_claim_and_document(folder: Path) -> None:
    """They were trained on one text with one separator in it, and answer 0 or 1."""
    joined = [by_hand(folder / "roberta", "SequenceClassification", "[SEP]".join(texts)) for texts in TEXTS]
    model = checker(folder / "roberta", head="minicheck")
    assert model.score(PAIRS) == near([float(logits.softmax(0)[1]) for _, logits in joined])
    assert model.lengths(PAIRS) == [encoded["input_ids"].shape[1] for encoded, _ in joined]


def test_minichecks_generator_answers_with_its_first_token(folder: Path) -> None:
    """It is "1" or "0", each by its own first token, after "predict: document</s>claim"."""
    start = torch.zeros((1, 1), dtype=torch.long)
    zero, one = (support.unigram().encode(answer)[0] for answer in ("0", "1"))
    assert (zero, one) == (3, 4)  # a blank, and "1" with a blank before it: T5's own 3 and 209
    expected = []
    for texts in TEXTS:
        _, logits = by_hand(
            folder / "minicheck", "Seq2SeqLM", "predict: " + "</s>".join(texts), decoder_input_ids=start
        )
        expected.append(float(logits[0, [zero, one]].softmax(0)[1]))
    scores = checker(folder / "minicheck").score(PAIRS)
    assert scores == near(expected)
    assert max(scores) - min(scores) > 0.001


@pytest.mark.parametrize(("name", "made_up"), [("lettuce", 1), ("tokens", 0)])
def test_a_token_classifier_is_as_good_as_the_worst_token(folder: Path, name: str, made_up: int) -> None:
    """One less the highest probability, over the claim's tokens, that a token is made up."""
    expected = []
    for premise, hypothesis in TEXTS:
        prompt = f"Summarize the following text:\npassage 1: {premise}\noutput:"
        encoded, logits = by_hand(folder / name, "TokenClassification", prompt, hypothesis)
        places = [at for at, owner in enumerate(encoded.sequence_ids()) if owner == 1]
        expected.append(1 - float(logits[places].softmax(-1)[:, made_up].max()))
    assert checker(folder / name).score(PAIRS) == near(expected)


@pytest.mark.parametrize("name", ["nli", "single", "lettuce", "tokens", "minicheck"])
class TestEveryHead:
    """What holds for each kind of checker."""

    @pytest.fixture
    def model(self, checkers: dict[str, HuggingFaceModel], name: str) -> HuggingFaceModel:
        """The checker, as it is found."""
        return checkers[name]

    def test_it_fits_the_seam(self, model: HuggingFaceModel, name: str) -> None:
        """It must be a ``Model`` that says how it wants its evidence and how much it reads."""
        seam: Model = model
        assert seam.evidence == ("pieces" if name in {"nli", "single"} else "whole")
        assert seam.name.endswith(name)
        assert seam.max_tokens == 160

    def test_passes_of_one_shape_give_the_same_scores(
        self, model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What runs on a GPU, padded and in rows of sixteen, gives what each pair gets alone."""
        many = [PAIRS[at % len(PAIRS)] for at in range(19)]
        alone = [model.score([each])[0] for each in many]
        monkeypatch.setitem(huggingface.PASS_ROWS, "cpu", 16)
        assert model.score(many) == near(alone)
        monkeypatch.setattr(huggingface, "PASS_TOKENS", 200)
        assert model.score(many) == near(alone)

    def test_a_long_pair_loses_the_tail_of_its_premise(self, model: HuggingFaceModel) -> None:
        """Text past the limit must change nothing, and the claim must be read whole."""
        claim = "Its members may borrow eight books."
        long, longer = pair(SOURCE * 12, claim), pair(SOURCE * 12 + "The pool is red.", claim)
        assert model.lengths([long, longer]) == [160, 160]
        first, second = model.score([long, longer])
        assert first == second > 0

    @pytest.mark.parametrize("hypothesis", ["The library opens at nine. " * 40, "", " \n"])
    def test_a_claim_that_is_not_read_is_not_supported(self, model: HuggingFaceModel, hypothesis: str) -> None:
        """Too long to be read to its end, or nothing at all: 0, and none of its length is hidden."""
        assert model.score([pair(SOURCE, hypothesis)]) == [0.0]
        assert model.lengths([pair(SOURCE, hypothesis)])[0] <= model.max_tokens

    @pytest.mark.parametrize("word", ["[SEP]", "</s>", "<pad>", "[CLS] [PAD]", "<unk>"])
    def test_a_text_cannot_forge_a_separator(self, model: HuggingFaceModel, word: str) -> None:
        """The special words in a text are words: no id that frames a pair comes of them."""
        words = model._words
        for text in (word, f"nine{word}nine", f"nine {word} nine"):
            assert not set(words.encode(text)) & words._special
            assert words.encode(text)

    @pytest.mark.parametrize("text", ["\x00\x07", "\ud800 alone \udfff", "東京" * 40, "x" * 3000, "\u202eright"])
    def test_any_text_is_scored(self, model: HuggingFaceModel, text: str) -> None:
        """Whatever characters arrive, on either side, there must be a score in [0, 1] and spans within the text."""
        scores = model.score([pair(text, "It is so."), pair(SOURCE, text)])
        assert all(0 <= score <= 1 for score in scores)
        ends = [end for span in model.token_spans(text) for end in span]
        assert all(0 <= end <= len(text) for end in ends)

    def test_no_pairs_no_scores(self, model: HuggingFaceModel) -> None:
        """An empty batch must be answered by an empty list."""
        assert (model.score([]), model.lengths([])) == ([], [])

    def test_lengths_are_those_that_are_read(self, model: HuggingFaceModel) -> None:
        """A length is what the network sees, frame and prompt included."""
        for each, length in zip(PAIRS, model.lengths(PAIRS), strict=True):
            assert length == len(model._encode(each).ids) >= len(model.token_spans(each.hypothesis)) + 2


def test_bfloat16_on_the_cpu_stays_near(folder: Path) -> None:
    """Where an operator asks for it, the scores are those of float32 but for its rounding, alone or together."""
    exact = checker(folder / "nli", dtype="float32").score(PAIRS)
    rounded = checker(folder / "nli", dtype="bfloat16")
    assert rounded.score(PAIRS) == pytest.approx(exact, abs=0.05)
    assert rounded.score(PAIRS) == [rounded.score([each])[0] for each in PAIRS]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["nli", "lettuce", "minicheck"])
def test_a_gpu_gives_the_same_score_whatever_the_batch(folder: Path, name: str) -> None:
    """In bfloat16 too, a pair scores the same alone and among others, and near the CPU's score."""
    model = checker(folder / name)
    many = [PAIRS[at % len(PAIRS)] for at in range(37)]
    assert model.score(many) == pytest.approx([model.score([each])[0] for each in many], abs=0.005)
    assert model.score(PAIRS) == pytest.approx(checker(folder / name, device="cpu").score(PAIRS), abs=0.1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_told(folder: Path) -> None:
    """An operator who asks for one must hear that there is none, and not be slow for no reason."""
    with pytest.raises(ScoringError, match="torch finds none; set device to auto or cpu"):
        checker(folder / "nli", device="cuda")


def test_limits_are_the_models_own(folder: Path) -> None:
    """The tokenizer's or the positions' limit holds, RoBERTa's less its offset; T5's are relative."""
    limits = {name: checker(folder / name).max_tokens for name in ("nli", "lettuce", "minicheck")}
    limits["roberta"] = checker(folder / "roberta", head="minicheck").max_tokens
    assert limits == {"nli": 256, "lettuce": 512, "minicheck": 2048, "roberta": 256}
    longest = pair("the " * 400, "nine")
    for name in ("nli", "roberta"):
        model = checker(folder / name, max_tokens=9999, head="minicheck" if name == "roberta" else None)
        assert model.lengths([longest]) == [256]
        assert 0 < model.score([longest])[0] < 1


def test_a_checkpoint_without_the_head_is_refused(tmp_path: Path, folder: Path) -> None:
    """The library would make weights up and only warn; nothing is judged by chance here."""
    encoder = transformers.BertModel.from_pretrained(folder / "nli")
    support.saved(tmp_path, encoder, support.wordpiece())
    with pytest.raises(ScoringError, match="is a BertModel, and no checker of claims"):
        checker(tmp_path, head="nli")
    written = json.loads((folder / "nli" / "config.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps(written))
    with pytest.raises(ScoringError, match=r"lacks weights \(classifier\.bias\)"):
        checker(tmp_path)


def test_code_that_comes_with_a_checkpoint_is_not_run(tmp_path: Path, folder: Path) -> None:
    """A config that points to code of its own is refused, and the code stays as it is."""
    (tmp_path / "mine.py").write_text("raise SystemExit('it ran')")
    written = json.loads((folder / "nli" / "config.json").read_bytes())
    own = {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}
    (tmp_path / "config.json").write_text(json.dumps({**written, **own}))
    with pytest.raises(ScoringError, match="needs code of its own, which is never run here"):
        checker(tmp_path)


@pytest.mark.parametrize("damage", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_checkpoint_is_one_line(tmp_path: Path, damage: str) -> None:
    """Whatever the library makes of it, the operator reads one line that names the model."""
    support.bert(tmp_path, NLI)
    (tmp_path / damage).write_bytes(b"{")
    with pytest.raises(ScoringError) as caught:
        checker(tmp_path)
    assert caught.value.message.startswith(f"the scorer's model {tmp_path} ")
    assert "\n" not in caught.value.message


def test_a_model_that_is_nowhere_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that does not exist is taken for a name, and the library's words are cut to a line."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ScoringError, match="cannot be loaded: ") as caught:
        HuggingFaceModel("nobody/nothing")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Without torch or transformers the one line says what to install."""
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ScoringError) as caught:
        HuggingFaceModel("any/model")
    assert caught.value.message == (
        f"scorer.backend transformers needs {name}; try pip install 'groundwarden[transformers]'"
    )


def test_the_import_is_light() -> None:
    """Neither torch nor transformers nor tokenizers may be loaded before a model is wanted."""
    script = (
        "import sys, proxy.scoring.huggingface;"
        "print([name for name in ('torch', 'transformers', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
