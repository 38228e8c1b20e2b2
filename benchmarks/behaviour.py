"""What libraries do by default with the same calls: ``python -m benchmarks.behaviour`` prints a table.

Each is asked by the call that `benchmarks/peers` times: the tool's own, or the executor of its
agents. The page docs/how-it-compares.md holds what it printed, and a test compares the two.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from benchmarks.peer import Peer, load
from benchmarks.work import Call

NAMES = ("toolkeel", "langgraph", "openai-agents", "pydantic-ai")
SECRET = "postgres://ada:hunter2@db"
Ran: TypeAlias = list[Any]
"""What bodies were given."""


def bodies(ran: Ran) -> list[Callable[..., Any]]:
    """The functions that are called."""

    async def count(number: int, step: float = 1.0) -> str:
        """Count."""
        ran.append(number)
        return f"counted {number}"

    async def fail(number: int) -> str:
        """Fail."""
        ran.append(number)
        raise ConnectionError(f"cannot reach {SECRET}")

    async def find(city: str) -> dict[str, str]:
        """Find a city."""
        ran.append(city)
        return {"city": city, "country": "中国"}

    return [count, fail, find]


async def asked(peer: Peer, ran: Ran, name: str, arguments: str) -> str:
    """What became of one call, in a few words."""
    ran.clear()
    try:
        text = peer.text(await peer.one(Call("call_1", name, arguments)))
    except Exception as error:
        return f"raises `{type(error).__name__}`"
    return f"runs with {json.dumps(ran[0])}" if ran else "told, not run" if text else "nothing"


async def secret(peer: Peer, ran: Ran) -> str:
    """Whether the words of an exception reach the model."""
    try:
        text = peer.text(await peer.one(Call("call_1", "fail", '{"number": 1}')))
    except Exception as error:
        return f"raises `{type(error).__name__}`"
    return "told with its words" if SECRET in text else "told without its words"


async def beside(peer: Peer, ran: Ran) -> str:
    """Whether a call that fails leaves its sibling its result."""
    calls = [Call("call_1", "fail", '{"number": 1}'), Call("call_2", "count", '{"number": 2}')]
    try:
        texts = [peer.text(message) for message in await peer.many(calls)]
    except Exception as error:
        return f"raises `{type(error).__name__}`"
    return f"{sum('counted 2' in text for text in texts)} of 1 kept"


async def chinese(peer: Peer, ran: Ran) -> str:
    """How the model reads a result that is not ASCII."""
    text = peer.text(await peer.one(Call("call_1", "find", '{"city": "北京"}')))
    try:
        json.loads(text)
    except ValueError:
        return "Python's `repr`"
    return "JSON, as it is" if "北京" in text else "JSON, escaped"


def given(name: str, arguments: str) -> Callable[[Peer, Ran], Any]:
    """A case of one call."""
    return lambda peer, ran: asked(peer, ran, name, arguments)


CASES: Mapping[str, Callable[[Peer, Ran], Any]] = {
    'an integer as `"5"`': given("count", '{"number": "5"}'),
    "an integer as `5.0`": given("count", '{"number": 5.0}'),
    "an integer as `true`": given("count", '{"number": true}'),
    "a key that is not there": given("count", '{"number": 5, "nmuber": 6}'),
    "a key twice": given("count", '{"number": 5, "number": 6}'),
    "a number as `NaN`": given("count", '{"number": 5, "step": NaN}'),
    "a missing argument": given("count", "{}"),
    "the body raises": secret,
    "its sibling in the same turn": beside,
    "a result in Chinese": chinese,
}


async def table() -> str:
    """The table, as Markdown."""
    columns = []
    for name in NAMES:
        peer, ran = load(name), []
        await peer.open(bodies(ran))
        columns.append([await case(peer, ran) for case in CASES.values()])
    head = f"| | {' | '.join(NAMES)} |\n|---|{'---|' * len(NAMES)}\n"
    rows = zip(CASES, zip(*columns, strict=True), strict=True)
    return head + "".join(f"| {case} | {' | '.join(told)} |\n" for case, told in rows)


if __name__ == "__main__":
    logging.disable()
    sys.stdout.write(asyncio.run(table()))
