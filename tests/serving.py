"""The real server, in a thread, on free loopback ports."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Self

import yaml

from proxy.app import Server
from proxy.check import load

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.scoring.base import Scorer

_START_SECONDS = 60


class Serving:
    """A context manager. ``url`` is where callers go (without ``/v1``), ``admin`` where operators do.

    ``config`` is config.yaml as an object; ports, and the policies folder when ``policies`` are given, are filled in.
    ``policies`` maps names to policy files as objects. ``scorer`` stands in for the embedded one.
    """

    def __init__(
        self,
        folder: Path,
        config: dict[str, Any],
        *,
        policies: dict[str, dict[str, Any]] | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        self.folder = folder
        server = {"port": 0, "admin_port": 0, **config.get("server", {})}
        written = {**config, "server": server}
        if policies is not None:
            (folder / "policies").mkdir(exist_ok=True)
            for name, policy in policies.items():
                self.write_policy(name, policy)
            written["policies"] = "policies"
        (folder / "config.yaml").write_text(yaml.safe_dump(written), encoding="utf-8")
        self._server = Server(*load(folder / "config.yaml"), scorer=scorer)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def write_policy(self, name: str, policy: dict[str, Any]) -> None:
        """Write a policy file; a running server takes it up within two seconds."""
        (self.folder / "policies" / f"{name}.yaml").write_text(yaml.safe_dump(policy), encoding="utf-8")

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(_START_SECONDS) or self._failure is not None:
            message = "the server did not start"
            raise RuntimeError(message) from self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(_START_SECONDS)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Begin a graceful stop."""
        self._loop.call_soon_threadsafe(self._server.stop)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self._failure = error
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.run(self._ready)

    def _ready(self) -> None:
        self.url, self.admin = self._server.address, self._server.admin_address
        self._started.set()


def passes_through(upstream: str, *names: str) -> list[dict[str, Any]]:
    """A ``model_list`` whose models are all at one OpenAI-compatible upstream."""
    return [
        {
            "model_name": name,
            "litellm_params": {"model": f"openai/{name}", "api_base": f"{upstream}/v1", "api_key": "upstream-secret"},
        }
        for name in names
    ]
