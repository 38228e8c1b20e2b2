"""Calls held to a schema by the server, for models that do not write them reliably.

reply_schema  the schema of "one of these calls, or an answer", bounded
prompt        tools, calls and results as text, for templates that have no place for them
reply_reader  the constrained reply as deltas: a call, or an answer as it arrives
server_facts  facts that a model server reports: context length, tools in its template
checks        replies that must not pass: no call though one is required, an unread call
send          a request with tools, sent as one without
"""
