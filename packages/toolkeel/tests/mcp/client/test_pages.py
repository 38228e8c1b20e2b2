"""Pages of a list: all of them, and an end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from toolkeel.mcp.client.pages import MAX_PAGES, fetch_pages


async def walked(after: dict[str | None, str | None]) -> list[str | None]:
    async def fetch(cursor: str | None) -> Any:
        if cursor == "wrong":
            raise MCPError(INVALID_PARAMS, "no such cursor")
        return SimpleNamespace(at=cursor, next_cursor=after.get(cursor, str(cursor) + "x"))

    return [page.at async for page in fetch_pages(fetch, "s")]


@pytest.mark.parametrize(
    ("after", "seen"),
    [
        ({None: None}, [None]),
        ({None: "", "": "b", "b": None}, [None, "", "b"]),
        ({None: "a", "a": "a"}, [None, "a"]),
        ({None: "a", "a": "wrong"}, [None, "a"]),
    ],
)
def test_every_page_is_seen_once(after: Any, seen: list[Any]) -> None:
    assert asyncio.run(walked(after)) == seen


def test_a_list_without_end_has_one() -> None:
    assert len(asyncio.run(walked({}))) == MAX_PAGES
