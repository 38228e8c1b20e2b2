"""What a gateway offers at one time: every thing of every server, under the name clients know.

The table is total: a public name leads to one server and that server's own name, and is never taken
apart to find them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import mcp_types as types

from toolkeel._records.record import NOTHING, record
from toolkeel.errors import DefinitionError
from toolkeel.mcp.hidden_text import clean_definition, remove_hidden
from toolkeel.mcp.page_links import page_of, with_page
from toolkeel.mcp.pins import Pin, make_pin
from toolkeel.mcp.server.multi_round_calls import Request, is_modern
from toolkeel.mcp.server.snapshot import unknown_name_error
from toolkeel.mcp.server.structured import wrap_schema
from toolkeel.mcp.transforms import ArgumentCheck, TransformedTool, transform_tool
from toolkeel_studio.gateway.public_names import ResourceOwners, public_name
from toolkeel_studio.gateway.upstream import ServerLists, Upstream

log = logging.getLogger("toolkeel.mcp")
Listed = TypeVar("Listed", types.Tool, types.Prompt)
Shown = TypeVar("Shown", types.Prompt, types.Resource, types.ResourceTemplate)


@record
class Route:
    """The target of a public name.

    Args:
        server: Whose it is.
        name: That server's own name, or address.
        definition: As clients are told of it.
        pin: The definition as the server gave it; of tools alone.
        transformed: The way from the arguments of clients to the server's; None if they are the same.
        check: Checks arguments of a transformed tool.
    """

    server: Upstream
    name: str
    definition: Any
    pin: Pin | None = None
    transformed: TransformedTool | None = None
    check: ArgumentCheck | None = None


class RoutingTable:
    """Tools, prompts and resources of all servers, by public name.

    Args:
        servers: In order.
        prefixed: True if names get their server's before them.
        before: The table until now: what is made of lists that have not changed is taken from it.
    """

    def __init__(
        self, servers: Iterable[Upstream], prefixed: bool, before: RoutingTable | None = None
    ) -> None:
        self._prefixed = prefixed
        self._routes_made: dict[Upstream, tuple[ServerLists, dict[str, Route]]] = {}
        self.tools: dict[str, Route] = {}
        self.prompts: dict[str, Route] = {}
        self.resources: dict[str, Route] = {}
        self.templates: dict[str, Route] = {}
        servers = list(servers)
        known = before._uris if before else None
        self._uris: ResourceOwners = ResourceOwners(servers, prefixed, known)
        for server in servers:
            for name, route in self._tools_of(server, before).items():
                self.tools.setdefault(name, self._with_public_page(route))
            for prompt in server.lists.prompts.values():
                name = self._name(server, prompt.name)
                self.prompts.setdefault(name, Route(server, prompt.name, _shown(prompt, name=name)))
            for uri, resource in server.lists.resources.items():
                public = self._uris.public(server, uri)
                label, _ = remove_hidden(resource.name)  # is read, never sent back
                definition = _shown(resource, uri=public, name=label)
                self.resources[public] = Route(server, uri, definition)
            for uri, template in server.lists.templates.items():
                public = self._uris.public(server, uri)
                label, _ = remove_hidden(template.name)
                shown = _shown(template, uriTemplate=public, name=label)
                self.templates[public] = Route(server, uri, shown)

    def _tools_of(self, server: Upstream, before: RoutingTable | None) -> dict[str, Route]:
        known = before._routes_made.get(server) if before else None
        if known is not None and known[0] is server.lists:
            self._routes_made[server] = known
            return known[1]
        found: dict[str, Route] = {}
        self._routes_made[server] = server.lists, found
        for tool in filter(server.allows_tool, server.lists.tools.values()):
            change = server.config.transforms.get(tool.name, {})
            name = self._name(server, change.get("name", tool.name))
            if name not in found:
                try:
                    found[name] = _tool(server, tool, name)
                except DefinitionError as error:
                    log.warning("%s: the tool %r is left out: %s", server.name, tool.name, error)
        for missing in server.config.transforms.keys() - server.lists.tools.keys():
            if server.is_ready:
                log.warning("%s: a transform is about no tool there is: %s", server.name, missing)
        return found

    def names_of(self, server: Upstream) -> list[str]:
        """Return the public names of a server's tools, and the one that a tool ``resource`` would have."""
        return [*self._routes_made[server][1], self._name(server, "resource")]

    def _name(self, server: Upstream, name: str) -> str:
        return public_name(server.name, name) if self._prefixed else name

    def _with_public_page(self, route: Route) -> Route:
        """Return the route of a tool whose page has the address that clients know."""
        uri = page_of(route.definition)
        public = self._uris.public(route.server, uri) if uri else uri
        if public == uri:
            return route
        return replace(route, definition=with_page(route.definition, public))

    def tool(self, name: str, hidden: Callable[[str], bool]) -> Route:
        """Return the route of a tool's public name.

        Args:
            name: It.
            hidden: True if a tool is not listed for who asks: then it is not suggested either.

        Raises:
            MCPError: nowhere, with the nearest names.
        """
        found = self.tools.get(name)
        if found is None:
            raise unknown_name_error(
                "tool", name, [each for each in self.tools if not hidden(each)]
            )
        return found

    def change_since(self, name: str, route: Route) -> str:
        """Return why a waiting call must not be sent: its route has changed, or empty if not."""
        now = self.tools.get(name)
        if now is not None and now.server is route.server and now.pin == route.pin:
            return ""
        return "The tool changed or went while the call waited, so it was not sent."

    def prompt(self, name: str) -> Route:
        """Return the route of a prompt's public name.

        Raises:
            MCPError: nowhere.
        """
        found = self.prompts.get(name)
        if found is None:
            raise unknown_name_error("prompt", name, self.prompts)
        return found

    def resource(self, uri: str) -> Route:
        """Return the route of a URI: of a listed resource, a template, or one that a result named.

        Raises:
            MCPError: nobody's, or several servers'.
        """
        if (found := self.resources.get(uri) or self.templates.get(uri)) is not None:
            return found
        return Route(*self._uris.find(uri), None)

    def name_resources(
        self, server: Upstream, result: Mapping[str, Any], asked: Mapping[str, object] = NOTHING
    ) -> None:
        """Replace the URIs of resources in a server's result by those that clients know.

        They stand in the content of tools, the messages of prompts and of questions to the client's
        model, and the contents of resources.
        The server of a URI that nobody lists is remembered, so that clients can read it.

        Args:
            server: Whose result it is.
            result: As the server sent it; changed in place.
            asked: URIs that the client asked for, by the server's own.
        """
        for part in _parts(result):  # as the server sent it
            for named in (part.get("resource"), part):
                if isinstance(named, dict) and isinstance(uri := named.get("uri"), str):
                    named["uri"] = asked.get(uri) or self._uris.name(server, uri)
                    break


