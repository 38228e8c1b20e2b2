"""Agent middleware under LangChain's names: steps around the core's model requests and tool calls."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._records.record import NOTHING, record
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext
from toolkeel.define.tool import Step
from toolkeel.errors import SetupError
from toolkeel.events import Emitted
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest as CoreRequest
from toolkeel_compat.check_options import call_in_thread
from toolkeel_compat.langchain.command import (
    Reducers,
    call_wrapper,
    make_wrapper_step,
    write_state,
)
from toolkeel_compat.langchain.history import apply_update
from toolkeel_compat.langchain.messages import SystemMessage, convert_to_messages
from toolkeel_compat.langchain.models.chat_models import convert_tool_choice, use_model
from toolkeel_compat.langchain.runtime import C, S
from toolkeel_compat.langchain.streaming.stream_modes import HookUpdate
from toolkeel_compat.langchain.threads.interrupts import CHANGES_KEY
from toolkeel_compat.langchain.threads.message_ids import (
    get_id,
    make_id_step,
    make_reply_id,
    read_transcript,
    record_changes,
    set_id,
)

R = TypeVar("R", default=Any)
F = TypeVar("F", bound=Callable[..., Any])
WRAPS = ("wrap_model_call", "wrap_tool_call")
JUMP_KEY = "__jumped_to_end__"
"""Key of a run's injected values: the answer with which a ``before_agent`` hook ended it; None for none."""
_request_instructions: ContextVar[list[Any]] = ContextVar("_told")
"""The instructions that middleware has given a request, if any has; else they are the agent's."""


@record
class Runtime(Generic[C]):
    """Middleware's view of the run besides its state.

    Args:
        context: The user's own object.
        store: Memory that outlives the run.
        stream_writer: Emits a value to the run's listeners.
        run_id: Id of the run, the same after it has waited; empty outside of runs.
    """

    context: C
    store: Any
    stream_writer: Callable[[object], None]
    run_id: str = ""


@dataclasses.dataclass(init=False)
class ModelRequest(Generic[C]):
    """A model request as middleware gets it; `override` returns a changed copy."""

    model: Any
    messages: list[Any]
    system_message: SystemMessage | None = None
    tool_choice: Any = None
    tools: Sequence[Any] = ()
    state: Mapping[str, Any] = NOTHING
    runtime: Any = None
    model_settings: Mapping[str, Any] = NOTHING
    response_format: Any = None

    def __init__(self, **fields: Any) -> None:
        """Create a request from its fields; as in LangChain, ``system_prompt`` sets ``system_message``.

        Args:
            fields: Values by field name.

        Raises:
            TypeError: A field is unknown, or a required one is missing.
        """
        if "system_prompt" in fields:
            prompt = fields.pop("system_prompt")
            fields["system_message"] = SystemMessage(prompt) if prompt else None
        known = {one.name for one in dataclasses.fields(self)}
        if wrong := sorted(fields.keys() - known) or sorted({"model", "messages"} - fields.keys()):
            raise TypeError(
                f"ModelRequest: {wrong}; it needs model and messages of {sorted(known)}"
            )
        vars(self).update(fields)

    @property
    def system_prompt(self) -> str | None:
        """The text of the system message."""
        return None if self.system_message is None else self.system_message.text

    def override(self, **changes: Any) -> ModelRequest[C]:
        """Return a copy with other values; ``system_prompt`` sets a new system message.

        ``messages`` may have any form `convert_to_messages` accepts.
        """
        if "messages" in changes:
            changes["messages"] = convert_to_messages(changes["messages"])
        return ModelRequest(**{**vars(self), **changes})


@record
class ModelResponse(Generic[R]):
    """A model's reply: a list of one message."""

    result: list[Any]
    structured_response: R | None = None


ModelCallResult = ModelResponse  # in annotations: a bare message is taken, too


class AgentMiddleware(Generic[S, C, R]):
    """Middleware as a class: define the hooks you need, sync, or async with an ``a`` prefix.

    ``before_agent``, ``before_model``, ``after_model`` and ``after_agent`` get the state and the runtime,
    and return changes of the state; ``wrap_model_call`` and ``wrap_tool_call`` get a request and the
    handler that runs it. What the first three return for messages changes the thread; the core's session
    has the originals.
    """

    state_schema: Any = None
    tools: Sequence[Any] = ()
    model_step: Any = None

    @property
    def name(self) -> str:
        """The display name."""
        return type(self).__name__


def _make_hook_decorator(kind: str) -> Callable[..., Any]:
    """Return the decorator that makes middleware of one hook function."""

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


