"""What a checkpoint's outputs mean."""

import pytest

from proxy.scoring.labels import Unusable, kind_and_head, supported_label


def config(*labels, **fields):
    """A config.json with these labels, as the library writes it."""
    indices = {label: at for at, label in enumerate(labels)}
    return {"id2label": {str(at): label for label, at in indices.items()}, "label2id": indices, **fields}


@pytest.mark.parametrize(
    ("labels", "index"),
    [
        (("contradiction", "entailment", "neutral"), 1),
        (("entailment", "neutral", "contradiction"), 0),
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), 2),
        (("Contradict", "Entailed", "Neutral"), 1),
        (("entailment", "not_entailment"), 0),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), 0),
        (("hallucinated", "consistent"), 1),
        (("LABEL_0",), 0),
    ],
)
def test_labels_in_any_order_are_read(labels, index):
    """The label that says supported is found wherever it stands; a single output is the score itself."""
    assert supported_label(config(*labels), "nli") == index


@pytest.mark.parametrize(
    "written",
    [
        config("LABEL_0", "LABEL_1", "LABEL_2"),
        config("0", "1"),
        config("entailment", "supported"),
        config("negative", "positive"),
        {},
        {"num_labels": 3},
        {"id2label": {"0": "entailment", "1": "neutral"}, "label2id": {"entailment": 1, "neutral": 0}},
    ],
)
def test_labels_that_do_not_say_are_refused_with_the_key_that_helps(written):
    """No label, several, numbers, or two tables that disagree: the operator must say which it is."""
    with pytest.raises(Unusable, match="name it with entailment_label"):
        supported_label(written, "nli")


@pytest.mark.parametrize(("chosen", "index"), [("LABEL_2", 2), (0, 0), (2, 2)])
def test_the_operator_may_say_which_it_is(chosen, index):
    """By name or by number, whatever the config says."""
    assert supported_label(config("LABEL_0", "LABEL_1", "LABEL_2"), "nli", chosen) == index


@pytest.mark.parametrize("chosen", ["entailment", 3, -1])
def test_a_label_that_is_not_there_is_refused(chosen):
    """What the operator names must exist; the labels there are shown."""
    with pytest.raises(Unusable, match="0 is LABEL_0, 1 is LABEL_1"):
        supported_label(config("LABEL_0", "LABEL_1"), "nli", chosen)


@pytest.mark.parametrize(
    ("head", "labels", "index"),
    [
        ("minicheck", ("0", "1"), 1),
        ("minicheck", ("LABEL_0", "LABEL_1"), 1),
        ("lettuce", ("LABEL_0", "LABEL_1"), 0),
        ("lettuce", ("supported", "hallucinated"), 0),
        ("lettuce", ("hallucinated", "supported"), 1),
    ],
)
def test_checkers_with_a_convention_need_no_names(head, labels, index):
    """MiniCheck's 1 is supported, LettuceDetect's 1 is made up; names count first."""
    assert supported_label(config(*labels), head) == index


def test_a_token_classifier_needs_two_labels():
    """One output a token says nothing of which way it points."""
    with pytest.raises(Unusable):
        supported_label(config("LABEL_0"), "lettuce")


@pytest.mark.parametrize(
    ("architecture", "head", "kind"),
    [
        ("DebertaV2ForSequenceClassification", "nli", "SequenceClassification"),
        ("ModernBertForTokenClassification", "lettuce", "TokenClassification"),
        ("T5ForConditionalGeneration", "minicheck", "Seq2SeqLM"),
    ],
)
def test_the_architecture_says_the_head(architecture, head, kind):
    """Each kind of checker is known by the class it was saved from, and may be named too."""
    written = {"architectures": [architecture]}
    assert kind_and_head(written) == kind_and_head(written, head) == (kind, head)


def test_a_classifier_may_be_minichecks():
    """The operator says so: the class is that of any classifier."""
    written = {"architectures": ["RobertaForSequenceClassification"]}
    assert kind_and_head(written, "minicheck") == ("SequenceClassification", "minicheck")


@pytest.mark.parametrize(
    ("architecture", "head", "others"),
    [
        ("BertForSequenceClassification", "lettuce", "nli or minicheck"),
        ("BertForTokenClassification", "nli", "lettuce"),
        ("T5ForConditionalGeneration", "nli", "minicheck"),
    ],
)
def test_a_head_that_a_checkpoint_cannot_have_is_refused(architecture, head, others):
    """Weights of one class may fit another by their names, and would then mean nothing."""
    with pytest.raises(Unusable, match=f"is a {architecture}, whose head can be {others}, not {head}"):
        kind_and_head({"architectures": [architecture]}, head)


@pytest.mark.parametrize("written", [{}, {"architectures": None}, {"architectures": ["LlamaForCausalLM"]}])
@pytest.mark.parametrize("head", [None, "nli"])
def test_what_is_no_checker_is_refused(written, head):
    """A language model, or a config that does not say, cannot be used as a checker."""
    with pytest.raises(Unusable, match="choose another"):
        kind_and_head(written, head)
