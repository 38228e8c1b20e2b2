"""Front ends: sessions of an agent over HTTP and other wires, all through one channel.

errors      reasons to refuse a request, each with its HTTP status
items       items of a channel: journal entries and live events, numbered
numbering   turns entries and events into items: message ids, approval ids, nested runs
feed        the latest items of one session for its readers, which never delay a run
runner      starts the runs of one session, in a task that outlives every request
decisions   decisions of clients, checked against the ticket
snapshot    the current state of a session: messages with ids, pending approvals, state, usage
pieces      the text, reasoning and calls of a reply, each exactly once
contents    content of messages as clients send and read it
channel     `Channels` and `Channel`: say (once per id: sessions/inbox), decide, cancel, read
guard       access control: Host, Origin, token, kind and size of the body
json_responses  JSON that every client reads
stream      the loop around every encoder, and server-sent events
service     common to all front ends of an application: users, who may decide, masked errors
requests    requests of clients, applied completely or not at all
call_arguments  the arguments of a call as JSON text
client_tools  tools that a client declares and runs itself
acp         the Agent Client Protocol, ACP (Zed, JetBrains, Neovim)
agui        the Agent-User Interaction Protocol, AG-UI (CopilotKit, assistant-ui)
openai_api  OpenAI's Responses and Chat Completions (any OpenAI client, Open WebUI, LibreChat)
vercel      the UI message stream of Vercel's ``ai`` package (``useChat``)
app         `app`: front ends as one web application
"""
