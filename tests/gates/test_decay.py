"""Nothing gets slower or larger unnoticed: counts of calls and bytes, with ten percent of room.

A number here may be lowered whenever the code got better. Raising one says in the commit what the
cost buys.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from tests.gates.counts import calls, kept, taken
from tests.gates.fresh import fresh
from toolkeel import (
    Agent,
    AssistantMessage,
    RunContext,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.steps.guard import Allow, input_guard, output_guard
from toolkeel.model_interface import CallDelta, Finish, ModelRequest
from toolkeel.providers.openai_chat.encode import ChatEncoder, encode_tools
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire.body_cache import BodyCache

ROOM = 1.1
RIGHT = 1.05
"""A right call pays nothing for what is done for wrong ones."""


class Place(BaseModel):
    city: str
    street: str = ""


@tool
async def plain(city: str, days: int) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
        days: Days ahead.
    """
    return city


@tool(inline=True)
def inline(city: str, days: int) -> str:
    """Look up the weather."""
    return city


@tool
async def nested(place: Place, days: list[int], unit: Literal["c", "f"] = "c") -> str:
    """Look up the weather."""
    return place.city


@tool(
    steps=[
        input_guard(lambda prepared, context: Allow()),
        output_guard(lambda prepared, outcome, context: Allow()),
    ]
)
async def guarded(city: str, days: int, context: ToolContext[Any]) -> str:
    """Look up the weather."""
    return city


@tool
async def waits(city: str, days: int) -> str:
    """Wait once."""
    await asyncio.sleep(0)
    return city


GOOD = '{"city": "Paris", "days": 3}'
BAD = '{"city": "Paris", "days": "many"}'
DEEP = '{"place": {"city": "Paris", "street": "Rue"}, "days": [1, 2], "unit": "f"}'
TOOLS = Toolset([plain, inline, nested, guarded, waits])

