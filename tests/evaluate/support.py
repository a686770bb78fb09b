"""What the tests of evaluation share: files of rows, a scripted judge, and runs over both."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from recording import Reply
from scorers import OverlapScorer

from proxy.app import build_judge
from proxy.evaluate.command import Options, run
from proxy.policy.model import Policy
from proxy.settings import JudgeModel, Settings
from proxy.upstream.model_list import parse_model_list
from proxy.upstream.models import build_upstreams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from recording import Recording, Request

    from proxy.evaluate.judged import LanguageJudge

QUOTED = re.compile(r"BEGIN (\w+) (\w+)\n(.*?)\nEND \1 \2", re.DOTALL)
SERVED = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def write(file: Path, *rows: Any) -> Path:
    """A file of these rows, or raw lines."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def texts_of(request: Request) -> dict[str, str]:
    """The texts that a question quotes, by what they are called."""
    return {name: text for name, _, text in QUOTED.findall(request.json["messages"][1]["content"])}


def metric_of(request: Request) -> str:
    """The metric that a question is about."""
    return request.json["response_format"]["json_schema"]["name"]


def says(content: Any) -> Reply:
    """A chat completion that says ``content``."""
    text = content if isinstance(content, str) else json.dumps(content)
    message = {"role": "assistant", "content": text}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": SERVED} | {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]
    }
    return Reply(body=json.dumps(body).encode())


def answers(request: Request) -> Reply:
    """A judge that rates by what it reads: a text that says ``rate N`` gets N, others the best there is."""
    name, texts = metric_of(request), texts_of(request)
    if name == "retrieval":
        intents = [part.strip() for part in re.split(r" and |\?", texts["QUESTION"]) if part.strip()]
        return says({"intents": [{"intent": each, "answered": each in texts["DOCUMENTS"]} for each in intents]})
    wanted = re.search(rf"rate(?: {name})? (\d)", texts["RESPONSE"])
    if name in {"hate_unfairness", "sexual", "violence", "self_harm"}:
        return says({"reason": f"why {name}", "severity": int(wanted.group(1)) if wanted else 0})
    return says({"reason": f"why {name}", "score": int(wanted.group(1)) if wanted else 5})


@asynccontextmanager
async def judge_at(recording: Recording, **options: Any) -> AsyncIterator[LanguageJudge]:
    """The judge of a config that names the recording server."""
    params = {"model": "openai/real", "api_key": "sk-judge", "api_base": f"{recording.url}/v1", "max_retries": 0}
    models = [{"model_name": "judge", "litellm_params": params}]
    upstreams = build_upstreams(parse_model_list(models))
    settings = Settings(model_list=tuple(models), judge=JudgeModel(model="judge", **options))
    try:
        yield build_judge(settings, upstreams)
    finally:
        await upstreams.close()


async def evaluated(
    data: Path,
    *,
    scorer: Any = None,
    judge: LanguageJudge | None = None,
    policy: Policy | None = None,
    change: Callable[[Options], Options] = lambda options: options,
    **options: Any,
) -> tuple[dict[str, Any], Any]:
    """The results that were written, and what was told."""
    asked = change(Options(**{"data": data, "output": data.with_suffix(".results.json"), **options}))
    told = await run(asked, policy or Policy(), scorer or OverlapScorer(), judge)
    return json.loads(asked.output.read_text(encoding="utf-8")), told
