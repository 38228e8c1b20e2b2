"""An MCP server as a provider of tools.

::

    files = MCPServer("npx -y @modelcontextprotocol/server-filesystem docs")
    search = MCPServer("https://mcp.example.com/mcp", trust=True)
    agent = Agent("openai:gpt-5", tools=[files, search, my_own_tool])

The server is connected when its tools are first asked for. It serves every run of the program, from
any event loop or thread, until `close` or the program's end; one that was lost is connected again.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from toolwright.errors import DefinitionError, MissingExtraError, SetupError, ToolError

try:
    import mcp_types as types
except ImportError as error:
    raise MissingExtraError("An MCP server", "mcp") from error
from mcp.client import ClientRequestContext, InputRequiredRoundsExceededError
from mcp.shared.exceptions import MCPError

from toolwright.call.bridge import on_own_loop, run_sync
from toolwright.context import ToolContext
from toolwright.define.tool import AnyTool
from toolwright.mcp.client_auth import Auth, provider
from toolwright.mcp.client_elicit import Elicit, Elicitation, answered, elicitation_of
from toolwright.mcp.client_http import LOST, NOT_SENT
from toolwright.mcp.client_link import Link, LinkOptions, Unreachable
from toolwright.mcp.client_tool import Failed, Peer, Trust, tool_of
from toolwright.mcp.config import ServerConfig, find_server, read_config, with_more
from toolwright.mcp.consent import Asker, check_consent
from toolwright.mcp.hidden import Hidden
from toolwright.mcp.pins import Pin, Pins, pin_of

TIMEOUT = 30.0
CONNECT_TIMEOUT = 60.0
_DAY = 24 * 3600.0

log = logging.getLogger("toolwright.mcp")
_caller: ContextVar[tuple[asyncio.AbstractEventLoop, ToolContext[Any]] | None] = ContextVar(
    "toolwright_mcp_caller", default=None
)


class MCPServer:
    """A server of the Model Context Protocol: give it to an agent as you give a tool.

    Args:
        source: The command that starts it, as one line or a list of words; its ``http(s)``
            address; or a file ``mcp.json`` with one server in it, ``mcp.json:name`` for one of
            several.
        name: What people call it, and what is put before names that two servers share.
        trust: False: a person is asked about every call. ``"pinned"``: until they have approved a
            tool's definition once. True: never, and what the server says of its tools' effects is
            believed. A changed definition is asked about in any case.
        pins: A file that keeps the approved definitions; without one they hold as long as this
            object.
        only: Names of the tools to take; all by default.
        headers: Sent with every request to an address.
        env: Variables a command finds besides ``PATH``, ``HOME`` and their like.
        cwd: The folder a command is started in.
        auth: ``"oauth"`` for a login in the browser, `OAuth` to say more, or any
            `httpx2.Auth`.
        elicit: Answers what the server asks a person in the middle of a call; the run's approver
            by default. False: it may not ask.
        timeout: Seconds of one call; None for ever.
        connect_timeout: Seconds until the server must have answered first.
        consent: Agrees to start what a file names; see `toolwright.mcp.consent`.

    Attributes:
        problems: What was wrong with tools of the last listing, by name; those that cannot be
            used were left out.
        hidden: Characters nobody sees, taken out of the definitions of the last listing.

    Raises:
        SetupError: `source` names no server, or nobody has agreed to start it.
    """

    def __init__(
        self,
        source: str | Path | Sequence[str] | ServerConfig,
        *,
        name: str | None = None,
        trust: Trust = False,
        pins: str | Path | Pins | None = None,
        only: Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        auth: Auth = None,
        elicit: Elicit | bool = True,
        timeout: float | None = TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
        consent: Asker | bool | None = None,
    ) -> None:
        config = with_more(find_server(source, name), headers, env, cwd)
        check_consent(config, consent)
        self.config = config
        self.trust: Trust = trust
        self.pins = pins if isinstance(pins, Pins) else Pins(pins)
        self.problems: dict[str, str] = {}
        self.hidden: dict[str, tuple[Hidden, ...]] = {}
        self._only = None if only is None else frozenset(only)
        self._elicit = elicit
        self._timeout = timeout
        self._options = LinkOptions(
            config,
            provider(auth, config),
            self._asked if elicit else None,
            timeout,
            connect_timeout,
        )
        self._link: Link | None = None
        self._running: dict[object, tuple[asyncio.AbstractEventLoop, ToolContext[Any]]] = {}
        _open_servers.add(self)

    def __repr__(self) -> str:
        return f"MCPServer({self.config.identity!r}, name={self.name!r})"

    @property
    def name(self) -> str:
        """What people call it."""
        return self.config.name

    @property
    def prefix(self) -> str:
        """What is put before names that another source of tools has, too."""
        return f"{self.name}_"

    # — a provider of tools —

    async def get_tools(self) -> list[AnyTool]:
        """The server's tools, asked for anew; connects if need be.

        Raises:
            SetupError: the server cannot be reached, or `only` names a tool it does not have.
        """
        try:
            listed = await on_own_loop(lambda: self._home().tools(fresh=True))
        except Unreachable as error:
            raise SetupError(str(error)) from error
        if missing := sorted((self._only or frozenset()) - listed.keys()):
            raise SetupError(
                f"the MCP server {self.name!r} has no tool {missing[0]!r}; there is "
                f"{', '.join(listed) or 'none'}"
            )
        peer = Peer(
            self.name,
            self.config.identity,
            self.trust,
            self.pins,
            self._current,
            self._send,
            self._timeout,
        )
        self.problems, self.hidden = {}, {}
        made = [
            self._made(peer, tool)
            for tool in listed.values()
            if self._only is None or tool.name in self._only
        ]
        return [tool for tool in made if tool is not None]

    def _made(self, peer: Peer, listed: types.Tool) -> AnyTool | None:
        try:
            made, hidden = tool_of(peer, listed)
        except (DefinitionError, ValueError) as error:
            self.problems[listed.name] = str(error)
            log.warning("%s: the tool %r is left out: %s", self.name, listed.name, error)
            return None
        if hidden:
            self.hidden[listed.name] = hidden
            found = "; ".join(map(str, hidden))
            log.warning("%s: the tool %r hides characters: %s", self.name, listed.name, found)
        return made

    def tools(self) -> list[AnyTool]:
        """`get_tools` for sync code."""
        return run_sync(self.get_tools)

    async def definitions(self) -> dict[str, Pin]:
        """Every tool's definition as the server has it now, ready to be pinned or compared.

        Raises:
            SetupError: the server cannot be reached.
        """
        try:
            listed = await on_own_loop(lambda: self._home().tools(fresh=True))
        except Unreachable as error:
            raise SetupError(str(error)) from error
        return {name: self._pin(tool) for name, tool in listed.items()}

    def _pin(self, tool: types.Tool) -> Pin:
        raw = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        return pin_of(self.config.identity, raw)

    async def _current(self, tool: str) -> Pin | None:
        """The definition a tool has now; None if it is gone.

        Raises:
            ToolError: the server cannot be reached.
        """
        listed = self._link.known if self._link is not None else None
        if listed is None:
            try:
                listed = await on_own_loop(lambda: self._home().tools())
            except (Unreachable, SetupError) as error:
                raise ToolError(f"{error}. The call was not sent.") from error
        return self._pin(listed[tool]) if tool in listed else None

    # — calling —

    async def _send(
        self, tool: str, arguments: dict[str, Any], context: ToolContext[Any]
    ) -> types.CallToolResult:
        """Call a tool, from whichever loop this is.

        Raises:
            Failed: there is no result.
        """
        caller = (asyncio.get_running_loop(), context)
        token = _caller.set(caller)
        key = object()
        self._running[key] = caller
        try:
            return await on_own_loop(lambda: self._call(tool, arguments, context))
        finally:
            del self._running[key]
            _caller.reset(token)

    async def _call(
        self, tool: str, arguments: dict[str, Any], context: ToolContext[Any]
    ) -> types.CallToolResult:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            context.progress(message or "", progress, total)

        for again in (False, True):
            try:
                client = await self._home().client()
                # The call has a deadline of its own, which stands still while a person is asked.
                return await client.call_tool(tool, arguments, _DAY, progress_callback=progressed)
            except MCPError as error:
                if not again and _was_forgotten(error):
                    await self._home().close()  # it has forgotten us, and did nothing
                    continue
                raise self._failed(error, tool) from error
            except (Unreachable, SetupError) as error:
                raise Failed("tool_error", f"{error}. The call was not sent.") from error
            except InputRequiredRoundsExceededError as error:
                text = (
                    f"The server {self.name} asked again and again for more; the call was given up."
                )
                raise Failed("tool_error", text) from error
            except ValueError as error:
                raise Failed(
                    "invalid_output",
                    f"The server {self.name} sent a result that breaks the protocol. This is a "
                    "fault of the server, not of the call.",
                    error=str(error)[:2000],
                ) from error
        raise AssertionError("a second attempt returns or raises")

    def _failed(self, error: MCPError, tool: str) -> Failed:
        """What becomes of a call that the protocol ended with an error."""
        code, text = error.code, error.message
        details = {"code": code, **({"data": error.data} if error.data is not None else {})}
        if code in (types.CONNECTION_CLOSED, LOST):
            said = f" ({text})" if code == LOST else ""
            return Failed(
                "unknown_outcome",
                f"The connection to the server {self.name} ended while {tool!r} was running{said}. "
                "Whether it took effect is not known: look before you call it again.",
                **details,
            )
        if code == types.REQUEST_TIMEOUT:
            text = f"The server {self.name} did not answer in time. Its work may still take effect."
            return Failed("timeout", text, may_still_be_running=True, **details)
        if code == NOT_SENT:
            return Failed("tool_error", f"{text}. The call was not sent.", **details)
        return Failed("tool_error", f"The server {self.name} refused the call: {text}", **details)

    # — what the server asks —

    async def _asked(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        """Ask a person, on the loop of the call that is the reason."""
        elicitation = elicitation_of(self.name, params)
        caller = _caller.get() or next(reversed(self._running.values()), None)
        if caller is None:
            return await self._answered(elicitation, None)
        loop, running = caller
        work = asyncio.run_coroutine_threadsafe(self._answered(elicitation, running), loop)
        return await asyncio.wrap_future(work)

    async def _answered(
        self, elicitation: Elicitation, context: ToolContext[Any] | None
    ) -> types.ElicitResult:
        elicit = self._elicit if callable(self._elicit) else None
        with context.off_the_clock() if context is not None else nullcontext():
            return await answered(elicitation, elicit, context)

    # — the connection —

    def _home(self) -> Link:
        """The connection; called on the bridge's loop alone."""
        if self._link is None:
            self._link = Link(self._options)
        return self._link

    async def connect(self) -> None:
        """Connect now rather than when the tools are first asked for.

        Raises:
            SetupError: the server cannot be reached.
        """
        try:
            await on_own_loop(lambda: self._home().client())
        except Unreachable as error:
            raise SetupError(str(error)) from error

    async def close(self) -> None:
        """End the connection; the next use makes a new one."""
        if self._link is not None:
            await on_own_loop(self._link.close)

    async def __aenter__(self) -> MCPServer:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_open_servers: weakref.WeakSet[MCPServer] = weakref.WeakSet()


async def _close_all(servers: Sequence[MCPServer]) -> None:
    await asyncio.gather(*(server.close() for server in servers), return_exceptions=True)


def _at_exit() -> None:
    servers = [server for server in _open_servers if server._link is not None]
    if servers:
        with suppress(Exception):
            run_sync(lambda: asyncio.wait_for(_close_all(servers), 10))


atexit.register(_at_exit)


def _was_forgotten(error: MCPError) -> bool:
    return error.code == types.INVALID_REQUEST and error.message == "Session terminated"


def servers(path: str | Path, **options: Any) -> list[MCPServer]:
    """Every server of a file, for an agent: ``tools=[*servers("mcp.json")]``.

    Args:
        path: Of a file as `toolwright.mcp.config` reads it.
        options: Of `MCPServer`, for all of them.

    Raises:
        SetupError: the file is wrong, or nobody has agreed to one of them.
    """
    return [MCPServer(config, **options) for config in read_config(path).values()]
