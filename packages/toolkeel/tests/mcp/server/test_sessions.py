"""What sessions and listeners are told of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.server.connection import Connection
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated, ToolsListChanged
from pydantic import BaseModel

from tests.mcp.serving import deprecations, talk
from tests.waiting import run, until
from toolkeel import Toolset, tool
from toolkeel.mcp.server import sessions
from toolkeel.mcp.server.prompts_resources import resource
from toolkeel.mcp.server.tool_server import ToolServer

pytestmark = deprecations


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool
def find(name: str, people: int = 1) -> City:
    """Find a city."""
    return City(name=name, people=people)


@pytest.mark.parametrize("what", ["tools", "resources"])
def test_clients_of_both_eras_are_told_of_changes(what: str) -> None:
    server = ToolServer([echo], resources=[])

    @resource("app://a")
    def a() -> str:
        """A."""
        return "a"

    change: Callable[[], Awaitable[None]] = (
        (lambda: server.update(Toolset([find])))
        if what == "tools"
        else (lambda: server.update(resources=[a]))
    )
    heard: list[str] = []

    async def note(message: Any) -> None:
        heard.append(getattr(message, "method", ""))

    async def legacy(peer: Peer) -> None:
        await until(lambda: server._sessions.open_counts() == {"": 1})
        await peer.list_tools()
        await change()
        await until(lambda: f"notifications/{what}/list_changed" in heard)

    async def modern(peer: Peer) -> str:
        wanted: dict[str, Any] = {f"{what}_list_changed": True}
        async with peer.listen(**wanted) as subscription:
            assert server._sessions.open_counts()[""] >= 1
            await change()
            return type(await anext(aiter(subscription))).__name__

    talk(server, legacy, "legacy", message_handler=note)
    assert talk(server, modern).lower().startswith(what)


def test_clients_that_watch_a_resource_are_told_and_others_are_not() -> None:
    @resource("app://static")
    def static() -> str:
        """A text."""
        return "a"

    made = ToolServer([], resources=[static])
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(str(getattr(message, "params", None) and message.params.uri))

    async def legacy(peer: Peer) -> None:
        await peer.subscribe_resource("app://static")
        await peer.subscribe_resource("app://binary")
        await peer.unsubscribe_resource("app://binary")
        await made.resource_updated("app://binary")
        await made.resource_updated("app://static")
        await until(lambda: heard)

    async def modern(peer: Peer) -> str:
        async with peer.listen(resource_subscriptions=["app://static"]) as subscription:
            await made.resource_updated("app://binary")
            await made.resource_updated("app://static")
            event: Any = await anext(aiter(subscription))
            return str(event.uri)

    talk(made, legacy, "legacy", message_handler=hear)
    assert heard == ["app://static"]
    assert talk(made, modern) == "app://static"


def test_a_client_watches_no_more_addresses_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "MAX_SUBSCRIPTIONS", 3)
    server = ToolServer([echo], resources=[])

    async def legacy(peer: Peer) -> None:
        for n in (0, 1, 2, 2, 0):
            await peer.subscribe_resource(f"app://{n}")
        with pytest.raises(MCPError, match="at most 3"):
            await peer.subscribe_resource("app://3")

    async def modern(peer: Peer) -> None:
        with pytest.raises(MCPError, match="at most 3"):
            async with peer.listen(resource_subscriptions=[f"app://{n}" for n in range(4)]):
                pass

    talk(server, legacy, "legacy")
    talk(server, modern)


class Line:
    """The way to a client, which takes what is sent as long as the client reads."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.took: list[str] = []

    async def notify(self, method: str, params: Any, opts: Any = None) -> None:
        await self.reads.wait()
        self.took.append((params or {}).get("uri", method))

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> Any:
        raise AssertionError("nothing is asked")


def test_a_client_that_does_not_read_holds_up_no_other_and_is_told_all_of_it_later() -> None:
    told = sessions.Sessions()
    lines = [Line(), Line()]

    async def use() -> None:
        lines[1].reads.set()
        connections = [Connection.for_loop(line) for line in lines]
        for each in connections:
            asked = SimpleNamespace(session=SimpleNamespace(_connection=each), request=None)
            request: Any = asked
            for uri in ("app://a", "app://b"):
                await told.subscribe(request, types.SubscribeRequestParams(uri=uri))
        for _ in range(200):
            for uri in ("app://a", "app://b"):
                await told.notify(ResourceUpdated(uri))
        await until(lambda: len(lines[1].took) == 400)
        assert not lines[0].took
        lines[0].reads.set()
        await until(lambda: set(lines[0].took) == {"app://a", "app://b"})
        await told.notify(ToolsListChanged())

    run(use)
    assert lines[0].took[-1] == lines[1].took[-1] == "notifications/tools/list_changed"
    assert len(lines[0].took) == 4, "each change once more after the one on its way"
