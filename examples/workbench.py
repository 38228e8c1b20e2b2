"""One agent at work: it mends a program, reads a handbook, plots a curve and books a berth.

    python examples/workbench.py [FOLDER] [MODEL]

A boat draws 2.1 m. When can it enter the harbour, and where may it lie? The replies of the model
are written down here, so that this needs no key and no network; give the name of a model, such as
``openai:gpt-5``, and it does the same tasks by itself. Needs Linux with bubblewrap or Landlock,
Chromium, and ``pip install 'toolkeel[code,search,browser]' matplotlib``.
"""

import asyncio
import http.server
import json
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from toolkeel import Agent, Image, Text, ToolCall, ToolMessage, UserMessage
from toolkeel.events import ToolFinished, ToolStarted
from toolkeel.messages import Message
from toolkeel.testing import Line, Scripted, call
from toolkeel_workspace import (
    Browser,
    CodeInterpreterTool,
    ComputerTool,
    FileSearchTool,
    VectorStore,
    Workspace,
    index_folder,
)

MATERIAL = Path(__file__).parent / "workbench"  # a small project, a handbook, a page


class Part(NamedTuple):
    """What the agent is asked, what it is given for it, and what a model replies."""

    task: str
    tools: list[Any]
    replies: list[Line]


def repair(project: Path) -> Part:
    """Files and commands of one folder; commands run in a sandbox."""
    run_tests = call("bash", {"command": "python3 -m unittest -q"})
    wrong = {"old_text": "cos(pi * hours", "new_text": "cos(2 * pi * hours"}
    return Part(
        "The tests of this project fail. Mend it.",
        [*Workspace(project).tools],
        [
            run_tests,
            call("read", {"path": "tides.py"}),
            call("edit", {"path": "tides.py", **wrong}),
            run_tests,
            "A tide is a whole turn of the cosine, not half of one. The tests pass now.",
        ],
    )


def look_up(handbook: Path, store: Path) -> Part:
    """A folder of documents, put into one file that is searched."""
    with VectorStore(store) as made:
        index_folder(made, handbook)
    return Part(
        "How much water must a boat have under its keel at the sill, and where do guests lie?",
        [FileSearchTool([store], max_num_results=2)],
        [
            [
                call("file_search", {"query": "clearance under the keel at the sill"}),
                call("file_search", {"query": "泊位 访客"}),
            ],
            "Half a metre under the keel (entering.md); guests lie at B1 to B4 (泊位.md).",
        ],
    )


def plot(project: Path) -> Part:
    """Real Python with its packages, in the sandbox; plots come back as images."""
    code = """
        import matplotlib.pyplot as plt
        import numpy as np
        from tides import depth

        needed, high_water = 2.1 + 0.5, 6.0
        hours = np.linspace(0, 24, 1441)
        water = np.array([depth(hour - high_water) for hour in hours])
        wet = water >= needed

        plt.figure(figsize=(7.2, 3.2), layout="constrained")
        plt.plot(hours, water, color="#1d4e6b", linewidth=2)
        plt.fill_between(hours, water, where=wet, color="#7fb7d6", label="the boat can enter")
        plt.fill_between(hours, water, where=~wet, color="#e9e4da")
        plt.axhline(needed, color="#c2452d", linestyle="--", label=f"{needed:.1f} m needed")
        plt.xlim(0, 24), plt.ylim(0, 5.4), plt.xticks(range(0, 25, 3))
        plt.xlabel("hour of the day"), plt.ylabel("depth over the sill (m)")
        plt.legend(loc="upper right", ncols=2, frameon=False)
        plt.show()

        turns = np.flatnonzero(np.diff(wet))  # minutes
        for opens, closes in zip(turns[::2] + 1, turns[1::2]):
            print(f"from {opens // 60}:{opens % 60:02} to {closes // 60}:{closes % 60:02}")
    """
    return Part(
        "High water is at 6:00, and my boat draws 2.1 m. Plot when it can enter today.",
        [CodeInterpreterTool(python="sandbox", folder=project)],
        [
            call("code_interpreter", {"code": textwrap.dedent(code).strip()}),
            "From 2:48 to 9:12 and from 15:12 to 21:36, half a metre under the keel included.",
        ],
    )


