"""The page in a real browser: what it shows, by mouse and by keyboard, in light and dark, and what it never runs."""

from __future__ import annotations

import asyncio
import struct
import zlib
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from chromium import CHROMIUM, Tab, browser
from serving import Serving, passes_through
from surfaces.support import BAD, GOOD, QUERY, SOURCE, MarkScorer

from proxy.settings import sha256_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; Debian's package chromium has it")

KEY = "an admin key"
EVIL = "<img src=x onerror='document.title=1'><script>document.title=2</script> is UNSUPPORTED."
POLICIES: dict[str, dict[str, Any]] = {"default": {}, "texts": {"audit_text": True}}
CLAIMS = "[...document.querySelectorAll('#claims .claim')]"


class Shown:
    """A server with an admin key and two tenants, and a tab."""

    def __init__(self, server: Serving, tab: Tab) -> None:
        self.server, self.tab = server, tab

    async def asks(self, answer: str, tenant: str = "texts", *, source: str | None = SOURCE) -> None:
        """Have an answer judged, as traffic."""
        blocks = [{"text": {"text": answer}}, {"text": {"text": QUERY, "qualifiers": ["query"]}}]
        if source:
            blocks.append({"text": {"text": source, "qualifiers": ["grounding_source"]}})
        url = f"{self.server.url}/guardrail/{tenant}/version/DRAFT/apply"
        headers = {"authorization": f"Bearer key-{tenant}"}
        async with httpx.AsyncClient() as client:
            reply = await client.post(url, json={"source": "OUTPUT", "content": blocks}, headers=headers)
        assert reply.status_code == 200

    async def opens(self, key: str = KEY) -> None:
        """Open the page and give it the key."""
        await self.tab.open(f"{self.server.admin}/")
        await self.tab.until("!document.getElementById('locked').hidden")
        await self.tab.type(key)
        await self.tab.press("Enter")

    async def unlocked(self) -> None:
        """Open the page, and wait for what it shows."""
        await self.opens()
        await self.tab.until("!document.getElementById('open').hidden && document.querySelector('#policy option')")

    async def text(self, selector: str) -> str:
        """The text of an element."""
        return str(await self.tab.run(f"document.querySelector({selector!r}).textContent"))

    async def judges(self, answer: str, source: str = SOURCE) -> None:
        """Have the playground judge, with the keyboard alone."""
        await self.tab.run("document.getElementById('verdict').hidden = true")
        for name, text in (("source", source), ("query", QUERY), ("answer", answer)):
            await self.tab.run(f"document.getElementById('{name}').focus(), document.activeElement.select()")
            await self.tab.type(text)
        await self.tab.press("Enter", ctrl=True)
        await self.tab.until("!document.getElementById('verdict').hidden")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server."""
    tenants = [
        {"id": name, "policy": name, "policies": list(POLICIES), "key_sha256": [sha256_of(f"key-{name}")]}
        for name in POLICIES
    ]
    config = {
        "model_list": passes_through("http://127.0.0.1:9", "m"),
        "server": {"admin_key_env": "ADMIN_KEY"},
        "tenants": tenants,
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ADMIN_KEY", KEY)
        made = Serving(tmp_path_factory.mktemp("page"), config, policies=POLICIES, scorer=MarkScorer())
    with made as running:
        yield running


@pytest.fixture
async def shown(server: Serving) -> AsyncIterator[Shown]:
    """The server and a new tab; nothing may have gone wrong in it by the end, and it may have asked nobody else."""
    async with browser() as tab:
        yield Shown(server, tab)
        assert [one for one in tab.complaints if not one.startswith("Failed to load resource")] == []
        assert all(url.startswith(f"{server.admin}/") for url in tab.requests)


async def test_the_key_is_asked_for_and_only_the_right_one_opens(shown: Shown):
    """A wrong key is told so; the right one opens the page, and it is still open after a reload in the same tab."""
    await shown.opens("wrong")
    await shown.tab.until("document.getElementById('unlock-wrong').textContent === 'This is not the key.'")
    assert await shown.tab.run("document.getElementById('open').hidden")
    await shown.tab.run("document.getElementById('key').focus()")
    await shown.tab.type(KEY)
    await shown.tab.press("Enter")
    await shown.tab.until("!document.getElementById('open').hidden")
    await shown.tab.open(f"{shown.server.admin}/")
    await shown.tab.until("!document.getElementById('open').hidden && document.getElementById('locked').hidden")


async def test_traffic_shows_without_a_reload(shown: Shown):
    """Counts, block rates, histograms and verdicts follow the traffic by themselves."""
    await shown.asks(GOOD)
    await shown.asks(BAD)
    await shown.unlocked()
    await shown.tab.until("document.querySelector('#minutes rect.blocked')")
    before = await shown.tab.run("document.querySelectorAll('#last tbody .chip').length")
    await shown.asks(GOOD, "default", source=None)
    await shown.tab.until(f"document.querySelectorAll('#last tbody .chip').length === {before + 1}")
    assert "unchecked no_source" in await shown.text("#last tbody tr")
    assert "50.0 %" in await shown.text("#tenants tbody")
    assert await shown.tab.run("document.querySelector('#grounding svg').getAttribute('aria-label')") == (
        "grounding: 2 scores, 1 of them under 0.5"
    )
    await shown.tab.run(
        "document.getElementById('tenant').value = '=default',"
        "document.getElementById('tenant').dispatchEvent(new Event('change'))"
    )
    assert await shown.tab.run("document.getElementById('tenant').value") == ""  # nothing of it was scored
    assert "default@" in await shown.text("#policies")


async def test_texts_show_by_policy_and_never_run(shown: Shown):
    """An answer full of HTML is text on the page, and only under the policy that lets it be kept."""
    await shown.asks(EVIL)
    await shown.asks(EVIL, "default")
    await shown.unlocked()
    await shown.tab.until("document.querySelectorAll('#last details').length > 0")
    told = await shown.tab.run(
        "[...document.querySelectorAll('#last .told')].filter(node => node.textContent.includes('onerror')).length"
    )
    assert told == 1
    await shown.judges(EVIL, source=EVIL)
    assert "onerror" in await shown.text("#claims")
    assert "onerror" in await shown.text("#cited")
    assert await shown.tab.run("document.title") == "Groundwarden"
    assert await shown.tab.run("document.querySelectorAll('main img, main script').length") == 0


async def test_the_playground_colours_claims_and_cites_by_mouse_and_keyboard(shown: Shown):
    """Claims have the colour of their score; what supports one shows on hover and on focus, marked in the source."""
    await shown.unlocked()
    await shown.judges(f"{GOOD} {BAD} Hello!")
    assert await shown.tab.run(f"{CLAIMS}.map(node => node.className)") == ["claim good", "claim bad", "claim none"]
    colours = await shown.tab.run(f"{CLAIMS}.map(node => getComputedStyle(node).backgroundColor)")
    assert len(set(colours)) == 3
    assert "blocked grounding" in await shown.text("#outcome")
    await shown.tab.point("#claims .claim.good")
    await shown.tab.until("document.getElementById('cites').textContent.startsWith('supported, 0.91')")
    marked = await shown.text("#cited mark")
    assert marked
    assert marked in SOURCE
    await shown.tab.point("#play-title")
    await shown.tab.until("document.getElementById('cites').textContent === 'No claim is chosen.'")
    await shown.tab.run("document.getElementById('judge').focus()")
    await shown.tab.press("Tab")
    await shown.tab.press("Tab")
    assert await shown.tab.run(f"document.activeElement === {CLAIMS}[1]")
    assert (await shown.text("#cites")).startswith("not supported, 0.12")
    await shown.tab.press("Escape")
    assert await shown.text("#cites") == "No claim is chosen."


async def test_positions_hold_beyond_the_basic_plane(shown: Shown):
    """Emoji before a claim move neither the claim nor its citation."""
    await shown.unlocked()
    source = f"🙂🙃🙂 {SOURCE}"
    await shown.judges(f"👩‍👩‍👧‍👦 {GOOD} 🙂 {BAD}", source=source)
    texts = await shown.tab.run(f"{CLAIMS}.map(node => node.firstChild.textContent)")
    assert any(text.endswith(GOOD) for text in texts)
    assert await shown.tab.run(
        "[...document.getElementById('claims').childNodes].map(node => (node.firstChild || node).textContent).join('')"
    ) == (f"👩‍👩‍👧‍👦 {GOOD} 🙂 {BAD}")
    await shown.tab.run("document.querySelector('#claims .claim.good').focus()")
    assert await shown.text("#cited") == source


async def test_what_the_playground_cannot_do_is_said(shown: Shown):
    """A refusal of the server's is told in its own words."""
    await shown.unlocked()
    await shown.tab.run(
        "document.getElementById('answer').value = ' ', document.getElementById('play').requestSubmit()"
    )
    await shown.tab.until("document.getElementById('play-wrong').textContent === 'answer must hold the text to judge.'")


