"""Python as a tool: state, files, tools called by code, and what hostile code cannot do."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.code_cases import ESCAPES, STARVATION
from tests.waiting import run as run_async
from toolkeel import Agent, RunContext, SetupError, ToolCall, ToolMessage, Toolset, tool
from toolkeel.builtin.hosted_calls import collect_hosted_items
from toolkeel.call.steps.guard import Allow, Reject, input_guard
from toolkeel.context import CancelToken
from toolkeel.events import Event, Nested
from toolkeel.messages import AssistantMessage
from toolkeel.providers import openai_responses
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.code.code_limits import CodeLimits
from toolkeel_workspace.code.interpreter import CodeInterpreterTool

SMALL = CodeLimits(
    compute_seconds=0.4, memory_bytes=64 << 20, max_recursion=200, written_bytes=1 << 20
)


def results(
    *codes: str, interpreter: CodeInterpreterTool, run: RunContext[Any] | None = None
) -> list[ToolMessage]:
    """What each piece of code gives, one after another, in one run."""

    async def main() -> list[ToolMessage]:
        shared = run or RunContext()
        tools = Toolset([interpreter])
        found = []
        try:
            for number, code in enumerate(codes):
                one = ToolCall(f"c{number}", "code_interpreter", {"code": code})
                found += await tools.run([one], shared)
        finally:
            await shared.close()
        return found

    return run_async(main)


def test_the_value_of_the_last_line_and_what_is_printed_are_shown() -> None:
    shown, nothing, odd = results(
        "print('你好')\n1 + 2", "x = 5", "if True: 7", interpreter=CodeInterpreterTool()
    )
    assert shown.text == "你好\n3"
    assert nothing.text == odd.text == "(nothing was printed)"


def test_what_a_call_defines_later_calls_of_the_run_find_and_other_runs_do_not() -> None:
    interpreter = CodeInterpreterTool()
    found = results("x = 41", "x + 1", interpreter=interpreter)
    assert found[1].text == "42"
    assert "NameError" in results("x", interpreter=interpreter)[0].text


def test_an_error_is_told_with_its_line_and_is_a_failure() -> None:
    [failed] = results("print('before')\n1 / 0", interpreter=CodeInterpreterTool())
    assert failed.kind == "tool_error"
    assert failed.text.startswith("before") and "ZeroDivisionError" in failed.text
    assert "line 2" in failed.text


def test_files_go_in_and_what_is_written_is_told() -> None:
    interpreter = CodeInterpreterTool(files={"in/data.csv": b"a,b\n1,2\n"})
    read, wrote, again = results(
        "open('in/data.csv').read()",
        "open('out.txt', 'w').write('xyz')",
        "open('out.txt').read()",
        interpreter=interpreter,
    )
    assert "a,b" in read.text and "Files written: out.txt (3 bytes)" in wrote.text
    assert again.text == "'xyz'"
    assert not Path(wrote.artifact["files"][0]).exists()  # type: ignore[index] - it ended with the run


def test_a_folder_of_ones_own_keeps_its_files(tmp_path: Path) -> None:
    results("open('kept.txt', 'w').write('x')", interpreter=CodeInterpreterTool(folder=tmp_path))
    assert (tmp_path / "kept.txt").read_text() == "x"


def test_files_that_are_not_there_or_would_lie_elsewhere_are_refused(tmp_path: Path) -> None:
    for files in ({"a": tmp_path / "gone"}, {"../a": b"x"}, {"/a": b"x"}):
        interpreter = CodeInterpreterTool(files=files)
        with pytest.raises(SetupError, match="files"):
            results("1", interpreter=interpreter)


def test_output_is_cut_and_says_so() -> None:
    interpreter = CodeInterpreterTool(limits=CodeLimits(output_chars=100))
    [cut] = results("for i in range(1000): print(i)", interpreter=interpreter)
    assert "more characters were dropped" in cut.text and len(cut.text) < 200


def test_the_result_has_the_form_of_a_hosted_interpreters() -> None:
    [ran] = results("print(1)", interpreter=CodeInterpreterTool())
    [item] = collect_hosted_items([ran])
    assert item["type"] == "code_interpreter_call" and item["code"] == "print(1)"
    assert item["outputs"] == [{"type": "logs", "logs": "1\n"}]


def test_on_a_provider_that_runs_code_it_is_passed_through_when_asked_for() -> None:
    local, hosted = CodeInterpreterTool().tool, CodeInterpreterTool(where="auto").tool
    assert openai_responses.encode_tools([local])[0]["type"] == "function"
    assert openai_responses.encode_tools([hosted])[0] == {
        "type": "code_interpreter",
        "container": {"type": "auto"},
    }


# — tools called by code —


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    await asyncio.sleep(0)
    return a + b


@tool
def greet(name: str) -> str:
    """Greet."""
    return f"5{name}"


@tool
def people() -> list[dict[str, Any]]:
    """List people."""
    return [{"name": "Ada", "age": 36}]


def test_code_calls_tools_as_functions() -> None:
    interpreter = CodeInterpreterTool([add, greet, people])
    codes = ["add(1, b=2) + add(1)", "greet('')", "[p['age'] for p in people()]"]
    assert [m.text for m in results(*codes, interpreter=interpreter)] == ["5", "'5'", "[36]"]


def test_awaited_calls_run_side_by_side() -> None:
    together = asyncio.Barrier(3)

    @tool
    async def meet(n: int) -> int:
        """Wait for the others."""
        async with asyncio.timeout(20):
            await together.wait()
        return n

    code = "import asyncio\nawait asyncio.gather(*[meet(i) for i in range(3)])"
    assert results(code, interpreter=CodeInterpreterTool([meet]))[0].text == "[0, 1, 2]"


def test_each_inner_call_has_its_own_events_within_the_call() -> None:
    events: list[Event] = []
    results(
        "add(1)\nadd(2)",
        interpreter=CodeInterpreterTool([add]),
        run=RunContext(listeners=(events.append,)),
    )
    types = [e.event.type if isinstance(e, Nested) else e.type for e in events]
    assert types == ["tool_started", *["tool_started", "tool_finished"] * 2, "tool_finished"]
    nested = [e for e in events if isinstance(e, Nested)]
    assert {e.call_id for e in nested} == {"c0"} and nested[0].agent == "code_interpreter"
    assert [getattr(e.event, "call_id", "") for e in nested] == ["c0.1", "c0.1", "c0.2", "c0.2"]


def test_guards_and_validation_stand_around_each_inner_call() -> None:
    def small(prepared: Any, context: Any) -> Any:
        return Allow() if prepared.arguments["a"] < 10 else Reject("too much")

    guarded = Toolset([add], steps=[input_guard(small)])
    refused, invalid, caught = results(
        "add(100)",
        "add('x')",
        "try:\n    add(100)\nexcept RuntimeError as e:\n    print('caught', e)",
        interpreter=CodeInterpreterTool(guarded),
    )
    assert "too much" in refused.text and "a: expected an integer" in invalid.text
    assert caught.text == "caught too much"


def test_an_inner_call_asks_the_approver_and_is_denied_without_one() -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    interpreter, asked = CodeInterpreterTool([pay]), []

    def approve(ticket: Any) -> bool:
        asked.append((ticket.tool, dict(ticket.arguments)))
        return True

    [paid] = results("pay(5)", interpreter=interpreter, run=RunContext(approver=approve))
    [denied] = results("pay(5)", interpreter=interpreter)
    assert paid.text == "'paid'" and asked == [("pay", {"amount": 5})]
    assert "approval" in denied.text and denied.failed


def test_calls_of_tools_are_counted() -> None:
    interpreter = CodeInterpreterTool([add], limits=CodeLimits(max_tool_calls=3))
    first, second = results("for i in range(9): print(add(i))", "add(1)", interpreter=interpreter)
    assert "3 times" in first.text and second.text == "2"


def test_tools_that_are_one_function_in_code_are_refused() -> None:
    with pytest.raises(SetupError, match="a_b"):
        CodeInterpreterTool([tool("a-b")(add.function), tool("a_b")(add.function)])
    with pytest.raises(SetupError, match="monty"):
        CodeInterpreterTool([add], python="sandbox")


def test_an_agent_ends_the_interpreters_of_its_run() -> None:
    interpreter = CodeInterpreterTool()
    model = Scripted([call("code_interpreter", {"code": "2 + 2"}), "four"])
    result = Agent(model, [interpreter]).run_sync("2 + 2?")
    assert result.messages[2].text == "4" and interpreter._sessions == {}


def test_a_cancel_stops_the_code_and_the_next_run_works() -> None:
    token = CancelToken()
    interpreter = CodeInterpreterTool()
    threading.Timer(0.3, token.cancel).start()
    [stopped] = results("while True: pass", interpreter=interpreter, run=RunContext(cancel=token))
    assert stopped.kind == "cancelled"
    assert results("1 + 1", interpreter=interpreter)[0].text == "2"


# — hostile code (T15) —


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "secret").write_text("CANARY-6c1f")
    monkeypatch.setenv("TOOLKEEL_CANARY", "CANARY-6c1f")
    return tmp_path


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


def filled(code: str, outside: Path, server: socket.socket) -> str:
    return code.format(outside=outside, port=server.getsockname()[1], pid=os.getpid())


def check_escape(
    interpreter: CodeInterpreterTool, code: str, outside: Path, server: socket.socket
) -> None:
    tried, after = results(filled(code, outside, server), "6 * 7", interpreter=interpreter)
    assert "CANARY-6c1f" not in tried.text
    assert not (outside / "escaped").exists()
    with pytest.raises(BlockingIOError):  # nobody has called
        server.accept()
    assert after.text == "42"


@pytest.mark.parametrize("name", ESCAPES)
def test_no_escape_reads_writes_or_reaches_anything(
    name: str, outside: Path, listener: socket.socket
) -> None:
    interpreter = CodeInterpreterTool(limits=SMALL)
    check_escape(interpreter, ESCAPES[name], outside, listener)


@pytest.mark.parametrize("name", STARVATION)
def test_whatever_starves_the_host_is_stopped_and_the_next_call_works(name: str) -> None:
    interpreter = CodeInterpreterTool(limits=SMALL)
    stopped, after = results(STARVATION[name], "6 * 7", interpreter=interpreter)
    assert stopped.duration < 20 and len(stopped.text) < 30_000
    assert after.text == "42"


def test_a_timeout_says_that_what_was_defined_is_gone() -> None:
    stopped, after = results(
        "x = 1\nwhile True: pass", "x", interpreter=CodeInterpreterTool(limits=SMALL)
    )
    assert "restarted" in stopped.text and "NameError" in after.text


def test_interpreters_leave_no_process_behind() -> None:
    def workers() -> int:
        return sum("monty" in _command(pid) for pid in os.listdir("/proc") if pid.isdigit())

    before = workers()
    for _ in range(5):
        results(*["1"] * 4, interpreter=CodeInterpreterTool())
    assert workers() <= before


def _command(pid: str) -> str:
    try:
        return Path("/proc", pid, "comm").read_text()
    except OSError:
        return ""


def test_a_long_program_is_refused() -> None:
    [refused] = results("#" * 200_000, interpreter=CodeInterpreterTool())
    assert refused.failed and "characters" in refused.text


def test_the_model_is_told_what_it_may_call() -> None:
    text = CodeInterpreterTool([add, greet], files={"a.csv": b""}).tool.description
    assert "add(a: int, b: int = ...)  # Add two numbers." in text and "a.csv" in text


def test_a_reply_with_two_calls_runs_them_in_order() -> None:
    lines: list[Any] = [
        [call("code_interpreter", {"code": "x = 1"}), call("code_interpreter", {"code": "x + 1"})],
        AssistantMessage("done"),
    ]
    result = Agent(Scripted(lines), [CodeInterpreterTool()]).run_sync("go")
    assert result.messages[3].text == "2"
