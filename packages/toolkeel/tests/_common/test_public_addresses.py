"""Which addresses are public (T17)."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.public_addresses import SPECIAL, is_public


@given(st.sampled_from(SPECIAL), st.integers(min_value=0))
def test_nothing_in_the_table_is_public_however_it_is_wrapped(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network, offset: int
) -> None:
    address = network[offset % network.num_addresses]
    assert not is_public(address)
    if isinstance(address, ipaddress.IPv4Address):
        for prefix in ("::ffff:", "64:ff9b::"):
            assert not is_public(ipaddress.ip_address(f"{prefix}{address}"))


@given(st.ip_addresses())
def test_whatever_is_public_here_is_global_to_python_too(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public(address):
        inner = getattr(address, "ipv4_mapped", None) or address
        assert inner.is_global
        assert not inner.is_multicast
