"""What is sent to a server on the network, checked before anything is sent.

HTTP cannot carry every text. Without these checks each request fails, in words of the HTTP library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from toolkeel.errors import SetupError

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_VALUES = re.compile(r"[^\t\x20-\x7e]")
_NOT_IN_ADDRESSES = re.compile(r"[\s\\\x00-\x1f\x7f\ud800-\udfff]")
_FRAMING = frozenset(("content-length", "transfer-encoding"))
_MEANT = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:(?://|\d+(?:/\S*)?$)")
_LABEL_LENGTH = 63


def is_url(text: str) -> bool:
    """Return True if a text is a URL rather than a command."""
    return text[:8].lower().startswith(("http://", "https://"))


def is_meant_as_url(text: str) -> bool:
    """Return True if a text is meant as a URL: of any scheme, or of none.

    >>> is_meant_as_url("ws://x/mcp"), is_meant_as_url("localhost:8000/mcp"), is_meant_as_url("npx x")
    (True, True, False)
    """
    return _MEANT.match(text) is not None


def check_http(
    origin: str, name: str, url: str, headers: Mapping[str, object], oauth: Mapping[str, object]
) -> None:
    """Raise unless HTTP can carry what is sent to a server.

    Args:
        origin: The file that has the server; empty if the program itself names it.
        name: The server's name.
        url: Its address; empty for a command, to which nothing is sent over HTTP.
        headers: Sent with each request.
        oauth: Options of its login.

    Raises:
        SetupError: some of it cannot be sent; the server, the option and what to write are named.
    """
    if url:
        where = f"{origin}: server {name!r}" if origin else f"the MCP server {name!r}"
        check_address(f"{where}: url", url)
        check_headers(f"{where}: headers", headers, url)
        check_login(f"{where}: oauth", oauth)


def check_address(option: str, url: str) -> None:
    """Raise unless requests can be sent to an address; nothing is looked up or sent.

    Args:
        option: The place where it is written, for errors: its server and the option.
        url: The address. It may be secret, so errors do not show it.

    Raises:
        SetupError: no request can be sent to it.
    """
    if found := _NOT_IN_ADDRESSES.search(url):
        raise SetupError(f"{option} holds {_character(found[0])}; remove it, or percent-encode it")
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    if scheme not in ("http", "https"):
        began = f", not {scheme}://" if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) else ""
        raise SetupError(f"{option} is no http address: it begins with http:// or https://{began}")
    parts: SplitResult | None = None
    port: int | None = 0
    with suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port
    if parts is None or port == 0:
        raise SetupError(
            f"{option} has no valid port: it is a number from 1 to 65535. Write an IPv6 address in [ ], "
            "and in a user's name or password %2F for /, %3A for : and %40 for @"
        )
    if not _is_host(parts.hostname or ""):
        raise SetupError(f"{option} names no host: write https://HOST/PATH")


def _is_host(host: str) -> bool:
    """Return True for a text with the form of a host name or an IP address; nothing is looked up."""
    if ":" in host:  # IPv6: `urlsplit` has checked it
        return True
    return all(
        0 < len(label) <= _LABEL_LENGTH
        and not unicodedata.category(label[0]).startswith("M")  # it belongs to a letter before it
        and all(char in "-_" or unicodedata.category(char)[0] in "LMN" for char in label)
        for label in host.removesuffix(".").split(".")
    )


def check_headers(option: str, headers: Mapping[str, object], url: str) -> None:
    """Raise unless HTTP can carry headers, and a program may set them.

    Args:
        option: The place where they are written, for errors: their server and the option.
        headers: Values by name. They may be secret, so errors show only what must not be in them.
        url: Address that they are sent to.

    Raises:
        SetupError: HTTP cannot carry one, two have the same name, or one is not for programs to set.
    """
    names: dict[str, str] = {}
    for name, value in headers.items():
        where = f"{option}: the header {name!r}"
        if not isinstance(value, str):
            raise SetupError(f"{where} has {value!r:.60} as its value, which is no text")
        if not _HEADER_NAME.fullmatch(name):
            raise SetupError(f"{where} has no valid name; use ASCII letters, digits and hyphens")
        if name.lower() in _FRAMING:
            raise SetupError(f"{where} is set for each request; remove it")
        if (other := names.setdefault(name.lower(), name)) is not name:
            raise SetupError(f"{where} is {other!r} once more, as case does not count; remove one")
        if value != value.strip():
            ends = value[0] if value[0].isspace() else value[-1]
            raise SetupError(
                f"{where} begins or ends with {_character(ends)}; remove it (.strip())"
            )
        if found := _NOT_IN_VALUES.search(value):
            raise SetupError(
                f"{where} holds {_character(found[0])}, which HTTP cannot carry; write its value in "
                "ASCII, for example with urllib.parse.quote"
            )
    if "authorization" in names and "@" in urlsplit(url).netloc:
        raise SetupError(
            f"{option}: the address has a user, and so an Authorization header of its own; remove one"
        )


def check_login(where: str, options: Mapping[str, object]) -> None:
    """Raise unless the options of a login can be sent to an authorization server.

    Args:
        where: Whose they are, for errors.
        options: Those of `OAuth` by name; what is empty is not set.

    Raises:
        SetupError: one cannot be sent to an authorization server.
    """
    for name in ("client_id", "client_secret", "scope"):
        text = str(options.get(name) or "")
        found = _NOT_IN_VALUES.search(text) or re.match(r"\s", text) or re.search(r"\s\Z", text)
        if found:
            raise SetupError(
                f"{where}: {name} holds {_character(found[0])}; OAuth takes ASCII without spaces at "
                "its ends"
            )
    for name in ("issuer", "client_metadata_url"):
        if url := options.get(name):
            check_address(f"{where}: {name}", str(url))
    document = urlsplit(str(options.get("client_metadata_url") or "https://x/y"))
    if document.scheme != "https" or document.path in ("", "/"):
        raise SetupError(f"{where}: client_metadata_url is https://HOST/PATH of a published file")
    port = str(options.get("port", ""))
    if port.isdecimal() and not 0 < int(port) <= 65_535:
        raise SetupError(f"{where}: port is a number from 1 to 65535, not {port}")


def _character(char: str) -> str:
    """Return the name of a character in words: "a tab", or "the character 'x' (U+0078)"."""
    names = {"\n": "a line feed", "\r": "a carriage return", "\t": "a tab", " ": "a space"}
    shown = f"{char!r} " if char.isprintable() else ""
    return names.get(char) or f"the character {shown}(U+{ord(char):04X})"
