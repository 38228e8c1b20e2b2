"""Steps: order, changes validated again, arguments that cannot be changed in place."""

from __future__ import annotations

from typing import Any

import pytest

from toolwright import Prepared, Proceed, ToolCall, ToolContext, Toolset, tool
from toolwright.errors import Denied
from toolwright.messages import ToolMessage


@tool
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


def run(*steps: Any, arguments: str = '{"text": "a"}', own: Any = ()) -> ToolMessage:
    made = tool("echo", steps=own)(echo.function)
    [result] = Toolset([made], steps=steps).run_sync([ToolCall("1", "echo", arguments)])
    return result


def test_steps_of_the_set_are_outside_those_of_the_tool_and_the_first_is_outermost():
    seen = []

    def step(name: str) -> Any:
        async def around(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
            seen.append(name)
            value = await proceed(prepared)
            seen.append(f"/{name}")
            return value

        return around

    run(step("a"), step("b"), own=[step("c")])
    assert seen == ["a", "b", "c", "/c", "/b", "/a"]


def test_what_a_step_changes_is_validated_again():
    async def change(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(prepared.change(times=wanted))

    wanted: object = 3
    assert run(change).content == "aaa"
    wanted = "many"
    assert run(change).kind == "invalid_arguments"


def test_arguments_cannot_be_changed_in_place():
    async def change(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        with pytest.raises(TypeError):
            prepared.arguments["times"] = 3  # type: ignore[index]
        return await proceed(prepared)

    assert run(change).content == "a"


def test_a_step_may_answer_by_itself_or_refuse():
    async def answer(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return {"from": "step"}

    async def refuse(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        raise Denied("Not now.")

    assert run(answer).content == '{"from":"step"}'
    assert (run(refuse).kind, run(refuse).text) == ("denied", "Not now.")


def test_a_step_that_crashes_fails_its_own_call_alone():
    async def broken(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        if prepared.arguments["text"] == "b":
            raise RuntimeError("step")
        return await proceed(prepared)

    calls = [ToolCall(str(n), "echo", {"text": text}) for n, text in enumerate("abc")]
    results = Toolset([echo], steps=[broken]).run_sync(calls)
    assert [result.kind for result in results] == [None, "crashed", None]


def test_a_step_sees_no_injected_value():
    @tool
    def secret(word: str, context: ToolContext) -> str:
        """Use the context."""
        return word

    seen: list[set[str]] = []

    async def look(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        seen.append(set(prepared.arguments))
        return await proceed(prepared)

    Toolset([secret], steps=[look]).run_sync([ToolCall("1", "secret", {"word": "x"})])
    assert seen == [{"word"}]
