"""Lines of an editor: what is no message ends nothing."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from toolkeel_studio.serve.acp.lines import Lines

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "x"}
NONE = ["[]", '"x"', "5", "null", "no json", '{"id": [1]}', '{"id": {}}', "[" * 100_000, " "]


async def received(*lines: str, limit: int = 1_000_000, end: str = "\n") -> list[Any]:
    """Return the messages among lines, up to their end."""
    reader = asyncio.StreamReader(limit=limit)
    reader.feed_data(("\n".join(lines) + end).encode())
    reader.feed_eof()
    transport: Any = Lines(reader, None)  # type: ignore[arg-type]  # it is only read
    found = []
    while (message := await transport.receive()) is not None:
        found.append(message)
    return found


@pytest.mark.parametrize("none", NONE, ids=range(len(NONE)))
def test_a_line_that_is_no_message_is_passed_over(none: str) -> None:
    line = json.dumps(MESSAGE)
    assert asyncio.run(received(line, none, line, none)) == [MESSAGE, MESSAGE]


@pytest.mark.parametrize("error", ["no", ["no"], 5, {"code": 1, "message": "no"}])
def test_the_error_of_a_response_is_an_object(error: Any) -> None:
    told = {"jsonrpc": "2.0", "id": 1, "error": error}
    expected = error if isinstance(error, dict) else {"message": str(error)}
    assert asyncio.run(received(json.dumps(told))) == [{**told, "error": expected}]


def test_lines_have_any_length_and_the_last_needs_no_end() -> None:
    long = {**MESSAGE, "params": "界" * 5_000}
    lines = [json.dumps(each, ensure_ascii=False) for each in (long, MESSAGE, long)]
    assert asyncio.run(received(*lines, limit=1_000, end="")) == [long, MESSAGE, long]


def test_messages_that_are_sent_at_once_are_a_line_each() -> None:
    async def talk() -> list[Any]:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        other, closing = await asyncio.open_connection(sock=theirs)
        lines = Lines(reader, writer)
        sending = asyncio.gather(*(lines.send({"id": n, "text": "😀" * 3_000}) for n in range(20)))
        found = [json.loads(await other.readuntil(b"\n"))["id"] for _ in range(20)]
        await sending
        await lines.close()
        for each in (writer, closing):
            each.close()
        return found

    assert sorted(asyncio.run(talk())) == list(range(20))
