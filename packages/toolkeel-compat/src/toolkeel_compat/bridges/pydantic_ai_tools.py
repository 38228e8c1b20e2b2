"""Convert Pydantic AI's tools to ours, and ours to theirs: ``pip install 'toolkeel[pydantic-ai]'``."""

from __future__ import annotations

import dataclasses
from contextvars import ContextVar
from mimetypes import guess_type
from typing import Any

from pydantic_core import ValidationError

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.tickets import Ticket
from toolkeel.call.steps.approve import Approval
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.options import external
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Tool
from toolkeel.errors import Crashed, SetupError, ToolError
from toolkeel.messages import ToolOutput
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.bridges.run import CoreToolRunner, explain_refusal

with needs_extra("toolkeel_compat.bridges.pydantic_ai_tools", "pydantic-ai"):
    import pydantic_ai  # pyright: ignore[reportMissingImports]
    from pydantic_ai import exceptions, messages  # pyright: ignore[reportMissingImports]
    from pydantic_ai.models.test import TestModel  # pyright: ignore[reportMissingImports]
    from pydantic_ai.usage import RunUsage  # pyright: ignore[reportMissingImports]

RETRYABLE = ("invalid_arguments", "malformed_arguments", "tool_error", "unknown_tool")
"""Failures after which the model shall try again; the others are final."""
_URLS = {"image": messages.ImageUrl, "audio": messages.AudioUrl, "video": messages.VideoUrl}
_approved: ContextVar[bool] = ContextVar("_approved", default=False)


