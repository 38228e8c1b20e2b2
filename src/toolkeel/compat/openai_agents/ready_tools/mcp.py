"""`HostedMCPTool` of the OpenAI Agents SDK: an MCP server with a function that approves its calls."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit

from toolkeel._records.record import record
from toolkeel.builtin.catalog import load_from
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.content import Data
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Tool
from toolkeel.effects import UNKNOWN
from toolkeel.errors import Denied
from toolkeel.hosted import Hosted, Native

log = logging.getLogger("toolkeel")


@record
class Mcp:
    """Where a hosted MCP server is.

    Args:
        server_url: Its address.
        api_key: Sent as a bearer token.
        config: More, by OpenAI's names: ``server_label`` (its name), ``allowed_tools`` (those to
            take), ``require_approval="never"`` (ask nobody).
    """

    server_url: str
    api_key: str | None = None
    config: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return {"server_url": self.server_url, **(self.config or {})}[key]


@record
class McpApprovalRequest:
    """A call that is asked about."""

    tool_name: str
    arguments: Mapping[str, Any]
    server_name: str = ""


@record
class MCPToolApprovalRequest:
    """What an approval function is given."""

    ctx_wrapper: RunContextWrapper[Any]
    data: McpApprovalRequest


class MCPToolApprovalFunctionResult(TypedDict, total=False):
    """What an approval function answers."""

    approve: bool
    reason: str


Approval = Callable[
    [MCPToolApprovalRequest],
    MCPToolApprovalFunctionResult | Awaitable[MCPToolApprovalFunctionResult],
]


class HostedMCPTool:
    """The tools of an MCP server, each call approved by a function.

    OpenAI's own Responses API talks to the server by itself and asks about each call; so does
    Anthropic's own API, but it cannot ask, so it does so only if there is nothing to be asked.
    Everywhere else the server is talked to from here, as `toolkeel.mcp.client.provider.MCPServer` does.

    Args:
        tool_config: Where it is.
        on_approval_request: Approves its calls. Without one the run's approver is asked.
        where: Where its tools run: ``auto`` as above, ``local`` always from here.
    """

    def __init__(
        self,
        tool_config: Mcp | Mapping[str, Any],
        on_approval_request: Approval | None = None,
        where: Literal["auto", "local"] = "auto",
    ) -> None:
        if isinstance(tool_config, Mapping):
            url, key = str(tool_config["server_url"]), tool_config.get("authorization")
            tool_config = Mcp(url, key, tool_config)
        self.tool_config = tool_config
        self.on_approval_request = on_approval_request
        self._where = where
        self._server: Any = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return "hosted_mcp"

    @property
    def server_name(self) -> str:
        """What the server is called: its label, else its host."""
        label = self._more.get("server_label") or urlsplit(self.tool_config.server_url).hostname
        return str(label)

    @property
    def prefix(self) -> str:
        """What is put before names that another source of tools has, too."""
        return f"{self.server_name}_"

    @property
    def _more(self) -> Mapping[str, Any]:
        return self.tool_config.config or {}

    async def get_tools(self, run: RunContext[Any]) -> list[AnyTool]:
        """The server's tools, or the one that stands for them at a provider that hosts them.

        Raises:
            SetupError: the server cannot be reached.
        """
        hosts = getattr(getattr(run.agent, "model", None), "hosts", "")
        if self._where == "auto" and hosts == "openai-responses":
            return [self._passed(Hosted({"openai-responses": self._openai()}))]
        if self._where == "auto" and hosts == "anthropic" and self._asks_nobody:
            return [self._passed(Hosted({"anthropic": self._anthropic()}))]
        return await self._local()

    @property
    def _asks_nobody(self) -> bool:
        never = self._more.get("require_approval") == "never"
        return self.on_approval_request is None and never

    # — at a provider —

    def _passed(self, hosted: Hosted) -> AnyTool:
        """What stands for the server: it is called when the provider asks about a call."""

        async def approve(context: ToolContext[Any], given: dict[str, Any]) -> Data:
            answer: dict[str, object] = {"approve": True}
            if self.on_approval_request is not None:
                answer = await self._answer(given["name"], _arguments(given), context)
            return Data(answer, json.dumps(answer, ensure_ascii=False))

        return Tool.from_schema(
            re.sub(r"\W+", "_", self.server_name),
            f"Approve a call of the MCP server {self.server_name}.",
            _ASKED,
            approve,
            approval=self.on_approval_request is None,
            timeout=None,
            hosted=hosted,
        )

    def _openai(self) -> Native:
        config, more = self.tool_config, self._more
        body: dict[str, Any] = {
            **{key: more[key] for key in _OPENAI if key in more},
            "type": "mcp",
            "server_label": re.sub(r"[^A-Za-z0-9_-]+", "_", self.server_name),
            "server_url": config.server_url,
            "require_approval": "never" if self._asks_nobody else "always",
        }
        if config.api_key:
            body["authorization"] = config.api_key
        return Native(body, here=True)

    def _anthropic(self) -> Native:
        server = {"type": "url", "name": self.server_name, "url": self.tool_config.server_url}
        if self.tool_config.api_key:
            server["authorization_token"] = self.tool_config.api_key
        tools: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": self.server_name}
        if (allowed := self._more.get("allowed_tools")) is not None:
            tools["default_config"] = {"enabled": False}
            tools["configs"] = {name: {"enabled": True} for name in allowed}
        return Native(tools, betas=(_BETA,), beside={"mcp_servers": (server,)})

    # — from here —

    async def _local(self) -> list[AnyTool]:
        if self._server is None:
            key = self.tool_config.api_key
            self._server = load_from(
                "mcp-server",
                self.tool_config.server_url,
                name=self.server_name,
                trust=self.on_approval_request is not None or self._asks_nobody,
                headers={"Authorization": f"Bearer {key}"} if key else None,
                only=self._more.get("allowed_tools"),
            )
        tools: list[AnyTool] = await self._server.get_tools()
        steps = () if self.on_approval_request is None else (self._approved,)
        return [replace(tool, effects=UNKNOWN, steps=(*steps, *tool.steps)) for tool in tools]

    async def _approved(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Let a call through that the function approves.

        Raises:
            Denied: it does not, or it failed.
        """
        known = prepared.tool.metadata.get("mcp")
        name = known.get("tool") if isinstance(known, Mapping) else prepared.tool.name
        answer = await self._answer(str(name), dict(prepared.arguments), context)
        if answer["approve"] is not True:
            raise Denied(f"The call of {prepared.tool.name!r} was not approved: {answer['reason']}")
        return await proceed(prepared)

    async def _answer(
        self, name: str, arguments: Mapping[str, Any] | None, context: ToolContext[Any]
    ) -> dict[str, object]:
        """What the function says; anything but a clear yes means no."""
        assert self.on_approval_request is not None
        if arguments is None:
            return {"approve": False, "reason": "the arguments are no JSON object"}
        data = McpApprovalRequest(name, arguments, self.server_name)
        wrapper = RunContextWrapper.from_tool_context(context)
        try:
            asked = MCPToolApprovalRequest(wrapper, data)
            said: object = await value_of(self.on_approval_request(asked))
        except Exception as error:
            log.exception("the approval function of %s failed", self.server_name)
            why = f"the approval function failed ({type(error).__name__})"
            return {"approve": False, "reason": why}
        given = said if isinstance(said, Mapping) else {}
        if given.get("approve") is True:
            return {"approve": True}
        return {"approve": False, "reason": str(given.get("reason") or "no reason was given")}


_OPENAI = ("server_description", "headers", "allowed_tools", "defer_loading")
_BETA = "mcp-client-2025-11-20"
_ASKED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {}},
    "required": ["name"],
}


def _arguments(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a call that is asked about; None if they cannot be read."""
    arguments = given.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    return {} if arguments is None else arguments if isinstance(arguments, Mapping) else None
