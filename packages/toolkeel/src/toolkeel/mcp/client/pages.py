"""Pagination of a listing, with a bound."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

MAX_PAGES = 300
"""Most pages of one listing."""

log = logging.getLogger("toolkeel.mcp")


async def fetch_pages(
    fetch: Callable[[str | None], Awaitable[Any]], server: str
) -> AsyncIterator[Any]:
    """Yield the pages of a list in order.

    A repeated or refused cursor ends it, as do `MAX_PAGES` pages, with a warning in the log.

    Args:
        fetch: Returns the page at a cursor; None is the first.
        server: Name of the server, for the log.

    Raises:
        MCPError: the first page was refused, or a later one failed otherwise.
    """
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await fetch(cursor)
        except MCPError as error:
            if cursor is None or error.code not in (INVALID_PARAMS, INTERNAL_ERROR):
                raise
            log.warning("%s refuses a page of its list: %s", server, error.message)
            return
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in cursors:
            break
        cursors.add(cursor)
    log.warning("%s lists without end; what came so far is taken", server)
