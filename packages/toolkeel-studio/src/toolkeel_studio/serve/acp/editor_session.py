"""A session of an editor: its folder bounds the agent's files, and its mode the agent's calls.

The folder holds for every call, also for those of agents that the agent calls or hands over to: a call
that declares a file outside is refused, and so are commands that work outside.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from acp.schema import SessionMode, SessionModeState

from toolkeel._records.tickets import Ticket, call_digest
from toolkeel.agent.agent import Agent
from toolkeel.call.steps.resources import resource_keys
from toolkeel.call.steps.session_permits import definition_of
from toolkeel.context import ToolContext
from toolkeel.define.folder_tools import in_folder
from toolkeel.define.options import PREVIEW
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.effects import Effects
from toolkeel.errors import Refused, SetupError
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.serve.channel import Channels
from toolkeel_studio.serve.errors import ChannelError

ASK, EDIT, PLAN = "ask", "edit", "plan"
MODES: Final[Mapping[str, SessionMode]] = {
    id: SessionMode(id=id, name=name, description=description)
    for id, name, description in (
        (ASK, "Ask", "The agent's own rules decide what is asked."),
        (EDIT, "Accept edits", "Changes of files are not asked about, except of protected files."),
        (PLAN, "Plan", "Only calls that change nothing run."),
    )
}
FILE: Final = "file:"


class EditorSession:
    """One session of an editor.

    Args:
        agent: Answers; its workspaces work in the folder of the session.
        sessions: Where the session is.
        name: The session's name.
        folder: That the editor has open; it is the session's scope.

    Attributes:
        mode: One of `MODES`; it holds from the next call on.
        prompts: By the id of its message, each prompt that is not answered yet: set when the editor
            cancels.
        sending: Held by the one prompt that sends updates.
        sent: `Item.number` of the last item that prompts have sent.

    Raises:
        ChannelError: the folder or the name cannot be used.
    """

    def __init__(self, agent: Agent[Any, Any], sessions: Sessions, name: str, folder: str) -> None:
        self.mode = ASK
        self.prompts: dict[str, asyncio.Event] = {}
        self.sending = asyncio.Lock()
        self.sent = "0"
        if not os.path.isabs(folder):
            raise ChannelError("cwd is not an absolute path")
        self._folder = Path(folder).resolve()
        if not self._folder.is_dir():
            raise ChannelError("cwd is not an existing folder")
        try:
            self._agent = agent.map_tools(
                lambda item: in_folder(item, self._folder), self.bound_call
            )
        except SetupError as error:
            raise ChannelError(f"cwd cannot be used: {error}") from None
        self.channels = Channels(self._agent, sessions)
        self.channel = self.channels.open(name, folder)

    @property
    def modes(self) -> SessionModeState:
        """The modes, and the one of now."""
        return SessionModeState(current_mode_id=self.mode, available_modes=list(MODES.values()))

    async def bound_call(
        self, prepared: Prepared, context: ToolContext, proceed: Proceed
    ) -> object:
        """Refuse a call that leaves the folder, or that the mode does not permit; it is a step."""
        if self.mode == PLAN and not prepared.tool.effects.read_only:
            raise Refused(
                "The editor is in its mode Plan, in which only calls that change nothing run."
            )
        for key in resource_keys(prepared):
            path = key.removeprefix(FILE)
            if key.startswith(FILE) and path and not self._has_path(path):
                raise Refused(f"{path!r} is outside of the folder that the editor has open.")
        return await proceed(prepared)

    def _has_path(self, path: str) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._folder)

    async def accepts(self, ticket: Ticket) -> bool:
        """Return True if the mode approves a call: a change of a file that is asked about only by rules."""
        tools = self._agent.tools
        if self.mode != EDIT or ticket.labels or ticket.tool not in tools:
            return False
        tool = tools[ticket.tool]
        if PREVIEW not in tool.metadata or not _changes_files_alone(tool.effects):
            return False
        if ticket.digest != call_digest(tool.name, definition_of(tool), ticket.arguments):
            return False  # of another agent's tool
        state_reason = getattr(tool.approval, "despite_rules", None)
        reason = state_reason(ticket.arguments) if state_reason is not None else ""
        return not (await reason if inspect.isawaitable(reason) else reason)


def _changes_files_alone(effects: Effects) -> bool:
    """Return True if all that a tool declares to change are files."""
    files = [str(key).startswith(FILE) for key in effects.resources]
    return not effects.open_world and bool(files) and all(files)
