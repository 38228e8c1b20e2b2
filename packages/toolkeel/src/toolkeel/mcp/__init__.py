"""Tools of and for other processes, by the Model Context Protocol.

messages        JSON-RPC messages as bytes: read strictly, then with what can be mended
content         what both sides share: our records as the protocol's, and back
config          where servers are: one word, or the file all hosts share (``mcp.json``)
call_span       what the conventions of traces say of a call, on its tool's span
state_files     small JSON files: consents, pins, logins
launch_files    files of a project that decide what a command starts, each with a digest
launch_facts    everything that decides what a server's entry starts: shown, and bound by consent
consent         a server named by a file starts only after a person saw all of that and agreed
hidden_text     characters nobody sees, taken out of a server's texts
pins            definitions as a person approved them (rug pulls), compared at each call in client/tool
page_links      the pages that tools name in their definitions (MCP Apps)
client          other programs' tools: connecting, reconnecting, calling
transforms      a tool's name, description and arguments as its user wants them
transformed_schemas  input schemas with other properties
named_servers   servers named on the command line, as one set of tools
server          our tools for other programs
hosts           files of servers as other hosts write them: each host a small table, read to one form
server_entries  one server's entry in such a file: keys renamed, followed, left, refused or named
variables       what stands for something else in such a file: variables, files of them, folders
"""

import logging

from toolkeel._common.redact_secrets import protect_logger

protect_logger(logging.getLogger("toolkeel.mcp"))
