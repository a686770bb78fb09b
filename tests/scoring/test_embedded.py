"""The embedded model: the shipped files, as they are."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proxy.grounding.types import CheckKind, Pair
from proxy.scoring.embedded import (
    MODEL_FOLDER,
    MODEL_NAME,
    RELEVANCE_FOLDER,
    EmbeddedModel,
    _sigmoid,
    embedded_model,
    rounded_length,
)
from proxy.scoring.routed import MeanModel
from proxy.scoring.tokens import SLICE_CHARS

if TYPE_CHECKING:
    from proxy.scoring.routed import RoutedModel

GOLDEN = Path(__file__).parent / "golden_fp32.jsonl"
"""Made by ``training/export_openvino.py golden``: synthetic pairs and their fp32 scores."""

NEAR = 0.005
GROUNDING, RELEVANCE = CheckKind.GROUNDING, CheckKind.RELEVANCE
SOURCE = "The library in Harlow opens at nine. Its members may borrow eight books for three weeks."
ODD_TEXTS = (
    "",
    " \n\t ",
    "\x00\x07",
    "\ud800 alone \udfff",
    "e\u0301" * 50,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u202eright to left",
    "\u6771\u4eac" * 400,
    "x" * 5000,
    "[CLS] [SEP] [PAD] [MASK]",
    "\ufdfa\u0130\ufb01",
)


def pair(premise: str, hypothesis: str, kind: CheckKind = GROUNDING) -> Pair:
    """A pair, for short."""
    return Pair(kind=kind, premise=premise, hypothesis=hypothesis)


@pytest.fixture(scope="module")
def model() -> EmbeddedModel:
    """The model as the proxy loads it."""
    return EmbeddedModel()


@pytest.fixture(scope="module")
def long_model() -> EmbeddedModel:
    """The model with all its positions, so that the long golden pairs are read whole."""
    return EmbeddedModel(max_tokens=512)


@pytest.fixture(scope="module")
def golden() -> list[tuple[Pair, float]]:
    """Pairs and their fp32 scores."""
    rows = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    return [(pair(row["premise"], row["hypothesis"], CheckKind(row["kind"])), row["score"]) for row in rows]


@pytest.fixture(scope="module")
def scores(long_model: EmbeddedModel, golden: list[tuple[Pair, float]]) -> list[float]:
    """What the shipped model gives the golden pairs, all in one call."""
    return long_model.score([each for each, _ in golden])


def test_the_golden_pairs_are_many_and_of_all_lengths(long_model: EmbeddedModel, golden: list) -> None:
    """The other tests mean something only if both heads and short and long pairs are there."""
    lengths = long_model.lengths([each for each, _ in golden])
    assert len(golden) >= 300
    assert min(lengths) <= 10
    assert max(lengths) >= 380
    for kind in CheckKind:
        of_kind = [score for each, score in golden if each.kind is kind]
        assert len(of_kind) >= 100
        assert min(of_kind) < 0.1
        assert max(of_kind) > 0.9


def test_less_precise_arithmetic_moves_scores_little(long_model: EmbeddedModel, golden: list) -> None:
    """99 of 100 pairs must stay within 0.05 of the fp32 model, whatever the machine."""
    near = [abs(_sigmoid(long_model.logit(each)) - wanted) <= 0.05 for each, wanted in golden]
    assert sum(near) >= int(0.99 * len(near))


def test_neighbours_do_not_change_a_score(long_model: EmbeddedModel, golden: list, scores: list[float]) -> None:
    """A pair alone, or in another order among others, must get the score it got in the whole batch."""
    order = random.Random(1).sample(range(len(golden)), 60)
    shuffled = long_model.score([golden[at][0] for at in order])
    alone = [long_model.score([golden[at][0]])[0] for at in order[:20]]
    assert [scores[at] for at in order] == pytest.approx(shuffled, abs=NEAR)
    assert [scores[at] for at in order[:20]] == pytest.approx(alone, abs=NEAR)


def test_padding_does_not_change_a_score(
    long_model: EmbeddedModel, golden: list, scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pair padded to the model's limit must get the score it gets at its own length."""
    monkeypatch.setattr("proxy.scoring.embedded.rounded_length", lambda _: 512)
    some = range(0, len(golden), 12)
    assert [scores[at] for at in some] == pytest.approx(long_model.score([golden[at][0] for at in some]), abs=NEAR)


