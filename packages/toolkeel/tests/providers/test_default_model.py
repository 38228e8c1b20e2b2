"""``auto`` is a model on this machine, else one there is a key for, else rules; and it says so."""

from __future__ import annotations

import typing

import pytest
from anthropic.types.model import Model as ClaudeName
from openai.types.shared import ChatModel

from tests.providers.serving import OLLAMA, paths
from tests.providers.test_discover import AWAY
from toolkeel import Agent
from toolkeel.providers import default_model
from toolkeel.providers.default_model import HOSTED, choose
from toolkeel.providers.discover import LocalModel, Server
from toolkeel.providers.model_by_name import PRESETS, VENDORS, connect

EVERY_KEY = {name: "sk-1" for one in HOSTED for name in one.keys}


def running(vendor: str, *models: LocalModel, state: typing.Any = "up") -> Server:
    return Server(vendor, vendor.title(), f"http://127.0.0.1/{vendor}", state, models)


def test_what_is_on_this_machine_comes_before_every_key() -> None:
    servers = [running("lmstudio", LocalModel("a")), running("vllm", LocalModel("b"))]
    choice = choose(EVERY_KEY, servers)
    assert str(choice) == "lmstudio:a (Lmstudio at http://127.0.0.1/lmstudio)"


def test_a_server_without_a_model_that_calls_tools_is_passed_over_and_told() -> None:
    servers = [
        running("ollama", LocalModel("gemma3", tools=False)),
        running("lmstudio"),
        running("llamacpp", state="locked"),
        running("vllm", LocalModel("b", loaded=True)),
    ]
    choice = choose({}, servers)
    assert (choice.model, choice.why) == ("vllm:b", "Vllm at http://127.0.0.1/vllm, in memory")
    assert choice.rejected == (
        "Ollama at http://127.0.0.1/ollama has no model that calls tools",
        "Lmstudio at http://127.0.0.1/lmstudio has no model",
        "Llamacpp at http://127.0.0.1/llamacpp wants LLAMACPP_API_KEY",
    )


def test_a_llamacpp_server_is_taken_while_it_loads_and_without_tools_in_its_template() -> None:
    loading = choose(EVERY_KEY, [running("llamacpp", state="loading")])
    assert loading.model == "llamacpp:default"
    assert loading.why.endswith("still loading its model")
    bare = choose(EVERY_KEY, [running("llamacpp", LocalModel("m", tools=False))])
    assert bare.model == "llamacpp:m"
    assert bare.why.endswith("calls by grammar: its template has no tools")


def test_keys_count_in_the_order_that_is_documented() -> None:
    left = dict(EVERY_KEY)
    for hosted in HOSTED:
        assert choose(left, []).model == f"{hosted.vendor}:{hosted.model}"
        for name in hosted.keys:
            left.pop(name, None)
    assert choose(left, []).model == "offline"
    assert choose({"OPENAI_API_KEY": " "}, []).model == "offline"


def test_a_key_whose_sdk_is_missing_is_passed_over_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(default_model, "is_installed", lambda module: module != "anthropic")
    choice = choose({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, [])
    assert choice.model == "openai:gpt-5"
    assert choice.rejected == (
        "ANTHROPIC_API_KEY is set, but 'toolkeel[anthropic]' is not installed",
    )


def test_a_server_that_loads_its_model_needs_the_sdk_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_model, "is_installed", lambda module: False)
    choice = choose({}, [running("llamacpp", state="loading")])
    assert choice.model == "offline" and "toolkeel[openai]" in choice.rejected[0]


def test_every_vendor_of_the_list_is_one_that_connect_knows() -> None:
    assert {one.vendor for one in HOSTED} <= {*VENDORS, *PRESETS}
    chosen = {one.vendor: one.model for one in HOSTED}
    assert chosen["openai"] in typing.get_args(ChatModel)
    names = [name for part in typing.get_args(ClaudeName) for name in typing.get_args(part)]
    assert chosen["anthropic"] in names


def test_an_agent_called_auto_says_which_model_it_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in EVERY_KEY:
        monkeypatch.delenv(name, raising=False)
    for name, value in AWAY.items():
        monkeypatch.setenv(name, value)
    assert Agent("auto").model.name == "offline"
    assert capsys.readouterr().err.startswith("auto: offline (")
    with paths(OLLAMA) as url:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{url}/v1")
        assert connect("auto").name == "qwen3:8b"
    assert capsys.readouterr().err == f"auto: ollama:qwen3:8b (Ollama at {url}/v1)\n"
