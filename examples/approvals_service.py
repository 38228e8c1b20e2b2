"""A service: sessions, answers as server-sent events, approvals. Put your own login in front."""

import json
from itertools import repeat

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolkeel import Agent, ToolkeelError, ToolMessage, tool
from toolkeel.approvals import Decision
from toolkeel.events import event_dict
from toolkeel.sessions import Sessions
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


async def chat(request):  # {"prompt": "..."} says something, {"prompt": null} goes on
    prompt = (await request.json())["prompt"]

    async def events():
        try:
            session = sessions.open("main", scope=request.path_params["user"])
            async for event in agent.stream(prompt, session=session):
                yield f"id: {event.seq}\nevent: {event.type}\ndata: {json.dumps(event_dict(event))}\n\n"
        except ToolkeelError as error:
            yield f"event: error\ndata: {json.dumps(str(error))}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


async def waiting(request):  # GET: what waits, and the decisions on it; POST: one of those
    session = sessions.open("main", scope=request.path_params["user"])
    tickets = session.pending if session.exists else ()
    if request.method == "GET":
        each = [(one, one.approve(), one.deny("A person said no.")) for one in tickets]
        return JSONResponse([[part.to_dict() for part in parts] for parts in each])
    decision = Decision.from_dict(await request.json())
    if known := (decision.ticket, decision.seal) in [(one.id, one.seal) for one in tickets]:
        session.decide(decision)  # the first one counts
    return Response(status_code=204 if known else 409)


chatting = Route("/{user}/chat", chat, methods=["POST"])
app = Starlette(routes=[chatting, Route("/{user}/waiting", waiting, methods=["GET", "POST"])])
