"""8. Tools ready to use, one subject a file or folder; programs import them from `toolkeel.tools`.

calculator       arithmetic as people and models write it
clock            the date and the time, here or elsewhere
weather          the current weather, from a public service that needs no key
weather_fixture  a stand-in for the weather service, on loopback
files            files below one root: read, write, edit, find, grep, patch
shell            commands in a sandbox
web              fetch and search, without a way into private networks
search           search in documents: a vector store in one SQLite file
code             the Python a model writes, run apart from the program
computer         a screen to look at and act on
pictures         pictures: measured, made smaller, made
hosted_calls     what tools hosted by providers did, in one form
hosted_mcp       an MCP server that a provider may talk to by itself
catalog          the tools that come along, by name; imported when asked for
loading          import of a user's file, folder or module, with errors in the user's terms
tools_in_module  the tools in a user's module or object
tools_by_place   where tools come from, in one word: a file, a module, a builtin
"""
