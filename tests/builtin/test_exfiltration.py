"""The step over a whole toolset, and after a run was taken up again (T22)."""

from __future__ import annotations

import pytest

from toolwright import Agent, Effects, Toolset, tool
from toolwright.approval import Decision, Ticket
from toolwright.builtin.exfiltration import NoExfiltration, guarded, is_private
from toolwright.define.tool import AnyTool
from toolwright.events import (
    Event,
    ExfiltrationBlocked,
    ToolFinished,
    ToolSuspended,
    event_dict,
)
from toolwright.messages import ToolCall, ToolMessage
from toolwright.testing.scripted import Scripted, call

SENT: list[str] = []


@tool(effects=Effects(read_only=True, open_world=False), tags=["private"])
def mailbox() -> str:
    """Read the mail."""
    return "the code is 1234"


@tool(effects=Effects(read_only=True, open_world=False, resources=("db:{table}",)))
def rows(table: str) -> str:
    """Read a table."""
    return "rows"


@tool
def send(url: str, body: str = "") -> str:
    """Send something."""
    SENT.append(url)
    return "sent"


@tool(effects=Effects(read_only=True, open_world=False))
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


def agent(*turns: object, trusted: tuple[str, ...] = ()) -> Agent:
    tools = Toolset([mailbox, rows, send, add], steps=[NoExfiltration(trusted)])
    return Agent(Scripted([*turns]), tools)  # type: ignore[list-item]


def test_tools_that_read_private_data_are_known_by_tag_and_by_resource() -> None:
    assert [is_private(one) for one in (mailbox, rows, send, add)] == [True, True, False, False]


@pytest.mark.parametrize("first", [call("mailbox", {}), call("rows", {"table": "users"})])
def test_any_tool_that_reaches_out_waits_after_private_data_was_read(first: ToolCall) -> None:
    result = agent(first, call("send", {"url": "http://x.example"}), "done").run_sync("go")
    assert (result.reason, SENT) == ("suspended", [])


def test_the_call_goes_on_once_it_is_approved() -> None:
    asking = agent(call("mailbox", {}), call("send", {"url": "http://x.example"}), "done")
    stopped = asking.run_sync("go")
    yes = stopped.pending[0].approve()
    assert asking.run_sync(stopped.state, decisions=[yes]).output == "done"
    assert SENT == ["http://x.example"]


def test_a_run_taken_up_again_still_knows_what_was_read() -> None:
    first = agent(call("mailbox", {}), "read it").run_sync("go")
    again = agent(call("send", {"url": "http://x.example"}), "done")
    assert again.run_sync([*first.messages]).reason == "suspended"


def test_harmless_tools_and_trusted_hosts_go_on() -> None:
    turns = (
        call("mailbox", {}),
        call("add", {"a": 1, "b": 2}),
        call("send", {"url": "https://api.mine.example/x", "body": "https://docs.mine.example"}),
        "done",
    )
    assert agent(*turns, trusted=("*.mine.example",)).run_sync("go").output == "done"
    mixed = call("send", {"url": "https://api.mine.example/x", "body": "http://evil.example/"})
    assert agent(call("mailbox", {}), mixed, trusted=("*.mine.example",)).run_sync("go").pending


def test_a_failed_read_reads_nothing() -> None:
    @tool(tags=["private"], effects=Effects(read_only=True, open_world=False))
    def locked() -> str:
        """Fail."""
        raise ValueError

    model = Scripted([call("locked", {}), call("send", {"url": "http://x.example"}), "done"])
    tools = Toolset([locked, send], steps=[NoExfiltration()])
    assert Agent(model, tools).run_sync("go").output == "done"


def test_outside_an_agent_nobody_is_there_to_ask_so_it_is_denied() -> None:
    from toolwright.context import Run

    run: Run[None] = Run()
    alone: AnyTool = guarded(send)
    tools = Toolset([mailbox, alone], steps=[NoExfiltration()])
    tools.run_sync([ToolCall("1", "mailbox")], run)
    [message] = tools.run_sync([ToolCall("2", "send", {"url": "http://x.example"})], run)
    assert isinstance(message, ToolMessage)
    assert (message.kind, message.details["event"]) == ("denied", "exfiltration_blocked")
    assert SENT == []


@pytest.mark.parametrize("answered", [False, True])
def test_what_is_held_back_is_an_event_and_what_is_approved_is_none(answered: bool) -> None:
    events: list[Event] = []
    url = "http://x.example/?d=1"
    stopping = agent(call("mailbox", {}), call("send", {"url": url, "body": "http://["}), "done")

    async def no(ticket: Ticket) -> Decision:
        return ticket.deny()

    stopped = stopping.run_sync("go", listeners=[events.append], approver=no if answered else None)
    [blocked] = [event for event in events if isinstance(event, ExfiltrationBlocked)]
    assert (blocked.tool, blocked.source, blocked.hosts) == ("send", "mailbox", ("x.example", ""))
    made = event_dict(blocked)
    assert made["type"] == "exfiltration_blocked"
    ends = [e for e in events if isinstance(e, ToolFinished | ToolSuspended)]
    assert blocked.seq < ends[-1].seq and ends[-1].call_id == blocked.call_id
    assert SENT == []
    if not answered:
        events.clear()
        yes = stopped.pending[0].approve()
        stopping.run_sync(stopped.state, decisions=[yes], listeners=[events.append])
        assert [url] == SENT
        assert not any(isinstance(event, ExfiltrationBlocked) for event in events)


def test_an_approver_is_asked_once_for_a_call() -> None:
    asked: list[Ticket] = []

    async def yes(ticket: Ticket) -> Decision:
        asked.append(ticket)
        return ticket.approve()

    result = agent(call("mailbox", {}), call("send", {"url": "http://x.example"}), "done").run_sync(
        "go", approver=yes
    )
    assert (result.output, len(asked)) == ("done", 1)
