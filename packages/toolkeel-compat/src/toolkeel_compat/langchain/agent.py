"""`create_agent`, and `create_react_agent`, its older name, as LangChain has them."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

from typing_extensions import is_typeddict

from toolkeel._common.other_libraries_words import telling
from toolkeel._records.tickets import Ticket
from toolkeel.agent.agent import Agent
from toolkeel.agent.run import Run
from toolkeel.call.body.sync_bridge import Pieces
from toolkeel.call.toolset import Toolish, Toolset
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Replied, Streamed, ToolFinished
from toolkeel.messages import SystemMessage
from toolkeel.model_interface import Model, Settings, TextDelta
from toolkeel.providers.model_by_name import connect
from toolkeel.spending import RunLimits
from toolkeel_compat.check_options import only_known
from toolkeel_compat.langchain.chat_models import ChatModel, with_output_type
from toolkeel_compat.langchain.command import Command, Reducers, put, reducers_of, updating
from toolkeel_compat.langchain.convert_tool import defined
from toolkeel_compat.langchain.interrupts import (
    ANSWERS,
    Interrupt,
    answered,
    interrupting,
    interrupts,
)
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages
from toolkeel_compat.langchain.middleware import (
    AgentMiddleware,
    Hooks,
    Runtime,
    choosing,
    prompted,
    runtime_of,
    steps_of,
)
from toolkeel_compat.langchain.names import instead_of
from toolkeel_compat.langchain.threads import (
    GraphRecursionError,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    StateSnapshot,
)
from toolkeel_compat.langchain.tool_node import Config, Invoked, ToolNode, check_config

MODES = ("messages", "updates", "values", "custom")
INTERRUPT = "__interrupt__"


class AgentOptions(TypedDict, total=False):
    """Options of an agent besides model, tools and instructions.

    Attributes:
        middleware: `AgentMiddleware`, what its decorators make, and `HumanInTheLoopMiddleware`.
        response_format: What its answers shall be: a pydantic model or any other type, which may
            be in a `ToolStrategy` or `ProviderStrategy`.
        state_schema: The keys of the state besides ``messages``, and how values of each are joined.
        context_schema: What the context is: a dict becomes a dataclass or model of it.
        checkpointer: An `InMemorySaver`: runs of one ``thread_id`` go on from each other.
        store: Memory that outlives the run.
        name: For people and events.
    """

    middleware: Sequence[Any]
    response_format: Any
    state_schema: Any
    context_schema: Any
    checkpointer: InMemorySaver | None
    store: object
    name: str | None


_REFUSED: Mapping[str, str] = {
    "interrupt_before": "HumanInTheLoopMiddleware asks before calls",
    "interrupt_after": "interrupt() in a tool asks",
    "pre_model_hook": "middleware=[before_model(f)], f of the state and the runtime",
    "post_model_hook": "middleware=[after_model(f)], f of the state and the runtime",
    "debug": "logging.getLogger('toolkeel') is the logger",
    "cache": "@tool(steps=[Cache(...)]) with Cache of toolkeel.steps keeps results",
}
"""By option of LangChain's agents that is refused: what to write instead."""


