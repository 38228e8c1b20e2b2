"""Results too long for a model, which clients can read in full as resources.

A tool's `max_output` bounds the text a model receives. A server that offers `stored_results` loses
nothing: the cut result names the URI of the full text.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel.call.toolset import Toolset
from toolkeel.mcp.server.prompts_resources import NotFound, Resource, resource

_URI_PREFIX = "toolkeel://results/"


@resource(f"{_URI_PREFIX}{{name}}", name="kept_results", media_type="text/plain")
def stored_results(name: str) -> str:
    """Return the full text of a cut tool result, by the name in its URI.

    Raises:
        NotFound: the result is no longer stored.
    """
    path = RESULTS.find(PREFIX + name)
    if path is None:
        raise NotFound(f"the result {name[:100]!r} is no longer stored")
    return path.read_text("utf-8", "replace")


def with_stored_results(tools: Toolset, resources: Iterable[Resource[..., object]]) -> Toolset:
    """Return tools whose cut results name the full text's URI, if `stored_results` is served.

    Tools that store full texts already, or are not served with it, are returned unchanged.
    """
    if tools.keeper is not None or all(each is not stored_results for each in resources):
        return tools
    stored = tools.with_steps()
    stored.keeper = ("resources/read", _store)
    return stored


def _store(data: bytes) -> str:
    """Store a text and return its URI; empty if it cannot be stored."""
    name = RESULTS.save(data)
    return _URI_PREFIX + name.removeprefix(PREFIX) if name else ""
