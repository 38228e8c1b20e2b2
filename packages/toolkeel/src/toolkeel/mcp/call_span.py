"""OpenTelemetry's MCP attributes on the span of the tool.

The SDK makes its own client span of each request, and sends the trace along (``_meta.traceparent``).
Where an ``execute_tool`` span is open the conventions want these attributes there, too. A session's id
stays out: whoever has it may be let in.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.trace import get_current_span

from toolkeel.mcp.config import ServerConfig


def annotate_span(config: ServerConfig, revision: str | None) -> None:
    """Add the MCP attributes to the current span; does nothing if it is not the span of a tool.

    Args:
        config: The server's configuration.
        revision: Revision of the protocol; None: there was no connection.
    """
    span = get_current_span()
    known = getattr(span, "attributes", None)  # the API's spans cannot be read, the SDK's can
    if isinstance(known, Mapping) and known.get("gen_ai.operation.name") == "execute_tool":
        span.set_attributes(_call_attributes(config, revision))


def _call_attributes(config: ServerConfig, revision: str | None) -> dict[str, str]:
    """Return the MCP attributes of a call: method, transport and, if known, revision."""
    attributes = {"mcp.method.name": "tools/call", "network.transport": "pipe"}
    if config.url:
        attributes |= {"network.transport": "tcp", "network.protocol.name": "http"}
    return attributes | ({"mcp.protocol.version": revision} if revision else {})
