"""One server behind a gateway: whose call a question belongs to is known, or nobody is asked."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from types import SimpleNamespace
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tests.mcp.gateway.behind import config
from toolkeel.mcp.client.salvage import of_peer
from toolkeel.mcp.gateway.upstream import Upstream, as_it_came
from toolkeel.mcp.server.rounds import Exchange

ASKED = types.ElicitRequestFormParams(
    message="?", requested_schema={"type": "object", "properties": {}}
)


class Asked(Exchange):
    """An exchange of a client that can be asked, and answers."""

    def __init__(self) -> None:
        able = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        session = SimpleNamespace(client_capabilities=able, _connection=object())
        request = SimpleNamespace(session=session, protocol_version="2025-11-25", meta=None)
        super().__init__(request)  # type: ignore[arg-type]

    async def ask(self, key: str, question: Any, kind: Any) -> Any:
        return kind(action="accept", content={})


async def asked(server: Upstream, context: Context | None = None) -> str:
    """How a question ends that comes by itself, or in the context of a request."""
    nobody: Any = None
    task = asyncio.create_task(server._elicit(nobody, ASKED), context=context or Context())
    said = await task
    assert isinstance(said, types.ElicitResult)
    return said.action


def test_a_question_goes_to_the_one_client_whose_calls_run_and_is_never_guessed() -> None:
    async def use() -> list[str]:
        server = Upstream(config("new"), lambda: None)
        said = [await asked(server)]  # nobody is calling
        async with server.running("ada", Asked()):
            said.append(await asked(server))
            async with server.running("ada", Asked()):
                said.append(await asked(server))
            async with server.running("bo", Asked()):
                said.append(await asked(server))
        order: list[str] = []

        async def call(name: str) -> None:  # from now on calls queue
            async with server.running(name, Asked()):
                order.append(f"{name} begins")
                await asyncio.sleep(0)
                order.append(f"{name} ends")

        await asyncio.gather(call("ada"), call("bo"))
        assert order == ["ada begins", "ada ends", "bo begins", "bo ends"]
        return said

    assert asyncio.run(use()) == ["cancel", "accept", "accept", "cancel"]


def test_a_question_in_answer_to_a_request_belongs_to_that_call_whoever_else_calls() -> None:
    class Ada(Asked):
        async def ask(self, key: str, question: Any, kind: Any) -> Any:
            return kind(action="decline")

    async def use() -> list[str]:
        server = Upstream(config("new"), lambda: None)
        async with server.running("ada", Ada()):
            own = copy_context()
            async with server.running("bo", Asked()):
                found = [await asked(server, own), await asked(server, copy_context())]
        return [*found, await asked(server, own)]  # its call has ended

    assert asyncio.run(use()) == ["decline", "accept", "cancel"]


def test_clients_without_names_are_told_apart_by_their_connections() -> None:
    async def use() -> list[str]:
        server = Upstream(config("new"), lambda: None)
        async with server.running("", Asked()):
            alone = await asked(server)
            async with server.running("", Asked()):
                return [alone, await asked(server)]

    assert asyncio.run(use()) == ["accept", "cancel"]


def test_an_error_of_a_server_reaches_the_client_as_it_came() -> None:
    said = of_peer(types.ErrorData(code=-32000, message="no", data={"x": 1}))
    error = as_it_came(MCPError.from_error_data(said))
    assert (error.code, error.message, error.data) == (-32000, "no", {"x": 1})
