"""Running bodies of every kind: values, positions, generators, promises about results."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.call.body.running import result_of
from tests.contract import progress_of
from toolkeel import (
    RunContext,
    ToolContext,
    ToolMessage,
    ToolOutput,
    tool,
)
from toolkeel.call.body.run_body import split_arguments
from toolkeel.define.reading.signature import MISSING, POSITIONAL_ONLY, VAR_POSITIONAL, Parameter
from toolkeel.events import Event

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


# — kinds of bodies —


def _sync(n: int) -> str:
    """Sync."""
    return f"got {n}"


async def _async(n: int) -> str:
    """Async."""
    return f"got {n}"


async def _async_that_waits(n: int) -> str:
    """Async, waiting."""
    await asyncio.sleep(0)
    return f"got {n}"


def _generator(n: int) -> Iterator[str]:
    """Yield."""
    yield "got "
    yield str(n)


async def _async_generator(n: int) -> AsyncIterator[str]:
    """Yield, waiting."""
    yield "got "
    await asyncio.sleep(0)
    yield str(n)


def _gives_a_coroutine(n: int) -> Any:
    """Give a coroutine."""
    return _async_that_waits(n)


async def _gives_a_task(n: int) -> Any:
    """Give a task's result."""
    return await asyncio.create_task(_async_that_waits(n))


BODIES = [_sync, _async, _async_that_waits, _generator, _async_generator, _gives_a_coroutine]
BODIES += [_gives_a_task]


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_any_kind_gives_its_value(body: Any, inline: bool) -> None:
    assert result_of(tool("body", inline=inline)(body), {"n": 5}).content == "got 5"


@pytest.mark.parametrize("body", [_generator, _async_generator])
def test_what_a_generator_yields_is_progress_and_together_the_result(body: Any) -> None:
    events: list[Event] = []
    result_of(tool("body")(body), {"n": 5}, RunContext(listeners=(events.append,)))
    assert progress_of(events, "c1")[-1] == "5"


def test_items_that_are_no_texts_become_a_list() -> None:
    @tool
    def numbers(n: int) -> Any:
        """Yield numbers."""
        yield from range(n)

    assert result_of(numbers, {"n": 3}).content == "[0,1,2]"
    assert result_of(numbers, {"n": 0}).content == ""


def test_a_generator_that_fails_closes_and_is_a_crash() -> None:
    closed: list[str] = []

    class Unreadable:
        def __str__(self) -> str:
            raise ValueError("unreadable")

    @tool
    async def yields() -> Any:
        """Yield something unreadable."""
        try:
            yield Unreadable()
        finally:
            closed.append("async")

    @tool
    def yields_sync() -> Any:
        """Yield something unreadable."""
        try:
            yield Unreadable()
        finally:
            closed.append("sync")

    assert result_of(yields).kind == result_of(yields_sync).kind == "crashed"
    assert closed == ["async", "sync"]


# — time —


def test_a_body_knows_how_long_it_may_go_on() -> None:
    @tool(timeout=5)
    async def on_loop(context: ToolContext[Any]) -> str:
        """Tell the time left."""
        assert context.time_left is not None and 4 < context.time_left <= 5
        await asyncio.sleep(0)
        assert context.time_left is not None and 4 < context.time_left <= 5
        return "ok"

    @tool(timeout=5)
    def in_thread(context: ToolContext[Any]) -> str:
        """Tell the time left."""
        assert context.time_left is not None and 4 < context.time_left <= 5
        return "ok"

    @tool(timeout=None)
    async def for_ever(context: ToolContext[Any]) -> str:
        """Tell that there is no end."""
        await asyncio.sleep(0)
        assert context.time_left is None
        return "ok"

    assert [result_of(t).content for t in (on_loop, in_thread, for_ever)] == ["ok"] * 3


# — positions —


@st.composite
def arrangements(draw: st.DrawFn) -> tuple[tuple[Parameter, ...], dict[str, Any], Any]:
    """Positional parameters, values for some of them, and what a call must receive."""
    count = draw(st.integers(0, 5))
    required = draw(st.integers(0, count))
    parameters = [
        Parameter(f"p{n}", int, MISSING if n < required else -n, POSITIONAL_ONLY)
        for n in range(count)
    ]
    values: dict[str, Any] = {
        p.name: draw(st.integers(1, 9))
        for p in parameters
        if p.default is MISSING or draw(st.booleans())
    }
    expected = [values.get(p.name, p.default) for p in parameters]
    if draw(st.booleans()):
        parameters.append(Parameter("rest", int, MISSING, VAR_POSITIONAL))
        if draw(st.booleans()):
            values["rest"] = draw(st.lists(st.integers(1, 9), max_size=3))
            expected += values["rest"]
    values["other"] = 0
    return tuple(parameters), values, expected


@given(arrangements())
def test_values_go_to_their_positions_and_defaults_step_in_between(
    case: tuple[tuple[Parameter, ...], dict[str, Any], list[int]],
) -> None:
    parameters, values, expected = case
    args, rest = split_arguments(parameters, values)
    assert rest == {"other": 0}
    assert list(args) == expected[: len(args)]
    left_out = parameters[len(args) :]
    assert all(p.kind is VAR_POSITIONAL or p.name not in values for p in left_out)


# — promises —


class City(BaseModel):
    """A promise."""

    name: str
    people: int


@dataclasses.dataclass
class Place:
    """Another."""

    name: str


class Spot(TypedDict):
    """A third."""

    name: str


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (City, City(name="北京", people=22), {"name": "北京"}),
        (City, {"name": "北京", "people": 22}, 5),
        (Place, Place("a"), "a"),
        (Spot, {"name": "a"}, {"name": 5}),
    ],
)
def test_a_result_that_breaks_its_promise_is_the_tools_fault(
    annotation: Any, good: object, bad: object
) -> None:
    def give(wrong: bool) -> Any:
        return bad if wrong else good

    give.__annotations__["return"] = annotation
    made = tool("give", description="Give.")(give)
    assert made.output_schema is not None
    assert result_of(made, {"wrong": False}).kind is None
    failed = result_of(made, {"wrong": True})
    assert failed.kind == "invalid_output" and "fault of the tool" in failed.text


def test_a_promise_is_not_asked_of_outputs_messages_and_pairs() -> None:
    def give(what: str) -> City:
        return {"output": ToolOutput("x"), "message": ToolMessage("x")}[what]  # type: ignore[return-value]

    for what in ("output", "message"):
        assert result_of(tool(give), {"what": what}).content == "x"

    def pair() -> City:
        return "x", 5  # type: ignore[return-value]

    made = tool("pair", returns="content_and_artifact")(pair)
    assert result_of(made).artifact == 5
