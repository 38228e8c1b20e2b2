"""The inspector: a web page on this machine to try tools, watch runs, decide and compare (web UI).

session_view   a session's journal as a reader sees it: turns, replies, calls, what waits
compare        two sessions side by side: totals, what was said and done, where they differ
timeline       the waterfall of a run: a row for each request and each call, on one axis
alternatives   what a schema says of one value: what it refers to, and what can be picked
forms          an HTML form made of a JSON Schema, and the arguments it stands for
site           how text becomes HTML in which nothing runs
access_guard   who may see a page: token, Host, Origin, security headers (CSP)
runs           runs that the page starts, each in its session: say, stop, decide
tool_pages     pages of tools: provider schemas, a form, what a call gives
server_pages   the page of MCP servers: approved definitions, what has changed, gateway traffic
session_pages  pages of sessions: talk, watch, decide, fork, compare, stats
desk_pages     the page of approvals: what waits in sessions, and at a desk that others share
app            all pages as one application, and its server
"""
