"""The pages that tools name in their definitions (MCP Apps, ``io.modelcontextprotocol/ui``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.client.extension import ClientExtension

EXTENSION: Final = "io.modelcontextprotocol/ui"
PAGE_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"


class Pages(ClientExtension):
    """Extension that declares to a server that its pages can be shown."""

    identifier = EXTENSION

    def settings(self) -> dict[str, Any]:
        """Return the media types of pages that can be shown."""
        return {"mimeTypes": [PAGE_TYPE]}


def page_of(tool: types.Tool) -> str:
    """Return the URI of the page that shows a tool's calls; empty if it has none."""
    uri = _ui_of(tool).get("resourceUri")
    return uri if isinstance(uri, str) else ""


def with_page(tool: types.Tool, uri: str) -> types.Tool:
    """Return a copy of a definition whose page is `uri`; without a page if that is empty."""
    ui = {key: value for key, value in _ui_of(tool).items() if key != "resourceUri"}
    if uri:
        ui["resourceUri"] = uri
    rest = {key: value for key, value in (tool.meta or {}).items() if key != "ui"}
    return tool.model_copy(update={"meta": {**rest, "ui": ui} if ui else rest or None})


def is_for_models(tool: types.Tool) -> bool:
    """Return False for a tool that only pages of its server may call."""
    visibility = _ui_of(tool).get("visibility")
    return not isinstance(visibility, list) or "model" in visibility


def _ui_of(tool: types.Tool) -> Mapping[str, object]:
    """Return the page fields of a definition, or an empty mapping."""
    ui = (tool.meta or {}).get("ui")
    return ui if isinstance(ui, Mapping) else {}
