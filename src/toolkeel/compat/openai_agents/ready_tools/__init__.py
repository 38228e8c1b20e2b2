"""Tools that are ready to use, under the names of the OpenAI Agents SDK.

approving         approvals of shells and patches
code_interpreter  `CodeInterpreterTool`
file_search       what `FileSearchTool` is told about ranking and filters
mcp               `HostedMCPTool`: an MCP server whose calls a function approves
tool_filter       which tools of an MCP server are taken, and which are asked about
mcp_servers       MCP servers: the core's `MCPServer` with the SDK's parameters
shell             shells and patches, run here on any model
computer          `ComputerTool` and what belongs to it
"""
