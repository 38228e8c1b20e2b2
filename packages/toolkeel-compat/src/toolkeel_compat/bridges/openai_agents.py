"""The OpenAI Agents SDK's tools become ours, and ours theirs.

``pip install 'toolkeel[openai-agents]'``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.tickets import Approver, Decision, Ticket
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.steps import guard
from toolkeel.call.steps.taint import can_act
from toolkeel.content import Block, Content, Data, File, Image, Text, data_url
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.tool import AnyTool, ApprovalOption, Enabled, Prepared, Proceed, Step, Tool
from toolkeel.errors import RunStopped, SetupError, TimedOut
from toolkeel.messages import ToolOutput
from toolkeel.providers.wire.plain_json import arguments_text, dumps
from toolkeel_compat.bridges.run import CoreToolRunner
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.content_blocks import read_fields, to_block

with needs_extra("toolkeel_compat.bridges.openai_agents", "openai-agents"):
    import agents  # pyright: ignore[reportMissingImports]
    from agents.tool_context import (  # pyright: ignore[reportMissingImports]
        ToolContext as TheirContext,
    )

_MOST_ASKED = 1000
"""Calls of a tool that a person is asked about at once."""
_ENDS_RUN_HINT = 'there Agent(tool_use_behavior={"stop_at_tool_names": [...]}) says so'


def from_openai_agents(theirs: agents.FunctionTool) -> AnyTool:
    """Convert a tool of the SDK, with its guardrails, `is_enabled` and timeouts, to one of ours.

    Its body sees the run's context. What its `failure_error_function` says is the result; without
    one, a crash is told in a masked sentence. What its `custom_data_extractor` gives is the artifact.
    A tool that may need approval always asks here.

    Args:
        theirs: A `FunctionTool`; hosted tools run at their provider and cannot come along.

    Raises:
        SetupError: if it is something else.
    """
    if not isinstance(theirs, agents.FunctionTool):
        raise SetupError(f"from_openai_agents takes a FunctionTool, not a {type(theirs).__name__}")

    async def invoke(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
        text = dumps(arguments)
        around = _make_context(context, text)
        output = await theirs.on_invoke_tool(around, text)
        if theirs.custom_data_extractor is None:
            return _convert_output(output)
        item = {"type": "function_call_output", "call_id": context.call.id, "output": output}
        about = agents.FunctionToolCustomDataContext(around, theirs, output, item)
        return ToolOutput(
            _convert_output(output), await maybe_await(theirs.custom_data_extractor(about))
        )

    steps: list[Step] = [
        _convert_input_guardrail(guardrail) for guardrail in theirs.tool_input_guardrails or ()
    ]
    outputs = theirs.tool_output_guardrails or ()
    steps += [_convert_output_guardrail(guardrail) for guardrail in reversed(outputs)]
    steps.append(partial(_handle_timeout, theirs))
    made = Tool.from_schema(
        theirs.name,
        theirs.description,
        theirs.params_json_schema,
        invoke,
        enabled=_convert_enabled(theirs),
        steps=steps,
        timeout=theirs.timeout_seconds,
    )
    return dataclasses.replace(made, approval=_convert_approval(theirs))


def to_openai_agents(ours: object, *, run: RunContext[Any] | None = None) -> agents.FunctionTool:
    """Convert one of our tools, with its guards, to a `FunctionTool` of the SDK.

    The model's arguments come as it wrote them and are checked here. A failure's text is the result.
    A call that needs a person interrupts the run, as there, judged by its final arguments and by what
    the calls of the run before have read; an artifact becomes the item's
    ``custom_data["artifact"]``.

    Args:
        ours: A tool of any kind this package knows, or a function.
        run: What its injected parameters are filled from, beside the SDK's context.

    Raises:
        SetupError: it ends the run.
    """
    tool = as_tool(ours)
    may_ask = callable(tool.approval) or (tool.approval is None and can_act(tool))
    inner, artifacts = CoreToolRunner(tool, run, ends_run=_ENDS_RUN_HINT), dict[str, object]()
    approvals = _Approvals(inner)

    async def on_invoke_tool(context: Any, arguments: str) -> Any:
        call_id, usage = context.tool_call_id, getattr(context, "usage", None)
        approver = approvals.take(call_id)
        message = await inner.run_call(arguments, context.context, call_id, approver, usage)
        if message.artifact is not None:
            artifacts[call_id] = message.artifact
        return message.text if message.failed else _to_sdk_output(message.content)

    def custom_data(data: Any) -> dict[str, object]:
        artifact = artifacts.pop(data.tool_context.tool_call_id, None)
        return {} if artifact is None else {"artifact": artifact}

    return agents.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=on_invoke_tool,
        strict_json_schema=False,
        needs_approval=tool.approval is True or (may_ask and approvals.needs_approval),
        is_enabled=tool.enabled is not False,
        custom_data_extractor=custom_data,
    )


class _Approvals:
    """What a person was asked about: the calls of one tool, by their final arguments.

    Args:
        runner: Runs the tool.
    """

    def __init__(self, runner: CoreToolRunner) -> None:
        self._runner = runner
        self._asked: dict[str, str] = {}

    async def needs_approval(
        self, context: Any, arguments: Mapping[str, Any], call_id: str
    ) -> bool:
        """Return True if a call needs approval. The SDK asks this before each time that it runs one."""
        user, usage = getattr(context, "context", None), getattr(context, "usage", None)
        ticket = await self._runner.find_ticket(arguments, user, call_id, usage)
        if ticket is not None:
            self._asked[call_id] = ticket.digest
            while len(self._asked) > _MOST_ASKED:
                del self._asked[next(iter(self._asked))]
        return ticket is not None

    def take(self, call_id: str) -> Approver:
        """Return the approver of a call that the SDK runs: it approves what was asked about alone."""
        asked, always = self._asked.pop(call_id, ""), self._runner.tool.approval is True

        def approve(ticket: Ticket) -> bool | Decision:
            if always or asked == ticket.digest:
                return True
            return ticket.deny("nobody was asked about it as it is now; call it again")

        return approve


def _make_context(context: ToolContext[Any], arguments: str) -> Any:
    """Create the SDK's context of our running call."""
    return TheirContext(
        context.deps,
        tool_name=context.tool_name,
        tool_call_id=context.call.id,
        tool_arguments=arguments,
        agent=_find_agent(context),
    )


