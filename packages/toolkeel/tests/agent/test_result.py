"""What a run ended with, and its stream."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.shared import PYTHONPATH, ROOT
from toolkeel import Agent, CancelToken, tool
from toolkeel.agent.result import RunResult
from toolkeel.errors import OutputError
from toolkeel.testing.scripted import Scripted, call


class City(BaseModel):
    name: str


def test_a_result_without_an_answer_has_no_output() -> None:
    token = CancelToken()
    token.cancel()
    agent = Agent(Scripted(["never said"]), output_type=City)
    result: RunResult[City] = agent.run_sync("x", cancel=token)
    with pytest.raises(OutputError, match="cancelled"):
        _ = result.output
    assert result.state.pending == () and result.state.inner == {}


def test_an_answer_of_none_is_an_answer() -> None:
    agent = Agent(Scripted([call("final_result", {"result": None})]), output_type=City | None)
    assert agent.run_sync("x").output is None


TYPED = """
from typing import assert_type
from pydantic import BaseModel
from toolkeel import Agent, CancelToken, tool
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run

class City(BaseModel):
    name: str

plain = Agent("offline")
typed = Agent("offline", output_type=City)
assert_type(plain.run_sync("x").output, str)
assert_type(typed.run_sync("x").output, City)
assert_type(typed.run_sync("x", output_type=list[int]).output, list[int])
assert_type(plain.run_sync("x", output_type=City | None).output, City | None)
assert_type(typed.stream("x"), Run[City])
assert_type(plain.stream("x", output_type=int), Run[int])

async def main() -> None:
    assert_type(await typed.run("x"), RunResult[City])

typed.run_sync("x").output.nothing  # E
"""


@pytest.mark.slow
def test_the_type_checker_knows_the_type_of_the_output(tmp_path: Path) -> None:
    program = tmp_path / "typed.py"
    program.write_text(textwrap.dedent(TYPED), "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=_with_source(), check=False
    )
    assert '"City" has no attribute "nothing"' in done.stdout, done.stdout + done.stderr
    assert "Found 1 error" in done.stdout, done.stdout


def _with_source() -> dict[str, str]:
    import os

    return {**os.environ, "MYPYPATH": PYTHONPATH}


@pytest.mark.parametrize("reason", ["limit", "waiting", "cancelled"])
def test_a_run_that_ended_before_its_answer_has_none_rather_than_an_empty_one(reason: str) -> None:
    stop = CancelToken()

    @tool(approval=reason == "waiting")
    def work() -> str:
        """Work."""
        if reason == "cancelled":
            stop.cancel("enough")
        return "worked"

    agent = Agent(Scripted([call("work"), call("work")]), [work], max_turns=2)
    result = agent.run_sync("go", cancel=stop)
    assert result.reason == reason and not result.has_output
    with pytest.raises(OutputError, match=f"no answer: the run ended with '{reason}'"):
        print(result.output)


PROGRAM = """
from toolkeel import Agent, tool
from toolkeel.testing import Scripted, call

@tool
def look_up(key: str) -> str:
    "Look up a key."
    return {"a": "b"}[key]

result = Agent(Scripted([call("look_up", {"key": "x"}), "sorry"]), [look_up]).run_sync("go")
print(result.output)
[failed] = result.errors
print(failed.tool, failed.kind, failed.error, failed.line)
"""


def test_an_author_sees_a_crash_on_stderr_and_in_the_errors(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": PYTHONPATH},
        check=True,
    )
    assert done.stdout == "sorry\nlook_up crashed KeyError: 'x' 8\n"
    assert "'look_up' failed: crashed: KeyError: 'x' (" in done.stderr
    assert f'File "{program}", line 8, in look_up' in done.stderr


def test_errors_are_failed_calls_alone_with_or_without_an_exception() -> None:
    @tool
    def work(n: int) -> str:
        """Work."""
        return "worked"

    turns = [call("work", {"n": 1}), call("work", {"n": "many"}), call("nothing", {}), "done"]
    result = Agent(Scripted(turns), [work]).run_sync("go")
    assert [(one.tool, one.kind) for one in result.errors] == [
        ("work", "invalid_arguments"),
        ("nothing", "unknown_tool"),
    ]
    assert all(one.error == one.text and not one.exception for one in result.errors)
