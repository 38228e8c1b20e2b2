"""Shared by the bridges: run one of our tools for another library, and explain validation errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, MutableMapping
from typing import Any

from pydantic import ValidationError

from toolkeel._records.tickets import Approver, Ticket
from toolkeel.agent.reply_assembly import make_call_id
from toolkeel.call.conversation_labels import ConversationLabels
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.explain.pydantic_errors import pydantic_errors
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.tool import AnyTool, Prepared, Proceed
from toolkeel.errors import Refused, SetupError, ToolError
from toolkeel.messages import ToolCall, ToolMessage

_LABELS = ConversationLabels()


class CoreToolRunner:
    """Runs one of our tools for another library.

    Args:
        tool: The tool.
        run: Source of injected parameters: state, store and values by name.
        lost: By attribute of the tool that cannot be converted: what to write instead.

    Raises:
        SetupError: The tool has one of these attributes.
    """

    def __init__(self, tool: AnyTool, run: RunContext[Any] | None, **lost: str) -> None:
        for name in lost:
            if getattr(tool, name):
                raise SetupError(f"{tool.name!r} has {name}=, which cannot go along: {lost[name]}")
        self.tool = tool
        self._tools = Toolset([tool])
        self._looking = Toolset([dataclasses.replace(tool, steps=(_StopBeforeBody(), *tool.steps))])
        self._like, self._is_shared = run or RunContext(), run is not None

    async def run_call(
        self,
        arguments: str | Mapping[str, object],
        context: object = None,
        call_id: str = "",
        approver: Approver | None = None,
        conversation: object = None,
        state: MutableMapping[str, object] | None = None,
        **inject: object,
    ) -> ToolMessage:
        """Run the tool.

        Args:
            arguments: As the model wrote them, or as the library validated them.
            context: The user's own object; that of the run if None.
            call_id: Id of the call, if the library has one.
            approver: Decides on calls that need a person, if the run has no approver.
            conversation: An object that lives as long as the conversation, or its name: its calls
                share what they have read; those of the run if None.
            state: The library's state; that of the run if None.
            inject: Further values by name.

        Raises:
            SetupError: The program is set up wrongly.
        """
        run = self._make_run(context, approver, conversation, state, inject)
        call = ToolCall(call_id or make_call_id(), self.tool.name, arguments)
        [message] = await self._tools.run([call], run)
        return message

    async def find_ticket(
        self,
        arguments: str | Mapping[str, object],
        context: object = None,
        call_id: str = "",
        conversation: object = None,
    ) -> Ticket | None:
        """Return the ticket of a call that needs approval, by its final arguments; None if it does not.

        Steps and guards run, the body does not.

        Args:
            arguments: As the model wrote them, or as the library validated them.
            context: The user's own object; that of the run if None.
            call_id: Id of the call, if the library has one.
            conversation: See `run_call`.
        """
        asked: list[Ticket] = []

        def refuse(ticket: Ticket) -> bool:
            asked.append(ticket)
            return False

        run = self._make_run(context, None, conversation, None, {})
        run.approver = refuse
        call = ToolCall(call_id or make_call_id(), self.tool.name, arguments)
        await self._looking.run([call], run)
        return asked[0] if asked else None

    def _make_run(
        self,
        context: object,
        approver: Approver | None,
        conversation: object,
        state: MutableMapping[str, object] | None,
        inject: Mapping[str, object],
    ) -> RunContext[Any]:
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
        if conversation is None and self._is_shared:
            run.taint = like.get_taint()
        _LABELS.join(run, conversation)
        return run


class _StopBeforeBody:
    """A step after approval that does not run the call."""

    place = "limit"

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        raise Refused("only looked at")


def explain_refusal(
    name: str, error: ValidationError, schema: Mapping[str, Any], arguments: Mapping[str, Any]
) -> ToolError:
    """Return an error for the model about arguments that a tool's own validators refuse.

    Args:
        name: The tool's name.
        error: The validation error.
        schema: The schema the model got.
        arguments: The model's arguments.
    """
    return ToolError(invalid_arguments(name, pydantic_errors(error, schema, arguments)).text)
