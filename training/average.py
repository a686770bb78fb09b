"""The mean of two checkpoints' weights: it keeps what the first knew of more kinds of text (Wortsman et al. 2022).

    python training/average.py --first DIR --second DIR --share 0.6 --out DIR

``--share`` is the second's part. Both must come of one run: the second trained on from the first.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file


def main() -> None:
    """Write the checkpoint, whole or not at all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("first", "second", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--share", type=float, required=True)
    args = parser.parse_args()
    one, other = (load_file(folder / "model.safetensors") for folder in (args.first, args.second))
    mean = {name: ((1 - args.share) * one[name] + args.share * other[name]).contiguous() for name in one}
    args.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(args.second / "config.json", args.out / "config.json")
    save_file(mean, args.out / "model.tmp")
    (args.out / "model.tmp").replace(args.out / "model.safetensors")


if __name__ == "__main__":
    main()
