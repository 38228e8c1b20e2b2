"""One connection against peers that break every rule, and peers that list without end."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.waiting import run, until
from toolkeel import ToolCall, ToolMessage, Toolset
from toolkeel.mcp.client.connection import Connection, ConnectionOptions
from toolkeel.mcp.client.elicitation import MAX_QUESTIONS
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.mend_responses import Unreachable
from toolkeel.mcp.client.pages import MAX_PAGES
from toolkeel.mcp.config import ServerConfig

HOSTILE = Path(__file__).parents[1] / "hostile.py"


async def storm(server: MCPServer, texts: list[str]) -> list[ToolMessage]:
    tools = Toolset(await server.get_tools())
    calls = [ToolCall(str(n), "say", {"text": text}) for n, text in enumerate(texts)]
    try:
        return await tools.run(calls)
    finally:
        await server.close()


@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 14))]
)
def test_a_hostile_peer_leaves_the_client_alive_and_every_call_answered_once(seed: int) -> None:
    dice = random.Random(seed)
    odd = {"deep": "nested too deeply", "no result": '"done"', "no content": "text"}
    texts = [dice.choice([*odd, "flood", *(f"call {n}" for _ in range(6))]) for n in range(20)]
    server = MCPServer([sys.executable, str(HOSTILE), str(seed)], trust=True, timeout=100)
    messages = asyncio.run(storm(server, texts))
    assert [m.tool_call_id for m in messages] == [str(n) for n in range(20)]
    for text, message in zip(texts, messages, strict=True):
        assert message.kind is None
        assert odd[text] in message.text if text in odd else message.content == text


@pytest.mark.slow
def test_an_answer_without_end_fails_its_call_at_once_and_the_next_call_works() -> None:
    server = MCPServer([sys.executable, str(HOSTILE), "7"], trust=True, timeout=60)
    [giant, after] = asyncio.run(storm(server, ["giant", "after"]))
    assert giant.kind == "unknown_outcome" and "larger than 32 MB" in giant.text
    assert after.content == "after"


def test_who_stops_waiting_for_a_server_does_not_take_it_for_one_of_the_older_form() -> None:
    held, over = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):  # the older form begins so, and hangs
                held.set()
                await over.wait()
            writer.write(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
        finally:
            writer.close()

    async def use() -> bool:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        config = ServerConfig("s", url=f"http://127.0.0.1:{port}/", kind="http")
        link = Connection(ConnectionOptions(config, None, None, 5.0, 5.0))
        waiting = asyncio.ensure_future(link.client())
        await held.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        server.close()
        await link.close()
        over.set()
        return link._sse

    assert asyncio.run(use()) is False


def test_a_server_on_the_network_that_never_answers_is_told_after_the_time_that_was_waited() -> (
    None
):
    asked: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).partition(b" ")[0])
        await reader.read()  # until the client gives up
        writer.close()

    async def use() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        config = ServerConfig("s", url=f"http://127.0.0.1:{port}/", kind="http")
        link = Connection(ConnectionOptions(config, None, None, 5.0, 0.3))
        with pytest.raises(Unreachable, match=r"did not answer within 0\.3 seconds"):
            await link.client()
        await link.close()
        server.close()

    asyncio.run(use())
    assert b"GET" not in asked  # the older form would take as long once more


OLDER = """
import json, sys
results = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "older", "version": "0"}},
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    got = json.loads(line)
    if got["method"] in results:
        said = {"jsonrpc": "2.0", "id": got["id"], "result": results[got["method"]]}
        print(json.dumps(said), flush=True)
    elif "id" in got and sys.argv[1] == "ends":
        sys.exit("expected initialize")
