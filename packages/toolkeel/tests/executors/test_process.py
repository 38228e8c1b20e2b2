"""Bodies in processes of their own: what crosses, how they fail, and that they truly end (T16)."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.executors import process_tools as tools
from tests.executors.survivors import survivors
from tests.shared import PYTHONPATH, optional
from tests.waiting import until, until_sync
from toolkeel import Injected, Tool, ToolCall, ToolMessage, Toolset, tool
from toolkeel._records.taint_sources import Source
from toolkeel.content import Image
from toolkeel.context import RunContext
from toolkeel.errors import DefinitionError, SetupError, ToolError
from toolkeel.executors.process import Process


def called(*calls: tuple[Tool[..., Any], Mapping[str, object]]) -> Sequence[ToolMessage]:
    toolset = Toolset(list(dict.fromkeys(tool for tool, _ in calls)))
    made = [ToolCall(f"c{n}", each.name, values) for n, (each, values) in enumerate(calls)]
    return toolset.run_sync(made)


def test_arguments_and_results_cross_whatever_their_kind() -> None:
    added, there, waited, counted = called(
        (tools.add, {"a": "2", "b": 3, "day": "2026-11-22"}),
        (tools.where, {}),
        (tools.waits, {"text": "图"}),
        (tools.counts, {"n": 3}),
    )
    assert added.text == '{"total":5,"day":"2026-11-22"}'
    assert added.details["coerced"]
    call, process, folder = eval(there.text)
    assert (call, folder) == ("c1", os.getcwd())
    assert process != os.getpid()
    assert waited.content == (Image(tools.PNG + "图".encode(), "image/png"),)
    assert waited.artifact == {"文": "图"}
    assert counted.text == "012"
    assert tools.add.function(1, 2, date(2026, 1, 1)) == tools.Sum(3, date(2026, 1, 1))


@pytest.mark.slow
def test_run_by_itself_a_tool_gives_the_bodys_own_value_where_json_has_it() -> None:
    assert tools.where.invoke({})[1:] != [os.getpid(), os.getcwd()]
    assert tools.counts.invoke({"n": 3}) == "012"
    with pytest.raises(ToolError, match="No such city"):
        tools.fails.invoke({"how": "said"})


def test_failures_are_told_as_those_of_bodies_here() -> None:
    said, crashed, died, killed, bad = called(
        (tools.fails, {"how": "said"}),
        (tools.fails, {"how": "错"}),
        (tools.fails, {"how": "exit"}),
        (tools.fails, {"how": "killed"}),
        (tools.add, {"a": 1}),
    )
    assert (said.kind, said.text) == ("tool_error", "No such city: 北京市.")
    assert said.details["city"] == "北京"
    assert crashed.kind == "crashed" and "错" not in crashed.text
    assert "LookupError: 错" in str(crashed.details["traceback"])
    assert "process_tools.py" in str(crashed.details["traceback"])
    assert died.kind == "unknown_outcome" and "exited (3)" in died.text
    assert killed.kind == "unknown_outcome" and "was killed by SIGKILL" in killed.text
    assert bad.kind == "invalid_arguments"


def test_labels_cross_to_a_process_and_back(tmp_path: Path) -> None:
    """What a body reads there labels the run here, and what it stores there has the labels from here."""

    def labels(read_before: bool, **arguments: object) -> list[str]:
        run: RunContext[None] = RunContext()
        if read_before:
            run.get_taint().add(Source("stranger", "page"))
        call = ToolCall("1", "remembers", {"path": str(tmp_path / "a.db"), **arguments})
        asyncio.run(Toolset([tools.remembers]).run([call], run))
        return [f"{each.label} {each.tool}" for each in run.get_taint().sources]

    assert labels(False, key="a", puts=True) == labels(False, key="a", puts=False) == []
    assert labels(True, key="b", puts=True) == ["stranger page"]
    assert labels(False, key="b", puts=False) == ["stranger page"]
    assert labels(False, key="a", puts=False, reads_page=True) == ["stranger page"]


def test_where_the_programs_folder_is_gone_the_call_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    [failed] = called((tools.where, {}))
    monkeypatch.undo()
    assert failed.kind == "tool_error"
    assert "The folder that this program runs in was removed" in failed.text


def test_a_deadline_ends_what_no_thread_can_be_stopped_from() -> None:
    """T16: asleep, and inside of C code that holds the interpreter; with all that it started."""
    mark = f"96{secrets.randbelow(10**9)}.5"
    slept, matched = called(
        (tools.sleeps, {"mark": mark}), (tools.matches, {"text": "a" * 99 + "!"})
    )
    for message in (slept, matched):
        assert message.kind == "timeout"
        assert "Its work was stopped" in message.text
        assert message.details["may_still_be_running"] is False
    until_sync(lambda: not survivors(mark))


@pytest.mark.slow
def test_a_cancel_ends_it_as_well() -> None:
    mark = f"95{secrets.randbelow(10**9)}.5"

    async def main() -> ToolMessage:
        run: RunContext[None] = RunContext()
        call = ToolCall("c", "sleeps", {"mark": mark})
        patient = dataclasses.replace(tools.sleeps, timeout=60)
        going = asyncio.create_task(Toolset([patient]).run([call], run))
        await until(lambda: survivors(f"sleep\0{mark}"), 20)
        run.cancel.cancel("enough")
        [message] = await going
        return message

    message = asyncio.run(main())
    assert message.kind == "cancelled"
    until_sync(lambda: not survivors(mark))


@pytest.mark.slow
def test_a_process_has_its_limits() -> None:
    [message] = called((tools.fills, {}))
    assert "MemoryError" in str(message.details["traceback"])


@pytest.mark.slow
def test_no_more_processes_run_at_once_than_there_is_room_for(tmp_path: Path) -> None:
    messages = called(*[(tools.alone, {"folder": str(tmp_path)})] * 4)
    assert [message.text for message in messages] == ["false"] * 4


def test_a_tool_no_process_can_find_or_serve_is_refused_when_it_is_registered() -> None:
    @tool(executor=Process())
    def inner() -> None:
        """Nowhere to be found."""

    with pytest.raises(SetupError, match="at the top level of a module"):
        Toolset([inner])

    @tool(executor=Process())
    def nosy(state: Annotated[dict[str, object], Injected]) -> None:
        """Ask for what stays here."""

    globals()["nosy"] = nosy
    with pytest.raises(SetupError, match="state is injected"):
        Toolset([nosy])
    with pytest.raises(DefinitionError, match=r"a name \(inline, .*such as Process\("):
        tool(executor="processes")(called)  # type: ignore[call-overload]


SCRIPT = """
import os
from pathlib import Path
from toolkeel import ToolCall, Toolset, tool
from toolkeel.executors.process import Process
from toolkeel_workspace.sandbox.confine import Sandbox

