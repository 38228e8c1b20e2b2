"""Whose a URI is, so that no server answers for another's resource.

A server claims the URIs that it lists, those that its templates match, and those that nobody else
claimed when its results named them. What one server claims keeps its URI. What several claim, and
what looks like a URI of the gateway itself, is known as ``toolkeel+server:URI``.
"""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from toolkeel.mcp.server.snapshot import not_found_error
from toolkeel_studio.gateway.public_names import OWN_URIS, public_uri
from toolkeel_studio.gateway.upstream import Upstream

MAX_NAMED = 10_000
"""Most URIs that are remembered of one server's results; its oldest are forgotten."""


class ResourceOwners:
    """The claims of all servers.

    Args:
        servers: In order.
        prefixed: False for one server whose URIs shall stay as they are.
        before: The claims until now; what results named is taken from them.
    """

    def __init__(
        self, servers: Sequence[Upstream], prefixed: bool, before: ResourceOwners | None = None
    ) -> None:
        self._prefixed = prefixed
        named: dict[Upstream, dict[str, None]] = before._named if before else {}
        self._named: dict[Upstream, dict[str, None]] = {
            server: named.get(server, {}) for server in servers
        }
        self._templates = {server: [*map(_parsed, server.lists.templates)] for server in servers}

    def _claims(self, server: Upstream, uri: str) -> bool:
        """Return True if a URI is one of a server's."""
        lists = server.lists
        if uri in lists.resources or uri in lists.templates or uri in self._named[server]:
            return True
        return any(
            template is not None and uri.startswith(start) and template.match(uri) is not None
            for start, template in self._templates[server]
        )

    def public(self, server: Upstream, uri: str) -> str:
        """Return the URI by which clients know a server's resource.

        It is the server's own unless another server claims that too, or it is one of the gateway's.
        """
        if not self._prefixed:
            return uri
        others = (each for each in self._named if each is not server)
        if uri.startswith(OWN_URIS) or any(self._claims(each, uri) for each in others):
            return public_uri(server.name, uri)
        return uri

    def name(self, server: Upstream, uri: str) -> str:
        """Return `public` of a URI that a server's result names, and remember whose it is."""
        public = self.public(server, uri)
        named = self._named.get(server, {})
        if public == uri and uri and uri not in named and not self._claims(server, uri):
            named[uri] = None
            if len(named) > MAX_NAMED:
                del named[next(iter(named))]
        return public

    def find(self, uri: str) -> tuple[Upstream, str]:
        """Return the server of a client's URI, and that server's own URI.

        Raises:
            MCPError: nobody's, or several servers': then it names the URIs to choose from.
        """
        if self._prefixed and uri.startswith(OWN_URIS):
            for server in self._named:
                if uri.startswith(prefix := public_uri(server.name, "")):
                    return server, uri.removeprefix(prefix)
            raise not_found_error(uri)
        owners = [server for server in self._named if self._claims(server, uri)]
        if not owners:
            raise not_found_error(uri)
        if len(owners) > 1:
            choice = " or ".join(public_uri(server.name, uri) for server in owners)
            raise MCPError(types.INVALID_PARAMS, f"Several servers have {uri}: read {choice}")
        return owners[0], uri


def _parsed(template: str) -> tuple[str, UriTemplate | None]:
    """Return what a template's URIs begin with, and the template; None if it cannot be parsed."""
    try:
        return template.partition("{")[0], UriTemplate.parse(template)
    except ValueError:  # it matches nothing, which costs no other client
        return template, None
