"""Our tools for any program that speaks the Model Context Protocol.

multi_round_calls   calls that ask their client something before they end
calling             what a running tool, prompt or resource may ask of the program that called it
prompts_resources   prompts and resources: functions that people and programs ask for, where models call tools
long_results        results too long to be shown, which clients read whole as resources
snapshot            what a server offers at one time: an immutable snapshot, with everything that a request needs
calls               one call of a client through the pipeline: its run, its progress, its approval
sessions            sessions of the revisions up to 2025-11-25: what each has asked to be told
prometheus_metrics  what a server's calls came to, as text that Prometheus reads
tool_server         `ToolServer`: tools for every program that speaks the Model Context Protocol
drain               the end of a server over HTTP without a lost call, and what balancers ask of it
keep_alive          connections that are closed only where no request can be on its way
http                a `ToolServer` over HTTP: who may reach it, and as whom
stdio               a `ToolServer` over stdin and stdout, for the program that started this one
structured          structured results (``structuredContent``): what is promised to a client, and kept
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
            "mcp.server.calling": "MissingCapability Client ElicitationResult",
            "mcp.server.http": "BearerToken asgi serve_http",
            "mcp.server.long_results": "stored_results",
            "mcp.server.prompts_resources": "NotFound Prompt Resource prompt resource",
            "mcp.server.stdio": "serve_stdio",
            "mcp.server.tool_server": "ToolServer",
        },
    )
