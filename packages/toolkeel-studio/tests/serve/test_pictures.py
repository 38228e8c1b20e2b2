"""Pictures that a model or a tool makes reach the clients of every protocol, now and when they load."""

from __future__ import annotations

from typing import Any

from tests.serve.serving import serve
from tests.serve.talking import Talk, talking, text
from toolkeel import Agent, tool
from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel_studio.serve.app import app

PICTURE, DRAWN = Image(b"\x89PNG-reply", "image/png"), Image(b"\x89PNG-drawn", "image/png")
REPLY, RESULT = "iVBORy1yZXBseQ==", "iVBORy1kcmF3bg=="
SAID: dict[str, Any] = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Draw."}]}
LOADED = {"vercel": "/api/chat/t", "agui": "/threads/t/messages"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "vercel": ("/api/chat", {"id": "t", "trigger": "submit-message", "messages": [SAID]}),
    "agui": (
        "/agui",
        {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "u1", "role": "user", "content": "Draw."}],
        },
    ),
    "responses": ("/v1/responses", {"input": "Draw."}),
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Draw."}]}),
}


@tool
def draw() -> list[Text | Image]:
    """Draw something."""
    return [Text("a dot"), DRAWN]


@talking
async def test_pictures_of_replies_and_results_reach_every_client(talk: Talk) -> None:
    reply = AssistantMessage((Text("See: "), PICTURE), (ToolCall("c1", "draw", "{}"),))
    for protocol, (path, body) in REQUESTS.items():
        agent = Agent(talk.channels([reply, text("Done.")]).agent.model, [draw])
        made = app(agent, protocols=["vercel", "agui", "openai"], sessions=talk.sessions)
        talk.close_later(made.state.channels)
        async with serve(made) as client:
            sent = [(await client.post(path, json=body)).text]
            if protocol in LOADED:
                sent.append((await client.get(LOADED[protocol])).text)
        for each in sent:
            assert each.count(REPLY) == 1, protocol
            assert each.count(RESULT) == (protocol != "chat"), protocol  # it shows no calls
        if protocol in LOADED:
            talk.sessions.delete("t")
