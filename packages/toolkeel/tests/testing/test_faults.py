"""Whatever fails, and wherever: every call has its result, its two events, and a valid transcript."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import toolkeel
from tests.contract import check_events, check_run, check_transcript
from tests.shared import ROOT
from tests.waiting import until
from toolkeel import (
    Agent,
    AssistantMessage,
    CancelToken,
    Effects,
    Secret,
    ToolCall,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel import (
    Injected as Marker,
)
from toolkeel._records.messages_json import load_message
from toolkeel.call.body import task_cancels
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.call_limits import CallLimit
from toolkeel.call.steps.guard import Allow, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.call.steps.turn_order import loop_locks
from toolkeel.events import Event, ToolFinished, ToolStarted
from toolkeel.messages import Message
from toolkeel.model_interface import CallDelta, Finish, TextDelta
from toolkeel.runs import RunLimits
from toolkeel.testing.faults import POINTS, Fault, Faults, Injected
from toolkeel.testing.scripted import Scripted

WAITING = [point.name for point in POINTS if point.waits]
PLAIN = [point.name for point in POINTS if not point.waits]
TOLD = {"delta", "ask", "offer"}
"""Places where the model is asked: what fails there ends the run."""


class Report(BaseModel):
    total: int


class World:
    """Tools that go through every place, and a run of them."""

    def __init__(self, seconds: float | None = None, times: int = 1) -> None:
        self.seconds = seconds
        self.times = times
        self.events: list[Event] = []
        self.ran: list[str] = []
        self.token = CancelToken()
        self.handle: Any = None

    @property
    def messages(self) -> list[Message]:
        """The transcript of the run, however it ended."""
        return [] if self.handle is None else list(self.handle.messages)

    def tools(self) -> Toolset:
        guards = (input_guard(lambda p, c: Allow()), output_guard(lambda p, o, c: Allow()))

        @tool(
            effects=Effects(read_only=True, resources=("report:{name}",)),
            steps=[*guards, CallLimit(20), Cache(), Retry(2, wait=0.001)],
            approval=True,
            enabled=lambda context: True,
        )
        async def report(name: str, user: Annotated[str, Marker]) -> Report:
            """Report."""
            self.ran.append(f"report {name}")
            await asyncio.sleep(0)
            return Report(total=len(name))

        @tool(effects=Effects(resources=("report:{name}",)), steps=guards)
        def change(name: str, by: int = 1) -> str:
            """Change a report."""
            self.ran.append(f"change {name}")
            return f"changed by {by}"

        @tool
        async def login(password: Annotated[str, Secret()]) -> str:
            """Log in."""
            self.ran.append("login")
            return "logged in"

        @tool(timeout=5)
        async def wait(seconds: float) -> str:
            """Wait."""
            await asyncio.sleep(seconds)
            return "waited"

        return Toolset([report, change, login, wait])

    def agent(self) -> Agent:
        calls = [
            ("report", '{"name": "a"}'),
            ("report", '{"name": "a"}'),
            ("change", '{"name": "a", "by": "2"}'),
            ("login", '{"password": "hunter2"}'),
            ("wait", '{"seconds": 0}'),
            ("report", '{"name": 5}'),
            ("nobody", "{}"),
        ]
        deltas = [TextDelta("I look.")]
        deltas += [CallDelta(n, f"c{n}", name, text) for n, (name, text) in enumerate(calls)]  # type: ignore[misc]
        deltas = [piece for piece in deltas for _ in range(self.times)]
        return Agent(Scripted([[*deltas, Finish("tool_calls")], "All done."]), self.tools())  # type: ignore[list-item]

    async def run(self, agent: Agent) -> Any:
        async def approver(ticket: object) -> bool:
            await asyncio.sleep(0)
            return True

        self.handle = agent.start(
            "go",
            listeners=[self.events.append],
            inject={"user": "ada"},
            cancel=self.token,
            limits=RunLimits(seconds=self.seconds),
            approver=approver,
        )
        return await self.handle

    def check(self) -> None:
        """Invariants 1, 7 and 10, and that nothing is held by anybody."""
        messages = self.messages
        check_transcript(messages)
        check_run(self.events)
        calls = [c for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
        check_events(self.events, as_told(self.events, calls))
        results = [m for m in messages if isinstance(m, ToolMessage)]
        told = [e.message for e in self.events if isinstance(e, ToolFinished)]
        assert sorted(m.tool_call_id for m in told) == sorted(m.tool_call_id for m in results)
        assert {m.tool_call_id: m.kind for m in told} == {m.tool_call_id: m.kind for m in results}


def as_told(events: Sequence[Event], calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls as their start events show them: those with secrets are copies."""
    shown = [e.call for e in events if isinstance(e, ToolStarted)]
    assert sorted(c.id for c in shown) == sorted(c.id for c in calls)
    return shown


