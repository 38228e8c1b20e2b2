"""An MCP server as a source of tools for an agent.

::

    files = MCPServer("npx -y @modelcontextprotocol/server-filesystem docs")
    search = MCPServer("https://mcp.example.com/mcp", trust=True)
    agent = Agent("openai:gpt-5", tools=[files, search, my_own_tool])

The server is connected when its tools are first asked for. It serves every run of the program, from
any event loop or thread, until `close` or the program's end; one that was lost is connected again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import NOTHING
from toolkeel.errors import SetupError, ToolError

with needs_extra("An MCP server", "mcp"):
    import mcp_types as types
import httpx2
from mcp.client import ClientRequestContext, InputRequiredRoundsExceededError
from mcp.shared.exceptions import MCPError

from toolkeel.call.body.sync_bridge import on_own_loop, run_sync
from toolkeel.context import ToolContext
from toolkeel.define.names import unique_names
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.mcp.call_span import annotate_span
from toolkeel.mcp.client.connection import Connection, ConnectionOptions
from toolkeel.mcp.client.connections import Connections, RunHeaders
from toolkeel.mcp.client.elicitation import (
    Elicit,
    Elicitation,
    OpenCalls,
    answer_elicitation,
    parse_elicitation,
)
from toolkeel.mcp.client.lost_sessions import MAX_RENEWALS
from toolkeel.mcp.client.mend_responses import Unreachable
from toolkeel.mcp.client.oauth.login import Auth, resolve_auth
from toolkeel.mcp.client.outcome import broken_result, failure_of, unsent_details
from toolkeel.mcp.client.resources_prompts import ServerContents
from toolkeel.mcp.client.sampling_and_roots import Roots, Sample, roots_callback, sampling_callback
from toolkeel.mcp.client.tool import (
    CallFailed,
    ToolCompiler,
    ToolServerPeer,
    Trust,
)
from toolkeel.mcp.config import ServerConfig, find_server, read_config, with_overrides
from toolkeel.mcp.consent import Prompter, check_consent
from toolkeel.mcp.hidden_text import HiddenCharacters
from toolkeel.mcp.page_links import is_for_models
from toolkeel.mcp.pins import Pin, Pins, make_pin
from toolkeel.mcp.transforms import Transforms, parse_transforms

TIMEOUT = 30.0
CONNECT_TIMEOUT = 60.0
_DAY_SECONDS = 24 * 3600.0

log = logging.getLogger("toolkeel.mcp")
Caller: TypeAlias = tuple[asyncio.AbstractEventLoop, ToolContext[Any]]
_caller: ContextVar[Caller | None] = ContextVar("toolkeel_mcp_caller", default=None)
_OWNER = "mcp owner"
"""Under which the notes that a run shares with all around and within it say which these are."""


@checked
class MCPServer(ServerContents):
    """A server of the Model Context Protocol; pass it to an agent like a tool.

    Args:
        source: The command that starts it, as one line or a list of words; its ``http(s)``
            address; or a file ``mcp.json`` with one server in it, ``mcp.json:name`` for one of
            several.
        name: Its name for people, and the prefix of tool names that two servers share.
        trust: False: a person is asked about every call, until they extend an approval to the server
            for the run (``ticket.approve("server")``). ``"pinned"``: until they have approved a
            tool's definition once. True: never, and what the server says of its tools' effects is
            believed. A changed definition is asked about in any case.
        results: ``"ours"`` if no stranger writes what its results say, as with a calculator or a
            store of your own; else they count as private and as a stranger's text.
        effects: What its tools do, by their names or patterns such as ``search_*``, whatever the
            server says.
        pins: A file that keeps the approved definitions; without one they hold as long as this
            object.
        only: Names of the tools to take; all by default.
        transform: What changes of its tools, by the server's own names; see `toolkeel.mcp.transforms`.
        headers: Sent with every request to an address; or a function of the run that returns them, so
            that each set of headers has a connection of its own.
        env: Variables a command finds besides ``PATH``, ``HOME`` and their like.
        cwd: The folder a command is started in.
        auth: ``"oauth"`` for a login in the browser, `OAuth` to say more, or any
            `httpx2.Auth`.
        http_client: Client that sends requests to an address, with its proxies and certificates
            (``httpx2.AsyncClient(verify=context)``); it is used on a loop of the library's own,
            and stays open.
        elicit: Answers what the server asks a person in the middle of a call; the run's approver
            by default. False: it may not ask.
        sample: Answers what the server asks the program's model; without it, it may not ask.
        roots: Folders the server is told it may work in, or a function that gives them.
        resources: True if models get its resources and prompts, too, as tools.
        timeout: Seconds of one call or another request, once connected; None for no limit. A value
            in the file counts if this is not passed.
        connect_timeout: Seconds to connect, handshake included; likewise.
        consent: Agrees to start what a file names; see `toolkeel.mcp.consent`.
        required: False if a run goes on without its tools when it cannot be used; a warning says so.

    Raises:
        SetupError: `source` names no server, or nobody has agreed to start it.
    """

    tools_timeout = None  # its requests have timeouts of their own
    trust: Trust
    _revision: str | None = None

    def __init__(
        self,
        source: str | Path | Sequence[str] | ServerConfig,
        *,
        name: str | None = None,
        trust: Trust = False,
        results: Literal["ours"] | None = None,
        effects: Mapping[str, Effects] = NOTHING,  # type: ignore[assignment]
        pins: str | Path | Pins | None = None,
        only: Sequence[str] | None = None,
        transform: Transforms = NOTHING,  # type: ignore[assignment]
        headers: Mapping[str, str] | RunHeaders | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        auth: Auth = None,
        http_client: httpx2.AsyncClient | None = None,
        elicit: Elicit | bool = True,
        sample: Sample | None = None,
        roots: Roots | None = None,
        resources: bool = False,
        timeout: float | None = TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
        consent: Prompter | bool | None = None,
        required: bool = True,
    ) -> None:
        fixed = None if callable(headers) else headers
        config = check_consent(with_overrides(find_server(source, name), fixed, env, cwd), consent)
        self.config, self.name, self.required = config, config.name, required
        self._declared = dict(effects), results == "ours"
        self.pins = pins if isinstance(pins, Pins) else Pins(pins)
        self._compiler = ToolCompiler(config.name)
        self._transforms = {**config.transforms, **parse_transforms("transform=", transform)}
        self._only = None if only is None else frozenset(only)
        self._timeout = timeout = (config.timeout if timeout == TIMEOUT else None) or timeout
        default = config.connect_timeout if connect_timeout == CONNECT_TIMEOUT else None
        self._elicit, self._resources, self.trust = elicit, resources, trust
        self._options = ConnectionOptions(
            config,
            resolve_auth(auth, config),
            self._answer_elicitation if elicit else None,
            timeout,
            default or connect_timeout,
            sampling_callback(config.name, sample),
            roots_callback(roots),
            http_client,
        )
        self._connections = Connections(self._options, headers if callable(headers) else None)
        self._calls: OpenCalls[Caller] = OpenCalls()

    def __repr__(self) -> str:
        return f"MCPServer({self.config.identity!r}, name={self.name!r})"

    @property
    def problems(self) -> dict[str, str]:
        """What was wrong with tools of the last listing, by name.

        Nearly always the tool is there, and less is checked; one that cannot be used is "left out".
        """
        return self._compiler.problems

    @property
    def hidden(self) -> dict[str, tuple[HiddenCharacters, ...]]:
        """Characters nobody sees, taken out of the definitions of the last listing."""
        return self._compiler.hidden

    @property
    def prefix(self) -> str:
        """The prefix for tool names that another source uses, too."""
        return f"{self.name}_"

    # — a tool source —

    async def get_tools(self) -> list[AnyTool]:
        """Return the server's tools, listed anew; connect if there is no connection.

        Those that its file excludes, or that only pages may call, are left out.

        Raises:
            SetupError: the server cannot be reached, or lacks a tool of `only` or `transform`.
        """
        connection, listed = await self._call_server(self._list)
        if missing := sorted({*(self._only or ()), *self._transforms} - listed.keys()):
            raise SetupError(
                f"the MCP server {self.name!r} has no tool {missing[0]!r}; there is "
                f"{', '.join(listed) or 'none'}"
            )
        how = self._current_pin, self._send, self._timeout
        known = self.name, self.config.identity, self.trust, self.pins
        peer = ToolServerPeer(*known, *how, *self._declared)
        self._compiler.start(connection.sift.problems, len(listed))
        shown = {name: self._transforms.get(name, {}).get("name", name) for name in listed}
        names = unique_names(shown.values())
        made = [
            self._compiler.compile(
                peer, tool, names[shown[tool.name]], self._transforms.get(tool.name)
            )
            for tool in listed.values()
            if (self._only is None or tool.name in self._only)
            and is_for_models(tool)
            and self.config.allows_tool(tool.name)
        ]
        made += self.content_tools(peer) if self._resources else ()
        return [tool for tool in made if tool is not None]

    async def _list(self, connection: Connection) -> tuple[Connection, dict[str, types.Tool]]:
        """Return the connection, and the server's tools by its names, requested again unless still valid."""
        return connection, await connection.tools(fresh=True)

    def tools(self) -> list[AnyTool]:
        """Return what `get_tools` does, for synchronous code; it raises the same."""
        return run_sync(self.get_tools)

    async def definitions(self) -> dict[str, Pin]:
        """Return the pin of every tool's current definition, by the server's own name; nothing is stored.

        Raises:
            SetupError: the server cannot be reached.
        """
        _, listed = await self._call_server(self._list)
        return {name: self._pin(tool) for name, tool in listed.items()}

    def _pin(self, tool: types.Tool) -> Pin:
        """Return the pin of a definition."""
        raw = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        return make_pin(self.config.identity, raw)

    async def _current_pin(self, tool: str) -> Pin | None:
        """Return the pin of a tool as the server last listed it; None if the tool is not listed.

        Uses the cached list of a live connection. Connects and lists the tools only if there is no
        such list.

        Args:
            tool: The server's own name of the tool.

        Raises:
            ToolError: the server cannot be reached.
        """
        try:
            connection = await self._connections.find()
            listed = connection.known_tools if connection is not None else None
            if listed is None:
                listed = await self._use_connection(lambda connection: connection.tools())
        except (Unreachable, SetupError) as error:
            details = unsent_details(error, tool, self.config.identity)
            raise ToolError(f"{error}; so the call was not sent.", details) from error
        return self._pin(listed[tool]) if tool in listed else None

    # — calling —

    async def _send(
        self, tool: str, arguments: dict[str, Any], context: ToolContext[Any]
    ) -> types.CallToolResult:
        """Call a tool, from any event loop, and annotate the current span; raise CallFailed without a result."""
        caller = (asyncio.get_running_loop(), context)
        token = _caller.set(caller)
        try:
            with self._calls.open(
                context.run.scope.step_state.setdefault(_OWNER, object()), caller
            ):
                return await on_own_loop(lambda: self._call(tool, arguments, context))
        finally:
            annotate_span(self.config, self._revision)
            _caller.reset(token)

    async def _call(
        self, tool: str, arguments: dict[str, Any], context: ToolContext[Any]
    ) -> types.CallToolResult:
        """Call a tool, again if a lost session surely did not run it; raise CallFailed if there is no result."""

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            """Report the server's progress as the call's."""
            context.progress(message or "", progress, total)

        for renewals in range(MAX_RENEWALS + 1):
            try:
                connection = await self._get_connection()
                client, sift = await connection.client(), connection.sift
            except (Unreachable, SetupError) as error:
                text = f"{error}. The call was not sent."
                raise CallFailed(
                    "tool_error", text, **unsent_details(error, tool, self.config.identity)
                ) from error
            rounds, self._revision = sift.rounds, connection.revision
            try:
                with context.working_remotely(), connection.in_use(client):
                    # The call has its own deadline, which stands still while a person is asked.
                    return await client.call_tool(
                        tool, arguments, _DAY_SECONDS, progress_callback=progressed
                    )
            except MCPError as error:
                first = sift.rounds == rounds
                did_nothing = await connection.renew_after(error, client)
                if not (first and did_nothing) or renewals == MAX_RENEWALS:
                    raise failure_of(error, tool, self.name, first) from error
            except (InputRequiredRoundsExceededError, ValueError) as error:
                raise broken_result(error, self.name) from error
        raise AssertionError

    # — what the server asks —

    async def _answer_elicitation(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Ask a person, on the loop of the call that caused the question; log if several runs may have."""
        elicitation = parse_elicitation(self.name, params)
        caller = self._calls.find_owner_call(_caller.get())
        if callable(self._elicit):  # which answers for all runs
            caller = caller or self._calls.newest()
        if caller is None:
            if self._calls:
                log.warning("%s asks, and several runs call it: nobody can be asked", self.name)
            return await self._ask_person(elicitation, None)
        loop, running = caller
        work = asyncio.run_coroutine_threadsafe(self._ask_person(elicitation, running), loop)
        return await asyncio.wrap_future(work)

    async def _ask_person(
        self, elicitation: Elicitation, context: ToolContext[Any] | None
    ) -> types.ElicitResult:
        """Answer a server's question by the option `elicit`, else by the call's run; the call's deadline pauses meanwhile.

        Without a call, only `elicit` can answer.
        """
        elicit = self._elicit if callable(self._elicit) else None
        with context.pause_deadline() if context is not None else nullcontext():
            return await answer_elicitation(elicitation, elicit, context)

    # — the connection —

    async def _get_connection(self) -> Connection:
        """Return the current run's connection. Call it only on the library's own loop."""
        return await self._connections.current()

    async def connect(self) -> None:
        """Connect now rather than on first use.

        Raises:
            SetupError: the server cannot be reached.
        """
        await self._call_server(lambda connection: connection.client())

    async def close(self) -> None:
        """Close the connection and end the server's process. The next use opens a new one."""
        await self._connections.close()

    async def __aenter__(self) -> MCPServer:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@checked
def servers(path: str | Path, **options: Any) -> list[MCPServer]:
    """Return every server of a file, for an agent: ``tools=[*servers("mcp.json")]``.

    A server of it that cannot be used is left out and logged.

    Args:
        path: Of a file as `toolkeel.mcp.config` reads it.
        options: Of `MCPServer`, for all of them.

    Raises:
        SetupError: the file is wrong, or nobody has agreed to one of them.
    """
    return [MCPServer(config, **options) for config in read_config(path).values()]