class CompiledAgent(Invoked):
    """An agent that takes and gives a state with messages; made by `create_agent`.

    Args:
        agent: The core's.
        options: See `AgentOptions`.
    """

    def __init__(self, agent: Agent[Any, Any], options: AgentOptions) -> None:
        self.agent, self.name = agent, options.get("name")
        self._store = options.get("store")
        self._saver = options.get("checkpointer")
        self._structured = options.get("response_format") is not None
        asks = [one for one in options.get("middleware") or () if hasattr(one, "interrupt")]
        self._asks = asks[0] if asks else HumanInTheLoopMiddleware({})
        self._reducers = _reducers(options)
        self._hooks = Hooks(options.get("middleware") or (), self._reducers)
        self._context_schema = options.get("context_schema")
        self.node = "model"

    def get_state(self, config: Mapping[str, Any]) -> StateSnapshot:
        """A thread as it is now.

        Args:
            config: Which one: its ``thread_id``.

        Raises:
            SetupError: the agent has no checkpointer.
        """
        if self._saver is None:
            raise SetupError("get_state() needs an agent with a checkpointer")
        snapshot = self._saver.snapshot(config)
        unseen: Runtime[Any] = Runtime(None, self._store, lambda value: None)
        waits = self._waiting(snapshot.waits, snapshot.values, unseen)
        return dataclasses.replace(snapshot, interrupts=tuple(waits))

    def _waiting(
        self, tickets: Sequence[Ticket], state: dict[str, Any], runtime: Any
    ) -> list[Interrupt]:
        """What waits: calls that are asked about, and what tools have asked."""
        asked = [one for one in tickets if not one.external]
        about = [self._asks.interrupt(asked, state, runtime)] if asked else []
        return [*about, *interrupts(tickets)]

    async def aget_state(self, config: Mapping[str, Any]) -> StateSnapshot:
        """`get_state`, to be awaited."""
        return self.get_state(config)

    __getattr__ = telling("langchain.CompiledAgent.")

    async def _begin(
        self, state: Any, config: Config, context: object
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """What the core's run begins with, its options, and the state without messages."""
        check_config(config)
        schema = self._context_schema
        if isinstance(context, Mapping) and schema is not None and not is_typeddict(schema):
            context = schema(**context)
        given: dict[str, Any] = {"deps": context, "store": self._store}
        given["inject"] = {"config": config or {}}
        if (limit := (config or {}).get("recursion_limit")) is not None:
            given["limits"] = RunLimits(requests=(limit + 1) // 2)
        session = self._saver.thread(config) if self._saver is not None else None
        given |= {} if session is None else {"session": session}
        if isinstance(state, Command):
            if session is None:
                raise SetupError("Command(resume=...) needs a checkpointer, which kept what waits")
            found = answered(state.resume, session.pending)
            given["decisions"] = found or self._asks.decide(state.resume, session.pending)
            return None, given, {}
        shared: dict[str, Any] = {}
        for key, value in state.items():
            if key != "messages":
                put(shared, key, value, self._reducers)
        said = convert_to_messages(state.get("messages", ()))
        begun: dict[str, Any] = {**shared, "messages": said}
        run: RunContext[Any] = RunContext(context, store=self._store)
        if await self._hooks.told("before_agent", begun, run) is not None:
            raise SetupError("before_agent: jump_to is not here; raise an exception")
        prompt = begun.pop("messages")
        given["state"] = begun
        return prompt, given, begun

    async def _ended(self, run: Run[Any], shared: dict[str, Any]) -> dict[str, Any]:
        result = run.result
        if result.reason == "limit":
            raise GraphRecursionError(
                "Recursion limit reached without hitting a stop condition: raise it by "
                'config={"recursion_limit": ...}'
            )
        state = {**shared, **run.context.state, "messages": convert_to_messages(result.messages)}
        state.pop(ANSWERS, None)
        if result.reason == "waiting":
            if self._saver is None:
                asked = result.pending[0]
                raise SetupError(
                    f"a call of {asked.tool!r} waits for a person ({asked.reason}), and nobody can "
                    "answer: give create_agent a checkpointer, and go on with Command(resume="
                    '{"decisions": [...]}); a picture or file that is your own program\'s says so '
                    'in its part: "extras": {"trusted": True}'
                )
            state[INTERRUPT] = self._waiting(result.pending, state, runtime_of(run.context))
        else:
            await self._hooks.told("after_agent", state, run.context)
        if self._structured and result.has_output:
            state["structured_response"] = result.output_value
        return state

    async def ainvoke(
        self, state: Any, config: Config = None, *, context: object = None
    ) -> dict[str, Any]:
        """Run to the end.

        Args:
            state: With ``messages``; tools may read and change the rest. Or
                ``Command(resume={"decisions": [...]})`` for calls that wait in the thread.
            config: Handed to tools that ask for a `RunnableConfig`; ``thread_id`` and
                ``recursion_limit`` count.
            context: The user's own object, handed to tools that ask for a `ToolRuntime`.

        Returns:
            The state as it is then, with every message, under ``structured_response`` the answer,
            if a `response_format` was asked for, and under ``__interrupt__`` what waits.

        Raises:
            GraphRecursionError: the model was asked as often as ``recursion_limit`` allows.
        """
        prompt, options, shared = await self._begin(state, config, context)
        run = self.agent.start(prompt, **options)
        await run
        return await self._ended(run, shared)

    async def astream(
        self,
        state: Any,
        config: Config = None,
        *,
        context: object = None,
        stream_mode: str | Sequence[str] = "updates",
    ) -> AsyncGenerator[Any, None]:
        """Run to the end, and tell what happens; see `stream`."""
        alone = isinstance(stream_mode, str)
        modes = _modes([stream_mode] if isinstance(stream_mode, str) else stream_mode)
        prompt, options, shared = await self._begin(state, config, context)
        session = options.get("session")
        before = session.messages if session is not None and session.exists else []
        seen = convert_to_messages([*before, *(prompt or ())])
        if "values" in modes:
            begun = {**shared, "messages": list(seen)}
            yield begun if alone else ("values", begun)
        run = self.agent.stream(prompt, **options)
        async for event in run:
            if isinstance(event, Replied | ToolFinished):
                seen += convert_to_messages([event.message])
            for mode in modes:
                for part in _parts(mode, event, {**shared, "messages": list(seen)}, self.node):
                    yield part if alone else (mode, part)
        asked = {key: v for key, v in (await self._ended(run, shared)).items() if key == INTERRUPT}
        if asked and "updates" in modes:
            yield asked if alone else ("updates", asked)

    def stream(self, state: Any, config: Config = None, **given: Any) -> Iterator[Any]:
        """Run to the end, and tell what happens as it does.

        Args:
            state: See `ainvoke`, as the others.
            config: The same.
            given: ``context``, and ``stream_mode``: ``updates``: what the model or a tool added;
                ``values``: the messages so far; ``messages``: pieces of replies; ``custom``: what
                tools write. Several give pairs of mode and part.
        """
        return iter(Pieces(partial(self.astream, state, config, **given)))


def _modes(asked: Sequence[str]) -> list[str]:
    if strange := [mode for mode in asked if mode not in MODES]:
        raise SetupError(f"stream_mode {strange[0]!r} is not here: there are {MODES}")
    return sorted(asked, key=MODES.index)


def _parts(mode: str, event: Event, state: dict[str, Any], node: str) -> Iterator[Any]:
    """What one event is in a mode; `state` is what there is by now, `node` what the model is called."""
    node = "tools" if isinstance(event, ToolFinished) else node
    match mode, event:
        case "updates", Replied(message=message) | ToolFinished(message=message):
            yield {node: {"messages": convert_to_messages([message])}}
        case "values", Replied() | ToolFinished():
            yield state
        case "messages", Streamed(delta=TextDelta(text=text)):
            yield AIMessage(text), {"langgraph_node": node}
        case "messages", Replied(message=message) if message.tool_calls:
            yield AIMessage("", message.tool_calls), {"langgraph_node": node}
        case "messages", ToolFinished(message=message):
            yield convert_to_messages([message])[0], {"langgraph_node": node}
        case "custom", Emitted(value=value):
            yield value


def create_agent(
    model: str | Model | ChatModel | Callable[..., Any],
    tools: Iterable[Toolish | Mapping[str, Any]] | None = (),
    *,
    system_prompt: str | SystemMessage | None = "",
    **options: Unpack[AgentOptions],
) -> CompiledAgent:
    """An agent: a model with tools, in a loop.

    Args:
        model: Name, core `Model`, or `ChatModel`; or what gives one before each request, of the
            state and the runtime.
        tools: What it may call; a provider's own tools may be written as the JSON it is sent.
        system_prompt: What it is told before anything else.
        options: See `AgentOptions`.

    Raises:
        SetupError: for middleware that would not be honoured.
        TypeError: for an option that nobody knows.
    """
    only_known(options, AgentOptions, "create_agent", _REFUSED)
    if callable(model) and not hasattr(model, "stream"):
        options["middleware"] = [*(options.get("middleware") or ()), choosing(model)]
        model = "offline"  # which nobody asks
    given: Any = model.model if isinstance(model, ChatModel) else model
    middleware = _middleware(options)
    held = _held(tools, middleware)
    telling = [one.telling for one in middleware if isinstance(one, HumanInTheLoopMiddleware)]
    asked, form = with_output_type(connect(given), options.get("response_format"))
    settings = model.settings if isinstance(model, ChatModel) else Settings()
    around_models, around_calls = steps_of(middleware, _reducers(options))
    words = system_prompt.text if isinstance(system_prompt, SystemMessage) else system_prompt
    agent: Agent[Any, Any] = Agent(
        asked,
        held,
        instructions=words or "",
        name=options.get("name") or "agent",
        settings=settings,
        output_type=form,
        steps=[*telling, *around_calls, updating(_reducers(options)), interrupting],
        model_steps=around_models,
    )
    return CompiledAgent(agent, options)


def _held(tools: Any, middleware: Sequence[Any]) -> Any:
    """The tools, with those of middleware; those that are asked about wait for it."""
    more = [tool for one in middleware for tool in getattr(one, "tools", ())]
    held: Any = tools if isinstance(tools, Toolset) else [*map(defined, tools or ())]
    held = [*held, *more] if more else held
    for one in middleware:
        held = one.asking(held) if isinstance(one, HumanInTheLoopMiddleware) else held
    return held


def _middleware(options: AgentOptions) -> list[Any]:
    """What stands around requests and calls.

    Raises:
        SetupError: it would not be honoured.
    """
    found = list(options.get("middleware") or ())
    for one in found:
        if not isinstance(one, AgentMiddleware | HumanInTheLoopMiddleware):
            raise SetupError(f"create_agent(middleware=...): {instead_of(type(one).__name__)}")
    return found


def create_react_agent(
    model: str | Model | ChatModel | Callable[..., Any],
    tools: Iterable[Toolish | Mapping[str, Any]] | ToolNode | None = (),
    *,
    prompt: str | SystemMessage | Callable[..., Any] | None = None,
    version: Literal["v1", "v2"] = "v2",
    **options: Unpack[AgentOptions],
) -> CompiledAgent:
    """`create_agent` by LangGraph's older name.

    Args:
        model: See `create_agent`.
        tools: The same, or a `ToolNode`.
        prompt: What it is told before anything else; or what gives the messages of each request,
            of the state, or of the state and the config.
        version: Makes no difference: calls run side by side in both.
        options: See `AgentOptions`.
    """
    held = tools.tools if isinstance(tools, ToolNode) else tools
    if callable(prompt):
        options["middleware"] = [*(options.get("middleware") or ()), prompted(prompt)]
        prompt = None
    made = create_agent(model, held, system_prompt=prompt, **options)
    made.node = "agent"
    return made


def _reducers(options: AgentOptions) -> Reducers | None:
    """What is said of the state's keys: by the agent, and by middleware."""
    middleware = _middleware(options)
    more = [getattr(one, "state_schema", None) for one in middleware]
    return reducers_of([options.get("state_schema"), *more])
