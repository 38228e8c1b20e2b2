"""Front ends: sessions of an agent over HTTP and other wires, all through one channel.

errors      what a client may be refused, each with the HTTP status that says so
items       what a reader of a channel gets: journal entries and live events, numbered
numbering   turns entries and events into items: message ids, approval ids, nested runs
feed        the latest items of one session, for any number of readers, who never hold up a run
runner      starts the runs of one session, in a task that outlives every request
decisions   what clients decide, checked against the ticket
snapshot    a session as it is now: messages with ids, pending approvals, state, usage
pieces      the text, reasoning and calls of a reply, each exactly once
contents    content of messages as clients send and read it
channel     `Channels` and `Channel`: say, decide, cancel, read
guard       who may send a request: Host, Origin, token, kind and size of the body
stream      the loop around every encoder, and server-sent events
service     what all front ends of one application share: users, deciders, masked errors
requests    what a client sends, applied as a whole or not at all
call_arguments  the arguments of a call as JSON text
client_tools  tools that a client declares and runs itself
acp         the Agent Client Protocol, ACP (Zed, JetBrains, Neovim)
agui        the Agent-User Interaction Protocol, AG-UI (CopilotKit, assistant-ui)
openai_api  OpenAI's Responses and Chat Completions (any OpenAI client, Open WebUI, LibreChat)
vercel      the UI message stream of Vercel's ``ai`` package (``useChat``)
app         `app`: front ends as one web application
"""
