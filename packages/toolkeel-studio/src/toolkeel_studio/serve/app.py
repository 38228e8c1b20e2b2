"""Front ends as one web application.

It runs in any web server, and can be mounted in FastAPI or Starlette::

outer.mount("/chat", app(agent, protocols=["vercel"], sessions="talk.db", user=user_of))
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.recorder import RESUMABLE
from toolkeel.agent.agent import Agent
from toolkeel.errors import SetupError, describe_error
from toolkeel.sessions.run_from_journal import OnMessage
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.serve.channel import Channels
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.guard import LOCAL, MAX_BODY, BodyTooLarge, Guard
from toolkeel_studio.serve.json_responses import JsonResponse
from toolkeel_studio.serve.service import Deciders, Protocol, Service, UserOf, mask_error

log = logging.getLogger("toolkeel")
PROTOCOLS: Final[dict[str, str]] = {
    "agui": "toolkeel_studio.serve.agui.routes:agui_routes",
    "openai": "toolkeel_studio.serve.openai_api.routes:openai_routes",
    "vercel": "toolkeel_studio.serve.vercel.routes:vercel_routes",
}
"""The front ends by name; each is imported when it is used."""
NO_DECIDERS: Final = (
    "app(deciders=...): calls of this agent can wait for approval; say who may decide them: "
    "'user', 'operator', or a function of the user's name and the ticket"
)
NO_LIFESPAN: Final = (
    "nothing tells the application of front ends when the server ends, so its runs are cancelled then "
    "instead of being left to continue: give the outer application its lifespan, as in "
    "FastAPI(lifespan=chat.router.lifespan_context)"
)
EXTRAS: Final = frozenset({"agui"})
"""Front ends with an extra of their own."""


def app(
    agent: Agent[Any, Any],
    *,
    protocols: Iterable[str | Protocol] = ("vercel",),
    sessions: Sessions | str | Path,
    user: UserOf | None = None,
    deciders: Deciders | None = None,
    deps: Callable[[str], object] | None = None,
    options: Mapping[str, Any] | None = None,
    token: str = "",
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    max_body: int = MAX_BODY,
    on_disconnect: Literal["continue", "cancel"] = "continue",
    on_message: OnMessage = "queue",
    drain: float = 0.0,
) -> FrontEnds:
    """Return an agent as a web application for front ends.

    Args:
        agent: Answers.
        protocols: Which front ends, by name.
        sessions: Their file, or `Sessions`.
        user: Returns the user's name for a request: the scope of the sessions. Without it everybody
            who can send a request shares all sessions.
        deciders: Who may decide calls that wait: ``"user"``, ``"operator"`` or a function of the
            user's name and the ticket. No default: nobody approves their own refund by oversight.
        deps: Makes the object for the agent's tools, from the user's name.
        options: Further options of each run; see `Agent.run`.
        token: Bearer token that each request must carry; empty for none.
        allowed_hosts: Host headers to accept besides those of this machine; ``*`` is any part.
        allowed_origins: Origins of other pages that may call, such as ``https://example.org``.
        max_body: Bytes of a request's body.
        on_disconnect: What a lost connection does to the run.
        on_message: What a message of a page does while a call waits; see `Sessions.open`.
        drain: Seconds for runs to end when the server stops; then they are left, to be continued.

    Raises:
        SetupError: calls can wait and nobody may decide them, or a protocol is unknown.
    """
    if deciders is None and _can_wait(agent):
        raise SetupError(NO_DECIDERS)
    if isinstance(allowed_origins, str) or "*" in (origins := tuple(allowed_origins)):
        raise SetupError("app(allowed_origins=...): name each origin; '*' would let any page call")
    opened = sessions if isinstance(sessions, Sessions) else Sessions(sessions)
    channels = Channels(agent, opened, deps=deps, options=options, on_message=on_message)
    service = Service(channels, user, deciders, on_disconnect)
    routes = [route for each in protocols for route in _find_protocol(each)(service)]
    limits = {"token": token, "hosts": (*LOCAL, *allowed_hosts), "max_body": max_body}
    return _build(channels, routes, limits, origins, drain)


def _build(
    channels: Channels,
    routes: list[BaseRoute],
    limits: Mapping[str, Any],
    origins: tuple[str, ...],
    drain: float,
) -> FrontEnds:
    """Return the application of some routes, behind a `Guard` with these limits."""
    guard = Middleware(Guard, origins=origins, **limits)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "last-event-id"],
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        made.is_told = True
        yield
        since = monotonic() - made.stopped if made.stopped else 0.0
        await channels.close(grace=max(drain - since, 0.0))

    made = FrontEnds(
        routes=routes,
        middleware=[guard, *([cors] if origins else [])],
        exception_handlers={ChannelError: _refuse, BodyTooLarge: _too_large, Exception: _fail},
        lifespan=lifespan,
    )
    made.state.channels = channels
    return made


class FrontEnds(Starlette):
    """An application that warns once if nobody tells it when the server ends.

    Attributes:
        is_told: True if its lifespan was used, or the warning was given.
        stopped: Monotonic time at which the server stopped accepting, from which on the seconds of
            ``drain`` count; 0 if unknown: then they count from the end of its lifespan.
    """

    is_told = False
    stopped = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self.is_told:
            self.is_told = True
            log.warning(NO_LIFESPAN)
        await super().__call__(scope, receive, send)


def _find_protocol(named: str | Protocol) -> Protocol:
    if callable(named):
        return named
    if named not in PROTOCOLS:
        known = ", ".join(sorted(PROTOCOLS))
        raise SetupError(f"app(protocols=...): there is no protocol {named!r}; known are {known}")
    module, _, name = PROTOCOLS[named].partition(":")
    with needs_extra(f"app(protocols=[{named!r}])", named if named in EXTRAS else "serve"):
        made: Protocol = getattr(importlib.import_module(module), name)
    return made


def _can_wait(agent: Agent[Any, Any]) -> bool:
    """Return True if a call of the agent may wait for approval, as far as can be known before it runs."""
    tools = agent.tools
    return (
        agent.has_tool_sources
        or tools.rules is not None
        or any(tools[name].approval or RESUMABLE in tools[name].metadata for name in tools.names)
    )


def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, ChannelError)
    return JsonResponse({"error": str(error)}, error.status)


def _too_large(_: Request, error: Exception) -> Response:
    return JsonResponse({"error": "the body is too large"}, 413)


def _fail(_: Request, error: Exception) -> Response:
    return JsonResponse({"error": mask_error(describe_error(error))}, 500)
