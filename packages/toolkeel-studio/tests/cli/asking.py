"""Tools that ask before they run, models that call them, and a run that waits."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commandline import Ended, Terminal, toolkeel

TOOLS = '''
from toolkeel import Effects, tool


@tool(approval=True, effects=Effects(destructive=False, open_world=False))
def write(text: str, times: int = 1) -> str:
    """Write a line."""
    with open("written.txt", "a", encoding="utf-8") as file:
        file.write((text + "\\n") * times)
    return f"wrote {text}"


@tool
def shout(text: str) -> str:
    """Print."""
    print("Run it?  y", text)
    return text


@tool
async def slow() -> str:
    """Print while somebody is asked something else."""
    import asyncio
    await asyncio.sleep(0.4)
    print("PRINTED MEANWHILE")
    return "slow"
'''

MODELS = """
from toolkeel.testing.scripted import Scripted, call


def asks(*texts):
    return Scripted([[call("write", {"text": text}) for text in texts], "done"])


one = asks("猫")
two = asks("first", "second")
long = asks("echo hi; " + "x" * 5000 + "; rm -rf /")
hidden = asks("a\\u202eb\\x1b[2J\\u200b\\U000e0041\\U000e0061 ok")
busy = Scripted([[call("slow"), call("write", {"text": "猫"})], "done"])
fake = Scripted([call("shout", {"text": "n refuse"}), call("slow"), call("write", {"text": "猫"})])
again = Scripted([call("write", {"text": "more"}), "done"])
after = Scripted(["done"])
"""

KEYS = "q stop the run"


def written(folder: Path) -> list[str]:
    """What ran."""
    path = folder / "written.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def make(folder: Path) -> Path:
    """A folder with the tools, the models and a place for states."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "models.py").write_text(MODELS, "utf-8")
    return folder


def words(model: str, *more: str) -> list[str]:
    """A run of a model."""
    return ["run", "hi", "-t", "tools.py", "-m", f"models.py:{model}", *more]


def saved(folder: Path, model: str = "two") -> Path:
    """A run that waits."""
    ended = toolkeel(*words(model, "--state", "state.json"), cwd=folder)
    assert ended.code == 75, ended.err
    return folder / "state.json"


def ids(path: Path) -> list[str]:
    """What waits in a saved run, by the beginning of its tickets' ids."""
    return [ticket["id"][:8] for ticket in json.loads(path.read_text("utf-8"))["pending"]]


def resume(folder: Path, *more: str, model: str = "after") -> Ended:
    """Go on in another process."""
    return toolkeel(
        *("resume", "state.json", "-t", "tools.py", "-m", f"models.py:{model}"), *more, cwd=folder
    )


def at_terminal(folder: Path, *arguments: str, **changes: str) -> Terminal:
    """A command at a terminal of its own."""
    return Terminal(arguments, folder, env=changes)
