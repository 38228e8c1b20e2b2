"""Pages that hosts show for a tool's calls (MCP Apps).

::

    clock = ui_resource("ui://clock", "<!doctype html>...")
    server = ToolServer([with_ui(now, clock)])

The page is fixed here; calls and results reach it through the host. A client that shows no pages gets the
tool's text, as from any other tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as but
from typing import Any, Final, Literal, TypeAlias, get_args

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import NOTHING
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import DefinitionError
from toolkeel.mcp.page_links import PAGE_TYPE, SCHEME
from toolkeel.mcp.server.prompts_resources import Resource, resource

Caller: TypeAlias = Literal["model", "app"]
"""Who may call a tool: models, or pages of its server."""
Domains: TypeAlias = Literal["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"]
Permission: TypeAlias = Literal["camera", "microphone", "geolocation", "clipboardWrite"]
PAGE: Final = "ui_page"
"""Metadata of a tool: the resource with its page."""
_ORIGIN = re.compile(r"(https?|wss?)://(\*\.)?[\w.-]+(:\d+)?")


@checked
def ui_resource(
    uri: str,
    html: str,
    *,
    title: str | None = None,
    description: str | None = None,
    csp: Mapping[Domains, Sequence[str]] | None = None,
    permissions: Sequence[Permission] = (),
    **about: object,
) -> Resource[[], str]:
    """Return a resource with an HTML page that hosts show for tools; see `with_ui`.

    Args:
        uri: Its address, which starts with ``ui://``.
        html: The page.
        title: Its name for people.
        description: What it shows.
        csp: Origins that it may reach, such as ``{"connectDomains": ["https://api.example.com"]}``;
            by default none.
        permissions: What it may use of the person's device.
        about: Further fields of ``_meta.ui``, such as ``prefersBorder`` or ``domain``.

    Raises:
        DefinitionError: the URI has another scheme, or an origin is none.
    """
    if not uri.startswith(SCHEME):
        raise DefinitionError(f"ui_resource(uri={uri!r:.80}): a page's URI starts with {SCHEME}")
    asked: dict[str, object] = {**about}
    if csp:
        _check_origins(csp)
        asked["csp"] = {kind: list(origins) for kind, origins in csp.items()}
    if permissions:
        asked["permissions"] = {each: {} for each in permissions}
    meta = {"_meta": {"ui": asked}} if asked else {}
    name = re.sub(r"\W+", "_", uri.removeprefix(SCHEME)).strip("_") or "page"
    make = resource(
        uri, name=name, title=title, description=description, media_type=PAGE_TYPE, **meta
    )

    def page() -> str:
        """Return the page's HTML."""
        return html

    return make(page)


def _check_origins(csp: Mapping[Domains, Sequence[str]]) -> None:
    """Raise `DefinitionError` for an unknown kind of origin, or text that is no origin."""
    for kind, origins in csp.items():
        if kind not in get_args(Domains):
            known = ", ".join(get_args(Domains))
            raise DefinitionError(f"ui_resource(csp={{{kind!r:.40}: ...}}): there are {known}")
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise DefinitionError(
                    f"ui_resource(csp={{{kind!r}: ...}}): {origin!r:.80} is no origin; "
                    'give a list such as ["https://api.example.com"]'
                )


@checked
def with_ui(
    item: AnyTool | Callable[..., Any],
    page: Resource[[], str],
    visibility: Sequence[Caller] = get_args(Caller),
) -> AnyTool:
    """Return a tool whose calls hosts show by a page; a `ToolServer` serves the page, too.

    Args:
        item: A tool, or a function.
        page: From `ui_resource`.
        visibility: Who may call it: ``("app",)`` hides it from models.

    Raises:
        DefinitionError: nobody may call it.
    """
    if not visibility or isinstance(visibility, str):
        raise DefinitionError("with_ui(visibility=...): give a list with 'model', 'app' or both")
    made: AnyTool = item if isinstance(item, Tool) else tool(item)
    meta = made.provider_options.get("_meta")
    ui = {"resourceUri": page.uri, "visibility": list(visibility)}
    options = {**made.provider_options, "_meta": {**_mapping(meta), "ui": ui}}
    return but(made, provider_options=options, metadata={**made.metadata, PAGE: page})


def pages_of(tools: Iterable[AnyTool]) -> list[Resource[..., Any]]:
    """Return the pages of tools, each once."""
    found = [each.metadata.get(PAGE) for each in tools]
    return list(dict.fromkeys(each for each in found if isinstance(each, Resource)))


def _mapping(value: object) -> Mapping[str, object]:
    """Return a mapping, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else NOTHING
