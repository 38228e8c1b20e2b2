"""What bridges share: one of our tools run for another library's call, and what validators refuse."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from pydantic import ValidationError

from toolkeel._records.tickets import Approver
from toolkeel.agent.reply_assembly import new_call_id
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.explain.pydantic_errors import pydantic_errors
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolCall, ToolMessage


class Ours:
    """A tool of ours that another library calls.

    Args:
        tool: Which one.
        run: What its injected parameters are filled from: state, store and values by name.
        lost: By attribute of the tool that cannot go along: what to write instead.

    Raises:
        SetupError: the tool has one of these.
    """

    def __init__(self, tool: AnyTool, run: RunContext[Any] | None, **lost: str) -> None:
        for name in lost:
            if getattr(tool, name):
                raise SetupError(f"{tool.name!r} has {name}=, which cannot go along: {lost[name]}")
        self.tool = tool
        self._tools = Toolset([tool])
        self._like = run or RunContext()

    async def run_call(
        self,
        arguments: str | Mapping[str, object],
        context: object = None,
        call_id: str = "",
        approver: Approver | None = None,
        state: MutableMapping[str, object] | None = None,
        **inject: object,
    ) -> ToolMessage:
        """Run it.

        Args:
            arguments: As the model wrote them, or as the library validated them.
            context: The user's own object; that of the run given beforehand if None.
            call_id: Id of the call, if the library tells it.
            approver: Asked about calls that need a person, if the run has nobody.
            state: The library's; that of the run if None.
            inject: Further values by name.

        Raises:
            SetupError: the program is wired up wrongly.
        """
        like = self._like
        run: RunContext[Any] = RunContext(
            like.deps if context is None else context,
            state=like.state if state is None else state,
            store=like.store or inject.get("store"),
            inject={**like.inject, **inject},
            listeners=like.listeners,
            cancel=like.cancel,
            approver=like.approver or approver,
        )
        call = ToolCall(call_id or new_call_id(), self.tool.name, arguments)
        [message] = await self._tools.run([call], run)
        return message


def refused(
    name: str, error: ValidationError, schema: Mapping[str, Any], arguments: Mapping[str, Any]
) -> ToolError:
    """What a tool's own validators refuse beyond its schema, for the model.

    Args:
        name: The tool's.
        error: What they said.
        schema: What the model was shown.
        arguments: What it gave.
    """
    return ToolError(invalid_arguments(name, pydantic_errors(error, schema, arguments)).text)
