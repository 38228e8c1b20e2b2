"""Pydantic AI's tools become ours, and ours theirs: ``pip install 'toolkeel[pydantic-ai]'``."""

from __future__ import annotations

from typing import Any

from pydantic_core import ValidationError

from toolkeel._common.needs_extra import needs_extra
from toolkeel.compat.bridges.run import Ours
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.explain.pydantic_errors import pydantic_errors
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolOutput
from toolkeel.providers.wire.plain_json import dumps

with needs_extra("toolkeel.compat.bridges.pydantic_ai", "pydantic-ai"):
    import pydantic_ai  # pyright: ignore[reportMissingImports]
    from pydantic_ai.exceptions import (  # pyright: ignore[reportMissingImports]
        ModelRetry,
        ToolFailed,
    )
    from pydantic_ai.messages import ToolReturn  # pyright: ignore[reportMissingImports]
    from pydantic_ai.models.test import TestModel  # pyright: ignore[reportMissingImports]
    from pydantic_ai.usage import RunUsage  # pyright: ignore[reportMissingImports]

MENDABLE = ("invalid_arguments", "malformed_arguments", "tool_error", "unknown_tool")
"""Failures after which the model shall try again; the others are final."""


def from_pydantic_ai(theirs: pydantic_ai.Tool[Any]) -> AnyTool:
    """A tool of ours that runs one of Pydantic AI's.

    Its `RunContext` has the run's context as `deps`, and the call's id and name; its model is a
    stand-in that no tool should ask. `ModelRetry` and `ToolFailed` are told to the model; a
    `ToolReturn` keeps its metadata as the artifact.

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
        except ValidationError as error:  # what its own validators refuse beyond the schema
            problems = pydantic_errors(error, schema.json_schema, arguments)
            raise ToolError(invalid_arguments(theirs.name, problems).text) from error
        try:
            value = await schema.call(values, _context(context))
        except (ModelRetry, ToolFailed) as error:
            raise ToolError(error.message) from error
        if not isinstance(value, ToolReturn):
            return value
        shown = value.return_value if value.content is None else [value.return_value, value.content]
        return ToolOutput(shown, value.metadata)

    return Tool.from_schema(
        theirs.name,
        theirs.description or "",
        schema.json_schema,
        invoke,
        sequential=theirs.sequential,
        timeout=theirs.timeout,
        approval=theirs.requires_approval,
        metadata=theirs.metadata or {},
    )


def to_pydantic_ai(ours: object, *, run: RunContext[Any] | None = None) -> pydantic_ai.Tool[Any]:
    """A tool of Pydantic AI's that runs one of ours, guards and all.

    The context's `deps` are our context. A failure the model can mend becomes `ModelRetry`, any
    other `ToolFailed`; an artifact becomes the metadata of a `ToolReturn`.

    Args:
        ours: A tool of any kind this package knows, or a function.
        run: What its injected parameters are filled from, beside `deps`.
    """
    tool = as_tool(ours)
    inner = Ours(tool, run)

    async def call_tool(ctx: Any, /, **arguments: Any) -> Any:
        message = await inner.run_call(arguments, ctx.deps, ctx.tool_call_id or "")
        if message.failed:
            raise (ModelRetry if message.kind in MENDABLE else ToolFailed)(message.text)
        if message.artifact is None:
            return message.text
        return ToolReturn(return_value=message.text, metadata=message.artifact)

    return pydantic_ai.Tool.from_schema(
        call_tool,
        tool.name,
        tool.description,
        dict(tool.parameters),
        takes_ctx=True,
        sequential=tool.sequential,
    )


def _context(context: ToolContext[Any]) -> Any:
    """Pydantic AI's context of our running call."""
    return pydantic_ai.RunContext(
        deps=context.deps,
        model=TestModel(),
        usage=RunUsage(),
        tool_call_id=context.call.id,
        tool_name=context.tool_name,
    )
