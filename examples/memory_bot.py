"""A bot with memory: two users, a history that is trimmed, a restart, and a kill in mid-call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.sessions import KeepTurns, Sessions
from toolkeel.testing import Scripted, call

FOLDER = Path(os.environ.get("BOT_FOLDER") or tempfile.mkdtemp())


@tool(effects=Effects(idempotent=True, open_world=False))
def book(room: str, context: ToolContext) -> str:
    """Book a room. The key makes a second try harmless."""
    if os.environ.get("BOT_DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    context.update("rooms", lambda rooms: [*rooms, room], [])
    return f"booked {room} ({context.idempotency_key[-4:]})"


def bot(*lines: object) -> Agent:
    """The same agent each time; a real model instead of the scripted one needs no lines."""
    return Agent(Scripted(lines), [book], instructions="You book rooms and remember people.")


def main() -> None:
    sessions = Sessions(FOLDER / "bot.db", history=KeepTurns(2, at=3))
    for user in ("ada", "bob"):
        session = sessions.open("main", scope=user)
        bot(f"Hello {user}.").run_sync(f"I am {user}.", session=session)
    for n in range(4):
        ada = sessions.open("main", scope="ada")
        result = bot(f"Noted {n}.").run_sync(f"Note {n}.", session=ada)
    print("the model was shown", len(result.messages), "messages of", len(ada.messages))
    sessions.close()

    # Another process begins to book a room, and is killed in the middle of it.
    environment = {**os.environ, "BOT_DIES": "1", "BOT_FOLDER": str(FOLDER)}
    died = subprocess.run([sys.executable, __file__, "die"], env=environment, timeout=60)
    print("killed:", died.returncode == -signal.SIGKILL)

    sessions = Sessions(FOLDER / "bot.db")
    ada = sessions.open("main", scope="ada")
    result = bot("Your room is booked.").run_sync(None, session=ada)
    print("then:", result.messages[-3].tool_calls[0].name, "-", result.messages[-2].text[:11])
    print("rooms:", ada.state["rooms"])
    print("bob knows nothing of it:", len(sessions.open("main", scope="bob").messages), "messages")
    sessions.close()


def die() -> None:
    ada = Sessions(FOLDER / "bot.db").open("main", scope="ada")
    bot(call("book", {"room": "blue"})).run_sync("Book the blue room.", session=ada)


if __name__ == "__main__":
    die() if "die" in sys.argv else main()
