"""One run of the Agents SDK, from its options to its result."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, TypedDict, TypeVar

from toolkeel._records.record import record
from toolkeel.agent import result as core
from toolkeel.agent.run import Run
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext
from toolkeel.errors import OutputError, SetupError
from toolkeel.messages import AssistantMessage, Message
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.check_options import TURNS, check_options, maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, current_run
from toolkeel_compat.openai_agents.exceptions import (
    AgentsException,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
)
from toolkeel_compat.openai_agents.hooks import RunHooks, call_hooks
from toolkeel_compat.openai_agents.items import ItemHelpers, to_messages
from toolkeel_compat.openai_agents.result import (
    RunInput,
    RunResult,
    arrange_results,
    make_result,
    to_result,
)
from toolkeel_compat.openai_agents.sessions import RunMemory, is_session, withhold_output
from toolkeel_compat.openai_agents.settings import MAX_TURNS, RunConfig
from toolkeel_compat.openai_agents.state import RunState
from toolkeel_compat.openai_agents.tracing import run_trace

__all__ = ["RunErrorHandlerInput", "RunErrorHandlerResult"]

C = TypeVar("C")


class RunnerOptions(TypedDict, total=False):
    """Options of a run.

    Attributes:
        context: The user's own object, passed to tools that request it; that of the `RunState`
            by default.
        max_turns: Maximum model requests; None for no limit.
        hooks: Called during the run.
        run_config: The run's configuration; see `RunConfig`.
        error_handlers: ``max_turns``: ``(RunErrorHandlerInput)`` returns the output of a run that
            reached the limit; ``model_refusal``: of one whose model refused.
        session: Conversation history, where this run is stored, too: a session with the SDK's four
            methods, or a core session, its name or its path.
    """

    context: Any
    max_turns: Annotated[int | None, TURNS]
    hooks: RunHooks[Any] | None
    run_config: RunConfig | dict[str, Any] | None
    session: Any
    error_handlers: Mapping[str, Callable[[Any], Any]] | None


@record
class RunErrorHandlerInput(Generic[C]):
    """The argument of an error handler: the error, and the work done until then."""

    error: Exception
    context: RunContextWrapper[C]
    run_data: RunResult


@record
class RunErrorHandlerResult:
    """An error handler's output. It joins the transcript if `include_in_history`."""

    final_output: Any
    include_in_history: bool = True


_REFUSED: Mapping[str, str] = dict.fromkeys(
    ("previous_response_id", "conversation_id", "auto_previous_response_id"),
    "the transcript is kept here: give to_input_list()",
)


