"""Middleware that is ready, under LangChain's names: limits, retries, another model, a list of tasks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import RunStopped, SetupError
from toolkeel_compat.langchain.chat_models import ChatModel
from toolkeel_compat.langchain.command import Command
from toolkeel_compat.langchain.messages import AIMessage, HumanMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.runtime import InjectedToolCallId
from toolkeel_compat.langchain.tools import tool


class ModelCallLimitExceededError(Exception):
    """The model was asked as often as it may be."""


class ToolCallLimitExceededError(Exception):
    """Tools were called as often as they may be."""


class _Limit(AgentMiddleware):
    """How much is too much, counted in the messages.

    Args:
        thread_limit: At most in a thread; None for any number.
        run_limit: At most since a person spoke last.
        exit_behavior: What happens then.
    """

    _behaviors: tuple[str, ...] = ()

    def __init__(
        self, *, thread_limit: int | None = None, run_limit: int | None = None, exit_behavior: str
    ) -> None:
        if thread_limit is None and run_limit is None:
            raise ValueError("At least one limit must be specified (thread_limit or run_limit)")
        if exit_behavior not in self._behaviors:
            raise SetupError(f"exit_behavior={exit_behavior!r}: here it is {self._behaviors}")
        self._limits = {"thread": thread_limit, "run": run_limit}
        self.exit_behavior = exit_behavior

    def _reached(self, counted: Sequence[bool]) -> str:
        """Which limits are reached; of what is counted each says whether it is of this run."""
        have = {"thread": len(counted), "run": sum(counted)}
        known = [(name, most) for name, most in self._limits.items() if most is not None]
        return ", ".join(f"{n} limit ({have[n]}/{most})" for n, most in known if have[n] >= most)


def _replies(messages: Sequence[Any]) -> list[tuple[Any, bool]]:
    """Replies of the model, each with whether a person has not spoken since."""
    spoken = max((n for n, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return [(one, n > spoken) for n, one in enumerate(messages) if isinstance(one, AIMessage)]


class ModelCallLimitMiddleware(_Limit):
    """How often the model may be asked: then the run ends with a word, or an exception."""

    _behaviors = ("end", "error")

    def __init__(self, *, exit_behavior: Literal["end", "error"] = "end", **limits: Any) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Look whether there was enough."""
        reached = self._reached([fresh for _, fresh in _replies(state["messages"])])
        if not reached:
            return None
        text = f"Model call limits exceeded: {reached}"
        if self.exit_behavior == "error":
            raise ModelCallLimitExceededError(text)
        return {"jump_to": "end", "messages": [AIMessage(text)]}