async def play(world: World, *faults: Fault, rescue: str = "") -> tuple[Faults, Any]:
    """Run under a fault plan; what hangs is ended by the token, or by a cancellation."""
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    try:
        with Faults(*faults) as plan:
            agent = world.agent()
            task = asyncio.create_task(world.run(agent))
            if rescue:
                point = faults[0].point
                await until(lambda: task.done() or plan.hits[point] >= faults[0].hit)
                await asyncio.sleep(0.01)
                if rescue == "token":
                    world.token.cancel("rescued")
                    await asyncio.wait([task], timeout=0.3)
                task.cancel()
            done, _ = await asyncio.wait([task], timeout=5)
            assert done, "the run hangs"
            assert len(loop_locks()) == 0
            outcome: Any = None
            try:
                outcome = task.result()
            except BaseException as error:
                outcome = error
            return plan, outcome
    finally:
        task_cancels.GRACE = usual


def go(make: Callable[[], Any]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(20):
            return await make()

    return asyncio.run(main())


def test_without_faults_every_place_is_visited_and_all_is_well() -> None:
    world = World()
    plan, result = go(lambda: play(world))
    world.check()
    assert result.reason == "answered"
    kinds = {m.tool_call_id: m.kind for m in world.messages if isinstance(m, ToolMessage)}
    assert kinds == {
        "c0": None,
        "c1": None,
        "c2": None,
        "c3": None,
        "c4": None,
        "c5": "invalid_arguments",
        "c6": "unknown_tool",
    }
    assert world.ran.count("report a") == 1
    left_out = {point.name for point in POINTS} - set(plan.hits)
    assert left_out == {"stop"}


def test_the_place_where_a_turn_is_stopped_is_visited_when_it_is_cancelled() -> None:
    world = World()
    plan, outcome = go(lambda: play(world, Fault("run", "hang"), rescue="cancel"))
    assert plan.hits["stop"] == 1
    assert isinstance(outcome, asyncio.CancelledError)
    world.check()


@pytest.mark.parametrize("hit", [1, 2, 0])
@pytest.mark.parametrize("point", [p.name for p in POINTS if p.name not in ("emit", "stop")])
def test_what_holds_holds_when_a_place_raises(point: str, hit: int) -> None:
    world = World()
    plan, outcome = go(lambda: play(world, Fault(point, "raise", hit)))
    assert plan.hits[point] >= 1
    if point == "mask":
        world.events = []  # nobody is told what cannot be masked
        check_transcript(world.messages)
        return
    world.check()
    if point in TOLD or point == "start":
        assert isinstance(outcome, Injected)
    else:
        assert outcome.reason == "answered", outcome


@pytest.mark.parametrize("rescue", ["token", "cancel"])
@pytest.mark.parametrize("point", [p for p in WAITING if p != "stop"])
def test_what_holds_holds_when_a_place_hangs_and_the_run_is_ended(point: str, rescue: str) -> None:
    world = World()
    started = time.perf_counter()
    plan, outcome = go(lambda: play(world, Fault(point, "hang"), rescue=rescue))
    assert plan.hits[point] >= 1
    assert time.perf_counter() - started < 30
    world.check()
    if rescue == "cancel":
        assert isinstance(outcome, asyncio.CancelledError)


@pytest.mark.parametrize("point", [p for p in WAITING if p not in ("stop", "start", "run")])
def test_what_holds_holds_when_a_place_is_slower_than_the_run_may_be(point: str) -> None:
    """Which "run" itself sees to; nothing is waited for at "start"."""
    for seconds in (0.1, 1, 10):  # a busy machine is at the place later
        world = World(seconds=seconds)
        plan, outcome = go(lambda w=world: play(w, Fault(point, "hang")))  # type: ignore[misc]
        world.check()
        if plan.hits[point]:
            break
    assert plan.hits[point] >= 1 and outcome.reason == "limit"


def test_what_holds_holds_when_each_piece_of_a_reply_comes_twice() -> None:
    world = World(times=2)
    _, outcome = go(lambda: play(world))
    assert outcome.reason == "answered"
    world.check()
    assert all(ran.endswith(" a") or ran == "login" for ran in world.ran)


@pytest.mark.parametrize("point", [p.name for p in POINTS if p.name != "stop"])
def test_what_holds_holds_when_the_task_at_a_place_is_cancelled(point: str) -> None:
    world = World()
    plan, _ = go(lambda: play(world, Fault(point, "cancel")))
    assert plan.hits[point] >= 1
    world.check()


@pytest.mark.parametrize("hit", [1, 0])
@pytest.mark.parametrize("point", [p for p in WAITING if p != "stop"])
def test_what_holds_holds_in_whatever_order_calls_come_to_a_place(point: str, hit: int) -> None:
    world = World()
    _, result = go(lambda: play(world, Fault(point, "reorder", hit)))
    world.check()
    assert result.reason == "answered"
    assert world.ran.count("report a") == 1


def test_two_faults_at_once_are_no_worse_than_one() -> None:
    for one, other in (
        ("render", "failed"),
        ("guard in", "guard out"),
        ("lock", "cache"),
        ("run", "thread"),
    ):
        world = World()
        _, result = go(lambda w=world, a=one, b=other: play(w, Fault(a, hit=0), Fault(b, hit=0)))  # type: ignore[misc]
        world.check()
        assert result.reason == "answered"


def test_a_place_that_is_interrupted_ends_the_program_after_every_call_has_its_result() -> None:
    world = World()

    async def main() -> None:
        with Faults(Fault("render", error=SystemExit)), pytest.raises(SystemExit):
            await world.run(world.agent())

    with pytest.raises(SystemExit):
        asyncio.run(_raising(main))
    world.check()


KILLED = """
import json, sys
from toolkeel import RunContext, ToolCall, Toolset, tool
from toolkeel.testing.faults import Fault, Faults

def told(event):
    print(json.dumps([event.type, getattr(event, "call_id", "")]), flush=True)

@tool(approval=True)
def write(text: str) -> str:
    "Write."
    print(json.dumps(["body", text]), flush=True)
    return "written"

async def approves(ticket):  # not in a thread, which would be one of the places
    return True

with Faults(Fault(sys.argv[1], "kill", 2)):
    calls = [ToolCall(f"c{n}", "write", {"text": f"c{n}"}) for n in range(3)]
    tools = Toolset([write], parallel=False)
    tools.run_sync(calls, RunContext(listeners=(told,), approver=approves))
"""


@pytest.mark.parametrize(("point", "ran"), [("approve", 1), ("thread", 1), ("render", 2)])
def test_a_process_that_is_killed_has_told_of_each_call_before_it_ran(
    tmp_path: Path, point: str, ran: int
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED, "utf-8")
    env = {"PYTHONPATH": str(Path(toolkeel.__file__).parents[1])}
    command = [sys.executable, str(script), point]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    told = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    bodies = [at for at, (what, _) in enumerate(told) if what == "body"]
    assert len(bodies) == ran
    for at in bodies:
        assert ("tool_started", told[at][1]) in told[:at]
        assert ("approval_decided", told[at][1]) in told[:at]
    assert ("tool_finished", "c0") in told and ("tool_finished", "c1") not in told
    assert ("tool_started", "c2") not in told


KILLABLE = [p.name for p in POINTS if p.name not in ("stop", "failed", "mask")]
"""All places but those of runs that are cancelled, whose bodies fail, and that have secrets."""


@pytest.mark.slow
def test_wherever_a_run_is_killed_its_session_goes_on_and_nothing_runs_twice_unasked(
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-m", "tests.testing.killed_anywhere", str(tmp_path), *KILLABLE]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert set(ends) == set(KILLABLE)
    for place, (first, second, lines, told) in ends.items():
        assert (first, second, told.get("reason")) == (-signal.SIGKILL, 0, "answered"), place
        messages = [load_message(each) for each in told["messages"]]
        check_transcript(messages)
        results = {m.name: m for m in messages if isinstance(m, ToolMessage)}
        assert lines.count("change a") <= 1, place
        if told["asked"]:  # nobody knows about it, and a person said to leave it
            assert results["change"].kind == "unknown_outcome", place
        else:
            assert lines.count("change a") == 1 and not results["change"].failed, place
        assert lines.count("report b") >= 1 and results["nobody"].kind == "unknown_tool", place


async def _raising(make: Callable[[], Any]) -> None:
    await make()
    raise SystemExit


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("point", ["start", "run", "prepare"])
def test_a_tool_that_needs_nothing_goes_through_every_place_too(point: str, count: int) -> None:
    with Faults(Fault(point, hit=0)) as faults:

        @tool
        async def simple(n: int) -> str:
            """Be simple."""
            return str(n)

        tools = Toolset([simple])
        calls = [ToolCall(str(n), "simple", {"n": n}) for n in range(count)]
        if point == "start":
            with pytest.raises(Injected):
                tools.run_sync(calls)
        else:
            assert [message.kind for message in tools.run_sync(calls)] == ["crashed"] * count
    assert faults.hits[point] == count


# — the plan itself —


def test_after_the_block_nothing_of_the_plan_is_left() -> None:
    before = [vars(point.owner)[point.function] for point in POINTS]
    with pytest.raises(Injected), Faults():
        assert all(
            vars(point.owner)[point.function] is not was
            for point, was in zip(POINTS, before, strict=True)
        )
        raise Injected
    assert [vars(point.owner)[point.function] for point in POINTS] == before


def test_names_are_unique_and_every_place_is_there() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)
    for point in POINTS:
        function = vars(point.owner)[point.function]
        assert callable(function)
        assert inspect.iscoroutinefunction(function) == point.waits or point.name == "run"


@pytest.mark.parametrize(
    "fault", [Fault("nowhere"), Fault("render", "hang"), Fault("find", "reorder")]
)
def test_a_fault_that_cannot_be_is_refused(fault: Fault) -> None:
    with pytest.raises(ValueError, match=r"nowhere|waits for nothing"):
        Faults(fault)
