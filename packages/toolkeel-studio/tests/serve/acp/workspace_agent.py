"""An agent with a workspace of its own folder, which an editor starts; its model plays the lines below."""

import os
import tempfile
from pathlib import Path

from tests.serve.talking import calls, text
from toolkeel import Agent, tool
from toolkeel.approvals import Rules
from toolkeel.effects import Effects, acts
from toolkeel.testing import Scripted
from toolkeel.tools import Workspace

FOLDER = Path(os.environ.get("AGENT_FOLDER") or tempfile.mkdtemp())


@tool(effects=Effects(read_only=True, open_world=False, resources=("file:{path}",)))
def peek(path: str) -> str:
    """Read a file, wherever it is."""
    return Path(path).read_text("utf-8")


@tool(effects=acts())
def send(text: str) -> str:
    """Send a text."""
    return "sent"


WRITE = calls(
    ("w1", "write", '{"path": "猫.txt", "content": "new"}'),
    ("w2", "write", '{"path": ".env", "content": "KEY=1"}'),
)
READ = calls(
    ("r1", "read", '{"path": "note.txt"}'),
    ("r2", "read", '{"path": "../agent/note.txt"}'),
    ("r3", "peek", '{"path": "%s"}' % (FOLDER / "note.txt")),
)
INNER = Agent(
    Scripted([calls(("i1", "peek", '{"path": "%s"}' % (FOLDER / "note.txt"))), text("Inner.")]),
    [peek],
    name="inner",
)
PLAN = calls(("p1", "send", '{"text": "x"}'), ("p2", "read", '{"path": "note.txt"}'))
agent = Agent(
    Scripted(
        [
            READ,
            text("Read."),
            calls(("n1", "inner", '{"input": "Peek."}')),
            text("Asked."),
            WRITE,
            text("Written."),
            PLAN,
            text("Planned."),
        ]
    ),
    [*Workspace(FOLDER, sandbox=None).tools, peek, send, INNER.as_tool()],
    rules=Rules(ask=["write"]),
)
