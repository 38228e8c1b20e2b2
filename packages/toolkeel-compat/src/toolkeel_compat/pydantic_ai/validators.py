"""Output validators, of text and of other types, under the names of Pydantic AI."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from toolkeel._records.record import NOTHING
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.context import RunContext as CoreRun
from toolkeel.define.output_type import is_output_tool
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.pydantic_ai.context import RunContext, current_run, without_validators
from toolkeel_compat.pydantic_ai.exceptions import ModelRetry, UnexpectedModelBehavior
from toolkeel_compat.pydantic_ai.failures import write_feedback
from toolkeel_compat.pydantic_ai.toolsets import takes_run_context

FIRST_TEXT: Final = "first_text"
"""Model of the message that repeats a text beside calls as the output; transcripts are without it."""
_VALIDATED_KEY: Final = "pydantic_ai_validated"
"""Key of a run's step state: what the output validators returned, by answer."""
_TEXT_KEY: Final = "pydantic_ai_text"
"""Key of a run's step state: the text that they returned, alone in a list."""


def add_validators(kind: Any, validators: Sequence[Callable[..., Any]]) -> Any:
    """Return an output type with output validators; text itself has `make_text_step`."""
    if not validators or kind is str:
        return kind

    def check(value: Any) -> Any:
        if without_validators.get():
            return value
        run = current_run.get()
        assert run is not None
        known: Any = run.scope.step_state.setdefault((_VALIDATED_KEY, run.id), {})
        place = len(run.transcript), repr(value)
        if place not in known:  # a wrong answer is validated again to list what is wrong
            context: RunContext[Any] = RunContext(run)
            context.retry = sum(bool(problem) for _, problem in known.values())
            known[place] = _call_blocking(_validate, validators, context, value)
        checked, problem = known[place]
        if problem:
            raise ValueError(problem)
        return checked

    return Annotated[kind, AfterValidator(check)]


def make_text_step(validators: Sequence[Callable[..., Any]], retries: int) -> ModelStep:
    """Return the model step that validates an answer that is text.

    What a validator asks to correct follows the answer as a message, and the run goes on.

    Args:
        validators: They take the text, or the `RunContext` and the text.
        retries: How often the model may correct its answer.
    """
    failed: dict[str, int] = {}

    async def step(
        request: ModelRequest, run: CoreRun[Any], proceed: SendRequest
    ) -> AssistantMessage:
        reply = await proceed(request)
        if reply.tool_calls or not validators:
            return reply
        context: RunContext[Any] = RunContext(run)
        context.retry = failed.get(run.id, 0)
        value, problem = await _validate(validators, context, reply.text)
        if not problem:
            run.scope.step_state[_TEXT_KEY, run.id] = [value]
        elif context.retry >= retries:
            raise UnexpectedModelBehavior(f"Exceeded maximum output retries ({retries})")
        else:
            failed[run.id] = context.retry + 1
            run.loop_state.inbox.append(UserMessage(write_feedback("pyai:retry_feedback", problem)))
        return reply

    return step


def get_validated_text(run: CoreRun[Any]) -> Any:
    """Return what the output validators made of a run's text; `NOTHING` if none did."""
    made: Any = run.scope.step_state.get((_TEXT_KEY, run.id))
    return NOTHING if made is None else made[0]


def describe_problem(error: Exception) -> str:
    """Return what the model reads of a wrong answer: of a `ModelRetry` its own text."""
    run, text = current_run.get(), str(getattr(error, "text", error))
    known: Any = {} if run is None else run.scope.step_state.get((_VALIDATED_KEY, run.id), {})
    said = [problem for _, problem in known.values() if problem]
    return said[-1] if said and said[-1] in text else text


def make_first_text_step() -> ModelStep:
    """Return the model step by which the text of a reply with calls is the output, as in streamed runs.

    The calls run; after them the model is not asked again.
    """
    said: list[str] = []

    async def step(
        request: ModelRequest, run: CoreRun[Any], proceed: SendRequest
    ) -> AssistantMessage:
        if said:  # once: a validator that rejects it lets the model answer anew
            return AssistantMessage(said.pop(), model=FIRST_TEXT)
        reply = await proceed(request)
        outputs = {tool.name for tool in request.tools if is_output_tool(tool)}
        if reply.text and reply.tool_calls and not any(c.name in outputs for c in reply.tool_calls):
            said.append(reply.text)
        return reply

    return step


async def _validate(
    validators: Sequence[Callable[..., Any]], context: RunContext[Any], value: Any
) -> tuple[Any, str]:
    """Return the value that output validators make of an answer, or the text for the model."""
    for validator in validators:
        try:
            value = await call_with_context(validator, context, value)
        except ModelRetry as error:
            return None, error.text
    return value, ""


def _call_blocking(function: Callable[..., Any], *about: Any) -> Any:
    """Call an async function in a loop of its own, and wait: pydantic's validators are sync."""
    context = copy_context()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, asyncio.run, function(*about)).result()


async def call_with_context(
    function: Callable[..., Any], context: RunContext[Any], *more: Any
) -> Any:
    """Call a function with the context, if it takes it."""
    takes = takes_run_context(function)
    count = len(inspect.signature(function).parameters)
    about = (context, *more) if takes or count > len(more) else more
    return await maybe_await(function(*about))
