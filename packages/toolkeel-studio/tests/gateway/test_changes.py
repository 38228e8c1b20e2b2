"""What changes while a gateway serves: its rules, and from which level on servers tell what they log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import client_of, config
from tests.gateway.test_gateway import text
from tests.waiting import run, until
from tests.warm import WARM
from toolkeel import Rules, SetupError
from toolkeel._records.tickets import Ticket
from toolkeel_studio.gateway import changes
from toolkeel_studio.gateway.changes import ChangeRelay
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Limit, Policy

LEVELLED = """
import json, sys

level = "none"
for line in sys.stdin:
    said = json.loads(line)
    method, result = said["method"], {}
    if method == "initialize":
        has = {"tools": {}, "logging": {}}
        about = {"name": "levelled", "version": "0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": about}
    elif method == "tools/list":
        schema = {"type": "object"}
        result = {"tools": [{"name": name, "inputSchema": schema} for name in ("level", "die")]}
    elif method == "logging/setLevel":
        level = said["params"]["level"]
    elif method == "tools/call":
        if said["params"]["name"] == "die":
            sys.exit()
        result = {"content": [{"type": "text", "text": level}]}
    elif method == "server/discover":
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}), flush=True)
        continue
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""
LEVELLED_SERVER = [*WARM, "-c", LEVELLED]


async def want(client: Client, level: str) -> None:
    await client.session._dispatcher.send_raw_request("logging/setLevel", {"level": level}, {})


def test_a_server_tells_from_the_lowest_level_on_that_any_client_wants_also_started_again() -> None:
    gateway = Gateway([config("far", LEVELLED_SERVER)])

    async def use() -> list[str]:
        said: list[str] = []
        async with client_of(gateway, "legacy") as ada, client_of(gateway, "legacy") as bo:

            async def level() -> None:
                said.append(text(await ada.call_tool("far__level", {})))

            await ada.list_tools()
            await level()
            await want(ada, "debug")
            await want(bo, "error")
            await level()
            await ada.call_tool("far__die", {})
            await level()
            await want(ada, "warning")
            await level()
        return said

    assert asyncio.run(use()) == ["none", "debug", "debug", "warning"]


def test_a_client_with_a_process_of_its_own_has_the_level_there_too() -> None:
    gateway = Gateway([config("far", LEVELLED_SERVER)])

    async def use() -> list[str]:
        async with client_of(gateway, "legacy") as ada, client_of(gateway, "legacy") as bo:
            await want(ada, "notice")
            for client in (ada, bo):
                await client.call_tool("far__level", {})
            gateway.servers["far"].has_own_connections = True
            return [text(await each.call_tool("far__level", {})) for each in (ada, bo)]

    assert asyncio.run(use()) == ["notice", "notice"]


def test_other_rules_hold_from_the_next_call_on_and_clients_stay() -> None:
    gateway = Gateway([config("new")], Policy(limits=[Limit("new__echo", 1, 60.0)]))
    word: dict[str, Any] = {"text": "x"}

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            said = [text(await client.call_tool("new__echo", word)) for _ in range(2)]
            await gateway.set_policy(Policy(Rules(deny=["new__ask"])))
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "new__echo" in names and "new__ask" not in names
            said.append(text(await client.call_tool("new__echo", word)))
            with pytest.raises(SetupError, match="new start"):
                await gateway.set_policy(Policy(clients={"ada": Rules()}, tokens={"ada": b""}))
            return said

    first, second, third = asyncio.run(use())
    assert (first, third) == ("x", "x") and "limit of 1 calls" in second


def test_what_other_rules_deny_is_not_sent_though_somebody_has_approved_it() -> None:
    async def approve(ticket: Ticket) -> bool:
        gateway.policy.replace_with(Policy(Rules(deny=["new__echo"])))
        return True

    gateway = Gateway([config("new")], Policy(Rules(ask=["new__echo"])), approver=approve)

    async def use() -> str:
        async with client_of(gateway) as client:
            return text(await client.call_tool("new__echo", {"text": "x"}))

    assert "does not allow" in asyncio.run(use())


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_clients_are_told_of_lists_that_are_others_now_and_of_no_more() -> None:
    gateway = Gateway([config("new")], threshold=100)
    heard: list[str] = []

    async def note(message: Any) -> None:
        heard.append(getattr(message, "method", ""))

    async def use() -> None:
        async with client_of(gateway, "legacy", message_handler=note) as client:
            await client.list_tools()
            await client.call_tool("search_tools", {"query": "again"})  # it lists all there are
            for _ in range(3):  # the first changes a description, the others say so and do not
                known = gateway.servers["new"].link.open_count, gateway._table
                await client.call_tool("new__change", {})
                await until(lambda known=known: gateway._table is not known[1])
                await until(lambda: not gateway._changes._stale)
            await gateway.set_policy(Policy(Rules(deny=["new__pid"])))
            await gateway.set_policy(Policy(Rules(deny=["new__pid"])))
            await until(lambda: len(heard) >= 2)

    run(use)
    assert heard == ["notifications/tools/list_changed"] * 2


async def _nothing(_: object) -> None:
    """Nobody is told."""


def test_a_server_that_changes_its_lists_without_end_is_asked_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changes, "MIN_REFRESH_SECONDS", 0.02)
    times: list[float] = []

    async def use() -> None:
        async def renew(server: object) -> None:
            times.append(time.monotonic())
            if len(times) < 5:
                for _ in range(100):
                    made.invalidate_lists(
                        None
                    )  # also what is said while it is asked: that is not lost

        made = ChangeRelay(renew, _nothing, asyncio.ensure_future, set)
        made.invalidate_lists(None)
        await until(lambda: len(times) == 5)

    run(use)
    assert times[-1] - times[0] >= 0.5  # 2, 4, 8 and 16 times as long


