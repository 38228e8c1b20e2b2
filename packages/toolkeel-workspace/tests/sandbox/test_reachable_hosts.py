"""Which addresses may be reached (T17)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy, is_host_match


def answers(*addresses: str):  # type: ignore[no-untyped-def]
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolve


def reach(host: str, port: int = 80, *, of: HostPolicy | None = None) -> list[str]:
    return asyncio.run((of or HostPolicy()).resolve_addresses(host, port))


HIDDEN = [
    "127.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "127.0.0.1",
    "localhost",
    "0.0.0.0",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "10.1.2.3",
    "100.100.100.200",
    "169.254.169.254",
    "172.31.0.1",
    "192.168.1.1",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "fec0::1",
    "3fff::1",
    "100::1",
]


@pytest.mark.parametrize("host", HIDDEN)
def test_no_spelling_of_an_address_that_is_not_public_is_reached(host: str) -> None:
    with pytest.raises(ToolError, match=r"not on the public internet|cannot be found"):
        reach(host)


@pytest.mark.parametrize(
    "text", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_public_addresses_are_reached(text: str) -> None:
    assert reach("example.org", of=HostPolicy(resolve=answers(text))) == [text]


def test_one_private_address_among_public_ones_is_enough() -> None:
    with pytest.raises(ToolError, match=r"10\.0\.0\.1"):
        reach("evil.example", of=HostPolicy(resolve=answers("1.1.1.1", "10.0.0.1")))


def test_what_is_listed_is_reached() -> None:
    assert reach("127.0.0.1", 9000, of=HostPolicy(["127.0.0.1:9000"])) == ["127.0.0.1"]
    assert reach("127.0.0.1", 9000, of=HostPolicy(["127.0.0.1"])) == ["127.0.0.1"]
    assert reach("10.1.2.3", of=HostPolicy(["10.0.0.0/8"])) == ["10.1.2.3"]
    wiki = HostPolicy(["Wiki.Example"], resolve=answers("10.0.0.9"))
    assert reach("wiki.example.", of=wiki) == ["10.0.0.9"]
    with pytest.raises(ToolError, match="Port 9001"):
        reach("127.0.0.1", 9001, of=HostPolicy(["127.0.0.1:9000"]))
    with pytest.raises(ToolError, match="public"):
        reach("127.0.0.2", of=HostPolicy(["127.0.0.1"]))


def test_only_listed_hosts_are_reached_if_the_program_says_so() -> None:
    docs = HostPolicy(only=["docs.example.org", "*.python.org"], resolve=answers("1.1.1.1"))
    assert reach("docs.python.org", of=docs) == ["1.1.1.1"]
    for other in ("example.org", "evilpython.org", "docs.example.org.evil.example"):
        with pytest.raises(ToolError, match=r"Allowed hosts: docs\.example\.org, \*\.python\.org"):
            reach(other, of=docs)


def test_ports_that_are_not_listed_are_refused() -> None:
    with pytest.raises(ToolError, match="Allowed ports: 80, 443, 8080, 8443"):
        reach("example.org", 22, of=HostPolicy(resolve=answers("1.1.1.1")))


@pytest.mark.parametrize("entry", ["", "http://x", "a:b:c", "user@host", "10.0.0.1/8", "x/y"])
def test_an_entry_that_names_no_place_is_refused(entry: str) -> None:
    with pytest.raises(SetupError, match="not a host, host:port or network"):
        HostPolicy([entry])


def test_a_host_without_an_address_is_not_found() -> None:
    with pytest.raises(ToolError, match="has no address"):
        reach("nowhere.example", of=HostPolicy(resolve=answers()))
    with pytest.raises(ToolError, match="cannot be found"):
        reach("no-such-host.invalid")


def test_a_pattern_covers_what_is_below_it_alone() -> None:
    assert is_host_match("a.b.example", "*.example")
    assert not is_host_match("example", "*.example")
    assert not is_host_match("xexample", "*.example")
