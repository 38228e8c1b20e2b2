"""Python without the machine: pydantic-monty, a Python of its own in a process of its own.

It has no files but its folder, no network, no imports but a few of its own, and every limit is
enforced inside, with the process killed as the last resort. What it can do beyond computing is to
call the tools it was given.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel.context import RunContext, ToolContext
from toolkeel_workspace.code.code_limits import CodeLimits, Printed, Ran, showing
from toolkeel_workspace.code.tools import CodeTools, awaited_calls

with needs_extra("CodeInterpreterTool", "code"):
    import pydantic_monty as monty

HOME = "/work"
"""Where the folder is, as the code sees it."""


class _TooMuch(Exception):
    """Code asks more of the host than it may; it is ended, since it could ask on for ever."""


class MontyInterpreter:
    """One interpreter: what code defines, later code finds.

    Args:
        limits: What each piece of code may use.
        tools: What it may call.
        folder: The one folder it sees, as ``/work``.
    """

    def __init__(self, limits: CodeLimits, tools: CodeTools, folder: Path) -> None:
        self._limits = limits
        self._tools = tools
        self._folder = folder
        self._stack = AsyncExitStack()
        self._session: monty.AsyncMontySession | None = None
        self._awaited: dict[str, frozenset[int]] = {}
        self._fed = 0

    async def run(self, code: str, call: ToolContext) -> Ran:
        """Run a piece of code.

        Raises:
            SetupError: a tool it called made a mistake no code can mend.
        """
        session = self._session or await self._start()
        printed = Printed(self._limits.output)
        whole = False
        feed = _Feed(self._tools, self._limits, call)
        code = showing(code)
        self._awaited[f"<python-input-{self._fed}>"] = awaited_calls(code)
        self._fed += 1
        try:
            with self._mount() as mount:
                snapshot = await session.feed_start(
                    code,
                    external_lookup=dict.fromkeys(self._tools, _called_late),
                    print_callback=lambda _, text: printed.add(text),
                    mount=mount,
                    cwd=HOME,
                )
                while not isinstance(snapshot, monty.MontyComplete):
                    snapshot = await feed.answer(snapshot, self._awaited)
            whole = True
            return Ran(printed.text())
        except monty.MontyError as problem:
            lost = _lost(problem)
            whole = not lost
            return Ran(printed.text(), _error_text(problem), lost=lost)
        except _TooMuch as reason:
            return Ran(printed.text(), f"RuntimeError: {reason}", lost="it was ended")
        finally:
            await feed.close()
            if not whole:  # stopped in the middle: what it has made cannot be relied on
                await self.aclose()

    async def aclose(self) -> None:
        """End its process."""
        stack, self._stack = self._stack, AsyncExitStack()
        self._session = None
        with suppress(monty.MontyError, RuntimeError):
            await stack.aclose()

    def _mount(self) -> monty.MountDir:
        return monty.MountDir(
            host_path=self._folder,
            virtual_path=HOME,
            mode="read-write",
            write_bytes_limit=self._limits.files,
        )

    async def _start(self) -> monty.AsyncMontySession:
        limits = self._limits
        pool = monty.AsyncMonty(
            min_processes=1,
            max_processes=1,
            checkout_timeout=30,
            request_timeout=limits.seconds + 5,
        )
        await self._stack.enter_async_context(pool)
        self._session = await self._stack.enter_async_context(
            pool.checkout(
                limits={
                    "max_feed_duration_secs": limits.seconds,
                    "max_memory": limits.memory,
                    "max_recursion_depth": limits.recursion,
                    "max_suspensions": 1_000_000,  # counted here, for each call
                }
            )
        )
        self._awaited.clear()
        self._fed = 0
        return self._session


def _called_late(*_: object, **__: object) -> None:
    """Stands for a tool where its name is read; its calls are answered by `_Feed`."""


class _Feed:
    """Answers what one piece of code asks of the host."""

    def __init__(self, tools: CodeTools, limits: CodeLimits, call: ToolContext) -> None:
        self._tools = tools
        self._limits = limits
        self._call = call
        outer = call.run
        self._run: RunContext = outer.make_inner(call, call.tool_name, call.deps)
        self._run.state, self._run.lock = outer.state, outer.lock
        # No run of its own in a journal: what is called here stands under the call that runs the code.
        self._run.recorder, self._run.loop_state.inner_runs = (
            outer.recorder,
            outer.loop_state.inner_runs,
        )
        self._calls = 0
        self._asked = 0
        self._slept = 0.0
        self._pending: dict[int, asyncio.Task[dict[str, Any]]] = {}

    async def answer(self, snapshot: Any, awaited: dict[str, frozenset[int]]) -> Any:
        """Answer one question; the next one, or the end."""
        self._asked += 1
        if self._asked > 100 * self._limits.calls:
            raise _TooMuch("the code asks the host too often")
        if isinstance(snapshot, monty.AsyncFutureSnapshot):
            return await self._next_done(snapshot)
        if not isinstance(snapshot, monty.AsyncFunctionSnapshot):
            return await snapshot.resume_auto()
        if snapshot.is_os_function:
            if snapshot.function_name == "system.sleep":
                return await self._sleep(snapshot)
            return await snapshot.resume_auto()
        if snapshot.function_name not in self._tools:
            return await snapshot.resume_auto()
        work = self._tool(snapshot)
        place = snapshot.position
        if place.start in awaited.get(place.filename, ()):
            self._pending[snapshot.call_id] = asyncio.ensure_future(work)
            return await snapshot.resume({"future": ...})
        return await snapshot.resume(await work)  # type: ignore[arg-type]

    async def close(self) -> None:
        """Stop what nobody waits for any more."""
        for task in self._pending.values():
            task.cancel()
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
        self._call.run.usage = self._call.run.usage + self._run.usage

    async def _tool(self, snapshot: monty.AsyncFunctionSnapshot) -> dict[str, Any]:
        self._calls += 1
        if self._calls > self._limits.calls:
            text = f"code may call tools {self._limits.calls} times, and has"
            return {"exc_type": "RuntimeError", "message": text}
        id = f"{self._call.tool_call_id}.{self._calls}"
        given = (snapshot.args, snapshot.kwargs)
        return await self._tools.call(snapshot.function_name, given, id, self._run)

    async def _next_done(self, snapshot: monty.AsyncFutureSnapshot) -> Any:
        waiting = {id: self._pending[id] for id in snapshot.pending_call_ids}
        await asyncio.wait(waiting.values(), return_when=asyncio.FIRST_COMPLETED)
        done = {id: task for id, task in waiting.items() if task.done()}
        for id in done:
            del self._pending[id]
        return await snapshot.resume({id: task.result() for id, task in done.items()})  # type: ignore[misc]

    async def _sleep(self, snapshot: monty.AsyncFunctionSnapshot) -> Any:
        given = snapshot.args[0] if snapshot.args else 0
        seconds = max(float(given), 0.0) if isinstance(given, int | float) else 0.0
        self._slept += seconds
        if self._slept > self._limits.seconds:
            raise _TooMuch(f"the code sleeps for more than {self._limits.seconds:g} seconds")
        await asyncio.sleep(seconds)
        return await snapshot.resume({"return_value": None})


def _lost(problem: monty.MontyError) -> str:
    """Why the interpreter must be given up after an error; empty if it need not."""
    if isinstance(problem, monty.MontyCrashedError):
        return "the interpreter had to be ended"
    inner = problem.exception()
    if isinstance(inner, TimeoutError):
        return "the code ran for too long"
    return "the code used too much memory" if isinstance(inner, MemoryError) else ""


def _error_text(problem: monty.MontyError) -> str:
    if isinstance(problem, monty.MontyRuntimeError | monty.MontySyntaxError):
        return problem.display()
    return str(problem)
