"""An MCP server that a provider may talk to by itself, and whose calls a function may approve."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import NOTHING
from toolkeel.builtin.catalog import load_from
from toolkeel.content import Data
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Tool
from toolkeel.effects import UNKNOWN
from toolkeel.errors import Denied, SetupError
from toolkeel.hosted import Hosted, Native

Approve: TypeAlias = Callable[[str, Mapping[str, Any], ToolContext], Any]
"""``(tool, arguments, context)`` gives ``{"approve": ..., "reason": ...}``; may be async."""
_BETA = "mcp-client-2025-11-20"
_ASKED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {}},
    "required": ["name"],
}
log = logging.getLogger("toolkeel")


@checked
class HostedMCP:
    """The tools of an MCP server, from wherever it is talked to.

    OpenAI's own Responses API talks to the server by itself and asks about each call; so does
    Anthropic's own API, but it cannot ask, so it does so only if there is nothing to be asked.
    Everywhere else the server is talked to from here, as `toolkeel.mcp.client.MCPServer` does.

    Args:
        url: Where it is.
        connector: In place of an address: a service that OpenAI alone can reach.
        name: What it is called; its host by default.
        token: Sent as a bearer token.
        only: Names of the tools to take; all by default.
        trust: Whether nobody is asked about its calls; or names of tools for which that holds.
        approve: Approves each call; see `Approve`. Without it the run's approver is asked.
        openai: Further fields of what OpenAI is sent, such as ``headers``.
        where: ``auto`` as above, ``local`` always from here.

    Raises:
        SetupError: there is neither an address nor a connector, or both.
    """

    def __init__(
        self,
        url: str = "",
        *,
        connector: str = "",
        name: str | None = None,
        token: str | None = None,
        only: Sequence[str] | None = None,
        trust: bool | Sequence[str] = False,
        approve: Approve | None = None,
        openai: Mapping[str, Any] = NOTHING,
        where: Literal["auto", "local"] = "auto",
    ) -> None:
        if bool(url) == bool(connector):
            raise SetupError("HostedMCP takes the address of a server, or connector='...'")
        self.url, self.connector = url, connector
        self.server_name = name or connector or str(urlsplit(url).hostname)
        self._token, self._only, self._approve = token, only, approve
        self._trusted = frozenset(() if isinstance(trust, bool) else trust)
        self._asks_nobody = trust is True and approve is None
        self._more, self._where = openai, where
        self._server: Any = None

    @property
    def prefix(self) -> str:
        """What is put before names that another source of tools has, too."""
        return f"{self.server_name}_"

    async def get_tools(self, run: RunContext) -> list[AnyTool]:
        """The server's tools, or the one that stands for them at a provider that hosts them.

        Raises:
            SetupError: the server cannot be reached, or from OpenAI alone.
        """
        hosts = getattr(getattr(run.agent, "model", None), "hosts", "")
        if self._where == "auto" and hosts == "openai-responses":
            return [self._passed(Hosted({"openai-responses": self._openai()}))]
        if self._where == "auto" and hosts == "anthropic" and self._asks_nobody:
            return [self._passed(Hosted({"anthropic": self._anthropic()}))]
        if self.connector:
            raise SetupError(
                f"the connector {self.connector!r} is reached by OpenAI's Responses API alone"
            )
        return await self._local()

    # — at a provider —

    def _passed(self, hosted: Hosted) -> AnyTool:
        """What stands for the server: it is called when the provider asks about a call."""

        async def approve(context: ToolContext, given: dict[str, Any]) -> Data:
            answer: dict[str, object] = {"approve": True}
            if self._approve is not None:
                answer = await self._answer(given["name"], _arguments(given), context)
            return Data(answer, json.dumps(answer, ensure_ascii=False))

        return Tool.from_schema(
            re.sub(r"\W+", "_", self.server_name),
            f"Approve a call of the MCP server {self.server_name}.",
            _ASKED,
            approve,
            approval=self._approve is None,
            timeout=None,
            hosted=hosted,
        )

    def _openai(self) -> Native:
        never = {"never": {"tool_names": sorted(self._trusted)}} if self._trusted else "always"
        body: dict[str, Any] = {
            "type": "mcp",
            "server_label": re.sub(r"[^A-Za-z0-9_-]+", "_", self.server_name),
            "server_url": self.url or None,
            "connector_id": self.connector or None,
            "require_approval": "never" if self._asks_nobody else never,
            "allowed_tools": self._only,
            "authorization": self._token or None,
            **self._more,
        }
        given = {key: value for key, value in body.items() if value is not None}
        return Native(given, here=True)

    def _anthropic(self) -> Native:
        server = {"type": "url", "name": self.server_name, "url": self.url}
        if self._token:
            server["authorization_token"] = self._token
        tools: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": self.server_name}
        if self._only is not None:
            tools["default_config"] = {"enabled": False}
            tools["configs"] = {name: {"enabled": True} for name in self._only}
        return Native(tools, betas=(_BETA,), beside={"mcp_servers": (server,)})

    # — from here —

    async def _local(self) -> list[AnyTool]:
        if self._server is None:
            self._server = load_from(
                "mcp-server",
                self.url,
                name=self.server_name,
                trust=bool(self._approve or self._trusted) or self._asks_nobody,
                headers={"Authorization": f"Bearer {self._token}"} if self._token else None,
                only=self._only,
            )
        tools: list[AnyTool] = await self._server.get_tools()
        return [self._asking(tool) for tool in tools]

    def _asking(self, tool: AnyTool) -> AnyTool:
        """A tool that asks about its calls, unless nobody is asked about them."""
        if own_name(tool) in self._trusted:
            return replace(tool, effects=UNKNOWN)
        steps = tool.steps if self._approve is None else (self._approved, *tool.steps)
        asks = True if self._trusted and self._approve is None else tool.approval
        return replace(tool, effects=UNKNOWN, steps=steps, approval=asks)

    async def _approved(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Let a call through that the function approves.

        Raises:
            Denied: it does not, or it failed.
        """
        name = own_name(prepared.tool)
        answer = await self._answer(name, dict(prepared.arguments), context)
        if answer["approve"] is not True:
            raise Denied(f"The call of {prepared.tool.name!r} was not approved: {answer['reason']}")
        return await proceed(prepared)

    async def _answer(
        self, name: str, arguments: Mapping[str, Any] | None, context: ToolContext
    ) -> dict[str, object]:
        """What the function says; anything but a clear yes means no."""
        assert self._approve is not None
        if arguments is None:
            return {"approve": False, "reason": "the arguments are no JSON object"}
        try:
            said = self._approve(name, arguments, context)
            said = await said if isawaitable(said) else said
        except Exception as error:
            log.exception("the approval function of %s failed", self.server_name)
            why = f"the approval function failed ({type(error).__name__})"
            return {"approve": False, "reason": why}
        given = said if isinstance(said, Mapping) else {}
        if given.get("approve") is True:
            return {"approve": True}
        return {"approve": False, "reason": str(given.get("reason") or "no reason was given")}


def own_name(tool: AnyTool) -> str:
    """What its MCP server calls a tool."""
    known = tool.metadata.get("mcp")
    return str(known.get("tool") if isinstance(known, Mapping) else tool.name)


def _arguments(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a call that is asked about; None if they cannot be read."""
    arguments = given.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    return {} if arguments is None else arguments if isinstance(arguments, Mapping) else None
