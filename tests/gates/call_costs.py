"""What a call costs, counted: functions entered and bytes, for `make figures`.

SPEED.md's goals are in seconds and are measured by the benchmarks; these counts show what changed.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel

from tests.gates.counts import calls, taken
from toolkeel import RunContext, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.steps.guard import Allow, input_guard, output_guard


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
    # the tool, its arguments, and True if the run has a listener
    "plain": (plain, GOOD, False),
    "plain, heard": (plain, GOOD, True),
    "inline": (inline, GOOD, False),
    "nested": (nested, DEEP, False),
    "guarded, heard": (guarded, GOOD, True),
    "waits": (waits, GOOD, False),
    "invalid": (plain, BAD, False),
}


def call_costs() -> dict[str, float]:
    """Count the functions that each kind of call enters, and the bytes that a call takes."""
    found: dict[str, float] = {}
    for name, (made, arguments, has_listener) in CALLS.items():
        listeners = (lambda event: None,) if has_listener else ()

        async def work(
            made: Any = made, arguments: str = arguments, listeners: Any = listeners
        ) -> None:
            run: RunContext[Any] = RunContext(listeners=listeners)
            await TOOLS.run([ToolCall("1", made.name, arguments)], run)

        found[f"functions, {name}"] = calls(work)
    run: RunContext[Any] = RunContext()
    call = [ToolCall("1", "plain", GOOD)]
    found["bytes while a call runs"] = round(taken(lambda: TOOLS.run(call, run), 50))
    return found


def named_tool(number: int) -> Any:
    """Make a function of its own for a tool."""

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
