"""An agent as a tool of another: its run is one call of the outer run.

Guards, approvals, limits and deadlines apply to it as to any tool. Its own calls ask the outer run's
approver; without one, both runs wait, and the inner run continues where it stopped when its call runs
again. Its usage counts for the outer run (`toolkeel.spending`), and its events appear there as `Nested`.

A bound, a cancel or a mistake of the program (`SetupError`) stops the inner run without failing its call:
the call has no result, and the inner run continues when the outer run is resumed. At the timeout of the call it has failed, and
also where nothing can resume the call: in the body of another call, and in a run without an agent.

A tool's body may also start runs itself. If it may run again (its tool is read-only or idempotent), it
does so from its start, after a crash and after a bound of the run around it has stopped it within such
a run. Each run that it starts then continues where it was: one that had ended gives its result without
a request, and none of its calls is repeated. A run is recognized by its agent and the messages it
starts with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from pydantic_core import to_json

from toolkeel._records.record import record
from toolkeel._records.recorder import RESUMABLE
from toolkeel.agent.handoff import to_tool_name
from toolkeel.agent.prompt import prompt_to_messages
from toolkeel.agent.result import RunResult
from toolkeel.agent.resume import Resumed
from toolkeel.agent.run import Run
from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.call.enclosing_run import check_depth
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.compile import ParametersSchema
from toolkeel.define.tool import AnyTool, Tool, ToolOptions
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import Cancelled, ModelError, SetupError, Suspend, TimedOut, ToolError
from toolkeel.messages import AssistantMessage, ToolMessage, ToolOutput

TIMEOUT = 600.0
"""Seconds an agent may take as a tool if nothing is said: it asks a model several times."""

StartInnerRun = Callable[[object, ToolContext, object], Run[Any]]
"""Begins the inner run: of a prompt, in the context of the outer call, with its deps."""

T = TypeVar("T")


@record
class AgentToolConfig(Generic[T]):
    """How an agent is called as a tool.

    Args:
        agent: The agent's name.
        start: Creates its run from prompt, call and deps.
        prompt: Converts the call's arguments to a prompt.
        deps: Converts the outer run's deps; None shares them.
        output: Converts the run's result to the tool's; None returns its output.
        max_depth: How many agents may call each other in a row.
    """

    agent: str
    start: StartInnerRun
    prompt: Callable[[dict[str, Any]], object]
    deps: Callable[[Any], object] | None
    output: Callable[[RunResult[T]], object] | None
    max_depth: int


def make_agent_tool(
    nesting: AgentToolConfig[Any],
    names: tuple[str | None, str],
    parameters: ParametersSchema | None,
    options: ToolOptions,
) -> AnyTool:
    """Make a tool whose body runs an agent and returns its answer.

    Args:
        nesting: The agent, and how calls become runs.
        names: The tool's name (None derives it from the agent's) and its description.
        parameters: The tool's parameters; None for one text, ``input``.
        options: Options of the tool; timeout, metadata and effects are set in it.

    Raises:
        DefinitionError: the tool's name or parameters are invalid.
    """
    if parameters is None:

        async def ask(input: str, context: ToolContext) -> object:
            """
            Args:
                input: What to do, with all that must be known for it.
            """  # noqa: D205, D212  (the description is the agent's, not this function's)
            return await _run(nesting, {"input": input}, context)

        body: Callable[..., Coroutine[Any, Any, object]] = ask
    else:

        async def ask_with(context: ToolContext, /, **arguments: Any) -> object:
            """Run the agent as the body of a call with the tool's own parameters."""
            return await _run(nesting, arguments, context)

        body = ask_with
    name = names[0] or to_tool_name(nesting.agent)
    options.setdefault("timeout", TIMEOUT)
    options["metadata"] = {**options.get("metadata", {}), RESUMABLE: True}
    options.setdefault("effects", Effects(safe_after=LABELS))  # its own calls are judged
    return Tool.from_function(None, body, name, names[1], parameters, **options)