def test_the_heads_answer_their_own_question(model: EmbeddedModel) -> None:
    """Support and relevance must come from the head that the kind names."""
    question = "When does the library in Harlow open?"
    supported, unsupported, relevant, irrelevant = model.score(
        [
            pair(SOURCE, "The library in Harlow opens at nine."),
            pair(SOURCE, "The swimming pool in Harlow is 50 metres long."),
            pair(question, "The library in Harlow opens at nine.", RELEVANCE),
            pair(question, "Sheep eat grass.", RELEVANCE),
        ]
    )
    assert min(supported, relevant) > 0.8
    assert max(unsupported, irrelevant) < 0.2


def test_no_pairs_no_scores(model: EmbeddedModel) -> None:
    """An empty batch must be answered by an empty list."""
    assert model.score([]) == []
    assert model.lengths([]) == []


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_any_text_is_scored(model: EmbeddedModel, text: str) -> None:
    """Whatever characters arrive, on either side, there must be a score in [0, 1] and spans within the text."""
    pairs = [pair(text, "It is so.", kind) for kind in CheckKind] + [pair(SOURCE, text, kind) for kind in CheckKind]
    assert all(0 <= score <= 1 for score in model.score(pairs))
    assert all(0 < length <= model.max_tokens for length in model.lengths(pairs))
    spans = model.token_spans(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


def test_token_spans_count_characters(model: EmbeddedModel) -> None:
    """Spans must be indices into the Python string, also after characters outside the basic plane or not text."""
    text = "\U0001f600 na\u00efve \ud800 caf\u00e9s, 87 m"
    found = [text[start:end] for start, end in model.token_spans(text)]
    assert [found[0], *found[-5:]] == ["\U0001f600", "s", ",", " ", "87", " m"]
    assert {" caf\u00e9", " \ud800"} < set(found)


def test_a_text_cannot_forge_a_separator(model: EmbeddedModel) -> None:
    """The tokenizer's special words in a source must be read as words: several tokens each, not one."""
    assert len(model.token_spans("[SEP]")) > 1
    assert len(model.token_spans("[CLS]")) > 1


def test_lengths_are_premise_hypothesis_and_three(model: EmbeddedModel) -> None:
    """Windows are fitted by these counts, so they must add up."""
    claim = "Members may borrow eight books."
    wanted = len(model.token_spans(SOURCE)) + len(model.token_spans(claim)) + 3
    assert model.lengths([pair(SOURCE, claim)]) == [wanted]


def test_a_long_pair_loses_the_tail_of_its_premise(model: EmbeddedModel) -> None:
    """Text past the limit must change nothing, and the hypothesis must be read whole."""
    claim = "Members may borrow eight books for three weeks."
    room = model.max_tokens - 3 - len(model.token_spans(claim))
    filler = " word" * (room - len(model.token_spans(SOURCE)))
    exact, longer = pair(SOURCE + filler, claim), pair(SOURCE + filler + " and the moon is made of cheese", claim)
    assert model.lengths([exact, longer]) == [model.max_tokens] * 2
    assert model.logit(exact) == model.logit(longer)
    assert model.logit(pair("word " * room + SOURCE, claim)) == model.logit(pair("word " * room, claim))


def test_exact_checks_lower_a_score_and_a_copy_keeps_it(model: EmbeddedModel) -> None:
    """What the evidence does not carry, or carries elsewhere, counts beside what the encoder says of it."""
    source = "London is the capital of UK. Tokyo is the capital of Japan."
    copy, swap, absent = model.score(
        [pair(source, f"{town} is the capital of Japan.") for town in ("Tokyo", "London", "Oslo")]
    )
    assert copy > 0.9
    assert max(swap, absent) < 0.5


def test_weights_for_other_signs_are_refused(tmp_path) -> None:
    """Weights and code belong together."""
    for file in MODEL_FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "weights.json").write_text('{"bias": 0, "scale": 1, "signs": {"others": -1}}')
    with pytest.raises(ValueError, match=r"weights\.json holds weights of other signs"):
        EmbeddedModel(tmp_path)


