"""A coding agent: one folder that nothing leaves, seven tools, and a person asked before it writes.

Commands (the tool ``bash``) run in a sandbox and are left out here, so that this runs anywhere;
``Workspace(folder).tools`` has them.
"""

import tempfile
from pathlib import Path

from toolkeel import Agent, Rules
from toolkeel.events import ToolFinished
from toolkeel.testing import Scripted, call
from toolkeel_workspace import Workspace

BROKEN = "def double(n):\n    return n + n + 1\n"


def ask(ticket):
    """A person; here one who agrees to edits and to nothing else."""
    print(f"asked: {ticket.tool} {ticket.arguments['path']}")
    return ticket.approve() if ticket.tool == "edit" else ticket.deny("only edits, please")


def told(event):
    if isinstance(event, ToolFinished):
        print(f"{event.message.name}: {event.message.kind or 'done'}")


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    (folder / "maths.py").write_text(BROKEN, "utf-8")
    replies = [
        call("grep", {"pattern": "def double"}),
        call("read", {"path": "maths.py"}),
        [
            call("edit", {"path": "maths.py", "old_text": "n + n + 1", "new_text": "n + n"}),
            call("write", {"path": "notes.txt", "content": "I was here."}),
            call("read", {"path": "../secrets"}),
        ],
        "double(n) added one too many; it does not any more.",
    ]  # a model's, written down: Agent("openai:gpt-5", ...) needs none
    agent = Agent(
        Scripted(replies),
        Workspace(folder, sandbox=None).tools,
        rules=Rules(ask=["edit", "write"]),
    )
    result = agent.run_sync("double(2) gives 5. Mend it.", approver=ask, listeners=[told])
    print(result.output)
    print("maths.py:", (folder / "maths.py").read_text("utf-8").splitlines()[1].strip())
    print("notes.txt is there:", (folder / "notes.txt").exists())


if __name__ == "__main__":
    main()
