"""A real browser, Debian's headless Chromium, spoken to in its DevTools protocol over a WebSocket."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import shutil
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""Where the browser is; None when there is none."""

_OPTIONS = (
    "--headless=new --remote-debugging-port=0 --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
    "--disable-background-networking --disable-component-update --disable-default-apps --disable-sync"
).split()
_SECONDS = 30.0
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27}


class Tab:
    """One tab. ``requests`` are the addresses it asked for, ``complaints`` what its console and its policy said."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._reading = asyncio.create_task(self._read())

    async def begin(self) -> Self:
        """Open the tab."""
        target = await self.send("Target.createTarget", url="about:blank")
        attached = await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.send(f"{domain}.enable")
        return self

    async def send(self, method: str, **params: Any) -> Any:
        """Send one command; returns its result."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        session = {} if self._session is None else {"sessionId": self._session}
        await self._socket.send_json({"id": number, "method": method, "params": params, **session})
        async with asyncio.timeout(_SECONDS):
            return await self._waiting[number]

    async def open(self, url: str) -> None:
        """Go to a page."""
        await self.send("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    async def until(self, script: str, seconds: float = _SECONDS) -> None:
        """Wait until an expression is true."""
        end = asyncio.get_running_loop().time() + seconds
        while not await self.run(f"!!({script})"):
            assert asyncio.get_running_loop().time() < end, f"it took too long: {script}"
            await asyncio.sleep(0.1)

    async def press(self, key: str, *, ctrl: bool = False) -> None:
        """Press and release one key."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key], "modifiers": 2 if ctrl else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **known, **text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    async def type(self, text: str) -> None:
        """Put text where the keyboard is."""
        await self.send("Input.insertText", text=text)

    async def point(self, selector: str) -> None:
        """Move the mouse onto the middle of an element."""
        place = await self.run(
            f"(() => {{ const node = document.querySelector({json.dumps(selector)}); node.scrollIntoView({{block: "
            "'center'}); const box = node.getClientRects()[0]; return [box.x + box.width / 2, box.y + box.height / 2];"
            "})()"
        )
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    async def look(self, *, dark: bool = False, width: int = 1200, height: int = 900) -> None:
        """Choose the colours and the size that the page is seen with."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.send("Emulation.setEmulatedMedia", features=features)
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def picture(self, file: Path) -> None:
        """Take a picture of the whole page."""
        taken = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))  # noqa: ASYNC240 - a test's own small file

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                waiting = self._waiting.pop(said["id"])
                if "error" in said:
                    waiting.set_exception(RuntimeError(said["error"]["message"]))
                else:
                    waiting.set_result(said["result"])
            elif said["method"] == "Network.requestWillBeSent":
                self.requests.append(said["params"]["request"]["url"])
            elif said["method"] == "Log.entryAdded":
                self.complaints.append(said["params"]["entry"]["text"])
            elif said["method"] == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(said["params"]["exceptionDetails"])[:1000])

    async def end(self) -> None:
        """Stop listening."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """One tab of a new browser, which is gone at the end."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            *_OPTIONS,
            f"--user-data-dir={profile}",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            async with asyncio.timeout(_SECONDS):
                address = None
                while address is None:
                    line = (await process.stderr.readline()).decode()
                    assert line, "the browser did not start"
                    address = re.search(r"ws://\S+", line)
            async with aiohttp.ClientSession() as session, session.ws_connect(address[0], max_msg_size=0) as socket:
                tab = await Tab(socket).begin()
                try:
                    yield tab
                finally:
                    await tab.end()
        finally:
            process.kill()
            draining = asyncio.create_task(process.stderr.read())
            await process.wait()
            await draining
