"""The commands, one file each.

launch         common to ``run`` and ``resume``: from the command line to the end of a run and its exit code
call           ``toolkeel call``: one tool, called as a model would call it
tools          ``toolkeel tools``: what a target brings
doctor         ``toolkeel doctor``: what is here, what is missing, what to do next
approvals      ``toolkeel approvals``: what waits for a person in a saved run, or which runs wait
convert        ``toolkeel convert``: a stored conversation of one provider, as another's
migrate        ``toolkeel migrate``: imports of programs for other libraries, changed to ours
demo           ``toolkeel demo``: what the library does, shown on real calls without key or network
index          ``toolkeel index``: put a folder into a vector store, for `FileSearchTool`
mcp            ``toolkeel mcp``: servers of the Model Context Protocol, from the client's side
resume         ``toolkeel resume``: go on with a run that waits for a person
run            ``toolkeel run``: a prompt, tools, a model, an answer
record_replay  ``toolkeel record`` and ``replay``: a run kept in a file, and played as a test
stats          ``toolkeel stats``: how well models call tools, over sessions
inspect        ``toolkeel inspect``: the inspector, a page on this machine
sandbox        ``toolkeel sandbox``: run a command as an agent's commands run, or list what can confine it
schema         ``toolkeel schema``: tools as a provider gets them
serve          ``toolkeel serve``: tools for programs that speak MCP; with ``--as``, an agent for front ends
gateway        ``toolkeel gateway``: many MCP servers behind one, for any host
sessions       ``toolkeel sessions``: list, search, show, decide, fork, export and delete conversations
"""
