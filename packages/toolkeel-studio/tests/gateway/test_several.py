"""Two gateways on one PostgreSQL: limits, what was read, results and the desk are theirs together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from mcp import Client

from tests.gateway.behind import client_of, config
from tests.gateway.test_gateway import READER, text
from tests.sessions.postgres_server import serving
from tests.waiting import run, until
from tests.warm import WARM
from toolkeel import Rules
from toolkeel.sessions import ApprovalQueue, KeyValueStore
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Limit, Policy

pytestmark = pytest.mark.slow
POLICY = Policy(
    Rules(ask=["new__echo(text=pay)"]),
    limits=[Limit("new__echo", 3, 3600.0)],
    cache={"docs__*": 600.0},
    taint={"stranger": ["docs__look"], "outward": ["new__ask"]},
)


@pytest.fixture
def stores() -> Iterator[list[KeyValueStore]]:
    with serving() as server:
        address = server.new_database()
        made = [KeyValueStore(address) for _ in range(3)]
        yield made
        for store in made:
            store.close()


def test_two_gateways_count_keep_and_ask_together(stores: list[KeyValueStore]) -> None:
    docs = config("docs", [*WARM, "-c", READER])
    made = [
        Gateway([docs, config("new")], POLICY, shared=store, approver=ApprovalQueue(store))
        for store in stores[:2]
    ]
    desk = ApprovalQueue(stores[2])

    async def call(client: Client, name: str, **given: str) -> str:
        return text(await client.call_tool(name, given))

    async def use() -> None:
        async with AsyncExitStack() as stack:
            one, two = [await stack.enter_async_context(client_of(each)) for each in made]
            # Each gateway has a process of its own, which counts its calls: the number tells whose.
            assert await call(one, "docs__look", at="a") == "a 1"
            assert await call(two, "docs__look", at="a") == "a 1"
            assert await call(two, "docs__look", at="b") == "b 1"
            await call(two, "docs__write")
            assert await call(one, "docs__look", at="a") == "a 2"
            assert [await call(each, "new__echo", text="x") for each in (one, two)] == ["x", "x"]
            paying = asyncio.create_task(call(one, "new__echo", text="pay"))
            await until(lambda: paying.done() or desk.waiting())
            [ticket] = desk.waiting()
            await asyncio.to_thread(desk.decide, ticket.approve(), "ada")
            assert await paying == "pay"
            assert "limit of 3 calls" in await call(two, "new__echo", text="x")
            asking = asyncio.create_task(call(two, "new__ask"))
            await until(desk.waiting)
            [ticket] = desk.waiting()
            assert "text of strangers (docs__look)" in ticket.reason
            await asyncio.to_thread(desk.decide, ticket.deny("no"), "ada")
            assert "not approved: no" in await asking

    run(use, 200)
