"""Python without the machine: pydantic-monty, a Python of its own in a process of its own.

It has no files but its folder, no network, few imports, and every limit is enforced inside; killing the
process is the last resort. Beyond computing, it can only call the tools it has.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel.context import RunContext, ToolContext
from toolkeel_workspace.code.code_limits import (
    CodeLimits,
    ExecutionResult,
    OutputBuffer,
    print_last_value,
)
from toolkeel_workspace.code.tools import CodeTools, find_awaited_calls

with needs_extra("CodeInterpreterTool", "code"):
    import pydantic_monty as monty

WORK_FOLDER = "/work"
"""The folder's path inside."""


class _HostLimitReached(Exception):
    """Code made too many requests to the host. It is ended, because it could continue forever."""


class MontyInterpreter:
    """One interpreter: later code finds what earlier code defined.

    Args:
        limits: Limits on each piece of code.
        tools: Tools it can call.
        folder: The one folder it sees, as ``/work``.
    """

    def __init__(self, limits: CodeLimits, tools: CodeTools, folder: Path) -> None:
        self._limits = limits
        self._tools = tools
        self._folder = folder
        self._stack = AsyncExitStack()
        self._session: monty.AsyncMontySession | None = None
        self._awaited_calls: dict[str, frozenset[int]] = {}
        self._feed_count = 0

    async def run(self, code: str, call: ToolContext) -> ExecutionResult:
        """Run a piece of code.

        Raises:
            SetupError: a tool it called is set up wrongly, which no code can fix.
        """
        session = self._session or await self._start()
        printed = OutputBuffer(self._limits.output_chars)
        is_intact = False
        feed = _HostCalls(self._tools, self._limits, call)
        code = print_last_value(code)
        self._awaited_calls[f"<python-input-{self._feed_count}>"] = find_awaited_calls(code)
        self._feed_count += 1
        try:
            with self._make_mount() as mount:
                snapshot = await session.feed_start(
                    code,
                    external_lookup=dict.fromkeys(self._tools, _tool_placeholder),
                    print_callback=lambda _, text: printed.add(text),
                    mount=mount,
                    cwd=WORK_FOLDER,
                )
                while not isinstance(snapshot, monty.MontyComplete):
                    snapshot = await feed.answer(snapshot, self._awaited_calls)
            is_intact = True
            return ExecutionResult(printed.text())
        except monty.MontyError as problem:
            lost = _find_restart_reason(problem)
            is_intact = not lost
            return ExecutionResult(printed.text(), _format_error(problem), restart_reason=lost)
        except _HostLimitReached as reason:
            return ExecutionResult(
                printed.text(), f"RuntimeError: {reason}", restart_reason="it was ended"
            )
        finally:
            await feed.close()
            if not is_intact:  # stopped midway: its variables are unreliable
                await self.aclose()

    async def aclose(self) -> None:
        """End its process."""
        stack, self._stack = self._stack, AsyncExitStack()
        self._session = None
        with suppress(monty.MontyError, RuntimeError):
            await stack.aclose()

    def _make_mount(self) -> monty.MountDir:
        return monty.MountDir(
            host_path=self._folder,
            virtual_path=WORK_FOLDER,
            mode="read-write",
            write_bytes_limit=self._limits.written_bytes,
        )

    async def _start(self) -> monty.AsyncMontySession:
        limits = self._limits
        pool = monty.AsyncMonty(
            min_processes=1,
            max_processes=1,
            checkout_timeout=30,
            request_timeout=limits.compute_seconds + 5,
        )
        await self._stack.enter_async_context(pool)
        self._session = await self._stack.enter_async_context(
            pool.checkout(
                limits={
                    "max_feed_duration_secs": limits.compute_seconds,
                    "max_memory": limits.memory_bytes,
                    "max_recursion_depth": limits.max_recursion,
                    "max_suspensions": 1_000_000,  # counted here, for each call
                }
            )
        )
        self._awaited_calls.clear()
        self._feed_count = 0
        return self._session


def _tool_placeholder(*_: object, **__: object) -> None:
    """Represent a tool where code reads its name; `_HostCalls` handles its calls."""


