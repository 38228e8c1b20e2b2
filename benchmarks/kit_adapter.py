"""toolkeel in the performance kit: copy this file to the kit as ``adapters/toolkeel_.py``.

Three rows: a tool as it comes; one with everything a call can have switched on; sync tools inline.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any, ClassVar

from adapters.base import Adapter


class Session:
    """A toolset and the run its calls share."""

    def __init__(self, tools: Any, run: Any) -> None:
        from toolkeel import ToolCall

        self._tools, self._run = tools, run
        self._failures = run.loop_state.failed_calls
        self._call = ToolCall

    async def call(self, raw: tuple[str, str, str]) -> Any:
        if self._failures:  # else the same wrong call would be refused from the fourth time on
            self._failures.clear()
        return (await self._tools.run([self._call(*raw)], self._run))[0]

    async def batch(self, raws: Sequence[tuple[str, str, str]]) -> Any:
        return await self._tools.run([self._call(*raw) for raw in raws], self._run)


class Toolkeel(Adapter):
    name = "toolkeel"
    dists: ClassVar = ("toolkeel", "pydantic", "pydantic_core")
    import_line = "from toolkeel import tool"
    api: ClassVar = {
        "W2": "tool(fn); schema and validator are complete after this",
        "W3": "openai_chat.encode_tools(toolset), as on every model request",
        "W4": "ToolCall(id, name, json) -> Toolset.run([call], run) -> ToolMessage; 30 s deadline, cancel token",
        "W5": "one Toolset.run with N calls; sync tools in threads, the cap lifted",
        "W6": "Agent(model).run with a scripted Model",
        "W7": "AssistantMessage(tool_calls=(ToolCall,)) and ToolMessage; Tool and its OpenAI schema",
    }

    def define(self, fn: Callable[..., Any]) -> Any:
        from toolkeel import tool

        return tool(fn)

    def schema(self, tools: Sequence[Any]) -> list[Any]:
        from toolkeel import Toolset
        from toolkeel.providers import openai_chat

        if getattr(self, "_kept", None) is not tools:
            self._kept, self._toolset = tools, Toolset(tools)
            self._encode = openai_chat.encode_tools
        return self._encode(self._toolset)

    @asynccontextmanager
    async def session(self, fns: Sequence[Callable[..., Any]]) -> AsyncIterator[Session]:
        from toolkeel import RunContext, Toolset

        yield Session(Toolset([self.define(fn) for fn in fns], max_threads=1000), RunContext())

    def read(self, message: Any) -> tuple[str, str, bool]:
        return message.text, message.tool_call_id, message.failed

    async def loop(self, fn: Callable[..., Any], turns: int, ticks: list[float]) -> tuple[str, int]:
        from toolkeel import Agent, AssistantMessage, ToolCall, ToolMessage

        script = [
            AssistantMessage(
                "", (ToolCall(f"call_{i}", fn.__name__, f'{{"i": {i}}}'),), "tool_calls"
            )
            for i in range(turns)
        ]
        replies = iter([*script, AssistantMessage("done")])

        class Model:
            name = "script"

            async def stream(self, request: Any) -> AsyncIterator[AssistantMessage]:
                ticks.append(perf_counter())
                yield next(replies)

        agent = Agent(Model(), [self.define(fn)], max_turns=turns + 1)
        result = await agent.run("go")
        return result.output, sum(isinstance(m, ToolMessage) for m in result.messages)

    def history(self, n: int) -> list[Any]:
        from common import RESULT_TEXT

        from toolkeel import AssistantMessage, ToolCall, ToolMessage

        out: list[Any] = []
        for i in range(n):
            call = ToolCall(f"call_{i}", "a_number", f'{{"i": {i}}}')
            out.append(AssistantMessage("", (call,), "tool_calls"))
            out.append(ToolMessage(RESULT_TEXT % i, f"call_{i}", "a_number"))
        return out


class ToolkeelInline(Toolkeel):
    """Sync tools run in the event loop's thread."""

    name = "toolkeel-inline"

    def define(self, fn: Callable[..., Any]) -> Any:
        from toolkeel import tool

        return tool(fn, inline=not inspect.iscoroutinefunction(fn))


class ToolkeelFull(Toolkeel):
    """Everything on: an injected context, an input and an output guard, a deadline, a subscriber."""

    name = "toolkeel-full"
    api: ClassVar = {
        **Toolkeel.api,
        "W4": "the same with an injected context, an input and an output guard, a deadline, a "
        "subscriber that keeps the events, durations",
    }

    def define(self, fn: Callable[..., Any]) -> Any:
        from toolkeel import tool
        from toolkeel.call.steps.guard import Allow, input_guard, output_guard

        allow = Allow()
        guards = [
            input_guard(lambda prepared, context: allow, inline=True),
            output_guard(lambda prepared, outcome, context: allow, inline=True),
        ]
        return tool(_with_context(fn), steps=guards)

    @asynccontextmanager
    async def session(self, fns: Sequence[Callable[..., Any]]) -> AsyncIterator[Session]:
        from toolkeel import RunContext, Toolset

        events: deque[Any] = deque(maxlen=4096)
        tools = Toolset([self.define(fn) for fn in fns], max_threads=1000)
        yield Session(tools, RunContext(listeners=(events.append,)))


def _with_context(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` as its author would write it to get the context: one parameter more."""
    from toolkeel import ToolContext

    tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    function: Any = tree.body[0]
    function.args.args.append(ast.arg("context", ast.Name("ToolContext", ast.Load())))
    if function.args.defaults:
        function.args.defaults.append(ast.Constant(None))
    scope: dict[str, Any] = {**fn.__globals__, "ToolContext": ToolContext}
    exec(compile(ast.fix_missing_locations(tree), fn.__code__.co_filename, "exec"), scope)
    made: Callable[..., Any] = scope[function.name]
    made.__name__ = fn.__name__
    return made
