"""8. Ready-made tools, one subject per file or folder; programs import them from `toolkeel.tools`.

calculator       arithmetic as people and models write it
clock            the date and time in any time zone
hosted_calls     calls of tools that providers host, in one form
hosted_mcp       an MCP server that a provider may connect to itself
catalog          the builtins by name, imported on demand
loading          importing a user's file, folder or module, with errors in the user's terms
tools_in_module  the tools in a user's module or object
tools_by_place   the tools of a target: a file, a module, a builtin, an MCP server
"""