def _find_agent(context: ToolContext[Any]) -> Any:
    """Return the running agent if it is the SDK's; else one with the running agent's name."""
    running = context.agent
    if isinstance(running, agents.Agent):
        return running
    return agents.Agent(name=str(getattr(running, "name", "toolkeel")))


async def _handle_timeout(
    theirs: Any, prepared: Prepared, context: ToolContext, proceed: Proceed
) -> object:
    """Report a timeout as the tool specifies, as a step around the call."""
    try:
        return await proceed(prepared)
    except TimedOut as late:
        error = agents.ToolTimeoutError(theirs.name, theirs.timeout_seconds)
        if theirs.timeout_behavior == "raise_exception":
            raise RunStopped(str(error), error) from late
        if theirs.timeout_error_function is None:
            raise
        text = theirs.timeout_error_function(
            _make_context(context, dumps(as_json(prepared))), error
        )
        raise TimedOut(str(await maybe_await(text))) from late


def _convert_approval(theirs: Any) -> ApprovalOption | None:
    """Return the approval of a tool of the SDK; its function is asked about the final arguments."""
    wanted = theirs.needs_approval
    if not callable(wanted):
        return wanted or None

    async def needs(arguments: Mapping[str, Any], context: ToolContext[Any]) -> bool:
        given = dict(arguments)
        return bool(
            await maybe_await(wanted(_make_context(context, dumps(given)), given, context.call.id))
        )

    return needs


def _convert_enabled(theirs: Any) -> Enabled:
    wanted = theirs.is_enabled
    if isinstance(wanted, bool):
        return wanted

    def enabled(context: ToolContext[Any]) -> Any:
        text = arguments_text(context.call.arguments)
        return wanted(_make_context(context, text), _find_agent(context))

    return enabled


def _convert_input_guardrail(guardrail: Any) -> guard.InputGuard:
    async def check(prepared: Prepared, context: ToolContext[Any]) -> guard.Verdict:
        theirs = _make_context(context, dumps(as_json(prepared)))
        data = agents.ToolInputGuardrailData(context=theirs, agent=theirs.agent)
        ending = agents.ToolInputGuardrailTripwireTriggered
        return _to_verdict(guardrail, await guardrail.run(data), ending)

    return guard.input_guard(check, guardrail.get_name())


def _convert_output_guardrail(guardrail: Any) -> guard.OutputGuard:
    async def check(
        prepared: Prepared, outcome: guard.Outcome, context: ToolContext[Any]
    ) -> guard.Verdict:
        theirs = _make_context(context, dumps(as_json(prepared)))
        output = outcome.text if outcome.error else outcome.value
        data = agents.ToolOutputGuardrailData(context=theirs, agent=theirs.agent, output=output)
        ending = agents.ToolOutputGuardrailTripwireTriggered
        return _to_verdict(guardrail, await guardrail.run(data), ending)

    return guard.output_guard(check, guardrail.get_name())


def _to_verdict(guardrail: Any, output: Any, ending: type[Exception]) -> guard.Verdict:
    match output.behavior:
        case {"type": "allow"}:
            return guard.Allow()
        case {"type": "reject_content", "message": str(text)}:
            return guard.Reject(text)
        case _:
            return guard.Stop(ending(guardrail, output))


def _convert_output(value: object) -> object:
    """Convert the SDK's structured outputs to content blocks. Return other values unchanged."""
    if isinstance(value, list | tuple) and any(_is_part(item) for item in value):
        return [_convert_output(item) for item in value]
    block = to_block(value) if _is_part(value) else None
    if block is None and read_fields(value).get("file_id"):
        raise SetupError(
            "what only a file id names is at OpenAI alone: return its bytes or its URL"
        )
    return value if block is None else block


def _is_part(value: object) -> bool:
    return read_fields(value).get("type") in ("text", "image", "file")


def _to_sdk_output(content: Content) -> Any:
    """Convert content to the SDK's structured outputs; a string stays a string."""
    return content if isinstance(content, str) else [_to_sdk_part(block) for block in content]


def _to_sdk_part(block: Block) -> Any:
    if isinstance(block, Text | Data):
        return agents.ToolOutputText(text=block.text)
    if isinstance(block, Image):
        closely: Any = block.extra.get("detail")
        return agents.ToolOutputImage(image_url=data_url(block), detail=closely)
    if isinstance(block, File) and block.url:
        return agents.ToolOutputFileContent(file_url=block.url, filename=block.name)
    name = getattr(block, "name", "sound")
    return agents.ToolOutputFileContent(file_data=data_url(block), filename=name)
