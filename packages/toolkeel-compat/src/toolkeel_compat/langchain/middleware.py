"""Middleware of an agent, under LangChain's names: steps around requests and calls of the core."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._records.record import NOTHING, record
from toolkeel.agent.turn.steps import Ask
from toolkeel.context import RunContext
from toolkeel.define.tool import Step
from toolkeel.errors import SetupError
from toolkeel.events import Emitted
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest as CoreRequest
from toolkeel.providers.model_by_name import connect
from toolkeel_compat.langchain.chat_models import ChatModel, choice_of
from toolkeel_compat.langchain.command import Reducers, around, put, wrapping
from toolkeel_compat.langchain.history import applied
from toolkeel_compat.langchain.messages import SystemMessage, convert_to_messages
from toolkeel_compat.langchain.runtime import C, S, config_of

R = TypeVar("R", default=Any)
F = TypeVar("F", bound=Callable[..., Any])
HOOKS = ("before_agent", "before_model", "after_model", "after_agent")
WRAPS = ("wrap_model_call", "wrap_tool_call")
_told: ContextVar[list[Any]] = ContextVar("_told")
"""The instructions that middleware has given a request, if any has; else they are the agent's."""


@record
class Runtime(Generic[C]):
    """What middleware may see of the run besides its state.

    Args:
        context: The user's own object.
        store: Memory that outlives the run.
        stream_writer: Tells whoever watches the run.
    """

    context: C
    store: Any
    stream_writer: Callable[[object], None]


@dataclasses.dataclass(init=False)
class ModelRequest(Generic[C]):
    """A request to the model, as middleware sees it; `override` gives a changed one."""

    model: Any
    messages: list[Any]
    system_message: SystemMessage | None = None
    tool_choice: Any = None
    tools: Sequence[Any] = ()
    state: Mapping[str, Any] = NOTHING
    runtime: Any = None
    model_settings: Mapping[str, Any] = NOTHING
    response_format: Any = None

    def __init__(self, **given: Any) -> None:
        """As there, ``system_prompt`` may stand for ``system_message``.

        Args:
            given: By field.

        Raises:
            TypeError: there is no such field, or one is missing.
        """
        if "system_prompt" in given:
            prompt = given.pop("system_prompt")
            given["system_message"] = SystemMessage(prompt) if prompt else None
        known = {one.name for one in dataclasses.fields(self)}
        if wrong := sorted(given.keys() - known) or sorted({"model", "messages"} - given.keys()):
            raise TypeError(
                f"ModelRequest: {wrong}; it needs model and messages of {sorted(known)}"
            )
        vars(self).update(given)

    @property
    def system_prompt(self) -> str | None:
        """What the model is told before anything else."""
        return None if self.system_message is None else self.system_message.text

    def override(self, **changes: Any) -> ModelRequest[C]:
        """The same with other values; ``system_prompt`` gives a new system message."""
        return ModelRequest(**{**vars(self), **changes})


@record
class ModelResponse(Generic[R]):
    """What a model said: one message."""

    result: list[Any]
    structured_response: R | None = None


ModelCallResult = ModelResponse  # in annotations: a bare message is taken, too


class AgentMiddleware(Generic[S, C, R]):
    """Middleware as a class: write those of the hooks that you want, sync or with an ``a`` before.

    ``before_agent``, ``before_model``, ``after_model`` and ``after_agent`` are given state and
    runtime, and give what changes in the state; ``wrap_model_call`` and ``wrap_tool_call`` are given
    a request and what carries it out. What they change in the messages is what the model is shown;
    the transcript keeps what was said.
    """

    state_schema: Any = None
    tools: Sequence[Any] = ()
    model_step: Any = None

    @property
    def name(self) -> str:
        """For people."""
        return type(self).__name__


def _hook(kind: str) -> Callable[..., Any]:
    """The decorator that makes middleware of one function."""

    def decorate(func: Any = None, **options: Any) -> Any:
        def make(function: Callable[..., Any]) -> AgentMiddleware:
            name = f"a{kind}" if inspect.iscoroutinefunction(function) else kind
            known: dict[str, Any] = {
                key: options.pop(key) for key in ("state_schema", "tools") if key in options
            }
            named = options.pop("name", None) or function.__name__
            hook_config(can_jump_to=options.pop("can_jump_to", None))
            if options:
                raise TypeError(f"{kind} has no option {', '.join(map(repr, options))}")
            body = {name: staticmethod(function), "__doc__": function.__doc__, **known}
            made: AgentMiddleware = type(named, (AgentMiddleware,), body)()
            return made

        return make if func is None else make(func)

    decorate.__doc__ = f"Make middleware of a function that is its ``{kind}``."
    return decorate


