"""The UI message stream of Vercel's ``ai`` package (``useChat``): an adapter over the channel.

encode    items as chunks of the stream
decode    what a request asks for: messages, approvals, results of client tools; all else is ignored
history   a session as the messages of a page, and where its last message begins
routes    the routes: send, resume, load, cancel
"""
