"""`Agent` with its decorators, under the names of Pydantic AI."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, Unpack

from typing_extensions import TypeVar

from toolkeel._common.reporter import running_loop
from toolkeel.agent import agent as core
from toolkeel.agent.run import Run
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.context import RunContext as CoreRun
from toolkeel.define.output_type import is_output_tool
from toolkeel.errors import OutputError, SetupError
from toolkeel.model_interface import Model, ModelRequest, Settings
from toolkeel_compat.check_options import check_options
from toolkeel_compat.missing import refuse_attributes
from toolkeel_compat.pydantic_ai.context import RunContext, current_run
from toolkeel_compat.pydantic_ai.exceptions import UsageLimitExceeded, to_run_error
from toolkeel_compat.pydantic_ai.failures import make_failure_step
from toolkeel_compat.pydantic_ai.history_processors import ProcessHistory, make_history_step
from toolkeel_compat.pydantic_ai.messages import (
    get_values,
    make_user_message,
    read_values,
    to_core_messages,
)
from toolkeel_compat.pydantic_ai.models.settings import enforce_fitting, to_settings
from toolkeel_compat.pydantic_ai.models.vendors import SETTINGS_KEY, is_sdk_model
from toolkeel_compat.pydantic_ai.names import AGENT_HINTS
from toolkeel_compat.pydantic_ai.options import (
    REFUSED,
    RUN_REFUSED,
    AgentOptions,
    Caching,
    RunOptions,
    as_list,
    check_model,
    to_core_model,
)
from toolkeel_compat.pydantic_ai.output.types import OutputPlan, plan_output, takes_text
from toolkeel_compat.pydantic_ai.output.validators import (
    call_with_context,
    get_last_problem,
    get_validated_text,
    make_first_text_step,
    make_text_step,
)
from toolkeel_compat.pydantic_ai.result import AgentRunResult, MessageHistory, StreamedRunResult
from toolkeel_compat.pydantic_ai.retries import make_retry_step
from toolkeel_compat.pydantic_ai.toolsets import (
    ToolCollection,
    flatten_toolsets,
    get_raised_approvals,
    to_core_tool,
)
from toolkeel_compat.pydantic_ai.usage import RunUsage, UsageLimits

_D = TypeVar("_D", default=Any)
_T = TypeVar("_T", default=Any)


@refuse_attributes(AGENT_HINTS)
class Agent(ToolCollection, Generic[_D, _T]):
    """A model with tools; functions join it by decorators.

    Args:
        model: ``"vendor:model"``, a core `Model`, or a `TestModel`.
        options: See `AgentOptions`.

    Raises:
        SetupError: An option has no counterpart; the message says what to write.
        TypeError: An option is unknown.
    """

    def __init__(self, model: Any = None, **options: Unpack[AgentOptions]) -> None:
        known = check_options(options, AgentOptions, "Agent", REFUSED)
        self._processors: list[Any] = [*(known.get("history_processors") or ())]
        for one in known.get("capabilities") or ():
            if isinstance(one, ProcessHistory):
                self._processors.append(one.processor)
            elif not isinstance(one, Caching):
                raise SetupError(
                    f"Agent(capabilities=...): {type(one).__name__} has no counterpart"
                )
        if (strategy := known.get("end_strategy", "graceful")) != "graceful":
            raise SetupError(
                f"Agent(end_strategy={strategy!r}): leave it out: other calls beside an answer run, and "
                "the first valid answer ends the run"
            )
        self.name: str | None = known.get("name")
        self._options, self._overrides = known, dict[str, Any]()
        self.collected = [to_core_tool(one) for one in known.get("tools", ())]
        self._instructions = [
            *as_list(known.get("system_prompt")), *as_list(known.get("instructions"))
        ]  # fmt: skip
        self._validators: list[Callable[..., Any]] = []
        self._output_type = self.output_type = known.get("output_type", str)
        self.deps_type = known.get("deps_type", object)
        self.model = model
        if model is not None and not known.get("defer_model_check"):
            check_model(model)

    # — decorators —

    def instructions(self, function: Any = None, /) -> Any:
        """Add a function that returns instructions; it may take the `RunContext`."""
        if function is None:
            return self.instructions
        self._instructions.append(function)
        return function

    def system_prompt(self, function: Any = None, /, *, dynamic: bool = False) -> Any:
        """Add a function that returns instructions, evaluated when a run begins.

        Args:
            function: It may take the `RunContext`.
            dynamic: Makes no difference: instructions are always evaluated anew.
        """
        return self.instructions if function is None else self.instructions(function)

    def output_validator(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Add a function that returns the output, or raises `ModelRetry`."""
        self._validators.append(function)
        return function

    def toolset(self, function: Any) -> Any:
        """Refuse a toolset that is made for each run."""
        raise SetupError(
            "@agent.toolset: give the agent a function of toolkeel as a tool source: docs/tools.md"
        )

    @contextmanager
    def override(self, **changes: Any) -> Iterator[None]:
        """Use another ``model``, other ``deps`` or ``toolsets`` in the block, for tests.

        Raises:
            TypeError: Another option is given.
        """
        if strange := sorted(changes.keys() - {"model", "deps", "toolsets", "tools"}):
            raise TypeError(
                f"override has no option {strange[0]!r}; it has model, deps, toolsets, tools"
            )
        before, self._overrides = self._overrides, {**self._overrides, **changes}
        try:
            yield
        finally:
            self._overrides = before

    # — runs —

    async def run(self, user_prompt: Any = None, **options: Unpack[RunOptions]) -> AgentRunResult:
        """Run to the end.

        Args:
            user_prompt: The user's text, or its parts; None to continue calls that wait.
            options: See `RunOptions`.

        Raises:
            UnexpectedModelBehavior: The model gave no answer of the output type.
            UsageLimitExceeded: A limit was reached.
            ModelHTTPError: The model's server answered with an error.
        """
        run, finish = self._start(user_prompt, options)
        made: AgentRunResult = await finish(run)
        return made

    def run_sync(self, user_prompt: Any = None, **options: Unpack[RunOptions]) -> AgentRunResult:
        """Call `run` from sync code, in this thread if it has no running event loop."""
        return _run_here(lambda: self.run(user_prompt, **options))

    @asynccontextmanager
    async def run_stream(
        self, user_prompt: Any = None, **options: Unpack[RunOptions]
    ) -> AsyncIterator[StreamedRunResult]:
        """Run, and stream the text: ``async with agent.run_stream(...) as result``."""
        run, finish = self._start(user_prompt, options, [make_first_text_step()])
        run.buffer_events()
        asked = options.get("output_type") or self._output_type
        typed = plan_output(asked, self._validators).type_ is not str
        given = len(to_core_messages(options.get("message_history") or ()))
        streamed = StreamedRunResult(run, finish, typed, given)
        try:
            yield streamed
            await streamed.end()
        finally:
            await run.aclose()

    def iter(self, *args: Any, **options: Any) -> Any:
        """Refuse the iteration over nodes: there is no graph."""
        raise SetupError(
            "agent.iter(): read the events of toolkeel's Agent.stream: docs/streaming.md"
        )

    def _start(
        self, prompt: Any, given: Mapping[str, Any], text_steps: Sequence[ModelStep] = ()
    ) -> tuple[Run[Any], Any]:
        """Create a run, and the function that makes its result.

        Args:
            prompt: The user's prompt.
            given: Options of the run.
            text_steps: Model steps of a run whose output may be text.
        """
        options = check_options(dict(given), RunOptions, "Agent.run", RUN_REFUSED)
        history = options.get("message_history") or ()
        core_history = to_core_messages(history)
        options["message_history"] = MessageHistory(core_history, getattr(history, "state", None))
        usage = options.get("usage")
        limits = options.get("usage_limits") or UsageLimits()
        outer = vars(usage).get("is_bound") if usage is not None else False
        bounds = limits.to_core(None if outer else usage)
        if bounds.requests == 0:
            raise UsageLimitExceeded(limits.describe_limit("requests"))
        begin, more, known = self._build_input(prompt, options)
        agent = self._build(options, text_steps=text_steps)
        deps = self._overrides.get("deps", options.get("deps"))
        run: Run[Any] = agent.stream(begin, deps=deps, limits=bounds, **more)
        get_values(run.context).update(read_values(history))

        async def finish(run: Run[Any]) -> AgentRunResult:
            try:
                await run
            except Exception as error:
                made = to_run_error(error, agent.model.name, self.count_retries("output"))
                if made is error:
                    raise
                is_wrong = isinstance(error, OutputError)
                raise made from (get_last_problem(run.context) if is_wrong else None) or error
            finally:
                if usage is not None and not outer:
                    usage.incr(RunUsage.from_core(run.context.usage, run.context.messages[known:]))
            if run.result.reason == "limit":
                raise UsageLimitExceeded(limits.describe_limit(run.result.limit))
            raised = get_raised_approvals(run.context)
            text = get_validated_text(run.context)
            return AgentRunResult(run.result, known, text, raised, run.context)

        return run, finish

    def _build_input(
        self, prompt: Any, options: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any], int]:
        """Return the core run's input, further options, and the number of known messages.

        Raises:
            SetupError: Decisions are given without the transcript in which calls wait.
        """
        history, decided = options.get("message_history"), options.get("deferred_tool_results")
        if decided is not None:
            state = getattr(history, "state", None)
            if not isinstance(history, MessageHistory) or state is None:
                raise SetupError(
                    "deferred_tool_results needs message_history=result.all_messages()"
                )
            return state, {"decisions": decided.to_core(state.pending)}, len(history)
        said = [] if prompt is None else [make_user_message(prompt)]
        return [*(history or ()), *said], {}, len(history or ())

    def make_limits(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the core's options for the limits of a run."""
        limits = options.get("usage_limits") or UsageLimits()
        return {"limits": limits.to_core(None)}

    def build_for_client(
        self, options: Mapping[str, Any], tools: Sequence[Any], steps: Sequence[Any]
    ) -> core.Agent[Any, Any]:
        """Build the core's agent for a client with tools of its own.

        Args:
            options: Options of the run.
            tools: The client's tools, as the core's.
            steps: Steps around each call.
        """
        return self._build(options, tools, steps)

    def _build(
        self,
        options: Mapping[str, Any],
        client_tools: Sequence[Any] = (),
        steps: Sequence[Any] = (),
        text_steps: Sequence[ModelStep] = (),
    ) -> core.Agent[Any, Any]:
        """Build the core's agent from what the decorators have added until now."""
        own, run_type = self._options, options.get("output_type")
        model = self._overrides.get("model") or options.get("model") or self.model
        if model is None:
            raise SetupError("Agent: give a model, to the agent or to its run")
        asked = self._output_type if run_type is None else run_type
        tools = self._overrides.get("tools", self.collected)
        sets = self._overrides.get("toolsets", own.get("toolsets") or ())
        output_retries = self.count_retries("output")
        made, output = to_core_model(model), plan_output(asked, self._validators)
        all_tools = [
            *tools,
            *flatten_toolsets([*sets, *(options.get("toolsets") or ())]),
            *client_tools,
        ]
        check_text = make_text_step(
            output.type_, output.read_text, self._validators, output_retries
        )
        return core.Agent(
            made,
            all_tools,
            instructions=self._make_instructions(options.get("instructions"), output.instructions),
            name=self.name or "agent",
            output_type=output.type_,
            output_retries=output_retries,
            settings=self._make_settings(made, options, output),
            max_turns=10**6,
            model_steps=[
                make_retry_step(all_tools, self.count_retries("tools")),
                make_limit_step(options),
                _remember_run,
                *([make_history_step(self._processors)] if self._processors else []),
                check_text,
                *(text_steps if takes_text(output.type_) else []),
                make_failure_step(output.type_),
                enforce_fitting,
            ],
            steps=steps,
        )

    def _make_settings(
        self, model: Model, options: Mapping[str, Any], output: OutputPlan
    ) -> Settings:
        """Return the settings of a run over those of the agent, and those over the model's."""
        own, given = self._options.get("model_settings"), options.get("model_settings")
        settings = {**getattr(model, SETTINGS_KEY, {}), **(own or {}), **(given or {})}
        if output.is_json and is_sdk_model(model, "openai_chat.model.OpenAIChat"):
            settings.setdefault("response_format", {"type": "json_object"})
        return to_settings(settings, model)

    def count_retries(self, kind: str) -> int:
        """Return how often the model may correct an answer (``output``) or the calls of a tool (``tools``)."""
        own = self._options.get("output_retries") if kind == "output" else None
        retries = self._options.get("retries", 1) if own is None else own
        count: int = retries.get(kind, 1) if isinstance(retries, Mapping) else retries
        return count

    def _make_instructions(self, *more: str | None) -> Any:
        """Return the instructions as one text, or as a function of the core's run."""
        parts = [*self._instructions, *(one for one in more if one)]
        if all(isinstance(one, str) for one in parts):
            return "\n\n".join(parts)

        async def instruct(run: CoreRun[Any]) -> str:
            texts = [
                await call_with_context(one, RunContext(run)) if callable(one) else one
                for one in parts
            ]
            return "\n\n".join(str(one) for one in texts if one)

        return instruct


_loops = threading.local()
"""The event loop of each thread that calls `run_sync`."""


def _run_here(make: Callable[[], Coroutine[Any, Any, AgentRunResult]]) -> AgentRunResult:
    """Run a coroutine in this thread, as Pydantic AI does; in another one if a loop runs here."""
    if running_loop() is not None:
        return run_sync(make)
    loop: asyncio.AbstractEventLoop | None = getattr(_loops, "loop", None)
    if loop is None:
        loop = _loops.loop = asyncio.new_event_loop()
        atexit.register(loop.close)
    return loop.run_until_complete(make())


def make_limit_step(options: Mapping[str, Any]) -> ModelStep:
    """Return the model step that checks the limits of a run that the core does not have."""
    limits = options.get("usage_limits") or UsageLimits()
    before, known = options.get("usage") or RunUsage(), len(options.get("message_history") or ())

    async def step(request: ModelRequest, run: CoreRun[Any], proceed: SendRequest) -> Any:
        reply = await proceed(request)
        outputs = {tool.name for tool in request.tools if is_output_tool(tool)}
        calls = [call for call in reply.tool_calls if call.name not in outputs]
        limits.check(before + RunUsage.from_core(run.usage, run.messages[known:]), len(calls))
        return reply

    return step


async def _remember_run(request: ModelRequest, run: CoreRun[Any], proceed: Any) -> Any:
    """Remember the run for output validators, as a model step."""
    current_run.set(run)
    return await proceed(request)
