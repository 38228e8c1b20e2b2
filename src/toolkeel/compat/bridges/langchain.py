"""LangChain's tool objects become ours, and ours theirs: ``pip install 'toolkeel[langchain]'``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from toolkeel._common.needs_extra import needs_extra
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.compat.bridges.run import Ours
from toolkeel.compat.content_blocks import content_of, written
from toolkeel.compat.langchain.runtime import InjectedState, InjectedStore
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.inject import Injected, InjectedParameter
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolMessage

with needs_extra("toolkeel.compat.bridges.langchain", "langchain"):
    from langchain_core import runnables, tools  # pyright: ignore[reportMissingImports]
    from langchain_core.tools import base  # pyright: ignore[reportMissingImports]


def from_langchain(theirs: tools.BaseTool) -> AnyTool:
    """A tool of ours that runs one of LangChain's.

    The model's arguments are checked here against the tool's schema, and again by LangChain.
    Injected parameters are filled from the run: its state, its store, values by name, and LangGraph's
    `ToolRuntime`. What `handle_tool_error` says holds; a `ToolException` nobody handles is told to
    the model.

    Args:
        theirs: Any of its tools.

    Raises:
        SetupError: if it is no LangChain tool.
    """
    if not isinstance(theirs, tools.BaseTool):
        raise SetupError(f"from_langchain takes a LangChain tool, not a {type(theirs).__name__}")

    async def invoke(context: ToolContext[Any], arguments: dict[str, Any]) -> object:
        # LangChain lends the call's id to the parameter that asks for it, if it knows the id.
        call = {"type": "tool_call", "name": theirs.name, "args": arguments, "id": context.call.id}
        try:
            config: Any = context.run.inject.get("config")
            result = await theirs.ainvoke(call, config)
        except tools.ToolException as error:
            raise ToolError(str(error) or "Tool execution error") from error
        if not hasattr(result, "tool_call_id"):
            return result
        return ToolMessage(
            content_of(result.content),
            context.call.id,
            theirs.name,
            result.status,
            artifact=result.artifact,
        )

    made = Tool.from_schema(
        theirs.name,
        theirs.description,
        _schema(theirs),
        invoke,
        ends_run=theirs.return_direct,
        tags=theirs.tags or (),
        metadata=theirs.metadata or {},
    )
    return dataclasses.replace(made, injected=(*made.injected, *_injected(theirs)))


def to_langchain(ours: object, *, run: RunContext[Any] | None = None) -> tools.StructuredTool:
    """A tool of LangChain's that runs one of ours, guards and all.

    A failure becomes a `ToolMessage` with the status ``error``, as its own tools make them.

    Args:
        ours: A tool of any kind this package knows, or a function.
        run: What its injected parameters are filled from. A tool that asks for a `RunnableConfig`
            gets the one LangChain invokes it with.
    """
    tool = as_tool(ours)
    inner = Ours(tool, run)

    async def call_tool(config: runnables.RunnableConfig, **arguments: Any) -> tuple[Any, object]:
        message = await inner.run_call(arguments, config=config)
        if message.failed:
            raise tools.ToolException(message.text)
        return written(message.content), message.artifact

    def call_tool_sync(config: runnables.RunnableConfig, **arguments: Any) -> tuple[Any, object]:
        return run_sync(lambda: call_tool(config, **arguments))

    # LangChain finds the parameter to fill with the config by its annotation: the class, not text.
    for function in (call_tool, call_tool_sync):
        function.__annotations__["config"] = runnables.RunnableConfig
    return tools.StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        func=call_tool_sync,
        coroutine=call_tool,
        response_format="content_and_artifact",
        handle_tool_error=True,
        return_direct=tool.ends_run,
        tags=list(tool.tags),
        metadata=dict(tool.metadata),
    )


def _schema(theirs: tools.BaseTool) -> dict[str, Any]:
    shown: Any = theirs.tool_call_schema
    schema = dict(shown) if isinstance(shown, dict) else shown.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


class _Runtime(Injected):
    """Makes LangGraph's `ToolRuntime`, whatever fields the installed version has."""

    def __init__(self, wanted: type[Any]) -> None:
        self._wanted = wanted

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        known = {
            "state": context.state,
            "context": context.deps,
            "config": context.run.inject.get("config") or {},
            "stream_writer": lambda item: context.progress(str(item)),
            "tool_call_id": context.call.id,
            "store": context.store,
            "tools": [],
        }
        names = {field.name for field in dataclasses.fields(self._wanted)}
        return self._wanted(**{key: value for key, value in known.items() if key in names})


def _injected(theirs: tools.BaseTool) -> Iterator[InjectedParameter]:
    """What the program fills, in our terms."""
    if isinstance(theirs.args_schema, dict):
        return
    full: Any = theirs.get_input_schema()
    for name, annotation in base.get_all_basemodel_annotations(full).items():
        marker = _marker(annotation)
        if marker is not None and (ours := _ours(marker)) is not None:
            yield InjectedParameter(name, ours, not full.model_fields[name].is_required())


def _marker(annotation: Any) -> Any:
    """LangChain's marker in an annotation, or the class that is injected by its type."""
    for item in get_args(annotation):
        if isinstance(item, tools.InjectedToolArg):
            return item
        if isinstance(item, type) and issubclass(item, tools.InjectedToolArg):
            return item()
    wanted = get_origin(annotation) or annotation
    return wanted if getattr(wanted, "__name__", "") == "ToolRuntime" else None


def _ours(marker: Any) -> Injected | None:
    """Our marker for theirs; None for the call's id, which LangChain fills itself.

    LangGraph's markers are known by name: it need not be installed.
    """
    if isinstance(marker, type):
        return _Runtime(marker)
    kind = type(marker).__name__
    if kind == "InjectedToolCallId":
        return None
    if kind == "InjectedState":
        return InjectedState(marker.field)
    return InjectedStore() if kind == "InjectedStore" else Injected()
