"""Tools that are ready to use, under the names of the OpenAI Agents SDK.

file_search  what `FileSearchTool` is told about ranking and filters
mcp          `HostedMCPTool`: an MCP server whose calls a function approves
mcp_servers  MCP servers: the core's `MCPServer` with the SDK's parameters
shell        shells and patches, run here on any model
computer     `ComputerTool` and what belongs to it
"""
