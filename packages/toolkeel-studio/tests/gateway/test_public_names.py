"""Public names: bounded, of the hosts' alphabet, the same at every start, and never the same twice."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.gateway.public_names import (
    MAX_LENGTH,
    public_name,
    public_uri,
    server_prefix,
)

SERVERS = (
    st.from_regex(r"[a-z_]{1,3}", fullmatch=True)
    | st.text(max_size=40)
    | st.from_regex(r"(a|_|__|[.]){20,30}", fullmatch=True)
)
TOOLS = st.text(min_size=1, max_size=80) | st.from_regex(r"[ab_]{1,4}|[a-z_]{1,80}", fullmatch=True)


@given(st.sets(st.tuples(SERVERS, TOOLS), min_size=1, max_size=12))
def test_no_two_names_fall_together_and_hosts_take_all(pairs: set[tuple[str, str]]) -> None:
    names = {public_name(*pair) for pair in pairs}
    assert len(names) == len(pairs)
    for name in names:
        assert re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}", name), name


@pytest.mark.parametrize(
    "pairs",
    [[("a b", "x"), ("a_b", "x")], [("北京", "x"), ("上海", "x")], [("a", "_b"), ("a_", "b")]],
)
def test_servers_whose_names_look_alike_once_they_are_plain_stay_apart(
    pairs: list[tuple[str, str]],
) -> None:
    assert len({public_name(*pair) for pair in pairs}) == 2


def test_long_names_that_differ_only_in_their_middle_stay_apart_and_readable() -> None:
    a = public_name("files", "read_" + "x" * 60 + "_lines")
    b = public_name("files", "read_" + "y" * 60 + "_lines")
    assert a != b and a.startswith("files__read_") and a.endswith("_lines")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("git", "git"),
        ("awslabs.aws-documentation-mcp-server", r"awslabs_aws-doc_[0-9a-f]{6}"),
        ("a__b", r"a_b_[0-9a-f]{6}"),
        ("_" * 30, r"server_[0-9a-f]{6}"),
        ("", r"server_[0-9a-f]{6}"),
    ],
)
def test_a_name_of_a_server_that_tools_could_not_carry_is_shortened_with_a_hash(
    name: str, prefix: str
) -> None:
    assert re.fullmatch(prefix, server_prefix(name))
    assert public_name(name, "read").startswith(server_prefix(name) + "__read")


def test_addresses_of_two_servers_stay_apart() -> None:
    assert public_uri("a", "app://x") != public_uri("b", "app://x")
