"""Calls that code makes stand in the journal, and what has an outcome there does not happen twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.sessions.talking import opened
from tests.shared import optional
from toolkeel import (
    Agent,
    AssistantMessage,
    Effects,
    Secret,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    UserMessage,
    tool,
)
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Entry,
    ModelAsked,
    ModelReplied,
    PersonSaid,
    RunBegan,
    call_key_of,
)
from toolkeel.effects import PURE
from toolkeel.messages import Usage
from toolkeel.sessions import Sessions
from toolkeel.sessions.code_calls import code_call_digest
from toolkeel.testing.scripted import Scripted, call

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from typing import Annotated, Any
from toolkeel import Agent, Effects, RunContext, ToolCall, ToolContext, Toolset, tool
from toolkeel.runs import RunLimits
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

folder, dies, how, says = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]

def did(what, context):
    if dies == f"before {what}":
        os.kill(os.getpid(), signal.SIGKILL)
    with open(folder / "log", "a") as log:
        log.write(f"{what} {context.idempotency_key}\\n")
    context.update("did", lambda old: [*old, what], [])
    if dies == f"inside {what}":
        os.kill(os.getpid(), signal.SIGKILL)

@tool(effects=Effects(destructive=False))
async def pay(what: str, context: ToolContext[Any]) -> str:
    "Pay."
    did(what, context)
    return f"paid {what}"

@tool(effects=Effects(idempotent=True))
def put(what: str, context: ToolContext[Any]) -> str:
    "Put."
    did(what, context)
    return f"put {what}"

@tool(effects=Effects(read_only=True))
async def look(what: str, context: ToolContext[Any]) -> str:
    "Look."
    did(what, context)
    return f"saw {what}"

inner = Toolset([pay, put, look])

async def made(run, name, what):
    [message] = await inner.run([ToolCall("x", name, {"what": what})], run)
    return message.text

@tool(effects=Effects(idempotent=how == "safe", destructive=False))
async def code(context: ToolContext[Any]) -> str:
    "Call tools."
    told = [await made(context.run, "look", "a"), await made(context.run, "pay", "b")]
    both = [ToolCall("x", "pay", {"what": "c"}), ToolCall("x", "put", {"what": "d"})]
    told += [message.text for message in await inner.run(both, context.run)]
    told.append(await made(context.run, "pay", "b"))
    return ", ".join(told)

def decide(ticket):
    asked.append(f"{ticket.tool} {ticket.arguments.get('what', '')}".strip())
    return ticket.deny("it did") if says == "no" else ticket.approve()

asked = []
session = Sessions(folder / "talk.db")["ada"]
goes_on = session.exists
agent = Agent(Scripted(["done"] if goes_on else [[call("code", {})], "done"]), [code])
limits = RunLimits(calls={"pay": int(sys.argv[5])})
options = {} if says == "nobody" else {"approver": decide}
result = agent.run_sync(None if goes_on else "go", session=session, limits=limits, **options)
print("|".join([result.reason, ",".join(asked), result.messages[2].text if len(result.messages) > 2 else ""]))
"""
HOW = ("safe", "unsafe")
SLOW = [pytest.mark.slow]


def _played(folder: Path, dies: str, how: str, says: str = "yes", most: int = 3) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, str(folder), dies, how, says, str(most)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    expected = 0 if dies == "never" else -signal.SIGKILL
    assert ended.returncode == expected, ended.stderr
    return ended.stdout.strip().split("|")


