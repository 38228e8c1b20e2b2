"""`RunContext`: a tool's view of its run, under the names of Pydantic AI."""

from __future__ import annotations

import dataclasses
from contextvars import ContextVar
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel.context import RunContext as CoreRun
from toolkeel.context import ToolContext
from toolkeel.messages import UserMessage
from toolkeel_compat.missing import refuse_attributes
from toolkeel_compat.pydantic_ai.messages import get_values, to_model_messages
from toolkeel_compat.pydantic_ai.names import CONTEXT_HINTS
from toolkeel_compat.pydantic_ai.retries import count_retries
from toolkeel_compat.pydantic_ai.usage import RunUsage

_D = TypeVar("_D", default=Any)
approved: ContextVar[bool] = ContextVar("pydantic_ai_approved", default=False)
"""True while a call runs that a person has approved after `ApprovalRequired`."""
current_run: ContextVar[CoreRun[Any] | None] = ContextVar("pydantic_ai_run", default=None)
"""The run whose output is validated."""


@dataclasses.dataclass
class StateDeps(Generic[_D]):
    """Dependencies that are the state of a user interface.

    Args:
        state: The state.
    """

    state: _D


@refuse_attributes(CONTEXT_HINTS)
class RunContext(Generic[_D]):
    """The user's own object, and the run; request it by a parameter's type.

    Args:
        run: The core's run.
        call: The running call; None outside of calls.
    """

    def __init__(self, run: CoreRun[Any], call: ToolContext[Any] | None = None) -> None:
        self._run = run
        self.deps: _D = run.deps
        self.tool_call_id = None if call is None else call.call.id
        self.tool_name = None if call is None else call.tool_name
        self.tool_call_approved = approved.get()
        self.agent: Any = run.agent
        self.retry = count_retries(run).get(self.tool_name or "", 0)

    @property
    def model(self) -> Any:
        """The model of the run's agent."""
        return getattr(self.agent, "model", None)

    @property
    def usage(self) -> RunUsage:
        """What the run has used so far; runs inside its tools count already."""
        usage = RunUsage.from_core(self._run.usage, self._run.messages)
        usage.__dict__["is_bound"] = True
        return usage

    @property
    def messages(self) -> list[Any]:
        """The transcript so far."""
        return to_model_messages(self._run.messages, get_values(self._run))

    @property
    def prompt(self) -> str | None:
        """The text of the first message of the user."""
        said = (one.text for one in self._run.messages if isinstance(one, UserMessage))
        return next(said, None)

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> RunContext[Any]:
        """Create the context of the running call."""
        return RunContext(context.run, context)
