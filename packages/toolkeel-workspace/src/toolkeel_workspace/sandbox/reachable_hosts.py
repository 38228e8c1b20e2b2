"""Which hosts a tool may connect to: public ones, and those that the program lists.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address.
So DNS cannot answer the check with one address and the connection with another (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import urlsplit

from toolkeel._common.public_addresses import Network, is_public, unwrap_ipv4
from toolkeel.errors import SetupError, ToolError

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

PORTS = (80, 443, 8080, 8443)
"""Allowed ports, unless a host is listed with another."""


class HostPolicy:
    """Which hosts may be connected to.

    Args:
        allow: Exceptions to "public addresses only": hosts (``intranet.example``), hosts with ports
            (``127.0.0.1:8000``), networks (``10.0.0.0/8``). A host is compared as text, a network
            with the resolved address.
        only: If set, no other hosts; ``*.example.org`` includes all subdomains.
        ports: Allowed ports, unless a host is listed with another.
        resolve: ``async (host, port) -> addresses`` in the order to try them; the system's resolver
            by default.

    Raises:
        SetupError: if an entry of `allow` is none of these.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        only: Iterable[str] | None = None,
        ports: Iterable[int] = PORTS,
        resolve: Resolver | None = None,
    ) -> None:
        self._ports = frozenset(ports)
        self._only = None if only is None else tuple(one.lower() for one in only)
        self._resolve = resolve or _resolve
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        self._host_ports: set[tuple[str, int]] = set()
        for entry in allow:
            self._add_allowed(entry)

    def _add_allowed(self, entry: str) -> None:
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
                f"allow={entry!r} is not a host, host:port or network, such as '10.0.0.0/8'"
            )
        if port is None:
            self._hosts.add(host)
        else:
            self._host_ports.add((host, port))

    async def resolve_addresses(self, host: str, port: int, ascii_host: str = "") -> list[str]:
        """Resolve a host to the addresses that may be connected to.

        Args:
            host: A name or an address in any spelling, without brackets.
            port: The port.
            ascii_host: The name as the HTTP client sends it, in ASCII. The system's resolver maps some
                letters differently (``ß`` to ``ss``), which would be another host.

        Raises:
            ToolError: if the host is not allowed or has no address. One address that is not public is
                enough to refuse the host.
        """
        name = host.lower().rstrip(".")
        listed = name in self._hosts or (name, port) in self._host_ports
        self._check_host(name, port, listed)
        try:
            found = await self._resolve(ascii_host or host, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"The host {host[:100]!r} cannot be found ({error}).") from None
        if not found:
            raise ToolError(f"The host {host[:100]!r} has no address.")
        if not listed:
            for text in found:
                self._check_address(host, text)
        return list(dict.fromkeys(found))

    def _check_host(self, name: str, port: int, listed: bool) -> None:
        if self._only is not None and not any(is_host_match(name, one) for one in self._only):
            shown = ", ".join(self._only) or "none"
            raise ToolError(f"The host {name[:100]!r} is not allowed. Allowed hosts: {shown}.")
        if port not in self._ports and not listed:
            shown = ", ".join(map(str, sorted(self._ports)))
            raise ToolError(f"Port {port} is not allowed. Allowed ports: {shown}.")

    def _check_address(self, host: str, text: str) -> None:
        address = ipaddress.ip_address(text)
        plain = unwrap_ipv4(address)
        if is_public(address) or any(plain in network for network in self._networks):
            return
        raise ToolError(
            f"The host {host[:100]!r} has the address {text}, which is not on the public internet. "
            "Connecting to it is not allowed."
        )


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[4][0]) for place in found]


def is_host_match(name: str, pattern: str) -> bool:
    """Return true if a host equals a pattern, or is below one such as ``*.example.org``.

    >>> is_host_match("docs.example.org", "*.example.org"), is_host_match("example.org", "*.example.org")
    (True, False)
    """
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern
