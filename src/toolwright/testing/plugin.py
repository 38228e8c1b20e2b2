"""The pytest plugin: fixtures for programs that use tools. pytest finds it by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolwright.call.toolset import Toolish, Toolset
from toolwright.context import Run
from toolwright.events import Event
from toolwright.messages import ToolCall, ToolMessage
from toolwright.testing.scripted import Line, Scripted


class Recorder:
    """A listener that keeps every event; give it to a run as ``listeners=[recorder]``.

    Attributes:
        events: All of them, in order.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        """The events' types, in order."""
        return [event.type for event in self.events]


CallTool = Callable[..., ToolMessage]


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    """Make a model that plays its arguments: ``scripted(call("add", {"a": 1}), "done")``."""

    def make(*lines: Line) -> Scripted:
        return Scripted(lines)

    return make


@pytest.fixture
def recorder() -> Recorder:
    """A listener that keeps every event."""
    return Recorder()


@pytest.fixture
def call_tool(recorder: Recorder) -> CallTool:
    """Call a tool as a model would: ``call_tool(add, a=1, b=2).content``.

    Its events go to `recorder`. A `Run` to inject from may be given as the second argument.
    """

    def call(tool: Toolish, run: Run[Any] | None = None, /, **arguments: object) -> ToolMessage:
        tools = Toolset([tool])
        run = run or Run()
        run.listeners = (*run.listeners, recorder)
        [result] = tools.run_sync([ToolCall("call_1", tools.names[0], arguments)], run)
        return result

    return call
