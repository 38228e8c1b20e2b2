"""Limits on calls of models and tools, under LangChain's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from toolkeel_compat.langchain.messages import AIMessage, ToolMessage
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.threads.interrupts import COUNTS_KEY


class _LimitExceededError(Exception):
    """A limit is reached.

    Args:
        thread_count: Number of calls in the thread.
        run_count: Number of calls in the run.
        thread_limit: Maximum in a thread; None for no limit.
        run_limit: Maximum in a run; None for no limit.
    """

    def __init__(
        self, thread_count: int, run_count: int, thread_limit: int | None, run_limit: int | None
    ) -> None:
        self.thread_count, self.run_count = thread_count, run_count
        self.thread_limit, self.run_limit = thread_limit, run_limit
        super().__init__(self._describe())

    def _describe(self) -> str:
        """Return the text with the limits that are reached."""
        raise NotImplementedError

    def _list_limits(self) -> list[tuple[str, int, int]]:
        """Return name, count and maximum of each limit that is reached."""
        counts = (
            ("thread", self.thread_count, self.thread_limit),
            ("run", self.run_count, self.run_limit),
        )
        return [
            (name, have, most) for name, have, most in counts if most is not None and have >= most
        ]


class ModelCallLimitExceededError(_LimitExceededError):
    """The limit of model calls is reached."""

    def _describe(self) -> str:
        reached = [f"{name} limit ({have}/{most})" for name, have, most in self._list_limits()]
        return f"Model call limits exceeded: {', '.join(reached)}"


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
        exceeded = [
            f"{name} limit exceeded ({have}/{most} calls)"
            for name, have, most in self._list_limits()
            if have > most
        ]
        whose = f"'{self.tool_name}' tool" if self.tool_name else "Tool"
        return f"{whose} call limit reached: {' and '.join(exceeded)}."


@dataclasses.dataclass(frozen=True)
class _Count:
    """What a limit has counted until now; the state has it as JSON.

    Args:
        run_id: The last run.
        thread: Number of calls in the thread; of tool calls, those that ran.
        run: Number of calls in that run.
        blocked: Ids of the calls beyond the limit in the last reply with calls.
        answer: What ends the run when that reply's calls have results; empty if nothing does.
    """

    run_id: str
    thread: int = 0
    run: int = 0
    blocked: Sequence[str] = ()
    answer: str = ""


class CallLimit(AgentMiddleware):
    """A limit on calls, counted in the state of the thread: messages may be removed or summarized.

    Args:
        thread_limit: Maximum in a thread; None for no limit.
        run_limit: Maximum in a run.
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

    def _read_count(self, state: Mapping[str, Any], run_id: str) -> _Count:
        """Return what this limit has counted in the thread, and in a run."""
        known = (state.get(COUNTS_KEY) or {}).get(self.name)
        if known is None:
            return _Count(run_id)
        count = _Count(**known)
        return count if count.run_id == run_id else _Count(run_id, count.thread)

    def _write_count(self, state: Mapping[str, Any], count: _Count) -> dict[str, Any]:
        """Return the change of the state that keeps a count."""
        known = state.get(COUNTS_KEY) or {}
        return {COUNTS_KEY: {**known, self.name: dataclasses.asdict(count)}}


class ModelCallLimitMiddleware(CallLimit):
    """A limit on model calls; at the limit the run ends with a message or an exception."""

    _behaviors = ("end", "error")

    def __init__(self, *, exit_behavior: Literal["end", "error"] = "end", **limits: Any) -> None:
        super().__init__(exit_behavior=exit_behavior, **limits)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """End the run if a limit is reached."""
        count = self._read_count(state, runtime.run_id)
        if not self._is_reached(count.thread, count.run):
            return None
        limits = (self.thread_limit, self.run_limit)
        error = ModelCallLimitExceededError(count.thread, count.run, *limits)
        if self.exit_behavior == "error":
            raise error
        return {"jump_to": "end", "messages": [AIMessage(str(error))]}

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        """Count the call."""
        count = self._read_count(state, runtime.run_id)
        more = dataclasses.replace(count, thread=count.thread + 1, run=count.run + 1)
        return self._write_count(state, more)


class ToolCallLimitMiddleware(CallLimit):
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

    def after_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:
        """Count the calls of the reply, and remember which of them exceed the limit; None without calls.

        Raises:
            ToolCallLimitExceededError: One does, and that ends the run with an exception.
        """
        calls = getattr(state["messages"][-1], "tool_calls", ())
        if not calls:
            return None
        before = self._read_count(state, runtime.run_id)
        thread, run = before.thread, before.run
        blocked: list[str] = []
        for each in calls:
            if self.tool_name not in (None, each.name):
                continue
            if self._is_reached(thread, run):
                blocked.append(each.id)
            else:
                thread, run = thread + 1, run + 1
        run += len(blocked)
        answer = ""
        if blocked and self.exit_behavior != "continue":
            counts = (thread + len(blocked), run, self.thread_limit, self.run_limit)
            error = ToolCallLimitExceededError(*counts, tool_name=self.tool_name)
            if self.exit_behavior == "error":
                raise error
            thread, answer = before.thread, str(error)  # none of the calls runs
        return self._write_count(state, _Count(runtime.run_id, thread, run, blocked, answer))

    def before_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:
        """End the run after a reply with a call beyond the limit, if that ends it."""
        count = self._read_count(state, runtime.run_id)
        if not count.answer or not isinstance(state["messages"][-1], ToolMessage):
            return None
        return {"jump_to": "end", "messages": [AIMessage(count.answer)]}

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the call unless it exceeds the limit, or another one of its reply does that ends the run."""
        call, known = request.tool_call, (request.state.get(COUNTS_KEY) or {}).get(self.name) or {}
        if call.id in known.get("blocked", ()):
            again = (
                f"call '{self.tool_name}' again" if self.tool_name else "make additional tool calls"
            )
            text = f"Tool call limit exceeded. Do not {again}."
        elif known.get("answer"):
            text = (
                "Execution stopped before this tool call could run because another tool call in the "
                "same batch exceeded the limit."
            )
        else:
            return handler(request)
        return ToolMessage(text, call.id, call.name, "error")
