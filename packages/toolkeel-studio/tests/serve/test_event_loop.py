"""No request of a front end makes the event loop, and so everybody else, wait for the database."""

from __future__ import annotations

import asyncio
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.serve.serving import chunks_of, serve
from tests.serve.talking import PAY, Talk, look, pay, talking, text
from tests.serve.vercel.test_routes import decided, message
from toolkeel import Agent
from toolkeel.sessions.stores.sqlite import Database
from toolkeel_studio.serve.app import app


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where code of front ends read or wrote the database in the thread of an event loop."""
    places: list[str] = []

    def watch(name: str) -> None:
        original = getattr(Database, name)

        def watched(self: Database, *args: Any, **options: Any) -> Any:
            with suppress(RuntimeError):
                asyncio.get_running_loop()
                found = [
                    f for f in traceback.extract_stack() if "toolkeel_studio/serve" in f.filename
                ]
                places.extend(f"{f.filename.rpartition('/')[2]}:{f.name}" for f in found[-1:])
            return original(self, *args, **options)

        monkeypatch.setattr(Database, name, watched)

    for name in ("read", "write_now"):
        watch(name)
    return places


def test_no_request_blocks_the_event_loop(blocked: list[str], tmp_path: Path) -> None:
    @talking
    async def use(talk: Talk) -> None:
        lines = [PAY, text("Paid."), text("Again."), text("Changed."), PAY, text("Hi."), PAY]
        agent = Agent(talk.channels(lines).agent.model, [pay, look])
        made = app(
            agent, protocols=["vercel", "agui", "openai"], sessions=talk.sessions, deciders="user"
        )
        talk.close_later(made.state.channels)
        async with serve(made) as client:
            say = {"id": "t", "trigger": "submit-message", "messages": [message("u1", "Pay.")]}
            asked = await chunks_of(await client.post("/api/chat", json=say))
            [id] = [c["approvalId"] for c in asked if c["type"] == "tool-approval-request"]
            answered = {**say, "messages": [message("u1", "Pay."), decided(id)]}
            for body in (
                answered,
                answered,
                {"id": "t", "trigger": "regenerate-message", "messages": []},
                {**say, "messageId": "u1", "messages": [message("u1", "Pay more.")]},
            ):
                assert (await client.post("/api/chat", json=body)).status_code == 200
            for path in ("/api/chat/t", "/api/chat/t/stream", "/api/chat/none/stream"):
                assert (await client.get(path)).status_code < 300
            run = {"threadId": "a", "runId": "r", "messages": []}
            for said in ([{"id": "u1", "role": "user", "content": "Pay."}], []):
                assert (
                    "RUN_FINISHED"
                    in (await client.post("/agui", json={**run, "messages": said})).text
                )
            assert (await client.get("/threads/a/messages")).status_code == 200
            first = (await client.post("/v1/responses", json={"input": "Hi."})).json()
            more = {"input": "Pay.", "previous_response_id": first["id"]}
            second = (await client.post("/v1/responses", json=more)).json()
            assert (await client.get(f"/v1/responses/{second['id']}")).status_code == 200
            for path in ("/api/chat/t", "/threads/a", f"/v1/responses/{second['id']}"):
                assert (await client.post(f"{path}/cancel", json={})).status_code == 200
            said = {"messages": [{"role": "user", "content": "Hi."}], "model": "agent"}
            await client.post("/v1/chat/completions", json=said)

    use(tmp_path)
    assert blocked == []
