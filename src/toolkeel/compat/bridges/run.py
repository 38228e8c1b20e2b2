"""What every bridge outwards does: run one of our tools for another library's call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel.agent.reply_assembly import new_call_id
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.messages import ToolCall, ToolMessage


class Ours:
    """A tool of ours that another library calls.

    Args:
        tool: Which one.
        run: What its injected parameters are filled from: state, store and values by name.
    """

    def __init__(self, tool: AnyTool, run: RunContext[Any] | None) -> None:
        self.tool = tool
        self._tools = Toolset([tool])
        self._like = run or RunContext()

    async def run_call(
        self,
        arguments: str | Mapping[str, object],
        context: object = None,
        call_id: str = "",
        **inject: object,
    ) -> ToolMessage:
        """Run it.

        Args:
            arguments: As the model wrote them, or as the library validated them.
            context: The user's own object; that of the run given beforehand if None.
            call_id: Id of the call, if the library tells it.
            inject: Further values by name.

        Raises:
            SetupError: the program is wired up wrongly.
        """
        like = self._like
        run: RunContext[Any] = RunContext(
            like.deps if context is None else context,
            state=like.state,
            store=like.store,
            inject={**like.inject, **inject},
            listeners=like.listeners,
            cancel=like.cancel,
        )
        call = ToolCall(call_id or new_call_id(), self.tool.name, arguments)
        [message] = await self._tools.run([call], run)
        return message
