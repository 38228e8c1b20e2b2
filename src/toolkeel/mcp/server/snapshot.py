"""What a server offers at one time: an immutable snapshot, with everything that a request needs."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from toolkeel._common.nearest_names import nearest_names
from toolkeel._records.record import record
from toolkeel.call.enabled_tools import as_told
from toolkeel.call.pipeline import Entry
from toolkeel.call.toolset import Toolset
from toolkeel.define.names import POLICIES, wire_names
from toolkeel.errors import DuplicateToolError
from toolkeel.mcp.content import ABSENT, to_definition, to_result
from toolkeel.mcp.server.long_results import with_stored_results
from toolkeel.mcp.server.prompts_resources import Primitive, Prompt, Resource, return_artifact
from toolkeel.mcp.server.structured import StructuredOutput, infer_structured_output
from toolkeel.messages import ToolMessage

Listed = TypeVar("Listed", bound=BaseModel)


@record
class ServedTool:
    """One tool as it is served.

    Args:
        entry: Its place in the toolset.
        definition: As clients are told of it.
        asks: Whether a call may ask its client something.
        promise: Judges its structured results, if it promises any.
        names: What clients call the tools whose own names are others.
    """

    entry: Entry
    definition: types.Tool
    may_ask: bool
    structured: StructuredOutput | None
    wire_names: Mapping[str, str]


class ServerSnapshot:
    """Tools, prompts and resources, each under the name clients know it by.

    Raises:
        DuplicateToolError: two prompts have one name, or two resources one URI.
    """

    def __init__(
        self,
        tools: Toolset,
        prompts: Iterable[Prompt[..., Any]] = (),
        resources: Iterable[Resource[..., Any]] = (),
    ) -> None:
        resources = tuple(resources)
        self.tools = with_stored_results(tools, resources)
        self.prompts: Mapping[str, Prompt[..., Any]] = _index_unique(
            "prompts", ((each.name, each) for each in prompts)
        )
        self.resources: Mapping[str, Resource[..., Any]] = _index_unique(
            "resources", ((each.uri, each) for each in resources)
        )

    @cached_property
    def served_tools(self) -> Mapping[str, ServedTool]:
        """The tools by their names on the wire, in the set's order; without those switched off."""
        aliases = wire_names(self.tools.names, POLICIES["mcp"])
        others = {name: alias for name, alias in aliases.items() if name != alias}
        asks = bool(self.tools.steps or self.tools.rules)
        found = {}
        for tool in self.tools:
            if tool.enabled is not False:
                alias = aliases[tool.name]
                found[alias] = _serve_tool(self.tools.find(tool.name), alias, asks, others)
        return found

    @cached_property
    def prompt_toolset(self) -> Toolset:
        """What runs the prompts."""
        return Toolset([each.tool for each in self.prompts.values()], steps=[return_artifact])

    @cached_property
    def resource_toolsets(self) -> Mapping[str, Toolset]:
        """What runs each resource, by URI: two may have one name."""
        return {
            uri: Toolset([r.tool], steps=[return_artifact]) for uri, r in self.resources.items()
        }

    def find_tool(self, name: str) -> ServedTool:
        """A tool by its name on the wire.

        Raises:
            MCPError: there is none, with the nearest names (-32602: specification, "Tools, Error
                Handling").
        """
        found = self.served_tools.get(name)
        if found is None:
            raise unknown_name_error("tool", name, self.served_tools)
        return found

    def find_prompt(self, name: str) -> Prompt[..., Any]:
        """A prompt by its name.

        Raises:
            MCPError: there is none.
        """
        found = self.prompts.get(name)
        if found is None:
            raise unknown_name_error("prompt", name, self.prompts)
        return found

    def find_resource(self, uri: str) -> tuple[Resource[..., Any], Mapping[str, object]]:
        """What is to be read at a URI, and the variables in it.

        Raises:
            MCPError: there is nothing (-32602: specification, "Resources, Error Handling").
        """
        exact = self.resources.get(uri)
        for each in [exact] if exact else self.resources.values():
            variables = each.match(uri)
            if variables is not None:
                return each, variables
        raise not_found_error(uri)


