"""One contract, held by every executor: what crosses, how bodies fail, what is told, how they end."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.executors import executor_tools as tools
from tests.executors.survivors import survivors
from tests.shared import optional
from tests.waiting import until, until_sync
from toolkeel import Tool, ToolCall, ToolMessage, Toolset
from toolkeel.content import Image
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Progress
from toolkeel.executors import Executor, Futures, Inline, Process, Thread, with_executors


def spawning() -> Executor:
    return Futures(ProcessPoolExecutor(1, get_context("spawn")))


KINDS = {
    "inline": Inline,
    "thread": Thread,
    "process": Process,
    "threads of a pool": lambda: Futures(ThreadPoolExecutor(2)),
    "processes of a pool": spawning,
}


@pytest.fixture(scope="module")
def head() -> Iterator[str]:
    with optional("tests.ray.head").started() as address:
        yield address


@pytest.fixture(
    params=[*KINDS, *(pytest.param(slow, marks=pytest.mark.slow) for slow in ("sandbox", "ray"))],
)
def executor(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Executor]:
    if request.param == "ray":
        address = request.getfixturevalue("head")
        yield optional("toolkeel_studio.ray").Ray(address)
        return
    if request.param == "sandbox":
        yield Process(
            optional("toolkeel_workspace.sandbox.confine").Sandbox("workspace", [tmp_path])
        )
        return
    made: Executor = KINDS[request.param]()
    yield made
    pool: Any = getattr(made, "_pool", None)
    if isinstance(made, Futures):
        pool.shutdown()


def on(executor: Executor, tool: Tool[..., Any], **options: Any) -> Tool[..., Any]:
    return dataclasses.replace(tool, executor=executor, **{"timeout": 60, **options})


def called(
    tool: Tool[..., Any], values: Mapping[str, object], run: RunContext[Any] | None = None
) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, values)], run)
    return message


def test_values_of_every_kind_cross_and_prints_do_not(executor: Executor) -> None:
    added = called(on(executor, tools.add), {"a": "2", "b": 3, "day": "2026-11-22"})
    assert added.text == '{"total":5,"day":"2026-11-22"}'
    assert added.details["coerced"]
    painted = called(on(executor, tools.paint), {"text": "图"})
    assert painted.content == (Image(tools.PNG + "图".encode(), "image/png"),)
    assert painted.artifact == {"文": "图"}
    assert called(on(executor, tools.counts), {"n": 3}).text == "012"
    assert called(on(executor, tools.power), {"n": 4400}).text == "1" + "0" * 4400
    many = [ToolCall(str(n), "number", {"n": n}) for n in range(20)]
    few = many[:3] if isinstance(executor, Process) and executor._sandbox is not None else many
    given = Toolset([on(executor, tools.number)]).run_sync(few)
    assert [message.text for message in given] == [str(n) for n in range(len(few))]


def test_failures_are_told_as_those_of_bodies_here_and_without_paths(executor: Executor) -> None:
    said = called(on(executor, tools.fails), {"how": "said"})
    assert (said.kind, said.text) == ("tool_error", "No such city: 北京市.")
    assert said.details["city"] == "北京"
    for how, kind, text in (
        ("enough", "limit_reached", "Enough for today."),
        ("itself", "cancelled", "I gave up."),
    ):
        told = called(on(executor, tools.fails), {"how": how})
        assert (told.kind, told.text) == (kind, text)
    crashed = called(on(executor, tools.fails), {"how": "错"})
    assert crashed.kind == "crashed" and "错" not in crashed.text
    assert ".py" not in crashed.text and "/" not in crashed.text
    assert "LookupError: 错" in str(crashed.details["traceback"])
    assert called(on(executor, tools.fails), {}).kind == "invalid_arguments"


def test_what_a_body_reports_is_told_and_its_call_is_the_runs(executor: Executor) -> None:
    events: list[Event] = []
    run: RunContext[None] = RunContext(listeners=(events.append,))
    message = called(on(executor, tools.reports), {}, run)
    assert message.text == f'["c1","c1","{run.id}-c1",true]'
    assert [e.message for e in events if isinstance(e, Progress)] == ["half"]
    assert [e.value for e in events if isinstance(e, Emitted)] == [{"图": [1, None]}]


def test_what_stays_with_the_run_is_injected_or_refused_at_once(executor: Executor) -> None:
    if executor.capabilities.can_inject:
        run: RunContext[None] = RunContext(state={"seen": 7})
        assert called(on(executor, tools.looks), {}, run).text == "7"
    else:
        with pytest.raises(SetupError, match="state is injected"):
            Toolset([on(executor, tools.looks)])


def test_a_deadline_is_told_with_whether_the_body_may_run_on(executor: Executor) -> None:
    mark = f"94{secrets.randbelow(10**9)}.5"
    if isinstance(executor, Inline):
        message = called(on(executor, tools.rests, timeout=0.2), {})
    else:
        message = called(on(executor, tools.sleeps, timeout=1), {"mark": mark})
    assert message.kind == "timeout"
    left = not (executor.capabilities.can_kill or isinstance(executor, Inline))
    assert message.details["may_still_be_running"] is left
    assert ("may still be running" in message.text) is left
    until_sync(lambda: not survivors(mark))


def test_a_cancel_stops_what_can_be_stopped_and_says_what_cannot(executor: Executor) -> None:
    inline = isinstance(executor, Inline)
    mark = f"93{secrets.randbelow(10**9)}.5"

    async def main() -> ToolMessage:
        run: RunContext[None] = RunContext()
        moved = on(executor, tools.rests if inline else tools.sleeps)
        call = ToolCall("c", moved.name, {} if inline else {"mark": mark})
        going = asyncio.create_task(Toolset([moved]).run([call], run))
        await until(lambda: inline or survivors(f"sleep\0{mark}"), 20)
        run.cancel.cancel("enough")
        [message] = await going
        return message

    message = asyncio.run(main())
    assert message.kind == "cancelled" and "enough" in message.text
    assert message.details["may_still_be_running"] is not (executor.capabilities.can_kill or inline)
    until_sync(lambda: not survivors(mark))


def test_a_body_that_ends_its_process_leaves_the_outcome_unknown(executor: Executor) -> None:
    if not executor.capabilities.is_isolated:
        return
    died = called(on(executor, tools.fails), {"how": "exit"})
    assert died.kind == "unknown_outcome" and "exited (3)" in died.text
    assert called(on(executor, tools.number), {"n": 1}).text == "1"


def test_a_pool_that_breaks_leaves_the_outcome_unknown_as_well() -> None:
    pool = spawning()
    died = called(on(pool, tools.fails), {"how": "exit"})
    assert died.kind == "unknown_outcome" and "before it had a result" in died.text


def test_an_async_body_is_refused_by_threads_when_it_is_registered() -> None:
    with pytest.raises(SetupError, match="its body is async"):
        Toolset([on(Thread(), tools.rests)])
    for wrong in (lambda: Thread(0), lambda: Process(max_concurrency=0)):
        with pytest.raises(SetupError, match="must be 1 or more"):
            wrong()


def test_a_policy_says_by_their_names_where_tools_run() -> None:
    here, apart = Thread(1), Process()
    tools_of = {
        item.name: item
        for item in with_executors(
            [tools.add, tools.number, tools.where], {"n*": here, "*e*": apart}
        )
    }
    assert [item.executor for item in tools_of.values()] == [None, here, apart]
    assert called(tools_of["where"], {}).text != called(tools.where, {}).text
    with pytest.raises(SetupError, match="with_executors: no tool nowhere in"):
        with_executors([tools.add], {"nowhere": here})
    with pytest.raises(SetupError, match="its body is async"):
        with_executors([tools.rests], {"*": here})


def test_a_policy_takes_the_names_of_executors() -> None:
    apart = with_executors([tools.where], {"*": "process"})["where"]
    assert isinstance(apart.executor, Process)
    assert called(apart, {}).text != called(tools.where, {}).text
    with pytest.raises(SetupError, match=r"no executor 'pool'; there are inline, thread, process"):
        with_executors([tools.where], {"*": "pool"})  # type: ignore[dict-item]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["inline", "thread", "process", "threads of a pool"])
def test_memory_does_not_grow_with_the_number_of_calls(kind: str) -> None:
    toolset = Toolset([on(KINDS[kind](), tools.number)])

    async def turns(number: int) -> int:
        for _ in range(number):
            calls = [ToolCall(str(n), "number", {"n": n}) for n in range(100)]
            assert len(await toolset.run(calls)) == 100
        pages = int(Path("/proc/self/statm").read_text().split()[1])  # noqa: ASYNC240
        return pages * os.sysconf("SC_PAGE_SIZE")

    async def main() -> int:
        early = await turns(10)
        return await turns(40) - early

    assert asyncio.run(main()) < 4 << 20
