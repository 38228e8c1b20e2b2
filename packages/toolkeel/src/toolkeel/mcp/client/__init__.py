"""Other programs' tools, by the Model Context Protocol.

mend_responses          a server's responses, made readable piece by piece before the SDK judges each as a whole
frames                  what a peer sends, before the SDK sees it: bounded, and nothing in it can hold a call for ever
raw_requests            requests to a process as plain JSON, beside the SDK's session
end_orphans             no server outlives us, also where nothing of ours runs any more
stdio                   a server as a process of ours: started without a shell, in a group of its own, with few variables
proxies                 the network as the environment has it: proxies for all addresses but this machine's own
http                    a server on the network: an HTTP client whose failures cost one request, not the connection
oauth                   logins to servers on the network: OAuth 2.1 by the SDK, stored and renewed
elicitation             what a server asks a person in the middle of a call: a small form, or to open an address
sampling_and_roots      what a server may ask the program: its model (sampling) and its folders (roots)
pages                   every page of a list, with an end
resource_subscriptions  subscriptions to resources and lists, in both eras
guarded_stream          incoming messages: rate-limited, repaired, and with an event at their end
lost_sessions           sessions that a server has forgotten: recognized, and replaced without losing other calls
connection              one server, connected when it is needed and again when it was lost; listed anew each time
connections             the connections of one server: one for all runs, or one for each set of headers
tool                    a server's tool as one of ours: asked about, pinned, called, and its result checked
results                 results of servers as the model may see them
outcome                 what is known of a call that ended without a result
resources_prompts       resources, prompts and instructions: what a server has besides tools
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