def test_without_them_the_encoder_speaks_alone(tmp_path) -> None:
    """A folder of the three files is a model; its score is the sigmoid of the logit."""
    for name in ("model.xml", "model.bin", "tokenizer.json"):
        (tmp_path / name).write_bytes((MODEL_FOLDER / name).read_bytes())
    bare, each = EmbeddedModel(tmp_path), pair(SOURCE, "The library opens at nine.")
    assert bare.score([each]) == [_sigmoid(bare.logit(each))]


def test_a_claim_that_cannot_be_read_whole_is_not_supported(model: EmbeddedModel) -> None:
    """The unread end of a claim must not pass on the strength of its beginning; relevance may read the beginning."""
    claim = "The library in Harlow opens at nine. " * 80
    assert model.lengths([pair(SOURCE, claim)])[0] <= model.max_tokens
    assert model.score([pair(SOURCE, claim)]) == [0.0]
    assert model.score([pair("When does the library in Harlow open?", claim, RELEVANCE)])[0] > 0.5


def test_a_smaller_limit_is_kept(golden: list) -> None:
    """``max_tokens`` must bound what is read."""
    small = EmbeddedModel(max_tokens=160)
    assert max(small.lengths([each for each, _ in golden])) == 160
    assert small.max_tokens == 160


@pytest.mark.parametrize("options", [{"threads": 0}, {"max_tokens": 513}, {"max_tokens": 8}])
def test_impossible_options_are_refused(options: dict) -> None:
    """A wrong setting must be told when loading, not found when scoring."""
    with pytest.raises(ValueError, match=r"must|needs"):
        EmbeddedModel(**options)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """An incomplete model folder must be told by the name of what is missing."""
    with pytest.raises(FileNotFoundError, match=r"model\.xml"):
        EmbeddedModel(tmp_path)


def test_two_threads_give_the_same_scores(golden: list, scores: list[float]) -> None:
    """How many threads an operator chooses must not change a verdict."""
    two = EmbeddedModel(threads=2, max_tokens=512).score([each for each, _ in golden[::10]])
    assert two == pytest.approx(scores[::10], abs=NEAR)