"""


def linked(*command: str, connect_timeout: float = 20.0) -> Connection:
    config = ServerConfig("s", command=(sys.executable, *command))
    return Connection(ConnectionOptions(config, None, None, 20.0, connect_timeout))


async def opened(link: Connection) -> tuple[list[str], str | None]:
    try:
        return list(await link.tools()), link.revision
    finally:
        await link.close()


@pytest.mark.parametrize("at_other_requests", ["ends", "is silent"])
def test_a_server_that_answers_nothing_before_initialize_is_used(
    at_other_requests: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkeel.mcp.client.stdio.PROBE_SECONDS", 0.1)
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 1000.0)
    link = linked("-c", OLDER, at_other_requests)
    assert asyncio.run(opened(link)) == (["act"], "2025-06-18")


def test_a_server_that_starts_slowly_is_used_in_the_newest_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolkeel.mcp.client.stdio.PROBE_SECONDS", 0.0)
    tools, revision = asyncio.run(opened(linked("-m", "toolkeel", "serve", "calculator")))
    assert tools and revision == "2026-07-28"


def test_a_limit_of_requests_that_no_handshake_meets_bounds_only_the_requests_after_it() -> None:
    async def use() -> None:
        config = ServerConfig(
            "s", command=(sys.executable, "-c", OLDER, "is silent"), is_legacy=True
        )
        link = Connection(ConnectionOptions(config, None, None, 0.001, 20.0))
        try:
            client = await link.client()
            with pytest.raises(MCPError) as caught:
                await client.list_prompts()
            assert caught.value.error.code == types.REQUEST_TIMEOUT
        finally:
            await link.close()

    asyncio.run(use())


def test_a_server_that_ends_in_every_form_is_unreachable_and_tried_in_the_newest_again() -> None:
    link = linked("-c", "import sys; sys.exit('no key')")
    with pytest.raises(Unreachable, match="it wrote:\nno key"):
        asyncio.run(opened(link))
    assert not link._legacy


class Endless:
    """A client of a server whose listing never ends."""

    def __init__(self, cursors: list[str] | None) -> None:
        self.asked = 0
        self._cursors = cursors

    async def list_tools(self, *, cursor: str | None) -> types.ListToolsResult:
        self.asked += 1
        tool = types.Tool(name=f"t{self.asked}", input_schema={"type": "object"})
        following = self._cursors[self.asked % len(self._cursors)] if self._cursors else None
        return types.ListToolsResult(tools=[tool], next_cursor=following or f"c{self.asked}")


@pytest.mark.parametrize(("cursors", "pages"), [(None, MAX_PAGES), (["a", "b"], 3)])
def test_a_listing_without_end_is_cut(cursors: list[str] | None, pages: int) -> None:
    link = Connection(
        ConnectionOptions(ServerConfig("s", url="http://x", kind="http"), None, None, 1.0, 1.0)
    )
    client: Any = Endless(cursors)

    async def use() -> dict[str, types.Tool]:
        link._client = client  # as open as a connection is
        link._closed.clear()
        return await link._list_tools()

    found = asyncio.run(use())
    assert client.asked == len(found) == pages


CURIOUS = """
import json, sys
def say(**said):
    print(json.dumps({"jsonrpc": "2.0", **said}), flush=True)
call, said, asked = None, [], int(sys.argv[1])
for line in sys.stdin:
    got = json.loads(line)
    method, id = got.get("method"), got.get("id")
    if method == "initialize":
        info = {"name": "curious", "version": "0"}
        say(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": "act", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        call = id
        for n in range(asked):
            form = {"type": "object", "properties": {}}
            say(id=f"q{n}", method="elicitation/create", params={"message": "?", "requestedSchema": form})
    elif method is None:
        said.append(got["result"]["action"])
        if len(said) == asked:
            told = f"{said.count('accept')} {said.count('cancel')}"
            say(id=call, result={"content": [{"type": "text", "text": told}]})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "no"})
"""


def test_a_server_that_asks_and_asks_has_no_more_questions_wait_than_a_person_can_see() -> None:
    waiting: list[object] = []
    peak = 0

    async def fill(question: object) -> bool:
        nonlocal peak
        waiting.append(question)
        peak = max(peak, len(waiting))
        await until(lambda: len(waiting) == MAX_QUESTIONS or peak == MAX_QUESTIONS)
        await asyncio.sleep(0.01)
        waiting.pop()
        return True

    async def use() -> str:
        curious = MCPServer([sys.executable, "-c", CURIOUS, "500"], trust=True, elicit=fill)
        tools = Toolset(await curious.get_tools())
        [message] = await tools.run([ToolCall("1", "act", {})])
        await curious.close()
        return message.text

    accepted, cancelled = map(int, run(use).split())
    assert peak == MAX_QUESTIONS and accepted + cancelled == 500
