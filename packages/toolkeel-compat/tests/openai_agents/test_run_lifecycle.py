"""A run's options, bounds and handlers of errors, as `Runner` is given them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    MaxTurnsExceeded,
    ModelRefusalError,
    RunConfig,
    RunErrorHandlerInput,
    RunErrorHandlerResult,
    Runner,
    SQLiteSession,
    function_tool,
)


@function_tool
def look() -> str:
    """Look."""
    return "seen"


def agent(*lines: Any) -> Agent:
    return Agent("A", tools=[look], model=Scripted(lines))


def again(**options: Any) -> Any:
    calls = [call("look")] * 9
    return Runner.run_sync(agent(*calls), "go", max_turns=2, error_handlers=options)


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("previous_response_id", "transcript is kept here"),
        ("conversation_id", "transcript is kept here"),
    ],
)
def test_an_option_that_would_not_be_honoured_is_refused_with_what_to_write(
    option: str, hint: str
) -> None:
    with pytest.raises(SetupError, match=f"{option}.*{hint}"):
        Runner.run_sync(agent("x"), "go", **{option: "something"})
    assert Runner.run_sync(agent("x"), "go", **{option: None}).final_output == "x"
    with pytest.raises(TypeError, match="no option 'sesion'"):
        Runner.run_sync(agent("x"), "go", sesion="a")  # type: ignore[call-arg]


def test_no_limit_of_turns_is_none_at_all() -> None:
    lines = [call("look") for _ in range(30)]
    assert Runner.run_sync(agent(*lines, "done"), "go", max_turns=None).final_output == "done"


def test_a_handler_answers_where_the_model_was_asked_too_often() -> None:
    async def give_up(about: RunErrorHandlerInput[Any]) -> RunErrorHandlerResult:
        assert isinstance(about.error, MaxTurnsExceeded) and len(about.run_data.new_items) == 4
        return RunErrorHandlerResult("gave up")

    result = again(max_turns=give_up)
    assert result.final_output == "gave up" and len(result.new_items) == 5
    quiet = again(max_turns=lambda about: {"final_output": 7, "include_in_history": False})
    assert quiet.final_output == 7 and len(quiet.new_items) == 4
    assert again(max_turns=lambda about: "plain").final_output == "plain"
    with pytest.raises(MaxTurnsExceeded):
        again(max_turns=lambda about: None)
    with pytest.raises(SetupError, match="no 'invalid_final_output'"):
        again(invalid_final_output=print)


REFUSED = AssistantMessage("no way", finish_reason="refusal")


@pytest.mark.parametrize("output_type", [None, list[int]])
def test_a_model_that_would_not_answer_ends_the_run_with_what_it_said(output_type: Any) -> None:
    clerk = agent(REFUSED).clone(output_type=output_type)
    with pytest.raises(ModelRefusalError, match="refused to produce output: no way") as ended:
        Runner.run_sync(clerk, "go")
    assert ended.value.refusal == "no way" and len(ended.value.run_data.new_items) == 1


def test_a_handler_answers_where_the_model_would_not() -> None:
    handlers = {"model_refusal": lambda about: f"sorry: {about.error.refusal}"}
    result = Runner.run_sync(agent(REFUSED), "go", error_handlers=handlers)
    assert result.final_output == "sorry: no way" and len(result.new_items) == 2


@function_tool(needs_approval=True)
def asks() -> str:
    """Ask."""
    return "asked"


async def never(*about: Any) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("which", ["session_input_callback", "error handler", "tool_error_form"])
def test_a_callback_around_a_run_that_hangs_ends_it(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkeel_compat.check_options.CALLBACK_TIMEOUT", 0.02)
    with pytest.raises(TimeoutError, match=f"the {which}"):
        if which == "error handler":
            again(max_turns=never)
        elif which == "session_input_callback":
            config = RunConfig(session_input_callback=never)
            Runner.run_sync(agent("x"), "go", session=SQLiteSession("ada"), run_config=config)
        else:
            clerk = Agent("B", tools=[asks], model=Scripted([call("asks"), "x"]))
            waiting = Runner.run_sync(clerk, "go")
            state = waiting.to_state()
            state.reject(waiting.interruptions[0])
            Runner.run_sync(clerk, state, run_config=RunConfig(tool_error_formatter=never))