def _parts(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects in a result of any method, or in a question, that may name a resource."""
    asked = result.get("inputRequests")
    for question in asked.values() if isinstance(asked, dict) else ():
        if isinstance(question, dict) and isinstance(params := question.get("params"), dict):
            yield from _parts(params)
    for key in ("content", "contents", "messages"):
        value = result.get(key)
        for part in value if isinstance(value, list) else (value,):
            if not isinstance(part, dict):
                continue
            if key == "messages" or part.get("type") == "tool_result":
                yield from _parts({"content": part.get("content")})
            else:
                yield part


def _shown(listed: Shown, **changes: str) -> Shown:
    """Return what a server lists as clients are told of it: without hidden characters, with `changes`."""
    raw = listed.model_dump(mode="json", by_alias=True, exclude_none=True)
    return type(listed).model_validate({**clean_definition(raw)[0], **changes})


def _tool(server: Upstream, tool: types.Tool, name: str) -> Route:
    raw = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    cleaned, _ = clean_definition(raw)
    change = server.config.transforms.get(tool.name)
    transformed = transform_tool(cleaned, change) if change else None
    check = ArgumentCheck(transformed, name) if transformed else None
    cleaned = dict(transformed.definition) if transformed else cleaned
    shown = {**cleaned, "name": name}
    if name != cleaned["name"]:
        shown.setdefault("title", cleaned["name"])
    definition, pin = types.Tool.model_validate(shown), make_pin(server.config.identity, raw)
    return Route(server, tool.name, definition, pin, transformed, check)


def for_revision(request: Request, tool: types.Tool) -> types.Tool:
    """Return a definition that the client's revision can read."""
    schema = tool.output_schema
    if is_modern(request) or schema is None or schema.get("type") == "object":
        return tool
    return tool.model_copy(update={"output_schema": wrap_schema(schema)})
