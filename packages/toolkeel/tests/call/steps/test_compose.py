"""Steps: order, changes validated again, arguments that cannot be changed in place."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Prepared, Proceed, ToolCall, ToolContext, Toolset, tool
from toolkeel.errors import Denied, TimedOut
from toolkeel.messages import ToolMessage


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


def test_a_step_that_gives_a_value_at_once_is_told_what_to_write():
    def sudden(prepared, context, proceed):
        return 5

    def passes(prepared, context, proceed):
        return proceed(prepared)

    message = run(passes, sudden)
    assert message.kind == "crashed"
    assert "step 'sudden' gave int at once; write async def" in message.details["error"]


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


def test_a_step_that_passes_on_another_tool_has_its_arguments_validated_for_that() -> None:
    strict = tool("strict")(lambda text, times: f"{text} strictly")
    other = tool("other")(lambda text, often: f"{text} {often}")

    async def swap(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(dataclasses.replace(prepared, tool=strict))

    async def swap_more(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(dataclasses.replace(prepared, tool=other))

    assert run(swap).content == "a strictly"
    assert run(swap_more).kind == "invalid_arguments"


def test_a_step_may_run_the_call_again_or_not_at_all() -> None:
    async def twice(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return f"{await proceed(prepared)}{await proceed(prepared.change(text='b'))}"

    async def never(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return None

    assert run(twice).content == "ab"
    assert run(never).content == ""


def test_a_step_sees_the_deadline_of_the_body_as_an_error_it_may_handle() -> None:
    tries = []

    @tool(timeout=0.02)
    async def slow() -> str:
        """Be slow once."""
        tries.append(1)
        if len(tries) == 1:
            await asyncio.sleep(5)
        return "at last"

    async def again(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except TimedOut:
            return await proceed(prepared)

    [result] = Toolset([slow], steps=[again]).run_sync([ToolCall("1", "slow")])
    assert result.content == "at last"


def test_a_step_has_no_deadline_of_its_own() -> None:
    async def ponders(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        await asyncio.sleep(0.05)
        return await proceed(prepared)

    made = tool("echo", timeout=0.02)(echo.function)
    calls = [ToolCall("1", "echo", {"text": "a"})]
    assert Toolset([made], steps=[ponders]).run_sync(calls)[0].content == "a"


@given(st.lists(st.sampled_from(["pass", "change", "answer", "refuse", "crash"]), max_size=6))
def test_any_chain_of_steps_does_what_its_outermost_decisive_step_says(words: list[str]) -> None:
    ran: list[str] = []

    def step(word: str) -> Any:
        async def around(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
            ran.append(word)
            if word == "answer":
                return "answered"
            if word == "refuse":
                raise Denied("refused")
            if word == "crash":
                raise ValueError("crashed")
            if word == "change":
                return await proceed(prepared.change(times=prepared.arguments.get("times", 1) + 1))
            return await proceed(prepared)

        return around

    result = run(*map(step, words))
    decisive = next((n for n, w in enumerate(words) if w in ("answer", "refuse", "crash")), None)
    assert ran == (words if decisive is None else words[: decisive + 1])
    if decisive is None:
        assert result.content == "a" * (1 + words.count("change"))
    else:
        kinds = {"answer": None, "refuse": "denied", "crash": "crashed"}
        assert result.kind == kinds[words[decisive]]
