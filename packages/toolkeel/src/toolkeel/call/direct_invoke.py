"""`tool.invoke`: run one tool without a toolset, for scripts and tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from toolkeel.call.arguments.validate import prepare
from toolkeel.call.body.sync_bridge import run_sync as run_sync
from toolkeel.call.enclosing_run import join_run, note_strangers, refuse_waiting
from toolkeel.call.failure_message import call_handler, failure_message
from toolkeel.call.steps.call_limits import refuse_failing
from toolkeel.call.steps.label_sources import record_stated
from toolkeel.call.toolset import Toolset
from toolkeel.context import ENCLOSING, RunContext, ToolContext
from toolkeel.define.base_tool import require_bound
from toolkeel.define.subschemas import properties_of, required_of
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, InvalidArguments, RunStopped, ToolError
from toolkeel.messages import ToolCall, ToolMessage, ToolOutput


async def ainvoke(tool: AnyTool, value: object, run: RunContext | None) -> object:
    """Run one call of a tool, with its steps and the run around it.

    Args:
        tool: The tool.
        value: A `ToolCall`, or a dict like one, returns a message, failed or not. Arguments as a
            dict or text return the body's value, or the text of the tool's `on_error` or
            `on_invalid` if that handles the failure.
        run: The run; None for the one whose code calls this, or a new one.

    Raises:
        CallError: arguments were given, and the call failed.
        Exception: arguments were given, and a step ended the run with this error.
        DefinitionError: the tool is a method without its instance.
        SetupError: `run` is no run.
    """
    require_bound(tool)
    run = join_run(run)
    call = as_call(value)
    if call is not None:
        [message] = await Toolset([tool]).run([call], run)
        return message
    call = ToolCall("", tool.name, _arguments(tool, value))
    context = ToolContext(call, tool.name, run)
    enclosing = ENCLOSING.get()
    ENCLOSING.set(context)
    try:
        with refuse_waiting(run):
            return await _run_handler(tool, context)
    except RunStopped as stop:
        raise stop.error from None
    except (ToolError, InvalidArguments) as error:
        handler = tool.on_error if isinstance(error, ToolError) else tool.on_invalid
        if isinstance(handler, bool):
            raise
        handled = await call_handler(tool, error, run)
        return failure_message(call, tool, error, 0.0, None, handled).text
    finally:
        ENCLOSING.set(enclosing)
        note_strangers(context.strangers, enclosing)
        context.end()


async def _run_handler(tool: AnyTool, context: ToolContext) -> object:
    """Run a call with its steps and the rules, limits and taint of its run. Return the body's value.

    The run counts the call, masks its secrets, and records the taint sources that its result or error states.
    Raises `CallError`, or what a step ends the run with.
    """
    run, call = context.run, context.call
    tools = Toolset([tool]).within(run.scope.toolset)
    tools.mask_secrets(run, [call])
    refuse_failing(run, call, tool.name)
    prepared = prepare(call, tool)
    if run.scope.spending is not None and run.scope.spending.counts_calls:
        run.scope.spending.count_call(tool.name)
    entry = tools.find(tool.name)
    handler = entry.handler
    if run.taint is not None:  # code knows all that the run has read
        run.loop_state.visible_taint = len(run.taint.sources)
        handler = tools.tainted_handler(entry)
    try:
        value = await handler(prepared, context)
    except CallError as error:
        record_stated(error.details, context)
        raise
    if isinstance(value, ToolOutput | ToolMessage):
        record_stated(value.details, context)
    return value


async def abatch(tool: AnyTool, values: Iterable[object], run: RunContext | None) -> list[object]:
    """Run `ainvoke` for each value concurrently, in one run, and return the results in order.

    Raises:
        BaseException: the first failure by position, once all calls have ended.
    """
    run = join_run(run)
    work = [ainvoke(tool, value, run) for value in values]
    answers = await asyncio.gather(*work, return_exceptions=True)  # nothing is left running
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


def as_call(value: object) -> ToolCall | None:
    """Return a `ToolCall`, also from a dict with ``name``, ``args`` and ``id``, or None."""
    if isinstance(value, ToolCall):
        return value
    if isinstance(value, Mapping) and {"name", "args", "id"} <= set(value):
        return ToolCall(str(value["id"] or ""), str(value["name"]), value["args"])
    return None


def _arguments(tool: AnyTool, value: object) -> str | Mapping[str, object]:
    """Return a call's arguments: a dict, a text that is blank or begins with ``{``, or the only parameter's value.

    Raises `CallError` for another value if there are several parameters.
    """
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and (not value.strip() or value.lstrip().startswith("{")):
        return value
    names, needed = list(properties_of(tool.parameters)), required_of(tool.parameters)
    if len(needed) == 1 or len(names) == 1:
        return {(needed or names)[0]: value}
    raise CallError(
        f"{tool.name!r} takes {len(names)} arguments ({', '.join(names)}): give them as a dict"
    )
