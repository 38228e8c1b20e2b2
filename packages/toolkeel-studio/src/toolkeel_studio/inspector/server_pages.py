"""The page of MCP servers: approved definitions, changes since, running gateways and their traffic."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from toolkeel.call.toolset import Toolset
from toolkeel_studio.gateway.status_files import running_gateways
from toolkeel_studio.inspector.site import show_page

SHOWN = 200
"""Maximum number of gateway calls that the page shows."""
ENDS = ("end", "refused", "cached")
"""Events in a gateway's log that complete a call."""
_TAIL = 1 << 18


class ServerPages:
    """Handlers of the page of MCP servers.

    Args:
        tools: The tools of the agent.
        audit: Log file of a gateway, or None.
    """

    def __init__(self, tools: Toolset, audit: Path | None = None) -> None:
        self._tools = tools
        self._audit = audit

    async def show(self, request: Request) -> Response:
        """Show the servers of the tools, the running gateways, and the last calls through one."""
        servers: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        for tool in self._tools:
            pin_state = getattr(tool.approval, "pin_state", None)
            if pin_state is not None:
                found = pin_state()
                servers.setdefault((found.server, found.identity), []).append((tool.name, found))
        calls = list(islice(calls_in(self._audit), SHOWN)) if self._audit else []
        states = {key: Counter(each.state for _, each in rows) for key, rows in servers.items()}
        return await show_page(
            "servers.html", request, servers=servers, states=states, audit=self._audit, calls=calls,
            gateways=running_gateways(),
        )  # fmt: skip


def calls_in(audit: Path) -> Iterator[dict[str, object]]:
    """Yield the completed calls in a gateway's log, newest first.

    Args:
        audit: The log file; lines that are not call events are skipped.
    """
    try:
        with audit.open("rb") as file:
            start = max(0, file.seek(0, 2) - _TAIL)
            file.seek(start)
            lines = file.read().decode("utf-8", "replace").splitlines()[1 if start else 0 :]
    except OSError:
        return
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("event") in ENDS:
            yield _call(entry)


def _call(entry: dict[str, Any]) -> dict[str, object]:
    """Convert an entry for the page, whatever it contains."""
    fields = {key: str(entry.get(key, "")) for key in ("client", "server", "tool")}
    at, seconds = (
        value if isinstance(value := entry.get(key), int | float) and 0 <= value < 1e11 else None
        for key in ("at", "seconds")
    )
    outcome = str(entry.get("why") or entry.get("outcome", entry["event"]))
    return {**fields, "outcome": outcome, "at": at, "seconds": seconds}
