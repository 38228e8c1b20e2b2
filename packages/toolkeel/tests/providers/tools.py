"""The tools that the scripted flows call."""

from __future__ import annotations

from toolkeel import Toolset, tool


@tool(inline=True)
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
    """
    return f"{city}: sunny"


@tool(inline=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool("clock.now", inline=True)
def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS = Toolset([get_weather, add, now])
