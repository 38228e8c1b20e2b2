"""Names that cannot collide: ``server__tool``, the same at every start, turned round by a table.

Hosts allow 64 characters and put a prefix of their own before them, so 45 are used. What is longer
keeps its head and its tail, with digits of a hash between: names cut at the end would fall together,
and numbers in order of arrival would change when a server joins.
"""

from __future__ import annotations

import hashlib
import re

from toolkeel.errors import SetupError

MAX_LENGTH = 45
"""Most characters of a public name."""
SEPARATOR = "__"
"""Between a server's name and its own name of a thing."""
_HEX = 8
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
    plain = _REFUSED.sub("_", name)
    full = f"{_REFUSED.sub('_', server)}{SEPARATOR}{plain}"
    clear = not (server.endswith("_") or name.startswith("_"))  # where the one ends is seen
    if clear and full == f"{server}{SEPARATOR}{name}" and len(full) <= MAX_LENGTH:
        return full
    digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:_HEX]
    if not name.isascii():
        return f"{full[: len(full) - len(plain)][: MAX_LENGTH - _HEX]}{digest}"
    if len(full) + _HEX + 1 <= MAX_LENGTH:
        return f"{full}_{digest}"
    room = MAX_LENGTH - _HEX - 2
    head = room // 2 + room % 2
    return f"{full[:head]}_{digest}_{full[-(room - head) :]}"


def check_server_name(name: str) -> None:
    """Refuse a name of a server that its tools could not carry.

    Raises:
        SetupError: naming the fix.
    """
    if SEPARATOR in name or not name or len(name) > MAX_LENGTH // 2:
        raise SetupError(
            f"a server behind a gateway cannot be called {name!r}: its name stands before those of "
            f"its tools; use at most {MAX_LENGTH // 2} characters without {SEPARATOR!r}"
        )


def public_uri(server: str, uri: str) -> str:
    """Return the public URI of a resource that two servers have.

    >>> public_uri("notes", "app://log")
    'toolkeel+notes:app://log'
    """
    return f"toolkeel+{server}:{uri}"