before_agent, before_model = _hook("before_agent"), _hook("before_model")
after_model, after_agent = _hook("after_model"), _hook("after_agent")
wrap_model_call, wrap_tool_call = _hook("wrap_model_call"), _hook("wrap_tool_call")


def hook_config(*, can_jump_to: Sequence[str] | None = None) -> Callable[[F], F]:
    """For a hook of a class that goes elsewhere.

    Args:
        can_jump_to: Where; any hook may go to ``end``, and none elsewhere.

    Raises:
        SetupError: it names another place.
    """
    if strange := sorted({*(can_jump_to or ())} - {"end"}):
        raise SetupError(f"hook_config(can_jump_to={strange}): only 'end' is here")
    return lambda hook: hook


def dynamic_prompt(func: Callable[[ModelRequest], Any]) -> AgentMiddleware:
    """Make middleware of a function whose text is the system prompt of each request."""

    async def told(request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        prompt = await called(func, request)
        return await handler(request.override(system_prompt=prompt))

    made: AgentMiddleware = wrap_model_call(told)
    return made


def hook_of(one: object, kind: str) -> Callable[..., Any] | None:
    """A hook of middleware, async by choice; None if it has none."""
    return getattr(one, f"a{kind}", None) or getattr(one, kind, None)


async def called(function: Callable[..., Any], *given: Any) -> Any:
    """What a function gives; a plain one runs in a thread, so that it may wait."""
    if inspect.iscoroutinefunction(function):
        return await function(*given)
    return await asyncio.to_thread(function, *given)


def apart(request: CoreRequest, run: RunContext[Any]) -> tuple[list[Any], list[Any]]:
    """The instructions of a request, and what else is said in it."""
    own = _told.get(run.transcript[: run.loop_state.instruction_count])
    told = own if own and [*request.messages[:1]] == own else []
    return [*told], convert_to_messages([*request.messages[len(told) :]])


def runtime_of(run: RunContext[Any]) -> Runtime[Any]:
    """What middleware sees of a run."""
    return Runtime(run.deps, run.store, lambda value: run.tell(Emitted(*run.next(), "", value)))


class Hooks:
    """The ``before`` and ``after`` hooks of all middleware, as one step around each request.

    Args:
        middleware: In the order in which it was given: the first looks first, and last at replies.
        reducers: How values of the state are joined.
    """

    def __init__(self, middleware: Sequence[Any], reducers: Reducers | None = None) -> None:
        self._middleware = middleware
        self._reducers = reducers

    async def told(self, kind: str, state: dict[str, Any], run: RunContext[Any]) -> str | None:
        """Tell each of the hooks of one kind, and change the state; where one wants to go instead.

        Raises:
            SetupError: a hook gives no dict, or leads elsewhere than to the end.
        """
        turn = reversed if kind.startswith("after") else iter
        for one in turn(self._middleware):
            hook = hook_of(one, kind)
            said = await called(hook, state, runtime_of(run)) if hook is not None else None
            update, goal = _update(kind, said)
            for key, value in update.items():
                if key == "messages":
                    state[key] = applied(state[key], value)
                elif key != "jump_to":
                    put(state, key, value, self._reducers)
                    run.state[key] = state[key]
            if goal is not None:
                return "end"
        return None

    async def __call__(
        self, request: CoreRequest, run: RunContext[Any], proceed: Ask
    ) -> AssistantMessage:
        told, shown = apart(request, run)
        state: dict[str, Any] = {**run.state, "messages": shown}
        if await self.told("before_model", state, run) is None:
            asked = dataclasses.replace(request, messages=[*told, *state["messages"]])
            reply = await proceed(asked)
        else:
            last = state["messages"][-1]
            return last if isinstance(last, AssistantMessage) else AssistantMessage("")
        state["messages"] = [*state["messages"], *convert_to_messages([reply])]
        before = len(state["messages"])
        ended = await self.told("after_model", state, run)
        last = state["messages"][-1]
        if len(state["messages"]) != before and not (ended and isinstance(last, AssistantMessage)):
            raise SetupError("after_model: messages change only with jump_to='end', to the answer")
        if ended:
            return AssistantMessage(last.content) if isinstance(last, AssistantMessage) else reply
        return last if isinstance(last, AssistantMessage) else reply


def _update(kind: str, said: Any) -> tuple[Mapping[str, Any], str | None]:
    """What a hook changes in the state, and where it goes instead."""
    if not isinstance(said, Mapping | None):
        raise SetupError(f"{kind} gave {said!r:.80}; give a dict, or None")
    goal = (said or {}).get("jump_to")
    if goal not in (None, "end"):
        raise SetupError(f"jump_to={goal!r} of {kind}: only 'end' is here")
    return said or {}, goal


def _stepping(step: Any) -> AgentMiddleware:
    """Middleware that is one step around each request."""
    made = AgentMiddleware[Any, Any, Any]()
    made.model_step = step
    return made


def prompted(prompt: Callable[..., Any]) -> AgentMiddleware:
    """Middleware that shows the model what a function makes of the state, or of it and the config."""
    takes = len(inspect.signature(prompt).parameters)

    async def step(request: CoreRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        shown = await called(prompt, *(_state(request, run), config_of(run))[:takes])
        return await proceed(dataclasses.replace(request, messages=convert_to_messages(shown)))

    return _stepping(step)


def choosing(choose: Callable[..., Any]) -> AgentMiddleware:
    """Middleware that asks the model which a function of the state and the runtime gives."""

    async def step(request: CoreRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        chosen = await called(choose, _state(request, run), runtime_of(run))
        bound = {tool.name for tool in getattr(chosen, "tools", ())}
        tools = [tool for tool in request.tools if tool.name in bound or not bound]
        return await proceed(asking(chosen, dataclasses.replace(request, tools=tools)))

    return _stepping(step)


def _state(request: CoreRequest, run: RunContext[Any]) -> dict[str, Any]:
    """The state, with the messages of a request."""
    return {**run.state, "messages": apart(request, run)[1]}


def asking(model: Any, request: CoreRequest) -> CoreRequest:
    """A request to a model; a chat model brings its own sampling."""
    if not isinstance(model, ChatModel):
        return dataclasses.replace(request, model=connect(model))
    own = {name: getattr(model.settings, name) for name in ("temperature", "max_tokens")}
    more = {**model.settings.provider_options}
    settings = dataclasses.replace(request.settings, **own, provider_options=more)
    return dataclasses.replace(request, model=model.model, settings=settings)


def _wrap(one: object) -> Any:
    """The model step that the ``wrap_model_call`` of middleware is, or its own; None if it has none."""
    own, hook = getattr(one, "model_step", None), hook_of(one, WRAPS[0])
    if own is not None or hook is None:
        return own

    async def step(request: CoreRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        told, messages = apart(request, run)
        first: ModelRequest[Any] = ModelRequest(
            model=request.model, messages=messages, system_message=next(iter(convert_to_messages(told)), None),
            tool_choice=request.settings.tool_choice, tools=list(request.tools),
            state={**run.state, "messages": messages}, runtime=runtime_of(run),
        )  # fmt: skip

        async def send(asked: ModelRequest[Any]) -> ModelResponse[Any]:
            system = [] if asked.system_message is None else [asked.system_message]
            names = {getattr(tool, "name", None) for tool in asked.tools}
            tools = [tool for tool in request.tools if tool.name in names]
            if len(tools) < len(names):
                raise SetupError("wrap_model_call: tools may be left out, not added: give them all")
            sent = CoreRequest([*system, *asked.messages], tools, request.settings)
            sent = asking(asked.model, sent)
            settings = dataclasses.replace(
                sent.settings,
                tool_choice=choice_of(asked.tool_choice),
                provider_options={**sent.settings.provider_options, **asked.model_settings},
            )
            changed = dataclasses.replace(sent, settings=settings)
            token = _told.set(system)
            try:
                return ModelResponse(convert_to_messages([await proceed(changed)]))
            finally:
                _told.reset(token)

        said = await around(hook, first, send)
        reply = said.result[-1] if isinstance(said, ModelResponse) else said
        if not isinstance(reply, AssistantMessage):
            raise SetupError(f"wrap_model_call gave {said!r:.80}; give what the handler gives")
        return reply

    return step


def steps_of(middleware: Sequence[Any], reducers: Reducers | None) -> tuple[list[Any], list[Step]]:
    """Steps around requests, and steps around calls, outermost first."""
    told = any(hook_of(one, kind) for one in middleware for kind in HOOKS)
    models = [Hooks(middleware, reducers) if told else None, *map(_wrap, middleware)]
    calls = [wrapping(hook) for m in middleware if (hook := hook_of(m, WRAPS[1])) is not None]
    return [*filter(None, models)], calls
