"""The interpreter without a machine, by itself."""

from __future__ import annotations

from pathlib import Path

from tests.waiting import run as run_async
from toolkeel import RunContext, ToolCall, ToolContext
from toolkeel_workspace.code.code_limits import CodeLimits, ExecutionResult
from toolkeel_workspace.code.monty import MontyInterpreter
from toolkeel_workspace.code.tools import CodeTools


def ran(folder: Path, *codes: str, limits: CodeLimits | None = None) -> list[ExecutionResult]:
    async def main() -> list[ExecutionResult]:
        interpreter = MontyInterpreter(limits or CodeLimits(), CodeTools(), folder)
        context = ToolContext(ToolCall("c", "code"), "code", RunContext())
        try:
            return [await interpreter.run(code, context) for code in codes]
        finally:
            await interpreter.aclose()

    return run_async(main)


def test_a_short_sleep_is_slept_and_a_long_one_ends_the_code(tmp_path: Path) -> None:
    short, long, after = ran(
        tmp_path,
        "import time\ntime.sleep(0.01)\n'slept'",
        "import time\ntime.sleep(5)",
        "1",
        limits=CodeLimits(compute_seconds=1),
    )
    assert (
        short.text == "'slept'\n"
        and "sleeps" in long.error
        and long.restart_reason == "it was ended"
    )
    assert after.text == "1\n"


def test_more_than_a_folder_may_hold_is_not_written(tmp_path: Path) -> None:
    code = "open('a', 'w').write('x' * 3000)"
    fine, refused = ran(
        tmp_path, code, code.replace("3000", "9000"), limits=CodeLimits(written_bytes=5000)
    )
    assert not fine.error and "OSError" in refused.error
    assert (tmp_path / "a").stat().st_size <= 5000


def test_code_that_does_not_parse_is_told_with_its_place(tmp_path: Path) -> None:
    [wrong] = ran(tmp_path, "def f(:\n  pass")
    assert "SyntaxError" in wrong.error and "line 1" in wrong.error and not wrong.restart_reason
