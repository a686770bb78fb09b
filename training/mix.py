"""From public sets and rules to one file of tokenised pairs.

    python training/mix.py --data DIR --tokenizer FILE --out DIR [--recipe english] [--seed 1]

``DIR`` holds ``train/`` and ``eval/``; no row whose premise or context shares a sentence with one of ``eval/`` is
kept. Writes ``mix.npz`` (token ids of all pairs end to end, their lengths, labels, heads, the ids of the three
special tokens) and ``mix.json`` (rows and positives per source). The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import edits
import lessons
import parallel
import topics
from relations_other import LANGUAGES
from sets import GROUNDING, RECIPES, RELEVANCE, Example, Guard, Recipe, Row, Set, read

from proxy.grounding.claims import segments
from proxy.grounding.words import terms
from proxy.scoring.embedded import MAX_TOKENS, SPECIAL_TOKENS
from proxy.scoring.tokens import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD_OUT_SHARE = 0.04
"""Of the documents of every set that has several pairs a document: kept for calibration, never trained on."""

COPIES = 0.5
"""Share of the sentences that no rewording fits which are kept as they stand."""


def held_out(group: str, seed: int) -> bool:
    """Whether a document is kept out of training: decided by its name alone."""
    return bool(group) and random.Random(f"{seed}-{group}").random() < HELD_OUT_SHARE


# --- sets to pairs -------------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """A text's sentences, cut as the product cuts them."""
    return [piece for start, end in segments(text) if (piece := text[start:end].strip())]


def nearest(text: str, hypothesis: str, count: int) -> str:
    """The ``count`` sentences that share most words with the hypothesis, in the text's order."""
    wanted = set(terms(hypothesis))
    parts = sentences(text)
    if len(parts) <= count:
        return " ".join(parts)
    order = sorted(range(len(parts)), key=lambda at: (-len(wanted & set(terms(parts[at]))), at))
    return " ".join(parts[at] for at in sorted(order[:count]))


def detokenised(text: str) -> str:
    """Undo the spaces that some sets put before punctuation."""
    text = re.sub(r" ([,.;:!?%)])", r"\1", text.replace(" 's", "'s").replace(" n't", "n't").replace("( ", "("))
    return " ".join(re.sub(r"-LRB- ?|-RRB-", "", text.replace("``", '"').replace("''", '"')).split())


def of_pairs(row: Row, one: Set, rng: random.Random) -> Iterator[Example]:
    """Premise and hypothesis as they stand; long premises by their nearest sentences."""
    premise, hypothesis = detokenised(row["premise"]), detokenised(row["hypothesis"])
    group = str(row.get("doc_id") or row["premise"][:60])
    if len(premise.split()) > 60:
        premise = nearest(premise, hypothesis, rng.choice((3, 4, 6, 8)))
    yield Example(premise, hypothesis, row["label"], GROUNDING, one.file, f"{one.file}-{group}")


def of_question(row: Row, one: Set, rng: random.Random) -> Iterator[Example]:
    """A question and a candidate answer, as the product joins fragments with their question."""
    question, answer = detokenised(row["question"]), detokenised(row["hypothesis"])
    question = question if question.endswith("?") else question + "?"
    question = question[:1].upper() + question[1:]
    hypothesis = statement(question, answer, rng) or f"{question} {answer}"
    premise = nearest(detokenised(row["premise"]), f"{question} {answer}", rng.choice((3, 4, 6)))
    group = f"{one.file}-{row.get('doc_id')}"
    yield Example(premise, hypothesis, row["label"], GROUNDING, one.file, group)
    if rng.random() < 0.15:
        yield Example(question, answer, 1, RELEVANCE, f"{one.file}.relevance", group)


def of_yes_no(row: Row, one: Set, rng: random.Random) -> Iterator[Example]:
    """A passage and a yes/no question: the right answer and the wrong one, in words of their own."""
    question = row["question"].strip().rstrip("?")
    question = question[:1].upper() + question[1:] + "?"
    right = row["label"] == 1
    premise = nearest(row["premise"].split(" -- ", 1)[-1], question, rng.choice((3, 4, 6)))
    group = f"{one.file}-{row['premise'][:60]}"
    for yes in (True, False):
        answer = said(question, yes=yes, rng=rng)
        yield Example(premise, answer, int(yes == right), GROUNDING, one.file, group)
    yield Example(
        question, said(question, yes=rng.random() < 0.5, rng=rng, joined=False), 1, RELEVANCE, one.file, group
    )