def test_tokens_may_be_asked_from_any_thread(model: EmbeddedModel, golden: list) -> None:
    """``token_spans`` must give the same while other threads ask and the model scores."""
    texts = [each.premise for each, _ in golden[:100]]
    wanted = [model.token_spans(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        scoring = pool.submit(model.score, [each for each, _ in golden[:20]])
        assert list(pool.map(model.token_spans, texts * 4)) == wanted * 4
        assert len(scoring.result()) == 20


@pytest.fixture(scope="module")
def both() -> RoutedModel:
    """What ships: the model for all, and the one for relevance in English."""
    return embedded_model()


def test_what_ships_fits_the_seam(both: RoutedModel) -> None:
    """It must be a ``Model`` with a name and a limit, to which evidence is shown in pieces."""
    assert (both.name, both.max_tokens, both.evidence) == (MODEL_NAME, 256, "pieces")


def test_each_pair_goes_to_the_model_for_it(both: RoutedModel, model: EmbeddedModel) -> None:
    """Relevance in English to both; grounding, any other language and any two to the one, and so all tokens."""
    other, question = EmbeddedModel(RELEVANCE_FOLDER), "When does the library open?"
    english = pair(question, "The library opens at nine.", RELEVANCE)
    spanish = pair("\u00bfCu\u00e1ndo abre la biblioteca?", "La biblioteca abre a las nueve.", RELEVANCE)
    mixed = pair(question, "La biblioteca abre a las nueve.", RELEVANCE)
    grounding = pair(SOURCE, "The library opens at nine.")
    assert both.score([spanish, english, mixed, grounding]) == [
        *model.score([spanish]),
        *MeanModel(model, other).score([english]),
        *model.score([mixed, grounding]),
    ]
    assert both.token_spans(SOURCE) == model.token_spans(SOURCE)


FACTS = (
    ("La biblioteca abre a las nueve.", "La biblioteca abre a las nueve.", "La biblioteca está cerrada por obras."),
    ("La bibliothèque ouvre à neuf heures.", "La bibliothèque ouvre à 9 h.", "La bibliothèque a une piscine."),
    ("Die Bücherei öffnet um neun Uhr.", "Die Bücherei öffnet um 9 Uhr.", "Die Bücherei hat ein Schwimmbad."),
    ("De bibliotheek gaat om negen uur open.", "De bibliotheek gaat om negen uur open.", "Er is een zwembad."),
    ("A biblioteca abre às nove horas.", "A biblioteca abre às nove.", "A biblioteca tem uma piscina."),
    ("La biblioteca apre alle nove.", "La biblioteca apre alle 9.", "La biblioteca ha una piscina."),
    ("図書館は九時に開きます。", "図書館は九時に開く。", "図書館にはプールがあります。"),
)


@pytest.mark.parametrize(("source", "true", "false"), FACTS, ids=[source[:12] for source, _, _ in FACTS])
def test_other_languages_are_told_apart(model: EmbeddedModel, source: str, true: str, false: str) -> None:
    """What the source says, and what it does not, in each language that is promised."""
    good, bad = model.score([pair(source, true), pair(source, false)])
    assert good >= 0.7 > bad


@pytest.mark.parametrize(("source", "true", "false"), FACTS[:-1], ids=[source[:12] for source, _, _ in FACTS[:-1]])
def test_an_answer_in_another_language_than_its_source_is_ranked(
    model: EmbeddedModel, source: str, true: str, false: str
) -> None:
    """Scores are low then, but the right claim's is above the wrong one's. Not so in Japanese."""
    crossed, wrong = model.score([pair("The library opens at nine.", each) for each in (true, false)])
    assert crossed > wrong


@pytest.mark.parametrize("text", ["Библиотека открывается в девять.", "도서관은 아홉 시에 엽니다.", "ห้องสมุดเปิดเก้าโมง"])
def test_what_the_model_cannot_read_is_not_supported(model: EmbeddedModel, text: str) -> None:
    """Letters that its vocabulary lacks say nothing: not even a copy passes."""
    assert model.score([pair(text, text)]) == [0.0]


def test_lengths_round_up_to_few_shapes() -> None:
    """Each length must fit its shape, at little padding, and there must be few shapes to compile."""
    rounded = [rounded_length(tokens) for tokens in range(1, 513)]
    assert all(tokens <= length <= tokens + 31 for tokens, length in enumerate(rounded, 1))
    assert len(set(rounded)) <= 32
    assert max(rounded) == 512


def test_the_import_is_light() -> None:
    """Neither OpenVINO nor the tokenizer nor numpy may be loaded before a model is wanted."""
    script = (
        "import sys, proxy.scoring.embedded, proxy.scoring.batcher;"
        "print([name for name in ('openvino', 'tokenizers', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("folder", [MODEL_FOLDER, RELEVANCE_FOLDER])
def test_a_model_folder_is_small_and_complete(folder: Path) -> None:
    """What is shipped must be the files named, with a card, and small enough for a wheel."""
    assert sorted(path.name for path in folder.iterdir()) == [
        *("MODEL.md", "calibration.json", "model.bin", "model.xml", "tokenizer.json", "weights.json")
    ]
    assert (folder / "model.bin").stat().st_size <= 40_000_000


def test_long_texts_are_tokenised_in_slices(model: EmbeddedModel) -> None:
    """Slices change nothing where there are spaces: the spans are those of the whole, and cover every word."""
    words = "alpha beta, gamma-delta 12.5 " * 3000
    spans = model.token_spans(words)
    assert "".join(words[start:end] for start, end in spans).split() == words.split()
    assert spans == sorted(spans)
    once = len(model.token_spans("alpha beta, gamma-delta 12.5")) * 3000
    assert once <= len(spans) <= once + len(words) // SLICE_CHARS + 1  # a slice's last space may be a token
    endless = model.token_spans("x" * 100_000)
    assert (endless[0][0], endless[-1][1]) == (0, 100_000)
