"""What a peer must say about itself to be measured. What it cannot do it leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar

from benchmarks.work import Call

PEERS = {
    "limit": "benchmarks.peers.limit",
    "toolkeel": "benchmarks.peers.ours",
    "langgraph": "benchmarks.peers.langgraph",
    "openai-agents": "benchmarks.peers.openai_agents",
    "pydantic-ai": "benchmarks.peers.pydantic_ai",
    "mcp": "benchmarks.peers.mcp",
    "fastmcp": "benchmarks.peers.fastmcp",
}


class Missing(Exception):
    """The peer has no such thing."""


class Peer:
    """One library.

    Attributes:
        packages: Whose versions are told.
        line: The least import that can define a tool.
    """

    packages: ClassVar[Sequence[str]] = ()
    line: ClassVar[str] = ""

    def define(self, function: Callable[..., Any]) -> Any:
        """Make its tool of a function."""
        raise Missing

    def schemas(self, tools: list[Any]) -> Any:
        """What it sends to OpenAI of these tools with every request."""
        raise Missing

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        """Get ready to call tools made of these."""
        raise Missing

    async def one(self, call: Call) -> Any:
        """Answer one call with the message it keeps."""
        raise Missing

    async def many(self, calls: list[Call]) -> Any:
        """Answer the calls of one turn."""
        return await asyncio.gather(*map(self.one, calls))

    def text(self, message: Any) -> str:
        """What the model reads of a message."""
        raise Missing

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        """Run its agent with a model that asks for one call in each turn; tick at each request."""
        raise Missing

    def server(self, function: Callable[..., Any]) -> Any:
        """A server of the Model Context Protocol with this tool, as the SDK's client takes it."""
        raise Missing

    def serve(self, function: Callable[..., Any]) -> None:
        """Serve this tool over stdin and stdout until they are closed."""
        raise Missing

    def history(self, size: int) -> Any:
        """So many calls and their results, as it keeps them."""
        raise Missing


def load(name: str) -> Peer:
    """The peer of that name.

    Raises:
        ImportError: it is not installed.
    """
    peer: Peer = import_module(PEERS[name]).PEER
    return peer
