"""What the folder and the mode of an editor's session permit."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.serve.serving import run_node
from tests.shared import ROOT
from toolkeel import Agent, tool
from toolkeel.approvals import Rules
from toolkeel.effects import Effects, acts
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted
from toolkeel.tools import Workspace
from toolkeel_studio.serve.acp.editor_session import EditorSession
from toolkeel_studio.serve.errors import ChannelError

EDITOR = str(ROOT / "tests" / "node" / "acp_client.mjs")
AGENT = str(Path(__file__).parent / "workspace_agent.py")


def results(step: dict[str, Any]) -> dict[str, str]:
    """Return the texts of the calls that ended, by id."""
    ended = [each for each in step["happened"] if each.get("status") in ("completed", "failed")]
    return {each["toolCallId"]: each["content"][0]["content"]["text"] for each in ended}


def asked(step: dict[str, Any]) -> list[str]:
    """Return the calls that a person was asked about."""
    calls = [e["toolCall"] for e in step["happened"] if e["sessionUpdate"] == "permission"]
    return [each["toolCallId"] for each in calls]


def test_an_editor_s_folder_and_modes_hold_for_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, project = tmp_path / "agent", tmp_path / "project"
    for folder, note in ((place, "CANARY of the agent's folder"), (project, "of the project")):
        folder.mkdir()
        (folder / "note.txt").write_text(note)
    monkeypatch.setenv("AGENT_FOLDER", str(place))
    steps = [
        ["new"],
        ["say", "Read."],
        ["say", "Ask the other."],
        ["mode", "edit"],
        ["say", "Write.", ["reject_once"]],
        ["mode", "plan"],
        ["say", "Plan."],
        ["mode", "CANARY"],
    ]
    command = [sys.executable, "-m", "toolkeel", "acp", f"{AGENT}:agent"]
    command += ["--file", str(tmp_path / "talk.db")]
    happened = asyncio.run(run_node(EDITOR, str(project), json.dumps(steps), *command))
    new, read, inner, _, written, _, planned, unknown, _ = happened

    assert new["result"]["modes"]["currentModeId"] == "ask"
    assert [each["id"] for each in new["result"]["modes"]["availableModes"]] == [
        "ask",
        "edit",
        "plan",
    ]
    found = results(read)
    assert "of the project" in found["r1"] and "outside" in found["r3"]
    assert "n1" in results(inner)
    assert "CANARY" not in json.dumps(found) + json.dumps(inner)
    assert asked(written) == ["w2"]  # protected, whatever the mode
    assert (project / "猫.txt").read_text() == "new" and not (project / ".env").exists()
    assert sorted(each.name for each in place.iterdir()) == ["note.txt"]
    assert asked(planned) == [] and "mode Plan" in results(planned)["p1"]
    assert "of the project" in results(planned)["p2"]
    assert unknown["error"] is not None


@pytest.fixture
def sessions(tmp_path: Path) -> Any:
    found = Sessions(tmp_path / "talk.db")
    yield found
    found.close()


def test_a_folder_must_be_one(sessions: Sessions, tmp_path: Path) -> None:
    agent = Agent("offline", Workspace(tmp_path, sandbox=None).tools)
    for folder in ("project", str(tmp_path / "none")):
        with pytest.raises(ChannelError, match="cwd"):
            EditorSession(agent, sessions, "s", folder)


def test_a_mode_accepts_changes_of_this_agent_s_own_workspace_alone(
    sessions: Sessions, tmp_path: Path
) -> None:
    @tool(name="write", approval=True)
    def write_elsewhere(path: str, content: str) -> str:
        """Write into a database."""
        return "written"

    def ticket_of(tools: Any, arguments: dict[str, str]) -> Any:
        call = Scripted([ToolCall("c1", "write", arguments), "Done."])
        run = Agent(call, tools, rules=Rules(ask=["*"])).run_sync("Write.")
        return run.pending[0]

    async def check() -> None:
        workspace = Workspace(tmp_path, sandbox=None)
        session = EditorSession(Agent("offline", workspace.tools), sessions, "s", str(tmp_path))
        plain = ticket_of(workspace.tools, {"path": "a", "content": "x"})
        tickets = {
            True: plain,
            False: ticket_of([write_elsewhere], {"path": "a", "content": "x"}),
            None: ticket_of(workspace.tools, {"path": ".env", "content": "x"}),
        }
        assert not await session.accepts(plain)
        session.mode = "edit"
        for expected, ticket in tickets.items():
            assert await session.accepts(ticket) is bool(expected)

    asyncio.run(check())


def test_a_mode_that_accepts_edits_accepts_no_act_that_shows_a_preview(
    sessions: Sessions, tmp_path: Path
) -> None:
    @tool(
        approval=True, effects=acts("to"), metadata={"preview": lambda call: f"pays {call['to']}"}
    )
    def pay(to: str) -> str:
        """Pay somebody."""
        return "paid"

    agent = Agent(Scripted([ToolCall("c1", "pay", {"to": "eve"}), "Done."]), [pay])
    session = EditorSession(agent, sessions, "s", str(tmp_path))
    session.mode = "edit"
    [ticket] = agent.run_sync("Pay.").pending
    assert not asyncio.run(session.accepts(ticket))


def test_a_link_out_of_the_folder_leads_outside(sessions: Sessions, tmp_path: Path) -> None:
    @tool(effects=Effects(read_only=True, open_world=False, resources=("file:{path}",)))
    def peek(path: str) -> str:
        """Read a file."""
        return Path(path).read_text("utf-8")

    outside, project = tmp_path / "outside.txt", tmp_path / "project"
    outside.write_text("CANARY")
    project.mkdir()
    (project / "link").symlink_to(outside)
    (project / "own").write_text("mine")

    async def check() -> list[str]:
        paths = [str(project / name) for name in ("own", "link")]
        calls = [ToolCall(f"c{n}", "peek", {"path": path}) for n, path in enumerate(paths)]
        model = Scripted([calls, "Done."])
        session = EditorSession(Agent(model, [peek]), sessions, "s", str(project))
        await session.channel.say("Peek.")
        await session.channels.wait()
        await session.channels.close()
        return [
            each.text for each in session.channel.session.messages if isinstance(each, ToolMessage)
        ]

    own, link = asyncio.run(check())
    assert own == "mine" and "outside" in link
