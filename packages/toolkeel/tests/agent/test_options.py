"""A wrong value for an option of an agent, a run or its settings is told where it is given."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import Agent, Settings, SetupError
from toolkeel.agent.options import KINDS

WRONG: Any = object()
OF_AGENT: dict[str, list[Any]] = {
    "name": [3, "", None],
    "settings": [{"temperature": 0}],
    "max_turns": ["3", 0, True, None],
    "steps": [print, "ab", None],
    "search_tools": ["yes", None],
    "used_tickets": [3],
    "output_retries": [-1, "2"],
    "limits": [{"requests": 1}, 3],
    "on_refusal": ["explode", None],
    "handoffs": ["agent", Agent("offline"), None],
    "input_guardrails": [print, {"a": 1}],
    "output_guardrails": [print, None],
    "model_steps": [[3], print],
    "history": [3, lambda view: []],
}
OF_RUN: dict[str, list[Any]] = {
    "state": [[]],
    "inject": [[]],
    "listeners": [print, [3]],
    "cancel": [True],
    "approver": [True],
    "decisions": [["yes"], {"t": True}],
    "settings": [{"temperature": 0}],
    "limits": [3],
    "timeout": ["3", -1],
}
OF_SETTINGS: dict[str, list[Any]] = {
    "tool_choice": [["add"]],
    "parallel_tool_calls": ["no"],
    "strict": [1],
    "temperature": ["hot", -1, True],
    "max_tokens": [0, "many", 1.5],
    "extra_body": [[]],
    "keep_tool_choice": ["yes"],
    "top_p": ["high", -1],
    "top_k": [0, 1.5],
    "min_p": [-0.1],
    "stop": [3],
    "seed": ["x"],
    "frequency_penalty": ["x"],
    "presence_penalty": ["x"],
    "timeout": [-1],
    "reasoning_effort": ["huge"],
}


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, vs in OF_AGENT.items() for v in vs])
def test_a_wrong_option_of_an_agent_is_told_when_it_is_made(option: str, value: Any) -> None:
    with pytest.raises(SetupError) as caught:
        Agent("offline", **{option: value})
    assert str(caught.value).startswith(f"Agent({option}=...): expected ")


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, vs in OF_RUN.items() for v in vs])
def test_a_wrong_option_of_a_run_is_told_before_it_begins(option: str, value: Any) -> None:
    options: Any = {option: value}
    for begin in (Agent("offline").run_sync, Agent("offline").start, Agent("offline").stream):
        with pytest.raises(SetupError) as caught:
            begin("hello", **options)
        assert str(caught.value).startswith(f"Agent.run({option}=...): expected ")


@pytest.mark.parametrize("option", [*KINDS])
def test_an_option_of_a_run_that_is_none_is_left_out(option: str) -> None:
    options: Any = {option: None}
    assert Agent("offline").run_sync("hello", **options).reason == "answered"


@pytest.mark.parametrize(("name", "value"), [(o, v) for o, vs in OF_SETTINGS.items() for v in vs])
def test_a_wrong_setting_is_told_where_settings_are_given(name: str, value: Any) -> None:
    settings: Any = {name: value}
    for use in (
        lambda: Agent("offline", settings=Settings(**settings)),
        lambda: Agent("offline").run_sync("hello", settings=Settings(**settings)),
    ):
        with pytest.raises(SetupError) as caught:
            use()
        assert str(caught.value).startswith(f"Settings({name}=...): expected ")


def test_what_can_be_read_once_is_not_read_by_looking_at_it() -> None:
    seen: list[object] = []
    Agent("offline").run_sync("hello", listeners=(each for each in [seen.append]))  # type: ignore[arg-type]
    assert seen
