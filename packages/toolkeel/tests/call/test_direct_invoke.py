"""`tool.invoke`: the input in three shapes, answers and errors in kind."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel import CallError, RunContext, ToolCall, ToolContext, ToolError, tool
from toolkeel.errors import InvalidArguments


@tool
def double(n: int) -> int:
    """Double."""
    if n < 0:
        raise ToolError("Not below zero.")
    return n * 2


@tool
async def greet(who: str, context: ToolContext[str], loud: bool = False) -> str:
    """Greet."""
    return f"{context.deps} {who}{'!' * loud}"


def test_a_dict_its_text_or_the_one_argument_give_the_bodys_own_value():
    assert double.invoke({"n": 4}) == double.invoke('{"n": 4}') == double.invoke("4") == 8
    assert greet.invoke("Ada", RunContext("hi")) == "hi Ada"


def test_a_call_or_its_dict_give_a_message():
    for given in (
        ToolCall("7", "double", {"n": 4}),
        {"name": "double", "args": {"n": 4}, "id": "7"},
    ):
        message = double.invoke(given)
        assert (message.content, message.tool_call_id) == ("8", "7")
    assert double.invoke(ToolCall("7", "double", {"n": -1})).kind == "tool_error"


def test_without_a_call_a_failure_is_raised():
    with pytest.raises(ToolError, match="Not below zero"):
        double.invoke({"n": -1})
    with pytest.raises(InvalidArguments, match="expected an integer"):
        double.invoke({"n": "many"})
    with pytest.raises(CallError, match="takes 2 arguments"):
        tool("two")(lambda a, b: a).invoke("x")


def test_a_handler_that_says_what_to_tell_tells_it_instead():
    @tool(on_error="ask for another", on_invalid=lambda e: "look again")
    def picky(n: int) -> int:
        """Refuse."""
        raise ToolError("no")

    assert picky.invoke({"n": 1}) == "ask for another"
    assert picky.invoke({}) == "look again"


def test_many_inputs_at_once_keep_their_order():
    assert double.batch([{"n": n} for n in range(5)]) == [0, 2, 4, 6, 8]
    assert asyncio.run(double.abatch(["1", "2"])) == [2, 4]
    assert asyncio.run(double.ainvoke({"n": 3})) == 6
