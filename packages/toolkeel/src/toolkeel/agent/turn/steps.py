"""Steps around a model request (middleware): the form of steps around a call, one stage further out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from toolkeel.call.body.callback import CallbackTimeout
from toolkeel.call.body.step_deadline import run_step, step_name, step_timeout
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest

SendRequest: TypeAlias = Callable[[ModelRequest], Awaitable[AssistantMessage]]
"""Sends a request, or passes it on to the next step; gives the whole reply."""


class ModelStep(Protocol):
    """A function around each model request of an agent: ``Agent(..., model_steps=[...])``.

    It may change the request and pass it on (``await proceed(request)``), return a reply itself,
    repeat the request or ask another model, or raise a `ModelError`. Its changes are sent and do not
    enter the transcript. Each request that is sent counts for the run's limits.

    ::

        async def logged(
            request: ModelRequest, run: RunContext, proceed: SendRequest
        ) -> AssistantMessage:
            print("asking with", len(request.messages), "messages")
            return await proceed(request)
    """

    def __call__(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> Awaitable[AssistantMessage]: ...


def compose_steps(steps: Sequence[ModelStep], run: RunContext, send: SendRequest) -> SendRequest:
    """Return a function that sends a request through the steps, outermost first, and then by `send`."""
    for step in reversed(steps):
        send = partial(_run_step, step, run, send)
    return send


async def _run_step(
    step: ModelStep, run: RunContext, proceed: SendRequest, request: ModelRequest
) -> AssistantMessage:
    """Run one step around a request, and return its reply.

    Raises:
        CallbackTimeout: the step took longer than its deadline, without the time inside `proceed`.
        SetupError: the step returned something else than a reply.
    """
    name, seconds = step_name(step), step_timeout(step, run)
    if seconds is None:
        reply = await step(request, run, proceed)
    else:
        begin = partial(step, request, run)
        late = partial(_late_error, name)
        reply = await run_step(begin, proceed, seconds, late)
    if not isinstance(reply, AssistantMessage):
        raise SetupError(f"the model step {name} gave {reply!r:.80}; return what proceed gives")
    return reply


def _late_error(name: str, seconds: float, work: object) -> CallbackTimeout:
    """Build the error of a model step that took more than `seconds`; a model request has no work to report."""
    return CallbackTimeout(f"the model step {name!r}", seconds)
