"""``toolkeel inspect``: the inspector as a web application on this machine (ASGI), and its server."""

from __future__ import annotations

import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolkeel.agent.agent import Agent
from toolkeel.errors import SetupError
from toolkeel.mcp.server.keep_alive import BACKLOG, BoundedConnection
from toolkeel.sessions.approval_queue import ApprovalQueue
from toolkeel.sessions.errors import SessionError, SessionUnavailable
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.evals.report import reports_folder
from toolkeel_studio.inspector.access_guard import Guard
from toolkeel_studio.inspector.desk_pages import DeskPages, DurablePages
from toolkeel_studio.inspector.eval_pages import EvalPages
from toolkeel_studio.inspector.runs import DurableAccess, Runs
from toolkeel_studio.inspector.server_pages import ServerPages
from toolkeel_studio.inspector.session_pages import SessionPages
from toolkeel_studio.inspector.site import LANGUAGES, show_page
from toolkeel_studio.inspector.stats_pages import StatsPages
from toolkeel_studio.inspector.tool_pages import ToolPages

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import Runs as DurableRuns

ADDRESS = "127.0.0.1"
KINDS = {"style.css": "text/css", "live.js": "text/javascript", "mark.svg": "image/svg+xml"}


class Inspector:
    """The inspector of an agent's tools and sessions, served on loopback only.

    Args:
        agent: The agent whose tools are shown and that answers messages.
        sessions: Store of the sessions.
        target: The tools as named on the command line, for commands to copy.
        port: Port to listen on; 0 picks a free one.
        token: Secret that each request must bring; random by default.
        audit: Log file of a gateway, whose last calls are shown.
        desk: Approval queue of other programs, such as a gateway.
        events: Files of `JsonLines`, whose stats are shown beside those of the sessions.
        find_durable: Opens durable runs of the sessions, once there are some, for their page, and for
            workers to resume what is decided; without it there is no such page.

    Attributes:
        url: URL to open, with a one-time secret.
        token: The secret.

    Raises:
        SetupError: The port is in use.
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        sessions: Sessions,
        *,
        target: str = "TARGET",
        port: int = 0,
        token: str = "",
        audit: Path | None = None,
        desk: ApprovalQueue | None = None,
        events: Sequence[Path] = (),
        find_durable: Callable[[], DurableRuns | None] | None = None,
    ) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._socket = _listening(port)
        self._port: int = self._socket.getsockname()[1]
        durable = self._durable = None if find_durable is None else DurableAccess(find_durable)
        self._runs = Runs(agent, sessions, durable)
        tools = ToolPages(self._runs, target, f"http://{ADDRESS}:{self._port}")
        servers = ServerPages(agent.tools, audit)
        desks = DeskPages(self._runs, desk)
        stats = StatsPages(sessions, events)
        pages = _Pages(
            tools, SessionPages(self._runs), servers, desks, stats, DurablePages(durable)
        )
        self.app = _application(pages, self._lifespan)
        self.app.state.has_durable = durable is not None
        self._guard = Guard(self.app, self._port, self.token)
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """URL to open, with a one-time secret."""
        return f"http://{ADDRESS}:{self._port}/login?key={self._guard.once}"

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await self._runs.close()
        if self._durable is not None:
            self._durable.close()

    async def serve(self, ready: Callable[[], object] = bool) -> None:
        """Serve until `stop`, or until the process is interrupted.

        Args:
            ready: Called once when the server accepts requests.
        """
        config = uvicorn.Config(
            self._guard,
            ws="none",
            http=BoundedConnection,
            backlog=BACKLOG,
            log_level="warning",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self._server = _Server(config, ready)
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Stop serving, from any thread; active runs are cancelled and can be resumed."""
        if self._server is not None:
            self._server.should_exit = True


class _Server(uvicorn.Server):
    """A server that reports when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and call `ready`."""
        await super().startup(sockets)
        self._ready()


def _listening(port: int) -> socket.socket:
    """Open a socket on the loopback address; a name could resolve to another address."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except OSError as error:
        made.close()
        raise SetupError(f"cannot listen on {ADDRESS}:{port}: {error.strerror}") from None
    return made


class _Pages(NamedTuple):
    tools: ToolPages
    sessions: SessionPages
    servers: ServerPages
    desks: DeskPages
    stats: StatsPages
    durable: DurablePages


def _application(
    pages: _Pages, lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]]
) -> Starlette:
    tools, sessions, servers, desks, stats, durable = pages
    name, evals = "{name:path}", EvalPages(reports_folder)
    made = Starlette(
        routes=[
            Route("/", _home),
            Route("/alive", _alive),
            Route("/language/{tongue}", _language),
            Route("/static/{name}", _static),
            Route("/tools", tools.list),
            Route(f"/tools/{name}", tools.show, methods=["GET"]),
            Route(f"/tools/{name}", tools.call, methods=["POST"]),
            Route("/sessions", sessions.list, methods=["GET"]),
            Route("/sessions", sessions.begin, methods=["POST"]),
            Route(f"/sessions/{name}", sessions.show, methods=["GET"]),
            Route(f"/sessions/{name}", sessions.act, methods=["POST"]),
            Route(f"/events/{name}", sessions.events),
            Route(f"/export/{name}", sessions.export),
            Route("/approvals", desks.show, methods=["GET"]),
            Route("/approvals", desks.decide, methods=["POST"]),
            Route("/compare", sessions.compare),
            Route("/evals", evals.show_all),
            Route(f"/evals/{name}", evals.show),
            Route("/servers", servers.show),
            Route("/stats", stats.show),
            Route("/durable", durable.show, methods=["GET"]),
            Route("/durable", durable.act, methods=["POST"]),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _problem, SessionError: _problem, 500: _problem},
    )
    made.state.count_waiting = desks.waiting
    return made


async def _home(request: Request) -> Response:
    return RedirectResponse("/tools", 303)


async def _alive(request: Request) -> Response:
    """Answer the heartbeat of an open page."""
    return Response(status_code=204)


async def _language(request: Request) -> Response:
    """Set the language and redirect to the previous page."""
    to = request.query_params.get("to", "/") if _is_here(request) else "/"
    answer = RedirectResponse(to, 303)
    tongue = request.path_params["tongue"]
    if tongue in LANGUAGES:
        answer.set_cookie("toolkeel_language", tongue, httponly=True, samesite="strict")
    return answer


def _is_here(request: Request) -> bool:
    """Return True if the redirect target is a path of this server."""
    to = request.query_params.get("to", "")
    return to.startswith("/") and not to.startswith(("//", "/\\"))


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in KINDS:
        raise HTTPException(404)
    data = (files("toolkeel_studio.inspector") / "static" / name).read_bytes()
    return Response(data, media_type=KINDS[name])


async def _problem(request: Request, error: Exception) -> Response:
    problem = str(error) if isinstance(error, SessionError) else ""
    code = 409 if problem else getattr(error, "status_code", 500)
    code = 503 if isinstance(error, SessionUnavailable) else code
    return await show_page("problem.html", request, code, code=code, told=problem)
