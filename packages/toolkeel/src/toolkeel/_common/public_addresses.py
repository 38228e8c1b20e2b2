"""Which network addresses are public: one table for all outgoing connections.

What is private is refused by `toolkeel_workspace.sandbox.reachable_hosts`.

The table is our own. Python's `ipaddress` calls multicast, 6to4 and NAT64 addresses global, even
where loopback hides behind them. Sources: the IANA special-purpose address registries for IPv4
and IPv6 (RFC 6890), multicast (RFC 5771, RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056, RFC 7526).
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

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
    """Return True if an address, or the IPv4 address inside it, is on the public internet.

    >>> is_public(ipaddress.ip_address("93.184.216.34"))
    True
    >>> hidden = ["127.0.0.1", "224.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1"]
    >>> any(is_public(ipaddress.ip_address(text)) for text in hidden)
    False
    """
    address = unwrap_ipv4(address)
    if isinstance(address, IPv6Address) and (address not in _PUBLIC_V6 or address.scope_id):
        return False
    return not any(address in network for network in SPECIAL)


def unwrap_ipv4(address: Address) -> Address:
    """Return the IPv4 address inside a mapped or NAT64 address, or else the address unchanged."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
