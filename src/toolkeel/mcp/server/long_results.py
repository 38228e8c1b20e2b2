"""Results too long to be shown, which clients read whole as resources.

A tool's `max_output` bounds what a model is shown. Where a server offers `kept_results`, nothing is
lost by that: the result says the address at which the client reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel._records.kept_results import KEPT, PREFIX
from toolkeel.call.toolset import Toolset
from toolkeel.mcp.server.prompts_resources import NotFound, Resource, resource

_PLACE = "toolkeel://results/"


@resource(f"{_PLACE}{{name}}", name="kept_results", media_type="text/plain")
def kept_results(name: str) -> str:
    """A tool's result that was too long to be shown whole, by the address its call was told."""
    path = KEPT.find(PREFIX + name)
    if path is None:
        raise NotFound(f"no result is kept as {name[:100]!r} any more")
    return path.read_text("utf-8", "replace")


def keeping(tools: Toolset, resources: Iterable[Resource[..., object]]) -> Toolset:
    """The tools with a note in each cut result: which resource holds all of it."""
    if tools.keeper is not None or all(each is not kept_results for each in resources):
        return tools
    told = tools.around()
    told.keeper = ("resources/read", _keep)
    return told


def _keep(data: bytes) -> str:
    name = KEPT.keep(data)
    return _PLACE + name.removeprefix(PREFIX) if name else ""
