"""Which network addresses a tool of the model's may reach: public ones, and those that are listed.

A name is resolved once, every address it has is checked, and the connection is made to an address
that was checked: so nobody can answer the check with one address and the connection with another.

The table is our own. Python's `ipaddress` calls multicast, 6to4 and NAT64 addresses global, even
where loopback hides behind them. Sources: the IANA special-purpose address registries for IPv4
and IPv6 (RFC 6890), multicast (RFC 5771, RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056, RFC 7526).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias
from urllib.parse import urlsplit

from toolkeel.errors import SetupError, ToolError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

PORTS = (80, 443, 8080, 8443)
"""Ports that are reached, unless a host is listed with another."""

SPECIAL: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carriers' own; clouds keep metadata here
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "168.63.129.16/32",  # the host of Azure's machines, which only they reach
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
"""What is not public among IPv4 and among 2000::/3; the rest of IPv6 is not public at all."""

_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, whatever is wrapped in it.

    >>> is_public(ipaddress.ip_address("93.184.216.34"))
    True
    >>> hidden = ["127.0.0.1", "224.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"]
    >>> any(is_public(ipaddress.ip_address(text)) for text in hidden)
    False
    """
    address = unwrapped(address)
    if isinstance(address, IPv6Address) and (address not in _PUBLIC_V6 or address.scope_id):
        return False
    return not any(address in network for network in SPECIAL)


def unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


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
