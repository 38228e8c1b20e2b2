"""An MCP server that a provider may connect to itself; a function can approve its calls."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import NOTHING
from toolkeel.builtin.catalog import load_remote
from toolkeel.call.body.callback import ask_person
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.content import Data
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Tool
from toolkeel.effects import Effects
from toolkeel.errors import Denied, SetupError
from toolkeel.hosted import Hosted, Native

ApprovalFunction: TypeAlias = Callable[[str, Mapping[str, Any], ToolContext], Any]
"""``(tool, arguments, context)`` gives ``{"approve": ..., "reason": ...}``; may be async."""
_BETA = "mcp-client-2025-11-20"
_EFFECTS = Effects(private=True, stranger=True)
_APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {}},
    "required": ["name"],
}
log = logging.getLogger("toolkeel")


@checked
class HostedMCP:
    """The tools of an MCP server, called by the provider or from here.

    OpenAI's own Responses API connects to the server itself and asks for approval of each call. Anthropic's
    own API also connects itself, but cannot ask, so it does only if no approval is needed. With any other
    model the server is called from here, as with `toolkeel.mcp.client.MCPServer`.

    Args:
        url: The server's address.
        connector: Instead of an address: a service that only OpenAI can reach.
        name: The server's name; its host by default.
        token: Sent as a bearer token.
        only: Names of the tools to use; all by default.
        trust: True if no call needs approval; or names of tools whose calls need none.
        approve: Approves each call; see `ApprovalFunction`. Without it the run's approver is asked.
        openai: Further fields of OpenAI's tool, such as ``headers``, which calls from here send, too;
            Anthropic sends none, so with headers the server is called from here.
        where: ``auto`` as above, ``local`` always from here.

    Raises:
        SetupError: without address and connector, or with both.
    """

    tools_timeout = None  # its requests have timeouts of their own

    def __init__(
        self,
        url: str = "",
        *,
        connector: str = "",
        name: str | None = None,
        token: str | None = None,
        only: Sequence[str] | None = None,
        trust: bool | Sequence[str] = False,
        approve: ApprovalFunction | None = None,
        openai: Mapping[str, Any] = NOTHING,
        where: Literal["auto", "local"] = "auto",
    ) -> None:
        if bool(url) == bool(connector):
            raise SetupError("HostedMCP takes the address of a server, or connector='...'")
        self.url, self.connector = url, connector
        self.server_name = name or connector or str(urlsplit(url).hostname)
        self._token, self._only, self._approve = token, only, approve
        self._trusted_tools = frozenset(() if isinstance(trust, bool) else trust)
        self._needs_no_approval = trust is True and approve is None
        self._openai_fields, self._where = openai, where
        self._server: Any = None

    @property
    def prefix(self) -> str:
        """Prefix for tools whose names another source has, too: the server's name."""
        return f"{self.server_name}_"

    async def get_tools(self, run: RunContext) -> list[AnyTool]:
        """Return the server's tools, or one tool that represents the server at a provider.

        Raises:
            SetupError: if the server cannot be reached, or only from OpenAI.
        """
        hosts = getattr(getattr(run.agent, "model", None), "hosts", "")
        if self._where == "auto" and hosts == "openai-responses":
            return [
                self._make_approval_tool(Hosted({"openai-responses": self._make_openai_native()}))
            ]
        can_connect = self._needs_no_approval and not self._openai_fields.get("headers")
        if self._where == "auto" and hosts == "anthropic" and can_connect:
            return [self._make_approval_tool(Hosted({"anthropic": self._make_anthropic_native()}))]
        if self.connector:
            raise SetupError(
                f"the connector {self.connector!r} is reached by OpenAI's Responses API alone"
            )
        return await self._load_local_tools()

    # — at a provider —

    def _make_approval_tool(self, hosted: Hosted) -> AnyTool:
        """Create the tool that represents the server. The provider calls it to ask for approval."""

        async def approve(context: ToolContext, call: dict[str, Any]) -> Data:
            """Return the decision about a call: that of the function `approve`, or approval if there is no function."""
            answer: dict[str, object] = {"approve": True}
            if self._approve is not None:
                answer = await self._call_approve(call["name"], _parse_arguments(call), context)
            return Data(answer, json.dumps(answer, ensure_ascii=False))

        made = Tool.from_schema(
            re.sub(r"\W+", "_", self.server_name),
            f"Approve a call of the MCP server {self.server_name}.",
            _APPROVAL_SCHEMA,
            approve,
            timeout=None,
            hosted=hosted,
            metadata={"mcp": {"server": self.server_name, "tool": ""}},
        )
        return replace(made, approval=True if self._approve is None else None)

    def _make_openai_native(self) -> Native:
        """Return the tool's definition for OpenAI, which asks for approval by a call."""
        never = (
            {"never": {"tool_names": sorted(self._trusted_tools)}}
            if self._trusted_tools
            else "always"
        )
        body: dict[str, Any] = {
            "type": "mcp",
            "server_label": re.sub(r"[^A-Za-z0-9_-]+", "_", self.server_name),
            "server_url": self.url or None,
            "connector_id": self.connector or None,
            "require_approval": "never" if self._needs_no_approval else never,
            "allowed_tools": self._only,
            "authorization": self._token or None,
            **self._openai_fields,
        }
        fields = {key: value for key, value in body.items() if value is not None}
        return Native(fields, runs_here=True)

    def _make_anthropic_native(self) -> Native:
        """Return the tool's definition for Anthropic, which does not ask for approval."""
        server = {"type": "url", "name": self.server_name, "url": self.url}
        if self._token:
            server["authorization_token"] = self._token
        tools: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": self.server_name}
        if self._only is not None:
            tools["default_config"] = {"enabled": False}
            tools["configs"] = {name: {"enabled": True} for name in self._only}
        return Native(tools, betas=(_BETA,), body_lists={"mcp_servers": (server,)})

    # — from here —

    async def _load_local_tools(self) -> list[AnyTool]:
        """Return the server's tools, called from here and with approval; connect at first.

        The connection is stored for later calls. Raises as `load_remote`, and as the server's `get_tools`.
        """
        if self._server is None:
            self._server = load_remote(
                "mcp-server",
                self.url,
                name=self.server_name,
                trust=bool(self._approve or self._trusted_tools) or self._needs_no_approval,
                headers=self._build_headers(),
                only=self._only,
            )
        tools: list[AnyTool] = await self._server.get_tools()
        return [self._with_approval(tool) for tool in tools]

    def _build_headers(self) -> dict[str, str] | None:
        """Return the headers of requests from here; None for none."""
        headers: dict[str, str] = dict(self._openai_fields.get("headers") or {})
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers or None

    def _with_approval(self, tool: AnyTool) -> AnyTool:
        """Return a copy of a tool with a foreign server's effects; its calls need approval unless it is trusted."""
        if get_mcp_name(tool) in self._trusted_tools:
            return replace(tool, effects=_EFFECTS)
        steps = tool.steps if self._approve is None else (self._approve_call, *tool.steps)
        asks = True if self._trusted_tools and self._approve is None else None
        approval = join_approvals(tool.approval, asks)
        return replace(tool, effects=_EFFECTS, steps=steps, approval=approval)

    async def _approve_call(
        self, prepared: Prepared, context: ToolContext, proceed: Proceed
    ) -> object:
        """Run a call if the function approves it.

        Raises:
            Denied: the function does not approve, or it failed.
        """
        name = get_mcp_name(prepared.tool)
        answer = await self._call_approve(name, dict(prepared.arguments), context)
        if answer["approve"] is not True:
            raise Denied(f"The call of {prepared.tool.name!r} was not approved: {answer['reason']}")
        return await proceed(prepared)

    _approve_call.step_timeout = None  # type: ignore[attr-defined]  # a person may be asked

    async def _call_approve(
        self, name: str, arguments: Mapping[str, Any] | None, context: ToolContext
    ) -> dict[str, object]:
        """Return the approval function's decision; anything but a clear yes means no. What it raises is logged."""
        assert self._approve is not None
        if arguments is None:
            return {"approve": False, "reason": "the arguments are no JSON object"}
        try:
            answer = await ask_person(self._approve, name, arguments, context, name="approve=")
        except Exception as error:
            log.exception("the approval function of %s failed", self.server_name)
            why = f"the approval function failed ({type(error).__name__})"
            return {"approve": False, "reason": why}
        decision = answer if isinstance(answer, Mapping) else {}
        if decision.get("approve") is True:
            return {"approve": True}
        return {"approve": False, "reason": str(decision.get("reason") or "no reason was given")}


def get_mcp_name(tool: AnyTool) -> str:
    """Return a tool's name on its MCP server, or its own if it is of none."""
    known = tool.metadata.get("mcp")
    return str(known.get("tool") if isinstance(known, Mapping) else tool.name)


def _parse_arguments(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Parse the arguments of a call that needs approval: {} if there are none, None if they are not a JSON object."""
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    return {} if arguments is None else arguments if isinstance(arguments, Mapping) else None
