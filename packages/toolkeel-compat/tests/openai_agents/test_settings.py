"""`ModelSettings`: passed on or refused, never dropped."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from tests.shared import peer
from toolkeel import SetupError
from toolkeel_compat.openai_agents import ModelSettings, RunConfig

REFUSED = {
    "retry", "extra_headers", "extra_query", "context_management", "prompt_cache_options",
    "preserve_raw_usage", "timeout",
}  # fmt: skip
VALUES: dict[str, Any] = {
    "temperature": 0.2, "top_p": 0.3, "frequency_penalty": 0.4, "presence_penalty": 0.5,
    "tool_choice": "required", "parallel_tool_calls": False, "truncation": "auto",
    "max_tokens": 9, "reasoning": {"effort": "low"}, "verbosity": "low", "metadata": {"a": "b"},
    "store": False, "prompt_cache_retention": "24h", "response_include": ["x"],
    "top_logprobs": 2, "extra_body": {"k": 1}, "extra_args": {"l": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_setting_without_a_counterpart_is_refused_by_name(name: str) -> None:
    with pytest.raises(SetupError, match=name):
        ModelSettings(**{name: 1})


@pytest.mark.parametrize("name", sorted(VALUES))
def test_every_other_setting_reaches_the_model(name: str) -> None:
    chat = name.endswith("_penalty")
    made = ModelSettings(**{name: VALUES[name]})
    assert made.to_core(chat=chat) != ModelSettings().to_core(chat=chat)
    alone = name in ("truncation", "frequency_penalty", "presence_penalty")
    assert (made.to_core(chat=not chat) == ModelSettings().to_core(chat=not chat)) is alone


def test_every_field_is_passed_on_or_refused() -> None:
    names = {field.name for field in dataclasses.fields(ModelSettings)}
    assert names == REFUSED | set(VALUES) | {"include_usage"}  # usage is always asked for


@pytest.mark.slow
def test_the_fields_are_those_of_the_library_itself() -> None:
    theirs = peer("agents").ModelSettings
    names = [field.name for field in dataclasses.fields(theirs)]
    assert [field.name for field in dataclasses.fields(ModelSettings)] == names


def test_the_wires_name_reasoning_and_verbosity_each_their_own_way() -> None:
    settings = ModelSettings(
        reasoning=SimpleNamespace(model_dump=lambda **_: {"effort": "high"}), verbosity="low"
    )
    assert settings.to_core().extra_body == {
        "reasoning": {"effort": "high"}, "text": {"verbosity": "low"},
    }  # fmt: skip
    assert settings.to_core(chat=True).extra_body == {
        "reasoning_effort": "high", "verbosity": "low",
    }  # fmt: skip


def test_an_override_changes_what_it_sets_and_joins_further_arguments() -> None:
    base = ModelSettings(temperature=0.1, extra_args={"a": 1})
    made = base.resolve(ModelSettings(max_tokens=5, extra_args={"b": 2}))
    assert (made.temperature, made.max_tokens, made.extra_args) == (0.1, 5, {"a": 1, "b": 2})
    assert base.resolve(None) is base


def test_a_tool_choice_that_is_no_text_is_refused() -> None:
    with pytest.raises(SetupError, match="tool_choice"):
        ModelSettings(tool_choice=object())


def test_a_run_config_takes_no_field_that_it_would_drop() -> None:
    with pytest.raises(TypeError, match="reasoning_item_id_policy"):
        RunConfig(reasoning_item_id_policy="omit")  # type: ignore[call-arg]


def test_settings_are_shown_as_plain_data() -> None:
    shown = ModelSettings(temperature=0.5, extra_args={"a": 1}).to_json_dict()
    assert {name: value for name, value in shown.items() if value is not None} == {
        "temperature": 0.5, "extra_args": {"a": 1},
    }  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [{"truncation": "most"}, {"verbosity": "loud"}, {"reasoning": "high"}]
)
def test_a_setting_that_no_server_knows_is_refused_where_it_is_written(wrong: Any) -> None:
    [name] = wrong
    with pytest.raises(SetupError, match=rf"ModelSettings\({name}="):
        ModelSettings(**wrong)
