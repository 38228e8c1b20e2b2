"""Calls over stdio that pass the gateway as JSON: the same answers as by the SDK's session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.mcp.peers import OLD_PEER, PEER
from tests.waiting import run, until
from tests.warm import WARM
from toolkeel_studio.gateway.raw_calls import RawCalls, _line

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
PROGRAM = """
import asyncio, sys, json
from toolkeel import Rules
from toolkeel.mcp.config import ServerConfig
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Limit, Policy
from toolkeel_studio.gateway.raw_calls import RawCalls
from toolkeel.mcp.server.stdio import claim_stdout, serve_stdio

claim_stdout()
taken = [0]
takes = RawCalls.handle_line


def counted(self, line, send):
    found = takes(self, line, send)
    taken[0] += found
    return found


RawCalls.handle_line = counted
new, old = json.loads(sys.argv[1])
policy = Policy(Rules(deny=["*__fail"], ask=["*__hidden"]))
servers = [ServerConfig("new", command=tuple(new)), ServerConfig("old", command=tuple(old))]
asyncio.run(serve_stdio(Gateway(servers, policy)))
open(sys.argv[2], "w").write(str(taken[0]))
"""


@asynccontextmanager
async def behind(folder: Path, era: str, **options: Any) -> AsyncIterator[Client]:
    """A client of the SDK, and a gateway that is a process of its own."""
    words = ["-c", PROGRAM, json.dumps([list(PEER), list(OLD_PEER)]), str(folder / "taken")]
    started = StdioServerParameters(command=WARM[0], args=[*WARM[1:], *words])
    async with Client(started, mode=era, **options) as client:  # type: ignore[arg-type]
        await client.list_tools()
        yield client


def text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@ERAS
def test_everything_a_call_can_do_passes_as_json(era: str, tmp_path: Path) -> None:
    seen: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def fill(context: Any, params: Any) -> types.ElicitResult:
        asked = "approve" in params.requested_schema.get("properties", {})
        content: Any = {"approve": True} if asked else {"city": "Bonn", "days": 2}
        return types.ElicitResult(action="accept", content=content)

    async def use() -> None:
        async with behind(tmp_path, era, elicitation_callback=fill) as client:
            for server in ("new", "old", "new", "old"):
                echoed = await client.call_tool(f"{server}__echo", {"text": "北京 \U0001f600"})
                assert text(echoed) == "北京 \U0001f600"
                asked = await client.call_tool(f"{server}__ask", {})
                assert text(asked) == "accept {'city': 'Bonn', 'days': 2}"
                seen.clear()
                await client.call_tool(f"{server}__steps", {}, progress_callback=progressed)
                assert seen == [0.0, 1.0, 2.0]
                counted = await client.call_tool(f"{server}__count", {"n": 2})
                assert counted.structured_content == {"n": 2}
                assert text(await client.call_tool(f"{server}__hidden", {})) == "hidden"
                refused = await client.call_tool(f"{server}__fail", {"text": "x"})
                assert refused.is_error and "does not allow" in text(refused)
                with pytest.raises(MCPError, match=r"Did you mean 'new__echo'"):
                    await client.call_tool("new__ecko", {})
            many = [client.call_tool("old__echo", {"text": str(n)}) for n in range(50)]
            assert [text(each) for each in await asyncio.gather(*many)] == list(map(str, range(50)))

    run(use)
    # All but the first call, which opened the way, and what ended in an error before it.
    assert int((tmp_path / "taken").read_text()) > 70


@ERAS
def test_a_cancelled_call_is_cancelled_at_the_server_and_others_go_on(
    era: str, tmp_path: Path
) -> None:
    async def use() -> None:
        async with behind(tmp_path, era) as client:
            assert text(await client.call_tool("new__echo", {"text": "a"})) == "a"
            for server in ("new", "old"):
                with pytest.raises(MCPError, match="timed out"):
                    await client.call_tool(f"{server}__wait", {}, read_timeout_seconds=0.3)
                assert text(await client.call_tool(f"{server}__echo", {"text": "b"})) == "b"

    run(use)
    assert int((tmp_path / "taken").read_text()) >= 6  # two calls, their ends, and what came after


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}',
        b"",
    ],
)
def test_nothing_is_taken_before_the_session_has_agreed_with_its_client(line: bytes) -> None:
    async def send(_: bytes) -> None:
        raise AssertionError("nothing is sent")

    assert not RawCalls([]).handle_line(line, send)


@pytest.mark.parametrize("meta", [[1], "x", 5])
def test_a_call_whose_meta_is_no_object_is_answered_with_an_error(meta: object) -> None:
    session = SimpleNamespace(_connection=SimpleNamespace(protocol_version="2025-11-25"))
    first: Any = SimpleNamespace(
        request=None, params={}, session=session, lifespan_context={}, protocol_version="2025-11-25"
    )
    sent: list[bytes] = []

    async def send(line: bytes) -> None:
        sent.append(line)

    async def use() -> None:
        calls = RawCalls([])
        calls.capture_session(first)
        params = {"name": "x", "_meta": meta}
        line = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert not calls.handle_line(
            json.dumps(line).encode(), send
        )  # the session says what is wrong
        assert not sent

    asyncio.run(use())


def test_half_a_surrogate_pair_in_an_answer_costs_that_character_and_not_the_answer() -> None:
    said = {"content": [{"type": "text", "text": "not now \udc80 猫"}]}
    line = _line({"id": 1, "result": said})
    assert json.loads(line)["result"]["content"][0]["text"] == "not now ? 猫"


def test_a_call_that_is_cancelled_before_it_begins_leaves_nothing_behind() -> None:
    session = SimpleNamespace(_connection=SimpleNamespace(protocol_version="2025-11-25"))
    first: Any = SimpleNamespace(
        request=None, params={}, session=session, lifespan_context={}, protocol_version="2025-11-25"
    )

    async def send(line: bytes) -> None:
        raise AssertionError("nothing is sent")

    def line(method: str, **params: object) -> bytes:
        id = {} if method == "notifications/cancelled" else {"id": 1}
        return json.dumps({"jsonrpc": "2.0", **id, "method": method, "params": params}).encode()

    async def use() -> None:
        calls = RawCalls([])
        calls.capture_session(first)
        assert calls.handle_line(line("tools/call", name="x"), send)
        assert calls.handle_line(line("notifications/cancelled", requestId=1), send)
        await until(lambda: not calls._running)

    run(use)
