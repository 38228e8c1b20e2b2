"""A stream behind a web server with its defaults stays open while a tool takes long."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from tests.mcp.peers import free_port
from tests.serve.serving import serve
from tests.serve.talking import Talk, calls, talking, text
from tests.serve.vercel.test_routes import message
from tests.shared import cannot_run
from toolkeel import Agent, tool
from toolkeel_studio.serve.app import app
from toolkeel_studio.serve.service import HEARTBEAT_SECONDS

SECONDS = 90
"""A tool takes longer than the 60 seconds after which nginx gives a silent server up."""
CONFIG = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy;
  fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {behind}; }} }}
}}
"""


@tool(timeout=2 * SECONDS)
async def work() -> str:
    """Work for long."""
    await asyncio.sleep(SECONDS)
    return "worked"


@asynccontextmanager
async def nginx(behind: httpx2.URL, folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """Start nginx before a server; yield a client of it."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        cannot_run("there is no nginx")
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(port=port, behind=str(behind).rstrip("/")), "utf-8")
    server = await asyncio.create_subprocess_exec(program, "-p", str(folder), "-c", str(config))
    try:
        base = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=base, timeout=2 * SECONDS) as client:
            for _ in range(200):
                try:
                    await client.get("/")
                    break
                except httpx2.ConnectError:
                    await asyncio.sleep(0.05)
            yield client
    finally:
        server.terminate()
        await server.wait()


@pytest.mark.slow
@pytest.mark.timeout(4 * SECONDS)
@partial(talking, seconds=4 * SECONDS)
async def test_a_tool_that_takes_long_keeps_its_stream_open(talk: Talk) -> None:
    model = talk.channels([calls(("c1", "work", "{}")), text("Done.")]).agent.model
    made = app(Agent(model, [work]), sessions=talk.sessions, deciders="user")
    talk.close_later(made.state.channels)
    folder = Path(talk.sessions.path).parent
    async with serve(made) as direct, nginx(direct.base_url, folder) as client:
        times, received = [time.monotonic()], b""
        body = {"id": "t", "trigger": "submit-message", "messages": [message("u1", "Work.")]}
        async with client.stream("POST", "/api/chat", json=body) as response:
            async for piece in response.aiter_raw():
                times.append(time.monotonic())
                received += piece
    gaps = [after - before for before, after in pairwise(times)]
    assert b"worked" in received and received.endswith(b"data: [DONE]\n\n")
    assert max(gaps) < 2 * HEARTBEAT_SECONDS and received.count(b": still here") >= 5
