"""Built-in middleware under LangChain's names: call limits, retries, model fallback, a to-do list."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import RunStopped, SetupError
from toolkeel_compat.langchain.command import Command
from toolkeel_compat.langchain.messages import AIMessage, HumanMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.models.chat_models import ChatModel
from toolkeel_compat.langchain.runtime import InjectedToolCallId
from toolkeel_compat.langchain.tools import tool


class ModelCallLimitExceededError(Exception):
    """The limit of model calls is reached."""


class ToolCallLimitExceededError(Exception):
    """The limit of tool calls is reached."""


class _CallLimit(AgentMiddleware):
    """A limit on calls, counted in the messages.

    Args:
        thread_limit: Maximum in a thread; None for no limit.
        run_limit: Maximum since the last user message.
        exit_behavior: What to do at the limit.
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

    def _describe_reached(self, counted: Sequence[bool]) -> str:
        """Describe the limits that are reached. Each item of `counted` is True for a call of this run."""
        have = {"thread": len(counted), "run": sum(counted)}
        known = [(name, most) for name, most in self._limits.items() if most is not None]
        return ", ".join(f"{n} limit ({have[n]}/{most})" for n, most in known if have[n] >= most)


def _mark_current_replies(messages: Sequence[Any]) -> list[tuple[Any, bool]]:
    """Return the model's replies, each with True if it follows the last user message."""
    spoken = max((n for n, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return [(one, n > spoken) for n, one in enumerate(messages) if isinstance(one, AIMessage)]


class ModelCallLimitMiddleware(_CallLimit):
    """A limit on model calls; at the limit the run ends with a message or an exception."""

    _behaviors = ("end", "error")

    def __init__(self, *, exit_behavior: Literal["end", "error"] = "end", **limits: Any) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """End the run if a limit is reached."""
        reached = self._describe_reached(
            [fresh for _, fresh in _mark_current_replies(state["messages"])]
        )
        if not reached:
            return None
        text = f"Model call limits exceeded: {reached}"
        if self.exit_behavior == "error":
            raise ModelCallLimitExceededError(text)
        return {"jump_to": "end", "messages": [AIMessage(text)]}


class ToolCallLimitMiddleware(_CallLimit):
    """A limit on tool calls, or on calls of one tool. The model is informed at the limit.

    Args:
        tool_name: The tool to count; all by default.
        exit_behavior: ``continue``, or ``error`` to end the run.
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
        """The display name."""
        return super().name + (f"[{self.tool_name}]" if self.tool_name else "")

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the call unless a limit is reached."""
        counted, named = list[bool](), self.tool_name
        for reply, fresh in _mark_current_replies(request.state["messages"]):
            for call in reply.tool_calls:
                if call.id == request.tool_call.id:
                    break
                counted += [fresh] if named in (None, call.name) else []
        reached = self._describe_reached(counted)
        if not reached or named not in (None, request.tool_call.name):
            return handler(request)
        again = f"call {named!r} again" if named else "make additional tool calls"
        text = f"Tool call limit exceeded. Do not {again}."
        if self.exit_behavior == "error":
            raise RunStopped(text, ToolCallLimitExceededError(f"{text} Reached: {reached}"))
        return ToolMessage(text, request.tool_call.id, request.tool_call.name, "error")


class _Retry(AgentMiddleware):
    """Retries failed calls with exponential backoff.

    Args:
        max_retries: Maximum number of retries.
        retry_on: Exception types to retry, or a predicate of the exception.
        on_failure: ``continue``, ``error``, or a function that returns the final message's text.
        backoff: ``initial_delay`` and ``max_delay`` in seconds, ``backoff_factor`` and ``jitter``.
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
        self._should_retry = (lambda error: isinstance(error, retry_on)) if is_kind else retry_on
        self._backoff = default | backoff

    async def _call_with_retries(
        self, call: Callable[[], Awaitable[Any]], what: str
    ) -> tuple[Any, str]:
        """Return the result and an empty text, or None and the failure's text."""
        for tried in range(self.max_retries + 1):
            try:
                return await call(), ""
            except Exception as error:
                if self._should_retry(error) and tried < self.max_retries:
                    await asyncio.sleep(self._compute_delay(tried))
                    continue
                if self.on_failure == "error":
                    raise
                if callable(self.on_failure):
                    return None, self.on_failure(error)
                tries = f"{tried + 1} attempt{'s' if tried else ''}"
                return None, f"{what} failed after {tries} with {type(error).__name__}: {error}"
        raise AssertionError

    def _compute_delay(self, tried: int) -> float:
        """Return the seconds to wait before the next attempt."""
        backoff = self._backoff
        delay: float = backoff["initial_delay"] * (backoff["backoff_factor"] or 1.0) ** tried
        delay = min(delay, backoff["max_delay"])
        return delay * (random.uniform(0.75, 1.25) if backoff["jitter"] else 1.0)


class ToolRetryMiddleware(_Retry):
    """Retries a tool whose body raised. See `_Retry`.

    Args:
        tools: Tools to retry, as names or objects; all by default.
        options: ``max_retries``, ``retry_on``, ``on_failure`` and the backoff.
    """

    def __init__(self, *, tools: Sequence[Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._tools = None if tools is None else {getattr(one, "name", one) for one in tools}

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the call, with retries."""
        name = request.tool_call.name
        if self._tools is not None and name not in self._tools:
            return await handler(request)
        try:
            made, text = await self._call_with_retries(lambda: handler(request), f"Tool {name!r}")
        except Exception as error:
            raise RunStopped(f"{name!r} failed, and the run was ended.", error) from error
        again = "" if callable(self.on_failure) else ". Please try again."
        return made or ToolMessage(text + again, request.tool_call.id, name, "error")


class ModelRetryMiddleware(_Retry):
    """Retries a failed model call. See `_Retry`."""

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model, with retries."""
        made, text = await self._call_with_retries(lambda: handler(request), "Model call")
        return made or AIMessage(text)


class ModelFallbackMiddleware(AgentMiddleware):
    """Falls back to other models, in order, if one fails: the core's `Fallback`.

    Args:
        first_model: Name, core `Model`, or `ChatModel`.
        additional_models: Further models.
    """

    def __init__(self, first_model: Any, *additional_models: Any) -> None:
        all_models = (first_model, *additional_models)
        models = [one.model if isinstance(one, ChatModel) else one for one in all_models]
        self.model_step = Fallback(*models, when=lambda error: True)


class Todo(TypedDict):
    """A task with its status."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool
def write_todos(todos: list[Todo], id: Annotated[str, InjectedToolCallId]) -> Command:
    """Write down the tasks of a longer piece of work. The list takes the place of the one before."""
    message = ToolMessage(f"Updated todo list to {todos}", tool_call_id=id)
    return Command(update={"todos": todos, "messages": [message]})


class TodoListMiddleware(AgentMiddleware):
    """Lets the model maintain a to-do list, in the state under ``todos``.

    Args:
        system_prompt: The instructions about it.
        tool_description: The description of its tool.
    """

    def __init__(
        self,
        *,
        system_prompt: str = "Plan work of three steps or more with write_todos: mark a task "
        "in_progress before you begin it and completed as soon as it is done.",
        tool_description: str = write_todos.description,
    ) -> None:
        self.system_prompt, self.tool_description = system_prompt, tool_description
        self.tools = [dataclasses.replace(write_todos.tool, description=tool_description)]

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Append the instructions about the list to the system prompt."""
        prompt = "\n\n".join(filter(None, [request.system_prompt, self.system_prompt]))
        return await handler(request.override(system_prompt=prompt))
