"""What OpenAI hosts, under the names of the OpenAI Agents SDK: code, files to search, computers."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel.builtin.code.interpreter import CodeInterpreterTool as CoreTool
from toolkeel.builtin.computer import tool as core
from toolkeel.builtin.shell.local_shell import WIRE
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.define.tool import AnyTool
from toolkeel.hosted import Hosted

__all__ = [
    "AsyncComputer", "Button", "CodeInterpreterTool", "Computer", "ComputerTool",
    "ComputerToolSafetyCheckData", "Filters", "ImageGenerationToolConfig", "RankingOptions",
]  # fmt: skip


@dataclasses.dataclass(eq=False)
class CodeInterpreterTool:
    """Runs Python at OpenAI, in a container of its configuration; at others in a small one here.

    Args:
        tool_config: OpenAI's own: ``{"type": "code_interpreter", "container": ...}``.
    """

    tool_config: Mapping[str, Any]
    name = "code_interpreter"

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        made = CoreTool(where="auto").tool
        assert made.hosted is not None
        there = dataclasses.replace(made.hosted.natives[WIRE], body=dict(self.tool_config))
        return dataclasses.replace(made, hosted=Hosted({WIRE: there}))


ImageGenerationToolConfig: TypeAlias = dict[str, Any]
"""The hosted tool's JSON; `ImageGenerationTool` refuses keys that it does not have."""


@record
class RankingOptions:
    """How found passages are ranked."""

    ranker: str | None = None
    score_threshold: float | None = None


@record
class Filters:
    """Which documents are searched."""

    metadata: Mapping[str, Any] | None = None
    file_ids: Sequence[str] | None = None


class Computer:
    """A computer of a program's own, with the methods of the SDK, or the core's small interface."""


AsyncComputer = Computer
"""The same: methods may be async."""
Button: TypeAlias = Literal["left", "right", "wheel", "back", "forward"]


@record
class ComputerToolSafetyCheckData:
    """What a safety check function is given.

    Args:
        ctx_wrapper: The user's own object, and what was spent.
        agent: Whose run it is.
        tool_call: The call.
        safety_check: The provider's warning: ``id``, ``code``, ``message``.
    """

    ctx_wrapper: RunContextWrapper[Any]
    agent: Any
    tool_call: Any
    safety_check: core.SafetyCheck


@dataclasses.dataclass(eq=False)
class ComputerTool:
    """A computer as a tool; `tool` is the core's.

    Args:
        computer: Of the small or the full interface.
        on_safety_check: Asked about each warning of the provider's; without it a call with
            warnings needs approval.
    """

    computer: Any
    on_safety_check: Callable[[ComputerToolSafetyCheckData], bool | Awaitable[bool]] | None = None
    name = "computer"

    def __post_init__(self) -> None:
        check = self._check if self.on_safety_check is not None else None
        self.tool: AnyTool = core.ComputerTool(self.computer, on_safety_check=check).tool

    def _check(self, check: core.SafetyCheck) -> bool | Awaitable[bool]:
        assert self.on_safety_check is not None
        context = check.context
        wrapper = RunContextWrapper.from_tool_context(context)
        data = ComputerToolSafetyCheckData(wrapper, context.agent, context.call, check)
        return self.on_safety_check(data)
