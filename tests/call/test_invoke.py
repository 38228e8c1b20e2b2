"""Bodies of every kind run, and their results are held to the tool's promise."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

from toolwright import Run, ToolCall, ToolContext, Toolset, tool

WHO = contextvars.ContextVar("who", default="nobody")


def run(body: Any, arguments: Any = "", **options: Any) -> Any:
    made = tool("body", **options)(body)
    return Toolset([made]).run_sync([ToolCall("1", "body", arguments)])[0]


def test_sync_bodies_run_in_threads_of_ours_and_inline_ones_do_not():
    def where() -> str:
        return threading.current_thread().name

    assert run(where).content == "toolwright"
    assert run(where, inline=True).content == "toolwright-loop"


def test_context_variables_reach_bodies_of_both_kinds():
    async def later() -> str:
        return WHO.get()

    WHO.set("Ada")
    assert run(lambda: WHO.get()).content == run(later).content == "Ada"


def test_generators_are_collected_and_each_item_is_progress():
    async def letters():
        for letter in "abc":
            yield letter

    def numbers():
        yield from range(3)

    assert (run(letters).content, run(numbers).content) == ("abc", "[0,1,2]")


def test_a_function_that_gives_an_awaitable_is_awaited():
    async def inner() -> str:
        await asyncio.sleep(0)
        return "awaited"

    assert run(lambda: inner()).content == "awaited"


def test_positional_only_and_starred_parameters_are_passed_as_they_are_declared():
    def body(a: int, b: int = 2, /, *rest: int, flag: bool = False, **more: int) -> list[Any]:
        return [a, b, rest, flag, more]

    given = {"a": 1, "rest": [3, 4], "flag": True, "x": 9}
    assert run(body, given).content == '[1,2,[3,4],true,{"x":9}]'
    assert run(body, {"a": 1}).content == "[1,2,[],false,{}]"


class Promise(BaseModel):
    n: int


@dataclass
class Point:
    x: int


class Row(TypedDict):
    id: int


def keeps() -> Row:
    return {"id": 1}


def breaks() -> Row:
    return {"id": "one"}  # type: ignore[typeddict-item]


def lies() -> Promise:
    return "no promise"  # type: ignore[return-value]


def points() -> Point:
    return Point(1)


def test_a_promise_in_the_return_annotation_is_held_or_the_tool_is_at_fault():
    assert (run(keeps).content, run(points).content) == ('{"id":1}', '{"x":1}')
    assert run(breaks).kind == run(lies).kind == "invalid_output"
    assert "fault of the tool" in run(lies).text


def test_errors_of_validation_and_time_inside_a_body_are_the_bodys_own():
    def validates() -> None:
        Promise(n="x")  # type: ignore[arg-type]

    def times_out() -> None:
        raise TimeoutError("the database")

    assert run(validates).kind == run(times_out).kind == "crashed"
    with pytest.raises(ValidationError):
        validates()


def test_a_body_sees_its_deadline_and_the_run():
    def look(context: ToolContext[str]) -> list[Any]:
        return [context.context, context.tool_call_id, 0 < (context.time_left or 0) <= 5]

    made = tool("look", timeout=5)(look)
    assert Toolset([made]).run_sync([ToolCall("7", "look")], Run("me"))[0].content == (
        '["me","7",true]'
    )
