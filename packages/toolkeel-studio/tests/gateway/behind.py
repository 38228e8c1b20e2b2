"""A gateway in this process before servers that are processes, and a client of the SDK before it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import mcp_types as types
from mcp import Client

from tests.mcp.peers import OLD_PEER, PEER
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.server.multi_round_calls import Exchange
from toolkeel_studio.gateway.gateway import Gateway

PEERS: Mapping[str, Sequence[str]] = {"new": PEER, "old": OLD_PEER}


def config(name: str, command: Sequence[str] | None = None) -> ServerConfig:
    return ServerConfig(name, command=tuple(command or PEERS[name]))


@asynccontextmanager
async def client_of(gateway: Gateway, era: str = "auto", **options: Any) -> AsyncIterator[Client]:
    async with Client(gateway.sdk, mode=era, **options) as client:
        yield client


PROGRAM = """
import asyncio
from toolkeel import File, UserMessage, tool
from toolkeel.mcp.server.stdio import serve_stdio
from toolkeel.mcp.server import ToolServer, prompt, resource

state = {"log": "first"}


@resource("app://log")
def log() -> str:
    "The log."
    return state["log"]


@resource("app://city/{name}")
def city(name: str) -> str:
    "A city."
    return name


@prompt
def greet(name: str) -> str | list[UserMessage]:
    "Greet somebody, or show the log."
    if name == "log":
        return [UserMessage([File(b"first", "log", "text/plain", "", {"uri": "app://log"})])]
    return f"Say hi to {name}."


@greet.complete("name")
def names(typed: str) -> list[str]:
    return [name for name in ("Ada", "Bo") if name.startswith(typed)]


@tool
async def change(text: str) -> list[int]:
    "Change the log."
    state["log"] = text
    await server.resource_updated("app://log")
    return [1, 2]


@tool
def link() -> File:
    "Give the log."
    return File(b"first", "log", "text/plain", "", {"uri": "app://log"})


server = ToolServer([change, link], resources=[log, city], prompts=[greet])
asyncio.run(serve_stdio(server))
"""


class Connection:
    """Stands where requests of one session come by."""


class Asked(Exchange):
    """An exchange of a client that can be asked, and answers."""

    def __init__(self, version: str = "2025-11-25") -> None:
        able = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        session = SimpleNamespace(client_capabilities=able, _connection=Connection())
        request = SimpleNamespace(
            session=session, protocol_version=version, meta=None, request=None, request_id=1
        )
        super().__init__(request)  # type: ignore[arg-type]

    async def ask(self, key: str, question: Any, kind: Any) -> Any:
        return kind(action="accept", content={"city": "Bonn", "days": 2})
