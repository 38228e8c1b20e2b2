"""Calls that wait for whoever decides first: another program, another thread, nobody."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from time import time

import pytest

from tests.waiting import until
from toolkeel import Agent, SetupError, tool
from toolkeel._records.tickets import Decision, Ticket, new_id
from toolkeel.content import File, Text
from toolkeel.messages import UserMessage
from toolkeel.sessions import ApprovalQueue, KeyValueStore
from toolkeel.testing import Scripted, call


def ticket(**more: object) -> Ticket:
    fields = {"call_id": "1", "tool": "rm", "arguments": {"path": "北京"}, "digest": "d"}
    return Ticket(**{"id": new_id(), "expires": time() + 60, **fields, **more})  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


def test_a_decision_of_another_process_reaches_the_call_that_waits(file: Path) -> None:
    program = (
        "import sys\nfrom toolkeel.sessions import ApprovalQueue, KeyValueStore\n"
        "desk = ApprovalQueue(KeyValueStore(sys.argv[1]))\n[one] = desk.waiting()\n"
        "assert one.arguments == {'path': '北京'}\n"
        "assert desk.decide(one.edit({'path': '上海'}), 'bo') is None\n"
    )

    async def use() -> Decision:
        desk = ApprovalQueue(KeyValueStore(file))
        waiting = asyncio.create_task(desk(ticket()))
        await until(lambda: bool(desk.waiting()))
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(file))
        assert await other.wait() == 0
        return await waiting

    found = asyncio.run(use())
    assert (found.verdict, found.arguments) == ("edit", {"path": "上海"})
    assert "北京" not in file.read_bytes().decode("utf-8", "replace")


def test_of_two_who_decide_the_first_counts_and_the_second_is_told(file: Path) -> None:
    async def use() -> None:
        desk = ApprovalQueue(KeyValueStore(file))
        waiting = asyncio.create_task(desk(ticket()))
        await until(lambda: bool(desk.waiting()))
        [one] = desk.waiting()
        assert desk.decide(one.deny("no"), "ada") is None
        assert desk.waiting() == []
        first = desk.decide(one.approve(), "bo")
        assert first is not None and (first.who, first.decision.verdict) == ("ada", "deny")
        assert await waiting == one.deny("no")

    asyncio.run(use())


def test_a_call_nobody_decides_is_refused_and_cannot_be_decided_later(file: Path) -> None:
    desk = ApprovalQueue(KeyValueStore(file), wait=0.3)
    one = ticket()
    found = asyncio.run(desk(one))
    assert found.verdict == "deny" and "within 0.3 seconds" in found.reason
    late = desk.decide(one.approve(), "ada")
    assert late is not None and late.who == "time"


def test_a_call_that_is_withdrawn_waits_no_more_but_a_decision_before_it_counts(file: Path) -> None:
    async def use() -> None:
        desk = ApprovalQueue(KeyValueStore(file))
        one, two = ticket(), ticket()
        first, second = (asyncio.create_task(desk(each)) for each in (one, two))
        await until(lambda: len(desk.waiting()) == 2)
        assert desk.decide(two.approve(), "ada") is None
        first.cancel()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == two.approve()
        assert desk.waiting() == []

    asyncio.run(use())


def test_what_was_not_shown_so_cannot_be_decided(file: Path) -> None:
    async def use() -> None:
        desk = ApprovalQueue(KeyValueStore(file), wait=1)
        one = ticket()
        waiting = asyncio.create_task(desk(one))
        await until(lambda: bool(desk.waiting()))
        for other in (ticket(), ticket(id=one.id, arguments={"path": "/"})):
            with pytest.raises(SetupError, match="no longer pending"):
                desk.decide(other.approve(), "eve")
        assert (await waiting).verdict == "deny"

    asyncio.run(use())


def test_an_agent_asks_there_and_goes_on(file: Path) -> None:
    @tool(approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        return f"{path} is gone"

    async def use() -> str:
        desk = ApprovalQueue(KeyValueStore(file))
        agent = Agent(Scripted([call("remove", {"path": "a"}), "done"]), tools=[remove])

        async def decide() -> None:
            await until(lambda: bool(desk.waiting()))
            desk.decide(desk.waiting()[0].approve(), "ada")

        result, _ = await asyncio.gather(agent.run("go", approver=desk), decide())
        return str(result.messages[2].text)

    assert asyncio.run(use()) == "a is gone"


def test_a_call_that_waits_in_a_store_reads_nothing_from_it(file: Path) -> None:
    """What the caller attached is the person's own text for the program's functions, also afterwards."""
    desk, ran = ApprovalQueue(KeyValueStore(file)), list[str]()

    @tool(approval=True)
    def first() -> str:
        """Work."""
        return "done"

    @tool
    def second() -> str:
        """Work."""
        ran.append("second")
        return "done"

    async def use() -> None:
        agent = Agent(Scripted([call("first"), call("second"), "done"]), [first, second])
        prompt = UserMessage([Text("Look."), File(b"x", "a.txt", media_type="text/plain")])
        going = asyncio.create_task(agent.run(prompt, approver=desk))
        await until(lambda: bool(desk.waiting()))
        assert desk.decide(desk.waiting()[0].approve(), "ada") is None
        await going

    asyncio.run(use())
    assert ran == ["second"] and desk.waiting() == []
