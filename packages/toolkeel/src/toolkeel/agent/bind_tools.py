"""`model.bind_tools(...)`: a model with tools, for a single request without a loop.

A request that code of a run sends, as in a tool's body or a guardrail, counts toward that run, by
`Bound` and by the `stream` of the models here (`count_in_run`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial, wraps
from typing import TypeAlias, TypeVar, cast

from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.agent.turn.request_budget import REPORTS_USAGE, SENDING, RequestBudget, sending
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.enclosing_run import find_enclosing, make_run_context
from toolkeel.call.toolset import Toolish, Toolset, as_toolset
from toolkeel.context import RunContext
from toolkeel.errors import LimitReached, ModelError, SetupError, describe_error
from toolkeel.messages import AssistantMessage, Message, Usage, UserMessage
from toolkeel.model_interface import Delta, Model, ModelRequest, Settings, ToolChoice

S = TypeVar("S", bound=Callable[..., AsyncIterator[Delta | AssistantMessage]])
Stream: TypeAlias = Callable[[ModelRequest], AsyncIterator[Delta | AssistantMessage]]


class Bound:
    """A model with its tools and settings, as `bind_tools` returns it.

    Args:
        model: The model that answers.
        tools: The tools that it may call.
        settings: Sampling settings of each request.
    """

    def __init__(self, model: Model, tools: Toolset, settings: Settings) -> None:
        self.model = model
        self.tools = tools
        self.settings = settings
        self._offered = tuple(tools)

    def stream(self, messages: str | Sequence[Message]) -> AsyncIterator[Delta | AssistantMessage]:
        """Send one request and yield its reply as it arrives. Calls are not run.

        Sent by code of a run, as in a tool's body or a guardrail, the request counts toward that run.

        Raises:
            LimitReached: a limit of that run does not permit the request.
            ModelError: there is no reply.
        """
        given = [UserMessage(messages)] if isinstance(messages, str) else messages
        request = ModelRequest(given, self._offered, self.settings)
        return _stream_counted(self.model, self.model.stream, request)

    async def ainvoke(self, messages: str | Sequence[Message]) -> AssistantMessage:
        """Send one request and return the complete reply. Its calls are not run.

        Args:
            messages: The transcript, or what the person says.

        Raises:
            LimitReached: as for `stream`.
            ModelError: there is no reply.
        """
        assembly = ReplyBuilder()
        async for delta in self.stream(messages):
            assembly.add(delta)
        return assembly.build()

    def invoke(self, messages: str | Sequence[Message]) -> AssistantMessage:
        """Do as `ainvoke` from sync code."""
        return run_sync(lambda: self.ainvoke(messages))


def count_in_run(stream: S) -> S:
    """Decorate a model's `stream` so that requests sent by a run's code count toward that run.

    Requests of the run's own loop, and those that a model sends to answer one of them, are counted there
    and not a second time here.
    """

    @wraps(stream)
    def counted(model: Model, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield a reply's deltas; count it unless the enclosing loop or model already does."""
        if REPORTS_USAGE.get():
            return stream(model, request)
        return _stream_counted(model, partial(stream, model), request)

    return cast("S", counted)


def _stream_counted(
    model: Model, stream: Stream, request: ModelRequest
) -> AsyncIterator[Delta | AssistantMessage]:
    """Yield a reply's deltas, counted toward the enclosing run unless that counts it already.

    Raises `LimitReached` if a limit of that run does not permit the request.
    """
    enclosing = find_enclosing()
    if enclosing is None or SENDING.get() is enclosing[0]:
        return stream(request)
    return _stream_joined(model, stream, request)


async def _send(
    run: RunContext, stream: Stream, request: ModelRequest
) -> AsyncGenerator[Delta | AssistantMessage, None]:
    """Yield a reply with `SENDING` set to the run, so that nested models do not count it again."""
    with sending(run):
        deltas = aiter(stream(request))
    try:
        while True:
            with sending(run):
                delta = await anext(deltas, None)
            if delta is None:
                return
            yield delta
    finally:
        if (aclose := getattr(deltas, "aclose", None)) is not None:
            await aclose()


async def _stream_joined(
    model: Model, stream: Stream, request: ModelRequest
) -> AsyncGenerator[Delta | AssistantMessage, None]:
    """Yield a reply, recorded and counted as an inner run of one request of the enclosing run.

    Raises:
        LimitReached: A limit of that run does not permit the request; nothing is sent.
    """
    run = make_run_context(None, model.name, (), {})
    outer, budget, assembly = run.scope.outer_run, RequestBudget(run, model.name), ReplyBuilder()
    messages, recorder = [*request.messages], run.recorder
    if not budget.reserve(request, model.name):
        raise LimitReached(
            f"{model.name} was not asked: the run is at its limit ({budget.reached_limit})."
        )
    if recorder is not None:
        recorder.start(recorder.make_start("", model.name, ""), messages, 0)
        await recorder.record_request(1, model.name, request)
    reply: AssistantMessage | None = None
    used, reason, problem = Usage(), "cancelled", ""
    try:
        async with aclosing(_send(outer, stream, request)) as deltas:
            async for delta in deltas:
                assembly.add(delta)
                yield delta
        reply, reason = assembly.build(), "answered"
        messages.append(reply)
        used = reply.usage.with_request()
    except Exception as error:
        reason, problem = "failed", run.mask_value(describe_error(error))
        used = error.usage if isinstance(error, ModelError) else used
        if recorder is not None:
            recorder.record_failed_request(1, problem, model.name, used)
        raise
    finally:
        budget.settle(reply, model.name)
        with outer.lock:
            outer.usage = outer.usage + used
        if recorder is not None:
            recorder.record_end(reason, problem, {})


def bind_tools(
    model: Model,
    tools: Toolset | Iterable[Toolish],
    *,
    tool_choice: ToolChoice | None = None,
    strict: bool | None = None,
    parallel_tool_calls: bool | None = None,
) -> Bound:
    """Combine a model with tools and settings for single requests. Nothing is sent yet.

    Args:
        model: Any model.
        tools: The tools that it may call.
        tool_choice: ``auto``, ``none``, ``required`` (or ``any``), or the name of the tool to call.
        strict: True if the provider shall hold arguments to the schema.
        parallel_tool_calls: True if it may call several at once.

    Raises:
        SetupError: if `tool_choice` names no tool of the set.
    """
    toolset = as_toolset(tools)
    choice = "required" if tool_choice == "any" else tool_choice
    if choice not in (None, "auto", "none", "required") and choice not in toolset:
        raise SetupError(f"tool_choice {choice!r} is none of {', '.join(toolset.names)}")
    settings = Settings(choice, parallel_tool_calls, strict)
    return Bound(model, toolset, settings)


class Binds:
    """A base of model classes that adds the method `bind_tools`."""

    bind_tools = bind_tools
