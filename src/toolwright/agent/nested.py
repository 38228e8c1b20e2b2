"""An agent as a tool of another: its run is one call of the outer run, with all that means.

Guards, approvals, limits and deadlines stand around it as around any tool. Its own calls ask the
outer run's approver; where there is none, both runs wait, and the inner one goes on from where it
stood when its call runs again. What it spends is spent by the outer run, its events are told there
as `Nested`, and a cancel or a deadline of the outer call ends it.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from pydantic_core import to_json

from toolwright.agent.result import RunResult
from toolwright.agent.resume import Resumed
from toolwright.context import Run, ToolContext
from toolwright.define.compile import ArgsSchema
from toolwright.define.tool import AnyTool, Tool, ToolOptions
from toolwright.errors import Cancelled, LimitReached, ModelError, Suspend, TimedOut, ToolError
from toolwright.events import Event, Nested
from toolwright.messages import ToolMessage, ToolOutput
from toolwright.record import record

MAX_DEPTH = 5
TIMEOUT = 600.0
"""Seconds an agent may take as a tool if nothing is said: it asks a model several times."""

Begun = tuple[Run[Any], Callable[[], Coroutine[Any, Any, RunResult[Any]]]]
Begin = Callable[[object, ToolContext[Any], object], Begun]
"""Begins the inner run: of a prompt, in the context of the outer call, with a context object."""

T = TypeVar("T")


@record
class Nesting(Generic[T]):
    """How an agent is called as a tool.

    Args:
        agent: Its name.
        begin: Begins a run of it.
        prompt: Makes the prompt of the arguments.
        context: Makes its context object of the outer run's.
        output: Makes the tool's result of the run's.
        max_depth: How many agents may call each other in a row.
    """

    agent: str
    begin: Begin
    prompt: Callable[[dict[str, Any]], object]
    context: Callable[[Any], object] | None
    output: Callable[[RunResult[T]], object] | None
    max_depth: int


def agent_tool(
    nesting: Nesting[Any],
    names: tuple[str | None, str],
    parameters: ArgsSchema | None,
    options: ToolOptions,
) -> AnyTool:
    """The tool by which an agent is called.

    Args:
        nesting: How.
        names: The tool's name, made of the agent's if None, and its description.
        parameters: What the caller fills; None: one text, ``input``.
        options: Of the tool.
    """
    if parameters is None:

        async def ask(input: str, context: ToolContext[Any]) -> object:
            """
            Args:
                input: What to do, with all that must be known for it.
            """
            return await _run(nesting, {"input": input}, context)

        body: Callable[..., Coroutine[Any, Any, object]] = ask
    else:

        async def ask_with(context: ToolContext[Any], /, **arguments: Any) -> object:
            return await _run(nesting, arguments, context)

        body = ask_with
    name = names[0] or tool_name(nesting.agent)
    options.setdefault("timeout", TIMEOUT)
    return Tool.from_function(None, body, name, names[1], parameters, **options)


def tool_name(agent: str) -> str:
    """A tool's name of an agent's.

    >>> tool_name("Billing agent (EU)")
    'billing_agent_eu'
    """
    return re.sub(r"\W+", "_", agent.lower()).strip("_") or "agent"


def as_prompt(arguments: Mapping[str, object]) -> str:
    """What an agent is asked: the one text there is, or all arguments as JSON."""
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return to_json(dict(arguments)).decode()


async def _run(nesting: Nesting[Any], arguments: dict[str, Any], call: ToolContext[Any]) -> object:
    """Run the agent within a call of another."""
    outer = call.run
    if outer.depth >= nesting.max_depth:
        raise LimitReached(
            f"The agent {nesting.agent!r} was not asked: {nesting.max_depth} agents call each "
            "other already. Answer with what is known."
        )
    own = outer.context if nesting.context is None else nesting.context(outer.context)
    waiting = outer.waiting.pop(call.call.id, None)
    prompt = waiting if isinstance(waiting, Resumed) else nesting.prompt(arguments)
    inner, work = nesting.begin(prompt, call, own)
    try:
        result = await work()
    except asyncio.CancelledError:
        if _goes_on(inner):
            raise _left(nesting.agent, call) from None
        raise
    except ModelError as error:
        raise ToolError(
            f"The agent {nesting.agent!r} gave no answer: its model failed.", {"error": str(error)}
        ) from error
    finally:
        outer.usage = outer.usage + inner.usage
    value = _answer(nesting, result)
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, ToolOutput | ToolMessage):
        return value
    return ToolOutput(value, value, {"agent": nesting.agent, "run_id": result.run_id})


def _answer(nesting: Nesting[Any], result: RunResult[Any]) -> object:
    """What the call gives.

    Raises:
        Suspend: the inner run waits for a person, and so does this call.
        ToolError: there is no answer.
    """
    name = nesting.agent
    if result.reason == "suspended":
        raise Suspend(*result.pending, inner=result.state)
    if result.reason == "cancelled":
        raise Cancelled(f"The agent {name!r} was cancelled.", {"may_still_be_running": False})
    if result.reason == "max_turns":
        raise ToolError(f"The agent {name!r} ended without an answer: it took too many turns.")
    return result.output if nesting.output is None else nesting.output(result)


def _goes_on(run: Run[Any]) -> bool:
    """Whether a call of a run that was stopped may still be running."""
    messages = run.state.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, ToolMessage):
            break
        if message.details.get("may_still_be_running"):
            return True
    return False


def _left(name: str, call: ToolContext[Any]) -> Cancelled | TimedOut:
    """What the outer model is told of an agent that was stopped, but whose tools may run on."""
    details = {"may_still_be_running": True}
    if call.cancel.cancelled:
        return Cancelled(f"The agent {name!r} was cancelled. Its tools may run on.", details)
    text = f"The agent {name!r} did not finish in time. Its tools may still be running."
    return TimedOut(text, details)


def run_within(call: ToolContext[Any], name: str) -> Run[Any]:
    """A run for calls that a running call makes itself: they share what it has.

    Nobody can wait for a person in the middle of a call: what needs approval is asked about if
    there is an approver, and denied if there is none.

    Args:
        call: The running call.
        name: What its events are told under.
    """
    outer = call.run
    inner: Run[Any] = Run(
        outer.context,
        state=outer.state,
        store=outer.store,
        inject=outer.inject,
        agent=outer.agent,
        listeners=(nest(call, name),) if outer.listeners else (),
        cancel=outer.cancel,
        approver=outer.approver,
    )
    inner.depth = outer.depth + 1
    inner.deadline = call.deadline
    return inner


def nest(call: ToolContext[Any], agent: str) -> Callable[[Event], None]:
    """A listener for an inner run that tells the outer one."""

    def tell(event: Event) -> None:
        if not call.ended:  # nothing about a call follows its end
            run = call.run
            run.emit(Nested(*run.next(), call.call.id, agent, event))

    return tell
