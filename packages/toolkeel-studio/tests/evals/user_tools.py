"""Tools of the tests of evals; a body that runs says so."""

from __future__ import annotations

from datetime import date
from typing import Literal

from toolkeel import Toolset, tool

RAN: list[str] = []


@tool(approval=True)
def weather(city: str, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
    """Tell the weather of a city."""
    RAN.append(city)
    return f"{city}: sunny"


@tool
def book(day: date, guests: int) -> str:
    """Book a table."""
    RAN.append(str(day))
    return "booked"


TOOLS = Toolset([weather, book])
