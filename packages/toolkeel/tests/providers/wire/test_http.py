"""Clients per event loop, and options that do not exist."""

from __future__ import annotations

import asyncio
import gc

import pytest

from toolkeel.errors import SetupError
from toolkeel.providers.wire.http import ClientPerLoop, check_options


class Client:
    """Knows whether it was closed, and on which loop."""

    def __init__(self) -> None:
        self.closed_on: object = None

    async def close(self) -> None:
        self.closed_on = asyncio.get_running_loop()


def test_each_event_loop_has_one_client() -> None:
    clients = ClientPerLoop(Client)

    async def two() -> tuple[Client, Client]:
        return clients.get(), clients.get()

    first, again = asyncio.run(two())
    other, _ = asyncio.run(two())
    assert first is again is clients.first
    assert other is not first


def test_closing_closes_the_running_loops_client() -> None:
    clients = ClientPerLoop(Client)

    async def run() -> None:
        client = clients.get()
        await clients.close()
        assert client.closed_on is asyncio.get_running_loop()
        await clients.close()
        assert clients.get() is not client

    asyncio.run(run())


def test_a_client_of_the_programs_own_is_used_everywhere_and_left_open() -> None:
    own = Client()
    clients = ClientPerLoop(Client, own)

    async def run() -> None:
        assert clients.get() is own
        await clients.close()

    for _ in range(2):
        asyncio.run(run())
    assert own.closed_on is None


def test_clients_are_closed_when_nobody_holds_them_any_more() -> None:
    async def run() -> None:
        clients = ClientPerLoop(Client)
        client = clients.get()
        del clients
        gc.collect()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert client.closed_on is asyncio.get_running_loop()

    asyncio.run(run())


def test_an_option_that_does_not_exist_is_named_with_those_that_do() -> None:
    check_options("M", {"a": 1}, {"a": "int", "b": "bool"})
    with pytest.raises(SetupError, match="M: no option c, d; there are a, b"):
        check_options("M", {"d": 1, "c": 1}, {"a": "int", "b": "bool"})
    with pytest.raises(SetupError, match=r"M\(b=...\): expected True or False, got 'no'"):
        check_options("M", {"b": "no"}, {"a": "int", "b": "bool"})
