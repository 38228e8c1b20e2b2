"""Convert LangChain's tools to ours, and ours to LangChain's: ``pip install 'toolkeel[langchain]'``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from toolkeel._common.needs_extra import needs_extra
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.inject import Injected, InjectedParameter
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolMessage
from toolkeel_compat.bridges.run import CoreToolRunner, explain_refusal
from toolkeel_compat.content_blocks import to_content, to_langchain_content
from toolkeel_compat.langchain.command import Command, make_command_step
from toolkeel_compat.langchain.runtime import InjectedState, InjectedStore, ToolRuntime

with needs_extra("toolkeel_compat.bridges.langchain", "langchain"):
    from langchain_core import messages, runnables, tools  # pyright: ignore[reportMissingImports]
    from langchain_core.tools import base  # pyright: ignore[reportMissingImports]
RESERVED = ("config", "runtime", "run_manager", "callbacks")
"""Parameters that LangChain and LangGraph fill themselves."""


def _import_langgraph(module: str) -> Any:
    """Import a module of LangGraph; None if it is not installed, as LangChain's tools run without it."""
    try:
        return import_module(f"langgraph.{module}")
    except ImportError:
        return None


def from_langchain(theirs: tools.BaseTool) -> AnyTool:
    """Convert a LangChain tool to one of ours that runs it.

    The model's arguments are checked here against the tool's schema, and again by LangChain.
    Injected parameters are filled from the run: its state, its store, values by name, and LangGraph's
    `ToolRuntime`. What `handle_tool_error` says holds; a `ToolException` nobody handles, and what its
    own validators refuse, is told to the model. A `Command` that it returns changes the run's state.

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
            return _convert_result(await theirs.ainvoke(call, config))
        except tools.ToolException as error:
            raise ToolError(str(error) or "Tool execution error") from error
        except ValidationError as error:
            if error.title != getattr(theirs.args_schema, "__name__", ""):
                raise  # the body's own
            raise explain_refusal(theirs.name, error, shown, arguments) from error

    shown = _schema(theirs)
    made = Tool.from_schema(
        theirs.name,
        theirs.description,
        shown,
        invoke,
        ends_run=theirs.return_direct,
        timeout=None,
        tags=theirs.tags or (),
        metadata=theirs.metadata or {},
        provider_options=theirs.extras or {},
        steps=[make_command_step()],
    )
    return dataclasses.replace(made, injected=(*made.injected, *_injected(theirs)))


def _convert_result(result: Any) -> object:
    """Convert the result of a LangChain tool.

    Raises:
        SetupError: It is a list of several commands.
    """
    if isinstance(result, messages.ToolMessage):
        content = to_content(result.content)
        about = (result.tool_call_id, result.name or "", result.status)
        return ToolMessage(content, *about, artifact=result.artifact)
    if isinstance(result, list) and any(hasattr(one, "update") for one in result):
        raise SetupError("a list of commands does not come along: return one Command")
    types = _import_langgraph("types")
    return _convert_command(result) if types and isinstance(result, types.Command) else result


def _convert_command(theirs: Any) -> Command:
    """Convert a LangGraph command and its messages."""
    update = dict(theirs._update_as_tuples())
    if "messages" in update:
        converted = messages.convert_to_messages(update["messages"])
        update["messages"] = [
            _convert_result(m) if m.type == "tool" else (m.type, m.content) for m in converted
        ]
    return Command(update, theirs.goto, theirs.graph, theirs.resume)


def to_langchain(ours: object, *, run: RunContext[Any] | None = None) -> tools.StructuredTool:
    """Convert one of our tools, with its guards, to a LangChain tool that runs it.

    A failure becomes a `ToolMessage` with the status ``error``, as its own tools make them. In a
    graph it sees the state, the store, the context and the call's id; what it changes in the state
    becomes a `Command`.

    Args:
        ours: A tool of any kind this package knows, or a function.
        run: What its injected parameters are filled from, outside of a graph. A tool that asks for a
            `RunnableConfig` gets the one LangChain invokes it with. Its approver is asked about
            calls that need a person; without one they are refused.

    Raises:
        SetupError: a parameter has a name that LangChain fills itself.
    """
    tool = as_tool(ours)
    inner = CoreToolRunner(tool, run)
    if taken := [*filter(properties_of(tool.parameters).__contains__, RESERVED)]:
        raise SetupError(f"{tool.name!r}: LangChain fills {taken[0]!r} itself; rename it")

    async def call_tool(config: Any, runtime: Any = None, **arguments: Any) -> tuple[Any, object]:
        graph_values = _read_graph(runtime)
        before: Any = deepcopy(graph_values.get("state"))
        thread = (config or {}).get("configurable", {}).get("thread_id")
        conversation = None if thread is None else f"thread {thread}"
        message = await inner.run_call(
            arguments, conversation=conversation, config=config, **graph_values
        )
        if message.failed:
            raise tools.ToolException(message.text)
        return _to_langchain_result(message, before, graph_values.get("state"))

    def call_tool_sync(config: Any, runtime: Any = None, **arguments: Any) -> tuple[Any, object]:
        return run_sync(lambda: call_tool(config, runtime, **arguments))

    _annotate_injected(call_tool, call_tool_sync)
    return tools.StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        func=call_tool_sync,
        coroutine=call_tool,
        response_format="content_and_artifact",
        handle_tool_error=True,
        return_direct=tool.ends_run,
        tags=[*tool.tags],
        metadata={**tool.metadata},
        extras=dict(tool.provider_options) or None,
    )


def _annotate_injected(*functions: Callable[..., Any]) -> None:
    """Annotate what LangChain fills: it finds these parameters by class, and cannot resolve text."""
    runtime = getattr(_import_langgraph("prebuilt"), "ToolRuntime", Any)
    for function in functions:
        function.__annotations__["config"] = runnables.RunnableConfig
        function.__annotations__["runtime"] = runtime


def _read_graph(runtime: Any) -> dict[str, Any]:
    """Return the graph's state, as a copy to change, with store, context and call id."""
    if runtime is None:
        return {}
    fields = runtime.state if isinstance(runtime.state, Mapping) else vars(runtime.state)
    state = {key: deepcopy(value) for key, value in fields.items() if key != "messages"}
    known = {"store": runtime.store, "context": runtime.context, "call_id": runtime.tool_call_id}
    return {"state": state, **{key: value for key, value in known.items() if value is not None}}


