"""One connection to a server: whose call a question belongs to is known, or nobody is asked."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from time import monotonic
from typing import Any

import mcp_types as types
import pytest

from tests.gateway.behind import Asked, client_of, config
from tests.waiting import run, until
from tests.warm import WARM
from toolkeel.mcp.client import elicitation
from toolkeel.mcp.client.elicitation import limit_concurrency
from toolkeel.mcp.server.sessions import Sessions
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.server_connection import ServerConnection, current_call

ASKED = types.ElicitRequestFormParams(
    message="?", requested_schema={"type": "object", "properties": {}}
)


def lane(told: list[bool] | None = None) -> ServerConnection:
    told = [] if told is None else told
    return ServerConnection(None, config("new"), Sessions(), told.append)


async def asked(server: ServerConnection, context: Context | None = None) -> str:
    """How a question ends that comes by itself, or in the context of a request."""
    nobody: Any = None
    task = asyncio.create_task(server._elicit(nobody, ASKED), context=context or Context())
    said = await task
    assert isinstance(said, types.ElicitResult)
    return said.action


def test_a_question_goes_to_the_one_client_whose_calls_run_and_is_never_guessed() -> None:
    told: list[bool] = []

    async def use() -> list[str]:
        server = lane(told)
        said = [await asked(server)]  # nobody is calling
        async with server.run_call("ada", Asked(), False):
            said.append(await asked(server))
            async with server.run_call("ada", Asked(), False):
                said.append(await asked(server))
            async with server.run_call("bo", Asked(), False):
                said.append(await asked(server))
        return said

    assert asyncio.run(use()) == ["cancel", "accept", "accept", "cancel"]
    assert told == [False, False, False]


def test_calls_of_clients_that_nobody_can_tell_apart_wait_for_each_other() -> None:
    order: list[str] = []

    async def use() -> None:
        server = lane()

        async def call(name: str) -> None:
            async with server.run_call(name, Asked(), True):
                assert server.is_busy and current_call() is server
                order.append(f"{name} begins")
                await asyncio.sleep(0)
                order.append(f"{name} ends")

        await asyncio.gather(call("ada"), call("bo"))
        assert not server.is_busy and current_call() is None

    asyncio.run(use())
    assert order == ["ada begins", "ada ends", "bo begins", "bo ends"]


def test_a_question_in_answer_to_a_request_belongs_to_that_call_whoever_else_calls() -> None:
    told: list[bool] = []

    class Ada(Asked):
        async def ask(self, key: str, question: Any, kind: Any) -> Any:
            return kind(action="decline")

    async def use() -> list[str]:
        server = lane(told)
        async with server.run_call("ada", Ada(), False):
            own = copy_context()
            async with server.run_call("bo", Asked(), False):
                found = [await asked(server, own), await asked(server, copy_context())]
        return [*found, await asked(server, own)]  # its call has ended

    assert asyncio.run(use()) == ["decline", "accept", "cancel"]
    assert told == [True, True]


def test_what_a_client_that_does_not_read_is_told_of_its_calls_is_not_kept_without_end() -> None:
    told: list[int] = []

    async def use() -> None:
        reads = asyncio.Event()

        async def tell(n: int) -> None:
            await reads.wait()
            told.append(n)

        bounded = limit_concurrency(tell, 3, None)
        tasks = [asyncio.create_task(bounded(n)) for n in range(10)]
        await until(lambda: sum(task.done() for task in tasks) == 7)
        reads.set()
        await asyncio.gather(*tasks)
        await bounded(10)

    run(use)
    assert told == [0, 1, 2, 10]


def test_a_call_that_was_given_up_may_still_be_what_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use() -> list[str]:
        server, begun = lane(), asyncio.Event()

        async def call() -> None:
            async with server.run_call("ada", Asked(), False):
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(call())
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])
        said = [await asked(server)]  # nobody is calling
        async with server.run_call("ada", Asked(), False):
            said.append(await asked(server))
        async with server.run_call("bo", Asked(), False):
            said.append(await asked(server))
            monkeypatch.setattr(
                elicitation, "monotonic", lambda: monotonic() + elicitation.GIVEN_UP_SECONDS
            )
            said.append(await asked(server))
        return said

    assert asyncio.run(use()) == ["cancel", "accept", "cancel", "accept"]


SAMPLES = """
import json, sys
def say(**said):
    print(json.dumps({"jsonrpc": "2.0", **said}), flush=True)
era, call = sys.argv[1], None
link = {"type": "resource_link", "uri": "app://log", "name": "log"}
shown = {"type": "tool_result", "toolUseId": "u", "content": [link]}
asks = {"messages": [{"role": "user", "content": [shown]}], "maxTokens": 9}
can = {"tools": {}, "resources": {}}
results = {
    "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
    "resources/list": {"resources": [{"uri": "app://log", "name": "log"}]},
    "resources/templates/list": {"resourceTemplates": []},
}
for line in sys.stdin:
    got = json.loads(line)
    method, id = got.get("method"), got.get("id")
    if method == "initialize" and era == "legacy":
        say(id=id, result={"protocolVersion": "2025-11-25", "capabilities": can,
                           "serverInfo": {"name": "samples", "version": "0"}})
    elif method == "server/discover" and era != "legacy":
        say(id=id, result={"supportedVersions": ["2026-07-28"], "capabilities": can, "resultType": "complete",
                           "ttlMs": 0, "cacheScope": "private"})
    elif method in results:
        say(id=id, result={**results[method], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
    elif method == "tools/call" and era == "legacy":
        call = id
        say(id="q", method="sampling/createMessage", params=asks)
    elif method == "tools/call":
        asked = {"k": {"method": "sampling/createMessage", "params": asks}}
        done = {"content": [], "resultType": "complete"}
        more = {"resultType": "input_required", "inputRequests": asked}
        say(id=id, result=done if "inputResponses" in got["params"] else more)
    elif id == "q":
        say(id=call, result={"content": []})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "no"})
"""


@pytest.mark.parametrize("client_era", ["legacy", "auto"])
@pytest.mark.parametrize("server_era", ["legacy", "modern"])
def test_a_question_to_the_model_names_resources_as_clients_know_them(
    server_era: str, client_era: str
) -> None:
    shown: list[str] = []

    async def answer(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        [message] = params.messages
        [result] = message.content_as_list
        assert isinstance(result, types.ToolResultContent)
        [link] = result.content
        assert isinstance(link, types.ResourceLink)
        shown.append(link.uri)
        said = types.TextContent(text="ok")
        return types.CreateMessageResult(role="assistant", content=said, model="m")

    async def use() -> None:
        command = [*WARM, "-c", SAMPLES, server_era]
        gateway = Gateway([config("a", command), config("b", command)])
        tools = types.SamplingCapability(tools=types.SamplingToolsCapability())
        options: Any = {"sampling_callback": answer, "sampling_capabilities": tools}
        async with client_of(gateway, client_era, **options) as client:
            assert not (await client.call_tool("b__act", {})).is_error

    run(use)
    assert shown == ["toolkeel+b:app://log"]
