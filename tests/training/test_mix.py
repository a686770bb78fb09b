"""The mix: nothing of an evaluation file in it, the same for the same seed, and labels that hold."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from itertools import pairwise

import edits
import mix
import parallel
import pytest
from relations import ENGLISH
from relations_other import LANGUAGES
from sets import HELD_OUT, RECIPES, Guard, Set, read

SENTENCE = "The old harbour bridge was closed to heavy traffic in the autumn of 1987."
SETS = tuple(one for recipe in RECIPES.values() for one in recipe.sets)
CONTEXT = (
    "The Norda Museum opened on March 3, 1990 in Lima. It has 1,500 visitors a day and 12 rooms. "
    "Anna Kramer leads the house, and Peter Stone designed its garden. In 2004, the museum moved to Cusco."
)


def write(path, rows):
    """A gzip'd JSONL file."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path):
    """A folder of every set that is trained on, two rows each: one shares its text with an evaluation file."""
    (tmp_path / "train").mkdir()
    (tmp_path / "eval").mkdir()
    write(
        tmp_path / "eval" / "some.test.jsonl.gz", [{"premise": f"Old news. {SENTENCE}", "hypothesis": "x", "label": 1}]
    )
    for number, file in enumerate(sorted({one.file for one in SETS})):
        rows = []
        for lang in sorted({lang for one in SETS if one.file == file for lang in one.langs}):
            known = {"lang": lang, "premise": f"{SENTENCE} More {number}.", "hypothesis": "It was shut.", "label": "1"}
            fresh = {**known, "premise": f"{CONTEXT} Note {number} {lang}.", "hypothesis": "The museum has 12 rooms."}
            rows += [{**row, "doc_id": f"{lang}{number}-{at}"} for at, row in enumerate((known, fresh))]
        for row in rows:
            row |= {"question": "How many rooms are there?", "context": row["premise"], "answer": row["premise"]}
            row |= {"answers": "['12']", "answer_start": "[0]"}
        write(tmp_path / "train" / f"{file}.jsonl.gz", rows)
    return tmp_path


@pytest.mark.parametrize("name", RECIPES)
def test_nothing_of_an_evaluation_file_is_in_the_mix(data, name):
    """Of every set, the row that holds a sentence of an evaluation file is dropped, and the other is used."""
    recipe = replace(RECIPES[name], parallel=20, other=5, lessons=0)  # lessons are of no set, and long
    made = list(mix.examples(data, recipe, Guard.of(data / "eval"), 1))
    assert not [each for each in made if "harbour bridge" in each.premise + each.hypothesis]
    groups = {each.group for each in made}
    assert all(any(group.startswith(one.file) for group in groups) for one in recipe.sets)


def test_the_same_seed_gives_the_same_mix(data):
    """A mix can be made again."""
    guard, recipe = Guard.of(data / "eval"), replace(RECIPES["multilingual"], parallel=50, other=9)
    one, again, other = (list(mix.examples(data, recipe, guard, seed)) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (SENTENCE, True),
        (SENTENCE.upper(), True),
        (f"Before. {SENTENCE} After.", True),
        ("The old harbour bridge was not closed to heavy traffic in the autumn of 1987.", True),
        ("The old harbour bridge did not close to heavy traffic in autumn of 1987.", True),
        ("The new tunnel was opened to cyclists in the spring of 2001.", False),
        ("", False),
    ],
)
def test_the_guard_knows_texts_whole_by_a_sentence_or_nearly(text, known):
    """Negated copies are known too: some sets are made so."""
    assert Guard.over([SENTENCE, "Short one."]).knows(text) is known


def test_held_out_sets_are_not_trained_on():
    """What calibration is fitted on stays out of the mix."""
    assert not {one.file for one in SETS} & {one.file for one in HELD_OUT}


def test_labels_and_lists_are_read_as_such(tmp_path):
    """Some files hold them as text."""
    write(tmp_path / "a.jsonl.gz", [{"label": "1", "answers": "['x']", "lang": "en"}, {"label": "0", "lang": "fr"}])
    assert list(read(tmp_path, Set("a", "none", "pairs"))) == [{"label": 1, "answers": ["x"], "lang": "en"}]


@pytest.mark.parametrize("language", [ENGLISH, *LANGUAGES.values()], ids=["en", *LANGUAGES])
def test_parallel_documents_bind_values_to_their_subjects(language):
    """A swapped claim and its true twin have the same document and different values; half of all is true."""
    made = [each for each in parallel.documents(random.Random(3), 4000, language) if each.head == 0]
    assert 0.35 < sum(each.label for each in made) / len(made) < 0.55
    pairs = [
        (true, swap)
        for true, swap in pairwise(made)
        if (true.source, swap.source) == ("parallel.true", "parallel.swap")
    ]
    assert len(pairs) > 200
    for true, swap in pairs:
        assert true.premise == swap.premise
        assert (true.label, swap.label) == (1, 0)


