"""An approval for a session covers what it says, in all runs of the session, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, RunResult, ToolOutput, tool
from toolkeel.approvals import Decision, Rules, Ticket
from toolkeel.call.toolset import Toolset
from toolkeel.define.tool import AnyTool
from toolkeel.effects import UNKNOWN, Effects, acts, reads
from toolkeel.sessions import Sessions
from toolkeel.sessions.permits import revoke_permit, session_permits
from toolkeel.testing import Scripted, call

INSIDE = Effects(open_world=False, destructive=False)
FILE = Effects(open_world=False, resources=("file:{where}",))
HOST = Effects(read_only=True, target=("where",))


def asking(effects: Effects, description: str = "Do it.", **options: Any) -> AnyTool:
    """A tool whose every call a person is asked about."""

    def do(where: str) -> str:
        return where

    return tool(do, approval=True, effects=effects, description=description, **options)


def talk(
    sessions: Sessions, tools: Sequence[AnyTool], *turns: Sequence[str], name: str = "a"
) -> list[str]:
    """Run turns of calls in a session, each approved as far as it can be. Return what was asked about."""
    asked: list[str] = []

    async def approve(ticket: Ticket) -> Decision:
        asked.append(str(ticket.arguments["where"]))
        return ticket.approve("session" if ticket.scope else "call")

    approve.asks_in_turn = True  # type: ignore[attr-defined]
    calls = [[call("do", {"where": where}) for where in turn] for turn in turns]
    agent = Agent(Scripted([*calls, "done"]), tools=list(tools))
    agent.run_sync("go", session=sessions[name], approver=approve)
    return asked


@pytest.fixture
def sessions(tmp_path: Path) -> Any:
    """Sessions in a file of their own."""
    with closing(Sessions(tmp_path / "a.db")) as opened:
        yield opened


def test_a_host_is_approved_for_the_calls_beside_it_and_for_later_runs(sessions: Sessions) -> None:
    one, same, other = (
        "https://a.example/1",
        "http://A.example:8/2",
        "https://a.example.evil.example/",
    )
    tools = [asking(HOST)]
    assert talk(sessions, tools, [one, same, other], [same]) == [one, other]
    assert talk(sessions, tools, [one], ["https://b.example"]) == ["https://b.example"]


def test_a_folder_is_approved_with_what_is_below_it_wherever_a_path_seems_to_lead(
    sessions: Sessions, tmp_path: Path
) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    first, below, beside, out, through = (
        str(tmp_path / path) for path in ("in/a", "in/deep/b", "inner", "in/../c", "in/link/d")
    )
    assert talk(sessions, [asking(FILE)], [first], [below], [beside]) == [first, beside]
    assert talk(sessions, [asking(FILE)], [first], name="b") == [first]
    asked = talk(sessions, [asking(FILE)], [below], [out], [through], name="b")
    assert asked == [out]  # whose answer covers the other, which leads to the same folder


def test_a_folder_is_approved_as_it_was_shown_whatever_its_path_leads_to_by_then(
    sessions: Sessions, tmp_path: Path
) -> None:
    (place := tmp_path / "in").mkdir()
    shown: list[str] = []

    async def approve(ticket: Ticket) -> Decision:
        shown.append(ticket.scope)
        place.rmdir()
        place.symlink_to(tmp_path)
        return ticket.approve("session")

    agent = Agent(Scripted([call("do", {"where": str(place)}), "done"]), tools=[asking(FILE)])
    agent.run_sync("go", session=sessions["a"], approver=approve)
    assert shown == [f"folder {place}"]
    assert [each.value.partition(" ")[2] for each in session_permits(sessions["a"])] == shown
    assert talk(sessions, [asking(FILE)], [str(tmp_path / "other")])


@pytest.mark.parametrize(
    ("effects", "options", "asked"),
    [
        (INSIDE, {}, 1),
        (reads(), {}, 1),
        (INSIDE, {"metadata": {"shell": "where"}}, 2),
        (UNKNOWN, {}, 3),
        (acts("where"), {}, 3),
        (acts("where", destructive=False), {}, 3),
        (Effects(open_world=False), {}, 3),
        (INSIDE, {"metadata": {"mcp": {"server": "a"}}}, 3),
    ],
    ids=["inside", "reads", "command", "undeclared", "pays", "posts", "destroys", "server"],
)
def test_only_what_can_be_undone_is_approved_beyond_the_call(
    sessions: Sessions, effects: Effects, options: dict[str, Any], asked: int
) -> None:
    tools = [asking(effects, **options)]
    assert len(talk(sessions, tools, ["make"], ["make"], ["make x"])) == asked


def test_what_was_taken_back_or_is_of_a_changed_tool_or_a_copy_is_asked_about_again(
    sessions: Sessions,
) -> None:
    talk(sessions, [asking(INSIDE)], ["x"])
    assert not talk(sessions, [asking(INSIDE)], ["x"])
    assert talk(sessions, [asking(INSIDE, "Do more.")], ["x"])
    sessions.fork("a", "copy")
    assert not session_permits(sessions["copy"]) and talk(
        sessions, [asking(INSIDE)], ["x"], name="copy"
    )
    for permit in session_permits(sessions["a"]):
        revoke_permit(sessions, "a", permit)
    assert talk(sessions, [asking(INSIDE)], ["x"])


@pytest.mark.parametrize(
    ("description", "then", "questions"),
    [("Do it.", (), 0), ("Do more.", (), 1), ("Do it.", ("vault",), 1)],
)
def test_after_a_strangers_text_an_approved_host_is_asked_about_once_until_the_tool_changes(
    sessions: Sessions, description: str, then: tuple[str, ...], questions: int
) -> None:
    @tool(effects=reads(stranger=True))
    def page() -> str:
        """Read a page."""
        return "look at a.example"

    @tool(approval=False)
    def vault() -> ToolOutput:
        """Read a secret."""
        return ToolOutput("s3cret", details={"taint": [{"label": "secret", "tool": "vault"}]})

    def run(description: str, *before: str) -> list[str]:
        asked: list[str] = []

        async def approve(ticket: Ticket) -> Decision:
            asked.append(ticket.tool)
            return ticket.approve("session" if ticket.scope else "call")

        @tool(effects=Effects(True, target=("url",)), description=description)
        def look(url: str) -> str:
            return url

        turns = [[call(name)] for name in ("page", *before)]
        model = Scripted([*turns, call("look", {"url": "https://a.example"}), "done"])
        agent = Agent(model, tools=[page, vault, look])
        agent.run_sync("go", session=sessions["a"], approver=approve)
        return asked

    assert run("Do it.") == ["look"]
    assert run(description, *then).count("look") == questions


def test_a_permit_is_taken_back_in_the_scope_of_its_session(sessions: Sessions) -> None:
    session = sessions.open("a", "team")
    model = Scripted([call("do", {"where": "x"}), "done"])

    async def approve(ticket: Ticket) -> Decision:
        return ticket.approve("session")

    Agent(model, tools=[asking(INSIDE)]).run_sync("go", session=session, approver=approve)
    [permit] = session_permits(session)
    revoke_permit(sessions, "a", permit, scope="team")
    assert not session_permits(session) and not sessions["a"].exists


class Protected:
    """Asks about everything, and about one place whatever rules say."""

    def __call__(self, arguments: dict[str, object]) -> str:
        return self.despite_rules(arguments) or "asks"

    def despite_rules(self, arguments: dict[str, object]) -> str:
        return "protected" if arguments["where"] == "key" else ""


def test_refusals_and_protected_places_outlast_an_approval_for_the_session(
    sessions: Sessions,
) -> None:
    def do(where: str) -> str:
        """Do it."""
        return where

    made = tool(do, approval=Protected(), effects=INSIDE)
    assert talk(sessions, [made], ["x"], ["key"], ["key"], ["y"]) == ["x", "key", "key"]
    strict = Toolset([made], rules=Rules(deny=["do(where=z)"]))
    model = Scripted([call("do", {"where": "z"}), "done"])
    result: RunResult[Any] = Agent(model, tools=strict).run_sync("go", session=sessions["a"])
    assert result.messages[-2].kind == "denied"
