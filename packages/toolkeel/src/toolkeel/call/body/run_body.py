"""Running the body of a tool: async, in a thread, or by an executor, under its deadline."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import aclosing, closing
from time import perf_counter
from typing import Any

from toolkeel.call.body.coroutine_deadline import run_coroutine
from toolkeel.call.body.run_in_thread import run_in_thread
from toolkeel.call.body.stopped_text import cancelled_itself, not_started, overdue
from toolkeel.call.body.thread_pool import ThreadPool
from toolkeel.context import ToolContext
from toolkeel.define.inject import inject
from toolkeel.define.reading.signature import MISSING, VAR_POSITIONAL, Parameter
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import (
    CallError,
    Cancelled,
    Crashed,
    InvalidOutput,
    LimitReached,
    SetupError,
    TimedOut,
    ToolError,
    describe,
)
from toolkeel.messages import ToolMessage, ToolOutput

_TOLD = (ToolError, TimedOut, Cancelled, LimitReached, SetupError)
"""What a body may raise, or its stopping; all else is a crash."""


async def invoke(
    prepared: Prepared, context: ToolContext, pool: ThreadPool | None = None
) -> object:
    """Inject, run, and check the result against the tool's promise.

    Raises:
        ToolError: the author's own.
        Crashed: the body raised anything else; `__cause__` is that exception.
        TimedOut, Cancelled: it was stopped, or never started because the run was cancelled.
        InvalidOutput: its result breaks the output schema.
        SetupError: the program gave no value for a parameter, or the body made a mistake of the
            kind no model can mend.
    """
    tool = prepared.tool
    if context.run.cancel.cancelled:
        raise not_started(tool.name, context.run.cancel.reason)
    context.body = "again" if context.body else "runs"
    if tool.executor is not None:
        return await _elsewhere(prepared, context, tool.executor(prepared, context))
    values: Mapping[str, Any] = prepared.arguments
    if tool.injected:
        if tool.timeout is not None:
            context.set_deadline(tool.timeout)
        values = inject(tool.injected, values, context)
    args: tuple[Any, ...] = ()
    if tool.positional:
        args, values = arrange(tool.positional, values)
    try:
        if tool.body == "async":
            value = await run_coroutine(tool.function(*args, **values), context, tool.timeout)
        else:
            value = await _run_other(
                tool, functools.partial(tool.function, *args, **values), context, pool
            )
    except _TOLD:
        raise
    except Exception as error:
        raise Crashed(describe(error)) from error
    value = promised(tool, value)
    context.body = "done"
    return value


def arrange(
    positional: tuple[Parameter, ...], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split validated values into positional and keyword arguments.

    Where a positional parameter is absent but a later one is there, its default steps in.
    """
    rest = dict(values)
    args: list[Any] = []
    last = max((i for i, p in enumerate(positional) if p.name in rest), default=-1)
    for parameter in positional[: last + 1]:
        if parameter.kind is VAR_POSITIONAL:
            args.extend(rest.pop(parameter.name))
        elif parameter.name in rest:
            args.append(rest.pop(parameter.name))
        elif parameter.default is not MISSING:
            args.append(parameter.default)
    return tuple(args), rest


async def _elsewhere(
    prepared: Prepared, context: ToolContext, running: Coroutine[Any, Any, object]
) -> object:
    """Wait for a body that an executor runs; it tells of failures as the body's own."""
    tool = prepared.tool
    try:
        value = await run_coroutine(running, context, tool.timeout)
    except (CallError, SetupError):
        raise
    except Exception as error:
        raise Crashed(describe(error)) from error
    value = promised(tool, value)
    context.body = "done"
    return value


async def _run_other(
    tool: AnyTool, body: Callable[[], Any], context: ToolContext, pool: ThreadPool | None
) -> object:
    """Run a body that is not a plain coroutine function."""
    if tool.body == "async_generator":
        return await run_coroutine(_collect(body(), context), context, tool.timeout)
    if tool.body == "generator":
        body = functools.partial(_collect_sync, body, context)
    if tool.inline:
        began = perf_counter()
        try:
            value = body()
        except asyncio.CancelledError:
            raise cancelled_itself(tool.name) from None
        if tool.timeout is not None and perf_counter() - began > tool.timeout:
            raise overdue(tool.name, tool.timeout)
    else:
        value = await run_in_thread(tool, body, context, pool)
    if inspect.isawaitable(value):
        value = await run_coroutine(_await(value), context, tool.timeout)
    return value


async def _await(value: Awaitable[object]) -> object:
    return await value


async def _collect(items: AsyncGenerator[object, None], context: ToolContext) -> object:
    """Gather what an async generator yields; each item is progress."""
    collected = []
    async with aclosing(items):
        async for item in items:
            collected.append(item)
            context.progress(str(item), done=len(collected))
    return _joined(collected)


def _collect_sync(
    body: Callable[[], Generator[object, None, None]], context: ToolContext
) -> object:
    """The same in a thread; a call that was given up ends at the generator's next item."""
    collected = []
    with closing(body()) as items:
        for item in items:
            if context.ended:
                break
            collected.append(item)
            context.progress(str(item), done=len(collected))
    return _joined(collected)


def _joined(items: list[object]) -> object:
    return "".join(map(str, items)) if all(isinstance(i, str) for i in items) else items


def promised(tool: AnyTool, value: object, *, given: bool = False) -> object:
    """A result that keeps the tool's promise.

    Args:
        tool: Whose result it is.
        value: It.
        given: Whether it came from outside as JSON, and becomes what the tool promises.

    Raises:
        InvalidOutput: it does not keep it.
    """
    whole = isinstance(value, ToolOutput | ToolMessage) or tool.returns == "content_and_artifact"
    if tool.output is None or (whole and not given):
        return value
    try:
        made = tool.output.check(value)
        return made if given else value
    except ValueError as error:
        raise InvalidOutput(
            f"{tool.name!r} returned a {type(value).__name__} that does not fit the result it "
            f"promises. This is a fault of {'who answered' if given else 'the tool'}, not of the call.",
            {"error": str(error)},
        ) from error