ENGLISH_ANSWERS = "{q} The answer is {a}.", "{q} It is {a}."

_YES_NO = re.compile(r"(Is|Are|Was|Were|Do|Does|Did|Can|Could|Has|Have|Will|Would|Should|Must) (.+)\?$")


def said(question: str, *, yes: bool, rng: random.Random, joined: bool = True) -> str:
    """Yes or no as an answer gives it: behind the question, or as a sentence."""
    word = "Yes" if yes else "No"
    tail = rng.choice((f"{word}.", f"{word}.", word))
    found = _YES_NO.match(question)
    if found and rng.random() < 0.5:
        verb, rest = found.group(1).lower(), found.group(2).split(" ")
        cut = 2 if rest[0] in ("the", "a", "an", "there") else 1
        helper = verb if yes else f"{verb} not"
        if len(rest) > cut + 1 and not (yes and verb in ("do", "does", "did")):
            return f"{word}, {' '.join(rest[:cut])} {helper} {' '.join(rest[cut:])}."
    if joined:
        return f"{question} {tail}"
    longer = f"{word}, that is correct." if yes else f"{word}, it is not."
    return tail if rng.random() < 0.4 else longer


_WHO = re.compile(
    r"(?:Who|What|Which [\w' -]{2,30}?) ((?:is|are|was|were|has|had|can|will|\w+ed|won|wrote|led|made|built|gave|holds|"
    r"owns|runs|became|took|began) .+)\?$"
)
_WHAT_IS = re.compile(r"(?:What|Who|Which [\w' -]{2,30}?) (is|are|was|were) ((?:the|a|an|his|her|its|their) .+)\?$")
_WHEN = re.compile(
    r"(When|Where|In (?:what|which) (?:year|city|country|month|state)) (was|were|is|are) (.+) "
    r"(\w+(?:ed|en|rn|ilt|ld|de|un|und))\?$"
)
_DID = re.compile(
    r"(When|Where|What|Who|Which [\w' -]{2,30}?|How (?:many|much) [\w' -]{2,30}?) "
    r"(did|does|do|can|will|must|should) (.+?)\?$"
)
_HOW_MANY = re.compile(r"How many (.+?) (are|were|is|was) (?:there )?(.+)\?$")


def statement(question: str, answer: str, rng: random.Random) -> str | None:  # noqa: PLR0911 - one rule a return
    """A question and its answer as one sentence, where a simple rule makes one; None elsewhere."""
    if rng.random() < 0.3 or len(answer.split()) > 12:
        return None
    answer = answer.strip().rstrip(".")
    if found := _WHAT_IS.match(question):
        verb, rest = found.groups()
        way = (f"{_up(rest)} {verb} {answer}.", f"{_up(answer)} {verb} {rest}.")
        return rng.choice(way)
    if found := _WHEN.match(question):
        where, verb, subject, past = found.groups()
        bare = answer.lower().startswith(("in ", "on ", "at ", "during ", "from "))
        preposition = "" if bare else "on " if re.search(r"\b\d{1,2}\b", answer) and where == "When" else "in "
        return f"{_up(subject)} {verb} {past} {preposition}{answer}."
    if found := _HOW_MANY.match(question):
        things, verb, rest = found.groups()
        return f"There {verb} {answer} {things} {rest}."
    if found := _WHO.match(question):
        return f"{_up(answer)} {found.group(1)}."
    if found := _DID.match(question):
        first, verb, rest = found.groups()
        helper = "" if verb in ("did", "does", "do") and rng.random() < 0.2 else f"{verb} "
        if first in ("When", "Where"):
            return f"{_up(rest)}: {answer}."
        parts = rest.split(" ")
        if len(parts) <= 5:
            return f"What {rest} {helper}is {answer}." if first == "What" and not helper else f"{_up(rest)} {answer}."
    return None


def _up(text: str) -> str:
    return text[:1].upper() + text[1:]


_ASKING = frozenset(
    "who whom whose what which when where why how is are was were do does did can could will would should has have had "
    "be the a an of in on at to for there many much long it this that".split()
)
_REQUESTS = (
    "Tell me: {}?",
    "I'd like to know: {}?",
    "Can you tell me, {}?",
    "Hi, {}?",
    "Question: {}",
    "Please answer: {}.",
)


