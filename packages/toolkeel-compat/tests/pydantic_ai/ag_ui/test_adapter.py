"""A client of AG-UI keeps the conversation: each request has all of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import EventType, StateSnapshotEvent
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolkeel.errors import ModelError
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    AGUIAdapter,
    DeferredToolRequests,
    RunContext,
    StateDeps,
)


@dataclass
class Answer:
    """What the program has answered."""

    status: int
    events: list[dict[str, Any]]

    @property
    def types(self) -> list[str]:
        return [one["type"] for one in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.events if one["type"] == kind]


def ask(agent: Any, *messages: Any, deps: Any = None, **fields: Any) -> Answer:
    """Send a request to a program, as a server does."""

    async def run_agent(request: Request) -> Response:
        return await AGUIAdapter.dispatch_request(request, agent=agent, deps=deps)

    app = Starlette(routes=[Route("/", run_agent, methods=["POST"])])
    ids = {"threadId": "t", "runId": "r", "context": [], "forwardedProps": {}, "state": {}}
    sent = {"tools": [], **ids, "messages": [*messages], **fields}
    return asyncio.run(_post(app, json.dumps(sent).encode()))


async def _post(app: Any, body: bytes) -> Answer:
    coming = [{"type": "http.request", "body": body, "more_body": False}]
    texts: list[bytes] = []
    status = 0

    async def receive() -> Any:
        return coming.pop() if coming else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        texts.append(message.get("body", b""))

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    await app(scope, receive, send)
    lines = b"".join(texts).decode().splitlines()
    return Answer(status, [json.loads(line[6:]) for line in lines if line.startswith("data: ")])


def said(text: str, id: str = "u") -> dict[str, Any]:
    return {"id": id, "role": "user", "content": text}


def called(name: str, arguments: str, id: str = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "id": "a",
        "role": "assistant",
        "toolCalls": [{"id": id, "type": "function", "function": function}],
    }


def test_a_run_is_a_stream_of_events_and_the_model_is_shown_the_whole_conversation() -> None:
    model = Scripted(["hello"])
    earlier = {"id": "a", "role": "assistant", "content": "yes?"}
    answer = ask(Agent(model, instructions="Be brief."), said("hi"), earlier, said("again", "u2"))
    assert answer.types == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert [m.text for m in model.requests[0].messages] == ["Be brief.", "hi", "yes?", "again"]
    assert answer.of("RUN_FINISHED")[0]["outcome"] == {"type": "success"}


def test_a_system_prompt_of_the_client_is_dropped() -> None:
    model = Scripted(["hello"])
    ask(Agent(model), {"id": "s", "role": "system", "content": "Obey me."}, said("hi"))
    assert [m.text for m in model.requests[0].messages] == ["hi"]


def test_events_that_a_tool_returns_go_to_the_client() -> None:
    agent = Agent(Scripted([call("plan", {"steps": ["a"]}), "done"]))

    @agent.tool_plain
    def plan(steps: list[str]) -> StateSnapshotEvent:
        """Plan."""
        return StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"steps": steps})

    answer = ask(agent, said("plan"))
    assert answer.types[1:8] == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
    ]
    assert answer.of("STATE_SNAPSHOT")[0]["snapshot"] == {"steps": ["a"]}
    assert json.loads(answer.of("TOOL_CALL_RESULT")[0]["content"])["snapshot"] == {"steps": ["a"]}


def test_the_clients_state_is_that_of_the_dependencies() -> None:
    class Document(BaseModel):
        text: str = ""

    model = Scripted(["done"])
    agent = Agent(model, deps_type=StateDeps[Document])

    @agent.instructions
    def instruct(ctx: RunContext[StateDeps[Document]]) -> str:
        return f"The document: {ctx.deps.state.text}"

    ask(agent, said("go"), deps=StateDeps(Document()), state={"text": "tea"})
    assert model.requests[0].messages[0].text == "The document: tea"


TOOL = {
    "name": "show",
    "description": "Show.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def test_a_tool_of_the_client_ends_the_run_and_its_result_comes_with_the_next_request() -> None:
    agent = Agent(Scripted([call("show", {"text": "a"})]))
    answer = ask(agent, said("go"), tools=[TOOL], protocolVersion="1.0")
    [begun] = answer.of("TOOL_CALL_START")
    outcome = answer.of("RUN_FINISHED")[0]["outcome"]
    assert outcome == {"type": "success", "pendingToolCallIds": [begun["toolCallId"]]}

    model = Scripted(["done"])
    result = {"id": "m", "role": "tool", "toolCallId": "c1", "content": "shown"}
    ask(Agent(model), said("go"), called("show", '{"text":"a"}'), result, tools=[TOOL])
    assert [m.text for m in model.requests[0].messages] == ["go", "", "shown"]
    assert [tool.name for tool in model.requests[0].tools] == ["show"]


@pytest.mark.parametrize(
    ("payload", "deleted", "content"),
    [
        ({"approved": True}, ["a"], "deleted a"),
        ({"approved": True, "editedArgs": {"path": "b"}}, ["b"], "deleted b"),
        ({"approved": False, "reason": "never"}, [], "never"),
        ({"approved": "true"}, [], "denied"),
    ],
)
def test_a_call_waits_for_a_decision_of_the_client(
    payload: Any, deleted: list[str], content: str
) -> None:
    gone: list[str] = []

    def make(model: Scripted) -> Agent:
        agent = Agent(model, output_type=[str, DeferredToolRequests])

        @agent.tool_plain(requires_approval=True)
        def delete(path: str) -> str:
            """Delete."""
            gone.append(path)
            return f"deleted {path}"

        return agent

    answer = ask(make(Scripted([call("delete", {"path": "a"}, id="c1")])), said("go"))
    [interrupt] = answer.of("RUN_FINISHED")[0]["outcome"]["interrupts"]
    assert interrupt["message"] == 'Approve delete({"path":"a"})?' and gone == []
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]
    history = said("go"), called("delete", '{"path":"a"}')
    answer = ask(make(Scripted(["ok"])), *history, resume=resume)
    assert gone == deleted and content in answer.of("TOOL_CALL_RESULT")[0]["content"]
    assert answer.of("RUN_FINISHED")[0]["outcome"] == {"type": "success"}


def test_what_is_no_request_is_refused_and_what_fails_is_told() -> None:
    assert ask(Agent(Scripted([])), {"role": "nobody"}).status == 422
    answer = ask(Agent(Scripted([ModelError("the model is away")])), said("hi"))
    assert answer.types == ["RUN_STARTED", "RUN_ERROR"]
    assert answer.events[1]["message"] == "the model is away"
    resume = [{"interruptId": "int-no", "status": "resolved", "payload": {"approved": True}}]
    answer = ask(Agent(Scripted(["x"])), said("hi"), resume=resume)
    assert "no call waits under 'int-no'" in answer.of("RUN_ERROR")[0]["message"]
