"""A long run that is killed in the middle, and goes on in another process: no step is done twice."""

import os
import signal
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from toolkeel import Agent, Effects, ToolMessage, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

FOLDER = Path(os.environ.get("LONG_RUN_FOLDER") or tempfile.mkdtemp())
CHAPTERS = ("tides", "港口", "weather", "radio", "fees")


@tool(effects=Effects(idempotent=True, open_world=False))
def write_chapter(name: str) -> str:
    """Write one chapter of the handbook."""
    written = FOLDER / f"{name}.md"
    if name == os.environ.get("DIES_AT"):
        os.kill(os.getpid(), signal.SIGKILL)
    with (FOLDER / "work.log").open("a", encoding="utf-8") as log:
        log.write(f"{name}\n")
    written.write_text(f"# {name}\n", "utf-8")
    return f"{name} is written"


def next_chapter(request):
    """What a model would do: look at what is done, and call for the next chapter."""
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    if done < len(CHAPTERS):
        return [call("write_chapter", {"name": CHAPTERS[done]}, id=f"chapter_{done}")]
    return f"All {done} chapters are written."


def run(prompt: str | None) -> str:
    sessions = Sessions(FOLDER / "run.db")
    writer = Agent(Scripted(next_chapter for _ in count()), [write_chapter], max_turns=20)
    result = writer.run_sync(prompt, session=sessions.open("handbook"))
    sessions.close()
    return str(result.output)


if __name__ == "__main__":
    if "begin" in sys.argv:
        run("Write the handbook.")
        sys.exit()
    environment = {**os.environ, "LONG_RUN_FOLDER": str(FOLDER), "DIES_AT": "weather"}
    died = subprocess.run([sys.executable, __file__, "begin"], env=environment)
    print("killed:", died.returncode == -signal.SIGKILL)
    print("by then:", ", ".join((FOLDER / "work.log").read_text("utf-8").split()))
    print("then:", run(None))
    print("done, each once:", ", ".join((FOLDER / "work.log").read_text("utf-8").split()))
