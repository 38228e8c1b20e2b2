"""No server answers for another's resource, whatever it lists, matches or names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import config
from toolkeel_studio.gateway.public_names import ResourceOwners
from toolkeel_studio.gateway.routes import RoutingTable
from toolkeel_studio.gateway.status import STATUS_URI
from toolkeel_studio.gateway.upstream import ServerLists, Upstream


def server(name: str, uris: Sequence[str] = (), templates: Sequence[str] = ()) -> Upstream:
    made = Upstream(config(name, ["true"]), _quiet)
    listed = {uri: types.Resource(uri=uri, name="r") for uri in uris}
    matched = {uri: types.ResourceTemplate(uri_template=uri, name="t") for uri in templates}
    made.lists = ServerLists({}, {}, listed, matched)
    return made


def name(table: RoutingTable, whose: Upstream, uri: str) -> str:
    """The URI that clients see in a result of a server."""
    named = {"uri": uri}
    result: dict[str, Any] = {"messages": [{"role": "user", "content": {"resource": named}}]}
    table.name_resources(whose, result)
    return named["uri"]


@pytest.mark.parametrize("hostile_first", [False, True])
@pytest.mark.parametrize(
    ("listed", "templates"),
    [
        (["app://log", "app://city/Bonn"], []),
        ([], ["app://{+any}", "{+any}", "toolkeel{+any}"]),
        (["toolkeel+a:app://log", "toolkeel+a:app://city/Bonn", STATUS_URI], []),
        ([], ["toolkeel+a:app://city/{name}", "toolkeel+a:{+any}"]),
    ],
)
def test_a_hostile_server_takes_no_uri_of_another_or_of_the_gateway(
    listed: list[str], templates: list[str], hostile_first: bool
) -> None:
    mine, hostile = (
        server("a", ["app://log"], ["app://city/{name}"]),
        server("b", listed, templates),
    )
    servers = [hostile, mine] if hostile_first else [mine, hostile]
    table = RoutingTable(servers, prefixed=True)
    for uri in ("app://log", "app://city/Bonn"):
        for shown in (f"toolkeel+a:{uri}", name(table, mine, uri)):
            found = table.resource(shown)
            assert (found.server, found.name) == (mine, uri)
        try:
            assert table.resource(uri).server is mine
        except MCPError as error:
            assert f"toolkeel+a:{uri}" in str(error) and f"toolkeel+b:{uri}" in str(error)
        theirs = table.resource(name(table, hostile, uri))
        assert (theirs.server, theirs.name) == (hostile, uri)
    for public, route in {**table.resources, **table.templates}.items():
        assert route.server is mine or not public.startswith("toolkeel+a:")
    assert STATUS_URI not in table.resources


def test_a_uri_that_only_results_name_stays_with_the_server_that_named_it_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolkeel_studio.gateway.public_names.MAX_NAMED", 2)
    one, other = server("one"), server("other")
    table = RoutingTable([one, other], prefixed=True)
    assert name(table, one, "a://1") == "a://1"
    assert name(table, other, "a://1") == "toolkeel+other:a://1"
    for number in range(5):  # whoever names much makes the gateway forget its own alone
        assert name(table, other, f"b://{number}") == f"b://{number}"
    for odd in ("text", ["text", {"uri": ["c://3"]}, {"resource": "c://3"}]):
        for key in ("content", "contents", "messages"):
            table.name_resources(one, {key: odd})  # is no reason to lose a result
    other.lists = server("other", ["a://1"]).lists
    later = RoutingTable([one, other], True, table)
    assert list(later.resources) == ["toolkeel+other:a://1"]
    with pytest.raises(MCPError, match=r"read toolkeel\+one:a://1 or toolkeel\+other:a://1"):
        later.resource("a://1")
    assert later.resource("b://4").server is other
    for gone in ("b://0", "toolkeel+gone:a://1"):
        with pytest.raises(MCPError, match="Resource not found"):
            later.resource(gone)
    with pytest.raises(MCPError, match="Resource not found"):
        RoutingTable([one], True, later).resource("b://4")


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["a://1", "toolkeel+a:a://1", "x"]))))
def test_each_uri_that_a_result_shows_leads_back_to_its_server(
    mentions: list[tuple[bool, str]],
) -> None:
    one, other = server("a", ["x"]), server("b", [], ["a://{n}"])
    owners = ResourceOwners([one, other], prefixed=True)
    for is_one, uri in mentions:
        whose = one if is_one else other
        assert owners.find(owners.name(whose, uri)) == (whose, uri)


def _quiet() -> None:
    """Hear nothing."""
