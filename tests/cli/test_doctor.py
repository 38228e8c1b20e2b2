"""``toolwright doctor`` says what is here, shows no key, and says what to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Here
from tests.providers.serving import OLLAMA, paths
from tests.providers.test_auto import EVERY_KEY
from tests.providers.test_discover import AWAY
from toolwright.cli import doctor
from toolwright.cli.check import Check, Section
from toolwright.cli.check_extras import extras
from toolwright.cli.check_keys import _others


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's user is seen."""
    for name in (*EVERY_KEY, *(key for _, keys in _others() for key in keys)):
        monkeypatch.delenv(name, raising=False)
    for name in ("OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in AWAY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))


def sections(here: Here) -> dict[str, dict[str, Any]]:
    found = json.loads(here("doctor", "--json").out)
    return {
        section["title"]: {**{one["name"]: one for one in section["checks"]}, "": section["next"]}
        for section in found
    }


def test_a_bare_machine_is_told_what_to_do_next(here: Here) -> None:
    ended = here("doctor")
    assert ended.code == 0
    assert ended.out.startswith("Python\n  ✓ python      3.")
    assert "· anthropic   no ANTHROPIC_API_KEY" in ended.out
    assert "✓ -m auto    offline (no model server" in ended.out
    assert ended.out.endswith("  or go on with rules alone: toolwright demo\n")


def test_a_key_is_named_and_never_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-very-secret")
    for words in (["doctor"], ["doctor", "--json"]):
        ended = here(*words)
        assert "very-secret" not in ended.out + ended.err
        assert "DEEPSEEK_API_KEY set" in ended.out
        assert "HF_TOKEN set" in ended.out
    found = sections(here)
    assert found["Keys"]["deepseek"]["data"] == {"set": ["DEEPSEEK_API_KEY"]}
    assert found["Models"]["-m auto"]["data"]["model"] == "deepseek:deepseek-chat"


@pytest.mark.parametrize("key", ["sk-1\n", '"sk-1"', " sk-1"])
def test_a_key_that_was_pasted_badly_is_a_problem(
    here: Here, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ended = here("doctor")
    assert ended.code == 1
    fix = "set OPENAI_API_KEY again, without spaces, line ends and quotes around it"
    assert f"Next\n  {fix}" in ended.out


def test_a_server_is_shown_with_its_models_and_chosen(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    with paths(OLLAMA) as url:
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{url}/v1")
        ended = here("doctor")
    assert f"✓ Ollama     {url}/v1: gemma3:4b (no tools, sees), qwen3:8b" in ended.out
    assert f"✓ -m auto    ollama:qwen3:8b (Ollama at {url}/v1)" in ended.out
    assert "try it: toolwright run 'What is 17 * 23?' -t calculator -m ollama:qwen3:8b" in ended.out


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


def test_folders_of_models_are_shown(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".ollama" / "models").mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    found = sections(here)["Models"]
    assert found["Ollama's files"]["data"] == {"folder": str(tmp_path / ".ollama" / "models")}
    assert found["Hugging Face's files"]["text"] == str(tmp_path)
    assert "LM Studio's files" not in found


def test_every_extra_that_is_declared_is_looked_at(here: Here) -> None:
    found = sections(here)["Extras"]
    assert {"openai", "cli"} <= set(extras()) == set(found) - {""}
    assert found["cli"]["state"] == "ok"
    assert "typer" in found["cli"]["data"]["packages"]


def test_what_is_missing_from_an_extra_is_named(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = ["pydantic", "typer>=1; extra == 'cli'", 'nosuchpackage>=1; extra == "cli"']
    monkeypatch.setattr("toolwright.cli.check_extras.requires", lambda _: needs)
    check = sections(here)["Extras"]["cli"]
    assert check["text"] == "without nosuchpackage"
    assert check["next"] == "pip install 'toolwright[cli]'"


def test_a_section_of_somebody_elses_is_a_function_in_the_list(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> Section:
        return Section(
            "Garden", (Check("猫", "problem", "asleep\nin the sun", "wake it"),), ("rest",)
        )

    monkeypatch.setattr(doctor, "SECTIONS", (look,))
    ended = here("doctor")
    assert (ended.code, ended.out) == (
        1,
        "Garden\n  ! 猫  asleep in the sun; wake it\n\nNext\n  wake it\n  rest\n",
    )


def test_the_choice_of_auto_is_told_and_kept(here: Here) -> None:
    ended = here("run", "17 * 3", "-t", "calculator", "-m", "auto")
    assert ended.code == 0
    assert ended.err.startswith("auto: offline (")
    assert "51" in ended.out
