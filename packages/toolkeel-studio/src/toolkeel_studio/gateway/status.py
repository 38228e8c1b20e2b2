"""The state of a gateway: for the model's host, for ``toolkeel gateway status``, and for programs.

A host reads what is down in the instructions and in a resource. A person reads it from a file that
the command keeps current; clients and rules that fired are only in that file.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import mcp_types as types

from toolkeel.errors import SetupError
from toolkeel.mcp.hidden_text import remove_hidden
from toolkeel.mcp.state_files import load_object, mcp_state_folder, save_object
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
INTERVAL = 1.0
"""Seconds between two reads of the file of a running gateway."""


class Activity:
    """Counts of what clients do.

    Attributes:
        calls: Calls of each client, by name; of clients without a token under an empty name.
        refusals: Refused calls, by reason.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def count_call(self, client: str) -> None:
        """Count a call of a client."""
        _count(self.calls, client)

    def count_refusal(self, why: str) -> None:
        """Count a refused call."""
        _count(self.refusals, why.split("\n", 1)[0][:MAX_REASON])


def _count(counter: Counter[str], key: str) -> None:
    counter[key if key in counter or len(counter) < MAX_COUNTED else "(others)"] += 1


class RunningGateway(Protocol):
    """The parts of a gateway that its state is read from."""

    @property
    def servers(self) -> Mapping[str, Upstream]:
        """The servers, by name."""
        ...

    @property
    def activity(self) -> Activity:
        """Counts of calls and refusals."""
        ...


def server_state(server: Upstream) -> dict[str, Any]:
    """Return the state of a server, as JSON, with nothing that it wrote to stderr."""
    state = "down" if server.problem else "ready" if server.listed.is_set() else "starting"
    shown: dict[str, Any] = {
        "server": server.name,
        "state": state,
        "since": datetime.fromtimestamp(server.since, UTC).isoformat(timespec="seconds"),
        "tools": len(server.lists.tools),
        "calls": server.call_count,
    }
    return shown | ({"why": _reason(server)} if server.problem else {})


def _reason(server: Upstream) -> str:
    return remove_hidden(server.problem.split("\n", 1)[0])[0][:MAX_REASON]


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
    activity = gateway.activity
    return {
        "servers": [server_state(each) for each in gateway.servers.values()],
        "clients": dict(activity.calls),
        "refused": dict(activity.refusals),
    }


# — the file of a running gateway —


def status_folder() -> Path:
    """Return the folder with one file for each running gateway."""
    return mcp_state_folder() / "gateways"


async def publish_status(gateway: RunningGateway, source: Path) -> None:
    """Keep a file with the state of a gateway until cancelled; then delete it.

    Args:
        gateway: Whose state it is.
        source: The file that names the servers.
    """
    path, known = status_folder() / f"{os.getpid()}.json", None
    try:
        while True:
            now = gateway_status(gateway)
            if now != known:
                known = now
                content = {"file": str(source), "pid": os.getpid(), **now}
                await asyncio.to_thread(save_object, path, content)
            await asyncio.sleep(INTERVAL)
    finally:
        with suppress(OSError):
            path.unlink()


def running_gateways() -> list[Mapping[str, Any]]:
    """Return what the running gateways of this user say; delete the files of others that ended."""
    found: list[Mapping[str, Any]] = []
    for path in sorted(status_folder().glob("*.json")):
        if path.stem.isdecimal() and not _is_running(int(path.stem)):
            with suppress(OSError):
                path.unlink()
            continue
        with suppress(SetupError):
            if content := load_object(path):
                found.append(content)
    return found


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """Return the lines that show the state of a running gateway to a person."""
    lines = [f"{status.get('file')} (process {status.get('pid')})"]
    for each in status.get("servers", ()):
        why = f": {each['why']}" if "why" in each else ""
        lines.append(
            f"  {each['server']}  {each['state']} since {each['since']}, {each['tools']} tools, "
            f"{each['calls']} calls{why}"
        )
    for client, calls in status.get("clients", {}).items():
        lines.append(f"  client {client or '(without a token)'}: {calls} calls")
    lines += [f"  refused {times} times: {why}" for why, times in status.get("refused", {}).items()]
    return lines