def not_found_error(uri: str) -> MCPError:
    """What a client is told of a URI that names nothing."""
    return MCPError(types.INVALID_PARAMS, f"Resource not found: {uri[:500]}", {"uri": uri[:500]})


def _index_unique(what: str, items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in items:
        if name in found:
            raise DuplicateToolError(f"two {what} are called {name!r}; give one another name")
        found[name] = item
    return found


def unknown_name_error(what: str, name: object, known: Iterable[str]) -> MCPError:
    """What a client is told of a name that leads nowhere."""
    near = nearest_names(str(name), known, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {str(name)[:100]!r}.{hint}")


def _serve_tool(entry: Entry, alias: str, asks: bool, names: Mapping[str, str]) -> ServedTool:
    tool = entry.tool
    promise = infer_structured_output(tool)
    definition = to_definition(tool, alias, promise.schema if promise else None)
    if alias != tool.name and definition.title is None:
        definition = definition.model_copy(update={"title": tool.name})
    asks = asks or bool(tool.injected or tool.steps) or tool.approval is not False
    return ServedTool(entry, definition, asks, promise, names)


# — results —


def build_result(served: ServedTool, message: ToolMessage) -> types.CallToolResult:
    """A call's result, its structure checked before it is released."""
    if served.wire_names:
        message = as_told(message, served.wire_names)
    if served.structured is None or message.failed:
        return to_result(message)
    structured = served.structured.extract(message)
    if structured is not ABSENT:
        return to_result(message, structured)
    text = (
        f"{served.definition.name!r} gave a result that does not fit the output schema it promises. "
        "This is a fault of the tool, not of the call."
    )
    return to_result(ToolMessage(text, status="error", kind="invalid_output"))


# — pages —


def paginate(
    items: Sequence[Listed], params: types.PaginatedRequestParams | None, size: int
) -> tuple[list[Listed], str | None]:
    """One page of a list, and the cursor of the next.

    A cursor is of one list: when the list has changed since, it is refused, so that no client
    gets half of the old and half of the new.

    Raises:
        MCPError: the cursor is none of this list's.
    """
    cursor = params.cursor if params else None
    if cursor is None and len(items) <= size:
        return list(items), None
    stamp = _list_digest(items)
    start = 0 if cursor is None else _parse_cursor(cursor, stamp, len(items))
    end = start + size
    following = base64.urlsafe_b64encode(f"{stamp}:{end}".encode()).decode()
    return list(items[start:end]), following if end < len(items) else None


def _list_digest(items: Sequence[BaseModel]) -> str:
    names = "\n".join(
        repr(sorted(item.model_dump(include={"name", "uri"}).items())) for item in items
    )
    return hashlib.sha256(names.encode()).hexdigest()[:16]


def _parse_cursor(cursor: str, stamp: str, length: int) -> int:
    try:
        text = base64.b64decode(cursor, "-_", validate=True).decode()
        found, _, number = text.partition(":")
        start = int(number)
    except (ValueError, binascii.Error):
        found, start = "", 0
    if found != stamp or not 0 < start < length:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor: list again from the beginning")
    return start


def completion_result(values: list[str]) -> types.CompleteResult:
    """Suggestions, at most 100 of them (specification, "Completion")."""
    shown = types.Completion(values=values[:100], total=len(values), has_more=len(values) > 100)
    return types.CompleteResult(completion=shown)


def find_completed_primitive(
    offer: ServerSnapshot, params: types.CompleteRequestParams
) -> Primitive[..., Any]:
    """Which part a completion is for.

    Raises:
        MCPError: there is no such part, or it has no such argument.
    """
    ref = params.ref
    part: Primitive[..., Any]
    if isinstance(ref, types.PromptReference):
        part = offer.find_prompt(ref.name)
    else:
        part = offer.resources.get(ref.uri) or offer.find_resource(ref.uri)[0]
    if params.argument.name not in part.arguments:
        raise unknown_name_error("argument", params.argument.name, part.arguments)
    return part
