"""The fixtures work in a project that only installed the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolkeel import Agent, RunContext, ToolContext, tool
from toolkeel.testing.scripted import call


@tool
def greet(who: str, context: ToolContext[dict[str, str]]) -> str:
    """Greet somebody."""
    return f"{context.deps['word']}, {who}"


def test_call_tool_runs_one_tool_as_a_model_would(call_tool, recorder):
    result = call_tool(greet, RunContext({"word": "你好"}), who="Ada")
    assert (result.content, result.status) == ("你好, Ada", "success")
    assert recorder.types == ["tool_started", "tool_finished"]


def test_call_tool_gives_the_failure_as_a_message(call_tool):
    assert call_tool(greet, RunContext({"word": "hi"}), whom="Ada").kind == "invalid_arguments"


def test_a_scripted_model_drives_an_agent_and_the_recorder_hears_it(scripted, recorder):
    agent = Agent(scripted(call("greet", {"who": "Ada"}), "done"), [greet])
    result = agent.run_sync("greet Ada", deps={"word": "hi"}, listeners=[recorder])
    assert result.output == "done"
    assert [m.content for m in result.messages][2] == "hi, Ada"
    assert recorder.types.count("tool_finished") == 1


TEST = '''
import pytest
from toolkeel import Agent, tool
from toolkeel.testing.scripted import Scripted, call

@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b

MARKED
def test_sum(cassette):
    script = Scripted([call("add", {"a": 1, "b": 2}), "three"])
    agent = Agent(cassette.model(script), [add], steps=[cassette.tools()])
    assert agent.run_sync("SAID").output == "three"
'''


def test_the_cassette_fixture_records_once_plays_ever_after_and_fails_on_a_change(
    tmp_path: Path,
) -> None:
    file = tmp_path / "test_sum.py"

    def run(said: str, *options: str, mark: str = "") -> subprocess.CompletedProcess[str]:
        file.write_text(TEST.replace("SAID", said).replace("MARKED", mark), "utf-8")
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(file)]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert "there is no cassette" in run("1 + 2").stdout
    assert run("1 + 2", "--cassette-mode=once").returncode == 0
    assert (tmp_path / "cassettes" / "test_sum" / "test_sum.json").is_file()
    assert run("1 + 2").returncode == 0
    changed = run("2 + 1").stdout
    assert "differs in message 1 (user)" in changed and "2 + 1" in changed
    ignored = '@pytest.mark.cassette(ignore=[r"[0-9]"])'
    assert run("2 + 1", "--strict-markers", mark=ignored).returncode == 0
