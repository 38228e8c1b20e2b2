"""`CodeInterpreterTool`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from toolkeel.builtin.code.interpreter import CodeInterpreterTool as CoreTool
from toolkeel.builtin.shell.local_shell import WIRE
from toolkeel.define.tool import AnyTool
from toolkeel.hosted import Hosted


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