class ToolCallLimitMiddleware(_Limit):
    """How often tools may be called, or one of them: then the model is told so.

    Args:
        tool_name: Which one; all by default.
        exit_behavior: ``continue``, or ``error``, which ends the run.
        limits: ``thread_limit`` and ``run_limit``.
    """

    _behaviors = ("continue", "error")

    def __init__(
        self, *, tool_name: str | None = None, exit_behavior: str = "continue", **limits: Any
    ) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)
        self.tool_name = tool_name

    @property
    def name(self) -> str:
        """For people."""
        return super().name + (f"[{self.tool_name}]" if self.tool_name else "")

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run it, if there was not enough."""
        counted, named = list[bool](), self.tool_name
        for reply, fresh in _replies(request.state["messages"]):
            for call in reply.tool_calls:
                if call.id == request.tool_call.id:
                    break
                counted += [fresh] if named in (None, call.name) else []
        reached = self._reached(counted)
        if not reached or named not in (None, request.tool_call.name):
            return handler(request)
        again = f"call {named!r} again" if named else "make additional tool calls"
        text = f"Tool call limit exceeded. Do not {again}."
        if self.exit_behavior == "error":
            raise RunStopped(text, ToolCallLimitExceededError(f"{text} Reached: {reached}"))
        return ToolMessage(text, request.tool_call.id, request.tool_call.name, "error")


class _Retry(AgentMiddleware):
    """Tries again what failed.

    Args:
        max_retries: How often.
        retry_on: Which exceptions, or a function that says so of one.
        on_failure: ``continue``, ``error``, or a function whose text is told in the end.
        backoff: ``initial_delay``, ``backoff_factor``, ``max_delay`` and ``jitter``.
    """

    def __init__(
        self,
        *,
        max_retries: int = 2,
        retry_on: Any = Exception,
        on_failure: Literal["continue", "error"] | Callable[[Exception], str] = "continue",
        **backoff: Any,
    ) -> None:
        default = {"initial_delay": 1.0, "backoff_factor": 2.0, "max_delay": 60.0, "jitter": True}
        if strange := sorted(backoff.keys() - default.keys()):
            raise TypeError(f"{type(self).__name__} has no option {', '.join(map(repr, strange))}")
        self.max_retries, self.on_failure = max_retries, on_failure
        is_kind = isinstance(retry_on, type | tuple)
        self._again = (lambda error: isinstance(error, retry_on)) if is_kind else retry_on
        self._backoff = default | backoff

    async def _tried(self, ask: Callable[[], Awaitable[Any]], what: str) -> tuple[Any, str]:
        """What came of it in the end, or what is told of the failure."""
        for tried in range(self.max_retries + 1):
            try:
                return await ask(), ""
            except Exception as error:
                if self._again(error) and tried < self.max_retries:
                    await asyncio.sleep(self._delay(tried))
                    continue
                if self.on_failure == "error":
                    raise
                if callable(self.on_failure):
                    return None, self.on_failure(error)
                tries = f"{tried + 1} attempt{'s' if tried else ''}"
                return None, f"{what} failed after {tries} with {type(error).__name__}: {error}"
        raise AssertionError

    def _delay(self, tried: int) -> float:
        backoff = self._backoff
        delay: float = backoff["initial_delay"] * (backoff["backoff_factor"] or 1.0) ** tried
        delay = min(delay, backoff["max_delay"])
        return delay * (random.uniform(0.75, 1.25) if backoff["jitter"] else 1.0)


class ToolRetryMiddleware(_Retry):
    """Runs a tool again whose body raised; see `_Retry`.

    Args:
        tools: Which ones, by name or as they are; all by default.
        options: ``max_retries``, ``retry_on``, ``on_failure`` and how long to wait.
    """

    def __init__(self, *, tools: Sequence[Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._tools = None if tools is None else {getattr(one, "name", one) for one in tools}

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run it, and again."""
        name = request.tool_call.name
        if self._tools is not None and name not in self._tools:
            return await handler(request)
        try:
            made, text = await self._tried(lambda: handler(request), f"Tool {name!r}")
        except Exception as error:
            raise RunStopped(f"{name!r} failed, and the run was ended.", error) from error
        again = "" if callable(self.on_failure) else ". Please try again."
        return made or ToolMessage(text + again, request.tool_call.id, name, "error")


class ModelRetryMiddleware(_Retry):
    """Asks a model again that failed; see `_Retry`."""

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Ask it, and again."""
        made, text = await self._tried(lambda: handler(request), "Model call")
        return made or AIMessage(text)


class ModelFallbackMiddleware(AgentMiddleware):
    """Asks other models, in order, where one fails: the core's `Fallback`.

    Args:
        first_model: Name, core `Model`, or `ChatModel`.
        additional_models: More of them.
    """

    def __init__(self, first_model: Any, *additional_models: Any) -> None:
        given = (first_model, *additional_models)
        models = [one.model if isinstance(one, ChatModel) else one for one in given]
        self.model_step = Fallback(*models, when=lambda error: True)


class Todo(TypedDict):
    """A task: what, and how far it is."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool
def write_todos(todos: list[Todo], id: Annotated[str, InjectedToolCallId]) -> Command:
    """Write down the tasks of a longer piece of work; the list takes the place of the one before."""
    told = ToolMessage(f"Updated todo list to {todos}", tool_call_id=id)
    return Command(update={"todos": todos, "messages": [told]})


class TodoListMiddleware(AgentMiddleware):
    """Lets the model keep a list of tasks, in the state under ``todos``.

    Args:
        system_prompt: What the model is told of it.
    """

    tools = (write_todos,)

    def __init__(
        self,
        *,
        system_prompt: str = "Plan work of three steps or more with write_todos: mark a task "
        "in_progress before you begin it and completed as soon as it is done.",
    ) -> None:
        self.system_prompt = system_prompt

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Tell the model of the list."""
        told = "\n\n".join(filter(None, [request.system_prompt, self.system_prompt]))
        return await handler(request.override(system_prompt=told))
