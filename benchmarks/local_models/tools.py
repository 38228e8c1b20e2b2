"""The five tools of the questions, as plain functions that each library makes its own tools of."""

from __future__ import annotations

from typing import Literal


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Look up the current weather of a city.

    Args:
        city: Name of the city.
        unit: Temperature unit.
    """
    return "accepted"


def convert_currency(amount: float, source: str, target: str) -> str:
    """Convert an amount of money from one currency to another.

    Args:
        amount: How much.
        source: ISO code of the currency to convert from, such as EUR.
        target: ISO code of the currency to convert to, such as JPY.
    """
    return "accepted"


def set_timer(minutes: int, label: str = "") -> str:
    """Start a timer.

    Args:
        minutes: Duration in minutes.
        label: What the timer is for.
    """
    return "accepted"


def search_products(query: str, max_price: float | None = None) -> str:
    """Search the shop's products.

    Args:
        query: What to look for.
        max_price: Highest price in euros, if there is a limit.
    """
    return "accepted"


def translate(text: str, language: Literal["en", "zh", "fr", "de", "es"]) -> str:
    """Translate a text.

    Args:
        text: The text.
        language: The language to translate to.
    """
    return "accepted"


TOOLS = [get_weather, convert_currency, set_timer, search_products, translate]
