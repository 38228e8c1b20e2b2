"""The state of a gateway: for the model's host, for people and for programs.

A host reads what is down in the instructions and in a resource. Clients, rules that fired and what
servers wrote to stderr are for people alone: `toolkeel_studio.gateway.status_files`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time
from typing import Any, Protocol

import mcp_types as types

from toolkeel.mcp.client.mend_responses import OUTPUT_FOLLOWS
from toolkeel.mcp.hidden_text import remove_hidden
from toolkeel.mcp.server.multi_round_calls import Request, client_id, client_software
from toolkeel_studio.gateway.upstream import Upstream

STATUS_URI = "toolkeel://gateway/status"
STATUS = types.Resource(
    uri=STATUS_URI,
    name="gateway_status",
    description="The servers behind this gateway: which are ready, starting or down, since when and why.",
    mime_type="application/json",
)
MAX_REASON = 300
"""Most characters of why a server is down that clients receive."""
MAX_COUNTED = 1000
"""Most clients and rules that are counted; others count as one."""
MAX_OUTPUT = 500
"""Characters of what a server that is down wrote to stderr that people are shown."""
MAX_SOFTWARE = 80
"""Characters of the name of a client's software."""


@dataclass
class ClientActivity:
    """What one client has done.

    Attributes:
        software: The program that it says it is.
        calls: Number of its calls of tools.
        last_at: Time of its last request, in seconds of Unix time.
    """

    software: str = ""
    calls: int = 0
    last_at: float = 0.0


class Activity:
    """What clients do, and the rules that fire.

    Attributes:
        clients: Each client, by name; those without a token under an empty name.
        refusals: Refused calls, by reason.
        approvals: Calls that a person was asked about, by reason.
        open_sessions: Returns the number of open sessions and streams of each client.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ClientActivity] = {}
        self.refusals: Counter[str] = Counter()
        self.approvals: Counter[str] = Counter()
        self.open_sessions: Callable[[], Mapping[str, int]] = dict

    def record_request(self, request: Request) -> None:
        """Record a request of a client."""
        known = self.client(client_id(request))
        known.software = remove_hidden(client_software(request))[0][:MAX_SOFTWARE] or known.software
        known.calls, known.last_at = known.calls + (request.method == "tools/call"), time()

    def client(self, name: str) -> ClientActivity:
        """Return what a client has done; it is added if it is new."""
        return self.clients.setdefault(_bounded_key(self.clients, name), ClientActivity())

    def count_refusal(self, why: str) -> None:
        """Count a refused call."""
        _count(self.refusals, why.partition(" The next is possible in ")[0])

    def count_approval(self, why: str) -> None:
        """Count a call that a person is asked about."""
        _count(self.approvals, why)


def _count(counter: Counter[str], why: str) -> None:
    counter[_bounded_key(counter, why.split("\n", 1)[0][:MAX_REASON])] += 1


def _bounded_key(known: Mapping[str, object], key: str) -> str:
    """Return the key, or that of all others if there are too many."""
    return key if key in known or len(known) < MAX_COUNTED else "(others)"


class RunningGateway(Protocol):
    """The parts of a gateway that its state is read from."""

    @property
    def servers(self) -> Mapping[str, Upstream]:
        """The servers, by name."""
        ...

    @property
    def activity(self) -> Activity:
        """What clients do."""
        ...


def server_state(server: Upstream) -> dict[str, Any]:
    """Return the state of a server, as JSON, with nothing that it wrote to stderr."""
    state = "down" if server.problem else "ready" if server.listed.is_set() else "starting"
    shown: dict[str, Any] = {
        "server": server.name,
        "state": state,
        "since": _timestamp(server.since),
        "tools": len(server.lists.tools),
        "calls": server.call_count,
    }
    return shown | ({"why": _reason(server)} if server.problem else {})


def _reason(server: Upstream) -> str:
    first = server.problem.split("\n", 1)[0].removesuffix(OUTPUT_FOLLOWS)
    return remove_hidden(first)[0][:MAX_REASON]


def _output(server: Upstream) -> str:
    """Return the end of what a server that is down wrote to stderr, or an empty string."""
    return remove_hidden(server.problem.partition(f"{OUTPUT_FOLLOWS}\n")[2])[0][-MAX_OUTPUT:]


def status_contents(servers: Iterable[Upstream]) -> types.ReadResourceResult:
    """Return the result of reading the status resource."""
    text = json.dumps(
        {"servers": [server_state(each) for each in servers]}, ensure_ascii=False, indent=1
    )
    part = types.TextResourceContents(uri=STATUS_URI, mime_type="application/json", text=text)
    return types.ReadResourceResult(contents=[part])


async def gateway_instructions(servers: Collection[Upstream]) -> dict[str, str]:
    """Join the names of servers that are down and the instructions of all others, as JSON."""
    parts = [_down_instructions(servers), *[await each.instructions() for each in servers]]
    return {"instructions": "\n\n".join(filter(None, parts))} if any(parts) else {}


def _down_instructions(servers: Iterable[Upstream]) -> str:
    """Return instructions that name the servers whose tools are missing, or an empty string."""
    lines = [
        f"- {each.name}: {_reason(each) or 'it has not answered yet'}"
        for each in servers
        if not each.is_ready
    ]
    if not lines:
        return ""
    title = f"# Servers without tools when the client connected (now: read {STATUS_URI})"
    return "\n".join([title, "", *lines])


def gateway_status(gateway: RunningGateway) -> dict[str, Any]:
    """Return everything a person may know of a running gateway, as JSON."""
    activity, sessions = gateway.activity, gateway.activity.open_sessions()
    clients = [
        {
            "client": name,
            "software": each.software,
            "calls": each.calls,
            "sessions": sessions.get(name, 0),
            "last_request": _timestamp(each.last_at),
        }
        for name, each in activity.clients.items()
    ]
    servers = [
        server_state(each) | ({"output": text} if (text := _output(each)) else {})
        for each in gateway.servers.values()
    ]
    return {
        "servers": servers,
        "clients": clients,
        "refused": dict(activity.refusals),
        "asked": dict(activity.approvals),
    }


def _timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