async def test_a_bad_edit_of_the_policies_is_told(shown: Shown):
    """While the folder is wrong the page says so, and which policies are in force still."""
    file = shown.server.folder / "policies" / "texts.yaml"
    kept = file.read_text(encoding="utf-8")
    await shown.unlocked()
    try:
        file.write_text("grounding: {threshold: 2}\n", encoding="utf-8")
        await shown.tab.until("document.getElementById('problems').textContent.includes('grounding.threshold')")
    finally:
        file.write_text(kept, encoding="utf-8")
    await shown.tab.until("document.getElementById('problems').hidden")


async def test_it_is_readable_in_the_dark_and_on_a_phone(shown: Shown, tmp_path: Path):
    """The colours follow the reader's; every text has a contrast of 4.5 to 1 or more; nothing is wider than a phone."""
    await shown.asks(GOOD)
    await shown.asks(BAD)
    await shown.unlocked()
    await shown.judges(f"{GOOD} {BAD} Hello!")
    grounds = []
    for wish in (False, True):
        await shown.tab.look(dark=wish)
        assert await shown.tab.run(CONTRASTS) == []
        await shown.tab.picture(tmp_path / "page.png")
        grounds.append(sum(corner(tmp_path / "page.png")))
    light, dark = grounds
    assert (light > 600, dark < 150) == (True, True)
    await shown.tab.look(width=360)
    assert await shown.tab.run("document.documentElement.scrollWidth") <= 360
    beyond = "[...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().right > {})"
    edge = "e.closest('section').getBoundingClientRect().right"
    assert await shown.tab.run(f"{beyond.format(edge)}.length") == 0  # no picture runs over the frame around it
    assert await shown.tab.run(f"{beyond.format(0)}.length") > 0


