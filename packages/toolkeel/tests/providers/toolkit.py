"""Tools as a newcomer writes them, for the tests of the offline model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Literal, TypedDict

from toolkeel import ToolError, tool
from toolkeel._records.record import NOTHING, record
from toolkeel.define.tool import AnyTool
from toolkeel.providers.offline.fill_arguments import Filled, fill_arguments


@record
class Definition:
    """A tool as a model is told about it, from a bare JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, object]
    extras: Mapping[str, object] = NOTHING


def definition(name: str, description: str = "", **properties: object) -> Definition:
    """A definition whose properties are all required; ``_`` before a name makes it optional."""
    named = {key.removeprefix("_"): value for key, value in properties.items()}
    required = [key for key in properties if not key.startswith("_")]
    schema = {"type": "object", "properties": named, "required": required}
    return Definition(name, description, schema)


class User(TypedDict):
    """A person to be created."""

    name: str
    age: int


@tool
def search(query: str, limit: int = 10) -> list[str]:
    """Search the catalogue.

    Args:
        query: What to look for.
        limit: How many results.
    """
    return [f"{query} {number}" for number in range(limit)]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def send_email(to: str, subject: str, body: str) -> str:
    """Send an email."""
    return f"sent {subject!r} to {to}: {body}"


@tool
def get_stock_price(symbol: str) -> dict[str, str | float]:
    """Get the latest stock price.

    Args:
        symbol: Ticker symbol.
    """
    return {"symbol": symbol, "price": 12.5, "currency": "USD"}


@tool
def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Look up the current weather.

    Args:
        city: Name of the city, such as "Paris" or "北京".
        unit: Temperature unit.
    """
    if city == "Pariss":
        raise ToolError("There is no city 'Pariss'. Did you mean 'Paris'?")
    return f"{city}: 20 degrees {unit}"


@tool
def book_flight(
    origin: str,
    destination: str,
    day: date,
    passengers: int = 1,
    cabin: Literal["economy", "business"] = "economy",
) -> str:
    """Book a flight.

    Args:
        origin: City to fly from.
        destination: City to fly to.
        day: Date of departure.
        passengers: Number of people.
        cabin: Class.
    """
    return f"{origin} {destination} {day} {passengers} {cabin}"


@tool
def read_file(path: str) -> str:
    """Read a text file.

    Args:
        path: Path of the file.
    """
    return f"text of {path}"


@tool
def translate(text: str, target_language: str) -> str:
    """Translate text into another language."""
    return f"[{target_language}] {text}"


@tool
def greet(name: str) -> str:
    """Say hello to somebody."""
    return f"Hello, {name}!"


@tool
def set_light(room: str, on: bool) -> str:
    """Turn the light of a room on or off."""
    return f"{room} {'on' if on else 'off'}"


@tool
def create_user(user: User) -> str:
    """Create a user."""
    return f"{user['name']}, {user['age']}"


@tool
def average(numbers: list[float]) -> float:
    """Work out the average of numbers."""
    return sum(numbers) / len(numbers)


TOOLS: tuple[AnyTool, ...] = (
    search,
    add,
    send_email,
    get_stock_price,
    get_weather,
    book_flight,
    read_file,
    translate,
    greet,
    set_light,
    create_user,
    average,
)


def filled(made: AnyTool | Definition, text: str) -> Filled:
    """What a prompt says about a tool's arguments."""
    return fill_arguments(made, text)
