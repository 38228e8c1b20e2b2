"""``toolkeel serve --as``: an agent of a file for front ends, at an address of this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Literal, cast, get_args

import uvicorn

from toolkeel.agent.agent import Agent
from toolkeel.builtin.tools_by_place import resolve_module
from toolkeel.builtin.tools_in_module import list_public
from toolkeel.mcp.server.keep_alive import web_config
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.serve.app import PROTOCOLS, FrontEnds, app

Decider = Literal["user", "operator"]


def serve_front_ends(
    target: str,
    protocols: str,
    place: tuple[str, int],
    access: tuple[str, Sequence[str], Sequence[str]],
    sessions: tuple[Path | None, str],
    drain: int,
) -> None:
    """Serve an agent for front ends until stopped.

    Args:
        target: Where the agent is: a file or module, or an agent in it.
        protocols: Names of the front ends, with commas between them.
        place: Host and port.
        access: Bearer token, further host names, and origins of other pages.
        sessions: The file of the sessions, and who may decide calls that wait.
        drain: Seconds to wait for streams and runs at the end.

    Raises:
        UsageProblem: there is no agent, or no such front end.
    """
    names = [name.strip() for name in protocols.split(",") if name.strip()]
    if unknown := [name for name in names if name not in PROTOCOLS]:
        known = ", ".join(PROTOCOLS)
        raise UsageProblem(f"--as takes names out of {known}, not {', '.join(unknown)}")
    (token, hosts, origins), (file, decider), (host, port) = access, sessions, place
    if not (token or is_loopback(host)):
        raise UsageProblem(f"other machines can reach {host}: give --token, or 127.0.0.1 to --http")
    if decider and decider not in get_args(Decider):
        raise UsageProblem(f"--deciders takes user or operator, not {decider!r}")
    made = app(
        find_agent(target),
        protocols=names,
        sessions=Sessions(file),
        deciders=cast(Decider, decider) if decider else None,
        token=token,
        allowed_hosts=[*hosts, host],
        allowed_origins=origins,
        drain=drain,
    )
    asyncio.run(_Server(web_config(lambda: made, host, port, drain), made).serve())


class _Server(uvicorn.Server):
    """A web server whose streams and runs have the same seconds to end, not one after the other.

    Args:
        config: Its configuration.
        app: The application.
    """

    def __init__(self, config: uvicorn.Config, app: FrontEnds) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as uvicorn does; the time of the runs starts now, as that of the streams."""
        self._app.stopped = monotonic()
        await super().shutdown(sockets)


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def find_agent(target: str) -> Agent:
    """Return the agent of a target.

    Raises:
        UsageProblem: it has none, or several.
    """
    module, value = resolve_module(target)
    if isinstance(value, Agent):
        return value
    public = list_public(module).values() if module is not None and value is None else ()
    found = list({id(each): each for each in public if isinstance(each, Agent)}.values())
    if len(found) != 1:
        how = "holds no agent" if not found else f"holds {len(found)} agents"
        raise UsageProblem(f"{target} {how}; name one: {target}:NAME")
    return found[0]
