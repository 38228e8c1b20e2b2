"""``toolkeel demo``: a tour on real calls without key or network."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Annotated

import typer

from toolkeel.agent.agent import Agent
from toolkeel.agent.result import RunResult
from toolkeel.builtin.catalog import load_builtin
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.decorator import tool
from toolkeel.events import Event, ToolFinished, ToolStarted
from toolkeel.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolOutput,
    UserMessage,
)
from toolkeel.observe.wording import compact, duration, one_line
from toolkeel.providers.model_by_name import connect
from toolkeel_studio.cli.terminal.progress import JsonView, Pausable
from toolkeel_studio.cli.terminal.standard_streams import flush_output
from toolkeel_studio.cli.terminal.streams import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    layout,
    styled,
    width_of,
)
from toolkeel_studio.cli.terminal.text import cells, padded, signature, wrapped
from toolkeel_studio.weather_fixture import WeatherFixture

INDENT = 13
BAR = 28
TIMED = 2000


def command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the runs' events instead, one JSON a line.")
    ] = False,
) -> None:
    """Run a two-minute tour: real calls, no key, no network.

    The model is the embedded one, which is rules; the weather is made up by a server on this
    machine. Everything else is what your own program would run.
    """
    with WeatherFixture() as url:
        builtins = [
            *load_builtin("weather", base_url=url),
            *load_builtin("clock"),
            *load_builtin("calculator"),
        ]
        Tour(Toolset([*builtins, stock]), as_json).take()


# — tools of the tour —


@tool
def stock(item: str) -> ToolOutput:
    """Tell how many pieces of an item are in stock.

    Args:
        item: Name of the item, such as "umbrella".
    """
    rows = [("north", item, 12), ("south", item, 30)]
    return ToolOutput(
        f"{sum(count for _, _, count in rows)} pieces of {item} in stock",
        artifact=rows,
        details={"warehouses": len(rows), "query": f"item = {item!r}"},
    )


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Tour:
    """Six stops, each a real run.

    Args:
        tools: The tools of the model.
        as_json: Print events instead of the story.
    """

    def __init__(self, tools: Toolset, as_json: bool) -> None:
        self._tools = tools
        self._as_json = as_json
        self._agent = Agent(connect("offline"), tools)
        self._events: list[Event] = []
        self._json = Pausable(JsonView())

    def take(self) -> None:
        """Go from stop to stop."""
        stops: tuple[Callable[[], Iterator[str]], ...] = (
            self._introduce,
            self._three_turns,
            self._parallel,
            self._correction,
            self._two_readers,
            self._speed,
            self._next,
        )
        for stop in stops:
            for line in stop():
                if not self._as_json:
                    layout([line])
            if flush_output():
                return

    def _ask(self, prompt: str) -> RunResult:
        """Run a prompt and record its events."""
        self._events = []
        return self._agent.run_sync(prompt, listeners=[self._events.append, self._write])

    def _write(self, event: Event) -> None:
        if self._as_json:
            self._json(event)

    # — the stops —

    def _introduce(self) -> Iterator[str]:
        yield _styled("toolkeel: define a tool once; any model can call it", BOLD)
        yield ""
        yield from _told(
            "A tour of real calls. The model is the embedded one (rules, no weights, and it says "
            "so); the weather is made up by a small server on this machine. No key, no network."
        )

    def _three_turns(self) -> Iterator[str]:
        yield from _heading(1, "Three turns: a question, a call, an answer")
        result = self._ask("北京今天天气怎么样?")
        turns = ("you ask", "the model calls a tool, by name, with an id", "the result goes back")
        for turn, message in enumerate(result.messages[:3]):
            yield _styled(f"   turn {turn + 1}: {turns[turn]}", DIM)
            yield from _message(message)
        for message in result.messages[3:]:
            yield from _message(message)

    def _parallel(self) -> Iterator[str]:
        yield from _heading(2, "Two calls in one turn run side by side")
        result = self._ask("weather in Paris and Tokyo")
        yield from _message(result.messages[0])
        yield ""
        yield from _timeline(self._events)
        yield ""
        yield from _message(result.messages[-1])

    def _correction(self) -> Iterator[str]:
        yield from _heading(3, "A wrong argument comes back as text the model can act on")
        result = self._ask("what time is it in Tokyo?")
        for message in result.messages:
            yield from _message(message)
        yield ""
        yield from _told("What does not fit the schema never reaches the tool:")
        call = ToolCall("call_9", "weather", '{"city": "Paris", "unit": "kelvin", "dya": 1}')
        yield from _message(AssistantMessage(tool_calls=(call,)))
        [refused] = self._tools.run_sync([call], RunContext(listeners=(self._write,)))
        yield from _message(refused)

    def _two_readers(self) -> Iterator[str]:
        yield from _heading(4, "The model reads the content; people and programs get the rest")
        for line in inspect.getsource(stock.function).rstrip().splitlines():
            yield _styled(f"   {line}", DIM) if line else ""
        yield ""
        call = ToolCall("call_1", "stock", '{"item": "umbrella"}')
        [message] = self._tools.run_sync([call], RunContext(listeners=(self._write,)))
        yield from _rows("content", message.text, CYAN)
        yield from _rows("artifact", compact(message.artifact), DIM)
        yield from _rows("details", compact(dict(message.details)), DIM)

    def _speed(self) -> Iterator[str]:
        yield from _heading(5, "What the runtime adds to a call")
        seconds = run_sync(lambda: _timed(Toolset([add])))
        yield from _told(
            f'add, from the JSON text {{"a": 2, "b": 3}} to the result message: '
            f"{duration(seconds)} a call (median of {TIMED:,}), parsing and validation included."
        )

    def _next(self) -> Iterator[str]:
        yield from _heading(6, "Try next")
        for line in _NEXT.strip("\n").splitlines():
            command, _, comment = line.partition("  # ")
            between = "  " if cells(line) + 3 <= _width() else "\n     "
            yield f"   {command}{between}{_styled(f'# {comment}', DIM)}"


_NEXT = """
toolkeel run "weather in Paris and Tokyo" -t demo   # as in this tour
toolkeel run "what is 15% of 80?" -t calculator     # or with -m openai:...
toolkeel tools                                      # what is built in
toolkeel call clock timezone=Asia/Shanghai          # one tool, no model
toolkeel schema weather -p anthropic                # what is sent
toolkeel call tools.py:search query=猫 limit=3      # functions of your own
"""


async def _timed(tools: Toolset) -> float:
    """Seconds a call takes."""
    call = ToolCall("call_1", "add", '{"a": 2, "b": 3}')
    taken = []
    for _ in range(TIMED):
        began = perf_counter()
        await tools.run([call])
        taken.append(perf_counter() - began)
    return median(taken)


# — how it is drawn —


def _width() -> int:
    return min(width_of(sys.stdout) or 80, 80)


def _styled(text: str, style: str) -> str:
    return styled(text, style, sys.stdout)


def _heading(number: int, text: str) -> Iterator[str]:
    yield ""
    yield from (_styled(line, BOLD) for line in wrapped(f"{number}. {text}", _width()))
    yield ""


def _told(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _width() - 3):
        yield f"   {line}"


def _rows(head: str, text: str, style: str) -> Iterator[str]:
    """Text beside its head, on as many lines as it needs."""
    for line in text.splitlines() or [""]:
        for part in wrapped(one_line(line), _width() - INDENT):
            yield f"   {_styled(padded(head, INDENT - 4), style)} {part}".rstrip()
            head = ""


def _message(message: Message) -> Iterator[str]:
    """Yield the lines of one message of the transcript."""
    match message:
        case UserMessage(content=str(text)):
            yield from _rows("user", text, BOLD)
        case AssistantMessage(tool_calls=calls) if calls:
            for call in calls:
                yield from _rows("model", f"calls {signature(call, _width())} as {call.id}", CYAN)
        case AssistantMessage():
            yield from _rows("model", message.text, CYAN)
        case ToolMessage():
            text = f"of {message.tool_call_id}: {message.text}"
            yield from _rows("error" if message.failed else "result", text, _colour(message))
        case _:
            pass


def _colour(message: ToolMessage) -> str:
    return RED if message.failed else GREEN


def _timeline(events: list[Event]) -> Iterator[str]:
    """Yield a bar for each call, all on one scale."""
    starts = {e.call_id: e for e in events if isinstance(e, ToolStarted)}
    ends = {e.call_id: e for e in events if isinstance(e, ToolFinished)}
    begin = min(start.at for start in starts.values())
    span = max(end.at for end in ends.values()) - begin
    most = min(BAR, _width() - 40)
    for id, start in starts.items():
        left = round((start.at - begin) / span * most)
        length = max(round((ends[id].at - start.at) / span * most), 1)
        bar = " " * left + "█" * length
        took = duration(ends[id].message.duration)
        yield f"   {padded(signature(start.call, 24), 24)} {_styled(padded(bar, most), GREEN)} {took}"
    work = sum(end.message.duration for end in ends.values())
    yield f"   {duration(work)} of work in {duration(span)}"
