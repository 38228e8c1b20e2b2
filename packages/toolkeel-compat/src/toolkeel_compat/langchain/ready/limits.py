"""Limits on calls of models and tools, under LangChain's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from toolkeel._records.record import record
from toolkeel_compat.langchain.messages import AIMessage, HumanMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware


class _LimitExceededError(Exception):
    """A limit is reached.

    Args:
        thread_count: Number of calls in the thread.
        run_count: Number of calls since the last user message.
        thread_limit: Maximum in a thread; None for no limit.
        run_limit: Maximum since the last user message; None for no limit.
    """

    def __init__(
        self, thread_count: int, run_count: int, thread_limit: int | None, run_limit: int | None
    ) -> None:
        self.thread_count, self.run_count = thread_count, run_count
        self.thread_limit, self.run_limit = thread_limit, run_limit
        super().__init__(self._describe())

    def _describe(self) -> str:
        """Return the text with the limits that are reached."""
        counts = (
            ("thread", self.thread_count, self.thread_limit),
            ("run", self.run_count, self.run_limit),
        )
        reached = [
            f"{name} limit ({have}/{most})"
            for name, have, most in counts
            if most is not None and have >= most
        ]
        return f"{_ENDED}{', '.join(reached)}"


class ModelCallLimitExceededError(_LimitExceededError):
    """The limit of model calls is reached."""


class ToolCallLimitExceededError(_LimitExceededError):
    """The limit of tool calls is exceeded.

    Args:
        counts: See `ModelCallLimitExceededError`.
        tool_name: The tool that is limited; None for all.
    """

    def __init__(self, *counts: Any, tool_name: str | None = None, **more: Any) -> None:
        self.tool_name = tool_name
        super().__init__(*counts, **more)

    def _describe(self) -> str:
        """Return the text with the limits that are exceeded."""
        counts = (
            ("thread", self.thread_count, self.thread_limit),
            ("run", self.run_count, self.run_limit),
        )
        exceeded = [
            f"{name} limit exceeded ({have}/{most} calls)"
            for name, have, most in counts
            if most is not None and have > most
        ]
        whose = f"'{self.tool_name}' tool" if self.tool_name else "Tool"
        return f"{whose} call limit reached: {' and '.join(exceeded)}."


class _CallLimit(AgentMiddleware):
    """A limit on calls, counted in the messages.

    Args:
        thread_limit: Maximum in a thread; None for no limit.
        run_limit: Maximum since the last user message.
        exit_behavior: What to do at the limit.

    Raises:
        ValueError: There is no limit, or no such behavior.
    """

    _behaviors: tuple[str, ...] = ()

    def __init__(
        self, *, thread_limit: int | None = None, run_limit: int | None = None, exit_behavior: str
    ) -> None:
        if thread_limit is None and run_limit is None:
            raise ValueError("At least one limit must be specified (thread_limit or run_limit)")
        if exit_behavior not in self._behaviors:
            raise ValueError(
                f"Invalid exit_behavior: {exit_behavior!r}. Must be one of {self._behaviors}"
            )
        self.thread_limit, self.run_limit = thread_limit, run_limit
        self.exit_behavior = exit_behavior

    def _is_reached(self, thread: int, run: int) -> bool:
        """Return True if one call more exceeds a limit."""
        return any(
            most is not None and have >= most
            for have, most in ((thread, self.thread_limit), (run, self.run_limit))
        )


_ENDED: Final = "Model call limits exceeded: "
"""How the answer begins that a limit gave instead of the model."""


class ModelCallLimitMiddleware(_CallLimit):
    """A limit on model calls; at the limit the run ends with a message or an exception."""

    _behaviors = ("end", "error")

    def __init__(self, *, exit_behavior: Literal["end", "error"] = "end", **limits: Any) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """End the run if a limit is reached."""
        thread = run = 0
        for one in state["messages"]:
            is_reply = isinstance(one, AIMessage) and not one.text.startswith(_ENDED)
            run = 0 if isinstance(one, HumanMessage) else run + is_reply
            thread += is_reply
        if not self._is_reached(thread, run):
            return None
        error = ModelCallLimitExceededError(thread, run, self.thread_limit, self.run_limit)
        if self.exit_behavior == "error":
            raise error
        return {"jump_to": "end", "messages": [AIMessage(str(error))]}


@record
class _Verdict:
    """What a limit says of the last reply with calls.

    Args:
        blocked: Ids of its calls beyond the limit.
        thread: Number of calls in the thread, with these.
        run: Number of calls since the last user message, with these.
    """

    blocked: frozenset[str] = frozenset()
    thread: int = 0
    run: int = 0


class ToolCallLimitMiddleware(_CallLimit):
    """A limit on tool calls, or on calls of one tool.

    Args:
        tool_name: The tool to count; all by default.
        exit_behavior: ``continue`` tells the model of each call beyond the limit, ``end`` runs no call of
            that reply and ends the run with a message, ``error`` with an exception.
        limits: ``thread_limit`` and ``run_limit``.

    Raises:
        ValueError: There is no limit, no such behavior, or the run's limit is above the thread's.
    """

    _behaviors = ("continue", "error", "end")

    def __init__(
        self, *, tool_name: str | None = None, exit_behavior: str = "continue", **limits: Any
    ) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)
        self.tool_name, thread, run = tool_name, self.thread_limit, self.run_limit
        if thread is not None and run is not None and run > thread:
            raise ValueError(f"run_limit ({run}) cannot exceed thread_limit ({thread}).")

    @property
    def name(self) -> str:
        """The display name."""
        return super().name + (f"[{self.tool_name}]" if self.tool_name else "")

    def _judge(self, messages: Sequence[Any]) -> _Verdict:
        """Count the calls of all replies, and return the verdict on the last one with calls."""
        verdict, thread, run = _Verdict(), 0, 0
        for one in messages:
            if isinstance(one, HumanMessage):
                run = 0
            if not isinstance(one, AIMessage) or not one.tool_calls:
                continue
            counted = [each for each in one.tool_calls if self.tool_name in (None, each.name)]
            before = thread
            blocked: list[str] = []
            for each in counted:
                if self._is_reached(thread, run):
                    blocked.append(each.id)
                else:
                    thread, run = thread + 1, run + 1
            run += len(blocked)
            verdict = _Verdict(frozenset(blocked), thread + len(blocked), run)
            if blocked and self.exit_behavior == "end":
                thread = before
        return verdict

    def _make_error(self, verdict: _Verdict) -> ToolCallLimitExceededError:
        counts = (verdict.thread, verdict.run, self.thread_limit, self.run_limit)
        return ToolCallLimitExceededError(*counts, tool_name=self.tool_name)

    def after_model(self, state: Mapping[str, Any], runtime: Any) -> None:
        """Raise if a call of the reply exceeds a limit that ends the run with an exception."""
        last = state["messages"][-1]
        if self.exit_behavior != "error" or not getattr(last, "tool_calls", ()):
            return
        verdict = self._judge(state["messages"])
        if verdict.blocked:
            raise self._make_error(verdict)

    def before_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:
        """End the run after a reply with a call beyond the limit, if that ends it."""
        messages = state["messages"]
        if self.exit_behavior != "end" or not isinstance(messages[-1], ToolMessage):
            return None
        verdict = self._judge(messages)
        if not verdict.blocked:
            return None
        return {"jump_to": "end", "messages": [AIMessage(str(self._make_error(verdict)))]}

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the call unless it exceeds the limit, or another one of its reply does that ends the run."""
        verdict, call = self._judge(request.state["messages"]), request.tool_call
        if call.id in verdict.blocked:
            again = (
                f"call '{self.tool_name}' again" if self.tool_name else "make additional tool calls"
            )
            text = f"Tool call limit exceeded. Do not {again}."
        elif verdict.blocked and self.exit_behavior == "end":
            text = (
                "Execution stopped before this tool call could run because another tool call in the "
                "same batch exceeded the limit."
            )
        else:
            return handler(request)
        return ToolMessage(text, call.id, call.name, "error")
