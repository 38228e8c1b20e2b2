"""Incoming messages of a connection: bounded, repaired, and their end is noticed."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCResponse

from toolkeel.mcp.client.frames import RateLimiter
from toolkeel.mcp.client.guarded_stream import GuardedStream
from toolkeel.mcp.client.mend_responses import NOT_SENT, PeerErrorData, ResponseRepair


def test_floods_are_cut_answers_repaired_and_the_end_is_noticed_once_it_is_there() -> None:
    async def run() -> tuple[list[SessionMessage | Exception], bool, bool]:
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        ended = asyncio.Event()
        rate = RateLimiter("peer", rate=0.0, burst=1.0)
        guarded = GuardedStream(receive, rate, ended.set, ResponseRepair(lambda: "2025-11-25"))
        noise = JSONRPCNotification(jsonrpc="2.0", method="notifications/message")
        tools = {"tools": [{"name": "a", "inputSchema": {}}, {"inputSchema": {}}]}
        error = ErrorData(code=NOT_SENT, message="looks like the transport's")
        for message in (
            noise,
            noise,
            JSONRPCResponse(jsonrpc="2.0", id=1, result=tools),
            JSONRPCError(jsonrpc="2.0", id=2, error=error),
        ):
            await send.send(SessionMessage(message))
        found = [await guarded.receive() for _ in range(3)]
        before = ended.is_set()
        send.close()
        with pytest.raises(StopAsyncIteration):
            await guarded.receive()
        receive.close()
        return found, before, ended.is_set()

    found, before, after = asyncio.run(run())
    first, second, third = [each.message for each in found if isinstance(each, SessionMessage)]
    assert isinstance(first, JSONRPCNotification)  # and the second one was dropped
    assert isinstance(second, JSONRPCResponse)
    assert [tool["name"] for tool in second.result["tools"]] == ["a"]
    assert isinstance(third, JSONRPCError) and isinstance(third.error.data, PeerErrorData)
    assert (before, after) == (False, True)
