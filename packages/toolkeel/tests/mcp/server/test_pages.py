"""Pages that hosts show for tools, as clients of both eras get them."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.server import apps

from tests.mcp.serving import both_eras, deprecations, talk
from toolkeel import Toolset, tool
from toolkeel.errors import DuplicateToolError, SetupError
from toolkeel.mcp import page_links
from toolkeel.mcp.server import ToolServer, ui_resource, with_ui
from toolkeel.messages import ToolOutput

pytestmark = deprecations
CLOCK = ui_resource(
    "ui://clock/main",
    "<!doctype html><title>时钟</title>",
    title="Clock",
    csp={"connectDomains": ["https://*.example.com:8443"]},
    permissions=["camera"],
    prefersBorder=True,
)
UI = {
    "csp": {"connectDomains": ["https://*.example.com:8443"]},
    "permissions": {"camera": {}},
    "prefersBorder": True,
}


@tool(provider_options={"_meta": {"own": 1}})
def now() -> ToolOutput:
    """Return the time."""
    return ToolOutput("12:00", artifact="CANARY", details={"own": "CANARY"})


def refresh() -> str:
    """Return the time again."""
    return "12:01"


@both_eras
def test_a_tool_names_its_page_and_the_server_has_it(era: str) -> None:
    async def use(peer: Peer) -> None:
        shown, hidden = (await peer.list_tools()).tools
        assert shown.meta == {
            "own": 1,
            "ui": {"resourceUri": "ui://clock/main", "visibility": ["model", "app"]},
        }
        assert hidden.meta == {"ui": {"resourceUri": "ui://clock/main", "visibility": ["app"]}}
        [listed] = (await peer.list_resources()).resources
        assert (listed.uri, listed.title, listed.mime_type) == (
            "ui://clock/main",
            "Clock",
            apps.APP_MIME_TYPE,
        )
        [page] = (await peer.read_resource("ui://clock/main")).contents
        assert isinstance(page, types.TextResourceContents)
        assert page.text.startswith("<!doctype html>") and page.mime_type == apps.APP_MIME_TYPE
        assert (listed.meta, page.meta) == ({"ui": UI}, {"ui": UI})
        result = await peer.call_tool("now", {})
        assert [block.text for block in result.content] == ["12:00"]  # type: ignore[union-attr]
        assert "CANARY" not in result.model_dump_json()

    server = ToolServer([with_ui(now, CLOCK), with_ui(refresh, CLOCK, ["app"])])
    assert server.sdk.extensions == {apps.EXTENSION_ID: {}}
    talk(server, use, era)


def test_the_words_of_the_protocol_are_those_of_the_sdk() -> None:
    assert (page_links.EXTENSION, page_links.PAGE_TYPE) == (apps.EXTENSION_ID, apps.APP_MIME_TYPE)


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("https://clock", {}),
        ("ui://clock", {"csp": {"connectDomains": ["https://a.example; script-src *"]}}),
        ("ui://clock", {"csp": {"connectDomains": "https://a.example"}}),
        ("ui://clock", {"csp": {"scriptDomains": ["https://a.example"]}}),
        ("ui://{name}", {}),
    ],
)
def test_a_page_that_hosts_could_not_show_is_refused(uri: str, options: Any) -> None:
    with pytest.raises(SetupError):
        ui_resource(uri, "<p>", **options)


def test_a_page_asks_for_nothing_unless_its_program_does() -> None:
    assert "_meta" not in ui_resource("ui://plain", "<p>").definition()


def test_a_page_that_is_not_here_is_not_named() -> None:
    relayed = tool(provider_options={"_meta": {"ui": {"resourceUri": "ui://other"}}})(refresh)

    async def use(peer: Peer) -> None:
        assert [each.meta for each in (await peer.list_tools()).tools] == [None]

    talk(ToolServer([relayed]), use, "2026-07-28")


def test_pages_come_and_go_with_their_tools() -> None:
    async def use(peer: Peer) -> None:
        assert (await peer.list_resources()).resources == []
        await server.update([with_ui(now, CLOCK)])
        assert len((await peer.list_resources()).resources) == 1
        await server.update([now])
        assert (await peer.list_resources()).resources == []
        with pytest.raises(DuplicateToolError):
            await server.update(
                [with_ui(now, CLOCK), with_ui(refresh, ui_resource(CLOCK.uri, "<p>"))]
            )
        with pytest.raises(SetupError, match=r"resources=\[\]"):
            await ToolServer([now]).update(Toolset([with_ui(now, CLOCK)]))

    server = ToolServer([now], resources=[])
    talk(server, use, "2026-07-28")