def from_pydantic_ai(theirs: pydantic_ai.Tool[Any]) -> AnyTool:
    """Convert a Pydantic AI tool to one of ours that runs it.

    Its `RunContext` has the run's context as `deps`, and the call's id and name; its model is a
    stand-in that no tool should ask. `ModelRetry` and `ToolFailed` are told to the model; pictures,
    sounds and files are shown to it; a `ToolReturn` keeps its metadata as the artifact. A call that
    raises `ApprovalRequired` or `CallDeferred` waits here, too.

    Args:
        theirs: A `pydantic_ai.Tool`, as an agent or a toolset holds it.

    Raises:
        SetupError: if it is something else, or its `prepare` or `args_validator` would be lost.
    """
    if not isinstance(theirs, pydantic_ai.Tool):
        raise SetupError(f"from_pydantic_ai takes a Tool, not a {type(theirs).__name__}")
    for name in ("prepare", "args_validator"):
        if getattr(theirs, name) is not None:
            raise SetupError(f"{theirs.name!r} has {name}=, which cannot come along; use a step")
    schema = theirs.function_schema

    async def invoke(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
        try:
            values = schema.validator.validate_json(dumps(arguments))
        except ValidationError as error:
            raise explain_refusal(theirs.name, error, schema.json_schema, arguments) from error
        approved = theirs.requires_approval or _approved.get()
        try:
            return _convert_result(await schema.call(values, _make_context(context, approved)))
        except (exceptions.ModelRetry, exceptions.ToolFailed) as error:
            raise ToolError(error.message) from error

    made = Tool.from_schema(
        theirs.name,
        theirs.description or "",
        schema.json_schema,
        invoke,
        sequential=theirs.sequential,
        timeout=theirs.timeout,
        metadata=theirs.metadata or {},
        steps=[_suspend_deferred],
    )
    return dataclasses.replace(
        made, approval=theirs.requires_approval or None
    )  # False: the default


def to_pydantic_ai(ours: object, *, run: RunContext[Any] | None = None) -> pydantic_ai.Tool[Any]:
    """Convert one of our tools, with its guards, to a Pydantic AI tool that runs it.

    The context's `deps` are our context. A failure the model can mend becomes `ModelRetry`, any
    other `ToolFailed`; an artifact becomes the metadata of a `ToolReturn`. A call that needs a
    person or a result from outside raises `ApprovalRequired` or `CallDeferred`, if `run` has no
    approver.

    Args:
        ours: A tool of any kind this package knows, or a function.
        run: What its injected parameters are filled from, beside `deps`.

    Raises:
        SetupError: it ends the run, which no tool does there.
    """
    tool = as_tool(ours)
    inner = CoreToolRunner(tool, run, ends_run="there output_type=[a_function] ends a run")

    async def call_tool(ctx: Any, /, **arguments: Any) -> Any:
        asked: list[Ticket] = []

        def wait(ticket: Ticket) -> bool:
            asked.extend(() if ctx.tool_call_approved else (ticket,))
            return not asked

        call_id = ctx.tool_call_id or ""
        message = await inner.run_call(arguments, ctx.deps, call_id, wait, ctx.usage)
        for ticket in asked:
            kind = exceptions.CallDeferred if ticket.external else exceptions.ApprovalRequired
            raise kind({"reason": ticket.reason})
        if message.failed:
            mend = message.kind in RETRYABLE
            raise (exceptions.ModelRetry if mend else exceptions.ToolFailed)(message.text)
        parts = _to_pydantic_ai_content(message.content)
        if message.artifact is None:
            return parts
        return messages.ToolReturn(return_value=parts, metadata=message.artifact)

    theirs = pydantic_ai.Tool.from_schema(
        call_tool,
        tool.name,
        tool.description,
        dict(tool.parameters),
        takes_ctx=True,
        sequential=tool.sequential,
    )
    theirs.metadata, theirs.requires_approval = dict(tool.metadata) or None, tool.approval is True
    return theirs


def _make_context(context: ToolContext[Any], approved: bool) -> Any:
    """Create Pydantic AI's context of our running call."""
    return pydantic_ai.RunContext(
        deps=context.deps,
        model=TestModel(),
        usage=RunUsage(),
        tool_call_id=context.call.id,
        tool_name=context.tool_name,
        tool_call_approved=approved,
    )


async def _suspend_deferred(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Suspend a call whose body requires approval or an external result, as a step around the call.

    Raises:
        Suspend: The call waits.
        Denied: The call may not run.
    """
    decisions = context.run.loop_state.decisions.items()
    mine = [ticket for (call, _), (ticket, _) in decisions if call == context.call.id]
    outside = any(ticket is not None and ticket.external for ticket in mine)
    if prepared.tool.approval or not mine:
        try:
            return await proceed(prepared)
        except Crashed as crash:
            outside = isinstance(crash.__cause__, exceptions.CallDeferred)
            if not isinstance(
                crash.__cause__, (exceptions.CallDeferred, exceptions.ApprovalRequired)
            ):
                raise
    return await _run_when_approved(prepared, context, proceed, outside)


async def _run_when_approved(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed, outside: bool
) -> object:
    """Return the result of a call once it is approved, or its external result."""
    tool = dataclasses.replace(prepared.tool, executor=external) if outside else prepared.tool
    approval = Approval(True, None, ())

    async def agreed(passed: Prepared, context: ToolContext[Any]) -> object:
        if (answer := approval.external_answer(context)) is not None:
            return answer.value
        token = _approved.set(True)
        try:
            return await proceed(passed.change())
        finally:
            _approved.reset(token)

    asked = dataclasses.replace(prepared, tool=tool)
    return await approval.require_approval(approval.run_approved(agreed))(asked, context)


def _convert_result(value: Any) -> object:
    """Convert a body's return value, with its parts as content blocks."""
    if isinstance(value, messages.ToolReturn):
        values = (value.return_value, value.content)
        parts = [
            part for one in values for part in (one if isinstance(one, list | tuple) else [one])
        ]
        blocks = [Text(part) if isinstance(part, str) else _to_block(part) for part in parts]
        alone = value.content is None
        return ToolOutput(_convert_result(value.return_value) if alone else blocks, value.metadata)
    return [*map(_to_block, value)] if isinstance(value, list | tuple) else _to_block(value)


def _to_block(part: object) -> object:
    """Convert one part to a block. Return other values unchanged.

    Raises:
        SetupError: Only a provider can read the part.
    """
    match part:
        case messages.TextContent():
            return Text(part.content)
        case messages.UploadedFile():
            raise SetupError(
                "an UploadedFile is at its provider alone: return its bytes or its URL"
            )
        case messages.FileUrl() | messages.BinaryContent():
            kind, extra = part.media_type, part.vendor_metadata or {}
            url, data = getattr(part, "url", ""), getattr(part, "data", b"")
            if kind.startswith("image/"):
                return Image(data, kind, url, extra)
            if kind.startswith("audio/") and data:
                return Audio(data, kind, extra)
            return File(data, part._identifier or "file", kind, url, extra)
    return part


def _to_pydantic_ai_content(content: Content) -> Any:
    """Convert content to a Pydantic AI tool's return value."""
    return content if isinstance(content, str) else [*map(_to_pydantic_ai_part, content)]


def _to_pydantic_ai_part(block: Block) -> Any:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Data):
        return block.value
    extra: Any = dict(block.extra) or None
    name = block.name if isinstance(block, File) and block.name != "file" else None
    if url := getattr(block, "url", ""):
        kind = guess_type(url)[0] or block.media_type
        make = _URLS.get(kind.partition("/")[0], messages.DocumentUrl)
        return make(url, media_type=kind, identifier=name, vendor_metadata=extra)
    kind = block.media_type
    return messages.BinaryContent(
        block.data, media_type=kind, identifier=name, vendor_metadata=extra
    )
