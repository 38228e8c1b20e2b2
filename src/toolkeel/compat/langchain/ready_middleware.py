"""Middleware that is ready, under LangChain's names: limits, another model, a list of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from toolkeel.agent.turn.ready_steps import Fallback
from toolkeel.compat.langchain.chat_models import ChatModel
from toolkeel.compat.langchain.messages import AIMessage, HumanMessage, ToolMessage
from toolkeel.compat.langchain.middleware import AgentMiddleware
from toolkeel.compat.langchain.runtime import InjectedToolCallId
from toolkeel.compat.langchain.tools import tool
from toolkeel.compat.langchain.wrapping import Command
from toolkeel.errors import RunStopped, SetupError


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