def book(browser: Browser) -> Part:
    """A page in Chromium, seen and used as a person would."""

    def click(x: int, y: int) -> dict[str, object]:
        return {"type": "click", "x": x, "y": y}

    name = [click(600, 132), {"type": "type", "text": "Puffin"}]
    return Part(
        "Book berth B3 for the Puffin, arriving at 16:00.",
        [ComputerTool(browser)],
        [
            call("computer", {"actions": [{"type": "screenshot"}]}),
            call("computer", {"actions": [click(272, 273), *name, click(681, 186)]}),
            call("computer", {"actions": [click(600, 252)]}),
            "B3 is yours: the page says that the Puffin is expected at 16:00.",
        ],
    )


async def work(folder: Path, model: str = "") -> str:
    """Do all of it in a folder, and give what the page says in the end."""
    project, handbook = write_material(folder)
    with serve(MATERIAL / "berths.html") as url:
        async with Browser(url, width=760, height=400, allow=["127.0.0.1"]) as browser:
            parts = [repair(project), look_up(handbook, folder / "handbook.sqlite")]
            if find_spec("matplotlib"):
                parts.append(plot(project))
            parts.append(book(browser))
            scripted = Scripted([reply for part in parts for reply in part.replies])
            agent = Agent(model or scripted, tools=[tool for part in parts for tool in part.tools])
            said: list[Message] = []
            for part in parts:  # one conversation: each task goes on from what was said
                said = await show(agent, [*said, UserMessage(part.task)], folder / "pictures")
            return await browser.page.inner_text("#told")


async def show(agent: Agent, said: list[Message], pictures: Path) -> list[Message]:
    """Run the agent; print its calls and results as they come, and save the pictures."""
    say("you", said[-1].text)
    # After a page's text each act that goes outward is asked about; whoever runs this says yes.
    async with agent.stream(said, approver=lambda ticket: True) as stream:
        async for event in stream:
            match event:
                case ToolStarted(call=call):
                    say("call", called(call))
                case ToolFinished(message=message):
                    say("error" if message.failed else "result", seen(message, pictures))
                case _:
                    pass
    say("model", stream.result.output + "\n")
    return stream.result.messages


def called(call: ToolCall) -> str:
    """A call as people read it, each argument on a line of its own."""
    if isinstance(call.arguments, str):  # as a real model wrote it: JSON, if all went well
        return f"{call.name}\n{call.arguments}"
    return "\n".join([call.name, *map(written, call.arguments.values())])


def written(value: object) -> str:
    """An argument: text as it is, anything else as JSON, a list line by line."""
    if isinstance(value, list):
        return "\n".join(map(written, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def seen(message: ToolMessage, pictures: Path) -> str:
    """A result as people read it: what was changed in a file, text, where its pictures are."""
    if "diff" in message.details:
        return str(message.details["diff"])
    blocks = [Text(message.content)] if isinstance(message.content, str) else message.content
    lines = [block.text for block in blocks if isinstance(block, Text)]
    for block in blocks:
        if isinstance(block, Image):
            pictures.mkdir(exist_ok=True)
            number = len(list(pictures.glob(f"{message.name}-*"))) + 1
            path = pictures / f"{message.name}-{number}.png"
            path.write_bytes(block.data)
            lines.append(f"{pictures.name}/{path.name}")
    return "\n".join(lines)


def say(who: str, text: str) -> None:
    """Print who it is, and the text in a column of its own."""
    print(textwrap.indent(text, " " * 8).replace(" " * 8, f"{who:8}", 1))


def write_material(folder: Path) -> tuple[Path, Path]:
    """Copy the project and the handbook to a new folder."""
    project, handbook = folder / "tides", folder / "handbook"
    shutil.copytree(MATERIAL / "tides", project)
    shutil.copytree(MATERIAL / "handbook", handbook)
    return project, handbook


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve(page: Path) -> Iterator[str]:
    """Serve one page on this machine alone, and give its address."""
    handler = partial(Quiet, directory=page.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{page.name}"
        server.shutdown()


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else f"{tempfile.mkdtemp()}/harbour")
    if folder.exists():
        sys.exit(f"{folder} is there already: name a new folder")
    told = asyncio.run(work(folder, *sys.argv[2:]))
    print(f"The page says: {told}\nThe project and the pictures are in {folder}")
