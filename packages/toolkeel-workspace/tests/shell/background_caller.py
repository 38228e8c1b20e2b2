"""Calls of a workspace's tools in one run, for tests of background commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkeel import RunContext, Toolset
from toolkeel.approvals import Ticket
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel_workspace.files.workspace import Workspace


async def _approve(ticket: Ticket) -> bool:
    return True  # async: a plain function would need a thread


class Caller:
    """Calls the tools of one workspace in one run, with everything approved."""

    def __init__(self, folder: Path, sandbox: Any = "off", **options: Any) -> None:
        self.workspace = Workspace(folder, sandbox, **options)
        self.tools = Toolset(self.workspace.tools)
        self.run = RunContext(approver=_approve)

    async def call(self, name: str, **arguments: object) -> ToolMessage:
        [message] = await self.tools.run([ToolCall("c", name, arguments)], self.run)
        return message

    async def start(self, command: str) -> ToolMessage:
        return await self.call("bash", command=command, background=True)

    async def look_until(self, id: str, is_enough: Callable[[str], bool]) -> str:
        text = ""
        while not is_enough(text):
            message = await self.call("job", id=id, wait=0.05)
            text += message.text
        return text
