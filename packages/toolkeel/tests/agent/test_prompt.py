"""What a run begins with."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import Agent, Image, RunContext, SetupError, Text, UserMessage, tool
from toolkeel.agent.prompt import prompt_to_messages
from toolkeel.messages import SystemMessage
from toolkeel.testing.scripted import Scripted

PICTURE = Image(b"\x89PNG\r\n\x1a\n", "image/png")


@tool
def now() -> str:
    """The time."""
    return "noon"


def test_texts_and_pictures_in_one_list_are_one_message() -> None:
    [message] = prompt_to_messages(["What is this?", PICTURE])
    assert message == UserMessage((Text("What is this?"), PICTURE))


def test_one_message_or_one_picture_needs_no_list() -> None:
    assert prompt_to_messages(UserMessage("hi")) == [UserMessage("hi")]  # type: ignore[arg-type]
    assert prompt_to_messages(PICTURE) == [UserMessage((PICTURE,))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [None, 3, {}, [], {"role": "user"}, [{"role": "user", "content": "hi"}], [now]]
)
def test_what_is_no_prompt_is_refused_with_what_to_give(wrong: Any) -> None:
    with pytest.raises(SetupError, match=r"give a text, .* or messages"):
        Agent(Scripted(["x"])).run_sync(wrong)


def test_instructions_may_be_a_function_of_the_run_sync_or_async() -> None:
    async def later(run: RunContext[str]) -> str:
        return f"You help {run.deps}."

    for instructions in (later, lambda run: f"You help {run.deps}."):
        model = Scripted(["ok", "ok"])
        agent = Agent(model, instructions=instructions)
        result = agent.run_sync("hi", deps="Ada")
        agent.run_sync([*result.messages, UserMessage("and?")], deps="Bob")
        told = [r.messages[0].text for r in model.requests]
        assert told == ["You help Ada.", "You help Bob."]
        assert not any(isinstance(m, SystemMessage) for r in model.requests for m in r.messages[1:])


def test_instructions_that_are_none_are_refused() -> None:
    with pytest.raises(SetupError, match=r"instructions.*got 3"):
        Agent(Scripted(["x"]), instructions=3)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="gave None; let the function return a text"):
        Agent(Scripted(["x"]), instructions=lambda run: None).run_sync("x")  # type: ignore[arg-type,return-value]


def test_an_empty_instruction_is_no_message() -> None:
    result = Agent(Scripted(["x"]), instructions=lambda run: "").run_sync("hi")
    assert result.messages[0] == UserMessage("hi")


@pytest.mark.parametrize("wrong", [now, 3])
def test_one_tool_without_a_list_is_refused_with_the_fix(wrong: Any) -> None:
    with pytest.raises(SetupError, match=r"give a list"):
        Agent(Scripted(["x"]), tools=wrong)
