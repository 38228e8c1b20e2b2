"""Files with the state of the running gateways, for ``toolkeel gateway status`` and the inspector.

The command keeps one for each gateway. They are read without the protocol's packages.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolkeel.errors import SetupError
from toolkeel.mcp.state_files import load_object, mcp_state_folder, save_object

INTERVAL = 1.0
"""Seconds between two looks at the state of a running gateway."""


def status_folder() -> Path:
    """Return the folder with one file for each running gateway."""
    return mcp_state_folder() / "gateways"


async def publish_status(read: Callable[[], Mapping[str, Any]], source: Path) -> None:
    """Keep a file with the state of a gateway until cancelled; then delete it.

    Args:
        read: Returns its state now.
        source: The file that names the servers.
    """
    path, known = status_folder() / f"{os.getpid()}.json", None
    try:
        while True:
            now = read()
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
            f"server {each['server']}: {each['state']} since {each['since']}, {each['tools']} tools, "
            f"{each['calls']} calls{why}"
        )
        lines += [f"  it wrote: {line}" for line in each.get("output", "").splitlines()]
    for each in status.get("clients", ()):
        software = f" ({each['software']})" if each["software"] else ""
        # Newer revisions have no sessions, so none says nothing.
        sessions = f"{each['sessions']} open sessions, " if each["sessions"] else ""
        lines.append(
            f"client {each['client'] or 'without a token'}{software}: {sessions}{each['calls']} calls, "
            f"last request {each['last_request']}"
        )
    lines += [f"refused {times} times: {why}" for why, times in status.get("refused", {}).items()]
    lines += [f"asked {times} times: {why}" for why, times in status.get("asked", {}).items()]
    return lines