@pytest.mark.parametrize("language", [ENGLISH, *LANGUAGES.values()], ids=["en", *LANGUAGES])
def test_a_denied_question_denies_its_statement(language):
    """Of a question's affirmation and denial one is true, by its answer."""
    made = [each for each in parallel.documents(random.Random(4), 3000, language) if each.source == "parallel.faq"]
    assert len(made) > 50
    for affirmed, denied in zip(made[::2], made[1::2], strict=True):
        question = next(asked for asked, yes, _ in language.faq if yes == affirmed.hypothesis)
        answer = affirmed.premise.split(question, 1)[1].strip()
        assert answer.startswith(language.yes if affirmed.label else language.no)
        assert {affirmed.label, denied.label} == {0, 1}


@pytest.mark.parametrize("language", [ENGLISH, *LANGUAGES.values()])
def test_wide_tables_say_of_a_row_what_stands_in_it(language):
    """A true claim's values stand in its row's line; a swapped one's value is another row's or nobody's there."""
    made = [
        each
        for each in parallel.documents(random.Random(6), 4000, language)
        if each.source.startswith("parallel.wide.")
    ]
    sources = {each.source for each in made}
    assert {"parallel.wide.true", "parallel.wide.swap"} <= sources
    assert ("parallel.wide.feature" in sources) == (language is ENGLISH)
    for true, swap in pairwise(made):
        if (true.source, swap.source) == ("parallel.wide.true", "parallel.wide.swap") and true.premise == swap.premise:
            assert (true.label, swap.label) == (1, 0)
            assert true.hypothesis != swap.hypothesis
    assert any("|" in each.premise for each in made)
    assert any("; " in each.premise and "|" not in each.premise for each in made)


@pytest.mark.parametrize(
    ("sentence", "question", "without"),
    [
        ("The Norda Museum opened on March 3.", "When did the Norda Museum open?", " opened on March 3."),
        ("Anna Kramer leads the house.", "When did the Norda Museum open?", None),
        ("It opened in Lima.", "Where did it open?", None),
    ],
)
def test_a_subject_that_the_question_names_may_be_left_out(sentence, question, without):
    """And no other."""
    told = mix.without_subject(sentence, question, random.Random(1))
    assert told is None if without is None else (told or "").endswith(without) and "Museum" not in (told or "")


def test_questions_are_put_in_several_ways():
    """As they stand mostly; every way keeps the words that say what is asked."""
    rng, question = random.Random(2), "When did the Norda Museum open?"
    ways = [mix.asked(question, rng) for _ in range(400)]
    assert 0.6 < ways.count(question) / len(ways) < 0.8
    assert all("museum" in way.lower() for way in ways)
    assert len(set(ways)) >= 6


def test_a_turned_claim_is_another_claim():
    """Who did it and to whom it was done are exchanged; the document says it once."""
    made = [each for each in parallel.documents(random.Random(5), 3000) if each.source == "parallel.turned"]
    assert made
    assert not any(each.label or each.hypothesis in each.premise for each in made)


@pytest.mark.parametrize("seed", range(5))
def test_an_edit_is_never_the_sentence_itself(seed):
    """Neither in another case; and every edit has its rule's name."""
    rng = random.Random(seed)
    pool = edits.Pool(
        near_names=["Rosa Lind"], near_numbers=["1987"], far_names=["Omar Diaz"], far_clauses=["It rained."]
    )
    for text in mix.sentences(CONTEXT):
        told = edits.reworded(text, rng, 2)
        changed, rule = edits.edited(told, rng, pool)
        assert changed.casefold() != told.casefold()
        assert hasattr(edits, rule)


@pytest.mark.parametrize(
    ("question", "answer", "statements"),
    [
        ("Who founded the museum?", "Anna", {"Anna founded the museum."}),
        ("What is the capital of Peru?", "Lima", {"The capital of Peru is Lima.", "Lima is the capital of Peru."}),
        ("When was the museum opened?", "1990", {"The museum was opened in 1990."}),
        ("How many rooms are there in it?", "12", {"There are 12 rooms in it."}),
    ],
)
def test_questions_become_statements(question, answer, statements):
    """Where a rule fits; else the answer stays behind its question."""
    made = {mix.statement(question, answer, random.Random(seed)) for seed in range(40)}
    assert made - {None} == statements