def asked(question: str, rng: random.Random) -> str:
    """A question as users also put it: as a request, in small letters, or by its words alone."""
    way, plain = rng.random(), question.rstrip("? ")
    if way < 0.7:
        return question
    if way < 0.8:
        return rng.choice(_REQUESTS).format(plain[:1].lower() + plain[1:])
    if way < 0.88:
        return plain.lower()
    words = [each for each in plain.split() if each.casefold() not in _ASKING]
    return " ".join(words) if len(words) > 1 else question


_SUBJECT = re.compile(
    r"((?:The |An? )?(?:[A-Z0-9][\w'-]*)(?: (?:[A-Z0-9][\w'-]*|of|the|and|de|von))*)"
    r"(?= (?:is|was|has|had|are|were|have|can|will|became|won|led|made|wrote|began|took|[a-z]+ed) )"
)


def without_subject(sentence: str, question: str, rng: random.Random) -> str | None:
    """The sentence with a pronoun for its subject, where that stands in the question; None elsewhere."""
    found = _SUBJECT.match(sentence)
    subject = set(terms(found.group(1))) if found else set()
    if not found or not subject or not subject <= set(terms(question)):
        return None
    return rng.choice(("It", "It", "They", "He", "She", "This")) + sentence[found.end() :]


class Contexts:
    """Pairs made of a question-answering set: answers right and wrong, sentences reworded and edited."""

    def __init__(self, rows: list[Row], one: Set, rng: random.Random) -> None:
        self._one, self._rng = one, rng
        self._english = one.langs == ("en",)
        self._by: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            self._by[row["context"]].append(row)
        self._parts = {context: sentences(context) for context in self._by}
        flat = [part for parts in self._parts.values() for part in parts]
        sample = rng.sample(flat, min(len(flat), 20_000))
        self._names = sorted({name for part in sample for name in edits.names_in(part)})
        self._clauses = [part for part in sample if 4 <= len(part.split()) <= 14]

    def pairs(self, most: int) -> Iterator[Example]:
        """All pairs of up to ``most`` contexts."""
        contexts = sorted(self._by)
        for context in self._rng.sample(contexts, min(most, len(contexts))):
            parts = self._parts[context]
            group = f"{self._one.file}-{self._by[context][0]['doc_id']}"
            for row in self._rng.sample(self._by[context], min(2, len(self._by[context]))):
                yield from self._answers(row, parts, group)
            good = [at for at, part in enumerate(parts) if 6 <= len(part.split()) <= 45]
            for at in self._chosen(parts, good):
                yield from self._edits(parts, at, group)
            if len(good) > 3:
                yield self._absent(parts, self._rng.choice(good), group)

    def _chosen(self, parts: list[str], good: list[int]) -> list[int]:
        """Up to four sentences, those with numbers or several names first."""
        rich = [at for at in good if edits.NUMBER.search(parts[at]) or len(edits.names_in(parts[at])) > 1]
        return self._rng.sample(rich, min(3, len(rich))) + self._rng.sample(good, min(1, len(good)))

    def _premise(self, parts: list[str], at: int) -> str:
        """Evidence that holds sentence ``at``: alone, with neighbours, among others, or a long window."""
        way = self._rng.random()
        if way < 0.2:
            return parts[at]
        if way < 0.45:
            return " ".join(parts[max(0, at - 1) : at + 2])
        if way < 0.65:
            others = [other for other in range(len(parts)) if other != at]
            chosen = sorted([at, *self._rng.sample(others, min(len(others), self._rng.randint(1, 4)))])
            return " ".join(parts[each] for each in chosen)
        size = self._rng.choice((60, 90, 130, 160))
        low = high = at
        while sum(len(part.split()) for part in parts[low : high + 1]) < size and (low > 0 or high < len(parts) - 1):
            if low > 0 and (self._rng.random() < 0.5 or high == len(parts) - 1):
                low -= 1
            else:
                high = min(high + 1, len(parts) - 1)
        return " ".join(parts[low : high + 1])

    def _answers(self, row: Row, parts: list[str], group: str) -> Iterator[Example]:
        rng, question, answer = self._rng, row["question"].strip(), row["answers"][0].strip()
        at = next((at for at, part in enumerate(parts) if answer in part), None)
        if at is None or not question.endswith("?") or len(answer.split()) > 14:
            return
        premise = self._premise(parts, at)
        wrong = self._wrong(row, answer, premise)
        shape = rng.choice(("{q} {a}.", "{q} {a}", *(ENGLISH_ANSWERS if self._english else ())))
        state = rng.getstate()
        right = statement(question, answer, rng) or shape.format(q=question, a=answer)
        yield Example(premise, right, 1, GROUNDING, "answers", group)
        if wrong:
            rng.setstate(state)
            bad = statement(question, wrong, rng) or shape.format(q=question, a=wrong)
            yield Example(premise, bad, 0, GROUNDING, "answers-wrong", group)
        given = rng.choice((answer, wrong or answer))
        longer = (f"It is {given}.", f"The answer is {given}.", statement(question, given, rng) or given)
        bare = rng.choice((given, *(longer if self._english else ())))
        put = asked(question, rng) if self._english else question
        yield Example(put, bare, 1, RELEVANCE, "answers.relevance", group)
        short = without_subject(parts[at], question, rng) if self._english else None
        if short:
            yield Example(put, short, 1, RELEVANCE, "answers.pronoun", group)
        others = [other for other in self._by[row["context"]] if other is not row]
        if others:
            other = rng.choice(others)
            theirs = statement(other["question"].strip(), other["answers"][0], rng)
            if theirs:
                yield Example(put, theirs, 0, RELEVANCE, "answers.relevance", group)
            far = next((part for part in parts if other["answers"][0] in part and answer not in part), None)
            if short and far:
                far = without_subject(far, question, rng) or far
                yield Example(put, far, 0, RELEVANCE, "answers.pronoun", group)

    def _wrong(self, row: Row, answer: str, premise: str) -> str | None:
        """Another value of the same kind that the premise holds too, or another question's answer."""
        rng = self._rng
        numeric = any(character.isdigit() for character in answer)
        others = [other["answers"][0] for other in self._by[row["context"]] if other is not row]
        pool = [each for each in others if any(map(str.isdigit, each)) == numeric]
        pool += edits.numbers_in(premise) if numeric else edits.names_in(premise)
        pool = [
            each
            for each in pool
            if each.casefold() not in answer.casefold() and answer.casefold() not in each.casefold()
        ]
        if pool and rng.random() < 0.8:
            return rng.choice(pool)
        far = rng.choice(self._names) if self._names and not numeric else None
        return far if far and far not in premise else None

    def _edits(self, parts: list[str], at: int, group: str) -> Iterator[Example]:
        rng, text = self._rng, parts[at]
        premise = self._premise(parts, at)
        near = " ".join(parts)
        pool = edits.Pool(
            near_names=edits.names_in(near),
            near_numbers=edits.numbers_in(near),
            far_names=rng.sample(self._names, min(30, len(self._names))),
            far_clauses=rng.sample(self._clauses, min(10, len(self._clauses))),
        )
        told = edits.reworded(text, rng, rng.choice((0, 1, 2, 2, 3))) if self._english else text
        if told != text or rng.random() < COPIES:
            yield Example(premise, told, 1, GROUNDING, "reworded" if told != text else "copied", group)
        made = edits.edited(told if rng.random() < 0.7 else text, rng, pool)
        if made:
            yield Example(premise, made[0], 0, GROUNDING, f"edit.{made[1]}", group)

    def _absent(self, parts: list[str], at: int, group: str) -> Example:
        """A true sentence whose evidence is left out."""
        others = [part for number, part in enumerate(parts) if number != at]
        premise = nearest(" ".join(others), parts[at], self._rng.choice((1, 2, 4)))
        return Example(premise, parts[at], 0, GROUNDING, "absent", group)


