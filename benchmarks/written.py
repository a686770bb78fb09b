"""Whole answers to questions about documents, right and wrong, under the default policy: what passes.

    python benchmarks/written.py [NAME ...] [--show]        (part of make bench-accuracy)

``answers/*.jsonl`` hold them, a document a line: ``sources``, ``lang``, ``questions``, each with its ``query`` and
``answers``, each with its text, whether it is ``right`` (supported throughout, and about the question) and its kind.
They were written for this: "attacker-1" and "attacker-2" by those who looked for what goes wrong, the others without a
look at the scorer. Nothing is trained on them; what was chosen after a look at them, ACCURACY.md says. ``--show``
prints every answer that is judged wrongly.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judging import judging

from proxy.grounding.types import CheckKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judging import Judge

FOLDER = Path(__file__).parent / "answers"


@dataclass(frozen=True, slots=True)
class Written:
    """One answer and what it is."""

    sources: tuple[str, ...]
    lang: str
    query: str
    answer: str
    right: bool
    kind: str


def written(name: str) -> Iterator[Written]:
    """The answers of one file."""
    for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines():
        document = json.loads(line)
        for question in document["questions"]:
            for each in question["answers"]:
                yield Written(tuple(document["sources"]), document["lang"], question["query"], **each)


def names() -> list[str]:
    """All files."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


async def table(judge: Judge, chosen: list[str], *, show: bool = False) -> list[str]:
    """One line a file, and under it one a kind of wrong answer."""
    lines = ["| answers | right ones blocked | by relevance alone | wrong ones passed |", "| --- | --- | --- | --- |"]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for name in chosen:
        good: list[frozenset[str]] = []
        bad: list[bool] = []
        for one in written(name):
            verdict = await judge.verdict(one.sources, one.answer, one.query)
            if show and verdict.blocked == one.right:
                scores = [verdict.score(kind) for kind in (CheckKind.GROUNDING, CheckKind.RELEVANCE)]
                said = " ".join("-" if score is None else f"{score:.2f}" for score in scores)
                print(
                    f"{'BLOCKED' if one.right else 'PASSED '} {said} {one.lang} {one.kind}: {one.query} > {one.answer}"
                )
            if one.right:
                good.append(frozenset(verdict.reasons) if verdict.blocked else frozenset())
            else:
                bad.append(not verdict.blocked)
                kinds[one.kind].append(not verdict.blocked)
        by_relevance = sum(reasons == {"relevance"} for reasons in good)
        lines.append(f"| {name} | {sum(map(bool, good))} of {len(good)} | {by_relevance} | {sum(bad)} of {len(bad)} |")
    most = sorted(kinds.items(), key=lambda each: -len(each[1]))
    passed = ", ".join(f"{kind} {sum(bad)} of {len(bad)}" for kind, bad in most if len(bad) > 1)
    return [*lines, "", f"Wrong ones that passed, by kind: {passed}."]


async def main() -> None:
    """Read the options, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names())}")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.names) - set(names()):
        parser.error(f"no such answers: {', '.join(sorted(unknown))}")
    async with judging() as judge:
        print("\n".join(await table(judge, args.names or names(), show=args.show)))


if __name__ == "__main__":
    asyncio.run(main())