CALLS = {
    # what is called: its arguments, whether somebody listens, the number
    "plain": (plain, GOOD, False, 33),
    "plain, heard": (plain, GOOD, True, 44),
    "inline": (inline, GOOD, False, 32),
    "nested": (nested, DEEP, False, 41),
    "guarded, heard": (guarded, GOOD, True, 60),
    "waits": (waits, GOOD, False, 92),
    "invalid": (plain, BAD, False, 105),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_enters_no_more_functions_than_it_did(what: str) -> None:
    made, arguments, heard, most = CALLS[what]
    listeners = (lambda event: None,) if heard else ()

    async def work() -> None:
        run: RunContext[Any] = RunContext(listeners=listeners)
        await TOOLS.run([ToolCall("1", made.name, arguments)], run)

    assert calls(work) <= most * (ROOM if what == "invalid" else RIGHT)


BYTES = {"record": 525, "tool": 6830, "call": 1550}
"""Kept by a call and its result, kept by a tool with its schema, taken while a call runs."""


def test_a_call_and_its_result_keep_no_more_bytes_than_they_did() -> None:
    def make(size: int) -> list[object]:
        text = "Row %06d: lorem ipsum dolor sit amet"
        kept: list[object] = []
        for n in range(size):
            call = ToolCall(f"call_{n}", "plain", f'{{"n": {n}}}')
            kept.append(AssistantMessage("", (call,), "tool_calls"))
            kept.append(ToolMessage(text % n, call.id, "plain"))
        return kept

    assert kept(make, 2000) <= BYTES["record"] * ROOM


def test_a_tool_keeps_no_more_bytes_than_it_did() -> None:
    assert kept(lambda size: [tool(_named(n)) for n in range(size)], 100) <= BYTES["tool"] * ROOM


def _named(number: int) -> Any:
    async def look_up(place: Place, days: list[int], unit: Literal["c", "f"] = "c") -> str:
        """Look up the weather.

        Args:
            place: Where.
            days: Days ahead.
            unit: Of temperatures.
        """
        return ""

    look_up.__name__ = f"look_up_{number}"
    return look_up


DEFINED = {"tool": 3920, "schema": 1080}
"""Functions entered to define a tool whose annotations are known, and to write its schema."""


@pytest.mark.parametrize("what", DEFINED)
def test_a_definition_enters_no_more_functions_than_it_did(what: str) -> None:
    made: Any = tool(_named(0))

    async def work() -> None:
        if what == "tool":
            tool(_named(1))
        else:
            encode_tools([made])

    assert calls(work) <= DEFINED[what] * ROOM


def test_a_call_takes_no_more_memory_while_it_runs_than_it_did() -> None:
    run: RunContext[Any] = RunContext()
    call = [ToolCall("1", "plain", GOOD)]
    assert taken(lambda: TOOLS.run(call, run), 50) <= BYTES["call"] * ROOM


# — growth: four times the work is four times the calls —


def _grows_evenly(small: int, large: int, times: int) -> None:
    assert large <= times * small * ROOM, (
        f"{small} calls became {large} with {times} times the work"
    )


def test_the_cost_of_a_turn_does_not_grow_with_the_turns_before_it() -> None:
    def agent(turns: int) -> Any:
        async def work() -> None:
            replies = iter(
                [
                    AssistantMessage("", (ToolCall(f"c{n}", "plain", GOOD),), "tool_calls")
                    for n in range(turns)
                ]
                + [AssistantMessage("done")]
            )

            class Model:
                name = "script"

                async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
                    yield next(replies)

            result = await Agent(Model(), [plain], max_turns=turns + 1).run("go")
            assert len(result.messages) == 2 * turns + 2

        return work

    _grows_evenly(calls(agent(100)), calls(agent(400)), 4)


@pytest.mark.parametrize("name", ["plain", "waits", "inline"])
def test_the_cost_of_a_call_does_not_grow_with_the_calls_of_its_turn(name: str) -> None:
    def batch(size: int) -> Any:
        turn = [ToolCall(str(n), name, GOOD) for n in range(size)]
        return lambda: TOOLS.run(turn, RunContext())

    _grows_evenly(calls(batch(100)), calls(batch(400)), 4)


def test_the_cost_of_a_piece_of_a_streamed_call_does_not_grow_with_those_before_it() -> None:
    def stream(pieces: int) -> Any:
        async def work() -> None:
            preview, reply = PartialArguments(), ReplyBuilder()
            for n in range(pieces):
                piece = f"{',' if n else chr(123) + chr(34) + 'rows' + chr(34) + ': ['}{n}"
                preview.feed(piece)
                reply.add(CallDelta(0, "c", "plain", piece))
                assert len(preview.value()) == 1 or n == 0
            reply.add(Finish("tool_calls"))
            assert reply.build().tool_calls

        return work

    _grows_evenly(calls(stream(200)), calls(stream(800)), 4)


def test_a_request_costs_what_its_turn_added() -> None:
    def requests(turns: int) -> Any:
        async def work() -> None:
            cache, messages = BodyCache(ChatEncoder, ChatTarget("m")), []
            for n in range(turns):
                call = ToolCall(f"c{n}", "plain", GOOD)
                messages += [
                    AssistantMessage("", (call,), "tool_calls"),
                    ToolMessage("ok", call.id),
                ]
                cache.body(ModelRequest(messages))

        return work

    _grows_evenly(calls(requests(50)), calls(requests(200)), 4)


def test_finding_a_tool_costs_the_same_among_many() -> None:
    few, many = (Toolset([tool(_named(n)) for n in range(size)]) for size in (2, 40))

    def work(tools: Toolset) -> Any:
        return lambda: tools.run([ToolCall("1", "look_up_1", DEEP)], RunContext())

    assert calls(work(many)) == calls(work(few))


# — the import —

LOADED = 41  # with edits, limits, gaps of pydantic, and the words of other libraries
LATE = {
    "asyncio",
    "logging",
    "pydantic.fields",
    "jsonschema_rs",
    "toolkeel.call",
}


def test_defining_a_tool_loads_little_beside_pydantic(tmp_path: Path) -> None:
    code = (
        "import json, sys\nfrom pydantic import TypeAdapter\nbefore = set(sys.modules)\n"
        "from toolkeel import tool\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = fresh(code, tmp_path)
    assert not LATE & set(loaded)
    maps = {name.rpartition(".")[0] for name in loaded}  # a folder's __init__ is a page of text
    assert len(set(loaded) - maps) <= LOADED * ROOM, loaded