def _log(folder: Path) -> list[list[str]]:
    log = folder / "log"
    return [line.split() for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def _nested(folder: Path) -> list[Any]:
    sessions = Sessions(folder / "talk.db")
    found = [each.entry for each in sessions["ada"].entries()]
    sessions.close()
    return [e for e in found if isinstance(e, CallIntended | CallEnded) and e.within]


def test_each_call_of_code_stands_in_the_journal_before_and_after_it(tmp_path: Path) -> None:
    reason, asked, told = _played(tmp_path, "never", "unsafe")
    assert (reason, asked) == ("answered", "")
    assert told == "saw a, paid b, paid c, put d, paid b"
    nested = _nested(tmp_path)
    intended = [each for each in nested if isinstance(each, CallIntended)]
    ended = [each for each in nested if isinstance(each, CallEnded)]
    assert [(e.position, e.tool, e.repeatable) for e in intended] == [
        (0, "look", True),
        (1, "pay", False),
        (2, "pay", False),
        (3, "put", True),
        (4, "pay", False),
    ]
    assert sorted(map(call_key_of, ended)) == sorted(map(call_key_of, intended))
    assert {each.within for each in nested} == {f"{nested[0].run}-1-0"}
    assert [key for _, key in _log(tmp_path)] == [call_key_of(each) for each in intended]
    assert [json.loads(e.arguments)["what"] for e in intended if e.arguments] == ["b", "c", "b"]


EACH = [(f"{when} {what}", how) for when in ("before", "inside") for what in "abcd" for how in HOW]
FAST = ("inside b", "unsafe")


@pytest.mark.parametrize(
    ("dies", "how"), [pytest.param(*each, marks=[] if each == FAST else SLOW) for each in EACH]
)
def test_what_code_has_done_before_a_kill_is_not_done_again(
    tmp_path: Path, dies: str, how: str
) -> None:
    _played(tmp_path, dies, how)
    before = [each for each, _ in _log(tmp_path)]
    reason, asked, told = _played(tmp_path, "never", how)
    assert (reason, told) == ("answered", "saw a, paid b, paid c, put d, paid b")
    log = _log(tmp_path)
    assert sorted({key: what for what, key in log}.values()) == ["a", "b", "b", "c", "d"]
    _, what = dies.split()
    did = [each for each, _ in log]
    questions = [each for each in asked.split(",") if each]
    assert questions[: how == "unsafe"] == ["code"] * (how == "unsafe")
    unknown = questions[how == "unsafe" :]
    for each in "bc":  # again only if a person has said, as here, that it had not happened
        again = each in before and f"pay {each}" in unknown
        assert did.count(each) - (2 if each == "b" else 1) == again
    if what == "d":  # its sibling may have had its outcome by then, or not
        assert unknown in ([], ["pay c"])
    else:
        assert unknown == ([f"pay {what}"] if what in "bc" else [])


def test_who_says_that_it_did_not_happen_is_believed_of_each_call(tmp_path: Path) -> None:
    _played(tmp_path, "inside b", "safe")
    reason, asked, told = _played(tmp_path, "never", "safe", "no")
    assert (reason, asked) == ("answered", "pay b")
    assert "It is unknown whether this call of 'pay' happened" in told
    assert "A person says: it did, paid c, put d, paid b" in told
    assert [what for what, _ in _log(tmp_path)] == ["a", "b", "c", "d", "b"]


def test_with_the_call_around_them_calls_of_code_are_left_as_well(tmp_path: Path) -> None:
    _played(tmp_path, "inside b", "unsafe")
    assert _played(tmp_path, "never", "unsafe", "nobody")[0] == "waiting"
    sessions = Sessions(tmp_path / "talk.db")
    code, pay = sessions["ada"].pending
    assert (code.tool, pay.tool, pay.arguments) == ("code", "pay", {"what": "b"})
    sessions["ada"].decide(code.deny("leave it"))
    sessions.close()
    reason, asked, told = _played(tmp_path, "never", "unsafe", "nobody")
    assert (reason, asked) == ("answered", "") and "leave it" in told
    assert [what for what, _ in _log(tmp_path)] == ["a", "b"]


def test_calls_of_code_count_for_limits_after_a_kill_as_before(tmp_path: Path) -> None:
    for folder in (tmp_path / "whole", tmp_path / "killed"):
        folder.mkdir()
        if folder.name == "killed":
            _played(folder, "inside d", "safe", most=2)
        told = _played(folder, "never", "safe", most=2)[2]
        assert (
            "'pay' did not run: it may be called 2 times in this run, and that is used up" in told
        )
        assert [what for what, _ in _log(folder)].count("b") == 1


class Commits:
    """How often a session waits for its disk while a body makes calls."""

    def __init__(self, journal: Any) -> None:
        self.waited = 0
        self._commit = journal.commit
        journal.commit = self.commit

    async def commit(self) -> None:
        self.waited += 1
        await self._commit()


@pytest.mark.parametrize(("effects", "waited"), [(PURE, 0), (Effects(idempotent=True), 5)])
def test_only_what_may_change_something_waits_for_the_disk(effects: Effects, waited: int) -> None:
    @tool(effects=effects)
    async def one(secret: Annotated[str, Secret()]) -> str:
        """Do one thing."""
        return "done"

    inner = Toolset([one])
    seen: list[int] = []

    @tool
    async def code(context: ToolContext[Any]) -> str:
        """Do five."""
        recorder = context.run.recorder
        assert recorder is not None
        commits = Commits(recorder.journal)
        for _ in range(5):
            await inner.run([ToolCall("x", "one", '{"secret": "s3cret"}')], context.run)
        seen.append(commits.waited)
        return "done"

    session = Sessions(":memory:")["ada"]
    Agent(Scripted([[call("code", {})], "done"]), [code]).run_sync("go", session=session)
    assert seen == [waited]
    written = [each.entry for each in session.entries()]
    assert sum(isinstance(each, CallIntended) and bool(each.within) for each in written) == 5
    assert "s3cret" not in str(written)


def test_what_is_called_when_the_call_around_it_has_ended_is_in_no_journal() -> None:
    """A body that goes on after its deadline writes nothing between the entries of others."""
    left: list[threading.Thread] = []
    goes_on = threading.Event()

    @tool
    async def late() -> str:
        """Come late."""
        return "late"

    @tool(timeout=0.05)
    def code(context: ToolContext[Any]) -> str:
        """Never end in time."""
        left.append(threading.current_thread())
        goes_on.wait(20)
        [message] = Toolset([late]).run_sync([ToolCall("x", "late")], context.run)
        said.append(message.text)
        return "done"

    said: list[str] = []
    session = Sessions(":memory:")["ada"]
    agent = Agent(Scripted([[call("code", {})], "done", "and more"]), [code])
    agent.run_sync("go", session=session)
    goes_on.set()
    for _ in range(200):
        if said:
            break
        time.sleep(0.05)
    agent.run_sync("again", session=session)
    assert said == ["late"]
    assert [m.text for m in session.messages][-2:] == ["again", "and more"]
    assert not any(isinstance(e.entry, CallIntended) and e.entry.within for e in session.entries())


def test_a_call_that_differs_from_what_was_made_before_runs_for_itself(tmp_path: Path) -> None:
    """Code that takes another way after a kill is answered for what is the same, and runs the rest."""
    sessions = Sessions(":memory:")
    journal = opened(sessions)
    session = sessions["ada"]
    ran: list[str] = []

    @tool
    async def pay(what: str, context: ToolContext[Any]) -> str:
        """Pay."""
        ran.append(f"{what} {context.idempotency_key[-5:]}")
        return f"paid {what}"

    @tool(effects=Effects(idempotent=True))
    async def code(context: ToolContext[Any]) -> str:
        """Pay for two."""
        calls = [ToolCall("x", "pay", {"what": what}) for what in ("b", "new", "a")]
        return ",".join(m.text for m in await Toolset([pay]).run(calls, context.run))

    reply = AssistantMessage("", (ToolCall("1", "code", "{}"),))
    before: list[Entry] = [
        RunBegan("r"), PersonSaid("r", UserMessage("go")), ModelAsked("r", 1),
        ModelReplied("r", 1, reply), CallIntended("r", 1, 0, "1", "code", repeatable=True),
    ]  # fmt: skip
    for number, what in enumerate("ab"):
        made = ToolCall("x", "pay", {"what": what})
        before.append(
            CallIntended("r", 1, number, "x", "pay", code_call_digest(made), within="r-1-0")
        )
        ended = ToolMessage(f"paid {what}", "x", "pay")
        before.append(CallEnded("r", 1, number, ended, within="r-1-0"))
    for entry in before:
        journal.append(entry)
    journal.commit_now()
    result = Agent(Scripted(["done"]), [code, pay]).run_sync(None, session=session)
    assert result.messages[2].text == "paid b,paid new,paid a"
    assert ran == ["new 0-1-2"]
    sessions.close()


def test_calls_of_an_interpreters_code_are_nested_under_the_call_that_runs_it() -> None:
    keys: list[str] = []

    @tool
    async def pay(what: str, context: ToolContext[Any]) -> str:
        """Pay."""
        keys.append(context.idempotency_key)
        return f"paid {what}"

    code = (
        "import asyncio\nboth = await asyncio.gather(pay(what='a'), pay(what='b'))\npay(what='c')"
    )
    interpreter = optional("toolkeel_workspace.code.interpreter").CodeInterpreterTool(tools=[pay])
    session = Sessions(":memory:")["ada"]
    model = Scripted([[call("code_interpreter", {"code": code})], "done"])
    Agent(model, [interpreter]).run_sync("go", session=session)
    entries = [each.entry for each in session.entries()]
    [outer] = [e for e in entries if isinstance(e, CallIntended) and not e.within]
    nested = [e for e in entries if isinstance(e, CallIntended) and e.within]
    assert [(e.run, e.within) for e in nested] == [(outer.run, call_key_of(outer))] * 3
    assert sorted(keys) == sorted(call_key_of(each) for each in nested)
    ended = [e.message.text for e in entries if isinstance(e, CallEnded) and e.within]
    assert {*ended[:2]} == {"paid a", "paid b"} and ended[2:] == ["paid c"]
    assert not session.load_state().code_calls and not session.load_state().open_calls


@pytest.mark.parametrize("kept", [False, True])
def test_what_code_writes_and_spends_is_that_of_the_run_whose_call_it_is(kept: bool) -> None:
    """Within an agent that is a call: its state is no other's, and what is asked for is counted once."""
    usage = Usage(1, 10, 5)

    def made(name: str, **arguments: object) -> AssistantMessage:
        return AssistantMessage("", (ToolCall("c", name, arguments),), "tool_calls", usage)

    @tool
    async def put(key: str, context: ToolContext[Any]) -> str:
        """Put."""
        context.update(key, lambda value: True)
        context.state[f"raw {key}"] = True
        return "ok"

    @tool
    async def seen(context: ToolContext[Any]) -> str:
        """See."""
        return ", ".join(sorted(context.state))

    deep = Agent(Scripted([AssistantMessage("hello", usage=usage)]), name="deep")
    code = made("code_interpreter", code="put(key='x')\nprint(deep(input='q'))")
    lines = [code, made("seen"), AssistantMessage("done", usage=usage)]
    interpreter = optional("toolkeel_workspace.code.interpreter").CodeInterpreterTool(
        tools=[put, deep.as_tool()]
    )
    clerk = Agent(Scripted(lines), [interpreter, seen], name="clerk")
    boss = Agent(
        Scripted([made("clerk", input="go"), AssistantMessage("over", usage=usage)]),
        [clerk.as_tool()],
    )
    session = Sessions(":memory:")["ada"]
    result = boss.run_sync("go", **({"session": session} if kept else {}))  # type: ignore[arg-type]
    assert result.usage == Usage(6, 60, 30) and result.state.values == {}
    assert clerk.model.requests[2].messages[-1].text == "raw x, x"  # type: ignore[union-attr]
    if kept:
        assert session.usage == result.usage and session.state == {}
        began = [e.entry for e in session.entries() if isinstance(e.entry, RunBegan)]
        assert [each.parent for each in began] == ["", began[0].run, began[1].run]
