"""A consumer's program: clean for strict type checkers, but for the lines that expect a mistake."""

# pyright: strict

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_type

from pydantic import BaseModel

from toolkeel import Agent, ToolCall, ToolContext, Toolset, tool
from toolkeel.sessions import Sessions


class City(BaseModel):
    name: str
    country: str


@dataclass
class Deps:
    user: str


@tool
def weather(city: str, unit: Literal["c", "f"] = "c") -> str:
    """Tell the weather."""
    return f"{city} {unit}"


@tool(approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return str(amount)


@tool
def whoami(context: ToolContext[Deps]) -> str:
    """Tell who asks."""
    return context.deps.user


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def price(self, item: str) -> float:
        """Tell a price."""
        return len(item) * 1.0

    @tool(approval=True)
    async def buy(self, item: str, count: int = 1) -> bool:
        """Buy."""
        return True


cities: list[City] = Agent("offline", output_type=list[City]).run_sync("x").output
city: City = Agent("offline", output_type=City).run_sync("x").output
text: str = Agent("offline").run_sync("x").output
either = Agent("offline", output_type=City | int).run_sync("x").output
nested = Agent("offline", output_type=dict[str, list[int]]).run_sync("x").output
assert_type(either, City | int)
assert_type(nested, dict[str, list[int]])
agent = Agent("offline", tools=[weather, pay, whoami, Shop("a").price], instructions="Be short.")
called: str = weather("Paris", unit="f")
price: float = Shop("a").price("pen")


async def buy() -> bool:
    return await Shop("a").buy("pen", count=2)


typed = Agent("offline", tools=[whoami], deps_type=Deps)
who: str = typed.run_sync("x", deps=Deps("ada")).output


async def main() -> None:
    result = await agent.run("x")
    print(result.output.upper())
    async for event in agent.stream("x"):
        print(event)
    messages = await Toolset([weather]).run([ToolCall("1", "weather", {"city": "Paris"})])
    print([message.text for message in messages])
    sessions = Sessions("x.db")
    again = await agent.run("x", session=sessions["a"])
    print(again.output.upper())


weather("Paris", unit="k")  # expect: another unit
Shop("a").price(5)  # expect: an item is a text
Shop("a").price()  # expect: an item
Shop("a").buy("pen", many=2)  # expect: no such parameter