def arguments_to_prompt(arguments: Mapping[str, object]) -> str:
    """Convert a call's arguments to a prompt: the text itself if it is the only one, else JSON."""
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return to_json(dict(arguments)).decode()


async def _run(
    nesting: AgentToolConfig[Any], arguments: dict[str, Any], call: ToolContext
) -> object:
    """Run the agent as the body of a call, or continue its saved run; return its answer as a `ToolOutput`.

    Raises:
        Suspend: the inner run waits for a person, or it can continue when the outer run is resumed: that
            was stopped, or fails by the same mistake of the program.
        LimitReached: too many agents call each other.
        ToolError: the agent gave no answer.
        Cancelled: the agent was cancelled.
        TimedOut: the call's time is over, and the agent's tools may still run.
    """
    outer = call.run
    check_depth(nesting.agent, outer.scope.depth, nesting.max_depth)
    inner = await _begin(nesting, arguments, call)
    try:
        result = await inner.run()
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit) as error:
        if outer.can_wait and not _has_own_timeout(call):
            raise Suspend(*inner.pending, inner=inner.state) from error
        if isinstance(error, asyncio.CancelledError) and _may_still_be_running(inner.context):
            raise _stopped_error(nesting.agent, call) from None
        raise
    except Exception as error:
        if outer.can_wait and _must_continue(inner, error):
            raise Suspend(*inner.pending, inner=inner.state) from error
        if not isinstance(error, ModelError):
            raise
        raise ToolError(
            f"The agent {nesting.agent!r} gave no answer: its model failed.", {"error": str(error)}
        ) from error
    is_stopped = result.reason == "cancelled" or (
        result.reason == "limit" and outer.scope.is_at_limit
    )
    if is_stopped and outer.can_wait:
        raise Suspend(inner=result.state)
    value = await _tool_result_of(nesting, result, outer)
    if isinstance(value, ToolOutput | ToolMessage):
        return value
    return ToolOutput(value, value, {"agent": nesting.agent, "run_id": result.run_id})


async def _begin(
    nesting: AgentToolConfig[Any], arguments: dict[str, Any], call: ToolContext
) -> Run[Any]:
    """Create the run of a call, or that which continues the saved run of that call.

    The saved run is removed from the loop's state.

    Raises:
        Suspend: the outer run was stopped before the saved run could continue.
        TimedOut: a function that converts the prompt or the deps takes too long.
    """
    outer, saved = call.run, call.run.loop_state.inner_runs
    key = call.idempotency_key if call.idempotency_key in saved else call.call.id
    waiting, prompt, own = saved.get(key), nesting.prompt, outer.deps
    begin = f"The agent {nesting.agent!r} was not {'asked' if waiting is None else 'continued'}:"
    try:
        if nesting.deps is not None:
            own = await _convert(nesting.deps, own, outer, (begin, "its function for deps"))
        if waiting is not None:
            start: object = waiting
        elif prompt is arguments_to_prompt:
            start = prompt(arguments)
        else:
            start = await _convert(prompt, arguments, outer, (begin, "its prompt function"))
    except asyncio.CancelledError as error:
        if isinstance(waiting, Resumed) and outer.can_wait and not _has_own_timeout(call):
            raise Suspend(inner=replace(waiting.state, pending=())) from error
        raise
    saved.pop(key, None)
    return nesting.start(start, call, own)


def continue_joined(call: ToolContext | None, agent: str, prompt: Any) -> Any:
    """Return the saved run that a repeated body would start again, or the prompt if there is none.

    The saved run is removed from the loop's state: it continues once.

    Args:
        call: The call whose body starts the run; None if no body does.
        agent: Name of the run's agent; a saved run of another agent does not match.
        prompt: The run's prompt; a saved run must begin with it.
    """
    saved = {} if call is None else call.run.loop_state.inner_runs
    if call is None or not saved or not isinstance(prompt, str | list | tuple):
        return prompt
    start, keys = tuple(prompt_to_messages(prompt)), (call.idempotency_key, call.call.id)
    for key, left in saved.items():
        if not (isinstance(left, Resumed) and left.inner.joined):
            continue
        state, is_here = left.state, key.rpartition("#")[0] in keys
        first = (*state.previous_agents, state.agent)[0]
        if is_here and first == agent and state.messages[: len(start)] == start:
            del saved[key]
            return left
    return prompt