def _to_langchain_result(message: ToolMessage, before: Any, after: Any) -> tuple[Any, object]:
    """Return content and artifact; a command if the tool changed the graph's state."""
    content: Any = to_langchain_content(message.content)
    if isinstance(content, list):  # a result there has no part of the type audio
        content = [{**p, "type": "file"} if p["type"] == "audio" else p for p in content]
    if after == before:
        return content, message.artifact
    new: Any = object()
    changed = {key: value for key, value in after.items() if before.get(key, new) != value}
    about = {"tool_call_id": message.tool_call_id, "name": message.name}
    result = messages.ToolMessage(content, artifact=message.artifact, **about)
    return _import_langgraph("types").Command(update={**changed, "messages": [result]}), None


def _schema(theirs: tools.BaseTool) -> dict[str, Any]:
    if isinstance(theirs, tools.Tool) and not theirs.args_schema:
        # LangChain derives no schema for one text: models get this parameter from it.
        one_text = {"__arg1": {"title": "__arg1", "type": "string"}}
        return {"type": "object", "properties": one_text, "required": ["__arg1"]}
    shown: Any = theirs.tool_call_schema
    schema = dict(shown) if isinstance(shown, dict) else shown.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


class _Runtime(Injected):
    """A marker that creates LangGraph's `ToolRuntime` with the installed version's fields."""

    is_secret = False

    def __init__(self, wanted: type[Any]) -> None:
        self._wanted = wanted

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        ours: Any = ToolRuntime.from_tool_context(context)
        known = [one.name for one in dataclasses.fields(self._wanted) if hasattr(ours, one.name)]
        return self._wanted(**{name: getattr(ours, name) for name in known})


def _injected(theirs: tools.BaseTool) -> Iterator[InjectedParameter]:
    """Yield the parameters that the program fills, with our markers."""
    if isinstance(theirs.args_schema, dict) or isinstance(theirs, tools.Tool):
        return
    full: Any = theirs.get_input_schema()
    for name, annotation in base.get_all_basemodel_annotations(full).items():
        marker = _marker(annotation)
        if marker is not None and (ours := _ours(marker)) is not None:
            yield InjectedParameter(name, ours, not full.model_fields[name].is_required())


def _marker(annotation: Any) -> Any:
    """Return LangChain's marker in an annotation, or a class injected by its type, or None."""
    for item in get_args(annotation):
        if isinstance(item, tools.InjectedToolArg):
            return item
        if isinstance(item, type) and issubclass(item, tools.InjectedToolArg):
            return item()
    wanted = get_origin(annotation) or annotation
    return wanted if getattr(wanted, "__name__", "") == "ToolRuntime" else None


def _ours(marker: Any) -> Injected | None:
    """Return our marker for theirs, or None for the call's id, which LangChain fills itself.

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
