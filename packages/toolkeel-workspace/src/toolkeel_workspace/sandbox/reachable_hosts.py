"""Which hosts a tool of the model's may reach: public ones, and those that are listed.

A name is resolved once, every address it has is checked, and the connection is made to an address
that was checked: so nobody can answer the check with one address and the connection with another.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import urlsplit

from toolkeel._common.public_addresses import Network, is_public, unwrapped
from toolkeel.errors import SetupError, ToolError

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

PORTS = (80, 443, 8080, 8443)
"""Ports that are reached, unless a host is listed with another."""


class Reach:
    """What may be reached.

    Args:
        allow: What else than public addresses: hosts (``intranet.example``), hosts with ports
            (``127.0.0.1:8000``), networks (``10.0.0.0/8``). A host is compared as it is written,
            a network with the address.
        only: If given, nothing but these hosts, and what is below ``*.example.org``.
        ports: Which ports.
        resolve: ``async (host, port) -> addresses`` in the order to be tried; the system's.

    Raises:
        SetupError: if an entry of `allow` is none of these.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        only: Iterable[str] | None = None,
        ports: Iterable[int] = PORTS,
        resolve: Resolve | None = None,
    ) -> None:
        self._ports = frozenset(ports)
        self._only = None if only is None else tuple(one.lower() for one in only)
        self._resolve = resolve or _resolve
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        self._places: set[tuple[str, int]] = set()
        for entry in allow:
            self._allow(entry)

    def _allow(self, entry: str) -> None:
        if "/" in entry:
            with suppress(ValueError):
                self._networks.append(ipaddress.ip_network(entry))
                return
        with suppress(ValueError):
            self._hosts.add(str(ipaddress.ip_address(entry)))
            return
        parts = urlsplit(f"//{entry.lower()}")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or parts.path or parts.query or parts.username:
            raise SetupError(
                f"allow={entry!r} is no host, host:port or network, such as '10.0.0.0/8'"
            )
        if port is None:
            self._hosts.add(host)
        else:
            self._places.add((host, port))

    async def addresses(self, host: str, port: int, sent: str = "") -> list[str]:
        """The addresses to connect to.

        Args:
            host: A name or an address in any spelling, without brackets.
            port: The port.
            sent: The name as the server is sent it, in ASCII. The system turns some letters into
                others than the newer rule for names does (``ß`` into ``ss``): into another host.

        Raises:
            ToolError: if it may not be reached, or has no address. One address that is not
                public is enough: an honest host has none.
        """
        name = host.lower().rstrip(".")
        listed = name in self._hosts or (name, port) in self._places
        self._check_place(name, port, listed)
        try:
            found = await self._resolve(sent or host, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"The host {host[:100]!r} cannot be found ({error}).") from None
        if not found:
            raise ToolError(f"The host {host[:100]!r} has no address.")
        if not listed:
            for text in found:
                self._check_address(host, text)
        return list(dict.fromkeys(found))

    def _check_place(self, name: str, port: int, listed: bool) -> None:
        if self._only is not None and not any(is_below(name, one) for one in self._only):
            shown = ", ".join(self._only) or "none"
            raise ToolError(f"The host {name[:100]!r} may not be reached. Hosts that may: {shown}.")
        if port not in self._ports and not listed:
            shown = ", ".join(map(str, sorted(self._ports)))
            raise ToolError(f"Port {port} may not be reached. Ports that may: {shown}.")

    def _check_address(self, host: str, text: str) -> None:
        address = ipaddress.ip_address(text)
        plain = unwrapped(address)
        if is_public(address) or any(plain in network for network in self._networks):
            return
        raise ToolError(
            f"The host {host[:100]!r} is at {text}, which is not on the public internet. "
            "It may not be reached from here."
        )


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[4][0]) for place in found]


def is_below(name: str, pattern: str) -> bool:
    """Whether a host is the one named, or any below ``*.example.org``.

    >>> is_below("docs.example.org", "*.example.org"), is_below("example.org", "*.example.org")
    (True, False)
    """
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern
