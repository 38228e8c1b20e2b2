"""The pytest plugin: fixtures for programs that use tools. pytest finds it by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from toolkeel.call.toolset import Toolish, Toolset
from toolkeel.context import RunContext
from toolkeel.events import Event
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.model_interface import Model
from toolkeel.testing.cassette import Cassette, Mode, find_api_keys
from toolkeel.testing.scripted import Line, Scripted
from toolkeel.testing.taped import TapedModel, TapedTools


class Recorder:
    """Listener that records every event; pass it to a run as ``listeners=[recorder]``.

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
        """Return a model that plays these replies."""
        return Scripted(lines)

    return make


@pytest.fixture
def recorder() -> Recorder:
    """Provide a listener that records every event."""
    return Recorder()


@pytest.fixture
def call_tool(recorder: Recorder) -> CallTool:
    """Call a tool as a model would: ``call_tool(add, a=1, b=2).content``.

    Its events go to `recorder`. A `RunContext` to inject from may be given as the second argument.
    """

    def call(tool: Toolish, run: RunContext | None = None, /, **arguments: object) -> ToolMessage:
        """Run one call of a tool and return its result; the recorder stays a listener of `run`."""
        tools = Toolset([tool])
        run = run or RunContext()
        run.listeners = (*run.listeners, recorder)
        [result] = tools.run_sync([ToolCall("call_1", tools.names[0], arguments)], run)
        return result

    return call


class Tape:
    """Cassette of one test, with the model and step that use it. See the fixture `cassette`.

    Attributes:
        cassette: The file.
    """

    def __init__(self, cassette: Cassette) -> None:
        self.cassette = cassette

    def model(self, model: Model | str) -> TapedModel:
        """Return the model for an agent, which is recorded or replayed as the cassette's mode says."""
        return TapedModel(self.cassette, model)

    def tools(self) -> TapedTools:
        """Return a step that also records or replays tool results: ``Agent(..., steps=[cassette.tools()])``.

        In replay no body runs, and a call that was not recorded raises `CassetteMismatch`.
        """
        return TapedTools(self.cassette)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker ``cassette`` with pytest."""
    told = "cassette(ignore): regular expressions of what may differ in requests (times, ids)"
    config.addinivalue_line("markers", told)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--cassette-mode``."""
    parser.getgroup("toolkeel").addoption(
        "--cassette-mode",
        choices=get_args(Mode),
        default="none",
        help="none: play (the default); once: record what has no file; new_episodes; rewrite",
    )


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[Tape]:
    r"""Provide the test's `Tape`: give `cassette.model(...)` and `cassette.tools()` to the agent.

    Nothing is intercepted: only models and steps taken from the tape are recorded or replayed. The
    file is ``cassettes/<file>/<test>.json`` beside the test file. ``pytest --cassette-mode=once``
    records it if it is missing. Without the option it is replayed, needs no key, and the test fails
    if the file is missing, if a request differs from the recorded one, or if a recorded one was not
    made. Values of the environment's ``*_API_KEY`` and ``*_TOKEN`` never reach the file. A marker
    names what may differ: ``@pytest.mark.cassette(ignore=[r"\d\d:\d\d"])``.
    """
    folder = request.path.parent / "cassettes" / request.path.stem
    name = re.sub(r"[^\w.\[\]-]+", "_", request.node.name)
    mode: Any = request.config.getoption("--cassette-mode")
    marker = request.node.get_closest_marker("cassette")
    options = marker.kwargs if marker is not None else {}
    tape = Cassette(folder / f"{name}.json", mode, secrets=find_api_keys(os.environ), **options)
    yield Tape(tape)
    tape.check_all_played()
