"""A server on loopback that says exactly what a test wants, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


def answer(
    body: bytes | str,
    *,
    status: int = 200,
    kind: str = "application/json",
    headers: Sequence[str] = (),
    length: int | None = None,
) -> bytes:
    """One HTTP answer; a `length` beyond the body's makes it break off."""
    data = body.encode() if isinstance(body, str) else body
    size = len(data) if length is None else length
    head = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {size}", *headers]
    return "\r\n".join([*head, "connection: close", "", ""]).encode() + data


def events(*chunks: Json | str, done: bool = True, length: int | None = None) -> bytes:
    """A streamed answer."""
    lines = [c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in chunks]
    text = "".join(f"data: {line}\n\n" for line in [*lines, *["[DONE]"] * done])
    return answer(text, kind="text/event-stream", length=length)


def chunk(finish: str | None = None, **delta: Any) -> Json:
    """One chunk of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


@dataclass
class Loopback:
    """A running server.

    Args:
        url: Its base URL.
        requests: The bodies it got, with the method and path under ``""``.
        closed: How many clients hung up before the answer was over.
        left: What it will say, the last one for ever.
    """

    url: str
    requests: list[Json] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    left: list[bytes] = field(default_factory=list)


HANG = b"HANG"
"""In place of the rest of an answer: say nothing more until the client hangs up."""


@contextlib.contextmanager
def saying(*answers: bytes) -> Iterator[Loopback]:
    """Serve `answers` one after another, the last one for ever."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    here = Loopback("", left=list(answers))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next(
            int(line.split(":")[1])
            for line in head.splitlines()
            if line.lower().startswith("content-length")
        )
        body = json.loads(await reader.readexactly(size))
        here.requests.append({"": head.splitlines()[0], "head": head, **body})
        said = here.left.pop(0) if len(here.left) > 1 else here.left[0]
        try:
            writer.write(said.removesuffix(HANG))
            await writer.drain()
            if said.endswith(HANG):
                await reader.read()
                here.closed.set()
        finally:  # the test may be over before this is
            writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(5)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield here
    finally:

        async def stop() -> None:
            server.close()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()
