"""What is for the model or the program alone leaves the server on no wire."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.serve.serving import serve
from tests.serve.talking import PAY, Talk, pay, read, talking, text
from toolkeel import Agent, ToolContext, ToolOutput, tool
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall
from toolkeel_studio.serve.acp.updates import UpdateEncoder
from toolkeel_studio.serve.app import app

CANARIES = [f"CANARY-{n}" for n in range(10)]
HIDDEN = {"x": CANARIES[0]}
SAID: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
REQUESTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "vercel": (
        "/api/chat",
        {
            "id": "t",
            "trigger": "submit-message",
            "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Go."}]}],
        },
        ["/api/chat/t"],
    ),
    "agui": (
        "/agui",
        {"threadId": "t", "runId": "r", "messages": [{"id": "u1", **SAID[0]}]},
        ["/threads/t/messages"],
    ),
    "openai": ("/v1/responses", {"conversation": "t", "input": "Go.", "stream": True}, []),
}
CHAT = "/v1/chat/completions", {"messages": SAID, "stream": True}


@tool
def secretive(context: ToolContext) -> ToolOutput:
    """Return something (CANARY-1)."""
    assert context.deps == CANARIES[7]
    return ToolOutput("fine", artifact=CANARIES[2], details={"x": CANARIES[3]})


def lines() -> list[Any]:
    """A reply with everything that a provider wants back, then one that fails."""
    reply = AssistantMessage(
        "Hm.",
        (ToolCall("c1", "secretive", "{}", provider_options=HIDDEN),),
        reasoning=(Reasoning("thinking", CANARIES[4]),),
        provider_options=HIDDEN,
    )
    return [reply, RuntimeError(f"key {CANARIES[5]} at http://10.0.0.1")]


def agent_of(talk: Talk) -> Agent[Any, Any]:
    model = talk.channels(lines()).agent.model
    return Agent(model, [secretive], instructions=CANARIES[6])


def check(sent: str) -> None:
    assert "fine" in sent or "Hm." in sent
    assert [canary for canary in CANARIES if canary in sent] == []


async def body_of(response: httpx2.Response) -> str:
    assert response.status_code == 200
    return response.text + json.dumps(dict(response.headers))


@pytest.mark.parametrize("protocol", REQUESTS)
def test_nothing_leaves_over_http_that_is_not_for_clients(protocol: str, tmp_path: Any) -> None:
    @talking
    async def use(talk: Talk) -> None:
        made = app(
            agent_of(talk),
            protocols=[protocol],
            sessions=talk.sessions,
            deciders="user",
            deps=lambda scope: CANARIES[7],
        )
        talk.close_later(made.state.channels)
        path, body, more = REQUESTS[protocol]
        async with serve(made) as client:
            check(await body_of(await client.post(path, json=body)))
            for each in more:
                check(await body_of(await client.get(each)))

    use(tmp_path)


@talking
async def test_nothing_leaves_with_a_completion(talk: Talk) -> None:
    made = app(
        agent_of(talk),
        protocols=["openai"],
        sessions=talk.sessions,
        deciders="user",
        deps=lambda scope: CANARIES[7],
    )
    talk.close_later(made.state.channels)
    async with serve(made) as client:
        path, body = CHAT
        check(await body_of(await client.post(path, json=body)))


@talking
async def test_nothing_leaves_for_an_editor(talk: Talk) -> None:
    channels = talk.channels(lines())
    channels.agent = agent_of(talk)
    channels._deps = lambda scope: CANARIES[7]
    channel = channels.open("t")
    await channel.say("Go.", id="u1")
    encoder = UpdateEncoder(with_prompts=True)
    updates = [each for item in await read(channel) for each in encoder.encode(item)]
    check("\n".join(each.model_dump_json() for each in updates))


@talking
async def test_a_message_whose_run_could_not_start_is_answered_later(talk: Talk) -> None:
    fails = True

    def deps(user: str) -> object:
        if fails:
            raise RuntimeError(f"key {CANARIES[5]}")
        return None

    model = talk.channels([text(f"Answer {n}.") for n in range(4)]).agent.model
    options: dict[str, Any] = {"deps": deps, "deciders": "user"}
    made = app(Agent(model), protocols=[*REQUESTS], sessions=talk.sessions, **options)
    talk.close_later(made.state.channels)
    names = {"id": "v", "threadId": "a", "conversation": "o"}
    bodies = {kind: {**b, **names} for kind, (_, b, _) in REQUESTS.items()}
    async with serve(made) as client:

        async def ask(kind: str) -> str:
            return (await client.post(REQUESTS[kind][0], json=bodies[kind])).text

        for kind in [*REQUESTS, "vercel", "agui"]:
            answer = await ask(kind)
            assert "Something went wrong" in answer and "CANARY" not in answer, kind
        fails = False
        for kind in REQUESTS:  # pages repeat the message under its id
            while "conversation_locked" in (answer := await ask(kind)):
                await made.state.channels.wait()  # the run of the message that was left
            assert "Answer" in answer and "went wrong" not in answer, kind


@pytest.mark.parametrize("function", ["user", "deps", "deciders"])
def test_what_goes_wrong_in_functions_of_the_application_is_masked(
    function: str, tmp_path: Any
) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError(f"key {CANARIES[5]}")

    @talking
    async def use(talk: Talk) -> None:
        options: dict[str, Any] = {"deciders": "user", function: fail}
        model = talk.channels([PAY] * 4).agent.model
        made = app(Agent(model, [pay]), protocols=[*REQUESTS], sessions=talk.sessions, **options)
        talk.close_later(made.state.channels)
        async with serve(made) as client:
            bodies = [(p, {**b, "conversation": "other"}) for p, b, _ in REQUESTS.values()]
            sent = [await client.post(p, json=b) for p, b in bodies]
            for waiting in made.state.channels.open("t").snapshot().pending:
                answer = {"interruptId": waiting.approval_id, "status": "resolved"}
                resume = [{**answer, "payload": {"approved": True}}]
                body = {"threadId": "t", "runId": "r", "messages": [], "resume": resume}
                sent.append(await client.post("/agui", json=body))
        assert len(sent) == len(REQUESTS) + (function == "deciders")
        assert "CANARY" not in "".join(each.text for each in sent)
        assert any("Something went wrong" in each.text for each in sent)

    use(tmp_path)
