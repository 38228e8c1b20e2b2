"""Calls of several rounds: states that serve once, for one call, and not for ever."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tests.mcp.serving import deprecations, person, talk, text
from tests.waiting import run, until
from toolkeel import tool
from toolkeel.mcp.server.calling import Client
from toolkeel.mcp.server.multi_round_calls import CallRounds
from toolkeel.mcp.server.tool_server import ToolServer


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


pytestmark = deprecations
runs: list[str] = []


class Name(BaseModel):
    """A form."""

    name: str


@tool
async def greet(client: Client) -> str:
    """Greet whoever is there."""
    runs.append("greet")
    found = await client.elicit("Who are you?", Name, key="who")
    return f"{found.action}: {found.content.name if found.content else '-'}"


def raw(peer: Peer, **fields: Any) -> Any:
    """One round of a call, without the client's own answering."""
    return peer.session.call_tool("greet", {}, allow_input_required=True, **fields)


def test_a_round_that_answers_nothing_is_asked_again_under_a_new_state() -> None:
    async def test(peer: Peer) -> None:
        first = await raw(peer)
        assert isinstance(first, types.InputRequiredResult) and list(first.input_requests) == [
            "who"
        ]
        again = await raw(peer, request_state=first.request_state, input_responses={})
        assert isinstance(again, types.InputRequiredResult)
        assert list(again.input_requests) == ["who"]
        assert again.request_state != first.request_state
        with pytest.raises(MCPError, match="requestState"):  # it served once
            await raw(peer, request_state=first.request_state)
        said = types.ElicitResult(action="accept", content={"name": "a"})
        last = await raw(
            peer, request_state=again.request_state, input_responses={"who": said, "other": said}
        )
        assert text(last) == "accept: a"

    runs.clear()
    talk(ToolServer([greet]), test, **person(action="cancel"))
    assert runs == ["greet"]


def test_a_state_is_good_for_its_own_call_alone() -> None:
    other = tool("other", description="Other.")(greet.function)

    async def test(peer: Peer) -> None:
        first = await raw(peer)
        for state in ("x", first.request_state + "x"):
            with pytest.raises(MCPError, match="requestState"):
                await raw(peer, request_state=state)
        with pytest.raises(MCPError, match="requestState"):
            await peer.session.call_tool(
                "other", {}, allow_input_required=True, request_state=first.request_state
            )

    talk(ToolServer([greet, other]), test, **person(action="cancel"))


def test_calls_that_wait_are_bounded_in_number_and_time() -> None:
    server = ToolServer([greet])

    async def test(peer: Peer) -> None:
        server._rounds = CallRounds(limit=1)
        first = await raw(peer)
        second = await raw(peer)
        with pytest.raises(MCPError):
            await raw(peer, request_state=first.request_state)
        assert isinstance(
            await raw(peer, request_state=second.request_state), types.InputRequiredResult
        )
        server._rounds = CallRounds(lifetime=0.01)
        third = await raw(peer)
        await until(lambda: not server._rounds._waiting)
        with pytest.raises(MCPError):
            await raw(peer, request_state=third.request_state)

    talk(server, test, **person(action="cancel"))


def test_of_too_many_calls_that_wait_one_of_the_same_client_is_given_up() -> None:
    async def use() -> list[list[bool]]:
        rounds, waits = CallRounds(limit=3), []
        exchanges = {}
        for client in ("bo", "ada", "ada", "ada", "ada"):
            task = asyncio.ensure_future(asyncio.Event().wait())
            exchange: Any = SimpleNamespace(task=task)
            exchanges[rounds._suspend(exchange, client)] = task
            await asyncio.sleep(0)
            waits.append([not task.cancelled() for task in exchanges.values()])
        rounds._suspend(SimpleNamespace(task=None), "cy")  # type: ignore[arg-type]
        await asyncio.sleep(0)
        waits.append([not task.cancelled() for task in exchanges.values()])
        rounds.close()
        return waits[-3:]

    assert run(use) == [[True, False, True, True], [True, False, False, True, True],
                        [False, False, False, True, True]]  # fmt: skip


def test_a_client_that_gives_up_in_a_later_round_stops_the_body() -> None:
    stopped: list[str] = []

    @tool("greet", timeout=None)
    async def slow(client: Client) -> str:
        """Ask, then work."""
        await client.elicit("Who?", Name, key="who")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("yes")
            raise
        return "never"

    async def test(peer: Peer) -> None:
        first = await raw(peer)
        said = types.ElicitResult(action="accept", content={"name": "a"})
        with pytest.raises(MCPError):
            await raw(
                peer,
                request_state=first.request_state,
                input_responses={"who": said},
                read_timeout_seconds=0.2,
            )
        await until(lambda: stopped)

    talk(ToolServer([slow]), test, **person(action="cancel"))
