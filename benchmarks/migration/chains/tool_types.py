from datetime import date
from enum import Enum

from langchain_core.tools import tool
from pydantic import BaseModel


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    name: str
    age: int = 3


@tool
def show(
    person: Person,
    colour: Colour,
    day: date,
    people: list[Person],
    counts: dict[str, int],
    number: int | None = None,
    either: int | str = 1,
) -> str:
    """Show."""
    return f"{person} {colour} {day!r} {number} {either!r} {people} {counts}"


given = {"person": {"name": "阿达"}, "colour": "red", "day": "2026-01-02", "either": "x"}
print(show.invoke({**given, "people": [{"name": "b"}], "counts": {"k": 1}}))