class Watching:
    """Changes of one server, all of whose addresses exist, and who is told there."""

    def __init__(self, told: Callable[[str], Any]) -> None:
        self.listeners: dict[str, Any] = {}
        self.in_sessions: set[str] = set()
        server = SimpleNamespace(link=SimpleNamespace(watches=self))
        self._table: Any = SimpleNamespace(
            resource=lambda uri: SimpleNamespace(server=server, name=uri)
        )
        self.changes = ChangeRelay(_nothing, told, asyncio.ensure_future, lambda: self.in_sessions)

    async def add(self, uris: list[str], tell: Any) -> None:
        self.listeners[uris[0]] = tell

    async def remove(self, uris: list[str], tell: Any) -> None:
        assert self.listeners.pop(uris[0]) is tell

    def stream(self, *uris: str) -> AbstractAsyncContextManager[None]:
        params = {"notifications": {"resourceSubscriptions": list(uris)}}
        return self.changes.watch_during(self._table, params)

    async def session(self, uri: str) -> None:
        async with self.changes.watch_during(self._table, {"uri": uri}):
            self.in_sessions.add(uri)

    async def change(self, uri: str) -> None:
        self.listeners[uri](uri)
        await asyncio.sleep(0)


def test_a_change_that_could_not_be_told_does_not_silence_the_next() -> None:
    async def use() -> list[str]:
        told: list[str] = []

        async def tell(uri: str) -> None:
            told.append(uri)
            if len(told) == 1:
                raise ConnectionError

        watching = Watching(tell)
        await watching.session("app://log")
        for _ in range(2):
            await watching.change("app://log")
            await until(lambda: not watching.changes._pending_updates)
        return told

    assert run(use) == ["app://log"] * 2


def test_a_thousand_changes_of_a_resource_are_told_as_two_while_a_client_is_slow() -> None:
    async def use() -> list[str]:
        told: list[str] = []
        gate = asyncio.Event()

        async def tell(uri: str) -> None:
            told.append(uri)
            await gate.wait()

        watching = Watching(tell)
        await watching.session("app://log")
        for _ in range(1000):
            await watching.change("app://log")
        gate.set()
        await until(lambda: not watching.changes._pending_updates)
        await watching.change("app://log")
        await until(lambda: not watching.changes._pending_updates)
        return told

    assert run(use) == ["app://log"] * 3


def test_clients_watch_no_more_addresses_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changes, "MAX_WATCHED", 5)

    async def use() -> list[str]:
        watching = Watching(_nothing)
        for n in range(9):
            try:
                await watching.session(f"a:{n}")
            except MCPError as error:
                assert "too many" in error.message
        return sorted(watching.listeners)

    assert run(use) == [f"a:{n}" for n in range(5)]


def test_there_is_room_again_once_sessions_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_WATCHED", 5)

    async def use() -> list[str]:
        watching = Watching(_nothing)
        for n in range(50):
            watching.in_sessions.discard(f"a:{n - 2}")
            await watching.session(f"a:{n}")
        await watching.changes.unwatch_unused()
        return sorted(watching.listeners)

    assert run(use) == ["a:48", "a:49"]


def test_what_is_watched_again_while_servers_are_told_stays_watched() -> None:
    async def use() -> list[str]:
        watching = Watching(_nothing)
        for n in range(9):
            await watching.session(f"a:{n}")
        await asyncio.sleep(0.01)  # what each began has ended
        watching.in_sessions.clear()
        slow = watching.remove

        async def remove(uris: list[str], tell: Any) -> None:
            await asyncio.sleep(0.01)
            if watching.listeners[uris[0]] is tell:
                await slow(uris, tell)

        watching.remove = remove  # type: ignore[method-assign]
        forgetting = [asyncio.ensure_future(watching.changes.unwatch_unused()) for _ in range(3)]
        await asyncio.sleep(0)
        for n in range(9):
            await watching.session(f"a:{n}")
        await asyncio.gather(*forgetting)
        return sorted(watching.listeners)

    assert run(use) == [f"a:{n}" for n in range(9)]


def test_a_server_is_told_when_the_last_client_that_watched_has_gone() -> None:
    async def use() -> list[set[str]]:
        watching, seen = Watching(_nothing), []
        await watching.session("a:1")
        async with watching.stream("a:1", "a:2"):
            async with watching.stream("a:2", "a:3"):
                seen.append(set(watching.listeners))
            await until(lambda: "a:3" not in watching.listeners)
            watching.in_sessions.clear()
            await watching.changes.unwatch_unused()
            seen.append(set(watching.listeners))
        await until(lambda: not watching.listeners)
        return seen

    assert run(use) == [{"a:1", "a:2", "a:3"}, {"a:1", "a:2"}]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": ["x"]}),
        ("tools/call", {"name": {}}),
        ("tools/call", {"name": None}),
        ("tools/call", {"name": "far__level", "arguments": "abc"}),
        ("subscriptions/listen", {"notifications": 5}),
        ("subscriptions/listen", {"notifications": [1]}),
        ("resources/subscribe", {"uri": [1]}),
    ],
)
def test_a_request_of_the_wrong_kinds_is_told_so(
    era: str, method: str, params: dict[str, object]
) -> None:
    gateway = Gateway([config("far", LEVELLED_SERVER)])

    async def use() -> int:
        async with client_of(gateway, era) as client:
            data = {"method": method, "params": dict(params)}
            client.session._stamp(data, {})  # type: ignore[typeddict-item]
            with pytest.raises(MCPError) as told:
                await client.session._dispatcher.send_raw_request(method, data["params"], {})
            return told.value.error.code

    there = (era == "legacy") == method.startswith("resources") or method == "tools/call"
    assert run(use) == (-32602 if there else -32601)
