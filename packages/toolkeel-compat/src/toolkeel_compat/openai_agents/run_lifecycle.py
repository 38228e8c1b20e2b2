"""A run of the Agents SDK that is about to begin, goes on or has ended: what holds for it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar

from toolkeel._records.record import record
from toolkeel.agent import result as core
from toolkeel.agent.run import Run
from toolkeel.agent.session_interface import Named
from toolkeel.agent.turn.steps import Ask
from toolkeel.context import RunContext
from toolkeel.errors import OutputError, SetupError
from toolkeel.messages import AssistantMessage, Message
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.check_options import check_options, maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, of_run
from toolkeel_compat.openai_agents.exceptions import (
    AgentsException,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelRefusalError,
)
from toolkeel_compat.openai_agents.hooks import RunHooks, tell
from toolkeel_compat.openai_agents.items import ItemHelpers, messages_of
from toolkeel_compat.openai_agents.result import Given, RunResult, as_result, make_result
from toolkeel_compat.openai_agents.sessions import Memory, Session
from toolkeel_compat.openai_agents.settings import MAX_TURNS, RunConfig
from toolkeel_compat.openai_agents.state import RunState
from toolkeel_compat.openai_agents.tracing import run_trace

__all__ = ["RunErrorHandlerInput", "RunErrorHandlerResult"]

C = TypeVar("C")


class RunnerOptions(TypedDict, total=False):
    """Options of a run.

    Attributes:
        context: The user's own object, handed to tools that ask for it; that of the `RunState`
            by default.
        max_turns: How often the model may be asked; None for as often as it likes.
        hooks: Told of the run as it goes.
        run_config: What holds for this run; see `RunConfig`.
        error_handlers: ``max_turns``: ``(RunErrorHandlerInput)`` gives the answer of a run whose
            model was asked as often as it may be; ``model_refusal``: of one that would not answer.
        session: What was said before, and where this run is kept: one with the SDK's four methods,
            or a core session by itself, its name or its path.
    """

    context: Any
    max_turns: int | None
    hooks: RunHooks[Any] | None
    run_config: RunConfig | dict[str, Any] | None
    session: Session | Named | None
    error_handlers: Mapping[str, Callable[[Any], Any]] | None


@record
class RunErrorHandlerInput(Generic[C]):
    """What a handler of errors sees: what happened, and what was done until then."""

    error: Exception
    context: RunContextWrapper[C]
    run_data: RunResult


@record
class RunErrorHandlerResult:
    """What a handler gives: the answer, and whether it stands in the transcript."""

    final_output: Any
    include_in_history: bool = True


_REFUSED: Mapping[str, str] = dict.fromkeys(
    ("previous_response_id", "conversation_id", "auto_previous_response_id"),
    "the transcript is kept here: give to_input_list()",
)


def _handlers(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The handlers of errors, of those kinds that there are."""
    if strange := sorted(given.keys() - {"max_turns", "model_refusal"}):
        raise SetupError(
            f"error_handlers: there are 'max_turns' and 'model_refusal', no {strange[0]!r}"
        )
    return given


