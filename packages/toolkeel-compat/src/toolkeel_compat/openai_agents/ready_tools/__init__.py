"""Built-in tools, under the names of the OpenAI Agents SDK.

hosted       code interpreter, file search filters, computers, `HostedMCPTool`
mcp_servers  MCP servers: the core's `MCPServer` with the SDK's parameters and filters
shell        shells and patches, run locally with any model, and their approvals
"""
