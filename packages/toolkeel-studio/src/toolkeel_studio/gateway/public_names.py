"""Names that cannot collide: ``server__tool``, the same at every start, turned round by a table.

Hosts allow 64 characters and put a prefix of their own before them, so 45 are used. What is longer
keeps its head and its tail, with digits of a hash between: names cut at the end would fall together,
and numbers in order of arrival would change when a server joins.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

MAX_LENGTH = 45
"""Most characters of a public name."""
SEPARATOR = "__"
"""Between a server's name and its own name of a thing."""
MAX_SERVER_LENGTH = MAX_LENGTH // 2
"""Maximum characters of the server prefix in them."""
OWN_URIS = ("toolkeel+", "toolkeel:")
"""Beginnings of URIs that are the gateway's own: no server's URI leads elsewhere by looking like one."""
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
