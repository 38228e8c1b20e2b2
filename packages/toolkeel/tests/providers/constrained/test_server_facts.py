"""Each server is asked by its own API for the context length and the tools of its template."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.serving import paths
from toolkeel.providers.constrained.server_facts import (
    ServerClient,
    ServerFacts,
    ServerKind,
    find_facts,
)

PROPS = {
    "default_generation_settings": {"n_ctx": 1024},
    "chat_template_caps": {"supports_tools": False, "supports_tool_calls": False},
    "model_alias": "/models/SmolLM2.gguf",
}
LISTED = {"data": [{"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 32768}]}


def facts(kind: ServerKind, answers: dict[str, Any], model: str = "m") -> ServerFacts | None:
    with paths(answers) as url:
        return find_facts(kind, ServerClient(f"{url}/v1"), model)


@pytest.mark.parametrize(
    ("kind", "answers", "expected"),
    [
        ("llamacpp", {"/props": PROPS}, ServerFacts(1024, False, "/models/SmolLM2.gguf")),
        ("llamacpp", {}, ServerFacts()),
        ("vllm", {"/v1/models": LISTED}, ServerFacts(32768, None, "m")),
        ("sglang", {"/v1/models": LISTED}, ServerFacts(32768, None, "m")),
        (
            "ollama",
            {"/api/show": {"capabilities": ["completion"], "parameters": "num_ctx   4096\nstop x"}},
            ServerFacts(4096, False),
        ),
        (
            "ollama",
            {
                "/api/show": {"capabilities": ["completion", "tools"]},
                "/api/ps": {"models": [{"name": "m", "context_length": 8192}]},
            },
            ServerFacts(8192, True),
        ),
        (
            "lmstudio",
            {
                "/api/v1/models": {
                    "models": [
                        {
                            "key": "m",
                            "capabilities": {"trained_for_tool_use": True},
                            "loaded_instances": [{"config": {"context_length": 2048}}],
                        }
                    ]
                }
            },
            ServerFacts(2048, True),
        ),
        ("", {}, ServerFacts()),
    ],
)
def test_each_server_reports_in_its_own_words(
    kind: ServerKind, answers: dict[str, Any], expected: ServerFacts
) -> None:
    assert facts(kind, answers) == expected


@pytest.mark.parametrize("answer", [404, 500, b"<html>", b"[" * 100_000, [], {"data": 5}])
@pytest.mark.parametrize("kind", ["llamacpp", "ollama", "lmstudio", "vllm"])
def test_nonsense_is_no_fact(kind: ServerKind, answer: Any) -> None:
    asked = ("/props", "/api/show", "/api/ps", "/api/v1/models", "/v1/models")
    answers: dict[str, Any] = dict.fromkeys(asked, answer)
    assert facts(kind, answers) == ServerFacts()


def test_a_server_that_loads_or_is_away_is_asked_again_later() -> None:
    assert facts("llamacpp", {"/props": 503}) is None
    assert find_facts("llamacpp", ServerClient("http://127.0.0.1:9/v1"), "m") is None


def test_a_server_that_wants_a_key_reports_nothing() -> None:
    with paths({"/props": PROPS}, "secret") as url:
        assert find_facts("llamacpp", ServerClient(url), "m") == ServerFacts()
        known = find_facts("llamacpp", ServerClient(url, "secret"), "m")
    assert known is not None
    assert known.context_length == 1024