class _HostCalls:
    """Handles the requests of one piece of code to the host."""

    def __init__(self, tools: CodeTools, limits: CodeLimits, call: ToolContext) -> None:
        self._tools = tools
        self._limits = limits
        self._call = call
        outer = call.run
        self._run: RunContext = outer.make_inner(call, call.tool_name, call.deps)
        self._run.state, self._run.lock = outer.state, outer.lock
        # No journal of its own: its calls are recorded under the call that runs the code.
        self._run.recorder, self._run.loop_state.inner_runs = (
            outer.recorder,
            outer.loop_state.inner_runs,
        )
        self._call_count = 0
        self._request_count = 0
        self._slept_seconds = 0.0
        self._pending: dict[int, asyncio.Task[dict[str, Any]]] = {}

    async def answer(self, snapshot: Any, awaited: dict[str, frozenset[int]]) -> Any:
        """Handle one request. Return the next one, or the end."""
        self._request_count += 1
        if self._request_count > 100 * self._limits.max_tool_calls:
            raise _HostLimitReached("the code made too many requests to the host")
        if isinstance(snapshot, monty.AsyncFutureSnapshot):
            return await self._wait_for_first(snapshot)
        if not isinstance(snapshot, monty.AsyncFunctionSnapshot):
            return await snapshot.resume_auto()
        if snapshot.is_os_function:
            if snapshot.function_name == "system.sleep":
                return await self._sleep(snapshot)
            return await snapshot.resume_auto()
        if snapshot.function_name not in self._tools:
            return await snapshot.resume_auto()
        work = self._call_tool(snapshot)
        place = snapshot.position
        if place.start in awaited.get(place.filename, ()):
            self._pending[snapshot.call_id] = asyncio.ensure_future(work)
            return await snapshot.resume({"future": ...})
        return await snapshot.resume(await work)  # type: ignore[arg-type]

    async def close(self) -> None:
        """Cancel calls that are still pending."""
        for task in self._pending.values():
            task.cancel()
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
        self._call.run.usage = self._call.run.usage + self._run.usage

    async def _call_tool(self, snapshot: monty.AsyncFunctionSnapshot) -> dict[str, Any]:
        self._call_count += 1
        if self._call_count > self._limits.max_tool_calls:
            text = f"code may call tools {self._limits.max_tool_calls} times, and has"
            return {"exc_type": "RuntimeError", "message": text}
        id = f"{self._call.tool_call_id}.{self._call_count}"
        arguments = (snapshot.args, snapshot.kwargs)
        return await self._tools.call(snapshot.function_name, arguments, id, self._run)

    async def _wait_for_first(self, snapshot: monty.AsyncFutureSnapshot) -> Any:
        waiting = {id: self._pending[id] for id in snapshot.pending_call_ids}
        await asyncio.wait(waiting.values(), return_when=asyncio.FIRST_COMPLETED)
        done = {id: task for id, task in waiting.items() if task.done()}
        for id in done:
            del self._pending[id]
        return await snapshot.resume({id: task.result() for id, task in done.items()})  # type: ignore[misc]

    async def _sleep(self, snapshot: monty.AsyncFunctionSnapshot) -> Any:
        value = snapshot.args[0] if snapshot.args else 0
        seconds = max(float(value), 0.0) if isinstance(value, int | float) else 0.0
        self._slept_seconds += seconds
        if self._slept_seconds > self._limits.compute_seconds:
            raise _HostLimitReached(
                f"the code sleeps for more than {self._limits.compute_seconds:g} seconds"
            )
        await asyncio.sleep(seconds)
        return await snapshot.resume({"return_value": None})


def _find_restart_reason(problem: monty.MontyError) -> str:
    """Return why the interpreter must be restarted after an error, or empty if it need not."""
    if isinstance(problem, monty.MontyCrashedError):
        return "the interpreter had to be ended"
    inner = problem.exception()
    if isinstance(inner, TimeoutError):
        return "the code ran for too long"
    return "the code used too much memory" if isinstance(inner, MemoryError) else ""


def _format_error(problem: monty.MontyError) -> str:
    if isinstance(problem, monty.MontyRuntimeError | monty.MontySyntaxError):
        return problem.display()
    return str(problem)
