"""An immutable snapshot of what a server offers, with everything that a request needs."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from toolkeel._common.nearest_names import nearest_names
from toolkeel._records.record import record
from toolkeel.call.enabled_tools import with_wire_names
from toolkeel.call.pipeline import Entry
from toolkeel.call.toolset import Toolset
from toolkeel.define.names import POLICIES, wire_names
from toolkeel.errors import DuplicateToolError
from toolkeel.mcp.content import ABSENT, to_definition, to_result
from toolkeel.mcp.page_links import page_of, with_page
from toolkeel.mcp.server.long_results import with_stored_results
from toolkeel.mcp.server.pages import pages_of
from toolkeel.mcp.server.prompts_resources import Primitive, Prompt, Resource, return_artifact
from toolkeel.mcp.server.structured import StructuredOutput, infer_structured_output
from toolkeel.messages import ToolMessage

Listed = TypeVar("Listed", bound=BaseModel)


@record
class ServedTool:
    """A tool as it is served.

    Args:
        entry: Its entry in the toolset.
        definition: The definition that clients receive.
        may_ask: True if a call may ask its client something.
        structured: Its structured output, if it has one.
        wire_names: Wire names of the tools whose own names differ.
    """

    entry: Entry
    definition: types.Tool
    may_ask: bool
    structured: StructuredOutput | None
    wire_names: Mapping[str, str]


class ServerSnapshot:
    """Tools, prompts and resources, pages of tools among them, by the names that clients use. Never changes.

    Args:
        tools: The tools; those with ``enabled=False`` are not served.
        prompts: The prompts.
        resources: The resources besides the pages.

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
        self.own_resources = resources
        pages = [each for each in pages_of(tools) if each not in resources]
        self.tools = with_stored_results(tools, resources)
        self.prompts: Mapping[str, Prompt[..., Any]] = _index_unique(
            "prompts", ((each.name, each) for each in prompts)
        )
        self.resources: Mapping[str, Resource[..., Any]] = _index_unique(
            "resources", ((each.uri, each) for each in (*resources, *pages))
        )
        self.has_pages = bool(pages)

    def resource_definitions(self, *, templates: bool) -> list[dict[str, Any]]:
        """Return the definitions of the resources: of templates, or of those with one address each."""
        found = self.resources.values()
        return [each.definition() for each in found if bool(each.template) is templates]

    @cached_property
    def served_tools(self) -> Mapping[str, ServedTool]:
        """The tools by wire name, in the toolset's order, except those with ``enabled=False``.

        Raises:
            DefinitionError, ValidationError: as `to_definition`.
        """
        aliases = wire_names(self.tools.names, POLICIES["mcp"])
        others = {name: alias for name, alias in aliases.items() if name != alias}
        may_ask = bool(self.tools.steps or self.tools.rules)
        found = {}
        for tool in self.tools:
            if tool.enabled is not False:
                alias = aliases[tool.name]
                served = _serve_tool(self.tools.find(tool.name), alias, may_ask, others)
                found[alias] = self._without_dead_link(served)
        return found

    def _without_dead_link(self, served: ServedTool) -> ServedTool:
        """Return a tool without the link to a page that this server does not have, such as another's."""
        uri = page_of(served.definition)
        if not uri or uri in self.resources:
            return served
        return replace(served, definition=with_page(served.definition, ""))

    @cached_property
    def prompt_toolset(self) -> Toolset:
        """The toolset that runs the prompts."""
        return Toolset([each.tool for each in self.prompts.values()], steps=[return_artifact])

    @cached_property
    def resource_toolsets(self) -> Mapping[str, Toolset]:
        """The toolset that runs each resource, by URI; two resources may share a name."""
        return {
            uri: Toolset([r.tool], steps=[return_artifact]) for uri, r in self.resources.items()
        }

    def find_tool(self, name: str) -> ServedTool:
        """Return a tool by its wire name.

        Raises:
            MCPError: There is none; the error suggests close names (-32602: specification, "Tools,
                Error Handling").
        """
        found = self.served_tools.get(name)
        if found is None:
            raise unknown_name_error("tool", name, self.served_tools)
        return found

    def find_prompt(self, name: str) -> Prompt[..., Any]:
        """Return a prompt by its name.

        Raises:
            MCPError: There is none.
        """
        found = self.prompts.get(name)
        if found is None:
            raise unknown_name_error("prompt", name, self.prompts)
        return found

    def find_resource(self, uri: str) -> tuple[Resource[..., Any], Mapping[str, object]]:
        """Return the resource at a URI, else the first template that matches, and the variables in the URI.

        Raises:
            MCPError: There is none (-32602: specification, "Resources, Error Handling").
        """
        exact = self.resources.get(uri)
        for each in [exact] if exact else self.resources.values():
            variables = each.match(uri)
            if variables is not None:
                return each, variables
        raise not_found_error(uri)


