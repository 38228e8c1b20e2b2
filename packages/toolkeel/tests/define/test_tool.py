"""The record every front door compiles to: its options, its schemas, still the plain function."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import pickle
import threading
import time
import weakref
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from toolkeel import (
    Effects,
    Injected,
    RunContext,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    tool,
)
from toolkeel.define.tool import ToolOptions
from toolkeel.errors import CallError, Crashed, Denied, Disabled, InvalidArguments, TimedOut
from toolkeel.messages import ToolMessage


@tool
def area(width: int, height: int = 2) -> int:
    """Multiply two lengths.

    Args:
        width: From left to right.
        height: From top to bottom.
    """
    return width * height


@tool
async def shout(text: str) -> str:
    """Say it louder."""
    await asyncio.sleep(0)
    return text.upper()


# — the record —


def test_a_tool_is_still_the_plain_function() -> None:
    assert area(3) == 6
    assert area(width=3, height=4) == 12
    assert asyncio.run(shout("hi")) == "HI"
    assert (area.__name__, area.__wrapped__(2)) == ("area", 4)


def test_a_tool_says_its_name_and_parameters() -> None:
    assert repr(area) == "Tool(area(width, height))"
    assert area.description == "Multiply two lengths."
    assert area.parameters == {
        "type": "object",
        "properties": {
            "width": {"type": "integer", "description": "From left to right."},
            "height": {"type": "integer", "description": "From top to bottom.", "default": 2},
        },
        "required": ["width"],
        "additionalProperties": False,
    }
    json.dumps(area.parameters)


def test_the_whole_schema_names_what_the_program_fills_and_the_models_does_not() -> None:
    @tool
    def fetch(url: str, token: Annotated[str, Injected], context: ToolContext[Any]) -> str:
        """Fetch."""
        return url

    assert list(fetch.parameters["properties"]) == ["url"]  # type: ignore[call-overload]


def test_a_tool_is_frozen_and_changed_by_replacing() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        area.name = "other"  # type: ignore[misc]
    other = dataclasses.replace(area, name="other", timeout=None)
    assert (other.name, other.timeout, area.name) == ("other", None, "area")
    assert other.invoke({"width": 1}) == 2


def test_a_tool_can_be_a_key_and_weakly_held_and_copied() -> None:
    assert {area: 1}[area] == 1
    assert weakref.ref(area)() is area
    assert copy.copy(area).invoke({"width": 1}) == 2
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        pickle.dumps(area)  # its validators are compiled: a tool is imported, not sent


def test_the_defaults_of_every_option_are_the_cautious_ones() -> None:
    assert (area.timeout, area.max_output, area.unknown_keys) == (30.0, 50_000, "forbid")
    assert area.effects == Effects()
    assert not (area.inline or area.sequential or area.ends_run or area.approval)
    assert area.enabled is True and area.on_crash is False


def test_every_option_has_a_field_but_those_of_the_docstring_and_of_ray() -> None:
    fields = {field.name for field in dataclasses.fields(Tool)}
    assert set(ToolOptions.__annotations__) - fields == {"docstring", "resources"}


# — invoke —


@pytest.mark.parametrize(
    "value",
    [{"width": 3}, '{"width": 3}', "3", 3, {"width": "3"}, ' {"width": 3.0} '],
)
def test_one_value_may_come_in_many_shapes(value: object) -> None:
    assert area.invoke(value) == 6


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("c1", "area", {"width": 3}),
        {"name": "area", "args": {"width": 3}, "id": "c1", "type": "tool_call"},
    ],
)
def test_a_call_gives_a_message_whatever_happens(call: object) -> None:
    message = area.invoke(call)
    assert isinstance(message, ToolMessage)
    assert (message.content, message.tool_call_id, message.name) == ("6", "c1", "area")
    failed = area.invoke(ToolCall("c2", "area", {"width": "x"}))
    assert (failed.kind, failed.tool_call_id) == ("invalid_arguments", "c2")


def test_a_text_for_a_tool_of_several_parameters_is_refused() -> None:
    @tool
    def pair(a: int, b: int) -> int:
        """Take two."""
        return a + b

    with pytest.raises(CallError, match=r"'pair' takes 2 arguments \(a, b\)"):
        pair.invoke("5")


def test_outside_of_a_call_the_bodys_own_value_and_exception_come_out() -> None:
    class Thing:
        pass

    thing = Thing()
    assert tool("give", description="Give.")(lambda: thing).invoke() is thing
    with pytest.raises(Crashed) as raised:
        tool("fail", description="Fail.")(lambda: 1 / 0).invoke()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(InvalidArguments):
        area.invoke({"width": "x"})


@pytest.mark.parametrize(
    ("options", "error"),
    [({"enabled": False}, Disabled), ({"timeout": 0.02}, TimedOut), ({"approval": True}, Denied)],
)
def test_a_direct_call_is_guarded_as_any_other(options: Any, error: type[CallError]) -> None:
    @tool(**options)
    async def slow() -> None:
        """Wait."""
        await asyncio.sleep(1)

    with pytest.raises(error):
        slow.invoke()


def test_many_values_run_side_by_side_and_come_back_in_order() -> None:
    together = threading.Barrier(5, timeout=5)

    @tool
    def meet(n: int) -> int:
        """Meet the others."""
        together.wait()
        return n

    assert meet.batch([{"n": n} for n in range(5)]) == list(range(5))


def test_a_batch_that_fails_leaves_nothing_running() -> None:
    ended: list[int] = []

    @tool
    async def work(n: int) -> int:
        """Work, or fail at once."""
        if n == 0:
            raise ToolError("no")
        await asyncio.sleep(0.05)
        ended.append(n)
        return n

    with pytest.raises(ToolError, match="no"):
        work.batch([{"n": n} for n in range(3)])
    assert sorted(ended) == [1, 2]


def test_what_the_author_wants_the_model_to_read_is_also_what_a_direct_call_returns() -> None:
    def refuses(n: int) -> str:
        raise ToolError("too much")

    made = tool("refuses", on_error=lambda error: f"Sorry: {error}")(refuses)
    assert made.invoke({"n": 1}) == "Sorry: too much"
    made = tool("refuses", on_invalid="numbers, please")(refuses)
    assert made.invoke({"n": "x"}) == "numbers, please"
    with pytest.raises(ToolError):
        tool("refuses")(refuses).invoke({"n": 1})


# — front doors of the record —


def test_a_tool_is_made_of_a_function_without_a_decorator() -> None:
    async def later(x: int) -> int:
        return x + 1

    def now(x: int) -> int:
        return x

    assert Tool.from_function(now).invoke({"x": 1}) == 1
    both = Tool.from_function(now, later, name="both", description="Either.", tags=["a"])
    assert (both.invoke({"x": 1}), both.name, both.tags) == (2, "both", ("a",))


def test_a_callable_object_that_is_false_is_a_function_all_the_same() -> None:
    class Empty:
        def __len__(self) -> int:
            return 0

        async def __call__(self) -> str:
            return "called"

    assert Tool.from_function(len, Empty(), name="empty").invoke() == "called"


def test_a_tool_is_made_of_a_json_schema_and_a_function_of_a_dict() -> None:
    async def on_invoke(context: ToolContext[Any], arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        return [context.call.id, arguments]

    schema = {
        "type": "object",
        "properties": {"context": {"type": "string"}, "n": {"type": "integer", "default": 3}},
    }
    made = Tool.from_schema("echo", "Echo.", schema, on_invoke)
    assert made.invoke({"context": "x"}) == ["", {"context": "x", "n": 3}]
    with pytest.raises(InvalidArguments):
        made.invoke({"n": "x"})
    short: Any = Tool
    for same in (
        short("echo", "Echo.", schema, on_invoke, timeout=3),
        short(name="echo", description="Echo.", parameters=schema, on_invoke=on_invoke, timeout=3),
    ):
        assert isinstance(same, Tool)
        assert (same.name, same.parameters, same.timeout) == ("echo", made.parameters, 3)
        assert same.invoke({"context": "x"}) == ["", {"context": "x", "n": 3}]
    with pytest.raises(TypeError, match="'parameters'"):
        short("echo", "Echo.")


class Size(BaseModel):
    """Measure something."""

    width: int = Field(description="From left to right.")
    height: int = 2
    owner: Annotated[str, Injected] = "nobody"


def test_parameters_may_be_described_by_a_model() -> None:
    @tool(parameters=Size)
    def measure(width: int, height: int, owner: str) -> str:
        return f"{width} {height} {owner}"

    assert measure.description == "Measure something."
    assert list(measure.parameters["properties"]) == ["width", "height"]  # type: ignore[call-overload]
    assert measure.invoke({"width": 1}) == "1 2 nobody"
    assert measure.invoke({"width": 1}, RunContext(inject={"owner": "Ada"})) == "1 2 Ada"
    with pytest.raises(InvalidArguments, match="owner"):
        measure.invoke({"width": 1, "owner": "forged"})


def test_an_inline_body_runs_where_the_loop_is_and_others_in_threads() -> None:
    def where() -> int:
        return threading.get_ident()

    async def main() -> tuple[bool, bool]:
        here = threading.get_ident()
        on_loop = await tool(inline=True)(where).ainvoke()
        in_thread = await tool(where).ainvoke()
        return on_loop == here, in_thread == here

    assert asyncio.run(main()) == (True, False)


def test_a_sync_body_does_not_hold_the_loop() -> None:
    @tool
    def sleep() -> None:
        """Hold a thread."""
        time.sleep(1)

    async def main() -> int:
        work = asyncio.create_task(sleep.ainvoke())
        ticks = 0
        while not work.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 5
