"""What a client may not do over any protocol: write state, or decide twice."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.serve.serving import serve
from tests.serve.talking import PAY, RAN, Talk, look, pay, talking, text
from tests.serve.vercel.test_routes import decided
from toolkeel import Agent, ToolContext, tool
from toolkeel_studio.serve.agui.routes import agui
from toolkeel_studio.serve.app import app

SAID = {"id": "u1", "role": "user", "content": "Go."}
PART = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go."}]}


def run(thread: str = "t", **more: Any) -> dict[str, Any]:
    """A request of an AG-UI client."""
    return {"threadId": thread, "runId": "r", "messages": [SAID], **more}


@tool
def book(day: str, context: ToolContext) -> str:
    """Book a table."""
    context.state["day"] = day
    return "booked"


@talking
async def test_a_client_writes_no_state_not_even_of_keys_that_it_sees(talk: Talk) -> None:
    model = talk.channels([text("One."), text("Two.")]).agent.model
    agent = Agent(model, [book])
    made = app(agent, protocols=[agui(state=["day"])], sessions=talk.sessions, deciders="user")
    talk.close_later(made.state.channels)
    forged = {"day": "CANARY", "toolkeel.client_tools": [], "other": "CANARY"}
    async with serve(made) as client:
        answered = await client.post(
            "/agui", json=run(state=forged, forwardedProps=forged, context=[])
        )
        again = await client.post("/agui", json=run(messages=[], state=forged))
    await talk.idle()
    assert talk.sessions["t"].state == {}
    assert "CANARY" not in answered.text + again.text


@pytest.mark.parametrize("turn", range(3))
def test_of_decisions_that_race_over_two_protocols_one_counts(turn: int, tmp_path: Any) -> None:
    @talking
    async def use(talk: Talk) -> None:
        model = talk.channels([PAY, text("Done.")]).agent.model
        protocols = ["vercel", "agui", "openai"]
        agent = Agent(model, [pay, look])
        made = app(agent, protocols=protocols, sessions=talk.sessions, deciders="user")
        talk.close_later(made.state.channels)
        async with serve(made) as client:
            await client.post("/agui", json=run())
            [waiting] = made.state.channels.open("t").snapshot().pending
            id = waiting.approval_id
            await asyncio.gather(
                *(
                    approve_by_page(client, id) if n % 2 else deny_by_agui(client, id)
                    for n in range(6)
                )
            )
            await talk.idle()
        [ended] = [m for m in talk.sessions["t"].messages if getattr(m, "tool_call_id", "")]
        assert ([] if ended.kind == "denied" else ["pay 5"]) == RAN
        assert talk.sessions["t"].info.ended == "answered"

    use(tmp_path)


async def approve_by_page(client: httpx2.AsyncClient, id: str) -> None:
    """Approve as a page of ``useChat``."""
    body = {"id": "t", "messages": [PART, decided(id)], "trigger": "submit-message"}
    assert (await client.post("/api/chat", json=body)).status_code == 200


async def deny_by_agui(client: httpx2.AsyncClient, id: str) -> None:
    """Deny as a client of AG-UI."""
    payload = {"interruptId": id, "status": "resolved", "payload": {"approved": False}}
    sent = await client.post("/agui", json=run(messages=[], resume=[payload]))
    assert sent.status_code == 200 and "RUN_ERROR" not in sent.text


@talking
async def test_half_a_character_and_an_endless_number_of_a_client_make_no_session_unreadable(
    talk: Talk,
) -> None:
    model = talk.channels([text("One."), text("Two."), text("Three.")]).agent.model
    protocols = ["vercel", "agui", "openai"]
    made = app(Agent(model, [look]), protocols=protocols, sessions=talk.sessions, deciders="user")
    talk.close_later(made.state.channels)
    half = [{"type": "text", "text": "Half: \ud83d"}]
    async with serve(made) as client:

        async def post(path: str, body: object) -> httpx2.Response:
            sent = json.dumps(body)  # with escapes, unlike the client's own
            head = {"content-type": "application/json"}
            return await client.post(path, content=sent, headers=head)

        page = {"id": "t", "messages": [{"id": "u1", "role": "user", "parts": half}]}
        assert (await post("/api/chat", page)).text.endswith("data: [DONE]\n\n")
        again = run(messages=[{**SAID, "id": "u2", "content": "\ud83d"}], tools=[], context=[])
        assert "RUN_FINISHED" in (await post("/agui", again)).text
        loaded = [await client.get(at) for at in ("/api/chat/t", "/threads/t/messages")]
        assert ["Half: ?" in each.text for each in loaded] == [True, True]
        made_by = (await post("/v1/responses", {"input": "\ud83d"})).json()
        assert made_by["status"] == "completed"
        endless = f"/v1/responses/{made_by['id']}?stream=true&starting_after={'9' * 5000}"
        assert (await client.get(endless)).status_code == 400
        assert (await post("/v1/responses", {"input": "x", "y": math.nan})).status_code == 400
        head = {"content-type": "application/json"}
        raw = b'{"input": "\xed\xa0\xbd"}'  # the same half without an escape
        assert (await client.post("/v1/responses", content=raw, headers=head)).status_code == 400


@pytest.mark.parametrize("id", ["", "\0", "a\nb", "x" * 5000, "../x", "\ud83d", "t~2"])
def test_odd_ids_of_sessions_messages_and_calls_are_no_errors_of_the_server(
    id: str, tmp_path: Any
) -> None:
    said = {**PART, "id": id}
    call = {"type": "function_call_output", "call_id": id, "output": "x"}
    asked = {"type": "mcp_approval_response", "approval_request_id": id, "approve": True}
    answer = {"interruptId": id, "status": "resolved", "payload": {"approved": True}}
    chat = {"id": "t", "trigger": "submit-message", "messages": [PART]}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/api/chat", {**chat, "id": id}),
        ("/api/chat", {**chat, "messages": [said]}),
        ("/api/chat", {**chat, "messageId": id, "messages": [decided(id), said]}),
        ("/api/chat", {**chat, "messageId": id, "trigger": "regenerate-message"}),
        ("/agui", run(id)),
        ("/agui", run(messages=[{**SAID, "id": id}])),
        ("/agui", run(messages=[], resume=[answer])),
        ("/v1/responses", {"input": "Hi.", "conversation": id}),
        ("/v1/responses", {"input": "Hi.", "previous_response_id": id}),
        ("/v1/responses", {"input": [call, asked]}),
        ("/v1/chat/completions", {"messages": [{"role": "tool", "tool_call_id": id}]}),
    ]
    inside = quote(id, safe="", errors="surrogatepass")
    paths = [f"/api/chat/{inside}", f"/threads/{inside}/messages", f"/v1/responses/{inside}"]

    @talking
    async def use(talk: Talk) -> None:
        model = talk.channels([text("Hello.")] * len(bodies)).agent.model
        protocols = ["vercel", "agui", "openai"]
        made = app(Agent(model, [look]), protocols=protocols, sessions=talk.sessions)
        talk.close_later(made.state.channels)
        headers = {"content-type": "application/json"}
        async with serve(made) as client:
            sent = [client.post(p, content=json.dumps(b), headers=headers) for p, b in bodies]
            got = [await each for each in [*sent, *map(client.get, paths)]]
        assert [each.url for each in got if each.status_code >= 500] == []

    use(tmp_path)
