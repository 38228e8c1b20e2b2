"""The pages that tools name, and tools that only pages may call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.warm import WARM
from toolkeel.mcp.client import MCPServer
from toolkeel.mcp.page_links import is_for_models, page_of, with_page

PROGRAM = """
from mcp.server import MCPServer
from mcp.server.apps import Apps

apps = Apps()
apps.add_html_resource("ui://clock", "<p>")


@apps.tool(resource_uri="ui://clock")
def now() -> str:
    "Return the time."
    return "12:00"


@apps.tool(resource_uri="ui://clock", visibility=["app"])
def refresh() -> str:
    "Return the time again."
    return "12:01"


MCPServer("clock", extensions=[apps]).run()
"""


@pytest.mark.parametrize(
    ("meta", "page", "for_models"),
    [
        (None, "", True),
        ({"ui": {"resourceUri": "ui://a"}}, "ui://a", True),
        ({"ui": {"resourceUri": 3, "visibility": "app"}}, "", True),
        ({"ui": {"visibility": ["app"]}}, "", False),
        ({"ui": {"visibility": ["model", "app"]}}, "", True),
        ({"ui": []}, "", True),
    ],
)
def test_what_a_definition_says_is_read_whatever_it_holds(
    meta: Any, page: str, for_models: bool
) -> None:
    tool = types.Tool(name="a", input_schema={"type": "object"}, _meta=meta)
    assert (page_of(tool), is_for_models(tool)) == (page, for_models)


def test_another_page_leaves_the_rest_of_a_definition() -> None:
    meta = {"own": 1, "ui": {"resourceUri": "ui://a", "visibility": ["app"]}}
    tool = types.Tool(name="a", input_schema={"type": "object"}, _meta=meta)
    assert with_page(tool, "ui://b").meta == {
        "own": 1,
        "ui": {"resourceUri": "ui://b", "visibility": ["app"]},
    }
    assert with_page(tool, "").meta == {"own": 1, "ui": {"visibility": ["app"]}}


def test_a_tool_that_only_pages_may_call_is_no_tool_of_a_model(tmp_path: Path) -> None:
    file = tmp_path / "clock.py"
    file.write_text(PROGRAM, "utf-8")

    async def use() -> None:
        async with MCPServer([*WARM, str(file)]) as server:
            assert [each.name for each in await server.get_tools()] == ["now"]

    asyncio.run(use())
