"""Calls that touch one thing wait for each other, in order; all else overlaps."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract import check_events, check_results
from tests.waiting import run, until
from toolkeel import (
    Effects,
    Prepared,
    RunContext,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.batch import Batch
from toolkeel.call.steps.guard import Allow, Reject, input_guard
from toolkeel.call.steps.resources import branch_of, overlaps
from toolkeel.call.steps.turn_order import loop_locks
from toolkeel.errors import DefinitionError
from toolkeel.events import Event, Progress, ToolFinished

WRITES = Effects(resources=("file:{path}",))
READS = Effects(read_only=True, resources=("file:{path}",))


class Disk:
    """Files, tools that take a moment with them, and who was at work when."""

    def __init__(self, moment: float = 0.005) -> None:
        self.files: dict[str, str] = {}
        self.moment = moment
        self.spans: list[tuple[str, str, float, float]] = []
        self.most_at_once = 0
        self.may_end: Callable[[], bool] = lambda: True
        self._now = 0

    async def work(self, what: str, path: str) -> None:
        start = time.perf_counter()
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await asyncio.sleep(self.moment)
        await until(self.may_end)
        self._now -= 1
        self.spans.append((what, path, start, time.perf_counter()))

    def tools(self, *steps: Any) -> Toolset:
        @tool(effects=WRITES, steps=steps)
        async def edit(path: str, text: str) -> str:
            """Put a text at the end of a file."""
            before = self.files.get(path, "")
            await self.work("edit", path)
            self.files[path] = before + text
            return self.files[path]

        @tool(effects=READS, steps=steps)
        async def read(path: str) -> str:
            """Read a file."""
            await self.work("read", path)
            return self.files.get(path, "")

        @tool
        async def other() -> str:
            """Touch nothing."""
            await self.work("other", "")
            return "done"

        return Toolset([edit, read, other])


def at_once(one: tuple[str, str, float, float], other: tuple[str, str, float, float]) -> bool:
    return one[2] < other[3] and other[2] < one[3]


def edit(path: str, text: str = "x", id: str = "") -> ToolCall:
    return ToolCall(id or f"edit {path} {text}", "edit", {"path": path, "text": text})


def read(path: str, id: str = "r") -> ToolCall:
    return ToolCall(id, "read", {"path": path})


def test_edits_of_one_file_keep_their_order_and_lose_nothing_while_all_else_overlaps() -> None:
    disk = Disk()
    events: list[Event] = []
    calls = []
    for number in range(10):
        calls += [edit("甲", str(number)), edit("乙", str(number)), ToolCall(f"o{number}", "other")]
    results = run(lambda: disk.tools().run(calls, RunContext(listeners=(events.append,))))
    check_results(calls, results)
    check_events(events, calls)
    assert disk.files == {"甲": "0123456789", "乙": "0123456789"}
    ended = [e.call_id for e in events if isinstance(e, ToolFinished)]
    for path in "甲乙":
        mine = [c.id for c in calls if c.id.startswith(f"edit {path}")]
        assert [id for id in ended if id in mine] == mine
        spans = [s for s in disk.spans if s[:2] == ("edit", path)]
        assert not any(at_once(a, b) for a, b in itertools.combinations(spans, 2))
    others = [s for s in disk.spans if s[0] == "other"]
    assert all(at_once(a, b) for a, b in itertools.combinations(others, 2))
    assert disk.most_at_once >= 12
    last_other = max(ended.index(f"o{n}") for n in range(10))
    assert last_other < ended.index(edit("甲", "9").id)


def test_two_tools_that_edit_one_file_lose_no_update_by_the_times_of_their_events(
    tmp_path: Path,
) -> None:
    async def change(name: str, how: Callable[[str], str], context: ToolContext[Any]) -> str:
        path = tmp_path / name
        context.progress("at work")
        text = path.read_text("utf-8")
        await asyncio.sleep(0.002)
        path.write_text(how(text), "utf-8")
        return "changed"

    effects = Effects(resources=("file:{name}",))

    @tool(effects=effects)
    async def replace(name: str, old: str, new: str, context: ToolContext[Any]) -> str:
        """Replace a word."""
        return await change(name, lambda text: text.replace(old, new), context)

    @tool(effects=effects)
    async def append(name: str, line: str, context: ToolContext[Any]) -> str:
        """Add a line."""
        return await change(name, lambda text: f"{text}{line}\n", context)

    events: list[Event] = []
    calls = []
    for name in ("甲.txt", "乙.txt"):
        (tmp_path / name).write_text("0\n", "utf-8")
        for n in range(8):
            new = {"name": name, "old": str(n), "new": str(n + 1)}
            calls.append(ToolCall(f"{name} replace {n}", "replace", new))
            calls.append(
                ToolCall(f"{name} append {n}", "append", {"name": name, "line": f"line {n}"})
            )
    tools = Toolset([replace, append])
    run(lambda: tools.run(calls, RunContext(listeners=(events.append,))))
    expected = "8\n" + "".join(f"line {n}\n" for n in range(8))
    for name in ("甲.txt", "乙.txt"):
        assert (tmp_path / name).read_text("utf-8") == expected
    began = {e.call_id: e for e in events if isinstance(e, Progress)}
    ended = {e.call_id: e for e in events if isinstance(e, ToolFinished)}
    assert set(began) == set(ended) == {call.id for call in calls}
    for one, other in itertools.pairwise([c.id for c in calls if c.id.startswith("甲")]):
        assert ended[one].seq < began[other].seq and ended[one].at <= began[other].at
    first, second = "甲.txt replace 0", "乙.txt replace 0"
    assert began[second].seq < ended[first].seq and began[first].seq < ended[second].seq


def test_readers_share_and_a_writer_has_it_alone() -> None:
    disk = Disk(moment=0.01)
    calls = (
        [read("a", f"r{n}") for n in range(5)]
        + [edit("a")]
        + [read("a", f"s{n}") for n in range(5)]
    )
    results = run(lambda: disk.tools().run(calls))
    assert [r.content for r in results] == [""] * 5 + ["x"] + ["x"] * 5
    readers = [s for s in disk.spans if s[0] == "read"]
    [writer] = [s for s in disk.spans if s[0] == "edit"]
    assert not any(at_once(writer, reader) for reader in readers)
    assert all(at_once(a, b) for a, b in itertools.combinations(readers[:5], 2))
    assert all(at_once(a, b) for a, b in itertools.combinations(readers[5:], 2))


def test_a_stream_of_readers_cannot_starve_a_writer() -> None:
    disk = Disk(moment=0.01)

    async def main() -> list[str]:
        tools, order = disk.tools(), []

        async def one(call: ToolCall) -> None:
            await tools.run([call])
            order.append(call.id)

        tasks = [asyncio.create_task(one(read("a", "r0")))]
        await until(lambda: len(loop_locks()))
        tasks.append(asyncio.create_task(one(edit("a", id="w"))))
        for number in range(1, 20):
            tasks.append(asyncio.create_task(one(read("a", f"r{number}"))))
            await asyncio.sleep(0.001)
        await asyncio.gather(*tasks)
        return order

    assert run(main)[:2] == ["r0", "w"]


def test_calls_of_different_runs_and_sets_wait_for_each_other_too() -> None:
    disk = Disk()

    async def main() -> None:
        sets = [disk.tools() for _ in range(4)]
        await asyncio.gather(*(s.run([edit("a", str(n))]) for n, s in enumerate(sets)))

    run(main)
    assert disk.files == {"a": "0123"}


def test_sync_bodies_in_threads_wait_for_each_other() -> None:
    total = {"n": 0}

    @tool(effects=Effects(resources=("counter",)))
    def count() -> int:
        """Count."""
        before = total["n"]
        time.sleep(0.002)
        total["n"] = before + 1
        return total["n"]

    results = Toolset([count]).run_sync([ToolCall(str(n), "count") for n in range(20)])
    assert [int(r.text) for r in results] == list(range(1, 21))


# — keys —


def test_an_argument_left_out_names_the_same_resource_as_its_default() -> None:
    log = {"n": 0}

    @tool(effects=WRITES)
    async def add(path: str = "log") -> int:
        """Add a line."""
        before = log["n"]
        await asyncio.sleep(0.003)
        log["n"] = before + 1
        return log["n"]

    calls = [ToolCall("1", "add"), ToolCall("2", "add", {"path": "log"})]
    run(lambda: Toolset([add]).run(calls))
    assert log["n"] == 2


def test_a_resource_that_names_no_parameter_is_refused_at_registration() -> None:
    @tool(effects=Effects(resources=("file:{pth}",)))
    def write(path: str) -> None:
        """Write."""

    with pytest.raises(DefinitionError, match=r"write: its resource .*'pth'.* it has path"):
        Toolset([write])


# — waiting, and giving up —


def test_who_gives_up_waiting_leaves_nothing_held() -> None:
    disk = Disk(moment=0.02)

    async def main() -> None:
        tools = disk.tools()
        first = asyncio.create_task(tools.run([edit("a", "1")]))
        await until(lambda: len(loop_locks()))
        waiting = [asyncio.create_task(tools.run([edit("a", str(n))])) for n in (2, 3, 4)]
        await asyncio.sleep(0.005)
        waiting[1].cancel()
        waiting[0].cancel()
        await asyncio.gather(first, *waiting, return_exceptions=True)
        assert len(loop_locks()) == 0
        [again] = await tools.run([edit("a", "5")])
        assert again.content == "145"

    run(main)


@pytest.mark.parametrize("waits", [True, False])
def test_a_run_that_is_cancelled_holds_nothing(waits: bool) -> None:
    disk = Disk(moment=10)

    async def main() -> list[ToolMessage]:
        state = RunContext()
        calls = [edit("a", "1"), edit("a", "2")] if waits else [edit("a", "1")]
        task = asyncio.create_task(disk.tools().run(calls, state))
        await until(lambda: disk._now == 1)
        state.cancel.cancel()
        results = await task
        assert len(loop_locks()) == 0
        return results

    assert {r.kind for r in run(main)} == {"cancelled"}


def test_a_body_that_crashes_or_times_out_gives_its_resources_back() -> None:
    @tool(effects=Effects(resources=("x",)), timeout=0.02)
    async def fail(how: str) -> None:
        """Fail."""
        if how == "crash":
            raise RuntimeError("no")
        await asyncio.sleep(10)

    async def main() -> None:
        calls = [
            ToolCall(str(n), "fail", {"how": how}) for n, how in enumerate(["crash", "hang"] * 2)
        ]
        results = await Toolset([fail]).run(calls)
        assert [r.kind for r in results] == ["crashed", "timeout"] * 2
        assert len(loop_locks()) == 0

    run(main)


def test_two_calls_whose_bodies_want_what_the_other_holds_do_not_wait_for_ever() -> None:
    disk = Disk()
    tools = disk.tools()
    both = asyncio.Event()
    begun: list[str] = []

    @tool(effects=WRITES, timeout=20)
    async def edit_both(path: str, other: str) -> str:
        """Hold one file, and edit another."""
        begun.append(path)
        if len(begun) == 2:
            both.set()
        await both.wait()
        [inner] = await tools.run([edit(other)])
        return inner.text if inner.failed else "edited"

    async def main() -> list[ToolMessage]:
        calls = [
            ToolCall("1", "edit_both", {"path": "a", "other": "b"}),
            ToolCall("2", "edit_both", {"path": "b", "other": "a"}),
        ]
        results = await Toolset([edit_both]).run(calls)
        assert len(loop_locks()) == 0
        return results

    refused, edited = sorted(result.text for result in run(main))
    assert edited == "edited" and refused.endswith("Neither could ever go on.")


def test_what_a_body_calls_goes_before_those_who_wait_for_that_body() -> None:
    disk = Disk()
    tools = disk.tools()

    @tool(effects=WRITES, timeout=20)
    async def sweep(path: str) -> str:
        """Hold a file while another call waits for its folder, then edit the whole folder."""
        await until(lambda: len(loop_locks()) == 2)
        [inner] = await tools.run([edit("d", "inner")])
        return str(inner.kind)

    async def main() -> list[ToolMessage]:
        calls = [ToolCall("1", "sweep", {"path": "d/f"}), edit("d", " outer")]
        return await Toolset([sweep, *tools]).run(calls)

    assert [result.text for result in run(main)] == ["None", "inner outer"]


# — order within a turn —


class Tree:
    """Values at the leaves of a tree, and tools that read or write all below a place."""

    LEAVES = tuple("/".join(each) for each in itertools.product("xy", repeat=3))

    def __init__(self) -> None:
        self.values = dict.fromkeys(self.LEAVES, "")
        self.begun: list[str] = []
        self.gate: asyncio.Event | None = None

    def below(self, path: str) -> list[str]:
        return [leaf for leaf in self.LEAVES if overlaps(branch_of(path), branch_of(leaf))]

    def tools(self) -> list[Any]:
        async def work(id: str) -> None:
            self.begun.append(id)
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(0)

        def asks(arguments: Mapping[str, object]) -> bool:
            return bool(arguments.get("ask"))

        async def look(prepared: Prepared, context: Any) -> Allow:
            for _ in range(int(prepared.arguments["slow"])):
                await asyncio.sleep(0)
            return Allow()

        guard = input_guard(look)

        @tool(effects=Effects(resources=("t/{path}",)), approval=asks, steps=[guard])
        async def put(path: str, slow: int = 0, ask: bool = False, *, context: ToolContext) -> str:  # type: ignore[type-arg]
            """Write all below a place."""
            seen = {leaf: self.values[leaf] for leaf in self.below(path)}
            await work(context.call.id)
            self.values.update({leaf: value + context.call.id for leaf, value in seen.items()})
            return "put"

        @tool(effects=Effects(read_only=True, resources=("t/{path}",)))
        async def get(path: str, *, context: ToolContext) -> dict[str, str]:  # type: ignore[type-arg]
            """Read all below a place."""
            seen = {leaf: self.values[leaf] for leaf in self.below(path)}
            await work(context.call.id)
            assert seen == {leaf: self.values[leaf] for leaf in self.below(path)}
            return seen

        return [put, get]


PATHS = st.lists(st.sampled_from("xy"), max_size=3).map("/".join)
CALLS = st.lists(st.tuples(PATHS, st.booleans(), st.integers(0, 3), st.booleans()), max_size=10)


def as_calls(drawn: list[tuple[str, bool, int, bool]]) -> list[ToolCall]:
    calls = []
    for number, (path, write, slow, ask) in enumerate(drawn):
        arguments: dict[str, object] = {"path": path}
        if write:
            arguments |= {"slow": slow, "ask": ask}
        calls.append(ToolCall(f"{number}.", "put" if write else "get", arguments))
    return calls


@settings(max_examples=60)
@given(CALLS)
def test_a_turn_gives_what_its_calls_give_one_after_the_other(
    drawn: list[tuple[str, bool, int, bool]],
) -> None:
    calls, one, other = as_calls(drawn), Tree(), Tree()

    async def approve(ticket: Any) -> bool:
        for _ in range(7):
            await asyncio.sleep(0)
        return True

    together = run(lambda: Toolset(one.tools()).run(calls, RunContext(approver=approve)))
    in_order = []
    for call in calls:
        context = RunContext(approver=approve)
        in_order += run(lambda c=call, k=context: Toolset(other.tools()).run([c], k))  # type: ignore[misc]
    assert [r.content for r in together] == [r.content for r in in_order]
    assert one.values == other.values


@settings(max_examples=40)
@given(CALLS)
def test_calls_that_touch_nothing_in_common_all_run_at_once(
    drawn: list[tuple[str, bool, int, bool]],
) -> None:
    calls, tree = as_calls([(path, write, 0, False) for path, write, _, _ in drawn]), Tree()

    def meet(one: ToolCall, two: ToolCall) -> bool:
        places = [branch_of(f"t/{dict(call.arguments)['path']}") for call in (one, two)]  # type: ignore[call-overload]
        return "put" in (one.name, two.name) and overlaps(*places)

    free = [c.id for n, c in enumerate(calls) if not any(meet(c, early) for early in calls[:n])]

    async def main() -> None:
        tree.gate = asyncio.Event()
        task = asyncio.create_task(Toolset(tree.tools()).run(calls))
        await until(lambda: len(tree.begun) >= len(free))
        for _ in range(20):
            await asyncio.sleep(0)
        assert sorted(tree.begun) == sorted(free)
        tree.gate.set()
        await task
        assert len(loop_locks()) == 0

    run(main)


def test_a_question_to_a_person_keeps_the_order_of_its_turn_and_holds_up_no_other_run() -> None:
    tree = Tree()

    async def main() -> None:
        answer = asyncio.Event()

        async def approve(ticket: Any) -> bool:
            await answer.wait()
            return True

        tools = Toolset(tree.tools())
        calls = as_calls([("x", True, 0, True), ("x/x", False, 0, False), ("y", False, 0, False)])
        task = asyncio.create_task(tools.run(calls, RunContext(approver=approve)))
        await until(lambda: tree.begun == ["2."])
        [other] = await tools.run([ToolCall("o", "get", {"path": "x"})])
        assert not other.failed
        answer.set()
        results = await task
        assert '"x/x/x":"0."' in results[1].text

    run(main)


def test_what_follows_a_call_that_waits_for_a_person_is_not_told_it_had_happened() -> None:
    tree = Tree()
    calls = as_calls(
        [
            ("x", True, 0, True),
            ("x/x", False, 0, False),
            ("x", True, 0, False),
            ("y", True, 0, False),
        ]
    )
    context = RunContext()
    context.loop_state.can_suspend = True
    batch = Batch(calls, Toolset(tree.tools()), context)
    run(batch.run)
    assert list(batch.suspended) == ["0."]
    assert [r.kind for r in batch.results] == ["skipped", "skipped", None]
    assert "was not run: it touches what the call of 'put' before it" in batch.results[0].text
    assert "changes, and that one waits for a person" in batch.results[0].text
    assert not context.scope.step_state


# — guards look again —


def test_a_guard_looks_again_after_a_wait_and_may_say_no() -> None:
    disk = Disk()
    asked: list[str] = []
    disk.may_end = lambda: len(asked) >= 3

    def once(prepared: Prepared, context: Any) -> Allow | Reject:
        is_full = disk.files.get(prepared.arguments["path"])
        asked.append(context.call.id)
        return Reject("it is not empty any more") if is_full else Allow()

    calls = [edit("a", "1", "first"), edit("a", "2", "second"), edit("b", "3", "third")]
    results = run(lambda: disk.tools(input_guard(once)).run(calls))
    assert [r.kind for r in results] == [None, "refused", None]
    assert disk.files == {"a": "1", "b": "3"}
    assert sorted(asked) == ["first", "second", "second", "third"]


def test_a_guard_that_wants_other_arguments_after_the_wait_refuses_the_call() -> None:
    disk = Disk()
    asked: list[str] = []
    disk.may_end = lambda: len(asked) >= 2

    def number(prepared: Prepared, context: Any) -> Allow:
        answer = Allow({**prepared.arguments, "text": str(len(disk.files))})
        asked.append(context.call.id)
        return answer

    calls = [edit("a", "?", "first"), edit("a", "?", "second")]
    first, second = run(lambda: disk.tools(input_guard(number)).run(calls))
    assert (first.text[:2], second.kind) == ("0\n", "refused")
    assert "after it had waited" in second.text


# — calls within calls —


def test_what_a_body_calls_may_use_what_the_body_holds() -> None:
    disk = Disk()
    tools = disk.tools()

    @tool(effects=WRITES, timeout=2)
    async def edit_twice(path: str) -> str:
        """Edit a file twice."""
        await tools.run([edit(path, "1")])
        [second] = await tools.run([edit(path, "2")])
        return second.text

    @tool(effects=WRITES, timeout=2)
    def edit_from_thread(path: str) -> str:
        """Edit a file from a thread."""
        return str(tools["edit"].invoke({"path": path, "text": "3"}))

    async def main() -> None:
        outer = Toolset([edit_twice, edit_from_thread])
        allowing = RunContext(approver=lambda ticket: True)  # code's calls know what it has read
        results = await outer.run([ToolCall("1", "edit_twice", {"path": "a"})] * 3, allowing)
        assert [r.content for r in results] == ["12", "1212", "121212"]
        [result] = await outer.run([ToolCall("1", "edit_from_thread", {"path": "b"})], allowing)
        assert result.content == "3"
        assert len(loop_locks()) == 0

    run(main)


def test_what_a_reading_body_calls_may_not_write_what_the_body_reads() -> None:
    disk = Disk()
    tools = disk.tools()

    @tool(effects=READS, timeout=2)
    async def look(path: str) -> str:
        """Say that it only reads, and write."""
        [inner] = await tools.run([edit(path)])
        return f"{inner.kind}: {inner.text}"

    [result] = run(lambda: Toolset([look]).run([ToolCall("1", "look", {"path": "a"})]))
    assert result.text.startswith("refused: ")
    assert "only reads" in result.text
    assert not disk.files


def test_what_outlives_the_body_has_no_part_in_what_the_body_held() -> None:
    disk = Disk()
    tools = disk.tools()
    late: list[asyncio.Task[Any]] = []
    go = threading.Event()

    @tool(effects=WRITES)
    async def begin(path: str) -> str:
        """Leave something behind that edits later."""

        async def later() -> None:
            await until(go.is_set)
            await tools.run([edit(path, "2")])

        late.append(asyncio.create_task(later()))
        return "begun"

    async def main() -> None:
        await Toolset([begin]).run([ToolCall("1", "begin", {"path": "a"})])
        first = asyncio.create_task(tools.run([edit("a", "1")]))
        await until(lambda: disk._now == 1)
        go.set()
        await asyncio.gather(first, *late)

    run(main)
    assert disk.files == {"a": "12"}
