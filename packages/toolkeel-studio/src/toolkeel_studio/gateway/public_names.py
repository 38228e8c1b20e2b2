"""Names that cannot collide: ``server__tool``, the same at every start, turned round by a table.

Hosts allow 64 characters and put a prefix of their own before them, so 45 are used. What is longer
keeps its head and its tail, with digits of a hash between: names cut at the end would fall together,
and numbers in order of arrival would change when a server joins.

A URI belongs to the servers that list it, those whose templates match it, and the one whose result
named it first. What one server owns keeps its URI. What several own, and what looks like a URI of the
gateway itself, is known as ``toolkeel+server:URI``, so that no server answers for another's resource.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import quote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from toolkeel.mcp.server.snapshot import not_found_error
from toolkeel_studio.gateway.upstream import Upstream

MAX_LENGTH = 45
"""Most characters of a public name."""
SEPARATOR = "__"
"""Between a server's name and its own name of a thing."""
MAX_SERVER_LENGTH = MAX_LENGTH // 2
"""Maximum characters of the server prefix in them."""
OWN_URIS = ("toolkeel+", "toolkeel:")
"""Beginnings of URIs that are the gateway's own: no server's URI leads elsewhere by looking like one."""
MAX_NAMED = 10_000
"""Most URIs that are remembered of one server's results; its oldest are forgotten."""
_HEX = 8
_SERVER_HEX = 6
_UNDERSCORES = re.compile("__+")
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def public_name(server: str, name: str) -> str:
    """Return the public name of a server's tool or prompt.

    Args:
        server: Name of the server, from the file.
        name: Its own name of the thing.

    >>> public_name("git", "commit"), public_name("git", "提交")
    ('git__commit', 'git__d5465424')
    >>> public_name("files", "read_the_whole_of_a_file_and_tell_what_is_in_it")
    'files__read_the_wh_59f84a15_ell_what_is_in_it'
    """
    plain, stem = _REFUSED.sub("_", name), server_prefix(server)
    full = f"{_REFUSED.sub('_', stem)}{SEPARATOR}{plain}"
    clear = not (stem.endswith("_") or name.startswith("_"))  # the boundary is unambiguous
    if clear and full == f"{stem}{SEPARATOR}{name}" and len(full) <= MAX_LENGTH:
        return full
    digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:_HEX]
    if not name.isascii():
        return f"{full[: len(full) - len(plain)][: MAX_LENGTH - _HEX]}{digest}"
    if len(full) + _HEX + 1 <= MAX_LENGTH:
        return f"{full}_{digest}"
    room = MAX_LENGTH - _HEX - 2
    head = room // 2 + room % 2
    return f"{full[:head]}_{digest}_{full[-(room - head) :]}"


def server_prefix(name: str) -> str:
    """Return the prefix of the names of a server's tools: its name, if tools can carry it.

    A name that is too long, or that holds the separator, is shortened and gets digits of its hash.

    >>> server_prefix("git"), server_prefix("awslabs.aws-documentation-mcp-server")
    ('git', 'awslabs_aws-doc_c94c58')
    """
    if name and SEPARATOR not in name and len(name) <= MAX_SERVER_LENGTH:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_SERVER_HEX]
    head = _UNDERSCORES.sub("_", _REFUSED.sub("_", name))[: MAX_SERVER_LENGTH - _SERVER_HEX - 1]
    return f"{head.strip('_') or 'server'}_{digest}"


def public_uri(server: str, uri: str) -> str:
    """Return the public URI of a resource that two servers have, or that is not its server's alone.

    >>> public_uri("notes", "app://log")
    'toolkeel+notes:app://log'
    """
    return f"toolkeel+{quote(server_prefix(server), safe='')}:{uri}"


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