def _check_handlers(handlers: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error handlers. Raise `SetupError` for an unknown kind."""
    if strange := sorted(handlers.keys() - {"max_turns", "model_refusal"}):
        raise SetupError(
            f"error_handlers: there are 'max_turns' and 'model_refusal', no {strange[0]!r}"
        )
    return handlers


class RunLifecycle:
    """A run from its options to its result.

    Args:
        agent: The starting agent.
        input: The user's input, or the `RunState` of a waiting run.
        options: See `RunnerOptions`.
        streamed: True if the caller reads the run's events.

    Attributes:
        before_turn: Awaited before each model request.
        run: The core's run; None before it starts.
        active_agent: The agent that owns the run now.
        verdicts: Results of guardrails.
    """

    def __init__(
        self, agent: Any, input: object, options: RunnerOptions, streamed: bool = False
    ) -> None:
        self.streamed = streamed
        self.before_turn: Callable[[RunContext], Any] | None = None
        known = check_options(options, RunnerOptions, "Runner.run", _REFUSED)
        self.handlers = _check_handlers(known.get("error_handlers") or {})
        config = known.get("run_config")
        config = RunConfig(**config) if isinstance(config, dict) else config
        self.config: RunConfig = config or RunConfig()
        self.hooks: Any = known.get("hooks")
        self.agent = agent
        most = known.get("max_turns", MAX_TURNS)
        self.max_turns = 10**6 if most is None else most
        self.input = self.original_input = input
        self.options: dict[str, Any] = {}
        session: Any = known.get("session")
        self.memory = RunMemory(session, self.config) if is_session(session) else None
        if session is not None and self.memory is None:
            self.options["session"] = session
        context = known.get("context")
        if isinstance(input, RunState):
            context = input.context if context is None else context
            self.options["decisions"] = input.decisions
            if input.standing_decisions:
                self.options["approver"] = input.decide_standing
        elif not isinstance(input, str | Sequence):
            raise SetupError(f"{input!r:.80} is no input: give a text or a list of items")
        self.input_messages: list[Message] = []
        self.verdicts: list[Any] = []
        self.wrapper: RunContextWrapper[Any] = RunContextWrapper(context)
        self.options["deps"] = context
        if isinstance(input, RunState):
            self.wrapper.standing_decisions = input.standing_decisions
        self.waits: Mapping[str, int] = input.waits if isinstance(input, RunState) else {}
        self.active_agent: Any = agent
        self.run: Run[Any] | None = None
        self.core = agent.build_for_run(self)

    async def build_prompt(self) -> Any:
        """Return the core run's input."""
        run_input: Any = self.input
        if isinstance(run_input, RunState):
            self.input_messages = list(run_input.state.messages)
            if (formatter := self.config.tool_error_formatter) is not None:
                self.options["decisions"] = await run_input.format_rejections(
                    formatter, self.wrapper
                )
            run_input = run_input.state
        else:
            if self.memory is not None:
                run_input = await self.memory.load_history(run_input)
            if not isinstance(run_input, str):
                self.original_input = run_input
            self.wrapper.turn_input = ItemHelpers.input_to_new_input_list(run_input)
            run_input = self.input_messages = to_messages(run_input)
        return run_input

    async def save_before_request(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        """Save new messages in the session before each request, as the innermost model step.

        Where a step around it decides that results of tools are the output, there is no request: its
        guardrails see these results before they are saved.
        """
        await self._save(run.messages)
        return await proceed(request)

    async def begin_turn(
        self, request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        """Await `before_turn` before each request, and order results, as the outermost model step."""
        if self.before_turn is not None:
            await self.before_turn(run)
        if self.waits:
            arranged = arrange_results(request.messages, self.waits)
            request = dataclasses.replace(request, messages=arranged)
        return await proceed(request)

    def for_inner_run(
        self, agent: Any, deps: Any, streamed: bool, config: RunConfig | None, hooks: Any
    ) -> RunLifecycle:
        """Return the lifecycle of a run inside a call: same settings, without hooks and limits."""
        inner = copy.copy(self)
        inner.agent = inner.active_agent = agent
        inner.config, inner.hooks = config or self.config, hooks
        inner.memory = inner.before_turn = None
        inner.max_turns, inner.streamed, inner.verdicts = 0, streamed, []
        inner.wrapper = RunContextWrapper(deps)
        return inner

    async def notify_end(self, answer: Any) -> None:
        """Call the hooks with the final output."""
        agent = self.active_agent
        await call_hooks((self.hooks, agent.hooks), "on_agent_end", self.wrapper, agent, answer)

    def start(self, prompt: Any, spans: Any) -> Run[Any]:
        """Start the core's run, and set `run`."""
        listeners = [spans] if spans is not None else []
        token = current_run.set(self)
        run: Run[Any] = self.core.start(prompt, listeners=listeners, **self.options)
        current_run.reset(token)  # its task has a copy
        self.run = run
        self.wrapper.bind_run(run.context)
        return run

    def trace(self) -> Any:
        """Return the run's trace as a context manager, or an empty one if tracing is disabled."""
        its = self.config
        if its.tracing_disabled:
            return contextlib.nullcontext()
        names, sensitive = [one.name for one in self.core.tools], its.trace_include_sensitive_data
        about = {"trace_id": its.trace_id, "group_id": its.group_id, "metadata": its.trace_metadata}
        return run_trace(self.agent.name, names, its.workflow_name, about, sensitive)

    async def result(self, result: core.RunResult[Any]) -> RunResult:
        """Return the SDK's result, after saving it in the session and calling the hooks.

        Raises:
            MaxTurnsExceeded: The model requests reached the limit.
            ModelRefusalError: The model refused to answer.
        """
        made = to_result(result, self._make_given())
        error = self._to_exception(result)
        answer = None if error is None else await self._call_error_handler(error, made)
        if answer is not None:
            extra = (
                [AssistantMessage(str(answer.final_output))] if answer.include_in_history else []
            )
            made = make_result(
                answer.final_output, [*made.messages, *extra], made.state, self._make_given()
            )
        await self._save(made.messages, waiting=bool(made.state.pending))
        if error is not None and answer is None:
            error.run_data = made
            raise error
        if result.has_output or answer is not None:
            await self.notify_end(made.final_output)
        return made

    def _to_exception(self, result: core.RunResult[Any]) -> AgentsException | None:
        """Return the SDK's exception for a run without an output, or None."""
        if result.reason == "refused":
            return ModelRefusalError(result.messages[-1].text)
        if result.reason == "limit":
            return MaxTurnsExceeded(f"Max turns ({self.max_turns}) exceeded")
        return None

    async def _call_error_handler(
        self, error: Exception, made: RunResult
    ) -> RunErrorHandlerResult | None:
        """Return the error handler's output, or None without one."""
        kind = "max_turns" if isinstance(error, MaxTurnsExceeded) else "model_refusal"
        handler = self.handlers.get(kind)
        returned = handler and await maybe_await(
            handler(RunErrorHandlerInput(error, self.wrapper, made)), f"the error handler {kind!r}"
        )
        if returned is None or isinstance(returned, RunErrorHandlerResult):
            return returned
        named = isinstance(returned, dict) and "final_output" in returned
        return RunErrorHandlerResult(**returned) if named else RunErrorHandlerResult(returned)

    def _make_given(self) -> RunInput:
        if isinstance(self.input, RunState):
            original, asked = None, self.input_messages[: self.input.given]
        else:
            original, asked = self.original_input, self.input_messages
        return RunInput(self.agent, self.wrapper, asked, original, self.verdicts, self.waits)

    async def to_raised_error(self, error: Exception) -> Exception:
        """Return the exception to raise, with the saved work until then as ``run_data``."""
        run = getattr(error, "run", None)
        if type(error) is OutputError:
            refused = getattr(run.messages[-1], "finish_reason", "") == "refusal" if run else False
            made = ModelBehaviorError(str(error), error.text, error.errors)
            error = ModelRefusalError(error.text) if refused else made
        if isinstance(run, Run):
            with contextlib.suppress(AttributeError):  # an exception without room for more
                error.run_data = make_result(None, run.messages, run.state, self._make_given())  # type: ignore[attr-defined]
            blocked = isinstance(error, OutputGuardrailTripwireTriggered)
            await self._save(withhold_output(run.messages) if blocked else run.messages)
        return error

    async def save_cancelled(self) -> None:
        """Save what a cancelled run has done; each of its calls has a result."""
        if self.run is not None:
            await asyncio.shield(self._save(self.run.messages))

    async def _save(self, messages: Sequence[Message], *, waiting: bool = False) -> None:
        if self.memory is not None:
            arranged = arrange_results(messages, self.waits)
            await self.memory.save(arranged, self.input_messages, waiting=waiting)
