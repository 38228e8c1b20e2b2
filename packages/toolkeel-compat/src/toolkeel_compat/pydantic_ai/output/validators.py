"""What becomes of an answer: output functions, output validators, under the names of Pydantic AI."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic import ValidationError

from toolkeel._records.record import NOTHING
from toolkeel.agent.output import OutputPlan, plan_output
from toolkeel.agent.result import NO_OUTPUT, repeat_output
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext as CoreRun
from toolkeel.context import ToolContext
from toolkeel.define.output_type import is_output_tool
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import RunStopped
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.messages import ToolOutput as CoreToolOutput
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.check_options import call_in_thread, maybe_await
from toolkeel_compat.pydantic_ai.context import RunContext
from toolkeel_compat.pydantic_ai.exceptions import ModelRetry, make_retries_error
from toolkeel_compat.pydantic_ai.failures import describe_errors, write_feedback
from toolkeel_compat.pydantic_ai.output.functions import OutputCall
from toolkeel_compat.pydantic_ai.toolsets import takes_run_context
from toolkeel_compat.pydantic_ai.usage import OUTPUT_NOT_USED

FIRST_TEXT: Final = "first_text"
"""Model of the message that repeats a text beside calls as the output; transcripts are without it."""
_ANSWER_KEY: Final = "pydantic_ai_answer"
"""Key of a run's step state: a lock, and the accepted answer of a turn, by the transcript's length."""
_PROBLEM_KEY: Final = "pydantic_ai_problem"
"""Key of a run's step state: the last exception that asked for another answer."""
_TEXT_KEY: Final = "pydantic_ai_text"
"""Key of a run's step state: what functions made of an answer without calls, alone in a list."""


def make_answer_step(validators: Sequence[Callable[..., Any]]) -> Step:
    """Return the step around the tool of an output type: its answer goes through functions.

    What one of them asks to correct is the result of the call; any other exception ends the run.

    Args:
        validators: Output validators. An output function comes before them.
    """

    async def finish_answer(
        prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        run = context.run
        known: Any = run.scope.step_state.setdefault((_ANSWER_KEY, run.id), (asyncio.Lock(), {}))
        lock, accepted = known
        async with lock:  # in the order of the calls
            if len(run.transcript) in accepted:
                return CoreToolOutput(OUTPUT_NOT_USED, accepted[len(run.transcript)])
            given: Any = await proceed(prepared)
            answer = await _finish_call(given.artifact, context)
            accepted[len(run.transcript)] = answer
            return dataclasses.replace(given, artifact=answer)

    async def _finish_call(answer: Any, context: ToolContext[Any]) -> Any:
        try:
            return await _finish(validators, RunContext.from_tool_context(context), answer)
        except (ModelRetry, ValidationError) as error:
            context.run.scope.step_state[_PROBLEM_KEY, context.run.id] = error
            if isinstance(error, ModelRetry):
                raise
            raise ModelRetry(describe_errors(error)) from error
        except Exception as error:
            text = f"{context.tool_name!r} failed, and the run was ended."
            raise RunStopped(text, error) from error

    finish_answer.step_timeout = None  # type: ignore[attr-defined]
    return finish_answer


def make_text_step(
    output_type: Any,
    read_text: Callable[..., Any] | None,
    validators: Sequence[Callable[..., Any]],
    retries: int,
) -> ModelStep:
    """Return the model step for an answer without calls: it goes through functions.

    What one of them asks to correct follows the answer as a message, and the run goes on.

    Args:
        output_type: The core's output type. A text that is not valid for it is left to the core.
        read_text: Called with the text first, if the output may be text.
        validators: Output validators: they take the answer, or the `RunContext` and the answer.
        retries: How often the model may correct its answer.
    """
    failed: dict[str, int] = {}

    async def step(
        request: ModelRequest, run: CoreRun[Any], proceed: SendRequest
    ) -> AssistantMessage:
        reply = await proceed(request)
        if reply.tool_calls or (output_type is str and read_text is None and not validators):
            return reply
        answer = _read_answer(output_type, request, reply)
        if answer is NO_OUTPUT:
            return reply
        context: RunContext[Any] = RunContext(run)
        context.retry = failed.get(run.id, 0)
        try:
            answer = await _finish(validators, context, answer, read_text)
        except (ModelRetry, ValidationError) as error:
            if context.retry >= retries:
                raise make_retries_error(retries) from error
            failed[run.id] = context.retry + 1
            run.loop_state.inbox.append(UserMessage(_write_problem(error)))
        else:
            run.scope.step_state[_TEXT_KEY, run.id] = [answer]
        return reply

    step.step_timeout = None  # type: ignore[attr-defined]
    return step


def _read_answer(output_type: Any, request: ModelRequest, reply: AssistantMessage) -> Any:
    """Return the answer in a reply without calls; `NO_OUTPUT` if it is not valid."""
    if output_type is str:
        return reply.text
    assert request.model is not None  # a request of an agent names it
    plan: OutputPlan | None = plan_output(output_type, request.model, Toolset(()), False, 0)
    return repeat_output([reply], "answered", plan)


def _write_problem(error: Exception) -> str:
    """Return what the model reads of an answer without calls that is wrong."""
    if isinstance(error, ModelRetry):
        return write_feedback("pyai:retry_feedback", error.text)
    assert isinstance(error, ValidationError)
    return write_feedback("pyai:validation_errors", describe_errors(error))


def get_last_problem(run: CoreRun[Any]) -> Exception | None:
    """Return the last exception by which a function asked for another answer; None without any."""
    problem: Any = run.scope.step_state.get((_PROBLEM_KEY, run.id))
    known: Exception | None = problem
    return known


def get_validated_text(run: CoreRun[Any]) -> Any:
    """Return what functions made of a run's answer without calls; `NOTHING` if none did."""
    made: Any = run.scope.step_state.get((_TEXT_KEY, run.id))
    return NOTHING if made is None else made[0]


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


async def _finish(
    validators: Sequence[Callable[..., Any]],
    context: RunContext[Any],
    answer: Any,
    read_text: Callable[..., Any] | None = None,
) -> Any:
    """Return what functions make of an answer, each of the one before; an output function is the first.

    Raises:
        ModelRetry: The model shall answer anew.
        Exception: What a function raises.
    """
    if read_text is not None:
        answer = await _call_output_function(read_text, context, answer)
    if isinstance(answer, OutputCall):
        answer = await _call_output_function(answer.function, context, **answer.arguments)
    for one in validators:
        answer = await call_with_context(one, context, answer)
    return answer


async def _call_output_function(
    function: Callable[..., Any], context: RunContext[Any], *more: Any, **named: Any
) -> Any:
    """Call a function of the model's answer; the context comes first if it is annotated so."""
    about = (context, *more) if takes_run_context(function) else more
    return await _call(function, *about, **named)


async def call_with_context(
    function: Callable[..., Any], context: RunContext[Any], *more: Any
) -> Any:
    """Call a validator, or a function of instructions, with the context if it has one parameter more."""
    takes = takes_run_context(function)
    count = len(inspect.signature(function).parameters)
    about = (context, *more) if takes or count > len(more) else more
    return await _call(function, *about)


async def _call(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function and return its result; run a sync one in a thread, so that it may block."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **named)
    return await maybe_await(await call_in_thread(function, *args, **named))
