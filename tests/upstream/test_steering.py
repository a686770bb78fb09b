"""The list of fields that steer the gateway, against LiteLLM's own and OpenAI's."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from openai.types import completion_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params

from proxy.upstream.litellm_adapter import _load
from proxy.upstream.steering import STEERING_FIELDS

OPENAI_FIELDS = {
    "stream",
    *chat_create_params.CompletionCreateParamsBase.__annotations__,
    *completion_create_params.CompletionCreateParamsBase.__annotations__,
    *response_create_params.ResponseCreateParamsBase.__annotations__,
}
# LiteLLM's arguments for the model itself that OpenAI has not.
FOR_THE_MODEL = {"thinking", "include_server_side_tool_invocations"}

NAMED_IN_THE_CONTRACT = [
    "api_base",
    "base_url",
    "api_key",
    "api_version",
    "custom_llm_provider",
    "extra_headers",
    "extra_body",
    "mock_response",
    "fallbacks",
    "model_list",
    "callbacks",
]


@pytest.mark.parametrize("name", [*NAMED_IN_THE_CONTRACT, "timeout", "num_retries", "aws_role_name", "no-log"])
def test_named(name: str) -> None:
    """What the contract names, and their like, are on the list."""
    assert name in STEERING_FIELDS


def test_openai_fields_are_not_steering() -> None:
    """No field of OpenAI's own requests is refused."""
    assert not STEERING_FIELDS & OPENAI_FIELDS


def test_litellm_has_nothing_new() -> None:
    """Everything that the installed LiteLLM takes for itself is on the list; an upgrade shows here what is new."""
    library = _load()
    from litellm.litellm_core_utils import initialize_dynamic_callback_params as callbacks
    from litellm.types.router import GenericLiteLLMParams
    from litellm.types.utils import all_litellm_params

    theirs = {
        *all_litellm_params,
        *GenericLiteLLMParams.model_fields,
        *callbacks._supported_callback_params,
        *callbacks._request_blocked_callback_params,
        *inspect.signature(library.acompletion).parameters,
    }
    assert theirs - OPENAI_FIELDS - FOR_THE_MODEL - STEERING_FIELDS - {"kwargs"} == set()


def test_light() -> None:
    """The list, and all upstreams until their first call, come without LiteLLM."""
    check = "import sys, proxy.upstream.model_list; sys.exit('litellm' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)  # noqa: S603


def test_import_is_silent() -> None:
    """LiteLLM is imported without a word, even where everything is logged."""
    check = "import logging; logging.basicConfig(level=0); from proxy.upstream import litellm_adapter as a; a._load()"
    done = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)  # noqa: S603
    assert (done.stdout, done.stderr) == (b"", b"")
