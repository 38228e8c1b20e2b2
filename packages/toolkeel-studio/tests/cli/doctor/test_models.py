"""Servers, their models and the folders of models are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here
from tests.providers.serving import OLLAMA, paths

pytestmark = pytest.mark.usefixtures("bare")


def test_a_server_is_shown_with_its_models_and_chosen(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paths(OLLAMA) as url:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{url}/v1")
        ended = here("doctor")
    assert f"✓ Ollama     {url}/v1: gemma3:4b (no tools, sees), qwen3:8b" in ended.out
    assert f"✓ -m auto    ollama:qwen3:8b (Ollama at {url}/v1)" in ended.out
    assert "try it: toolkeel run 'What is 17 * 23?' -t calculator -m ollama:qwen3:8b" in ended.out


def test_a_server_without_a_usable_model_is_a_problem(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paths({"/api/tags": {"models": []}}) as url, paths({}, "key") as locked:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("VLLM_BASE_URL", f"{locked}/v1")
        ended = here("doctor")
    assert ended.code == 1
    assert "get a model that calls tools, such as: ollama pull qwen3:8b" in ended.out
    assert "set VLLM_API_KEY to the server's key" in ended.out


def test_a_llamacpp_server_shows_its_context_and_how_it_calls(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    props = {
        "default_generation_settings": {"n_ctx": 4096},
        "chat_template_caps": {"supports_tools": False},
    }
    with paths({"/v1/models": {"data": [{"id": "smollm2"}]}, "/props": props}) as url:
        monkeypatch.setenv("LLAMACPP_BASE_URL", f"{url}/v1")
        ended = here("doctor")
    assert "no tools in its template: calls by grammar, context 4,096" in " ".join(
        ended.out.split()
    )
    with paths({"/v1/models": 503}) as url:
        monkeypatch.setenv("LLAMACPP_BASE_URL", f"{url}/v1")
        ended = here("doctor")
    assert "is still loading its model; requests wait for it" in " ".join(ended.out.split())


def test_folders_of_models_are_shown(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".ollama" / "models").mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    found = sections(here)["Models"]
    assert found["Ollama's files"]["data"] == {"folder": str(tmp_path / ".ollama" / "models")}
    assert found["Hugging Face's files"]["text"] == str(tmp_path)
    assert "LM Studio's files" not in found
