"""Running the body of a tool under its deadline: async, in a thread, or by an executor."""

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
from toolkeel.call.body.stop_errors import not_started_error, overdue_error, self_cancelled_error
from toolkeel.call.body.thread_pool import ThreadPool
from toolkeel.context import ToolContext
from toolkeel.define.inject import injected_values
from toolkeel.define.reading.signature import MISSING, VAR_POSITIONAL, Parameter
from toolkeel.define.returns import check_answer
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
    describe_error,
)
from toolkeel.messages import ToolMessage, ToolOutput

EXPECTED_ERRORS = (ToolError, TimedOut, Cancelled, LimitReached, SetupError)
"""What a body may raise, or its stopping; all else is a crash."""
CRASHES = (Exception, SystemExit)
"""What counts as a crash: ``sys.exit()`` in a body, as of ``argparse``, must not end the program."""


async def invoke(
    prepared: Prepared, context: ToolContext, pool: ThreadPool | None = None
) -> object:
    """Inject values, run the body, check its result against the output schema, and return it.

    Sets `body_state` of the context: that the body runs, perhaps again, and that it is done.

    Raises:
        ToolError: the body raised it.
        LimitReached: the body raised it, or there is no thread for it.
        Crashed: the body raised anything else; `__cause__` is that exception.
        TimedOut, Cancelled: it was stopped, or never started because the run was cancelled.
        InvalidOutput: its result does not match the output schema.
        SetupError: a value to inject is missing, or the body raised it: the model cannot correct that.
    """
    tool = prepared.tool
    if context.run.cancel.cancelled:
        raise not_started_error(tool.name, context.run.cancel.reason)
    context.body_state = "again" if context.body_state else "runs"
    if tool.executor is not None:
        return await _run_in_executor(prepared, context, tool.executor(prepared, context))
    values: Mapping[str, Any] = prepared.arguments
    if tool.injected:
        if tool.timeout is not None:
            context.set_deadline(tool.timeout)
        values = injected_values(tool.injected, values, context)
    args: tuple[Any, ...] = ()
    if tool.positional:
        args, values = split_arguments(tool.positional, values)
    try:
        if tool.body == "async":
            value = await run_coroutine(tool.function(*args, **values), context, tool.timeout)
        else:
            value = await _run_non_coroutine(
                tool, functools.partial(tool.function, *args, **values), context, pool
            )
    except EXPECTED_ERRORS:
        raise
    except CRASHES as error:
        raise Crashed(describe_error(error)) from error
    value = check_output(tool, value)
    context.body_state = "done"
    return value


def split_arguments(
    positional: tuple[Parameter, ...], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split validated values into positional and keyword arguments.

    If a positional parameter is absent but a later one is present, its default is passed.
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


async def _run_in_executor(
    prepared: Prepared, context: ToolContext, running: Coroutine[Any, Any, object]
) -> object:
    """Wait for a body that an executor runs, check its result, and mark the body as done.

    Raises:
        CallError: the executor or the body raised it, such as `ToolError`.
        Crashed: the executor or the body raised anything else; `__cause__` is that exception.
        TimedOut, Cancelled: it was stopped.
        InvalidOutput: its result does not match the output schema.
        SetupError: the body raised it.
    """
    tool = prepared.tool
    try:
        value = await run_coroutine(running, context, tool.timeout)
    except (CallError, SetupError):
        raise
    except CRASHES as error:
        raise Crashed(describe_error(error)) from error
    value = check_output(tool, value)
    context.body_state = "done"
    return value


async def _run_non_coroutine(
    tool: AnyTool, body: Callable[[], Any], context: ToolContext, pool: ThreadPool | None
) -> object:
    """Run a body that is not a plain coroutine function, and await what it returns.

    Of a generator it returns all items, joined by `_join_items`, and reports each as progress.

    Raises:
        Cancelled: an inline body cancelled itself, or the run was cancelled.
        TimedOut: an inline body took longer than its timeout, or another one was stopped at it.
        LimitReached: there is no thread for the body.
        BaseException: any other exception of the body, unchanged.
    """
    if tool.body == "async_generator":
        return await run_coroutine(_collect(body(), context), context, tool.timeout)
    if tool.body == "generator":
        body = functools.partial(_collect_sync, body, context)
    if tool.inline:
        began = perf_counter()
        try:
            value = body()
        except asyncio.CancelledError:
            raise self_cancelled_error(tool.name) from None
        if tool.timeout is not None and perf_counter() - began > tool.timeout:
            raise overdue_error(tool.name, tool.timeout)
    else:
        value = await run_in_thread(tool, body, context, pool)
    if inspect.isawaitable(value):
        value = await run_coroutine(_await(value), context, tool.timeout)
    return value


async def _await(value: Awaitable[object]) -> object:
    """Await a value that is no coroutine, and return its result."""
    return await value


async def _collect(items: AsyncGenerator[object, None], context: ToolContext) -> object:
    """Return the items of an async generator, joined by `_join_items`; report each as progress."""
    collected = []
    async with aclosing(items):
        async for item in items:
            collected.append(item)
            context.progress(str(item), done=len(collected))
    return _join_items(collected)


def _collect_sync(
    body: Callable[[], Generator[object, None, None]], context: ToolContext
) -> object:
    """Return the items of a generator, joined by `_join_items`; report each as progress.

    Stop at the next item after the call ended.
    """
    collected = []
    with closing(body()) as items:
        for item in items:
            if context.ended:
                break
            collected.append(item)
            context.progress(str(item), done=len(collected))
    return _join_items(collected)


def _join_items(items: list[object]) -> object:
    """Return the items as one text if all are text, else as a list."""
    return "".join(map(str, items)) if all(isinstance(i, str) for i in items) else items


def check_output(tool: AnyTool, value: object, *, from_outside: bool = False) -> object:
    """Return the result if it matches the tool's output schema; messages and `ToolOutput` as they are.

    Args:
        tool: The tool.
        value: Its result.
        from_outside: True for JSON from outside, which is validated into the declared type.

    Raises:
        InvalidOutput: It does not match.
    """
    is_message = (
        isinstance(value, ToolOutput | ToolMessage) or tool.returns == "content_and_artifact"
    )
    try:
        if from_outside and (tool.output is not None or not is_message):
            return check_answer(tool.output, tool.result_type, value)
        if tool.output is not None and not is_message:
            tool.output.check(value)
        return value
    except ValueError as error:
        raise InvalidOutput(
            f"{tool.name!r} returned a {type(value).__name__} that does not fit the result it "
            f"promises. This is a fault of {'who answered' if from_outside else 'the tool'}, not of the call.",
            {"error": str(error)},
        ) from error
