"""Other programs' tools, by the Model Context Protocol.

mend_responses          repair of a server's responses before the SDK validates them
frames                  parser and rate limit of a server's messages
raw_requests            requests to a process as plain JSON, beside the SDK's session
end_orphans             ends servers when this program dies, even by SIGKILL
stdio                   a server as a process of ours: started without a shell, in a group of its own, with few variables
proxies                 proxies and TLS from the environment
http                    a server on the network: an HTTP client whose failures cost one request, not the connection
oauth                   logins to servers on the network: OAuth 2.1 by the SDK, stored and renewed
elicitation             questions of a server to a person during a call: a form, or a URL
sampling_and_roots      requests of a server to the program: sampling and roots
pages                   all pages of a list, with a limit
resource_subscriptions  subscriptions to resources and lists, in both eras
guarded_stream          incoming messages: rate-limited, repaired, and with an event at their end
lost_sessions           sessions that a server has forgotten: recognized, and replaced without losing other calls
connection              the connection to one server, reopened after a loss
connections             the connections of one server: one for all runs, or one for each set of headers
tool                    a server's tool as one of ours: approval, pin, call, checked result
results                 results of servers, checked and split by audience
outcome                 errors of calls that ended without a result
resources_prompts       resources, prompts and instructions of a server
mcp_server              `MCPServer`: a server whose tools an agent is given
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.mcp.client.elicitation import Elicitation as Elicitation
    from toolkeel.mcp.client.mcp_server import MCPServer as MCPServer
    from toolkeel.mcp.client.mcp_server import servers as servers
    from toolkeel.mcp.client.oauth.login import OAuth as OAuth
    from toolkeel.mcp.client.sampling_and_roots import Sampling as Sampling
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.mcp.client.sampling_and_roots": "Sampling",
            "toolkeel.mcp.client.elicitation": "Elicitation",
            "toolkeel.mcp.client.oauth.login": "OAuth",
            "toolkeel.mcp.client.mcp_server": "MCPServer servers",
        },
        dict.fromkeys(
            ("Client", "ClientSession", "MCPServerStdio", "MCPServerStreamableHttp", "MCPTools"),
            "MCPServer(command, address or file)",
        ),
    )