def of_sentences(rows: list[Row], one: Set, rng: random.Random) -> Iterator[Example]:
    """Question and sentence, and some questions with a sentence of any other document."""
    english = one.langs == ("en",)
    for row in rows:
        question = asked(row["question"], rng) if english else row["question"]
        yield Example(question, row["answer"], row["label"], RELEVANCE, one.file, f"{one.file}-{row['doc_id']}")
        if rng.random() < 0.2:
            other = rng.choice(rows)
            if other["doc_id"] != row["doc_id"]:
                yield Example(
                    row["question"], other["answer"], 0, RELEVANCE, f"{one.file}.far", f"{one.file}-{row['doc_id']}"
                )


def examples(data: Path, recipe: Recipe, guard: Guard, seed: int) -> Iterator[Example]:
    """Every pair of every set, and of the parallel documents."""
    for one in recipe.sets:
        rng = random.Random(f"{seed}-{one.file}")
        rows = [row for row in read(data / "train", one) if not _known(row, guard)]
        rng.shuffle(rows)
        made: Iterator[Example]
        if one.use == "contexts":
            made = Contexts(rows, one, rng).pairs(recipe.contexts)
        elif one.use == "sentences":
            made = of_sentences(rows[: one.most], one, rng)
        else:
            form = {"pairs": of_pairs, "question": of_question, "yes_no": of_yes_no}[one.use]
            made = (example for row in rows[: one.most] for example in form(row, one, rng))
        for example in made:
            for _ in range(one.repeat):
                yield example
    yield from topics.pairs(random.Random(f"{seed}-topics"), recipe.topics)
    for turn in range(recipe.lessons):
        rng = random.Random(f"{seed}-lessons-{turn}")
        yield from lessons.pairs(rng, recipe.topics, lambda group: held_out(group, seed))
    yield from parallel.documents(random.Random(f"{seed}-parallel"), recipe.parallel)
    for name, language in LANGUAGES.items():
        yield from parallel.documents(random.Random(f"{seed}-parallel-{name}"), recipe.other, language, name)


