"""Work whose writes are recorded: ``python -m tests.sessions.work_recorded FOLDER``.

What it relies on from then on stands in the file `acks`, in the order of all that is written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from toolkeel import Agent, ToolContext, tool
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.sessions.stores.artifacts import LARGE_BYTES
from toolkeel.testing.scripted import Line, Scripted, call

TALK = "new/data/talk.db"


class Work:
    """Turns of sessions in a folder."""

    def __init__(self, folder: Path) -> None:
        self._acks = os.open(folder / "acks", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._path = folder / TALK
        self.sessions = Sessions(self._path)

    def ack(self, name: str, what: str, value: object) -> None:
        """From here on something is relied on."""
        os.write(self._acks, json.dumps([name, what, value]).encode() + b"\n")

    def talk(self, name: str, text: str, *lines: Line) -> None:
        """One run of a session."""

        @tool
        def work(n: int, context: ToolContext) -> str:
            """Work."""
            self.ack(name, "intended", context.idempotency_key)
            context.update("done", lambda done: [*done, n], [])
            return "x" * (LARGE_BYTES + 1) if n == 2 else f"did {n}"

        ack, session = self.ack, self.sessions[name]

        class Model(Scripted):
            async def stream(
                self, request: ModelRequest
            ) -> AsyncIterator[Delta | AssistantMessage]:
                ack(name, "asked", len(request.messages))
                async for delta in super().stream(request):
                    yield delta

        Agent(Model(lines), [work]).run_sync(text, session=session)
        self.ack(name, "ended", session.info.head)

    def reopen(self) -> None:
        """Close the file and open it again."""
        self.sessions.close()
        self.sessions = Sessions(self._path)


def steps(count: int) -> list[Line]:
    """Calls, one a turn, and an answer."""
    return [*(call("work", {"n": n}) for n in range(count)), "all done"]


def main(folder: Path) -> None:
    """Do the work; in the end the program is gone in an instant."""
    work = Work(folder)
    work.talk("ada", "go", *steps(6))
    work.talk("bob", "go", [call("work", {"n": n}) for n in range(3, 7)], "done")
    work.sessions["ada"].say("and hurry", "bob")
    work.ack("ada", "said", "and hurry")
    work.talk("ada", "again", "yes")
    work.ack("bob", "deleting", True)
    work.sessions.delete("bob")
    work.ack("bob", "deleted", True)
    work.talk("ada", "once more", *steps(1))
    work.reopen()
    work.talk("ada", "and again", *steps(2))
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