def not_found_error(uri: str) -> MCPError:
    """Build the error for a URI without a resource."""
    return MCPError(types.INVALID_PARAMS, f"Resource not found: {uri[:500]}", {"uri": uri[:500]})


def _index_unique(what: str, items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return items by name; raise `DuplicateToolError` for a repeated one."""
    found: dict[str, Any] = {}
    for name, item in items:
        if name in found:
            raise DuplicateToolError(f"two {what} are called {name!r}; give one another name")
        found[name] = item
    return found


def unknown_name_error(what: str, name: object, known: Iterable[str]) -> MCPError:
    """Build the error for an unknown name, with close names."""
    near = nearest_names(str(name), known, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return MCPError(types.INVALID_PARAMS, f"Unknown {what}: {str(name)[:100]!r}.{hint}")


def _serve_tool(entry: Entry, alias: str, may_ask: bool, names: Mapping[str, str]) -> ServedTool:
    """Return a tool as it is served, with definition and structured output.

    Args:
        entry: The tool in its toolset.
        alias: Its name in this server's list.
        may_ask: True if some step of the server may ask the client; a tool with injected parameters,
            steps or approval may anyway.
        names: Wire names by own names, for its results.

    Raises:
        DefinitionError, ValidationError: as `to_definition`.
    """
    tool = entry.tool
    structured = infer_structured_output(tool)
    definition = to_definition(tool, alias, structured.schema if structured else None)
    if alias != tool.name and definition.title is None:
        definition = definition.model_copy(update={"title": tool.name})
    may_ask = may_ask or bool(tool.injected or tool.steps) or bool(tool.approval)
    return ServedTool(entry, definition, may_ask, structured, names)


# — results —


def build_result(served: ServedTool, message: ToolMessage) -> types.CallToolResult:
    """Convert a message to a call result; a failed one if its value does not fit the output schema.

    Names of tools in it become wire names.
    """
    if served.wire_names:
        message = with_wire_names(message, served.wire_names)
    if served.structured is None or message.failed:
        return to_result(message)
    structured = served.structured.extract(message)
    if structured is not ABSENT:
        return to_result(message, structured)
    text = (
        f"{served.definition.name!r} returned a result that does not fit its output schema. "
        "This is a fault of the tool, not of the call."
    )
    return to_result(ToolMessage(text, status="error", kind="invalid_output"))


# — pages —


def paginate(
    items: Sequence[Listed], params: types.PaginatedRequestParams | None, size: int
) -> tuple[list[Listed], str | None]:
    """Return one page of a list, and the cursor of the next.

    A cursor is bound to the list. It is refused after the list has changed, so that no client mixes
    two lists.

    Raises:
        MCPError: The cursor does not belong to this list.
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
    """Return a short digest of the names in a list."""
    names = "\n".join(
        repr(sorted(item.model_dump(include={"name", "uri"}).items())) for item in items
    )
    return hashlib.sha256(names.encode()).hexdigest()[:16]


def _parse_cursor(cursor: str, stamp: str, length: int) -> int:
    """Return the index at which a page starts.

    Args:
        cursor: As the client sent it.
        stamp: Mark of the list's present state.
        length: Length of the list.

    Raises:
        MCPError: the cursor does not belong to this list.
    """
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
    """Build a completion result of at most 100 values (specification, "Completion")."""
    shown = types.Completion(values=values[:100], total=len(values), has_more=len(values) > 100)
    return types.CompleteResult(completion=shown)


def find_completed_primitive(
    offer: ServerSnapshot, params: types.CompleteRequestParams
) -> Primitive[..., Any]:
    """Return the prompt or resource that a completion request refers to.

    Raises:
        MCPError: There is none, or it has no such argument.
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
