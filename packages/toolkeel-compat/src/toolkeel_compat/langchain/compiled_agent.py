"""`CompiledAgent`: an agent that takes and returns a state with messages."""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Literal, TypeAlias

from typing_extensions import is_typeddict

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import NOTHING
from toolkeel.agent.agent import Agent
from toolkeel.agent.run import Run
from toolkeel.call.body.sync_bridge import SyncIterator
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import OutputError, SetupError, Suspend
from toolkeel.messages import AssistantMessage
from toolkeel.sessions.session import Session
from toolkeel_compat.langchain.agent_options import AgentOptions, merge_reducers
from toolkeel_compat.langchain.command import Command, write_state
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.middleware import (
    JUMP_KEY,
    HookStep,
    build_runtime,
)
from toolkeel_compat.langchain.models.chat_models import StructuredOutputValidationError
from toolkeel_compat.langchain.names import explain_object
from toolkeel_compat.langchain.recursion_limit import GraphRecursionError, get_limit
from toolkeel_compat.langchain.streaming.run_stream import (
    AsyncRunStream,
    RunStream,
    check_events_version,
)
from toolkeel_compat.langchain.streaming.stream_modes import (
    INTERRUPT_KEY,
    REVIEW_NODE,
    HookUpdate,
    StreamParts,
    check_version,
    sort_modes,
    to_output,
    to_part,
)
from toolkeel_compat.langchain.threads.checkpoints import EmptyInputError
from toolkeel_compat.langchain.threads.human_review import (
    HumanInTheLoopMiddleware,
    decide_tickets,
    is_review,
)
from toolkeel_compat.langchain.threads.interrupts import (
    HIDDEN_KEYS,
    find_waiting_call,
    list_inner_tickets,
    save_interrupts,
    start_within,
)
from toolkeel_compat.langchain.threads.message_ids import add_ids, read_transcript
from toolkeel_compat.langchain.threads.thread_states import ThreadStates
from toolkeel_compat.langchain.tool_node import Config, check_config

HookReport: TypeAlias = Callable[[HookUpdate], None] | None
"""See `HookStep.run_hooks`."""


