"""An application that serves on loopback, in the loop of the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn
from starlette.types import ASGIApp

from tests.shared import node_command


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve an application; yield a client whose addresses begin at its root."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  # it sends no event
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        await running


async def chunks_of(response: httpx2.Response) -> list[dict[str, Any]]:
    """Read the chunks of a stream of server-sent events, up to its end."""
    await response.aread()
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


async def run_node(script: str, *arguments: str) -> list[Any]:
    """Run a script of a real client under node; return the JSON of each line that it prints."""
    node = node_command("ai/package.json")[0]
    process = await asyncio.create_subprocess_exec(node, script, *arguments, stdout=-1, stderr=-1)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.decode().split("\n") if line]
