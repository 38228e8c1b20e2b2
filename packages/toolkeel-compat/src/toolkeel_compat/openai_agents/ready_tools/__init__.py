"""Tools that are ready to use, under the names of the OpenAI Agents SDK.

hosted       code interpreters, what files are searched by, computers, `HostedMCPTool`
mcp_servers  MCP servers: the core's `MCPServer` with the SDK's parameters and filters
shell        shells and patches, run here on any model, and their approvals
"""
