"""The inspector: a web page on this machine to try tools, watch runs, decide and compare (web UI).

page_items     what a session's page shows beside replies and calls: messages, notes, decisions, prompts
session_view   a session's journal as the page shows it: turns, replies, calls, what waits
run_summary    the header of a run: models, end reason, duration, tokens, cost, errors, agents
compare        two sessions side by side: totals, events, and where they differ
list_figures   models, cost and error of each session, and its tools as they were sent
waiting_count  how many calls wait for a person, counted rarely enough
timeline       the waterfall of a run: a row for each request and each call, on one axis
alternatives   which alternatives of a JSON Schema a form offers (anyOf, ``$ref``)
forms          an HTML form generated from a JSON Schema, and the arguments that it submits
site           templates, languages, and text as HTML in which nothing runs
access_guard   who may see a page: token, Host, Origin, security headers (CSP)
runs           runs that the page starts, each in its session: message, stop, decide
tool_pages     pages of tools: provider schemas, a form, the result of a call
server_pages   the page of MCP servers: approved definitions, changes since, gateway traffic
session_pages  pages of sessions: talk, watch, decide, fork, compare
daily_stats    stats with numbers by day, and bar charts of them
stats_pages    the page of stats, over all days or a range
desk_pages     pages of what an operator decides: calls that wait in sessions and a shared queue, durable runs
eval_pages     pages of saved reports of toolkeel eval
app            all pages as one application, its address and its server

The pages' texts are in ``templates``, their Chinese in ``static/zh.json``. The one script, ``static/live.js``,
decides when a call can be approved: once all of it was on the screen.
"""
