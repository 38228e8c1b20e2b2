"""An application says who may decide, and is mounted in another one."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.serve.serving import chunks_of, serve
from tests.serve.talking import Talk, look, pay, pick, read_until, talking, text
from toolkeel import Agent
from toolkeel.approvals import Rules
from toolkeel.errors import SetupError
from toolkeel.testing import Scripted
from toolkeel_studio.serve.app import NO_LIFESPAN, app


@talking
async def test_an_agent_whose_calls_can_wait_names_who_decides(talk: Talk) -> None:
    inner = Agent(Scripted([]), [pay]).as_tool("ask", "Ask.")
    for tools in ([pay], [inner], [look, pay]):
        with pytest.raises(SetupError, match="deciders"):
            app(Agent(Scripted([]), tools), sessions=talk.sessions)
    ruled = Agent(Scripted([]), [look], rules=Rules(ask=["look"]))
    with pytest.raises(SetupError, match="deciders"):
        app(ruled, sessions=talk.sessions)
    app(Agent(Scripted([]), [look, pick]), sessions=talk.sessions)


@talking
async def test_mistakes_are_told_where_the_application_is_made(talk: Talk) -> None:
    agent = Agent(Scripted([]), [look])
    with pytest.raises(SetupError, match=r"protocol 'smoke'; known are .*vercel"):
        app(agent, protocols=["smoke"], sessions=talk.sessions)
    for origins in ("https://a.example", ["*"]):
        with pytest.raises(SetupError, match="name each origin"):
            app(agent, sessions=talk.sessions, allowed_origins=origins)


@talking
async def test_it_is_mounted_in_another_application(talk: Talk) -> None:
    made = app(Agent(Scripted([text("Hello.")]), [look]), sessions=talk.sessions)
    talk.close_later(made.state.channels)
    outer = Starlette(routes=[Mount("/chat", made)])
    warned: list[str] = []
    monitor = logging.Handler()
    monitor.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("toolkeel").addHandler(monitor)
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    body = {"id": "t", "trigger": "submit-message", "messages": [said]}
    async with serve(outer) as client:
        answered = await client.post("/chat/api/chat", json=body)
        chunks = await chunks_of(answered)
        other = await client.get("/chat/api/chat/t", headers={"host": "evil.example"})
    assert answered.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert answered.headers["cache-control"] == "no-cache, no-transform"
    assert answered.headers["x-accel-buffering"] == "no"
    assert chunks[-1]["type"] == "finish" and other.status_code == 421
    assert warned == [NO_LIFESPAN]
    outer = Starlette(routes=[Mount("/", made)], lifespan=made.router.lifespan_context)
    made.is_told = False
    async with serve(outer) as client:
        await client.get("/api/chat/t")
    logging.getLogger("toolkeel").removeHandler(monitor)
    assert warned == [NO_LIFESPAN]


@talking
async def test_pages_of_named_origins_may_call_and_no_others(talk: Talk) -> None:
    origin = "https://page.example.org"
    made = app(
        Agent(Scripted([]), [look]), sessions=talk.sessions, allowed_origins=[origin], token="t"
    )
    talk.close_later(made.state.channels)
    asks = {"access-control-request-method": "POST"}
    async with serve(made) as client:
        allowed = await client.options("/api/chat", headers={"origin": origin, **asks})
        refused = await client.options(
            "/api/chat", headers={"origin": "https://evil.example", **asks}
        )
    assert allowed.headers["access-control-allow-origin"] == origin
    assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers


@talking
async def test_the_time_for_runs_counts_from_when_the_server_stopped_accepting(talk: Talk) -> None:
    agent = talk.channels([[*text("One, ")[:-1], asyncio.Event()]]).agent
    made = app(agent, sessions=talk.sessions, deciders="user", drain=1000.0)
    channels = made.state.channels
    async with made.router.lifespan_context(made):
        channel = channels.open("t")
        await channel.say("Count.")
        await read_until(channel, "streamed")
        made.stopped = monotonic() - 1001.0
    assert channel.session.writer is None and not channels.active  # it was left
