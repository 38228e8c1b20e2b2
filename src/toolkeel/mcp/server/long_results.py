"""Results too long to be shown, which clients read whole as resources.

A tool's `max_output` bounds what a model is shown. Where a server offers `stored_results`, nothing is
lost by that: the result says the address at which the client reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel._records.kept_results import KEPT, PREFIX
from toolkeel.call.toolset import Toolset
from toolkeel.mcp.server.prompts_resources import NotFound, Resource, resource

_URI_PREFIX = "toolkeel://results/"


@resource(f"{_URI_PREFIX}{{name}}", name="kept_results", media_type="text/plain")
def stored_results(name: str) -> str:
    """A tool's result that was too long to be shown whole, by the address its call was told."""
    path = KEPT.find(PREFIX + name)
    if path is None:
        raise NotFound(f"no result is kept as {name[:100]!r} any more")
    return path.read_text("utf-8", "replace")


def with_stored_results(tools: Toolset, resources: Iterable[Resource[..., object]]) -> Toolset:
    """The tools with a note in each cut result: which resource holds all of it."""
    if tools.keeper is not None or all(each is not stored_results for each in resources):
        return tools
    told = tools.around()
    told.keeper = ("resources/read", _store)
    return told


def _store(data: bytes) -> str:
    name = KEPT.keep(data)
    return _URI_PREFIX + name.removeprefix(PREFIX) if name else ""