def join_call(run: Run[T], call: ToolContext | None) -> Run[T]:
    """Register a run with the call whose body has started it, and return the run. None registers nothing."""
    if call is not None:
        run.enclosing_call = call
        call.run.loop_state.joined_runs.setdefault(call.call.id, []).append(run)
    return run


async def _tool_result_of(
    nesting: AgentToolConfig[Any], result: RunResult[Any], outer: RunContext
) -> object:
    """Return the answer of an ended inner run as the result of the call.

    Raises:
        Suspend: the inner run waits for a person, and so does this call.
        Cancelled: the inner run was cancelled.
        ToolError: there is no answer, for example because of a limit.
        TimedOut: the function that makes the result took longer than the run's `callback_timeout`.
    """
    name = nesting.agent
    if result.reason == "waiting":
        raise Suspend(*result.pending, inner=result.state)
    if result.reason == "cancelled":
        raise Cancelled(f"The agent {name!r} was cancelled.", {"may_still_be_running": False})
    if result.reason == "limit":
        raise ToolError(
            f"The agent {name!r} ended without an answer, at its limit ({result.limit})."
        )
    if result.reason in ("refused", "cut_off") and nesting.output is None:
        raise ToolError(
            f"The agent {name!r} gave no whole answer ({result.reason}): {result.output}"
        )
    if nesting.output is None:
        return result.output
    words = f"The agent {name!r} has answered, but", "its output function"
    return await _convert(nesting.output, result, outer, words)


async def _convert(
    function: Callable[[Any], object], value: object, outer: RunContext, words: tuple[str, str]
) -> Any:
    """Return what a function of `as_tool`, sync or async, returns for a value. Its own errors pass unchanged.

    Args:
        function: The function.
        value: Its argument.
        outer: The outer run.
        words: The first words of a timeout's text, and what the function is, such as "its output function".

    Raises:
        TimedOut: the function took longer than the outer run's `callback_timeout`.
    """
    limit, (begin, what) = outer.scope.callback_timeout, words
    try:
        return await run_callback(function, value, seconds=limit, name=what)
    except CallbackTimeout as error:
        text = f"{begin} {what} did not return within {error.seconds:g} seconds."
        raise TimedOut(text) from error


def _must_continue(inner: Run[Any], error: Exception) -> bool:
    """Return True if a failed inner run has calls that wait, or stopped at a mistake of the program after a reply."""
    begun = any(isinstance(message, AssistantMessage) for message in inner.messages)
    return bool(inner.pending) or (begun and isinstance(error, SetupError))


def _may_still_be_running(run: RunContext) -> bool:
    """Return True if a result of the run's last turn says that its call may still be running."""
    for message in reversed(run.transcript):
        if not isinstance(message, ToolMessage):
            break
        if message.details.get("may_still_be_running"):
            return True
    return False


def _stopped_error(name: str, call: ToolContext) -> Cancelled | TimedOut:
    """Make the error for an agent that was stopped while its tools may still run."""
    details = {"may_still_be_running": True}
    if call.cancel.cancelled:
        return Cancelled(f"The agent {name!r} was cancelled. Its tools may run on.", details)
    text = f"The agent {name!r} did not finish in time. Its tools may still be running."
    return TimedOut(text, details)


def _has_own_timeout(call: ToolContext) -> bool:
    """Return True if the call's own timeout has passed, rather than a deadline or cancel of its run."""
    run, left = call.run, call.time_left
    is_over = left is not None and left <= 0 and not run.cancel.cancelled
    return is_over and call.deadline != run.scope.deadline
