"""Middleware that retries, asks another model, or keeps a to-do list, under LangChain's names."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import RunStopped
from toolkeel_compat.langchain.command import Command
from toolkeel_compat.langchain.messages import AIMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.models.chat_models import ChatModel
from toolkeel_compat.langchain.runtime import InjectedToolCallId
from toolkeel_compat.langchain.tools import tool


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
