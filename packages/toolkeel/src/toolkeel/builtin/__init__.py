"""8. Tools ready to use, one subject a file or folder; programs import them from `toolkeel.tools`.

calculator       arithmetic as people and models write it
clock            the date and the time, here or elsewhere
hosted_calls     what tools hosted by providers did, in one form
hosted_mcp       an MCP server that a provider may talk to by itself
catalog          the tools that come along, by name; imported when asked for
loading          import of a user's file, folder or module, with errors in the user's terms
tools_in_module  the tools in a user's module or object
tools_by_place   where tools come from, in one word: a file, a module, a builtin
"""
