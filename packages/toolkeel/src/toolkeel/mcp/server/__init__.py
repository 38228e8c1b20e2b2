"""Our tools for any program that speaks the Model Context Protocol.

multi_round_calls   calls that ask their client something before they end
invalid_requests    errors of requests with invalid parameters name the parameter
calling             features of the calling client that a running tool, prompt or resource can use
pages               pages that hosts show for a tool's calls (MCP Apps)
prompts_resources   prompts and resources: functions that people and programs request
sources             where tools come from: other MCP servers are refused
long_results        results too long for a model, which clients read in full as resources
snapshot            an immutable snapshot of what a server offers
calls               one call of a client through the pipeline: its run, its progress, its approval
sessions            notifications: sessions of revisions up to 2025-11-25, subscription streams since
prometheus_metrics  metrics of calls in Prometheus' text format
tool_server         `ToolServer`: the server itself
drain               graceful shutdown over HTTP, health and metrics endpoints
readable_bodies     bodies over HTTP, mended as over stdio, and answered by their id
keep_alive          HTTP connections: how many, time limits, closed only when no request can be on its way
http                a `ToolServer` over HTTP: access control and the web server
stdio               a `ToolServer` over stdin and stdout
structured          structured results (``structuredContent``) and their output schema
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.mcp.server.calling import Client as Client
    from toolkeel.mcp.server.calling import ElicitationResult as ElicitationResult
    from toolkeel.mcp.server.calling import MissingCapability as MissingCapability
    from toolkeel.mcp.server.http import BearerToken as BearerToken
    from toolkeel.mcp.server.http import asgi as asgi
    from toolkeel.mcp.server.http import serve_http as serve_http
    from toolkeel.mcp.server.long_results import stored_results as stored_results
    from toolkeel.mcp.server.pages import ui_resource as ui_resource
    from toolkeel.mcp.server.pages import with_ui as with_ui
    from toolkeel.mcp.server.prompts_resources import NotFound as NotFound
    from toolkeel.mcp.server.prompts_resources import Prompt as Prompt
    from toolkeel.mcp.server.prompts_resources import Resource as Resource
    from toolkeel.mcp.server.prompts_resources import prompt as prompt
    from toolkeel.mcp.server.prompts_resources import resource as resource
    from toolkeel.mcp.server.stdio import serve_stdio as serve_stdio
    from toolkeel.mcp.server.tool_server import ToolServer as ToolServer
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.mcp.server.calling": "MissingCapability Client ElicitationResult",
            "toolkeel.mcp.server.http": "BearerToken asgi serve_http",
            "toolkeel.mcp.server.long_results": "stored_results",
            "toolkeel.mcp.server.pages": "ui_resource with_ui",
            "toolkeel.mcp.server.prompts_resources": "NotFound Prompt Resource prompt resource",
            "toolkeel.mcp.server.stdio": "serve_stdio",
            "toolkeel.mcp.server.tool_server": "ToolServer",
        },
        dict.fromkeys(("FastMCP", "Server"), "ToolServer"),
    )
