"""A real Prometheus for tests, and where the files of ``deploy/`` are."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "groundwarden.rules.yaml"
CONFIG = DEPLOY / "prometheus" / "prometheus.yml"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))

PATIENCE = 30.0
"""Seconds until a test gives up on what takes one or two."""


def binary(name: str) -> str:
    """Find a program of Debian's package ``prometheus``; skip the test without it, or fail where it must be there."""
    found = shutil.which(name)
    if found is None:
        why = f"{name} is not installed (Debian: apt-get install prometheus)"
        if os.environ.get("GROUNDWARDEN_NEEDS_PROMETHEUS"):
            pytest.fail(why)
        pytest.skip(why)
    return found


def promtool(*arguments: str | Path) -> str:
    """Run promtool; return what it says, and fail with it when it fails."""
    command = [binary("promtool"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 - as found
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alerts() -> list[dict[str, Any]]:
    """Every alert rule."""
    return [rule for rule in _rules() if "alert" in rule]


def recorded() -> list[dict[str, Any]]:
    """Every recording rule."""
    return [rule for rule in _rules() if "record" in rule]


def _rules() -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]


def until(true: Callable[[], Any]) -> Any:
    """Wait for a condition and return what it gave."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.1)
    return found


class Prometheus:
    """A context manager: the Prometheus of ``deploy/``, but that it scrapes ``targets`` (host:port), once a second.

    ``history`` is OpenMetrics text with timestamps that it knows of when it starts.
    """

    def __init__(self, folder: Path, targets: Sequence[str], history: str = "") -> None:
        self._folder = folder
        config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
        config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(RULES)]
        (job,) = config["scrape_configs"]
        del job["dns_sd_configs"]
        job["static_configs"] = [{"targets": list(targets)}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        if history:
            (folder / "history").write_text(history, encoding="utf-8")
            promtool("tsdb", "create-blocks-from", "openmetrics", folder / "history", folder / "data")

    def __enter__(self) -> Self:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._log = (self._folder / "log").open("w", encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603 - as found
            [
                binary("prometheus"),
                f"--config.file={self._folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._client = httpx.Client(base_url=self.url)
        until(self._ready)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._log.close()

    def query(self, expr: str) -> dict[frozenset[tuple[str, str]], float]:
        """What an expression gives now: label sets, without the metric's name, and values."""
        data = self._get("query", query=expr)
        if data["resultType"] == "scalar":
            return {frozenset(): float(data["result"][1])}
        found = {}
        for sample in data["result"]:
            labels = frozenset((name, value) for name, value in sample["metric"].items() if name != "__name__")
            found[labels] = float(sample["value"][1])
        return found

    def one(self, expr: str) -> float:
        """The one value that an expression gives."""
        (value,) = self.query(expr).values()
        return value

    def label_values(self, label: str, selector: str) -> set[str]:
        """What Grafana's ``label_values`` gives."""
        return set(self._get(f"label/{label}/values", **{"match[]": selector}))

    def scraped(self) -> None:
        """Wait until all targets have been scraped again, twice, and the rules evaluated."""
        begun = time.time() + 1
        until(lambda: min(self.query("timestamp(up)").values(), default=0.0) > begun)

    def _get(self, path: str, **params: str) -> Any:
        reply = self._client.get(f"/api/v1/{path}", params=params)
        assert reply.status_code == 200, f"{params}: {reply.text}"
        return reply.json()["data"]

    def _ready(self) -> bool:
        assert self._process.poll() is None, (self._folder / "log").read_text(encoding="utf-8")
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False
