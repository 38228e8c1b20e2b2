"""A name becomes a model."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.providers.loopback import answer, saying
from toolkeel import Agent
from toolkeel.errors import SetupError
from toolkeel.model_interface import get_provider
from toolkeel.providers.chat_servers import OPENAI, PRESETS
from toolkeel.providers.model_by_name import connect
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.testing.scripted import Scripted

ANSWER = '{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key or address of this machine's user reaches a test."""
    for preset in PRESETS.values():
        for name in preset.keys:
            monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_openai_is_reached_with_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    model = connect("openai:gpt-5", stream=False)
    assert isinstance(model, OpenAIChat)
    assert (model.name, model.profile) == ("gpt-5", OPENAI)


def test_openai_without_a_key_says_which_variable_to_set() -> None:
    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        connect("openai:gpt-5")


def test_the_models_name_may_hold_colons_and_slashes() -> None:
    assert connect("ollama:qwen3:8b").name == "qwen3:8b"
    assert connect("vllm:Qwen/Qwen3-8B").name == "Qwen/Qwen3-8B"


def test_a_local_server_needs_no_key_and_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    with saying(answer(ANSWER)) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        result = Agent(connect("ollama:qwen3:8b", stream=False)).run_sync("hello")
    assert result.output == "hi"
    assert server.requests[0]["model"] == "qwen3:8b"
    assert "sk-for-openai-alone" not in server.requests[0]["head"]


def test_a_service_gets_its_own_key_and_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-alone")
    with pytest.raises(SetupError, match="DEEPSEEK_API_KEY"):
        connect("deepseek:deepseek-chat")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "ds-1")
    with saying(answer(ANSWER)) as server:
        model = connect("deepseek:deepseek-chat", base_url=server.url, stream=False)
        assert Agent(model).run_sync("hello").output == "hi"
    assert "authorization: bearer ds-1" in server.requests[0]["head"].lower()


def test_a_model_is_passed_through_and_takes_no_options() -> None:
    model = Scripted(["hi"])
    assert connect(model) is model
    with pytest.raises(SetupError, match="takes no options"):
        connect(model, timeout=1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opena:gpt-5", "did you mean 'openai:gpt-5'"),
        ("OLLAMAA:x", "did you mean 'ollama:x'"),
        ("gpt-5", "write vendor:model, such as openai:gpt-5; there are anthropic, ark"),
        ("nowhere:x", "no vendor 'nowhere'; there are anthropic, ark"),
        ("openai", "names no model; write openai:<model>"),
        ("ollama:", "names no model; write ollama:<model>"),
        ("", "no vendor ''"),
        ("offline:big", "single model; write 'offline'"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_would(name: str, said: str) -> None:
    with pytest.raises(SetupError, match=said):
        connect(name)


WITHOUT_OPENAI = """
import sys
from typing import Any
sys.modules["openai"] = None
from toolkeel.errors import MissingExtraError
from toolkeel.providers import openai_chat
from toolkeel.providers.model_by_name import connect
assert openai_chat.encode_messages([]) == []
try:
    connect("ollama:qwen3")
except MissingExtraError as error:
    print(error)
"""


def test_without_the_sdk_the_wire_still_works_and_the_model_says_what_to_install() -> None:
    command = [sys.executable, "-W", "error", "-c", WITHOUT_OPENAI]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "OpenAIChat needs an extra: pip install 'toolkeel[openai]'\n"


def test_the_embedded_model_needs_no_name_and_no_network() -> None:
    assert connect("offline").name == "offline"


def test_auto_is_a_vendor_in_any_letters() -> None:
    assert type(connect(" AUTO ")) is type(connect("auto"))


@pytest.mark.parametrize("model", ["openai:gpt-5", "anthropic:claude-sonnet-4-5"])
def test_a_key_that_is_missing_is_told_before_anything_is_asked(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.endswith("API_KEY"):
            monkeypatch.delenv(name)
    with pytest.raises(SetupError, match=r"no API key; set \w+_API_KEY"):
        Agent(model)


@pytest.mark.parametrize(
    ("model", "options", "provider"),
    [
        ("openai:m", {}, "openai"),
        ("openai-responses:m", {}, "openai"),
        ("openai-responses:m", {"base_url": "https://me.openai.azure.com/v1"}, "azure.ai.openai"),
        ("openai:m", {"base_url": "https://api.deepseek.com"}, "deepseek"),
        ("openai:m", {"base_url": "https://notopenai.com/v1"}, ""),
        ("openai:m", {"base_url": "http://127.0.0.1:8000/v1"}, ""),
        ("mistral:m", {}, "mistral_ai"),
        ("xai:m", {}, "x_ai"),
        ("groq:m", {}, "groq"),
        ("anthropic:m", {"base_url": "https://api.anthropic.com"}, "anthropic"),
        ("anthropic:m", {"base_url": "https://proxy.test"}, ""),
        ("gemini:m", {}, "gcp.gemini"),
        ("bedrock:m", {"region": "eu-west-1", "api_key": None}, "aws.bedrock"),
    ],
)
def test_a_model_tells_whose_server_it_asks_where_that_is_known(
    model: str, options: dict[str, Any], provider: str
) -> None:
    given = {name: value for name, value in {"api_key": "k", **options}.items() if value}
    assert get_provider(connect(model, **given)) == provider


def test_a_models_own_attribute_counts_only_if_it_is_a_name() -> None:
    model = Scripted([])
    assert get_provider(model) == ""
    model.provider = lambda: "x"  # type: ignore[attr-defined]
    assert get_provider(model) == ""
