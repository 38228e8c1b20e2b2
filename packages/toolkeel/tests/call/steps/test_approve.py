"""An approval is good for exactly what was shown, once and not for ever; anything unclear is a no.

Most tests here are attacks: somebody wants a call to run that nobody approved.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.waiting import run as run_loop
from tests.waiting import until
from toolkeel import (
    Agent,
    AssistantMessage,
    CancelToken,
    Effects,
    Prepared,
    Rules,
    RunContext,
    RunResult,
    RunState,
    SetupError,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel._records.tickets import LIFETIME, Decision, Ticket
from toolkeel.call.steps.guard import Allow, Reject, input_guard
from toolkeel.define.options import PREVIEW
from toolkeel.errors import Denied
from toolkeel.events import ApprovalDecided, ApprovalRequested, Coerced, Event
from toolkeel.testing.scripted import Scripted, call

Approver = Callable[[Ticket], Any]


class Disk:
    """What tools did."""

    def __init__(self) -> None:
        self.removed: list[Any] = []

    def tools(self, *steps: Any, **options: Any) -> Toolset:
        @tool(steps=steps, **{"approval": True, **options})
        def remove(path: str, force: bool = False) -> str:
            """Remove a file."""
            self.removed.append((path, force))
            return f"removed {path}"

        return Toolset([remove])


def ask(
    tools: Toolset, approver: Approver | None, *arguments: Mapping[str, object], **more: Any
) -> list[ToolMessage]:
    calls = [ToolCall(f"c{i}", tools.names[0], given) for i, given in enumerate(arguments)]
    return tools.run_sync(calls, RunContext(approver=approver, **more))


def suspend(tools: Toolset, *calls: ToolCall) -> tuple[RunState, Agent]:
    """A run that waits, and an agent that can go on with it."""
    result = Agent(Scripted([list(calls)]), tools).run_sync("go")
    assert result.reason == "waiting"
    return result.state, Agent(Scripted(["done"] * 9), tools)


def results(result: RunResult) -> list[ToolMessage]:
    return [m for m in result.messages if isinstance(m, ToolMessage)]


# — what is asked, and of whom —


def test_an_approver_decides_whether_a_call_runs() -> None:
    disk = Disk()
    answers = iter([True, False])
    yes, no = ask(disk.tools(), lambda t: next(answers), {"path": "a"}, {"path": "b"})
    assert (yes.content, no.kind) == ("removed a", "denied")
    assert disk.removed == [("a", False)]


def test_the_reason_of_a_denial_reaches_the_model() -> None:
    disk = Disk()
    [message] = ask(disk.tools(), lambda t: t.deny("先备份"), {"path": "a"})
    assert message.text == "The call of 'remove' was not approved: 先备份"
    assert not disk.removed


def test_a_predicate_over_valid_arguments_says_whether_to_ask() -> None:
    disk = Disk()
    asked: list[Ticket] = []
    tools = disk.tools(approval=lambda a: a["path"].startswith("/etc/"))
    messages = ask(tools, lambda t: asked.append(t) or True, {"path": "/tmp/a"}, {"path": "/etc/b"})
    assert [m.failed for m in messages] == [False, False]
    assert [t.arguments for t in asked] == [{"path": "/etc/b", "force": False}]
    assert asked[0].reason == "the tool asks for these arguments"


def test_a_predicate_may_see_the_context_of_the_call() -> None:
    def needs(arguments: Mapping[str, object], context: ToolContext[str]) -> str:
        return f"{context.deps} {context.call.id} {arguments['path']}"

    disk, asked = Disk(), list[str]()
    ask(disk.tools(approval=needs), lambda t: asked.append(t.reason) or True, {"path": "a"}, deps=7)
    assert asked == ["7 c0 a"]


@pytest.mark.parametrize("needs", [lambda a, b=3: b == 3, len, lambda *all: len(all) == 1])
def test_a_predicate_that_can_do_without_the_context_is_not_given_it(needs: Any) -> None:
    asked: list[str] = []
    [message] = ask(Disk().tools(approval=needs), lambda t: asked.append(t.reason), {"path": "a"})
    assert message.kind == "denied" and asked == ["the tool asks for these arguments"]


def test_a_predicate_may_refuse_a_call_and_nobody_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def needs(arguments: Mapping[str, object]) -> bool:
        raise Denied("not on a Sunday")

    disk, asked = Disk(), list[Ticket]()
    [message] = ask(disk.tools(approval=needs), asked.append, {"path": "a"})
    assert (message.kind, message.content) == ("denied", "not on a Sunday")
    assert not asked and not disk.removed and not caplog.records


def test_an_async_predicate_and_an_async_approver_are_awaited() -> None:
    async def needs(arguments: Mapping[str, object]) -> bool:
        await asyncio.sleep(0)
        return True

    async def approver(ticket: Ticket) -> bool:
        await asyncio.sleep(0)
        return ticket.arguments["path"] == "a"

    disk = Disk()
    yes, no = ask(disk.tools(approval=needs), approver, {"path": "a"}, {"path": "b"})
    assert (yes.kind, no.kind) == (None, "denied")


def test_a_predicate_that_fails_counts_as_yes_ask_and_the_developer_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = Disk()
    asked: list[str] = []
    tools = disk.tools(approval=lambda a: a["missing"])
    [message] = ask(tools, lambda t: asked.append(t.reason) or False, {"path": "a"})
    assert message.kind == "denied"
    assert asked == ["its approval predicate failed: KeyError: 'missing'"]
    [record] = caplog.records
    assert record.exc_info and "remove is asked about" in record.getMessage()


@pytest.mark.parametrize("asks", [True, lambda a: "it is far"])
def test_a_tool_tells_what_a_call_would_change_whatever_asks(asks: Any) -> None:
    asked: dict[object, str] = {}  # two predicates run in threads, so in any order

    def tells(arguments: Mapping[str, object]) -> str:
        return f"-{arguments['path']}\n+{1 / len(str(arguments['path']))}"

    tools = Disk().tools(approval=asks, metadata={PREVIEW: tells})

    def approver(ticket: Ticket) -> None:
        asked[ticket.arguments["path"]] = ticket.reason

    refused = ask(tools, approver, {"path": "ab"}, {"path": ""})
    assert [m.kind for m in refused] == ["denied"] * 2 and "-ab" not in refused[0].text
    assert asked["ab"].split("\n")[1:] == ["-ab", "+0.5"]
    assert asked[""].split("\n")[1:] == [
        "What it would change cannot be shown: ZeroDivisionError: division by zero"
    ]


@pytest.mark.parametrize("answer", ["yes", 1, KeyError("who")])
def test_an_approver_that_fails_or_answers_otherwise_denies_and_the_developer_is_told(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    def approver(ticket: Ticket) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    [message] = ask(Disk().tools(), approver, {"path": "a"})
    assert message.kind == "denied"
    [record] = caplog.records
    assert "approver" in record.getMessage() and "remove" in record.getMessage()


def test_a_ticket_shows_the_whole_call_and_what_the_tool_may_do() -> None:
    tickets: list[Ticket] = []
    disk = Disk()
    tools = disk.tools(effects=Effects(destructive=True, resources=("file:{path}",)))
    ask(tools, lambda t: tickets.append(t) or False, {"path": "x" * 5000, "force": True})
    [ticket] = tickets
    assert ticket.arguments == {"path": "x" * 5000, "force": True}
    assert (ticket.tool, ticket.call_id, ticket.reason) == ("remove", "c0", "the tool always asks")
    assert ticket.effects["destructive"] is True
    assert ticket.effects["resources"] == ("file:{path}",)
    assert LIFETIME - 60 < ticket.expires - time.time() <= LIFETIME


def test_invalid_calls_are_refused_before_anybody_is_asked() -> None:
    disk = Disk()
    asked: list[Ticket] = []
    bad, good = ask(disk.tools(), lambda t: asked.append(t) or True, {"path": 5}, {"path": "a"})
    assert (bad.kind, good.kind) == ("invalid_arguments", None)
    assert len(asked) == 1


def test_rules_of_the_run_come_before_the_tools_own_word() -> None:
    disk = Disk()
    own = disk.tools()["remove"]
    rules = Rules(deny=["remove(path=/etc/*)"], ask=["remove(path=/home/*)"], allow=["remove"])
    asked: list[str] = []
    tools = Toolset([own], rules=rules)
    messages = ask(
        tools,
        lambda t: asked.append(t.reason) or True,
        {"path": "/etc/a"},
        {"path": "/home/b"},
        {"path": "/tmp/c"},
    )
    assert [m.kind for m in messages] == ["denied", None, None]
    assert asked == ["rule: ask remove(path=/home/*)"]


def test_a_request_and_its_answer_are_events_between_start_and_end() -> None:
    disk = Disk()
    events: list[Event] = []
    ask(disk.tools(), lambda t: t.deny("no"), {"path": "a"}, listeners=(events.append,))
    assert [e.type for e in events] == [
        "tool_started",
        "approval_requested",
        "approval_decided",
        "tool_finished",
    ]
    requested, decided = events[1], events[2]
    assert isinstance(requested, ApprovalRequested) and isinstance(decided, ApprovalDecided)
    assert decided.ticket_id == requested.ticket.id
    assert (decided.verdict, decided.reason) == ("deny", "no")


# — unclear means no —


class Truthy:
    def __bool__(self) -> bool:
        return True


@pytest.mark.parametrize(
    "answer", [None, 1, "yes", "approve", Truthy(), [True], {"approve": True}, 0.5, object()]
)
def test_an_answer_that_is_no_clear_yes_means_no(answer: object) -> None:
    disk = Disk()
    [message] = ask(disk.tools(), lambda t: answer, {"path": "a"})
    assert message.kind == "denied"
    assert not disk.removed


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), RuntimeError("密码")])
def test_an_approver_that_fails_means_no_and_says_nothing_of_its_inside(error: Exception) -> None:
    def approver(ticket: Ticket) -> bool:
        raise error

    disk = Disk()
    [message] = ask(disk.tools(), approver, {"path": "a"})
    assert message.kind == "denied"
    assert not disk.removed
    assert "密码" not in message.text


def test_with_nobody_to_ask_and_no_way_to_wait_a_call_is_denied() -> None:
    disk = Disk()
    [message] = ask(disk.tools(), None, {"path": "a"})
    assert (message.kind, disk.removed) == ("denied", [])
    with pytest.raises(Exception, match="nobody is there"):
        disk.tools()["remove"].invoke({"path": "a"})
    assert not disk.removed


def test_a_verdict_made_by_hand_that_is_none_of_the_three_means_no() -> None:
    disk = Disk()

    def approver(ticket: Ticket) -> Decision:
        return Decision(ticket.id, ticket.seal, "APPROVE", arguments={"path": "b"})  # type: ignore[arg-type]

    [message] = ask(disk.tools(), approver, {"path": "a"})
    assert (message.kind, disk.removed) == ("denied", [])


@pytest.mark.parametrize(
    "answer", [lambda t: True, lambda t: t.approve(), lambda t: t.edit({"path": "b"})]
)
def test_an_answer_that_comes_after_the_ticket_has_expired_means_no(answer: Approver) -> None:
    disk = Disk()

    def approver(ticket: Ticket) -> Any:
        object.__setattr__(ticket, "expires", time.time() - 1)
        return answer(ticket)

    [message] = ask(disk.tools(), approver, {"path": "a"})
    assert (message.kind, disk.removed) == ("denied", [])


# — one approval, one call —


def test_an_approver_cannot_answer_one_call_with_the_approval_of_another() -> None:
    disk = Disk()
    kept: list[Decision] = []

    def approver(ticket: Ticket) -> Decision:
        kept.append(ticket.approve())
        return kept[0]

    first, other = ask(disk.tools(), approver, {"path": "a"}, {"path": "/etc/passwd"})
    assert (first.kind, other.kind) == (None, "denied")
    assert disk.removed == [("a", False)]


def test_two_identical_calls_need_two_decisions() -> None:
    disk = Disk()
    kept: list[Decision] = []

    def reuse(ticket: Ticket) -> Decision:
        kept.append(ticket.approve())
        return kept[0]

    messages = ask(disk.tools(), reuse, {"path": "a"}, {"path": "a"})
    assert [m.kind for m in messages] == [None, "denied"]
    assert len({d.ticket for d in kept}) == 2
    assert len(disk.removed) == 1


def test_two_identical_calls_that_wait_are_decided_one_by_one() -> None:
    disk = Disk()
    state, agent = suspend(
        disk.tools(), call("remove", {"path": "a"}), call("remove", {"path": "a"})
    )
    one, other = state.pending
    assert one.digest == other.digest and one.id != other.id
    with pytest.raises(SetupError, match="used already"):
        agent.run_sync(state, decisions=[one.approve(), one.approve()])
    result = agent.run_sync(state, decisions=[one.approve()])
    assert result.reason == "waiting"
    assert [t.call_id for t in result.pending] == [other.call_id]
    assert len(disk.removed) == 1
    result = agent.run_sync(result.state, decisions=[result.pending[0].deny("once is enough")])
    assert [m.kind for m in results(result)] == [None, "denied"]
    assert len(disk.removed) == 1


def test_a_decision_serves_once() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    decision = state.pending[0].approve()
    assert agent.run_sync(state, decisions=[decision]).reason == "answered"
    with pytest.raises(SetupError, match="used already"):
        agent.run_sync(state, decisions=[decision])
    assert len(disk.removed) == 1


def test_a_bad_decision_beside_a_good_one_uses_neither_up() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    good = state.pending[0].approve()
    with pytest.raises(SetupError, match="no ticket that waits"):
        agent.run_sync(state, decisions=[good, Decision("0" * 32, good.seal, "approve")])
    assert not disk.removed
    assert agent.run_sync(state, decisions=[good]).reason == "answered"
    assert len(disk.removed) == 1


def test_a_decision_without_its_saved_run_is_refused() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    with pytest.raises(SetupError, match="no ticket that waits"):
        agent.run_sync("remove a", decisions=[state.pending[0].approve()])
    with pytest.raises(SetupError, match="no ticket that waits"):
        agent.run_sync(list(state.messages), decisions=[state.pending[0].approve()])


# — attacks on what was approved —


def attacked(state: RunState, arguments: Mapping[str, object], name: str = "remove") -> RunState:
    """The same state with another call in the place of the one that was asked about."""
    [*before, reply] = state.messages
    assert isinstance(reply, AssistantMessage)
    other = dataclasses.replace(reply.tool_calls[0], name=name, arguments=dict(arguments))
    changed = dataclasses.replace(reply, tool_calls=(other,))
    return RunState((*before, changed), state.pending)


@given(st.fixed_dictionaries({"path": st.text(max_size=8)}, optional={"force": st.booleans()}))
def test_an_approval_of_some_arguments_is_no_approval_of_others(other: dict[str, object]) -> None:
    disk = Disk()
    shown = {"path": "a"}
    state, agent = suspend(disk.tools(), call("remove", shown))
    decision = state.pending[0].approve()
    result = agent.run_sync(attacked(state, other), decisions=[decision])
    assert (result.reason == "answered") == (other == shown)
    assert disk.removed == ([("a", False)] if other == shown else [])


def test_an_approval_of_one_tool_is_no_approval_of_another() -> None:
    ran: list[str] = []

    @tool(approval=True)
    def look(path: str) -> str:
        """Look at a file."""
        ran.append("look")
        return "seen"

    @tool(approval=True)
    def wipe(path: str) -> str:
        """Look at a file."""
        ran.append("wipe")
        return "wiped"

    state, agent = suspend(Toolset([look, wipe]), call("look", {"path": "a"}))
    decision = state.pending[0].approve()
    result = agent.run_sync(attacked(state, {"path": "a"}, "wipe"), decisions=[decision])
    assert (result.reason, ran) == ("waiting", [])
    assert result.pending[0].tool == "wipe"


@pytest.mark.parametrize("changed", ["description", "parameters", "effects"])
def test_an_approval_ends_when_the_definition_changes(changed: str) -> None:
    ran: list[str] = []

    def define(version: int) -> Toolset:
        effects = Effects(open_world=changed == "effects" and version == 2)

        def send(text: str) -> str:
            ran.append(text)
            return "sent"

        def send_more(text: str, copy_to: str = "") -> str:
            ran.append(text)
            return "sent"

        other = changed == "parameters" and version == 2
        body = send_more if other else send
        words = "Send it anywhere." if changed == "description" and version == 2 else "Send it."
        return Toolset([tool("send", description=words, approval=True, effects=effects)(body)])

    state, _ = suspend(define(1), call("send", {"text": "hi"}))
    decision = state.pending[0].approve()
    agent = Agent(Scripted(["done"]), define(2))
    with pytest.raises(SetupError, match="has changed since the decision was made"):
        agent.run_sync(state, decisions=[decision])
    result = agent.run_sync(state)
    assert (result.reason, ran) == ("waiting", [])
    assert result.pending[0].digest != state.pending[0].digest


@pytest.mark.parametrize("expires", [0, "past", "far"])
def test_a_ticket_past_its_time_or_with_a_forged_one_cannot_be_decided(expires: Any) -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    data = json.loads(state.to_json())
    forged = {0: 0, "past": time.time() - 1, "far": time.time() + 365 * 24 * 3600}
    data["pending"][0]["expires"] = forged[expires]
    saved = RunState.from_json(json.dumps(data))
    with pytest.raises(SetupError, match="expired"):
        agent.run_sync(saved, decisions=[saved.pending[0].approve()])
    assert not disk.removed


@pytest.mark.parametrize("change", ["none", "past", "far", "shown"])
def test_a_ticket_waits_on_while_it_is_valid_and_shows_the_same(change: str) -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    data = json.loads(state.to_json())
    [saved] = data["pending"]
    if change == "shown":
        saved["reason"] = "another reason"
    elif change != "none":
        saved["expires"] = time.time() + {"past": -1, "far": 365 * 24 * 3600}[change]
    [ticket] = agent.run_sync(RunState.from_json(json.dumps(data))).pending
    assert (ticket.id == saved["id"]) == (change == "none")
    assert 0 < ticket.expires - time.time() < 364 * 24 * 3600


def test_a_digest_forged_in_the_state_approves_nothing() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    ticket = dataclasses.replace(state.pending[0], digest="0" * 64)
    with pytest.raises(SetupError, match="has changed since the decision was made"):
        agent.run_sync(RunState(state.messages, (ticket,)), decisions=[ticket.approve()])
    assert not disk.removed


def test_an_approver_that_changes_the_ticket_it_was_shown_changes_nothing_that_runs() -> None:
    class Batch(BaseModel):
        paths: list[str]

    ran: list[Any] = []

    @tool(approval=True)
    def remove(batch: Batch, options: dict[str, Any]) -> str:
        """Remove files."""
        ran.append((batch.paths, options))
        return "removed"

    def approver(ticket: Ticket) -> bool:
        shown: Any = ticket.arguments
        shown["batch"]["paths"].append("/etc/passwd")
        shown["options"]["force"] = True
        return True

    ask(Toolset([remove]), approver, {"batch": {"paths": ["a"]}, "options": {}})
    assert ran == [(["a"], {})]


def test_a_listener_that_changes_what_it_was_sent_changes_nothing_that_runs() -> None:
    ran: list[Any] = []

    @tool(approval=True)
    def remove(paths: list[str]) -> str:
        """Remove files."""
        ran.append(paths)
        return "removed"

    def listener(event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            event.ticket.arguments["paths"].append("/etc/passwd")  # type: ignore[attr-defined]

    ask(Toolset([remove]), lambda t: True, {"paths": ["a"]}, listeners=(listener,))
    assert ran == [["a"]]


def test_a_step_that_keeps_the_values_and_changes_them_later_changes_nothing_that_runs() -> None:
    ran: list[Any] = []
    kept: list[Prepared] = []

    async def hold(prepared: Prepared, context: Any, proceed: Any) -> object:
        kept.append(prepared)
        return await proceed(prepared)

    @tool(approval=True, steps=[hold])
    def remove(paths: list[str]) -> str:
        """Remove files."""
        ran.append(paths)
        return "removed"

    def approver(ticket: Ticket) -> bool:
        kept[0].arguments["paths"].append("/etc/passwd")
        return True

    ask(Toolset([remove]), approver, {"paths": ["a"]})
    assert ran == [["a"]]


class Inner:
    """A step that stands after approval and changes what was approved."""

    place = "retry"

    def __init__(self, how: str) -> None:
        self.how = how

    async def __call__(self, prepared: Prepared, context: Any, proceed: Any) -> object:
        if self.how == "deep":
            prepared.arguments["paths"].append("/etc/passwd")
            return await proceed(prepared)
        if self.how == "change":
            return await proceed(prepared.change(paths=["/etc/passwd"]))
        return await proceed(Prepared(prepared.call, prepared.tool, {"paths": ["/etc/passwd"]}))


@pytest.mark.parametrize("how", ["deep", "change", "new"])
@pytest.mark.parametrize("asks", [True, False])
def test_a_step_after_the_approval_cannot_change_what_runs(how: str, asks: bool) -> None:
    ran: list[Any] = []

    @tool(approval=asks, steps=[Inner(how)])
    def remove(paths: list[str]) -> str:
        """Remove files."""
        ran.append(paths)
        return "removed"

    [message] = ask(Toolset([remove]), lambda t: True, {"paths": ["a"]})
    if how == "deep":
        assert ran == [["a"]] or not asks
    else:
        assert (message.kind, ran) == ("refused", [])
        assert "was refused: a step changed its arguments after the place" in message.text


# — edits —


def test_edited_arguments_run_instead_and_an_event_says_so() -> None:
    disk = Disk()
    events: list[Event] = []
    ask(
        disk.tools(),
        lambda t: t.edit({"path": "/tmp/a"}),
        {"path": "/etc/a"},
        listeners=(events.append,),
    )
    assert disk.removed == [("/tmp/a", False)]
    assert [e.changes for e in events if isinstance(e, Coerced)] == [
        ('a person changed path from "/etc/a" to "/tmp/a"',)
    ]


def test_edited_arguments_that_are_not_valid_do_not_run_and_are_not_the_models_fault() -> None:
    disk = Disk()
    for arguments in ({"path": 5}, {}, {"path": "a", "sudo": True}, {"path": object()}):
        [message] = ask(disk.tools(), lambda t, a=arguments: t.edit(a), {"path": "/etc/a"})
        assert message.kind == "denied"
        assert "edited its arguments" in message.text
    assert not disk.removed


def test_edited_arguments_are_guarded_too() -> None:
    disk = Disk()

    def only_tmp(prepared: Prepared, context: Any) -> Any:
        fine = prepared.arguments["path"].startswith("/tmp/")
        return Allow() if fine else Reject("only below /tmp")

    tools = disk.tools(input_guard(only_tmp))
    [message] = ask(tools, lambda t: t.edit({"path": "/etc/b"}), {"path": "/tmp/a"})
    assert (message.kind, disk.removed) == ("refused", [])
    assert message.text.startswith("only below /tmp\n\n[A person changed this call: path")


def lowering(prepared: Prepared, context: Any) -> Allow:
    return Allow({**prepared.arguments, "path": prepared.arguments["path"].lower()})


def test_what_a_guard_makes_of_an_edit_is_asked_about_anew() -> None:
    disk = Disk()
    shown: list[object] = []

    def approver(ticket: Ticket) -> Decision:
        shown.append(ticket.arguments["path"])
        return ticket.edit({"path": "/TMP/B"}) if len(shown) == 1 else ticket.approve()

    ask(disk.tools(input_guard(lowering)), approver, {"path": "A"})
    assert shown == ["a", "/tmp/b"]
    assert disk.removed == [("/tmp/b", False)]


def test_an_edit_that_a_guard_changed_can_be_approved_in_a_later_run() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(input_guard(lowering)), call("remove", {"path": "A"}))
    result = agent.run_sync(state, decisions=[state.pending[0].edit({"path": "/TMP/B"})])
    assert (result.reason, disk.removed) == ("waiting", [])
    [again] = result.pending
    assert (again.arguments["path"], again.origin) == ("/tmp/b", state.pending[0].digest)
    saved = RunState.from_json(result.state.to_json())
    result = agent.run_sync(saved, decisions=[saved.pending[0].approve()])
    assert (result.reason, disk.removed) == ("answered", [("/tmp/b", False)])


def test_an_edit_of_a_saved_run_is_validated_there_too() -> None:
    disk = Disk()
    state, agent = suspend(disk.tools(), call("remove", {"path": "a"}))
    result = agent.run_sync(state, decisions=[state.pending[0].edit({"path": ["a"]})])
    assert [m.kind for m in results(result)] == ["denied"]
    assert not disk.removed


# — the form arguments have while they are shown —


def test_parameters_by_another_name_are_shown_as_the_model_knows_them_and_run() -> None:
    class Place(BaseModel):
        city: str = Field(alias="cityName")
        when: str = Field("now", validation_alias="at", serialization_alias="time")

    ran: list[Any] = []

    @tool(approval=True)
    def go(place: Place, count: Annotated[int, Field(alias="howMany")] = 1) -> str:
        """Go somewhere."""
        ran.append((place.city, place.when, count))
        return "gone"

    shown: list[Any] = []
    given = {"place": {"cityName": "北京", "at": "noon"}, "howMany": 2}
    [message] = ask(Toolset([go]), lambda t: shown.append(dict(t.arguments)) or True, given)
    assert (message.content, shown, ran) == ("gone", [given], [("北京", "noon", 2)])
    edited = {"place": {"cityName": "上海"}}
    ask(Toolset([go]), lambda t: t.edit(edited), given)
    assert ran[-1] == ("上海", "now", 1)


# — waiting —


def test_a_run_that_is_cancelled_while_somebody_thinks_answers_the_call_and_runs_nothing() -> None:
    disk = Disk()
    asked: list[Ticket] = []

    async def approver(ticket: Ticket) -> bool:
        asked.append(ticket)
        await asyncio.sleep(60)
        return True

    async def main() -> ToolMessage:
        run = RunContext(approver=approver)
        task = asyncio.create_task(disk.tools().run([ToolCall("1", "remove", {"path": "a"})], run))
        await until(lambda: asked)
        run.cancel.cancel("went home")
        [message] = await task
        return message

    message = run_loop(main)
    assert (message.kind, disk.removed) == ("cancelled", [])
    assert "went home" in message.text


def test_a_task_that_is_cancelled_while_somebody_thinks_runs_nothing() -> None:
    disk = Disk()
    asked: list[Ticket] = []

    async def approver(ticket: Ticket) -> bool:
        asked.append(ticket)
        await asyncio.sleep(60)
        return True

    async def main() -> None:
        run = RunContext(approver=approver)
        batch = disk.tools().batch([ToolCall("1", "remove", {"path": "a"})], run)
        task = asyncio.create_task(batch.run())
        await until(lambda: asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [m.kind for m in batch.results] == ["cancelled"]

    run_loop(main)
    assert not disk.removed


def test_calls_that_need_nobody_run_while_another_waits_for_a_person() -> None:
    disk = Disk()

    @tool
    def free() -> str:
        """Need nobody."""
        return "done"

    state, agent = suspend(
        Toolset([*disk.tools(), free]), call("free"), call("remove", {"path": "a"}), call("free")
    )
    ids = [m.tool_call_id for m in state.messages if isinstance(m, ToolMessage)]
    assert ids == ["call_1", "call_3"]
    result = agent.run_sync(state, decisions=[state.pending[0].approve()])
    assert [m.tool_call_id for m in results(result)] == ["call_1", "call_2", "call_3"]


def test_a_cancelled_run_suspends_nothing_new() -> None:
    disk = Disk()
    token = CancelToken()
    token.cancel("over")
    model = Scripted([[call("remove", {"path": "a"})]])
    result = Agent(model, disk.tools()).run_sync("go", cancel=token)
    assert result.reason == "cancelled"
    assert not disk.removed


def test_each_of_many_calls_is_decided_for_itself_whatever_the_order_of_answers() -> None:
    disk = Disk()

    async def approver(ticket: Ticket) -> bool:
        number = int(str(ticket.arguments["path"]))
        await asyncio.sleep((7 * number % 5) / 500)
        return number % 3 == 0

    paths = [{"path": str(n)} for n in range(30)]
    messages = ask(disk.tools(), approver, *paths)
    assert [m.failed for m in messages] == [n % 3 != 0 for n in range(30)]
    assert sorted(int(p) for p, _ in disk.removed) == list(range(0, 30, 3))


class ChangesInPlace:
    """A step after approval that changes the arguments of a call where they are."""

    place = "limit"

    async def __call__(self, prepared: Any, context: Any, proceed: Any) -> object:
        prepared.arguments["paths"].append("/etc/passwd")
        return await proceed(prepared)


@pytest.mark.parametrize("rules", [None, Rules(deny=["remove(paths=/etc/*)"])])
def test_what_a_predicate_or_a_rule_let_through_runs_as_it_was_whatever_a_later_step_changes(
    rules: Rules | None,
) -> None:
    options: dict[str, Any] = {}
    if rules is None:
        options["approval"] = lambda arguments: "/etc/passwd" in arguments["paths"]

    @tool(**options)
    def remove(paths: list[str]) -> str:
        """Remove files."""
        return ", ".join(paths)

    tools = Toolset([remove], steps=[ChangesInPlace()], rules=rules)
    [message] = tools.run_sync([ToolCall("1", "remove", {"paths": ["/tmp/a"]})])
    assert message.text == "/tmp/a"