before_agent = _make_hook_decorator("before_agent")
before_model = _make_hook_decorator("before_model")
after_model = _make_hook_decorator("after_model")
after_agent = _make_hook_decorator("after_agent")
wrap_model_call = _make_hook_decorator("wrap_model_call")
wrap_tool_call = _make_hook_decorator("wrap_tool_call")


def hook_config(*, can_jump_to: Sequence[str] | None = None) -> Callable[[F], F]:
    """Declare where a class's hook may jump.

    Args:
        can_jump_to: Targets; only ``end`` is supported, for every hook.

    Raises:
        SetupError: Another target is named.
    """
    if strange := sorted({*(can_jump_to or ())} - {"end"}):
        raise SetupError(f"hook_config(can_jump_to={strange}): only 'end' is here")
    return lambda hook: hook


def dynamic_prompt(func: Callable[[ModelRequest], Any]) -> AgentMiddleware:
    """Make middleware of a function that returns the system prompt of each request."""

    async def wrap(request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        prompt = await call_hook(func, request)
        return await handler(request.override(system_prompt=prompt))

    made: AgentMiddleware = wrap_model_call(wrap)
    return made


def find_hook(one: object, kind: str) -> Callable[..., Any] | None:
    """Return a middleware's hook, preferring the async one, or None if it has none."""
    return getattr(one, f"a{kind}", None) or getattr(one, kind, None)


async def call_hook(function: Callable[..., Any], *args: Any) -> Any:
    """Call a hook and return its result; run a sync hook in a thread, so that it may block."""
    if inspect.iscoroutinefunction(function):
        return await function(*args)
    return await call_in_thread(function, *args)


def split_instructions(
    request: CoreRequest, run: RunContext[Any], state: Mapping[str, Any] = NOTHING
) -> tuple[list[Any], list[Any]]:
    """Split a request's messages into its instructions and the others, with the changes of a state."""
    own = _request_instructions.get(run.transcript[: run.loop_state.instruction_count])
    instructions = own if own and [*request.messages[:1]] == own else []
    return [*instructions], read_transcript(request.messages[len(instructions) :], state)


def build_runtime(run: RunContext[Any]) -> Runtime[Any]:
    """Return middleware's view of a run."""
    emit = lambda value: run.emit(Emitted(*run.next_event_fields(), "", value))  # noqa: E731
    return Runtime(run.deps, run.store, emit, run.id)


class HookStep:
    """The ``before`` and ``after`` hooks of all middleware, as one step around each request.

    Args:
        middleware: In registration order: the first gets requests first and replies last.
        reducers: How to join values of the state.
    """

    def __init__(self, middleware: Sequence[Any], reducers: Reducers | None = None) -> None:
        self._middleware = middleware
        self._reducers = reducers
        kinds = ("before_model", "after_model")
        self._has_hooks = any(find_hook(one, kind) for one in middleware for kind in kinds)

    async def run_hooks(
        self,
        kind: str,
        state: dict[str, Any],
        run: RunContext[Any],
        report: Callable[[HookUpdate], None] | None = None,
    ) -> str | None:
        """Run all hooks of one kind and apply their changes to `state`. Return ``end`` if one jumps there.

        Args:
            kind: Name of the hooks.
            state: The state with its messages.
            run: The run.
            report: Called with what each hook returned; by default listeners of the run are.

        Raises:
            SetupError: A hook returned no dict, or jumps elsewhere than to the end.
        """
        turn = reversed if kind.startswith("after") else iter
        for one in turn(self._middleware):
            hook = find_hook(one, kind)
            if hook is None:
                continue
            returned = await call_hook(hook, state, build_runtime(run))
            update, goal = _read_update(kind, returned)
            name = getattr(one, "name", type(one).__name__)
            for key, value in update.items():
                if key == "messages":
                    before, state[key] = state[key], apply_update(state[key], value)
                    may_add = kind == "before_model" and goal is None
                    record_changes(run.state, before, state[key], may_add=may_add)
                elif key != "jump_to":
                    write_state(state, key, value, self._reducers)
                    run.state[key] = state[key]
            (report or partial(_emit, run))(HookUpdate(f"{name}.{kind}", returned))
            if goal is not None:
                return "end"
        return None

    async def __call__(
        self, request: CoreRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        if JUMP_KEY in run.inject:
            return _end_early(run.inject[JUMP_KEY], run)
        if not self._has_hooks and CHANGES_KEY not in run.state:
            return await proceed(request)
        instructions, shown = split_instructions(request, run, run.state)
        state: dict[str, Any] = {**run.state, "messages": shown}
        if await self.run_hooks("before_model", state, run) is None:
            asked = dataclasses.replace(request, messages=[*instructions, *state["messages"]])
            reply = await proceed(asked)
        else:
            return _end_early(state["messages"][-1], run)
        state["messages"] = [*state["messages"], *convert_to_messages([reply])]
        before = state["messages"]
        ended = await self.run_hooks("after_model", state, run)
        last = (state["messages"] or before)[-1]
        if {*map(id, state["messages"])} <= {*map(id, before[:-1])} and not reply.tool_calls:
            return reply  # whose removal is recorded
        is_kept = {*map(id, state["messages"][:-1])} <= {*map(id, before)}
        is_kept = is_kept and get_id(last) == get_id(reply)
        if not is_kept and not (ended and isinstance(last, AssistantMessage)):
            raise SetupError(
                "after_model: remove messages, but no reply with calls, or give the reply another content "
                "under its id; other messages change only with jump_to='end', to the answer"
            )
        if ended:
            if isinstance(last, AssistantMessage):
                return AssistantMessage(last.content, metadata=last.metadata)
            return reply
        return last if isinstance(last, AssistantMessage) else reply


def _end_early(last: Any, run: RunContext[Any]) -> AssistantMessage:
    """Return the answer of a run that a hook ends: the last message, or an empty one that no state shows."""
    if isinstance(last, AssistantMessage):
        return last
    reply: AssistantMessage = set_id(AssistantMessage(""), make_reply_id())
    changes: Any = run.state.get(CHANGES_KEY) or {}
    run.state[CHANGES_KEY] = {**changes, get_id(reply): None}
    return reply


def _emit(run: RunContext[Any], value: object) -> None:
    """Emit a value to the run's listeners."""
    if run.listeners:
        run.emit(Emitted(*run.next_event_fields(), "", value))


def _read_update(kind: str, returned: Any) -> tuple[Mapping[str, Any], str | None]:
    """Return a hook's changes of the state, and its jump target."""
    if not isinstance(returned, Mapping | None):
        raise SetupError(f"{kind} gave {returned!r:.80}; give a dict, or None")
    goal = (returned or {}).get("jump_to")
    if goal not in (None, "end"):
        raise SetupError(f"jump_to={goal!r} of {kind}: only 'end' is here")
    return returned or {}, goal


def _make_model_step(one: object) -> Any:
    """Return the model step for a middleware's ``wrap_model_call``, or its own step; None without one."""
    own, hook = getattr(one, "model_step", None), find_hook(one, WRAPS[0])
    if own is not None or hook is None:
        return own

    async def step(
        request: CoreRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        instructions, messages = split_instructions(request, run)
        first: ModelRequest[Any] = ModelRequest(
            model=request.model, messages=messages, system_message=next(iter(convert_to_messages(instructions)), None),
            tool_choice=request.settings.tool_choice, tools=list(request.tools),
            state={**run.state, "messages": messages}, runtime=build_runtime(run),
        )  # fmt: skip

        async def send(asked: ModelRequest[Any]) -> ModelResponse[Any]:
            system = [] if asked.system_message is None else [asked.system_message]
            offered = {tool.name: tool for tool in request.tools}
            names = [getattr(tool, "name", "") for tool in asked.tools]
            if not offered.keys() >= {*names}:
                raise SetupError("wrap_model_call: tools may be left out, not added: give them all")
            tools = [offered[name] for name in dict.fromkeys(names)]
            sent = CoreRequest([*system, *asked.messages], tools, request.settings)
            sent = use_model(asked.model, sent)
            settings = dataclasses.replace(
                sent.settings,
                tool_choice=convert_tool_choice(asked.tool_choice),
                extra_body={**sent.settings.extra_body, **asked.model_settings},
            )
            changed = dataclasses.replace(sent, settings=settings)
            token = _request_instructions.set(system)
            try:
                return ModelResponse(convert_to_messages([await proceed(changed)]))
            finally:
                _request_instructions.reset(token)

        response = await call_wrapper(hook, first, send)
        reply = response.result[-1] if isinstance(response, ModelResponse) else response
        if not isinstance(reply, AssistantMessage):
            raise SetupError(f"wrap_model_call gave {response!r:.80}; give what the handler gives")
        return reply

    return step


def build_steps(
    middleware: Sequence[Any], reducers: Reducers | None, name: str | None
) -> tuple[list[Any], list[Step]]:
    """Return the model steps and the tool-call steps of an agent's middleware, outermost first."""
    models = [HookStep(middleware, reducers), *map(_make_model_step, middleware)]
    calls = [
        make_wrapper_step(hook) for m in middleware if (hook := find_hook(m, WRAPS[1])) is not None
    ]
    around = make_id_step(at_model=False, name=name), make_id_step(at_model=True)
    return [around[0], *filter(None, models), around[1]], calls
