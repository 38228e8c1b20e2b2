"""`Agent` and `RunStream`: one loop, asked in three ways."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.valid import problems
from tests.waiting import run as run_async
from toolkeel import Agent, Image, SetupError, Text, ToolContext, tool
from toolkeel.errors import ModelError
from toolkeel.events import Event
from toolkeel.messages import AssistantMessage, SystemMessage, UserMessage
from toolkeel.testing.scripted import Scripted, call


@tool
async def wait(seconds: float, context: ToolContext[Any]) -> str:
    """Wait a while."""
    context.progress("waiting", done=0, total=seconds)
    await asyncio.sleep(seconds)
    return f"waited {seconds:g}"


def agent(*lines: Any, **options: Any) -> Agent:
    return Agent(Scripted(lines), [wait], **options)


def test_streaming_gives_the_same_transcript_as_running() -> None:
    script = [[call("wait", {"seconds": 0.01}), call("wait", {"seconds": 0})], "done"]
    ran = agent(*script).run_sync("go")

    async def main() -> list[str]:
        stream = agent(*script).stream("go")
        types = [event.type async for event in stream]
        assert [m.text for m in stream.result.messages] == [m.text for m in ran.messages]
        return types

    types = run_async(main)
    assert types[0] == "run_started" and types[-1] == "run_finished"
    assert types.count("tool_started") == types.count("tool_finished") == 2
    assert "progress" in types and "streamed" in types


def test_events_arrive_while_a_call_still_runs() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        stream = agent(call("wait", {"seconds": 0.2}), "done").stream("go")
        began = 0.0
        async for event in stream:
            if event.type == "tool_started":
                began = loop.time()
            if event.type == "tool_finished":
                return loop.time() - began
        raise AssertionError("no result came")

    assert run_async(main) > 0.1


def test_closing_a_stream_stops_its_run() -> None:
    async def main() -> None:
        before = asyncio.all_tasks()
        async with agent(call("wait", {"seconds": 60}), "done").stream("go") as stream:
            async for event in stream:
                if event.type == "tool_started":
                    break
        assert asyncio.all_tasks() == before

    run_async(main)


def test_the_result_of_a_stream_is_asked_for_too_early() -> None:
    async def main() -> None:
        stream = agent("done").stream("go")
        with pytest.raises(SetupError, match="read its events to the end"):
            _ = stream.result

    run_async(main)


def test_an_error_of_the_model_reaches_who_reads_the_stream_after_its_events() -> None:
    async def main() -> list[str]:
        events: list[Event] = []
        with pytest.raises(ModelError, match="gone"):
            async for event in agent(ModelError("the server is gone")).stream("go"):
                events += [event]
        return [event.type for event in events]

    assert run_async(main)[-1] == "run_finished"


def test_a_listener_that_raises_does_not_break_the_run() -> None:
    def broken(event: object) -> None:
        raise RuntimeError("listener")

    assert agent("done").run_sync("go", listeners=[broken]).output == "done"


def test_a_prompt_may_be_text_blocks_or_a_transcript() -> None:
    blocks = agent("ok").run_sync((Text("what is this?"), Image(b"\x89PNG\r\n\x1a\n")))
    assert isinstance(blocks.messages[0].content, tuple)
    before = [UserMessage("hi"), AssistantMessage("hello"), UserMessage("and now?")]
    assert [m.text for m in agent("now").run_sync(before).messages] == [
        "hi",
        "hello",
        "and now?",
        "now",
    ]


def test_instructions_come_first_and_only_once() -> None:
    """Each agent speaks with its own; a system message that the caller wrote stays."""
    model = Scripted(["one", "two"])
    first = Agent(model, instructions="Be brief.").run_sync([SystemMessage("Of Ada.")])
    second = Agent(model, instructions="Be long.").run_sync([*first.messages, UserMessage("again")])
    told = [[m.text for m in r.messages if isinstance(m, SystemMessage)] for r in model.requests]
    assert told == [["Be brief.", "Of Ada."], ["Be long.", "Of Ada."]]
    assert [m.text for m in second.messages] == ["Of Ada.", "one", "again", "two"]
    assert problems(second.messages) == []


def test_the_model_may_be_named_and_a_wrong_name_is_told_with_the_nearest() -> None:
    assert Agent("offline").model.name == "offline"
    with pytest.raises(SetupError, match="offline"):
        Agent("ofline")


def test_agents_run_side_by_side_without_seeing_each_other() -> None:
    @tool
    async def who(context: ToolContext[str]) -> str:
        """Tell who asks."""
        await asyncio.sleep(0.001)
        return context.deps

    async def main() -> list[str]:
        one = Agent(Scripted([call("who"), "x"]), [who])
        results = await asyncio.gather(
            *(
                Agent(Scripted([call("who"), "x"]), one.tools).run("go", deps=f"user {n}")
                for n in range(50)
            )
        )
        return [result.messages[2].text for result in results]

    assert run_async(main) == [f"user {n}" for n in range(50)]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["typed_deps.py", "typed_program.txt"])
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_type_checkers_find_what_does_not_fit_and_nothing_else(
    checker: str, program: str, tmp_path: Path
) -> None:
    text = Path(__file__).with_name(program).read_text("utf-8")
    sample = tmp_path / Path(program).with_suffix(".py")  # beside the tests it would be run by them
    sample.write_text(text, "utf-8")
    root = Path(__file__).parents[4]
    options = {
        "mypy": ["--strict", "--no-incremental", "--config-file", str(root / "pyproject.toml")],
        "basedpyright": ["--pythonpath", sys.executable, "--level", "error"],
    }
    words = [str(Path(sys.executable).with_name(checker)), *options[checker], str(sample)]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=280)
    found = {int(line) for line in re.findall(rf"{sample.name}:(\d+):.*?error", done.stdout)}
    lines = text.splitlines()
    assert found == {n for n, line in enumerate(lines, 1) if "  # expect: " in line}, done.stdout


def test_an_agent_shows_its_model_tools_and_name() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    agent = Agent("offline", [add], name="sums")
    assert repr(agent) == "Agent(Offline(), tools=['add'], name='sums')"
    assert repr(Agent("offline")) == "Agent(Offline(), name='agent')"


class Named(Agent[object, str]):
    """An agent with an attribute of its own."""

    def __init__(self, tag: str) -> None:
        super().__init__(Scripted(["done"]), [wait], instructions="Be brief.")
        self.tag = tag


def test_a_parameter_set_on_an_agent_is_refused_since_no_run_would_read_it() -> None:
    named = Named("a")
    named.tag = "b"
    for name in ("instructions", "tools", "model", "settings", "name", "max_turns", "handoffs"):
        with pytest.raises(
            AttributeError, match=rf"'{name}' cannot be set.*Agent\(.*{name}=\.\.\.\)"
        ):
            setattr(named, name, "other")
    with pytest.raises(AttributeError, match=r"write run\(prompt, settings=...\) for one run, or"):
        setattr(named, "settings", None)  # noqa: B010
    assert (
        named.with_tools([]).run_sync("go").output == "done" and named.instructions == "Be brief."
    )
