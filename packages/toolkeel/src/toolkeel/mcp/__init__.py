"""Tools of and for other processes, by the Model Context Protocol.

messages        JSON-RPC messages as bytes: read strictly, then with what can be mended
content         conversion between our records and the protocol's
config          where servers are: one word, or the file all hosts share (``mcp.json``)
call_span       MCP attributes on the span of a tool
state_files     small JSON files: consents, pins, logins
launch_files    files of a project that decide what a command starts, each with a digest
launch_facts    facts that decide what a server's entry starts, which consent covers
consent         consent of a person before a server named by a file starts
hidden_text     removal of invisible characters from a server's texts
pins            definitions as a person approved them (rug pulls), compared at each call in client/tool
page_links      the pages that tools name in their definitions (MCP Apps)
tool_schemas    description and schemas of a server's tool, each compiled at its first use
client          other programs' tools: connecting, reconnecting, calling
transforms      changes of a tool's name, description and arguments by its user
transformed_schemas  input schemas with other properties
named_servers   servers named on the command line, as one set of tools
server          our tools for other programs
hosts           files of servers as other hosts write them: each host a small table, read to one form
server_entries  one server's entry in such a file, normalized
http_options    addresses, headers and logins that HTTP can carry
variables       variables, env files and folders in such a file
"""

import logging

from toolkeel._common.redact_secrets import protect_logger
from toolkeel._lazy_exports import door

protect_logger(logging.getLogger("toolkeel.mcp"))
__getattr__, __dir__, __all__ = door(
    __name__, {}, {"FastMCP": "ToolServer, of toolkeel.mcp.server"}
)
