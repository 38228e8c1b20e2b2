"""The same work for everybody: functions that become tools, and calls as a provider's reply has them."""

# Annotations stay objects here: some peers read nothing else.
import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field


class Address(BaseModel):
    """Where a parcel goes."""

    city: str = Field(description="City")
    street: str = Field(description="Street and number")
    floor: int | None = Field(default=None, description="Floor, if it matters")


async def rate(city: str, days: int) -> str:
    """Say what a parcel costs.

    Args:
        city: Where it goes.
        days: In how many days it must be there.
    """
    return city


def rate_sync(city: str, days: int) -> str:
    """Say what a parcel costs.

    Args:
        city: Where it goes.
        days: In how many days it must be there.
    """
    return city


async def ship(
    sender: str,
    address: Address,
    items: list[str],
    speed: Literal["normal", "express"] = "normal",
    weight: int = 1,
    note: str | None = None,
) -> str:
    """Send a parcel.

    Args:
        sender: Who sends it.
        address: Where it goes.
        items: What is in it.
        speed: How fast.
        weight: In kilograms.
        note: For whoever carries it.
    """
    return address.city  # fails unless the arguments became a model


async def wait(i: int) -> str:
    """Wait for ten milliseconds.

    Args:
        i: Number of the call.
    """
    await asyncio.sleep(0.01)
    return str(i)


def wait_sync(i: int) -> str:
    """Wait for ten milliseconds in a thread.

    Args:
        i: Number of the call.
    """
    time.sleep(0.01)
    return str(i)


async def count(i: int) -> str:
    """Say a number.

    Args:
        i: The number.
    """
    return str(i)


def another_ship(number: int) -> Callable[..., Any]:
    """One of many tools of six parameters, each with a name of its own."""

    async def made(
        sender: str,
        address: Address,
        items: list[str],
        speed: Literal["normal", "express"] = "normal",
        weight: int = 1,
        note: str | None = None,
    ) -> str:
        return address.city

    made.__doc__ = ship.__doc__
    made.__name__ = made.__qualname__ = f"ship_{number}"
    return made


class Call(NamedTuple):
    """A call as it comes: the arguments are JSON text."""

    id: str
    name: str
    arguments: str


RATE = '{"city": "Lyon", "days": 3}'
WRONG = '{"city": "Lyon", "days": "many"}'
SHIP = (
    '{"sender": "Ada", "address": {"city": "Lyon", "street": "Rue de la Barre 7", "floor": 2}, '
    '"items": ["book", "lamp", "cup"], "speed": "express", "weight": 4, "note": null}'
)
RESULT = "Parcel {:06d} is on its way; " + "it was weighed, stamped and put on a train. " * 4


def turn(name: str, size: int) -> list[Call]:
    """The calls of one turn."""
    return [Call(f"call_{i}", name, f'{{"i": {i}}}') for i in range(size)]
