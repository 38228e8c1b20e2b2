"""A service: sessions, answers as server-sent events, approvals. Put your own login in front.

Its sessions are kept in ``service.db`` in the current folder, so that it can be killed and go on.
"""

import json
from itertools import repeat
from typing import Annotated

from fastapi import Body, FastAPI, HTTPException
from fastapi.responses import StreamingResponse

from toolkeel import Agent, ToolkeelError, ToolMessage, tool
from toolkeel.approvals import Decision
from toolkeel.events import event_dict
from toolkeel.sessions import SessionError, Sessions
from toolkeel.testing import Scripted, call


@tool(approval=lambda arguments: arguments["amount"] > 100)
def transfer(to: str, amount: float) -> str:
    """Transfer money."""
    return f"{amount:.2f} EUR to {to}"


def reply(request):  # a real model in place of it: Agent("openai:gpt-5", [transfer])
    *_, last = request.messages
    asks = call("transfer", {"to": "Zoë", "amount": 500})
    return f"Done: {last.text}" if isinstance(last, ToolMessage) else [asks]


agent = Agent(Scripted(repeat(reply)), [transfer])
sessions = Sessions("service.db")


app = FastAPI()


@app.post("/{user}/chat")
async def chat(user: str, prompt: Annotated[str | None, Body(embed=True)]):  # None: it goes on
    async def events():
        try:
            session = sessions.open("main", scope=user)
            async for event in agent.stream(prompt, session=session):
                yield f"id: {event.seq}\nevent: {event.type}\ndata: {json.dumps(event_dict(event))}\n\n"
        except ToolkeelError as error:
            yield f"event: error\ndata: {json.dumps(str(error))}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def tickets(session):
    return session.pending if session.exists else ()


@app.get("/{user}/waiting")
async def waiting(user: str):  # what waits, and the decisions on it
    asked = tickets(sessions.open("main", scope=user))
    each = [(one, one.approve(), one.deny("A person said no.")) for one in asked]
    return [[part.to_dict() for part in parts] for parts in each]


@app.post("/{user}/waiting", status_code=204)
async def decide(user: str, given: dict):  # one of those decisions
    try:
        first = sessions.open("main", scope=user).decide(Decision.from_dict(given))
    except SessionError as error:  # no such call waits
        raise HTTPException(409, str(error)) from None
    if first is not None:
        raise HTTPException(409, f"{first.who} has decided already")
