"""Streams as other people's clients read them: JavaScript's openai and Vercel's AI SDK, and LangChain."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from surfaces.support import BAD, GOOD, QUERY, SECRET, SOURCE, asking, chunk, spells, streams

CLIENTS = Path(__file__).parent / "clients"
BLOCKED = "I can't answer that from the documents I have."
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
PASSED = streams(*spells(f"{GOOD} {GOOD}"), chunk(usage=USAGE))
CUT = streams(*spells(f"{GOOD} {BAD} {SECRET}. {GOOD}"), chunk(usage=USAGE))
HAS_NODE = shutil.which("node") is not None and (CLIENTS / "node_modules").is_dir()


@pytest.mark.skipif(not HAS_NODE, reason="needs node, and npm install in tests/live/clients")
@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [(PASSED, f"{GOOD} {GOOD}", "stop"), (CUT, f"{GOOD}\n\n{BLOCKED}", "content_filter")],
    ids=["a pass", "a block in mid-stream"],
)
def test_javascript_clients_read_a_stream_to_its_end(world, answer, text, finish):
    """Neither raises; both see the text that was released, the policy's message, the reason, the usage."""
    world.upstream.default = answer
    command = ["node", "stream.mjs", f"{world.url}/v1", "key-default", json.dumps(asking())]
    done = subprocess.run(  # noqa: S603 - our own script
        command, cwd=CLIENTS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["vercel"]["errors"] == []
    assert SECRET not in done.stdout
    assert (read["openai"]["text"], read["vercel"]["text"]) == (text, text)
    assert (read["openai"]["finish"], read["vercel"]["finish"]) == ([finish], [finish.replace("_", "-")])
    assert all(one["tokens"] > 0 for one in read.values())


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [(PASSED, f"{GOOD} {GOOD}", "stop"), (CUT, f"{GOOD}\n\n{BLOCKED}", "content_filter")],
    ids=["a pass", "a block in mid-stream"],
)
def test_langchain_reads_a_stream_to_its_end(world, answer, text, finish):
    """ChatOpenAI raises nothing, and its last chunks hold the reason and the usage."""
    from langchain_openai import ChatOpenAI

    world.upstream.default = answer
    model = ChatOpenAI(
        model="m",
        base_url=f"{world.url}/v1",
        api_key="key-default",
        max_retries=0,
        stream_usage=True,
        extra_body={"grounding": {"sources": [SOURCE], "query": QUERY}},
    )
    said = None
    for one in model.stream(QUERY):
        said = one if said is None else said + one
    assert said.text == text
    assert said.response_metadata["finish_reason"] == finish
    assert said.usage_metadata["total_tokens"] > 0