class Begun:
    """A run that is about to begin, goes on or has ended.

    Args:
        agent: Who begins it.
        input: What the person says, or the `RunState` of a run that waits.
        options: See `RunnerOptions`.
        streamed: Whether somebody reads its events.

    Attributes:
        before_turn: Awaited before each request.
        in_charge: Which agent has it now.
        verdicts: What guardrails have said.
    """

    def __init__(
        self, agent: Any, input: object, options: RunnerOptions, streamed: bool = False
    ) -> None:
        self.streamed = streamed
        self.before_turn: Callable[[RunContext], Any] | None = None
        given = check_options(options, RunnerOptions, "Runner.run", _REFUSED)
        self.handlers = _handlers(given.get("error_handlers") or {})
        config = given.get("run_config")
        config = RunConfig(**config) if isinstance(config, dict) else config
        self.config: RunConfig = config or RunConfig()
        self.hooks: Any = given.get("hooks")
        self.agent = agent
        most = given.get("max_turns", MAX_TURNS)
        self.max_turns = 10**6 if most is None else most
        self.input = self.asked_for = input
        self.options: dict[str, Any] = {}
        session = given.get("session")
        self.memory = Memory(session, self.config) if isinstance(session, Session) else None
        if session is not None and self.memory is None:
            self.options["session"] = session
        context = given.get("context")
        if isinstance(input, RunState):
            context = input.context if context is None else context
            self.options["decisions"] = input.decisions
            if input.always:
                self.options["approver"] = input.approver
        elif not isinstance(input, str | Sequence):
            raise SetupError(f"{input!r:.80} is no input: give a text or a list of items")
        self.asked: list[Message] = []
        self.verdicts: list[Any] = []
        self.wrapper: RunContextWrapper[Any] = RunContextWrapper(context)
        self.options["deps"] = context
        if isinstance(input, RunState):
            self.wrapper.always = input.always
        self.in_charge: Any = agent
        self.core = agent.for_run(self)

    async def prompt(self) -> Any:
        """What the core's run begins with."""
        given: Any = self.input
        if isinstance(given, RunState):
            self.asked = list(given.state.messages)
            if (told := self.config.tool_error_formatter) is not None:
                self.options["decisions"] = await given.formatted(told, self.wrapper)
            given = given.state
        else:
            if self.memory is not None:
                given = await self.memory.with_history(given)
            if not isinstance(given, str):
                self.asked_for = given
            self.wrapper.turn_input = ItemHelpers.input_to_new_input_list(given)
            given = self.asked = messages_of(given)
        return given

    async def turn(self, request: ModelRequest, run: RunContext, proceed: Ask) -> AssistantMessage:
        """A step around each request: what was said and done until then is in the session."""
        await self._keep(run.messages)
        if self.before_turn is not None:
            await self.before_turn(run)
        return await proceed(request)

    def within(
        self, agent: Any, deps: Any, streamed: bool, config: RunConfig | None, hooks: Any
    ) -> Begun:
        """What holds for a run within a call of this one: the settings, not its hooks and bounds."""
        inner = copy.copy(self)
        inner.agent = inner.in_charge = agent
        inner.config, inner.hooks = config or self.config, hooks
        inner.memory = inner.before_turn = None
        inner.max_turns, inner.streamed, inner.verdicts = 0, streamed, []
        inner.wrapper = RunContextWrapper(deps)
        return inner

    async def ended(self, answer: Any) -> None:
        """Tell the hooks that there is an answer."""
        agent = self.in_charge
        await tell((self.hooks, agent.hooks), "on_agent_end", self.wrapper, agent, answer)

    def stream(self, prompt: Any, spans: Any) -> Run[Any]:
        """The core's run."""
        listeners = [spans] if spans is not None else []
        token = of_run.set(self)
        run: Run[Any] = self.core.start(prompt, listeners=listeners, **self.options)
        of_run.reset(token)  # its task has a copy
        self.wrapper.joined(run.context)
        return run

    def trace(self) -> Any:
        """The run's trace; nothing if tracing is off for it."""
        its = self.config
        if its.tracing_disabled:
            return contextlib.nullcontext()
        names, sensitive = [one.name for one in self.core.tools], its.trace_include_sensitive_data
        about = {"trace_id": its.trace_id, "group_id": its.group_id, "metadata": its.trace_metadata}
        return run_trace(self.agent.name, names, its.workflow_name, about, sensitive)

    async def result(self, result: core.RunResult[Any]) -> RunResult:
        """The SDK's result; session and hooks have it, too.

        Raises:
            MaxTurnsExceeded: the model was asked as often as it may be.
            ModelRefusalError: it would not answer.
        """
        made = as_result(result, self._given())
        error = self._ending(result)
        answer = None if error is None else await self._handled(error, made)
        if answer is not None:
            said = [AssistantMessage(str(answer.final_output))] if answer.include_in_history else []
            made = make_result(
                answer.final_output, [*made.messages, *said], made.state, self._given()
            )
        await self._keep(made.messages)
        if error is not None and answer is None:
            error.run_data = made
            raise error
        if result.has_output or answer is not None:
            await self.ended(made.final_output)
        return made

    def _ending(self, result: core.RunResult[Any]) -> AgentsException | None:
        """What a run without an answer is there."""
        if result.reason == "refused":
            return ModelRefusalError(result.messages[-1].text)
        if result.reason == "limit":
            return MaxTurnsExceeded(f"Max turns ({self.max_turns}) exceeded")
        return None

    async def _handled(self, error: Exception, made: RunResult) -> RunErrorHandlerResult | None:
        """What the program answers in place of an error."""
        kind = "max_turns" if isinstance(error, MaxTurnsExceeded) else "model_refusal"
        handler = self.handlers.get(kind)
        given = handler and await maybe_await(
            handler(RunErrorHandlerInput(error, self.wrapper, made))
        )
        if given is None or isinstance(given, RunErrorHandlerResult):
            return given
        named = isinstance(given, dict) and "final_output" in given
        return RunErrorHandlerResult(**given) if named else RunErrorHandlerResult(given)

    def _given(self) -> Given:
        if isinstance(self.input, RunState):
            said, asked = None, self.asked[: self.input.given]
        else:
            said, asked = self.asked_for, self.asked
        return Given(self.agent, self.wrapper, asked, said, self.verdicts)

    async def failed(self, error: Exception) -> Exception:
        """What is raised of it: with what was done until then, which is kept, as ``run_data``."""
        run = getattr(error, "run", None)
        if type(error) is OutputError:
            refused = getattr(run.messages[-1], "finish_reason", "") == "refusal" if run else False
            made = ModelBehaviorError(str(error), error.text, error.errors)
            error = ModelRefusalError(error.text) if refused else made
        if isinstance(run, Run):
            with contextlib.suppress(AttributeError):  # an exception without room for more
                error.run_data = make_result(None, run.messages, run.state, self._given())  # type: ignore[attr-defined]
            await self._keep(run.messages)
        return error

    async def _keep(self, messages: Sequence[Message]) -> None:
        if self.memory is not None:
            await self.memory.keep(messages, self.asked)