async def test_every_control_is_reached_by_tab_and_has_a_name(shown: Shown):
    """Nobody needs a mouse: fields, buttons, details and links are in the order of the page and say what they are."""
    await shown.asks(GOOD)
    await shown.unlocked()
    await shown.tab.run("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        await shown.tab.press("Tab")
        name = await shown.tab.run("document.activeElement.id || document.activeElement.tagName")
        if name == "BODY":
            break
        seen.append(name)
    assert [name for name in seen if name in ("tenant", "source", "query", "answer", "policy", "judge", "pause")] == [
        "tenant",
        "source",
        "query",
        "answer",
        "policy",
        "judge",
        "pause",
    ]
    assert "SUMMARY" in seen
    unnamed = await shown.tab.run(
        "[...document.querySelectorAll('input, textarea, select, button')]"
        ".filter(node => !(node.labels && node.labels.length) && !node.textContent.trim()).map(node => node.id)"
    )
    assert unnamed == []


async def test_when_the_server_goes_the_page_says_so(tmp_path):
    """A page whose server is gone says that it is not live any more."""
    config = {"model_list": passes_through("http://127.0.0.1:9", "m")}
    async with browser() as tab:
        with Serving(tmp_path, config, policies={"default": {}}, scorer=MarkScorer()) as running:
            await tab.open(f"{running.admin}/")
            await tab.until("document.getElementById('state').textContent.startsWith('live')")
            await asyncio.to_thread(running.stop)
        await tab.until("document.getElementById('state').textContent.startsWith('no answer')")


async def test_where_the_port_is_closed_the_page_says_what_opens_it(tmp_path):
    """Without a key on a host that others reach, the reason stands where the state does."""
    config = {"model_list": passes_through("http://127.0.0.1:9", "m"), "server": {"admin_host": "0.0.0.0"}}
    async with browser() as tab:
        with Serving(tmp_path, config, policies={"default": {}}, scorer=MarkScorer()) as running:
            await tab.open(f"{running.admin.replace('0.0.0.0', '127.0.0.1')}/")
            await tab.until("document.getElementById('state').textContent.includes('set server.admin_key_env')")
            assert await tab.run("document.getElementById('open').hidden")


CONTRASTS = """
(() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;  // WCAG 2, relative luminance
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest("script, style, svg, .skip")) continue;
    const a = light(rgb(getComputedStyle(node).color)), b = light(ground(node));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) poor.push(node.className + " " + node.textContent.slice(0, 30) + " " + contrast.toFixed(2));
  }
  return poor;
})()
"""


def corner(file: Path) -> tuple[int, int, int]:
    """The colour of a picture's first pixel."""
    data, at, packed = file.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    row = zlib.decompress(packed)[1:4]
    return row[0], row[1], row[2]