class CompiledAgent(ThreadStates):
    """An agent whose input and output is a state with messages; created by `create_agent`.

    Args:
        agent: The core's agent.
        options: See `AgentOptions`.
    """

    def __init__(self, agent: Agent[Any, Any], options: AgentOptions) -> None:
        self.agent, self.name = agent, options.get("name") or "LangGraph"
        self._store = options.get("store")
        self._saver = options.get("checkpointer")
        self._structured = options.get("response_format") is not None
        reviewers = [
            one
            for one in options.get("middleware") or ()
            if isinstance(one, HumanInTheLoopMiddleware)
        ]
        self._reviewer = reviewers[0] if reviewers else HumanInTheLoopMiddleware({})
        self._reducers = merge_reducers(options)
        self._hooks = HookStep(options.get("middleware") or (), self._reducers)
        self._context_schema = options.get("context_schema")
        self.node = "model"
        self._config = NOTHING

    def with_config(self, config: Config = None, **fields: Any) -> CompiledAgent:
        """Return the same agent with a config for each run; a run's own config overrides it.

        Args:
            config: The config.
            fields: Values of the config by key.

        Raises:
            SetupError: A setting is not honored.
        """
        check_config({**(config or {}), **fields})
        changed = copy.copy(self)
        changed._config = {**self._config, **(config or {}), **fields}
        return changed

    __getattr__ = attribute_hints("langchain.CompiledAgent.")

    async def _prepare_run(
        self, state: Any, config: Config, context: object, report: HookReport = None
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """Return the core run's prompt and options, and the state without messages."""
        check_config(config)
        if foreign := explain_object(state):
            raise SetupError(foreign)
        schema = self._context_schema
        if isinstance(context, Mapping) and schema is not None and not is_typeddict(schema):
            context = schema(**context)
        options: dict[str, Any] = {"deps": context, "store": self._store}
        options["inject"] = {"config": config or {}}
        get_limit(config)
        session = self._saver.thread(config) if self._saver is not None else None
        options |= {} if session is None else {"session": session}
        if state is None or isinstance(state, Command):
            if session is None or not session.exists:
                what = "None" if state is None else "Command(resume=...)"
                raise EmptyInputError(
                    f"{what} continues a thread: it needs a checkpointer, and a thread that has "
                    'begun; begin with {"messages": [...]}'
                )
            if state is None:
                return None, options, {}
            waits = self._list_waiting(session)
            options["decisions"] = decide_tickets(state.resume, waits, session.pending)
            return None, options, {}
        known = {} if session is None else session.state
        shared: dict[str, Any] = {key: known[key] for key in state if key in known}
        for key, value in state.items():
            if key != "messages":
                write_state(shared, key, value, self._reducers)
        new = add_ids(convert_to_messages(state.get("messages", ())))
        initial_state = {**shared, "messages": new}
        run: RunContext[Any] = RunContext(context, store=self._store)
        goal = await self._hooks.run_hooks("before_agent", initial_state, run, report)
        prompt = initial_state.pop("messages")
        if goal is not None:
            is_answer = bool(prompt) and isinstance(prompt[-1], AssistantMessage)
            options["inject"][JUMP_KEY] = prompt.pop() if is_answer else None
        options["state"] = initial_state
        return prompt, options, initial_state

    async def _finish_run(
        self,
        run: Run[Any],
        shared: dict[str, Any],
        call: ToolContext[Any] | None,
        report: HookReport = None,
    ) -> dict[str, Any]:
        """Return the final state of a run, or raise what ended it.

        Args:
            run: The run.
            shared: The state that it began with.
            call: The call whose body runs this agent, if its run can wait with this one.
            report: See `HookStep.run_hooks`.

        Raises:
            Suspend: This run waits, and so does the call.
        """
        result = run.result
        if result.reason == "limit":  # one of an enclosing run
            raise GraphRecursionError(f"the run reached a limit ({result.limit})")
        state = {**shared, **run.context.state}
        state["messages"] = read_transcript(result.messages, state)
        if result.reason == "waiting":
            waits = self._build_interrupts(result.pending, state, build_runtime(run.context))
            if call is not None:
                save_interrupts([w for w in waits if is_review(w)], call)
                raise Suspend(*result.pending, inner=result.state)
            if self._saver is None:
                asked = result.pending[0]
                raise SetupError(
                    f"a call of {asked.tool!r} waits for a person ({asked.reason}), and nobody can "
                    "answer: give create_agent a checkpointer, and go on with Command(resume="
                    '{"decisions": [...]}); a picture or file that is your own program\'s says so '
                    'in its part: "extras": {"trusted": True}'
                )
            state[INTERRUPT_KEY] = waits
        else:
            await self._hooks.run_hooks("after_agent", state, run.context, report)
        for key in HIDDEN_KEYS:
            state.pop(key, None)
        if self._structured and result.has_output:
            state["structured_response"] = result.output_value
        return state

    def _start(self, prompt: Any, options: dict[str, Any]) -> tuple[Run[Any], Any]:
        """Create a run, and return it with the call whose body runs this agent and waits with it."""
        call = None if self._saver is not None else find_waiting_call()
        if call is None:
            return self.agent.stream(prompt, **options), None
        return start_within(self.agent, prompt, options, call), call

    def _get_ended_thread(self, config: Config) -> dict[str, Any] | None:
        """Return the state of a thread whose last run reached its end; None for any other thread."""
        if self._saver is None:
            return None
        session = self._saver.thread(config)
        if not session.exists or session.pending:
            return None
        ended = session.load_state().reason in ("answered", "returned")
        return self._saver.snapshot(config or {}).values if ended else None

    async def ainvoke(
        self,
        state: Any,
        config: Config = None,
        *,
        context: object = None,
        version: Literal["v1", "v2"] = "v1",
    ) -> Any:
        """Run to the end and return the final state.

        Args:
            state: With ``messages``; tools may read and change the other keys. Or
                ``Command(resume={"decisions": [...]})`` for calls that wait in the thread; or None to
                continue a thread whose last run did not reach its end.
            config: Passed to tools that request a `RunnableConfig`; ``thread_id`` and
                ``recursion_limit`` are honored.
            context: The user's own object, passed to tools that request a `ToolRuntime`.
            version: ``v2`` for a `GraphOutput`.

        Returns:
            The final state with every message; with ``structured_response`` if there is a
            `response_format`, and with ``__interrupt__`` if calls wait.

        Raises:
            StructuredOutputValidationError: The model gave no answer of the `response_format`.
            EmptyInputError: `state` is None, and the thread has not begun.
            GraphRecursionError: The model calls reached ``recursion_limit``.
            ValueError: ``recursion_limit`` is below 1.
        """
        check_version(version)
        config = self._merge_config(config)
        if state is None and (ended := self._get_ended_thread(config)) is not None:
            return to_output(ended, version)
        prompt, options, shared = await self._prepare_run(state, config, context)
        run, call = self._start(prompt, options)
        try:
            await run
        except OutputError as error:
            if type(error) is not OutputError or not self._structured:
                raise
            raise StructuredOutputValidationError(str(error), error.text, error.errors) from error
        return to_output(await self._finish_run(run, shared, call), version)

    async def astream(
        self,
        state: Any,
        config: Config = None,
        *,
        context: object = None,
        stream_mode: str | Sequence[str] = "updates",
        version: Literal["v1", "v2"] = "v1",
    ) -> AsyncGenerator[Any, None]:
        """Run to the end, and yield what happens. See `stream`."""
        check_version(version)
        alone, config = isinstance(stream_mode, str), self._merge_config(config)
        pairs = self._stream_pairs(state, config, context, stream_mode)
        async with aclosing(pairs):
            async for mode, part in pairs:
                yield to_part(mode, part, version, alone=alone)

    async def _stream_pairs(
        self, state: Any, config: Config, context: object, stream_mode: str | Sequence[str]
    ) -> AsyncGenerator[tuple[str, Any], None]:
        """Run to the end, and yield each part with its mode."""
        modes = sort_modes([stream_mode] if isinstance(stream_mode, str) else stream_mode)
        if state is None and (ended := self._get_ended_thread(config)) is not None:
            if "values" in modes:
                yield "values", ended
            return
        hooks: list[HookUpdate] = []
        prompt, options, shared = await self._prepare_run(state, config, context, hooks.append)
        messages = _list_messages(options.get("session"), prompt or ())
        decided = {one.ticket for one in options.get("decisions", ()) if one.verdict != "answer"}
        if decided - list_inner_tickets(options.get("session")):
            asking = [one for one in messages if getattr(one, "tool_calls", ())]
            hooks.append(HookUpdate(REVIEW_NODE, {"messages": asking[-1:]}))
        run, call = self._start(prompt, options)
        asks = self._reviewer.pauses if self._reviewer.interrupt_on else None
        values = lambda: {**shared, **run.context.state}  # noqa: E731
        parts = StreamParts(modes, messages, self.node, values, asks)
        for pair in parts.begin(hooks):
            yield pair
        async for event in run:
            for pair in parts.convert(event):
                yield pair
        hooks.clear()
        ended = await self._finish_run(run, shared, call, hooks.append)
        for pair in parts.end(hooks, ended):
            yield pair

    def stream(self, state: Any, config: Config = None, **kwargs: Any) -> Iterator[Any]:
        """Run to the end, and yield what happens.

        Args:
            state: See `ainvoke`.
            config: See `ainvoke`.
            kwargs: ``context``; ``version``: ``v2`` for dicts with ``type``, ``ns`` and ``data``; and
                ``stream_mode``: ``updates``: messages the model or a tool added;
                ``values``: the messages so far; ``messages``: chunks of replies; ``custom``: values
                tools emit. Several modes give pairs of mode and part.
        """
        return iter(SyncIterator(partial(self.astream, state, config, **kwargs)))

    def stream_events(
        self, state: Any, config: Config = None, *, version: str = "v2", context: object = None
    ) -> RunStream:
        """Run, and return what happens as streams: ``values``, ``messages``, ``tool_calls``.

        Args:
            state: See `ainvoke`.
            config: See `ainvoke`.
            version: Must be ``v3``.
            context: See `ainvoke`.

        Raises:
            SetupError: `version` is another one.
        """
        check_events_version(version)
        return RunStream(self._make_events(state, config, context))

    async def astream_events(
        self, state: Any, config: Config = None, *, version: str = "v2", context: object = None
    ) -> AsyncRunStream:
        """Call `stream_events`, for async code."""
        check_events_version(version)
        return AsyncRunStream(self._make_events(state, config, context))

    def _make_events(
        self, state: Any, config: Config, context: object
    ) -> Callable[[], AsyncGenerator[tuple[str, Any], None]]:
        modes = ("values", "events")
        return partial(self._stream_pairs, state, self._merge_config(config), context, modes)


def _list_messages(session: Session | None, prompt: Sequence[Any]) -> list[Any]:
    """Return the messages of a thread, and those of the next run's prompt."""
    if session is None or not session.exists:
        return read_transcript(prompt, {})
    return read_transcript([*session.messages, *prompt], session.state)