def _known(row: Row, guard: Guard) -> bool:
    texts = [row[name] for name in ("premise", "context") if row.get(name) and row[name] != "None"]
    return any(map(guard.knows, texts or [row.get("answer", "")]))


# --- pairs to tokens -----------------------------------------------------------------------------------------------


def encode(made: list[Example], path: Path) -> dict[str, np.ndarray]:
    """Token ids end to end, without special tokens: premise, then hypothesis."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - only where tokens are wanted

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    room = MAX_TOKENS - SPECIAL_TOKENS
    ids: list[np.ndarray] = []
    lengths = np.zeros((len(made), 2), np.int32)
    for start in range(0, len(made), 20_000):
        part = made[start : start + 20_000]
        first = tokenizer.encode_batch_fast([each.premise for each in part], add_special_tokens=False)
        second = tokenizer.encode_batch_fast([each.hypothesis for each in part], add_special_tokens=False)
        for at, (one, other) in enumerate(zip(first, second, strict=True), start):
            lengths[at] = premise, hypothesis = fitted(len(one.ids), len(other.ids), room)
            ids.append(np.array(one.ids[:premise] + other.ids[:hypothesis], np.int32))
    special = np.array([tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]")], np.int64)
    return {"ids": np.concatenate(ids), "lengths": lengths, "special": special}


def main() -> None:
    """Write the mix, and the held-out pairs beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", choices=RECIPES, default="english")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    made = list(examples(args.data, RECIPES[args.recipe], Guard.of(args.data / "eval"), args.seed))
    made = [each for each in made if each.premise and each.hypothesis]
    random.Random(args.seed).shuffle(made)
    write(args.out / "mix", [each for each in made if not held_out(each.group, args.seed)], args.tokenizer)
    kept = list(dict.fromkeys(each for each in made if held_out(each.group, args.seed)))
    rows = [{name: getattr(each, name) for name in Example.__slots__} for each in kept]
    unfinished = args.out / "held_out.tmp"
    unfinished.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    unfinished.replace(args.out / "held_out.jsonl")  # last, and whole or not at all: it says that all is there


def write(path: Path, made: list[Example], tokenizer: Path) -> None:
    """Write pairs as tokens, and how many of each source there are."""
    arrays: dict[str, Any] = encode(made, tokenizer)
    arrays["labels"] = np.array([each.label for each in made], np.float32)
    arrays["heads"] = np.array([each.head for each in made], np.int64)
    np.savez(path.with_suffix(".npz"), **arrays)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in made:
        counts[each.source][str(each.label)] += 1
    summary = {source: dict(count) for source, count in sorted(counts.items())}
    path.with_suffix(".json").write_text(json.dumps(summary, indent=1) + "\n")
    total = arrays["lengths"].sum(1) + 3
    print(json.dumps(summary), f"\n{len(made):,} pairs, {total.mean():.0f} tokens on average, {total.sum():,} in all")


if __name__ == "__main__":
    main()
