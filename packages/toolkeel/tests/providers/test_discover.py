"""Model servers on this machine are found, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.serving import OLLAMA, paths
from toolkeel.providers.chat_servers import base_url_of
from toolkeel.providers.discover import LocalModel, Server, find_servers

NOWHERE = "http://127.0.0.1:9/v1"
AWAY = {f"{vendor}_BASE_URL": NOWHERE for vendor in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM")}


def found(vendor: str, answers: Any, key: str = "", **environment: str) -> Server:
    with paths(answers, key) as url:
        place = {f"{vendor.upper()}_BASE_URL": f"{url}/v1"}
        servers = find_servers({**AWAY, **place, **environment})
    assert [one.state for one in servers].count("down") >= 3
    return next(one for one in servers if one.vendor == vendor)


def test_where_nothing_listens_nothing_is_found() -> None:
    servers = find_servers(AWAY)
    assert [one.title for one in servers] == ["Ollama", "LM Studio", "llama.cpp", "vLLM"]
    assert {(one.state, one.models, one.best) for one in servers} == {("down", (), None)}


def test_ollama_is_asked_what_its_models_can() -> None:
    server = found("ollama", OLLAMA)
    assert server.models == (
        LocalModel("gemma3:4b", tools=False, vision=True),
        LocalModel("qwen3:8b", tools=True, vision=False),
    )
    assert server.best is not None
    assert server.best.name == "qwen3:8b"


def test_a_model_in_memory_stands_first() -> None:
    answers = {
        "/api/tags": {"models": [{"name": "a"}, {"name": "b"}]},
        "/api/ps": {"models": [{"name": "b"}]},
        "/api/show": {"capabilities": ["completion", "tools"]},
    }
    assert [(one.name, one.loaded) for one in found("ollama", answers).models] == [
        ("b", True),
        ("a", False),
    ]


def test_an_old_ollama_says_nothing_of_what_its_models_can() -> None:
    server = found("ollama", {"/api/tags": {"models": [{"name": "a"}]}})
    assert server.models == (LocalModel("a"),)
    assert server.best == LocalModel("a")


def test_lm_studio_tells_more_than_openais_list() -> None:
    models = [
        {"type": "embedding", "key": "nomic"},
        {"type": "llm", "key": "gemma", "capabilities": {"vision": True}},
        {
            "type": "llm",
            "key": "qwen",
            "capabilities": {"trained_for_tool_use": True},
            "loaded_instances": [{"id": "qwen"}],
        },
    ]
    server = found("lmstudio", {"/api/v1/models": {"models": models}})
    assert server.models == (
        LocalModel("qwen", tools=True, vision=False, loaded=True),
        LocalModel("gemma", vision=True),
    )


@pytest.mark.parametrize("vendor", ["lmstudio", "llamacpp", "vllm"])
def test_openais_list_is_understood_everywhere(vendor: str) -> None:
    data = [{"id": "Qwen/Qwen3-8B"}, {"id": "text-embedding-x"}, {}, None]
    server = found(vendor, {"/v1/models": {"object": "list", "data": data}})
    assert server.models == (LocalModel("Qwen/Qwen3-8B"),)


@pytest.mark.parametrize(
    "answer",
    [404, 500, b"<html>hello</html>", b"[" * 100_000, [], {"data": 5}, {"object": "x", "data": []}],
)
@pytest.mark.parametrize("vendor", ["ollama", "lmstudio", "llamacpp", "vllm"])
def test_what_is_no_model_server_is_told_apart(vendor: str, answer: Any) -> None:
    server = found(vendor, {"/v1/models": answer, "/api/tags": answer, "/api/v1/models": answer})
    assert (server.state, server.models) == ("other", ())


def test_a_llamacpp_server_reports_its_context_and_its_template() -> None:
    props = {
        "default_generation_settings": {"n_ctx": 1024},
        "chat_template_caps": {"supports_tools": False},
    }
    listed = {"object": "list", "data": [{"id": "smollm2"}]}
    server = found("llamacpp", {"/v1/models": listed, "/props": props})
    assert server.models == (LocalModel("smollm2", tools=False, context_length=1024),)
    assert server.best == server.models[0]  # its calls are held to a grammar


def test_a_server_that_loads_its_model_is_found() -> None:
    assert found("llamacpp", {"/v1/models": 503}).state == "loading"


def test_a_server_that_wants_a_key_gets_the_one_of_its_name() -> None:
    answers = {"/v1/models": {"data": [{"id": "m"}]}}
    assert found("vllm", answers, "secret").state == "locked"
    assert found("vllm", answers, "secret", VLLM_API_KEY="secret").state == "up"


def test_an_address_that_is_none_is_nowhere() -> None:
    servers = find_servers({**AWAY, "VLLM_BASE_URL": "not an address"})
    assert [one.state for one in servers] == ["down"] * 4


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:1234", "http://127.0.0.1:1234/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("https://gpu.example/", "https://gpu.example:443/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("[::1]:7", "http://[::1]:7/v1"),
    ],
)
def test_ollamas_own_variable_counts(host: str, url: str) -> None:
    assert base_url_of("ollama", {"OLLAMA_HOST": host}) == url
    assert base_url_of("ollama", {"OLLAMA_HOST": host, "OLLAMA_BASE_URL": "x"}) == "x"
    assert base_url_of("vllm", {"OLLAMA_HOST": host}) == "http://127.0.0.1:8000/v1"