HERE = Path(__file__).parent

@tool(executor=Process(Sandbox("workspace", [HERE / "root"])), timeout=60)
def look(path: str) -> str:
    "Look at a file."
    Path("made").write_text(path)
    return Path(path).read_text()

if __name__ == "__main__":
    calls = [ToolCall(p, "look", {"path": p}) for p in ("in.txt", str(HERE / "out" / "out.txt"))]
    for message in Toolset([look]).run_sync(calls):
        print(message.kind, message.text[:20])
"""


@pytest.mark.slow
def test_a_script_runs_its_tool_behind_the_walls_of_a_sandbox(tmp_path: Path) -> None:
    optional("toolkeel_workspace.sandbox.confine").Sandbox("workspace", [tmp_path])
    root, out = tmp_path / "root", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    (root / "in.txt").write_text("inside")
    (out / "out.txt").write_text("canary")
    code = tmp_path / "code"
    code.mkdir()
    script = code / "script.py"
    script.write_text(SCRIPT.replace("Path(__file__).parent", f"Path({str(tmp_path)!r})"))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        check=False,
    )
    assert done.stdout.splitlines()[0] == "None inside", done.stderr
    assert done.stdout.splitlines()[1].startswith("crashed")
    assert "canary" not in done.stdout
    assert (root / "made").exists()


def test_a_script_that_runs_when_it_is_loaded_is_told_so_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "from toolkeel import tool\n@tool(executor='process', timeout=600)\n"
        "def double(n: int) -> int:\n    'Double.'\n    return 2 * n\nprint(double.invoke({'n': 2}))\n"
    )
    ran = subprocess.run(
        [sys.executable, "plain.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (
        ran.returncode == 1
        and 'put the code it runs under  if __name__ == "__main__":' in ran.stderr
    )


def test_in_threads_the_leaked_are_told_and_the_thirty_third_is_refused() -> None:
    """T16, the other half: what cannot be stopped is counted, capped and reported."""
    toolset = Toolset([tools.hangs], max_threads=64)
    tools.released.clear()
    try:
        leaked = toolset.run_sync([ToolCall(str(n), "hangs", {}) for n in range(32)])
        assert {message.kind for message in leaked} == {"timeout"}
        assert all("may still be running" in message.text for message in leaked)
        assert all(message.details["may_still_be_running"] for message in leaked)
        [refused] = toolset.run_sync([ToolCall("33", "hangs", {})])
        assert refused.kind == "limit_reached"
        assert "32 earlier calls were given up but still run" in refused.text
    finally:
        tools.released.set()
    until_sync(lambda: toolset.run_sync([ToolCall("34", "hangs", {})])[0].text == "late")
